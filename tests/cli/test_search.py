"""`coview search` as people type it."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from coview import CrossModalRetriever, LinkPLSA, inspect, load, save
from coview.cli.search import search
from coview.datasets import make_topic_views
from coview.web import demo as module
from coview.web.demo import demo_retriever


@pytest.fixture
def find(capsys):
    """Search in this process; gives what is printed as JSON."""

    def call(query, model, **options):
        search(query, model, **options, as_json=True)
        return json.loads(capsys.readouterr().out)

    return call


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    data = make_topic_views(60, {"words": 30, "image": 20}, n_clusters=3, random_state=0)
    names = {"words": [f"word{chr(97 + j % 26)}{chr(97 + j // 26)}" for j in range(28)] + ["w6", "conv2d"]}
    views = type(data.views)(dict(data.views.items()), feature_names=names)
    path = tmp_path_factory.mktemp("search") / "r.coview"
    save(CrossModalRetriever(LinkPLSA(3, random_state=0)).fit(views), path)
    return path


def test_words_find_code_of_the_installed_packages(run):
    code, out, err = run("search", "largest eigenvalues of a sparse matrix", "-k", "5", "--why")
    assert code == 0, err
    assert "scipy.sparse" in out and "  sparse\n" in out and "component" not in out


def test_a_saved_retriever_is_searched_as_json(saved, run):
    code, out, err = run("search", "wordaa wordba", "--model", str(saved), "--source", "words", "-k", "4", "--json")
    found = json.loads(out)
    assert code == 0 and err == ""
    assert found["indexed"] == 60 and len(found["hits"]) == 4
    names = inspect(load(saved)).group_names
    assert all(hit["group_name"] == names[hit["group"]] for hit in found["hits"]) and found["ignored"] == []
    scores = [hit["score"] for hit in found["hits"]]
    assert scores == sorted(scores, reverse=True)


def test_objects_near_one_are_found(saved, run):
    code, out, err = run("search", "--near", "3", "--model", str(saved), "-k", "4")
    assert code == 0, err
    assert "hits near '3', of 60 objects" in out
    assert len(out.splitlines()) == 5 and out.count("[") == out.count("]") == 4


def test_words_that_nothing_knows_are_named(saved, find, run):
    _, out, _ = run("search", "wordaa zebra and quokka", "--model", str(saved))
    assert "Ignored, not in the vocabulary: 'zebra', 'quokka'.\n" in out
    assert find("wordaa zebra", saved, source="words")["ignored"] == ["zebra"]


def small_corpus(monkeypatch, content_hash="a"):
    from sklearn.utils import Bunch

    data = make_topic_views(80, {"words": 30, "code": 20}, n_clusters=3, random_state=0)
    names = {view: [f"w{j}" for j in range(width)] for view, width in data.views.n_features.items()}
    views = type(data.views)(dict(data.views.items()), feature_names=names)
    monkeypatch.setattr(module, "load_python_packages", lambda: Bunch(views=views, content_hash=content_hash))


def test_the_demo_retriever_is_learned_once(tmp_path, monkeypatch, capsys):
    small_corpus(monkeypatch)
    first = demo_retriever(cache=tmp_path)
    assert "Learning" in capsys.readouterr().err
    monkeypatch.setattr(CrossModalRetriever, "fit", None)
    again = demo_retriever(cache=tmp_path)
    assert "Learning" not in capsys.readouterr().err
    assert again.search("w3 w4", "words", k=5)[0] == first.search("w3 w4", "words", k=5)[0]


def test_a_damaged_cache_is_made_anew(tmp_path, monkeypatch):
    small_corpus(monkeypatch)
    demo_retriever(True, tmp_path)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"x" * 100):
        path.write_bytes(damaged)
        assert demo_retriever(True, tmp_path).search("w3", "words", k=2).ids.shape == (1, 2)
        assert len(path.read_bytes()) == len(whole)
    save(LinkPLSA(3), path)
    assert isinstance(demo_retriever(True, tmp_path), CrossModalRetriever)


# -- `coview stream` as people type it


def coview(*words: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "coview", "stream", *words]
    wide = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, env=wide)


@pytest.fixture(scope="module")
def mail() -> str:
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(150):
        spam = bool(rng.integers(2))
        words = " ".join(rng.choice(["win", "now", "cash"] if spam else ["see", "you", "soon"], 4))
        lines.append(json.dumps({"kind": "spam" if spam else "ham", "text": words, "links": {f"s{int(spam)}": 1}}))
    return "\n".join(lines) + "\n"


def test_a_file_is_streamed_into_a_table_and_a_model(tmp_path, mail, run):
    (tmp_path / "mail.jsonl").write_text(mail)
    words = ("stream", tmp_path / "mail.jsonl", "--labels", "kind", "--every", "50")
    code, out, err = run(*words, "--save", tmp_path / "model.coview")
    assert code == 0, err
    assert "150 rows" in out and "view difference" in out and "ham, spam" in out
    assert load(tmp_path / "model.coview").t_ == 150


def test_a_table_is_streamed_like_the_others_take_it(tmp_path, mail, run):
    rows = ["key;body;sites;kind"]
    for i, line in enumerate(mail.splitlines()):
        row = json.loads(line)
        rows.append(f"m{i};{row['text']};{','.join(row['links'])},all;{row['kind'] if i % 10 else ''}")
    (tmp_path / "mail.csv").write_text("\n".join(rows) + "\n")

    table = [tmp_path / "mail.csv", "--labels", "kind", "--every", "50", "--json"]
    views = ["--id", "key", "--text", "words=body", "--tokens", "sites=sites"]
    code, out, err = run("stream", *table, *views, "--save", tmp_path / "m.coview")
    assert code == 0, err
    first = [json.loads(line) for line in out.splitlines()]
    assert [line["rounds"] for line in first] == [50, 100, 135]  # 15 have no label
    assert first[-1]["accuracy"] > 0.8
    code, out, err = run("stream", *table, "--model", tmp_path / "m.coview")
    assert code == 0 and json.loads(out.splitlines()[0])["accuracy"] > first[0]["accuracy"], err
    code, out, _ = run("predict", tmp_path / "m.coview", tmp_path / "mail.csv", "--json")
    said = json.loads(out)
    assert code == 0 and said["id"][:2] == ["m0", "m1"] and set(said["label"]) == {"ham", "spam"}
    (tmp_path / "m.jsonl").write_text(mail)
    for words, sentence in (
        ([tmp_path / "mail.csv", *views], "A table needs labels"),
        ([tmp_path / "m.jsonl", *views], "describe a .csv, .tsv or .parquet table"),
    ):
        code, _, err = run("stream", *words)
        assert code == 2 and sentence in " ".join(err.split())

"""`coview search` as people type it."""

from __future__ import annotations

import json

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


def test_what_cannot_be_searched_is_refused(saved, find, tmp_path, run):
    code, _, err = run("search", "zebra", "--model", str(saved), "--source", "words")
    assert code == 2 and "Nothing in the query 'zebra'" in err
    with pytest.raises(ValueError, match="either words to search with or --near ID"):
        find(None, saved)
    with pytest.raises(ValueError, match="--near compares all views"):
        find(None, saved, near="3", why=True)
    with pytest.raises(ValueError, match="No object 99"):
        find(None, saved, near="99")
    save(LinkPLSA(3), tmp_path / "m.coview")
    with pytest.raises(ValueError, match="holds a LinkPLSA"):
        find("wordaa", tmp_path / "m.coview")


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

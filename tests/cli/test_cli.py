"""The command line as people type it."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.utils import Bunch

from coview import (
    CrossModalRetriever,
    LinkPLSA,
    MultiViewNaiveBayes,
    MultiViewPLSA,
    Ontology,
    Views,
    inspect,
    save,
    write_views,
)
from coview.cli.labels import read_target
from coview.cli.writing import write_table
from coview.datasets import load_python_packages, make_topic_views
from coview.io.tables import read_table
from coview.model_selection.table import Comparison


def coview(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "coview", *words]
    wide = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=wide)


def test_the_demo_shows_that_two_views_say_more_than_one(run, tmp_path, monkeypatch):
    whole = load_python_packages()
    rows = np.flatnonzero(whole.target < 8)  # a third of the packages: quick, and the same lesson
    parts = {"views": whole.views[rows], "target": whole.target[rows], "groups": whole.groups[rows]}
    small = {**whole, **parts, "target_names": whole.target_names[:8]}
    monkeypatch.setattr("coview.datasets.load_python_packages", lambda: Bunch(**small))
    code, out, _ = run("demo", "--json", "--out", tmp_path / "demo")
    found = json.loads(out)
    *alone, together = found["clustering_nmi"].values()
    assert code == 0 and together > max(alone)
    words, names, side_by_side, *ours = found["few_labels_accuracy"].values()
    assert min(ours) > max(words, names, side_by_side)
    assert len(found["queries"]) == 5 and all(len(hits) == 3 for hits in found["queries"].values())
    assert "<html" in (tmp_path / "demo" / "report.html").read_text()


def test_info_as_json():
    assert "PLSA" in json.loads(coview("info", "--json").stdout)["models"]


# -- Labels and outputs of the command line

X = Views(words=np.eye(3), ids=["a", "b", "c"])


@pytest.mark.parametrize(
    ("name", "text", "labels"),
    [
        *(("y.csv", "label\n3\n1\n2\n", [3, 1, 2]), ("y.csv", "3\n1\n2\n", [3, 1, 2])),
        *(("y.txt", "cat\ndog\ncat\n", ["cat", "dog", "cat"]), ("y.csv", "cat\n\ndog\n", ["cat", None, "dog"])),
        *(("y.csv", "id,label\nc,1\na,2\n", [2, None, 1]), ("y.csv", "page,c\nc,x\na,y\n", ["y", None, "x"])),
        ("y.tsv", "id\tlabel\nc\tx\na\ty\nb\tz\n", ["y", "z", "x"]),
        ("y.jsonl", '{"label": 1}\n{"label": null}\n{"label": 2}\n', [1, None, 2]),
    ],
)
def test_labels_come_from_one_column_or_by_id(tmp_path, name, text, labels):
    (tmp_path / name).write_text(text)
    found = read_target(str(tmp_path / name), X)
    assert found.tolist() == labels
    assert list(map(type, found.tolist())) == list(map(type, labels))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1\n2\n", "2 labels"),
        ("id,label\nx,1\ny,2\n", "none of the objects"),
        ("d,e,f\n1,2,3\n", "3 columns"),
        ("a,x\nb,y\n", "no header"),
    ],
)
def test_labels_that_do_not_fit_are_refused(tmp_path, text, sentence):
    (tmp_path / "y.csv").write_text(text)
    with pytest.raises(ValueError, match=sentence):
        read_target(str(tmp_path / "y.csv"), X)


@pytest.mark.parametrize("kind", ["csv", "tsv", "json", "jsonl", "parquet"])
def test_tables_are_read_as_they_were_written(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    write_table({"id": ["a", "b"], "label": np.array([0, 1]), "p": [0.25, 0.75]}, path)
    table = read_table(path)
    assert [list(table[name]) for name in ("id", "label", "p")] == [["a", "b"], [0, 1], [0.25, 0.75]]


# -- Names in data that a terminal, a spreadsheet or rich would obey are shown as text by every command

ESCAPE = "\x1b[31m"  # would make the rest of a terminal red
NASTY = [f"{ESCAPE}fox", "[/bold]sea", "ship\rsunk", "bell\x07", "\u202eright", "=cmd|' /C calc'!A0"]


@pytest.fixture(scope="module")
def views():
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    words = rng.poisson(1 + 6 * (np.arange(6) // 2 == y[:, None])).astype(float)
    links = rng.poisson(1 + 6 * (np.arange(6) % 3 == y[:, None])).astype(float)
    ids = np.array([f"{NASTY[i % len(NASTY)]}{i}" for i in range(30)])
    return Views(words=words, links=links, feature_names={"words": NASTY, "links": NASTY}, ids=ids), y


@pytest.fixture
def folder(views, tmp_path):
    write_views(views[0], tmp_path / "data")
    (tmp_path / "y.csv").write_text("\n".join(f"{ESCAPE}{label}" for label in views[1]), encoding="utf-8")
    return tmp_path


def is_safe(text: str) -> bool:
    return not any(sign in text for sign in ("\x1b", "\r", "\x07", "\u202e"))


def test_every_command_writes_control_characters_out(run, folder, views):
    save(CrossModalRetriever(LinkPLSA(2, random_state=0)).fit(views[0]), folder / "r.coview")
    model, data, labels = folder / "m.coview", folder / "data", folder / "y.csv"
    commands = [
        ("fit", "MultiViewPLSA", data, "--set", "n_clusters=3", "-o", model),
        ("fit", "MultiViewNaiveBayes", data, "--labels", labels, "-o", folder / "n.coview"),
        ("info", folder / "n.coview"),
        ("predict", model, data, "-o", folder / "p.csv"),
        ("search", NASTY[1], "--model", folder / "r.coview", "--source", "words", "--target", "links", "--why"),
    ]
    printed = {}
    for words in commands:
        code, printed[words[0]], err = run(*words)
        assert code == 0, (words, err)
        assert is_safe(printed[words[0]] + err), words
    assert "\\x1b[31m" in printed["fit"] and "[/bold]sea" in printed["search"]
    code, _, err = run("predict", folder / f"{ESCAPE}.coview", data)
    assert code == 2 and is_safe(err) and "\\x1b[31m.coview" in err


def test_what_python_shows_of_objects_is_safe_too(views):
    X, y = views
    retriever = CrossModalRetriever(LinkPLSA(2, random_state=0)).fit(X)
    ids, view = retriever.indexed_ids(), X.rename(words=f"{ESCAPE}w")
    rows = [
        {"method": NASTY[0], "group": "method", "status": "failed", "note": NASTY[3], "fit_seconds": 1.0, "splits": 1}
    ]
    shown = [
        repr(retriever.search(X[:1].select("words"), target="links", k=30)),
        repr(retriever.explain(X[:1].select("words"), ids[0], target="links")),
        repr(view),
        repr(inspect(MultiViewNaiveBayes().fit(X, np.array(NASTY)[y]))),
        repr(inspect(MultiViewPLSA(3, 3, random_state=0).fit(X))),
        str(Ontology(NASTY, subset=[(NASTY[0], NASTY[1])])),
        str(Comparison(rows, ["accuracy"], "classification")),
    ]
    assert [text for text in shown if not is_safe(text)] == []


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_formulas_in_tables_are_text_and_numbers_stay_numbers(tmp_path, kind):
    cells = ["=1+2", "+cmd", "-cmd", "@sum", "\t=1", " =1", "\rx", "-3", "+2.5e3", "fox", "", "＝1", "-inf"]
    columns = {"=id": cells, "value": [-1.5, *range(12)], "label": np.array(["-1", "+1"] * 6 + ["-1"])}
    write_table(columns, tmp_path / f"t.{kind}")
    with open(tmp_path / f"t.{kind}", newline="", encoding="utf-8") as stream:
        head, *rows = csv.reader(stream, delimiter="," if kind == "csv" else "\t")
    assert head == ["'=id", "value", "label"]
    escaped = ["'=1+2", "'+cmd", "'-cmd", "'@sum", "'\t=1", "' =1", "'\rx", "-3", "+2.5e3", "fox", "", "'＝1", "'-inf"]
    assert [row[0] for row in rows] == escaped
    assert rows[0][1] == "-1.5" and rows[0][2] == "-1" and rows[1][2] == "+1"


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_escaped_texts_are_read_back_as_they_were(tmp_path, kind):
    ids = ["@alice", "=1+2", "'=1+2", "''@x", "'tis", "- a fox", "\t=1", "-inf", "+", "-"]
    classes = ["+", "-", "=x", "'=x", "-1x"] * 2
    write_table({"=id": ids, "label": classes}, tmp_path / f"t.{kind}")
    text = (tmp_path / f"t.{kind}").read_text()
    assert "\n'@alice" in text and "\n+" in text and "\n-" in text  # signs alone run nothing
    table = read_table(tmp_path / f"t.{kind}")
    assert table.to_dict(as_series=False) == {"=id": ids, "label": classes}
    X = Views(words=np.ones((10, 1)), ids=ids)
    assert read_target(str(tmp_path / f"t.{kind}"), X).tolist() == classes
    write_table({"label": classes}, tmp_path / f"one.{kind}")
    assert read_target(str(tmp_path / f"one.{kind}"), X).tolist() == classes


def test_labels_that_the_views_contradict_come_first_in_a_file_of_all_labels(run, tmp_path):
    data = make_topic_views(60, n_clusters=2, random_state=0)
    y = np.array(["tea", "oats"])[data.target]
    y[5] = "oats" if y[5] == "tea" else "tea"
    write_views(data.views, tmp_path / "data")
    write_table({"label": y}, tmp_path / "y.csv")
    run("fit", "MultiViewNaiveBayes", tmp_path / "data", "--labels", tmp_path / "y.csv", "-o", tmp_path / "m.coview")
    words = ("label", tmp_path / "m.coview", tmp_path / "data", "--audit", "-n", "3")
    code, out, err = run(*words, "--labels", tmp_path / "y.csv")
    assert code == 0 and len(out.splitlines()) == 4 and out.startswith("row,label,suggested,doubt,reason\n"), err
    code, _, err = run(*words, "--labels", tmp_path / "y.csv", "-o", tmp_path / "checked.csv")
    table = read_table(tmp_path / "checked.csv")
    assert code == 0 and "60 labels, 1 of them more likely wrong than right" in err and len(table) == 60
    assert (table["row"][0], table["label"][0]) == (5, y[5])
    assert read_target(str(tmp_path / "checked.csv"), data.views).tolist() == y.tolist()
    assert run("predict", *words[1:3], "-o", tmp_path / "found.csv")[0] == 0
    assert "columns as coview predict writes them" in run(*words, "--labels", tmp_path / "found.csv")[2]
    code, _, err = run(*words)
    assert code == 2 and "--audit needs the labels" in err

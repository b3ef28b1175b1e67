"""Names in data that a terminal, a spreadsheet or rich would obey are shown as text by every command."""

from __future__ import annotations

import csv
import sys

import numpy as np
import pytest

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
from coview.cli.main import main
from coview.cli.writing import write_table
from coview.io.tables import read_table
from coview.model_selection.table import Comparison

ESCAPE = "\x1b[31m"  # would make the rest of a terminal red
NASTY = [f"{ESCAPE}fox", "[/bold]sea", "ship\rsunk", "bell\x07", "\u202eright", "=cmd|' /C calc'!A0"]


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command; gives its exit code and what it printed."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["coview", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, capsys.readouterr()

    return call


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
        code, out = run(*words)
        assert code == 0, (words, out.err)
        assert is_safe(out.out + out.err), words
        printed[words[0]] = out.out
    assert "\\x1b[31m" in printed["fit"] and "[/bold]sea" in printed["search"]
    code, out = run("predict", folder / f"{ESCAPE}.coview", data)
    assert code == 2 and is_safe(out.err) and "\\x1b[31m.coview" in out.err


def test_names_are_no_markup(run, folder):
    code, out = run("fit", "MultiViewPLSA", folder / "data", "--set", "n_clusters=3", "-o", folder / "m.coview")
    assert code == 0 and "[/bold]sea" in out.out


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

"""A line on each object next to its id, on a terminal."""

import csv
import json
import sys

import pytest

TITLES = [f"{'Red' if i % 2 else 'Blue'} story {'x' * (i + 1)}" for i in range(24)]


@pytest.fixture
def files(tmp_path, run):
    table, model = tmp_path / "t.csv", tmp_path / "m.coview"
    with open(table, "w", newline="") as stream:
        rows = [(f"p{i}", title, ["a red fox", "the blue sea"][i % 2]) for i, title in enumerate(TITLES)]
        csv.writer(stream).writerows([("key", "title", "body"), *rows])
    fit = ("--id", "key", "--text", "words=body", "--text", "title=title", "-o", model)
    assert (
        run("fit", "CrossModalRetriever", table, *fit[:-1], tmp_path / "r.coview", "--set", "model=LinkPLSA(2)")[0] == 0
    )
    assert run("fit", "MultiViewPLSA", table, *fit, "--clusters", "2")[0] == 0
    return table, model


def test_a_terminal_shows_a_caption_and_a_pipe_none(run, files, monkeypatch):
    table, model = files
    words = ["predict", model, table, "--proba"]
    assert "caption" not in run(*words)[1].splitlines()[0]  # a pipe
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda self: True, raising=False)
    head, *lines = run(*words)[1].splitlines()
    assert head.endswith(",caption") and [line.split(",")[-1] for line in lines] == TITLES


def test_hits_have_captions_of_the_table(run, files, tmp_path):
    table, _ = files
    asked = ["search", "fox", "--model", tmp_path / "r.coview", "--source", "words", "-k", "3"]
    hits = json.loads(run(*asked, "--table", table, "--json")[1])["hits"]
    assert [hit["caption"] for hit in hits] == [TITLES[int(hit["id"][1:])] for hit in hits]

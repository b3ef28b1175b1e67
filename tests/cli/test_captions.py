"""A line on each object beside its id: on a terminal always, in files where `--caption` asks for it."""

from __future__ import annotations

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


@pytest.mark.parametrize("option", ["--proba", "--outliers"])
def test_a_terminal_shows_a_caption_and_a_file_has_one_on_request(run, files, tmp_path, monkeypatch, option):
    table, model = files
    words = ["predict", model, table, option, *(["--all"] if option == "--outliers" else [])]
    assert "caption" not in run(*words)[1].splitlines()[0]  # a pipe
    out = tmp_path / "out.csv"
    for more, last in ((), None), (("--caption", "body"), ["a red fox", "the blue sea"] * 12):
        assert run(*words, *more, "-o", out)[0] == 0
        with open(out, newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert (last is None and "caption" not in rows[0]) or [row["caption"] for row in rows] == last
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda self: True, raising=False)
    head, *lines = run(*words)[1].splitlines()
    assert head.endswith(",caption") and [line.split(",")[-1] for line in lines] == TITLES
    code, _, err = run(*words, "--caption", "titel")
    assert code == 2 and "no such column" in err and "Did you mean 'title'?" in err


def test_hits_have_captions_of_the_table(run, files, tmp_path):
    table, _ = files
    asked = ["search", "fox", "--model", tmp_path / "r.coview", "--source", "words", "-k", "3"]
    _, out, _ = run(*asked, "--table", table, "--json")
    assert [hit["caption"] for hit in json.loads(out)["hits"]] == [
        TITLES[int(hit["id"][1:])] for hit in json.loads(out)["hits"]
    ]
    code, _, err = run(*asked, "--caption", "title")
    assert code == 2 and "pass it with --table FILE" in err

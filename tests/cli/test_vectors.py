"""Vectors on the command line: a column of a Parquet table, or an .npy file beside a table."""

from __future__ import annotations

import csv
import json

import numpy as np
import polars as pl
import pytest

TEXTS = ["red fox runs", "blue sea waves", "a red fox den", "salt of the blue sea"] * 6
LABELS = ["land", "water", "land", "water"] * 6
VECTORS = np.where(np.array(LABELS) == "land", 1, -1)[:, None] * np.ones((24, 3)) + np.linspace(0, 0.2, 72).reshape(
    24, 3
)
VECTORS = VECTORS.astype(np.float32)


@pytest.fixture
def pages(tmp_path):
    with open(tmp_path / "pages.csv", "w", newline="") as stream:
        rows = [["key", "body", "kind"], *([f"p{i}", text, LABELS[i]] for i, text in enumerate(TEXTS))]
        csv.writer(stream).writerows(rows)
    np.save(tmp_path / "meaning.npy", VECTORS)
    return tmp_path / "pages.csv"


def options(pages, *more):
    return [pages, "--view", f"meaning={pages.parent / 'meaning.npy'}", *more]


def test_vectors_beside_a_table(run, pages, tmp_path):
    model, out = tmp_path / "m.coview", tmp_path / "out.csv"
    words = options(pages, "--text", "words=body", "--id", "key", "--labels", "kind")
    code, printed, error = run("fit", "SeededKMeansClassifier", *words, "--out", model, "--json")
    assert code == 0, error
    assert [view["name"] for view in json.loads(printed)["data"]["views"]] == ["words", "meaning"]
    beside = [command.split()[1] for command in json.loads(printed)["next"] if f"--view {words[2]}" in command]
    assert beside == ["report", "explore", "predict", "label"]
    assert run("predict", model, *options(pages), "--out", out)[0] == 0
    with open(out) as stream:
        assert [row["label"] for row in csv.DictReader(stream)] == LABELS


def test_a_column_of_vectors(run, tmp_path):
    frame = pl.DataFrame({"key": [f"p{i}" for i in range(24)], "image": VECTORS})
    frame.write_parquet(tmp_path / "pages.parquet")
    table = [tmp_path / "pages.parquet"]
    columns = ["--columns", "look=image", "--id", "key", "--clusters", "2"]
    code, out, error = run("fit", "SphericalKMeans", *table, *columns, "--out", tmp_path / "m.coview", "--json")
    assert code == 0 and json.loads(out)["data"]["views"][0]["name"] == "look", error
    code, out, _ = run("predict", tmp_path / "m.coview", *table)
    assert len({(row["label"], LABELS[i]) for i, row in enumerate(csv.DictReader(out.splitlines()))}) == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--view", "body=meaning.npy"], "has a column 'body' already. Name the view differently"),
        (["--view", "v=v.npz"], "v.npz must be an .npy file with a matrix of numbers"),
        (["--view", "v=short.npy"], "short.npy has 3 rows, but pages.csv has 24"),
        (
            ["--view", "v=flat.npy"],
            "flat.npy must be an .npy file with a matrix of numbers, a row for each row of pages.csv",
        ),
        (["--view", "v=nowhere.npy"], "nowhere.npy does not exist"),
    ],
)
def test_what_does_not_fit_the_table_is_refused(run, pages, monkeypatch, words, sentence):
    monkeypatch.chdir(pages.parent)
    np.save("short.npy", VECTORS[:3])
    np.save("flat.npy", VECTORS[:, 0])
    np.savez("v.npz", VECTORS)
    code, _, error = run("fit", "SphericalKMeans", "pages.csv", *words, "--clusters", "2", "--out", "m.coview")
    assert code == 2 and sentence in error

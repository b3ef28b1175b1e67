"""`coview label`: objects to label, and the way of the labels back into the next fit."""

from __future__ import annotations

import csv
import sys

import numpy as np
import pytest

from coview import Views, load, save, write_views
from coview.cli import main as cli

WORDS = {"animal": ["fox", "den", "paw", "fur"], "water": ["sea", "salt", "wave", "tide"]}


def run(monkeypatch, *words) -> None:
    monkeypatch.setattr(sys, "argv", ["coview", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert not end.value.code


def read(path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture
def pages(tmp_path):
    """Pages of two kinds, four of them labeled."""
    rng = np.random.default_rng(0)
    with open(tmp_path / "pages.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["key", "body", "title", "kind"])
        for i in range(30):
            kind = list(WORDS)[i % 2]
            body, title = (" ".join(rng.choice(WORDS[kind], n)) for n in (8, 3))
            writer.writerow([f"p{i}", body, title, kind if i < 4 else ""])
    return tmp_path


def test_labels_that_are_filled_in_reach_the_next_fit_and_are_not_asked_for_again(pages, monkeypatch):
    table, model, labels = pages / "pages.csv", pages / "m.coview", pages / "labels.csv"
    views = (table, "--id", "key", "--text", "body=body", "--text", "title=title")
    run(monkeypatch, "fit", "MultiViewNaiveBayes", *views, "--labels", "kind", "-o", model)
    run(monkeypatch, "label", model, table, "--labels", "kind", "--count", "5", "-o", labels)
    rows = read(labels)
    assert [row["label"] for row in rows[:5]] == [""] * 5 and all(row["coverage"] for row in rows[:5])
    assert [(row["id"], row["label"]) for row in rows[5:]] == [
        (f"p{i}", kind) for i, kind in enumerate(["animal", "water"] * 2)
    ]
    for row in rows[:5]:
        row["label"] = list(WORDS)[int(row["id"][1:]) % 2]
    with open(labels, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    run(monkeypatch, "fit", "MultiViewNaiveBayes", *views, "--labels", labels, "-o", model)
    assert load(model)[-1].class_count_.sum() == 9
    run(monkeypatch, "label", model, table, "--labels", labels, "--count", "50", "-o", pages / "again.csv")
    again = [row["id"] for row in read(pages / "again.csv") if not row["label"]]
    assert len(again) <= 21 and not {row["id"] for row in rows} & set(again)


def test_objects_with_a_label_in_the_table_of_the_fit_are_not_asked_for(pages, monkeypatch):
    table, model, out = pages / "pages.csv", pages / "m.coview", pages / "out.csv"
    run(monkeypatch, "fit", "auto", table, "--labels", "kind", "-o", model)
    run(monkeypatch, "label", model, table, "--count", "50", "-o", out)
    assert {row["id"] for row in read(out) if not row["label"]}.isdisjoint({"p0", "p1", "p2", "p3"})
    title = {row["key"]: row["title"] for row in read(table)}
    first = read(out)[0]
    assert list(first)[-1] == "caption" and first["caption"] == title[first["id"]]


def test_a_model_that_is_no_classifier_is_refused(tmp_path, monkeypatch, capsys):
    from coview import SphericalKMeans

    X = Views(words=np.eye(6))
    save(SphericalKMeans(2, random_state=0).fit(X), tmp_path / "m.coview")
    write_views(X, tmp_path / "views")
    monkeypatch.setattr(sys, "argv", ["coview", "label", str(tmp_path / "m.coview"), str(tmp_path / "views")])
    with pytest.raises(SystemExit) as end:
        cli.main()
    told = f"coview label needs a classifier of at least two classes, but the model of {tmp_path / 'm.coview'} is Sph"
    assert end.value.code == 2 and told in capsys.readouterr().err

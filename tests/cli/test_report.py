"""`coview report`, as a function and through typer."""

import json

import numpy as np
import pytest
import typer
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

from coview import PLSA, MultiViewPLSA, TextViews, read_table, save, write_views
from coview.cli.report import report
from coview.datasets import make_topic_views

app = typer.Typer()
app.command()(report)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("report")
    data = make_topic_views(n_objects=60, n_clusters=3, random_state=0)
    save(MultiViewPLSA(3, 4, max_iter=10, random_state=0).fit(data.views), place / "m.coview")
    write_views(data.views, place / "views")
    (place / "y.csv").write_text("label\n" + "\n".join(f"kind {label}" for label in data.target), encoding="utf-8")
    np.save(place / "view0.npy", data.views["view0"].toarray())
    return place


def coview(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_it_writes_one_file_and_says_where(folder):
    out = folder / "out.html"
    ran = coview(folder / "m.coview", folder / "views", "--labels", folder / "y.csv", "--out", out)
    assert ran.exit_code == 0, ran.output
    (line,) = ran.stdout.splitlines()
    assert line.startswith(f"{out} (") and line.endswith("kB): Report of MultiViewPLSA: 60 objects, 2 views")
    text = out.read_text(encoding="utf-8")
    assert "kind 2" in text and "Labels and clusters" in text


def test_json_is_what_the_page_says(folder):
    ran = coview(folder / "m.coview", "--view", f"view0={folder / 'view0.npy'}", "--json")
    found = json.loads(ran.stdout)
    assert found["data"]["absent"] == ["view1"]
    assert str(folder / "view0.npy") in found["files"]["data"]


def test_a_failure_writes_nothing(folder):
    out = folder / "never.html"
    ran = coview(folder / "m.coview", folder / "absent", "--out", out)
    assert ran.exit_code != 0 and not out.exists()


def test_by_asks_for_columns_of_the_table(tmp_path):
    words = ["red fox den", "blue sea wave"] * 20
    rows = [f'd{i},"{text}",{2020 + i % 2}-05-01,{"ab"[i % 2]}' for i, text in enumerate(words)]
    (tmp_path / "t.csv").write_text("id,body,date,venue\n" + "\n".join(rows), encoding="utf-8")
    table = read_table(tmp_path / "t.csv")
    save(
        make_pipeline(TextViews({"words": "body"}, min_df=1), PLSA(2, random_state=0)).fit(table), tmp_path / "m.coview"
    )
    ran = coview(tmp_path / "m.coview", tmp_path / "t.csv", "--by", "date, venue", "--json")
    assert ran.exit_code == 0, ran.output
    said = json.loads(ran.stdout)
    assert said["files"] == {"model file": str(tmp_path / "m.coview"), "table": str(tmp_path / "t.csv")}
    found = said["prevalence"]
    assert [(part["by"], part["kind"]) for part in found] == [("date", "time"), ("venue", "category")]
    assert max(found[1]["share"][0]) > 0.8
    with pytest.raises(ValueError, match="--by names columns of a raw table"):
        report(model=tmp_path / "m.coview", by=["date"])
    with pytest.raises(ValueError, match="--clusters is only for --effects"):
        report(model=tmp_path / "m.coview", clusters="venue")
    (tmp_path / "t.csv").write_text('id,body,"date, UTC",venue\n' + "\n".join(rows), encoding="utf-8")
    ran = coview(tmp_path / "m.coview", tmp_path / "t.csv", "--by", "date, UTC", "--by", "venue", "--json")
    assert [part["by"] for part in json.loads(ran.stdout)["prevalence"]] == ["date, UTC", "venue"]

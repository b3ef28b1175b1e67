"""`coview compare` as people type it."""

import csv
import json
from inspect import signature

import numpy as np
import pytest
from scipy import io, sparse
from typer.testing import CliRunner

from coview.cli.app import make_commands
from coview.cli.compare import format_rows
from coview.datasets import make_topic_views
from coview.model_selection.jobs import run_jobs
from coview.model_selection.table import Comparison
from coview.utils.progress import show_progress

# before click 8.2 standard error is kept apart only where that is asked for
RUNNER = CliRunner(mix_stderr=False) if "mix_stderr" in signature(CliRunner).parameters else CliRunner()
DATA = make_topic_views(40, {"words": 30, "links": 20}, n_clusters=2, random_state=0)
FEW = ("--methods", "MultiViewNaiveBayes,words *", "--folds", "2", "--budget", "0")


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    """Run methods here, which is quicker; `tests/model_selection` has the workers."""
    monkeypatch.setattr(
        "coview.model_selection.compare.run_jobs", lambda *parts, **how: run_jobs(*parts, **{**how, "n_jobs": 1})
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    sparse.save_npz(folder / "words.npz", DATA.views["words"])
    io.mmwrite(folder / "links.mtx", DATA.views["links"])
    (folder / "y.csv").write_text("label\n" + "\n".join(["cat", "dog"][k] for k in DATA.target) + "\n")
    np.save(folder / "y.npy", DATA.target)
    return folder


def run(files, *words: str, labels: str | None = "y.csv"):
    given = ["compare", "--view", f"words={files / 'words.npz'}", "--view", f"links={files / 'links.mtx'}"]
    with show_progress(True):  # as `coview` does unless it is told to be quiet
        return RUNNER.invoke(make_commands(), [*given, *(["--labels", str(files / labels)] if labels else []), *words])


def test_files_become_a_table(files):
    found = run(files, *FEW)
    assert found.exit_code == 0, found.output
    assert "MultiViewNaiveBayes" in found.stdout
    assert "words LogisticRegression" in found.stderr  # progress


def test_json_is_all_that_is_printed(files):
    found = run(files, *FEW, "--json", labels="y.npy")
    rows = json.loads(found.stdout)["rows"]
    assert {row["method"] for row in rows} == {"MultiViewNaiveBayes", "words LogisticRegression"}
    assert found.stderr == ""


def test_the_table_is_written(files, tmp_path):
    found = run(files, *FEW, "--out", str(tmp_path / "t.csv"))
    assert found.exit_code == 0, found.output
    rows = list(csv.DictReader((tmp_path / "t.csv").open()))
    assert len(rows) == 2 and float(rows[0]["accuracy"]) > 0.5
    run(files, *FEW, "--out", str(tmp_path / "t.json"))
    assert json.loads((tmp_path / "t.json").read_text())["task"] == "classification"


def test_a_raw_table_is_taken(tmp_path):
    rows = [("red round sweet", "small", "apple"), ("yellow long sweet", "large", "banana")] * 6
    path = tmp_path / "fruit.csv"
    path.write_text("text,size,kind\n" + "\n".join(",".join(row) for row in rows) + "\n")
    words = [str(path), "--text", "words=text", "--columns", "meta=size", "--labels", "kind"]
    found = RUNNER.invoke(make_commands(), ["compare", *words, *FEW, "--json"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["about"]["classes"] == 2


def test_the_ten_best_rows_are_shown():
    def row(name, score, status="done"):
        figures = {"accuracy": score, "accuracy_std": 0.0, "fit_seconds": 0.1, "splits": 1, "note": "why"}
        return {"method": name, "group": "method", "status": status, **figures}

    rows = [*(row(f"m{i}", 0.8 - i / 100) for i in range(12)), row("bad", 0.0, "failed")]
    result = Comparison(rows, ["accuracy"], "classification")
    text = format_rows(result, every=False)
    assert [each["method"] for each in rows if f"  {each['method']} " in text] == [f"m{i}" for i in range(10)]
    assert "Not shown: 3 methods, of which 1 did not finish; --all shows all." in text
    assert format_rows(result, every=True) == str(result)

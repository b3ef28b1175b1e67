"""The table: order, text, HTML, figure, JSON, frames."""

from __future__ import annotations

import json
import math

import pytest

from coview import Comparison, MultiViewNaiveBayes
from coview.model_selection import table

NAN = math.nan
ROWS = [
    {"method": "b", "group": "baseline", "status": "done", "accuracy": 0.6, "accuracy_std": 0.1, "accuracy[words]": 0.5,
     "accuracy[words]_std": 0.0, "fit_seconds": 0.1, "splits": 5, "note": ""},
    {"method": "a", "group": "method", "status": "done", "accuracy": 0.9, "accuracy_std": 0.02, "fit_seconds": 1.0,
     "splits": 5, "note": ""},
    {"method": "slow", "group": "method", "status": "over budget", "accuracy": 0.95, "accuracy_std": 0.0,
     "fit_seconds": 9.0, "splits": 1, "note": "Stopped after 9 s."},
    {"method": "bad <i>", "group": "given", "status": "failed", "accuracy": NAN, "accuracy_std": NAN, "splits": 0,
     "note": "ValueError: [red] no."},
]  # fmt: skip


@pytest.fixture
def made():
    return Comparison(ROWS, ["accuracy"], "classification", estimators={"a": MultiViewNaiveBayes(alpha=0.3)})


def test_what_was_not_done_comes_last(made):
    assert [row["method"] for row in made.rows] == ["a", "b", "slow", "bad <i>"]
    assert made.best_ == "a" and len(made) == 4


def test_the_best_estimator_is_a_clone(made):
    assert made.best_estimator().alpha == 0.3
    with pytest.raises(KeyError, match="no method 'z'"):
        made.estimator("z")


def test_text_shows_scores_reasons_and_what_they_mean(made):
    text = str(made)
    assert "0.900 ± 0.020" in text and "[words]" in text and "ValueError: [red] no." in text
    assert "Means over the same folds" in " ".join(text.split())
    assert repr(made) == "Comparison of 4 methods (classification): 2 done, best: a"


def test_html_is_escaped(made):
    page = made._repr_html_()
    assert "bad &lt;i&gt;" in page and "<i>" not in page


def test_json_is_whole_and_has_no_nan(made, tmp_path):
    made.to_json(tmp_path / "t.json")
    found = json.loads((tmp_path / "t.json").read_text(), parse_constant=lambda name: pytest.fail(name))
    assert found["rows"][3]["accuracy"] is None and found["metrics"] == ["accuracy"]
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]


def test_frames_by_what_is_installed(made, monkeypatch):
    assert type(made.frame).__module__.startswith("pandas") and made.frame.shape[0] == 4
    monkeypatch.setattr(table, "find_spec", lambda name: name == "polars" or None)
    assert type(made.frame).__module__.startswith("polars") and made.frame["method"][0] == "a"
    monkeypatch.setattr(table, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pandas or polars"):
        made.frame  # noqa: B018


def test_the_figure_has_a_bar_per_scored_method(made):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: figures are not checked")
    axis = made.plot().axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["a", "b", "slow (over budget)"]
    assert len(axis.patches) == 3
    colors = [patch.get_facecolor()[:3] for patch in axis.patches]
    assert colors[0] != colors[1]  # baselines are marked
    with pytest.raises(ValueError, match="metric must be one of accuracy"):
        made.plot("f1")


def test_nothing_done_has_no_best():
    with pytest.raises(ValueError, match=r"No method finished\. bad <i>: ValueError"):
        Comparison(ROWS[3:], ["accuracy"], "classification").best_  # noqa: B018


def test_near_the_best_is_what_the_splits_cannot_tell_from_it():
    figures = {"best": [0.90, 0.95, 0.85], "near": [0.91, 0.90, 0.86], "far": [0.60, 0.65, 0.55], "part": [0.9]}
    means = {name: sum(values) / len(values) for name, values in figures.items()}
    blank = {"group": "method", "status": "done", "note": "", "accuracy_std": 0.0}
    rows = [{**blank, "method": name, "accuracy": mean} for name, mean in means.items()]
    rows[-1]["status"] = "over budget"
    scores = {name: [{"accuracy": value} for value in values] for name, values in figures.items()}
    made = Comparison(rows, ["accuracy"], "classification", scores=scores)
    assert made.near_best_ == ["best", "near"]
    assert "Not clearly worse than the best: near." in " ".join(str(made).split())

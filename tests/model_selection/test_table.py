"""The table: order, text, HTML, figure, JSON, frames."""

from __future__ import annotations

import json
import math

import pytest

from coview import Comparison, MultiViewNaiveBayes

NAN = math.nan
ROWS = [
    {"method": "b", "group": "baseline", "status": "done", "accuracy": 0.6, "accuracy_std": 0.1,
     "fit_seconds": 0.1, "splits": 5, "note": ""},
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
    assert made.best_ == "a" and len(made) == 4 and made.best_estimator().alpha == 0.3


def test_text_shows_scores_reasons_and_what_they_mean(made):
    text = str(made)
    assert "0.900 ± 0.020" in text and "ValueError: [red] no." in text
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


def test_nothing_done_has_no_best():
    with pytest.raises(ValueError, match=r"No method finished\. bad <i>: ValueError"):
        Comparison(ROWS[3:], ["accuracy"], "classification").best_  # noqa: B018


def compared(figures, about=None, task="classification", **status):
    """The table of these accuracies over five splits, or fewer of methods that were not done."""
    rows = [
        {"method": name, "group": "method", "status": status.get(name, "done"), "note": "", "splits": len(values),
         "fit_seconds": 0.1,          "accuracy": sum(values) / len(values), "accuracy_std": 0.0}
        for name, values in figures.items()
    ]  # fmt: skip
    scores = {name: [{"accuracy": value} for value in values] for name, values in figures.items()}
    return Comparison(rows, ["accuracy"], task, scores=scores, about=about)


BEST = [0.72, 0.75, 0.70, 0.74, 0.735]


def test_near_the_best_is_what_the_splits_cannot_tell_from_it():
    made = compared({"best": BEST, "near": [0.73, 0.70, 0.71, 0.73, 0.70], "far": [x - 0.1 for x in BEST]})
    assert made.near_best_ == ["best", "near"]
    assert "Not clearly worse than the best: near." in " ".join(str(made).split())


def test_the_interval_is_that_of_the_corrected_resampled_t_test():
    gaps = [0.01, 0.03, 0.02, 0.05, 0.04]
    for overlap in (0.0, 0.25, 1.0):
        row = compared({"best": BEST, "b": [x - d for x, d in zip(BEST, gaps)]}, {"overlap": overlap}).rows[1]
        spread = math.sqrt(sum((gap - 0.03) ** 2 for gap in gaps) / 4)
        half = 2.7764451 * spread * math.sqrt(1 / 5 + overlap)  # the quantile of Student's t with 4 degrees of freedom
        figures = [row["behind"], row["behind_low"], row["behind_high"]]
        assert figures == pytest.approx([0.03, 0.03 - half, 0.03 + half])


def test_intervals_of_two_splits_stay_within_what_scores_can_be():
    row = compared({"best": [0.9, 0.8], "b": [0.5, 0.75]}, {"overlap": 1.0}).rows[1]
    assert [row["behind_low"], row["behind_high"]] == pytest.approx([-0.15, 0.85])  # b has from 0 to 1
    errors = compared({"best": [-1.0, -3.0], "b": [-2.0, -9.0]}, {"overlap": 1.0}).rows[1]
    assert errors["behind_high"] > 9  # such scores have no bounds


@pytest.mark.parametrize("status", ["over budget", "stopped"])
def test_what_did_not_finish_has_no_mean_and_is_not_ranked(status):
    figures = {"best": BEST, "far": [0.2] * 5, "part": [0.99, 0.98], "bad": [0.1]}
    made = compared(figures, part=status, bad="failed")
    assert [row["method"] for row in made.rows] == ["best", "far", "part", "bad"]
    assert math.isnan(made.rows[2]["accuracy"]) and made.rows[2]["splits"] == 2 and len(made.scores["part"]) == 2
    assert json.loads(made.to_json())["rows"][2]["accuracy"] is None
    assert "not finished" in str(made) and "0.985" not in str(made)

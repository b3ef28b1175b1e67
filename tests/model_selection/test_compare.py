"""`compare`: all methods run, failures are rows and not errors, and the same seed gives the same table."""

import json
import math
import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from coview import Comparison, ConcatenatedViews, ConsensusClustering, MultiViewNaiveBayes, Views, compare
from coview.catalog import ESTIMATORS
from coview.datasets import make_blobs_views, make_topic_views
from coview.exceptions import InterruptedFitWarning
from coview.model_selection.methods import list_applicable_methods, set_seed

HERE = {"time_budget": None, "n_jobs": 1, "random_state": 0}
DATA = make_topic_views(48, {"words": 30, "links": 20}, n_clusters=3, quality=0.5, overlap=0.4, random_state=0)


class Sleeper(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        time.sleep(60)

    def predict(self, X):
        return None


@pytest.mark.parametrize("settings", [{"cv": 2}, {"task": "clustering", "n_repeats": 1}])
def test_all_methods_run_on_plain_counts_best_first(settings):
    result = compare(DATA.views, DATA.target, **settings, **HERE)
    assert len(result) > 15
    assert [(row["method"], row["note"]) for row in result.rows if row["status"] != "done"] == []
    scores = [row[result.metrics[0]] for row in result.rows]
    assert scores == sorted(scores, reverse=True) and result.rows[0]["method"] == result.best_
    assert not hasattr(result.best_estimator(), "n_iter_")


def test_folds_are_the_same_for_all():
    one, two = (compare(DATA.views, DATA.target, methods={"a": MultiViewNaiveBayes(), "b": MultiViewNaiveBayes()},
                        cv=3, **HERE) for _ in range(2))  # fmt: skip
    figures = [part["accuracy"] for part in one.scores["a"]]
    assert figures == [part["accuracy"] for part in one.scores["b"]] == [p["accuracy"] for p in two.scores["a"]]


def test_the_task_follows_the_labels():
    some = np.where(np.arange(48) % 2, DATA.target, -1)
    texts = np.array(["red", "green", "blue"], dtype=object)[DATA.target]
    texts[::2] = None
    for y, task in ((DATA.target, "classification"), (some, "few_labels"), (texts, "few_labels")):
        result = compare(DATA.views, y, methods=["MultiViewNaiveBayes"], n_repeats=2, **HERE)
        assert result.task == task and {row["status"] for row in result.rows} == {"done"}
    assert result.about["labeled"] == 24
    share = compare(DATA.views, DATA.target, label_share=0.1, methods=["MultiViewNaiveBayes"], n_repeats=2, **HERE)
    assert share.task == "few_labels" and share.about["label_share"] == 0.1


def test_failures_are_rows_with_their_sentence():
    data = make_blobs_views(40, n_clusters=2, random_state=0)
    models = ["MultiViewNaiveBayes", "concatenated LogisticRegression"]
    result = compare(data.views, data.target, methods=models, cv=2, **HERE)
    failed = result.rows[-1]
    assert (failed["method"], failed["status"]) == ("MultiViewNaiveBayes", "failed")
    assert "has negative values" in failed["note"] and result.best_ == "concatenated LogisticRegression"


def test_what_runs_too_long_is_stopped():
    models = {"slow": Sleeper(), "nb": MultiViewNaiveBayes()}
    result = compare(DATA.views, DATA.target, methods=models, cv=2, time_budget=1, n_jobs=2)
    rows = {row["method"]: row for row in result.rows}
    assert rows["slow"]["status"] == "over budget" and rows["nb"]["status"] == "done"
    assert rows["slow"]["note"] == "Stopped by the time budget. 0 of 2 splits done."
    assert "Each method had 1 s for all splits: time_budget, or --budget," in " ".join(str(result).split())


def test_ctrl_c_leaves_a_table():
    class Stopped(MultiViewNaiveBayes):
        def fit(self, X, y):
            raise KeyboardInterrupt

    models = {"first": MultiViewNaiveBayes(), "second": Stopped()}
    with pytest.warns(InterruptedFitWarning, match="compare was interrupted"):
        result = compare(DATA.views, DATA.target, methods=models, cv=2, **HERE)
    assert [row["status"] for row in result.rows] == ["done", "stopped"]


def test_own_pipelines_and_scores_take_part():
    own = ConcatenatedViews(LogisticRegression(C=0.1))
    result = compare(DATA.views, DATA.target, methods=[own], scoring="balanced_accuracy", cv=2, **HERE)
    assert result.metrics == ["balanced_accuracy"] and "LogisticRegression(C=0.1)" in result.best_
    clusters = compare(DATA.views, DATA.target, task="clustering", scoring="ari", n_repeats=1, **HERE,
                       methods=[ConsensusClustering(3)])  # fmt: skip
    assert clusters.metrics == ["ari"]


# -- The table: order, text, HTML, figure, JSON, frames

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
    assert "near and best are within their intervals: any of them may be best." in " ".join(str(made).split())
    assert repr(made).endswith("3 done, a tie of 2: best, near")
    assert compared({"best": BEST, "same": BEST[::-1], "far": [0.6] * 5}, task="clustering").near_best_ == [
        "best",
        "same",
    ]
    alone = compared({"best": BEST, "far": [x - 0.1 for x in BEST]})
    assert "No other method is within its interval of best." in " ".join(str(alone).split())


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


# -- Who takes part: everything of the catalog that fits the task, the baselines, and what users name

X = Views(words=np.eye(6), links=np.eye(6)[::-1])


def names(found):
    return [method.name for method in found]


@pytest.mark.parametrize("classify", [True, False])
def test_every_method_of_the_catalog_takes_part(classify):
    kinds = ("classifier" if classify else "clusterer", "transformer")
    found = names(list_applicable_methods(classify, X, 3))
    for entry in ESTIMATORS.values():
        if entry.kind in kinds:
            assert any(name.split(" ")[0] == entry.name for name in found), entry.name


def test_clusterers_are_told_the_number():
    for method in list_applicable_methods(False, X, 4):
        sizes = {
            value
            for key, value in method.estimator.get_params().items()
            if key.endswith(("n_clusters", "n_components"))
        }
        assert 4 in sizes, method.name


def test_baselines_are_concatenated_best_and_each_view():
    found = [c.name for c in list_applicable_methods(True, X, 3) if c.group == "baseline"]
    assert "concatenated LogisticRegression" in found and "best view MultinomialNB" in found
    assert [name for name in found if name.startswith(("words", "links"))] == [
        "words LogisticRegression",
        "links LogisticRegression",
    ]
    alone = names(list_applicable_methods(True, X.select("words"), 3))
    assert "LogisticRegression" in alone and not [name for name in alone if name.startswith("best")]


def test_every_seed_inside_is_set():
    for method in list_applicable_methods(False, X, 3):
        params = set_seed(method.estimator, 11).get_params()
        assert all(value == 11 for key, value in params.items() if key.endswith("random_state"))
    assert KMeans(3).random_state is None

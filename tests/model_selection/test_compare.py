"""`compare`: all methods run, failures are rows and not errors, and the same seed gives the same table."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from coview import ConcatenatedViews, ConsensusClustering, MultiViewNaiveBayes, Views, compare
from coview.datasets import make_blobs_views, make_topic_views
from coview.exceptions import InterruptedFitWarning

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


def test_links_show_whether_they_help_or_mislead():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    words = rng.poisson(1 + np.eye(2)[y] @ rng.random((2, 20))).astype(float)
    ends = rng.integers(0, 120, (600, 2))
    lift = {}
    for kind, kept in (("help", ends[y[ends[:, 0]] == y[ends[:, 1]]]), ("mislead", ends)):
        links = sparse.coo_array((np.ones(len(kept)), kept.T), shape=(120, 120))
        X = Views(words=words, links=sparse.csr_array(((links + links.T) > 0).astype(float)))
        names = ["words LogisticRegression", "NeighborViews + LogisticRegression"]
        found = compare(X, y, links="links", methods=names, cv=3, **HERE)
        score = {row["method"]: row["accuracy"] for row in found.rows}
        lift[kind] = score[names[1]] - score[names[0]]
    assert lift["help"] > 0.1 and lift["mislead"] < -0.05


def test_ctrl_c_leaves_a_table():
    class Stopped(MultiViewNaiveBayes):
        def fit(self, X, y):
            raise KeyboardInterrupt

    models = {"first": MultiViewNaiveBayes(), "second": Stopped()}
    with pytest.warns(InterruptedFitWarning, match="compare was interrupted"):
        result = compare(DATA.views, DATA.target, methods=models, cv=2, **HERE)
    assert [row["status"] for row in result.rows] == ["done", "stopped"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"y": None}, "compare holds methods against known classes. Pass y"),
        ({"task": "regression"}, "task.* must be a str among"),
        ({"y": np.zeros(48)}, "at least 2 classes"),
        ({"y": [0, 1]}, "2 labels for 48 objects"),
        ({"time_budget": 0}, "time_budget.* must be a float in the range"),
        ({"label_share": 1}, "label_share must be a float in the range"),
        ({"n_repeats": 0}, "n_repeats.* must be an int in the range"),
        ({"task": "clustering", "n_clusters": 49}, r"n_clusters=49 is more than the number of objects"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(arguments, sentence):
    given = {"y": DATA.target, **HERE, **arguments}
    with pytest.raises(ValueError, match=sentence):
        compare(DATA.views, given.pop("y"), **given)


def test_own_pipelines_and_scores_take_part():
    own = ConcatenatedViews(LogisticRegression(C=0.1))
    result = compare(DATA.views, DATA.target, methods=[own], scoring="balanced_accuracy", cv=2, **HERE)
    assert result.metrics == ["balanced_accuracy"] and "LogisticRegression(C=0.1)" in result.best_
    clusters = compare(DATA.views, DATA.target, task="clustering", scoring="ari", n_repeats=1, **HERE,
                       methods=[ConsensusClustering(3)])  # fmt: skip
    assert clusters.metrics == ["ari"]

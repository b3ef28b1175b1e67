"""Scores of one method: equal to scikit-learn's own."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import cross_validate

from coview import LinkPLSA, MultiViewNaiveBayes, Views
from coview.datasets import make_topic_views
from coview.model_selection.methods import Method
from coview.model_selection.scores import Task, check_scoring, cluster_labels, evaluate
from coview.model_selection.splits import make_splits

DATA = make_topic_views(60, {"words": 30, "links": 20}, n_clusters=3, quality=0.4, overlap=0.5, random_state=0)
X, Y = DATA.views, DATA.target


class Fixed(ClusterMixin, BaseEstimator):
    """Clusters that are given by the ids of the objects."""

    def __init__(self, labels=()):
        self.labels = labels

    def fit(self, X, y=None):
        self.labels_ = np.asarray(self.labels)[X.ids.astype(int)]
        return self


def classification(scoring=None):
    return Task("classification", Y, Y >= 0, Y, make_splits(Y, 3, None, 0), check_scoring(scoring, False))


def numbered(views=X):
    return Views(dict(views.items()), ids=np.arange(len(views)).astype(str))


def run(task, model, views=X):
    job = (task.kind, len(task.splits), Method("m", model, "method"))
    return list(evaluate(lambda step, *args: step((task, views), *args), job))


def test_scores_equal_scikit_learns():
    task = classification()
    found = run(task, MultiViewNaiveBayes())
    expected = cross_validate(MultiViewNaiveBayes(), X, Y, cv=task.splits, scoring=("accuracy", "f1_macro"))
    for name in ("accuracy", "f1_macro"):
        assert_allclose([part[name] for part in found], expected[f"test_{name}"])


def test_few_labels_see_all_objects_and_no_hidden_label():
    seen = {}

    class Spy(MultiViewNaiveBayes):
        def fit(self, X, y):
            seen["n"], seen["y"] = len(X), np.array(y)
            return super().fit(X, y)

    kept, asked = np.arange(12), np.arange(12, 60)
    task = Task("few_labels", Y, Y >= 0, Y, [(kept, asked)], check_scoring(None, False))
    run(task, Spy())
    assert seen["n"] == 60 and (seen["y"][asked] == None).all()  # noqa: E711
    assert (seen["y"][kept] == Y[kept]).all()


def test_clusters_are_scored_against_the_labeled_objects_only():
    known = np.arange(60) < 40
    labels = np.where(known, Y, 0)
    task = Task("clustering", Y, known, Y, [(known, known)] * 2, check_scoring(None, True))
    found = run(task, Fixed(labels), numbered())
    assert [part["nmi"] for part in found] == [1.0, 1.0] and found[0]["clusters"] == 3
    worse = run(task, Fixed((Y + (np.arange(60) % 2)) % 3), numbered())[0]
    assert_allclose(worse["nmi"], normalized_mutual_info_score(Y[known], ((Y + np.arange(60) % 2) % 3)[known]))


def test_mixtures_are_clusters_by_their_largest_part():
    labels = cluster_labels(LinkPLSA(3, random_state=0), X)
    assert labels.shape == (60,) and set(labels) <= {0, 1, 2}


def test_wrong_scores_of_clusters_are_refused():
    with pytest.raises(ValueError, match="scoring for clustering must be of nmi"):
        check_scoring("roc_auc", True)
    assert list(check_scoring({"own": lambda a, b: 1.0}, True)) == ["own"]

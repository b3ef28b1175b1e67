"""Scores of one method: equal to scikit-learn's own, and internal indices that know good clusters from bad ones."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score, silhouette_score
from sklearn.model_selection import cross_validate

from coview import BestView, ConcatenatedViews, LinkPLSA, MultiViewNaiveBayes, Views
from coview.datasets import make_topic_views
from coview.model_selection.methods import Method
from coview.model_selection.scores import Task, check_scoring, cluster_labels, evaluate, view_agreement_of
from coview.model_selection.splits import folds

DATA = make_topic_views(60, {"words": 30, "links": 20}, n_clusters=3, quality=0.4, overlap=0.5, random_state=0)
X, Y = DATA.views, DATA.target


class Fixed(ClusterMixin, BaseEstimator):
    """Clusters that are given by the ids of the objects."""

    def __init__(self, labels=()):
        self.labels = labels

    def fit(self, X, y=None):
        self.labels_ = np.asarray(self.labels)[X.ids.astype(int)]
        return self


def classification(kind="classification", **options):
    return Task(kind, Y, Y >= 0, Y, folds(Y, 3, None, 0), **options)


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


def test_one_view_at_a_time_is_what_predict_says_of_it():
    task = classification()
    part = run(task, MultiViewNaiveBayes())[0]
    train, test = task.splits[0]
    model = MultiViewNaiveBayes().fit(X[train], Y[train])
    assert part["accuracy[links]"] == np.mean(model.predict(X[test].select("links")) == Y[test])


def test_few_labels_see_all_objects_and_no_hidden_label():
    seen = {}

    class Spy(MultiViewNaiveBayes):
        def fit(self, X, y):
            seen["n"], seen["y"] = len(X), np.array(y)
            return super().fit(X, y)

    kept, asked = np.arange(12), np.arange(12, 60)
    task = Task("few_labels", Y, Y >= 0, Y, [(kept, asked)])
    run(task, Spy())
    assert seen["n"] == 60 and (seen["y"][asked] == None).all()  # noqa: E711
    assert (seen["y"][kept] == Y[kept]).all()


def test_scorers_of_scikit_learn_are_taken():
    task = classification(scoring=check_scoring(["balanced_accuracy", "neg_log_loss"], False))
    assert task.metrics == ["balanced_accuracy", "neg_log_loss"]
    expected = cross_validate(MultiViewNaiveBayes(), X, Y, cv=task.splits, scoring="neg_log_loss")["test_score"]
    assert_allclose([part["neg_log_loss"] for part in run(task, MultiViewNaiveBayes())], expected)


def test_clusters_are_scored_against_the_labeled_objects_only():
    known = np.arange(60) < 40
    labels = np.where(known, Y, 0)
    task = Task("clustering", Y, known, splits=[(known, known)] * 2)
    found = run(task, Fixed(labels), numbered())
    assert [part["nmi"] for part in found] == [1.0, 1.0] and found[0]["clusters"] == 3
    worse = run(task, Fixed((Y + (np.arange(60) % 2)) % 3), numbered())[0]
    assert_allclose(worse["nmi"], normalized_mutual_info_score(Y[known], ((Y + np.arange(60) % 2) % 3)[known]))


def test_silhouettes_are_scikit_learns_by_cosine():
    rows = [(np.arange(48), np.arange(48))]
    part = run(Task("internal", splits=rows), Fixed(Y), numbered())[0]
    expected = silhouette_score(X["words"], Y, metric="cosine")
    assert_allclose(part["silhouette[words]"], expected)
    assert_allclose(part["silhouette"], np.mean([part["silhouette[words]"], part["silhouette[links]"]]))


def test_what_is_found_again_is_stable():
    rows = [(np.arange(48), np.arange(48))]
    part = run(Task("internal", splits=rows), Fixed(Y), numbered())[0]
    assert part["stability"] == 1.0


def test_views_agree_on_true_clusters_more_than_on_random_ones():
    clear = make_topic_views(100, n_clusters=3, n_features=40, random_state=1)
    random = np.random.default_rng(0).integers(0, 3, 100)
    assert view_agreement_of(clear.views, clear.target) > 0.9
    assert abs(view_agreement_of(clear.views, random)) < 0.3


def test_one_cluster_earns_nothing():
    part = run(Task("internal", splits=[(np.arange(48), np.arange(48))]), Fixed(np.zeros(60, int)), numbered())[0]
    assert (part["silhouette"], part["stability"], part["agreement"]) == (-1.0, 0.0, 0.0)


def test_mixtures_are_clusters_by_their_largest_part():
    labels = cluster_labels(LinkPLSA(3, random_state=0), X)
    assert labels.shape == (60,) and set(labels) <= {0, 1, 2}


def test_a_clusterer_is_no_classifier():
    from sklearn.cluster import KMeans

    with pytest.raises(TypeError, match="not a classifier"):
        run(classification(), ConcatenatedViews(KMeans(3)))


def test_a_fit_that_does_not_converge_is_noted():
    class Unfinished(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            warnings.warn("More sweeps are needed.\nMany.", ConvergenceWarning, stacklevel=1)
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            return np.zeros(len(X), dtype=int)

    assert run(classification(), Unfinished())[0]["warning"] == "More sweeps are needed."
    assert "warning" not in run(classification(), BestView())[0]


def test_wrong_scores_of_clusters_are_refused():
    with pytest.raises(ValueError, match="scoring for clustering must be one of nmi"):
        check_scoring("roc_auc", True)
    assert list(check_scoring({"own": lambda a, b: 1.0}, True)) == ["own"]

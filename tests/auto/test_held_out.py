"""Folds and held-out scores: no label is seen by whoever is asked for it, and all are asked for the same."""

from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

from coview import (
    BestView,
    LabelSpreadingClassifier,
    MultiViewNaiveBayes,
    NeighborViews,
    SeededKMeansClassifier,
    TfidfViews,
    UnitRows,
    Views,
)
from coview.auto import held_out
from coview.auto.experts import Expert
from coview.auto.held_out import HeldOut, PreparedViews, class_scores, fit_expert, judge, label_free_steps
from coview.datasets import make_topic_views
from coview.engines.loop import NO_DEADLINE, Deadline

DATA = make_topic_views(n_objects=60, n_clusters=3, random_state=0)
READY = PreparedViews(DATA.views).views  # in single precision, as experts see them
CODES, CLASSES = np.where(np.arange(60) < 30, DATA.target, -1), np.arange(3)
THREE = HeldOut(CODES, np.where(np.arange(60) < 30, np.arange(60) // 10, -1))


@pytest.fixture(autouse=True)
def _nothing_left_out(monkeypatch):
    monkeypatch.setattr(held_out, "NEW", 0)


def expert(name, classifier, views=DATA.views, **settings):
    """An expert of all of the views."""
    pipeline = classifier if isinstance(classifier, Pipeline) else make_pipeline(classifier)
    return Expert(name, pipeline, tuple(views.names), **settings)


def scores_of(estimator, views=DATA.views):
    one = expert("one", estimator, views)
    (each,), _ = judge([one], PreparedViews(views), THREE, CLASSES, NO_DEADLINE, "late", lambda text: None)
    assert each.error is None
    return each.scores


def shown(number: int) -> np.ndarray:
    return np.where(THREE.folds == number, -1, CODES)


def test_scores_are_those_of_a_fit_without_the_labels_of_the_fold():
    model = make_pipeline(TfidfViews(), MultiViewNaiveBayes())
    found = scores_of(model)
    for number in range(3):
        fold = THREE.folds == number
        expected = model.fit(READY, np.where(fold | (CODES < 0), np.nan, CODES)).predict_proba(READY)
        assert_allclose(np.exp(found[fold]), np.maximum(expected[fold], 1e-6))
    assert_array_equal(np.isnan(found[:, 0]), CODES < 0)


def test_what_was_spread_over_a_graph_is_read_from_it():
    fold = THREE.folds == 0
    model = LabelSpreadingClassifier().fit(READY, shown(0))
    assert_allclose(np.exp(scores_of(LabelSpreadingClassifier())[fold]), np.maximum(model.memberships_[fold], 1e-6))


def test_weights_of_views_know_no_label_that_is_held_out():
    X = Views({**dict(READY.items()), "noise": np.random.default_rng(0).poisson(1.0, (60, 9))})
    centers = SeededKMeansClassifier(view_weights="auto")
    found = scores_of(centers, X)
    for number in range(2):
        fold = np.flatnonzero(THREE.folds == number)
        expected = clone(centers).fit(X, shown(number))
        assert_allclose(found[fold], class_scores(expected, X[fold], CLASSES))


class Counts(ClassifierMixin, BaseEstimator):
    """Notes how many objects and labels it was given, and says that all objects are of the first class."""

    given: ClassVar[dict[str, list[tuple[int, int]]]] = {}

    def __init__(self, name="x"):
        self.name = name

    def fit(self, X, y):
        self.classes_ = np.unique([label for label in y if label is not None])
        self.given.setdefault(self.name, []).append((len(X), sum(label is not None for label in y)))
        return self

    def predict_proba(self, X):
        return np.tile(self.classes_ == self.classes_[0], (len(X), 1))


@pytest.mark.parametrize("most", [60, 40])
def test_all_experts_are_judged_with_the_same_objects(most, monkeypatch):
    """Of very many a sample; those that need links see all objects, and no more labels than the others."""
    monkeypatch.setattr(held_out, "MOST_OBJECTS", most)
    Counts.given.clear()
    ids = np.array([f"page {i}" for i in range(60)])
    links = sparse.csr_array(np.roll(np.eye(60), 1, axis=1))
    X = Views(words=DATA.views["view0"], links=links, ids=ids, feature_names={"links": ids})
    near = make_pipeline(NeighborViews("links", keep=False), Counts("near"))
    experts = [expert("near", near, X), expert("plain", Counts("plain"), X)]
    judged, _ = judge(experts, PreparedViews(X), THREE, CLASSES, NO_DEADLINE, "late", lambda text: None)
    assert {n for n, _ in Counts.given["near"]} == {60} and {n for n, _ in Counts.given["plain"]} == {most}
    assert [n for _, n in Counts.given["near"]] == [n for _, n in Counts.given["plain"]]
    asked = [np.isnan(each.scores[:, 0]) for each in judged]
    assert_array_equal(*asked)
    assert np.count_nonzero(~asked[0]) == (30 if most == 60 else 20)


def test_some_unlabeled_objects_are_left_out_of_the_first_fold_and_scored_as_new_ones(monkeypatch):
    monkeypatch.setattr(held_out, "NEW", 5)
    bayes = expert("bayes", MultiViewNaiveBayes())
    (each,), new = judge([bayes], PreparedViews(DATA.views), THREE, CLASSES, NO_DEADLINE, "late", lambda text: None)
    assert len(new) == 5 and (CODES[new] < 0).all()
    others = np.setdiff1d(np.arange(60), new)
    model = fit_expert(MultiViewNaiveBayes(), READY[others], shown(0)[others], CLASSES)
    assert_allclose(each.of_new, class_scores(model, READY[new], CLASSES))
    Counts.given.clear()
    counts = expert("counts", Counts())
    judge([counts], PreparedViews(DATA.views), THREE, CLASSES, NO_DEADLINE, "late", lambda text: None)
    assert Counts.given["x"] == [(55, 20), (60, 20), (60, 20)]


def test_further_folds_are_left_out_once_enough_labels_have_been_held_out(monkeypatch):
    monkeypatch.setattr(held_out, "ENOUGH", 20)
    found = scores_of(MultiViewNaiveBayes())
    assert_array_equal(np.isnan(found[:, 0]), (THREE.folds < 0) | (THREE.folds == 2))


def test_one_that_fails_is_dropped_and_the_others_go_on():
    experts = [expert("fails", MultiViewNaiveBayes(alpha=-1)), expert("works", MultiViewNaiveBayes())]
    (fails, works), _ = judge(
        experts, PreparedViews(DATA.views), THREE, CLASSES, NO_DEADLINE, "late", lambda text: None
    )
    assert fails.dropped.startswith("could not be fitted: ") and fails.error is not None
    assert works.dropped is None and not np.isnan(works.scores[CODES >= 0]).any()


def test_where_there_is_no_time_the_cheapest_is_judged():
    experts = [expert("dear", MultiViewNaiveBayes(), cost=1), expert("cheap", MultiViewNaiveBayes())]
    judged, _ = judge(
        experts, PreparedViews(DATA.views), THREE, CLASSES, Deadline.after(1e-9), "late", lambda text: None
    )
    dear, cheap = judged
    assert dear.dropped == "late" and cheap.dropped is None
    assert np.isnan(dear.scores).all() and np.count_nonzero(~np.isnan(cheap.scores[:, 0])) == 10  # one fold


def test_only_steps_from_the_first_one_that_reads_labels_on_are_fitted_in_every_fold():
    free, rest = label_free_steps(make_pipeline(UnitRows(), NeighborViews("links"), MultiViewNaiveBayes()))
    assert [type(step) for step in free] == [UnitRows, NeighborViews] and len(rest.steps) == 1
    reading = make_pipeline(UnitRows(), BestView(LogisticRegression()), UnitRows(), MultiViewNaiveBayes())
    free, rest = label_free_steps(reading)
    assert len(free) == 1 and [name for name, _ in rest.steps] == [name for name, _ in reading.steps[1:]]


def test_steps_in_common_are_fitted_once():
    prepared = PreparedViews(DATA.views)
    one, two = (expert(str(a), make_pipeline(TfidfViews(), MultiViewNaiveBayes(alpha=a))) for a in (1, 2))
    assert prepared.behind(one)[0][0] is prepared.behind(two)[0][0]
    other = expert("other", make_pipeline(TfidfViews(norm="l1"), MultiViewNaiveBayes()))
    assert prepared.behind(other)[0][0] is not prepared.behind(one)[0][0]


def test_a_class_that_was_not_met_has_the_lowest_score():
    codes = np.where(DATA.target == 1, -1, DATA.target)
    model = fit_expert(MultiViewNaiveBayes(), DATA.views, codes, CLASSES)
    scores = class_scores(model, DATA.views, CLASSES)
    assert (scores[:, 1] <= scores[:, [0, 2]].min(axis=1)).all()


def test_experts_get_sparse_views_in_single_precision_where_no_digit_is_lost():
    whole, halves = np.eye(60, 4, dtype=np.int64) + 1, np.full((60, 3), 0.1)
    X = Views(words=sparse.csr_array(whole), shares=sparse.csr_array(halves), sizes=halves)
    _, _, ready = PreparedViews(X).behind(expert("bayes", MultiViewNaiveBayes(), X))
    assert [matrix.dtype.name for matrix in ready.values()] == ["float32", "float64", "float64"]
    assert_array_equal(ready["words"].toarray(), whole)


def test_other_labels_are_dealt_as_before_but_for_classes_that_would_be_in_one_fold():
    given = HeldOut(np.array([0, 0, 1, 1, 2, -1]), np.array([0, 1, 0, 1, -1, -1]))
    other = given.relabeled(np.array([0, 1, 1, 1, -1, -1]))  # the only one of its class is held out no more
    assert other.folds.tolist() == [-1, 1, 0, 1, -1, -1]
    assert given.lone == pytest.approx(1 / 5) and other.lone == pytest.approx(1 / 4)

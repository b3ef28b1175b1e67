"""Folds and held-out scores: no label is seen by whoever is asked for it, and all are asked for the same."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.pipeline import make_pipeline

from coview import (
    EachView,
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
PREPARED = PreparedViews(DATA.views)
CODES, CLASSES = np.where(np.arange(60) < 30, DATA.target, -1), np.arange(3)
THREE = HeldOut(CODES, np.where(np.arange(60) < 30, np.arange(60) // 10, -1))


@pytest.fixture(autouse=True)
def _nothing_left_out(monkeypatch):
    monkeypatch.setattr(held_out, "NEW", 0)


def scores_of(estimator, views=DATA.views, given=THREE, **settings):
    expert = Expert("one", estimator, as_given=True, **settings)
    (each,), _ = judge([expert], PreparedViews(views), given, CLASSES, NO_DEADLINE, "late", lambda text: None)
    assert each.error is None
    return each.scores


def shown(number: int) -> np.ndarray:
    return np.where(THREE.folds == number, -1, CODES)


def test_scores_are_those_of_a_fit_without_the_labels_of_the_fold():
    model = make_pipeline(TfidfViews(), MultiViewNaiveBayes())
    found = scores_of(model)
    for number in range(3):
        fold = THREE.folds == number
        expected = model.fit(DATA.views, np.where(fold | (CODES < 0), np.nan, CODES)).predict_proba(DATA.views)
        assert_allclose(np.exp(found[fold]), np.maximum(expected[fold], 1e-6))
    assert_array_equal(np.isnan(found[:, 0]), CODES < 0)


def test_what_was_spread_over_a_graph_is_read_from_it():
    fold = THREE.folds == 0
    model = LabelSpreadingClassifier().fit(DATA.views, shown(0))
    assert_allclose(np.exp(scores_of(LabelSpreadingClassifier())[fold]), np.maximum(model.memberships_[fold], 1e-6))


def test_weights_of_views_know_no_label_that_is_held_out():
    X = Views({**dict(DATA.views.items()), "noise": np.random.default_rng(0).poisson(1.0, (60, 9))})
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

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize("most", [60, 40])
def test_all_experts_are_judged_with_the_same_objects(most, monkeypatch):
    """Of very many a sample; those that need links see all objects, and no more labels than the others."""
    monkeypatch.setattr(held_out, "MOST_OBJECTS", most)
    Counts.given.clear()
    ids = np.array([f"page {i}" for i in range(60)])
    links = sparse.csr_array(np.roll(np.eye(60), 1, axis=1))
    X = Views(words=DATA.views["view0"], links=links, ids=ids, feature_names={"links": ids})
    near = make_pipeline(NeighborViews("links", keep=False), Counts("near"))
    experts = [Expert("near", near, as_given=True), Expert("plain", Counts("plain"), as_given=True)]
    judged, _ = judge(experts, PreparedViews(X), THREE, CLASSES, NO_DEADLINE, "late", lambda text: None)
    assert {n for n, _ in Counts.given["near"]} == {60} and {n for n, _ in Counts.given["plain"]} == {most}
    assert [n for _, n in Counts.given["near"]] == [n for _, n in Counts.given["plain"]]
    asked = [np.isnan(each.scores[:, 0]) for each in judged]
    assert_array_equal(*asked)
    assert np.count_nonzero(~asked[0]) == (30 if most == 60 else 20)


def test_some_unlabeled_objects_are_left_out_of_the_first_fold_and_scored_as_new_ones(monkeypatch):
    monkeypatch.setattr(held_out, "NEW", 5)
    bayes = Expert("bayes", MultiViewNaiveBayes(), as_given=True)
    (each,), new = judge([bayes], PreparedViews(DATA.views), THREE, CLASSES, NO_DEADLINE, "late", lambda text: None)
    assert len(new) == 5 and (CODES[new] < 0).all()
    assert list(each.of_new) == [("view0", "view1"), ("view0",), ("view1",)]
    others = np.setdiff1d(np.arange(60), new)
    model = fit_expert(MultiViewNaiveBayes(), DATA.views[others], shown(0)[others], CLASSES)
    for names, found in each.of_new.items():
        assert_allclose(found, class_scores(model, DATA.views[new].select(*names), CLASSES))
    Counts.given.clear()
    counts = Expert("counts", Counts(), as_given=True)
    judge([counts], PreparedViews(DATA.views), THREE, CLASSES, NO_DEADLINE, "late", lambda text: None)
    assert Counts.given["x"] == [(55, 20), (60, 20), (60, 20)]


def test_further_folds_are_left_out_once_enough_labels_have_been_held_out(monkeypatch):
    monkeypatch.setattr(held_out, "ENOUGH", 20)
    found = scores_of(MultiViewNaiveBayes())
    assert_array_equal(np.isnan(found[:, 0]), (THREE.folds < 0) | (THREE.folds == 2))


def test_one_that_fails_is_dropped_and_the_others_go_on():
    experts = [Expert("fails", MultiViewNaiveBayes(alpha=-1)), Expert("works", MultiViewNaiveBayes())]
    (fails, works), _ = judge(
        experts, PreparedViews(DATA.views), THREE, CLASSES, NO_DEADLINE, "late", lambda text: None
    )
    assert fails.dropped.startswith("could not be fitted: ") and fails.error is not None
    assert works.dropped is None and not np.isnan(works.scores[CODES >= 0]).any()


def test_where_there_is_no_time_the_cheapest_is_judged():
    experts = [Expert("dear", MultiViewNaiveBayes(), cost=1), Expert("cheap", MultiViewNaiveBayes())]
    judged, _ = judge(
        experts, PreparedViews(DATA.views), THREE, CLASSES, Deadline.after(1e-9), "late", lambda text: None
    )
    dear, cheap = judged
    assert dear.dropped == "late" and cheap.dropped is None
    assert np.isnan(dear.scores).all() and np.count_nonzero(~np.isnan(cheap.scores[:, 0])) == 10  # one fold


def test_steps_that_read_labels_are_fitted_in_every_fold():
    free, rest = label_free_steps(make_pipeline(UnitRows(), NeighborViews(labels=True), MultiViewNaiveBayes()))
    assert [type(step) for step in free] == [UnitRows] and len(rest.steps) == 2
    free, rest = label_free_steps(make_pipeline(UnitRows(), NeighborViews(), MultiViewNaiveBayes()))
    assert len(free) == 2 and len(rest.steps) == 1


def test_steps_in_common_are_fitted_once():
    prepared = PreparedViews(DATA.views)
    one, two = (Expert(str(a), make_pipeline(TfidfViews(), MultiViewNaiveBayes(alpha=a))) for a in (1, 2))
    assert prepared.behind(one)[0][0] is prepared.behind(two)[0][0]
    other = Expert("other", make_pipeline(TfidfViews(norm="l1"), MultiViewNaiveBayes()))
    assert prepared.behind(other)[0][0] is not prepared.behind(one)[0][0]


class Unpicklable(TransformerMixin, BaseEstimator):
    def __init__(self, function=None):
        self.function = function

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return self.function(X)


def test_steps_that_cannot_be_hashed_are_kept_by_which_they_are():
    prepared = PreparedViews(DATA.views)
    steps = EachView({"view0": Unpicklable(lambda X: X)})
    expert = Expert("own", make_pipeline(steps, MultiViewNaiveBayes()), as_given=True)
    assert prepared.behind(expert)[0][0] is prepared.behind(expert)[0][0]


def test_a_class_that_was_not_met_has_the_lowest_score():
    codes = np.where(DATA.target == 1, -1, DATA.target)
    model = fit_expert(MultiViewNaiveBayes(), DATA.views, codes, CLASSES)
    scores = class_scores(model, DATA.views, CLASSES)
    assert (scores[:, 1] <= scores[:, [0, 2]].min(axis=1)).all()


def test_default_experts_get_sparse_in_single_precision_and_given_ones_as_they_are():
    whole, halves = np.eye(60, 4, dtype=np.int64) + 1, np.full((60, 3), 0.1)
    X = Views(words=sparse.csr_array(whole), shares=sparse.csr_array(halves), sizes=halves)
    prepared = PreparedViews(X)
    _, _, ready = prepared.behind(Expert("default", MultiViewNaiveBayes()))
    _, _, given = prepared.behind(Expert("given", MultiViewNaiveBayes(), as_given=True))
    assert [matrix.dtype.name for matrix in ready.values()] == ["float32", "float64", "float64"]
    assert given is X


def test_steps_of_default_and_given_experts_are_fitted_apart():
    prepared = PreparedViews(Views(words=sparse.csr_array(np.eye(60, 4, dtype=np.int64) + 1)))
    pipeline = make_pipeline(TfidfViews(), MultiViewNaiveBayes())
    found = {
        as_given: prepared.behind(Expert("both", pipeline, as_given=as_given))[2]["words"].dtype
        for as_given in (False, True)
    }
    assert found == {False: np.float32, True: np.float64}


def test_other_labels_are_dealt_as_before_but_for_classes_that_would_be_in_one_fold():
    given = HeldOut(np.array([0, 0, 1, 1, 2, -1]), np.array([0, 1, 0, 1, -1, -1]))
    other = given.relabeled(np.array([0, 1, 1, 1, -1, -1]))  # the only one of its class is held out no more
    assert other.folds.tolist() == [-1, 1, 0, 1, -1, -1]
    assert given.lone == pytest.approx(1 / 5) and other.lone == pytest.approx(1 / 4)

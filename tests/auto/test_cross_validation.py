"""Folds and out-of-fold scores: no label is seen by whoever is asked for it."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
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
from coview.auto import cross_validation
from coview.auto.cross_validation import (
    FoldScores,
    LabeledSample,
    PreparedViews,
    best_so_far,
    class_scores,
    deal_folds,
    drop_hopeless,
    fit_candidate,
    label_free_steps,
)
from coview.auto.judging import drop_light
from coview.auto.pipelines import PipelineCandidate
from coview.datasets import make_topic_views

DATA = make_topic_views(n_objects=60, n_clusters=3, random_state=0)


def judged(scores: np.ndarray, name: str) -> FoldScores:
    return FoldScores(PipelineCandidate(name, MultiViewNaiveBayes()), scores)


def test_folds_are_even_in_every_class_and_spare_lone_labels():
    codes = np.array([0] * 7 + [1] * 4 + [2] + [-1] * 5)
    folds = deal_folds(codes, 3, seed=1)
    assert (folds[codes == -1] == -1).all() and folds[codes == 2] == -1
    for code in (0, 1):
        sizes = np.bincount(folds[codes == code], minlength=3)
        assert sizes.max() - sizes.min() <= 1


def test_scores_are_those_of_a_fit_without_the_labels_of_the_fold():
    codes, classes = np.where(np.arange(60) < 30, DATA.target, -1), np.arange(3)
    fold = np.arange(60) < 10
    candidate = PipelineCandidate("bayes", make_pipeline(TfidfViews(), MultiViewNaiveBayes()), as_given=True)
    each = FoldScores(candidate, np.full((60, 3), np.nan))
    each.judge(LabeledSample.of(DATA.views, codes, 60, seed=0), classes, fold)
    labels = np.where(fold | (codes < 0), np.nan, codes)
    expected = candidate.estimator.fit(DATA.views, labels).predict_proba(DATA.views)
    assert_allclose(np.exp(each.scores[fold]), np.maximum(expected[fold], 1e-6))
    assert_array_equal(each.judged, fold)


def test_what_was_spread_over_a_graph_is_read_from_it():
    codes, classes = np.where(np.arange(60) < 30, DATA.target, -1), np.arange(3)
    fold = np.arange(60) < 10
    each = FoldScores(PipelineCandidate("graph", LabelSpreadingClassifier()), np.full((60, 3), np.nan))
    each.judge(LabeledSample.of(DATA.views, codes, 60, seed=0), classes, fold)
    model = LabelSpreadingClassifier().fit(DATA.views, np.where(fold, -1, codes))
    assert_allclose(np.exp(each.scores[fold]), np.maximum(model.memberships_[fold], 1e-6))


def test_weights_of_views_know_no_label_that_is_held_out():
    codes, classes = np.where(np.arange(60) < 30, DATA.target, -1), np.arange(3)
    noise = np.random.default_rng(0).poisson(1.0, (60, 9))
    X = Views({**dict(DATA.views.items()), "noise": noise})
    sample = LabeledSample.of(X, codes, 60, seed=0)
    centers = SeededKMeansClassifier(view_weights="auto")
    each = FoldScores(PipelineCandidate("centers", centers), np.full((60, 3), np.nan))
    for start in (0, 10):
        fold = (np.arange(60) >= start) & (np.arange(60) < start + 10)
        each.judge(sample, classes, fold)
        expected = clone(centers).fit(X, np.where(fold, -1, codes))
        assert expected.view_weights_["noise"] < 1
        assert_allclose(each.scores[fold], class_scores(expected, X[start : start + 10], classes))


def test_who_learns_from_every_object_is_judged_with_some(monkeypatch):
    monkeypatch.setattr(cross_validation, "UNLABELED", 12)
    codes, classes = np.where(np.arange(60) < 30, DATA.target, -1), np.arange(3)
    fold = np.arange(60) < 10
    sample = LabeledSample.of(DATA.views, codes, 60, seed=0)
    all_of_them, few = (
        PipelineCandidate("seeded", SeededKMeansClassifier(), per_class=n, as_given=True) for n in (None, 5)
    )
    some = sample.judging(few)
    assert len(sample.judging(all_of_them)) == 60
    assert_array_equal(some[:30], np.arange(30))  # whoever is labeled
    assert len(some) == 45 and len(np.unique(some)) == 45  # 5 for each of 3 classes
    each = FoldScores(few, np.full((60, 3), np.nan))
    each.judge(sample, classes, fold)
    expected = SeededKMeansClassifier().fit(DATA.views[some], np.where(fold, -1, codes)[some])
    assert_allclose(each.scores[fold], class_scores(expected, DATA.views[:10], classes))


def test_steps_that_read_labels_are_fitted_in_every_fold():
    free, rest = label_free_steps(make_pipeline(UnitRows(), NeighborViews(labels=True), MultiViewNaiveBayes()))
    assert [type(step) for step in free] == [UnitRows] and len(rest.steps) == 2
    free, rest = label_free_steps(make_pipeline(UnitRows(), NeighborViews(), MultiViewNaiveBayes()))
    assert len(free) == 2 and len(rest.steps) == 1


def test_steps_in_common_are_fitted_once():
    prepared = PreparedViews(DATA.views)
    one, two = (PipelineCandidate(str(a), make_pipeline(TfidfViews(), MultiViewNaiveBayes(alpha=a))) for a in (1, 2))
    assert prepared.behind(one)[0][0] is prepared.behind(two)[0][0]
    other = PipelineCandidate("other", make_pipeline(TfidfViews(norm="l1"), MultiViewNaiveBayes()))
    assert prepared.behind(other)[0][0] is not prepared.behind(one)[0][0]


def test_a_class_that_was_not_met_has_the_lowest_score():
    codes = np.where(DATA.target == 1, -1, DATA.target)
    model = fit_candidate(MultiViewNaiveBayes(), DATA.views, codes, np.arange(3))
    scores = class_scores(model, DATA.views, np.arange(3))
    assert (scores[:, 1] <= scores[:, [0, 2]].min(axis=1)).all()


def test_only_clear_differences_drop_a_candidate():
    codes = np.zeros(40, dtype=int)
    good = np.tile([1.0, 0.0], (40, 1))
    close, poor = good.copy(), good.copy()
    close[:5] = [0.0, 1.0]
    poor[:20] = [0.0, 1.0]
    each = [judged(good, "good"), judged(close, "close"), judged(poor, "poor")]
    drop_hopeless(each, codes)
    assert [one.dropped is None for one in each] == [True, True, False]
    assert "good" in each[2].dropped


def test_a_candidate_without_half_the_least_weight_is_given_up_unless_it_alone_answers_from_a_view():
    """Right with certainty is worth more than a guess, and one that costs more must be worth more."""
    views, codes = Views(links=np.eye(40), words=np.ones((40, 2))), np.arange(40) % 2
    near = make_pipeline(NeighborViews(), MultiViewNaiveBayes())
    sure, guess = 4.0 * np.eye(2)[codes], np.eye(2)[np.arange(40) // 2 % 2]
    half = 2.0 * np.eye(2)[codes]
    half[::4] = half[::4, ::-1]
    best = FoldScores(PipelineCandidate("near", near), sure)
    poor = FoldScores(PipelineCandidate("poor", MultiViewNaiveBayes(), prior=0.02), guess)
    plain = FoldScores(PipelineCandidate("plain", MultiViewNaiveBayes(), prior=0.02), half)
    costly = FoldScores(PipelineCandidate("costly", MultiViewNaiveBayes(), prior=0.02, cost=1), guess.copy())
    every = [best, poor, plain, costly]
    drop_light(every, codes, views)
    assert [each.dropped is None for each in every] == [True, False, True, False]
    drop_light(every, codes, views)
    assert plain.dropped is None  # who answers from words alone
    unheard = [FoldScores(each.candidate, np.full((40, 2), np.nan)) for each in every]
    drop_light(unheard, codes, views)
    assert all(each.dropped is None for each in unheard)


def test_views_that_a_candidate_cannot_answer_from():
    links = Views(links=np.eye(4), words=np.ones((4, 2)))
    near = PipelineCandidate("near", make_pipeline(NeighborViews(), MultiViewNaiveBayes()))
    some = PipelineCandidate("words", MultiViewNaiveBayes(), ("words",))
    assert near.seen(links.select("words")) is None and near.seen(links.select("links")) is None
    assert near.seen(links) is links
    assert some.seen(links).names == ("words",) and some.seen(links.select("links")) is None


def test_a_sample_has_labels_of_every_class_and_unlabeled_objects():
    codes = np.full(1000, -1)
    codes[:300] = 0
    codes[300:304] = 1
    data = Views(x=np.arange(1000.0)[:, None])
    sample = LabeledSample.of(data, codes, 100, seed=0)
    assert len(sample.rows) == 100 and (sample.codes >= 0).sum() == 50
    assert (sample.codes == 1).sum() >= 1
    assert_array_equal(sample.prepared.views["x"].ravel(), sample.rows)
    assert_array_equal(sample.codes, codes[sample.rows])
    assert len(LabeledSample.of(data, codes, 1000, seed=0).rows) == 1000


def test_steps_with_large_parameters_that_look_alike_are_told_apart():
    pairs = np.zeros((2, 3000))
    pairs[1, 1500] = 1.0  # numpy shows neither
    X = Views(x=np.random.default_rng(0).normal(size=(20, 3000)))
    prepared = PreparedViews(X)
    one, two = (
        PipelineCandidate("shift", make_pipeline(EachView(Shift(part)), MultiViewNaiveBayes())) for part in pairs
    )
    assert_allclose(prepared.behind(two)[2]["x"] - prepared.behind(one)[2]["x"], np.tile(pairs[1] - pairs[0], (20, 1)))


class Shift(TransformerMixin, BaseEstimator):
    """Adds the same row to all."""

    def __init__(self, row):
        self.row = row

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X + self.row


def test_only_what_candidates_still_need_is_kept():
    prepared = PreparedViews(DATA.views)
    short = PipelineCandidate("short", make_pipeline(TfidfViews(), MultiViewNaiveBayes()), as_given=True)
    long = PipelineCandidate("long", make_pipeline(TfidfViews(), UnitRows("l1"), MultiViewNaiveBayes()), as_given=True)
    first = prepared.behind(long)[2]
    prepared.behind(short)
    prepared.keep([long])
    assert len(prepared._known) == 1 and prepared.behind(long)[2] is first
    assert_array_equal(
        prepared.behind(short)[2]["view0"].toarray(), TfidfViews().fit_transform(DATA.views)["view0"].toarray()
    )


def test_the_best_is_who_finds_the_most_of_what_was_asked():
    codes = np.array([0, 0, 1, 1])
    right, half = np.eye(2)[codes], np.eye(2)[[0, 0, 0, 0]]
    some = right.copy()
    some[2:] = np.nan
    assert best_so_far([judged(half, "half"), judged(right, "right")], codes).candidate.name == "right"
    assert best_so_far([judged(half, "half"), judged(some, "some")], codes).candidate.name == "some"
    assert best_so_far([judged(np.full((4, 2), np.nan), "none")], codes) is None


def test_default_candidates_get_sparse_in_single_precision_and_given_ones_as_they_are():
    whole, halves = np.eye(60, 4, dtype=np.int64) + 1, np.full((60, 3), 0.1)
    X = Views(words=sparse.csr_array(whole), shares=sparse.csr_array(halves), sizes=halves)
    prepared = LabeledSample.of(X, np.arange(60) % 2, 60, seed=0).prepared
    _, _, ready = prepared.behind(PipelineCandidate("default", MultiViewNaiveBayes()))
    _, _, given = prepared.behind(PipelineCandidate("given", MultiViewNaiveBayes(), as_given=True))
    assert [matrix.dtype.name for matrix in ready.values()] == ["float32", "float64", "float64"]
    assert given is X


def test_steps_of_default_and_given_candidates_are_fitted_apart():
    X = Views(words=sparse.csr_array(np.eye(60, 4, dtype=np.int64) + 1))
    prepared = LabeledSample.of(X, np.arange(60) % 2, 60, seed=0).prepared
    pipeline = make_pipeline(TfidfViews(), MultiViewNaiveBayes())
    found = {
        as_given: prepared.behind(PipelineCandidate("both", pipeline, as_given=as_given))[2]["words"].dtype
        for as_given in (False, True)
    }
    assert found == {False: np.float32, True: np.float64}


def test_a_few_labels_all_found_are_no_more_than_most_of_many():
    codes = np.zeros(40, dtype=int)
    most = np.where(np.arange(40)[:, None] < 36, [1.0, 0.0], [0.0, 1.0])
    lucky, surely = np.full((2, 40, 2), np.nan)
    lucky[:4], surely[:30] = [1.0, 0.0], [1.0, 0.0]
    assert best_so_far([judged(most, "most"), judged(lucky, "lucky")], codes).candidate.name == "most"
    assert best_so_far([judged(most, "most"), judged(surely, "surely")], codes).candidate.name == "surely"


def test_of_equals_the_one_that_did_better_on_other_data_is_the_best():
    codes, scores = np.zeros(3, dtype=int), np.eye(2)[[0, 0, 1]]
    each = [FoldScores(PipelineCandidate(name, MultiViewNaiveBayes(), prior=prior), scores)
            for name, prior in (("rarely", 0.5), ("often", 3.0), ("sometimes", 1.0))]  # fmt: skip
    assert best_so_far(each, codes).candidate.name == "often"


def test_who_calls_all_classes_as_probable_is_given_up_beside_one_who_knows():
    rng = np.random.default_rng(0)
    codes = np.arange(40) % 2
    knows = 1.5 * np.where(np.arange(2) == codes[:, None], 1.0, -1.0) + 1.5 * rng.normal(size=(40, 2))
    guesses = rng.normal(size=(40, 2))
    for n_rows, expected in ((40, True), (19, False)):
        hidden = np.arange(40)[:, None] >= n_rows
        several = [judged(np.where(hidden, np.nan, scores), name) for scores, name in ((knows, "a"), (guesses, "b"))]
        drop_hopeless(several, codes)
        assert several[0].dropped is None
        assert (several[1].dropped == "clearly worse than a by log loss on held-out labels") is expected
    alike = [judged(knows + 0.1 * rng.normal(size=(40, 2)), name) for name in "ab"]
    drop_hopeless(alike, codes)
    assert [each.dropped for each in alike] == [None, None]

"""Scores of one method: equal to scikit-learn's own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline

from coview import LinkPLSA, MultiViewNaiveBayes, TextViews, TimeBudget, Views, edit, inspect
from coview.datasets import make_topic_views
from coview.model_selection.copies import copy_to_fit
from coview.model_selection.methods import Method
from coview.model_selection.scores import Task, check_scoring, cluster_labels, evaluate
from coview.model_selection.splits import draw_few_label_splits, make_splits

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


# -- Splits: every labeled object is asked for, classes and groups stay where they must, the same seed gives the same

codes_of = st.lists(st.integers(2, 12), min_size=2, max_size=4).map(
    lambda counts: np.repeat(np.arange(len(counts)), counts)
)


def test_folds_part_the_objects_and_never_tear_groups():
    codes = np.arange(30) % 3
    found = make_splits(codes, 5, None, 0)
    assert sorted(np.concatenate([test for _, test in found])) == list(range(30))
    for train, test in found:
        assert not set(train) & set(test) and len(train) + len(test) == 30
    groups = np.arange(30) // 4
    for train, test in make_splits(codes, 4, groups, 0):
        assert not set(groups[train]) & set(groups[test])


@settings(deadline=None, max_examples=20)
@given(codes_of, st.integers(0, 9))
def test_hidden_labels_leave_every_class_one(codes, seed):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.concatenate([codes, np.full(5, -1)]))
    for kept, asked in draw_few_label_splits(codes, None, 3, None, None, seed):
        assert set(kept) | set(asked) == set(np.flatnonzero(codes >= 0)) and not set(kept) & set(asked)
        assert set(codes[kept]) == set(codes[codes >= 0]) and len(asked)


def test_a_class_with_one_label_keeps_it():
    codes = np.array([0, 1, 1, 1, 1])
    for kept, asked in draw_few_label_splits(codes, None, 5, None, None, 0):
        assert 0 in kept and set(codes[asked]) == {1}
    with pytest.raises(ValueError, match="none can be hidden"):
        draw_few_label_splits(np.array([0, 1, -1]), None, 2, None, None, 0)


@settings(deadline=None, max_examples=20)
@given(codes_of, st.sampled_from([0.01, 0.1, 0.5]))
def test_a_share_of_each_class_is_kept(codes, share):
    kept, asked = draw_few_label_splits(codes, None, 1, None, share, 0)[0]
    for k in np.unique(codes):
        assert np.sum(codes[kept] == k) == int(np.ceil(share * np.sum(codes == k)))
    assert len(kept) + len(asked) == len(codes)


@pytest.mark.parametrize("cv", [4, StratifiedKFold(4)])
def test_folds_of_few_labels_hide_each_label_once(cv):
    codes = np.where(np.arange(40) % 5, np.arange(40) % 2, -1)
    found = draw_few_label_splits(codes, cv, 9, None, None, 0)
    assert sorted(np.concatenate([asked for _, asked in found])) == np.flatnonzero(codes >= 0).tolist()
    assert len(found) == 4


# -- Copies to fit anew: the settings, the edits, another seed, less time, and nobody who watches

DATA_OF_COPIES = make_topic_views(n_objects=90, n_clusters=3, random_state=0)
X_OF_COPIES = DATA_OF_COPIES.views
WORDS = ["ship sail harbor wind", "bread oven flour yeast", "chess rook pawn board"]
ROWS = {"body": [f"{WORDS[i % 3]} {WORDS[i % 3].split()[i % 4]}" for i in range(60)]}


def by_subject():
    """Topics that are the subjects, in this order, whatever the seed."""
    seeds = {0: ["ship"], 1: ["bread"], 2: ["chess"]}
    return make_pipeline(TextViews({"words": "body"}, min_df=1), LinkPLSA(3, random_state=0, seeds=seeds))


def test_edits_are_made_again_and_the_model_stays_as_it_is():
    model = edit(LinkPLSA(4, random_state=0).fit(X_OF_COPIES)).merge([1, 3], name="both").split(0, X_OF_COPIES)
    before, log = model.predict(X_OF_COPIES), list(model.edits_)
    copy = copy_to_fit(model).fit(X_OF_COPIES[:60])
    assert copy.edits_ == log == model.edits_
    assert inspect(copy).groups == inspect(model).groups and "both" in inspect(copy).group_names
    assert copy.estimator_ is not model.estimator_ and len(copy.splits_) == 1
    assert model.estimator_.random_state == model.estimator.random_state == 0
    np.testing.assert_array_equal(model.predict(X_OF_COPIES), before)


def test_an_edited_pipeline_is_copied_as_a_whole_and_without_its_first_steps():
    fitted = by_subject().fit(ROWS)
    for model in (edit(fitted).merge([0, 2], name="play"), fitted):
        log = [] if model is fitted else model.edits_
        expected = model.transform(ROWS)
        whole = copy_to_fit(model).fit(ROWS)
        part = copy_to_fit(model, prepared=True).fit(fitted[:-1].transform(ROWS))
        assert (whole.edits_ if log else []) == log and (part.edits_ if log else []) == log
        np.testing.assert_allclose(whole.transform(ROWS), expected, atol=1e-6)
        np.testing.assert_allclose(part.transform(fitted[:-1].transform(ROWS)), expected, atol=1e-6)


def test_copies_have_the_time_that_is_given_and_nobody_watches_them():
    told = []
    model = (
        LinkPLSA(3, max_iter=2, random_state=0, verbose=1).set_callbacks(told.append, TimeBudget(50.0)).fit(X_OF_COPIES)
    )
    n = len(told)
    for each in (model, edit(model).merge([0, 1])):
        inner = copy_to_fit(each, time_budget=9.0).fit(X_OF_COPIES)
        inner = inner if each is model else inner.estimator_
        assert (inner._callbacks, inner.verbose, inner.random_state) == ((TimeBudget(9.0),), None, 0)
    assert len(told) == n
    loud = make_pipeline(KMeans(2, verbose=1, n_init=1), verbose=True)
    assert copy_to_fit(loud).get_params()["verbose"] is False and copy_to_fit(loud)[-1].verbose == 0

"""Copies to fit anew: the settings, the edits, another seed, less time, and nobody who watches."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline

from coview import LinkPLSA, TextViews, TimeBudget, edit, inspect
from coview.datasets import make_topic_views
from coview.model_selection.copies import copy_to_fit

DATA = make_topic_views(n_objects=90, n_clusters=3, random_state=0)
X = DATA.views
WORDS = ["ship sail harbor wind", "bread oven flour yeast", "chess rook pawn board"]
ROWS = {"body": [f"{WORDS[i % 3]} {WORDS[i % 3].split()[i % 4]}" for i in range(60)]}


def by_subject():
    """Topics that are the subjects, in this order, whatever the seed."""
    seeds = {0: ["ship"], 1: ["bread"], 2: ["chess"]}
    return make_pipeline(TextViews({"words": "body"}, min_df=1), LinkPLSA(3, random_state=0, seeds=seeds))


def test_edits_are_made_again_and_the_model_stays_as_it_is():
    model = edit(LinkPLSA(4, random_state=0).fit(X)).merge([1, 3], name="both").split(0, X)
    before, log = model.predict(X), list(model.edits_)
    copy = copy_to_fit(model, seed=5).fit(X[:60])
    assert copy.edits_ == log == model.edits_ and copy.estimator_.random_state == 5
    assert inspect(copy).groups == inspect(model).groups and "both" in inspect(copy).group_names
    assert copy.estimator_ is not model.estimator_ and len(copy.splits_) == 1
    assert model.estimator_.random_state == model.estimator.random_state == 0
    np.testing.assert_array_equal(model.predict(X), before)


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
    model = LinkPLSA(3, max_iter=2, random_state=0, verbose=1).set_callbacks(told.append, TimeBudget(50.0)).fit(X)
    n = len(told)
    for each in (model, edit(model).merge([0, 1])):
        inner = copy_to_fit(each, time_budget=9.0).fit(X)
        inner = inner if each is model else inner.estimator_
        assert (inner._callbacks, inner.verbose, inner.random_state) == ((TimeBudget(9.0),), None, 0)
    assert len(told) == n
    loud = make_pipeline(KMeans(2, verbose=1, n_init=1), verbose=True)
    assert copy_to_fit(loud).get_params()["verbose"] is False and copy_to_fit(loud)[-1].verbose == 0

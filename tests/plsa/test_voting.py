"""VotingPLSA: who becomes a seed, seeds that stay, a likelihood that never falls, missing views, edges."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from coview import PLSA, TimeBudget
from coview.datasets import make_topic_views
from coview.engines.loop import NO_DEADLINE
from coview.metrics import clustering_accuracy
from coview.plsa.voting import VotingPLSA


def corpus(n=60, views=2, seed=0, missing=0.0, **options):
    sizes = {f"view{v}": 40 - 8 * v for v in range(views)}
    options = {"length": 25, "mixing": 0.4, **options}
    return make_topic_views(n, sizes, 3, missing=missing, random_state=seed, **options)


def unlike(votes, share):
    """Whether an object is no seed, counted one by one."""
    cast = [vote for vote in votes if vote >= 0]
    return len(cast) < 2 or max(cast.count(vote) for vote in cast) < share * len(cast) - 1e-9


@given(seed=st.integers(0, 1000), views=st.integers(2, 4), share=st.sampled_from([1.0, 0.6]))
@settings(deadline=None, max_examples=15)
def test_seeds_are_the_objects_whose_views_agree(seed, views, share):
    X = corpus(30, views, seed, missing=0.2).views
    model = VotingPLSA(3, min_agreement=share, max_iter=5, tol=0, random_state=seed).fit(X)
    votes = np.column_stack(list(model.labels_by_view_.values()))
    assert_array_equal(model.seeds_, [not unlike(row.tolist(), share) for row in votes])


def test_seeds_keep_the_cluster_that_their_views_chose():
    model = VotingPLSA(3, random_state=0).fit(corpus(agreement=0.7).views)
    assert 0 < model.seeds_.sum() < 60
    assert_array_equal(model.labels_[model.seeds_], model.labels_by_view_["view0"][model.seeds_])
    assert_allclose(model.memberships_[model.seeds_].max(axis=1), 1.0)


def test_votes_are_those_of_each_views_own_plsa():
    X = corpus().views
    model = VotingPLSA(3, max_iter=20, tol=0, random_state=0).fit(X)
    from coview.validation import base_seed

    for name in X.names:
        alone = PLSA(3, max_iter=20, tol=0, random_state=base_seed(0)).fit(X.select(name)).memberships_.argmax(axis=1)
        assert clustering_accuracy(alone, model.labels_by_view_[name]) == 1.0


def test_the_time_budget_ends_the_fits_of_the_views_too():
    X = corpus().views
    short = VotingPLSA(3, max_iter=50, tol=0, random_state=0).set_callbacks(TimeBudget(1e-9)).fit(X)
    one = VotingPLSA(3, max_iter=1, tol=0, random_state=0).fit(X)
    assert {name: part.tolist() for name, part in short.labels_by_view_.items()} == {
        name: part.tolist() for name, part in one.labels_by_view_.items()
    }
    assert (short.n_iter_, short.stopped_by_) == (1, "time")


def test_each_stage_gets_what_the_ones_before_left(monkeypatch):
    given = []

    class Watched(PLSA):
        def _fit_until(self, X, deadline):
            given.append(deadline.left())
            clock.now += (40, 261)[len(given) - 1]
            return super()._fit_until(X, NO_DEADLINE)  # it does not look at the clock

    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("coview.plsa.voting.PLSA", Watched)
    monkeypatch.setattr("coview.engines.loop.time", SimpleNamespace(monotonic=lambda: clock.now))
    model = VotingPLSA(3, max_iter=5, tol=0, random_state=0).set_callbacks(TimeBudget(300)).fit(corpus().views)
    assert given == pytest.approx([120, 200])  # of the 240 s for both views, half; then what the first left
    assert (model.n_iter_, model.stopped_by_) == (1, "time")


def test_the_rest_is_learned_from_the_seeds():
    data = corpus(150, agreement=0.6, mixing=0.2, length=60)
    model = VotingPLSA(3, random_state=0).fit(data.views)
    assert model.seeds_.mean() < 0.9
    assert clustering_accuracy(data.target, model.labels_) > 0.8


def test_the_likelihood_is_that_of_link_plsa():
    X = corpus().views
    weights = {"view0": 0.5, "view1": 2.0}
    model = VotingPLSA(3, view_weights=weights, max_iter=6, tol=0, random_state=0).fit(X)
    total = sum(
        weights[name]
        * (matrix.toarray() * np.log(np.maximum(model.memberships_ @ model.topic_feature_[name], 1e-300))).sum()
        for name, matrix in X.items()
    )
    assert_allclose(model.history_["objective"][-1], total, rtol=1e-9)


def test_new_objects_go_where_the_old_ones_are():
    data = corpus(160, mixing=0.2, length=60)
    model = VotingPLSA(3, random_state=0).fit(data.views[:120])
    both = np.concatenate([model.labels_, model.predict(data.views[120:])])
    assert clustering_accuracy(data.target, both) > 0.95

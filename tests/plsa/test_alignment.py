"""Matching of topics across views against trying every order."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from coview.plsa.starts import align_topics, compute_topic_overlap


def agreement(overlap, orders, width):
    views = len(orders)
    parts = overlap.reshape(views, width, views, width)
    return sum(parts[u, orders[u], v, orders[v]].sum() for u in range(views) for v in range(u))


@given(seed=st.integers(0, 10_000), width=st.integers(1, 5))
@settings(deadline=None, max_examples=30)
def test_two_views_are_matched_as_well_as_can_be(seed, width):
    table = np.random.default_rng(seed).random((12, 2 * width))
    overlap = compute_topic_overlap({"mixture": table})
    orders = align_topics(overlap, width)
    best = max(agreement(overlap, [np.arange(width), np.array(p)], width) for p in permutations(range(width)))
    assert_allclose(agreement(overlap, orders, width), best, rtol=1e-12)


@given(seed=st.integers(0, 10_000))
@settings(deadline=None, max_examples=30)
def test_no_single_view_of_three_can_do_better(seed):
    table = np.random.default_rng(seed).random((10, 9))
    overlap = compute_topic_overlap({"mixture": table})
    orders = align_topics(overlap, 3)
    reached = agreement(overlap, orders, 3)
    for v, other in product((1, 2), permutations(range(3))):
        moved = orders.copy()
        moved[v] = other
        assert agreement(overlap, moved, 3) <= reached + 1e-12


@pytest.mark.parametrize("views", [2, 3, 5])
def test_shuffled_copies_are_put_back(views):
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.full(6, 0.1), 50)
    shuffles = [np.arange(6), *(rng.permutation(6) for _ in range(views - 1))]
    overlap = compute_topic_overlap({"mixture": np.hstack([P[:, order] for order in shuffles])})
    orders = align_topics(overlap, 6)
    for order, shuffle in zip(orders, shuffles):
        assert_array_equal(P[:, shuffle][:, order], P)


def test_even_rows_do_not_matter():
    rng = np.random.default_rng(1)
    table = np.hstack([rng.dirichlet(np.ones(4), 20) for _ in range(2)])
    lacking = np.hstack([rng.dirichlet(np.ones(4), 9), np.full((9, 4), 0.25)])
    few, more = (compute_topic_overlap({"mixture": part}) for part in (table, np.vstack([table, lacking])))
    assert_array_equal(align_topics(few, 4), align_topics(more, 4))

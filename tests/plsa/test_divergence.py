"""Measures of disagreement: scipy's where it has them, zero only between equals, pairs counted where both are there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from scipy.stats import entropy

from coview.plsa.co_plsa import DIVERGENCES, total_divergence


def mixtures(seed: int, K: int, n: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(K, 0.5), n).clip(1e-12)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), K=st.integers(1, 20))
def test_values_are_scipys(seed, K):
    P, Q = mixtures(seed, K), mixtures(seed + 1, K)
    P, Q = P / P.sum(axis=1, keepdims=True), Q / Q.sum(axis=1, keepdims=True)
    assert_allclose(DIVERGENCES["skl"](P, Q), entropy(P, Q, axis=1) + entropy(Q, P, axis=1), rtol=1e-9, atol=1e-12)
    assert_allclose(DIVERGENCES["l2"](P, Q), 0.5 * np.diag(cdist(P, Q, "sqeuclidean")), atol=1e-15)
    assert_allclose(DIVERGENCES["l1"](P, Q), np.diag(cdist(P, Q, "cityblock")), atol=1e-15)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_a_mixture_agrees_with_itself_and_order_does_not_matter(divergence):
    P, Q = mixtures(0, 8), mixtures(1, 8)
    assert_allclose(DIVERGENCES[divergence](P, P), 0)
    assert_allclose(DIVERGENCES[divergence](P, Q), DIVERGENCES[divergence](Q, P))
    assert (DIVERGENCES[divergence](P, Q) > 0).all()


@pytest.mark.parametrize("divergence", DIVERGENCES)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), t=st.floats(0, 1))
def test_they_are_convex_in_both_mixtures_together(divergence, seed, t):
    P, Q, R, S = (mixtures(seed + i, 6) for i in range(4))
    D = DIVERGENCES[divergence]
    mixed = D(t * P + (1 - t) * R, t * Q + (1 - t) * S)
    assert (mixed <= t * D(P, Q) + (1 - t) * D(R, S) + 1e-12).all()


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_pairs_count_where_both_views_are_there(divergence):
    parts = {name: mixtures(i, 5) for i, name in enumerate("abc")}
    have = {"a": np.array([True] * 4), "b": np.array([True, True, False, False]), "c": np.array([True, False] * 2)}
    found = total_divergence(divergence, parts, have, {("a", "b"): 2.0, ("a", "c"): 3.0, ("b", "c"): 0.0})
    D = DIVERGENCES[divergence]
    ab, ac = D(parts["a"], parts["b"]), D(parts["a"], parts["c"])
    assert_allclose(found, [2 * ab[0] + 3 * ac[0], 2 * ab[1], 3 * ac[2], 0], rtol=1e-12)


def test_float32_mixtures_are_added_up_in_float64():
    P = mixtures(2, 5).astype(np.float32)
    assert all(D(P, P[::-1]).dtype == np.float64 for D in DIVERGENCES.values())

"""Measures of disagreement: scipy's where it has them, zero only between equals, pairs counted where both are there."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from scipy.stats import entropy

from coview.plsa.divergences import DIVERGENCES


def mixtures(seed: int, K: int, n: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(K, 0.5), n).clip(1e-12)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), K=st.integers(1, 20))
def test_values_are_scipys(seed, K):
    P, Q = mixtures(seed, K), mixtures(seed + 1, K)
    P, Q = P / P.sum(axis=1, keepdims=True), Q / Q.sum(axis=1, keepdims=True)
    assert_allclose(DIVERGENCES["skl"].pair(P, Q), entropy(P, Q, axis=1) + entropy(Q, P, axis=1), rtol=1e-9, atol=1e-12)
    assert_allclose(DIVERGENCES["l2"].pair(P, Q), 0.5 * np.diag(cdist(P, Q, "sqeuclidean")), atol=1e-15)
    assert_allclose(DIVERGENCES["l1"].pair(P, Q), np.diag(cdist(P, Q, "cityblock")), atol=1e-15)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_a_mixture_agrees_with_itself_and_order_does_not_matter(divergence):
    P, Q = mixtures(0, 8), mixtures(1, 8)
    assert_allclose(DIVERGENCES[divergence].pair(P, P), 0)
    assert_allclose(DIVERGENCES[divergence].pair(P, Q), DIVERGENCES[divergence].pair(Q, P))
    assert (DIVERGENCES[divergence].pair(P, Q) > 0).all()


@pytest.mark.parametrize("divergence", DIVERGENCES)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), t=st.floats(0, 1))
def test_they_are_convex_in_both_mixtures_together(divergence, seed, t):
    P, Q, R, S = (mixtures(seed + i, 6) for i in range(4))
    D = DIVERGENCES[divergence].pair
    mixed = D(t * P + (1 - t) * R, t * Q + (1 - t) * S)
    assert (mixed <= t * D(P, Q) + (1 - t) * D(R, S) + 1e-12).all()


def many(seed: int, V: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mixtures of several views, who has which of them, and couplings."""
    rng = np.random.default_rng(seed)
    half = np.triu(rng.uniform(0, 3, size=(V, V)), 1)
    return np.stack([mixtures(seed + v, 4) for v in range(V)]), rng.random((4, V)) < 0.7, half + half.T


@pytest.mark.parametrize("divergence", DIVERGENCES)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000))
def test_the_total_is_the_sum_over_pairs(divergence, seed):
    parts, have, couplings = many(seed)
    expected = np.zeros(len(have))
    for v, w in combinations(range(len(parts)), 2):
        expected += couplings[v, w] * (have[:, v] & have[:, w]) * DIVERGENCES[divergence].pair(parts[v], parts[w])
    assert_allclose(DIVERGENCES[divergence].total(parts, have, couplings), expected, rtol=1e-10, atol=1e-12)
    alike = np.stack([parts[0]] * len(parts))
    assert not DIVERGENCES[divergence].total(alike, have, 1e6 * couplings).any()  # exactly
    assert DIVERGENCES[divergence].pair(*parts[:2].astype(np.float32)).dtype == np.float64


@pytest.mark.parametrize("divergence", [name for name, D in DIVERGENCES.items() if D.slope is not None])
def test_the_slope_is_that_of_small_steps(divergence):
    parts, have, couplings = many(5)
    parts = parts.clip(0.01)
    slope = DIVERGENCES[divergence].slope(parts, have, couplings)
    for v, i, k in np.ndindex(parts.shape):
        step = np.zeros_like(parts)
        step[v, i, k] = 1e-6
        up, down = (DIVERGENCES[divergence].total(parts + sign * step, have, couplings)[i] for sign in (1, -1))
        assert slope[v, i, k] == pytest.approx((up - down) / 2e-6, abs=1e-5)

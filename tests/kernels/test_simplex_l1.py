"""All mixtures of an object at once under L1: none are better, ties are exact, and nothing depends on order."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from coview.kernels.simplex_l1 import tie_rows


def solve(q, weights, *, old=None, have=None, damping=0.0):
    """Mixtures (views x rows x topics) from q of that shape, and the damping of each row."""
    V, n, K = q.shape
    new = np.full(q.shape, 1.0 / K) if old is None else np.array(old)
    have = np.ones((n, V), dtype=bool) if have is None else have
    added = np.zeros(n)
    tie_rows(np.ascontiguousarray(q), new, have, float(weights.max()), damping, added, 0, n)
    return new, added


def objective(h, q, weights):
    data = np.where(q > 0, q * np.log(np.maximum(h, 1e-300)), 0.0).sum()
    return data - sum(weights[a, b] * np.abs(h[a] - h[b]).sum() for a, b in combinations(range(len(h)), 2))


def make(seed, V, K, strength, sharp):
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.full(K, 0.1 if sharp else 1.0), V) * rng.choice([0.1, 1.0, 1.0, 10.0], (V, 1))
    q = 0.5 * (q + q[[0]]) + 1e-6
    return q, strength * (1 - np.eye(V))


PROBLEMS = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "V": st.integers(2, 5),
        "K": st.integers(1, 12),
        "strength": st.floats(-3, 2).map(lambda x: 10.0**x),
        "sharp": st.booleans(),
    }
)


def possible_gain(h, q, weights):
    """Most that any other mixtures could gain: the slope of the data term, the penalty as it is; a linear program."""
    V, K = h.shape
    pairs = list(combinations(range(V), 2))
    slope, size = q / h, V * K + len(pairs) * K
    cost = np.concatenate([-slope.ravel(), *(np.full(K, weights[a, b]) for a, b in pairs)])
    upper = np.zeros((2 * len(pairs) * K, size))
    for j, (a, b) in enumerate(pairs):
        for k in range(K):
            for side, sign in ((0, 1.0), (1, -1.0)):
                row = upper[2 * (j * K + k) + side]
                row[a * K + k], row[b * K + k], row[V * K + j * K + k] = sign, -sign, -1.0
    sums = np.zeros((V, size))
    for v in range(V):
        sums[v, v * K : (v + 1) * K] = 1.0
    found = linprog(cost, upper, np.zeros(len(upper)), sums, np.ones(V), bounds=(0, 1))
    here = (slope * h).sum() - sum(weights[a, b] * np.abs(h[a] - h[b]).sum() for a, b in pairs)
    return -found.fun - here


@settings(max_examples=30, deadline=None)
@given(problem=PROBLEMS)
def test_nothing_can_be_gained(problem):
    q, weights = make(**problem)
    h, added = solve(q[:, None], weights)
    h = h[:, 0]
    assert added[0] == 0
    assert_allclose(h.sum(axis=1), 1, atol=1e-9)
    assert (h > 0).all()
    assert possible_gain(h, q, weights) <= 1e-7 * (q.sum() + weights.sum())


def test_tied_entries_move_together_and_are_equal_bit_by_bit():
    # topics 0 and 1 are tied, and both views want more of topic 1 than the old mixtures have: no view gains alone
    q = np.array([[0.30, 0.50, 0.20, 1e-9], [0.31, 0.49, 1e-9, 0.20]])
    old = np.array([[0.5, 0.3, 0.2, 1e-9], [0.5, 0.3, 1e-9, 0.2]])
    weights = np.array([[0.0, 0.1], [0.1, 0.0]])
    h = solve(q[:, None], weights, old=old[:, None])[0][:, 0]
    assert_array_equal(h[0, :2], h[1, :2])
    assert h[0, 1] > 0.45 and h[0, 2] > h[1, 2] and h[1, 3] > h[0, 3]
    third = np.vstack([q, q[0]])
    h = solve(third[:, None], 0.1 * (1 - np.eye(3)))[0][:, 0]
    assert_array_equal(h[0, 0], h[1, 0])
    assert_array_equal(h[0], h[2])


@pytest.mark.parametrize("V", [2, 4])
def test_a_large_weight_gives_one_mixture_and_none_gives_every_view_its_own(V):
    q = np.random.default_rng(V).dirichlet(np.ones(7), (V, 4))
    tied, added = solve(q, 1e3 * (1 - np.eye(V)), damping=0.1)
    assert_allclose(tied, np.broadcast_to(q.sum(axis=0) / V, q.shape), rtol=1e-12)
    assert_array_equal(tied[0], tied[-1])
    free, _ = solve(q, np.zeros((V, V)), damping=0.1)
    assert_allclose(free, q, rtol=1e-12)
    assert (added == 0).all()


@pytest.mark.parametrize("V", [2, 3])
def test_counts_of_zero_are_no_trouble(V):
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.full(20, 0.3), (V, 100))
    q[rng.random(q.shape) < 0.6] = 0.0
    q[:, :, 0] += 1e-3
    old = rng.dirichlet(np.ones(20), (V, 100))
    weights = 0.3 * (1 - np.eye(V))
    h, added = solve(q, weights, old=old, damping=0.01)
    assert np.isfinite(added).all() and (added > 0).any()
    assert_allclose(h.sum(axis=2), 1, atol=1e-9)
    assert h.min() >= 0
    for i in range(100):  # what is added keeps the bound, so that no row falls
        assert objective(h[:, i], q[:, i], weights) >= objective(old[:, i], q[:, i], weights) - 1e-9


def test_views_that_an_object_lacks_take_no_part():
    V = 3
    q = np.random.default_rng(1).dirichlet(np.ones(6), (V + 1, 5))
    weights = 0.2 * (1 - np.eye(V + 1))
    have = np.ones((5, V + 1), dtype=bool)
    have[:, 1] = False
    h, _ = solve(q, weights, have=have)
    kept = [v for v in range(V + 1) if v != 1]
    assert_allclose(h[kept], solve(q[kept], weights[np.ix_(kept, kept)])[0], atol=1e-10)
    assert_array_equal(h[1], np.full((5, 6), 1 / 6))
    have[:] = False
    assert_array_equal(solve(q, weights, have=have)[0], np.full(q.shape, 1 / 6))

"""One view's mixture given the others': against scipy's roots, and by the conditions that an optimum must meet."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq, linprog
from scipy.special import wrightomega

from coview.engines.cpu import CpuEngine
from coview.kernels import simplex
from coview.kernels.simplex_l1 import tie_rows
from coview.plsa.divergences import DIVERGENCES, step_rows

FLOOR = 1e-12


def solve(agreement, q, others, weights, *, floor=None, have=None, dtype=np.float64):
    """Mixtures of the first view, given q (n x K) and the columns of the others (r arrays n x K)."""
    n, K = q.shape
    table = np.hstack([np.full((n, K), 1.0 / K), *others]).astype(dtype)
    have = np.ones((n, 1 + len(others)), dtype=bool) if have is None else np.ascontiguousarray(have)
    floor = (1e-300 if agreement == "skl" else 0.0) if floor is None else floor  # logarithms of 0 are none
    couplings = np.zeros((1 + len(others), 1 + len(others)))
    couplings[0, 1:] = couplings[1:, 0] = weights
    counts = [q.astype(dtype), *np.zeros((len(others), n, K), dtype=dtype)]
    new, _ = step_rows(DIVERGENCES[agreement], counts, table, couplings, have, [0], floor, CpuEngine(1))
    assert_allclose(new[:, K:], table[:, K:], rtol=1e-6)
    return new[:, :K]


def mixture(rng, K, kind):
    """A distribution over K topics that is smooth, sharp, floored or even."""
    if kind == "even":
        return np.full(K, 1.0 / K)
    h = rng.dirichlet(np.full(K, 0.05 if kind == "sharp" else 1.0))
    if kind == "floored":
        h[rng.random(K) < 0.7] = 0.0
    h = np.maximum(h, FLOOR)
    return h / h.sum()


KINDS = ("smooth", "sharp", "floored", "even")
PROBLEMS = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "K": st.integers(1, 30),
        "kinds": st.lists(st.sampled_from(KINDS), min_size=1, max_size=3),
        "weights": st.lists(st.floats(-6, 6), min_size=3, max_size=3),
        "same": st.booleans(),
        "mass": st.sampled_from([0.0, 1e-6, 1.0, 1.0, 300.0]),
        "zeros": st.sampled_from([0.0, 0.0, 0.3, 0.9]),
        "tie": st.booleans(),
    }
)


def make(seed, K, kinds, weights, same, mass, zeros, tie):
    rng = np.random.default_rng(seed)
    others = [mixture(rng, K, kind) for kind in kinds]
    if tie and len(others) > 1:
        others[1] = others[0].copy()
    q = mixture(rng, K, ("smooth", "sharp", "floored")[seed % 3])
    q[rng.random(K) < zeros] = 0.0
    weights = 10.0 ** np.array(weights[: len(others)])
    return mass * q, np.array(others), np.full_like(weights, weights[0]) if same else weights


def multipliers(agreement, h, q, others, weights):
    """Interval of multipliers at which each entry is stationary; an optimum has one multiplier in all of them."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(q > 0, q / h, 0.0)
    if agreement == "skl":
        pulls = [weight * (np.log(h / g) + 1 - g / h) for weight, g in zip(weights, others)]
        return gain - sum(pulls), gain - sum(pulls)
    pulls = [weight * (h - g) for weight, g in zip(weights, others)]
    low = gain - sum(pulls)
    return low, np.where(h > 0, low, np.inf)


@njit(fastmath={"reassoc", "contract", "nsz", "arcp"}, error_model="numpy")  # as the kernels
def wright_omega(z, out):
    for i in range(len(z)):
        w = simplex._first_omega(z[i])
        for _ in range(3):
            w = simplex._sharpen_omega(w, z[i])
        out[i] = w


def test_omega_is_scipys():
    z = np.concatenate([np.linspace(-700, 800, 50_001), -np.geomspace(1e-9, 50, 999), np.geomspace(1e-9, 1e15, 2_000)])
    out = np.empty_like(z)
    wright_omega(z, out)
    right = wrightomega(z)
    # far below zero omega is exp(z), and knows z to its last bit only
    assert (np.abs(out - right) <= (2e-14 + 4e-16 * np.maximum(-z, 0)) * right + 1e-300).all()


@pytest.mark.parametrize("agreement", ["skl", "l2"])
@settings(max_examples=25, deadline=None)
@given(problem=PROBLEMS)
def test_rows_are_optimal(agreement, problem):
    q, others, weights = make(**problem)
    h = solve(agreement, q[None], others[:, None], weights)[0]
    assert h.sum() == pytest.approx(1.0, abs=1e-12)
    assert (h >= 0).all()
    low, high = multipliers(agreement, h, q, others, weights)
    # relative to the terms that cancel in the condition of each entry
    with np.errstate(divide="ignore", invalid="ignore"):
        size = weights.sum() * (1 + (np.abs(np.log(h / others)).max() if agreement == "skl" else 0)) + q.sum()
        terms = np.where(q > 0, q / h, 0.0) + (weights @ (others / h) if agreement == "skl" else 0.0)
    slack = 1e-8 * np.maximum(size, np.where(np.isfinite(terms), terms, 0))
    assert (low - slack).max() <= (high + slack).min()


@pytest.mark.parametrize("weight", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("agreement", ["skl", "l2"])
def test_rows_of_a_hundred_topics_are_optimal(agreement, weight):
    rng = np.random.default_rng(7)
    q, g = (rng.dirichlet(np.full(100, 0.1), 200).clip(FLOOR) for _ in range(2))
    g /= g.sum(axis=1, keepdims=True)
    H = solve(agreement, q, g[None], [weight])
    assert np.abs(H.sum(axis=1) - 1).max() <= 1e-12
    for h, counts, other in zip(H, q, g):
        low, high = multipliers(agreement, h, counts, other[None], np.array([weight]))
        slack = 1e-8 * (counts / h + weight * (1 + other / h))
        assert (low - slack).max() <= (high + slack).min()


def test_l2_keeps_its_digits_from_tiny_to_huge_weights():
    rng = np.random.default_rng(8)
    q, g = rng.dirichlet(np.full(30, 0.3)).clip(FLOOR), rng.dirichlet(np.full(30, 0.3)).clip(FLOOR)
    g /= g.sum()
    for weight in np.geomspace(1e-12, 1e9, 22):
        p = q / weight

        def entries(eta, p=p):
            t = g - eta
            root = np.hypot(t, 2 * np.sqrt(p))
            return np.where(t > 0, 0.5 * (t + root), 2 * p / np.where(t > 0, 1.0, root - t))

        eta = brentq(lambda eta, f=entries: f(eta).sum() - 1, -1, p.sum() + 1, xtol=1e-18, rtol=1e-15, maxiter=500)
        right = entries(eta)
        h = solve("l2", q[None], g[None, None], [weight])[0]
        # what brentq leaves of the sum is shared out as the kernel does
        assert_allclose(h, right / right.sum(), rtol=1e-8, atol=1e-13)


@pytest.mark.parametrize("agreement", ["skl", "l2"])
def test_without_data_one_partner_is_copied(agreement):
    g = np.random.default_rng(1).dirichlet(np.full(12, 0.3), 5).clip(FLOOR)
    g /= g.sum(axis=1, keepdims=True)
    have = np.array([[False, True]] * 5)
    assert_allclose(solve(agreement, np.zeros_like(g), g[None], [3.0], have=have), g, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("agreement", ["skl", "l2"])
def test_without_partner_or_weight_the_shares_of_the_data_remain(agreement):
    q, g = np.array([[1.0, 3.0, 0.0]]), np.array([[0.2, 0.2, 0.6]])
    alone = np.array([[True, False]])
    assert_allclose(solve(agreement, q, g[None], [1.0], have=alone), [[0.25, 0.75, 0]], atol=1e-15)
    assert_allclose(solve(agreement, q, g[None], [0.0]), [[0.25, 0.75, 0]], atol=1e-15)
    assert_allclose(solve(agreement, q, g[None], [1e-30]), [[0.25, 0.75, 0]], atol=1e-15)
    nobody = np.array([[False, False]])
    assert_allclose(solve(agreement, 0 * q, g[None], [1.0], have=nobody), np.full((1, 3), 1 / 3))
    unweighted = np.array([[False, True]])
    assert_allclose(solve(agreement, 0 * q, g[None], [0.0], have=unweighted), g)


@pytest.mark.parametrize("agreement", ["skl", "l2"])
def test_floor_and_sum_hold_in_both_precisions(agreement):
    rng = np.random.default_rng(4)
    q, g = rng.dirichlet(np.full(40, 0.02), 200), rng.dirichlet(np.full(40, 0.02), 200).clip(FLOOR)
    g /= g.sum(axis=1, keepdims=True)
    double = solve(agreement, q, g[None], [0.3], floor=FLOOR)
    assert double.min() >= FLOOR
    assert_allclose(double.sum(axis=1), 1, atol=40 * FLOOR)
    single = solve(agreement, q, g[None], [0.3], floor=FLOOR, dtype=np.float32)
    assert single.dtype == np.float32 and single.min() >= 0.99 * FLOOR
    assert_allclose(single, double, atol=1e-5)


# -- All mixtures of an object at once under L1: none are better, ties are exact, and nothing depends on order


def solve_of_simplex_l1(q, weights, *, old=None, have=None, damping=0.0):
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


def make_of_simplex_l1(seed, V, K, strength, sharp):
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.full(K, 0.1 if sharp else 1.0), V) * rng.choice([0.1, 1.0, 1.0, 10.0], (V, 1))
    q = 0.5 * (q + q[[0]]) + 1e-6
    return q, strength * (1 - np.eye(V))


PROBLEMS_OF_SIMPLEX_L1 = st.fixed_dictionaries(
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
@given(problem=PROBLEMS_OF_SIMPLEX_L1)
def test_nothing_can_be_gained(problem):
    q, weights = make_of_simplex_l1(**problem)
    h, added = solve_of_simplex_l1(q[:, None], weights)
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
    h = solve_of_simplex_l1(q[:, None], weights, old=old[:, None])[0][:, 0]
    assert_array_equal(h[0, :2], h[1, :2])
    assert h[0, 1] > 0.45 and h[0, 2] > h[1, 2] and h[1, 3] > h[0, 3]
    third = np.vstack([q, q[0]])
    h = solve_of_simplex_l1(third[:, None], 0.1 * (1 - np.eye(3)))[0][:, 0]
    assert_array_equal(h[0, 0], h[1, 0])
    assert_array_equal(h[0], h[2])


@pytest.mark.parametrize("V", [2, 4])
def test_a_large_weight_gives_one_mixture_and_none_gives_every_view_its_own(V):
    q = np.random.default_rng(V).dirichlet(np.ones(7), (V, 4))
    tied, added = solve_of_simplex_l1(q, 1e3 * (1 - np.eye(V)), damping=0.1)
    assert_allclose(tied, np.broadcast_to(q.sum(axis=0) / V, q.shape), rtol=1e-12)
    assert_array_equal(tied[0], tied[-1])
    free, _ = solve_of_simplex_l1(q, np.zeros((V, V)), damping=0.1)
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
    h, added = solve_of_simplex_l1(q, weights, old=old, damping=0.01)
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
    h, _ = solve_of_simplex_l1(q, weights, have=have)
    kept = [v for v in range(V + 1) if v != 1]
    assert_allclose(h[kept], solve_of_simplex_l1(q[kept], weights[np.ix_(kept, kept)])[0], atol=1e-10)
    assert_array_equal(h[1], np.full((5, 6), 1 / 6))
    have[:] = False
    assert_array_equal(solve_of_simplex_l1(q, weights, have=have)[0], np.full(q.shape, 1 / 6))

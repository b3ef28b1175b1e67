"""The pairwise regularizer over sampled pairs, against whole similarity matrices and finite differences."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from coview import CpuEngine, Views
from coview.engines.pair_field import PairField
from coview.engines.reference import ReferenceEngine
from coview.plsa.pairwise import Partners


def partners_of(n, fraction=1.0, seed=0, **options):
    return Partners(seed, fraction, **options)(Views(x=np.zeros((n, 1))))


def pairs_of(partners):
    return [(min(i, j), max(i, j)) for i, row in enumerate(partners.tolist()) for j in row if j >= 0]


def problem(n=9, views=3, K=4, seed=0, missing=0.0, fraction=0.6):
    rng = np.random.default_rng(seed)
    mixtures = [rng.dirichlet(np.full(K, 0.7), n) for _ in range(views)]
    have = rng.random((n, views)) >= missing
    upper = np.triu(rng.random((views, views)), 1)
    partners = partners_of(n, fraction, seed)
    return partners, have, upper + upper.T, 0.4, mixtures


def dense_value(partners, have, weights, sigma, mixtures):
    """Sum over ordered pairs of objects, from N x N matrices."""
    n = len(partners)
    chosen = np.zeros((n, n), dtype=bool)
    for i, j in pairs_of(partners):
        chosen[i, j] = chosen[j, i] = True
    S = [np.exp(-((P[:, None] - P[None]) ** 2).sum(axis=2) / sigma) for P in mixtures]
    total = 0.0
    for v, w in combinations(range(len(mixtures)), 2):
        both = have[:, v] & have[:, w]
        mask = chosen & both[:, None] & both[None]
        total += weights[v, w] * ((S[v] - S[w]) ** 2)[mask].sum()
    return total


@given(n=st.integers(1, 40), fraction=st.floats(0.01, 1.0), seed=st.integers(0, 2**31 - 2))
@settings(deadline=None, max_examples=20)
def test_no_pair_is_drawn_twice_and_their_number_is_exact(n, fraction, seed):
    found = pairs_of(partners_of(n, fraction, seed))
    assert len(set(found)) == len(found) == int(np.ceil(fraction * (n * (n - 1) // 2) - 1e-9))
    assert all(i < j < n for i, j in found)


@pytest.mark.parametrize("n", [2, 3, 8, 9])
def test_all_pairs_are_all_pairs(n):
    assert sorted(pairs_of(partners_of(n, 1.0))) == list(combinations(range(n), 2))


def test_every_pair_is_as_likely():
    counts = np.zeros((7, 7))
    for seed in range(500):
        for i, j in pairs_of(partners_of(7, 1 / 3, seed)):
            counts[i, j] += 1
    shares = counts[np.triu_indices(7, 1)] / 500
    assert abs(shares - 1 / 3).max() < 5 * np.sqrt(2 / 9 / 500)


@given(seed=st.integers(0, 10_000), views=st.integers(2, 4), missing=st.sampled_from([0.0, 0.3]))
@settings(deadline=None, max_examples=12)
def test_the_value_is_that_of_whole_similarity_matrices(seed, views, missing):
    parts = problem(seed=seed, views=views, missing=missing)
    for engine in (CpuEngine(1), ReferenceEngine()):
        assert_allclose(PairField(engine, *parts).value(), dense_value(*parts), rtol=1e-12, atol=1e-14)


@given(seed=st.integers(0, 10_000), views=st.integers(2, 3), missing=st.sampled_from([0.0, 0.3]))
@settings(deadline=None, max_examples=12)
def test_the_gradient_is_that_of_finite_differences(seed, views, missing):
    parts = problem(n=6, K=3, seed=seed, views=views, missing=missing)
    fields, mixtures, step = [PairField(ops, *parts) for ops in (CpuEngine(1), ReferenceEngine())], parts[4], 1e-6
    for v in range(views):
        expected = np.zeros_like(mixtures[v])
        for place in np.ndindex(*expected.shape):
            ends = []
            for sign in (1, -1):
                moved = [P.copy() for P in mixtures]
                moved[v][place] += sign * step
                ends.append(dense_value(*parts[:4], moved))
            expected[place] = (ends[0] - ends[1]) / (2 * step)
        for field in fields:
            assert_allclose(field.gradient(v, mixtures[v]), expected, rtol=1e-6, atol=1e-7)


def test_the_gradient_of_the_paper():
    """Eq. 14, ordered pairs: -(8 / sigma) sum_j S (S - S') (P_i - P_j)."""
    partners, have, _, sigma, (P, Q) = problem(views=2, fraction=1.0)
    field = PairField(CpuEngine(1), partners, have, np.array([[0.0, 1.0], [1.0, 0.0]]), sigma, [P, Q])
    S, T = (np.exp(-((A[:, None] - A[None]) ** 2).sum(axis=2) / sigma) for A in (P, Q))
    expected = -8 / sigma * np.einsum("ij,ijk->ik", S * (S - T), P[:, None] - P[None])
    assert_allclose(field.gradient(0, P), expected, rtol=1e-11, atol=1e-14)


def test_chunks_and_threads_change_nothing(monkeypatch):
    P = problem(n=60)[4][1]
    whole = PairField(CpuEngine(1), *problem(n=60))
    monkeypatch.setattr("coview.engines.cpu._PAIRS", 40)
    one, three = (PairField(CpuEngine(size), *problem(n=60)) for size in (1, 3))
    for field in (one, three):
        assert field.value() == pytest.approx(whole.value(), rel=1e-12)
        assert_allclose(field.gradient(1, P), whole.gradient(1, P), rtol=1e-10, atol=1e-12)

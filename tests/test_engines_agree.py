"""Every engine against the reference: the same numbers, to rounding, from the same arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from coview.engines.select import select_engine

ENGINES = ["cpu"]
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}


def problem(seed: int, n: int, m: int, k: int, density: float, dtype: type):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, m), density=density, format="csr", rng=rng, dtype=np.float64)
    X.data = np.ceil(5 * X.data)
    A, B = rng.random((n, k)) + 0.01, rng.random((m, k)) + 0.01
    return X.astype(dtype), A.astype(dtype), B.astype(dtype)


PROBLEMS = st.tuples(
    st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 30), st.integers(1, 40), st.floats(0.0, 1.0)
)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=40, deadline=None)
@given(shape=PROBLEMS)
def test_operations_agree_with_the_reference(engine, dtype, shape):
    X, A, B = problem(*shape, dtype)
    ours, right = select_engine(engine), select_engine("reference")
    x, y = ours.prepare(X), right.prepare(X)
    rtol = TOLERANCE[dtype]
    pull, value = ours.ratio_rows(x, A, B)
    expected, right_value = right.ratio_rows(y, A, B)
    assert_allclose(pull, expected, rtol=rtol)
    assert value == pytest.approx(right_value, rel=rtol, abs=1e-6)
    assert pull.dtype == dtype
    start = np.ones_like(B)
    assert_allclose(ours.ratio_features(x, A, B, start.copy()), right.ratio_features(y, A, B, start.copy()), rtol=rtol)
    assert_allclose(ours.log_likelihood(x, A, B), right.log_likelihood(y, A, B), rtol=rtol, atol=1e-5)
    assert_allclose(ours.project(x, B), right.project(y, B), rtol=rtol, atol=1e-6)
    assert_allclose(ours.accumulate(x, A, None), right.accumulate(y, A, None), rtol=rtol, atol=1e-6)
    assert_allclose(ours.row_sums(x), right.row_sums(y), rtol=rtol)
    assert_allclose(ours.row_shares(A, pull, 1e-12), right.row_shares(A, expected, 1e-12), rtol=rtol)
    parts, sums = {"a": B, "b": B[:1]}, {"a": np.abs(B - 0.5), "b": B[:1].copy()}
    copies = {name: part.copy() for name, part in sums.items()}
    left, other = ours.column_shares(parts, sums, 1e-15), right.column_shares(parts, copies, 1e-15)
    for name in parts:
        assert_allclose(left[name], other[name], rtol=rtol)


@pytest.mark.parametrize("engine", ENGINES)
def test_statistics_that_sum_to_zero_keep_the_old_value(engine):
    ops = select_engine(engine)
    old = np.array([[0.25, 0.75], [0.5, 0.5]])
    pull = np.array([[0.0, 0.0], [1.0, 3.0]])
    assert_allclose(ops.row_shares(old, pull, 1e-12), [[0.25, 0.75], [0.25, 0.75]])
    columns = ops.column_shares({"x": old}, {"x": np.array([[0.0, 1.0], [0.0, 2.0]])}, 1e-15)["x"]
    assert_allclose(columns, [[0.25, 0.75 / 1.75], [0.5, 1.0 / 1.75]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_and_two_threads_give_the_same_bits(dtype):
    X, A, B = problem(0, 3000, 900, 20, 0.1, dtype)
    one, two = select_engine("cpu", n_jobs=1), select_engine("cpu", n_jobs=2)
    two.team.size = 2  # even where the machine has one core
    x, y = one.prepare(X), two.prepare(X)
    for a, b in zip(one.ratio_rows(x, A, B), two.ratio_rows(y, A, B)):
        assert_array_equal(a, b)
    assert_array_equal(one.ratio_features(x, A, B, None), two.ratio_features(y, A, B, None))
    assert_array_equal(
        one.column_shares({"x": A}, {"x": A.copy()}, 1e-15)["x"],
        two.column_shares({"x": A}, {"x": A.copy()}, 1e-15)["x"],
    )


def test_a_fit_is_the_same_on_one_and_two_threads():
    from coview import PLSA

    X, _, _ = problem(1, 5000, 700, 8, 0.05, np.float32)
    fits = [PLSA(8, max_iter=5, tol=0, random_state=0, n_jobs=n).fit(X) for n in (1, 2)]
    assert_array_equal(fits[0].doc_topic_, fits[1].doc_topic_)
    assert fits[0].history_["objective"] == fits[1].history_["objective"]


def test_a_fit_agrees_with_the_reference_engine():
    from coview import PLSA

    X, _, _ = problem(2, 80, 50, 4, 0.2, np.float64)
    ours, right = (PLSA(4, max_iter=20, tol=0, random_state=0, engine=e).fit(X) for e in ("cpu", "reference"))
    assert_allclose(ours.history_["objective"], right.history_["objective"], rtol=1e-10)
    assert_allclose(ours.topic_feature_["x"], right.topic_feature_["x"], rtol=1e-6, atol=1e-12)

"""Every engine against the reference: the same numbers, to rounding, from the same arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from coview.engines.select import select_engine

pytestmark = pytest.mark.no_cover

ENGINES = ["cpu", "torch"]
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}


def engine_of(name):
    """An engine by name; "torch" is the CUDA engine on torch's CPU device, which needs no GPU."""
    if name != "torch":
        return select_engine(name)
    pytest.importorskip("torch", reason="torch is not installed: the CUDA engine's plain path is not checked")
    from coview.engines.cuda import CudaEngine

    return CudaEngine("cpu")


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
    ours, right = engine_of(engine), select_engine("reference")
    x, y = ours.prepare(X), right.prepare(X)
    a, b, back = ours.asarray(A), ours.asarray(B), ours.to_numpy
    rtol = TOLERANCE[dtype]
    pull, value = ours.ratio_rows(x, a, b)
    expected, right_value = right.ratio_rows(y, A, B)
    assert_allclose(back(pull), expected, rtol=rtol)
    assert float(value) == pytest.approx(right_value, rel=rtol, abs=1e-6)
    assert back(pull).dtype == dtype
    start = np.ones_like(B)
    found = ours.ratio_features(x, a, b, ours.asarray(start.copy()))
    assert_allclose(back(found), right.ratio_features(y, A, B, start.copy()), rtol=rtol)
    assert_allclose(back(ours.log_likelihood(x, a, b)), right.log_likelihood(y, A, B), rtol=rtol, atol=1e-5)
    assert_allclose(back(ours.project(x, b)), right.project(y, B), rtol=rtol, atol=1e-6)
    assert_allclose(back(ours.accumulate(x, a, None)), right.accumulate(y, A, None), rtol=rtol, atol=1e-6)
    assert_allclose(back(ours.row_sums(x)), right.row_sums(y), rtol=rtol)
    assert_allclose(back(ours.row_shares(a, pull, 1e-12)), right.row_shares(A, expected, 1e-12), rtol=rtol)
    some = np.arange(0, X.shape[0], 2)
    assert_allclose(back(ours.project(ours.take(x, some), b)), right.project(y, B)[some], rtol=rtol, atol=1e-6)
    old, sums = {"a": B, "b": B[:1]}, {"a": np.abs(B - 0.5), "b": B[:1]}
    left = ours.column_shares(
        *({n: ours.asarray(part.copy()) for n, part in parts.items()} for parts in (old, sums)), 1e-15
    )
    other = right.column_shares(old, {name: part.copy() for name, part in sums.items()}, 1e-15)
    for name in old:
        assert_allclose(back(left[name]), other[name], rtol=rtol)


@pytest.mark.parametrize("engine", ENGINES)
def test_statistics_that_sum_to_zero_keep_the_old_value(engine):
    ops = engine_of(engine)
    old = ops.asarray([[0.25, 0.75], [0.5, 0.5]])
    pull = ops.asarray([[0.0, 0.0], [1.0, 3.0]])
    assert_allclose(ops.to_numpy(ops.row_shares(old, pull, 1e-12)), [[0.25, 0.75], [0.25, 0.75]])
    columns = ops.column_shares({"x": old}, {"x": ops.asarray([[0.0, 1.0], [0.0, 2.0]])}, 1e-15)["x"]
    assert_allclose(ops.to_numpy(columns), [[0.25, 0.75 / 1.75], [0.5, 1.0 / 1.75]])


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


@pytest.mark.parametrize("model", ["PLSA", "MultiViewPLSA"])
def test_a_fit_is_the_same_on_one_and_two_threads(model):
    from coview.catalog import resolve
    from coview.engines.cpu import CpuEngine

    X, _, _ = problem(1, 5000, 700, 8, 0.05, np.float32)
    fits = []
    for threads in (1, 2):
        engine = CpuEngine(threads)
        engine.team.size = threads  # even where the machine has one core
        made = resolve(model)(max_iter=5, tol=0, random_state=0, engine=engine, n_components=8, init="random")
        fits.append(made.fit(X))
    assert_array_equal(fits[0].topic_feature_["x"], fits[1].topic_feature_["x"])
    assert fits[0].history_["objective"] == fits[1].history_["objective"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_fit_agrees_with_the_reference_engine(engine):
    from coview import PLSA

    X, _, _ = problem(2, 80, 50, 4, 0.2, np.float64)
    engines = engine_of(engine), "reference"
    ours, right = (PLSA(4, max_iter=20, tol=0, random_state=0, engine=e).fit(X) for e in engines)
    assert_allclose(ours.history_["objective"], right.history_["objective"], rtol=1e-10)
    assert_allclose(ours.topic_feature_["x"], right.topic_feature_["x"], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("acceleration", [None, "squarem"])
def test_every_batch_model_runs_on_torch_and_agrees_with_the_cpu(acceleration):
    from coview import DualPLSA, LinkPLSA, MultiViewPLSA, MultiViewPLSAClassifier
    from coview.datasets import make_topic_views

    torch = engine_of("torch")
    made = make_topic_views(n_objects=80, n_clusters=3, random_state=0)
    y = np.where(np.arange(80) < 9, made.target, -1)
    settings = {"max_iter": 15, "tol": 0, "random_state": 0, "acceleration": acceleration}
    for make in (
        lambda engine: LinkPLSA(3, engine=engine, **settings),
        lambda engine: DualPLSA(3, 4, engine=engine, **settings),
        lambda engine: MultiViewPLSA(3, 4, engine=engine, **settings),
        lambda engine: MultiViewPLSAClassifier(4, engine=engine, **settings),
    ):
        ours, right = make(torch).fit(made.views, y), make("cpu").fit(made.views, y)
        assert_allclose(ours.history_["objective"], right.history_["objective"], rtol=1e-10)
        assert_allclose(ours.transform(made.views), right.transform(made.views), atol=1e-8)

"""Every engine against the reference: the same numbers, to rounding, from the same arrays."""

from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from coview.engines.loop import select_engine
from coview.plsa.divergences import DIVERGENCES, step_rows

pytestmark = pytest.mark.no_cover

ENGINES = ["cpu", "torch"] if find_spec("torch") else ["cpu"]
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}


def engine_of(name):
    """An engine by name; "torch" is the CUDA engine on torch's CPU device, which needs no GPU."""
    if name != "torch":
        return select_engine(name)
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
@settings(max_examples=15, deadline=None)
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


# -- verbs of vectors


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_sums_and_products_of_vectors_agree_with_the_reference(engine, dtype, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2100, 30)).astype(dtype)
    X = sparse.csr_array(X * (X > 0.5)) if kind == "sparse" else X
    W, A = rng.normal(size=(30, 4)), rng.dirichlet(np.ones(4), 2100)
    ops, right = engine_of(engine), select_engine("reference")
    x, y, back = ops.prepare(X), right.prepare(X), ops.to_numpy
    atol = 1e-3 if dtype is np.float32 else 1e-9
    products = back(ops.vector_products(x, ops.asarray(W)))
    assert products.dtype == np.float64
    assert_allclose(products, right.vector_products(y, W), atol=atol)
    moments = back(ops.vector_moments(x, ops.asarray(A)))
    assert moments.dtype == np.float64
    assert_allclose(moments, right.vector_moments(y, A), atol=atol)
    assert_allclose(back(ops.square_sums(x)), right.square_sums(y), rtol=1e-6)
    wide = X.astype(np.float64)
    assert_allclose(back(ops.vector_products(x, ops.asarray(W), True)), wide @ W, atol=1e-10)
    assert_allclose(back(ops.vector_moments(x, ops.asarray(A), True)), (wide.T @ A).T, atol=1e-10)


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 12),
    size=st.floats(-5, 3),
    push=st.floats(-3, 4) | st.floats(4, 30),  # vectors may lie far from all means
    bend=st.floats(-3, 3),
)
def test_rows_of_counts_and_a_quadratic_agree_with_the_reference(engine, seed, k, size, push, bend):
    rng = np.random.default_rng(seed)
    old = np.maximum(rng.dirichlet(np.full(k, 0.3), 5), 1e-12)
    counts = old * rng.random((5, k)) * 10**size * np.array([1, 1, 1, 0, 0])[:, None]
    slope, curvature = rng.normal(size=(5, k)) * 10**push, np.array([1, 1, 0, 1, 0]) * 10**bend
    ops, right = engine_of(engine), select_engine("reference")
    arrays = map(ops.asarray, (old, counts, slope, curvature))
    rows = ops.to_numpy(ops.quadratic_shares(*arrays, 1e-12))
    assert_allclose(rows, right.quadratic_shares(old, counts, slope, curvature, 1e-12), atol=1e-9)
    assert_allclose(rows.sum(axis=1), 1, atol=1e-9)


def test_fits_of_words_and_vectors_agree():
    from coview import PLSA, LinkPLSA, MultiViewPLSA, MultiViewPLSAClassifier, Views
    from coview.datasets import make_topic_views

    made = make_topic_views(n_objects=40, n_clusters=3, random_state=0)
    y = np.where(np.arange(40) < 9, made.target, -1)
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(3, 10))[made.target] + rng.normal(size=(40, 10))
    there = np.arange(40) % 6 > 0
    X = Views(words=made.views["view0"], vector=vectors * there[:, None], present={"vector": there})
    for model in (
        PLSA(3, algorithm="published"),
        LinkPLSA(3, background=0.6),
        MultiViewPLSA(3, 4, init="random"),
        MultiViewPLSAClassifier(4),
    ):
        model.set_params(max_iter=8, tol=0, random_state=0)
        right = clone(model).set_params(engine="reference").fit(X, y)
        for engine in map(engine_of, ENGINES):
            ours = clone(model).set_params(engine=engine).fit(X, y)
            assert_allclose(ours.history_["objective"], right.history_["objective"], rtol=1e-9)
            assert_allclose(ours.topic_feature_["vector"], right.topic_feature_["vector"], atol=1e-6)
            assert_allclose(ours.transform(X[:3]), right.transform(X[:3]), atol=1e-6)


def matrices(seed: int = 0):
    """Rows, sparse and dense."""
    rng = np.random.default_rng(seed)
    wide = sparse.random_array((60, 90), density=0.3, format="csr", rng=rng)
    falling = np.diag(0.6 ** np.arange(12))
    tall = rng.normal(size=(90, 12)) @ falling @ rng.normal(size=(12, 40))
    return {"sparse": sparse.csr_array(wide * np.geomspace(1, 1e-3, 90)), "dense": tall}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("size", "count"), [(12, 12), (300, 5)])
def test_leading_vectors_are_those_of_the_dense_matrix(engine, size, count):
    rng = np.random.default_rng(0)
    dense = (
        rng.uniform(size=(size, size)) * (rng.uniform(size=(size, size)) < 0.3)
        + 3 * np.eye(4).repeat(size, 0)[:size, :1]
    )
    weights, lift = sparse.csr_array((dense + dense.T) / size), rng.uniform(size=size) / np.sqrt(size)
    values, vectors = engine_of(engine).leading_vectors(weights, lift, count, 0)
    whole = weights.toarray() + np.outer(lift, lift)
    assert_allclose(np.sort(values), np.linalg.eigvalsh(whole)[-count:], atol=2e-4)
    assert_allclose(whole @ vectors, vectors * values, atol=2e-3)
    assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
def test_equal_eigenvalues_are_all_found_and_close_ones_told_apart(engine):
    islands = sparse.csr_array(sparse.kron(sparse.eye_array(12), np.full((50, 50), 0.02)))  # 1 twelve times, 0
    path = sparse.csr_array(sparse.diags_array([np.full(799, 0.5)] * 2, offsets=[-1, 1]))
    for weights, expected in ((islands, [0.0] * 3 + [1.0] * 12), (path, np.cos(np.pi * np.arange(6, 0, -1) / 801))):
        n, count = weights.shape[0], len(expected)
        values, vectors = engine_of(engine).leading_vectors(weights, np.zeros(n), count, 0)
        assert_allclose(values, expected, atol=1e-5)
        assert_allclose(weights @ vectors, vectors * values, atol=2e-4)
        assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("n", "count"), [(30, 3), (60, 25), (403, 134), (405, 40), (501, 60), (603, 199), (700, 9)])
def test_as_many_vectors_as_are_asked_for_are_orthogonal(engine, n, count):
    rng = np.random.default_rng(n)
    some = sparse.random_array((n, n), density=8 / n, format="csr", rng=rng)
    weights = sparse.csr_array(some + some.T)
    weights.data -= 0.2  # also negative
    values, vectors = engine_of(engine).leading_vectors(weights, np.zeros(n), count, 0)
    assert_allclose(values, np.linalg.eigvalsh(weights.toarray())[-count:], atol=1e-6)
    assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-8)


# -- verbs of starts


def blobs_of_counts(seed: int = 0):
    """Rows of two views around a few centers, sparse and dense; with the seed 0 the first of them is empty."""
    rng = np.random.default_rng(seed)
    means = rng.gamma(0.3, 3.0, size=(4, 50))[rng.integers(0, 4, 200)]
    X = rng.poisson(means).astype(float)
    X[0] *= seed > 0  # of centers of length 1, rounding says which is nearest to zero
    return sparse.csr_array(X[:, :30]), X[:, 30:]


@pytest.mark.parametrize(("n_clusters", "dtype"), [(1, np.float64), (7, np.float32)])
def test_kmeans_of_products_finds_the_clusters_of_scikit_learn(n_clusters, dtype):
    labels = []
    for ops in map(engine_of, [*ENGINES, "reference"]):
        parts = [ops.unit_rows(ops.prepare(part.astype(dtype))) for part in blobs_of_counts(n_clusters)]
        labels.append([ops.kmeans_labels(some, n_clusters, 3) for some in (parts, parts[:1], parts[1:])])
    *found, right = labels
    for ours in found:
        for part, expected in zip(ours, right):
            assert_array_equal(part, expected)


@pytest.mark.parametrize("engine", ENGINES)
def test_kmeans_of_products_gives_an_empty_cluster_the_farthest_row(engine):
    ops = engine_of(engine)
    rows = np.repeat(np.eye(3), [6, 6, 1], axis=0)
    labels = ops.kmeans_labels([ops.prepare(sparse.csr_array(rows))], 3, 0)
    assert len(np.unique(labels)) == 3
    few = ops.kmeans_labels([ops.prepare(sparse.csr_array(rows[:12]))], 5, 0)  # fewer different rows than clusters
    assert set(few[:6]).isdisjoint(few[6:])


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_of_length_one_agree_with_the_reference(engine):
    ops, right = engine_of(engine), select_engine("reference")
    for X in blobs_of_counts():
        identity = np.eye(X.shape[1])
        found = ops.project(ops.unit_rows(ops.prepare(X)), ops.asarray(identity))
        assert_allclose(ops.to_numpy(found), right.unit_rows(right.prepare(X)).toarray(), rtol=1e-12)


@pytest.mark.parametrize(("n_views", "dtype"), [(2, np.float32), (3, np.float64)])
@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("engine", ENGINES)
def test_coupled_mixtures_are_those_of_the_reference(engine, divergence, n_views, dtype):
    rng = np.random.default_rng(n_views)
    n, k = 20, 6
    table = rng.dirichlet(np.full(k, 0.2), (n, n_views)).clip(1e-12).reshape(n, -1).astype(dtype)
    counts = [(rng.gamma(0.3, 10.0 ** rng.integers(-1, 3, (n, 1)), (n, k))).astype(dtype) for _ in range(n_views)]
    have = rng.random((n, n_views)) < 0.8
    for v, part in enumerate(counts):
        part[~have[:, v]] = 0
        part[:4] = 0  # data that say nothing
    couplings = rng.gamma(1.0, size=(n_views, n_views)) * (1 - np.eye(n_views))
    couplings[0, 1] = couplings[1, 0] = 0.0 if n_views == 3 else 0.7
    measure = DIVERGENCES[divergence]
    if measure.one_coupling:
        couplings = 0.7 * (1 - np.eye(n_views))
    order = list(range(n_views))[::-1]
    found = []
    for ops in map(engine_of, [engine, "reference"]):
        parts = [ops.asarray(part) for part in counts]
        new, added = step_rows(measure, parts, ops.asarray(table), couplings, ops.asarray(have), order, 1e-12, ops)
        found.append((ops.to_numpy(new), added))
    (ours, added), (right, wanted) = found
    assert ours.dtype == dtype
    assert_allclose(added, wanted, rtol=1e-10 if dtype == np.float64 else 1e-5)
    rtol, atol = (1e-8, 1e-11) if dtype == np.float64 else (1e-5, 1e-7)
    assert_allclose(ours, right, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", ENGINES)
def test_pairs_have_the_value_and_gradient_of_the_reference(name, monkeypatch):
    if engine_of(name).name == "cuda":
        monkeypatch.setattr("coview.kernels.torch_pairs._VALUES", 300)  # several pieces of a few rows
    rng = np.random.default_rng(0)
    n, n_views, k = 60, 3, 4
    partners = (np.arange(n)[:, None] + 1 + rng.permuted(np.tile(np.arange(12), (n, 1)), axis=1)[:, :7]) % n
    partners[rng.random(partners.shape) < 0.1] = -1
    have = rng.random((n, n_views)) < 0.9
    couplings = np.ones((n_views, n_views)) - np.eye(n_views)
    mixtures, other = rng.dirichlet(np.ones(k), (n_views, n)), rng.dirichlet(np.ones(k), n)
    found = []
    for ops in map(engine_of, [name, "reference"]):
        parts = [ops.asarray(part) for part in mixtures]
        field = ops.pair_field(ops.asarray(partners.astype(np.int32)), ops.asarray(have), couplings, 0.3, parts)
        similar = field.similarities(1, ops.asarray(other))
        found.append((field.value(), field.part(1), field.part(1, similar), field.gradient(0, parts[0]), similar))
    for ours, right in zip(*found):
        assert_allclose(np.asarray(ours), right, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("among", "kind", "dtype"),
    [(False, "sparse", np.float32), (True, "sparse", np.float64), (True, "dense", np.float32)],
)
def test_nearest_rows_are_those_of_plain_loops(engine, among, kind, dtype):
    X = matrices(2)[kind].astype(dtype)
    found = []
    for ops in (engine_of(engine), select_engine("reference")):
        rows = ops.prepare(X[:20] if among else X)
        found.append(ops.nearest_rows(rows, ops.prepare(X[20:]) if among else None, 4))
    assert_allclose(found[0][0], found[1][0], rtol=1e-5, atol=1e-7)
    assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("engine", ENGINES)
def test_dense_rows_are_those_of_their_non_zeros(engine):
    ops, dense = engine_of(engine), np.random.default_rng(0).poisson(0.7, size=(30, 9)).astype(float)
    A, B = (ops.asarray(np.random.default_rng(1).random((n, 3))) for n in dense.shape)
    x, y = ops.prepare(dense), ops.prepare(sparse.csr_array(dense))
    some = np.array([0, 3, 4])
    for verb in (
        lambda X: ops.project(X, B),
        lambda X: ops.accumulate(X, A, None),
        lambda X: ops.accumulate(X, A, ops.asarray(np.ones((9, 3)))),
        ops.row_sums,
        lambda X: ops.project(ops.take(X, some), B),
        lambda X: ops.ratio_rows(X, A, B)[0],
        lambda X: ops.ratio_features(X, A, B, None),
    ):
        assert_allclose(ops.to_numpy(verb(x)), ops.to_numpy(verb(y)), atol=1e-12)

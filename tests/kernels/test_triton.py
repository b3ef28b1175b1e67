"""The GPU kernels against the reference engine; needs a GPU."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

torch = pytest.importorskip("torch", reason="torch is not installed: the GPU kernels are not checked")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU: its kernels are not checked", allow_module_level=True)

from coview import PLSA, CoPLSA, MultiViewPLSA, MultiViewPLSAClassifier, PairwiseCoPLSA  # noqa: E402
from coview.datasets import make_topic_views  # noqa: E402
from coview.engines.cuda import CudaEngine  # noqa: E402
from coview.engines.reference import ReferenceEngine  # noqa: E402


@pytest.mark.parametrize("k", [1, 3, 20, 64, 100, 128, 600])
def test_operations_agree_with_the_reference(k):
    rng = np.random.default_rng(k)
    X = sparse.random_array((300, 5000), density=0.05, format="csr", rng=rng, dtype=np.float64)
    X = sparse.vstack([X, sparse.csr_array(np.ones((1, 5000)))], format="csr").astype(np.float32)  # one long row
    X.data = np.ceil(5 * X.data)
    A, B = (rng.random((n, k), dtype=np.float32) + np.float32(0.01) for n in X.shape)
    A[3] = 0  # a model of zero
    ours, right = CudaEngine(), ReferenceEngine()
    x, y, a, b = ours.prepare(X), right.prepare(X), ours.asarray(A), ours.asarray(B)
    pull, value = ours.ratio_rows(x, a, b)
    expected, right_value = right.ratio_rows(y, A, B)
    assert_allclose(ours.to_numpy(pull), expected, rtol=2e-4)
    assert float(value) == pytest.approx(right_value, rel=1e-5)
    rows = ours.to_numpy(ours.log_likelihood(x, a, b))
    assert_allclose(rows, right.log_likelihood(y, A, B), rtol=2e-4, atol=1e-3)
    sums = ours.ratio_features(x, a, b)
    right_sums = right.ratio_features(y, A, B)
    assert_allclose(ours.to_numpy(sums), right_sums, rtol=2e-4)
    assert_allclose(ours.to_numpy(ours.row_shares(a, pull, 1e-12)), right.row_shares(A, expected, 1e-12), rtol=1e-3)
    B[:, 0] = 0  # an empty column keeps its values
    found = ours.column_shares({"x": ours.asarray(B)}, {"x": sums}, 1e-15)["x"]
    assert_allclose(ours.to_numpy(found), right.column_shares({"x": B}, {"x": right_sums}, 1e-15)["x"], rtol=1e-3)


@pytest.mark.parametrize("k", [1, 20, 64, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_agree_with_the_reference(k, dtype):
    rng = np.random.default_rng(k)
    X = sparse.random_array((3000, 400), density=0.1, format="csr", rng=rng, dtype=np.float32)
    X = sparse.hstack([X, sparse.csr_array(np.ones((3000, 1), dtype=np.float32))], format="csr")  # one long column
    A, B = (rng.random((n, k)).astype(dtype) for n in X.shape)
    ours, right = CudaEngine(), ReferenceEngine()
    x, y, rtol = ours.prepare(X), right.prepare(X), 1e-5 if dtype == np.float32 else 1e-12
    assert_allclose(ours.to_numpy(ours.project(x, ours.asarray(B))), right.project(y, B), rtol=rtol)
    for into in (None, np.ones_like(B)):
        found = ours.accumulate(x, ours.asarray(A), None if into is None else ours.asarray(into))
        assert_allclose(ours.to_numpy(found), right.accumulate(y, A, into), rtol=rtol)


@pytest.mark.parametrize("k", [1, 3, 64, 100])
def test_pairs_agree_with_plain_torch(k):
    from coview.kernels import torch_pairs, triton_pairs

    rng = np.random.default_rng(k)
    partners = (np.arange(500)[:, None] + 1 + np.arange(70)) % 500
    partners[rng.random(partners.shape) < 0.1] = -1
    ops = CudaEngine()
    P, there = ops.asarray(rng.dirichlet(np.ones(k), 500)), ops.asarray(partners.astype(np.int32))
    have = ops.asarray(rng.random(500) < 0.9)
    pulls = ops.asarray(np.where(partners >= 0, rng.normal(size=partners.shape), 0.0))
    near = [module.similarities(P, have, there, 0.3) for module in (triton_pairs, torch_pairs)]
    steep = [module.gradient(P, there, pulls) for module in (triton_pairs, torch_pairs)]
    apart = [module.gap_squares(near[0], near[0].flip(0)) for module in (triton_pairs, torch_pairs)]
    for ours, right in (near, steep, apart):
        assert_allclose(ops.to_numpy(ours), ops.to_numpy(right), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [PLSA(6, max_iter=50, tol=0, random_state=0), MultiViewPLSA(4, 8, max_iter=50, tol=0, random_state=0),
     MultiViewPLSAClassifier(8, max_iter=50, tol=0, random_state=0), CoPLSA(6, max_iter=30, tol=0, random_state=0)],
    ids=lambda m: type(m).__name__,
)  # fmt: skip
@pytest.mark.parametrize("engine", [{}, {"precision": "mixed"}], ids=str)
def test_fits_end_where_the_cpu_engine_ends(model, engine):
    check_ends(model, engine)


@pytest.mark.parametrize("engine", [{}, {"precision": "mixed"}], ids=str)
def test_fits_of_pairs_end_where_the_cpu_engine_ends(engine):
    check_ends(PairwiseCoPLSA(4, max_iter=20, tol=0, random_state=0), engine)


def check_ends(model, engine, rel=1e-4):
    from sklearn.base import clone

    data = make_topic_views(n_objects=600, n_clusters=4, random_state=0)
    X = data.views.map(lambda matrix: matrix.astype(np.float32))
    y = np.where(np.arange(600) < 20, data.target, -1)
    ends = [
        clone(model).set_params(engine=e).fit(X, y).history_["objective"][-1] for e in ("cpu", CudaEngine(**engine))
    ]
    assert ends[1] == pytest.approx(ends[0], rel=rel)


def test_tensors_are_taken_as_data():
    X = make_topic_views(n_objects=100, n_clusters=3, random_state=0).views["view0"].astype(np.float32)
    dense = torch.from_numpy(X.toarray()).cuda()
    model = PLSA(4, max_iter=5, random_state=0).fit(dense)
    expected = PLSA(4, max_iter=5, random_state=0, engine="cuda").fit(X)
    assert_allclose(model.memberships_, expected.memberships_, rtol=1e-4, atol=1e-6)
    csr = dense.to_sparse_csr()
    assert_allclose(model.transform(csr), expected.transform(X), rtol=1e-3, atol=1e-4)

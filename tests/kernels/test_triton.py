"""The GPU kernels against the reference engine; needs a GPU."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

torch = pytest.importorskip("torch", reason="torch is not installed: the GPU kernels are not checked")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU: its kernels are not checked", allow_module_level=True)

from coview import PLSA, MultiViewPLSA, MultiViewPLSAClassifier  # noqa: E402
from coview.datasets import make_topic_views  # noqa: E402
from coview.engines.cuda import CudaEngine  # noqa: E402
from coview.engines.reference import ReferenceEngine  # noqa: E402


@pytest.mark.parametrize("k", [1, 3, 20, 64, 100, 128])
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
    sums = ours.ratio_features(x, a, b)
    right_sums = right.ratio_features(y, A, B)
    assert_allclose(ours.to_numpy(sums), right_sums, rtol=2e-4)
    assert_allclose(ours.to_numpy(ours.row_shares(a, pull, 1e-12)), right.row_shares(A, expected, 1e-12), rtol=1e-3)
    B[:, 0] = 0  # an empty column keeps its values
    found = ours.column_shares({"x": ours.asarray(B)}, {"x": sums}, 1e-15)["x"]
    assert_allclose(ours.to_numpy(found), right.column_shares({"x": B}, {"x": right_sums}, 1e-15)["x"], rtol=1e-3)


@pytest.mark.parametrize(
    "model",
    [PLSA(6, max_iter=50, tol=0, random_state=0), MultiViewPLSA(4, 8, max_iter=50, tol=0, random_state=0),
     MultiViewPLSAClassifier(8, max_iter=50, tol=0, random_state=0)],
    ids=lambda m: type(m).__name__,
)  # fmt: skip
@pytest.mark.parametrize("engine", [{}, {"precision": "mixed"}, {"memory_limit": 100_000}], ids=str)
def test_fits_end_where_the_cpu_engine_ends(model, engine):
    from sklearn.base import clone

    data = make_topic_views(n_objects=600, n_clusters=4, random_state=0)
    X = data.views.map(lambda matrix: matrix.astype(np.float32))
    y = np.where(np.arange(600) < 20, data.target, -1)
    ends = [
        clone(model).set_params(engine=e).fit(X, y).history_["objective"][-1] for e in ("cpu", CudaEngine(**engine))
    ]
    assert ends[1] == pytest.approx(ends[0], rel=1e-4)


def test_tensors_go_in_and_come_out():
    X = make_topic_views(n_objects=100, n_clusters=3, random_state=0).views["view0"].astype(np.float32)
    dense = torch.from_numpy(X.toarray()).cuda()
    model = PLSA(4, max_iter=5, random_state=0).fit(dense)
    expected = PLSA(4, max_iter=5, random_state=0, engine="cuda").fit(X)
    assert_allclose(model.memberships_, expected.memberships_, rtol=1e-4, atol=1e-6)
    csr = dense.to_sparse_csr()
    found = model.set_params(engine=CudaEngine(tensors=True)).transform(csr)
    assert isinstance(found, torch.Tensor)
    assert found.is_cuda
    assert_allclose(found.cpu().numpy(), expected.transform(X), rtol=1e-3, atol=1e-4)

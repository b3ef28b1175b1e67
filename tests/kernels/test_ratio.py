"""The kernels against plain formulas, where the engines' agreement does not reach."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from numba import njit
from scipy import sparse

from coview.kernels.ratio import fast_log, ratio


@njit
def _logs(values):
    out = np.empty_like(values)
    for i in range(len(values)):
        out[i] = fast_log(values[i])
    return out


def test_fast_log_is_accurate_over_the_whole_range():
    rng = np.random.default_rng(0)
    values = np.concatenate([np.exp(rng.uniform(-700, 700, 20_000)), 1 + rng.uniform(-0.02, 0.02, 20_000), [1.0, 2.0]])
    np.testing.assert_allclose(_logs(values), np.log(values), rtol=4e-15, atol=4e-15 * 700)


def test_zero_model_gives_zero_weight_not_infinity():
    X = sparse.csr_array(np.array([[3.0, 2.0]]))
    A, B, out = np.zeros((1, 2)), np.ones((2, 2)), np.empty((1, 2))
    value = ratio(X.indptr, X.indices, X.data, A, B, out, 0, 1, False, True, 0)
    assert value == 0.0
    assert (out == 0).all()


def test_prefetch_changes_no_bit():
    rng = np.random.default_rng(1)
    X = sparse.random_array((50, 40), density=0.4, format="csr", rng=rng)
    A, B = rng.random((50, 24)), rng.random((40, 24))
    outs = [np.empty_like(A) for _ in range(2)]
    values = [
        ratio(X.indptr, X.indices, X.data, A, B, out, 0, 50, False, True, ahead) for out, ahead in zip(outs, (0, 8))
    ]
    np.testing.assert_array_equal(*outs)
    assert values[0] == values[1]


def test_64_bit_indices_work():
    rng = np.random.default_rng(2)
    X = sparse.random_array((20, 30), density=0.3, format="csr", rng=rng)
    A, B, out = rng.random((20, 5)), rng.random((30, 5)), np.empty((20, 5))
    ratio(X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data, A, B, out, 0, 20, False, False, 4)
    R = X.toarray() / (A @ B.T)
    np.testing.assert_allclose(out, R @ B)


def test_a_notice_is_printed_once_where_nothing_is_cached(tmp_path):
    code = (
        "import numpy as np; from coview import PLSA; X = np.eye(4) + 1;"
        "PLSA(2, max_iter=2).fit(X); PLSA(2, max_iter=2).fit(X.astype('f4'))"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**__import__("os").environ, "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stderr
        for _ in range(2)
    ]
    assert runs[0].count("compiling kernels") == 1
    assert "compiling" not in runs[1]

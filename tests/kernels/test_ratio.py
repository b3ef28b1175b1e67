"""The kernels against plain formulas, where the engines' agreement does not reach."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from numba import njit
from scipy import sparse

from coview.engines import cpu
from coview.engines.cpu import CpuEngine
from coview.kernels.ratio import fast_log, ratio, tile_cuts


@njit
def _logs(values):
    out = np.empty_like(values)
    for i in range(len(values)):
        out[i] = fast_log(values[i])
    return out


def _bounds(indptr):
    return indptr[:-1], indptr[1:]


def test_fast_log_is_accurate_over_the_whole_range():
    rng = np.random.default_rng(0)
    values = np.concatenate([np.exp(rng.uniform(-700, 700, 20_000)), 1 + rng.uniform(-0.02, 0.02, 20_000), [1.0, 2.0]])
    np.testing.assert_allclose(_logs(values), np.log(values), rtol=4e-15, atol=4e-15 * 700)


def test_zero_model_gives_zero_weight_not_infinity():
    X = sparse.csr_array(np.array([[3.0, 2.0]]))
    A, B, out = np.zeros((1, 2)), np.ones((2, 2)), np.empty((1, 2))
    value = ratio(*_bounds(X.indptr), X.indices, X.data, A, B, out, 0, 1, False, True, 0)
    assert value == 0.0
    assert (out == 0).all()


def test_prefetch_changes_no_bit():
    rng = np.random.default_rng(1)
    X = sparse.random_array((50, 40), density=0.4, format="csr", rng=rng)
    A, B = rng.random((50, 24)), rng.random((40, 24))
    outs = [np.empty_like(A) for _ in range(2)]
    values = [
        ratio(*_bounds(X.indptr), X.indices, X.data, A, B, out, 0, 50, False, True, ahead)
        for out, ahead in zip(outs, (0, 8))
    ]
    np.testing.assert_array_equal(*outs)
    assert values[0] == values[1]


def test_cuts_part_every_row_at_the_same_columns():
    X = sparse.random_array((50, 40), density=0.3, format="csr", rng=np.random.default_rng(4))
    X.sort_indices()
    edges = np.array([0, 13, 25, 40])
    cuts = np.empty((4, 50), dtype=np.int64)
    tile_cuts(X.indptr, X.indices, edges, cuts)
    for t in range(3):
        for i in range(50):
            columns = X.indices[X.indptr[i] : X.indptr[i + 1]]
            expected = columns[(columns >= edges[t]) & (columns < edges[t + 1])]
            np.testing.assert_array_equal(X.indices[cuts[t, i] : cuts[t + 1, i]], expected)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_tiles_give_what_one_pass_gives(monkeypatch, n_jobs):
    rng = np.random.default_rng(5)
    X = sparse.random_array((60, 200), density=0.3, format="csr", rng=rng)
    X.sort_indices()
    A, B = rng.random((60, 48)), rng.random((200, 48))
    engine = CpuEngine(n_jobs)
    whole, value = engine.ratio_rows(engine.prepare(X), A, B)
    monkeypatch.setattr(cpu, "_TILE", 200 * 48 * 8 // 3)
    handle = engine.prepare(X)
    assert len(handle.tiles(48 * 8)) == 3
    tiled, tiled_value = engine.ratio_rows(handle, A, B)
    np.testing.assert_allclose(tiled, whole, rtol=1e-12)
    np.testing.assert_allclose(tiled_value, value, rtol=1e-12)


def test_rows_in_no_order_are_not_cut(monkeypatch):
    monkeypatch.setattr(cpu, "_TILE", 1)
    X = sparse.csr_array((np.ones(48), np.arange(48)[::-1].copy(), np.array([0, 48])), shape=(1, 48))
    assert len(CpuEngine(1).prepare(X).tiles(512)) == 1


def test_64_bit_indices_work():
    rng = np.random.default_rng(2)
    X = sparse.random_array((20, 30), density=0.3, format="csr", rng=rng)
    A, B, out = rng.random((20, 5)), rng.random((30, 5)), np.empty((20, 5))
    ratio(*_bounds(X.indptr.astype(np.int64)), X.indices.astype(np.int64), X.data, A, B, out, 0, 20, False, False, 4)
    R = X.toarray() / (A @ B.T)
    np.testing.assert_allclose(out, R @ B)


def test_a_notice_is_printed_once_where_nothing_is_cached(tmp_path):
    code = (
        "import numpy as np; from scipy import sparse; from coview.engines.cpu import CpuEngine\n"
        "ops = CpuEngine(n_jobs=1)\n"
        "for kind in ('f8', 'f4'):\n"
        "    X, A = ops.prepare(sparse.csr_array(np.eye(4, dtype=kind))), np.ones((4, 2), kind)\n"
        "    ops.log_likelihood(X, A, A)"
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

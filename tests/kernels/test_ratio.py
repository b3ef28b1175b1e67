"""The kernels against plain formulas, where the engines' agreement does not reach."""

import numpy as np
import pytest
from numba import njit
from scipy import sparse

from coview.engines import cpu
from coview.engines.cpu import CpuEngine
from coview.kernels.ratio import _weigh_log, fast_log, ratio, tile_cuts


@njit
def _logs(values):
    out = np.empty_like(values)
    for i in range(len(values)):
        out[i] = fast_log(values[i])
    return out


def run(X, A, B, out, *more):
    """The kernel on arrays as engines give them: for writable ones and wide indices it would be compiled anew."""
    indptr, indices = X.indptr.astype(np.int32), X.indices.astype(np.int32)
    given = (indptr[:-1], indptr[1:], indices, X.data.copy(), A.copy(), B.copy())
    for array in given:
        array.flags.writeable = False
    return ratio(*given, out, *more)


def test_fast_log_is_accurate_over_the_whole_range():
    rng = np.random.default_rng(0)
    values = np.concatenate([np.exp(rng.uniform(-700, 700, 20_000)), 1 + rng.uniform(-0.02, 0.02, 20_000), [1.0, 2.0]])
    np.testing.assert_allclose(_logs(values), np.log(values), rtol=4e-15, atol=4e-15 * 700)


@njit
def _weighed(x, s):
    return _weigh_log(x, s)


def test_values_not_above_0_have_no_log():
    assert [_weighed(2.0, s) for s in (0.0, -1.0, np.nan)] == [0.0, 0.0, 0.0]
    assert _weighed(2.0, 3.0) == pytest.approx(2 * np.log(3), rel=1e-14)


def test_zero_model_gives_zero_weight_not_infinity():
    X = sparse.csr_array(np.array([[3.0, 2.0]]))
    A, B, out = np.zeros((1, 2)), np.ones((2, 2)), np.empty((1, 2))
    value = run(X, A, B, out, 0, 1, False, True, 0)
    assert value == 0.0
    assert (out == 0).all()


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


def test_tiles_give_what_one_pass_gives(monkeypatch):
    rng = np.random.default_rng(5)
    X = sparse.random_array((60, 200), density=0.3, format="csr", rng=rng)
    X.sort_indices()
    A, B = rng.random((60, 48)), rng.random((200, 48))
    engine = CpuEngine(2)
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


def _uneven_rows(rng):
    """Rows of 0 to 9 non-zeros, several empty ones at both ends and in between."""
    lengths = np.array([0, 0, 3, 9, 0, 1, 4, 0, 0, 8, 2, 5, 0, 7, 6, 0, 0])
    columns = [np.sort(rng.permutation(12)[:n]) for n in lengths]
    values = rng.integers(1, 5, lengths.sum()).astype(np.float64)
    return sparse.csr_array(
        (values, np.concatenate(columns), np.concatenate([[0], np.cumsum(lengths)])), shape=(len(lengths), 12)
    )


@pytest.mark.parametrize("ahead", [0, 4])
def test_any_run_of_rows_gives_its_part_and_touches_no_other(ahead):
    rng = np.random.default_rng(7)
    X = _uneven_rows(rng)
    n = X.shape[0]
    A, B = rng.random((n, 9)), rng.random((12, 9))
    model = A @ B.T
    expected, logs = (X.toarray() / model) @ B, (X.toarray() * np.log(model)).sum(axis=1)
    for start in range(n + 1):
        for stop in range(start, n + 1, 3):
            for add in (False, True):
                out = np.full_like(A, 3.0)
                value = run(X, A, B, out, start, stop, add, True, ahead)
                right = np.full_like(A, 3.0)
                right[start:stop] = expected[start:stop] + (3.0 if add else 0.0)
                np.testing.assert_allclose(out, right, rtol=1e-12)
                np.testing.assert_allclose(value, logs[start:stop].sum(), rtol=1e-12)


def test_a_factor_that_is_no_number_stays_within_the_rows_that_have_the_feature():
    rng = np.random.default_rng(8)
    X = _uneven_rows(rng)
    A, B = rng.random((X.shape[0], 9)), rng.random((12, 9))
    for feature in range(12):
        bad = B.copy()
        bad[feature] = np.nan
        out = np.zeros_like(A)
        run(X, A, bad, out, 0, len(A), False, True, 4)
        np.testing.assert_array_equal(np.isnan(out).any(axis=1), X.toarray()[:, feature] > 0)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("width", [0, 1, 2, 3, 7, 8, 9, 16, 31, 64, 77])
def test_any_number_of_columns_gives_the_formula_and_the_same_bits_again(width, kind):
    rng = np.random.default_rng(width)
    X = sparse.random_array((23, 30), density=0.35, format="csr", rng=rng).astype(
        kind
    )  # rows of 1, 2, 3 over fours too
    A, B = rng.random((23, width)).astype(kind), rng.random((30, width)).astype(kind)
    A[3] = 0
    found = []
    for add in (False, True, False):
        out = np.ones_like(A)
        value = run(X, A, B, out, 0, 23, add, True, 8)
        found.append((out - kind(add), value))
    model = A.astype(np.float64) @ B.T.astype(np.float64)
    R = np.divide(X.toarray(), model, out=np.zeros_like(model), where=model > 0)
    tolerance = 2e-5 if kind == np.float32 else 1e-12
    logs = X.toarray() * np.log(model, out=np.zeros_like(model), where=model > 0)
    for out, value in found:
        np.testing.assert_allclose(out, R @ B, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(value, logs.sum(), rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(found[0][0], found[2][0])
    assert found[0][1] == found[2][1]

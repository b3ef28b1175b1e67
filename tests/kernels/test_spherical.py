"""The kernels of spherical k-means against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.preprocessing import normalize

from coview.kernels.spherical import assign_rows, column_squares, move_rows, project_rows, turn_columns

LOSS = 2.0**-24


def fixed(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def sphere(seed: int = 0) -> tuple[sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = normalize(sparse.random_array((40, 12), density=0.4, rng=rng, format="csr"))
    return sparse.csr_array(X), np.ascontiguousarray(normalize(rng.random((5, 12))).T)


def assign(X, centers, turned, labels, own, others):
    order = np.sort(turned)
    rough = fixed(centers.astype(np.float32))
    parts = (fixed(X.indptr), fixed(X.indices), fixed(X.data), fixed(centers), rough, fixed(turned))
    return assign_rows(*parts, order[-1], order[-2], 1e-7, LOSS, labels, own, others, 0, X.shape[0])


def test_rows_go_to_the_nearest_center_with_close_bounds():
    X, centers = sphere()
    labels, own, others = np.full(40, -1), np.zeros(40), np.zeros(40)
    changed = assign(X, centers, np.zeros(5), labels, own, others)
    scores = X @ centers
    assert changed == 40
    assert_array_equal(labels, scores.argmax(axis=1))
    best, second = np.sort(scores, axis=1)[:, -1], np.sort(scores, axis=1)[:, -2]
    assert (np.cos(own) <= best + 1e-15).all() and (np.cos(others) >= second - 1e-15).all()
    assert_allclose(np.cos(own), best, atol=20 * LOSS)
    assert_allclose(np.cos(others), second, atol=20 * LOSS)


def test_what_single_precision_cannot_tell_is_told_in_double():
    X, centers = sphere()
    one = centers[:, 0].astype(np.float32).astype(np.float64)
    two = one + 1e-11 * np.random.default_rng(1).standard_normal(12)
    assert_array_equal(two.astype(np.float32), one)
    centers = np.column_stack([one, two])
    labels, own, others = np.full(40, -1), np.zeros(40), np.zeros(40)
    assign(X, centers, np.zeros(2), labels, own, others)
    assert_array_equal(labels, (X @ centers).argmax(axis=1))
    assert set(labels) == {0, 1}


def test_bounds_hold_after_centers_have_turned():
    X, centers = sphere()
    labels, own, others = np.full(40, -1), np.zeros(40), np.zeros(40)
    assign(X, centers, np.zeros(5), labels, own, others)
    turned_to = np.ascontiguousarray(normalize((centers + 0.1 * np.random.default_rng(1).random((12, 5))).T).T)
    turned = np.arccos(np.clip((centers * turned_to).sum(axis=0), -1, 1))
    assign(X, turned_to, turned, labels, own, others)
    scores = X @ turned_to
    assert_array_equal(labels, scores.argmax(axis=1))
    best = np.arccos(np.sort(scores, axis=1)[:, -1])
    second = np.arccos(np.sort(scores, axis=1)[:, -2])
    assert (own >= best - 1e-9).all()
    assert (others <= second + 1e-9).all()


def test_moved_rows_leave_one_sum_and_enter_another():
    X, _ = sphere()
    sums = np.zeros((12, 2))
    rows = np.array([3, 7])
    parts = (fixed(X.indptr), fixed(X.indices), fixed(X.data), fixed(rows))
    move_rows(*parts, fixed(np.array([-1, -1])), fixed(np.array([0, 1])), sums)
    move_rows(*parts, fixed(np.array([0, 1])), fixed(np.array([1, -1])), sums)
    assert_allclose(sums, np.column_stack([np.zeros(12), X[[3]].toarray()[0]]), atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_are_those_of_scipy(dtype):
    X, centers = sphere()
    X, centers = X.astype(dtype), centers.astype(dtype)
    out = np.full((40, 5), np.nan, dtype=dtype)
    project_rows(fixed(X.indptr), fixed(X.indices), fixed(X.data), fixed(centers), out, 0, 40)
    assert_allclose(
        out, X @ centers, rtol=1e-5 if dtype == np.float32 else 1e-10, atol=1e-6 if dtype == np.float32 else 1e-14
    )


def test_columns_turn_to_the_sums_and_empty_ones_stay():
    _, centers = sphere()
    sums = np.random.default_rng(2).random((12, 5))
    sums[:, 2] = 0
    lengths = np.sqrt(column_squares(fixed(sums), 0, 12))
    assert_allclose(lengths, np.linalg.norm(sums, axis=0))
    expected = np.where(lengths > 0, sums / np.where(lengths > 0, lengths, 1), centers)
    now, rough = centers.copy(), np.zeros((12, 5), dtype=np.float32)
    scale = np.divide(1, lengths, out=np.zeros(5), where=lengths > 0)
    parts = [turn_columns(fixed(sums), scale, now, rough, i, j) for i, j in ((0, 7), (7, 12))]
    assert_allclose(now, expected, atol=1e-15)
    assert_array_equal(rough, now.astype(np.float32))
    assert_allclose(sum(parts), ((expected - centers) ** 2).sum(axis=0), atol=1e-15)

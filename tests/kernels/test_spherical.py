"""The kernels of spherical k-means against NumPy."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.preprocessing import normalize

from coview.kernels.spherical import assign_rows, move_rows


def fixed(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def sphere(seed: int = 0) -> tuple[sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = normalize(sparse.random_array((40, 12), density=0.4, rng=rng, format="csr"))
    return sparse.csr_array(X), np.ascontiguousarray(normalize(rng.random((5, 12))).T)


def assign(X, centres, turned, labels, own, others):
    order = np.sort(turned)
    parts = (fixed(X.indptr), fixed(X.indices), fixed(X.data), fixed(centres), fixed(turned))
    return assign_rows(*parts, order[-1], order[-2], 1e-7, labels, own, others, 0, X.shape[0])


def test_rows_go_to_the_nearest_centre_with_exact_bounds():
    X, centres = sphere()
    labels, own, others = np.full(40, -1), np.zeros(40), np.zeros(40)
    changed = assign(X, centres, np.zeros(5), labels, own, others)
    scores = X @ centres
    assert changed == 40
    assert_array_equal(labels, scores.argmax(axis=1))
    assert_allclose(np.cos(own), np.sort(scores, axis=1)[:, -1], atol=1e-12)
    assert_allclose(np.cos(others), np.sort(scores, axis=1)[:, -2], atol=1e-12)


def test_bounds_hold_after_centres_have_turned():
    X, centres = sphere()
    labels, own, others = np.full(40, -1), np.zeros(40), np.zeros(40)
    assign(X, centres, np.zeros(5), labels, own, others)
    turned_to = np.ascontiguousarray(normalize((centres + 0.1 * np.random.default_rng(1).random((12, 5))).T).T)
    turned = np.arccos(np.clip((centres * turned_to).sum(axis=0), -1, 1))
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

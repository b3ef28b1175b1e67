"""Starts: distributions, the same however rows are cut."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from coview import Views
from coview.plsa.factorized_start import nonnegative_svd
from coview.plsa.factors import random_matrix


def test_random_rows_do_not_depend_on_the_blocks():
    whole = random_matrix(7, 0, 3000, 5, np.float64)
    cut = np.vstack([random_matrix(7, a, b, 5, np.float64) for a, b in ((0, 10), (10, 1500), (1500, 3000))])
    assert_array_equal(whole, cut)
    assert_allclose(whole.sum(axis=1), 1)
    assert not np.array_equal(whole, random_matrix(8, 0, 3000, 5, np.float64))


def test_svd_start_splits_features_by_view_and_sums_to_one():
    rng = np.random.default_rng(0)
    views = Views(a=rng.random((30, 8)), b=rng.random((30, 5)))
    rows, columns = nonnegative_svd(views, 4, 0)
    assert rows.shape == (30, 4) and {name: part.shape for name, part in columns.items()} == {"a": (8, 4), "b": (5, 4)}
    assert_allclose(rows.sum(axis=1), 1)
    assert_allclose(sum(part.sum(axis=0) for part in columns.values()), 1)
    assert (rows > 0).all() and all((part > 0).all() for part in columns.values())

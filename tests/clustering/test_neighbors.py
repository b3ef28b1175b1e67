"""The nearest rows are those of all pairs, whatever the rows are stored as."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise_distances

from coview.clustering.neighbors import find_neighbors


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbors_are_those_of_all_pairs(make, dtype):
    rng = np.random.default_rng(0)
    rows = (rng.random((70, 30)) * (rng.random((70, 30)) < 0.2)).astype(dtype)
    apart = pairwise_distances(rows.astype(np.float64))
    distances, positions = find_neighbors(make(rows[:9]), 5, make(rows))
    np.testing.assert_allclose(distances, np.sort(apart[:9], axis=1)[:, :5], atol=1e-5)
    np.fill_diagonal(apart, np.inf)
    distances, positions = find_neighbors(make(rows), 5)
    np.testing.assert_allclose(distances, np.sort(apart, axis=1)[:, :5], atol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(apart, positions, axis=1), distances, atol=1e-5)


def test_equal_rows_are_at_no_distance():
    rows = sparse.random_array((40, 200), density=0.1, format="csr", dtype=np.float32, rng=np.random.default_rng(0))
    distances, positions = find_neighbors(sparse.csr_array(sparse.vstack([rows, rows])), 1)
    assert distances.max() < 1e-6
    filled = np.flatnonzero(np.diff(rows.indptr))
    assert positions[filled, 0].tolist() == (filled + 40).tolist()


def test_rows_that_cannot_be_compared_come_last_and_the_search_ends():
    X = sparse.random_array((200, 30), density=0.3, rng=np.random.default_rng(0), format="csr")
    with np.errstate(all="ignore"):
        distances, positions = find_neighbors(sparse.csr_array(X * 1e200), 10)
    assert positions.shape == (200, 10) and not np.isfinite(distances[:, -1]).any()
    assert (positions >= 0).all() and (positions < 200).all()

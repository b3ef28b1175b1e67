"""K-means of parts that some objects lack."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans

from coview.clustering.part_means import kmeans_of_parts, nearest_center
from coview.metrics import clustering_accuracy


def parts(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return np.hstack([4 * np.eye(3)[y] + 0.5 * rng.normal(size=(n, 3)) for _ in range(2)]), y


def test_where_nothing_is_lacking_it_is_k_means():
    rows, _ = parts()
    centers, labels = kmeans_of_parts(rows, 2, 3, n_init=2, seed=0)
    expected = KMeans(3, n_init=2, random_state=0).fit(rows)
    assert_array_equal(labels, expected.labels_)
    assert_allclose(centers, expected.cluster_centers_)


def test_centers_are_the_means_of_those_that_have_a_part():
    rows, y = parts()
    rows[::2, :3] = 0
    rows[1:40:2, 3:] = 0
    centers, labels = kmeans_of_parts(rows, 2, 3, n_init=2, seed=0)
    assert clustering_accuracy(y, labels) == 1
    for z in range(3):
        for part in (slice(0, 3), slice(3, 6)):
            own = rows[labels == z, part]
            assert_allclose(centers[z, part], own[own.any(axis=1)].mean(axis=0))


def test_a_row_is_placed_by_the_parts_that_it_has():
    centers = np.array([[1.0, 0.0, 9.0, 9.0], [0.0, 1.0, 0.1, 0.1]])
    rows = np.array([[1.0, 0.2, 0.0, 0.0], [0.0, 0.0, 8.0, 8.0]])
    assert_array_equal(nearest_center(rows, centers, 2), [0, 0])
    assert nearest_center(rows, centers)[0] == 1  # as one part, the zeros count


def test_a_part_that_nobody_has_counts_for_nothing():
    rows, _ = parts()
    wide = np.hstack([rows, np.zeros((len(rows), 3))])
    assert_array_equal(
        kmeans_of_parts(wide, 3, 3, n_init=2, seed=0)[1], kmeans_of_parts(rows, 2, 3, n_init=2, seed=0)[1]
    )

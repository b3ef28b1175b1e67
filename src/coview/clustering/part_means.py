"""K-means of rows that are made of several parts, some of which an object may lack.

A part that an object lacks is zero. It neither moves a center nor counts in a distance:

    z(i) = argmin_z sum_(parts p of i) |x_ip - c_zp|^2,     c_zp = mean of x_ip over i in z that have p
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

__all__ = ["kmeans_of_parts", "nearest_center"]

ENOUGH = 5  # objects with all parts, times the number of clusters, from which centers start with those alone
ROUNDS = 30  # most rounds over parts that some lack


def kmeans_of_parts(
    rows: np.ndarray, n_parts: int, n_clusters: int, n_init: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Centers (clusters x columns) and clusters of rows; the parts have the same number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.repeat([[1.0, 1.0], [5.0, 5.0]], 6, axis=0)
    >>> rows[0, 0] = rows[7, 1] = 0.0
    >>> centers, labels = kmeans_of_parts(rows, 2, 2, n_init=1, seed=0)
    >>> np.sort(centers, axis=0)
    array([[1., 1.],
           [5., 5.]])
    """
    parts = np.split(rows, n_parts, axis=1)
    has = np.array([part.any(axis=1) for part in parts])
    complete = has[has.any(axis=1)].all(axis=0)  # what nobody has counts for nothing
    model = KMeans(n_clusters, n_init=n_init, random_state=seed)
    if n_parts == 1 or complete.all():
        model.fit(rows)
        return model.cluster_centers_, model.labels_.astype(np.int64)
    centers = model.fit(rows[complete] if complete.sum() >= ENOUGH * n_clusters else rows).cluster_centers_
    labels = nearest_center(rows, centers, n_parts)
    for _ in range(ROUNDS):
        for part, there, middle in zip(parts, has, np.split(centers, n_parts, axis=1)):
            for z in range(n_clusters):
                here = there & (labels == z)
                if here.any():
                    middle[z] = part[here].mean(axis=0)  # a window into the centers
        before, labels = labels, nearest_center(rows, centers, n_parts)
        if np.array_equal(before, labels):
            break
    return centers, labels


def nearest_center(rows: np.ndarray, centers: np.ndarray, n_parts: int = 1) -> np.ndarray:
    """Nearest center of each row in the parts that it has; of one part a row of zeros is a row like others."""
    gaps = np.zeros((len(rows), len(centers)))
    for part, middle in zip(np.split(rows, n_parts, axis=1), np.split(centers, n_parts, axis=1)):
        apart = (middle**2).sum(axis=1) - 2 * part @ middle.T
        gaps += np.where(part.any(axis=1, keepdims=True) | (n_parts == 1), apart, 0.0)
    return gaps.argmin(axis=1)

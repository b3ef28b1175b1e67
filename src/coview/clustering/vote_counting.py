"""What several clusterings of the same objects agree on.

With H the indicator matrix of all clusterings (objects x clusters of all of them), columns divided by the root of their
sums, the rows of its k left singular vectors, brought to length 1, are clustered by k-means. An object's memberships
are then its shares of the votes: over the clusterings r that know it,

    p(z | i) = mean_r P(z | c_r(i)),     P(z | c) = share of the objects of cluster c that are in cluster z

What all clusterings say alike is sure; the share says how sure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.utils.extmath import randomized_svd

from coview.clustering.affinity import unit_length
from coview.inspection import one_hot

__all__ = ["count_votes"]


def count_votes(labels: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """Return the memberships (n_objects, n_clusters) in the clusters that clusterings agree on most.

    Without any vote, an object belongs to all clusters alike.

    Parameters
    ----------
    labels : ndarray of int (n_objects, n_clusterings)
        Cluster of each object in each clustering; -1 where it is not known.
    n_clusters : int
        Number of clusters to be found.
    seed : int
        Of the singular vectors and k-means.

    Examples
    --------
    >>> labels = np.array([[0, 1], [0, 1], [1, 0], [1, 0], [1, -1], [-1, -1]])
    >>> count_votes(labels, 2, 0).max(axis=1).tolist()  # both say the same in other words
    [1.0, 1.0, 1.0, 1.0, 1.0, 0.5]
    """
    n_objects, n_clusterings = labels.shape
    width = max(int(labels.max(initial=-1)) + 1, 1)
    rows, of = np.nonzero(labels >= 0)
    columns = of * width + labels[rows, of]
    shape = (n_objects, n_clusterings * width)
    indicators = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    sizes = np.maximum(np.bincount(columns, minlength=shape[1]), 1)
    there, memberships = np.unique(rows), np.full((n_objects, n_clusters), 1 / n_clusters)
    if there.size:
        scaled = sparse.csr_array(indicators @ sparse.diags_array(1 / np.sqrt(sizes)))[there]
        vectors = unit_length(_left_vectors(scaled, n_clusters, seed))
        final = KMeans(min(n_clusters, len(there)), n_init=10, random_state=seed).fit(vectors).labels_
        shares = (indicators[there].T @ one_hot(final, n_clusters)) / sizes[:, None]
        memberships[there] = (indicators[there] @ shares) / (labels[there] >= 0).sum(axis=1, keepdims=True)
    return memberships


def _left_vectors(matrix: Any, count: int, seed: int) -> np.ndarray:
    """Left singular vectors of the largest values of a sparse matrix (rows x count), fewer of a small one.

    Found together: clusters that all clusterings have alike have the same value, of which Lanczos would miss some.
    """
    count = min(count, *matrix.shape)
    more = max(count, 10)
    return randomized_svd(sparse.csr_matrix(matrix), count, n_oversamples=more, n_iter=7, random_state=seed)[0]

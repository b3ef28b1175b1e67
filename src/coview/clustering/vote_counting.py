"""What several clusterings of the same objects agree on.

With H the indicator matrix of all clusterings (objects x clusters of all of them), columns divided by the root of their
sums, the rows of its k left singular vectors, brought to length 1, are clustered by k-means. An object's memberships
are then its shares of the votes: over the clusterings r that know it,

    p(z | i) = mean_r P(z | c_r(i)),     P(z | c) = share of the objects of cluster c that are in cluster z

What all clusterings say alike is sure; the share says how sure. Where people say of pairs of objects whether they
belong together, clusterings that agree with a share a_r of the n pairs count exp(4 b a_r), b = 1 - (1 / 4n) / var(a)
or 0: only as far as the a_r differ by more than those of clusterings that guess (James and Stein, 1961).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.utils.extmath import randomized_svd

from coview.clustering.affinity import unit_length
from coview.inspection import one_hot

__all__ = ["count_votes", "find_disputed", "read_pairs", "weigh_votes"]

STRESS = 4.0  # of what agrees with pairs; settled on Cora, emoji and speeches
N_DISPUTED, N_DRAWN = 50, 10_000  # pairs that are named, and drawn


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


def read_pairs(records: Sequence[Mapping[str, Any]], ids: Any, n_objects: int) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of positions of objects (n_pairs, 2) and whether they belong together, of the edits that say so.

    Examples
    --------
    >>> read_pairs([{"edit": "apart", "objects": ["b", "a", "x"]}], np.array(["a", "b"]), 2)
    (array([[1, 0]]), array([False]))
    """
    at = {key: row for row, key in enumerate(range(n_objects) if ids is None else ids.tolist())}
    told = [
        (at[one], at[other], record["edit"] == "together")
        for record in records
        for one, other in combinations(record["objects"], 2)
        if one in at and other in at
    ]
    found = np.array(told, dtype=np.int64).reshape(-1, 3)
    return found[:, :2], found[:, 2].astype(bool)


def weigh_votes(labels: np.ndarray, pairs: np.ndarray, together: np.ndarray) -> np.ndarray:
    """Return clusterings, each as often as it counts by its agreement with pairs of objects.

    Parameters
    ----------
    labels : ndarray of int (n_objects, n_clusterings)
        As in `count_votes`.
    pairs : ndarray of int (n_pairs, 2)
        Positions of objects.
    together : ndarray of bool (n_pairs,)
        Which of them belong together.

    Examples
    --------
    >>> labels = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> weigh_votes(labels, np.array([[0, 1], [2, 3], [0, 2]]), np.array([True, True, False])).shape
    (4, 8)
    """
    if not len(pairs):
        return labels
    agree = ((labels[pairs[:, 0]] == labels[pairs[:, 1]]) == together[:, None]).mean(axis=0)
    beyond = max(0.0, 1 - 0.25 / len(pairs) / max(agree.var(), 1e-9))
    if not beyond:
        return labels
    weights = np.exp(STRESS * beyond * agree)
    return np.repeat(labels, np.rint(4 * weights / weights.mean()).astype(int), axis=1)


def find_disputed(labels: np.ndarray, seed: int) -> np.ndarray:
    """Return pairs of objects that about half of the clusterings put together, no object twice (n_pairs, 2).

    Examples
    --------
    >>> find_disputed(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), 0).shape
    (2, 2)
    """
    rng, taken, pairs = np.random.default_rng(seed), set[int](), list[list[int]]()
    drawn = rng.integers(0, len(labels), (N_DRAWN, 2))
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    together = (labels[drawn[:, 0]] == labels[drawn[:, 1]]).mean(axis=1)
    for pair in drawn[np.argsort(np.abs(together - 0.5), kind="stable")].tolist():
        if len(pairs) < N_DISPUTED and taken.isdisjoint(pair):
            pairs.append(pair)
            taken.update(pair)
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _left_vectors(matrix: Any, count: int, seed: int) -> np.ndarray:
    """Left singular vectors of the largest values of a sparse matrix (rows x count), fewer of a small one.

    Found together: clusters that all clusterings have alike have the same value, of which Lanczos would miss some.
    """
    count = min(count, *matrix.shape)
    more = max(count, 10)
    return randomized_svd(sparse.csr_matrix(matrix), count, n_oversamples=more, n_iter=7, random_state=seed)[0]

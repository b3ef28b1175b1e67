"""How well a clustering matches known classes, from the table of counts n_ij (class i, cluster j).

    accuracy       max over one-to-one matchings m of  sum_i n_{i,m(i)} / n
    NMI            I(class; cluster) / mean or max of the two entropies
    pairwise F1    2 S / (T + P);  S, T, P = pairs of objects together in both, in their class, in their cluster

The table is sparse, and no pair of objects is ever visited: a clustering of a million objects is fine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from coview.metrics.labels import as_labels, encode
from coview.utils.docs import parameters_of
from coview.utils.parameters import check_value, one_of

__all__ = ["clustering_accuracy", "normalized_mutual_info", "pairwise_f1"]


def clustering_accuracy(y_true: Any, y_pred: Any) -> float:
    """Compute the clustering accuracy under the best one-to-one matching of clusters to classes.

    The numbers of clusters and of classes may differ; a cluster or class left without a partner counts as wrong.

    Parameters
    ----------
    y_true : array-like of shape (n_objects,)
        Classes: numbers, strings or any other hashable values. -1 is a label like any other.
    y_pred : array-like of shape (n_objects,)
        Clusters, likewise.

    Returns
    -------
    float
        Between 0 (excluded) and 1; 1 means the same partition.

    Examples
    --------
    >>> from coview.metrics import clustering_accuracy
    >>> clustering_accuracy(["cat", "cat", "dog", "dog"], [1, 1, 0, 1])
    0.75
    """
    table = _contingency(y_true, y_pred)
    if table.shape[0] > table.shape[1]:  # the solver is much faster with the short side as rows
        table = table.T.tocsr()
    # Every row also gets a partner of its own that is worth nothing. Adding 1 to all weights keeps the zeros in the
    # sparse matrix and changes no matching, since each has exactly one entry per row.
    weights = sparse.csr_array((table.data + 1.0, table.indices, table.indptr), shape=table.shape)
    nothing = sparse.eye_array(table.shape[0], format="csr")
    graph = sparse.hstack([weights, nothing], format="csr")
    rows, columns = min_weight_full_bipartite_matching(graph, maximize=True)
    matched = columns < table.shape[1]
    return float(table[rows[matched], columns[matched]].sum() / table.sum())


@parameters_of(clustering_accuracy)
def normalized_mutual_info(y_true: Any, y_pred: Any, *, average: str = "arithmetic") -> float:
    """Compute the mutual information of classes and clusters, divided by an average of their entropies.

    Parameters
    ----------
    <same: y_true, y_pred>
    average : {"arithmetic", "max"}, default="arithmetic"
        What to divide by: the mean of the two entropies, or the larger one.

    Returns
    -------
    float
        Between 0 (independent) and 1 (the same partition). Two partitions of one part each are the same: 1.

    Examples
    --------
    >>> from coview.metrics import normalized_mutual_info
    >>> normalized_mutual_info([0, 0, 1, 1], ["b", "b", "a", "a"])
    1.0
    >>> round(normalized_mutual_info([0, 0, 1, 1], [0, 1, 2, 3], average="max"), 3)
    0.5
    """
    check_value("average", average, one_of("arithmetic", "max"))
    classes, clusters = _codes(y_true, y_pred)
    return min(float(normalized_mutual_info_score(classes, clusters, average_method=average)), 1.0)  # rounding


@parameters_of(clustering_accuracy)
def pairwise_f1(y_true: Any, y_pred: Any) -> float:
    """Compute F1 over pairs of objects: pairs in the same cluster are predicted, pairs in the same class are true.

    Parameters
    ----------
    <same: y_true, y_pred>

    Returns
    -------
    float
        Between 0 and 1. If no two objects share a class and none share a cluster, the partitions are the same: 1.

    Examples
    --------
    >>> from coview.metrics import pairwise_f1
    >>> pairwise_f1([0, 0, 1, 1], [0, 0, 0, 1])
    0.4
    """
    table = _contingency(y_true, y_pred)
    together = _pairs(table.data)
    in_class, in_cluster = _pairs(table.sum(axis=1)), _pairs(table.sum(axis=0))
    if in_class + in_cluster == 0:
        return 1.0
    return 2 * together / (in_class + in_cluster)


def _codes(y_true: Any, y_pred: Any) -> tuple[np.ndarray, np.ndarray]:
    """Classes and clusters as numbers from 0 on."""
    classes, clusters = as_labels("y_true", y_true), as_labels("y_pred", y_pred)
    if len(classes) != len(clusters):
        raise ValueError(f"y_true and y_pred must have the same length, got {len(classes)} and {len(clusters)} labels.")
    return encode(classes)[0], encode(clusters)[0]


def _contingency(y_true: Any, y_pred: Any) -> sparse.csr_array:
    """Counts of objects by class (rows) and cluster (columns); every row and column has at least one."""
    return sparse.csr_array(contingency_matrix(*_codes(y_true, y_pred), sparse=True, dtype=np.int64))


def _pairs(counts: np.ndarray) -> int:
    return int((counts * (counts - 1) // 2).sum())

"""How well a clustering matches known classes, from the table of counts n_ij (class i, cluster j).

    accuracy       max over one-to-one matchings m of  sum_i n_{i,m(i)} / n
    NMI            I(class; cluster) / mean or max of the two entropies
    pairwise F1    2 S / (T + P);  S, T, P = pairs of objects together in both, in their class, in their cluster

No pair of objects is ever visited: a clustering of a million objects is fine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, pair_confusion_matrix

from coview.metrics.labels import as_labels, encode
from coview.utils.docs import parameters_of
from coview.validation import check_option

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
    table = contingency_matrix(*_encode_both(y_true, y_pred))
    # the Hungarian method; a greedy matching could give a class to the wrong one of two large clusters
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / table.sum())


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
    check_option("average", average, ("arithmetic", "max"))
    classes, clusters = _encode_both(y_true, y_pred)
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
    (_, false_positive), (false_negative, together) = pair_confusion_matrix(*_encode_both(y_true, y_pred)).tolist()
    total = 2 * together + false_positive + false_negative
    return 2 * together / total if total else 1.0


def _encode_both(y_true: Any, y_pred: Any) -> tuple[np.ndarray, np.ndarray]:
    """Classes and clusters as numbers from 0 on."""
    classes, clusters = as_labels("y_true", y_true), as_labels("y_pred", y_pred)
    if len(classes) != len(clusters):
        raise ValueError(f"y_true and y_pred must have the same length, got {len(classes)} and {len(clusters)} labels.")
    return encode(classes)[0], encode(clusters)[0]

"""Quality of topics from what they are made of: coherence, diversity and exclusivity of their first features.

A topic is coherent where its first features occur together in objects, by the shares of the objects that have one of
them, p(i), and two of them, p(i, j):

    npmi    mean over pairs of  log(p(i, j) / (p(i) p(j))) / -log p(i, j)      from -1 to 1; 0 is chance
    c_v     mean over features of the cosine of (npmi(i, j))_j with its sum over all features of the topic

Bouma (2009); Roeder, Both and Hinneburg (2015).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ParameterError
from coview.validation import check_count, check_option

__all__ = ["topic_coherence", "topic_diversity", "topic_exclusivity"]

LEAST = 1e-12  # added to the share of a pair, so that pairs that never occur have a logarithm


def topic_coherence(topics: Any, reference: Any, *, measure: str = "npmi", n_features: int = 10) -> np.ndarray:
    """Compute how much the first features of each topic occur together in a reference.

    Parameters
    ----------
    topics : array-like (n_topics, n_features)
        Weights of the features, none below 0, as in `topic_feature_`.
    reference : matrix (n_objects, n_features)
        Objects, sparse or dense, where a value above 0 says that the feature occurs.
    measure : {"npmi", "c_v"}, default="npmi"
        The measure of coherence.
    n_features : int, default=10
        How many features of each topic count.

    Returns
    -------
    ndarray (n_topics,)
        Coherence of each topic; NaN where it has fewer than two features, or where the reference is empty.

    Examples
    --------
    >>> from coview.metrics import topic_coherence
    >>> objects = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    >>> topic_coherence([[0.5, 0.5, 0, 0], [0.5, 0, 0, 0.5]], objects).round(2)
    array([ 1.  , -0.95])
    """
    check_option("measure", measure, ("npmi", "c_v"))
    first = _first_features(_as_weights(topics), check_count("n_features", n_features, 2))
    # only the columns of first features are counted: pairs of all features would not fit in memory
    used = np.unique(np.concatenate(first)) if first else np.zeros(0, dtype=np.int64)
    matrix = sparse.csr_array(reference)
    if len(used) and used[-1] >= matrix.shape[1]:
        raise ParameterError(
            f"must have the {used[-1] + 1:,} features of the topics, got {matrix.shape[1]:,} columns.",
            parameter="reference",
        )
    if not matrix.shape[0]:
        return np.full(len(first), np.nan)
    occurs = sparse.csr_array(matrix[:, used] > 0).astype(np.float64)
    together = (occurs.T @ occurs).toarray() / matrix.shape[0]
    places = [np.searchsorted(used, best) for best in first]
    return np.array([_coherence(together[np.ix_(place, place)], measure) for place in places])


def topic_diversity(topics: Any, *, n_features: int = 25) -> float:
    """Compute the share of distinct features among the first features of all topics: 1 where none is in two topics.

    Parameters
    ----------
    topics : array-like (n_topics, n_features)
        Weights of the features, none below 0, as in `topic_feature_`.
    n_features : int, default=25
        How many features of each topic count.

    Returns
    -------
    float
        From 1 / n_topics, where all topics are the same, to 1. NaN without any feature.

    Examples
    --------
    >>> from coview.metrics import topic_diversity
    >>> topic_diversity([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]])
    0.75
    """
    first = np.concatenate(_first_features(_as_weights(topics), check_count("n_features", n_features)))
    return len(np.unique(first)) / len(first) if len(first) else float("nan")


def topic_exclusivity(topics: Any, *, n_features: int = 10) -> np.ndarray:
    """Compute how much the first features of each topic are its own: the mean share of their weight in all topics.

    Parameters
    ----------
    topics : array-like (n_topics, n_features)
        Weights of the features, none below 0, as in `topic_feature_`.
    n_features : int, default=10
        How many features of each topic count.

    Returns
    -------
    ndarray (n_topics,)
        1 for a topic whose features are in no other topic; NaN for one without features.

    Examples
    --------
    >>> from coview.metrics import topic_exclusivity
    >>> topic_exclusivity([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]], n_features=2)
    array([0.75, 0.75])
    """
    weights = _as_weights(topics)
    first = _first_features(weights, check_count("n_features", n_features))
    total = weights.sum(axis=0)
    return np.array([(row[best] / total[best]).mean() if len(best) else np.nan for row, best in zip(weights, first)])


def _as_weights(topics: Any) -> np.ndarray:
    weights = np.asarray(topics.toarray() if sparse.issparse(topics) else topics, dtype=np.float64)
    if weights.ndim != 2 or not np.isfinite(weights).all() or (weights < 0).any():
        raise ParameterError(
            "must be a table (topics x features) of finite weights that are not below 0.", parameter="topics"
        )
    return weights


def _first_features(weights: np.ndarray, n: int) -> list[np.ndarray]:
    """Positions of the n features of the largest weight in each topic, those without weight left out."""
    order = np.argsort(-weights, axis=1, kind="stable")[:, :n]
    return [best[row[best] > 0] for row, best in zip(weights, order)]


def _coherence(joint: np.ndarray, measure: str) -> float:
    """Coherence of one topic from the shares of pairs of its features."""
    m = len(joint)
    if m < 2:
        return float("nan")
    npmi = _npmi(joint)
    if measure == "npmi":
        return float(npmi[~np.eye(m, dtype=bool)].mean())
    # C_v (Röder, Both and Hinneburg 2015): the cosine of each feature's NPMI with the sum over the topic
    total = npmi.sum(axis=0)
    lengths = np.linalg.norm(npmi, axis=1) * np.linalg.norm(total)
    return float(np.where(lengths > 0, npmi @ total / np.where(lengths > 0, lengths, 1.0), 0.0).mean())


def _npmi(joint: np.ndarray) -> np.ndarray:
    """Normalized pointwise mutual information of all pairs; 0 where a feature never occurs."""
    known = np.outer(joint.diagonal(), joint.diagonal())
    ratio = np.log((joint + LEAST) / np.where(known > 0, known, 1.0))
    bound = -np.log(joint + LEAST)
    whole = np.abs(bound) < 10 * LEAST  # of features that all objects have: always together
    return np.where(known > 0, np.where(whole, 1.0, ratio / np.where(whole, 1.0, bound)), 0.0)

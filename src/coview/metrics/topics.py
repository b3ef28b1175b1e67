"""Quality of topics from what they are made of: coherence, diversity, exclusivity, and stability from fit to fit.

A topic is read through its first features. It is coherent where these occur together, in the objects that the model
was fitted on or in a reference, by shares of the objects, p(i), and of pairs of features, p(i, j):

    npmi    mean over pairs of  log(p(i, j) / (p(i) p(j))) / -log p(i, j)      from -1 to 1; 0 is chance
    c_v     mean over features of the cosine of (npmi(i, j))_j with its sum over all features of the topic
    umass   mean over pairs, the second ranked before the first, of  log(p(i, j) / p(j))      at most 0

Bouma (2009); Roeder, Both and Hinneburg (2015); Mimno et al. (2011). An object counts as a whole, or, where a reference
is texts in the order of their words, each window of so many words does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from coview.exceptions import ParameterError
from coview.utils.messages import short
from coview.validation import check_count, check_option
from coview.views.arrays import is_frame, open_frame

__all__ = ["shared_features", "topic_coherence", "topic_diversity", "topic_exclusivity", "topic_stability"]

MEASURES = ("npmi", "c_v", "umass")
_LOOKED_AT = 100  # texts, to tell them from rows of numbers
_ENTRIES = 5_000_000  # words of windows that are held at a time
LEAST = 1e-12  # added to the share of a pair, so that pairs that never occur have a logarithm


def topic_coherence(
    topics: Any,
    reference: Any,
    *,
    measure: str = "npmi",
    n_features: int = 10,
    window: int | None = None,
    feature_names: Any = None,
) -> np.ndarray:
    """Compute how much the first features of each topic occur together in a reference.

    Parameters
    ----------
    topics : array-like (n_topics, n_features) or list of lists of str
        Weights of the features, as in `topic_feature_`; or the names of each topic's features, the first ones first.
    reference : matrix (n_objects, n_features), or list of lists of str
        Objects, sparse or dense, where a value above 0 says that the feature occurs; or texts as lists of words, for
        names in `topics`.
    measure : {"npmi", "c_v", "umass"}, default="npmi"
        The measure of coherence.
    n_features : int, default=10
        How many features of each topic count.
    window : int, optional
        Words that count as together in texts, as a window that slides; by default the whole text.
    feature_names : sequence of str, optional
        Names of the columns of a reference that is a matrix, where `topics` are names.

    Returns
    -------
    ndarray (n_topics,)
        Coherence of each topic; NaN where it has fewer than two features, or where the reference is empty.

    Examples
    --------
    >>> from coview.metrics import topic_coherence
    >>> texts = [["cat", "dog"], ["cat", "dog"], ["tax", "law"], ["tax", "law"]]
    >>> topic_coherence([["cat", "dog"], ["cat", "law"]], texts).round(2)
    array([ 1.  , -0.95])
    """
    check_option("measure", measure, MEASURES)
    check_count("n_features", n_features, 2)
    first = _first_features(topics, n_features)
    named = any(isinstance(feature, str) for row in first for feature in row)
    used = list(dict.fromkeys(feature for row in first for feature in row))
    texts = None if feature_names is not None or sparse.issparse(reference) else _as_texts(reference)
    if texts is not None and not named:
        raise ParameterError("must be names of features where the reference is texts.", parameter="topics")
    if texts is not None:
        n, together = _count_pairs(_in_texts(texts, used, window), len(used))
    elif window is not None:
        raise ParameterError(
            "needs texts as lists of words, in their order, as the reference; a matrix has no order.",
            parameter="window",
        )
    else:
        n, together = _count_pairs(_in_matrix(reference, used, named, feature_names), len(used))
    place = {feature: i for i, feature in enumerate(used)}
    if not n:
        return np.full(len(first), np.nan)
    return np.array([_coherence(_joint(together, [place[f] for f in row]) / n, measure) for row in first])


def topic_diversity(topics: Any, *, n_features: int = 25) -> float:
    """Compute the share of distinct features among the first features of all topics: 1 where none is in two topics.

    Parameters
    ----------
    topics : array-like (n_topics, n_features) or list of lists of str
        Weights of the features, or the names of each topic's features, the first ones first.
    n_features : int, default=25
        How many features of each topic count.

    Returns
    -------
    float
        From 1 / n_topics, where all topics are the same, to 1. NaN without any feature.

    Examples
    --------
    >>> from coview.metrics import topic_diversity
    >>> topic_diversity([["cat", "dog"], ["cat", "law"]])
    0.75
    """
    check_count("n_features", n_features)
    first = _first_features(topics, n_features)
    total = sum(map(len, first))
    return len({feature for row in first for feature in row}) / total if total else float("nan")


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
    check_count("n_features", n_features)
    weights = _weights("topics", topics)
    total = weights.sum(axis=0)
    first = _first_features(weights, n_features)
    return np.array([(row[best] / total[best]).mean() if len(best) else np.nan for row, best in zip(weights, first)])


def topic_stability(topics: Any, others: Any, *, n_features: int = 10) -> np.ndarray:
    """Compute how much of each topic is found again in other fits: same features, whatever the number of the topic.

    Topics of two fits are matched one to one, so that as many of their first features as possible are shared. Of a
    matched pair counts what the two have in common of all their first features (Jaccard index).

    Parameters
    ----------
    topics : array-like (n_topics, n_features) or list of lists of str
        Weights of the features, or the names of each topic's features, the first ones first.
    others : list of the same
        Topics of other fits, by other seeds or on other samples, with the same features.
    n_features : int, default=10
        How many features of each topic count.

    Returns
    -------
    ndarray (n_topics,)
        Mean over the other fits, from 0 to 1; a topic that has no partner in a fit counts as 0 there.

    Examples
    --------
    >>> from coview.metrics import topic_stability
    >>> topic_stability([["cat", "dog"], ["tax", "law"]], [[["law", "tax"], ["cat", "fish"]]])
    array([0.33333333, 1.        ])
    """
    check_count("n_features", n_features)
    mine, others = _first_features(topics, n_features), _rows(others, "others")
    if not others:
        raise ParameterError("must hold the topics of at least one other fit, got none.", parameter="others")
    if not isinstance(others[0], (list, tuple)) and np.ndim(others[0]) == 1:
        raise ParameterError("must be a list with the topics of each other fit, got those of one.", parameter="others")
    found = np.zeros((len(others), len(mine)))
    for o, other in enumerate(others):
        overlap = _jaccard(mine, _first_features(other, n_features, "others"))
        rows, columns = linear_sum_assignment(overlap, maximize=True)
        found[o, rows] = overlap[rows, columns]
    return found.mean(axis=0)


def shared_features(ours: Any, theirs: Any, n_features: int) -> np.ndarray:
    """Return which share of their first features two topics have in common, for all pairs (Jaccard index)."""
    return _jaccard(_first_features(ours, n_features), _first_features(theirs, n_features))


# -- the first features of topics


def _first_features(topics: Any, n: int, name: str = "topics") -> list[Any]:
    """Positions or names of the n first features of each topic, those without weight left out."""
    rows = _lists(topics, name)
    if rows is not None:
        return [list(dict.fromkeys(row))[:n] for row in rows]
    weights = _weights(name, topics)
    order = (np.argsort(-row, kind="stable")[:n] for row in weights)
    return [best[row[best] > 0] for row, best in zip(weights, order)]


def _lists(values: Any, name: str) -> list[list[str]] | None:
    """Lists of words, or None for what is a table of numbers."""
    if sparse.issparse(values) or is_frame(values):
        return None
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OUST":
        return None
    rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in _rows(values, name)]
    if any(isinstance(row, str) for row in rows):
        raise ParameterError("must be a list of lists of words; one of them is a text.", parameter=name)
    if not all(isinstance(row, (list, tuple)) and all(isinstance(word, str) for word in row) for row in rows):
        return None
    return [list(row) for row in rows] if any(rows) else None


def _rows(values: Any, name: str) -> list[Any]:
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable) or isinstance(values, type):
        raise ParameterError(f"must be a list or a table, got {short(values)}.", parameter=name)
    if isinstance(values, np.ndarray) and not values.ndim:
        raise ParameterError(f"must be a list or a table, got the single value {short(values)}.", parameter=name)
    return list(values)


def _weights(name: str, weights: Any) -> np.ndarray:
    """Dense weights of topics, checked."""
    try:
        table = weights.toarray() if sparse.issparse(weights) else weights
        table = open_frame(table).to_numpy() if is_frame(table) else table
        array = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.ndim != 2 or not np.isfinite(array).all() or (array < 0).any():
        raise ParameterError(
            "must be a table (topics x features) of finite weights that are not below 0, or lists of names.",
            parameter=name,
        )
    return array


def _jaccard(mine: list[Any], others: list[Any]) -> np.ndarray:
    """Shared features of all pairs of topics, of all features of the two."""
    codes = {feature: i for i, feature in enumerate({feature for row in chain(mine, others) for feature in row})}

    def table(topics: list[Any]) -> sparse.csr_array:
        rows = [t for t, row in enumerate(topics) for _ in row]
        columns = [codes[feature] for row in topics for feature in row]
        return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(topics), len(codes)))

    shared = (table(mine) @ table(others).T).toarray()
    sizes = np.add.outer([len(row) for row in mine], [len(row) for row in others]) - shared
    return shared / np.maximum(sizes, 1)


# -- how often features occur, and together


def _in_matrix(reference: Any, used: list[Any], named: bool, feature_names: Any) -> Iterator[sparse.csr_array]:
    """Objects x used features, 1 where the feature occurs."""
    matrix = open_frame(reference).to_numpy() if is_frame(reference) else reference
    try:
        matrix = sparse.csr_array(matrix) if sparse.issparse(matrix) else np.asarray(matrix)
    except ValueError:  # rows of different lengths
        matrix = np.array(None)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ParameterError(
            "must be a table of numbers (objects x features), or texts as lists of words.", parameter="reference"
        )
    columns = np.asarray(used, dtype=np.int64) if not named else _columns(used, feature_names, matrix.shape[1])
    if len(columns) and columns.max() >= matrix.shape[1]:
        raise ParameterError(
            f"must have the {int(columns.max()) + 1:,} features of the topics, got {matrix.shape[1]:,} columns.",
            parameter="reference",
        )
    some = sparse.csr_array(matrix[:, np.maximum(columns, 0)] > 0)
    yield sparse.csr_array(some * sparse.csr_array(columns >= 0)) if (columns < 0).any() else some


def _as_texts(reference: Any) -> list[Any] | None:
    """Texts as lists of words; None for a table of numbers."""
    if is_frame(reference) or (isinstance(reference, np.ndarray) and reference.dtype.kind not in "OUST"):
        return None
    rows = _rows(reference, "reference")
    if not all(isinstance(row, (str, list, tuple, np.ndarray)) for row in rows):
        return None
    words = [word for row in rows[:_LOOKED_AT] for word in row]
    return rows if all(isinstance(word, str) for word in words) else None


def _columns(used: list[str], feature_names: Any, width: int) -> np.ndarray:
    """Column of each name; -1 where there is none."""
    if feature_names is None or len(feature_names) != width:
        given = "none" if feature_names is None else f"{len(feature_names):,}"
        raise ParameterError(
            f"must name each of the {width:,} columns of the reference, got {given}.", parameter="feature_names"
        )
    places = {str(name): i for i, name in enumerate(feature_names)}
    return np.array([places.get(name, -1) for name in used], dtype=np.int64)


def _in_texts(texts: Any, used: list[str], window: int | None) -> Iterator[sparse.csr_array]:
    """Windows x used features, 1 where the word occurs, some texts at a time."""
    if window is not None:
        check_count("window", window)
    places = {word: i for i, word in enumerate(used)}
    rows: list[np.ndarray] = []
    columns: list[np.ndarray] = []
    begin = held = 0
    for number, text in enumerate(texts):
        if isinstance(text, str):
            raise ParameterError(
                f"must hold texts as lists of words; text {number} is a text that was not split.", parameter="reference"
            )
        length, width = len(text), window or max(len(text), 1)
        found = np.array([(p, places[word]) for p, word in enumerate(text) if word in places], dtype=np.int64)
        if len(found):
            first = np.maximum(found[:, 0] - width + 1, 0)
            last = np.minimum(found[:, 0], max(length - width, 0))
            runs = last - first + 1
            steps = np.arange(runs.sum()) - np.repeat(np.cumsum(runs) - runs, runs)
            rows.append(begin + np.repeat(first, runs) + steps)
            columns.append(np.repeat(found[:, 1], runs))
            held += len(rows[-1])
        begin += max(length - width, 0) + 1
        if held > _ENTRIES:
            yield _table(rows, columns, begin, len(used))
            rows, columns, begin, held = [], [], 0, 0
    yield _table(rows, columns, begin, len(used))


def _table(rows: list[np.ndarray], columns: list[np.ndarray], n: int, width: int) -> sparse.csr_array:
    places = [np.concatenate(part) if part else np.empty(0, np.int64) for part in (rows, columns)]
    table = sparse.csr_array((np.ones(len(places[0])), places), shape=(n, width))
    table.sum_duplicates()
    table.data[:] = 1.0
    return table


def _count_pairs(parts: Iterable[sparse.csr_array], width: int) -> tuple[int, sparse.csr_array]:
    """Number of objects, and in how many of them two features occur; on the diagonal, one of them."""
    n, total = 0, sparse.csr_array((width, width))
    for part in parts:
        here = part.astype(np.float64)
        n, total = n + here.shape[0], sparse.csr_array(total + here.T @ here)
    return n, total


def _joint(together: sparse.csr_array, places: list[int]) -> np.ndarray:
    """Counts of all pairs of a topic's features (features x features)."""
    return together[places][:, places].toarray()


# -- measures


def _coherence(joint: np.ndarray, measure: str) -> float:
    """Coherence of one topic from the shares of pairs of its features."""
    m = len(joint)
    if m < 2:
        return float("nan")
    alone = joint.diagonal()
    if measure == "umass":
        later, earlier = np.tril_indices(m, -1)
        known = alone[earlier] > 0
        values = np.log((joint[later, earlier] + LEAST) / np.where(known, alone[earlier], 1.0))
        return float(np.where(known, values, 0.0).mean())
    npmi = _npmi(joint, alone)
    if measure == "npmi":
        return float(npmi[~np.eye(m, dtype=bool)].mean())
    total = npmi.sum(axis=0)
    lengths = np.linalg.norm(npmi, axis=1) * np.linalg.norm(total)
    return float(np.where(lengths > 0, npmi @ total / np.where(lengths > 0, lengths, 1.0), 0.0).mean())


def _npmi(joint: np.ndarray, alone: np.ndarray) -> np.ndarray:
    """Normalized pointwise mutual information of all pairs; 0 where a feature never occurs."""
    known = np.outer(alone, alone)
    ratio = np.log((joint + LEAST) / np.where(known > 0, known, 1.0))
    bound = -np.log(joint + LEAST)
    whole = np.abs(bound) < 10 * LEAST  # of features that all objects have: always together
    return np.where(known > 0, np.where(whole, 1.0, ratio / np.where(whole, 1.0, bound)), 0.0)

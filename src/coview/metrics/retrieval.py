"""Average precision of rankings: the mean of the precisions at the ranks where relevant items stand.

    AP = sum over ranks r of  rel(r) * precision(r)  /  min(R, at)        R = relevant items of the query

Items are ranked by falling score; equal scores keep the order of the items, so a result never depends on chance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError
from coview.metrics.labels import as_labels, encode
from coview.utils.docs import parameters_of
from coview.utils.messages import short
from coview.utils.parameters import check_value, one_of

__all__ = ["average_precision", "mean_average_precision"]

BLOCK = 1 << 22  # scores that are ranked at a time: bounds the memory beside the scores themselves


def mean_average_precision(
    scores: Any,
    relevant: Any = None,
    *,
    query_labels: Any = None,
    item_labels: Any = None,
    at: int | None = None,
    cutoff: str = "rank",
) -> float:
    """Compute the mean of the average precisions of all queries that have a relevant item.

    Parameters
    ----------
    scores : array-like or sparse matrix of shape (n_queries, n_items)
        Score of each item for each query, higher is better. Of equal scores the item of lower index ranks first.
    relevant : array-like or sparse matrix of shape (n_queries, n_items), optional
        Which items are relevant: boolean, or 0 and 1. Give this, or both kinds of labels.
    query_labels : array-like of shape (n_queries,), optional
        Label of each query: an item is relevant where its label is the query's.
    item_labels : array-like of shape (n_items,), optional
        Label of each item.
    at : int, optional
        Count only the first `at` ranks and divide by min(R, at). All ranks by default.
    cutoff : {"rank", "relevant"}, default="rank"
        Whether `at` counts ranks, or relevant items: "relevant" is the mean precision at the first `at` relevant
        items, however far down they stand.

    Returns
    -------
    float
        Between 0 and 1. Queries without any relevant item are left out of the mean.

    See Also
    --------
    average_precision : the value of each query.

    Examples
    --------
    >>> from coview.metrics import mean_average_precision
    >>> scores = [[0.9, 0.5, 0.1], [0.2, 0.8, 0.3]]
    >>> round(mean_average_precision(scores, [[1, 0, 1], [0, 1, 0]]), 4)
    0.9167
    >>> round(mean_average_precision(scores, query_labels=["a", "b"], item_labels=["a", "b", "a"]), 4)
    0.9167
    """
    values = average_precision(
        scores, relevant, query_labels=query_labels, item_labels=item_labels, at=at, cutoff=cutoff
    )
    if np.isnan(values).all():
        raise ValueError(f"None of the {len(values)} queries has a relevant item. Check relevant or the labels.")
    return float(np.nanmean(values))


@parameters_of(mean_average_precision)
def average_precision(
    scores: Any,
    relevant: Any = None,
    *,
    query_labels: Any = None,
    item_labels: Any = None,
    at: int | None = None,
    cutoff: str = "rank",
) -> np.ndarray:
    """Compute the average precision of each query; NaN for queries without relevant items.

    Parameters
    ----------
    <same: scores, relevant, query_labels, item_labels, at, cutoff>

    Returns
    -------
    ndarray of shape (n_queries,)
        Values between 0 and 1.

    See Also
    --------
    mean_average_precision : their mean.

    Examples
    --------
    >>> from coview.metrics import average_precision
    >>> average_precision([[0.9, 0.5, 0.1], [0.2, 0.8, 0.3]], [[1, 0, 1], [0, 1, 0]]).round(4)
    array([0.8333, 1.    ])
    """
    if at is not None and (not isinstance(at, (int, np.integer)) or isinstance(at, bool) or at < 1):
        raise ValueError(f"at must be an integer of at least 1, or None for all ranks, got {at!r}.")
    check_value("cutoff", cutoff, one_of("rank", "relevant"))
    ranked = _as_matrix("scores", scores)
    n_queries, n_items = ranked.shape
    relevance = _relevance(relevant, query_labels, item_labels, ranked.shape)
    values = np.empty(n_queries)
    size = max(1, BLOCK // n_items)
    for start in range(0, n_queries, size):
        rows = slice(start, min(start + size, n_queries))
        values[rows] = _block_precision(_score_block(ranked, rows), relevance(rows), at or n_items, cutoff)
    return values


def _relevance(
    relevant: Any, query_labels: Any, item_labels: Any, shape: tuple[int, int]
) -> Callable[[slice], np.ndarray]:
    """Return a function of some queries that gives their rows of the relevance matrix."""
    sources = {"relevant": relevant, "query_labels": query_labels, "item_labels": item_labels}
    names = [name for name, source in sources.items() if source is not None]
    if names not in (["relevant"], ["query_labels", "item_labels"]):
        raise ValueError(
            f"Pass either relevant, or both query_labels and item_labels; got {', '.join(names) or 'none'}."
        )
    if relevant is not None:
        matrix = _as_matrix("relevant", relevant)
        n_queries, n_items = matrix.shape
    else:
        queries, items = encode(as_labels("query_labels", query_labels), as_labels("item_labels", item_labels))
        n_queries, n_items = len(queries), len(items)
    if (n_queries, n_items) != shape:
        raise ValueError(
            f"scores are {shape[0]} queries x {shape[1]} items, but relevance is given for {n_queries} x {n_items}."
        )
    return partial(_flags, matrix) if relevant is not None else lambda rows: queries[rows, None] == items


def _flags(matrix: Any, rows: slice) -> np.ndarray:
    block = _dense_rows(matrix, rows)
    flags = block.astype(bool)
    if not np.array_equal(flags, block):
        raise ValueError("relevant must be boolean, or 0 and 1. Turn grades into flags, e.g. grades > 0.")
    return flags


def _block_precision(scores: np.ndarray, relevant: np.ndarray, at: int, cutoff: str) -> np.ndarray:
    order = np.argsort(-scores, axis=1, kind="stable")
    hit = np.take_along_axis(relevant, order, axis=1)
    hits = np.cumsum(hit, axis=1)
    n_relevant = hits[:, -1]
    ranks = np.arange(1, hit.shape[1] + 1)
    counted = hit & ((ranks if cutoff == "rank" else hits) <= at)
    total = np.where(counted, hits / ranks, 0.0).sum(axis=1)
    return np.where(n_relevant > 0, total / np.clip(n_relevant, 1, at), np.nan)


def _as_matrix(name: str, values: Any) -> Any:
    try:
        matrix = values.tocsr() if sparse.issparse(values) else np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise ViewsError(f"{name} must be a matrix (n_queries, n_items), got {short(values)}.") from error
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(f"{name} must be a matrix (n_queries, n_items) with entries, got shape {matrix.shape}.")
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be numeric, got dtype {matrix.dtype}.")
    return matrix


def _dense_rows(matrix: Any, rows: slice) -> np.ndarray:
    return matrix[rows].toarray() if sparse.issparse(matrix) else matrix[rows]


def _score_block(matrix: Any, rows: slice) -> np.ndarray:
    block = _dense_rows(matrix, rows)
    if block.dtype.kind != "f":
        return block.astype(np.float64)  # unsigned and boolean scores have no negative to sort by
    if np.isnan(block).any():
        query, item = (int(i) for i in np.argwhere(np.isnan(block))[0])
        raise ValueError(
            f"scores has NaN, the first at query {rows.start + query}, item {item}. Use -inf to rank an item last."
        )
    return block

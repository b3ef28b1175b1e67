"""Average precision of rankings: the mean of the precisions at the ranks where relevant items stand.

    AP = sum over ranks r of  rel(r) * precision(r)  /  min(R, at)        R = relevant items of the query

Items are ranked by falling score; equal scores keep the order of the items, so a result never depends on chance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.metrics.labels import as_labels, encode
from coview.validation import check_count, check_option

__all__ = ["mean_average_precision"]


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
    scores : array-like of shape (n_queries, n_items)
        Score of each item for each query, higher is better. Of equal scores the item of lower index ranks first.
    relevant : array-like of bool of shape (n_queries, n_items), optional
        Which items are relevant. Give this, or both kinds of labels.
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

    Examples
    --------
    >>> from coview.metrics import mean_average_precision
    >>> scores = [[0.9, 0.5, 0.1], [0.2, 0.8, 0.3]]
    >>> round(mean_average_precision(scores, [[1, 0, 1], [0, 1, 0]]), 4)
    0.9167
    >>> round(mean_average_precision(scores, query_labels=["a", "b"], item_labels=["a", "b", "a"]), 4)
    0.9167
    """
    check_option("cutoff", cutoff, ("rank", "relevant"))
    ranked = np.asarray(scores, dtype=np.float64)
    if relevant is None:
        queries, items = encode(as_labels("query_labels", query_labels), as_labels("item_labels", item_labels))
        shape = len(queries), len(items)
    else:
        flags = np.asarray(relevant, dtype=bool)
        shape = flags.shape
    if ranked.shape != shape:
        raise ValueError(f"scores have shape {ranked.shape}, but relevance is given for {shape}.")
    if np.isnan(ranked).any():
        raise ValueError("scores must not be NaN. Use -inf to rank an item last.")
    most = ranked.shape[1] if at is None else check_count("at", at)
    # one query at a time: relevance of all pairs by label may be larger than the scores
    hits = (flags[i] if relevant is not None else queries[i] == items for i in range(len(ranked)))
    values = [_average_precision(row, hit, most, cutoff) for row, hit in zip(ranked, hits) if hit.any()]
    if not values:
        raise ValueError(f"None of the {len(ranked)} queries has a relevant item. Check relevant or the labels.")
    return float(np.mean(values))


def _average_precision(scores: np.ndarray, relevant: np.ndarray, at: int, cutoff: str) -> float:
    # precision at each relevant item: the hits so far over its rank
    ranks = np.flatnonzero(relevant[np.argsort(-scores, kind="stable")]) + 1
    hits = np.arange(1, len(ranks) + 1)
    counted = (ranks if cutoff == "rank" else hits) <= at
    return float((hits / ranks)[counted].sum() / min(len(ranks), at))

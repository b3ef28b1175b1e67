"""Average ranks of methods over many data sets, and tests of whether the differences may be chance."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, wilcoxon

from coview.views.arrays import is_frame

__all__ = ["average_rank", "rank_tests"]


def average_rank(table: Any, *, higher_is_better: bool = True) -> Any:
    """Compute the mean rank of each method over data sets; 1 is the best, and ties share their mean rank.

    To average over several measures as well, stack their tables by rows.

    Parameters
    ----------
    table : array-like, frame or mapping
        Scores of shape (n_datasets, n_methods); a frame with one column per method; ``{method: scores}`` with one
        score per data set; or ``{dataset: {method: score}}``.
    higher_is_better : bool, default=True
        False for errors and times.

    Returns
    -------
    ndarray of shape (n_methods,), or dict
        Mean ranks; ``{method: mean rank}`` where the methods have names.

    Examples
    --------
    >>> from coview.metrics import average_rank
    >>> average_rank([[0.9, 0.8, 0.7], [0.5, 0.6, 0.5]])
    array([1.75, 1.5 , 2.75])
    >>> average_rank({"cora": {"PLSA": 55.0, "LinkPLSA": 60.1}, "citeseer": {"PLSA": 48.2, "LinkPLSA": 51.0}})
    {'PLSA': 2.0, 'LinkPLSA': 1.0}
    """
    methods, scores = _checked(table)
    ranks = rankdata(-scores if higher_is_better else scores, axis=1).mean(axis=0)
    return ranks if methods is None else dict(zip(methods, ranks.tolist()))


def rank_tests(table: Any, *, higher_is_better: bool = True) -> dict[str, Any]:
    """Test whether methods differ over data sets: Friedman's test, and Wilcoxon's signed-rank test against the best.

    The best is the one with the lowest average rank. Its p-values, two-sided, are corrected for all pairs of methods
    (Holm), not only for those with the best, since which one is the best is read off the same scores: where no methods
    differ, any of them is below 0.05 in about 1 of 20 tables at most.

    Parameters
    ----------
    table : array-like, frame or mapping
        Scores of three methods at least: of shape (n_datasets, n_methods); a frame with one column per method;
        ``{method: scores}`` with one score per data set; or ``{dataset: {method: score}}``.
    higher_is_better : bool, default=True
        False for errors and times.

    Returns
    -------
    dict
        "rank" (as `average_rank`), "statistic" and "p_value" of Friedman's test, "best" (the method, or its column),
        and "against_best" (``{method: p-value}`` of the others; 1 where all scores are equal).

    Notes
    -----
    Scores of several measures or shares of labels on one data set are no independent rows: their p-values are too
    small.

    Examples
    --------
    >>> from coview.metrics import rank_tests
    >>> table = {"A": [9.1, 8.2, 7.4, 6.3, 9.9, 8.8], "B": [8, 7, 6, 5, 9, 7], "C": [8.1, 6.8, 6.1, 4.8, 9.2, 6.7]}
    >>> tests = rank_tests(table)
    >>> tests["best"], round(tests["p_value"], 3), {name: round(p, 3) for name, p in tests["against_best"].items()}
    ('A', 0.011, {'B': 0.094, 'C': 0.094})
    """
    methods, scores = _checked(table)
    n_methods = scores.shape[1]
    if n_methods < 3 or len(scores) < 2:
        raise ValueError(f"rank_tests needs at least 3 methods and 2 data sets, got {n_methods} and {len(scores)}.")
    names = list(range(n_methods)) if methods is None else methods
    ranks = rankdata(-scores if higher_is_better else scores, axis=1).mean(axis=0)
    best = int(ranks.argmin())
    others = [k for k in range(n_methods) if k != best]
    pairs = list(combinations(range(n_methods), 2))
    gaps = [scores[:, j] - scores[:, k] for j, k in pairs]
    raw = np.array([wilcoxon(gap).pvalue if gap.any() else 1.0 for gap in gaps])
    order = raw.argsort(kind="stable")
    holm = np.empty(len(raw))
    holm[order] = np.minimum(np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1)), 1.0)
    corrected = dict(zip(pairs, holm.tolist()))
    same = bool((scores == scores[:, :1]).all())  # Friedman's statistic is then 0 / 0
    test = (0.0, 1.0) if same else friedmanchisquare(*scores.T)
    return {
        "rank": ranks if methods is None else dict(zip(names, ranks.tolist())),
        "statistic": float(test[0]),
        "p_value": float(test[1]),
        "best": names[best],
        "against_best": {names[k]: corrected[min(best, k), max(best, k)] for k in others},
    }


def _checked(table: Any) -> tuple[list[Any] | None, np.ndarray]:
    methods, scores = _as_table(table)
    if scores.ndim != 2 or 0 in scores.shape:
        raise ValueError(f"table must be (n_datasets, n_methods) with entries, got shape {scores.shape}.")
    if np.isnan(scores).any():
        row, column = (int(i) for i in np.argwhere(np.isnan(scores))[0])
        method = column if methods is None else repr(methods[column])
        raise ValueError(
            f"table has {int(np.isnan(scores).sum())} missing scores, the first for method {method} in row {row}. "
            "Rank only data sets on which every method ran."
        )
    return methods, scores


def _as_table(table: Any) -> tuple[list[Any] | None, np.ndarray]:
    """Names of the methods, or None, and the scores."""
    if is_frame(table):
        table = {name: np.asarray(table[name]) for name in table.columns}
    if not isinstance(table, Mapping):
        return None, _as_numbers("table", table)
    if table and all(isinstance(row, Mapping) for row in table.values()):
        methods = list(next(iter(table.values())))
        for dataset, row in table.items():
            if set(row) != set(methods):
                raise ValueError(f"Every data set needs the same methods: {dataset!r} has {list(row)}, not {methods}.")
        return methods, _as_numbers("table", [[row[method] for method in methods] for row in table.values()])
    columns = {method: _as_numbers(f"Column {method!r}", column) for method, column in table.items()}
    if len({column.shape for column in columns.values()}) > 1:
        counts = ", ".join(f"{method!r} has {column.size}" for method, column in columns.items())
        raise ValueError(f"Every method needs one score per data set: {counts}.")
    return list(columns), np.array(list(columns.values())).T


def _as_numbers(name: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold one number per data set and method ({error}).") from None

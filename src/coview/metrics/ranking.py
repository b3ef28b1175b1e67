"""Average ranks: one number per method from a table of scores over many data sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import rankdata

from coview.data.arrays import is_frame

__all__ = ["average_rank"]


def average_rank(table: Any, *, higher_is_better: bool = True) -> Any:
    """Mean rank of each method over data sets; 1 is the best, and methods with equal scores share their mean rank.

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
    ranks = rankdata(-scores if higher_is_better else scores, axis=1).mean(axis=0)
    return ranks if methods is None else dict(zip(methods, ranks.tolist()))


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
        found = ", ".join(f"{method!r} has {column.size}" for method, column in columns.items())
        raise ValueError(f"Every method needs one score per data set: {found}.")
    return list(columns), np.array(list(columns.values())).T


def _as_numbers(name: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold one number per data set and method ({error}).") from None

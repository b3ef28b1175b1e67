"""Folds of cross-validation as users give them: a number, a splitter, or a list of (training rows, test rows)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from coview.exceptions import ParameterError
from coview.utils.messages import short

__all__ = ["checked_splits"]


def checked_splits(
    cv: Any, targets: np.ndarray, *, classifier: bool = False, groups: Any = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (training rows, test rows) of each fold, refused in one sentence where `cv` does not give them.

    Examples
    --------
    >>> import numpy as np
    >>> [test.tolist() for _, test in checked_splits(2, np.array([0, 0, 1, 1]), classifier=True)]
    [[0, 2], [1, 3]]
    >>> checked_splits([([0, 1], [9])], np.array([0, 1, 1]))
    Traceback (most recent call last):
    coview.exceptions.ParameterError: cv must give rows from 0 to 2, got 9 in fold 0.
    """
    n_rows = len(targets)
    try:
        given = list(check_cv(cv, targets, classifier=classifier).split(np.arange(n_rows), targets, groups))
        pairs = [(np.asarray(train), np.asarray(test)) for train, test in given]
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        why = " ".join(str(error).split())
        raise ParameterError(
            f"must be a number of folds, a splitter, or a list of (training rows, test rows), got {short(cv)}: {why}",
            parameter="cv",
        ) from error
    if not pairs:
        raise ParameterError(f"gives no split: {short(cv)}.", parameter="cv")
    return [(_rows(train, n_rows, fold), _rows(test, n_rows, fold)) for fold, (train, test) in enumerate(pairs)]


def _rows(rows: np.ndarray, n_rows: int, fold: int) -> np.ndarray:
    if rows.dtype.kind == "b" and rows.shape == (n_rows,):
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or not rows.size or rows.dtype.kind not in "iu":
        raise ParameterError(
            f"must give row numbers, some in each part, got {short(rows)} in fold {fold}.", parameter="cv"
        )
    beyond = rows[(rows < 0) | (rows >= n_rows)]
    if beyond.size:
        raise ParameterError(f"must give rows from 0 to {n_rows - 1}, got {beyond[0]} in fold {fold}.", parameter="cv")
    return rows

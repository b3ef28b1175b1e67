"""Which rows: samples that are the same each time, folds of objects with few labels, and splits as users give them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from coview.exceptions import ParameterError

__all__ = ["deal_folds", "each_fold", "list_splits", "sample_positions"]

PARTS = 5  # as many as folds are by default


def sample_positions(n: int, most: int, seed: int = 0) -> np.ndarray:
    """Return all positions below n, or `most` of them drawn without replacement, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def deal_folds(codes: np.ndarray, n_folds: int, seed: int) -> np.ndarray:
    """Return the fold of each object, class by class; -1 for unlabeled objects and for the only one of a class.

    Examples
    --------
    >>> deal_folds(np.array([0, 0, 1, 1, 2, -1]), 2, seed=0).tolist()
    [0, 1, 0, 1, -1, -1]
    """
    rng, folds, start = np.random.default_rng(seed), np.full(len(codes), -1), 0
    for code in range(codes.max(initial=-1) + 1):
        rows = rng.permutation(np.flatnonzero(codes == code))
        if len(rows) > 1:
            # each class begins where the last one ended: else all small classes would be in the first folds
            folds[rows] = (start + np.arange(len(rows))) % n_folds
            start += len(rows)
    return folds


def each_fold(folds: np.ndarray) -> list[np.ndarray]:
    """Return where the objects of each fold are; where there is one fold alone, those of its fifths.

    Whoever learns from the other folds learns nothing where there are none.

    Examples
    --------
    >>> [here.tolist() for here in each_fold(np.array([0, 1, 0]))]
    [[True, False, True], [False, True, False]]
    >>> len(each_fold(np.zeros(20)))
    5
    """
    numbers = np.unique(folds)
    if len(numbers) == 1:
        folds = np.arange(len(folds)) % PARTS
        numbers = np.unique(folds)
    return [folds == number for number in numbers]


def list_splits(
    cv: Any, targets: np.ndarray, *, classifier: bool = False, groups: Any = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (training rows, test rows) of each fold, as scikit-learn's `check_cv` makes them.

    Examples
    --------
    >>> [test.tolist() for _, test in list_splits(2, np.array([0, 0, 1, 1]), classifier=True)]
    [[0, 2], [1, 3]]
    """
    with warnings.catch_warnings():  # a class with fewer objects than folds is no error here
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        try:
            return list(check_cv(cv, targets, classifier=classifier).split(targets, targets, groups))
        except (ValueError, TypeError) as error:
            raise ParameterError(f"cannot be used: {error}", parameter="cv") from error

"""Who learns and who is asked: the same splits for every method.

With all labels known: folds, stratified by class, whole groups where there are groups. With few labels: all objects are
there from the start, and only labels are hidden.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from coview.exceptions import ParameterError
from coview.utils.folds import checked_splits

__all__ = ["few_label_splits", "folds", "subsamples"]

FOLDS = 5  # as scikit-learn's
HIDDEN = 0.2  # share of the known labels of each class that is hidden to be asked for
KEPT = 0.8  # share of the objects in a subsample

Split = tuple[np.ndarray, np.ndarray]


def folds(codes: np.ndarray, cv: Any, groups: Any, seed: int) -> list[Split]:
    """Return (training rows, test rows) of labeled objects."""
    groups = _checked_groups(groups, len(codes))
    cv = FOLDS if cv is None else cv
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        most = int(np.bincount(codes).max()) if groups is None else len(np.unique(groups))
        what = "objects of the largest class" if groups is None else "groups"
        if most < 2:
            need = "some class needs 2 labeled objects" if groups is None else "2 groups are needed"
            raise ValueError(f"There is nothing to hold out: {need}, got {most}. Give more.")
        if not 2 <= cv <= most:
            raise ParameterError(f"must be from 2 to {most} (the {what}), or a splitter, got {cv}.", parameter="cv")
        kind: Any = StratifiedKFold if groups is None else StratifiedGroupKFold
        cv = kind(int(cv), shuffle=True, random_state=seed)
    with warnings.catch_warnings():  # a class with fewer objects than folds is no error here
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return checked_splits(cv, codes, classifier=True, groups=groups)


def few_label_splits(
    codes: np.ndarray, cv: Any, n_repeats: int, groups: Any, share: float | None, seed: int
) -> list[Split]:
    """Return (rows that keep their label, rows to be asked for); all others are unlabeled.

    A fifth of the known labels of every class is hidden, `n_repeats` times at random; with folds or groups, those of
    each test fold. With `share`, only that share of the labels of each class is kept, one at least, and all others are
    asked for (with folds, those of the test fold).
    """
    known = np.flatnonzero(codes >= 0)
    if share is not None and not 0 < share < 1:
        raise ValueError(f"label_share must be between 0 and 1, got {share!r}.")
    groups = _checked_groups(groups, len(codes))
    if cv is None and groups is None:
        return [_at_random(codes, known, share, np.random.default_rng([seed, r])) for r in range(n_repeats)]
    splits = []
    here = None if groups is None else groups[known]
    for r, (train, test) in enumerate(folds(codes[known], cv, here, seed)):
        kept = known[train]
        if share is not None:
            kept = _of_each_class(codes, kept, share, np.random.default_rng([seed, r]))
        splits.append((np.sort(kept), np.sort(known[test])))
    return splits


def subsamples(n_rows: int, number: int, seed: int) -> Iterator[np.ndarray]:
    """Yield sorted random rows, four fifths of all."""
    for r in range(number):
        rng = np.random.default_rng([seed, r])
        yield np.sort(rng.choice(n_rows, max(1, round(KEPT * n_rows)), replace=False))


def _at_random(codes: np.ndarray, known: np.ndarray, share: float | None, rng: np.random.Generator) -> Split:
    if share is None:
        asked = _of_each_class(codes, known, HIDDEN, rng, leave=1)
    else:
        asked = np.setdiff1d(known, _of_each_class(codes, known, share, rng))
    if not asked.size:
        raise ParameterError(
            f"has {len(known)} labels, one per class, so none can be hidden. Label more objects.",
            parameter="y",
        )
    return np.setdiff1d(known, asked), np.sort(asked)


def _of_each_class(
    codes: np.ndarray, rows: np.ndarray, share: float, rng: np.random.Generator, leave: int = 0
) -> np.ndarray:
    """A share of the rows of each class at random: one at least, but so many that `leave` of them are left."""
    parts = []
    for k in np.unique(codes[rows]):
        mine = rng.permutation(rows[codes[rows] == k])
        parts.append(mine[: min(int(np.ceil(share * len(mine))), len(mine) - leave)])
    return np.concatenate(parts)


def _checked_groups(groups: Any, n_rows: int) -> np.ndarray | None:
    if groups is None:
        return None
    array = np.asarray(groups)
    if array.shape != (n_rows,):
        raise ValueError(f"groups must hold one value per object, {n_rows} of them, got shape {array.shape}.")
    return array

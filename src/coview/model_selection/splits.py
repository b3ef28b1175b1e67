"""Training and test objects: the same splits for every method.

With all labels known: folds, stratified by class, whole groups where there are groups. With few labels: all objects are
there from the start, and only labels are hidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from coview.exceptions import ParameterError
from coview.utils.sampling import list_splits

__all__ = ["draw_few_label_splits", "draw_subsamples", "make_splits"]

Split = tuple[np.ndarray, np.ndarray]


def make_splits(codes: np.ndarray, cv: Any, groups: Any, seed: int) -> list[Split]:
    """Return (training rows, test rows) of labeled objects; five folds by default, as in scikit-learn."""
    if cv is None or isinstance(cv, (int, np.integer)):
        kind: Any = StratifiedKFold if groups is None else StratifiedGroupKFold
        cv = kind(5 if cv is None else int(cv), shuffle=True, random_state=seed)
    return list_splits(cv, codes, classifier=True, groups=groups)


def draw_few_label_splits(
    codes: np.ndarray, cv: Any, n_repeats: int, groups: Any, share: float | None, seed: int
) -> list[Split]:
    """Return (rows that keep their label, rows to be asked for); all others are unlabeled.

    A fifth of the known labels of every class is hidden, `n_repeats` times at random; with folds or groups, those of
    each test fold. With `share`, only that share of the labels of each class is kept, one at least, and all others are
    asked for (with folds, those of the test fold).
    """
    known = np.flatnonzero(codes >= 0)
    if cv is None and groups is None:
        # a generator for each repeat: the tenth split is the same whether ten or twenty are asked for
        return [_hide_labels(codes, known, share, np.random.default_rng([seed, r])) for r in range(n_repeats)]
    splits = []
    for r, (train, test) in enumerate(make_splits(codes[known], cv, None if groups is None else groups[known], seed)):
        # positions among the labeled objects, back to positions among all
        kept = known[train]
        if share is not None:
            kept = _sample_classes(codes, kept, share, np.random.default_rng([seed, r]))
        splits.append((np.sort(kept), np.sort(known[test])))
    return splits


def draw_subsamples(n_rows: int, number: int, seed: int) -> Iterator[np.ndarray]:
    """Yield sorted random rows, four fifths of all."""
    for r in range(number):
        rng = np.random.default_rng([seed, r])
        yield np.sort(rng.choice(n_rows, max(1, round(0.8 * n_rows)), replace=False))


def _hide_labels(codes: np.ndarray, known: np.ndarray, share: float | None, rng: np.random.Generator) -> Split:
    if share is None:
        # a fifth, as of five folds; a class must keep one label, or it could not be predicted at all
        asked = _sample_classes(codes, known, 0.2, rng, leave=1)
    else:
        asked = np.setdiff1d(known, _sample_classes(codes, known, share, rng))
    if not asked.size:
        raise ParameterError(
            f"has {len(known)} labels, and each class keeps at least one, so none can be hidden. Label more objects.",
            parameter="y",
        )
    return np.setdiff1d(known, asked), np.sort(asked)


def _sample_classes(
    codes: np.ndarray, rows: np.ndarray, share: float, rng: np.random.Generator, leave: int = 0
) -> np.ndarray:
    """A share of the rows of each class at random: one at least, but so many that `leave` of them are left."""
    parts = []
    for k in np.unique(codes[rows]):
        mine = rng.permutation(rows[codes[rows] == k])
        parts.append(mine[: min(int(np.ceil(share * len(mine))), len(mine) - leave)])
    return np.concatenate(parts)

"""Labels of any type as small integers, so that every measure compares numbers only."""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.utils.missing import is_gap

__all__ = ["as_labels", "encode"]


def as_labels(name: str, labels: Any) -> np.ndarray:
    """Return one label per object as a one-dimensional array; refuse gaps, since None and NaN equal nothing."""
    array = np.asarray(_keep_types(labels))
    if array.ndim != 1:
        raise ValueError(f"{name} must hold one label per object (one dimension), got shape {array.shape}.")
    if not array.size:
        raise ValueError(f"{name} is empty. Pass one label per object.")
    gaps = 0
    if array.dtype.kind == "f":
        gaps = int(np.isnan(array).sum())
    elif array.dtype == object:
        gaps = sum(is_gap(label) for label in array)
    if gaps:
        raise ValueError(f"{name} has {gaps} unlabeled objects (None or NaN). Score the labeled objects only.")
    return array


def encode(*arrays: np.ndarray) -> tuple[list[np.ndarray], int]:
    """Return the arrays as codes 0, 1, ... with one code book for all of them, and the number of codes."""
    kinds = {"n" if array.dtype.kind in "biuf" else array.dtype.kind for array in arrays}
    joined: np.ndarray
    if len(kinds) == 1 and kinds <= {"n", "U", "S"}:
        found, joined = np.unique(np.concatenate(arrays), return_inverse=True)
        n_codes = len(found)
    else:  # mixed types cannot be sorted, and NumPy would join 1 and "1"
        book: dict[Any, int] = {}
        joined = np.array([book.setdefault(label, len(book)) for array in arrays for label in array.tolist()])
        n_codes = len(book)
    return np.split(joined, np.cumsum([len(array) for array in arrays[:-1]])), n_codes


def _keep_types(labels: Any) -> Any:
    """Keep a list of mixed labels as it is: NumPy would turn [1, "1"] into two equal strings, and None into "None"."""
    if not isinstance(labels, (list, tuple)):
        return labels
    kinds = {str if isinstance(label, str) else type(label) if label is None else object for label in labels}
    return labels if len(kinds) < 2 else np.fromiter(labels, dtype=object, count=len(labels))

"""Labels of any type as small integers, so that every measure compares numbers only."""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.validation import as_label_array, is_gap

__all__ = ["as_labels", "encode"]


def as_labels(name: str, labels: Any) -> np.ndarray:
    """Return one label per object as a one-dimensional array; refuse gaps, which are no class."""
    array = as_label_array(labels)
    if array.ndim != 1:
        raise ValueError(f"{name} must hold one label per object (one dimension), got shape {array.shape}.")
    if not array.size:
        raise ValueError(f"{name} is empty. Pass one label per object.")
    # what counts as no label differs by type; only lists of mixed things are looked through one by one
    gaps = 0
    if array.dtype.kind == "f":
        gaps = int(np.isnan(array).sum())
    elif array.dtype.kind == "U":
        gaps = int((array == "").sum())
    elif array.dtype == object:
        gaps = sum(map(is_gap, array))
    if gaps:
        raise ValueError(
            f"{name} has {gaps} unlabeled objects (None, NaN or an empty text). Score the labeled objects only."
        )
    return array


def encode(*arrays: np.ndarray) -> list[np.ndarray]:
    """Return the arrays as codes 0, 1, ... with one code book for all of them."""
    kinds = {"n" if array.dtype.kind in "biuf" else array.dtype.kind for array in arrays}
    if len(kinds) == 1 and kinds <= {"n", "U", "S"}:
        codes = np.unique(np.concatenate(arrays), return_inverse=True)[1]
    else:  # mixed types cannot be sorted, and NumPy would join 1 and "1"
        book: dict[Any, int] = {}
        codes = np.array([book.setdefault(label, len(book)) for array in arrays for label in array.tolist()])
    return np.split(codes, np.cumsum([len(array) for array in arrays[:-1]]))

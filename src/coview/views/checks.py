"""What `Views` asks of its parts: the same rows; ids, masks and names that fit. One sentence where they do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError
from coview.utils.limits import text_array
from coview.utils.messages import did_you_mean, listed, short
from coview.views.arrays import take_rows

__all__ = [
    "are_equal",
    "are_equal_or_none",
    "as_feature_names",
    "as_ids",
    "as_present",
    "check_absent_rows_empty",
    "check_lengths",
    "check_name",
    "check_same_index",
    "convert_texts",
]


def check_name(name: Any) -> None:
    """Refuse a view's name that is no text."""
    if not isinstance(name, str) or not name:
        raise ViewsError(f"A view's name must be a non-empty string, got {short(name)}.")


def check_lengths(lengths: Mapping[str, int]) -> int:
    """Return the number of rows of all views; refuse views with different numbers."""
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{name!r} has {n}" for name, n in lengths.items())
        raise ViewsError(
            f"Views must have the same rows: {counts}.",
            python="Join rows by id with Views.align({name: (ids, matrix)}).",
            cli="Add an id column to the files to join their rows.",
        )
    return next(iter(lengths.values()))


def check_same_index(indexes: list[tuple[str, np.ndarray]]) -> None:
    """Refuse frames whose row indexes differ: glueing them by position would mix up objects."""
    for name, index in indexes[1:]:
        if not np.array_equal(index, indexes[0][1]):
            raise ViewsError(
                f"Views {indexes[0][0]!r} and {name!r} have different row indexes. Join them with Views.align, or drop "
                "the index with reset_index(drop=True) if the rows already match."
            )


def as_ids(ids: Any, n_rows: int) -> np.ndarray | None:
    """Return identifiers as an array with one entry per row; texts are Python's own `str`."""
    if ids is None:
        return None
    if isinstance(ids, (list, tuple)) and all(isinstance(key, str) for key in ids):
        ids = np.array(ids, dtype=object)  # texts of fixed width would all be as long as the longest
    array = convert_texts(np.asarray(ids))
    if array.shape != (n_rows,):
        raise ViewsError(f"ids must have one entry per row: {n_rows} rows, ids of shape {array.shape}.")
    return array


def convert_texts(ids: np.ndarray) -> np.ndarray:
    """Return identifiers with texts as Python's own `str`, not as `numpy.str_`.

    Examples
    --------
    >>> convert_texts(np.array(["a", "b"]))[0]
    'a'
    """
    return np.asarray(ids).astype(object) if ids.dtype.kind == "U" else ids


def as_present(present: Any, names: tuple[str, ...], n_rows: int) -> np.ndarray:
    """Return a boolean matrix (rows, views) from a matrix, a mask per view, or None (all present)."""
    mask = np.ones((n_rows, len(names)), dtype=bool)
    if present is None:
        return mask
    if isinstance(present, Mapping):
        for name, column in present.items():
            if name not in names:
                raise ViewsError(
                    f"present names view {name!r}, but the views are {listed(names)}.{did_you_mean(name, names)}"
                )
            # views that are not named have all rows, as without any mask
            mask[:, names.index(name)] = _as_mask(column, (n_rows,))
        return mask
    return _as_mask(present, mask.shape).copy()


def _as_mask(values: Any, shape: tuple[int, ...]) -> np.ndarray:
    array = np.asarray(values)
    if array.shape != shape or array.dtype != bool:
        raise ViewsError(f"present must be boolean of shape {shape}, got {array.dtype} of shape {array.shape}.")
    return array


def check_absent_rows_empty(name: str, array: Any, present: np.ndarray) -> None:
    """Refuse values in rows that are said to lack the view."""
    if present.all():
        return
    # only these are read: few rows of a large view may be absent
    absent = np.flatnonzero(~present)
    rows = take_rows(array, absent)
    filled = rows.count_nonzero() if sparse.issparse(rows) else np.count_nonzero(rows)
    if filled:
        raise ViewsError(
            f"View {name!r} has {filled} non-zero values in rows that present marks as lacking it. Set those rows to "
            "zero, or mark them present."
        )


def as_feature_names(name: str, columns: Any, n_features: int) -> np.ndarray:
    """Return the names of the columns as an array of text, one per feature."""
    # frames have names that are numbers or tuples; models and files know texts alone
    array = text_array(columns if isinstance(columns, np.ndarray) else list(columns), f"feature names of view {name!r}")
    if array.shape != (n_features,):
        raise ViewsError(f"View {name!r} has {n_features} features, but {array.size} feature names were given.")
    return array


def are_equal_or_none(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    """Tell whether two arrays, or None, are equal."""
    return a is b if a is None or b is None else np.array_equal(a, b)


def are_equal(a: Any, b: Any) -> bool:
    """Tell whether two matrices are equal; a dense one never equals a sparse one."""
    if a.shape != b.shape or sparse.issparse(a) != sparse.issparse(b):
        return False
    # counted rather than compared cell by cell, which would make the sparse one dense
    return (a != b).nnz == 0 if sparse.issparse(a) else np.array_equal(a, b)

"""Columns of vectors: lists or arrays of numbers of one length become the rows of one dense matrix. Lists of whole
numbers may be ids, too: then they are read as items, as texts are.

Of Arrow's lists, which polars, pyarrow and pandas with Arrow's types hold, the flat buffer is taken as it lies, in its
own precision: no row becomes a Python object.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.exceptions import ViewsError
from coview.utils.messages import short
from coview.utils.missing import is_missing
from coview.views.arrays import check_width

__all__ = ["holds_vectors", "read_items", "read_vectors"]

_ITEMS: dict[str, Any] = {  # advice where numbers may be ids
    "python": "If they are lists of ids, name the column in tokens= in place of columns=.",
    "cli": "If they are lists of ids, use --tokens in place of --columns.",
}


def holds_vectors(source: Any) -> bool:
    """Tell whether a column holds lists or arrays of numbers; it may still hold some of different lengths.

    Parameters
    ----------
    source : narwhals frame of one column, ndarray or list
        The column.

    Examples
    --------
    >>> holds_vectors([[0.5, 1.0], None]), holds_vectors([["red"], ["blue"]]), holds_vectors(np.eye(2))
    (True, False, True)
    """
    if isinstance(source, np.ndarray) and source.dtype != object:
        return source.ndim == 2 and source.dtype.kind in "iuf"
    if _arrow_lists(source) is not None:
        return True
    if _is_frame(source) and not _may_hold_objects(source):
        return False
    first = None
    for value in _values(source):
        if is_missing(value):
            continue
        if not isinstance(value, (list, tuple, np.ndarray)) or np.ndim(value[:1]) != 1:
            return False
        if first is None and len(value):
            first = value
    return first is not None and any(map(_is_number, first)) and all(_is_number(x) or is_missing(x) for x in first)


def read_vectors(name: Any, source: Any, width: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the vectors of a column as a matrix, zero in the rows that have none, and which rows these are.

    Parameters
    ----------
    name : str or int
        The column, for errors.
    source : narwhals frame of one column, ndarray or list
        Its values. A missing one, and a vector of NaN alone, is none.
    width : int or None, default=None
        Length that the vectors must have; they tell it by default.

    Examples
    --------
    >>> matrix, missing = read_vectors("image", [[0.5, 1.0], None])
    >>> matrix.tolist(), missing.tolist()
    ([[0.5, 1.0], [0.0, 0.0]], [False, True])
    """
    if isinstance(source, np.ndarray) and source.ndim == 2 and source.dtype.kind in "iuf":
        matrix, missing = source, np.zeros(len(source), dtype=bool)
    else:
        lists = _arrow_lists(source)
        lengths, flat = _of_values(name, _values(source), width) if lists is None else _of_arrow(name, lists)
        missing = lengths < 0
        there = np.flatnonzero(~missing)
        if not there.size:
            return np.zeros((len(lengths), width or 0)), missing
        first = there[0]
        other = there[lengths[there] != lengths[first]]
        if other.size:
            raise ViewsError(
                f"Column {name!r} must hold vectors of one length, but row {first} has {lengths[first]} numbers and "
                f"row {other[0]} (counting from 0) has {lengths[other[0]]}. Bring them to one length, or leave the "
                "cell empty where there is no vector.",
                **({} if read_items(source) is None else _ITEMS),
            )
        if not lengths[first]:
            raise ViewsError(
                f"Column {name!r} holds vectors without any number, the first in row {first} (counting from 0)."
            )
        matrix = flat.reshape(there.size, lengths[first])
        if there.size < len(lengths):
            whole = np.zeros((len(lengths), matrix.shape[1]), dtype=matrix.dtype)
            whole[there] = matrix
            matrix = whole
    if width is not None and matrix.shape[1] != width:
        raise ViewsError(
            f"Column {name!r} holds vectors of {matrix.shape[1]} numbers, but had {width} in fit. Make them in the "
            "same way."
        )
    return _without_nan_rows(matrix, missing)


def read_items(source: Any) -> list[Any] | None:
    """Return the lists of a column with their items as texts, None for a missing one; None where some are no items.

    Items are texts and whole numbers, such as ids; a matrix has none.

    Parameters
    ----------
    source : narwhals frame of one column, ndarray or list
        The column.

    Examples
    --------
    >>> read_items([[7, 12], [], None]), read_items([[0.5, 1.0]])
    ([['7', '12'], [], None], None)
    """
    if isinstance(source, np.ndarray) and source.dtype != object:
        return None
    series = _arrow_lists(source)
    if series is not None and not _is_numeric(series.dtype.inner, whole=True):
        return None
    lists: list[Any] = []
    for value in _values(source):
        if is_missing(value):
            lists.append(None)
            continue
        if not isinstance(value, (list, tuple, np.ndarray)) or not all(map(_is_item, value)):
            return None
        lists.append([str(item) for item in value])
    return lists


def _is_item(value: Any) -> bool:
    return isinstance(value, (str, int, np.integer)) and not isinstance(value, bool)


def _is_frame(source: Any) -> bool:
    return type(source).__module__.startswith("narwhals.")


def _may_hold_objects(source: Any) -> bool:
    import narwhals as nw

    return source[:, 0].dtype in (nw.Object, nw.Unknown)


def _arrow_lists(source: Any) -> Any:
    """The one column of a frame where it holds Arrow's lists of numbers, else None."""
    if not _is_frame(source):
        return None
    import narwhals as nw

    series = source[:, 0]
    dtype = series.dtype
    return series if isinstance(dtype, (nw.List, nw.Array)) and _is_numeric(dtype.inner) else None


def _is_numeric(dtype: Any, whole: bool = False) -> bool:
    kind = dtype() if isinstance(dtype, type) else dtype
    return bool(kind.is_integer() if whole else kind.is_numeric())


def _values(source: Any) -> list[Any]:
    """Values of a column as Python's objects; arrays that pandas keeps in a column stay arrays."""
    if not _is_frame(source):
        return list(source)
    series = source[:, 0]
    return list(series.to_numpy()) if _may_hold_objects(source) else series.to_list()


def _of_arrow(name: Any, series: Any) -> tuple[np.ndarray, np.ndarray]:
    """Length of each row's list, -1 where there is none, and all numbers one after the other."""
    import narwhals as nw

    native = series.to_native()
    if nw.dependencies.is_polars_series(native):
        sized = isinstance(series.dtype, nw.Array)
        there = native.drop_nulls()
        lengths = np.where(native.is_null().to_numpy(), -1, series.dtype.shape[0] if sized else 0)
        if not sized:
            lengths[lengths == 0] = there.list.len().to_numpy()
            there = there.filter(there.list.len() > 0)  # of an empty list, explode would make a missing number
        flat = there.explode() if len(there) else there.clear()
        check_width(flat)
        n_missing = flat.null_count()
    else:
        import pyarrow.compute

        array = series.to_arrow()
        lengths = pyarrow.compute.list_value_length(array).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        flat = array.drop_null().flatten()
        n_missing = flat.null_count
    if n_missing:
        raise ViewsError(f"Column {name!r} holds vectors with {n_missing} missing numbers among others. Fill them.")
    numbers = flat.to_numpy() if len(flat) else np.empty(0)
    return lengths, numbers if numbers.dtype.kind in "iuf" else numbers.astype(np.float64)  # decimals


def _of_values(name: Any, values: list[Any], width: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Do the same as `_of_arrow` of lists and arrays that are Python's objects."""
    lengths = np.full(len(values), -1)
    there: list[Any] = []
    for row, value in enumerate(values):
        if is_missing(value):
            continue
        if not isinstance(value, (list, tuple, np.ndarray)) or (isinstance(value, np.ndarray) and value.ndim != 1):
            holds = "holds vectors" if width is None else "held vectors in fit"
            raise ViewsError(f"Column {name!r} {holds}, but row {row} (counting from 0) holds {short(value)}.")
        lengths[row] = len(value)
        there.append(value)
    if len(set(map(len, there))) != 1:  # none at all, or of different lengths, of which the caller speaks
        return lengths, np.empty(0)
    matrix = np.asarray(there) if isinstance(there[0], (list, tuple)) else np.stack(there)
    if matrix.dtype.kind not in "iuf" or matrix.ndim != 2:
        rows = np.flatnonzero(lengths >= 0).tolist()
        bad = next(row for row, value in zip(rows, there) if not all(map(_is_number, value)))
        if all(_is_number(item) or is_missing(item) for item in values[bad]):
            raise ViewsError(
                f"Column {name!r} holds a vector with a missing number in row {bad} (counting from 0), "
                f"{short(values[bad])}. Fill it, or leave the whole cell empty."
            )
        raise ViewsError(
            f"Column {name!r} must hold vectors of numbers, but row {bad} (counting from 0) holds {short(values[bad])}."
        )
    return lengths, matrix


def _without_nan_rows(matrix: np.ndarray, missing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of NaN alone are missing ones."""
    if matrix.dtype.kind != "f" or not matrix.shape[1]:
        return matrix, missing
    rows = np.flatnonzero(np.isnan(matrix[:, 0]))
    rows = rows[np.isnan(matrix[rows]).all(axis=1)]
    if rows.size:
        matrix, missing = matrix.copy(), missing.copy()
        matrix[rows], missing[rows] = 0, True
    return matrix, missing


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))

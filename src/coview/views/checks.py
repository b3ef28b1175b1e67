"""What `Views` asks of its parts: same rows; ids, masks and names that fit; row keys in range. One sentence if not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError
from coview.utils.limits import text_array
from coview.utils.messages import did_you_mean, listed, short
from coview.views.arrays import is_dask_collection, is_frame, take_rows
from coview.views.base import NamedViews

__all__ = [
    "PLAIN",
    "as_feature_names",
    "as_ids",
    "as_present",
    "as_rows",
    "check_absent_rows_empty",
    "check_name",
    "check_same_index",
    "check_same_order",
    "common_length",
    "has_two_levels",
    "is_anndata",
    "is_list_of_views",
    "is_mudata",
    "named_matrices",
    "same_optional",
    "same_values",
    "texts_as_str",
]

PLAIN = "x"  # the name of the view that a plain matrix becomes


def named_matrices(views: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """Sources by view name, from the forms that `Views(...)` accepts."""
    pairs: list[tuple[str, Any]]
    if views is None or (isinstance(views, (list, tuple)) and not views):
        pairs = []
    elif isinstance(views, Mapping) and not sparse.issparse(views):
        pairs = list(views.items())
    elif is_mudata(views) or is_anndata(views):
        raise ViewsError("Views() takes matrices; a MuData or AnnData becomes views by as_views(data).")
    elif isinstance(views, (list, tuple)) and is_list_of_views(views):
        pairs = [(f"view{i}", view) for i, view in enumerate(views)]
    elif is_frame(views) and has_two_levels(views):
        pairs = [(str(name), views[name]) for name in dict.fromkeys(views.columns.get_level_values(0))]
    else:
        pairs = [(PLAIN, views)]
    pairs += named.items()
    for name, _ in pairs:
        check_name(name)
    matrices = dict(pairs)
    if len(matrices) < len(pairs):
        name = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ViewsError(f"View names must be unique, got {name!r} more than once.")
    return matrices


def is_list_of_views(X: list[Any] | tuple[Any, ...]) -> bool:
    """Tell a list of matrices from a matrix written as a list of rows."""
    return len(X) > 0 and all(
        sparse.issparse(part)
        or is_frame(part)
        or (isinstance(part, np.ndarray) and part.ndim == 2)
        or is_dask_collection(part)
        for part in X
    )


def has_two_levels(frame: Any) -> bool:
    """Tell whether the columns of a pandas frame have two levels: views and features."""
    return getattr(frame.columns, "nlevels", 1) == 2


def is_mudata(X: Any) -> bool:
    """Tell whether a MuData is given, without importing mudata."""
    return isinstance(getattr(X, "mod", None), Mapping) and hasattr(X, "obs_names")


def is_anndata(X: Any) -> bool:
    """Tell whether an AnnData is given, without importing anndata."""
    return any(cls.__name__ == "AnnData" and cls.__module__.partition(".")[0] == "anndata" for cls in type(X).__mro__)


def check_name(name: Any) -> None:
    """Refuse a view's name that is no text."""
    if not isinstance(name, str) or not name:
        raise ViewsError(f"A view's name must be a non-empty string, got {short(name)}.")


def common_length(lengths: Mapping[str, int]) -> int:
    """Number of rows that all views share."""
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


def check_same_order(X: Any, values: Any, name: str) -> None:
    """Refuse a pandas Series or frame with the rows of X in another order: by position it would mix up objects.

    X is a frame, a mapping of frames, or views, whose ids count where they are texts: numbers may be those of a column
    of ids. A Series whose rows are merely counted is taken by position, as an array is.
    """
    index, own = _index_of(values), _index_of(X)
    if index is None or type(values.index).__name__ == "RangeIndex":
        return
    parts = X.values() if isinstance(X, Mapping) else X if isinstance(X, (list, tuple)) else ()
    if parts:
        own = next((rows for rows in map(_index_of, parts) if rows is not None), None)
    elif isinstance(X, NamedViews) and X.ids is not None and all(isinstance(key, str) for key in X.ids.tolist()):
        own = X.ids.tolist()
    if own is not None and own != index and sorted(map(str, own)) == sorted(map(str, index)):
        raise ViewsError(
            f"The rows of {name} are in another order than those of X. Put them in its order with {name}.loc[...], or "
            f"pass {name}.to_numpy() if they already match."
        )


def _index_of(values: Any) -> list[Any] | None:
    """Index of a pandas Series or frame; None of anything else, as of pandas' own arrays."""
    index = getattr(values, "index", None) if type(values).__module__.partition(".")[0] == "pandas" else None
    return None if index is None else index.tolist()


def as_ids(ids: Any, n_rows: int) -> np.ndarray | None:
    """Identifiers as an array with one entry per row; texts are Python's own `str`."""
    if ids is None:
        return None
    if isinstance(ids, (list, tuple)) and all(isinstance(key, str) for key in ids):
        ids = np.array(ids, dtype=object)  # texts of fixed width would all be as long as the longest
    array = texts_as_str(np.asarray(ids))
    if array.shape != (n_rows,):
        raise ViewsError(f"ids must have one entry per row: {n_rows} rows, ids of shape {array.shape}.")
    return array


def texts_as_str(ids: np.ndarray) -> np.ndarray:
    """Identifiers with texts as Python's own `str`: of NumPy's arrays of texts each element is a `numpy.str_`.

    Examples
    --------
    >>> texts_as_str(np.array(["a", "b"]))[0]
    'a'
    """
    return np.asarray(ids).astype(object) if ids.dtype.kind == "U" else ids


def as_present(present: Any, names: tuple[str, ...], n_rows: int) -> np.ndarray:
    """Boolean matrix (rows, views) from a matrix, a mask per view, or nothing (all there)."""
    mask = np.ones((n_rows, len(names)), dtype=bool)
    if present is None:
        return mask
    if isinstance(present, Mapping):
        for name, column in present.items():
            if name not in names:
                raise ViewsError(
                    f"present names view {name!r}, but the views are {listed(names)}.{did_you_mean(name, names)}"
                )
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
    absent = np.flatnonzero(~present)
    rows = take_rows(array, absent)
    filled = rows.count_nonzero() if sparse.issparse(rows) else np.count_nonzero(rows)
    if filled:
        raise ViewsError(
            f"View {name!r} has {filled} non-zero values in rows that present marks as lacking it. Set those rows to "
            "zero, or mark them present."
        )


def as_feature_names(name: str, columns: Any, n_features: int) -> np.ndarray:
    """Names of the columns as an array of text, one per feature."""
    array = text_array(columns if isinstance(columns, np.ndarray) else list(columns), f"feature names of view {name!r}")
    if array.shape != (n_features,):
        raise ViewsError(f"View {name!r} has {n_features} features, but {array.size} feature names were given.")
    return array


def as_rows(key: Any, n_rows: int) -> Any:
    """Rows as a slice or an integer array; one integer keeps its dimension."""
    if isinstance(key, slice):
        return key
    rows = np.atleast_1d(key)
    if not rows.size and rows.dtype != bool:
        rows = rows.astype(np.intp)  # an empty list is of floats
    if rows.ndim != 1 or rows.dtype.kind not in "biu":
        raise TypeError(
            f"Views are indexed by rows or by one view's name, got {type(key).__name__}. For several views use "
            "X.select(...)."
        )
    if rows.dtype == bool and len(rows) == n_rows:
        return np.flatnonzero(rows)
    if rows.dtype == bool or (rows.size and not -n_rows <= rows.min() <= rows.max() < n_rows):
        raise IndexError(f"Rows are out of range, or a mask of another length: the views have {n_rows} rows.")
    return rows


def same_optional(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    """Equality of arrays that may be absent."""
    return a is b if a is None or b is None else np.array_equal(a, b)


def same_values(a: Any, b: Any) -> bool:
    """Equality of two matrices; a dense one never equals a sparse one."""
    if a.shape != b.shape or sparse.issparse(a) != sparse.issparse(b):
        return False
    return (a != b).nnz == 0 if sparse.issparse(a) else np.array_equal(a, b)

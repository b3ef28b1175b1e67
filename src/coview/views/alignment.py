"""Rows of several sources: joined by their identifiers (`Views.align`), or one below the other (`Views.concat`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coview.exceptions import ViewsError
from coview.views.arrays import as_matrix, scatter_rows, stack
from coview.views.checks import as_ids, check_name

__all__ = ["concat_rows", "join_rows"]


def join_rows(
    views: Mapping[str, Any], how: str
) -> tuple[dict[str, Any], np.ndarray | None, np.ndarray, dict[str, np.ndarray]]:
    """Return (matrices, ids, present, names of columns) of the joined rows of ``{name: (ids, matrix)}``."""
    if how not in ("outer", "inner", "left"):
        raise ViewsError(f"how must be 'outer', 'inner' or 'left', got {how!r}.")
    if not isinstance(views, Mapping) or not views:
        raise ViewsError("Views.align needs {name: (ids, matrix)} with at least one view.")
    arrays: dict[str, Any] = {}
    names: dict[str, np.ndarray] = {}
    rows: dict[str, dict[Any, int]] = {}
    for name, source in views.items():
        check_name(name)
        ids, matrix = source if isinstance(source, tuple) and len(source) == 2 else (None, source)
        arrays[name], columns, index = as_matrix(name, matrix)
        if columns is not None:
            names[name] = columns
        rows[name] = _index_ids(name, index if ids is None else ids, arrays[name].shape[0])
    # all ids are read before any row is moved: only then is it known which objects there are
    order = _find_rows(rows, how)
    present = np.empty((len(order), len(arrays)), dtype=bool)
    for v, name in enumerate(rows):
        positions = np.array([rows[name].get(key, -1) for key in order], dtype=np.intp)
        present[:, v] = positions >= 0
        # an object without the view gets a row of zeros, which `present` tells from one of counts that are all 0
        arrays[name] = scatter_rows(arrays[name], positions)
    return arrays, as_ids(order, len(order)), present, names


def _index_ids(name: str, ids: Any, n_rows: int) -> dict[Any, int]:
    """Return the position of every identifier of one view."""
    if ids is None:
        raise ViewsError(f"View {name!r} has no ids to align by. Pass (ids, matrix), or a pandas frame with an index.")
    array = np.asarray(ids)
    keys = list(array) if array.dtype.kind in "mM" else array.tolist()  # tolist turns dates into bare integers
    index = {key: i for i, key in enumerate(keys)}
    if len(keys) != n_rows or len(index) != n_rows:
        raise ViewsError(f"View {name!r} has {n_rows} rows and {len(index)} different ids. Ids must be unique.")
    return index


def _find_rows(rows: Mapping[str, dict[Any, int]], how: str) -> list[Any]:
    """Return the identifiers of the joined rows, in order of first appearance."""
    every = list(dict.fromkeys(key for index in rows.values() for key in index))
    if len({isinstance(key, str) for key in every}) > 1:  # 1 and "1" would become two objects without a word
        raise ViewsError("Ids must be of one type to align by. Convert all of them to strings or all to numbers.")
    order = list(next(iter(rows.values()))) if how == "left" else every
    if how == "inner":
        order = [key for key in order if all(key in index for index in rows.values())]
    if not order:
        raise ViewsError("The views have no ids in common. Check the ids, or use how='outer'.")
    return order


def concat_rows(
    parts: Sequence[Any],
) -> tuple[dict[str, Any], np.ndarray | None, np.ndarray, dict[str, np.ndarray]]:
    """Return (matrices, ids, present, names of columns) of the rows of several `Views`, one below the other."""
    if not parts:
        raise ViewsError("Views.concat needs at least one Views, got none.")
    order = list(dict.fromkeys(name for part in parts for name in part.names))
    with_ids = [part.ids is not None for part in parts]
    # made-up ids for the others could be those of real objects
    if any(with_ids) and not all(with_ids):
        raise ViewsError(f"Views.concat needs ids in all parts or in none, but part {with_ids.index(False)} has none.")
    widths: dict[str, int] = {}
    names: dict[str, np.ndarray] = {}
    for i, part in enumerate(parts):
        for view, width in part.n_features.items():
            _check_same_columns(view, i, width, widths.setdefault(view, width), part.feature_names.get(view), names)
    present = np.zeros((sum(map(len, parts)), len(order)), dtype=bool)
    arrays = {}
    first = np.cumsum([0, *map(len, parts)])
    for v, view in enumerate(order):
        # it gives parts without the view their number of columns and their type
        some = next(part[view] for part in parts if view in part)
        pieces = []
        for part, start in zip(parts, first):
            if view in part:
                present[start : start + len(part), v] = part.present[:, part.names.index(view)]
            pieces.append(part[view] if view in part else scatter_rows(some, np.full(len(part), -1)))
        arrays[view] = stack(pieces)
    ids = np.concatenate([part.ids for part in parts]) if with_ids[0] else None
    return arrays, ids, present, names


def _check_same_columns(
    view: str, i: int, width: int, before: int, columns: np.ndarray | None, names: dict[str, np.ndarray]
) -> None:
    """Refuse a view whose columns differ from those in the parts before; `names` are theirs, and grow."""
    # names are compared too: as many columns of other words would be added up silently
    other = columns is not None and not np.array_equal(names.setdefault(view, columns), columns)
    if width != before or other:
        what = f"{width} features instead of {before}" if width != before else "other features"
        raise ViewsError(
            f"View {view!r} has {what} in part {i}. Build all parts with one fitted transformer, such as TableViews."
        )

"""Rows of several matrices joined by their identifiers: what `Views.align` does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coview.exceptions import ViewsError
from coview.views.arrays import as_matrix, scatter_rows
from coview.views.checks import as_ids, check_name, row_of_id, rows_by_id

__all__ = ["join_rows"]


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
        rows[name] = row_of_id(name, index if ids is None else ids, arrays[name].shape[0])
    order = rows_by_id(rows, how)
    present = np.empty((len(order), len(arrays)), dtype=bool)
    for v, name in enumerate(rows):
        positions = np.array([rows[name].get(key, -1) for key in order], dtype=np.intp)
        present[:, v] = positions >= 0
        arrays[name] = scatter_rows(arrays[name], positions)
    return arrays, as_ids(order, len(order)), present, names

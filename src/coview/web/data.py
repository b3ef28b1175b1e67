"""Objects for the explorer: files of views, or a raw table where the model makes views of tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coview.exceptions import ViewsError
from coview.io.tables import TABLES, read_table
from coview.io.views_folder import read_views
from coview.preprocessing.raw_columns import as_table
from coview.utils.messages import listed
from coview.views.lazy import LazyViews
from coview.views.views import Views
from coview.web.held import Held

__all__ = ["read_objects"]


def read_objects(path: Path, models: Sequence[Any]) -> tuple[Views, dict[str, list[str]]]:
    """Return the views of the objects in a file or folder, and their raw texts by view where there are any."""
    held = [Held(model) for model in models]
    front = next((one.front for one in held if one.front is not None), None)
    texts: dict[str, list[str]] = {}
    if front is not None and path.is_file() and path.suffix.lower() in TABLES:
        table = read_table(path)
        views: Any = front.transform(table)
        texts = _texts(front, table)
    else:
        views = read_views(path)
    if isinstance(views, LazyViews):
        views = views.collect()
    _check(path, views, held[0])
    for one in held:
        if one.is_retriever and not len(one.last.indexed_ids()):
            one.last.add(views)  # in memory; the file stays as it is
    return views, texts


def _texts(front: Any, table: Any) -> dict[str, list[str]]:
    part = getattr(front, "text_", front)
    columns = getattr(part, "columns_", {})
    vectorizers = getattr(front, "vectorizers_", {})
    opened = as_table(table, "explore")
    found = {}
    for view in vectorizers:
        values = opened.column(columns[view]).values
        found[view] = [value if isinstance(value, str) else "" for value in np.asarray(values, dtype=object)]
    return found


def _check(path: Path, views: Views, held: Held) -> None:
    known = [name for name in views.names if name in held.gates]
    if not known:
        raise ViewsError(
            f"{path} has the views {listed(views.names)}, but {held.name} was fitted on {listed(tuple(held.gates))}."
        )
    for name in known:
        width = held.gates[name].width
        if views[name].shape[1] != width:
            raise ViewsError(
                f"View {name!r} of {path} has {views[name].shape[1]} features, but {held.name} was fitted with {width}."
            )

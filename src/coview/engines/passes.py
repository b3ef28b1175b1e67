"""One pass over rows that may be lazy: a function of some rows at a time, on the cluster where they are dask's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from coview.data.lazy import LazyViews, stack_views
from coview.data.views import Views

__all__ = ["over_rows", "sample_rows"]

_ROWS = 8192
_PIECES = 32


def over_rows(views: Any, function: Callable[[Views, int], Any]) -> list[Any]:
    """Call function(rows, first row) for all rows, some at a time and in order; the results come back as a list.

    Examples
    --------
    >>> over_rows(Views(x=np.ones((3, 2))), lambda part, first: float(part["x"].sum()))
    [6.0]
    """
    if not isinstance(views, LazyViews):
        return [function(views, 0)]
    if views.is_dask:
        import dask

        firsts = np.cumsum([0, *views.lengths[:-1]]).tolist()
        call = dask.delayed(function)
        return list(dask.compute(*(call(part, first) for part, first in zip(views.delayed_parts(), firsts))))
    return [function(views[first : first + _ROWS], first) for first in range(0, len(views), _ROWS)]


def sample_rows(views: LazyViews, most: int) -> Views:
    """About `most` rows in even runs from all over the views, in memory."""
    if len(views) <= most:
        return views[: len(views)]
    run = max(most // _PIECES, 1)
    firsts = np.linspace(0, len(views) - run, _PIECES).astype(int)
    return stack_views([views[first : first + run] for first in np.unique(firsts).tolist()])

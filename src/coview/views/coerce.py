"""The only gate in: whatever a user holds becomes `Views` or `LazyViews` here, or is refused with one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError
from coview.utils.limits import text_array
from coview.views.arrays import is_dask_collection, is_frame
from coview.views.base import NamedViews
from coview.views.checks import PLAIN, has_two_levels, is_list_of_views, is_mudata, named_matrices
from coview.views.dask_collections import from_dask
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["PLAIN", "as_views", "in_memory_views", "is_plain"]


def as_views(X: Any, *, ids: Any = None, present: Any = None, feature_names: Mapping[str, Any] | None = None) -> Any:
    """Convert X to `Views`, or to `LazyViews` if it contains Dask collections; views are returned unchanged.

    Parameters
    ----------
    X : views, mapping, sequence, matrix or MuData
        Whatever `Views` takes, `Views` and `LazyViews` themselves, dask arrays and DataFrames, or a MuData.
    ids : array-like of shape (n_rows,), optional
        One identifier per object, as in `Views`.
    present : mapping or array-like of shape (n_rows, n_views), optional
        Which objects have which view, as in `Views`.
    feature_names : mapping, optional
        ``{name: names of the columns}``, as in `Views`.

    Returns
    -------
    Views or LazyViews
        Views in memory; lazy ones where X was lazy or held a dask collection.

    Examples
    --------
    >>> import numpy as np
    >>> as_views([np.eye(2), np.ones((2, 3))]).names
    ('view0', 'view1')
    >>> as_views(np.eye(2)).names
    ('x',)
    """
    more = {"ids": ids, "present": present, "feature_names": feature_names}
    as_it_is = all(value is None for value in more.values())
    if isinstance(X, LazyViews) and not as_it_is:
        raise ViewsError("Lazy views keep their own ids, present and feature_names. Read them first with X.collect().")
    if isinstance(X, NamedViews) and as_it_is:
        return X
    if is_mudata(X):
        joined = _from_mudata(X)
        return joined if as_it_is else Views(joined, **more)
    if not isinstance(X, NamedViews):
        sources = named_matrices(X, {})
        if any(is_dask_collection(source) for source in sources.values()):
            return from_dask(sources, **more)
    return Views(X, **more)


def in_memory_views(X: Any, caller: str, verb: str) -> Views:
    """Return `as_views` for a function that reads all rows at once: lazy views are refused in its name."""
    views = as_views(X)
    if isinstance(views, LazyViews):
        raise ViewsError(
            f"{caller} requires in-memory views, got lazy views of {len(views)} rows. {verb} on some of them, "
            "X[:5000], or read all with X.collect()."
        )
    return views


def is_plain(X: Any) -> bool:
    """Tell whether X is one matrix, as any scikit-learn estimator takes it, rather than several views."""
    if sparse.issparse(X):  # asked first: a dok matrix is a mapping too
        return True
    if isinstance(X, (NamedViews, Mapping)) or is_mudata(X):
        return False
    if isinstance(X, (list, tuple)):
        return not is_list_of_views(X)
    return not (is_frame(X) and has_two_levels(X))


def _from_mudata(data: Any) -> Views:
    """Each modality of a MuData is a view; objects that a modality lacks are missing there."""
    parts = {str(name): part for name, part in data.mod.items() if part.n_vars}
    if not parts:
        raise ViewsError("The MuData has no modality with features.")
    joined = Views.align({name: (list(map(str, part.obs_names)), part.X) for name, part in parts.items()})
    order = {key: i for i, key in enumerate(joined.ids.tolist())}  # type: ignore[union-attr]
    rows = np.array([order[key] for key in map(str, data.obs_names) if key in order], dtype=np.intp)
    names = {name: text_array(part.var_names, f"feature names of view {name!r}") for name, part in parts.items()}
    return Views(joined[rows], feature_names=names)

"""The only gate in: whatever a user holds becomes `Views` here, or is refused with one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError
from coview.views.arrays import is_frame
from coview.views.checks import check_name
from coview.views.lazy import LazyViews
from coview.views.sources import is_dask_collection
from coview.views.views import Views

__all__ = ["PLAIN", "as_views", "is_plain", "named_matrices"]

PLAIN = "x"  # the name of the view that a plain matrix becomes


def as_views(X: Any) -> Any:
    """Return X as `Views`; Views, in memory or lazy, come back as they are.

    Examples
    --------
    >>> import numpy as np
    >>> as_views([np.eye(2), np.ones((2, 3))]).names
    ('view0', 'view1')
    >>> as_views(np.eye(2)).names
    ('x',)
    """
    if isinstance(X, (Views, LazyViews)):
        return X
    if _is_mudata(X):
        return _from_mudata(X)
    return Views(X)


def is_plain(X: Any) -> bool:
    """Tell whether X is one matrix, as any scikit-learn estimator takes it, rather than several views."""
    if sparse.issparse(X):  # asked first: a dok matrix is a mapping too
        return True
    if isinstance(X, (Views, LazyViews, Mapping)) or _is_mudata(X):
        return False
    if isinstance(X, (list, tuple)):
        return not _is_list_of_views(X)
    return not (is_frame(X) and _has_two_levels(X))


def named_matrices(views: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """Sources by view name, from the forms that `Views(...)` accepts."""
    found: list[tuple[str, Any]]
    if views is None or (isinstance(views, (list, tuple)) and not views):
        found = []
    elif isinstance(views, (Views, Mapping)) and not sparse.issparse(views):
        found = list(views.items())
    elif isinstance(views, LazyViews):
        raise ViewsError(
            "Views() takes matrices; read rows of lazy views with X[:100], or all of them with X.collect()."
        )
    elif _is_mudata(views):
        raise ViewsError("Views() takes matrices; turn a MuData into them with as_views(data).")
    elif isinstance(views, (list, tuple)) and _is_list_of_views(views):
        found = [(f"view{i}", view) for i, view in enumerate(views)]
    elif is_frame(views) and _has_two_levels(views):
        found = [(str(name), views[name]) for name in dict.fromkeys(views.columns.get_level_values(0))]
    else:
        found = [(PLAIN, views)]
    found += list(named.items())
    for name, _ in found:
        check_name(name)
    names = [name for name, _ in found]
    for name in names:
        if names.count(name) > 1:
            raise ViewsError(f"Views must have different names, got {name!r} more than once.")
    return dict(found)


def _is_list_of_views(X: list[Any] | tuple[Any, ...]) -> bool:
    """Tell a list of matrices from a matrix written as a list of rows."""
    return len(X) > 0 and all(
        sparse.issparse(part)
        or is_frame(part)
        or (isinstance(part, np.ndarray) and part.ndim == 2)
        or is_dask_collection(part)
        for part in X
    )


def _has_two_levels(frame: Any) -> bool:
    return getattr(frame.columns, "nlevels", 1) == 2


def _is_mudata(X: Any) -> bool:
    return isinstance(getattr(X, "mod", None), Mapping) and hasattr(X, "obs_names")


def _from_mudata(data: Any) -> Views:
    """Each modality of a MuData is a view; objects that a modality lacks are missing there."""
    aligned = {
        str(name): (np.asarray(part.obs_names, dtype=str), part.X) for name, part in data.mod.items() if part.n_vars
    }
    if not aligned:
        raise ViewsError("The MuData has no modality with features.")
    joined = Views.align(aligned)
    order = {key: i for i, key in enumerate(joined.ids.tolist())}  # type: ignore[union-attr]
    rows = np.array([order[key] for key in np.asarray(data.obs_names, dtype=str) if key in order], dtype=np.intp)
    names = {str(name): np.asarray(part.var_names, dtype=str) for name, part in data.mod.items() if part.n_vars}
    joined = joined[rows]
    return Views(dict(joined.items()), ids=joined.ids, present=joined.present, feature_names=names)

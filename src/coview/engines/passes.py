"""Answers of a fitted model for lazy rows: some rows at a time, on the cluster where they are dask's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from coview.engines.protocol import over_rows
from coview.views.arrays import is_dask_collection
from coview.views.coerce import as_views
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["blockwise", "take_classes"]


def blockwise(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method that answers row by row take lazy views: dask's give a lazy dask array, others an array.

    Some rows are in memory at a time. The model's `_traveling()` is what goes to the workers.
    """

    @wraps(method)
    def answer(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        # data in memory go to the method as they are: it checks them itself
        views = X if isinstance(X, LazyViews) or not _has_dask(X) else as_views(X)
        if not isinstance(views, LazyViews):
            return method(self, X, *args, **kwargs)
        check_is_fitted(self)
        # to a cluster goes what the model needs to answer, and none of its other arrays
        call = partial(_answer, self._traveling() if views.is_dask else self, method.__name__, args, kwargs)
        if not views.is_dask:
            return np.concatenate(over_rows(views, call))
        import dask
        import dask.array as da

        # shape and type of the answer from one empty row: a lazy array must know them before anything is computed
        sample = call(_empty_row(views), 0)
        part = dask.delayed(call)
        arrays = [
            da.from_delayed(part(rows, 0), (length, *sample.shape[1:]), dtype=sample.dtype)
            for rows, length in zip(views.delayed_parts(), views.lengths)
        ]
        return da.concatenate(arrays)

    return answer


def take_classes(classes: np.ndarray, codes: Any) -> Any:
    """Return the classes of codes; of a dask array of codes, a dask array that is still lazy.

    Examples
    --------
    >>> take_classes(np.array(["cat", "dog"]), np.array([1, 0]))
    array(['dog', 'cat'], dtype='<U3')
    """
    if is_dask_collection(codes):
        return codes.map_blocks(classes.__getitem__, dtype=classes.dtype)
    return classes[codes]


def _empty_row(views: LazyViews) -> Views:
    kinds = views.dtypes
    return Views({name: sparse.csr_array((1, n), dtype=kinds[name]) for name, n in views.n_features.items()})


def _answer(model: Any, name: str, args: Any, kwargs: Any, rows: Views, first: int) -> np.ndarray:
    return np.asarray(getattr(model, name)(rows, *args, **kwargs))


def _has_dask(X: Any) -> bool:
    parts = X.values() if isinstance(X, dict) else X if isinstance(X, (list, tuple)) else [X]
    return any(is_dask_collection(part) for part in parts)

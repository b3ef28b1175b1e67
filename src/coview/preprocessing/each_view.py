"""`EachView`: any scikit-learn transformer on any view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from coview.exceptions import ViewsError
from coview.preprocessing.base import PerViewTransformer
from coview.utils.messages import listed
from coview.views.arrays import scatter_rows, take_rows
from coview.views.views import Views

__all__ = ["EachView"]


class EachView(PerViewTransformer):
    """Apply scikit-learn transformers to views, such as kernels, scalers or dimensionality reduction.

    Parameters
    ----------
    transformers : transformer, or mapping of view to transformer
        Cloned and fitted for each view. One transformer is for all views, or for those that `views` names.
    views : str, list of str or None, default=None
        Views to change with one transformer; the others pass through. A mapping names its own.

    Attributes
    ----------
    transformers_ : dict of estimators
        The fitted transformer of each changed view.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from coview import EachView, Views
    >>> X = Views(size=np.array([[1.0], [3.0]]), words=np.eye(2))
    >>> EachView({"size": StandardScaler()}).fit_transform(X)["size"].ravel()
    array([-1.,  1.])
    """

    _learned = ("transformers_",)

    def __init__(self, transformers: Any = None, views: Any = None) -> None:
        self.transformers = transformers
        self.views = views

    def _check_parameters(self) -> None:
        given = self.transformers.values() if isinstance(self.transformers, Mapping) else [self.transformers]
        for made in given:
            if made is not None and not (hasattr(made, "fit") and hasattr(made, "transform")):
                raise TypeError(f"transformers must have fit and transform, got {made!r}.")
        if isinstance(self.transformers, Mapping) and self.views is not None:
            raise ValueError("Pass views= only with a single transformer; a mapping names its own views.")

    def _chosen(self, views: Views) -> tuple[str, ...]:
        if self.transformers is None:
            return ()
        if not isinstance(self.transformers, Mapping):
            return super()._chosen(views)
        for name in self.transformers:
            if name not in views:
                raise ViewsError(f"EachView cannot transform view {name!r}; the views are {listed(views.names)}.")
        return tuple(self.transformers)

    def _fit_view(self, name: str, array: Any) -> tuple[Any]:
        made = self.transformers[name] if isinstance(self.transformers, Mapping) else self.transformers
        return (clone(made).fit(_writable(array)),)

    def _transform_view(self, name: str, array: Any, present: np.ndarray) -> Any:
        if not present.any():
            return np.zeros((len(present), self.transformers_[name].transform(_writable(array[:1])).shape[1]))
        if present.all():
            return self.transformers_[name].transform(_writable(array))
        found = self.transformers_[name].transform(_writable(take_rows(array, np.flatnonzero(present))))
        return scatter_rows(found, np.where(present, np.cumsum(present) - 1, -1))

    def _feature_names(self, name: str, columns: np.ndarray | None) -> np.ndarray | None:
        try:
            return np.asarray(self.transformers_[name].get_feature_names_out(columns), dtype=str)
        except AttributeError:  # the transformer, or a step of it, has no names to give
            return None


def _writable(array: Any) -> Any:
    """Return a copy: some of scikit-learn's functions want values that they could write to, and views cannot be."""
    return array.copy()

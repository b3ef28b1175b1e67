"""`EachView`: any scikit-learn transformer on any view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from coview.exceptions import ParameterError, ViewsError
from coview.preprocessing.base import PerViewTransformer, insert_absent
from coview.preprocessing.routing import make_metadata_router, route_metadata
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.inner import asking, fitting
from coview.utils.parameters import NONE, TRANSFORMER, one_or_by_view
from coview.utils.remembered import remembered
from coview.views.arrays import take_rows
from coview.views.views import Views

__all__ = ["EachView"]

_ALL = "transformers"  # what routing calls one transformer of several views


@shared_parameters
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
    <shared: changed_views_, fitted views>

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
    transformers_: dict[str, Any]

    _fitted_state = {
        "transformers_": rules.mapping(
            rules.estimator(features="features of {view}", methods=["transform"]), "changed views"
        )
    }
    _parameters = {
        "transformers": one_or_by_view(TRANSFORMER) | NONE,
    }

    def __init__(self, transformers: Any = None, views: Any = None) -> None:
        self.transformers = transformers
        self.views = views

    def fit(self, X: Any, y: Any = None, **metadata: Any) -> EachView:
        """Fit the transformers on their views.

        Parameters
        ----------
        X : Views or what becomes Views
            Training objects.
        y : None
            Ignored.
        **metadata
            Passed on to the transformers: `sample_weight`, and whatever they request with scikit-learn's metadata
            routing.
        """
        return self._learn(X, metadata)

    def get_metadata_routing(self) -> Any:
        """Return where metadata goes: what `fit` is given, to the transformers."""
        return make_metadata_router(self, self._by_name(), "fit", fit_transform="fit")

    def _by_name(self) -> dict[str, Any]:
        if self.transformers is None:
            return {}
        return dict(self.transformers) if isinstance(self.transformers, Mapping) else {_ALL: self.transformers}

    def _metadata_by_view(self, chosen: tuple[str, ...], metadata: dict[str, Any]) -> dict[str, dict[str, Any]]:
        if not metadata:
            return {}
        routed = route_metadata(self, "fit", metadata, self._by_name())
        return {name: routed.get(name, routed.get(_ALL, {})) for name in chosen}

    def _chosen(self, views: Views) -> tuple[str, ...]:
        if self.transformers is None:
            return ()
        if isinstance(self.transformers, Mapping):
            if self.views is not None:
                raise ParameterError(
                    "must be None where transformers is a dict, which names its own views.", parameter="views"
                )
            return self._check_names(tuple(self.transformers), views)
        return super()._chosen(views)

    def _fit_view_with(self, name: str, array: Any, metadata: dict[str, Any]) -> tuple[Any]:
        transformer = self.transformers[name] if isinstance(self.transformers, Mapping) else self.transformers
        if not array.shape[0]:
            raise ViewsError(f"No object has view {name!r}, so that nothing can be fitted to it. Leave the view out.")
        if sparse.issparse(array) and _centers(transformer):
            who = type(transformer).__name__
            raise ViewsError(
                f"{who} subtracts a number from every value of a column, which would fill the sparse view {name!r}. "
                f"Leave that view as it is: EachView({who}(), views=[...]) names those to change."
            )
        made_of = ("transformer", transformer, array, metadata)
        with fitting(transformer, f"view {name!r}"):
            return (remembered(made_of, lambda: clone(transformer).fit(array.copy(), **metadata)),)

    def _transform_view(self, name: str, array: Any, present: np.ndarray) -> Any:
        # copies: some of scikit-learn's functions want values that they could write to, and views cannot be
        transformer = self.transformers_[name]
        if sparse.issparse(array) and _centers(transformer):
            array = array.toarray()  # it was dense when it was fitted, and would be after centering
        with asking(transformer, f"view {name!r}"):
            if not present.any():
                return np.zeros((len(present), transformer.transform(array[:1].copy()).shape[1]))
            if present.all():
                return transformer.transform(array.copy())
            rows = transformer.transform(take_rows(array, np.flatnonzero(present)).copy())
        return insert_absent(rows, present)

    def _feature_names(self, name: str, columns: np.ndarray | None) -> np.ndarray | None:
        try:
            names = np.asarray(self.transformers_[name].get_feature_names_out(columns), dtype=str)
        except AttributeError:  # the transformer, or a step of it, has no names to give
            return None
        invented = columns is None and np.array_equal(names, [f"x{i}" for i in range(len(names))])
        return None if invented else names  # else named columns of new objects would be others


def _centers(transformer: Any) -> bool:
    """Whether a scaler subtracts something of every column, which no sparse matrix stays sparse by."""
    params = transformer.get_params(deep=False)
    return bool(params.get("with_mean") or params.get("with_centering"))

"""The base of transformers that change each view by itself: which views to touch, and what transform may be given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from coview.exceptions import ViewsError
from coview.preprocessing.routing import take_metadata
from coview.utils import fitted_state as rules
from coview.utils.fitting import WholeFitMixin
from coview.utils.messages import did_you_mean, listed
from coview.utils.warn import warn_user
from coview.validation import remember_columns
from coview.views.arrays import check_magnitude, check_not_negative, filled_rows, scatter_rows, take_rows
from coview.views.coerce import as_views
from coview.views.inputs import match_columns
from coview.views.lazy import LazyViews
from coview.views.views import Views, is_plain

__all__ = ["PerViewTransformer", "ViewsTransformerMixin", "choose_float", "insert_absent", "warn_of_emptied_rows"]


def warn_of_emptied_rows(filled: Mapping[str, np.ndarray], views: Views, *, advice: str = "") -> None:
    """Say how many rows of each view were filled, by a value or a text, and have no feature now."""
    emptied = {name: int((had & ~filled_rows(views[name])).sum()) for name, had in filled.items()}
    told = [f"{count:,} of {filled[name].sum():,} in view {name!r}" for name, count in emptied.items() if count]
    if told:
        warn_user(f"Rows left without any feature: {', '.join(told)}.{advice}", UserWarning)


class ViewsTransformerMixin(TransformerMixin):
    """A transformer whose output is `Views`, whatever the output of the steps around it is."""

    def set_output(self, *, transform: str | None = None) -> Any:
        """Return the transformer as it is: views stay views, so that a pipeline's model can give frames.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"} or None, default=None
            What a pipeline asks of all of its steps.
        """
        return self


class PerViewTransformer(WholeFitMixin, ViewsTransformerMixin, BaseEstimator):
    """Learn from each view and change it; views that are not chosen pass through as they are.

    A subclass takes a parameter `views` and gives `_fit_view`, which returns what it learned from the rows that have
    the view, and `_transform_view`, which returns the new matrix. What was learned is kept by view, under the name
    that `_learned` says.
    """

    views: Any
    view_names_: list[str]
    changed_views_: list[str]
    n_features_by_view_: dict[str, int]
    feature_names_by_view_: dict[str, np.ndarray]
    n_features_in_: int
    feature_names_in_: np.ndarray
    _fitted_state: ClassVar[Mapping[str, rules.Rule | None]] = {
        **rules.FITTED_VIEWS,
        "changed_views_": rules.view_names(some=True, also="changed views"),
    }
    _learned: tuple[str, ...] = ()
    _takes_counts = False  # and nothing negative

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn from the chosen views of X."""
        return self._learn(X, {})

    def _learn(self, X: Any, metadata: dict[str, Any]) -> Any:
        """Learn from the chosen views of X, and from metadata of the objects, such as their weights."""
        views = self._views(X, reset=True)
        chosen = self._chosen(views)
        passed = self._metadata_by_view(chosen, metadata)
        learned = {}
        for name in chosen:
            present = views.present[:, views.names.index(name)]
            # rows that lack the view are zeros: they would count as objects in means and frequencies
            rows = None if present.all() else np.flatnonzero(present)
            array = self._checked(name, views[name] if rows is None else take_rows(views[name], rows))
            learned[name] = self._fit_view_with(name, array, take_metadata(passed.get(name, {}), rows, len(views)))
        # only after all views were learned: a fit that fails leaves nothing half done
        for position, attribute in enumerate(self._learned):
            setattr(self, attribute, {name: values[position] for name, values in learned.items()})
        self.changed_views_ = list(chosen)
        self.view_names_ = list(views.names)
        self.n_features_by_view_ = views.n_features
        self.feature_names_by_view_ = views.feature_names
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Views:
        """Learn from the chosen views of X and return X with these views changed."""
        changed: Views = super().fit_transform(X, y, **fit_params)
        views = self._views(X, reset=False)
        # zeros of dense views are values
        filled = {name: filled_rows(views[name]) for name in self.changed_views_ if sparse.issparse(changed[name])}
        # a row that a step emptied is unknown to every model behind it, which cannot say why
        warn_of_emptied_rows(filled, changed)
        return changed

    def transform(self, X: Any) -> Views:
        """Return X with the chosen views changed; any subset of the fitted views may be given."""
        check_is_fitted(self)
        views = self._views(X, reset=False)
        # columns by name, in whatever order the new data have them
        views = match_columns(type(self).__name__, views, self.n_features_by_view_, self.feature_names_by_view_)
        arrays = dict(views.items())
        names = views.feature_names
        for v, name in enumerate(views.names):
            if name in self.changed_views_:
                arrays[name] = self._transform_view(name, self._checked(name, views[name]), views.present[:, v])
                # old names do not fit new features, unless the transformer says that they do
                names.pop(name, None)
                columns = self._feature_names(name, views.feature_names.get(name))
                if columns is not None:
                    names[name] = columns
        return Views(arrays, ids=views.ids, present=views.present, feature_names=names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self._takes_counts
        return tags

    def _views(self, X: Any, *, reset: bool) -> Views:
        """Views of X; of one plain matrix, scikit-learn keeps and compares the number and names of the features."""
        if isinstance(X, LazyViews):
            raise ViewsError(
                f"{type(self).__name__} requires in-memory views, got LazyViews. Use X.collect(); or X.map(function) "
                "for what is done row by row."
            )
        views = as_views(X)
        if is_plain(X):
            remember_columns(self, X, reset=reset)
        # of several views there is no one matrix whose names scikit-learn could compare
        elif reset:
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = views.shape[1]
        return views

    def _chosen(self, views: Views) -> tuple[str, ...]:
        if self.views is None:
            return self._default_views(views)
        return self._check_names((self.views,) if isinstance(self.views, str) else tuple(self.views), views)

    def _check_names(self, chosen: tuple[str, ...], views: Views) -> tuple[str, ...]:
        for name in chosen:
            if name not in views:
                who = type(self).__name__
                raise ViewsError(
                    f"{who} cannot transform view {name!r}; the views are {listed(views.names)}."
                    f"{did_you_mean(name, views.names)}"
                )
        return chosen

    def _checked(self, name: str, array: Any) -> Any:
        check_magnitude(name, array)
        if self._takes_counts:
            check_not_negative(name, array, type(self).__name__)
        return array

    def _default_views(self, views: Views) -> tuple[str, ...]:
        return views.names

    def _metadata_by_view(self, chosen: tuple[str, ...], metadata: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Return what `_fit_view_with` takes of the metadata, by view."""
        return {}

    def _fit_view_with(self, name: str, array: Any, metadata: dict[str, Any]) -> tuple[Any, ...]:
        """Do as `_fit_view`, for transformers that take metadata."""
        return self._fit_view(name, array)

    def _fit_view(self, name: str, array: Any) -> tuple[Any, ...]:
        """Return what is to be remembered of a view, one value for each name in `_learned`."""
        return ()

    def _transform_view(self, name: str, array: Any, present: np.ndarray) -> Any:
        return array

    def _feature_names(self, name: str, columns: np.ndarray | None) -> np.ndarray | None:
        """Names of the new features, given the old ones."""
        return columns


def insert_absent(rows: Any, present: np.ndarray) -> Any:
    """Return the rows of the objects that have a view as rows of all objects, zeros for those that lack it."""
    return rows if present.all() else scatter_rows(rows, np.where(present, np.cumsum(present) - 1, -1))


def choose_float(array: Any) -> np.dtype:
    """float32 stays float32; all else is computed in float64."""
    return np.dtype(np.float32 if array.dtype == np.float32 else np.float64)

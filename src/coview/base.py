"""The estimator base: data in through one gate, and checks in one wording.

The only module that touches what scikit-learn marks as its developers' interface.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import isfunction
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier, is_clusterer
from sklearn.exceptions import NotFittedError

from coview.engines.protocol import floating_type
from coview.exceptions import ViewsError
from coview.inspection import Inspection, describe_estimator
from coview.inspection.known import note_views, warns_of_unknown
from coview.utils import fitted_state as rules
from coview.utils.fitting import WholeFitMixin, find_own_method, is_own_work
from coview.utils.messages import listed
from coview.validation import remember_columns
from coview.views.arrays import as_matrix, check_magnitude, fits_single, largest
from coview.views.checks import as_feature_names
from coview.views.coerce import as_views
from coview.views.inputs import ViewInput, match_columns
from coview.views.lazy import LazyViews
from coview.views.views import PLAIN, Matrix, Views, check_same_order, is_plain

__all__ = ["MultiViewEstimator", "NumbersGate"]


class MultiViewEstimator(WholeFitMixin, BaseEstimator):
    """An estimator that takes `Views`, anything that becomes Views, or one plain matrix."""

    _models_counts = True  # negative values are refused
    _takes_vectors = False  # but where a parameter `likelihood` says that they are those of vectors
    _min_views = 1
    _mixture = ""  # the fitted attribute that holds what a mixture model found of the training objects
    _group_rows: tuple[str, ...] = ()  # fitted arrays, or arrays by view, that have a row for each group
    _contract_rtol = 1e-6  # by which what it says of the same numbers in other forms may differ (`coview.testing`)
    _takes_lazy = False  # rows that are read when needed: a sharded folder, dask collections

    view_names_: list[str]
    n_features_by_view_: dict[str, int]
    feature_names_by_view_: dict[str, np.ndarray]
    n_features_in_: int
    feature_names_in_: np.ndarray
    group_names_: dict[str, str]
    _found_names: Mapping[str, str] = {}  # those of group_names_ that were found and not given
    _object_ids: np.ndarray | None = None  # of the training objects, where their groups are kept
    _fitted_state: ClassVar[Mapping[str, rules.Rule | None]] = {
        **rules.FITTED_VIEWS,
        "group_names_": rules.optional(rules.mapping(rules.text())),
        "_found_names": rules.optional(rules.mapping(rules.text())),
        "_object_ids": rules.optional(rules.or_none(rules.values())),
    }

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        method = find_own_method(cls, "predict")
        if isfunction(method):
            cls.predict = warns_of_unknown(method)
        elif method is not None:  # of `available_if`, which hands on a function
            method.fn = warns_of_unknown(method.fn)

    @property
    def set_callbacks(self) -> Any:
        """Only models that the loop fits take callbacks, such as a `TimeBudget`."""
        # an AttributeError, so that scikit-learn's searches and pipelines see that there is no such method
        raise AttributeError(
            f"{type(self).__name__} takes no callbacks; models of the PLSA family and SeededKMeansClassifier do. "
            "AutoClustering and AutoClassifier have a parameter time_budget."
        )

    def _check_order(self, X: Any, y: Any) -> None:
        check_same_order(X, y, "y")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self._models_counts
        return tags

    def _inspect(self) -> Inspection:
        """Answer `inspect`; families override it, mostly by `dataclasses.replace` of what is found here."""
        return describe_estimator(self, self._view_inputs())

    def _keeping(self, groups: np.ndarray) -> Any:
        """Return a shallow copy with some of the groups only, given by position."""
        light = copy.copy(self)
        for name in self._group_rows:
            value = vars(self)[name]
            rows = {key: part[groups] for key, part in value.items()} if isinstance(value, dict) else value[groups]
            setattr(light, name, rows)
        return light

    def _unused_views(self) -> list[str]:
        """Return the views that the fitted model does not use: those of weight 0, and others in some models."""
        return [view for view, weight in (rules.find_attribute(self, "view_weights_") or {}).items() if weight == 0]

    def _opinions(self, by_view: Mapping[str, Any]) -> dict[str, Any]:
        """Keep the parts of the views that the model uses."""
        unused = self._unused_views()
        return {view: part for view, part in by_view.items() if view not in unused}

    def _keep_names(self, names: dict[str, str], by_hand: bool) -> None:
        """Keep the names of all groups by key, given by hand or found."""
        if not by_hand:
            by_people = self._names_by_hand()
            self._found_names = {key: name for key, name in names.items() if by_people.get(key) != name}
        self.group_names_ = names

    def _names_by_hand(self) -> dict[str, str]:
        """Return the names of groups that were given, by hand or with seeds, by key."""
        found = self._found_names
        return {key: name for key, name in vars(self).get("group_names_", {}).items() if found.get(key) != name}

    def _view_inputs(self) -> dict[str, ViewInput]:
        """Describe the fitted views."""
        names = self.feature_names_by_view_
        return {view: ViewInput(view, width, names.get(view)) for view, width in self.n_features_by_view_.items()}

    def _fit_views(self, X: Any) -> Any:
        """Return the views to fit on, lazy ones where the model takes them, and keep their names and widths."""
        plain = is_plain(X)
        views: Any = self._plain_views(X, reset=True) if plain else self._check_lazy(as_views(X))
        if not len(views):
            raise ViewsError("X has 0 rows: there is nothing to learn from. Pass at least one object.")
        if len(views.names) < self._min_views:
            raise ViewsError(
                f"{type(self).__name__} needs at least {self._min_views} views, got 1 ({listed(views.names)})."
            )
        if not plain:
            # forget the column names of an earlier fit on one frame
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = views.shape[1]
        for names in ("group_names_", "_found_names"):
            self.__dict__.pop(names, None)  # other groups than those that were named
        self._look_at(views)
        views = self._numbers(views, plain)
        self.view_names_ = list(views.names)
        self.n_features_by_view_ = views.n_features
        self.feature_names_by_view_ = views.feature_names
        self._object_ids = self._ids_of(views)
        return views

    def _ids_of(self, views: Any) -> np.ndarray | None:
        """Return the ids of the training objects, where the model keeps their groups.

        A model inside another one keeps none, since its groups are not shown, and those of lazy views are not read.
        """
        groups = is_clusterer(self) or (self._mixture and not is_classifier(self))
        if not groups or isinstance(views, LazyViews) or not is_own_work(self) or views.ids is None:
            return None
        plain = views.ids.dtype.kind in "iu" or all(type(key) is str for key in views.ids.tolist())
        return views.ids if plain else None  # a file holds texts and whole numbers

    def _check_lazy(self, views: Any) -> Any:
        if isinstance(views, LazyViews) and not self._takes_lazy:
            raise ViewsError(
                f"{type(self).__name__} requires in-memory views, got lazy views of {len(views)} rows.",
                python="Read them with X.collect(), or use AutoClustering or a model of the PLSA family.",
                cli="Pass one file per view, or use auto or a model of the PLSA family.",
            )
        return views

    def _new_views(self, X: Any) -> Any:
        """Return the views to predict on, some or all of the fitted ones, with columns matched to those of the fit."""
        if "view_names_" not in vars(self):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet. Call fit first.")
        plain = is_plain(X)
        if plain:
            if len(self.view_names_) > 1:
                raise ViewsError(
                    f"{type(self).__name__} was fitted on {len(self.view_names_)} views ({listed(self.view_names_)}), "
                    f"got one matrix. Name its view: Views({self.view_names_[0]}=...)."
                )
            views: Any = self._plain_views(X, reset=False)
            if self.view_names_[0] != PLAIN:
                views = views.rename({PLAIN: self.view_names_[0]})
        else:
            views = self._check_lazy(as_views(X))
        if not len(views):
            raise ViewsError("X has 0 rows: there is nothing to predict. Pass at least one object.")
        views = match_columns(type(self).__name__, views, self.n_features_by_view_, self.feature_names_by_view_)
        views = self._numbers(views, plain, new=True).select(*(name for name in self.view_names_ if name in views))
        note_views(views)
        return views

    def _plain_views(self, X: Any, *, reset: bool) -> Views:
        if X is None:
            raise ViewsError("X is None. Pass Views, a dict of matrices, or one matrix.")
        matrix, _, _ = as_matrix(PLAIN, X)
        remember_columns(self, X, reset=reset)
        names = vars(self).get("feature_names_in_")  # of a frame
        columns = {} if names is None else {PLAIN: as_feature_names(PLAIN, names, matrix.shape[1])}
        # without the checks of `Views(...)`: of one matrix there is nothing to compare
        return Views._trusted({PLAIN: matrix}, None, np.ones((matrix.shape[0], 1), dtype=bool), columns)

    def _look_at(self, views: Any) -> None:
        """Hook: note what the fit depends on, before values are checked."""

    def _real_views(self) -> frozenset[str]:
        """Return the views of real numbers of a model of counts; they keep their own floating type."""
        return frozenset()

    def _numbers(self, views: Any, plain: bool, *, new: bool = False) -> Any:
        """Refuse values that the model cannot take, and cast views to one floating type; lazy ones pass."""
        if isinstance(views, LazyViews):
            return views
        dtype = floating_type(views)
        most = {name: largest(matrix) for name, matrix in views.items()}
        if dtype == np.float32 and not all(fits_single(matrix, most[name]) for name, matrix in views.items()):
            dtype = np.dtype(np.float64)
        return self._gate(dtype, plain, new)(views, most)

    def _gate(self, dtype: Any, plain: bool = False, new: bool = False) -> NumbersGate:
        model, counts = type(self).__name__, self._models_counts
        return NumbersGate(model, counts, dtype, plain, new, self._real_views(), self._takes_vectors)


@dataclass(frozen=True)
class NumbersGate:
    """Check of the numbers of views before a model computes with them, and cast to one floating type.

    Negative numbers are refused where the model works on counts, and so are numbers so large or small that squares and
    products would leave the range of the type. Tiny rows of `new` objects pass: an object gets the same answer alone
    and in a batch. Views named in `real` are vectors: they may be negative, and single precision is kept.
    """

    model: str
    counts: bool
    dtype: Any
    plain: bool = False
    new: bool = False
    real: frozenset[str] = frozenset()
    vectors: bool = False

    def __call__(self, views: Views, most: Mapping[str, float] | None = None) -> Views:
        """Return the views cast; `most` holds their largest absolute values where these are known."""
        most = {name: largest(matrix) for name, matrix in views.items()} if most is None else most
        for name, matrix in views.items():
            check_magnitude(name, matrix, new=self.new, most=most[name])
            if self.dtype == np.float32 and not fits_single(matrix, most[name]):
                raise ViewsError(
                    f"View {name!r} has values too large or too small for single precision (float32). Store it in "
                    "double precision (float64), or multiply it by a constant."
                )
            if self.counts and name not in self.real:
                self._check_counts(name, matrix)
        dtypes = {name: self._dtype_of(name, matrix, most[name]) for name, matrix in views.items()}
        return views._cast(dtypes)

    def _dtype_of(self, name: str, matrix: Matrix, most: float) -> Any:
        keeps = name in self.real and matrix.dtype == np.float32 and fits_single(matrix, most)
        return matrix.dtype if keeps else self.dtype

    def _check_counts(self, name: str, matrix: Matrix) -> None:
        values: Any = matrix.data if sparse.issparse(matrix) else matrix
        lowest = values.min() if values.size else 0
        if lowest < 0:
            problem = f"View {name!r} has negative values (minimum {lowest:.3g}), but {self.model} models counts."
            if self.plain:  # scikit-learn's checks of estimators look for these first words
                problem = f"Negative values in data passed to {self.model}, which models counts (minimum {lowest:.3g})."
            if self.vectors and not self.new:
                problem += f" Where it holds vectors, set likelihood={{{name!r}: 'gaussian'}}."
            if not self.vectors:
                problem += " PLSA, LinkPLSA, MultiViewPLSA, MultiViewPLSAClassifier and CoPLSA take vectors."
            raise ViewsError(
                problem,
                python=f"Count in which part of its column a number is, by EachView({{{name!r}: KBinsDiscretizer()}}), "
                "or shift it to be non-negative.",
                cli="Take another model, or shift it to be non-negative.",
            )

"""All views side by side as one matrix, for any estimator that knows nothing of views."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from coview.classification.wrapper import SingleViewWrapper, in_type_of
from coview.inspection import Features, Inspection, describe_estimator
from coview.inspection.features import described_features
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.inner import fitting
from coview.utils.parameters import one_of
from coview.validation import check_sample_weight, per_view
from coview.views.arrays import for_sklearn, take_rows, unit_rows
from coview.views.views import PLAIN, Matrix, Views

__all__ = ["ConcatenatedViews"]


@shared_parameters
class ConcatenatedViews(SingleViewWrapper):
    """Fit a single-view estimator on the concatenated views.

    Parameters
    ----------
    estimator : estimator or None, default=None
        A classifier, regressor, clusterer or transformer of one matrix; None is `MultinomialNB`.
    view_weights : float, {view: float} or None, default=None
        Factor of each view's values; 1 where nothing is said.
    normalize : {None, "l2"}, default=None
        "l2" scales each object to length one in each view first, so that no view drowns the others.
    unlabeled : {"auto", "drop"}, default="auto"
        What a classifier sees of objects without label (None or NaN in y): "drop" leaves them out, "auto" passes them
        to semi-supervised estimators only. In y, -1 marks such an object too if the estimator is semi-supervised or
        `unlabeled` is "drop"; otherwise it is a class like any other.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    classes_ : ndarray
        The classes of a classifier, sorted.
    labels_ : ndarray (n_objects,)
        Those of the fitted estimator, where it has them.
    view_weights_ : dict
        Factor of each view.
    <shared: fitted views>

    Notes
    -----
    A view that an object lacks, or that is not given to `predict`, counts as zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from coview import Views
    >>> from coview import ConcatenatedViews
    >>> X = Views(words=np.array([[3, 0], [0, 3], [2, 1]]), links=np.array([[1, 0], [0, 1], [1, 0]]))
    >>> model = ConcatenatedViews(LogisticRegression(), normalize="l2").fit(X, ["a", "b", None])
    >>> model.predict(X).tolist()
    ['a', 'b', 'a']
    """

    _fitted_state = {
        "estimator_": rules.estimator(features="features in all"),
        "view_weights_": rules.by_view(rules.weight(), ordered=True),
    }
    _parameters = {
        "normalize": one_of(None, "l2"),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        view_weights: Any = None,
        normalize: str | None = None,
        unlabeled: str = "auto",
    ) -> None:
        self.estimator = estimator
        self.view_weights = view_weights
        self.normalize = normalize
        self.unlabeled = unlabeled

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ConcatenatedViews:
        """Fit the estimator on the concatenated views; `unlabeled` controls the handling of unlabeled objects.

        Parameters
        ----------
        X : Views or what becomes Views
            Training objects.
        y : array-like, optional
            Labels or targets.
        sample_weight : array-like (n_objects,), optional
            Weight of each object, for an estimator that takes weights.
        """
        views = self._fit_views(X)
        weights = per_view("view_weights", self.view_weights, self.view_names_)
        self.view_weights_ = dict(zip(self.view_names_, map(float, weights)))
        rows, target = self._learn_from(y, len(views))
        # before the work of putting views side by side
        heft = check_sample_weight(sample_weight, len(views))
        matrix = take_rows(self._concatenated(views), rows)
        with fitting(self._inner(), "the views side by side"):
            passed = {} if heft is None else {"sample_weight": heft[rows]}
            self.estimator_ = clone(self._inner()).fit(matrix, target, **passed)
        if hasattr(self.estimator_, "labels_"):
            self.labels_ = self.estimator_.labels_
        return self

    def _inspect(self) -> Inspection:
        """Answer `inspect`: groups are those of the estimator inside, its features cut by view."""
        inner, ends = describe_estimator(self.estimator_, {}), np.cumsum([0, *self.n_features_by_view_.values()])

        def features(view: str) -> Features | None:
            whole = described_features(inner, PLAIN)
            if whole is None:
                return None
            # columns of a view stand together, in the order of the fit
            v = self.view_names_.index(view)
            return replace(whole, weights=whole.weights[:, ends[v] : ends[v + 1]])

        return self._described(inner, _features=features)

    # -- pieces

    def _apply(self, method: str, X: Any) -> Any:
        views = self._new_views(X)
        rows = for_sklearn(self._concatenated(views), self.estimator_)
        return in_type_of(views, self._ask(self.estimator_, method, rows, "the views side by side"))

    def _concatenated(self, views: Views) -> Matrix:
        some = next(views.values())
        parts = {}
        for name, weight in self.view_weights_.items():
            if name not in views:
                # the estimator inside wants all columns of the fit: an absent view is zeros
                shape = (len(views), self.n_features_by_view_[name])
                empty = sparse.csr_array(shape, dtype=some.dtype) if sparse.issparse(some) else np.zeros(shape)
                parts[name] = empty.astype(some.dtype)
                continue
            # of length 1, or the view of the largest numbers would decide alone
            part = views[name] if self.normalize is None else unit_rows(views[name])
            parts[name] = part if weight == 1 else part * part.dtype.type(weight)
        return for_sklearn(Views(parts).hstack())

"""What `BestView` and `ConcatenatedViews` share: they are what the estimator inside them is, and handle its targets."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import r2_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from coview.base import MultiViewEstimator
from coview.classification.naive_bayes import check_finite_answer
from coview.exceptions import ParameterError
from coview.inspection import Inspection, near_centers
from coview.utils import fitted_state as rules
from coview.utils.inner import asking
from coview.utils.parameters import ESTIMATOR, NONE, one_of
from coview.utils.warn import unwarned
from coview.validation import UNLABELED, LabeledScoreMixin, encode_labels, minus_one_is_unlabeled
from coview.views.arrays import check_not_negative
from coview.views.views import Views

__all__ = [
    "SingleViewWrapper",
    "check_counts_for",
    "in_type_of",
    "inner_has",
    "last_step",
    "mark_unlabeled",
]


def inner_has(method: str) -> Callable[[Any], bool]:
    """Tell `available_if` to show a method only where the estimator inside has it."""
    return lambda wrapper: hasattr(wrapper._inner(), method)


class SingleViewWrapper(LabeledScoreMixin, MultiViewEstimator):
    """Wraps an estimator of one matrix; a subclass gives `_apply`, which calls one of its methods on views."""

    _models_counts = False  # the estimator inside refuses what it cannot take
    _parameters = {"estimator": ESTIMATOR | NONE, "unlabeled": one_of("auto", "drop")}
    estimator: Any
    unlabeled: str
    classes_: np.ndarray
    labels_: np.ndarray
    _fitted_state = {
        "classes_": rules.optional(rules.labels("classes")),
        "labels_": rules.optional(rules.integers("objects", low=-1)),
    }

    def __sklearn_tags__(self) -> Any:
        tags = deepcopy(get_tags(self._inner()))
        # views refuse NaN, and one label per object is all that is kept, whatever the estimator inside takes
        tags.array_api_support = tags.input_tags.allow_nan = tags.target_tags.multi_output = False
        return tags

    @property
    def _semi_supervised(self) -> bool:  # type: ignore[override]
        """Whether -1 marks an unlabeled object."""
        return self.unlabeled == "drop" or minus_one_is_unlabeled(self._inner())

    @property
    def _learns_codes(self) -> bool:
        """Whether the estimator inside sees all objects, by codes of the classes and -1 for those without label."""
        return self.unlabeled == "auto" and is_classifier(self) and minus_one_is_unlabeled(self._inner())

    def _fit_views(self, X: Any) -> Any:
        views = super()._fit_views(X)
        check_counts_for(self._inner(), views)
        return views

    def _inner(self) -> Any:
        return MultinomialNB() if self.estimator is None else self.estimator

    def _apply(self, method: str, X: Any) -> Any:
        raise NotImplementedError

    @available_if(inner_has("predict"))
    def predict(self, X: Any) -> np.ndarray:
        """What the estimator inside predicts, from some or all of the fitted views."""
        return self._apply("predict", X)

    @available_if(inner_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities of the estimator inside, from some or all of the fitted views."""
        return self._apply("predict_proba", X)

    @available_if(inner_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values of the estimator inside, from some or all of the fitted views."""
        return self._apply("decision_function", X)

    @available_if(inner_has("transform"))
    def transform(self, X: Any) -> Any:
        """What the estimator inside makes of X."""
        return self._apply("transform", X)

    @available_if(inner_has("fit_predict"))
    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and return the clusters of the training objects."""
        model: Any = self.fit(X, y)
        # clusters of the fit; some estimators place training objects elsewhere when asked again
        if "labels_" in vars(model):
            return model.labels_
        with unwarned():
            return model.predict(X)

    @available_if(inner_has("score"))
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy over labeled objects, R2 of a regressor; else the score of the estimator inside."""
        if is_classifier(self):
            return super().score(X, y, sample_weight)
        if is_regressor(self):
            return float(r2_score(y, self._apply("predict", X), sample_weight=sample_weight))
        return float(self._apply("score", X))

    def _learn_from(self, y: Any, n_rows: int) -> tuple[np.ndarray, Any]:
        """Return the rows to learn from, and their targets as the estimator inside wants them."""
        # a second fit, of another estimator, may have none of them
        for name in ("classes_", "labels_"):
            self.__dict__.pop(name, None)
        rows = np.arange(n_rows)
        if not is_classifier(self):
            if y is not None and len(y) != n_rows:
                raise ParameterError(f"must hold one value per object: {len(y)} for {n_rows} objects.", parameter="y")
            return rows, None if y is None else np.asarray(y)
        codes, self.classes_ = encode_labels(y, n_rows, semi_supervised=self._semi_supervised)
        if self._learns_codes:
            return rows, codes
        rows = np.flatnonzero(codes >= 0)
        return rows, self.classes_[codes[rows]]

    def _ask(self, model: Any, method: str, rows: Any, what: str) -> Any:
        """Return the answer of a fitted estimator for some rows, with the classes by their names."""
        with asking(model, what):
            answer = getattr(model, method)(rows)
        # NaN among probabilities would go on silently into means over views
        check_finite_answer(model, answer, what)
        return self._named(answer) if method == "predict" else answer

    def _named(self, answer: Any) -> Any:
        return self.classes_[answer] if self._learns_codes else answer

    def _described(self, inner: Inspection, **answers: Any) -> Inspection:
        """Answer `inspect` with the groups of the estimator inside; of classes, it may know the codes only."""
        inspection = replace(super()._inspect(), **answers)
        if not is_classifier(self):
            inspection = replace(inspection, groups=inner.groups, labels=inner.labels)
        if inspection.kind == "cluster" and inspection._memberships is None and inner._memberships is not None:
            inspection = replace(inspection, _memberships=lambda X: near_centers(self.transform(X)))
        return inspection


def check_counts_for(estimator: Any, views: Views) -> None:
    """Refuse views with negative values where the estimator inside says that it takes none."""
    if get_tags(estimator).input_tags.positive_only:
        for name, matrix in views.items():
            check_not_negative(name, matrix, type(estimator).__name__)


def in_type_of(views: Any, values: Any) -> Any:
    """Floating values in single precision where all views are."""
    # scikit-learn asks that float32 comes out where it goes in
    narrow = all(matrix.dtype == np.float32 for matrix in views.values())
    if narrow and isinstance(values, np.ndarray | sparse.sparray | sparse.spmatrix) and values.dtype == np.float64:
        return values.astype(np.float32)
    return values


def mark_unlabeled(codes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Targets in which only -1 means no label, as scikit-learn's semi-supervised estimators want them.

    Their type has room for -1 even where all objects are labeled: it must not depend on what is hidden, and texts,
    booleans and unsigned numbers would turn a -1 written later into a class.

    Examples
    --------
    >>> import numpy as np
    >>> mark_unlabeled(np.array([1, -1]), np.array(["a", "b"]))
    array(['b', -1], dtype=object)
    """
    kind = classes.dtype.kind
    targets = classes[codes].astype(classes.dtype if kind in "if" else np.int64 if kind == "u" else object)
    targets[codes < 0] = UNLABELED
    return targets


def last_step(estimator: Any) -> Any:
    """Return the estimator at the end of a pipeline, fitted or not, or the estimator itself."""
    return last_step(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) else estimator

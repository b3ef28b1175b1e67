"""What `BestView` and `ConcatenatedViews` share: they are what the estimator inside them is, and handle its targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from coview.base import MultiViewEstimator
from coview.exceptions import ParameterError
from coview.inspection import Inspection, near_centers
from coview.utils import fitted_state as rules
from coview.utils.parameters import ESTIMATOR, NONE, one_of
from coview.utils.routing import metadata_of_rows, metadata_router, routed_metadata
from coview.utils.warn import unwarned
from coview.validation import (
    UNLABELED,
    LabeledScoreMixin,
    encode_labels,
    minus_one_is_unlabeled,
    warn_of_lone_labels,
)
from coview.views.arrays import check_not_negative
from coview.views.views import Views

__all__ = [
    "SingleViewWrapper",
    "check_counts_for",
    "in_type_of",
    "inner_has",
    "last_step",
    "like_inner",
    "named_or_minus_one",
    "unlabeled_as_minus_one",
]


def inner_has(*methods: str) -> Callable[[Any], bool]:
    """Tell `available_if` to show a method only where the estimator inside has one of these."""

    def check(self: Any) -> bool:
        return any(hasattr(self._inner(), method) for method in methods)

    return check


class SingleViewWrapper(LabeledScoreMixin, MultiViewEstimator):
    """Wraps an estimator of one matrix; a subclass gives `_apply`, which calls one of its methods on views."""

    _models_counts = False  # the estimator inside refuses what it cannot take
    _parameters = {"estimator": ESTIMATOR | NONE, "unlabeled": one_of("auto", "drop", "pass")}
    estimator: Any
    unlabeled: str
    classes_: np.ndarray
    labels_: np.ndarray
    transduction_: np.ndarray
    code_book_: np.ndarray | None = None  # classes by code, where the estimator inside learned codes of them
    _fitted_state = {
        "classes_": rules.optional(rules.labels("classes")),
        "code_book_": rules.or_none(rules.labels("codes")),
        "labels_": rules.optional(rules.values("objects")),
        "transduction_": rules.optional(rules.values("objects")),
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._inner())
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = copy(inner.classifier_tags)
        tags.regressor_tags = copy(inner.regressor_tags)
        tags.transformer_tags = copy(inner.transformer_tags)
        tags.target_tags = copy(inner.target_tags)
        tags.non_deterministic = inner.non_deterministic
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.positive_only = inner.input_tags.positive_only
        if inner.estimator_type == "classifier":
            tags.target_tags.multi_output = False
        return tags

    @property
    def _semi_supervised(self) -> bool:  # type: ignore[override]
        """Whether -1 marks an unlabeled object: where the estimator inside says so, or `unlabeled` names what to do."""
        return self.unlabeled != "auto" or minus_one_is_unlabeled(self._inner())

    @property
    def _passes_unlabeled(self) -> bool:
        """Whether the estimator inside sees unlabeled objects, with label -1."""
        return self.unlabeled == "pass" or (self.unlabeled == "auto" and minus_one_is_unlabeled(self._inner()))

    def get_metadata_routing(self) -> Any:
        """Return where metadata goes: what `fit` and `score` are given, to those of the estimator inside."""
        return metadata_router(self, {"estimator": self._inner()}, "fit", "score")

    def _metadata(self, method: str, metadata: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
        """What the estimator inside gets of the metadata of all objects."""
        routed = routed_metadata(self, method, metadata, ["estimator"])["estimator"]
        return metadata_of_rows(routed, None, n_rows)

    def _fit_views(self, X: Any) -> Any:
        views = super()._fit_views(X)
        check_counts_for(self._inner(), views)
        return views

    def _inner(self) -> Any:
        return MultinomialNB() if self.estimator is None else self.estimator

    def _apply(self, method: str, X: Any) -> Any:
        raise TypeError(f"{type(self).__name__} does not say how to call {method}.")

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
    def fit_predict(self, X: Any, y: Any = None, **metadata: Any) -> np.ndarray:
        """Fit, and return the clusters of the training objects."""
        model: Any = self.fit(X, y, **metadata)
        return training_labels(model, X)

    @available_if(inner_has("transform"))
    def fit_transform(self, X: Any, y: Any = None, **metadata: Any) -> Any:
        """Fit, and transform the training objects."""
        model: Any = self.fit(X, y, **metadata)
        return model.transform(X)

    def _target(self, y: Any, n_rows: int) -> tuple[np.ndarray | None, Any]:
        """Rows to learn from (None for all), and their targets as the estimator inside wants them."""
        inner = self._inner()
        self.code_book_ = None
        if not is_classifier(inner):
            target = None if y is None else np.asarray(y)
            if target is not None and target.shape[:1] != (n_rows,):
                raise ParameterError(
                    f"must hold one value per object, {n_rows} of them, got shape {target.shape}.", parameter="y"
                )
            return None, target
        codes, classes = encode_labels(y, n_rows, semi_supervised=self._semi_supervised)
        if self._passes_unlabeled:
            warn_of_lone_labels(codes, classes)
        rows = None
        if not self._passes_unlabeled and (codes < 0).any():
            rows = np.flatnonzero(codes >= 0)
            codes = codes[rows]
        if not (self._passes_unlabeled or minus_one_is_unlabeled(inner)):
            return rows, classes[codes]
        if _wants_codes(inner, classes):
            self.code_book_ = classes
            return rows, codes
        return rows, unlabeled_as_minus_one(codes, classes)

    def _named(self, answer: Any) -> Any:
        """Classes of what the estimator inside says, where that is codes."""
        return answer if self.code_book_ is None else named_or_minus_one(np.asarray(answer), self.code_book_)

    def _labeled(self, labels: np.ndarray) -> np.ndarray:
        """Mask of the targets that are classes."""
        return np.array([not self._passes_unlabeled or label != UNLABELED for label in labels.tolist()])

    def _transduced(
        self, answer: Any, rows: np.ndarray, n_rows: int, predict: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """Class of each training object: as the estimator inside found it for `rows`, else as it is predicted."""
        answer = np.asarray(answer)
        labeled = self._labeled(answer)
        whole = np.empty(n_rows, dtype=self.classes_.dtype)
        whole[rows[labeled]] = self._named(answer[labeled])
        others = np.setdiff1d(np.arange(n_rows), rows[labeled])
        if others.size:
            with unwarned():
                whole[others] = predict(others)
        return whole

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


def training_labels(model: Any, X: Any) -> Any:
    """Clusters of the training objects: kept by the model, or predicted."""
    labels = rules.ask(model, "labels_")
    if labels is not None:
        return labels
    with unwarned():
        return model.predict(X)


def in_type_of(views: Any, values: Any) -> Any:
    """Floating values in single precision where all views are."""
    narrow = all(matrix.dtype == np.float32 for matrix in views.values())
    if narrow and isinstance(values, np.ndarray | sparse.sparray | sparse.spmatrix) and values.dtype == np.float64:
        return values.astype(np.float32)
    return values


def unlabeled_as_minus_one(codes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Targets in which only -1 means no label, as scikit-learn's semi-supervised estimators want them.

    Their type has room for -1 even where all objects are labeled: it must not depend on what is hidden, and texts,
    booleans and unsigned numbers would turn a -1 written later into a class.

    Examples
    --------
    >>> import numpy as np
    >>> unlabeled_as_minus_one(np.array([1, -1]), np.array(["a", "b"]))
    array(['b', -1], dtype=object)
    """
    kind = classes.dtype.kind
    targets = classes[codes].astype(classes.dtype if kind in "if" else np.int64 if kind == "u" else object)
    targets[codes < 0] = UNLABELED
    return targets


def named_or_minus_one(codes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Classes of codes: in their own type where all are known, else with -1.

    Examples
    --------
    >>> import numpy as np
    >>> named_or_minus_one(np.array([1, 0]), np.array([False, True]))
    array([ True, False])
    """
    return classes[codes] if (codes >= 0).all() else unlabeled_as_minus_one(codes, classes)


def _wants_codes(estimator: Any, classes: np.ndarray) -> bool:
    """Tell whether an estimator takes -1 only beside numbers, and these classes are none.

    Self-training takes texts too, and the classifier in it may know classes by name (class_weight).
    """
    last = last_step(estimator)
    if not type(last).__module__.startswith("sklearn.semi_supervised"):
        return False
    return classes.dtype.kind == "b" or (
        classes.dtype.kind not in "iuf" and not isinstance(last, SelfTrainingClassifier)
    )


def like_inner(features: str) -> rules.Rule:
    """Say what the fitted estimator inside is: of the class of the parameter `estimator`, with classes if that has any.

    `features` is the size that its number of features must agree with.
    """
    any_estimator = rules.estimator(features=features)

    def visit(checker: rules.Checker, value: Any, where: str) -> None:
        checker.check(any_estimator, value, where)
        asked = checker.state.get("estimator")
        wanted = MultinomialNB if asked is None else type(asked)
        if type(value) is not wanted:
            checker.refuse(where, f"is a {type(value).__name__}, but the parameter estimator is a {wanted.__name__}")
        if is_classifier(value):
            if "classes_" not in checker.state:
                checker.refuse("classes_", "is not there")
            own = checker.state.get("code_book_") is not None
            known = rules.integers(None, low=-1, below="codes") if own else rules.values(None)
            inner = rules.ask(value, "classes_")
            checker.check(known, inner, f"{where}.classes_")
            if not own and not set(np.asarray(inner).tolist()) <= set(np.asarray(checker.state["classes_"]).tolist()):
                checker.refuse(f"{where}.classes_", "has a class that classes_ has not")

    return rules.custom(visit)


def last_step(estimator: Any) -> Any:
    """Return the estimator at the end of a pipeline, fitted or not, or the estimator itself."""
    return last_step(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) else estimator

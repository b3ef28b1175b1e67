"""Semantic correlation matching: a common space by canonical correlation, and classes in it, view by view.

    p(class | object, view) = softmax(C_v G_v(object) + b_v),     G_v = the object's position by its view v alone

Costa Pereira et al. (2014). Objects of different views are compared by their class probabilities.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from coview.classification.naive_bayes import average_posteriors, compute_class_probabilities
from coview.decomposition.cca import MultiViewCCA
from coview.exceptions import ViewsError
from coview.inspection import Features, Inspection, conventional_weights, describe_estimator
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.messages import short
from coview.utils.parameters import number, one_or_by_view
from coview.validation import LabeledScoreMixin, check_number, encode_labels, per_view

__all__ = ["SemanticCorrelationMatching", "fit_classifier"]

MAX_ITER = 1000  # of the logistic regressions


@shared_parameters
class SemanticCorrelationMatching(LabeledScoreMixin, ClassifierMixin, MultiViewCCA):
    """Classify objects from any of their views in a common space of canonical variates.

    Parameters
    ----------
    n_components : int, default=100
        Dimensions of the common space; fewer where the views have fewer.
    regularization : float or {view: float}, default=0.005
        Ridge of each view, as a share of its total variance.
    C : float or {view: float}, default=1.0
        Inverse strength of the penalty of the logistic regressions.
    power : float, default=1.0
        Components are multiplied by their correlation to this power: those that the views agree on count more.
    rank : int or None, default=None
        Number of singular directions kept of each view; None is three times `n_components`, and at least 100.
    <shared: random_state>

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    classifiers_ : dict of estimators
        The logistic regression of each view, in the common space.
    projections_ : dict of ndarray (n_features, n_components)
        What each feature of a view adds to each component.
    offsets_ : dict of ndarray (n_components,)
        What is taken off, by view: the position of the mean object.
    correlations_ : ndarray (n_components,)
        Canonical correlations, falling.
    <shared: fitted views>

    See Also
    --------
    CrossModalRetriever : search with it.

    Examples
    --------
    >>> from coview import SemanticCorrelationMatching
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=200, n_clusters=3, random_state=0)
    >>> model = SemanticCorrelationMatching(n_components=4, random_state=0).fit(data.views[:150], data.target[:150])
    >>> model.transform(data.views[150:].select("view1")).shape
    (50, 3)
    >>> model.score(data.views[150:].select("view1"), data.target[150:]) > 0.9
    True
    """

    _fitted_state = {
        "classes_": rules.labels("classes"),
        "classifiers_": rules.by_view(
            rules.estimator(features="components", codes="classes", methods=["predict_proba"])
        ),
    }
    _parameters = {
        "C": one_or_by_view(number(above=0)),
    }

    def __init__(
        self,
        n_components: int = 100,
        *,
        regularization: Any = 0.005,
        C: Any = 1.0,
        power: float = 1.0,
        rank: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_components,
            regularization=regularization,
            power=power,
            rank=rank,
            random_state=random_state,
        )
        self.C = C

    def fit(self, X: Any, y: Any = None) -> SemanticCorrelationMatching:
        """Learn the common space from all objects and the classes from the labeled ones."""
        views = self._fit_views(X)
        codes, self.classes_ = encode_labels(y, len(views))
        if len(self.classes_) < 2:
            raise ValueError(
                f"SemanticCorrelationMatching needs at least 2 classes, got 1 class ({short(self.classes_[0])})."
            )
        self._learn_space(views)
        self.classifiers_ = {}
        strengths = per_view("C", self.C, views.names)
        for v, name in enumerate(views.names):
            have = views.present[:, v]
            # each view has a classifier of its own, so that any one of them can be searched with
            positions = self._project_view(name, views[name])[have]
            self.classifiers_[name] = fit_classifier(name, positions, codes[have], strengths[v])
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Compute class probabilities, as `predict_proba` does; `project` returns the common space."""
        return self.predict_proba(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Compute class probabilities from some or all of the fitted views, averaged over an object's views."""
        views, n_classes = self._new_views(X), len(self.classes_)
        by_view = {
            name: compute_class_probabilities(self.classifiers_[name], self._project_view(name, matrix), n_classes)
            for name, matrix in views.items()
        }
        # views count alike; an object without any has all classes alike
        mean = average_posteriors(by_view, views.present, np.ones(len(by_view)), np.full(n_classes, 1 / n_classes))
        return mean.astype(next(views.values()).dtype, copy=False)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most likely class from some or all of the fitted views."""
        codes = self.predict_proba(X).argmax(axis=1)
        return self.classes_[codes]

    def _inspect(self) -> Inspection:
        """Answer `inspect`: classes through a common space."""

        def features(view: str) -> Features | None:
            # coefficients are of components; through the projections they are of features
            kept = conventional_weights(self.classifiers_[view])
            if kept is None or len(kept.weights) != len(self.classes_):
                return None  # a constant, or a view that has not met all classes
            return Features(kept.weights @ self.projections_[view].T, False, "coefficient")

        answer = describe_estimator(self, self._view_inputs())
        return replace(
            answer,
            training=replace(answer.training, history={"correlations": self.correlations_}),
            structure=replace(answer.structure, projections=dict(self.projections_)),
            _features=features,
            _predict=None,
            _embed=self.project,
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.classes_)


def fit_classifier(view: str, positions: np.ndarray, codes: np.ndarray, C: float) -> Any:
    """Return a logistic regression from positions (objects x dimensions) to class codes; of one class, a constant."""
    if not (codes >= 0).any():
        raise ViewsError(f"No labeled object has view {view!r}. Label some, or drop the view.")
    C = check_number("C", C, positive=True)
    positions, codes = positions[codes >= 0], codes[codes >= 0]
    # logistic regression refuses a single class, which few labels of a rare view may leave
    if len(np.unique(codes)) == 1:
        return DummyClassifier(strategy="prior").fit(positions, codes)
    return LogisticRegression(C=C, max_iter=MAX_ITER).fit(positions, codes)

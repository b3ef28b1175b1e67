"""Co-training: one classifier per view, each labeling objects for the others.

Blum and Mitchell (1998) for any number of views and classes: in each round every view's classifier names, for each
class, the objects of a small random pool that it is surest of; they join the labeled objects of all views.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.naive_bayes import MultinomialNB
from sklearn.utils import get_tags

from coview.base import MultiViewEstimator
from coview.classification.naive_bayes import average_posteriors, compute_class_probabilities
from coview.classification.wrapper import check_counts_for, in_type_of
from coview.exceptions import ViewsError
from coview.inspection import Features, Inspection, conventional_weights
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.inner import fitting
from coview.utils.parameters import MAPPING, NONE, integer, object_with, one_of
from coview.validation import (
    LabeledScoreMixin,
    base_seed,
    encode_labels,
    per_view,
    warn_of_lone_labels,
)
from coview.views.arrays import for_sklearn, take_rows
from coview.views.views import Views

__all__ = ["CoTrainingClassifier"]


@shared_parameters
class CoTrainingClassifier(LabeledScoreMixin, ClassifierMixin, MultiViewEstimator):
    """Co-training: one classifier per view; the classifiers label objects for each other.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Classifier of one view with `predict_proba`, one copy per view; None is `MultinomialNB`.
    pool_size : int or None, default=75
        Number of unlabeled objects, drawn at random, that the classifiers choose from; it is filled up after each
        round. None is all of them.
    n_per_class : int, dict or "proportional", default=1
        Largest number of objects that each view labels in each class and round: one number, ``{class: number}``, or in
        proportion to the classes among the labeled objects (1 for the rarest).
    max_iter : int, default=30
        Largest number of rounds.
    <shared: view_weights, random_state>

    Attributes
    ----------
    classes_ : ndarray (n_classes,)
        The classes, sorted.
    estimators_ : dict
        Classifier of each view, fitted on the codes 0, 1, ... of the classes.
    transduction_ : ndarray (n_objects,)
        Labels of the training objects: given, found in a round, or else predicted; `labeled_iter_` tells which.
    view_weights_ : dict
        Weight of each view.
    labeled_iter_ : ndarray (n_objects,)
        Round in which an object was labeled; 0 where the label was given, -1 where it never was.
    n_iter_ : int
        Number of times that the classifiers were trained.
    class_prior_ : ndarray (n_classes,)
        Share of each class among the labels that were given.
    <shared: fitted views>

    Notes
    -----
    A classifier names only objects of which it thinks the class most probable. If several name the same object, the
    surest is believed. An object lacking a view is judged by the others; one without any view gets the share of each
    class among the labels given. With one view this is self-training.

    References
    ----------
    A. Blum, T. Mitchell: Combining labeled and unlabeled data with co-training. COLT 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import Views
    >>> from coview import CoTrainingClassifier
    >>> words = np.array([[3, 0, 0], [0, 3, 0], [2, 0, 1], [0, 2, 0], [0, 0, 2]])
    >>> links = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 2], [0, 1, 0], [0, 0, 1]])
    >>> X = Views(words=words, links=links)
    >>> model = CoTrainingClassifier(random_state=0).fit(X, ["a", "b", None, None, None])
    >>> model.transduction_.tolist()
    ['a', 'b', 'a', 'b', 'a']
    """

    _models_counts = False  # the classifier inside refuses what it cannot take

    _fitted_state = {
        "classes_": rules.labels("classes"),
        "class_prior_": rules.shares("classes"),
        "estimators_": rules.by_view(
            rules.estimator(features="features of {view}", codes="classes", methods=["predict_proba"]), some=True
        ),
        "labeled_iter_": rules.integers("objects", low=-1),
        "n_iter_": rules.count(),
        "transduction_": rules.values("objects"),
        "view_weights_": rules.by_view(rules.weight()),
    }
    _parameters = {
        "estimator": object_with("fit", "predict_proba") | NONE,
        "pool_size": integer() | NONE,
        "n_per_class": integer() | one_of("proportional") | MAPPING,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        pool_size: int | None = 75,
        n_per_class: Any = 1,
        max_iter: int = 30,
        view_weights: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.pool_size = pool_size
        self.n_per_class = n_per_class
        self.max_iter = max_iter
        self.view_weights = view_weights
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), deepcopy(get_tags(self._inner()))
        tags.input_tags, tags.classifier_tags = inner.input_tags, inner.classifier_tags or tags.classifier_tags
        return tags

    def fit(self, X: Any, y: Any) -> CoTrainingClassifier:
        """Learn from labeled objects, and from unlabeled ones (-1, None or NaN in y) as they get labels."""
        views = self._fit_views(X)
        check_counts_for(self._inner(), views)
        labels, self.classes_ = encode_labels(y, len(views))
        warn_of_lone_labels(labels, self.classes_)
        weights = per_view("view_weights", self.view_weights, self.view_names_)
        self.view_weights_ = dict(zip(self.view_names_, map(float, weights)))
        quotas = self._quotas(labels)
        seed = base_seed(self.random_state)
        codes = labels.copy()
        self.labeled_iter_ = np.where(codes >= 0, 0, -1)
        # a pool of some objects at random, as in the paper: the surest of all are much like those labeled already
        waiting = np.random.default_rng(seed).permutation(np.flatnonzero((codes < 0) & views.present.any(axis=1)))
        size = len(waiting) if self.pool_size is None else self.pool_size
        self.n_iter_ = 1
        while len(waiting) and self.n_iter_ <= self.max_iter:
            pool = waiting[:size]  # those not chosen stay in front, new ones come up behind them
            chosen = self._round(views, codes, pool, quotas, seed)
            # no classifier thinks any class most probable for an object that it sees
            if not chosen:
                break
            for row, code in chosen.items():
                codes[row], self.labeled_iter_[row] = code, self.n_iter_
            waiting = waiting[codes[waiting] < 0]
            self.n_iter_ += 1
        self.estimators_ = self._train(views, codes, seed)
        if not self.estimators_:
            raise ViewsError("No view has labeled objects of two classes. Label more objects, or pass more views.")
        self.class_prior_ = np.bincount(labels[labels >= 0], minlength=len(self.classes_)) / (labels >= 0).sum()
        # never chosen, or without any view
        left = np.flatnonzero(codes < 0)
        if left.size:
            codes[left] = self.predict_proba(views[left]).argmax(axis=1)
        self.transduction_ = self.classes_[codes]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable class of each object from some or all of the fitted views."""
        posterior = self.predict_proba(X)  # first: it says when the model is not fitted
        return self.classes_[posterior.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Compute the combined posteriors (n_objects, n_classes) from some or all of the fitted views."""
        views = self._new_views(X)
        posteriors = self._posteriors(views)
        if not posteriors:
            raise ViewsError(f"No classifier was trained on {', '.join(map(repr, views.names))}. Pass other views.")
        have = views.present[:, [views.names.index(name) for name in posteriors]]
        chosen = np.array([self.view_weights_[name] for name in posteriors])
        return in_type_of(views, average_posteriors(posteriors, have, chosen, self.class_prior_))

    def predict_proba_by_view(self, X: Any) -> dict[str, np.ndarray]:
        """Compute the posterior from each view alone, but those of weight 0."""
        views = self._new_views(X)
        return {name: in_type_of(views, part) for name, part in self._opinions(self._posteriors(views)).items()}

    # -- pieces

    def _inspect(self) -> Inspection:
        """Answer `inspect`: one classifier per view, each of which may know some of the classes only."""

        def features(view: str) -> Features | None:
            own = conventional_weights(self.estimators_.get(view))
            if own is None or len(own.weights) != len(self.classes_):
                return None
            return replace(own, origin="classifier of the view")

        return replace(
            super()._inspect(), _features=features, _memberships_by_view=self.predict_proba_by_view, _predict=None
        )

    def _unused_views(self) -> list[str]:
        """Views without a classifier, as no labeled object has them, and those of weight 0."""
        return [view for view in self.view_names_ if view not in self.estimators_ or not self.view_weights_[view]]

    def _inner(self) -> Any:
        return MultinomialNB() if self.estimator is None else self.estimator

    def _quotas(self, codes: np.ndarray) -> np.ndarray:
        """Most objects of each class that a view labels in a round."""
        counts = np.bincount(codes[codes >= 0], minlength=len(self.classes_))
        if self.n_per_class == "proportional":
            return np.rint(counts / counts.min()).astype(int)
        if isinstance(self.n_per_class, dict):
            return np.array([self.n_per_class[label] for label in self.classes_.tolist()])
        return np.full(len(counts), self.n_per_class)

    def _train(self, views: Views, codes: np.ndarray, seed: int) -> dict[str, Any]:
        """One classifier per view on the labeled objects that have it; views that know one class of many are left."""
        needed = min(2, len(self.classes_))
        models = {}
        for v, (name, matrix) in enumerate(views.items()):
            rows = np.flatnonzero((codes >= 0) & views.present[:, v])
            # most classifiers refuse a single class, and would name it for all objects
            if len(np.unique(codes[rows])) < needed:
                continue
            model = clone(self._inner())
            # one seed for all views: their order changes nothing
            if model.get_params().get("random_state", seed) is None:
                model.set_params(random_state=seed)
            with fitting(model, f"view {name!r}"):
                models[name] = model.fit(for_sklearn(take_rows(matrix, rows)), codes[rows])
        return models

    def _posteriors(self, views: Views) -> dict[str, np.ndarray]:
        return {
            name: compute_class_probabilities(model, for_sklearn(views[name]), len(self.classes_))
            for name, model in self.estimators_.items()
            if name in views
        }

    def _round(
        self, views: Views, codes: np.ndarray, pool: np.ndarray, quotas: np.ndarray, seed: int
    ) -> dict[int, int]:
        """Objects of the pool that some view is surest of, with their classes."""
        believed: dict[int, tuple[float, int]] = {}
        for name, model in self._train(views, codes, seed).items():
            rows = pool[views.present[pool, views.names.index(name)]]
            posterior = compute_class_probabilities(
                model, for_sklearn(take_rows(views[name], rows)), len(self.classes_)
            )
            best, sure = posterior.argmax(axis=1), posterior.max(axis=1)
            for code, quota in enumerate(quotas):
                # a quota per class keeps the frequent classes from crowding out the rare ones
                mine = np.flatnonzero(best == code)
                for i in mine[np.argsort(-sure[mine], kind="stable")][:quota]:
                    claim = float(sure[i]), code
                    believed[int(rows[i])] = max(believed.get(int(rows[i]), claim), claim, key=lambda known: known[0])
        return {row: code for row, (_, code) in believed.items()}

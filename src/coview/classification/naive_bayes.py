"""Naive Bayes on several views: one multinomial model per view, and the mean of what they say.

p(z|x) = mean_v p(z|x_v),     p(z|x_v) ~ p(z) prod_f p(f|z, v)^x_f
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from coview.base import MultiViewEstimator
from coview.classification.naive_bayes_start import (
    class_feature_counts,
    feature_log_prob,
    log_shares,
    mean_posterior,
    view_posterior,
)
from coview.inspection import Features, Inspection
from coview.validation import LabeledScoreMixin, check_sample_weight, encode_labels, per_view
from coview.views.views import Views

__all__ = ["MultiViewNaiveBayes"]


class MultiViewNaiveBayes(LabeledScoreMixin, ClassifierMixin, MultiViewEstimator):
    """Multinomial naive Bayes per view; the posterior of an object is the mean over the views that it has.

    Parameters
    ----------
    alpha : float or dict, default=1.0
        Smoothing: so many more of each feature in each class (1 = Laplace); one number, or ``{view: number}``.
    fit_prior : bool, default=True
        Learn how frequent the classes are; if False, all are taken as equally frequent.
    view_weights : dict or None, default=None
        Weight of each view in the mean; 1 for views that are not named.

    Attributes
    ----------
    classes_ : ndarray (n_classes,)
        The classes, sorted.
    class_count_ : ndarray (n_classes,)
        Number (weight) of labeled objects of each class.
    class_log_prior_ : ndarray (n_classes,)
        Logarithm of the share of each class.
    feature_count_ : dict of ndarray (n_classes, n_features of the view)
        Sum of each feature over the objects of each class, by view.
    feature_log_prob_ : dict of ndarray (n_classes, n_features of the view)
        ``log p(feature | class, view)``, by view.
    view_names_ : list of str
        Names of the views.

    Notes
    -----
    Objects without label (None or NaN in y) are ignored in `fit`; -1 is a class like any other. A view that an object
    lacks is left out of its mean; an object without any view gets the prior.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import Views
    >>> from coview import MultiViewNaiveBayes
    >>> X = Views(words=np.array([[3, 0], [0, 3], [2, 1]]), links=np.array([[1, 0], [0, 1], [1, 0]]))
    >>> model = MultiViewNaiveBayes().fit(X, ["a", "b", None])
    >>> model.predict(X).tolist()
    ['a', 'b', 'a']
    >>> model.predict(X.select("links")).tolist()
    ['a', 'b', 'a']
    """

    _semi_supervised = False

    def __init__(self, alpha: Any = 1.0, *, fit_prior: bool = True, view_weights: Any = None) -> None:
        self.alpha = alpha
        self.fit_prior = fit_prior
        self.view_weights = view_weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on scikit-learn's blobs, as its own MultinomialNB
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MultiViewNaiveBayes:
        """Count the features of each class over the labeled objects.

        Parameters
        ----------
        X : Views or what becomes Views
            Non-negative views.
        y : array-like (n_objects,)
            Labels; None or NaN for the unlabeled.
        sample_weight : array-like (n_objects,), optional
            Weight of each object.
        """
        views = self._fit_views(X)
        codes, self.classes_ = encode_labels(y, len(views), semi_supervised=False)
        self._start_counts()
        self._count(views, codes, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> MultiViewNaiveBayes:
        """Add the counts of one batch, which may lack some of the views.

        The first call needs `classes`, all that will ever come, and fixes the views. Any cut of the data into batches
        gives the same model as one `fit`.
        """
        if not hasattr(self, "feature_count_"):
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit: all classes that will come.")
            views = self._fit_views(X)
            codes, self.classes_ = encode_labels(y, len(views), classes, semi_supervised=False)
            self._start_counts()
        else:
            if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
                raise ValueError(
                    f"classes={list(classes)} are not those of the first call to partial_fit, {self.classes_.tolist()}."
                )
            views = self._new_views(X)
            codes, _ = encode_labels(y, len(views), self.classes_, semi_supervised=False)
        self._count(views, codes, sample_weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Most probable class of each object, from some or all of the fitted views."""
        posterior = self.predict_proba(X)  # first: it says when the model is not fitted
        return self.classes_[posterior.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Mean of the views' posteriors (n_objects, n_classes), from some or all of the fitted views."""
        check_is_fitted(self, "feature_count_")
        views = self._new_views(X)
        weights = per_view("view_weights", self.view_weights, self.view_names_)
        chosen = weights[[self.view_names_.index(name) for name in views.names]]
        return mean_posterior(self._posteriors(views), views.present, chosen, np.exp(self.class_log_prior_))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict_proba_by_view(self, X: Any) -> dict[str, np.ndarray]:
        """Posterior by each given view alone; rows of objects that lack the view hold the prior."""
        check_is_fitted(self, "feature_count_")
        return self._posteriors(self._new_views(X))

    # -- pieces

    def _inspect(self) -> Inspection:
        """Answer `inspect`: classes as distributions over features."""
        return replace(
            super()._inspect(),
            _features=lambda view: Features(np.exp(self.feature_log_prob_[view]), True, "p(feature)"),
            _memberships_by_view=self.predict_proba_by_view,
            _predict=None,
        )

    def _start_counts(self) -> None:
        n_classes = len(self.classes_)
        self.class_count_ = np.zeros(n_classes)
        self.feature_count_ = {name: np.zeros((n_classes, n)) for name, n in self.n_features_by_view_.items()}

    def _count(self, views: Views, codes: np.ndarray, sample_weight: Any) -> None:
        alpha = per_view("alpha", self.alpha, self.view_names_)
        per_view("view_weights", self.view_weights, self.view_names_)
        weights = check_sample_weight(sample_weight, len(views))
        n_classes = len(self.classes_)
        known = codes >= 0
        heft = None if weights is None else weights[known]
        self.class_count_ = self.class_count_ + np.bincount(codes[known], weights=heft, minlength=n_classes)
        added = {name: class_feature_counts(matrix, codes, n_classes, weights) for name, matrix in views.items()}
        self.feature_count_ = {
            name: counts + added[name] if name in added else counts for name, counts in self.feature_count_.items()
        }
        self.class_log_prior_ = log_shares(self.class_count_ if self.fit_prior else np.ones(n_classes))
        self.feature_log_prob_ = {
            name: feature_log_prob(counts, smoothing)
            for smoothing, (name, counts) in zip(alpha, self.feature_count_.items())
        }

    def _posteriors(self, views: Views) -> dict[str, np.ndarray]:
        return {
            name: view_posterior(matrix, self.feature_log_prob_[name], self.class_log_prior_)
            for name, matrix in views.items()
        }

"""Naive Bayes on several views: one multinomial model per view, and the mean of what they say.

    p(z|x) = mean_v p(z|x_v),     p(z|x_v) ~ p(z) prod_f p(f|z, v)^x_f,     p(f|z, v) = (counts + alpha) / (their sum)

`learn_label_start` gives first memberships from few labels to models that move on from there: such a model, learned
from the labeled objects, and two rounds of co-EM (Nigam and Ghani, 2000), in which each view counts all objects, those
without label shared out as the mean of all views says. With one label in a class the first model knows the words of one
object; then those that go with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin

from coview.base import MultiViewEstimator
from coview.engines.held import HeldViews
from coview.engines.loop import NO_DEADLINE, Deadline
from coview.engines.protocol import over_rows
from coview.exceptions import ViewsError
from coview.inspection import Features, Inspection
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.inner import asking
from coview.utils.parameters import TRUTH, number, one_or_by_view
from coview.validation import LabeledScoreMixin, check_sample_weight, encode_labels, per_view
from coview.views.arrays import take_rows
from coview.views.views import Views

__all__ = [
    "MultiViewNaiveBayes",
    "NaiveBayesStart",
    "average_posteriors",
    "check_finite_answer",
    "compute_class_probabilities",
    "learn_label_start",
    "sum_entries",
]

ROUNDS = 2  # of co-EM
LEAST = 1e-30  # probability of a class by counts, so that other views may still speak for it


# -- the formula


def count_class_features(
    matrix: Any, codes: np.ndarray, n_classes: int, weights: np.ndarray | None = None
) -> np.ndarray:
    """Sum of the rows of each class (classes x features): one product with the sparse one-hot labels."""
    labeled = np.flatnonzero(codes >= 0)
    values = np.ones(len(labeled)) if weights is None else weights[labeled].astype(np.float64)
    if len(labeled) < len(codes):
        matrix, codes = take_rows(matrix, labeled), codes[labeled]
    one_hot = sparse.csr_array((values, (codes, np.arange(len(codes)))), shape=(n_classes, len(codes)))
    counts = one_hot @ matrix
    return counts.toarray() if sparse.issparse(counts) else np.asarray(counts)


def compute_feature_log_prob(counts: np.ndarray, alpha: float) -> np.ndarray:
    """Log p(feature | class) from counts (classes x features) with `alpha` more of each; never minus infinity."""
    # without any smoothing one unseen feature would rule a class out, whatever the others say
    smoothed = counts + max(alpha, 1e-10)
    totals = np.log(smoothed.sum(axis=1, keepdims=True))
    np.log(smoothed, out=smoothed)
    smoothed -= totals
    return smoothed


def compute_view_posterior(matrix: Any, log_prob: np.ndarray, log_prior: np.ndarray) -> np.ndarray:
    """Posterior of each object from one view, in the view's own floating type."""
    # in single precision where the view is: a product in double precision would copy it
    odds, prior = center_log_prob(log_prob, log_prior, _own_type(matrix))
    scores = np.asarray(matrix @ odds)
    scores += prior
    return softmax_rows(scores)


def softmax_rows(scores: np.ndarray) -> np.ndarray:
    """Softmax of every row, in place."""
    # the largest exponent is 0, so that none overflows
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


def _own_type(matrix: Any) -> Any:
    return np.float32 if matrix.dtype == np.float32 else np.float64


def center_log_prob(log_prob: np.ndarray, log_prior: np.ndarray, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Log p(feature | class) (features x classes) and log p(class), less what cancels in the posterior.

    Without the mean over the classes the sums over long objects keep their digits.
    """
    return np.ascontiguousarray((log_prob - log_prob.mean(axis=0)).T, dtype=dtype), log_prior.astype(dtype)


def compute_log_shares(counts: np.ndarray) -> np.ndarray:
    """Logarithm of the shares of the whole; minus infinity where the count is zero, uniform where all are."""
    total = counts.sum()
    if not total:
        return np.full(len(counts), -np.log(len(counts)))
    with np.errstate(divide="ignore"):
        return np.log(counts / total)


def check_finite_answer(model: Any, values: Any, what: str) -> Any:
    """Return what an estimator answers; refused where it holds NaN or infinity, which only a damaged one says.

    Examples
    --------
    >>> check_finite_answer(None, np.array([0.5, 0.5]), "view 'words'")
    array([0.5, 0.5])
    """
    # infinite scores would be the largest of all, and decide without a word
    numbers = values.data if sparse.issparse(values) else np.asarray(values)
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        raise ViewsError(
            f"{type(model).__name__} answers for {what} with numbers that are not finite. Fit it again, or scale the "
            "features."
        )
    return values


def compute_class_probabilities(classifier: Any, rows: Any, n_classes: int) -> np.ndarray:
    """Posterior of each object by any classifier of class codes (objects x n_classes); 0 for those it has not met."""
    probabilities = np.zeros((rows.shape[0], n_classes))
    if rows.shape[0]:
        with asking(classifier, "these rows"):
            probabilities[:, classifier.classes_] = classifier.predict_proba(rows)
    return check_finite_answer(classifier, probabilities, "these rows")


def average_posteriors(
    posteriors: Mapping[str, np.ndarray], present: np.ndarray, weights: np.ndarray, fallback: np.ndarray
) -> np.ndarray:
    """Weighted mean over the views that an object has; `fallback` where it has none with a weight."""
    shares = present * weights
    total = shares.sum(axis=1)
    first = next(iter(posteriors.values()))
    shares = (shares / np.where(total > 0, total, 1)[:, None]).astype(first.dtype)
    mean = np.zeros_like(first)
    for v, posterior in enumerate(posteriors.values()):
        mean += shares[:, v, None] * posterior
    # nothing is known of these objects
    mean[total <= 0] = fallback
    return mean


# -- the estimator


@shared_parameters
class MultiViewNaiveBayes(LabeledScoreMixin, ClassifierMixin, MultiViewEstimator):
    """Multinomial naive Bayes for several views: one model per view, averaged over the views of an object.

    Parameters
    ----------
    alpha : float or dict, default=1.0
        Additive smoothing of the feature counts of each class (1 is Laplace's); one number, or ``{view: number}``.
    fit_prior : bool, default=True
        Learn how frequent the classes are; if False, all are taken as equally frequent.
    <shared: view_weights>

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
    <shared: view_weights_>
    <shared: fitted views>

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

    _fitted_state = {
        "classes_": rules.labels("classes"),
        "class_count_": rules.floats("classes", low=0),
        "class_log_prior_": rules.floats("classes", logarithms=True),
        "feature_count_": rules.by_view(rules.floats("classes", "features of {view}", low=0)),
        "feature_log_prob_": rules.by_view(rules.floats("classes", "features of {view}", high=1e-3)),
        "view_weights_": rules.by_view(rules.weight()),
    }
    _parameters = {
        "alpha": one_or_by_view(number(most=1e100)),  # sums of more leave the range
        "fit_prior": TRUTH,
    }

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
        """Add the counts of one batch, which may have only some of the views.

        The first call needs `classes`, all that will ever come, and fixes the views. Any cut of the data into batches
        gives the same model as one `fit`.
        """
        if "feature_count_" not in self.__dict__:
            if classes is None:
                raise ValueError(
                    "classes must be passed in the first call to partial_fit: list every class that may occur."
                )
            views = self._fit_views(X)
            codes, self.classes_ = encode_labels(y, len(views), classes, semi_supervised=False)
            self._start_counts()
        else:
            if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
                raise ValueError(
                    f"classes={list(classes)} differ from those of the first call to partial_fit, "
                    f"{self.classes_.tolist()}."
                )
            views = self._new_views(X)
            codes, _ = encode_labels(y, len(views), self.classes_, semi_supervised=False)
        self._count(views, codes, sample_weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable class of each object from some or all of the fitted views."""
        posterior = self.predict_proba(X)  # first: it says when the model is not fitted
        return self.classes_[posterior.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Compute the mean posterior (n_objects, n_classes) over some or all of the fitted views."""
        views = self._new_views(X)
        weights = np.array([self.view_weights_[name] for name in views.names])
        return average_posteriors(self._posteriors(views), views.present, weights, np.exp(self.class_log_prior_))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Compute the logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict_proba_by_view(self, X: Any) -> dict[str, np.ndarray]:
        """Compute the posterior from each view alone but those of weight 0; an object that lacks it has the prior."""
        return self._opinions(self._posteriors(self._new_views(X)))

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
        shares = per_view("view_weights", self.view_weights, self.view_names_)
        self.view_weights_ = dict(zip(self.view_names_, shares.tolist()))
        weights = check_sample_weight(sample_weight, len(views))
        n_classes = len(self.classes_)
        known = codes >= 0
        # new arrays, not sums in place: a batch that fails later leaves the model as it was
        self.class_count_ = self.class_count_ + np.bincount(
            codes[known], weights=None if weights is None else weights[known], minlength=n_classes
        )
        self.feature_count_ = self.feature_count_ | {
            name: self.feature_count_[name] + count_class_features(matrix, codes, n_classes, weights)
            for name, matrix in views.items()
        }
        # derived anew from the sums, so that any cut into batches gives the same model
        self.class_log_prior_ = compute_log_shares(self.class_count_ if self.fit_prior else np.ones(n_classes))
        self.feature_log_prob_ = {
            name: compute_feature_log_prob(counts, smoothing)
            for smoothing, (name, counts) in zip(alpha, self.feature_count_.items())
        }

    def _posteriors(self, views: Views) -> dict[str, np.ndarray]:
        return {
            name: compute_view_posterior(matrix, self.feature_log_prob_[name], self.class_log_prior_)
            for name, matrix in views.items()
        }


# -- a start from few labels


def learn_label_start(
    views: Any,
    codes: np.ndarray,
    n_classes: int,
    deadline: Deadline = NO_DEADLINE,
    held: HeldViews | None = None,
    odds: Callable[[Views], np.ndarray] | None = None,
    counts: Sequence[str] | None = None,
) -> NaiveBayesStart:
    """Start of a model that has labels for some objects, -1 in `codes` for the others; views in memory or lazy.

    Rounds of co-EM are passes over the views where they are `held`, or here. Where only some views are `counts`, `odds`
    gives the logarithms of the classes' odds by the others.
    """
    start = NaiveBayesStart.learned(views.select(*(counts or views.names)), codes, n_classes, scaled=True, odds=odds)
    # no object is left to be shared out
    if (codes >= 0).all():
        return start
    # co-EM (Nigam and Ghani 2000): what one view says of unlabeled objects teaches the others
    for _ in range(ROUNDS):
        if deadline.is_over():
            break
        start = start.refined(views, codes, held)
    return start


@dataclass(frozen=True)
class NaiveBayesStart:
    """One multinomial naive Bayes per view, learned in one pass; called with some rows it gives their mean posterior.

    Each view is scaled before (`scales`). Rows may be lazy: they are gone through some at a time. Views of another kind
    take part by the logarithms of their `odds`.
    """

    log_probs: dict[str, np.ndarray]
    log_prior: np.ndarray
    scales: dict[str, float]
    odds: Callable[[Views], np.ndarray] | None = None

    @classmethod
    def learned(
        cls,
        views: Any,
        codes: np.ndarray,
        n_classes: int,
        *,
        scaled: bool = False,
        odds: Callable[[Views], np.ndarray] | None = None,
    ) -> NaiveBayesStart:
        """Learn from the labeled rows (code not -1) of views in memory or lazy.

        With `scaled`, each view is scaled so that its typical entry is 1, and counts as one token whatever its unit
        is. EM itself does not see the scale of a view.
        """
        tallies = over_rows(views, partial(_tally_labeled, codes=codes, n_classes=n_classes))
        scales = _count_scales(tallies) if scaled else dict.fromkeys(views.names, 1.0)
        return cls._counted(tallies, scales, odds)

    def refined(self, views: Any, codes: np.ndarray, held: HeldViews | None = None) -> NaiveBayesStart:
        """One round of co-EM, one pass: learn from all rows, those without label shared out as this start says."""
        if held is not None:
            held = held.select(*self.log_probs)
            ops = held.ops
            shares = ops.asarray(ops.clamp(self._held_posterior(held), ops.asarray(codes)), np.float64)
            counts = {name: part.T for name, part in held.feature_sums(shares).items()}
            return self._counted([_ClassCounts(counts, ops.to_numpy(shares.sum(0)), {})], self.scales)
        return self._counted(over_rows(views, partial(_tally_shared, codes=codes, start=self)), self.scales, self.odds)

    @classmethod
    def _counted(
        cls,
        tallies: list[_ClassCounts],
        scales: dict[str, float],
        odds: Callable[[Views], np.ndarray] | None = None,
    ) -> NaiveBayesStart:
        # scaled after the sum: the scale is known only when all rows were seen
        counts = {name: reduce(np.add, [t.counts[name] for t in tallies]) * scale for name, scale in scales.items()}
        prior = compute_log_shares(np.sum([tally.classes for tally in tallies], axis=0))
        return cls({name: compute_feature_log_prob(part, 1.0) for name, part in counts.items()}, prior, scales, odds)

    def __call__(self, views: Views, held: HeldViews | None = None) -> np.ndarray:
        if held is not None:
            return held.ops.to_numpy(self._held_posterior(held))
        counts = views.select(*self.log_probs)
        posteriors = {
            name: compute_view_posterior(matrix, self.log_probs[name] * self.scales[name], self.log_prior)
            for name, matrix in counts.items()
        }
        # the prior of few labels says too little to decide on objects without views
        even = np.full(len(self.log_prior), 1.0 / len(self.log_prior))
        mean = average_posteriors(posteriors, counts.present, np.ones(len(posteriors)), even)
        return mean if self.odds is None else softmax_rows(np.log(np.maximum(mean, LEAST)) + self.odds(views))

    def _held_posterior(self, held: HeldViews) -> Any:
        """Mean posterior of views that an engine holds, as an array of the engine's."""
        held = held.select(*self.log_probs)
        ops, n_classes, dtype = held.ops, len(self.log_prior), held.floating_type
        total = held.present.sum(axis=1)
        mean = ops.asarray(np.repeat((total == 0)[:, None] / n_classes, n_classes, axis=1), dtype)
        for v, (name, X) in enumerate(held.handles.items()):
            odds, prior = center_log_prob(self.log_probs[name] * self.scales[name], self.log_prior, dtype)
            share = ops.asarray(held.present[:, v, None] / np.maximum(total, 1)[:, None], dtype)
            scores = ops.project(X, ops.asarray(odds)) + ops.asarray(prior)
            raised = ops.xp.exp(scores - ops.xp.amax(scores, 1)[:, None])
            mean = mean + share * (raised / raised.sum(1)[:, None])
        return mean


@dataclass(frozen=True)
class _ClassCounts:
    """What some rows add: counts by view (classes x features), objects by class, and the sum and number of entries."""

    counts: dict[str, np.ndarray]
    classes: np.ndarray
    entries: dict[str, tuple[float, int]]


def _tally_labeled(views: Views, first: int, *, codes: np.ndarray, n_classes: int) -> _ClassCounts:
    here = codes[first : first + len(views)]
    entries = {name: sum_entries(matrix) for name, matrix in views.items()}
    counts = {name: count_class_features(matrix, here, n_classes) for name, matrix in views.items()}
    return _ClassCounts(counts, np.bincount(here[here >= 0], minlength=n_classes), entries)


def sum_entries(matrix: Any) -> tuple[float, int]:
    """Sum and number of the entries of a view."""
    values: Any = matrix.data if sparse.issparse(matrix) else matrix[matrix > 0]
    return float(values.sum(dtype=np.float64)), len(values)


def _tally_shared(views: Views, first: int, *, codes: np.ndarray, start: NaiveBayesStart) -> _ClassCounts:
    here = codes[first : first + len(views)]
    shares = start(views).astype(np.float64)
    # given labels are never in doubt
    shares[here >= 0] = np.eye(shares.shape[1])[here[here >= 0]]
    counts = {name: np.asarray(views[name].T @ shares).T for name in start.log_probs}
    return _ClassCounts(counts, shares.sum(axis=0), {})


def _count_scales(tallies: list[_ClassCounts]) -> dict[str, float]:
    entries = {name: np.sum([tally.entries[name] for tally in tallies], axis=0) for name in tallies[0].entries}
    return {name: _count_scale(total, number) for name, (total, number) in entries.items()}


def _count_scale(total: float, number: float) -> float:
    """What a view is multiplied by whose entries have this sum, so that a typical one is 1."""
    return number / total if total > 0 else 1.0

"""First memberships from few labels: one multinomial naive Bayes per view, and two rounds of what the views teach.

    p(z|x, v) ~ p(z) prod_f p(f|z, v)^x_f,     p(f|z, v) = (counts + alpha) / (their sum over f)

Learned from the labeled objects, the mean over the views that an object has is the paper's start. In a round of co-EM
(Nigam and Ghani, 2000) each view counts all objects, those without label shared out as that mean says, which all views
made together. With one label in a class the first model knows the words of one object; then those that go with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax

from coview.engines.passes import over_rows
from coview.views.arrays import take_rows
from coview.views.views import Views

__all__ = [
    "NaiveBayesStart",
    "class_feature_counts",
    "feature_log_prob",
    "label_start",
    "log_shares",
    "mean_posterior",
    "naive_bayes_posterior",
    "view_posterior",
]

ROUNDS = 2  # of co-EM


def naive_bayes_posterior(views: Views, codes: np.ndarray, n_classes: int, alpha: float = 1.0) -> np.ndarray:
    """Mean of the posteriors of one multinomial naive Bayes per view, trained on the labeled objects.

    Parameters
    ----------
    views : Views
        Non-negative views.
    codes : ndarray of int (n_objects,)
        Class of each object, -1 without label.
    n_classes : int
        Number of classes.
    alpha : float, default=1.0
        Smoothing: so many more of each feature in each class (1 = Laplace).

    Returns
    -------
    ndarray (n_objects, n_classes)
        Rows sum to one. An object is averaged over the views that it has; one without any view is uniform.

    Examples
    --------
    >>> import numpy as np
    >>> X = Views(words=np.array([[3, 0], [0, 3], [2, 0]]), links=np.array([[1, 0], [0, 1], [1, 1]]))
    >>> naive_bayes_posterior(X, np.array([0, 1, -1]), 2).round(2)
    array([[0.83, 0.17],
           [0.17, 0.83],
           [0.72, 0.28]])
    """
    return NaiveBayesStart.learned(views, codes, n_classes, alpha)(views)


def label_start(views: Any, codes: np.ndarray, n_classes: int) -> NaiveBayesStart:
    """Start of a model that has labels for some objects, -1 in `codes` for the others; views in memory or lazy.

    Examples
    --------
    >>> import numpy as np
    >>> X = Views(words=np.array([[3, 0], [0, 3], [2, 0]]), links=np.array([[1, 0], [0, 1], [1, 1]]))
    >>> label_start(X, np.array([0, 1, -1]), 2)(X).argmax(axis=1)
    array([0, 1, 0])
    """
    start = NaiveBayesStart.learned(views, codes, n_classes, scaled=True)
    if (codes >= 0).all():
        return start
    for _ in range(ROUNDS):
        start = start.refined(views, codes)
    return start


@dataclass(frozen=True)
class NaiveBayesStart:
    """One multinomial naive Bayes per view, learned in one pass; called with some rows it gives their mean posterior.

    Each view is scaled before (`scales`). Rows may be lazy: they are gone through some at a time.
    """

    log_probs: dict[str, np.ndarray]
    log_prior: np.ndarray
    scales: dict[str, float]

    @classmethod
    def learned(
        cls, views: Any, codes: np.ndarray, n_classes: int, alpha: float = 1.0, *, scaled: bool = False
    ) -> NaiveBayesStart:
        """Learn from the labeled rows (code not -1) of views in memory or lazy.

        With `scaled`, a view whose typical entry is below 1 is scaled to have it at 1, so that Laplace's one more is
        small. EM itself does not see the scale of a view.
        """
        tallies = over_rows(views, partial(_labeled_tally, codes=codes, n_classes=n_classes))
        scales = _count_scales(tallies) if scaled else dict.fromkeys(views.names, 1.0)
        return cls._counted(tallies, scales, alpha)

    def refined(self, views: Any, codes: np.ndarray, alpha: float = 1.0) -> NaiveBayesStart:
        """One round of co-EM, one pass: learn from all rows, those without label shared out as this start says."""
        return self._counted(over_rows(views, partial(_shared_tally, codes=codes, start=self)), self.scales, alpha)

    @classmethod
    def _counted(cls, tallies: list[_Tally], scales: dict[str, float], alpha: float) -> NaiveBayesStart:
        counts = {name: np.sum([t.counts[name] for t in tallies], axis=0) * scale for name, scale in scales.items()}
        prior = log_shares(np.sum([tally.classes for tally in tallies], axis=0))
        return cls({name: feature_log_prob(part, alpha) for name, part in counts.items()}, prior, scales)

    def __call__(self, views: Views) -> np.ndarray:
        posteriors = {
            name: view_posterior(matrix, self.log_probs[name] * self.scales[name], self.log_prior)
            for name, matrix in views.items()
        }
        n_classes = len(self.log_prior)
        return mean_posterior(posteriors, views.present, np.ones(len(posteriors)), np.full(n_classes, 1.0 / n_classes))


@dataclass(frozen=True)
class _Tally:
    """What some rows add: counts by view (classes x features), objects by class, and the sum and number of entries."""

    counts: dict[str, np.ndarray]
    classes: np.ndarray
    entries: dict[str, tuple[float, int]]


def _labeled_tally(views: Views, first: int, *, codes: np.ndarray, n_classes: int) -> _Tally:
    here = codes[first : first + len(views)]
    entries = {}
    for name, matrix in views.items():
        values: Any = matrix.data if sparse.issparse(matrix) else matrix[matrix > 0]
        entries[name] = (float(values.sum(dtype=np.float64)), len(values))
    counts = {name: class_feature_counts(matrix, here, n_classes) for name, matrix in views.items()}
    return _Tally(counts, np.bincount(here[here >= 0], minlength=n_classes), entries)


def _shared_tally(views: Views, first: int, *, codes: np.ndarray, start: NaiveBayesStart) -> _Tally:
    here = codes[first : first + len(views)]
    shares = start(views).astype(np.float64)
    shares[here >= 0] = np.eye(shares.shape[1])[here[here >= 0]]
    counts = {name: np.asarray(matrix.T @ shares).T for name, matrix in views.items()}
    return _Tally(counts, shares.sum(axis=0), {})


def _count_scales(tallies: list[_Tally]) -> dict[str, float]:
    scales = {}
    for name in tallies[0].entries:
        total, number = np.sum([tally.entries[name] for tally in tallies], axis=0)
        typical = total / number if number else 1.0
        scales[name] = 1.0 / typical if 0 < typical < 1 else 1.0
    return scales


def class_feature_counts(
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


def feature_log_prob(counts: np.ndarray, alpha: float) -> np.ndarray:
    """Log p(feature | class) from counts (classes x features) with `alpha` more of each; never minus infinity."""
    smoothed = counts + max(alpha, 1e-10)
    return np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True))


def view_posterior(matrix: Any, log_prob: np.ndarray, log_prior: np.ndarray) -> np.ndarray:
    """Posterior of each object from one view, in the view's own floating type."""
    dtype = matrix.dtype if matrix.dtype == np.float32 else np.float64
    # the mean over the classes cancels in the posterior; without it the sums over long objects keep their digits
    log_odds = log_prob - log_prob.mean(axis=0)
    joint = np.asarray(matrix @ np.ascontiguousarray(log_odds.T, dtype=dtype))
    return softmax(joint + log_prior.astype(dtype), axis=1)


def log_shares(counts: np.ndarray) -> np.ndarray:
    """Logarithm of the shares of the whole; minus infinity where the count is zero, uniform where all are."""
    total = counts.sum()
    if not total:
        return np.full(len(counts), -np.log(len(counts)))
    with np.errstate(divide="ignore"):
        return np.log(counts / total)


def mean_posterior(
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
    mean[total <= 0] = fallback
    return mean

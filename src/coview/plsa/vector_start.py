"""Where objects begin by their vectors: k-means, or naive Bayes by the means of the labeled objects.

Views of counts have starts of their own (`likeliest_start.py`, `classification/naive_bayes.py`). Beside those, k-means
of the vectors is one start more of which the likeliest is taken; there each view is centered and divided by its
standard deviation and the root of its width, so that all count alike in a distance.

For classes with means mu the logarithm of the odds by a vector x is  - w* |x - mu|^2 / 2 tr S,  S the covariance of the
noise around the means. Naive Bayes would have the number of columns for w*, and be far too sure where the noise of
columns goes together. Between two classes with means d apart, the logarithm of the odds has the mean and the variance

    w d'd / 2 tr S,     w^2 d'S d / (tr S)^2

and it is that of the true odds of two Gaussian classes only where the variance is twice the mean:

    w* = tr S  sum d'd / sum d'S d     sums over pairs of classes;  at most the number of columns, for spherical noise

and at least 1, where all of the noise lies along d. So a vector is worth w* tokens. Means of few objects are drawn to
the mean of all by what is left of the variance b between classes: times  b / (b + tr S / n),  n the objects of a class.
A view that an object lacks adds nothing.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from coview.classification.naive_bayes import class_feature_counts
from coview.engines.passes import sample_rows
from coview.engines.protocol import floating_type
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["VectorStart", "as_dense", "cluster_vectors", "rank_in_class", "some_rows", "vectors_of_classes"]

SAMPLE = 20_000  # rows that are clustered
FEW = 2000  # rows that scales and means of classes are taken from
STARTS = 5  # of k-means
_ROWS = 1024  # at a time


@dataclass(frozen=True)
class VectorStart:
    """Centers of groups (groups x features, by view); called with some rows it gives their memberships."""

    offsets: dict[str, np.ndarray]
    scales: dict[str, float]
    centers: dict[str, np.ndarray]
    tokens: dict[str, float] = field(default_factory=dict)  # w* of classes; clusters have none: nearest alone

    def __call__(self, views: Views) -> np.ndarray:
        odds = self.log_odds(views)
        return softmax(odds, axis=1) if self.tokens else np.eye(odds.shape[1])[odds.argmax(axis=1)]

    def log_odds(self, views: Views) -> np.ndarray:
        """Minus the squared distances to the centers, but for a constant of each object."""
        odds = np.zeros((len(views), len(next(iter(self.centers.values())))))
        for name, centers in self.centers.items():
            moved = centers - self.offsets[name]
            squares = (moved**2).sum(axis=1)
            present = views.present[:, views.names.index(name)]
            for i in range(0, len(odds), _ROWS):
                products = np.asarray(views[name][i : i + _ROWS] @ moved.T) - self.offsets[name] @ moved.T
                odds[i : i + _ROWS] += present[i : i + _ROWS, None] * (self.scales[name] * (2 * products - squares))
        return odds


def _scaled(views: Views) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Mean of each view, and one over its variance and width."""
    offsets, scales = {}, {}
    for v, (name, matrix) in enumerate(views.items()):
        rows = as_dense(matrix[views.present[:, v]])
        rows = rows if len(rows) else np.zeros((1, rows.shape[1]))
        offsets[name] = rows.mean(axis=0)
        variance = float(((rows - offsets[name]) ** 2).mean())
        scales[name] = 1.0 / (variance * rows.shape[1]) if variance > 0 else 0.0
    return offsets, scales


def as_dense(matrix: Any) -> np.ndarray:
    """Vectors in float64, whatever they are kept in."""
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix).astype(np.float64)


def some_rows(views: Any, most: int, seed: int) -> Views:
    """At most so many rows of views in memory or lazy."""
    if isinstance(views, LazyViews):
        return sample_rows(views, most)
    return views if len(views) <= most else views[np.sort(np.random.default_rng(seed).choice(len(views), most, False))]


def cluster_vectors(views: Any, n_clusters: int, seed: int, n_init: int = STARTS) -> VectorStart:
    """k-means on all views side by side, of a sample where there are very many objects.

    Examples
    --------
    >>> start = cluster_vectors(Views(x=np.array([[0.1], [-0.1], [9.0], [9.2]])), 2, 0)
    >>> bool((start(Views(x=np.array([[0.0], [8.0]])))[0] != start(Views(x=np.array([[0.0], [8.0]])))[1]).all())
    True
    """
    offsets, scales = _scaled(some_rows(views, FEW, seed))
    some = some_rows(views, SAMPLE, seed)
    cuts = np.cumsum([some.n_features[name] for name in some.names])
    rows = np.empty((len(some), cuts[-1]), dtype=floating_type(some))  # the only copy, in the vectors' own precision
    for v, (name, matrix) in enumerate(some.items()):
        part = rows[:, cuts[v] - some.n_features[name] : cuts[v]]
        for i in range(0, len(rows), _ROWS):
            part[i : i + _ROWS] = (as_dense(matrix[i : i + _ROWS]) - offsets[name]) * np.sqrt(scales[name])
        part[~some.present[:, v]] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # rows that are alike have fewer clusters
        model = KMeans(n_clusters, n_init=n_init, copy_x=False, random_state=seed % 2**32).fit(rows)
    centers = {
        name: part / np.sqrt(scales[name] or 1.0) + offsets[name]
        for name, part in zip(some.names, np.split(model.cluster_centers_.astype(np.float64), cuts[:-1], axis=1))
    }
    return VectorStart(offsets, scales, centers)


def rank_in_class(codes: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labeled objects (code not -1), in random order within each class, and the number of each in its class.

    Examples
    --------
    >>> rows, ranks = rank_in_class(np.array([1, -1, 0, 1]), 0)
    >>> sorted(rows.tolist()), ranks.tolist()
    ([0, 2, 3], [0, 0, 1])
    """
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(codes >= 0))
    rows = rows[np.argsort(codes[rows], kind="stable")]
    return rows, np.arange(len(rows)) - np.searchsorted(codes[rows], codes[rows])


def vectors_of_classes(views: Any, codes: np.ndarray, n_classes: int, seed: int) -> VectorStart:
    """Naive Bayes by the means of the labeled objects of each class (code not -1).

    Examples
    --------
    >>> X = Views(x=np.array([[0.1], [-0.1], [9.0], [9.2]]))
    >>> vectors_of_classes(X, np.array([0, -1, 1, -1]), 2, 0)(X).argmax(axis=1)
    array([0, 0, 1, 1])
    """
    rows, ranks = rank_in_class(codes, seed)
    rows = np.sort(rows[np.argsort(ranks, kind="stable")[:FEW]])  # of each class as many, as far as it has them
    some, known = views[rows], codes[rows]
    offsets, scales, centers, tokens = {}, {}, {}, {}
    for v, name in enumerate(views.names):
        there = some.present[:, v]
        offset, means, sizes, noise = _moments(as_dense(some[name][there]), known[there], n_classes)
        free = int(sizes.sum() - np.count_nonzero(sizes))
        if free < 1:  # one object of each class has no noise: then it is what clusters leave
            own = some_rows(views.select(name), FEW, seed)
            own = own[np.flatnonzero(own.present[:, 0])]
            k = min(n_classes, max(len(own) - 1, 1))
            clusters = cluster_vectors(own, k, seed)(own).argmax(axis=1) if len(own) else np.zeros(0, int)
            noise, free = _moments(as_dense(own[name]), clusters, k)[3], max(len(own) - k, 1)
        met = sizes > 0
        apart = means[met] - means[met].mean(axis=0) if met.any() else means
        total, spread, along = (float((part**2).sum()) for part in (noise, apart, noise @ apart.T))
        tokens[name] = min(means.shape[1], total * spread / along) if along > 0 else float(means.shape[1])
        of_mean = total / free / np.maximum(sizes, 1)  # noise of each mean
        between = max(float(((means**2).sum(axis=1) - of_mean)[met].mean()), 0.0) if met.any() else 0.0
        drawn = between / np.maximum(between + of_mean, 1e-300)
        offsets[name], centers[name] = offset, offset + drawn[:, None] * means
        scales[name] = tokens[name] / max(2 * total / free, 1e-12 * spread, 1e-300) if spread > 0 else 0.0
    return VectorStart(offsets, scales, centers, tokens)


def _moments(
    rows: np.ndarray, codes: np.ndarray, n_groups: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mean of all rows; of each group, less that (0 where nobody is); its size; and rows less that of their group."""
    offset = rows.mean(axis=0) if len(rows) else np.zeros(rows.shape[1])
    rows = rows - offset
    sizes = np.bincount(codes, minlength=n_groups)
    means = class_feature_counts(rows, codes, n_groups) / np.maximum(sizes, 1)[:, None]
    return offset, means, sizes, rows - means[codes]

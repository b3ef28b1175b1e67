"""Where objects begin by their vectors: k-means, or the nearest mean of the labeled objects.

Views of counts have starts of their own (`likeliest_start.py`, `classification/naive_bayes.py`). Beside those, k-means
of the vectors is one start more of which the likeliest is taken, and what vectors say of the classes counts by as much
as they bear the counts out (`vector_weight.py`). Each view is centered and divided by its standard deviation and the
root of its width, so that all count alike in a distance; a view that an object lacks adds nothing to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.cluster import KMeans

from coview.classification.naive_bayes import class_feature_counts
from coview.engines.passes import over_rows, sample_rows
from coview.engines.protocol import floating_type
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["VectorStart", "cluster_vectors", "vectors_of_classes", "with_vectors"]

SAMPLE = 20_000  # rows that are clustered
FEW = 2000  # rows that scales are taken from
STARTS = 5  # of k-means
_ROWS = 1024  # at a time


@dataclass(frozen=True)
class VectorStart:
    """Centers of groups (groups x features, by view); called with some rows it gives their memberships."""

    offsets: dict[str, np.ndarray]
    scales: dict[str, float]
    centers: dict[str, np.ndarray]
    softness: float = 0.0  # difference of squared distances that makes one group e times as likely; 0: nearest alone

    def __call__(self, views: Views) -> np.ndarray:
        far = self.distances(views)
        if self.softness > 0:
            return softmax(-far / self.softness, axis=1)
        return np.eye(far.shape[1])[far.argmin(axis=1)]

    def distances(self, views: Views) -> np.ndarray:
        """Squared distances to the centers, but for a constant of each object."""
        n_groups = len(next(iter(self.centers.values())))
        far = np.zeros((len(views), n_groups))
        for name, centers in self.centers.items():
            moved = centers - self.offsets[name]
            squares = (moved**2).sum(axis=1)
            present = views.present[:, views.names.index(name)]
            for i in range(0, len(far), _ROWS):
                products = np.asarray(views[name][i : i + _ROWS] @ moved.T) - self.offsets[name] @ moved.T
                far[i : i + _ROWS] += present[i : i + _ROWS, None] * (self.scales[name] * (squares - 2 * products))
        return far


def _scaled(views: Views) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Mean of each view, and one over its variance and width."""
    offsets, scales = {}, {}
    for v, (name, matrix) in enumerate(views.items()):
        rows = _dense(matrix[views.present[:, v]])
        rows = rows if len(rows) else np.zeros((1, rows.shape[1]))
        offsets[name] = rows.mean(axis=0)
        variance = float(((rows - offsets[name]) ** 2).mean())
        scales[name] = 1.0 / (variance * rows.shape[1]) if variance > 0 else 0.0
    return offsets, scales


def _dense(matrix: Any) -> np.ndarray:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix).astype(np.float64)


def _some(views: Any, most: int, seed: int) -> Views:
    if isinstance(views, LazyViews):
        return sample_rows(views, most)
    return views if len(views) <= most else views[np.sort(np.random.default_rng(seed).choice(len(views), most, False))]


def cluster_vectors(views: Any, n_clusters: int, seed: int) -> VectorStart:
    """k-means on all views side by side, of a sample where there are very many objects.

    Examples
    --------
    >>> start = cluster_vectors(Views(x=np.array([[0.1], [-0.1], [9.0], [9.2]])), 2, 0)
    >>> bool((start(Views(x=np.array([[0.0], [8.0]])))[0] != start(Views(x=np.array([[0.0], [8.0]])))[1]).all())
    True
    """
    offsets, scales = _scaled(_some(views, FEW, seed))
    some = _some(views, SAMPLE, seed)
    cuts = np.cumsum([some.n_features[name] for name in some.names])
    rows = np.empty((len(some), cuts[-1]), dtype=floating_type(some))  # the only copy, in the vectors' own precision
    for v, (name, matrix) in enumerate(some.items()):
        part = rows[:, cuts[v] - some.n_features[name] : cuts[v]]
        for i in range(0, len(rows), _ROWS):
            part[i : i + _ROWS] = (_dense(matrix[i : i + _ROWS]) - offsets[name]) * np.sqrt(scales[name])
        part[~some.present[:, v]] = 0.0
    model = KMeans(n_clusters, n_init=STARTS, copy_x=False, random_state=seed % 2**32).fit(rows)
    centers = {
        name: part / np.sqrt(scales[name] or 1.0) + offsets[name]
        for name, part in zip(some.names, np.split(model.cluster_centers_.astype(np.float64), cuts[:-1], axis=1))
    }
    return VectorStart(offsets, scales, centers)


def vectors_of_classes(views: Any, codes: np.ndarray, n_classes: int, seed: int) -> VectorStart:
    """Means of the labeled objects of each class (code not -1), drawn to the mean of all as if that were one more.

    Examples
    --------
    >>> X = Views(x=np.array([[0.1], [-0.1], [9.0], [9.2]]))
    >>> vectors_of_classes(X, np.array([0, -1, 1, -1]), 2, 0)(X).argmax(axis=1)
    array([0, 0, 1, 1])
    """
    some = _some(views, FEW, seed)
    offsets, scales = _scaled(some)
    sums = over_rows(views, partial(_class_sums, codes=codes, n_classes=n_classes))
    centers = {}
    for v, name in enumerate(views.names):
        total, number = np.sum([part[0][name] for part in sums], axis=0), np.sum([part[1] for part in sums], axis=0)[v]
        centers[name] = (total + offsets[name]) / (number + 1)[:, None]
    far = np.sort(VectorStart(offsets, scales, centers).distances(some), axis=1)
    gap = float((far[:, 1] - far[:, 0]).mean()) if n_classes > 1 else 1.0
    return VectorStart(offsets, scales, centers, max(gap, 1e-12))


@dataclass(frozen=True)
class _MeanStart:
    """Mean of the memberships by counts (which count 1) and by some Gaussian views, each with its share."""

    counts: Any
    vectors: dict[str, VectorStart]
    shares: dict[str, float]

    def __call__(self, views: Views) -> np.ndarray:
        mean, total = self.counts(views), np.ones((len(views), 1))
        for name, start in self.vectors.items():
            share = self.shares[name] * views.present[:, [views.names.index(name)]]
            mean, total = mean + share * start(views.select(name)), total + share
        return mean / total


def with_vectors(
    counts: Any, views: Any, shares: dict[str, float], codes: np.ndarray, n_classes: int, seed: int
) -> _MeanStart:
    """Join a start by counts (a function of some rows) with the class means of Gaussian views, each with its share."""
    starts = {name: vectors_of_classes(views.select(name), codes, n_classes, seed) for name in shares}
    return _MeanStart(counts, starts, shares)


def _class_sums(
    views: Views, first: int, *, codes: np.ndarray, n_classes: int
) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    here = codes[first : first + len(views)]
    numbers = [np.bincount(here[(here >= 0) & there], minlength=n_classes) for there in views.present.T]
    return {name: class_feature_counts(matrix, here, n_classes) for name, matrix in views.items()}, numbers

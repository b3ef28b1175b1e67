"""Where pairwise co-regularised PLSA begins: mixtures of the views side by side, and the width of the similarity."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from coview.data.views import Views
from coview.plsa.factors import as_distributions, random_matrix

__all__ = ["Masses", "median_distance", "start_sigma", "start_table"]

_SAMPLE = 2048  # rows whose distances give the median


@dataclass(frozen=True)
class Masses:
    """Sum of each object's values, views weighted: what the blocks carry for weights in units of it.

    Examples
    --------
    >>> Masses({"words": 0.5, "links": 2.0})(Views(words=np.array([[1.0, 3.0]]), links=np.array([[4.0]])))
    array([10.])
    """

    shares: dict[str, float]

    def __call__(self, views: Views) -> np.ndarray:
        sums = [self.shares[name] * np.asarray(matrix.sum(axis=1)).ravel() for name, matrix in views.items()]
        return np.asarray(np.sum(sums, axis=0, dtype=np.float64))


def start_table(given: Any, views: Any, width: int, seed: int) -> np.ndarray:
    """Mixtures of all views side by side (objects x (views * topics)): one array for all, or by view; else random."""
    shape = (len(views), width)
    by_view = given if isinstance(given, Mapping) else dict.fromkeys(views.names, given)
    for name in by_view:
        if name not in views:
            listed = ", ".join(map(repr, views.names))
            raise ValueError(f"init['doc_topic'] names view {name!r}, but the views are {listed}.")
    rest = random_matrix(seed, 0, *shape, np.float64)
    return np.hstack(
        [as_distributions("doc_topic", by_view[name], shape) if name in by_view else rest for name in views.names]
    )


def start_sigma(sigma: Any, start: np.ndarray | None, n_rows: int, width: int, seed: int) -> float:
    """Sigma as given, or the median squared distance of two rows at the start (None: one random mixture for all views).

    Examples
    --------
    >>> start_sigma(0.5, None, 10, 3, seed=0)
    0.5
    """
    if sigma != "median":
        real = isinstance(sigma, numbers.Real) and not isinstance(sigma, bool)
        if not real or not 0 < sigma < np.inf:
            raise ValueError(f"sigma must be a number above 0 or 'median', got {sigma!r}.")
        return float(sigma)
    if start is None:
        return median_distance(random_matrix(seed, 0, min(n_rows, _SAMPLE), width, np.float64)[:, None])
    rows = np.random.default_rng(seed).permutation(n_rows)[:_SAMPLE]
    return median_distance(start[rows].reshape(len(rows), -1, width))


def median_distance(mixtures: np.ndarray) -> float:
    """Median squared distance of two rows (objects x views x topics) in the same view; 1 where all are alike.

    Examples
    --------
    >>> median_distance(np.array([[[1.0, 0.0]], [[0.0, 1.0]]]))
    2.0
    """
    gaps = mixtures - np.roll(mixtures, 1, axis=0)
    found = float(np.median((gaps * gaps).sum(axis=2)))
    return found if found > 0 else 1.0

"""Where pairwise co-regularized PLSA begins: mixtures of the views side by side, and the width of the similarity.

The regularizer does not bring together views that have settled on different clusters, and the likelihood has many local
maxima that are no clusters. So the default start is a consensus clustering, moved by some sweeps of link-PLSA.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from coview.engines.passes import over_rows, sample_rows
from coview.plsa.consensus_start import SAMPLE, consensus_start, softened
from coview.plsa.factors import FEATURE_FLOOR, as_distributions, random_matrix
from coview.plsa.link import LinkPLSA
from coview.plsa.mixture import RESTART
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["WARM_SWEEPS", "Masses", "consensus_arrays", "median_distance", "start_sigma", "start_table", "warm_arrays"]

WARM_SWEEPS = 20  # before pairs count
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


def warm_arrays(
    views: Any, init: str, width: int, n_init: int, seed: int, options: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Mixtures and topics by view after some sweeps of link-PLSA; of one view (``init="plsa"``) that is PLSA.

    Of `n_init` starts the one that is highest then. `options` is asked for further settings before each fit.

    Examples
    --------
    >>> X = Views(words=np.array([[3, 0], [2, 0], [0, 3]]), links=np.array([[1, 0], [2, 1], [0, 1]]))
    >>> found = warm_arrays(X, "consensus", 2, 1, seed=0, options=lambda: {"n_jobs": 1})
    >>> sorted(found["memberships_by_view"]), found["topic_feature"]["links"].shape
    (['links', 'words'], (2, 2))
    """
    groups = [(name,) for name in views.names] if init == "plsa" else [views.names]
    mixtures, topics = {}, {}
    for names in groups:
        part = views.select(*names)

        def fitted(begin: Any, n_init: int, part: Any = part) -> LinkPLSA:
            settings = {"max_iter": WARM_SWEEPS, "tol": 0, "random_state": seed, **options()}
            return LinkPLSA(width, init=begin, n_init=n_init, **settings).fit(part)

        if init == "consensus":
            seeds = [seed + RESTART * restart for restart in range(n_init)]
            models = [fitted(consensus_arrays(part, width, here, options()["n_jobs"]), 1) for here in seeds]
            model = max(models, key=lambda one: one.history_["objective"][-1])
        else:
            model = fitted("random", n_init)
        mixtures.update(dict.fromkeys(names, model.memberships_))
        topics.update(model.topic_feature_)
    return {"memberships_by_view": mixtures, "topic_feature": topics}


def consensus_arrays(views: Any, width: int, seed: int, n_jobs: int | None = None) -> dict[str, Any]:
    """Memberships of a consensus clustering and the topics that they make, as an `init` for link-PLSA.

    Rows that are read when needed begin as those in memory do; of very many, a sample is clustered, and naive Bayes
    places all.

    Examples
    --------
    >>> X = Views(words=np.array([[3, 0], [2, 0], [0, 3]]), links=np.array([[1, 0], [2, 1], [0, 1]]))
    >>> found = consensus_arrays(X, 2, seed=0)["memberships"].argmax(axis=1)
    >>> bool(found[0] == found[1]), bool(found[0] == found[2])
    (True, False)
    """
    views = views.select(*sorted(views.names))  # their order in the data does not matter
    lazy = isinstance(views, LazyViews)
    few = sample_rows(views, SAMPLE) if lazy and len(views) <= SAMPLE else views
    start = consensus_start(few, width, seed, {}, n_jobs)
    if callable(start):
        start = np.concatenate(over_rows(views, partial(_placed, start=start)))
    rows = softened(start)
    sums = over_rows(views, partial(_topic_sums, memberships=rows))
    topics = {name: np.sum([part[name] for part in sums], axis=0) for name in views.names}
    return {"memberships": rows, "topic_feature": {name: np.maximum(t, FEATURE_FLOOR) for name, t in topics.items()}}


def start_table(given: Any, views: Any, width: int, seed: int) -> np.ndarray:
    """Mixtures of all views side by side (objects x (views * topics)): one array for all, or by view; else random."""
    shape = (len(views), width)
    by_view = given if isinstance(given, Mapping) else dict.fromkeys(views.names, given)
    for name in by_view:
        if name not in views:
            listed = ", ".join(map(repr, views.names))
            raise ValueError(f"init['memberships_by_view'] names view {name!r}, but the views are {listed}.")
    rest = random_matrix(seed, 0, *shape, np.float64)
    return np.hstack(
        [
            as_distributions("memberships_by_view", by_view[name], shape) if name in by_view else rest
            for name in views.names
        ]
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


def _placed(views: Views, first: int, *, start: Any) -> np.ndarray:
    return np.asarray(start(views))


def _topic_sums(views: Views, first: int, *, memberships: np.ndarray) -> dict[str, np.ndarray]:
    """Features of each topic in some rows (topics x features), by view."""
    here = memberships[first : first + len(views)]
    return {name: np.asarray((matrix.T @ here).T) for name, matrix in views.items()}

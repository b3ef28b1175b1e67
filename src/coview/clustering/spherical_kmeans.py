"""`SphericalKMeans`: clusters of objects by the angles between them, for sparse counts above all.

Several views are one matrix: each view's rows have length 1, and so have all of them together. See `sphere.py` for a
sweep, and `SeededKMeansClassifier` for views that are scored apart and for labels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from coview.base import MultiViewEstimator
from coview.clustering.sphere import SphereFit, as_rows, sphere_sweeps, spread_rows, unit_columns
from coview.engines.threads import Team, thread_count
from coview.exceptions import ViewsError
from coview.inspection import SHARPNESS, Features, Inspection, softmax
from coview.validation import base_seed, check_count, check_option
from coview.views.matrices import unit_rows
from coview.views.views import Views

__all__ = ["SphericalKMeans", "unit_side_by_side"]

SAMPLE = 100  # objects for each cluster among which the first centroids are looked for


class SphericalKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, MultiViewEstimator):
    """k-means on the sphere: every object goes to the centroid with which its cosine is largest.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"k-means++", "random"} or {view: ndarray}, default="k-means++"
        First centroids: objects far from each other, objects drawn at random, or given ones (clusters x features; a
        bare array where there is one view).
    n_init : int, default=5
        Number of starts; the one with the largest sum of cosines is kept.
    max_iter : int, default=100
        Most sweeps of each start.
    tol : float, default=1e-6
        Stop when no object changes its cluster, or when the objective changes by less than this, relative to itself;
        0 runs exactly `max_iter` sweeps.
    n_jobs : int or None, default=None
        Threads; None takes every core that threadpoolctl allows. Results do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the starts.

    Attributes
    ----------
    cluster_centers_ : dict of ndarray (n_clusters, n_features of the view)
        Centroids by view; over all views together each has length 1.
    centroid_sums_ : dict of ndarray (n_clusters, n_features of the view)
        Sums of the objects of each cluster, from which `partial_fit` goes on.
    labels_ : ndarray (n_objects,)
        Cluster of each training object, or of each object of the last batch.
    history_ : dict of lists
        "objective": sum of the cosines after each sweep of the best start, which never falls; entry 0 is the start.
    n_iter_ : int
        Sweeps of the best start.

    See Also
    --------
    SeededKMeansClassifier : classes from few labels, with the views scored apart.

    Notes
    -----
    Rows are scaled to length 1, in each view and together. A view that an object lacks counts for nothing, and one
    without any feature goes to the first cluster. Bounds on the angles spare most products of late sweeps; the result
    is that of plain sweeps.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import SphericalKMeans
    >>> X = np.array([[3, 0, 1], [9, 1, 0], [0, 2, 2], [0, 7, 8]])
    >>> model = SphericalKMeans(2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1]), bool(model.labels_[0] == model.labels_[2])
    (True, False)
    >>> model.transform(X).shape, bool((model.predict(X) == model.labels_).all())
    ((4, 2), True)
    """

    _models_counts = False
    cluster_centers_: dict[str, np.ndarray]
    centroid_sums_: dict[str, np.ndarray]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int = 5,
        max_iter: int = 100,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> SphericalKMeans:
        """Cluster the objects; y is ignored."""
        self._check_parameters()
        views = self._fit_views(X)
        rows = as_rows(unit_side_by_side(views), Team(thread_count(self.n_jobs)))
        seed = base_seed(self.random_state)
        best: SphereFit | None = None
        for restart in range(self.n_init if isinstance(self.init, str) else 1):
            centers = self._start(rows, views, np.random.default_rng([seed, restart]))
            found = sphere_sweeps(rows, centers, self.max_iter, float(self.tol))
            if best is None or found.objective[-1] > best.objective[-1]:
                best = found
        assert best is not None
        self._remember(best.sums, centers.dtype)
        self.labels_ = best.labels
        self.history_ = {"objective": best.objective}
        self.n_iter_ = best.n_iter
        return self

    def partial_fit(self, X: Any, y: Any = None) -> SphericalKMeans:
        """Learn from one batch, going on from what is known; the first batch holds at least `n_clusters` objects."""
        self._check_parameters()
        fresh = not hasattr(self, "centroid_sums_")
        views = self._fit_views(X) if fresh else self._new_views(X)
        if not fresh and len(views.names) < len(self.view_names_):
            raise ViewsError(
                f"partial_fit needs all views, {', '.join(map(repr, self.view_names_))}; got only "
                f"{', '.join(map(repr, views.names))}."
            )
        rows = as_rows(unit_side_by_side(views), Team(thread_count(self.n_jobs)))
        if fresh:
            centers = self._start(rows, views, np.random.default_rng(base_seed(self.random_state)))
            sums = np.zeros(centers.shape)
        else:
            centers = _beside(self.cluster_centers_).T.astype(rows.matrix.dtype)
            sums = _beside(self.centroid_sums_).T.astype(np.float64)
        labels = rows.cosines(np.ascontiguousarray(centers)).argmax(axis=1)
        everyone = np.arange(len(views))
        sums = np.ascontiguousarray(sums)
        rows.move(everyone, np.full(len(views), -1), labels, sums)
        self._remember(sums, centers.dtype, centers)
        self.labels_ = labels
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Cluster of each object, from some or all of the fitted views."""
        return self._cosines(X).argmax(axis=1)

    def transform(self, X: Any) -> np.ndarray:
        """Cosines of objects and centroids (n_objects, n_clusters), in some or all of the fitted views."""
        return self._cosines(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Sum over the objects of the largest cosine; more is better."""
        return float(self._cosines(X).max(axis=1).sum(dtype=np.float64))

    def _inspect(self) -> Inspection:
        """Answer `inspect`: memberships follow the cosines."""
        return replace(
            super()._inspect(),
            history=getattr(self, "history_", {}),
            _features=lambda view: Features(self.cluster_centers_[view], False, "center"),
            _memberships=lambda X: softmax(self._cosines(X), SHARPNESS),
            _predict=None,
            _embed=None,
        )

    # -- pieces

    @property
    def _n_features_out(self) -> int:
        return len(next(iter(self.cluster_centers_.values())))

    def _check_parameters(self) -> None:
        for name in ("n_clusters", "n_init", "max_iter"):
            check_count(name, getattr(self, name))
        if not self.tol >= 0:
            raise ValueError(f"tol must be a number of at least 0, got {self.tol!r}.")
        if isinstance(self.init, str):
            check_option("init", self.init, ("k-means++", "random"))

    def _start(self, rows: Any, views: Views, rng: np.random.Generator) -> np.ndarray:
        """First centroids as columns of length 1."""
        if len(views) < self.n_clusters:
            raise ValueError(f"n_samples={len(views)} should be >= n_clusters={self.n_clusters}.")
        dtype = rows.matrix.dtype
        if not isinstance(self.init, str):
            return self._given_start(views).astype(dtype)
        if self.init == "random":
            chosen = rng.choice(len(views), self.n_clusters, replace=False)
        else:
            chosen = self._spread(rows, rng)
        return rows.take(chosen).astype(dtype, copy=False)

    def _spread(self, rows: Any, rng: np.random.Generator) -> np.ndarray:
        """Rows far from each other, among a sample where there are very many."""
        n, enough = rows.matrix.shape[0], SAMPLE * self.n_clusters
        if n <= enough:
            return spread_rows(rows, self.n_clusters, rng)
        sample = np.sort(rng.choice(n, enough, replace=False))
        return sample[spread_rows(as_rows(rows.matrix[sample], Team(1)), self.n_clusters, rng)]

    def _given_start(self, views: Views) -> np.ndarray:
        given = self.init if isinstance(self.init, dict) else {self.view_names_[0]: self.init}
        parts = {}
        for name, width in views.n_features.items():
            if name not in given:
                raise ValueError(f"init has no centroids of view {name!r}. Give an array for every view.")
            parts[name] = np.asarray(given[name], dtype=np.float64)
            if parts[name].shape != (self.n_clusters, width):
                raise ValueError(
                    f"init of view {name!r} must have shape {(self.n_clusters, width)}, got {parts[name].shape}."
                )
        columns = np.ascontiguousarray(_beside(parts).T)
        return unit_columns(columns, columns)

    def _remember(self, sums: np.ndarray, dtype: Any, before: np.ndarray | None = None) -> None:
        centers = unit_columns(sums, np.zeros(sums.shape, dtype=dtype) if before is None else before)
        self.cluster_centers_ = self._by_view(centers)
        self.centroid_sums_ = self._by_view(sums)

    def _by_view(self, columns: np.ndarray) -> dict[str, np.ndarray]:
        ends = np.cumsum(list(self.n_features_by_view_.values()))[:-1]
        return {
            name: np.ascontiguousarray(part.T) for name, part in zip(self.n_features_by_view_, np.split(columns, ends))
        }

    def _cosines(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "cluster_centers_")
        views = self._new_views(X)
        rows = as_rows(unit_side_by_side(views), Team(thread_count(self.n_jobs)))
        columns = np.ascontiguousarray(_beside({name: self.cluster_centers_[name] for name in views.names}).T)
        columns = columns.astype(rows.matrix.dtype, copy=False)
        return rows.cosines(unit_columns(columns, columns))


def unit_side_by_side(views: Views) -> Any:
    """All views as one matrix whose rows have length 1, each view of an object counting alike.

    Examples
    --------
    >>> import numpy as np
    >>> unit_side_by_side(Views(a=np.array([[3.0, 4.0]]), b=np.array([[2.0]]))).round(2)
    array([[0.42, 0.57, 0.71]])
    """
    units = {name: unit_rows(matrix) for name, matrix in views.items()}
    return next(iter(units.values())) if len(units) == 1 else unit_rows(Views(units).hstack())


def _beside(parts: dict[str, np.ndarray]) -> np.ndarray:
    return np.hstack(list(parts.values()))

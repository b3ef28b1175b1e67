"""Spherical k-means: clusters of objects by the angles between them, for sparse counts above all.

    labels    c_i = argmax_k <x_i, mu_k>
    centers   mu_k = s_k / |s_k|,   s_k = sum of the x_i with label k
    objective sum_i <x_i, mu_c_i> = sum_k |s_k|, which never falls but for rounding

Several views are one matrix: each view's rows have length 1, and so have all of them together. The first centers are
drawn by k-means++, whose squared distances are 2 - 2 cos here. Angles are a metric: with a_i an upper bound of row i's
angle to its own center, b_i a lower bound of its angle to every other one, and t_k how far center k has turned,

    a_i <- a_i + t_own(i)         b_i <- b_i - max_(k != own(i)) t_k

after each update of the centers, and a row with a_i < b_i stays where it is without one product being taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.cluster import kmeans_plusplus

from coview.base import MultiViewEstimator
from coview.exceptions import ParameterError
from coview.inspection import SHARPNESS, Features, Inspection, softmax
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import ARRAY, MAPPING, one_of
from coview.utils.sampling import sample_positions
from coview.validation import base_seed, check_enough_objects
from coview.views.arrays import take_rows, unit_rows
from coview.views.views import Views

__all__ = ["SphereFit", "SphericalKMeans", "sweep_sphere", "unit_side_by_side"]


@shared_parameters
class SphericalKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, MultiViewEstimator):
    """Spherical k-means: every object belongs to the center with the largest cosine.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {"k-means++", "random"} or {view: ndarray}, default="k-means++"
        First centers: objects far from each other, objects drawn at random, or given ones (clusters x features; a
        bare array where there is one view).
    n_init : int, default=3
        Number of starts; the one with the largest sum of cosines is kept.
    max_iter : int, default=100
        Maximum number of iterations of each initialization.
    tol : float, default=1e-6
        Stop when no object changes its cluster, or when the objective changes by less than this, relative to itself;
        0 runs exactly `max_iter` iterations.
    <shared: random_state>

    Attributes
    ----------
    cluster_centers_ : dict of ndarray (n_clusters, n_features of the view)
        Centers by view; over all views together each has length 1.
    labels_ : ndarray (n_objects,)
        Cluster of each training object.
    history_ : dict of lists
        "objective": sum of the cosines after each iteration of the best initialization, which never falls.
    n_iter_ : int
        Iterations from the best initialization.
    <shared: fitted views>

    See Also
    --------
    SeededKMeansClassifier : classes from few labels, with the views scored apart.

    Notes
    -----
    Rows are scaled to length 1, in each view and together; centers have length 1 over all views. A view that an object
    lacks, or that is not given, counts as zeros, and an object without any feature goes to the first cluster.

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
    _group_rows = ("cluster_centers_",)
    cluster_centers_: dict[str, np.ndarray]

    _fitted_state = {
        "cluster_centers_": rules.by_view(rules.floats("clusters", "features of {view}")),
        "labels_": rules.integers("objects", below="clusters"),
        "history_": rules.history(),
        "n_iter_": rules.count(),
    }
    _parameters = {
        "init": one_of("k-means++", "random") | ARRAY | MAPPING,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int = 3,
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> SphericalKMeans:
        """Cluster the objects; y is ignored."""
        views = self._fit_views(X)
        check_enough_objects(len(views), self.n_clusters)
        rows, seed = unit_side_by_side(views), base_seed(self.random_state)
        fits = []
        for restart in range(self.n_init if isinstance(self.init, str) else 1):
            centers = self._choose_centers(rows, np.random.default_rng([seed, restart]))
            fits.append(sweep_sphere(rows, centers, self.max_iter, float(self.tol)))
        best = max(fits, key=lambda fit: fit.objective[-1])
        ends = np.cumsum(list(self.n_features_by_view_.values()))[:-1]
        parts = np.split(best.centers, ends, axis=1)
        self.cluster_centers_ = dict(zip(self.view_names_, map(np.ascontiguousarray, parts)))
        self.labels_ = best.labels
        self.history_ = {"objective": best.objective}
        self.n_iter_ = len(best.objective) - 1
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the cluster of each object from some or all of the fitted views."""
        return self._cosines(X).argmax(axis=1)

    def transform(self, X: Any) -> np.ndarray:
        """Compute the cosines between objects and centers (n_objects, n_clusters) from some or all fitted views."""
        return self._cosines(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Compute the sum of the largest cosine of each object; larger is better."""
        return float(self._cosines(X).max(axis=1).sum(dtype=np.float64))

    def _inspect(self) -> Inspection:
        """Answer `inspect`: memberships follow the cosines."""
        answer = super()._inspect()
        return replace(
            answer,
            training=replace(answer.training, history=self.history_),
            _features=lambda view: Features(self.cluster_centers_[view], False, "center"),
            _memberships=lambda X: softmax(self._cosines(X), SHARPNESS),
            _predict=None,
            _embed=None,
        )

    # -- pieces

    @property
    def _n_features_out(self) -> int:
        return len(next(iter(self.cluster_centers_.values())))

    def _choose_centers(self, rows: Any, rng: np.random.Generator) -> np.ndarray:
        """Choose the first centers (clusters x features), of length 1."""
        if not isinstance(self.init, str):
            return unit_rows(self._read_init()).astype(rows.dtype)
        chosen = rng.choice(rows.shape[0], self.n_clusters, replace=False)
        if self.init == "k-means++":
            seed = int(rng.integers(2**31))
            sample = sample_positions(rows.shape[0], 100 * self.n_clusters, seed)  # enough to find far objects among
            chosen = sample[kmeans_plusplus(take_rows(rows, sample), self.n_clusters, random_state=seed)[1]]
        some = take_rows(rows, chosen)
        return some.toarray() if sparse.issparse(some) else some

    def _read_init(self) -> np.ndarray:
        by_view = self.init if isinstance(self.init, Mapping) else {self.view_names_[0]: self.init}
        parts = []
        for name, width in self.n_features_by_view_.items():
            part = np.asarray(by_view.get(name, np.nan))
            if part.shape != (self.n_clusters, width) or part.dtype.kind not in "biuf" or not np.isfinite(part).all():
                raise ParameterError(
                    f"of view {name!r} must be finite numbers of shape {(self.n_clusters, width)}, got shape "
                    f"{part.shape}.",
                    parameter="init",
                )
            parts.append(part.astype(np.float64))
        return np.hstack(parts)

    def _cosines(self, X: Any) -> np.ndarray:
        views = self._new_views(X)
        # centers of length 1 over all views, whichever are given: an object has one answer, that of the fit
        centers = np.hstack([self.cluster_centers_[name] for name in views.names])
        rows = unit_side_by_side(views)
        return np.asarray(rows @ centers.T.astype(rows.dtype))


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


# -- the iterations


@dataclass(frozen=True)
class SphereFit:
    """Where the iterations ended."""

    labels: np.ndarray
    centers: np.ndarray  # clusters x features, of length 1
    objective: list[float]  # entry 0 is the start


def sweep_sphere(rows: Any, centers: np.ndarray, max_iter: int, tol: float) -> SphereFit:
    """Iterate until no label changes or the objective hardly does; `tol` = 0 makes exactly `max_iter` iterations.

    Parameters
    ----------
    rows : matrix (n_objects, n_features)
        The objects, sparse or dense, of length 1.
    centers : ndarray (n_clusters, n_features)
        Where to start, of length 1, in the type of the rows.
    max_iter, tol : int, float
        When to stop.
    """
    n, n_clusters = rows.shape[0], len(centers)
    slack = 1e-3 if rows.dtype == np.float32 else 1e-7  # the arc cosine doubles the digits that are lost
    state = _Assignment(np.zeros(n, dtype=np.int64), np.full(n, np.pi), np.zeros(n))
    state.update(rows, centers, np.zeros(n_clusters), slack)
    sums = _sum_by_cluster(rows, state.labels, n_clusters)
    objective = [float(np.vdot(sums, centers))]
    for _ in range(max_iter):
        _fill_empty(rows, state, sums)
        lengths = np.linalg.norm(sums, axis=1)
        units = sums / np.where(lengths > 1e-12, lengths, 1.0)[:, None]
        before, centers = centers, np.where(lengths[:, None] > 1e-12, units, centers).astype(rows.dtype)
        objective.append(float(lengths.sum()))
        chords = np.linalg.norm(centers - before, axis=1)
        old = state.labels.copy()
        state.update(rows, centers, 2 * np.arcsin(np.clip(chords / 2, 0, 1)), slack)
        moved = np.flatnonzero(old != state.labels)
        if tol > 0 and (not moved.size or objective[-1] - objective[-2] <= tol * objective[-1]):
            break
        some = take_rows(rows, moved)
        # only what moved: late iterations move few objects
        sums += _sum_by_cluster(some, state.labels[moved], n_clusters) - _sum_by_cluster(some, old[moved], n_clusters)
    return SphereFit(state.labels, centers, objective)


@dataclass
class _Assignment:
    labels: np.ndarray
    own: np.ndarray  # upper bound of the angle to the own center
    others: np.ndarray  # lower bound of the angle to any other

    def update(self, rows: Any, centers: np.ndarray, turned: np.ndarray, slack: float) -> None:
        """Put rows to their nearest center, where these have turned by so much."""
        # triangle inequality (Hamerly 2010, on the sphere): another center is nearer by at most the largest turn of
        # those
        second, first = np.sort(np.append(turned, 0.0))[-2:]
        self.own += turned[self.labels]
        self.others -= np.where(turned[self.labels] == first, second, first)
        near = np.flatnonzero(self.own + slack >= self.others)
        some = rows if len(near) == rows.shape[0] else take_rows(rows, near)
        cosines = np.asarray(some @ np.ascontiguousarray(centers.T))
        self.labels[near] = cosines.argmax(axis=1)
        ordered = np.partition(np.column_stack([cosines, np.full(len(near), -1.0)]), -2, axis=1)
        self.others[near], self.own[near] = np.arccos(np.clip(ordered[:, -2:], -1, 1).astype(np.float64)).T


def _sum_by_cluster(rows: Any, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Sum the rows of each cluster (clusters x features), in double precision."""
    members = sparse.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))), (n_clusters, len(labels)))
    sums = members @ rows
    return sums.toarray() if sparse.issparse(sums) else np.asarray(sums)


def _fill_empty(rows: Any, state: _Assignment, sums: np.ndarray) -> None:
    """Give a cluster without objects the one that is worst off where it is."""
    sizes = np.bincount(state.labels, minlength=len(sums))
    for k in np.flatnonzero(sizes == 0):
        i = int(np.where(sizes[state.labels] > 1, state.own, -1.0).argmax())
        row = _sum_by_cluster(rows[[i]], np.zeros(1, dtype=np.int64), 1)[0]
        sums[state.labels[i]] -= row
        sums[k] += row
        sizes[state.labels[i]] -= 1
        sizes[k] += 1
        state.labels[i] = k
        state.own[i], state.others[i] = np.pi, 0.0  # unknown: it is looked at in the next iteration

"""Spherical k-means: clusters of objects by the angles between them, for sparse counts above all.

    labels    c_i = argmax_k <x_i, mu_k>
    centers   mu_k = s_k / |s_k|,   s_k = sum of the x_i with label k
    objective sum_i <x_i, mu_c_i> = sum_k |s_k|, which never falls but for rounding

Several views are one matrix: each view's rows have length 1, and so have all of them together. Sums are kept and only
what moved is added and taken, and bounds on angles spare the products of rows that cannot move
(`coview.kernels.spherical`), so that late sweeps cost next to nothing. The first centers are drawn as in k-means++:
each with probability 1 - the largest cosine to those already drawn, the best of a few candidates.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from coview.base import MultiViewEstimator
from coview.engines.threads import Team, balanced_chunks, thread_count
from coview.exceptions import ParameterError, ViewsError
from coview.inspection import SHARPNESS, Features, Inspection, softmax
from coview.kernels import spherical
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.messages import short
from coview.utils.parameters import ARRAY, MAPPING, one_of
from coview.validation import base_seed, check_enough_objects
from coview.views.arrays import frozen, unit_rows
from coview.views.views import Views

__all__ = ["DenseRows", "SparseRows", "SphericalKMeans", "sphere_sweeps", "spread_rows", "unit_side_by_side"]

SAMPLE = 100  # objects for each cluster among which the first centers are looked for
_SLACK = {"f": 1e-3, "d": 1e-7}  # how far the bounds must be apart: the arc cosine doubles the digits that are lost
_EMPTY = 1e-12  # length below which a sum has no direction


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
    n_init : int, default=5
        Number of starts; the one with the largest sum of cosines is kept.
    max_iter : int, default=100
        Largest number of sweeps of each start.
    tol : float, default=1e-6
        Stop when no object changes its cluster, or when the objective changes by less than this, relative to itself;
        0 runs exactly `max_iter` sweeps.
    <shared: n_jobs, random_state>

    Attributes
    ----------
    cluster_centers_ : dict of ndarray (n_clusters, n_features of the view)
        Centers by view; over all views together each has length 1.
    cluster_sums_ : dict of ndarray (n_clusters, n_features of the view)
        Sums of the objects of each cluster, from which `partial_fit` goes on.
    labels_ : ndarray (n_objects,)
        Cluster of each training object, or of each object of the last batch.
    history_ : dict of lists
        "objective": sum of the cosines after each sweep of the best start, which never falls; entry 0 is the start.
    n_iter_ : int
        Sweeps of the best start.
    <shared: fitted views>

    See Also
    --------
    SeededKMeansClassifier : classes from few labels, with the views scored apart.

    Notes
    -----
    Rows are scaled to length 1, in each view and together; centers have length 1 over all views. A view that an object
    lacks, or that is not given, counts as zeros, and an object without any feature goes to the first cluster. Bounds on
    the angles spare most products of late sweeps; the result is that of plain sweeps.

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
    cluster_sums_: dict[str, np.ndarray]

    _fitted_state = {
        "cluster_centers_": rules.by_view(rules.floats("clusters", "features of {view}")),
        "cluster_sums_": rules.by_view(rules.floats("clusters", "features of {view}")),
        "labels_": rules.integers("objects", below="clusters"),
        "history_": rules.optional(rules.history()),
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
        views = self._fit_views(X)
        rows = as_rows(unit_side_by_side(views), Team(thread_count(self.n_jobs)))
        seed = base_seed(self.random_state)
        best: SphereFit | None = None
        for restart in range(self.n_init if isinstance(self.init, str) else 1):
            centers = self._start(rows, views, np.random.default_rng([seed, restart]))
            end = sphere_sweeps(rows, centers, self.max_iter, float(self.tol))
            if best is None or end.objective[-1] > best.objective[-1]:
                best = end
        assert best is not None
        self._remember(best.sums, centers.dtype)
        self.labels_ = best.labels
        self.history_ = {"objective": best.objective}
        self.n_iter_ = len(best.objective) - 1
        return self

    def partial_fit(self, X: Any, y: Any = None) -> SphericalKMeans:
        """Update the centers with one batch; the first batch must have at least `n_clusters` objects."""
        fresh = "cluster_sums_" not in vars(self)
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
            centers = _columns(self.cluster_centers_.values()).astype(rows.matrix.dtype)
            sums = _columns(self.cluster_sums_.values()).astype(np.float64)
        labels = rows.cosines(centers).argmax(axis=1)
        rows.move(np.arange(len(views)), np.full(len(views), -1), labels, sums)
        self._remember(sums, centers.dtype, centers)
        self.labels_, self._object_ids = labels, self._ids_of(views)
        self.n_iter_ = 1 if fresh else self.n_iter_ + 1
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
        return replace(
            super()._inspect(),
            history=vars(self).get("history_", {}),
            _features=lambda view: Features(self.cluster_centers_[view], False, "center"),
            _memberships=lambda X: softmax(self._cosines(X), SHARPNESS),
            _predict=None,
            _embed=None,
        )

    # -- pieces

    @property
    def _n_features_out(self) -> int:
        return len(next(iter(self.cluster_centers_.values())))

    def _start(self, rows: Any, views: Views, rng: np.random.Generator) -> np.ndarray:
        """First centers as columns of length 1."""
        check_enough_objects(len(views), self.n_clusters)
        if not isinstance(self.init, str):
            return self._init_centers(views).astype(rows.matrix.dtype)
        if self.init == "random":
            return rows.take(rng.choice(len(views), self.n_clusters, replace=False))
        return rows.take(self._spread(rows, rng))

    def _spread(self, rows: Any, rng: np.random.Generator) -> np.ndarray:
        """Rows far from each other, among a sample where there are very many."""
        n, enough = rows.matrix.shape[0], SAMPLE * self.n_clusters
        if n <= enough:
            return spread_rows(rows, self.n_clusters, rng)
        sample = np.sort(rng.choice(n, enough, replace=False))
        return sample[spread_rows(as_rows(rows.matrix[sample], Team(1)), self.n_clusters, rng)]

    def _init_centers(self, views: Views) -> np.ndarray:
        by_view = self.init if isinstance(self.init, dict) else {self.view_names_[0]: self.init}
        parts = []
        for name, width in views.n_features.items():
            if name not in by_view:
                raise ValueError(f"init has no centers of view {name!r}. Pass an array for every view.")
            part = _as_numbers(name, by_view[name])
            if part.shape != (self.n_clusters, width):
                raise ValueError(f"init of view {name!r} must have shape {(self.n_clusters, width)}, got {part.shape}.")
            parts.append(part)
        columns = _columns(parts)
        return unit_columns(columns, columns)

    def _remember(self, sums: np.ndarray, dtype: Any, before: np.ndarray | None = None) -> None:
        centers = unit_columns(sums, np.zeros(sums.shape, dtype=dtype) if before is None else before)
        self.cluster_centers_ = self._by_view(centers)
        self.cluster_sums_ = self._by_view(sums)

    def _by_view(self, columns: np.ndarray) -> dict[str, np.ndarray]:
        ends = np.cumsum(list(self.n_features_by_view_.values()))[:-1]
        parts = zip(self.n_features_by_view_, np.split(columns, ends))
        return {name: np.ascontiguousarray(part.T) for name, part in parts}

    def _cosines(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "cluster_centers_")
        views = self._new_views(X)
        rows = as_rows(unit_side_by_side(views), Team(thread_count(self.n_jobs)))
        # centers of length 1 over all views, whichever are given: an object has one answer, that of the fit
        columns = _columns(self.cluster_centers_[name] for name in views.names)
        return rows.cosines(columns.astype(rows.matrix.dtype, copy=False))


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


def _as_numbers(view: str, centers: Any) -> np.ndarray:
    """Given centers of a view as finite numbers."""
    try:
        part = np.asarray(centers, dtype=np.float64)
    except (TypeError, ValueError):
        part = np.array([np.nan])
    if not np.isfinite(part).all():
        raise ParameterError(
            f"of view {view!r} must be an array of finite numbers, got {short(centers)}.", parameter="init"
        )
    return part


def _columns(by_view: Iterable[np.ndarray]) -> np.ndarray:
    """Centers (clusters x features) of all views as columns (features x clusters)."""
    return np.ascontiguousarray(np.hstack(list(by_view)).T)


# -- rows of length 1 and the sweeps over them


@dataclass(frozen=True)
class SphereFit:
    """Where the sweeps ended."""

    labels: np.ndarray
    sums: np.ndarray  # features x clusters
    objective: list[float]  # entry 0 is the start


class SparseRows:
    """Rows of length 1, compressed."""

    def __init__(self, matrix: Any, team: Team) -> None:
        self.matrix, self.team = matrix, team
        self.rough = np.dtype(np.float32)  # products are taken in single precision first
        self.parts = tuple(frozen(part) for part in (matrix.data, matrix.indices, matrix.indptr))
        self.chunks = balanced_chunks(matrix.indptr)

    def cosines(self, columns: np.ndarray) -> np.ndarray:
        """Products of all rows with columns (features x any number)."""
        values, indices, indptr = self.parts
        out = np.empty((self.matrix.shape[0], columns.shape[1]), dtype=columns.dtype)
        columns = frozen(columns)
        self.team.map(lambda i, j: spherical.project_rows(indptr, indices, values, columns, out, i, j), self.chunks)
        return out

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Some rows as dense columns (features x rows)."""
        some = self.matrix[rows]
        out = np.zeros((self.matrix.shape[1], len(rows)), dtype=some.dtype)
        np.add.at(out, (some.indices, np.repeat(np.arange(len(rows)), np.diff(some.indptr))), some.data)
        return out

    def assign(self, centers: Centers, turned: np.ndarray, state: _State) -> int:
        """Put rows to their nearest center; returns how many changed."""
        values, indices, indptr = self.parts
        far, farthest = _two_largest(turned)
        columns, rough, turned = frozen(centers.exact), frozen(centers.rough), frozen(turned)
        slack = _SLACK[centers.exact.dtype.char]
        loss = 0.0 if centers.rough is centers.exact else 2.0**-24

        def work(i: int, j: int) -> int:
            return spherical.assign_rows(
                *(indptr, indices, values, columns, rough, turned, far, farthest, slack, loss),
                *(state.labels, state.own, state.others, i, j),
            )

        return sum(self.team.map(work, self.chunks))

    def move(self, rows: np.ndarray, before: np.ndarray, after: np.ndarray, sums: np.ndarray) -> None:
        """Move rows between the sums of clusters."""
        values, indices, indptr = self.parts
        spherical.move_rows(indptr, indices, values, frozen(rows), frozen(before), frozen(after), sums)


class DenseRows:
    """Rows of length 1, dense."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix, self.team = matrix, Team(1)
        self.rough = matrix.dtype

    def cosines(self, columns: np.ndarray) -> np.ndarray:
        """Products of all rows with columns (features x any number)."""
        return self.matrix @ columns

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Some rows as columns (features x rows)."""
        return np.ascontiguousarray(self.matrix[rows].T)

    def assign(self, centers: Centers, turned: np.ndarray, state: _State) -> int:
        """Put rows to their nearest center; returns how many changed."""
        known = state.labels >= 0
        own = np.maximum(state.labels, 0)
        far, farthest = _two_largest(turned)
        state.own += np.where(known, turned[own], 0)
        state.others -= np.where(known, np.where(turned[own] == far, farthest, far), 0)
        rows = np.flatnonzero(~(known & (state.own + _SLACK[centers.exact.dtype.char] < state.others)))
        if not rows.size:
            return 0
        scores = (self.matrix if len(rows) == len(self.matrix) else self.matrix[rows]) @ centers.exact
        labels = scores.argmax(axis=1)
        best = np.take_along_axis(scores, labels[:, None], axis=1)[:, 0].astype(np.float64)
        np.put_along_axis(scores, labels[:, None], -2.0, axis=1)
        state.own[rows] = np.arccos(np.clip(best, -1, 1))
        state.others[rows] = np.arccos(np.clip(scores.max(axis=1).astype(np.float64), -1, 1))
        changed = int(np.count_nonzero(labels != state.labels[rows]))
        state.labels[rows] = labels
        return changed

    def move(self, rows: np.ndarray, before: np.ndarray, after: np.ndarray, sums: np.ndarray) -> None:
        """Move rows between the sums of clusters."""
        some = self.matrix[rows].astype(np.float64, copy=False)
        for sign, columns in ((-1.0, before), (1.0, after)):
            here = np.flatnonzero(columns >= 0)
            onto = (np.full(len(here), sign), (columns[here], here))
            sums += (sparse.csr_array(onto, shape=(sums.shape[1], len(rows))) @ some).T


class Centers:
    """Columns of length 1 (features x clusters), in the type of the rows and in the one that products start with."""

    def __init__(self, columns: np.ndarray, rough: np.dtype[Any], team: Team) -> None:
        self.exact = np.array(columns, order="C")
        self.rough = self.exact if self.exact.dtype == rough else self.exact.astype(rough)
        self.team = team
        ends = np.linspace(0, len(columns), 1 + max(1, min(16, columns.size // 65_536)), dtype=int)
        self.chunks = list(pairwise(ends.tolist()))  # by the size alone, never by the threads

    def turn(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Turn to the directions of sums, but for empty ones; returns the lengths of sums and the angles turned by."""
        total = frozen(sums)
        squares = self.team.map(lambda i, j: spherical.column_squares(total, i, j), self.chunks)
        lengths = np.sqrt(np.sum(squares, axis=0))
        scale = np.divide(1.0, lengths, out=np.zeros(len(lengths)), where=lengths > _EMPTY)

        def work(i: int, j: int) -> np.ndarray:
            return spherical.turn_columns(total, scale, self.exact, self.rough, i, j)

        chords = np.sqrt(np.sum(self.team.map(work, self.chunks), axis=0))
        return lengths, 2 * np.arcsin(np.clip(chords / 2, 0, 1))


@dataclass
class _State:
    labels: np.ndarray
    own: np.ndarray  # upper bound of the angle to the own center
    others: np.ndarray  # lower bound of the angle to any other


def as_rows(matrix: Any, team: Team) -> SparseRows | DenseRows:
    """Rows of length 1 as the sweeps take them."""
    return SparseRows(matrix, team) if sparse.issparse(matrix) else DenseRows(matrix)


def spread_rows(rows: Any, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of rows to start from, far from each other: k-means++ on the sphere."""
    n = rows.matrix.shape[0]
    n_tries = 2 + int(np.log(n_clusters))
    chosen = [int(rng.integers(n))]
    nearest = rows.cosines(rows.take(np.array(chosen)))[:, 0].astype(np.float64)
    for _ in range(n_clusters - 1):
        gap = np.maximum(1.0 - nearest, 0.0)
        gap[gap < 1e-12] = 0.0
        gap[chosen] = 0.0  # an empty row is far from everything, itself included
        if not gap.any():  # fewer different rows than clusters
            free = np.setdiff1d(np.arange(n), chosen)
            chosen.append(int(rng.choice(free)) if free.size else chosen[-1])
            continue
        cumulated = np.cumsum(gap)
        tries = np.minimum(np.searchsorted(cumulated, rng.random(n_tries) * cumulated[-1], side="right"), n - 1)
        reached = np.maximum(nearest[:, None], rows.cosines(rows.take(tries)))
        best = int(reached.sum(axis=0, dtype=np.float64).argmax())
        chosen.append(int(tries[best]))
        nearest = reached[:, best]
    return np.array(chosen)


def sphere_sweeps(rows: Any, centers: np.ndarray, max_iter: int, tol: float) -> SphereFit:
    """Sweep until no label changes or the objective hardly does; `tol` = 0 makes exactly `max_iter` sweeps.

    Parameters
    ----------
    rows : SparseRows or DenseRows
        The objects.
    centers : ndarray (n_features, n_clusters)
        Where to start, columns of length 1, in the type of the rows.
    max_iter, tol : int, float
        When to stop.
    """
    n, n_clusters = rows.matrix.shape[0], centers.shape[1]
    state = _State(np.full(n, -1, dtype=np.int64), np.zeros(n), np.full(n, np.pi))
    sums, labels = np.zeros(centers.shape), np.full(n, -1, dtype=np.int64)
    columns = Centers(centers, rows.rough, rows.team)
    rows.assign(columns, np.zeros(n_clusters), state)
    objective: list[float] = []
    for _ in range(max_iter):
        moved = np.flatnonzero(labels != state.labels)
        if moved.size:
            rows.move(moved, labels[moved], state.labels[moved], sums)
            labels = state.labels.copy()
        if not objective:
            objective.append(float(np.vdot(sums, centers)))
        _fill_empty(rows, state, labels, sums)
        lengths, turned = columns.turn(sums)
        objective.append(float(lengths.sum()))
        changed = rows.assign(columns, turned, state)
        if tol > 0 and (not changed or objective[-1] - objective[-2] <= tol * objective[-1]):
            break
    return SphereFit(state.labels, sums, objective)


def unit_columns(sums: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Columns of length 1 in the type of `before`; an empty column stays as it was before.

    Examples
    --------
    >>> import numpy as np
    >>> unit_columns(np.array([[3.0, 0.0], [4.0, 0.0]]), np.eye(2))
    array([[0.6, 0. ],
           [0.8, 1. ]])
    """
    length = np.linalg.norm(sums, axis=0)
    empty = length <= _EMPTY
    units = (sums / np.where(empty, 1.0, length)).astype(before.dtype)
    units[:, empty] = before[:, empty]
    return units


def _fill_empty(rows: Any, state: _State, labels: np.ndarray, sums: np.ndarray) -> None:
    """Give a cluster without objects the one that is worst off where it is."""
    sizes = np.bincount(labels, minlength=sums.shape[1])
    for k in np.flatnonzero(sizes == 0):
        crowded = sizes[labels] > 1
        if not crowded.any():
            return
        i = int(np.where(crowded, state.own, -1.0).argmax())
        rows.move(np.array([i]), labels[[i]], np.array([k]), sums)
        sizes[labels[i]] -= 1
        sizes[k] += 1
        labels[i] = state.labels[i] = k
        state.own[i], state.others[i] = 0.0, 0.0  # unknown: it is looked at in the next sweep


def _two_largest(turned: np.ndarray) -> tuple[float, float]:
    order = np.sort(turned)
    return float(order[-1]), float(order[-2]) if len(order) > 1 else 0.0

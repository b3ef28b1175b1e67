"""Clusters as distributions over the features of each view: the simplest of the PLSA family, a member of a consensus.

    p(f | d, v) = sum_z p(z|d) p(f|z,v)

With R_v = X_v / (A P_v^T) on the non-zeros, one sweep of EM is A <- rows(A * sum_v R_v P_v), and then
P_v <- columns(P_v * R_v^T A). Every view of an object has length 1, so that neither a long text nor a wordy view drowns
the others. Several starts go a few sweeps, and the likeliest goes on. `MultiViewPLSA` has topics of their own, engines,
and more; a family does not use another, and a consensus needs no more than this.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from coview.base import MultiViewEstimator
from coview.clustering.consensus_pattern import several_memberships, side_by_side_memberships
from coview.engines.select import select_engine
from coview.validation import base_seed, check_count
from coview.views.views import Views

__all__ = ["ProfileMixture"]

MANY = 20  # clusters above which a consensus of k-means by view takes long, and some of any start are right

_ROW_FLOOR, _FLOOR = 1e-12, 1e-15
_SOFT = 1e-3  # share of a start that is spread evenly: an exact one-hot row is a fixed point
_HEAT = 5  # sweeps of every start
_FOLD = 30  # sweeps that place new objects


class ProfileMixture(ClusterMixin, MultiViewEstimator):
    """Clusters by one mixture per object and one profile per cluster and view; a part of `ConsensusClustering`.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_tries : int, default=6
        Number of starts: two thirds of them from a consensus of k-means by view, the others from k-means of all views;
        with more than 20 clusters all from the latter.
    max_iter : int, default=60
        Sweeps of the likeliest start.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the starts.

    Attributes
    ----------
    labels_ : ndarray (n_objects,)
        Likeliest cluster of each training object.
    profiles_ : dict of ndarray (n_features of the view, n_clusters)
        ``p(feature | cluster, view)``; columns sum to one.
    history_ : dict of lists
        "objective" (log-likelihood) before each sweep of the likeliest start.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import Views
    >>> X = Views(words=np.array([[3, 0], [2, 0], [0, 3], [0, 2]]), links=np.array([[1, 0], [2, 1], [0, 1], [1, 2]]))
    >>> model = ProfileMixture(2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1]), bool(model.labels_[0] == model.labels_[2])
    (True, False)
    """

    def __init__(self, n_clusters: int = 8, *, n_tries: int = 6, max_iter: int = 60, random_state: Any = None) -> None:
        self.n_clusters = n_clusters
        self.n_tries = n_tries
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> ProfileMixture:
        """Cluster the objects; y is ignored."""
        n_clusters, n_tries = check_count("n_clusters", self.n_clusters), check_count("n_tries", self.n_tries)
        views = self._fit_views(X)
        seed = base_seed(self.random_state)
        em = _Mixture(views)
        best: tuple[float, np.ndarray, dict[str, np.ndarray]] | None = None
        cut = -(-2 * n_tries // 3) if n_clusters <= MANY else 0
        agreed = several_memberships(views, n_clusters, range(seed, seed + cut), rough=True)
        for start in [*agreed, *side_by_side_memberships(views, n_clusters, range(seed + cut, seed + n_tries))]:
            rows, profiles = em.start(start)
            for _ in range(_HEAT):
                rows, profiles, _ = em.sweep(rows, profiles)
            reached = em.likelihood(rows, profiles)
            if best is None or reached > best[0]:
                best = (reached, rows, profiles)
        assert best is not None
        _, rows, profiles = best
        objective = []
        for _ in range(check_count("max_iter", self.max_iter)):
            rows, profiles, likelihood = em.sweep(rows, profiles)
            objective.append(likelihood)
        self.labels_ = rows.argmax(axis=1)
        self.profiles_ = profiles
        self.history_ = {"objective": objective}
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Likeliest cluster of each object, from some or all of the fitted views."""
        check_is_fitted(self, "profiles_")
        views = self._new_views(X)
        em = _Mixture(views)
        profiles = {name: self.profiles_[name] for name in views.names}
        rows = np.full((len(views), next(iter(profiles.values())).shape[1]), 1.0 / self.n_clusters, dtype=em.dtype)
        for _ in range(_FOLD):
            rows, _ = em.move_rows(rows, profiles)
        return rows.argmax(axis=1)


class _Mixture:
    """Sweeps over views whose rows have length 1 in every view."""

    def __init__(self, views: Views) -> None:
        self.engine = select_engine("cpu")
        self.dtype = next(views.values()).dtype
        self.parts = {name: normalize(matrix) for name, matrix in views.items()}
        self.handles = {name: self.engine.prepare(part) for name, part in self.parts.items()}

    def start(self, memberships: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        rows = ((1 - _SOFT) * memberships + _SOFT / memberships.shape[1]).astype(self.dtype)
        profiles = {name: np.maximum(np.asarray(part.T @ rows), _FLOOR) for name, part in self.parts.items()}
        return rows, {name: part / part.sum(axis=0) for name, part in profiles.items()}

    def move_rows(self, rows: np.ndarray, profiles: dict[str, np.ndarray]) -> tuple[np.ndarray, float]:
        pull, likelihood = np.zeros_like(rows), 0.0
        for name, handle in self.handles.items():
            part, reached = self.engine.ratio_rows(handle, rows, profiles[name])
            pull += part
            likelihood += float(reached)
        return self.engine.row_shares(rows, pull, _ROW_FLOOR), likelihood

    def sweep(
        self, rows: np.ndarray, profiles: dict[str, np.ndarray]
    ) -> tuple[np.ndarray, dict[str, np.ndarray], float]:
        rows, likelihood = self.move_rows(rows, profiles)
        moved = {}
        for name, handle in self.handles.items():
            sums = {name: self.engine.ratio_features(handle, rows, profiles[name], None)}
            moved.update(self.engine.column_shares({name: profiles[name]}, sums, _FLOOR))
        return rows, moved, likelihood

    def likelihood(self, rows: np.ndarray, profiles: dict[str, np.ndarray]) -> float:
        return float(sum(self.engine.log_likelihood(h, rows, profiles[n]).sum() for n, h in self.handles.items()))

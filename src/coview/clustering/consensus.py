"""Consensus clustering (MVC): each view is clustered by itself, and one common pattern explains all of them.

The formulas are in `consensus_pattern.py`, since other models start from it too. With `estimators="auto"` the
clusterings are those of different methods (`members.py`), each with the weight that `evidence.py` gives it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from coview.auto.ensemble import Ensemble, as_members, fit_ensemble
from coview.base import MultiViewEstimator
from coview.clustering.consensus_pattern import consensus, default_clusterer, fold_in_consensus
from coview.exceptions import ViewsError
from coview.inspection import Features, Inspection, Training, conventional_weights, one_hot
from coview.validation import base_seed, check_count, per_view
from coview.views.arrays import take_rows
from coview.views.matrices import for_sklearn, unit_rows
from coview.views.views import Views

__all__ = ["ConsensusClustering"]


def _can_predict(self: ConsensusClustering) -> bool:
    if hasattr(self, "estimators_"):
        return all(hasattr(estimator, "predict") for estimator in self.estimators_.values())
    if self.estimators is not None and not isinstance(self.estimators, str):
        return all(hasattr(estimator, "predict") for _, estimator in self.estimators)
    return self.estimator is None or hasattr(self.estimator, "predict")


class ConsensusClustering(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, MultiViewEstimator):
    """One clustering out of several, one per view or one per method, by generalized Kullback-Leibler divergence.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters of the consensus, and of every view where `estimator` is None.
    estimator : clusterer or None, default=None
        What clusters one view, as it is given; its own number of clusters may differ from `n_clusters`. Its label -1
        (noise) counts as "no opinion". None is k-means on rows of unit length.
    estimators : None, "auto" or list of (name, clusterer), default=None
        What is agreed on: None is one clusterer per view, see `estimator`. "auto" fits different methods to all views
        (graphs, angles, correlations, topics) and weighs or drops each by how well its clusters are told from the
        views, by centroids and by neighbors, and by their stability; no labels are used. A list names clusterers of
        all views, weighed likewise.
    max_iter : int, default=300
        Most updates of the consensus.
    tol : float, default=1e-7
        Stop when the divergence changes by less than this, relative to itself; 0 makes exactly `max_iter` updates.
    n_init : int, default=10
        Number of starts of the consensus; the one that ends with the least divergence is kept. With `estimators`,
        every member that is kept is a start instead.
    softness : float, default=0.01
        Share of each object's cluster in a view that is spread over all clusters of that view.
    view_weights : dict or None, default=None
        Weight of each view; 1 for views that are not named.
    time_budget : float or None, default=None
        With `estimators`, seconds after which no further member is begun; those that were fitted decide.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the clusterers and of the starts.
    verbose : int, default=0
        1 says, on standard error, what member is being fitted and what became of it.

    Attributes
    ----------
    labels_ : ndarray (n_objects,)
        Cluster of each training object.
    memberships_ : ndarray (n_objects, n_clusters)
        Memberships of the training objects; rows sum to one.
    cluster_mapping_ : dict of ndarray (n_clusters, clusters of the view)
        Share of each view's clusters in each cluster of the consensus, by view or by member; rows sum to one.
    labels_by_view_ : dict of ndarray (n_objects,)
        Cluster of each training object by each view alone, -1 where it lacks the view.
    estimators_ : dict
        Fitted clusterer of each view, or of each member that was kept.
    members_ : dict of lists
        With `estimators`, a table: "name", "weight", "telling", "stability", "agreement" (which is not
        weighed) and "dropped" (why, or None) of each member.
    member_labels_ : dict of ndarray (n_objects,)
        With `estimators`, the clusters of the training objects by each member that was fitted.
    weights_ : dict
        Weight of each view, or of each member that was kept.
    softness_ : float
        Softness that was fitted with.
    history_ : dict of lists
        "objective": minus the divergence after each update, which never falls; entry 0 is the start.
    n_iter_ : int
        Updates of the best start.

    Notes
    -----
    An object that lacks a view is placed by the others; one without any view belongs to all clusters alike. New objects
    are placed by their clusters in each given view, if the clusterer can `predict`.

    References
    ----------
    B. Long, P. S. Yu, Z. Zhang: A general model for multiple view unsupervised learning. SDM 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import Views
    >>> from coview import ConsensusClustering
    >>> X = Views(words=np.array([[3, 0], [2, 0], [0, 3], [0, 2]]), links=np.array([[1, 0], [2, 1], [0, 1], [1, 2]]))
    >>> model = ConsensusClustering(2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1]), bool(model.labels_[0] == model.labels_[2])
    (True, False)
    >>> bool((model.predict(X.select("links")) == model.labels_).all())
    True
    """

    _models_counts = False

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        estimator: Any = None,
        estimators: Any = None,
        max_iter: int = 300,
        tol: float = 1e-7,
        n_init: int = 10,
        softness: float = 0.01,
        view_weights: Any = None,
        time_budget: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.estimator = estimator
        self.estimators = estimators
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.softness = softness
        self.view_weights = view_weights
        self.time_budget = time_budget
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> ConsensusClustering:
        """Cluster each view, then find the consensus; y is ignored."""
        self._check_parameters()
        views = self._fit_views(X)
        if len(views) < self.n_clusters:
            raise ValueError(f"n_samples={len(views)} should be >= n_clusters={self.n_clusters}.")
        seed = base_seed(self.random_state)
        for name in ("labels_by_view_", "unit_rows_", "members_", "member_labels_", "preparation_", "member_views_"):
            self.__dict__.pop(name, None)
        labels, weights = self._fit_members(views, seed) if self.estimators is not None else self._fit_each(views, seed)
        found = consensus(
            list(labels.values()),
            self.n_clusters,
            seed=seed,
            weights=weights,
            softness=self.softness,
            max_iter=self.max_iter,
            tol=self.tol,
            # members are few and good: each is a start, and random ones would only cost time
            n_init=self.n_init if self.estimators is None else len(labels),
        )
        self.cluster_mapping_ = dict(zip(labels, found.mappings))
        self.weights_ = dict(zip(labels, map(float, weights)))
        self.softness_ = float(self.softness)
        self.memberships_ = found.memberships.astype(next(views.values()).dtype)
        self.labels_ = self.memberships_.argmax(axis=1)
        self.history_ = {"objective": found.objective}
        self.n_iter_ = len(found.objective) - 1
        return self

    @available_if(_can_predict)
    def predict(self, X: Any) -> np.ndarray:
        """Cluster of each object, from some or all of the fitted views."""
        return self._memberships(X).argmax(axis=1)

    @available_if(_can_predict)
    def transform(self, X: Any) -> np.ndarray:
        """Memberships of objects (n_objects, n_clusters), from some or all of the fitted views."""
        return self._memberships(X)

    def _inspect(self) -> Inspection:
        """Answer `inspect`: clusters of the consensus are shares of each view's own clusters."""
        count = self.memberships_.shape[1]
        by_view = {
            view: one_hot(labels, self.cluster_mapping_[view].shape[1]) @ self.cluster_mapping_[view].T
            for view, labels in getattr(self, "labels_by_view_", {}).items()
        }

        def features(view: str) -> Features | None:
            found = conventional_weights(self.estimators_[view]) if view in by_view else None
            if found is None or found.weights.shape[1] != self.n_features_by_view_[view]:
                return None
            return Features(self.cluster_mapping_[view] @ found.weights, found.probabilities, "clusterer of the view")

        return Inspection(
            self,
            "cluster",
            [str(k) for k in range(count)],
            list(range(count)),
            self._view_inputs(),
            Training(self.memberships_, by_view, self.labels_),
            view_weights=self._weights() if by_view else {},
            history=self.history_,
            candidates=getattr(self, "members_", {}),
            probabilities=True,
            _features=features,
            _memberships=self._memberships if _can_predict(self) else None,
        )

    # -- pieces

    @property
    def _n_features_out(self) -> int:
        return self.memberships_.shape[1]

    def _memberships(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "cluster_mapping_")
        views = self._new_views(X)
        if hasattr(self, "member_views_"):  # what was fitted, whatever the parameters say by now
            kept = Ensemble(self.estimators_, self.member_views_, self.preparation_).predict(views)
        else:
            kept = {
                name: np.where(views.present[:, v], self.estimators_[name].predict(self._prepared(matrix)), -1)
                for v, (name, matrix) in enumerate(views.items())
            }
        chosen = np.array([self._weights()[name] for name in kept])
        mappings = [self.cluster_mapping_[name] for name in kept]
        labels = [np.where(found < part.shape[1], found, -1) for found, part in zip(kept.values(), mappings)]
        softness = getattr(self, "softness_", self.softness)  # files of older versions lack it
        memberships = fold_in_consensus(labels, mappings, weights=chosen, softness=softness)
        return memberships.astype(next(views.values()).dtype)

    def _weights(self) -> dict[str, float]:
        """Weights of what was agreed on, as they were fitted."""
        if hasattr(self, "weights_"):
            return self.weights_
        if hasattr(self, "members_"):  # a file of an older version
            return dict(zip(self.members_["name"], self.members_["weight"]))
        return dict(zip(self.view_names_, per_view("view_weights", self.view_weights, self.view_names_)))

    def _fit_each(self, views: Views, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """One clusterer per view."""
        weights = per_view("view_weights", self.view_weights, self.view_names_)
        self.estimators_: dict[str, Any] = {}
        self.unit_rows_ = self.estimator is None
        self.labels_by_view_: dict[str, np.ndarray] = {}
        for v, name in enumerate(views.names):
            self.estimators_[name], self.labels_by_view_[name] = self._cluster(name, views, v, seed)
        return self.labels_by_view_, weights

    def _fit_members(self, views: Views, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Different clusterers of all views, weighed by evidence."""
        if self.estimator is not None:
            raise ValueError("estimator clusters each view and estimators all of them: give one of the two.")
        if self.view_weights is not None:
            raise ValueError("view_weights weigh clusterings of single views; members get their weights by evidence.")
        members, skipped = as_members(self.estimators, views, self.n_clusters, seed)
        ensemble, table, labels = fit_ensemble(
            views, members, skipped, self.n_clusters, seed, verbose=bool(self.verbose), time_budget=self.time_budget
        )
        self.estimators_, self.member_views_, self.preparation_ = (
            ensemble.estimators,
            ensemble.views,
            ensemble.preparation,
        )
        self.members_, self.member_labels_ = table, labels
        weights = dict(zip(table["name"], table["weight"]))
        kept = {name: labels[name] for name in self.estimators_}
        return kept, np.array([weights[name] for name in kept])

    def _check_parameters(self) -> None:
        for name in ("n_clusters", "max_iter", "n_init"):
            check_count(name, getattr(self, name))
        if not 0 < self.softness < 1:
            raise ValueError(f"softness must lie between 0 and 1, got {self.softness!r}.")
        if self.time_budget is not None and not self.time_budget > 0:
            raise ValueError(f"time_budget must be a positive number of seconds or None, got {self.time_budget!r}.")
        if not self.tol >= 0:
            raise ValueError(f"tol must be a number of at least 0, got {self.tol!r}.")

    def _prepared(self, matrix: Any) -> Any:
        as_fitted = getattr(self, "unit_rows_", self.estimator is None)  # files of older versions lack it
        return unit_rows(matrix) if as_fitted else for_sklearn(matrix)

    def _cluster(self, name: str, views: Views, v: int, seed: int) -> tuple[Any, np.ndarray]:
        """Fitted clusterer of one view, and its labels for all objects (-1 where they lack the view)."""
        have = np.flatnonzero(views.present[:, v])
        if not have.size:
            raise ViewsError(f"No object has view {name!r}, so that it cannot be clustered. Drop it.")
        rows = self._prepared(views[name] if len(have) == len(views) else take_rows(views[name], have))
        if self.estimator is None:
            model = default_clusterer(min(self.n_clusters, rows.shape[0]), seed)
        else:
            model = clone(self.estimator)
            if model.get_params().get("random_state", seed) is None:
                model.set_params(random_state=seed)
        if not hasattr(model, "fit_predict"):
            raise TypeError(f"estimator must be a clusterer with fit_predict, got {model!r}.")
        labels = np.full(len(views), -1, dtype=np.int64)
        labels[have] = model.fit_predict(rows)
        return model, np.maximum(labels, -1)

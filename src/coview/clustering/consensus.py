"""Consensus clustering (MVC): each view is clustered by itself, and one common pattern explains all of them.

Consensus (Long, Yu and Zhang 2008): the softened clusters of every view, A_v (objects x its clusters), are explained by
one pattern B (objects x clusters) and a mapping P_v (clusters x its clusters) per view:

    minimize sum_v D(A_v || B P_v),     D(A || C) = sum A log(A / C) - A + C

Rows of A_v, B and P_v sum to one, so B is read as memberships and a view that an object lacks just drops its term.
With R_v = A_v / (B P_v), the updates B <- rows(B * sum_v R_v P_v^T) and P_v <- rows(P_v * B^T R_v) never raise it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import xlogy
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, clone
from sklearn.cluster import KMeans
from sklearn.utils.metaestimators import available_if

from coview.base import MultiViewEstimator
from coview.engines.held import HeldViews
from coview.engines.loop import NO_DEADLINE, Deadline
from coview.engines.protocol import few_threads, floating_type
from coview.exceptions import ViewsError
from coview.inspection import Features, Inspection, Structure, Training, conventional_weights, numbered, one_hot
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.inner import asking, fitting
from coview.utils.parameters import NONE, object_with
from coview.utils.progress import counted
from coview.validation import base_seed, check_enough_objects, per_view
from coview.views.arrays import for_sklearn, take_rows, unit_rows
from coview.views.views import Views

__all__ = [
    "BaseConsensus",
    "Consensus",
    "ConsensusClustering",
    "cluster_side_by_side",
    "consensus",
    "fold_in_consensus",
    "make_memberships",
]

SOFTNESS = 0.01  # share of every one-hot row that is spread over all clusters, so that divergences are finite
FLOOR = 1e-12  # of a share that is divided by or has a logarithm
HEAT = 20  # updates of each start before the best one goes on alone: then it is clear which one is ahead


@dataclass(frozen=True)
class Consensus:
    """A common clustering of several."""

    memberships: np.ndarray  # objects x clusters, rows sum to one
    mappings: list[np.ndarray]  # clusters x clusters of the view, rows sum to one
    objective: list[float]  # minus the divergence, from the start on; never falls


def make_memberships(
    views: Views,
    n_clusters: int,
    seeds: Iterable[int],
    deadline: Deadline = NO_DEADLINE,
    held: HeldViews | None = None,
) -> Iterator[np.ndarray]:
    """Yield one consensus of k-means by view for each seed; k-means runs where the views are `held`, or here.

    They are rough: k-means has one start, and the consensus starts from the views' own clusterings alone, which is
    quick and makes them different from each other. An object without any view belongs to all clusters alike.
    """
    held = held or HeldViews.here(views)
    rows = {}
    for v, part in enumerate(held.handles.values()):
        have = views.present[:, v]
        if have.any():
            rows[v] = held.ops.unit_rows(part if have.all() else held.ops.take(part, np.flatnonzero(have)))
    for seed in seeds:
        labels = [np.full(len(views), -1) for _ in views.names]
        for v, part in rows.items():
            labels[v][views.present[:, v]] = held.ops.kmeans_labels([part], min(n_clusters, part.shape[0]), seed)
        n_init = min(len(labels), 10)
        yield consensus(labels, n_clusters, seed=seed, n_init=n_init, tol=1e-5, deadline=deadline).memberships


def cluster_side_by_side(
    views: Views, n_clusters: int, seeds: Iterable[int], held: HeldViews | None = None
) -> Iterator[np.ndarray]:
    """Yield, for each seed, memberships by one start of k-means on the unit-length rows of all views side by side."""
    held = held or HeldViews.here(views)
    known = views.present.any(axis=1)
    there = np.flatnonzero(known)
    parts = [held.ops.unit_rows(part) for part in held.handles.values()]
    parts = parts if known.all() else [held.ops.take(part, there) for part in parts]
    for seed in seeds:
        labels = np.full(len(views), -1)
        if there.size:
            labels[known] = held.ops.kmeans_labels(parts, min(n_clusters, len(there)), seed)
        memberships = soften_indicators(labels, n_clusters)
        memberships[~known] = 1.0 / n_clusters
        yield memberships


def soften_indicators(labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """One-hot rows mixed with the uniform distribution; rows of label -1 are all zero."""
    return (labels >= 0)[:, None] * (SOFTNESS / n_clusters) + (1 - SOFTNESS) * one_hot(labels, n_clusters)


def consensus(
    labels: Sequence[np.ndarray],
    n_clusters: int,
    *,
    seed: int,
    weights: Sequence[float] | np.ndarray | None = None,
    max_iter: int = 300,
    tol: float = 1e-7,
    n_init: int = 10,
    deadline: Deadline = NO_DEADLINE,
    dtype: Any = np.float64,
) -> Consensus:
    """Common pattern of several clusterings of the same objects; label -1 means that an object has none there.

    Objects with the same labels in every view have the same row in every A_v, so the work is done once for each such
    group. The first starts are the views' own clusterings where they have `n_clusters` clusters, the others random.
    Only the start that is ahead after some updates is followed to its end. After the deadline no further start is made,
    and no further update.
    """
    groups, member, sizes = _find_equal_rows(labels)
    widths = [max(int(column.max()) + 1, 1) for column in groups.T]
    parts = [soften_indicators(column, width) for column, width in zip(groups.T, widths)]
    heft = np.ones(len(parts)) if weights is None else np.asarray(weights, dtype=np.float64)
    own = [part for part, width in zip(parts, widths) if width == n_clusters]
    search = _PatternUpdates(_SideBySide.of(parts, heft), sizes.astype(np.float64), tol)
    heat = min(HEAT, max_iter)
    best: _Pattern | None = None
    for restart in counted(range(n_init), "consensus", n_init):
        if best is not None and deadline.is_over():
            break
        rng = np.random.default_rng([seed, restart])
        rows = rng.gamma(1.0, size=(len(groups), n_clusters))
        if restart < len(own):  # not so near to one-hot that it could not move
            rows = own[restart] + 0.3 * rows / rows.sum(axis=1, keepdims=True)
        end = search.go_on(search.start(_normalize_rows(rows)), heat, deadline)
        if best is None or end.objective[-1] > best.objective[-1]:
            best = end
    assert best is not None
    if not best.at_rest:
        best = search.go_on(best, max_iter - heat, deadline)
    mappings = np.split(best.mapping, np.cumsum(widths)[:-1], axis=1)
    if deadline.is_over():
        return Consensus(best.rows.astype(dtype)[member], mappings, best.objective)
    memberships = fold_in_consensus(labels, mappings, weights=weights, deadline=deadline, dtype=dtype)
    return Consensus(memberships, mappings, best.objective)


def fold_in_consensus(
    labels: Sequence[np.ndarray],
    mappings: Sequence[np.ndarray],
    *,
    weights: Sequence[float] | np.ndarray | None = None,
    max_iter: int = 300,
    tol: float = 1e-9,
    deadline: Deadline = NO_DEADLINE,
    dtype: Any = np.float64,
) -> np.ndarray:
    """Memberships of objects whose clusters in some views are known, the mappings being fixed.

    The problem of one object is convex, so that its answer depends neither on a start nor on the other objects. After
    the deadline they stay where they are.
    """
    groups, member, _ = _find_equal_rows(labels)
    parts = [soften_indicators(column, mapping.shape[1]) for column, mapping in zip(groups.T, mappings)]
    heft = np.ones(len(parts)) if weights is None else np.asarray(weights, dtype=np.float64)
    pattern = np.full((len(groups), len(mappings[0])), 1.0 / len(mappings[0]))
    moving = np.arange(len(groups))
    mapping = np.hstack(mappings)
    here, there = pattern, _SideBySide.of(parts, heft).weighed
    for _ in range(max_iter):
        moved = _move_pattern(there, here, mapping, here @ mapping)
        change = np.abs(moved - here).max(axis=1)
        pattern[moving] = here = moved
        # each object is a problem of its own: those that are solved need no further updates
        still = change > tol
        if not still.all():  # the others are there
            moving, here, there = moving[still], here[still], there[still]
        if not moving.size or deadline.is_over():
            break
    return pattern.astype(dtype)[member]


def _find_equal_rows(labels: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct rows of labels (-1 and more) side by side, which of them each object has, and how many have each.

    Examples
    --------
    >>> groups, member, sizes = _find_equal_rows([np.array([1, 0, 1]), np.array([-1, 2, -1])])
    >>> groups.tolist(), member.tolist(), sizes.tolist()
    ([[0, 2], [1, -1]], [1, 0, 1], [1, 2])
    """
    codes = np.zeros(len(labels[0]), dtype=np.int64)
    for column in labels:
        # renumbered after each column, or the product of all numbers of clusters would overflow
        codes = np.unique(codes * (int(column.max(initial=-1)) + 2) + column, return_inverse=True)[1]
    _, first, member, sizes = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
    return np.column_stack(labels)[first], member, sizes


@dataclass(frozen=True)
class _SideBySide:
    """Softened clusters of all views as one matrix: a product for all of them costs little more than for one."""

    clusters: np.ndarray  # groups of objects x clusters of all views
    weighed: np.ndarray  # the same times the weight of the view
    widths: np.ndarray  # clusters of each view

    @classmethod
    def of(cls, parts: Sequence[np.ndarray], heft: np.ndarray) -> _SideBySide:
        widths = np.array([part.shape[1] for part in parts])
        clusters = np.hstack(parts)
        return cls(clusters, clusters * np.repeat(heft, widths), widths)

    def shares(self, mapping: np.ndarray) -> np.ndarray:
        """Rows divided by their sums in each view."""
        return np.hstack([_normalize_rows(part) for part in np.split(mapping, np.cumsum(self.widths)[:-1], axis=1)])


@dataclass
class _Pattern:
    """Where one start stands; mappings of all views are side by side, `model` is the product of pattern and mapping."""

    rows: np.ndarray
    mapping: np.ndarray
    model: np.ndarray
    objective: list[float]
    at_rest: bool = False


class _PatternUpdates:
    """The updates of one problem: softened clusters of groups of objects by view, sizes of the groups."""

    def __init__(self, parts: _SideBySide, sizes: np.ndarray, tol: float) -> None:
        self.parts, self.tol = parts, tol
        self.counts = parts.clusters * sizes[:, None]
        self.weighed = parts.weighed * sizes[:, None]
        # what the divergence is measured from: the objective is 0 where the model equals the clusters
        self.least = float(xlogy(self.weighed, parts.clusters).sum())

    def start(self, rows: np.ndarray) -> _Pattern:
        mapping = self.parts.shares(rows.T @ self.counts)
        model = rows @ mapping
        return _Pattern(rows, mapping, model, [self._objective(model)])

    def go_on(self, at: _Pattern, updates: int, deadline: Deadline) -> _Pattern:
        for _ in range(updates):
            if deadline.is_over():
                break
            rows = _move_pattern(self.parts.weighed, at.rows, at.mapping, at.model)
            # with the new rows, not the old ones: alternating updates never raise the divergence
            mapping = self.parts.shares(at.mapping * (rows.T @ (self.counts / np.maximum(rows @ at.mapping, FLOOR))))
            model = rows @ mapping
            objective = self._objective(model)
            before = at.objective[-1]
            if objective >= before:  # else rounding: it is as good as it gets
                at.rows, at.mapping, at.model = rows, mapping, model
            at.objective.append(max(objective, before))
            if self.tol > 0 and at.objective[-1] - before <= self.tol * max(abs(before), FLOOR):
                at.at_rest = True
                break
        return at

    def _objective(self, model: np.ndarray) -> float:
        """Minus the divergence; the sums of A and of its model are the same, since their rows sum to one."""
        return float(np.vdot(self.weighed, np.log(np.maximum(model, FLOOR)))) - self.least


def _move_pattern(weighed: np.ndarray, rows: np.ndarray, mapping: np.ndarray, model: np.ndarray) -> np.ndarray:
    return _normalize_rows(rows * ((weighed / np.maximum(model, FLOOR)) @ mapping.T))


def _normalize_rows(array: np.ndarray) -> np.ndarray:
    """Rows divided by their sums; a row that sums to zero becomes uniform."""
    total = array.sum(axis=1, keepdims=True)
    return np.divide(array, total, out=np.full(array.shape, 1.0 / array.shape[1]), where=total > 0)


# -- the estimators


class BaseConsensus(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, MultiViewEstimator):
    """Base of clusterers that agree on several clusterings of the same objects, each with a weight.

    A subclass fits the clusterings, hands their labels to `_agree`, and answers `_can_predict`, `_new_labels` (the
    clusters of new objects by name) and `_weights` (how much each clustering counts).
    """

    n_clusters: int
    _models_counts = False
    _group_rows = ("cluster_mapping_",)
    _fitted_state = {
        "cluster_mapping_": rules.mapping(rules.shares("clusters", "clusters of {view}"), "clusterings"),
        "memberships_": rules.shares("objects", "clusters"),
        "labels_": rules.integers("objects", below="clusters"),
        "history_": rules.history(),
        "n_iter_": rules.count(),
    }

    @available_if(lambda self: self._can_predict())
    def predict(self, X: Any) -> np.ndarray:
        """Predict the cluster of each object from some or all of the fitted views."""
        return self._memberships(X).argmax(axis=1)

    @available_if(lambda self: self._can_predict())
    def transform(self, X: Any) -> np.ndarray:
        """Memberships of objects (n_objects, n_clusters), from some or all of the fitted views."""
        return self._memberships(X)

    def _inspect(self) -> Inspection:
        """Answer `inspect`: clusters of the consensus."""
        return Inspection(
            self,
            "cluster",
            **numbered(self.memberships_.shape[1]),
            views=self._view_inputs(),
            training=Training(self.memberships_, codes=self.labels_, history=self.history_),
            structure=Structure(probabilities=True),
            _memberships=self._memberships if self._can_predict() else None,
        )

    # -- pieces

    def _can_predict(self) -> bool:
        raise NotImplementedError

    def _new_labels(self, views: Views) -> dict[str, np.ndarray]:
        raise NotImplementedError

    def _weights(self) -> dict[str, float]:
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return self.memberships_.shape[1]

    def _checked_views(self, X: Any) -> Views:
        views = self._fit_views(X)
        check_enough_objects(len(views), self.n_clusters)
        return views

    def _agree(self, labels: dict[str, np.ndarray], views: Any, n_clusters: int, **settings: Any) -> None:
        """Find the consensus of these clusterings and keep it."""
        weights, dtype = [self._weights()[name] for name in labels], floating_type(views)
        pattern = consensus(list(labels.values()), n_clusters, weights=weights, dtype=dtype, **settings)
        self.cluster_mapping_ = dict(zip(labels, pattern.mappings))
        self.memberships_ = pattern.memberships
        self.labels_ = self.memberships_.argmax(axis=1)
        self.history_ = {"objective": pattern.objective}
        self.n_iter_ = len(pattern.objective) - 1

    def _memberships(self, X: Any) -> np.ndarray:
        views = self._new_views(X)
        labels = self._new_labels(views)
        weights = [self._weights()[name] for name in labels]
        mappings = [self.cluster_mapping_[name] for name in labels]
        # a clusterer may name clusters that no training object was in
        known = [np.where(part < mapping.shape[1], part, -1) for part, mapping in zip(labels.values(), mappings)]
        memberships = fold_in_consensus(known, mappings, weights=weights)
        return memberships.astype(next(views.values()).dtype)


@shared_parameters
class ConsensusClustering(BaseConsensus):
    """Consensus of one clustering per view, by generalized Kullback-Leibler divergence.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters of the consensus, and of every view where `estimator` is None.
    estimator : clusterer or None, default=None
        What clusters one view, as it is given; its own number of clusters may differ from `n_clusters`. Its label -1
        (noise) counts as no vote. None is k-means on rows of unit length.
    max_iter : int, default=300
        Largest number of updates of the consensus.
    tol : float, default=1e-7
        Stop when the divergence changes by less than this, relative to itself; 0 makes exactly `max_iter` updates.
    n_init : int, default=10
        Number of starts of the consensus; the one that ends with the smallest divergence is kept.
    <shared: view_weights, random_state>

    Attributes
    ----------
    labels_ : ndarray (n_objects,)
        Cluster of each training object.
    memberships_ : ndarray (n_objects, n_clusters)
        Memberships of the training objects; rows sum to one.
    cluster_mapping_ : dict of ndarray (n_clusters, clusters of the view)
        Share of each view's clusters in each cluster of the consensus, by view; rows sum to one.
    labels_by_view_ : dict of ndarray (n_objects,)
        Cluster of each training object by each view alone, -1 where it lacks the view.
    estimators_ : dict
        Fitted clusterer of each view.
    view_weights_ : dict
        Weight of each view.
    history_ : dict of lists
        "objective": minus the divergence after each update, which never falls; entry 0 is the start.
    n_iter_ : int
        Updates of the best start.
    unit_rows_ : bool
        Whether the clusterers see rows of length 1, as the default one does.
    <shared: fitted views>

    See Also
    --------
    AutoClustering : Votes of many clusterings, of graphs at several scales.

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

    _fitted_state = {
        "cluster_mapping_": rules.by_view(rules.shares("clusters", "clusters of {view}")),
        "estimators_": rules.by_view(rules.estimator(features="features of {view}")),
        "labels_by_view_": rules.by_view(rules.integers("objects", low=-1, below="clusters of {view}")),
        "unit_rows_": rules.flag(),
        "view_weights_": rules.by_view(rules.weight()),
    }
    _parameters = {
        "estimator": object_with("fit_predict") | NONE,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        estimator: Any = None,
        max_iter: int = 300,
        tol: float = 1e-7,
        n_init: int = 10,
        view_weights: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.estimator = estimator
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.view_weights = view_weights
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> ConsensusClustering:
        """Cluster each view, then compute the consensus; y is ignored."""
        return self._fit_until(X, NO_DEADLINE)

    def _fit_until(self, X: Any, deadline: Deadline) -> ConsensusClustering:
        """Fit as `fit` does, with no further update of the consensus after the deadline."""
        views = self._checked_views(X)
        seed = base_seed(self.random_state)
        weights = per_view("view_weights", self.view_weights, self.view_names_)
        self.view_weights_ = dict(zip(self.view_names_, map(float, weights)))
        self.unit_rows_ = self.estimator is None
        self.estimators_: dict[str, Any] = {}
        self.labels_by_view_: dict[str, np.ndarray] = {}
        # on small matrices threads cost more than they gain
        with few_threads(len(views), self.n_clusters):
            for v, name in enumerate(counted(views.names, "view", len(views.names))):
                self.estimators_[name], self.labels_by_view_[name] = self._cluster(name, views, v, seed)
            settings = {"max_iter": self.max_iter, "tol": self.tol, "n_init": self.n_init}
            self._agree(self.labels_by_view_, views, self.n_clusters, seed=seed, deadline=deadline, **settings)
        return self

    def _inspect(self) -> Inspection:
        """Answer `inspect`: clusters of the consensus are shares of each view's own clusters."""
        by_view = {
            view: one_hot(labels, self.cluster_mapping_[view].shape[1]) @ self.cluster_mapping_[view].T
            for view, labels in self.labels_by_view_.items()
        }

        def features(view: str) -> Features | None:
            own = conventional_weights(self.estimators_[view])
            if own is None or own.weights.shape[1] != self.n_features_by_view_[view]:
                return None
            return Features(self.cluster_mapping_[view] @ own.weights, own.probabilities, "clusterer of the view")

        training = Training(self.memberships_, by_view, self.labels_, history=self.history_)
        return replace(super()._inspect(), training=training, _view_weights=self.view_weights_, _features=features)

    # -- pieces

    def _can_predict(self) -> bool:
        estimators = vars(self).get("estimators_", {"": self.estimator} if self.estimator is not None else {})
        return all(hasattr(estimator, "predict") for estimator in estimators.values())

    def _weights(self) -> dict[str, float]:
        return self.view_weights_

    def _new_labels(self, views: Views) -> dict[str, np.ndarray]:
        labels = {}
        for v, (name, matrix) in enumerate(views.items()):
            model = self.estimators_[name]
            with asking(model, f"view {name!r}"):
                rows = for_sklearn(self._prepared(matrix), model)
                labels[name] = np.where(views.present[:, v], model.predict(rows), -1)
        return labels

    def _prepared(self, matrix: Any) -> Any:
        return unit_rows(matrix) if self.unit_rows_ else for_sklearn(matrix)

    def _cluster(self, name: str, views: Views, v: int, seed: int) -> tuple[Any, np.ndarray]:
        """Fitted clusterer of one view, and its labels for all objects (-1 where they lack the view)."""
        have = np.flatnonzero(views.present[:, v])
        if not have.size:
            raise ViewsError(f"No object has view {name!r}, so it cannot be clustered. Drop the view.")
        # zeros of objects that lack the view would be a cluster of their own
        rows = self._prepared(views[name] if len(have) == len(views) else take_rows(views[name], have))
        if self.estimator is None:
            model = KMeans(min(self.n_clusters, rows.shape[0]), n_init=5, random_state=seed)
        else:
            model = clone(self.estimator)
            if model.get_params().get("random_state", seed) is None:
                model.set_params(random_state=seed)
        labels = np.full(len(views), -1, dtype=np.int64)
        with fitting(model, f"view {name!r}"):
            labels[have] = model.fit_predict(rows)
        # some clusterers have several kinds of noise below -1
        return model, np.maximum(labels, -1)

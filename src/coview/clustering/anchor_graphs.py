"""Clusters by many small anchor graphs, in time that grows with the number of objects alone.

In each view the rows are made comparable (`affinity.py`) and, where they are wide, brought to few columns by a thin
SVD. A repeat draws m anchors per view and joins each object to its s nearest by

    w_j = (d_(s+1) - d_j) / sum_j (d_(s+1) - d_j),     d squared distances

(adaptive neighbors, Nie et al. 2014). These weights times that of the view, the views side by side, are a sparse matrix
B (objects x anchors of all views). With row sums r and column sums c, the left singular vectors of

    Z = R^-1/2 B C^-1/2,     Z = U S V'

cut the graph that joins objects to anchors. They are had from the small side: G = Z' Z is a sum over rows, and
U = Z V S^-1 goes row by row, so that no row meets another one and rows may lie in memory, on disk or on a cluster. Rows
of U, scaled to length 1, of all repeats side by side are what k-means sees. One repeat is poor, eight are strong.

An object that lacks a view has nothing in its columns: its row sum is smaller, and the others place it. A new object is
placed by the same formula.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from coview.base import MultiViewEstimator, NumbersGate
from coview.clustering.affinity import METRICS, Scaling
from coview.engines.loop import local_engine, make_holder, select_engine
from coview.engines.passes import blockwise
from coview.engines.protocol import Block, Engine, Tree, floating_type, make_blocks, row_bytes
from coview.inspection import Inspection, numbered
from coview.inspection.features import cluster_frequencies, cluster_means, features_of_means
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import NONE, integer, one_of, one_or_by_view
from coview.utils.progress import tell
from coview.utils.sampling import sample_positions
from coview.validation import base_seed, check_enough_objects, per_view
from coview.views.arrays import take_rows
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["AnchorGraphClustering", "anchors_by_default", "place_joined"]

SAMPLE = 20_000  # objects among which anchors and first centers are looked for
MOST_IN_ALL = 2_000  # anchors of all views: a Gram matrix of them is kept for every repeat


def anchors_by_default(cosine: bool, n_objects: int, n_clusters: int, n_views: int) -> int:
    """Anchors of a view where their number is not given.

    A fourth of the objects, 100 to 500 of them, or 200 by cosines, but at least five for each cluster; all views
    together no more than 2,000, or one more than clusters where these are as many. Short distances between measurements
    say much; texts on one matter share few words by chance, and want each anchor to stand for many.

    Examples
    --------
    >>> anchors_by_default(False, 1_000, 5, 2), anchors_by_default(True, 10_000, 60, 2)
    (250, 300)
    >>> anchors_by_default(True, 100_000, 200, 10)
    200
    """
    wanted = int(np.clip(n_objects // 4, 100, 200 if cosine else 500))
    most = max(MOST_IN_ALL // n_views, -(-(n_clusters + 1) // n_views))
    return max(2, min(max(wanted, 5 * n_clusters), most, n_objects))


def _check_centers(checker: rules.Checker, value: Any, where: str) -> None:
    """Each repeat's vectors stand side by side in a center, and each view's anchors one below the other in a map."""
    checker.check(rules.floats("clusters", "dimensions"), value, where)

    def look() -> None:
        views, _ = checker.keys.get("views", ([], ""))
        anchors = sum(checker.known(f"anchors of {view!r}") or 0 for view in views)
        repeats, vectors = checker.known("repeats") or 0, checker.known("vectors") or 0
        if checker.known("dimensions") != repeats * vectors:
            checker.refuse(where, f"has {checker.known('dimensions')} columns, but {repeats} x {vectors} are needed")
        if checker.known("anchors") != anchors:
            checker.refuse("maps_", f"is for {checker.known('anchors')} anchors, but the views have {anchors}")
        for view in views:
            if not checker.state["n_nearest_"][view] < max(checker.known(f"anchors of {view!r}") or 0, 2):
                checker.refuse("n_nearest_", f"of {view!r} is not below the number of its anchors")

    checker.later.append(look)


@shared_parameters
class AnchorGraphClustering(ClusterMixin, MultiViewEstimator):
    """Clustering of any number of objects by many small graphs, each of objects and a few hundred anchors.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, and of singular vectors of each graph.
    n_anchors : int or None, default=None
        Anchors of each view. None is a fourth of the objects, from 100 to 500 (200 by cosines) and at least 5 for each
        cluster; fewer where all views together would have more than 2,000.
    n_nearest : int or None, default=None
        Anchors that an object is joined to, in each view. None is 10 by cosines, else 5.
    n_repeats : int, default=8
        Number of graphs, each with other anchors.
    n_dimensions : int, default=100
        Columns that a wider view is brought to by a thin SVD.
    metric : {"auto", "cosine", "standard", "pareto", "centered"} or {view: metric}, default="auto"
        Metric for neighbors: cosine, or the Euclidean distance of scaled columns (see `ScaledViews`). "auto" is cosine
        for views that are mostly zeros, if they are sparse or never negative, else the scaling that `ScaledViews`
        chooses.
    <shared: view_weights>
    n_init : int, default=10
        Number of starts of k-means.
    <shared: engine, n_jobs, random_state, verbose>

    Attributes
    ----------
    labels_ : ndarray (n_objects,)
        Cluster of each training object.
    anchors_ : dict of ndarray (n_repeats, n_anchors, columns of the view)
        Anchors of each view, after its projection.
    projections_ : dict of ndarray (n_features of the view, columns of the view)
        What makes rows of a view comparable, and few columns of many.
    offsets_ : dict of ndarray (columns of the view,)
        What is taken off after the projection.
    metrics_ : dict of str
        Metric of each view.
    maps_ : ndarray (n_repeats, anchors of all views, n_clusters)
        From the weights of an object's anchors to its place among the singular vectors.
    singular_values_ : ndarray (n_repeats, n_clusters)
        Largest singular values of each graph, falling; the first is 1.
    cluster_centers_ : ndarray (n_clusters, n_repeats x n_clusters)
        Centers of k-means, over a sample where there are more than 20,000 objects.
    cluster_means_ : dict of ndarray (n_clusters, n_features of the view)
        Mean of each feature over some of the objects of a cluster, rows brought to sum one first: what the clusters are
        about.
    cluster_frequencies_ : dict of ndarray (n_clusters, n_features of the view)
        Share of a cluster's objects that have the feature, of some of its objects.
    n_nearest_ : dict of int
        Anchors that an object is joined to, by view; fewer than `n_nearest` where there are fewer anchors.
    view_weights_ : dict
        Weight of each view.
    <shared: fitted views>

    See Also
    --------
    SpectralClusteringViews : full graphs of neighbors, stronger on a few thousand objects.

    Notes
    -----
    Time and memory grow with the number of objects. Views may be lazy: a folder of shards, read in blocks, or dask
    collections, worked on by their cluster. What is kept of an object is its nearest anchors.
    Counts are best weighted first, by `TfidfViews`.

    References
    ----------
    F. Nie, X. Wang, H. Huang: Clustering and projected clustering with adaptive neighbors. KDD 2014.
    W. Liu, J. He, S.-F. Chang: Large graph construction for scalable semi-supervised learning. ICML 2010.

    Examples
    --------
    >>> from coview import AnchorGraphClustering
    >>> from coview.datasets import make_blobs_views
    >>> corpus = make_blobs_views(n_objects=300, n_clusters=3, random_state=0)
    >>> model = AnchorGraphClustering(3, random_state=0).fit(corpus.views)
    >>> model.labels_.shape, model.singular_values_.shape
    ((300,), (8, 3))
    >>> bool((model.predict(corpus.views) == model.labels_).all())
    True
    """

    _models_counts = False
    _group_rows: tuple[str, ...] = ("cluster_centers_",)
    _takes_lazy = True
    labels_: np.ndarray

    _fitted_state = {
        "labels_": rules.integers("objects", below="clusters"),
        "anchors_": rules.by_view(rules.floats("repeats", "anchors of {view}", "columns of {view}")),
        "projections_": rules.by_view(rules.floats("features of {view}", "columns of {view}")),
        "offsets_": rules.by_view(rules.floats("columns of {view}")),
        "metrics_": rules.by_view(rules.choice(*METRICS[1:])),
        "maps_": rules.floats("repeats", "anchors", "vectors"),
        "singular_values_": rules.floats("repeats", "vectors", low=0.0),
        "cluster_centers_": rules.custom(_check_centers),
        "cluster_means_": rules.by_view(rules.floats("clusters", "features of {view}")),
        "cluster_frequencies_": rules.by_view(rules.floats("clusters", "features of {view}")),
        "n_nearest_": rules.by_view(rules.count(1)),
        "view_weights_": rules.by_view(rules.weight()),
    }
    _parameters = {
        "n_anchors": integer(2) | NONE,
        "n_nearest": integer() | NONE,
        "n_repeats": integer(),
        "n_dimensions": integer(),
        "metric": one_or_by_view(one_of(*METRICS)),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_anchors: int | None = None,
        n_nearest: int | None = None,
        n_repeats: int = 8,
        n_dimensions: int = 100,
        metric: Any = "auto",
        view_weights: Any = None,
        n_init: int = 10,
        engine: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.n_nearest = n_nearest
        self.n_repeats = n_repeats
        self.n_dimensions = n_dimensions
        self.metric = metric
        self.view_weights = view_weights
        self.n_init = n_init
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> AnchorGraphClustering:
        """Cluster the objects; y is ignored."""
        views, sample, rows, labels = self._fit_rows(X)
        self.labels_ = labels.astype(np.int64, copy=False)
        some, codes = (sample, self.labels_[rows]) if isinstance(views, LazyViews) else (views, self.labels_)
        self.cluster_means_ = cluster_means(some, codes, len(self.cluster_centers_))
        self.cluster_frequencies_ = cluster_frequencies(some, codes, len(self.cluster_centers_))
        return self

    @blockwise
    def predict(self, X: Any) -> np.ndarray:
        """Predict the cluster of each object from some or all of the fitted views."""
        check_is_fitted(self, "cluster_centers_")
        views = self._new_views(X)
        engine = select_engine(self.engine, n_jobs=self.n_jobs, data=X)
        engine = local_engine(engine)
        with engine.limits():
            labels = [
                _Nearest(engine, self.maps_, self.cluster_centers_)(self._steps().joined(block, engine))["labels"]
                for block in self._blocks(views, engine)
            ]
        return np.concatenate(labels).astype(np.int64, copy=False)

    def _inspect(self) -> Inspection:
        """Answer `inspect`: graphs say nothing of features, so the means of a cluster's objects do."""
        return replace(
            super()._inspect(),
            **numbered(len(self.cluster_centers_)),
            view_weights=dict(self.view_weights_),
            _features=lambda view: features_of_means(
                self.cluster_means_[view], self.cluster_frequencies_[view], "cluster"
            ),
        )

    # -- pieces

    def _traveling(self) -> Any:
        """Return a copy to send to the workers of a cluster: what it learned, but nothing of the training rows."""
        light = copy.copy(self)
        light.engine = "cpu" if self.engine in ("auto", "dask") else self.engine
        light.__dict__.pop("labels_", None)
        return light

    def _steps(self) -> _AnchorSteps:
        sizes = {name: part.shape[1] for name, part in self.anchors_.items()}
        offsets = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist()))
        parts = {"projections": self.projections_, "offsets": self.offsets_, "anchors": self.anchors_}
        return _AnchorSteps(self.metrics_, self.view_weights_, offsets, sum(sizes.values()), self.n_nearest_, parts)

    def _blocks(self, views: Views, engine: Engine) -> Any:
        itemsize = floating_type(views).itemsize
        return make_blocks(views, engine, engine.block_rows(self.n_dimensions, itemsize, len(views), row_bytes(views)))

    def _choose_anchors(self, sample: Views, n_objects: int, seed: int, engine: Engine) -> None:
        """Learn from a sample how each view is projected, and where its anchors are."""
        ops = local_engine(engine)
        self.metrics_, self.projections_, self.offsets_, self.anchors_, self.n_nearest_ = {}, {}, {}, {}, {}
        for v, (name, matrix) in enumerate(sample.items()):
            have = np.flatnonzero(sample.present[:, v])
            some = matrix if len(have) == len(sample) else take_rows(matrix, have)
            metric = self.metric.get(name, "auto") if isinstance(self.metric, Mapping) else self.metric
            projection = _Projection.learned(some, metric, self.n_dimensions, seed, ops)
            self.metrics_[name] = projection.metric
            self.projections_[name], self.offsets_[name] = projection.turn, projection.offset
            rows, known = projection.rows(ops.prepare(some), ops)
            rows = rows[np.flatnonzero(ops.to_numpy(known))]
            if not len(rows):  # no object has the view
                rows = ops.asarray(np.zeros((1, projection.turn.shape[1]), dtype=np.float32))
            cosine = projection.metric == "cosine"
            count = self.n_anchors or anchors_by_default(cosine, n_objects, self.n_clusters, len(sample.names))
            count = min(count, len(sample))
            near = self.n_nearest or (10 if cosine else 5)
            self.n_nearest_[name] = min(near, max(count - 1, 1))
            draws = [np.random.default_rng([seed, v, r]) for r in range(self.n_repeats)]
            self.anchors_[name] = np.stack([draw_anchors(rows, count, rng, ops) for rng in draws])

    def _fit_rows(self, X: Any) -> tuple[Any, Views, np.ndarray, np.ndarray]:
        """Join all objects to anchors, cut the graphs and cluster the rows of their vectors.

        Returns the views, a sample of them in memory and its positions, and what is found of each object.
        """
        views = self._fit_views(X)
        check_enough_objects(len(views), self.n_clusters)
        weights = per_view("view_weights", self.view_weights, self.view_names_)
        self.view_weights_ = dict(zip(self.view_names_, map(float, weights)))
        engine = select_engine(self.engine, n_jobs=self.n_jobs, data=X)
        seed = base_seed(self.random_state)
        gate = NumbersGate(type(self).__name__, self._models_counts, floating_type(views))
        with engine.limits():
            tell("anchors")
            some = sample_positions(len(views), SAMPLE, seed)
            sample = gate(views[some])
            self._choose_anchors(sample, len(views), seed, engine)
            steps = self._steps()
            holder = make_holder(views, engine, self.n_dimensions, {}, gate)
            tell("nearest anchors")
            shared: Tree = {}
            rows = holder.start(steps, shared, seed, 0)
            rows, stats = holder.step(steps, rows, shared)
            holder.release()
            tell("singular vectors")
            local = local_engine(engine)
            self.singular_values_, self.maps_ = leading_maps(local.to_numpy(stats["gram"]), self.n_clusters, local)
            tell("k-means")
            joined = (steps.joined(block, local) for block in self._blocks(sample, local))
            pairs = [place_joined(part, self.maps_, local) for part in joined]
            # rows that no view says anything of lie at zero, and would draw a center there
            placed = [part[np.flatnonzero(known)] for part, known in pairs]
            if sum(map(len, placed)) < self.n_clusters:  # too few to start from
                placed = [part for part, _ in pairs]
            step, found = self._cluster_rows(placed, local, seed)
            return views, sample, some, np.asarray(holder.collect(holder.combine(step, rows), found))

    def _cluster_rows(self, placed: list[Any], ops: Engine, seed: int) -> tuple[Callable[[Tree], Tree], str]:
        """Return what says of rows that are joined to anchors where they belong, and the name of what it says."""
        self.cluster_centers_ = ops.kmeans_centers(placed, self.n_clusters, self.n_init, seed)
        return _Nearest(ops, self.maps_, self.cluster_centers_), "labels"


# -- rows of one view as few columns


@dataclass(frozen=True)
class _Projection:
    """How the rows of one view become few comparable columns: x -> x turn - offset, of length 1 by cosines."""

    metric: str
    turn: np.ndarray
    offset: np.ndarray

    @classmethod
    def learned(cls, matrix: Any, metric: str, n_dimensions: int, seed: int, ops: Engine) -> _Projection:
        """Learn it from some rows, of which there may be none."""
        scaling = Scaling.learned(matrix, metric)
        rows = scaling.rows(matrix)
        width = rows.shape[1]
        scale, mean = np.ones(width), np.zeros(width)
        if scaling.metric != "cosine":
            scale, mean = 1 / scaling.deviation, scaling.mean
        if width <= n_dimensions:
            turn = np.diag(scale)
        else:
            count = max(1, min(n_dimensions, *rows.shape))
            axes = ops.to_numpy(ops.right_vectors(ops.prepare(rows.astype(np.float32)), count, seed))
            turn = scale[:, None] * axes.T
        return cls(scaling.metric, turn, mean @ turn)

    def rows(self, X: Any, ops: Engine) -> tuple[Any, Any]:
        """Rows of a view that an engine holds in few columns, and which of them say anything."""
        return ops.comparable_rows(X, ops.asarray(self.turn), ops.asarray(self.offset), self.metric == "cosine")


def draw_anchors(rows: Any, count: int, rng: np.random.Generator, ops: Engine) -> np.ndarray:
    """Draw rows, which the engine holds, as anchors and move them by a few rounds of k-means over some of the rows.

    Where there are fewer rows than anchors, some are drawn twice.
    """
    some = rows[rng.permutation(len(rows))[: 20 * count]]
    anchors = ops.to_numpy(some[np.arange(count) % len(some)])
    if len(some) <= count:
        return anchors
    for _ in range(5):
        _, sums, _ = ops.center_sums(some, ops.asarray(anchors))
        sizes = sums[:, -1:]
        anchors = np.where(sizes > 0, sums[:, :-1] / np.maximum(sizes, 1), anchors).astype(anchors.dtype)
    return anchors


# -- the graphs


@dataclass(frozen=True)
class _AnchorSteps:
    """One pass over the rows: each object's nearest anchors, and the Gram matrix of the anchors."""

    metrics: dict[str, str]
    weights: dict[str, float]
    firsts: dict[str, int]  # column of each view's first anchor
    n_columns: int
    n_nearest: dict[str, int]
    parts: dict[str, Any]  # projections, offsets and anchors by view

    def start(self, block: Block, shared: Tree, seed: int, restart: int, ops: Engine) -> Tree:
        """Nothing is known yet; rows are joined in the step that sums them up."""
        return {"labels": np.zeros(len(block), dtype=np.int32)}

    def row_step(
        self, block: Block, rows: Tree, shared: Tree, ops: Engine, stats: Tree | None
    ) -> tuple[Tree, Tree | None]:
        """Join the rows of a block, and add their products to the Gram matrix."""
        rows = self.joined(block, ops)
        if stats is not None:
            if "gram" not in stats:
                shape = (rows["positions"].shape[1], self.n_columns, self.n_columns)
                stats["gram"] = ops.asarray(np.zeros(shape))
            ops.anchor_gram(rows["positions"], rows["weights"], stats["gram"])
        return rows, stats

    def joined(self, block: Block, ops: Engine) -> Tree:
        """Columns and values (rows x repeats x nearest in all views) of B; a view that a row lacks has values of 0."""
        positions, weights = [], []
        for name, X in block.views.items():
            metric, anchors = self.metrics[name], self.parts["anchors"][name]
            projection = _Projection(metric, self.parts["projections"][name], self.parts["offsets"][name])
            placed, known = projection.rows(X, ops)
            near, by = ops.nearest_anchors(placed, ops.asarray(anchors), self.n_nearest[name])
            weight = ops.asarray((self.weights[name] * block.present[name]).astype(np.float32))
            positions.append(near + self.firsts[name])
            weights.append(by * (weight * known)[:, None, None])
        return {"positions": ops.beside(positions), "weights": ops.beside(weights)}


def leading_maps(gram: np.ndarray, count: int, ops: Engine) -> tuple[np.ndarray, np.ndarray]:
    """Largest singular values of Z (repeats x count), and C^-1/2 V S^-1 (repeats x columns x count).

    `gram` is B' R^-1 B of each repeat, whose row sums are the column sums c of B.
    """
    degree = gram.sum(axis=2)
    root = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    scaled = gram * root[:, :, None] * root[:, None, :]
    squares, vectors = ops.leading_pairs(scaled, min(count, gram.shape[1]))
    values = np.sqrt(np.maximum(squares[:, ::-1], 0.0))
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > 1e-9)
    return values, (root[:, :, None] * vectors[:, :, ::-1] * inverse[:, None, :]).astype(np.float32)


# -- what is done with the rows of a block once they are joined


def place_joined(rows: Tree, maps: np.ndarray, ops: Engine) -> tuple[Any, np.ndarray]:
    """Rows of the singular vectors, those of each repeat of length 1, and which of them some view says anything of."""
    known = ops.to_numpy(rows["weights"][:, 0].sum(axis=1) > 0)
    return ops.anchor_embedding(rows["positions"], rows["weights"], ops.asarray(maps)), known


@dataclass(frozen=True)
class _Nearest:
    """Nearest center of each row."""

    ops: Any
    maps: np.ndarray
    centers: np.ndarray

    def __call__(self, rows: Tree) -> Tree:
        placed, _ = place_joined(rows, self.maps, self.ops)
        labels, _, _ = self.ops.center_sums(placed, self.ops.asarray(self.centers))
        return {"labels": self.ops.to_numpy(labels)}

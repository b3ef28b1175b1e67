"""Spectral clustering of several views (co-regularized: Kumar, Rai and Daume 2011): eigenvectors of the views' graphs.

With S_v the normalized graph of view v (`affinity.py`) and U_v its leading eigenvectors (objects x clusters), each
method maximizes

    co-regularized            sum_v a_v tr(U_v' S_v U_v) + coupling sum_(v < w) a_v a_w tr(U_v U_v' U_w U_w')
    co-regularized-centroid   sum_v a_v (tr(U_v' S_v U_v) + coupling tr(U_v U_v' U* U*'))
    sum                       tr(U' S U): S of one graph, all views' graphs added with weights a_v
    concatenated              tr(U' S U): S of one graph of neighbors by all views side by side
    stacked                   each tr(U' S U): of every view's graph, of their sum and of the concatenated one

In the first two each U_v in turn is the leading eigenvectors of S_v plus the pulls of the others, a sparse matrix and a
low rank; then k-means on the rows, scaled to length 1. "stacked" puts all those U side by side, each column times its
eigenvalue and then each row of a part scaled to length 1: where one graph has no clear cut, the others decide.
Nothing of size objects x objects is formed, except for the first eigenvectors of at most 400 objects, where a dense
matrix is as quick.

An object may lack a part of its row, which is zero then. It neither moves a center nor counts in a distance:

    z(i) = argmin_z sum_(parts p of i) |x_ip - c_zp|^2,     c_zp = mean of x_ip over i in z that have p
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.cluster import KMeans

from coview.clustering.affinity import Graph, drawn_vectors, leading_vectors, unit_length
from coview.clustering.view_graphs import NeighborGraphEstimator, added_up
from coview.engines.protocol import few_threads
from coview.inspection import Inspection, numbered
from coview.inspection.features import features_of_means, summarize_groups
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import number, one_of
from coview.validation import base_seed, check_enough_objects, per_view
from coview.views.views import Views

__all__ = ["SpectralClusteringViews", "beside_each_other", "kmeans_of_parts", "nearest_center", "strong_columns"]

METHODS = ("co-regularized", "co-regularized-centroid", "sum", "concatenated", "stacked")


@shared_parameters
class SpectralClusteringViews(ClusterMixin, NeighborGraphEstimator):
    """Spectral clustering of several views on their nearest-neighbor graphs.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, and of eigenvectors of each view.
    method : {"co-regularized", "co-regularized-centroid", "sum", "concatenated", "stacked"}, \
            default="co-regularized-centroid"
        How the graphs of the views are combined. "co-regularized" draws the eigenvectors of each view to those of each
        other view, "co-regularized-centroid" to a common set. "sum" cuts the sum of the views' graphs, "concatenated"
        one graph of neighbors by all views side by side, each of the same mean length. "stacked" takes the
        eigenvectors of all these graphs together: the safest where it is not known which views matter.
    coupling : float, default=0.1
        Strength of the co-regularization; 0 leaves the views alone until k-means.
    n_neighbors : int or None, default=None
        Neighbors of each object in a graph. None is 10 where distances are Euclidean, and half of the mean size of a
        cluster by cosines, 40 to 90 but at most a fourth of the objects: of texts fewer make islands of near copies.
    metric : {"auto", "cosine", "standard", "pareto", "centered"} or {view: metric}, default="auto"
        Metric for neighbors: cosine, or the Euclidean distance of scaled columns (see `ScaledViews`). "auto" is cosine
        for views that are mostly zeros, if they are sparse or never negative, else the scaling that `ScaledViews`
        chooses.
    lift : float, default=0.1
        What joins everything to everything, as a share of the mean degree; without it outliers make clusters of their
        own.
    <shared: view_weights>
    max_iter : int, default=10
        Largest number of rounds over the views.
    tol : float, default=1e-4
        Stop when the objective changes by less than this, relative to itself; 0 makes exactly `max_iter` rounds.
    n_init : int, default=10
        Number of starts of k-means.
    engine : str or engine, default="auto"
        Where neighbors are looked for, and the eigenvectors of graphs that no other draws: "auto", "cpu", "cuda",
        "reference" or an engine object; "auto" is the processor. k-means is always the processor's.
    <shared: random_state>

    Attributes
    ----------
    labels_ : ndarray (n_objects,)
        Cluster of each training object.
    embedding_ : ndarray (n_objects, n_clusters x number of parts)
        Eigenvectors, rows of length 1: what k-means saw. "co-regularized" has a part for each view, "stacked" two
        more, for the concatenated graph and for the sum, if there are several views, and zeros in parts that an object
        lacks; the other methods have one part.
    eigenvalues_ : dict of ndarray
        Leading eigenvalues of the graphs as they are drawn, by view ("sum" and "concatenated" have one entry,
        "all"; "stacked" has those of the graphs by themselves).
    cluster_centers_ : ndarray (n_clusters, columns of the embedding)
        Centers of k-means.
    cluster_means_ : dict of ndarray (n_clusters, n_features of the view)
        Mean of each feature over the objects of a cluster: what the clusters are about. Rows are brought to sum
        one first, but for those of measurements.
    cluster_frequencies_ : dict of ndarray (n_clusters, n_features of the view)
        Share of a cluster's objects that have the feature, of all its objects: features that many have name it.
    column_moments_ : dict of ndarray (2, n_features of the view)
        Mean and standard deviation of each column of measurements.
    part_weights_ : ndarray
        Squared length of each part of a row of the embedding.
    method_ : str
        Method that was fitted.
    view_weights_ : dict
        Weight of each view.
    n_neighbors_ : dict
        Number of neighbors by view.
    joint_neighbors_ : int
        Number of neighbors by all views side by side.
    scalings_ : dict
        How each view's rows are scaled: metric, mean and deviation.
    neighbors_ : dict of matrices
        The training objects of each view that new ones are compared with.
    history_ : dict of lists
        "objective" after each round; entry 0 is that of the views alone. It never falls,
        but for rounding.
    n_iter_ : int
        Number of rounds.
    neighbor_rows_ : dict of ndarray
        Positions of the training objects that have each view.
    joint_scales_ : dict of float
        Factor of each view where the views stand side by side.
    <shared: fitted views>

    Notes
    -----
    An object that lacks a view has no edges there, and the others place it. A new object stands at the weighted mean of
    its nearest training objects in the views that are given, and then goes to the nearest center; one that was fitted
    mostly gets its label back, but in a view where several are equal it stands at their mean. Time goes into
    neighbors, objects^2 x features, in pieces.

    References
    ----------
    A. Kumar, P. Rai, H. Daume III: Co-regularized multi-view spectral clustering. NIPS 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import SpectralClusteringViews
    >>> from coview.datasets import make_blobs_views
    >>> corpus = make_blobs_views(n_objects=90, n_clusters=3, random_state=0)
    >>> model = SpectralClusteringViews(3, random_state=0).fit(corpus.views)
    >>> model.labels_.shape, model.embedding_.shape
    ((90,), (90, 3))
    >>> bool((model.predict(corpus.views) == model.labels_).all())
    True
    """

    _group_rows = ("cluster_centers_",)
    _fitted_state = {
        "method_": rules.choice(*METHODS),
        "view_weights_": rules.by_view(rules.weight()),
        "part_weights_": rules.shares("parts"),
        "cluster_centers_": rules.floats("clusters", "dimensions"),
        "cluster_means_": rules.by_view(rules.floats("clusters", "features of {view}")),
        "cluster_frequencies_": rules.by_view(rules.floats("clusters", "features of {view}")),
        "column_moments_": rules.by_view(rules.floats(2, "features of {view}"), some=True),
        "embedding_": rules.floats("objects", "dimensions"),
        "eigenvalues_": rules.mapping(rules.floats(None)),
        "labels_": rules.integers("objects", below="clusters"),
        "history_": rules.history(),
        "n_iter_": rules.count(),
    }

    _parameters = {
        "method": one_of(*METHODS),
        "coupling": number(),
        "lift": number(),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        method: str = "co-regularized-centroid",
        coupling: float = 0.1,
        n_neighbors: int | None = None,
        metric: Any = "auto",
        lift: float = 0.1,
        view_weights: Any = None,
        max_iter: int = 10,
        tol: float = 1e-4,
        n_init: int = 10,
        engine: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.coupling = coupling
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.lift = lift
        self.view_weights = view_weights
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.engine = engine
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> SpectralClusteringViews:
        """Cluster the objects; y is ignored."""
        views = self._fit_views(X)
        check_enough_objects(len(views), self.n_clusters)
        weights = per_view("view_weights", self.view_weights, self.view_names_)
        seed = base_seed(self.random_state)
        self.method_, self.view_weights_ = self.method, dict(zip(self.view_names_, map(float, weights)))
        self.part_weights_ = np.ones(1)
        with few_threads(len(views), self.n_clusters):
            self._fit_graphs(views, weights, seed)
        self.cluster_means_, self.cluster_frequencies_, self.column_moments_ = summarize_groups(
            views, self.labels_, len(self.cluster_centers_)
        )
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the cluster of each object from some or all of the fitted views."""
        return nearest_center(self._positions(self._new_views(X)), self.cluster_centers_, len(self.part_weights_))

    def _positions(self, views: Views) -> np.ndarray:
        """Where new objects stand in the embedding."""
        if self.method_ == "concatenated":
            return unit_length(self._by_all(views, self.embedding_))
        if self.method_ == "stacked":
            return self._stacked_place(views)
        edges = self._edges(*self._scaled(views))
        return unit_length(added_up(edges, self.view_weights_, self.embedding_))

    def _inspect(self) -> Inspection:
        """Answer `inspect`: graphs say nothing of features, so the means of a cluster's objects do."""
        answer = super()._inspect()
        return replace(
            answer,
            **numbered(len(self.cluster_centers_)),
            _view_weights=dict(self.view_weights_),
            training=replace(answer.training, history=self.history_),
            _features=lambda view: features_of_means(
                self.cluster_means_[view], self.cluster_frequencies_[view], self.column_moments_.get(view), "cluster"
            ),
        )

    # -- pieces

    def _n_groups(self) -> int:
        return self.n_clusters

    def _fit_graphs(self, views: Views, weights: np.ndarray, seed: int) -> None:
        """Scale the views, join their graphs and cluster the leading vectors."""
        self._scale(views, weights)
        if self.method == "stacked":
            vectors, objective = self._stacked(views, weights, seed)
        elif self.method in ("sum", "concatenated"):
            whole = self._concatenated(views)[0] if self.method != "sum" else self._sum(self._graphs(views)[0], weights)
            values, vectors = leading_vectors(Graph.of(whole, self.lift), self.n_clusters, seed, self._ops())
            self.eigenvalues_, objective = {"all": values}, [float(values.sum())]
        else:
            graphs = [Graph.of(part, self.lift) for part in self._graphs(views)[0]]
            rounds = _CoRegularization(graphs, weights, self.n_clusters, seed, float(self.coupling), self.method)
            vectors, objective = rounds.run(self.max_iter, float(self.tol))
            self.eigenvalues_ = dict(zip(views.names, rounds.values))
        self.embedding_ = vectors if self.method == "stacked" else unit_length(vectors)
        self.cluster_centers_, self.labels_ = kmeans_of_parts(
            self.embedding_, len(self.part_weights_), self.n_clusters, self.n_init, seed
        )
        self.history_ = {"objective": objective}
        self.n_iter_ = len(objective) - 1

    def _stacked(self, views: Views, weights: np.ndarray, seed: int) -> tuple[np.ndarray, list[float]]:
        """Eigenvectors of all graphs side by side."""
        (graphs,), self.part_weights_ = self._all_graphs(views, weights)
        pairs = [leading_vectors(Graph.of(part, self.lift), self.n_clusters, seed, self._ops()) for part in graphs]
        self.eigenvalues_ = dict(zip(views.names, [values for values, _ in pairs]))
        vectors = beside_each_other([strong_columns(*pair) for pair in pairs], self.part_weights_)
        return vectors, [float(sum(share * values.sum() for share, (values, _) in zip(self.part_weights_, pairs)))]

    def _stacked_place(self, views: Views) -> np.ndarray:
        """Where new objects stand in every part; nowhere in those of views that are not given."""
        parts = np.split(self.embedding_, len(self.part_weights_), axis=1)
        return beside_each_other(self._among_all(views, parts), self.part_weights_)


def strong_columns(values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Eigenvectors, each times its eigenvalue: where a graph has no clear cut, others decide."""
    # with as many clusters as objects some eigenvalues are negative, and rows would be the same
    return vectors * np.maximum(values, 1e-3)


def beside_each_other(parts: Sequence[np.ndarray], part_weights: np.ndarray) -> np.ndarray:
    """Parts with rows as long as the root of their weight: all of an object's together have length 1."""
    return np.hstack([np.sqrt(share) * unit_length(part) for share, part in zip(part_weights, parts)])


# -- the rounds of co-regularization


class _CoRegularization:
    """Rounds in which the eigenvectors of each view's graph are drawn to those of the others, or to a common set."""

    def __init__(
        self, graphs: list[Graph], weights: np.ndarray, count: int, seed: int, coupling: float, method: str
    ) -> None:
        self.graphs, self.weights, self.count, self.coupling = graphs, weights, count, coupling
        self.centroid = method == "co-regularized-centroid"
        values, vectors = zip(*(leading_vectors(graph, count, seed) for graph in graphs))
        self.values, self.vectors = list(values), list(vectors)

    def run(self, max_iter: int, tol: float) -> tuple[np.ndarray, list[float]]:
        """Rounds until the objective rests; returns what k-means takes, and the objective by round."""
        if self.centroid:
            self.common = self._common()
        objective = [self._objective()]
        several = len(self.graphs) > 1 and self.coupling > 0
        for _ in range(max_iter):
            if several:
                self._round()
            objective.append(self._objective())
            if tol > 0 and objective[-1] - objective[-2] <= tol * abs(objective[-1]):
                break
        if self.centroid:
            return self.common, objective
        shares = np.sqrt(self.weights)
        return np.hstack([share * unit_length(part) for share, part in zip(shares, self.vectors)]), objective

    def _round(self) -> None:
        for v, graph in enumerate(self.graphs):
            pulls = [(self.coupling * self.weights[w], self.vectors[w]) for w in range(len(self.graphs)) if w != v]
            if self.centroid:
                pulls = [(self.coupling, self.common)]
            self.values[v], self.vectors[v] = drawn_vectors(graph, self.vectors[v], pulls)
        if self.centroid:
            self.common = self._common()

    def _common(self) -> np.ndarray:
        """Leading eigenvectors of sum_v a_v U_v U_v': left singular vectors of the U_v side by side."""
        beside = np.hstack([np.sqrt(share) * part for share, part in zip(self.weights, self.vectors)])
        values, turn = np.linalg.eigh(beside.T @ beside)
        kept = np.argsort(-values)[: self.count]
        return beside @ (turn[:, kept] / np.sqrt(np.maximum(values[kept], 1e-12)))

    def _objective(self) -> float:
        total = sum(
            share * float(np.vdot(part, graph @ part))
            for share, graph, part in zip(self.weights, self.graphs, self.vectors)
        )
        if self.centroid:
            pull = sum(
                share * float(((part.T @ self.common) ** 2).sum()) for share, part in zip(self.weights, self.vectors)
            )
        else:
            pull = sum(
                self.weights[v] * self.weights[w] * float(((self.vectors[v].T @ self.vectors[w]) ** 2).sum())
                for v in range(len(self.vectors))
                for w in range(v)
            )
        return total + self.coupling * pull


# -- k-means of rows that are made of parts


def kmeans_of_parts(
    rows: np.ndarray, n_parts: int, n_clusters: int, n_init: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Centers (clusters x columns) and clusters of rows; the parts have the same number of columns."""
    parts = np.split(rows, n_parts, axis=1)
    has = np.array([part.any(axis=1) for part in parts])
    complete = has[has.any(axis=1)].all(axis=0)  # views that no object has are left out
    model = KMeans(n_clusters, n_init=n_init, random_state=seed)
    if n_parts == 1 or complete.all():
        model.fit(rows)
        return model.cluster_centers_, model.labels_.astype(np.int64)
    enough = complete.sum() >= 5 * n_clusters  # centers start with the objects that have all parts
    centers = model.fit(rows[complete] if enough else rows).cluster_centers_
    labels = nearest_center(rows, centers, n_parts)
    for _ in range(30):
        for part, there, middle in zip(parts, has, np.split(centers, n_parts, axis=1)):
            for z in range(n_clusters):
                here = there & (labels == z)
                if here.any():
                    middle[z] = part[here].mean(axis=0)  # a window into the centers
        before, labels = labels, nearest_center(rows, centers, n_parts)
        if np.array_equal(before, labels):
            break
    return centers, labels


def nearest_center(rows: np.ndarray, centers: np.ndarray, n_parts: int = 1) -> np.ndarray:
    """Nearest center of each row in the parts that it has; of one part a row of zeros is a row like others."""
    gaps = np.zeros((len(rows), len(centers)))
    for part, middle in zip(np.split(rows, n_parts, axis=1), np.split(centers, n_parts, axis=1)):
        apart = (middle**2).sum(axis=1) - 2 * part @ middle.T
        gaps += np.where(part.any(axis=1, keepdims=True) | (n_parts == 1), apart, 0.0)
    return gaps.argmin(axis=1)

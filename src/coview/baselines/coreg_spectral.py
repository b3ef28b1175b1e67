"""Co-regularised spectral clustering (Kumar, Rai and Daume 2011): eigenvectors of each view's graph that agree.

With S_v the normalised graph of view v (`affinity.py`) and U_v its leading eigenvectors (objects x clusters):

    pairwise   maximise sum_v a_v tr(U_v' S_v U_v) + weight sum_(v < w) a_v a_w tr(U_v U_v' U_w U_w')
    centroid   maximise sum_v a_v (tr(U_v' S_v U_v) + weight tr(U_v U_v' U* U*'))
    sum        maximise tr(U' S U): S of one graph, all views' graphs added with weights a_v
    joined     maximise tr(U' S U): S of one graph of neighbours by all views side by side

In the first two each U_v in turn is the leading eigenvectors of S_v plus the pulls of the others, a sparse matrix and a
low rank; then k-means on the rows, scaled to length 1. Nothing of size objects x objects is formed, except for the
first eigenvectors of at most 400 objects, where a dense matrix is as quick.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClusterMixin
from sklearn.cluster import KMeans
from sklearn.utils.validation import check_is_fitted

from coview.base import MultiViewEstimator, base_seed, check_count, check_option
from coview.baselines.affinity import (
    Graph,
    Scaling,
    drawn_vectors,
    edges_to,
    leading_vectors,
    neighbour_graph,
    unit_length,
)
from coview.data.arrays import take_rows
from coview.data.views import Views
from coview.parameters import per_view
from coview.starts import for_sklearn

__all__ = ["CoRegularizedSpectralClustering"]

FEWEST, MOST = 10, 30  # neighbours where their number is not given


class CoRegularizedSpectralClustering(ClusterMixin, MultiViewEstimator):
    """Spectral clustering of several views whose eigenvectors are drawn to each other.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, and of eigenvectors of each view.
    form : {"pairwise", "centroid", "sum", "joined"}, default="centroid"
        What the eigenvectors of a view are drawn to: those of each other view, or a common set. With "sum" there is
        one graph, those of the views added up; with "joined" one graph of neighbours by all views side by side, each
        of the same mean length.
    weight : float, default=0.1
        How strongly; 0 leaves the views alone until k-means.
    n_neighbors : int or None, default=None
        Neighbours of each object in a graph; None is half of the mean size of a cluster, at least 10 and at most 30. Of
        texts fewer than that make islands of near copies.
    metric : {"auto", "cosine", "standard", "euclidean"} or {view: metric}, default="auto"
        What near means: cosine, Euclidean distance of columns scaled to variance 1, or of the values as they are.
        "auto" is cosine for sparse views and for dense ones that are mostly zeros and never negative, else "standard".
    lift : float, default=0.1
        What joins everything to everything, as a share of the mean degree; without it outliers make clusters of their
        own.
    view_weights : dict or None, default=None
        Weight of each view; 1 for views that are not named.
    max_iter : int, default=10
        Most rounds over the views.
    tol : float, default=1e-4
        Stop when the objective changes by less than this, relative to itself; 0 makes exactly `max_iter` rounds.
    n_init : int, default=10
        Starts of k-means.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the eigenvectors' start and of k-means.

    Attributes
    ----------
    labels_ : ndarray (n_objects,)
        Cluster of each training object.
    embedding_ : ndarray (n_objects, n_clusters x number of views, or n_clusters)
        Eigenvectors, rows of length 1: what k-means saw.
    eigenvalues_ : dict of ndarray
        Leading eigenvalues of the graphs as they are drawn, by view ("sum" has one entry, "all").
    cluster_centers_ : ndarray (n_clusters, columns of the embedding)
        Centres of k-means.
    n_neighbors_ : int
        Number of neighbours.
    scalings_ : dict
        How each view's rows are scaled: metric, mean and deviation.
    neighbours_ : dict of matrices
        The training objects of each view that new ones are compared with.
    history_ : dict of lists
        "objective" after each round; entry 0 is that of the views alone. It never falls,
        but for rounding.
    n_iter_ : int
        Number of rounds.

    Notes
    -----
    An object that lacks a view has no edges there, and the others place it. A new object stands at the weighted mean of
    its nearest training objects in the views that are given, and then goes to the nearest centre; one that was fitted
    mostly gets its label back, but in a view where several are equal it stands at their mean. Time goes into
    neighbours, objects^2 x features, in pieces.

    References
    ----------
    A. Kumar, P. Rai, H. Daume III: Co-regularized multi-view spectral clustering. NIPS 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import CoRegularizedSpectralClustering, make_blobs_views
    >>> corpus = make_blobs_views(n_objects=90, n_clusters=3, random_state=0)
    >>> model = CoRegularizedSpectralClustering(3, random_state=0).fit(corpus.views)
    >>> model.labels_.shape, model.embedding_.shape
    ((90,), (90, 3))
    >>> bool((model.predict(corpus.views) == model.labels_).all())
    True
    """

    _models_counts = False

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        form: str = "centroid",
        weight: float = 0.1,
        n_neighbors: int | None = None,
        metric: Any = "auto",
        lift: float = 0.1,
        view_weights: Any = None,
        max_iter: int = 10,
        tol: float = 1e-4,
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.form = form
        self.weight = weight
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.lift = lift
        self.view_weights = view_weights
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> CoRegularizedSpectralClustering:
        """Cluster the objects; y is ignored."""
        self._check_parameters()
        views = self._fit_views(X)
        if len(views) < self.n_clusters:
            raise ValueError(f"n_samples={len(views)} should be >= n_clusters={self.n_clusters}.")
        weights = per_view("view_weights", self.view_weights, self.view_names_)
        seed = base_seed(self.random_state)
        self.n_neighbors_ = self.n_neighbors or int(np.clip(len(views) // (2 * self.n_clusters), FEWEST, MOST))
        self._scale(views, weights)
        if self.form in ("sum", "joined"):
            graph = Graph.of(self._one_graph(views, weights), self.lift)
            found, vectors = leading_vectors(graph, self.n_clusters, seed)
            values, objective = {"all": found}, [float(found.sum())]
        else:
            graphs = [Graph.of(part, self.lift) for part in self._graphs(views)]
            search = _Search(graphs, weights, self.n_clusters, seed)
            vectors, objective = search.run(self.form, float(self.weight), self.max_iter, float(self.tol))
            values = dict(zip(views.names, search.values))
        self.eigenvalues_ = values
        self.embedding_ = unit_length(vectors)
        clusterer = KMeans(self.n_clusters, n_init=self.n_init, random_state=seed).fit(self.embedding_)
        self.labels_ = clusterer.labels_.astype(np.int64)
        self.cluster_centers_ = clusterer.cluster_centers_
        self.history_ = {"objective": objective}
        self.n_iter_ = len(objective) - 1
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Cluster of each object, new or old, from some or all of the fitted views."""
        check_is_fitted(self, "cluster_centers_")
        views = self._new_views(X)
        weights = dict(zip(self.view_names_, per_view("view_weights", self.view_weights, self.view_names_)))
        rows, known = {}, {}
        for v, (name, matrix) in enumerate(views.items()):
            scaling = Scaling(**self.scalings_[name])
            rows[name] = scaling.absent(scaling.rows(matrix), views.present[:, v])
            known[name] = scaling.known(rows[name], views.present[:, v])
        if self.form == "joined":
            among = _beside({name: self.neighbours_[name] for name in rows}, self.joint_scales_)
            anyone = np.any(list(known.values()), axis=0)
            edges = edges_to(_beside(rows, self.joint_scales_), anyone, among, self.n_neighbors_)
            placed = edges @ self.embedding_
        else:
            placed = np.zeros((len(views), self.embedding_.shape[1]))
            for name, part in rows.items():
                near = self.neighbour_rows_[name]
                among = for_sklearn(take_rows(self.neighbours_[name], near))
                edges = edges_to(part, known[name], among, self.n_neighbors_)
                placed += weights[name] * (edges @ self.embedding_[near])
        placed = unit_length(placed)
        # the centres themselves are inside the sphere: compare as k-means does
        gaps = (self.cluster_centers_**2).sum(axis=1) - 2 * placed @ self.cluster_centers_.T
        return gaps.argmin(axis=1)

    # -- pieces

    def _check_parameters(self) -> None:
        for name in ("n_clusters", "max_iter", "n_init"):
            check_count(name, getattr(self, name))
        if self.n_neighbors is not None:
            check_count("n_neighbors", self.n_neighbors)
        check_option("form", self.form, ("pairwise", "centroid", "sum", "joined"))
        for name in ("weight", "lift", "tol"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be a number of at least 0, got {getattr(self, name)!r}.")

    def _metric(self, name: str) -> str:
        given = self.metric.get(name, "auto") if isinstance(self.metric, dict) else self.metric
        return check_option("metric", given, ("auto", "cosine", "standard", "euclidean"))

    def _scale(self, views: Views, weights: np.ndarray) -> None:
        """Rows of each view made comparable; remembers how, and what new objects are compared with."""
        self.scalings_: dict[str, dict[str, Any]] = {}
        self.neighbours_: dict[str, Any] = {}
        self.neighbour_rows_: dict[str, np.ndarray] = {}
        self.joint_scales_: dict[str, float] = {}
        for v, (name, matrix) in enumerate(views.items()):
            have = np.flatnonzero(views.present[:, v])
            some = matrix if len(have) == len(views) else take_rows(matrix, have)
            scaling = Scaling.learned(some, self._metric(name))
            self.scalings_[name] = vars(scaling)
            self.neighbours_[name] = scaling.absent(scaling.rows(matrix), views.present[:, v])
            self.neighbour_rows_[name] = have
            self.joint_scales_[name] = _joint_scale(self.neighbours_[name], weights[v])

    def _known(self, name: str, views: Views) -> np.ndarray:
        present = views.present[:, views.names.index(name)]
        return Scaling(**self.scalings_[name]).known(self.neighbours_[name], present)

    def _graphs(self, views: Views) -> list[Any]:
        return [
            neighbour_graph(self.neighbours_[name], self._known(name, views), self.n_neighbors_) for name in views.names
        ]

    def _one_graph(self, views: Views, weights: np.ndarray) -> Any:
        """Affinity by all views: of the rows side by side, or the sum of the views' graphs at the same mean degree."""
        if self.form == "joined":
            known = np.any([self._known(name, views) for name in views.names], axis=0)
            return neighbour_graph(_beside(self.neighbours_, self.joint_scales_), known, self.n_neighbors_)
        graphs = self._graphs(views)
        masses = [max(float(part.sum()), 1e-12) for part in graphs]
        return sum(part * (weight * len(views) / mass) for part, weight, mass in zip(graphs, weights, masses))


def _beside(rows: dict[str, Any], scales: dict[str, float]) -> Any:
    """Rows of all views side by side, each view times its scale."""
    return for_sklearn(Views({name: part * part.dtype.type(scales[name]) for name, part in rows.items()}).hstack())


def _joint_scale(rows: Any, weight: float) -> float:
    """Factor with which a view has the mean square `weight`."""
    squares = float((rows.multiply(rows) if sparse.issparse(rows) else rows * rows).sum())
    return float(np.sqrt(weight * rows.shape[0] / max(squares, 1e-12)))


class _Search:
    """The rounds of the pairwise and of the centroid form."""

    def __init__(self, graphs: list[Graph], weights: np.ndarray, count: int, seed: int) -> None:
        self.graphs, self.weights, self.count = graphs, weights, count
        found = [leading_vectors(graph, count, seed) for graph in graphs]
        self.values = [values for values, _ in found]
        self.vectors = [vectors for _, vectors in found]

    def run(self, form: str, weight: float, max_iter: int, tol: float) -> tuple[np.ndarray, list[float]]:
        """Rounds until the objective rests; returns what k-means takes, and the objective by round."""
        if form == "centroid":
            self.common = self._common()
        objective = [self._objective(form, weight)]
        several = len(self.graphs) > 1 and weight > 0
        for _ in range(max_iter):
            if several:
                self._round(form, weight)
            objective.append(self._objective(form, weight))
            if tol > 0 and objective[-1] - objective[-2] <= tol * abs(objective[-1]):
                break
        if form == "centroid":
            return self.common, objective
        shares = np.sqrt(self.weights)
        return np.hstack([share * unit_length(part) for share, part in zip(shares, self.vectors)]), objective

    def _round(self, form: str, weight: float) -> None:
        for v, graph in enumerate(self.graphs):
            if form == "pairwise":
                pulls = [(weight * self.weights[w], self.vectors[w]) for w in range(len(self.graphs)) if w != v]
            else:
                pulls = [(weight, self.common)]
            self.values[v], self.vectors[v] = drawn_vectors(graph, self.vectors[v], pulls)
        if form == "centroid":
            self.common = self._common()

    def _common(self) -> np.ndarray:
        """Leading eigenvectors of sum_v a_v U_v U_v': left singular vectors of the U_v side by side."""
        beside = np.hstack([np.sqrt(share) * part for share, part in zip(self.weights, self.vectors)])
        values, turn = np.linalg.eigh(beside.T @ beside)
        kept = np.argsort(-values)[: self.count]
        return beside @ (turn[:, kept] / np.sqrt(np.maximum(values[kept], 1e-12)))

    def _objective(self, form: str, weight: float) -> float:
        total = sum(
            share * float(np.vdot(part, graph @ part))
            for share, graph, part in zip(self.weights, self.graphs, self.vectors)
        )
        if form == "centroid":
            pull = sum(
                share * float(((part.T @ self.common) ** 2).sum()) for share, part in zip(self.weights, self.vectors)
            )
        else:
            pull = sum(
                self.weights[v] * self.weights[w] * float(((self.vectors[v].T @ self.vectors[w]) ** 2).sum())
                for v in range(len(self.vectors))
                for w in range(v)
            )
        return total + weight * pull

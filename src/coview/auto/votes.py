"""Votes: clusterings of graphs at several scales, and the clusters that they agree on.

A scale is a number of neighbors: a quarter, a half, once and twice the usual one. Neighbors are looked for once, with
the largest number; the graph of a smaller one is made of the first of them, since they are sorted by distance. At each
scale the leading eigenvectors of all graphs (of each view, of all views side by side, and the sum of the views') stand
side by side, and k-means with one start clusters their rows 10 times. Each clustering is a vote for the clusters to be
found.

With H the indicator matrix of all clusterings (objects x clusters of all of them), columns divided by the root of their
sums, the rows of its k left singular vectors, brought to length 1, are clustered by k-means. An object's memberships
are then its shares of the votes: over the clusterings r that know it,

    p(z | i) = mean_r P(z | c_r(i)),     P(z | c) = share of the objects of cluster c that are in cluster z

so a new object needs nothing but its cluster in each clustering: it stands among the eigenvectors where its neighbors
do and goes to the nearest centers. What all clusterings say alike is sure; the share says how sure.

Of more objects than neighbors can be looked for, graphs of objects and anchors take the place of graphs of neighbors
(`clustering/anchor_graphs.py`): their repeats, each with other anchors, are what differs, in place of scales.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.utils.extmath import randomized_svd

from coview.clustering.affinity import Graph, leading_vectors, unit_length
from coview.clustering.anchor_graphs import AnchorGraphClustering, place_joined
from coview.clustering.spectral import beside_each_other, kmeans_of_parts, nearest_center, strong_columns
from coview.clustering.view_graphs import NeighborGraphEstimator
from coview.engines.loop import local_engine, select_engine
from coview.engines.protocol import Engine, Tree, few_threads
from coview.inspection import one_hot
from coview.utils import fitted_state as rules
from coview.utils.progress import counted
from coview.validation import base_seed

__all__ = ["AnchorVotes", "GraphVotes", "count_votes", "share_votes"]

SCALES = (0.25, 0.5, 1.0, 2.0)  # of the number of neighbors, as in design section 11
N_CLUSTERINGS = 10  # of each scale


def count_votes(labels: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """Return P(z | c), the shares of each clustering's clusters in those that all agree on most.

    Parameters
    ----------
    labels : ndarray of int (n_objects, n_clusterings)
        Cluster of each object in each clustering; -1 where it is not known.
    n_clusters : int
        Number of clusters to be found.
    seed : int
        Of the singular vectors and k-means.

    Returns
    -------
    shares : ndarray (n_clusterings, clusters of each, n_clusters)

    Examples
    --------
    >>> labels = np.array([[0, 1], [0, 1], [1, 0], [1, 0], [1, 0]])
    >>> count_votes(labels, 2, 0)[0].max(axis=1).tolist()  # both say the same in other words
    [1.0, 1.0]
    """
    n_objects, n_clusterings = labels.shape
    width = max(int(labels.max(initial=-1)) + 1, 1)
    rows, of = np.nonzero(labels >= 0)
    columns = of * width + labels[rows, of]
    shape = (n_objects, n_clusterings * width)
    indicators = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    sizes = np.maximum(np.bincount(columns, minlength=shape[1]), 1)
    scaled = sparse.csr_array(indicators @ sparse.diags_array(1 / np.sqrt(sizes)))
    there = np.unique(rows)
    final = np.zeros(n_objects, dtype=np.int64)
    if there.size:
        vectors = unit_length(_left_vectors(scaled[there], n_clusters, seed))
        final[there] = KMeans(min(n_clusters, len(there)), n_init=10, random_state=seed).fit(vectors).labels_
    shares = np.asarray(indicators.T @ one_hot(final, n_clusters)) / sizes[:, None]
    return shares.reshape(n_clusterings, width, n_clusters)


def share_votes(labels: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Memberships (n_objects, n_clusters): the mean shares of an object's clusters, those that are known.

    Without any, an object belongs to all clusters alike.

    Examples
    --------
    >>> shares = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.0, 1.0]]])
    >>> share_votes(np.array([[0, 0], [1, -1], [-1, -1]]), shares).tolist()
    [[0.75, 0.25], [0.0, 1.0], [0.5, 0.5]]
    """
    found = np.zeros((len(labels), shares.shape[2]))
    for codes, part in zip(labels.T, shares):
        found += np.where((codes >= 0)[:, None], part[codes], 0.0)
    votes = (labels >= 0).sum(axis=1, keepdims=True)
    return np.where(votes > 0, found / np.maximum(votes, 1), 1.0 / shares.shape[2])


def _left_vectors(matrix: Any, count: int, seed: int) -> np.ndarray:
    """Left singular vectors of the largest values of a sparse matrix (rows x count), fewer of a small one.

    Found together: clusters that all clusterings have alike have the same value, of which Lanczos would miss some.
    """
    count = min(count, *matrix.shape)
    more = max(count, 10)
    return randomized_svd(sparse.csr_matrix(matrix), count, n_oversamples=more, n_iter=7, random_state=seed)[0]


class GraphVotes(NeighborGraphEstimator):
    """Clusters by votes of clusterings of neighbor graphs at several scales.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_neighbors : int or None, default=None
        Number of neighbors at scale 1, as in `SpectralClusteringViews`.
    metric : str or dict of str, default="auto"
        As there.
    engine, random_state
        As there.

    Attributes
    ----------
    embedding_ : ndarray (n_scales, n_objects, columns)
        Eigenvectors of all graphs, side by side.
    part_weights_ : ndarray
        Squared length of each graph's part of a row.
    centers_ : ndarray (n_clusterings, n_clusters, columns)
        Centers of each clustering.
    shares_ : ndarray (n_clusterings, n_clusters, n_clusters)
        Shares of its clusters in the clusters of all.
    """

    _scales = SCALES
    _fitted_state = {
        "view_weights_": rules.by_view(rules.weight()),
        "embedding_": rules.floats("scales", "objects", "dimensions"),
        "part_weights_": rules.shares("parts"),
        "centers_": rules.floats("clusterings", "own clusters", "dimensions"),
        "shares_": rules.floats("clusterings", "own clusters", "clusters", low=0.0),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_neighbors: int | None = None,
        metric: Any = "auto",
        engine: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.engine = engine
        self.random_state = random_state

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Cluster the objects at all scales and return their memberships, the shares of the votes; y is ignored."""
        votes = self.cluster(X)
        self.shares_ = count_votes(votes, self.n_clusters, base_seed(self.random_state))
        return share_votes(votes, self.shares_)

    def cluster(self, X: Any) -> np.ndarray:
        """Cluster the objects at all scales and return the votes (objects x clusterings), -1 for none."""
        seed = base_seed(self.random_state)
        self.embed(X)
        with few_threads(self.embedding_.shape[1], self.n_clusters):
            found = []
            for scale, rows in enumerate(counted(self.embedding_, "clusterings of scale", len(SCALES))):
                seeds = [seed + scale * N_CLUSTERINGS + r for r in range(N_CLUSTERINGS)]
                found += cluster_often(rows, len(self.part_weights_), self.n_clusters, seeds)
            self.centers_ = np.stack([centers for centers, _ in found])
        return _known_votes(self.embedding_, np.column_stack([labels for _, labels in found]))

    def embed(self, X: Any) -> np.ndarray:
        """Eigenvectors of all graphs of these objects side by side, for each scale (scales x objects x columns)."""
        views, seed = self._fit_views(X), base_seed(self.random_state)
        weights = np.ones(len(views.names))
        self.view_weights_ = dict.fromkeys(views.names, 1.0)
        with few_threads(len(views), self.n_clusters):
            self._scale(views, weights)
            graphs, self.part_weights_ = self._all_graphs(views, weights)
            found = []
            for of_scale in counted(graphs, "scale", len(SCALES)):
                pairs = [leading_vectors(Graph.of(part), self.n_clusters, seed) for part in of_scale]
                found.append(beside_each_other([strong_columns(*pair) for pair in pairs], self.part_weights_))
        self.embedding_ = np.stack(found).astype(np.float32)
        return self.embedding_

    def transform(self, X: Any) -> np.ndarray:
        """Memberships of objects, from some or all of the fitted views."""
        return share_votes(self.cast(X), self.shares_)

    def cast(self, X: Any) -> np.ndarray:
        """Votes for objects (objects x clusterings), from some or all of the fitted views."""
        placed = self.place(X)
        labels = [
            nearest_center(placed[r // N_CLUSTERINGS], centers, len(self.part_weights_))
            for r, centers in enumerate(self.centers_)
        ]
        return _known_votes(placed, np.column_stack(labels))

    def place(self, X: Any) -> np.ndarray:
        """Where objects stand among the eigenvectors (scales x objects x columns), by their neighbors there."""
        parts = [np.split(part, len(self.part_weights_), axis=1) for part in self.embedding_]
        placed = self._among_all(self._new_views(X), parts)
        return np.stack([beside_each_other(of_scale, self.part_weights_) for of_scale in placed])

    # -- pieces

    def _n_groups(self) -> int:
        return self.n_clusters


def _known_votes(embedding: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Labels (objects x clusterings) without those of objects that stand nowhere at the clustering's scale."""
    known = np.repeat(embedding.any(axis=2).T, N_CLUSTERINGS, axis=1)
    return np.where(known, labels, -1)


def cluster_often(
    rows: np.ndarray, n_parts: int, n_clusters: int, seeds: Sequence[int]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Centers and clusters by k-means with one start, for each seed.

    Rows that have all parts are brought to `n_clusters` columns by their singular vectors, which keeps what tells
    clusters apart, before they are clustered; the others go to the nearest of these centers. Where most rows lack
    parts, centers are means of the parts that there are.
    """
    has = np.array([part.any(axis=1) for part in np.split(rows, n_parts, axis=1)])
    complete = rows[has.all(axis=0)].astype(np.float64)
    if 2 * len(complete) < has.any(axis=0).sum() or rows.shape[1] <= n_clusters or len(complete) < n_clusters:
        return [kmeans_of_parts(rows, n_parts, n_clusters, 1, seed) for seed in seeds]
    few = complete @ np.linalg.eigh(complete.T @ complete)[1][:, -n_clusters:]
    found = []
    for seed in seeds:
        codes = KMeans(n_clusters, n_init=1, random_state=seed).fit(few).labels_
        sizes = np.maximum(np.bincount(codes, minlength=n_clusters), 1)
        centers = (one_hot(codes, n_clusters).T @ complete) / sizes[:, None]
        found.append((centers, nearest_center(rows, centers, n_parts)))
    return found


class AnchorVotes(AnchorGraphClustering):
    """Clusters of any number of objects by votes of clusterings of anchor graphs.

    Attributes
    ----------
    centers_ : ndarray (n_clusterings, n_clusters, columns)
        Centers of each clustering.
    shares_ : ndarray (n_clusterings, n_clusters, n_clusters)
        Shares of its clusters in the clusters of all.
    """

    _group_rows = ()
    _fitted_state = {
        "labels_": None,
        "cluster_centers_": None,
        "cluster_means_": None,
        "cluster_frequencies_": None,
        "centers_": rules.floats("clusterings", "own clusters", None),
        "shares_": rules.floats("clusterings", "own clusters", "clusters", low=0.0),
    }

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Cluster the objects and return their memberships, the shares of the votes; y is ignored."""
        return self._fit_rows(X)[-1]

    def transform(self, X: Any) -> np.ndarray:
        """Memberships of objects, from some or all of the fitted views."""
        views, engine = self._new_views(X), local_engine(select_engine(self.engine, n_jobs=self.n_jobs, data=X))
        with engine.limits():
            step = self._votes(engine)
            joined = (self._steps().joined(block, engine) for block in self._blocks(views, engine))
            return np.concatenate([step(rows)["memberships"] for rows in joined])

    # -- pieces

    def _cluster_rows(self, placed: list[Any], ops: Engine, seed: int) -> tuple[Callable[[Tree], Tree], str]:
        """Cluster the sample often and count the votes."""
        seeds = range(seed, seed + N_CLUSTERINGS)
        self.centers_ = np.stack([ops.kmeans_centers(placed, self.n_clusters, 1, each) for each in seeds])
        labels = np.concatenate([cast_votes(part, self.centers_, ops) for part in placed])
        self.shares_ = count_votes(labels, self.n_clusters, seed)
        return self._votes(ops), "memberships"

    def _votes(self, ops: Engine) -> Callable[[Tree], Tree]:
        return _ShareOfVotes(ops, self.maps_, self.centers_, self.shares_)


def cast_votes(placed: Any, centers: np.ndarray, ops: Engine) -> np.ndarray:
    """Nearest center of each row in every clustering (rows x clusterings)."""
    return np.column_stack([ops.to_numpy(ops.center_sums(placed, ops.asarray(part))[0]) for part in centers])


@dataclass(frozen=True)
class _ShareOfVotes:
    """Memberships of rows that are joined to anchors."""

    ops: Any
    maps: np.ndarray
    centers: np.ndarray
    shares: np.ndarray

    def __call__(self, rows: Tree) -> Tree:
        placed, known = place_joined(rows, self.maps, self.ops)
        labels = np.where(known[:, None], cast_votes(placed, self.centers, self.ops), -1)
        return {"memberships": share_votes(labels, self.shares).astype(self.centers.dtype)}

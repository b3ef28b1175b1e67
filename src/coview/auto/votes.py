"""Votes: clusterings of graphs at several scales, and the clusters that they agree on.

A scale is a number of neighbors: a quarter, a half, once and twice the usual one. Neighbors are looked for once, with
the largest number; the graph of a smaller one is made of the first of them, since they are sorted by distance. At each
scale the leading eigenvectors of all graphs (of each view, of all views side by side, and the sum of the views') stand
side by side, and k-means with one start clusters their rows several times. Each clustering is a vote for the clusters
to be found.

What they agree on is found by `count_votes`. A new object has the mean of the memberships of its neighbors, by the
graphs and at the scales of the last votes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from coview.clustering.affinity import Graph, leading_vectors
from coview.clustering.spectral import beside_each_other, kmeans_of_parts, nearest_center, strong_columns
from coview.clustering.view_graphs import NeighborGraphEstimator
from coview.engines.protocol import few_threads, in_threads
from coview.inspection import one_hot
from coview.utils import fitted_state as rules
from coview.validation import per_view
from coview.views.views import Views

__all__ = ["N_CLUSTERINGS", "SCALES", "GraphVoter"]

SCALES = (0.25, 0.5, 1.0, 2.0)  # of the number of neighbors, as the method is written
N_CLUSTERINGS = 5  # of each scale: ten are no better, on either half of the collections


class GraphVoter(NeighborGraphEstimator):
    """Clusterings of the neighbor graphs of some views, at several scales.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, and of eigenvectors of each graph.
    metric : str or dict of str, default="auto"
        As there.
    view_weights : dict of float or None, default=None
        How much each view counts; None is 1.
    engine : str or engine, default="auto"
        As there.
    scales : sequence of float
        Factors of the number of neighbors, all of `SCALES` by default.

    Attributes
    ----------
    part_weights_ : ndarray
        How much each graph counts: those of the views, that of all side by side, and the sum.
    """

    n_neighbors = None  # at scale 1: as many as `SpectralClusteringViews` takes by default
    _fitted_state = {"view_weights_": rules.by_view(rules.weight()), "part_weights_": rules.shares("parts")}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Any = "auto",
        view_weights: Any = None,
        engine: Any = "auto",
        scales: Sequence[float] = SCALES,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.view_weights = view_weights
        self.engine = engine
        self.scales = scales

    @property
    def _scales(self) -> Sequence[float]:  # type: ignore[override]
        return self.scales

    def embed(self, X: Any, seed: int) -> list[list[np.ndarray]]:
        """Return the leading eigenvectors of all graphs (objects x clusters each), for each scale."""
        views = self._fit_views(X)
        weights = per_view("view_weights", self.view_weights, self.view_names_)
        self.view_weights_ = dict(zip(self.view_names_, map(float, weights)))
        with few_threads(len(views), self.n_clusters):
            self._scale(views, weights)
            graphs, self.part_weights_ = self._all_graphs(views, weights)
            ops = self._ops()

            def work(part: Any) -> np.ndarray:
                return strong_columns(*leading_vectors(Graph.of(part), self.n_clusters, seed, ops))

            parts = [part for of_scale in graphs for part in of_scale]
            found = in_threads(work, parts, "graph")
        n_parts = len(self.part_weights_)
        return [found[i : i + n_parts] for i in range(0, len(found), n_parts)]

    def cluster(
        self, scales: Sequence[Sequence[np.ndarray]], n_clusters: int, seed: int, n_votes: int = N_CLUSTERINGS
    ) -> np.ndarray:
        """Cluster the first `n_clusters` eigenvectors of each scale `n_votes` times; return objects x clusterings.

        An object without neighbors at a scale has no vote there, -1.
        """
        n_parts = len(self.part_weights_)
        with few_threads(len(scales[0][0]), n_clusters):
            blocks = [beside_each_other([part[:, :n_clusters] for part in of], self.part_weights_) for of in scales]
            short = in_threads(lambda rows: _shorten(rows, n_parts, n_clusters), blocks)

            def work(vote: int) -> np.ndarray:
                rows, few = blocks[vote // n_votes], short[vote // n_votes]
                labels = _cluster_rows(rows, few, n_parts, n_clusters, seed + vote)
                return np.where(rows.any(axis=1), labels, -1)

            return np.column_stack(in_threads(work, range(len(scales) * n_votes)))

    def place(self, views: Views, memberships: np.ndarray) -> np.ndarray:
        """Return the mean of the fitted objects' memberships over the neighbors of new objects; 0 where there is none.

        `views` are some or all of the fitted ones.
        """
        ones = np.ones((len(memberships), 1))  # its mean is the share of the weight that leans on anyone
        vectors = np.hstack([memberships, ones])
        placed = self._among_all(self._new_views(views), [vectors] * len(self.part_weights_))
        total = sum(weight * _divide(part) for weight, part in zip(self.part_weights_, placed))
        return _divide(np.asarray(total))[:, :-1]

    def _n_groups(self) -> int:
        return self.n_clusters


def _divide(sums: np.ndarray) -> np.ndarray:
    """Rows by their last column, where that is not 0."""
    return sums / np.where(sums[:, -1:] > 0, sums[:, -1:], 1.0)


def _shorten(rows: np.ndarray, n_parts: int, n_clusters: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Rows that have all parts, and those with few columns; None where most lack parts or there are few columns.

    Their singular vectors, twice as many as clusters, keep what tells clusters apart.
    """
    has = np.array([part.any(axis=1) for part in np.split(rows, n_parts, axis=1)])
    complete = rows[has.all(axis=0)]
    if 2 * len(complete) < has.any(axis=0).sum() or rows.shape[1] <= 2 * n_clusters or len(complete) < n_clusters:
        return None
    return complete, complete @ np.linalg.eigh(complete.T @ complete)[1][:, -2 * n_clusters :]


def _cluster_rows(rows: np.ndarray, short: Any, n_parts: int, n_clusters: int, seed: int) -> np.ndarray:
    """Clusters of rows by k-means with one start.

    Rows that have all parts are clustered with few columns (see `_shorten`); then all go to the nearest of these
    centers in the parts that they have. Where most rows lack parts, centers are means of the parts that there are.
    """
    if short is None:
        return kmeans_of_parts(rows, n_parts, n_clusters, 1, seed)[1]
    complete, few = short
    codes = KMeans(n_clusters, n_init=1, random_state=seed).fit(few).labels_
    sizes = np.maximum(np.bincount(codes, minlength=n_clusters), 1)
    return nearest_center(rows, (one_hot(codes, n_clusters).T @ complete) / sizes[:, None], n_parts)

"""How much each view counts: how far one half of its columns finds what the other half finds.

The columns of a view are dealt into two halves, and each half has a graph of neighbors of its own. With U and W the m
leading eigenvectors of the two graphs, of n objects, the view's weight is

    r = (|U' W|^2 - 1) / (m - 1) - m / n

where |.|^2 is the sum of squares: 1 where both halves have the same leading eigenvectors, 0 where they have none in
common but the trivial one, and m / n by chance. A view that few columns tell alike, such as the organization in the
header of a post, has little weight beside the post itself. Where no view holds counts, all count alike: columns of
measurements are few, and no sample of many that would do as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.clustering.affinity import (
    Graph,
    Scaling,
    leading_vectors,
    metric_by_default,
    neighbor_graph,
    neighbors_by_default,
)
from coview.engines.protocol import few_threads
from coview.utils.progress import tell
from coview.utils.sampling import sample_positions
from coview.views.arrays import take_rows
from coview.views.views import Views, n_present

__all__ = ["weigh_views"]

MOST_OBJECTS = 1000  # that are compared: a graph of more would take as long as the votes
FEWEST_VECTORS = 10  # of two or three the first few decide by chance
FLOOR = 0.05  # a view in which there is something counts for something


def weigh_views(views: Views, n_clusters: int, metrics: dict[str, str], seed: int) -> dict[str, float]:
    """Weight of each view, 1 in the mean; a view of one column, which has no halves, counts like the mean.

    Where cosines suit none of the views, all count alike.

    Parameters
    ----------
    views : Views
        Prepared ones.
    n_clusters : int
        Number of clusters that are looked for.
    metrics : dict of str
        Metric of the views whose values do not tell it.
    seed : int
        Of the sample and the halves.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> told = rng.poisson(0.1 + np.eye(4)[np.arange(120) % 4].repeat(9, axis=1))
    >>> weights = weigh_views(Views(good=told, noise=rng.normal(size=(120, 12))), 4, {}, 0)
    >>> weights["good"] > 4 * weights["noise"]
    True
    """
    tell("weights of views")
    having = n_present(views)
    if all(metric_by_default(matrix, having[name]) != "cosine" for name, matrix in views.items()):
        return dict.fromkeys(views.names, 1.0)
    with few_threads(min(len(views), MOST_OBJECTS), n_clusters):
        found = {
            name: _share_of_halves(
                take_rows(matrix, np.flatnonzero(views.present[:, v])), n_clusters, metrics.get(name, "auto"), seed
            )
            for v, (name, matrix) in enumerate(views.items())
        }
    known = [share for share in found.values() if share is not None]
    mean = float(np.mean(known)) if known else 1.0
    return {name: 1.0 if share is None else share / mean for name, share in found.items()}


def _share_of_halves(matrix: Any, n_clusters: int, metric: str, seed: int) -> float | None:
    """The figure r of one view's rows; None where there are no halves, or too few rows."""
    rows = sample_positions(matrix.shape[0], MOST_OBJECTS, seed)
    count = max(n_clusters, FEWEST_VECTORS)
    if matrix.shape[1] < 2 or len(rows) <= 2 * count:
        return None
    scaling = Scaling.learned(take_rows(matrix, rows), metric)
    order = np.random.default_rng([seed, 1]).permutation(matrix.shape[1])
    halves = [take_rows(matrix, rows)[:, np.sort(order[part::2])] for part in range(2)]
    one, two = (_leading(half, scaling.metric, n_clusters, count, seed) for half in halves)
    share = (((one.T @ two) ** 2).sum() - 1) / (count - 1) - count / len(rows)
    return max(float(share), FLOOR)


def _leading(matrix: Any, metric: str, n_clusters: int, count: int, seed: int) -> np.ndarray:
    scaling = Scaling.learned(matrix, metric)
    rows, cosine = scaling.rows(matrix), metric == "cosine"
    known = scaling.known(rows, np.ones(rows.shape[0], dtype=bool))
    n_neighbors = neighbors_by_default(cosine, rows.shape[0], n_clusters)
    graph = neighbor_graph(rows, known, n_neighbors, cosine=cosine)
    return leading_vectors(Graph.of(graph), count, seed)[1]

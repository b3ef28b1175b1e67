"""How many clusters: the number whose clusters tell most that comes back on other objects.

The objects are cut into halves, and the neighbor graphs of each half are made once, with as many eigenvectors as the
largest number needs. For each number k, k-means on the first k eigenvectors clusters each half, and each half's graphs
place the objects of the other among its own clusters. What an object's cluster in its own half tells of where the other
half puts it is

    information(k) = H (AMI - c (1 - AMI)),     H mean entropy, AMI adjusted mutual information of the two clusterings

nats that come back less those that do not, times a cost: a split that comes back adds to it, one that does not takes
away. The number with the most is taken. Large numbers are tried only where high ones are the best of the small.
Where of no number's clusters more comes back than does not, the least is lost with the least spread, whatever comes
back of it: then the smallest number whose AMI is as good as the largest is taken, and the user is told that none is
borne out.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import entropy
from sklearn.metrics import adjusted_mutual_info_score

from coview.clustering.affinity import unit_length
from coview.clustering.spectral import SpectralClusteringViews, kmeans_of_parts, nearest_center
from coview.engines.loop import Deadline, largest_in_time
from coview.utils.progress import tell
from coview.utils.sampling import sample_positions
from coview.views.views import Views

__all__ = ["borne_out", "choose_number", "reproduced_information"]

MOST_OBJECTS = 2000  # that the number is chosen by
REPEATS = 2  # pairs of halves
COST = 1.0  # of a nat that does not come back, in nats that do
STARTS = 2  # of k-means
SMALL = (*range(2, 11), 12, 14, 16, 20)
LARGE = (25, 30, 40, 50, 65, 80, 100)
HIGH = 14  # best of the small numbers from which large ones are tried
OBJECTS_PER_CLUSTER = 10
FEWEST = 300  # objects of the first sample, where time is short
AS_GOOD = 0.02  # adjusted mutual information: what chance alone makes of it
LONGER = 3  # times as long as the small numbers the large ones may take


def choose_number(
    views: Views, seed: int, deadline: Deadline, engine: Any = "auto"
) -> tuple[int, dict[str, list[Any]]]:
    """Return the number of clusters, and the evidence as a table by number; the views are prepared ones."""
    rows = sample_positions(len(views), MOST_OBJECTS, seed)
    some = views if len(rows) == len(views) else views[rows]
    known = np.flatnonzero(some.present.any(axis=1))
    some = some if len(known) == len(some) else some[known]
    took = 0.0

    def small(rows: np.ndarray) -> dict[str, list[Any]]:
        nonlocal took
        began = time.monotonic()
        table = _evidence(some[rows], SMALL, seed, deadline, engine)
        took = time.monotonic() - began
        return table

    table, rows = largest_in_time(small, len(some), FEWEST, seed, deadline)
    if not table["n_clusters"]:  # so few objects that any number is as good
        return min(2, len(views)), table
    if borne_out(table) and _best(table) >= HIGH and deadline.left() > LONGER * took:
        large = _evidence(some[rows], LARGE, seed, deadline, engine)
        table = {column: values + large[column] for column, values in table.items()}
    return _best(table), table


def _evidence(views: Views, numbers: Sequence[int], seed: int, deadline: Deadline, engine: Any) -> dict[str, list[Any]]:
    """Table of what comes back, by number of clusters: those that there are enough objects for."""
    table: dict[str, list[Any]] = {"n_clusters": [], "information": [], "reproduced": []}
    tried = [number for number in numbers if number <= max(len(views) // OBJECTS_PER_CLUSTER, 1)]
    for number, pairs in (_clusterings(views, tried, seed, deadline, engine) if tried else {}).items():
        shared = [reproduced_information(*pair) for pair in pairs]
        for column, values in zip(("information", "reproduced"), zip(*shared)):
            table[column].append(float(np.mean(values)))
        table["n_clusters"].append(number)
    return table


def reproduced_information(one: np.ndarray, two: np.ndarray) -> tuple[float, float]:
    """Nats of two clusterings that come back less those that do not, and their adjusted mutual information.

    Both are 0 where one is a single cluster.

    Examples
    --------
    >>> nats, again = reproduced_information(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))  # log 2, and all of it
    >>> round(nats, 3), round(again, 3)
    (0.693, 1.0)
    """
    if min(len(np.unique(one)), len(np.unique(two))) < 2:
        return 0.0, 0.0
    spread = float(np.mean([entropy(np.unique(labels, return_counts=True)[1]) for labels in (one, two)]))
    again = float(adjusted_mutual_info_score(one, two))
    return spread * (again - COST * (1 - again)), again


def borne_out(table: Mapping[str, list[Any]]) -> bool:
    """Tell whether of any number's clusters more comes back than does not.

    Examples
    --------
    >>> borne_out({"information": [-0.2, 0.1]}), borne_out({"information": [-0.2, -0.3]})
    (True, False)
    """
    return max(table["information"], default=0.0) > 0


def _best(table: dict[str, list[Any]]) -> int:
    if borne_out(table):
        return int(table["n_clusters"][int(np.argmax(table["information"]))])
    again = np.array(table["reproduced"])
    return int(table["n_clusters"][int(np.argmax(again >= again.max() - AS_GOOD))])


def _clusterings(
    views: Views, numbers: Sequence[int], seed: int, deadline: Deadline, engine: Any
) -> dict[int, list[tuple[np.ndarray, np.ndarray]]]:
    """Clusters of the objects of a half, by itself and by the other half, for each number."""
    found: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {number: [] for number in numbers}
    for repeat in range(REPEATS):
        if repeat and deadline.is_over():
            break
        tell(f"number of clusters, up to {numbers[-1]}", repeat, REPEATS)
        order = np.random.default_rng([seed, repeat]).permutation(len(views))
        halves = [views[np.sort(order[: len(order) // 2])], views[np.sort(order[len(order) // 2 :])]]
        options: dict[str, Any] = {"method": "stacked", "n_init": 1, "engine": engine, "random_state": seed + repeat}
        models = [SpectralClusteringViews(numbers[-1], **options).fit(half) for half in halves]
        others = [model._positions(half) for model, half in zip(models, halves[::-1])]
        for number in numbers:
            cuts = [_cut(model, number, other, seed + repeat) for model, other in zip(models, others)]
            found[number] += [(cuts[0][0], cuts[1][1]), (cuts[1][0], cuts[0][1])]
    return found


def _cut(model: SpectralClusteringViews, n_clusters: int, others: np.ndarray, seed: int) -> tuple[Any, Any]:
    """Clusters by the first eigenvectors of each part, of the fitted objects and of others."""
    rows, others = (_first(part, model.part_weights_, n_clusters) for part in (model.embedding_, others))
    n_parts = len(model.part_weights_)
    centers, labels = kmeans_of_parts(rows, n_parts, n_clusters, STARTS, seed)
    return labels, nearest_center(others, centers, n_parts)


def _first(embedding: np.ndarray, part_weights: np.ndarray, count: int) -> np.ndarray:
    """The first columns of each part, each row of a part as long as the root of its weight."""
    parts = np.split(embedding, len(part_weights), axis=1)
    return np.hstack([np.sqrt(share) * unit_length(part[:, :count]) for share, part in zip(part_weights, parts)])

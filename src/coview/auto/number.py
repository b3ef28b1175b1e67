"""How many clusters: the number whose clusters tell most that comes back on other samples of the objects.

Of two samples, each most of the objects, the neighbor graphs are made once, with as many eigenvectors as the largest
number needs. For each number k, k-means on the first k eigenvectors clusters both, and what they share is

    information(k) = H (2 AMI - 1),     H = mean entropy, AMI = adjusted mutual information, on the objects of both

nats that come back less nats that do not: a split that comes back adds to it, one that does not takes away. The number
with the most is taken. Large numbers are tried only where the largest of the small ones are among the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import entropy
from sklearn.metrics import adjusted_mutual_info_score

from coview.clustering.affinity import unit_length
from coview.clustering.spectral import SpectralClusteringViews, kmeans_of_parts
from coview.engines.deadline import Deadline
from coview.utils.progress import tell
from coview.utils.sampling import sample_positions
from coview.views.views import Views

__all__ = ["choose_number", "reproduced_information"]

MOST_OBJECTS = 2000  # that the number is chosen by
SHARE = 0.8  # of them in each sample
REPEATS = 2  # pairs of samples
STARTS = 2  # of k-means
SMALL = (*range(2, 11), 12, 14, 16, 20)
LARGE = (25, 30, 40, 50, 65, 80, 100)
HIGH = 14  # best of the small numbers from which large ones are tried
OBJECTS_PER_CLUSTER = 8


def choose_number(views: Views, seed: int, deadline: Deadline) -> tuple[int, dict[str, list[Any]]]:
    """Return the number of clusters, and the evidence as a table by number; the views are prepared ones."""
    rows = sample_positions(len(views), MOST_OBJECTS, seed)
    some = views if len(rows) == len(views) else views[rows]
    known = np.flatnonzero(some.present.any(axis=1))
    some = some if len(known) == len(some) else some[known]
    most = max(len(some) // OBJECTS_PER_CLUSTER, 1)
    table: dict[str, list[Any]] = {"n_clusters": [], "information": [], "reproduced": []}
    for numbers in (SMALL, LARGE):
        tried = [number for number in numbers if number <= most]
        if not tried or (table["n_clusters"] and (_best(table) < HIGH or deadline.is_over())):
            break
        for number, pairs in _clusterings(some, tried, seed, deadline).items():
            shared = [_information(*pair) for pair in pairs]
            for column, values in zip(("information", "reproduced"), zip(*shared)):
                table[column].append(float(np.mean(values)))
            table["n_clusters"].append(number)
    if not table["n_clusters"]:  # so few objects that any number is as good
        return min(2, len(views)), {column: [] for column in table}
    return _best(table), table


def reproduced_information(one: np.ndarray, two: np.ndarray) -> float:
    """Nats of two clusterings that come back less those that do not: H (2 AMI - 1); 0 where one is a single cluster.

    Examples
    --------
    >>> round(reproduced_information(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0])), 3)  # log 2
    0.693
    """
    return _information(one, two)[0]


def _information(one: np.ndarray, two: np.ndarray) -> tuple[float, float]:
    if min(len(np.unique(one)), len(np.unique(two))) < 2:
        return 0.0, 0.0
    spread = float(np.mean([entropy(np.unique(labels, return_counts=True)[1]) for labels in (one, two)]))
    again = float(adjusted_mutual_info_score(one, two))
    return spread * (2 * again - 1), again


def _best(table: dict[str, list[Any]]) -> int:
    return int(table["n_clusters"][int(np.argmax(table["information"]))])


def _clusterings(
    views: Views, numbers: Sequence[int], seed: int, deadline: Deadline
) -> dict[int, list[tuple[np.ndarray, np.ndarray]]]:
    """Clusters of the objects that two samples have in common, for each number and pair of samples."""
    found: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {number: [] for number in numbers}
    for repeat in range(REPEATS):
        if repeat and deadline.is_over():
            break
        tell(f"number of clusters, up to {numbers[-1]}", repeat, REPEATS)
        rng = np.random.default_rng([seed, repeat])
        size = max(int(SHARE * len(views)), 2)
        samples = [np.sort(rng.choice(len(views), size, replace=False)) for _ in range(2)]
        _, *places = np.intersect1d(samples[0], samples[1], return_indices=True)
        embeddings = []
        for turn, sample in enumerate(samples):
            model = SpectralClusteringViews(
                numbers[-1], method="stacked", n_init=1, random_state=seed + 2 * repeat + turn
            ).fit(views[sample])
            embeddings.append((model.embedding_, model.part_weights_))
        for number in numbers:
            pair = [
                _cut(embedding, weights, number, seed + 2 * repeat + turn)[place]
                for turn, ((embedding, weights), place) in enumerate(zip(embeddings, places))
            ]
            found[number].append((pair[0], pair[1]))
    return found


def _cut(embedding: np.ndarray, part_weights: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """Clusters by the first eigenvectors of each part, each row of a part as long as the root of its weight."""
    parts = np.split(embedding, len(part_weights), axis=1)
    beside = [np.sqrt(share) * unit_length(part[:, :n_clusters]) for share, part in zip(part_weights, parts)]
    return kmeans_of_parts(np.hstack(beside), len(parts), n_clusters, STARTS, seed)[1]

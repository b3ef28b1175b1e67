"""How many clusters: the number whose clusters tell most that comes back, at other scales and on other objects.

The objects are cut into halves, and the graphs of each half are made once, with as many eigenvectors as the largest
number needs. For each number k, k-means on the first k eigenvectors of each graph gives votes as in `votes.py`, and
each half's clusterings place the objects of the other half. With AMI adjusted mutual information and H the entropy of
the clusters,

    scales         AMI of the clusters by every other scale with those by the others, in each half
    samples        AMI of a half's clusters with where the other half places its objects
    information    H (a - (1 - a)),     a = scales x samples

are nats that come back less those that do not: a split that comes back adds to it, one that does not takes away. The
number with the most is taken. Large numbers are tried only where high ones are among the best of the small. Where no
number's clusters come back more than they do not, the user is told so.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import entropy
from sklearn.metrics import adjusted_mutual_info_score

from coview.auto.votes import GraphVotes, cluster_often, count_votes, share_votes
from coview.clustering.affinity import unit_length
from coview.clustering.spectral import nearest_center
from coview.engines.loop import Deadline, largest_in_time
from coview.utils.progress import counted
from coview.utils.sampling import sample_positions
from coview.views.views import Views

__all__ = ["COLUMNS", "choose_number", "compare_numbers"]

COLUMNS = ("n_clusters", "scales", "samples", "information")
MOST_OBJECTS = 2000  # that the number is chosen by
RUNS = 3  # clusterings of each scale
SMALL = (*range(2, 11), 12, 14, 16, 20)
LARGE = (25, 30, 40, 50, 65, 80, 100)
HIGH = 14  # from this number on; one of them must be among the best three of the small, or no large ones are tried
OBJECTS_PER_CLUSTER = 10  # at least, so that a half has some of each
FEWEST = 300  # objects of the first sample, where time is short
LONGER = 4  # times as long as the small numbers the large ones may take


def choose_number(
    views: Views, settings: Mapping[str, Any], seed: int, deadline: Deadline
) -> tuple[int, dict[str, list[Any]]]:
    """Return the number of clusters, and the evidence as a table by number.

    Parameters
    ----------
    views : Views
        Prepared ones.
    settings : dict
        Of `GraphVotes`: metric and engine.
    seed : int
        Of the halves and the clusterings.
    deadline : Deadline
        When it must be ready.
    """
    rows = sample_positions(len(views), MOST_OBJECTS, seed)
    rows = rows[views.present[rows].any(axis=1)]
    took = 0.0

    def small(some: np.ndarray) -> dict[str, list[Any]]:
        nonlocal took
        began = time.monotonic()
        table = compare_numbers(views[rows[some]], SMALL, settings, seed)
        took = time.monotonic() - began
        return table

    table, some = largest_in_time(small, len(rows), FEWEST, seed, deadline)
    numbers, told = table["n_clusters"], table["information"]
    if not numbers:  # so few objects that any number is as good
        return min(2, len(views)), table
    best = sorted(numbers, key=lambda number: -told[numbers.index(number)])
    if max(best[:3]) >= HIGH and max(told) > 0 and deadline.left() > LONGER * took:
        large = compare_numbers(views[rows[some]], LARGE, settings, seed)
        table = {column: values + large[column] for column, values in table.items()}
    return table["n_clusters"][int(np.argmax(table["information"]))], table


def compare_numbers(
    views: Views, numbers: Sequence[int], settings: Mapping[str, Any], seed: int
) -> dict[str, list[Any]]:
    """Table of what comes back, by number of clusters: those that there are enough objects for."""
    tried = [number for number in numbers if number <= len(views) // OBJECTS_PER_CLUSTER]
    table: dict[str, list[Any]] = {column: [] for column in COLUMNS}
    if not tried:
        return table
    order = np.random.default_rng([seed, 0]).permutation(len(views))
    halves = [views[np.sort(order[: len(order) // 2])], views[np.sort(order[len(order) // 2 :])]]
    models = [GraphVotes(tried[-1], random_state=seed, **settings) for _ in halves]
    for model, half in zip(models, halves):
        model.embed(half)
    others = [model.place(half) for model, half in zip(models, halves[::-1])]
    for number in counted(tried, f"number of clusters, up to {tried[-1]}", len(tried)):
        scales, own, placed = zip(*(_cut(model, other, number, seed) for model, other in zip(models, others)))
        samples = [adjusted_mutual_info_score(one, two) for one, two in zip(own, placed[::-1])]
        again = max(float(np.mean(scales)), 0.0) * max(float(np.mean(samples)), 0.0)
        spread = np.mean([entropy(np.bincount(codes)) for codes in own])
        row = (number, float(np.mean(scales)), float(np.mean(samples)), float(spread * (2 * again - 1)))
        for column, value in zip(COLUMNS, row):
            table[column].append(value)
    return table


def _cut(model: GraphVotes, others: np.ndarray, n_clusters: int, seed: int) -> tuple[float, np.ndarray, np.ndarray]:
    """Whether scales agree on so many clusters, the clusters of a half, and where it places the other one."""
    n_parts = len(model.part_weights_)
    votes, elsewhere = [], []
    for embedding, other in zip(model.embedding_, others):
        rows, there = (_first(part, model.part_weights_, n_clusters) for part in (embedding, other))
        found = cluster_often(rows, n_parts, n_clusters, range(seed, seed + RUNS))
        votes.append(np.column_stack([labels for _, labels in found]))
        elsewhere.append(np.column_stack([nearest_center(there, centers, n_parts) for centers, _ in found]))
    one, two, whole = (np.hstack(some) for some in (votes[::2], votes[1::2], votes))
    codes = [share_votes(some, count_votes(some, n_clusters, seed)).argmax(axis=1) for some in (one, two)]
    shares = count_votes(whole, n_clusters, seed)
    own, placed = (share_votes(some, shares).argmax(axis=1) for some in (whole, np.hstack(elsewhere)))
    return float(adjusted_mutual_info_score(*codes)), own, placed


def _first(embedding: np.ndarray, part_weights: np.ndarray, count: int) -> np.ndarray:
    """The first columns of each part, each row of a part as long as the root of its weight."""
    parts = np.split(embedding, len(part_weights), axis=1)
    return np.hstack([np.sqrt(share) * unit_length(part[:, :count]) for share, part in zip(part_weights, parts)])

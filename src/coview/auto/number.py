"""How many clusters: the number whose clusters tell most that comes back on other objects.

The objects are cut into halves. For each number of clusters, each half is clustered by votes (`votes.py`) and places
the objects of the other half by their neighbors. With AMI adjusted mutual information and H the entropy of the
clusters,

    stability      a = AMI of a half's clusters with where the other half places its objects, the mean of both
    information    H (a - 5/4 (1 - a))

are nats that come back less those that do not: a split that comes back adds to it, one that does not takes away. The
number with the most is taken. Where no number's clusters come back more than they do not, the user is told so. Weighed
alike, what is lost would be outweighed by sheer number: of two kinds of tissue five would be taken, of three groups of
posts five, and of flowers ten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import entropy
from sklearn.metrics import adjusted_mutual_info_score

from coview.auto.votes import GraphVoter
from coview.clustering.vote_counting import count_votes
from coview.utils.progress import tell
from coview.views.views import Views

__all__ = ["COLUMNS", "compare_numbers"]

COLUMNS = ("n_clusters", "stability", "information")
MOST, TRIED, AROUND = 100, 18, 8  # the largest number; how many are tried in all the range, then around the best
LOSS = 1.25  # of what does not come back; with 1.1 and with 1.4 the numbers of 29 of 32 data sets are the same
OBJECTS_PER_CLUSTER = 10  # at least, so that a half has some of each


def compare_numbers(
    families: Sequence[Views], settings: Sequence[Mapping[str, Any]], seed: int
) -> dict[str, list[Any]]:
    """Return what comes back as a table by number of clusters: of those that there are enough objects for.

    Numbers of 2 to 100 are tried, farther apart as they grow, and then around the best.

    Parameters
    ----------
    families : list of Views
        Views of the same objects that vote together, prepared.
    settings : list of dicts
        Parameters of a `GraphVoter` for each.
    seed : int
        Of the halves and the clusterings.
    """
    most = len(families[0]) // OBJECTS_PER_CLUSTER
    tried = [number for number in _spread_numbers() if number <= most]
    if not tried:
        return {column: [] for column in COLUMNS}
    halves = _Halves(families, settings, seed, tried[-1])
    rows: list[tuple[int, float, float]] = []
    while tried:  # the next are between the neighbors of the best so far, until all of these are known
        rows = sorted([*rows, *halves.judge(tried)])
        best = max(range(len(rows)), key=lambda i: rows[i][-1])
        lower, upper = rows[max(best - 1, 0)][0], rows[min(best + 1, len(rows) - 1)][0]
        between = np.unique(np.linspace(lower, upper, AROUND).round().astype(int)).tolist()
        tried = [number for number in between if number not in next(zip(*rows))]
    return {column: list(values) for column, values in zip(COLUMNS, zip(*rows))}


class _Halves:
    """Two halves of the objects: their graphs, which cluster them and place the other half."""

    def __init__(self, families: Sequence[Views], settings: Sequence[Mapping[str, Any]], seed: int, most: int) -> None:
        order = np.random.default_rng([seed, 0]).permutation(len(families[0]))
        self.seed, self.rows = seed, [np.sort(half) for half in np.array_split(order, 2)]
        self.families = families
        self.voters = [[GraphVoter(most, **each) for each in settings] for _ in self.rows]
        self.scales = [
            [voter.embed(family[rows], seed) for voter, family in zip(voters, families)]
            for voters, rows in zip(self.voters, self.rows)
        ]

    def judge(self, numbers: Sequence[int]) -> list[tuple[int, float, float]]:
        """Return the number, the stability and the information of so many clusters, for each of the numbers."""
        tell("choosing the number of clusters")  # without a count, which each half and round would begin anew
        own, placed = [], []
        for voters, scales, others in zip(self.voters, self.scales, self.rows[::-1]):
            memberships = []
            for number in numbers:
                # one vote of each scale is enough to tell numbers apart
                votes = [voter.cluster(each, number, self.seed, 1) for voter, each in zip(voters, scales)]
                memberships.append(count_votes(np.hstack(votes), number, self.seed))
            own.append([part.argmax(axis=1) for part in memberships])
            # all numbers are placed at once: neighbors are looked for once
            stack = np.hstack(memberships)
            there = np.sum([voter.place(family[others], stack) for voter, family in zip(voters, self.families)], axis=0)
            placed.append([part.argmax(axis=1) for part in np.split(there, np.cumsum(numbers)[:-1], axis=1)])
        rows = []
        for number, *codes in zip(numbers, *own, *placed[::-1]):
            stability = float(np.mean([adjusted_mutual_info_score(codes[h], codes[2 + h]) for h in (0, 1)]))
            spread = float(np.mean([entropy(np.bincount(part)) for part in codes[:2]]))
            rows.append((number, stability, spread * (stability - LOSS * (1 - stability))))
        return rows


def _spread_numbers() -> list[int]:
    """Numbers from 2 to the largest, farther apart as they grow.

    Examples
    --------
    >>> _spread_numbers()[:14]
    [2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50]
    """
    return np.unique(np.geomspace(2, MOST, TRIED).round().astype(int)).tolist()

"""Pairs of objects of which people say whether they belong together: which to ask, and what a vote is worth by them.

Clusterings that agree with a share a_r of the n pairs count exp(4 b a_r), b = 1 - (1 / 4n) / var(a) or 0: only as far
as the a_r differ by more than those of clusterings that guess (James and Stein, 1961).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from coview.views.views import Views

__all__ = ["find_disputed", "read_pairs", "weigh_votes"]

STRESS = 4.0  # of what agrees with pairs; settled on Cora, emoji and speeches
N_DISPUTED, N_DRAWN = 50, 10_000  # pairs that are named, and drawn


def read_pairs(records: Sequence[Mapping[str, Any]], views: Any, objects: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of positions among some objects (n_pairs, 2), and whether they belong together, by edits of these.

    Examples
    --------
    >>> X = Views(x=np.eye(3), ids=["a", "b", "c"])
    >>> read_pairs([{"edit": "apart", "objects": ["c", "a", "x"]}], X, np.array([0, 2]))
    (array([[1, 0]]), array([False]))
    """
    ids = views.ids if isinstance(views, Views) else None  # lazy views have none: their objects are called by position
    at = {name: row for row, name in enumerate((objects if ids is None else ids[objects]).tolist())}
    told = [
        (at[one], at[other], record["edit"] == "together")
        for record in records
        for one, other in combinations(record["objects"], 2)
        if one in at and other in at
    ]
    found = np.array(told, dtype=np.int64).reshape(-1, 3)
    return found[:, :2], found[:, 2].astype(bool)


def weigh_votes(labels: np.ndarray, pairs: np.ndarray, together: np.ndarray) -> np.ndarray:
    """Return clusterings, each as often as it counts by its agreement with pairs of objects.

    Parameters
    ----------
    labels : ndarray of int (n_objects, n_clusterings)
        As in `count_votes`; -1 where a clustering does not know.
    pairs : ndarray of int (n_pairs, 2)
        Positions of objects.
    together : ndarray of bool (n_pairs,)
        Which of them belong together.

    Examples
    --------
    >>> labels = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> weigh_votes(labels, np.array([[0, 1], [2, 3], [0, 2]]), np.array([True, True, False])).shape
    (4, 8)
    """
    if not len(pairs):
        return labels
    one, other = labels[pairs[:, 0]], labels[pairs[:, 1]]
    # what a clustering does not know (-1) is worth a guess
    agree = np.where((one < 0) | (other < 0), 0.5, (one == other) == together[:, None]).mean(axis=0)
    beyond = max(0.0, 1 - 0.25 / len(pairs) / max(agree.var(), 1e-9))
    if not beyond:
        return labels
    weights = np.exp(STRESS * beyond * agree)
    return np.repeat(labels, np.rint(4 * weights / weights.mean()).astype(int), axis=1)


def find_disputed(labels: np.ndarray, seed: int) -> np.ndarray:
    """Return pairs that about half of the clusterings that know both put together, no object twice (n_pairs, 2).

    Examples
    --------
    >>> find_disputed(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), 0).shape
    (2, 2)
    """
    rng, taken, pairs = np.random.default_rng(seed), set[int](), list[list[int]]()
    drawn = rng.integers(0, len(labels), (N_DRAWN, 2))
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    one, other = labels[drawn[:, 0]], labels[drawn[:, 1]]
    together = np.ma.masked_where((one < 0) | (other < 0), one == other).mean(axis=1).filled(0)
    open_ones = (together > 0) & (together < 1)
    drawn, together = drawn[open_ones], together[open_ones]
    for pair in drawn[np.argsort(np.abs(together - 0.5), kind="stable")].tolist():
        if len(pairs) < N_DISPUTED and taken.isdisjoint(pair):
            pairs.append(pair)
            taken.update(pair)
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)

"""Document completion: do clusters that half of an object's features point to predict the other half?

The features of a view of counts are split into two halves, A and B, and the objects into folds. With f(w | z) the share
of feature w in cluster z and f(w) its share in all objects, both over other folds and within a half, an object x, of
length 1, goes to a cluster by one half, and the other half is what the cluster is judged by:

    z(x) = argmax_z sum_(w in A) x_w log(1/2 + 1/2 f(w | z) / f(w))
    completion = mean over objects of sum_(w in B) x_w log(m + (1 - m) f(w | z(x)) / f(w))

and the same with A and B exchanged; m is chosen for each clustering. Times the square root of the mean number of
features, which brings rows of 0 and 1 back to what they were, these are nats of an object that the clusters tell
beforehand, as held-out words are used to judge topic models, and views add up: a page of a hundred words and five links
says more by its words. Clusters that are cut through at random, or that gather a few odd objects and leave the rest
together, tell little of the half that nobody looked at, however well they are predicted from all features.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from coview.engines.loop import NO_DEADLINE, Deadline, largest_in_time
from coview.inspection import one_hot
from coview.views.arrays import unit_rows
from coview.views.views import Views

__all__ = ["completions"]

FOLDS = 4
FIRST = 1000  # objects that are judged first, where time is short
LEAST_OBJECTS = 2  # that have a feature: one that nobody else has cannot be predicted
MOST_CELLS = 4_000_000  # clusters x features that are counted at once
SHARES = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])  # of all objects in what a cluster predicts
GUESS = 0.5  # the same, where an object is given to a cluster


def completions(views: Views, labels: Sequence[np.ndarray], seed: int, deadline: Deadline = NO_DEADLINE) -> np.ndarray:
    """Nats of an object that each clustering tells beforehand, by views of counts.

    Where time is short, of as many objects as there is time for.

    Examples
    --------
    >>> import numpy as np
    >>> words = np.kron(np.eye(2), np.ones((20, 6)))
    >>> right, wrong = np.arange(40) // 20, np.arange(40) % 2
    >>> completions(Views(words=words), [right, wrong], 0).round(2)
    array([3.72, 0.49])
    """
    most = max(1, *(int(part.max()) + 1 for part in labels))

    def complete(rows: np.ndarray) -> np.ndarray:
        found = np.zeros(len(labels))
        for matrix in (views if len(rows) == len(views) else views[rows]).values():
            split = _Split.of(matrix, MOST_CELLS // most, np.random.default_rng([seed, 5]))
            found += [split.completion(part[rows]) for part in labels]
        return found

    return largest_in_time(complete, len(views), FIRST, seed, deadline)[0]


@dataclass(frozen=True)
class _Split:
    """A view of counts, its features in two halves and its objects in folds."""

    rows: Any  # CSR, of length 1
    fold: np.ndarray
    half: np.ndarray  # of each feature

    @classmethod
    def of(cls, matrix: Any, most: int, rng: np.random.Generator) -> _Split:
        """Draw halves and folds; at most so many features, those that most objects have."""
        rows = sparse.csr_array(matrix)
        having = np.bincount(rows.indices, minlength=rows.shape[1])
        kept = np.flatnonzero(having >= LEAST_OBJECTS)
        if len(kept) > most:
            kept = np.sort(kept[np.argsort(-having[kept], kind="stable")[:most]])
        rows = unit_rows(rows[:, kept]) if len(kept) else rows[:, kept]
        return cls(rows, rng.permutation(rows.shape[0]) % FOLDS, rng.permutation(len(kept)) % 2)

    def completion(self, labels: np.ndarray) -> float:
        """Nats of an object that these clusters tell beforehand, of those that are in a cluster and have features."""
        known = (labels >= 0) & (np.diff(self.rows.indptr) > 0)
        if not known.any():
            return 0.0
        count = int(labels.max()) + 1
        sums = []
        for f in range(FOLDS):
            here = np.flatnonzero(known & (self.fold == f))
            sums.append(np.asarray(self.rows[here].T @ one_hot(labels[here], count)).T)
        told = np.zeros(len(SHARES))
        for f in range(FOLDS):
            told += self._told(np.flatnonzero(known & (self.fold == f)), sum(sums) - sums[f])
        had = np.diff(self.rows.indptr)
        share = np.count_nonzero(had) / len(had)  # of objects that lack the view it tells nothing
        return float(told.max()) / int(known.sum()) * math.sqrt(had[known].mean()) * share

    def _told(self, objects: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Nats of these objects by clusters of others, whose features add up to `sums`; for each of the shares."""
        ratio = np.ones_like(sums)
        for side in (0, 1):
            here = np.flatnonzero(self.half == side)
            part = sums[:, here]
            every, clusters = part.sum(axis=0), part.sum(axis=1)
            expected = np.outer(clusters, every / max(float(every.sum()), np.finfo(float).tiny))
            ratio[:, here] = np.divide(part, expected, out=np.ones_like(part), where=expected > 0)
        score = np.log(GUESS + (1 - GUESS) * ratio)
        rows = self.rows[objects]
        of, told = np.repeat(np.arange(len(objects)), np.diff(rows.indptr)), np.zeros(len(SHARES))
        side = self.half[rows.indices]
        for seen in (0, 1):
            half = sparse.csr_array((np.where(side == seen, rows.data, 0.0), rows.indices, rows.indptr), rows.shape)
            cluster = np.asarray(half @ score.T).argmax(axis=1)
            other = np.flatnonzero(side != seen)
            by = ratio[cluster[of[other]], rows.indices[other]]
            by[~np.bincount(of[side == seen], minlength=len(objects)).astype(bool)[of[other]]] = 1.0  # nothing was seen
            told += [rows.data[other] @ np.log(share + (1 - share) * by) for share in SHARES]
        return told

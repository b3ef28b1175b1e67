"""Spherical k-means on compressed rows: the nearest centre by angle, and what moves between centres.

Angles on the sphere are a metric. With a_i an upper bound of row i's angle to its own centre, b_i a lower bound of its
angle to every other one, and t_k how far centre k has turned, one update of the centres gives

    a_i <- a_i + t_own(i)         b_i <- b_i - max_(k != own(i)) t_k

and a row with a_i < b_i stays where it is without one product being taken.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["assign_rows", "move_rows"]

_MATH = {"reassoc", "contract", "nsz", "arcp"}


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def assign_rows(indptr, indices, values, centres, turned, far, farthest, slack, labels, own, others, start, stop):
    """Put rows start..stop to their nearest centre (columns of `centres`); the first of equal ones wins.

    `turned` says how far each centre has turned, `far` and `farthest` are the two largest of these. Labels below 0
    are unknown. Writes labels and the bounds; returns the number of rows that changed their label.
    """
    K = centres.shape[1]
    scores = np.empty(K, dtype=centres.dtype)
    changed = 0
    for i in range(start, stop):
        before = labels[i]
        if before >= 0:
            own[i] += turned[before]
            others[i] -= farthest if turned[before] == far else far
            if own[i] + slack < others[i]:
                continue
        for k in range(K):
            scores[k] = 0
        j = np.int64(indptr[i])
        last = np.int64(indptr[i + 1])
        while j + 4 <= last:  # four at a time: the scores are read and written a quarter as often
            c0 = np.int64(indices[j])
            c1 = np.int64(indices[j + 1])
            c2 = np.int64(indices[j + 2])
            c3 = np.int64(indices[j + 3])
            x0 = values[j]
            x1 = values[j + 1]
            x2 = values[j + 2]
            x3 = values[j + 3]
            for k in range(K):
                scores[k] += x0 * centres[c0, k] + x1 * centres[c1, k] + x2 * centres[c2, k] + x3 * centres[c3, k]
            j += 4
        while j < last:
            c0 = np.int64(indices[j])
            x0 = values[j]
            for k in range(K):
                scores[k] += x0 * centres[c0, k]
            j += 1
        best = 0
        second = np.float64(-2.0)
        for k in range(1, K):
            if scores[k] > scores[best]:
                second = np.float64(scores[best])
                best = k
            elif scores[k] > second:
                second = np.float64(scores[k])
        labels[i] = best
        own[i] = math.acos(min(1.0, max(-1.0, np.float64(scores[best]))))
        others[i] = math.acos(min(1.0, max(-1.0, second)))
        changed += best != before
    return changed


@njit(nogil=True, cache=True)
def move_rows(indptr, indices, values, rows, before, after, sums):
    """Take rows from the columns `before` of `sums` (features x centres) and add them to the columns `after`.

    A column below 0 is none. Sums are double, so that what is added and taken again leaves next to nothing.
    """
    for r in range(len(rows)):
        i = rows[r]
        old = before[r]
        new = after[r]
        for j in range(indptr[i], indptr[i + 1]):
            c = np.int64(indices[j])
            x = np.float64(values[j])
            if old >= 0:
                sums[c, old] -= x
            if new >= 0:
                sums[c, new] += x

"""Spherical k-means on compressed rows: the nearest center by angle, what moves between centers, and how they turn.

Angles on the sphere are a metric. With a_i an upper bound of row i's angle to its own center, b_i a lower bound of its
angle to every other one, and t_k how far center k has turned, one update of the centers gives

    a_i <- a_i + t_own(i)         b_i <- b_i - max_(k != own(i)) t_k

and a row with a_i < b_i stays where it is without one product being taken. Where products are taken, memory is what is
waited for: they are taken with centers in single precision first. A sum of n products of a row and a center of length
1 is then wrong by at most e = (n + 3) 2^-24, in whatever order it is added. So a row whose two best cosines are more
than 2 e apart is where it belongs, and only the others are computed again in double precision.
"""

from __future__ import annotations

import math

import numpy as np

from coview.kernels.compiling import njit
from coview.kernels.memory import LINE, prefetch_row

__all__ = ["assign_rows", "column_squares", "move_rows", "project_rows", "turn_columns"]

_MATH = {"reassoc", "contract", "nsz", "arcp"}
_AHEAD = 16  # non-zeros between asking for a row of centers and reading it


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def _row_scores(indices, values, centers, first, last, end, scores):
    """Write the products of the row in first..last with all columns of centers; non-zeros up to `end` may follow."""
    K = centers.shape[1]
    kind = scores.dtype.type
    step = LINE // centers.itemsize
    for k in range(K):
        scores[k] = 0
    j = first
    while j + 4 <= last:  # four at a time: the scores are read and written a quarter as often
        if j + _AHEAD + 4 <= end:
            for ahead in range(j + _AHEAD, j + _AHEAD + 4):
                c = np.int64(indices[ahead])
                for k in range(0, K, step):
                    prefetch_row(centers, c, k)  # type: ignore[call-arg]
                prefetch_row(centers, c, K - 1)  # type: ignore[call-arg]
        c0 = np.int64(indices[j])
        c1 = np.int64(indices[j + 1])
        c2 = np.int64(indices[j + 2])
        c3 = np.int64(indices[j + 3])
        x0 = kind(values[j])
        x1 = kind(values[j + 1])
        x2 = kind(values[j + 2])
        x3 = kind(values[j + 3])
        for k in range(K):
            scores[k] += x0 * centers[c0, k] + x1 * centers[c1, k] + x2 * centers[c2, k] + x3 * centers[c3, k]
        j += 4
    while j < last:
        c0 = np.int64(indices[j])
        x0 = kind(values[j])
        for k in range(K):
            scores[k] += x0 * centers[c0, k]
        j += 1


@njit(nogil=True, cache=True, error_model="numpy")
def _two_best(scores):
    """Position of the largest score, the first of equal ones, and the two largest."""
    best = 0
    second = np.float64(-2.0)
    for k in range(1, len(scores)):
        if scores[k] > scores[best]:
            second = np.float64(scores[best])
            best = k
        elif scores[k] > second:
            second = np.float64(scores[k])
    return best, np.float64(scores[best]), second


@njit(nogil=True, cache=True, error_model="numpy")
def assign_rows(
    indptr, indices, values, centers, rough, turned, far, farthest, slack, loss, labels, own, others, start, stop
):
    """Put rows start..stop to their nearest center (columns of `centers`); the first of equal ones wins.

    `rough` are the centers in single precision and `loss` what one product with them may lose, 0 where they are all
    there is. `turned` says how far each center has turned, `far` and `farthest` are the two largest of these. Labels
    below 0 are unknown. Writes labels and the bounds; returns the number of rows that changed their label.
    """
    K = centers.shape[1]
    quick = np.empty(K, dtype=rough.dtype)
    exact = np.empty(K, dtype=centers.dtype)
    end = np.int64(indptr[stop])
    changed = 0
    for i in range(start, stop):
        before = labels[i]
        if before >= 0:
            own[i] += turned[before]
            others[i] -= farthest if turned[before] == far else far
            if own[i] + slack < others[i]:
                continue
        first = np.int64(indptr[i])
        last = np.int64(indptr[i + 1])
        error = loss * (last - first + 3)
        _row_scores(indices, values, rough, first, last, end, quick)
        best, highest, second = _two_best(quick)
        if loss > 0 and highest - second <= 2 * error:
            error = 0.0
            _row_scores(indices, values, centers, first, last, end, exact)
            best, highest, second = _two_best(exact)
        labels[i] = best
        own[i] = math.acos(min(1.0, max(-1.0, highest - error)))
        others[i] = math.acos(min(1.0, max(-1.0, second + error)))
        changed += best != before
    return changed


@njit(nogil=True, cache=True)
def project_rows(indptr, indices, values, columns, out, start, stop):
    """Write the products of the rows start..stop with columns (features x any number) to out."""
    end = np.int64(indptr[stop])
    for i in range(start, stop):
        _row_scores(indices, values, columns, np.int64(indptr[i]), np.int64(indptr[i + 1]), end, out[i])


@njit(nogil=True, cache=True)
def move_rows(indptr, indices, values, rows, before, after, sums):
    """Take rows from the columns `before` of `sums` (features x centers) and add them to the columns `after`.

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


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def column_squares(sums, start, stop):
    """Sum of squares of each column over the features start..stop."""
    K = sums.shape[1]
    out = np.zeros(K)
    for c in range(start, stop):
        for k in range(K):
            out[k] += sums[c, k] * sums[c, k]
    return out


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def turn_columns(sums, scale, centers, rough, start, stop):
    """Set centers and rough to sums * scale for the features start..stop; a column whose scale is 0 stays.

    Returns the sum of squares of what has changed in each column.
    """
    K = sums.shape[1]
    kind = centers.dtype.type
    out = np.zeros(K)
    for c in range(start, stop):
        for k in range(K):
            now = kind(sums[c, k] * scale[k]) if scale[k] > 0 else centers[c, k]
            gap = np.float64(now) - np.float64(centers[c, k])
            out[k] += gap * gap
            centers[c, k] = now
            rough[c, k] = now
    return out

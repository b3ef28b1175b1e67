"""The kernels of a sweep: weigh the non-zeros of X by the current model, add up one factor's rows, and normalize them.

For a compressed matrix X (CSR with A = row factor and B = feature factor, or CSC with the two swapped), row i:

    s_j = A[i] . B[j]        r_j = x_ij / s_j (0 where s_j is 0)        out[i] = sum_j r_j B[j]
    log-likelihood = sum_ij x_ij log s_j

Four non-zeros are handled at a time, in vectors (`coview.kernels.lanes`); nothing of size non-zeros x topics exists.
A call owns the rows start to stop. `row_shares` and the column kernels then make distributions of what was added up:
multiply by the old factor, divide by the sum, floor.
"""

from __future__ import annotations

import math

import numpy as np

from coview.kernels.compiling import njit
from coview.kernels.lanes import ask_row, weigh_and_add

__all__ = [
    "accumulate",
    "column_products",
    "column_scale",
    "fast_log",
    "log_likelihood",
    "project",
    "ratio",
    "row_shares",
    "tile_cuts",
]

# Sums may be reordered and fused; NaN and infinity keep their meaning.
_MATH = {"reassoc", "contract", "nsz", "arcp"}
_0, _1, _2, _3, _4 = (np.uint64(i) for i in range(5))

_TABLE = 128  # parts of 1 to 2: so small that a polynomial of degree 5 is exact to rounding
_CENTER = 1.0 + (np.arange(_TABLE) + 0.5) / _TABLE
_LOGS = np.column_stack([1.0 / _CENTER, -np.log(1.0 / _CENTER)])
_LOG2 = math.log(2.0)


@njit(inline="always", fastmath=_MATH)
def fast_log(x):
    """Return the logarithm of a positive normal number: table of 128 centers and a polynomial, no division."""
    bits = np.float64(x).view(np.int64)
    cell = (bits >> 45) & 127
    mantissa = np.int64((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000).view(np.float64)
    r = mantissa * _LOGS[cell, 0] - 1.0
    series = r * (1.0 + r * (-0.5 + r * (1.0 / 3.0 + r * (-0.25 + r * 0.2))))
    return ((bits >> 52) - 1023) * _LOG2 + _LOGS[cell, 1] + series


@njit(inline="always", fastmath=_MATH)
def _weigh_log(x, s):
    """Return x log s, or 0 where s is not above 0."""
    # two selections and no branch: a branch is guessed wrong, and keeps four logarithms from being mixed
    is_above = s > 0
    return np.float64(x if is_above else 0) * fast_log(s if is_above else 1.0)


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def ratio(begins, ends, indices, counts, A, B, out, start, stop, add, logs, ahead):
    """Write (or add) sum_j r_j B[j] to rows start..stop of out; return their log-likelihood if `logs`, else 0.

    Row i takes the non-zeros begins[i] to ends[i]. `ahead` is how many non-zeros before its turn a row of B is asked
    for.
    """
    K = A.shape[1]
    zero = A.dtype.type(0)
    nothing = counts.dtype.type(0)
    # some non-zero must be there to fill the two groups in flight with
    i = start
    while i < stop and begins[i] == ends[i]:
        i += 1
    if i == stop:
        if not add:
            out[start:stop] = zero
        return 0.0
    end = np.uint64(len(indices))
    further = np.uint64(ahead)
    # the two groups that are weighed but not yet added: where their rows of B and of out begin, and their weights;
    # to begin with, the first non-zero with no weight, for the row that it belongs to
    begun = np.empty((2, 5), dtype=np.int64)
    begun[:, :4] = np.int64(indices[begins[i]]) * K
    begun[:, 4] = i * K
    weights = np.zeros((2, 4), dtype=A.dtype)
    place = np.uint64(0)
    left = 2
    total = 0.0
    b0 = b1 = b2 = b3 = begun[0, 0]
    j = last = skipped = np.uint64(0)  # unsigned: of a signed position it would be asked whether it counts from the end
    i = start - 1
    while True:
        while j == last and i + 1 < stop:  # on to the next row that has non-zeros
            i += 1
            j = np.uint64(begins[i])
            last = np.uint64(ends[i])
            skipped = np.uint64(begins[i + 1]) - last if i + 1 < stop else _0  # to the next row, in other tiles
            ask_row(A, out, (i + 2) * K)
            if not add:
                for k in range(K):
                    out[i, k] = zero
        if j + _4 <= last:
            b0 = np.int64(indices[j]) * K
            b1 = np.int64(indices[j + _1]) * K
            b2 = np.int64(indices[j + _2]) * K
            b3 = np.int64(indices[j + _3]) * K
            x0 = counts[j]
            x1 = counts[j + _1]
            x2 = counts[j + _2]
            x3 = counts[j + _3]
        elif j < last:  # what is left of a row, filled up with counts of 0
            b0 = b1 = b2 = b3 = np.int64(indices[j]) * K
            x0 = counts[j]
            x1 = x2 = x3 = nothing
            if j + _1 < last:
                b1 = np.int64(indices[j + _1]) * K
                x1 = counts[j + _1]
            if j + _2 < last:
                b2 = np.int64(indices[j + _2]) * K
                x2 = counts[j + _2]
        elif left:  # no more non-zeros: only the last two groups are still to be added
            left -= 1
            x0 = x1 = x2 = x3 = nothing
        else:
            break
        # rows of B come from far away (60,000 features with K = 64 are 15 MB): those of a later group are asked for.
        # Where this tile of a row ends before, they are those of the next row, behind what lies in other tiles
        t = j + further
        t0, t1, t2, t3 = b0, b1, b2, b3
        if t + _4 + skipped <= end:
            if t + _4 <= last or skipped == 0:
                t0 = np.int64(indices[t]) * K
                t1 = np.int64(indices[t + _1]) * K
                t2 = np.int64(indices[t + _2]) * K
                t3 = np.int64(indices[t + _3]) * K
            else:
                t0 = np.int64(indices[t if t < last else t + skipped]) * K
                t1 = np.int64(indices[t + _1 if t + _1 < last else t + _1 + skipped]) * K
                t2 = np.int64(indices[t + _2 if t + _2 < last else t + _2 + skipped]) * K
                t3 = np.int64(indices[t + _3 if t + _3 < last else t + _3 + skipped]) * K
        read, x, asked = (b0, b1, b2, b3), (x0, x1, x2, x3), (t0, t1, t2, t3)
        before = (begun[place, 0], begun[place, 1], begun[place, 2], begun[place, 3])
        # one group is weighed and the one two steps before it added: while the one waits for its sums and its division,
        # the other has work
        s = weigh_and_add(A, i * K, B, read, x, asked, out, begun[place, 4], before, weights, place)
        begun[place, 0] = b0
        begun[place, 1] = b1
        begun[place, 2] = b2
        begun[place, 3] = b3
        begun[place, 4] = i * K
        place ^= _1
        if logs:
            total += _weigh_log(x0, s[0]) + _weigh_log(x1, s[1]) + _weigh_log(x2, s[2]) + _weigh_log(x3, s[3])
        j = min(j + _4, last)
    return total


@njit(nogil=True, cache=True)
def tile_cuts(indptr, indices, edges, out):
    """Write to out[t, i] where row i (sorted columns) passes column edges[t]; out[t] and out[t + 1] bound tile t."""
    # for a B that fills the last cache: rows are then passed over once per tile of B, which stays there
    for i in range(len(indptr) - 1):
        j = np.int64(indptr[i])
        last = np.int64(indptr[i + 1])
        for t in range(len(edges)):
            while j < last and indices[j] < edges[t]:
                j += 1
            out[t, i] = j


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def log_likelihood(indptr, indices, counts, A, B, out, start, stop):
    """Write sum_j x_ij log(A[i] . B[j]) of rows start..stop to out (float64)."""
    K = A.shape[1]
    zero = A.dtype.type(0)
    for i in range(start, stop):
        total = 0.0
        j = np.int64(indptr[i])
        last = np.int64(indptr[i + 1])
        while j + 4 <= last:
            c0 = np.int64(indices[j])
            c1 = np.int64(indices[j + 1])
            c2 = np.int64(indices[j + 2])
            c3 = np.int64(indices[j + 3])
            s0 = zero
            s1 = zero
            s2 = zero
            s3 = zero
            for k in range(K):
                a = A[i, k]
                s0 += a * B[c0, k]
                s1 += a * B[c1, k]
                s2 += a * B[c2, k]
                s3 += a * B[c3, k]
            # four logarithms beside each other: each is a chain of steps that wait for the one before
            total += _weigh_log(counts[j], s0) + _weigh_log(counts[j + 1], s1)
            total += _weigh_log(counts[j + 2], s2) + _weigh_log(counts[j + 3], s3)
            j += 4
        while j < last:
            c0 = np.int64(indices[j])
            s0 = zero
            for k in range(K):
                s0 += A[i, k] * B[c0, k]
            total += _weigh_log(counts[j], s0)
            j += 1
        out[i] = total


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def project(indptr, indices, values, W, out, start, stop):
    """Write rows start..stop of X @ W to out."""
    out[start:stop] = 0
    accumulate(indptr, indices, values, W, out, start, stop)


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def accumulate(indptr, indices, values, W, out, start, stop):
    """Add rows start..stop of X @ W to out; called with CSC it adds X.T @ W."""
    K = W.shape[1]
    for i in range(start, stop):
        for j in range(indptr[i], indptr[i + 1]):
            c = np.int64(indices[j])
            x = values[j]
            for k in range(K):
                out[i, k] += x * W[c, k]


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def row_shares(old, pull, out, floor, start, stop):
    """Rows start..stop of out: old * pull divided by its sum and floored; old where the sum is zero."""
    K = old.shape[1]
    for i in range(start, stop):
        total = old.dtype.type(0)
        for k in range(K):
            value = old[i, k] * pull[i, k]
            out[i, k] = value
            total += value
        if total > 0:
            scale = old.dtype.type(1) / total  # one division a row, not one an entry
            for k in range(K):
                out[i, k] = max(out[i, k] * scale, floor)
        else:
            for k in range(K):
                out[i, k] = old[i, k]


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def column_products(old, sums, totals, start, stop):
    """Multiply rows start..stop of sums by old, in place, and add the column sums to totals (float64)."""
    K = old.shape[1]
    for i in range(start, stop):
        for k in range(K):
            value = old[i, k] * sums[i, k]
            sums[i, k] = value
            totals[k] += np.float64(value)  # over all rows of a chunk: float32 would lose the small ones


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def column_scale(sums, scale, floor, start, stop):
    """Scale the columns of rows start..stop of sums, in place, and floor them."""
    K = sums.shape[1]
    for i in range(start, stop):
        for k in range(K):
            sums[i, k] = max(sums[i, k] * scale[k], floor)

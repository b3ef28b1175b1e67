"""The one verb of the PLSA family: weigh the non-zeros of X by the current model and add up one factor's rows.

For a compressed matrix X (CSR with A = row factor and B = feature factor, or CSC with the two swapped), row i:

    s_j = A[i] . B[j]        r_j = x_ij / s_j (0 where s_j is 0)        out[i] = sum_j r_j B[j]
    log-likelihood = sum_ij x_ij log s_j

Four non-zeros are handled at a time, in vectors (`coview.kernels.lanes`); nothing of size non-zeros x topics exists.
A call owns the rows start to stop.
Where B is larger than the cache, `tile_cuts` cuts every row of X at the same columns: the rows are then passed over
once per tile of B, which stays in cache meanwhile.

With K = 20 the logarithm takes a sixth of a sweep, with K = 64 and more the gathering of rows of B does most of it, for
which B should begin at a cache line (`empty_rows`). What was tried and hardly helped, on a Neoverse N1 with 1 MB of
second cache: tiles of B smaller than 6 MB; B at a cache line at K = 20; asking 16 non-zeros ahead instead of 8; pairs
for what is left of a row (2 % of the features' half); logarithms in vectors (the table is read one by one anyway).
Kernels of a fixed K were a tenth faster in C, but would be compiled for every K.
"""

from __future__ import annotations

import math

import numpy as np

from coview.kernels.compiling import njit
from coview.kernels.lanes import add_rows, ask_rows, weigh_rows

__all__ = ["accumulate", "fast_log", "log_likelihood", "project", "ratio", "tile_cuts"]

# Sums may be reordered and fused; NaN and infinity keep their meaning.
_MATH = {"reassoc", "contract", "nsz", "arcp"}
_1, _2, _3, _4 = (np.uint64(i) for i in range(1, 5))

_TABLE = 128
_CENTER = 1.0 + (np.arange(_TABLE) + 0.5) / _TABLE
_INVERSE = 1.0 / _CENTER
_LOG_CENTER = -np.log(_INVERSE)
_LOG2 = math.log(2.0)


@njit(inline="always", fastmath=_MATH)
def fast_log(x):
    """Logarithm of a positive normal number to 2e-13: table of 128 centers and a polynomial, no division."""
    bits = np.float64(x).view(np.int64)
    cell = (bits >> 45) & 127
    mantissa = np.int64((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000).view(np.float64)
    r = mantissa * _INVERSE[cell] - 1.0
    series = r * (1.0 + r * (-0.5 + r * (1.0 / 3.0 + r * (-0.25 + r * 0.2))))
    return ((bits >> 52) - 1023) * _LOG2 + _LOG_CENTER[cell] + series


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def ratio(begins, ends, indices, counts, A, B, out, start, stop, add, logs, ahead):
    """Write (or add) sum_j r_j B[j] to rows start..stop of out; return their log-likelihood if `logs`, else 0.

    Row i takes the non-zeros begins[i] to ends[i]. `ahead` is how many non-zeros before its turn a row of B is asked
    for; 0 asks for none.
    """
    K = A.shape[1]
    zero = A.dtype.type(0)
    one = A.dtype.type(1)
    end = np.uint64(len(indices))
    further = np.uint64(ahead)
    total = 0.0
    for i in range(start, stop):
        if not add:
            for k in range(K):
                out[i, k] = zero
        j = np.uint64(begins[i])  # unsigned: of a signed position it would be asked whether it counts from the end
        last = np.uint64(ends[i])
        while j + _4 <= last:
            c0 = indices[j]
            c1 = indices[j + _1]
            c2 = indices[j + _2]
            c3 = indices[j + _3]
            t = j + further
            if ahead and t + _4 <= end:
                ask_rows(B, (indices[t], indices[t + _1], indices[t + _2], indices[t + _3]))
            x0 = counts[j]
            x1 = counts[j + _1]
            x2 = counts[j + _2]
            x3 = counts[j + _3]
            columns = (c0, c1, c2, c3)
            s, weights = weigh_rows(A, i, B, columns, (x0, x1, x2, x3))
            if logs:
                s0, s1, s2, s3 = s
                # where the model is 0 the term is 0; chosen without a branch
                l0 = x0 * fast_log(s0 if s0 > 0 else one)
                l1 = x1 * fast_log(s1 if s1 > 0 else one)
                l2 = x2 * fast_log(s2 if s2 > 0 else one)
                l3 = x3 * fast_log(s3 if s3 > 0 else one)
                total += (l0 + l1) + (l2 + l3)
            add_rows(out, i, B, columns, weights)
            j += _4
        while j < last:
            c0 = indices[j]
            x0 = counts[j]
            s, weights = weigh_rows(A, i, B, (c0,), (x0,))
            if logs and s[0] > 0:
                total += x0 * fast_log(s[0])
            add_rows(out, i, B, (c0,), weights)
            j += _1
    return total


@njit(nogil=True, cache=True)
def tile_cuts(indptr, indices, edges, out):
    """Write to out[t, i] where row i (sorted columns) passes column edges[t]; out[t] and out[t + 1] bound tile t."""
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
    one = A.dtype.type(1)
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
            l0 = counts[j] * fast_log(s0 if s0 > 0 else one)
            l1 = counts[j + 1] * fast_log(s1 if s1 > 0 else one)
            l2 = counts[j + 2] * fast_log(s2 if s2 > 0 else one)
            l3 = counts[j + 3] * fast_log(s3 if s3 > 0 else one)
            total += (l0 + l1) + (l2 + l3)
            j += 4
        while j < last:
            c0 = np.int64(indices[j])
            s0 = zero
            for k in range(K):
                s0 += A[i, k] * B[c0, k]
            if s0 > 0:
                total += counts[j] * fast_log(s0)
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

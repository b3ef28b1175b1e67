"""Keep factors distributions, in one pass over each row: multiply, add up, divide, floor."""

from __future__ import annotations

import numpy as np

from coview.kernels.compiling import njit

__all__ = ["column_products", "column_scale", "row_shares"]

_MATH = {"reassoc", "contract", "nsz", "arcp"}


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
            scale = old.dtype.type(1) / total
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
            totals[k] += np.float64(value)


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def column_scale(sums, scale, floor, start, stop):
    """Scale the columns of rows start..stop of sums, in place, and floor them."""
    K = sums.shape[1]
    for i in range(start, stop):
        for k in range(K):
            sums[i, k] = max(sums[i, k] * scale[k], floor)

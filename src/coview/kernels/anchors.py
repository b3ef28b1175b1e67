"""Rows joined to their nearest anchors, and sums over such rows: sparse matrices with a fixed number of values per row.

Row i has the columns positions[i, r, :] and the values weights[i, r, :] in the sparse matrix number r. What a row
lacks has the value 0, in any column.
"""

from __future__ import annotations

import numpy as np

from coview.kernels.compiling import njit

__all__ = ["add_gram", "add_rows", "nearest_anchors", "place_rows"]

_MATH = {"reassoc", "contract", "nsz", "arcp"}


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def nearest_anchors(products, squares, lengths, positions, weights, r, start):
    """Nearest anchors of rows from `start` on, given their products with all, and the weights (d_(s+1) - d_j) / sum.

    `squares` are those of the anchors, `lengths` those of the rows. The s columns written are positions[start + i, r].
    """
    m = products.shape[1]
    s = positions.shape[2]
    kept = min(s + 1, m)  # one more than is written: the farthest of them sets the weights to zero
    near = np.empty(kept, dtype=products.dtype)
    at = np.empty(kept, dtype=np.int64)
    for i in range(products.shape[0]):
        for t in range(kept):
            near[t] = np.inf
            at[t] = 0
        for j in range(m):
            # less the row's own square, which all distances share
            d = squares[j] - 2 * products[i, j]
            if d < near[kept - 1]:  # sorted in by insertion: s is small, and most anchors end here
                t = kept - 1
                while t > 0 and near[t - 1] > d:
                    near[t] = near[t - 1]
                    at[t] = at[t - 1]
                    t -= 1
                near[t] = d
                at[t] = j
        far = near[kept - 1]
        total = 0.0
        for t in range(s):
            total += far - near[t]
        even = total <= 1e-6 * s * (lengths[start + i] + squares[at[kept - 1]])  # rounding is all that tells them apart
        for t in range(s):
            positions[start + i, r, t] = at[t]
            weights[start + i, r, t] = 1.0 / s if even else (far - near[t]) / total


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def add_gram(positions, weights, r, out):
    """Add Z' Z / (row sum) of the sparse matrix number r to out."""
    e = positions.shape[2]
    for i in range(positions.shape[0]):
        total = 0.0
        for a in range(e):
            total += weights[i, r, a]
        if total <= 0:  # a row without any of the views has no anchors
            continue
        for a in range(e):
            p = np.int64(positions[i, r, a])
            w = weights[i, r, a] / total
            if w > 0:
                for b in range(e):
                    out[p, np.int64(positions[i, r, b])] += w * weights[i, r, b]


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def place_rows(positions, weights, maps, out, start, stop):
    """Write rows start..stop of Z_r maps[r], each brought to length 1, side by side to out."""
    n_repeats, _, k = maps.shape
    e = positions.shape[2]
    for i in range(start, stop):
        for r in range(n_repeats):
            first = r * k
            for c in range(k):
                out[i, first + c] = 0
            for a in range(e):
                w = weights[i, r, a]
                if w > 0:
                    p = np.int64(positions[i, r, a])
                    for c in range(k):
                        out[i, first + c] += w * maps[r, p, c]
            # rows of length 1, as in spectral clustering (Ng, Jordan and Weiss, 2002): the degree of a row cancels
            length = 0.0
            for c in range(k):
                length += np.float64(out[i, first + c]) ** 2
            if length > 0:
                scale = out.dtype.type(1.0 / np.sqrt(length))
                for c in range(k):
                    out[i, first + c] *= scale


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def add_rows(products, squares, lengths, rows, labels, sums, start):
    """Nearest center of rows from `start` on, given their products with all; adds the rows to the sums of centers.

    The last column of `sums` counts them. Returns the sum of the squared distances.
    """
    k = products.shape[1]
    width = rows.shape[1]
    total = 0.0
    for i in range(products.shape[0]):
        best = 0
        least = squares[0] - 2 * products[i, 0]
        for j in range(1, k):
            d = squares[j] - 2 * products[i, j]
            if d < least:
                least = d
                best = j
        labels[start + i] = best
        total += max(least + lengths[start + i], 0.0)  # rounding may take a distance of 0 below it
        for c in range(width):
            sums[best, c] += rows[start + i, c]
        sums[best, width] += 1
    return total

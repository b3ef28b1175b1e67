"""The nearest of sparse rows, exactly: one row at a time against all, through the columns of its features.

    d(i, j)^2 = |x_i|^2 + |y_j|^2 - 2 <x_i, y_j>

The products of a row with all others are summed in one array that stays in cache, and its nearest are kept on the way
over it. No matrix of products is made, which in blocks takes more than twice as long.
"""

from __future__ import annotations

import numpy as np

from coview.kernels.compiling import njit

__all__ = ["nearest_sparse_rows"]


@njit(nogil=True, cache=True, error_model="numpy")
def nearest_sparse_rows(rows, columns, lengths, squares, others, distances, positions, start, stop):
    """Write the nearest of rows start..stop and their Euclidean distances, nearest first; of equal ones, the first.

    `rows` are (indptr, indices, data) of CSR, `columns` of CSC of the rows to choose from, `lengths` and `squares` the
    squared lengths of both. With `others` both are the same rows, and a row is not its own neighbor.
    """
    indptr, indices, data = rows
    begins, members, values = columns
    n = len(squares)
    k = positions.shape[1]
    # in double precision: rows that are the same must come out at distance 0, which is a difference of squares
    products = np.empty(n)
    near = np.empty(k)
    at = np.empty(k, dtype=np.int64)
    for i in range(start, stop):
        products[:] = 0.0
        for a in range(indptr[i], indptr[i + 1]):
            x = np.float64(data[a])
            for b in range(begins[indices[a]], begins[indices[a] + 1]):
                products[members[b]] += x * values[b]
        near[:] = np.inf
        for j in range(n):
            d = squares[j] - 2.0 * products[j]
            # few rows get beyond this line, so that a sorted list is as quick as a heap
            if d < near[k - 1] and not (others and i == j):
                t = k - 1
                while t > 0 and near[t - 1] > d:
                    near[t] = near[t - 1]
                    at[t] = at[t - 1]
                    t -= 1
                near[t] = d
                at[t] = j
        for t in range(k):
            distances[i, t] = np.sqrt(max(near[t] + lengths[i], 0.0))
            positions[i, t] = at[t]

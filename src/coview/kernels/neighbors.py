"""The nearest of sparse rows, exactly: one row at a time against all, through the columns of its features.

    d(i, j)^2 = |x_i|^2 + |y_j|^2 - 2 <x_i, y_j>

The products of a row with all others are summed in one array that stays in cache. Its nearest are gathered on the way
over it, a few times as many as are asked for, and then thinned out: a sorted list or a heap takes several times as
long. No matrix of products is made, which in blocks takes more than twice as long.
"""

from __future__ import annotations

import numpy as np

from coview.kernels.compiling import njit

__all__ = ["nearest_sparse_rows"]

_EVERY = 16  # row is looked at to guess how far the nearest are
_ROOM = 4  # times as many rows as are asked for are gathered before the farthest go


@njit(nogil=True, cache=True, error_model="numpy")
def nearest_sparse_rows(rows, columns, lengths, squares, begun, others, distances, positions, start, stop):
    """Write the nearest of rows start..stop and their Euclidean distances, nearest first; of equal ones, the first.

    `rows` are (indptr, indices, data) of CSR, `columns` of CSC of the rows to choose from, `lengths` and `squares` the
    squared lengths of both. `begun` has the products of these rows with all by features that are not among the columns,
    if there are any. With `others` both are the same rows, and a row is not its own neighbor.
    """
    indptr, indices, data = rows
    begins, members, values = columns
    n = len(squares)
    k = positions.shape[1]
    # in double precision: rows that are the same must come out at distance 0, which is a difference of squares
    products = np.empty(n)
    room = _ROOM * k
    near = np.empty(room)
    at = np.empty(room, dtype=np.int64)
    for i in range(start, stop):
        for j in range(n):
            products[j] = begun[i - start, j] if len(begun) else 0.0
        for a in range(indptr[i], indptr[i + 1]):
            x = np.float64(data[a])
            for b in range(begins[indices[a]], begins[indices[a] + 1]):
                products[members[b]] += x * values[b]
        count = 0
        limit = _guess_limit(squares, products, k)
        while count < k:  # a second time where the guess was too near
            count = 0
            for j in range(n):
                d = squares[j] - 2.0 * products[j]
                if not d < np.inf:  # what cannot be compared is as far as can be
                    d = np.inf
                if (d < limit or limit == np.inf) and not (others and i == j):
                    near[count] = d
                    at[count] = j
                    count += 1
                    if count == room:
                        count, limit = _keep_nearest(near, at, count, k)
            if count < k:
                limit = np.inf
        count, _ = _keep_nearest(near, at, count, k)
        order = np.argsort(near[:count], kind="mergesort")  # of equal ones, the first
        for t in range(k):
            distances[i, t] = np.sqrt(max(near[order[t]] + lengths[i], 0.0))
            positions[i, t] = at[order[t]]


@njit(nogil=True, cache=True, error_model="numpy")
def _guess_limit(squares, products, k):
    """A distance that rather more than k rows are nearer than, by every 16th row; infinite of few rows."""
    n = len(squares)
    rank = int(1.5 * k / _EVERY) + 2
    if n < 4 * _EVERY * rank:
        return np.inf
    return _select(squares[::_EVERY] - 2.0 * products[::_EVERY], rank)


@njit(nogil=True, cache=True, error_model="numpy")
def _keep_nearest(near, at, count, k):
    """Keep the k nearest of those gathered, in their order; return how many there are, and the farthest distance."""
    limit = _select(near[:count].copy(), k - 1)
    ties = k - np.sum(near[:count] < limit)
    kept = 0
    for t in range(count):
        if near[t] < limit or (near[t] == limit and ties > 0):
            ties -= near[t] == limit
            near[kept] = near[t]
            at[kept] = at[t]
            kept += 1
    return kept, limit


@njit(nogil=True, cache=True, error_model="numpy")
def _select(values, rank):
    """The value of that rank, from 0; the values change places. numba takes ten times as long to compile NumPy's."""
    first, last = 0, len(values) - 1
    while first < last:
        pivot = values[(first + last) // 2]
        i, j = first, last
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if j < rank < i:
            break
        if rank <= j:
            last = j
        else:
            first = i
    return values[rank]

"""A random order of very many rows that the memory can follow.

A permutation of millions of rows asks for another page of memory at every row, and finding the page takes longer than
learning from the row. Mixing in two steps keeps the pages near: runs of rows that lie side by side are put into random
order, the first run cut at a random place; then the rows of each window of many runs are put into random order. Rows
of one run stay within two windows of each other, all else is as in a permutation.
"""

from __future__ import annotations

import numpy as np

from coview.kernels.compiling import njit

__all__ = ["mix_bits", "mix_rows"]


@njit(inline="always")
def mix_bits(state):
    """Scramble 64 bits (the finalizer of splitmix64)."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(nogil=True, cache=True)
def _next(state):
    """Return the next state and 32 random bits of splitmix64."""
    # a generator of our own: the order depends on the seed alone, in any thread and with any version of numba
    state += np.uint64(0x9E3779B97F4A7C15)
    return state, mix_bits(state) >> np.uint64(32)


@njit(nogil=True, cache=True)
def _shuffle(items, start, stop, state):
    """Shuffle items[start:stop] in place (Fisher and Yates); return the next state."""
    for i in range(stop - 1, start, -1):
        state, bits = _next(state)
        # the upper half of a product in place of a division, which takes longer
        j = start + np.int64((bits * np.uint64(i - start + 1)) >> np.uint64(32))
        items[i], items[j] = items[j], items[i]
    return state


@njit(nogil=True, cache=True)
def mix_rows(rows, run, window, seed):
    """Return `rows` (fewer than 2^31) in random order: runs of `run` of them, then within windows of `window`."""
    n = len(rows)
    state, bits = _next(np.uint64(seed))
    cut = np.int64(bits) % run  # else the same rows would share a run in every pass
    runs = np.arange((n + cut + run - 1) // run)
    state = _shuffle(runs, np.int64(0), len(runs), state)
    mixed = np.empty_like(rows)
    filled = 0
    for number in runs:
        for i in range(max(number * run - cut, 0), min((number + 1) * run - cut, n)):
            mixed[filled] = rows[i]
            filled += 1
    for start in range(0, n, window):
        state = _shuffle(mixed, start, min(start + window, n), state)
    return mixed

"""Sampled pairs of rows: drawing them, their similarities, and the two sums of the pairwise regularizer.

`partners` (n x most pairs of a row) holds, for each row, those it is paired with, each pair once, with -1 in empty
places; the formulas are those of `coview.engines.pair_field`. A call owns rows start to stop, and for the gradient,
which also adds to the partners of these rows, a sum of its own.
"""

from __future__ import annotations

import math

import numpy as np

from coview.kernels.compiling import njit
from coview.kernels.mixing import mix_bits

__all__ = ["add_gradient", "draw_partners", "gap_squares", "similarities"]

_MATH = {"reassoc", "contract", "nsz", "arcp"}


@njit(nogil=True, cache=True)
def draw_partners(seed, counts, out):
    """Write counts[i] partners of each row i to out, at random and without a pair twice; -1 fills what is left.

    With objects on a circle, row i owns the pairs with the n // 2 objects that follow it (of even n the farthest belong
    to the first half alone): every pair has one owner, so that rows draw by themselves.
    """
    n = len(counts)
    taken = np.zeros(n // 2 + 1, dtype=np.bool_)
    for i in range(n):
        # of even n, the farthest object is the same one from both sides: the first half owns that pair
        owned = n // 2 - (1 if n % 2 == 0 and i >= n // 2 else 0)
        state = mix_bits(np.uint64(seed) + np.uint64(i) * np.uint64(0x9E3779B97F4A7C15))
        last = owned - counts[i]
        for c in range(counts[i]):  # Floyd: every subset of that size is as likely
            last += 1
            state = mix_bits(state + np.uint64(0x9E3779B97F4A7C15))
            step = 1 + np.int64(state % np.uint64(last))
            if taken[step]:
                step = last
            taken[step] = True
            out[i, c] = (i + step) % n
        for c in range(counts[i]):  # undone one by one: clearing all would take n steps for each row
            taken[(out[i, c] - i) % n] = False
        for c in range(counts[i], out.shape[1]):
            out[i, c] = -1


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def similarities(P, have, partners, sigma, out, start, stop):
    """Write s_ij of the pairs of rows start..stop to out (n x most pairs of a row)."""
    K = P.shape[1]
    zero = P.dtype.type(0)
    for i in range(start, stop):
        for c in range(partners.shape[1]):
            j = np.int64(partners[i, c])
            if j < 0 or not have[i] or not have[j]:
                out[i, c] = -1.0
                continue
            distance = zero
            for k in range(K):
                gap = P[i, k] - P[j, k]
                distance += gap * gap
            out[i, c] = math.exp(-np.float64(distance) / sigma)


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def gap_squares(own, other, start, stop):
    """Return the sum of (own - other)^2 over the pairs of rows start..stop that both have."""
    total = 0.0
    for i in range(start, stop):
        for c in range(own.shape[1]):
            if own[i, c] >= 0 and other[i, c] >= 0:
                gap = own[i, c] - other[i, c]
                total += gap * gap
    return total


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def add_gradient(P, partners, pulls, out, start, stop):
    """Add pull (P_i - P_j) of the pairs of rows start..stop to out[i], and subtract it from out[j] (float64)."""
    K = P.shape[1]
    for i in range(start, stop):
        for c in range(partners.shape[1]):
            pull = pulls[i, c]
            if pull == 0:  # also where there is no pair: -1 is no row
                continue
            j = np.int64(partners[i, c])
            for k in range(K):
                part = pull * (P[i, k] - P[j, k])
                out[i, k] += part
                out[j, k] -= part

"""A row step of counts and a quadratic: maximize sum_k n_k log h_k + s h - (c / 2) |h - old|^2 on the simplex.

n are expected counts, s the slope of a concave quadratic at the old row and c its largest curvature: what is maximized
lies below the true objective and touches it at the old row. With g = old + s / c, moved by a constant so that it sums
to one, and p = n / c, it is the L2 problem of `simplex_l2.py` but for a g that may lie outside of the simplex:

    h = (t + sqrt(t^2 + 4 p)) / 2,   t = g - eta,     sum_k h_k = 1  at an eta of  max(0, sum p - |h|^2 + h g)

From h (h - g + eta) = p follows eta = sum p - |h|^2 + h g, which lies in [sum p - 1 + min g, sum p + max g], and from
the sum of h - p / h = g - eta that it is not negative. Without counts h is the projection of g: max(g - eta, 0).

A constant in g changes no h. It is solved with 0 for the largest entry, where eta is at least -1, since no share is
above 1, and at most sum p: as large as vectors far from all means make g, digits of h are left.
"""

from __future__ import annotations

import numpy as np

from coview.kernels.compiling import njit
from coview.kernels.simplex_l2 import solve_between

__all__ = ["quadratic_rows"]

_MATH = {"reassoc", "contract", "nsz", "arcp"}
_FREE = 1e-12  # a curvature this small beside the counts changes no digit of h


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def quadratic_rows(counts, old, slope, curvature, out, floor, start, stop):
    """Fill rows start..stop of `out`, at least `floor`; rows without counts and curvature stay as they are."""
    K = old.shape[1]
    p, g, h, inverse = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    for i in range(start, stop):
        total = 0.0
        for k in range(K):
            total += np.float64(counts[i, k])
        strength = curvature[i]
        if strength <= _FREE * total or K == 1:
            for k in range(K):
                h[k] = np.float64(counts[i, k]) / total if total > 0.0 else np.float64(old[i, k])
        else:
            _placed(counts, old, slope, 1.0 / strength, p, g, i)
            if total > 0.0:
                _solved(p, g, total / strength, inverse, h)
            else:
                _projected(g, h)
        for k in range(K):
            out[i, k] = max(h[k], floor)


@njit(inline="always", fastmath=_MATH)
def _placed(counts, old, slope, scale, p, g, i):
    """Fill p and g, which sums to one."""
    K = len(p)
    total = 0.0
    for k in range(K):
        p[k] = scale * np.float64(counts[i, k])
        g[k] = np.float64(old[i, k]) + scale * np.float64(slope[i, k])
        total += g[k]
    shift = (1.0 - total) / K
    for k in range(K):
        g[k] += shift


@njit(inline="always", fastmath=_MATH)
def _solved(p, g, mass, inverse, h):
    """Fill h by Halley's method between bounds of eta; its sum is brought to one."""
    K = len(p)
    lowest, highest = g[0], g[0]
    share, eta = 1.0 / (mass + 1.0), mass
    for k in range(K):
        lowest, highest = min(lowest, g[k]), max(highest, g[k])
        # the multiplier of a mixture between the counts and g has an error of second order only
        between = share * (p[k] + max(g[k], 0.0))
        eta -= between * (between - g[k])
    low, high = max(-1.0, max(0.0, mass - 1.0 + min(lowest, 0.0)) - highest), mass
    eta -= highest
    for k in range(K):
        g[k] -= highest
    if not low < eta < high:
        eta = 0.5 * (low + high)
    total = solve_between(p, g, eta, low, high, inverse, h)
    for k in range(K):
        h[k] /= total


@njit(inline="always", fastmath=_MATH)
def _projected(g, h):
    """Fill h with the nearest point of the simplex: entries that would be negative leave until none is."""
    K = len(g)
    highest = g[0]
    for k in range(K):
        highest = max(highest, g[k])
    for k in range(K):
        g[k] = max(g[k] - highest, -1.0)
        h[k] = 1.0  # still in
    for _ in range(K):
        total, number = 0.0, 0
        for k in range(K):
            if h[k] > 0.0:
                total += g[k]
                number += 1
        eta = (total - 1.0) / number
        left = False
        for k in range(K):
            if h[k] > 0.0 and g[k] <= eta:
                h[k] = 0.0
                left = True
        if not left:
            break
    for k in range(K):
        h[k] = g[k] - eta if h[k] > 0.0 else 0.0

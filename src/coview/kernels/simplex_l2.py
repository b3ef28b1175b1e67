"""The L2 problem of one object: maximize sum_k q_k log h_k - Lambda |h - g|^2 / 2 on the simplex.

With p = q / Lambda, t = g - eta and r = sqrt(t^2 + 4 p), each entry is

    h = (|t| + r) / 2   where t >= 0,      h = 2 p / (|t| + r)   where t < 0      (equal, and free of cancellation)
    dh / d eta = -h / r                    d^2 h / d eta^2 = 2 p / r^3

and eta is the one at which all h sum to one: Halley's method, whose error is cubed by each step. The first step need
not be exact, and is taken in float32 with a rough inverse root. The last step is short: it needs no roots of its own,
but the two derivatives above.
"""

from __future__ import annotations

import math

import numpy as np

from coview.kernels.compiling import njit

__all__ = ["l2_row", "solve_between"]

# Sums may be reordered and fused; NaN and infinity keep their meaning.
_MATH = {"reassoc", "contract", "nsz", "arcp"}

_STEPS = 200
_ROUGH_MASS = 8.0  # above it the first guess is closer than a rough step would bring it
_SHORT = 2e-4**4  # a step this short, relative to every r, leaves an error of 1e-11 at most without new roots


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def l2_row(p, g, mass, eta, inverse, h):
    """Fill h with the solution, and return its sum, which is one or almost; mass = sum p, eta = a guess."""
    low, high = max(0.0, mass - 1.0), mass + 1.0
    if mass < _ROUGH_MASS:
        total, slope, curve = _rough_sums(p, g, eta, 1.0)
        new = eta + _halley(total, slope, curve)
        eta = new if low < new < high else eta
    return solve_between(p, g, eta, low, high, inverse, h)


@njit(inline="always", fastmath=_MATH)
def solve_between(p, g, eta, low, high, inverse, h):
    """Fill h by Halley's method, from a guess of eta between bounds; return its sum, which is one or almost."""
    K = len(p)
    total = 1.0
    for _ in range(_STEPS):
        total, slope, curve, steep = _sums(p, g, eta, inverse, h)
        if abs(total - 1.0) <= 1e-13 or slope <= 0.0:
            break
        if total > 1.0:
            low = eta
        else:
            high = eta
        step = _halley(total, slope, curve)
        if (step * step) * (step * step) * steep < _SHORT:
            total = 0.0
            for k in range(K):
                fall = inverse[k] * step
                value = h[k] - fall * (h[k] - p[k] * inverse[k] * fall)
                h[k] = value
                total += value
            break
        new = eta + step
        if not low <= new <= high:
            new = eta + (total - 1.0) * total / slope
            if not low <= new <= high:
                new = 0.5 * (low + high)
        if abs(new - eta) <= 1e-16 * abs(eta):
            break
        eta = new
    return total


@njit(inline="always", fastmath=_MATH)
def _halley(total, slope, curve):
    """Step of eta by which the sum comes to one, to third order; far too long where Halley's method does not serve."""
    over = total - 1.0
    under = slope * slope - 0.5 * over * curve
    return over * slope / under if under > 0.0 else math.inf


@njit(inline="always", fastmath=_MATH)
def _sums(p, g, eta, inverse, h):
    """Fill h and 1 / r; return the sums of h, of h / r, of 2 p / r^3 and of 1 / r^4."""
    total, slope, curve, steep = 0.0, 0.0, 0.0, 0.0
    for k in range(len(p)):
        size = abs(g[k] - eta)
        half = 0.5 * size
        y = _inverse_root(half * size + (p[k] + p[k]))
        upper = half + (half * size + (p[k] + p[k])) * y  # (|t| + r) / 2, above 0 where t < 0
        value = upper if g[k] >= eta else p[k] / upper
        inverse[k] = y
        h[k] = value
        total += value
        slope += value * y
        curve += p[k] * y * (y * y)
        steep += (y * y) * (y * y)  # a maximum would not be vectorized
    return total, slope, 2.0 * curve, steep


@njit(inline="always", fastmath=_MATH)
def _inverse_root(half):
    """1 / sqrt(2 half) to 5e-13, of 0 a large number: a guess from the halved exponent, and three steps of Newton's.

    The guess and the constants of the first step make that step's error least, 6.5e-4.
    """
    y = np.int64(0x5FDBFD3E41C67406 - (np.float64(half).view(np.int64) >> 1)).view(np.float64)
    y *= 1.6826445 - 1.40974142 * ((half * y) * y)
    y *= 1.5 - (half * y) * y
    return y * (1.5 - (half * y) * y)


@njit(inline="always", fastmath=_MATH)
def _rough_sums(p, g, eta, mass):
    """Sums of h, of h / r and of 2 p / r^3 in float32; mass = sum of g. Cancellation is no matter here."""
    a, b, c, half = np.float32(1.6826445), np.float32(1.40974142), np.float32(1.5000003), np.float32(0.5)
    roots, shares, curve = np.float32(0), np.float32(0), np.float32(0)
    narrow = np.float32(eta)
    for k in range(len(p)):
        t = np.float32(g[k]) - narrow
        x = np.float32(p[k])
        under = half * t * t + (x + x)  # r^2 / 2
        y = np.int32(np.int32(0x5EDFE9F2) - np.int32(np.float32(under).view(np.int32) >> np.int32(1))).view(np.float32)
        y *= a - b * ((under * y) * y)
        y *= c - (under * y) * y
        roots += under * y
        shares += t * y
        curve += x * y * (y * y)
    K = len(p)
    return 0.5 * (mass - K * eta) + roots, 0.5 * (K + np.float64(shares)), 2.0 * np.float64(curve)

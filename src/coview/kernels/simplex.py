"""Rows of the simplex that maximize data and a term that keeps them close to others; one multiplier each, by a root.

omega_rows      u / omega(b + s), where omega + log omega is its argument: the row step of symmetric KL
quadratic_rows  counts log h + slope h - curvature |h - old|^2 / 2: the row step of squared distances

In both the entries fall as the multiplier (s, eta) grows, and it is the one at which they sum to one: Halley's method
on the logarithm of the sum, Newton's between bounds that close in.
"""

from __future__ import annotations

import math

import numpy as np

from coview.kernels.compiling import njit
from coview.kernels.ratio import fast_log

__all__ = ["omega_rows", "quadratic_rows"]

# Sums may be reordered and fused; NaN and infinity keep their meaning.
_MATH = {"reassoc", "contract", "nsz", "arcp"}
_STEPS = 100  # a few are enough


@njit(inline="always", fastmath=_MATH)
def _first_omega(z):
    """Return Wright's omega, roughly: a step of `_sharpen_omega` brings it near."""
    return z if z > 30.0 else math.log1p(math.exp(z))


@njit(inline="always", fastmath=_MATH)
def _sharpen_omega(w, z):
    """Return Wright's omega at z from one nearby, to fourth order (Fritsch, Shafer and Crowley, 1973)."""
    r = z - w - fast_log(w)
    a = 1.0 + w
    c = a * (a + r * (2.0 / 3.0))
    return w * (1.0 + r * (c - 0.5 * r) / (a * (c - r)))


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def omega_rows(u, b, out, start, stop):
    """Fill rows start..stop of `out` with u / omega(b + s), with the s at which they sum to one; u is above 0.

    With T = sum u and m the mean of b weighted by u, s >= T + log T - m by Jensen's inequality: the search begins
    there. With t = 1 / (1 + omega) the derivatives are h' = -h t and h'' = h t^2 (2 - t).
    """
    K = u.shape[1]
    w = np.empty(K)
    for i in range(start, stop):
        mass, mean = 0.0, 0.0
        for k in range(K):
            mass += u[i, k]
            mean += u[i, k] * b[i, k]
        s = mass + fast_log(mass) - mean / mass
        far = True  # whether omega is to be had anew, or w holds one nearby
        for _ in range(_STEPS):
            total, first, second = 0.0, 0.0, 0.0
            for k in range(K):
                z = max(b[i, k] + s, -700.0)  # below, exp and with it omega would be 0
                w[k] = _sharpen_omega(_sharpen_omega(_first_omega(z), z) if far else w[k], z)
                h = u[i, k] / w[k]
                t = 1.0 / (1.0 + w[k])
                total += h
                first += h * t
                second += h * t * t * (2.0 - t)
            value, slope = math.log(total), first / total
            if abs(value) < 1e-12:
                break
            step = value * slope / (slope * slope - 0.5 * value * (second / total - slope * slope))
            s += step
            far = abs(step) > 1.0  # small steps sharpen the last omega, which saves the exponential
        for k in range(K):
            out[i, k] = u[i, k] / (w[k] * total)


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def quadratic_rows(counts, old, slope, curvature, out, floor, start, stop):
    """Fill rows start..stop of `out`, at least `floor`; a row without counts and curvature stays as it is.

    With p = counts / curvature, g = old + slope / curvature and t = g - eta, the entries are

        h = (t + sqrt(t^2 + 4 p)) / 2     or, free of cancellation where t < 0,     h = 2 p / (sqrt(t^2 + 4 p) - t)

    A constant in g changes no h. With 0 for its largest entry eta lies between -1, since no share is above 1, and
    sum p, however large g is.
    """
    K = old.shape[1]
    p, g, h = np.empty(K), np.empty(K), np.empty(K)
    tiny = np.finfo(np.float64).tiny
    for i in range(start, stop):
        total, highest = 0.0, -math.inf
        strength = curvature[i]
        for k in range(K):
            total += np.float64(counts[i, k])
        if strength <= 1e-12 * total or K == 1:  # so little beside the counts changes no digit
            for k in range(K):
                out[i, k] = max(counts[i, k] / total if total > 0.0 else old[i, k], floor)
            continue
        for k in range(K):
            p[k] = counts[i, k] / strength
            g[k] = old[i, k] + slope[i, k] / strength
            highest = max(highest, g[k])
        mass = total / strength
        high = eta = mass
        lowest = 0.0
        for k in range(K):
            g[k] -= highest
            lowest = min(lowest, g[k])
            # the multiplier of a row between the counts and g has an error of second order only
            between = (p[k] + max(g[k] + highest, 0.0)) / (mass + 1.0)
            eta -= between * (between - g[k])
        low = max(mass - 1.0 + lowest, -1.0) - 1e-12
        if not low < eta < high:
            eta = 0.5 * (low + high)
        for _ in range(_STEPS):
            total, fall = 0.0, 0.0
            for k in range(K):
                t = g[k] - eta
                root = math.sqrt(t * t + 4.0 * p[k])
                h[k] = 0.5 * (t + root) if t > 0.0 else 2.0 * p[k] / max(root - t, tiny)
                total += h[k]
                fall += h[k] / max(root, tiny)
            over = total - 1.0
            if abs(over) <= 1e-13 or high - low <= 1e-16 * abs(eta):
                break
            if over > 0.0:
                low = eta
            else:
                high = eta
            # exact where all entries fall as 1 / eta does
            eta += over * max(total, 1e-3) / max(fall, tiny)
            if not low < eta < high:
                eta = 0.5 * (low + high)
        for k in range(K):
            out[i, k] = max(h[k] / total, floor)

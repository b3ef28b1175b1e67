"""One view's topic mixture given its data and the other views': a concave problem on the simplex, row by row.

For each object, with q the view's expected counts and g_j, lambda_j the columns and weights of its partners:

    maximize  sum_k q_k log h_k - sum_j lambda_j D(h, g_j)     over h >= 0, sum_k h_k = 1

With Lambda = sum lambda_j, g the weighted arithmetic and g~ the weighted geometric mean of the partners, p = q / Lambda
and a multiplier (s, eta) found by Newton's or Halley's method so that the h_k sum to one:

    symmetric KL   h = u / omega(b + s)                      u = p + g,  b = log(u / g~),  omega + log omega = argument
    L2, D = |h - g|^2 / 2      h = (t + sqrt(t^2 + 4 p)) / 2      t = g - eta / Lambda, see `simplex_l2.py`
    L1             see `simplex_l1.py`

omega (Wright's function) is kept and refreshed per entry while the multiplier moves, so that nothing overflows and a
step costs one logarithm. With T = sum u and b- the mean of b weighted by u, Jensen's inequality gives
s >= T + log T - b-: that is where the search begins, and two or three steps of third order end it.

A table holds the columns of all views side by side (objects x views * topics). A call rewrites one view's columns in
those of the rows start..stop that have the view or, with `absent`, in those that lack it: there q must be zero, and the
row is imputed from the views that it has.
"""

from __future__ import annotations

import math

import numpy as np

from coview.kernels.compiling import njit
from coview.kernels.ratio import fast_log
from coview.kernels.simplex_l1 import l1_pair_row, l1_row, sort_breaks
from coview.kernels.simplex_l2 import l2_row

__all__ = ["l1_rows", "l2_rows", "skl_rows"]

# Sums may be reordered and fused; NaN and infinity keep their meaning.
_MATH = {"reassoc", "contract", "nsz", "arcp"}
_CLOSE = 6e-4  # the last step, of third order, leaves an error of 1e-12
_FREE = 1e-15  # a weight this small beside the data changes no digit of h
_STEPS = 60


@njit(inline="always", fastmath=_MATH)
def _moved(w, r):
    """Omega at z + r from w = omega(z), to fourth order, as a fraction (Fritsch, Shafer and Crowley, 1973).

    With r = z - w - log w it corrects a rough w.
    """
    a = 1.0 + w
    c = a * (a + r * (2.0 / 3.0))
    under = a * (c - r)
    return w * (under + r * (c - 0.5 * r)), under


@njit(inline="always", fastmath=_MATH)
def _first_omega(z):
    """Wright's omega as a fraction: to 5e-6 for z above 0.9, to 1e-2 below (z above -700)."""
    if z > 36.0:
        log = fast_log(z)
        return z - log + log / z * (1.0 + 0.5 * (log - 2.0) / z), 1.0
    if z > 0.9:  # fitted there
        over = 0.5655263428815 + z * (
            0.620094824793 + z * (0.2724625591199 + z * (0.06577655674054 + z * 0.002571842471542))
        )
        under = 1.0 + z * (0.4460896257235 + z * (0.07774540385245 + z * 0.002592597804083))
        return over, under
    x = z - 1.0
    w = 1.0 + x * (0.5 + x * (1.0 / 16.0 - x * (1.0 / 192.0))) if z > -1.5 else math.exp(z)
    return _moved(w, z - w - fast_log(w))


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def skl_rows(q, table, view, weights, have, absent, floor, start, stop):
    """Rewrite the columns of one view in rows start..stop of the table; agreement by symmetric KL divergence."""
    K = q.shape[1]
    u, b, w = np.empty(K), np.empty(K), np.empty(K)
    for i in range(start, stop):
        if have[i, view] == absent:
            continue
        total, strength, partners = _masses(q, weights, have, view, i)
        if strength <= _FREE * total or K == 1:
            _without_partners(q, table, view, have, total, floor, i)
            continue
        mass = 0.0
        mean = 0.0
        scale = 1.0 / strength
        if partners == 1:
            j = _only_partner(weights, have, view, i) * K
            for k in range(K):
                g = np.float64(table[i, j + k])
                p = scale * q[i, k]
                u[k] = p + g
                b[k] = fast_log(1.0 + p / g)
                mass += u[k]
                mean += u[k] * b[k]
        else:
            _arithmetic_mean(table, view, weights, have, scale, u, i)
            for k in range(K):
                u[k] += scale * q[i, k]
                b[k] = fast_log(u[k])
            for v in range(len(weights)):
                if v != view and have[i, v] and weights[v] > 0:
                    share = scale * weights[v]
                    for k in range(K):
                        b[k] -= share * fast_log(np.float64(table[i, v * K + k]))
            for k in range(K):
                mass += u[k]
                mean += u[k] * b[k]
        s = mass + fast_log(mass) - mean / mass
        if partners == 1:
            s = max(s, 1.0)  # eta >= 0: b >= 0 and then h >= g at s = 1
        step = _skl_search(u, b, w, s)
        total = 0.0
        for k in range(K):
            over, under = _moved(w[k], step)
            u[k] *= under / over
            total += u[k]
        _write(u, 1.0 / total, table, view * K, floor, i)


@njit(inline="always", fastmath=_MATH)
def _skl_search(u, b, w, s):
    """Fill w with omega(b + s) near the root; return the last step of s, which is left to the caller.

    Halley's method on the logarithm of the sum: with t = 1 / (1 + omega), h' = -h t and h'' = h t^2 (2 - t).
    """
    step = 0.0
    rough = True  # whether omega is to be had anew, or w holds a sharp one of the last s
    for _ in range(_STEPS):
        total = 0.0
        first = 0.0
        second = 0.0
        for k in range(len(u)):
            z = b[k] + s
            if rough:
                over, under = _first_omega(z)
            else:
                over, under = _moved(w[k], step)
                x = over / under
                over, under = _moved(x, z - x - fast_log(x))
            # over / under is the new omega; one division serves it and the two inverses
            both = under + over
            inverse = 1.0 / (over * under * both)
            w[k] = over * over * both * inverse
            h = u[k] * under * under * both * inverse
            t = under * under * over * inverse
            total += h
            first += h * t
            second += h * t * t * (2.0 - t)
        value = math.log(total)
        slope = first / total
        curve = second / total - slope * slope
        step = value * slope / (slope * slope - 0.5 * value * curve)
        if abs(value) < _CLOSE and not rough:
            break
        s += step
        rough = abs(step) > 1.0
    return step


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def l2_rows(q, table, view, weights, have, absent, floor, start, stop):
    """Rewrite the columns of one view in rows start..stop of the table; agreement by half the squared distance."""
    K = q.shape[1]
    p, g, h, inverse = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    for i in range(start, stop):
        if have[i, view] == absent:
            continue
        total, strength, partners = _masses(q, weights, have, view, i)
        if strength <= _FREE * total or K == 1:
            _without_partners(q, table, view, have, total, floor, i)
            continue
        scale = 1.0 / strength
        mass = scale * total
        eta = mass
        share = 1.0 / (mass + 1.0)
        if partners > 1:
            _arithmetic_mean(table, view, weights, have, scale, g, i)
        else:
            j = _only_partner(weights, have, view, i) * K
            partner = table[i, j : j + K]
            for k in range(K):
                g[k] = partner[k]
        for k in range(K):
            p[k] = scale * q[i, k]
            # the multiplier of a mixture between the two has an error of second order only
            between = share * (p[k] + g[k])
            eta -= between * (between - g[k])
        if total > 0.0:
            total = l2_row(p, g, mass, eta, inverse, h)
            _write(h, 1.0 / total, table, view * K, floor, i)
        else:  # nothing but the partners: their mean
            _write(g, 1.0, table, view * K, floor, i)


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def l1_rows(q, table, view, weights, have, absent, floor, start, stop):
    """Rewrite the columns of one view in rows start..stop of the table; agreement by the sum of absolute differences.

    Entries that rest on a partner's value get that value, bit by bit.
    """
    K = q.shape[1]
    V = len(weights)
    p, g, h = np.empty(K), np.empty(K), np.empty(K)
    breaks, above = np.empty((K, V)), np.empty((K, V + 1))
    for i in range(start, stop):
        if have[i, view] == absent:
            continue
        total, strength, partners = _masses(q, weights, have, view, i)
        if strength <= _FREE * total or K == 1:
            _without_partners(q, table, view, have, total, floor, i)
            continue
        for k in range(K):
            p[k] = q[i, k]
        if partners == 1:
            j = _only_partner(weights, have, view, i) * K
            for k in range(K):
                g[k] = table[i, j + k]
            l1_pair_row(p, g, strength, total, _slack(table), h)
            _write(h, 1.0, table, view * K, floor, i)
            continue
        r = sort_breaks(table, view, weights, have, breaks, above, i)
        l1_row(p, total, breaks, above, r, _slack(table), g, h)
        _write(h, 1.0, table, view * K, floor, i)


# -- what the three share


@njit(inline="always")
def _slack(table):
    """How far from one the sum of a row may be: a row at rest is then left as it is, bit by bit."""
    return 1e-6 if table.itemsize == 4 else 1e-13


@njit(inline="always")
def _masses(q, weights, have, view, i):
    """Sum of q, sum of the weights of the partners, and number of partners of row i."""
    total = 0.0
    for k in range(q.shape[1]):
        total += np.float64(q[i, k])
    strength = 0.0
    partners = 0
    for v in range(len(weights)):
        if v != view and have[i, v]:
            strength += weights[v]
            partners += weights[v] > 0
    return total, strength, partners


@njit(inline="always")
def _only_partner(weights, have, view, i):
    for v in range(len(weights)):
        if v != view and have[i, v] and weights[v] > 0:
            return v
    return view


@njit(inline="always", fastmath=_MATH)
def _arithmetic_mean(table, view, weights, have, scale, out, i):
    K = len(out)
    for k in range(K):
        out[k] = 0.0
    for v in range(len(weights)):
        if v != view and have[i, v] and weights[v] > 0:
            share = scale * weights[v]
            for k in range(K):
                out[k] += share * np.float64(table[i, v * K + k])


@njit(inline="always")
def _without_partners(q, table, view, have, total, floor, i):
    """Plain shares of q; without data the even mean of the views that are there, and without any the old row."""
    K = q.shape[1]
    h = np.zeros(K)
    if total > 0:
        for k in range(K):
            h[k] = np.float64(q[i, k]) / total
    else:
        found = 0
        for v in range(have.shape[1]):
            if v != view and have[i, v]:
                found += 1
                for k in range(K):
                    h[k] += np.float64(table[i, v * K + k])
        if found == 0:
            return
        for k in range(K):
            h[k] /= found
    _write(h, 1.0, table, view * K, floor, i)


@njit(inline="always", fastmath=_MATH)
def _write(h, scale, table, at, floor, i):
    """Put scale * h into the table, at least `floor` and with sum one; the largest entry pays for the floor."""
    K = len(h)
    row = table[i, at : at + K]
    total = 0.0
    for k in range(K):
        value = scale * h[k]
        value = value if value > floor else floor
        row[k] = value
        total += value
    if abs(total - 1.0) > _slack(table):
        largest = _largest(h)
        row[largest] = max(scale * h[largest], floor) - (total - 1.0)


@njit(nogil=True, cache=True)
def _largest(h):
    """Place of the largest entry; none is below zero, and the bits of such numbers are in their order."""
    top = np.int64(0)
    for k in range(len(h)):  # integers: a maximum of floats would not be vectorized
        bits = np.float64(h[k]).view(np.int64)
        top = bits if bits > top else top
    for k in range(len(h)):
        if np.float64(h[k]).view(np.int64) == top:
            return k
    return 0

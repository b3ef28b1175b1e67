"""The L1 problem of one object, exactly: maximize sum_k q_k log h_k - sum_j lambda_j |h - g_j|_1 on the simplex.

For one entry let the partners' values be sorted, G_1 <= ... <= G_r, and let A_i be the weight of the partners above
G_i (A_r = 0, A_0 = Lambda). With the multiplier written as x = eta + Lambda, the stationary point is

    h = q / (x - 2 A_i)         where that lies between G_i and G_(i+1)
    h = G_i                     where  x - 2 A_i >= q / G_i >= x - 2 A_(i-1)

so h falls as x grows, and the sum of all h with it. Where q = 0 the entry is a step: it drops from G_(i+1) to G_i at
the pole x = 2 A_i, and there any value between is optimal. The multiplier is therefore held as x = pole + e, with the
largest pole that is not above the root: x - 2 A_i = e + (pole - 2 A_i) then adds numbers of one sign, however small e
is beside the weights. If the sum jumps over one at e = 0, the entries that jump share what is missing.

With one partner g of weight w the largest pole, 2 w, always serves, as the g sum to one:

    h = max(q / (e + 2 w), min(g, q / e)),     and for given sets above, at and below g a quadratic equation gives e
"""

from __future__ import annotations

import math

import numpy as np

from coview.kernels.compiling import njit

__all__ = ["l1_pair_row", "l1_row", "sort_breaks"]

# Sums may be reordered and fused; NaN and infinity keep their meaning.
_MATH = {"reassoc", "contract", "nsz", "arcp"}

_STEPS = 200


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def l1_pair_row(q, g, weight, total, slack, h):
    """Fill h with the solution for one partner; `total` is the sum of q, `slack` how far from one a sum may be."""
    K = len(q)
    twice = 2.0 * weight
    above, rest, empty = 0.0, 0.0, 0.0
    for k in range(K):  # at e = 0
        over = q[k] > g[k] * twice
        above += q[k] if over else 0.0
        rest += g[k] if not over and q[k] > 0.0 else 0.0
        empty += g[k] if not q[k] > 0.0 else 0.0
    missing = 1.0 - rest - above / twice
    if missing >= -slack:
        share = 1.0 if missing >= empty - slack else missing / empty
        for k in range(K):
            h[k] = max(q[k] / twice, g[k]) if q[k] > 0.0 else share * g[k]
        return
    low, high = 0.0, total
    e = above / (1.0 - rest) - twice if rest < 1.0 else total
    if not low < e < high:
        e = high
    for _ in range(_STEPS):
        above, rest, below = _sides(q, g, e, twice)
        moving = above / (e + twice) + below / e
        excess = rest + moving - 1.0
        if abs(excess) <= slack:
            break
        if excess > 0.0:
            low = e
        else:
            high = e
        new = _level(above, 1.0 - rest, below, twice)
        if not low < new < high:
            new = _between(low, high)
            if not low < new < high:
                break
        e = new
    scale = (1.0 - rest) / moving if moving > 0.0 else 1.0
    scale = scale if abs(scale - 1.0) < 1e-6 else 1.0
    upper, lower = scale / (e + twice), scale / e
    for k in range(K):
        if q[k] > g[k] * (e + twice):
            h[k] = q[k] * upper
        elif q[k] < g[k] * e:
            h[k] = q[k] * lower
        else:
            h[k] = g[k]


@njit(inline="always", fastmath=_MATH)
def _sides(q, g, e, twice):
    """Sums of q above the partner, of g where h rests on it, and of q below."""
    top = e + twice
    above, rest, below = 0.0, 0.0, 0.0
    for k in range(len(q)):
        x, y = q[k], g[k]
        over, under = x > y * top, x < y * e
        above += x if over else 0.0
        below += x if under else 0.0
        y = 0.0 if over else y  # two plain choices are vectorized, one by `over or under` is not
        rest += 0.0 if under else y
    return above, rest, below


@njit(inline="always", fastmath=_MATH)
def _level(above, left, below, twice):
    """The e at which above / (e + twice) + below / e = left; -1 where there is none."""
    if left <= 0.0:
        return -1.0
    b = twice * left - above - below
    root = math.sqrt(b * b + 4.0 * left * twice * below)
    return 2.0 * twice * below / (b + root) if b >= 0.0 else (root - b) / (2.0 * left)


@njit(nogil=True, cache=True, error_model="numpy")
def sort_breaks(table, view, weights, have, breaks, above, i):
    """Fill breaks (sorted partner values) and above (weight above each) of every entry of row i; number of partners."""
    K = breaks.shape[0]
    r = 0
    for v in range(len(weights)):
        if v == view or not have[i, v] or not weights[v] > 0:
            continue
        for k in range(K):
            value = np.float64(table[i, v * K + k])
            at = r
            while at > 0 and breaks[k, at - 1] > value:
                breaks[k, at] = breaks[k, at - 1]
                above[k, at] = above[k, at - 1]
                at -= 1
            breaks[k, at] = value
            above[k, at] = weights[v]
        r += 1
    for k in range(K):
        total = 0.0
        for j in range(r - 1, -1, -1):
            weight = above[k, j]
            above[k, j + 1] = total
            total += weight
        above[k, 0] = total
    return r


@njit(nogil=True, cache=True, error_model="numpy")
def l1_row(q, total, breaks, above, r, slack, other, h):
    """Fill h with the solution for r partners; as `l1_pair_row`, and other is scratch."""
    K = len(q)
    pole = 0.0
    for k in range(K):
        pole = max(pole, 2.0 * above[k, 0])
    high = total
    while pole > 0.0:
        pinned, moving, _ = _fill(q, breaks, above, r, pole, 0.0, False, h)
        if pinned + moving >= 1.0 - slack:
            break
        lower = _pole_below(above, r, pole)
        high = pole - lower
        pole = lower
    if pole > 0.0 or total == 0.0:
        for k in range(K):
            other[k] = h[k]
        upper = pinned + moving
        pinned, moving, _ = _fill(q, breaks, above, r, pole, 0.0, True, h)
        if pinned + moving <= 1.0 + slack:
            if pole > 0.0 and upper <= 1.0 + slack:
                for k in range(K):
                    h[k] = other[k]
            elif pole > 0.0:
                share = max(0.0, 1.0 - pinned - moving) / (upper - pinned - moving)
                for k in range(K):
                    if other[k] != h[k]:
                        h[k] += share * (other[k] - h[k])
            return
    _search(q, breaks, above, r, pole, high, slack, h)


@njit(nogil=True, cache=True, error_model="numpy")
def _search(q, breaks, above, r, pole, high, slack, h):
    """Newton's method for e in (0, high), where the sum falls without jumps; entries at rest keep their bits."""
    low = 0.0
    e = high
    slow = 0
    before = 1.0
    for _ in range(_STEPS):
        pinned, moving, slope = _fill(q, breaks, above, r, pole, e, False, h)
        excess = pinned + moving - 1.0
        if abs(excess) <= slack:
            break
        if excess > 0.0:
            low = e
        else:
            high = e
        slow = slow + 1 if abs(excess) > 0.5 * before else 0
        before = abs(excess)
        new = -1.0
        if moving > 0.0 and slow < 3:
            # exact where all moving entries have the same denominator
            new = e + (moving / (1.0 - pinned) - 1.0) * moving / slope if pinned < 1.0 else -1.0
            if not low < new < high:
                new = e + excess / slope
        if not low < new < high:
            new = _between(low, high)
            slow = 0
            if not low < new < high:
                break
        e = new
    if moving > 0.0 and pinned < 1.0:
        scale = (1.0 - pinned) / moving
        if abs(scale - 1.0) < 1e-6:
            _scale_moving(breaks, r, scale, h)


@njit(nogil=True, cache=True, error_model="numpy")
def _fill(q, breaks, above, r, pole, e, lower, h):
    """Fill h at the multiplier pole + e; return the sums of resting and moving entries, and of moving h / denominator.

    At e = 0 an entry with q = 0 has many values: `lower` takes the lowest, else the highest.
    """
    K = len(h)
    pinned = 0.0
    moving = 0.0
    slope = 0.0
    for k in range(K):
        value = q[k]
        i = r
        under = e + (pole - 2.0 * above[k, r])
        while True:
            if i == 0 or value > breaks[k, i - 1] * under:
                h[k] = value / under if value > 0.0 else 0.0
                moving += h[k]
                slope += h[k] / under if value > 0.0 else 0.0
                break
            under = e + (pole - 2.0 * above[k, i - 1])
            if value > 0.0:
                rests = value >= breaks[k, i - 1] * under
            else:
                rests = under < 0.0 or (under == 0.0 and not lower)
            if rests:
                h[k] = breaks[k, i - 1]
                pinned += h[k]
                break
            i -= 1
    return pinned, moving, slope


@njit(nogil=True, cache=True, error_model="numpy")
def _scale_moving(breaks, r, scale, h):
    """Multiply the entries that rest on no partner's value."""
    K = len(h)
    for k in range(K):
        rests = False
        for i in range(r):
            rests = rests or h[k] == breaks[k, i]
        if not rests:
            h[k] *= scale


@njit(nogil=True, cache=True, error_model="numpy")
def _pole_below(above, r, pole):
    best = 0.0
    for k in range(len(above)):
        for i in range(r + 1):
            if best < 2.0 * above[k, i] < pole:
                best = 2.0 * above[k, i]
    return best


@njit(inline="always")
def _between(low, high):
    """The middle of the numbers between two, however far apart in size; zero counts as 1e-18 of the other."""
    a, b = np.float64(max(low, 1e-18 * high)).view(np.int64), np.float64(high).view(np.int64)
    return np.int64(a + (b - a) // 2).view(np.float64)

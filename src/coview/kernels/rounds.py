"""One passive-aggressive round over several views, solved exactly.

A round has a margin m_v and a squared norm n_v per view, shares q_v of the views in the vote (they sum to one), and
the margin m_0 of the intercept. It minimizes over the new weights

    sum_v |w_v - w_v'|^2 / 2 + (b - b')^2 / 2 + coupling * sum_{v<w} |z_v - z_w| + C * hinge(1 - z_0 - sum_v q_v z_v)

where z are the new margins. With p_v = tau q_v - g_v the weights move by p_v y x_v, z_v = m_v + n_v p_v, and

    D(tau, g) = tau l + sum_v g_v m_v - sum_v n_v p_v^2 / 2 - extra tau^2 / 2,     l = 1 - m_0 - sum_v q_v m_v

is maximal over 0 <= tau <= cap and over the g that add up to zero and whose r largest sum to at most
coupling * r (k - r), r < k of k views. (They are the sums of one multiplier per pair of views, added to the one and
taken from the other, none larger than the coupling.) `extra` holds 1 / (2 C) of PA-II and the n of the intercept;
`cap` is C for PA-I and infinite for PA and PA-II. Two views have a closed form. For more, the best g of one tau is
found by cutting views into tied groups (at most k cuts), and the derivative in tau is piecewise linear: Newton ends on
the right piece.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.kernels.compiling import njit

__all__ = [
    "EMPTY",
    "LARGEST_NORM",
    "MARGIN",
    "NORM",
    "ROWS",
    "SHARE",
    "STEP",
    "clip_step",
    "solve_paper",
    "solve_round",
    "solve_two",
]

# rows of a round's state, one column per view: one array, since counting references to many costs more than a round
MARGIN, NORM, SHARE, STEP, LARGEST_NORM, _LEVEL, _PULL = range(7)
ROWS = 7
# counters that start from a plain 0 would be compiled for it, and then again for any number
_NONE: Any = np.int64(0)
_TWO: Any = np.int64(2)
EMPTY = 1e-120  # a view whose squared norm is not above this cannot be moved and is left out of the round


@njit(nogil=True, cache=True, error_model="numpy")
def solve_round(state, base, extra, cap, coupling, order):
    """Write the steps p_v of one round; return tau.

    `state` is (ROWS, views): rows MARGIN, NORM and SHARE are read, STEP is written, the rest is scratch, as is `order`
    (3, views) of int64. `base` is m_0.
    """
    active = _NONE
    loss = 1.0 - base
    for v in range(state.shape[1]):
        state[STEP, v] = 0.0
        loss -= state[SHARE, v] * state[MARGIN, v]
        if state[NORM, v] > EMPTY:
            order[0, active] = v
            active += 1
    if active == 0:
        return 0.0
    if active == 1 or coupling == 0.0:
        curvature = extra
        for k in range(active):
            v = order[0, k]
            curvature += state[SHARE, v] * state[SHARE, v] * state[NORM, v]
        tau = clip_step(loss, curvature, cap)
        for k in range(active):
            state[STEP, order[0, k]] = tau * state[SHARE, order[0, k]]
        return tau
    if active > 2:
        return _solve_many(state, base, extra, cap, coupling, order, active)
    i, j = order[0, 0], order[0, 1]
    tau, u = solve_two(
        state[MARGIN, i],
        state[MARGIN, j],
        state[NORM, i],
        state[NORM, j],
        state[SHARE, i],
        state[SHARE, j],
        loss,
        extra,
        cap,
        coupling,
        False,
    )
    if u == -coupling:
        order[0, 0], order[0, 1] = j, i  # the second view ends higher
    order[2, 0], order[2, 1] = (2, 2) if abs(u) < coupling else (1, 2)
    _steps(state, base, extra, tau, 0.0 < tau < cap, coupling, order, _TWO)
    return tau


@njit(nogil=True, cache=True, error_model="numpy")
def solve_two(ma, mb, a, b, qa, qb, loss, extra, cap, coupling, ordinary):
    """Return tau and u of two views, p = (tau qa - u, tau qb + u): the free optimum in the box, else the best edge.

    Both norms must be above zero. An edge that the free optimum does not lie beyond cannot hold the best point (the
    way from that point to the free optimum would rise and stay in the box), so that one edge is tried mostly; all are
    where norms are not `ordinary` and rounding may misplace the free optimum. tau qa - u loses digits where a norm is
    huge: see `_steps`.
    """
    d, s, h = ma - mb, a + b, qb * b - qa * a
    curvature = qa * qa * a + qb * qb * b + extra
    inverse = 1.0 / (extra * s + a * b * (qa + qb) * (qa + qb))
    tau_free, u_free = (s * loss - h * d) * inverse, (curvature * d - h * loss) * inverse
    if 0.0 <= tau_free <= cap and abs(u_free) <= coupling:
        return tau_free, u_free
    best, tau, u = -np.inf, 0.0, 0.0
    for edge in range(4):
        if edge < 2:
            t = 0.0 if edge == 0 else cap
            if t == np.inf or (ordinary and (tau_free >= 0.0 if edge == 0 else tau_free <= cap)):
                continue
            x = min(max((d - h * t) / s, -coupling), coupling)
        else:
            x = coupling if edge == 2 else -coupling
            if ordinary and (u_free <= x if edge == 2 else u_free >= x):
                continue
            t = clip_step(loss - h * x, curvature, cap)
        value = t * loss + x * d - 0.5 * (curvature * t * t + 2.0 * h * t * x + s * x * x)
        if value > best:
            best, tau, u = value, t, x
    return tau, u


@njit(nogil=True, cache=True, error_model="numpy")
def clip_step(gradient, curvature, cap):
    """Best step along one direction, in 0..cap."""
    if gradient <= 0.0:
        return 0.0
    if curvature <= 0.0:
        return cap if cap < np.inf else 0.0
    return min(gradient / curvature, cap)


@njit(nogil=True, cache=True, error_model="numpy")
def solve_paper(ma, mb, a, b, loss, cap, coupling):
    """Return tau and u of the paper's Algorithm 1 as printed. Both norms must be above zero."""
    pull = ((1.0 - mb) / b - (1.0 - ma) / a) / (a + b)
    alpha = min(max(0.5 * (coupling + pull), 0.0), coupling)
    beta = min(max(0.5 * (coupling - pull), 0.0), coupling)
    u = alpha - beta
    return min(cap, (u * (a - b) + 2.0 * loss) / (a + b)), u


@njit(nogil=True, cache=True, error_model="numpy")
def _solve_many(state, base, extra, cap, coupling, order, active):
    """Three views or more: Newton on the derivative in tau, with the best g of each tau, kept inside a bracket."""
    low, high = 0.0, cap
    tau = 0.0
    slope, excess, scale = _best_groups(state, base, extra, tau, coupling, order, active)
    if excess > 0.0 and cap < np.inf:
        tau = cap
        slope, excess, scale = _best_groups(state, base, extra, tau, coupling, order, active)
    inside = (tau == 0.0 and excess > 0.0) or (tau > 0.0 and excess < 0.0)
    if inside:
        for _ in range(200):
            if excess > 0.0:
                low = tau
            else:
                high = tau
            following = tau + excess / slope if slope > 0.0 else np.inf
            if not low < following < high:
                if high == np.inf:
                    break
                following = 0.5 * (low + high)
            if following == tau or following <= low or following >= high:
                break
            tau = following
            slope, excess, scale = _best_groups(state, base, extra, tau, coupling, order, active)
            if abs(excess) <= 1e-15 * scale:
                break
    _steps(state, base, extra, tau, inside, coupling, order, active)
    return tau


@njit(nogil=True, cache=True, error_model="numpy")
def _best_groups(state, base, extra, tau, coupling, order, active):
    """Cut the views into tied groups for one tau; return (minus the slope, value, size of the terms) of dD/dtau.

    order[0] holds the active views, from the highest new margin down, order[2] where each one's group ends, order[1]
    is a stack of ends that are still to come. A run of views is one group, or is cut in two.
    """
    value = 1.0 - base - extra * tau
    scale = 1.0 + abs(base) + extra * tau
    for v in range(state.shape[1]):
        if not state[NORM, v] > EMPTY:
            value -= state[SHARE, v] * state[MARGIN, v]
    slope = extra
    start, depth = _NONE, 1
    order[1, 0] = active
    while start < active:
        stop = order[1, depth - 1]
        outer = coupling * ((active - stop) - start)
        level, heft, share = _tie(state, tau, outer, order, start, stop)
        cut = _cut(state, order, start, stop, coupling)
        if cut > 0:
            order[1, depth] = start + cut
            depth += 1
            continue
        for k in range(start, stop):
            order[2, k] = stop
        value -= share * level
        scale += share * abs(level)
        slope += share * share / heft
        depth -= 1
        start = stop
    return slope, value, scale


@njit(nogil=True, cache=True, error_model="numpy")
def _tie(state, tau, outer, order, start, stop):
    """Common margin of a run if tied, its sum of 1 / n and its share; to row _PULL, what g would be beyond `outer`.

    These add up to zero, and that gives the one of least norm, where the difference of margins cancels.
    """
    total, heft, share = 0.0, 0.0, 0.0
    least = order[0, start]
    for k in range(start, stop):
        v = order[0, k]
        total += state[MARGIN, v] / state[NORM, v] + tau * state[SHARE, v] - outer
        heft += 1.0 / state[NORM, v]
        share += state[SHARE, v]
        if state[NORM, v] < state[NORM, least]:
            least = v
    level = total / heft
    rest = 0.0
    for k in range(start, stop):
        v = order[0, k]
        if v != least:
            state[_PULL, v] = (state[MARGIN, v] - level) / state[NORM, v] + tau * state[SHARE, v] - outer
            rest += state[_PULL, v]
    state[_PULL, least] = -rest
    return level, heft, share


@njit(nogil=True, cache=True, error_model="numpy")
def _cut(state, order, start, stop, coupling):
    """Sort a run by row _PULL, downwards; how many of its first views must rise above the rest, or 0 if it is tied."""
    for k in range(start + 1, stop):
        v = order[0, k]
        j = k
        while j > start and state[_PULL, order[0, j - 1]] < state[_PULL, v]:
            order[0, j] = order[0, j - 1]
            j -= 1
        order[0, j] = v
    # the largest excess of a sum over its bound; gains are compared by themselves, not inside sums that swallow them
    cut, gain = _NONE, 0.0
    size = stop - start
    for r in range(1, size):
        gain += state[_PULL, order[0, start + r - 1]] - coupling * (size - 2 * r + 1)
        if gain > 0.0:
            cut, gain = r, 0.0
    return cut


@njit(nogil=True, cache=True, error_model="numpy")
def _steps(state, base, extra, tau, inside, coupling, order, active):
    """Steps of known tau and groups, computed so that what must hold at a kink holds to the last bits.

    tau q - g cancels where a norm is huge, and (level - margin) / n where it is tiny. So a group's views go to its
    level, all but the one of least norm, which keeps the group's sum; and where the hinge is met exactly (`inside`),
    the level of the group that is hardest to place follows from the levels of the others.
    """
    rest = 1.0 - base - extra * tau
    for v in range(state.shape[1]):
        if not state[NORM, v] > EMPTY:
            rest -= state[SHARE, v] * state[MARGIN, v]
    hardest, stiffness, whole = 0, -1.0, 0.0
    start = _NONE
    while start < active:
        stop = order[2, start]
        level, heft, share = _tie(state, tau, coupling * ((active - stop) - start), order, start, stop)
        state[_LEVEL, start] = level
        if share * share / heft > stiffness:
            hardest, stiffness, whole = start, share * share / heft, share
        rest -= share * level
        start = stop
    if inside and whole > 0.0:
        state[_LEVEL, hardest] += rest / whole
    start = _NONE
    while start < active:
        stop = order[2, start]
        outer = coupling * ((active - stop) - start)
        free = inside and start == hardest
        _group_steps(state, tau, outer, state[_LEVEL, start], free, order, start, stop)
        start = stop


@njit(nogil=True, cache=True, error_model="numpy")
def _group_steps(state, tau, outer, level, free, order, start, stop):
    """Steps of one group; the view of least norm takes what the sum of all leaves it, where that is more precise."""
    least = order[0, start]
    for k in range(start + 1, stop):
        if state[NORM, order[0, k]] < state[NORM, least]:
            least = order[0, k]
    left = tau * state[SHARE, least] - outer
    size = tau * state[SHARE, least] + abs(outer)
    for k in range(start, stop):
        v = order[0, k]
        if v != least:
            state[STEP, v] = (level - state[MARGIN, v]) / state[NORM, v]
            left += tau * state[SHARE, v] - outer - state[STEP, v]
            size += tau * state[SHARE, v] + abs(outer) + abs(state[STEP, v])
    alone = stop - start == 1 and not free
    if alone or size * state[NORM, least] < abs(level) + abs(state[MARGIN, least]):
        state[STEP, least] = left
    else:
        state[STEP, least] = (level - state[MARGIN, least]) / state[NORM, least]

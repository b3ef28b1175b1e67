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
the right piece. Views whose squared norms are more than ten orders of magnitude apart lose digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.kernels.compiling import njit

__all__ = ["EMPTY", "LARGEST_NORM", "MARGIN", "NORM", "ROWS", "SHARE", "STEP", "solve_paper", "solve_round"]

# rows of a round's state, one column per view: one array, since counting references to many costs more than a round
MARGIN, NORM, SHARE, STEP, LARGEST_NORM, _PULL, ROWS = range(7)
_NONE: Any = np.int64(0)  # counters that start from a plain 0 would be compiled for it, and then again for any number
EMPTY = 1e-120  # a view whose squared norm is not above this cannot be moved and is left out of the round


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
def solve_round(state, base, extra, cap, coupling, order, printed):
    """Write the steps p_v of one round; return tau.

    `state` is (ROWS, views): rows MARGIN, NORM and SHARE are read, STEP is written, the rest is scratch, as is `order`
    (2, views) of int64. `base` is m_0. `printed` takes the step of the paper where the row has two views.
    """
    active = _NONE
    # the loss counts every view; only those that the row has can move
    loss = 1.0 - base
    for v in range(state.shape[1]):
        state[STEP, v] = 0.0
        loss -= state[SHARE, v] * state[MARGIN, v]
        if state[NORM, v] > EMPTY:
            order[0, active] = v
            active += 1
    # the case of the paper, in closed form
    if active == 2 and coupling > 0.0:
        i, j = order[0, 0], order[0, 1]
        ma, mb, a, b = state[MARGIN, i], state[MARGIN, j], state[NORM, i], state[NORM, j]
        qa, qb = state[SHARE, i], state[SHARE, j]
        if printed:
            tau, u = solve_paper(ma, mb, a, b, loss, cap, coupling)
        else:
            tau, u = _solve_two(ma, mb, a, b, qa, qb, loss, extra, cap, coupling)
        state[STEP, i], state[STEP, j] = tau * qa - u, tau * qb + u
        return tau
    if active > 2 and coupling > 0.0:
        return _solve_many(state, base, extra, cap, coupling, order, active)
    # nothing ties the views: one passive-aggressive step along all of them
    curvature = extra
    for k in range(active):
        v = order[0, k]
        curvature += state[SHARE, v] * state[SHARE, v] * state[NORM, v]
    tau = _clip_step(loss, curvature, cap) if active > 0 else 0.0
    for k in range(active):
        state[STEP, order[0, k]] = tau * state[SHARE, order[0, k]]
    return tau


@njit(nogil=True, cache=True, error_model="numpy")
def _solve_two(ma, mb, a, b, qa, qb, loss, extra, cap, coupling):
    """Return tau and u of two views, p = (tau qa - u, tau qb + u): the free optimum in the box, else the best edge.

    An edge that the free optimum does not lie beyond cannot hold the best point: the way from that point to the free
    optimum would rise and stay in the box.
    """
    # D = tau l + u d - (curvature tau^2 + 2 h tau u + s u^2) / 2, maximal where its gradient in (tau, u) is zero
    d, s, h = ma - mb, a + b, qb * b - qa * a
    curvature = qa * qa * a + qb * qb * b + extra
    inverse = 1.0 / (extra * s + a * b * (qa + qb) * (qa + qb))
    tau_free, u_free = (s * loss - h * d) * inverse, (curvature * d - h * loss) * inverse
    if 0.0 <= tau_free <= cap and abs(u_free) <= coupling:
        return tau_free, u_free
    best, tau, u = -np.inf, 0.0, 0.0
    for edge in range(2):
        if edge == 0:  # tau at its bound, u free; below: u at its bound, tau free
            t = 0.0 if tau_free < 0.0 else cap
            if 0.0 <= tau_free <= cap:
                continue
            x = min(max((d - h * t) / s, -coupling), coupling)
        else:
            if abs(u_free) <= coupling:
                continue
            x = coupling if u_free > 0.0 else -coupling
            t = _clip_step(loss - h * x, curvature, cap)
        value = t * loss + x * d - 0.5 * (curvature * t * t + 2.0 * h * t * x + s * x * x)
        if value > best:
            best, tau, u = value, t, x
    return tau, u


@njit(nogil=True, cache=True, error_model="numpy")
def _clip_step(gradient, curvature, cap):
    """Return the best step along one direction, in 0..cap."""
    if gradient <= 0.0:
        return 0.0
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
    # the derivative falls in tau: where it is not above 0 at 0, or not below 0 at the cap, that end is the answer
    tau = 0.0
    slope, excess, scale = _best_groups(state, base, extra, tau, coupling, order, active)
    if excess > 0.0 and cap < np.inf:
        tau = cap
        slope, excess, scale = _best_groups(state, base, extra, tau, coupling, order, active)
    if (tau == 0.0 and excess > 0.0) or (tau > 0.0 and excess < 0.0):
        for _ in range(200):
            if excess > 0.0:
                low = tau
            else:
                high = tau
            # one step is exact if the groups stay as they are; a step out of the bracket halves it instead
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
    return tau


@njit(nogil=True, cache=True, error_model="numpy")
def _best_groups(state, base, extra, tau, coupling, order, active):
    """Cut the views into tied groups for one tau; return (minus the slope, value, size of the terms) of dD/dtau.

    order[0] holds the active views, from the highest new margin down, order[1] is a stack of ends that are still to
    come. A run of views is one group, whose views step to its level, or is cut in two.
    """
    value = 1.0 - base - extra * tau
    scale = 1.0 + abs(base) + extra * tau
    for v in range(state.shape[1]):
        if not state[NORM, v] > EMPTY:  # a view that cannot move still counts in the loss
            value -= state[SHARE, v] * state[MARGIN, v]
    slope = extra
    start, depth = _NONE, 1
    order[1, 0] = active
    while start < active:
        stop = order[1, depth - 1]
        outer = coupling * ((active - stop) - start)  # pulled down by each view below the run, up by each above it
        level, heft, share = _tie(state, tau, outer, order, start, stop)
        cut = _cut(state, order, start, stop, coupling)
        if cut > 0:  # the first part is next; the rest waits on the stack
            order[1, depth] = start + cut
            depth += 1
            continue
        for k in range(start, stop):
            v = order[0, k]
            state[STEP, v] = (level - state[MARGIN, v]) / state[NORM, v]
        value -= share * level
        scale += share * abs(level)
        slope += share * share / heft
        depth -= 1
        start = stop
    return slope, value, scale


@njit(nogil=True, cache=True, error_model="numpy")
def _tie(state, tau, outer, order, start, stop):
    """Common margin of a run if tied, its sum of 1 / n and its share; to row _PULL, what g would be beyond `outer`."""
    total, heft, share = 0.0, 0.0, 0.0
    for k in range(start, stop):
        v = order[0, k]
        total += state[MARGIN, v] / state[NORM, v] + tau * state[SHARE, v] - outer
        heft += 1.0 / state[NORM, v]
        share += state[SHARE, v]
    level = total / heft
    for k in range(start, stop):
        v = order[0, k]
        state[_PULL, v] = (state[MARGIN, v] - level) / state[NORM, v] + tau * state[SHARE, v] - outer
    return level, heft, share


@njit(nogil=True, cache=True, error_model="numpy")
def _cut(state, order, start, stop, coupling):
    """Sort a run by row _PULL, downwards; how many of its first views must rise above the rest, or 0 if it is tied."""
    for k in range(start + 1, stop):  # by insertion: views are few, and nearly in order from the tau before
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

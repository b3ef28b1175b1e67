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
the right piece. There, three views or more whose squared norms are over ten orders of magnitude apart lose digits.
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
    loss = 1.0 - base
    for v in range(state.shape[1]):
        state[STEP, v] = 0.0
        loss -= state[SHARE, v] * state[MARGIN, v]
        if state[NORM, v] > EMPTY:
            order[0, active] = v
            active += 1
    if active == 2 and coupling > 0.0:
        i, j = order[0, 0], order[0, 1]
        ma, mb, a, b = state[MARGIN, i], state[MARGIN, j], state[NORM, i], state[NORM, j]
        qa, qb = state[SHARE, i], state[SHARE, j]
        if printed:
            tau, u = solve_paper(ma, mb, a, b, loss, cap, coupling)
            state[STEP, i], state[STEP, j] = tau * qa - u, tau * qb + u
        else:
            tau, state[STEP, i], state[STEP, j] = _solve_two(ma, mb, a, b, qa, qb, loss, extra, cap, coupling)
        return tau
    if active > 2 and coupling > 0.0:
        return _solve_many(state, base, extra, cap, coupling, order, active)
    # one view, or views that do not mind each other: the step of plain passive-aggressive learning
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
    """Return tau and the steps (p_a, p_b) = (tau qa - u, tau qb + u) of two views.

    They are the free optimum where it lies in the box of tau and u, else the best edge. An edge that the free optimum
    does not lie beyond cannot hold the best point: the way from that point to the free optimum would rise and stay in
    the box.
    """
    # Steps are solved for themselves: as tau qa - u, the step of a view of large norm is a difference of nearly equal
    # numbers, and its error, times that norm, would be an error of the margin.
    q, d = qa + qb, ma - mb
    by_a, by_b, by_q = 1.0 / a, 1.0 / b, 1.0 / q  # few divisions: this is most of what a round computes
    # free: both margins end at one level z = m_v + n_v p_v, where q (z - ma) = loss - qb d - extra tau
    heft = extra * by_q
    inverse = 1.0 / (q + heft * (by_a + by_b))
    pa, pb = (loss - (qb + heft * by_b) * d) * inverse * by_a, (loss + (qa + heft * by_a) * d) * inverse * by_b
    tau_free, u_free = (pa + pb) * by_q, (qa * pb - qb * pa) * by_q
    if 0.0 <= tau_free <= cap and abs(u_free) <= coupling:
        return tau_free, pa, pb
    best, tau, step_a, step_b = -np.inf, 0.0, 0.0, 0.0
    if not 0.0 <= tau_free <= cap:  # tau at its bound: u ties the margins as far as the coupling lets it
        t = 0.0 if tau_free < 0.0 else cap
        pa, pb = (t * q * b - d) / (a + b), (t * q * a + d) / (a + b)
        u = (qa * pb - qb * pa) * by_q
        if abs(u) > coupling:
            u = coupling if u > 0.0 else -coupling
            pa, pb = t * qa - u, t * qb + u
        best = t * loss + u * d - 0.5 * (a * pa * pa + b * pb * pb + extra * t * t)
        tau, step_a, step_b = t, pa, pb
    if abs(u_free) > coupling:  # u at its bound: one line in tau is left
        u = coupling if u_free > 0.0 else -coupling
        curvature = qa * qa * a + qb * qb * b + extra
        t = _clip_step(loss - (qb * b - qa * a) * u, curvature, cap)
        pa, pb = t * qa - u, t * qb + u
        if 0.0 < t < cap:
            pa = (qa * loss - u * (q * qb * b + extra)) / curvature
            pb = (qb * loss + u * (q * qa * a + extra)) / curvature
        value = t * loss + u * d - 0.5 * (a * pa * pa + b * pb * pb + extra * t * t)
        if value > best:
            tau, step_a, step_b = t, pa, pb
    return tau, step_a, step_b


@njit(nogil=True, cache=True, error_model="numpy")
def _clip_step(gradient, curvature, cap):
    """Best step along one direction, in 0..cap."""
    if gradient <= 0.0:
        return 0.0
    return min(gradient / curvature, cap)


@njit(nogil=True, cache=True, error_model="numpy")
def solve_paper(ma, mb, a, b, loss, cap, coupling):
    """Return tau and u = alpha - beta of Algorithm 1 of Nguyen et al. (2012) as printed. Norms must be above zero."""
    # alpha and beta are equations 13 and 14, clipped; tau has half the factor that equation 10 gives equation 11
    pull = ((1.0 - mb) / b - (1.0 - ma) / a) / (a + b)
    alpha = min(max(0.5 * (coupling + pull), 0.0), coupling)
    beta = min(max(0.5 * (coupling - pull), 0.0), coupling)
    u = alpha - beta
    return min(cap, (u * (a - b) + 2.0 * loss) / (a + b)), u


@njit(nogil=True, cache=True, error_model="numpy")
def _solve_many(state, base, extra, cap, coupling, order, active):
    """Three views or more: Newton on the derivative in tau, with the best g of each tau, kept inside a bracket."""
    # the derivative in tau falls: at 0 it tells whether anything moves, and at the cap whether the cap holds
    low, high = 0.0, cap
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
            following = tau + excess / slope if slope > 0.0 else np.inf
            # rounding can send Newton out of the bracket, or back and forth between two pieces
            if not low < following < high:
                if high == np.inf:
                    break
                following = 0.5 * (low + high)
            if following == tau or following <= low or following >= high:
                break
            tau = following
            slope, excess, scale = _best_groups(state, base, extra, tau, coupling, order, active)
            if abs(excess) <= 1e-15 * scale:  # zero, as far as its terms can be added up
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
        if not state[NORM, v] > EMPTY:  # a view that cannot move still votes
            value -= state[SHARE, v] * state[MARGIN, v]
    slope = extra
    start, depth = _NONE, 1
    order[1, 0] = active
    while start < active:
        stop = order[1, depth - 1]
        # all views above the run pull it up, and all below pull it down, each by the full coupling
        outer = coupling * ((active - stop) - start)
        level, heft, share = _tie(state, tau, outer, order, start, stop)
        cut = _cut(state, order, start, stop, coupling)
        if cut > 0:
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

"""All mixtures of an object at once, their distances measured by L1: a concave problem over one simplex per view.

    maximize  sum_v sum_k q_vk log h_vk - lambda sum_(v<w) sum_k |h_vk - h_wk|

View by view it sticks: where some entries are tied, none of the views gains by moving alone, though all would by moving
together. With one multiplier eta_v for each constraint sum_k h_vk = 1 the topics part, and for each of them

    maximize  sum_v (q_v log h_v - eta_v h_v) - lambda sum_(v<w) |h_v - h_w|

has groups of tied views as its solution: h = sum q / A, with A the sum over the group of eta_v, plus lambda for each
view below a member, less lambda for each view above it. A group is found by cutting: all views are tied, unless those
that gain most by rising gain more than the ties cost, and then the same holds for either part. What remains is convex
and smooth in as many numbers as there are views: Newton's method finds the eta at which every view sums to one.
"""

from __future__ import annotations

import math

import numpy as np

from coview.kernels.compiling import njit

__all__ = ["tie_rows"]

_STEPS = 1000  # of Newton; a few are enough, unless all views nearly tie
_CLOSE = 1e-10  # how far from one the sum of a mixture may be: entries that make less say nothing of the multipliers


@njit(nogil=True, cache=True, error_model="numpy")
def tie_rows(q, h, have, weight, damping, added, start, stop):
    """Rewrite h (views x rows x topics) in rows start..stop, in the views that an object has, given counts q.

    Tied entries are equal bit by bit. `added` is told the share of each view's mass that was added to q where the old
    mixtures are, `damping` or none; infinity where the search failed, and the row is as it was.
    """
    V, _, K = q.shape
    counts, new = np.empty((V, K)), np.empty((V, K))
    totals, eta, views = np.empty(V), np.empty(V), np.empty(V, dtype=np.int64)
    sums, fall, room = np.empty(V), np.empty((V, V)), np.empty((4, V))
    order, stack = np.empty(V, dtype=np.int64), np.empty((V + 1, 2), dtype=np.int64)
    for i in range(start, stop):
        m = 0
        least = math.inf
        for v in range(V):
            if have[i, v]:
                views[m] = v
                totals[m] = 0.0
                for k in range(K):
                    counts[m, k] = q[v, i, k]
                    totals[m] += q[v, i, k]
                least = min(least, totals[m])
                m += 1
        if m == 0:
            continue
        if not least > 0.0:  # a view without counts has no solution of its own: any mixture costs nothing there
            added[i] = math.inf
            continue
        # no other view, one topic, or a weight that changes no digit: the maximum of the data alone
        free = m == 1 or K == 1 or weight <= 1e-15 * least
        added[i] = 0.0
        if free:
            for a in range(m):
                for k in range(K):
                    new[a, k] = counts[a, k] / totals[a]
        elif not _respond(counts, totals, weight, m, new, sums, fall, room, order, stack) or _gap(sums, m) > _CLOSE:
            # eta = totals, where no view is tied or all are, was not the answer
            # counts of zero, beside which any value is optimal, move slowly with some mass where the old mixtures are
            for a in range(m):
                for k in range(K):
                    counts[a, k] += damping * totals[a] * h[views[a], i, k]
                totals[a] *= 1.0 + damping
            solved = False
            for attempt in range(3):  # from another point where ties hold a search up: 2 of 7,200 drawn problems
                for a in range(m):
                    eta[a] = totals[a] * (1.0 + 0.3 * attempt) + attempt * weight / (a + 1.0)
                solved = _search(counts, eta, weight, m, new, sums, fall, room, order, stack)
                if solved:
                    break
            added[i] = damping if solved else math.inf
        if added[i] < math.inf:
            for a in range(m):
                for k in range(K):
                    h[views[a], i, k] = new[a, k]


@njit(nogil=True, cache=True, error_model="numpy")
def _search(q, eta, weight, m, h, sums, fall, room, order, stack):
    """Search the multipliers by Newton's method from those given; return whether every view sums to one in the end."""
    step, new = room[2], room[3]
    _respond(q, eta, weight, m, h, sums, fall, room, order, stack)
    for _ in range(_STEPS):
        if _gap(sums, m) <= _CLOSE:
            return True
        slope = _newton_step(fall, sums, m, step)
        t = 1.0
        while True:
            for a in range(m):
                new[a] = eta[a] + t * step[a]
            after = math.inf
            if _respond(q, new, weight, m, h, sums, fall, room, order, stack):
                after = 0.0
                for a in range(m):
                    after -= step[a] * (sums[a] - 1.0)
            if after <= -0.2 * slope:  # most of the slope along the step is gone
                break
            # the dual is convex: its lowest point is on this side
            t *= max(0.1, slope / (slope - after)) if after < math.inf else 0.25
            if t < 1e-9:  # rounding ends the search: what is nearly there is taken
                return _gap(sums, m) <= 100 * _CLOSE
        for a in range(m):
            eta[a] = new[a]
    return _gap(sums, m) <= 100 * _CLOSE


@njit(inline="always")
def _gap(sums, m):
    """Return how far from one the sums are at most."""
    worst = 0.0
    for a in range(m):
        worst = max(worst, abs(sums[a] - 1.0))
    return worst


@njit(nogil=True, cache=True, error_model="numpy")
def _respond(q, eta, weight, m, h, sums, fall, room, order, stack):
    """Fill h at the multipliers eta, the sums over topics and minus their derivatives; False where h has no bound."""
    cost, gain = room[0], room[1]
    for a in range(m):
        sums[a] = 0.0
        for b in range(m):
            fall[a, b] = 0.0
    for k in range(q.shape[1]):
        for a in range(m):
            cost[a] = eta[a]
            order[a] = a
        depth = 1
        stack[0, 0], stack[0, 1] = 0, m
        while depth > 0:
            depth -= 1
            low, high = stack[depth, 0], stack[depth, 1]
            mass, price = 0.0, 0.0
            for j in range(low, high):
                mass += q[order[j], k]
                price += cost[order[j]]
            if not price > 0.0:  # the topic gains without end: a multiplier is too small
                return False
            value = mass / price
            middle = low
            if mass > 0.0 and high - low > 1:
                for j in range(low, high):
                    gain[order[j]] = q[order[j], k] / value - cost[order[j]]
                middle = _cut(gain, weight, low, high, order)
            if middle > low:  # each view above pays weight for each below, and the other way round
                for j in range(low, middle):
                    cost[order[j]] += weight * (high - middle)
                for j in range(middle, high):
                    cost[order[j]] -= weight * (middle - low)
                stack[depth, 0], stack[depth, 1] = low, middle
                stack[depth + 1, 0], stack[depth + 1, 1] = middle, high
                depth += 2
                continue
            for j in range(low, high):
                a = order[j]
                h[a, k] = value
                sums[a] += value
                for n in range(low, high):
                    fall[a, order[n]] += value / price
    return True


@njit(inline="always")
def _cut(gain, weight, low, high, order):
    """Sort a group by gain; the end of those that gain most by rising above the rest, or `low` where none gain."""
    n = high - low
    size = 0.5 * weight * n * (n - 1)
    for j in range(low, high):
        a = order[j]
        size += abs(gain[a])
        at = j
        while at > low and gain[order[at - 1]] < gain[a]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = a
    # a gain within rounding is no gain: views that are tied would be cut and tied again without end
    best, total, middle = 1e-13 * size, 0.0, low
    for count in range(1, n):
        total += gain[order[low + count - 1]]
        here = total - weight * count * (n - count)
        if here > best:
            best, middle = here, low + count
    return middle


@njit(nogil=True, cache=True, error_model="numpy")
def _newton_step(fall, sums, m, step):
    """Fill step with fall^-1 (sums - 1), by elimination; return the slope of the dual along it."""
    ridge = 0.0
    for a in range(m):
        ridge += fall[a, a]
    for a in range(m):
        fall[a, a] += 1e-14 * ridge  # views that are tied in all topics have one row
        step[a] = sums[a] - 1.0
    for a in range(m):
        for b in range(a + 1, m):
            factor = fall[b, a] / fall[a, a]
            for c in range(a, m):
                fall[b, c] -= factor * fall[a, c]
            step[b] -= factor * step[a]
    slope = 0.0
    for a in range(m - 1, -1, -1):
        for c in range(a + 1, m):
            step[a] -= fall[a, c] * step[c]
        step[a] /= fall[a, a]
        slope -= step[a] * (sums[a] - 1.0)
    return slope

"""All mixtures of an object at once, their distances measured by L1: a concave problem over one simplex per view.

    maximize  sum_v sum_k q_vk log h_vk - sum_(v<w) lambda_vw sum_k |h_vk - h_wk|

View by view it sticks: where some entries are tied, none of the views gains by moving alone, though all would by moving
together. With one multiplier eta_v for each constraint sum_k h_vk = 1 the topics part, and for each of them

    maximize  sum_v (q_v log h_v - eta_v h_v) - sum_(v<w) lambda_vw |h_v - h_w|

has groups of tied views as its solution: h = sum q / A, with A the sum over the group of eta_v, plus lambda_vw for each
pair of a member and a view below it, less lambda_vw for each view above it. A group is found by cutting: all views are
tied, unless a part of them gains by rising above the rest, and then the same holds for either part. What remains is
convex and smooth in as many numbers as there are views: Newton's method finds the eta at which every view sums to one.

Two views need only five sums over the topics, of those where the first is above, where the second is, and where the two
are tied. With e_v = eta_v - lambda, which is positive unless all topics are tied,

    first above   h_1 = q_1 / (e_1 + 2 lambda),  h_2 = q_2 / e_2          where q_1 e_2 > q_2 (e_1 + 2 lambda)
    tied          h_1 = h_2 = (q_1 + q_2) / (e_1 + e_2 + 2 lambda)

nothing cancels, and the two equations for given sets are solved without another pass over the topics.
"""

from __future__ import annotations

import math

import numpy as np

from coview.kernels.compiling import njit

__all__ = ["l1_joint_rows"]

# Sums may be reordered and fused; NaN and infinity keep their meaning.
_MATH = {"reassoc", "contract", "nsz", "arcp"}

_STEPS = 60  # of Newton; a few are enough, unless all views nearly tie
_WORK = 16_000  # steps of few views times the square of their number
_CLOSE = 1e-12  # how far from one the sum of a mixture may be
_FLAT = 0.2  # share of the slope along a step that may be left at its end
_FREE = 1e-15  # a weight this small beside the data changes no digit of h


@njit(nogil=True, cache=True, error_model="numpy")
def l1_joint_rows(q, table, weights, have, damping, floor, added, start, stop):
    """Rewrite the columns of all views that an object has in rows start..stop of the table; q is views x rows x topics.

    Tied entries are equal bit by bit. `added` is told the share of each view's mass that was added to q where the old
    mixtures are, `damping` or none; infinity where the search failed, and the row is as it was.
    """
    V, _, K = q.shape
    counts, h = np.empty((V, K)), np.empty((V, K))
    views = np.empty(V, dtype=np.int64)
    for i in range(start, stop):
        m = 0
        for v in range(V):
            if have[i, v]:
                for k in range(K):
                    counts[m, k] = q[v, i, k]
                    h[m, k] = table[i, v * K + k]
                views[m] = v
                m += 1
        if m == 0:
            continue
        added[i] = _solve(counts[:m], weights, views[:m], damping, h[:m])
        if added[i] == math.inf:
            continue
        rest = 1.0 - K * floor
        for a in range(m):
            at = views[a] * K
            for k in range(K):
                table[i, at + k] = floor + rest * h[a, k]


@njit(nogil=True, cache=True, error_model="numpy")
def _solve(q, weights, views, damping, h):
    """Fill h, which holds the old mixtures, with the new ones; return the damping, infinity where there are none.

    Views that are free or all tied need none, and are then as without partners or with one mixture for all.
    """
    m, K = q.shape
    totals = np.zeros(m)
    strength = 0.0
    least = math.inf
    for a in range(m):
        for k in range(K):
            totals[a] += q[a, k]
        least = min(least, totals[a])
        for b in range(a):
            strength += weights[views[a], views[b]]
    if not least > 0.0:
        return math.inf
    if strength <= _FREE * least or K == 1:
        for a in range(m):
            for k in range(K):
                h[a, k] = q[a, k] / totals[a]
        return 0.0
    if m == 2:
        return _pair(q, totals, strength, damping, h)
    return _many(q, totals, weights, views, damping, h)


@njit(nogil=True, cache=True, error_model="numpy")
def _damp(q, totals, damping, h):
    """Add some mass where the old mixtures are: counts of zero, beside which any value is optimal, then move slowly."""
    for a in range(len(q)):
        mass = damping * totals[a]
        for k in range(q.shape[1]):
            q[a, k] += mass * h[a, k]
        totals[a] += mass


# -- two views


@njit(nogil=True, cache=True, fastmath=_MATH, error_model="numpy")
def _pair(q, totals, weight, damping, h):
    q1, q2, h1, h2 = q[0], q[1], h[0], h[1]
    K = len(q1)
    twice = 2.0 * weight
    total = totals[0] + totals[1]
    low, high = _ratios(q1, q2)
    if (high - low) * total > twice:
        _damp(q, totals, damping, h)
        total = totals[0] + totals[1]
        low, high = _ratios(q1, q2)
    else:
        damping = 0.0
    if (high - low) * total <= twice:
        for k in range(K):
            h1[k] = h2[k] = (q1[k] + q2[k]) / total
        return damping
    e1 = max(0.5 * (high + low) * total - weight, 1e-3 * total)
    e2 = max(total - 0.5 * (high + low) * total - weight, 1e-3 * total)
    up1, down2, up2, down1, tied = _old_sides(q1, q2, h1, h2)
    if down1 > 0.0 and down2 > 0.0:
        e1, e2 = _levels(up1, down2, up2, down1, tied, twice, e1, e2)
    up1, down2, up2, down1, tied = _sides(q1, q2, e1, e2, twice)
    for _ in range(_STEPS):
        over1 = up1 / (e1 + twice) + down1 / e1 + tied / (e1 + e2 + twice) - 1.0
        over2 = up2 / (e2 + twice) + down2 / e2 + tied / (e1 + e2 + twice) - 1.0
        if abs(over1) <= _CLOSE and abs(over2) <= _CLOSE:
            for k in range(K):
                if q1[k] * e2 > q2[k] * (e1 + twice):
                    h1[k], h2[k] = q1[k] / (e1 + twice), q2[k] / e2
                elif q2[k] * e1 > q1[k] * (e2 + twice):
                    h1[k], h2[k] = q1[k] / e1, q2[k] / (e2 + twice)
                else:
                    h1[k] = h2[k] = (q1[k] + q2[k]) / (e1 + e2 + twice)
            return damping
        new1, new2 = _levels(up1, down2, up2, down1, tied, twice, e1, e2)
        step1, step2 = new1 - e1, new2 - e2
        slope = -step1 * over1 - step2 * over2
        if not slope < 0.0:
            return math.inf
        t = 1.0
        while True:
            new1, new2 = e1 + t * step1, e2 + t * step2
            up1, down2, up2, down1, tied = _sides(q1, q2, new1, new2, twice)
            new_over1 = up1 / (new1 + twice) + down1 / new1 + tied / (new1 + new2 + twice) - 1.0
            new_over2 = up2 / (new2 + twice) + down2 / new2 + tied / (new1 + new2 + twice) - 1.0
            after = -step1 * new_over1 - step2 * new_over2
            if after <= -_FLAT * slope:
                break
            t *= max(0.1, slope / (slope - after))  # convex: the lowest point is on this side
            if t < 1e-9:
                return math.inf
        e1, e2 = new1, new2
    return math.inf


@njit(nogil=True, cache=True, error_model="numpy")
def _ratios(q1, q2):
    """The smallest and the largest share of the first view in a topic's counts; far apart, not all topics are tied."""
    low, high = 1.0, 0.0
    for k in range(len(q1)):
        both = q1[k] + q2[k]
        if both > 0.0:
            ratio = q1[k] / both
            low = min(low, ratio)
            high = max(high, ratio)
    return low, high


@njit(inline="always", fastmath=_MATH)
def _sides(q1, q2, e1, e2, twice):
    """Sums of q1 and q2 where the first view is above, of q2 and q1 where the second is, and of both where tied."""
    top1, top2 = e1 + twice, e2 + twice
    up1, down2, up2, down1, tied = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(len(q1)):
        x, y = q1[k], q2[k]
        first, second = x * e2 > y * top1, y * e1 > x * top2
        up1 += x if first else 0.0
        down2 += y if first else 0.0
        up2 += y if second else 0.0
        down1 += x if second else 0.0
        both = 0.0 if first else x + y
        tied += 0.0 if second else both
    return up1, down2, up2, down1, tied


@njit(inline="always", fastmath=_MATH)
def _old_sides(q1, q2, h1, h2):
    """The same sums with the sides on which the old mixtures are."""
    up1, down2, up2, down1, tied = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(len(q1)):
        x, y = q1[k], q2[k]
        first, second = h1[k] > h2[k], h2[k] > h1[k]
        up1 += x if first else 0.0
        down2 += y if first else 0.0
        up2 += y if second else 0.0
        down1 += x if second else 0.0
        both = 0.0 if first else x + y
        tied += 0.0 if second else both
    return up1, down2, up2, down1, tied


@njit(nogil=True, cache=True, error_model="numpy")
def _levels(up1, down2, up2, down1, tied, twice, e1, e2):
    """The e1 and e2 at which both views sum to one, the sides as they are; Newton's method from the ones given."""
    for _ in range(_STEPS):
        a, b, c, d, both = up1 / (e1 + twice), down1 / e1, up2 / (e2 + twice), down2 / e2, tied / (e1 + e2 + twice)
        over1, over2 = a + b + both - 1.0, c + d + both - 1.0
        if abs(over1) <= 1e-15 and abs(over2) <= 1e-15:
            break
        across = both / (e1 + e2 + twice)
        m1, m2 = a / (e1 + twice) + b / e1 + across, c / (e2 + twice) + d / e2 + across
        inverse = 1.0 / (m1 * m2 - across * across)
        step1, step2 = (m2 * over1 - across * over2) * inverse, (m1 * over2 - across * over1) * inverse
        t = 1.0
        if step1 < -0.9 * e1:
            t = -0.9 * e1 / step1
        if t * step2 < -0.9 * e2:
            t = -0.9 * e2 / step2
        e1 += t * step1
        e2 += t * step2
        if abs(step1) <= 1e-15 * e1 and abs(step2) <= 1e-15 * e2:
            break
    return e1, e2


# -- three views and more


@njit(nogil=True, cache=True, error_model="numpy")
def _many(q, totals, weights, views, damping, h):
    m = q.shape[0]
    pairs = np.empty((m, m))
    for a in range(m):
        for b in range(m):
            pairs[a, b] = weights[views[a], views[b]] if a != b else 0.0
    even = True
    for a in range(m):
        for b in range(a):
            even = even and pairs[a, b] == pairs[1, 0]
    sums, fall = np.empty(m), np.empty((m, m))
    scratch, order, other = np.empty((4, m)), np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    stack = np.empty((m + 1, 2), dtype=np.int64)
    tied = np.empty_like(h)
    _respond(q, totals, pairs, even, tied, sums, fall, scratch, order, other, stack)
    if _farthest(sums) <= _CLOSE:
        for a in range(m):
            for k in range(q.shape[1]):
                h[a, k] = tied[a, k]
        return 0.0
    _damp(q, totals, damping, h)
    eta = totals
    _respond(q, eta, pairs, even, h, sums, fall, scratch, order, other, stack)
    step, new, over = np.empty(m), np.empty(m), np.empty(m)
    for _ in range(max(_STEPS, _WORK // (m * m))):
        if _farthest(sums) <= _CLOSE:
            return damping
        for a in range(m):
            over[a] = sums[a] - 1.0
        slope = _newton_step(fall, over, step)
        t = 1.0
        while True:
            for a in range(m):
                new[a] = eta[a] + t * step[a]
            after = math.inf
            if _respond(q, new, pairs, even, h, sums, fall, scratch, order, other, stack):
                after = 0.0
                for a in range(m):
                    after -= step[a] * (sums[a] - 1.0)
            if after <= -_FLAT * slope:
                break
            t *= max(0.1, slope / (slope - after)) if after < math.inf else 0.25
            if t < 1e-9:
                return math.inf
        for a in range(m):
            eta[a] = new[a]
    return damping if _farthest(sums) <= 1e-10 else math.inf


@njit(inline="always")
def _farthest(sums):
    """How far from one the sums are at most."""
    worst = 0.0
    for a in range(len(sums)):
        worst = max(worst, abs(sums[a] - 1.0))
    return worst


@njit(nogil=True, cache=True, error_model="numpy")
def _respond(q, eta, pairs, even, h, sums, fall, scratch, order, other, stack):
    """Fill h at the multipliers eta, the sums over topics and minus their derivatives; False where h has no bound."""
    m, K = q.shape
    for a in range(m):
        sums[a] = 0.0
        for b in range(m):
            fall[a, b] = 0.0
    cost, counts = scratch[0], scratch[1]
    for k in range(K):
        for a in range(m):
            cost[a] = eta[a]
            counts[a] = q[a, k]
            order[a] = a
        depth = 1
        stack[0, 0], stack[0, 1] = 0, m
        while depth > 0:
            depth -= 1
            low, high = stack[depth, 0], stack[depth, 1]
            mass, price = 0.0, 0.0
            for j in range(low, high):
                mass += counts[order[j]]
                price += cost[order[j]]
            if not price > 0.0:
                return False
            value = mass / price
            middle = low
            if mass > 0.0 and high - low > 1:
                middle = _cut(counts, cost, pairs, even, value, low, high, order, other, scratch)
            if middle > low:  # those before the middle rise above those behind it
                for j in range(low, middle):
                    for n in range(middle, high):
                        weight = pairs[order[j], order[n]]
                        cost[order[j]] += weight
                        cost[order[n]] -= weight
                stack[depth, 0], stack[depth, 1] = low, middle
                stack[depth + 1, 0], stack[depth + 1, 1] = middle, high
                depth += 2
                continue
            slope = value / price
            for j in range(low, high):
                a = order[j]
                h[a, k] = value
                sums[a] += value
                for n in range(low, high):
                    fall[a, order[n]] += slope
    return True


@njit(nogil=True, cache=True, error_model="numpy")
def _cut(counts, cost, pairs, even, value, low, high, order, other, scratch):
    """Put those of a group that gain most by rising above the rest first; their end, or `low` where none gain."""
    n = high - low
    gain = scratch[2]
    size = 0.0
    for j in range(low, high):
        a = order[j]
        gain[a] = counts[a] / value - cost[a]
        size += abs(gain[a])
        for b in range(low, j):
            size += pairs[a, order[b]]
    best, chosen = 1e-13 * size, 0
    if even:  # the first ones by gain, whatever their number
        for j in range(low + 1, high):
            a = order[j]
            at = j
            while at > low and gain[order[at - 1]] < gain[a]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = a
        weight = pairs[order[low], order[low + 1]]
        total = 0.0
        for count in range(1, n):
            total += gain[order[low + count - 1]]
            here = total - weight * count * (n - count)
            if here > best:
                best, chosen = here, count
        return low + chosen
    for mask in range(1, (1 << n) - 1):
        here = 0.0
        for j in range(n):
            if mask >> j & 1:
                a = order[low + j]
                here += gain[a]
                for b in range(n):
                    if not mask >> b & 1:
                        here -= pairs[a, order[low + b]]
        if here > best:
            best, chosen = here, mask
    if chosen == 0:
        return low
    first = 0
    for j in range(n):
        if chosen >> j & 1:
            other[first] = order[low + j]
            first += 1
    last = first
    for j in range(n):
        if not chosen >> j & 1:
            other[last] = order[low + j]
            last += 1
    for j in range(n):
        order[low + j] = other[j]
    return low + first


@njit(nogil=True, cache=True, error_model="numpy")
def _newton_step(fall, over, step):
    """Fill step with fall^-1 over, by elimination; return the slope of the dual along it."""
    m = len(over)
    matrix = fall.copy()
    ridge = 0.0
    for a in range(m):
        ridge += matrix[a, a]
    for a in range(m):
        matrix[a, a] += 1e-14 * ridge  # views that are tied in all topics have one row
        step[a] = over[a]
    for a in range(m):
        for b in range(a + 1, m):
            factor = matrix[b, a] / matrix[a, a]
            for c in range(a, m):
                matrix[b, c] -= factor * matrix[a, c]
            step[b] -= factor * step[a]
    for a in range(m - 1, -1, -1):
        for c in range(a + 1, m):
            step[a] -= matrix[a, c] * step[c]
        step[a] /= matrix[a, a]
    slope = 0.0
    for a in range(m):
        slope -= step[a] * over[a]
    return slope

"""Passive-aggressive learning from rows, one after the other: score, solve the round, move what the row touches.

    score = b + sum_v q_v w_v . x_v        w_v += p_v y x_v        b += n_b tau y

with the steps p_v of `coview.kernels.rounds` and n_b the squared norm of the intercept's feature. Only the non-zeros of
a row are read or written. Many classes: the label's weights move by +p_v x_v and those of the best wrong class by
-p_v x_v, with n_v = 2 |x_v|^2.

A third of the time is spent waiting for the weights of the row's features. While a row is read, the next one is asked
for at the same pace, in sequence or not: hints for a whole row at once are loops of their own, whose ends no processor
foresees. With many classes the weights take the time, and asking for rows gains nothing. What was tried and did not
help on a Neoverse N1: to ask for the row after the next one, for the weights of the next row (a third slower), a tail
of a row without branches, eight non-zeros at a time, weights in huge pages.

All that one row needs is forced into one piece of code: calls between pieces took a sixth of the time. Two views, the
rule, have a piece of their own, in which the loops over views are gone: it takes three to nine percent less.
Rows are added up in four running sums, by fused multiply-adds and without reordering by the compiler, so that two
classes in the kernel for many give the bits of the kernel for two (at half of C and of the coupling: there both
classes' weights move).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from coview.kernels.compiling import njit
from coview.kernels.memory import array_at, ask_for, ask_for_line, borrowed
from coview.kernels.rounds import (
    EMPTY,
    LARGEST_NORM,
    MARGIN,
    NORM,
    ROWS,
    SHARE,
    STEP,
    clip_step,
    solve_paper,
    solve_round,
    solve_two,
)

__all__ = ["LOSSES", "UPDATES", "learn_binary", "learn_classes", "learn_pair"]

LOSSES = {"pa": 0, "pa1": 1, "pa2": 2}
UPDATES = {"exact": 0, "paper": 1}

_ENDLESS = 1 << 40  # length of arrays found by their address: never asked for
_AHEAD = 4  # rows before its turn that a row out of sequence is asked for; its place, as many before that
_WEIGHTS, _LAGS = np.int64(3), np.int64(4)  # rows of `places`; plain numbers would be compiled one by one
_NOBODY: Any = np.int64(-1)
_written: Any = intrinsic  # whose types no checker understands
_0, _1, _2, _3, _4 = (np.uint64(i) for i in range(5))


@njit(nogil=True, cache=True, error_model="numpy")
def learn_binary(
    places, like_index, like_data, state, groups, bias, codes, order, costs, shares, options, seen, scores, losses, gaps
):
    """Learn from rows in the given order, classes 0 and 1 (-1: only scored); return the number of rows that moved.

    `places` (5, views) holds the addresses of each view's CSR parts (indptr, indices, values), weights (features,)
    and lags, the sum of (round - 1) x change that averages need (not read unless asked for); `like_index` and
    `like_data` are empty arrays of the types of indices and values; `state` (ROWS, views) of float64 and `groups`
    (3, views) of int64 are scratch. `bias` is (2,): intercept and its lag. `costs` (2,) is C by class; for `options`
    see `_round`. What rows say before they are learned goes to scores, losses (NaN without label) and gaps, the mean
    |z_v - z_w| over the pairs of views that the row has (NaN: it has no pair); the largest |x_v|^2 goes to the row
    LARGEST_NORM of the state.
    """
    like, n_views = (like_index, like_data), places.shape[1]
    return _learn(
        places, like, state, groups, bias, codes, order, costs, shares, options, seen, scores, losses, gaps, n_views
    )


@njit(nogil=True, cache=True, error_model="numpy")
def learn_pair(
    places, like_index, like_data, state, groups, bias, codes, order, costs, shares, options, seen, scores, losses, gaps
):
    """Learn as `learn_binary` does, from two views."""
    like = (like_index, like_data)
    return _learn(
        places, like, state, groups, bias, codes, order, costs, shares, options, seen, scores, losses, gaps, 2
    )


@njit(nogil=True, cache=True, error_model="numpy")
def learn_classes(
    places, like_index, like_data, state, groups, bias, codes, order, costs, shares, options, seen, scores, losses, gaps
):
    """Learn as `learn_binary` does, from three classes or more: the label's against the best wrong class of the vote.

    weights and lags are (features, classes), bias (2, classes), costs (classes,), scores (rows, classes).
    """
    n_views, n_classes, like = places.shape[1], bias.shape[1], (like_index, like_data)
    state, groups = borrowed(state, state.shape), borrowed(groups, groups.shape)
    options = borrowed(options, options.shape)
    for v in range(n_views):
        state[SHARE, v], state[LARGEST_NORM, v] = shares[v], 0.0
    dots, sums = np.empty((n_views, n_classes)), np.empty((4, n_classes + 1))
    averages, intercept = options[3] != 0.0, options[4]
    moved = 0
    for r in range(len(order)):
        i = order[r]
        if r + 2 * _AHEAD < len(order) and order[r + _AHEAD] != i + _AHEAD:
            _ask_ahead(places, like, codes, order[r + _AHEAD], order[r + 2 * _AHEAD])
        for k in range(n_classes):
            scores[r, k] = bias[0, k]
        for v in range(n_views):
            norm = _dots(places, like, v, i, dots, sums)
            state[NORM, v], state[LARGEST_NORM, v] = 2.0 * norm, max(state[LARGEST_NORM, v], norm)
            for k in range(n_classes):
                scores[r, k] += state[SHARE, v] * dots[v, k]
        label = codes[np.uint64(i)]
        if label < 0:
            losses[r] = np.nan
            gaps[r] = np.nan
            continue
        rival = _NOBODY
        for k in range(n_classes):
            if k != label and (rival < 0 or scores[r, k] > scores[r, rival]):
                rival = k
        for v in range(n_views):
            state[MARGIN, v] = dots[v, label] - dots[v, rival]
        base = bias[0, label] - bias[0, rival]
        gaps[r] = _gap(state)
        losses[r], tau = _round(state, groups, base, 2.0 * intercept, costs[label], options)
        if not math.isnan(tau):
            moved += 1
            for v in range(n_views):
                step = state[STEP, v]
                if step != 0.0:
                    _add_pair(places, like, v, i, _WEIGHTS, step, n_classes, label, rival)
                    if averages:
                        _add_pair(places, like, v, i, _LAGS, step * (seen + r), n_classes, label, rival)
            for row, change in ((0, intercept * tau), (1, intercept * tau * (seen + r))):
                bias[row, label] += change
                bias[row, rival] -= change
    for v in range(n_views):
        shares[v] = state[SHARE, v]
    return moved


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
def _learn(
    places, like, state, groups, bias, codes, order, costs, shares, options, seen, scores, losses, gaps, n_views
):
    """Learn from rows of two classes. A number of views that the compiler knows leaves no loops over them."""
    state, groups = borrowed(state, (ROWS, n_views)), borrowed(groups, groups.shape)
    options = borrowed(options, options.shape)
    for v in range(n_views):
        state[SHARE, v], state[LARGEST_NORM, v] = shares[v], 0.0
    averages, intercept = options[3] != 0.0, options[4]
    moved = 0
    for r in range(len(order)):
        i = order[r]
        if r + 2 * _AHEAD < len(order) and order[r + _AHEAD] != i + _AHEAD:
            _ask_ahead(places, like, codes, order[r + _AHEAD], order[r + 2 * _AHEAD])
        following = order[min(r + 1, len(order) - 1)]
        score = bias[0]
        for v in range(n_views):
            state[MARGIN, v], state[NORM, v] = _dot(places, like, v, i, following)
            state[LARGEST_NORM, v] = max(state[LARGEST_NORM, v], state[NORM, v])
            score += state[SHARE, v] * state[MARGIN, v]
        scores[r] = score
        code = codes[np.uint64(i)]
        if code < 0:
            losses[r] = np.nan
            gaps[r] = _gap(state)
            continue
        sign = 1.0 if code == 1 else -1.0
        for v in range(n_views):
            state[MARGIN, v] *= sign
        gaps[r] = _gap(state)
        losses[r], tau = _round(state, groups, sign * bias[0], intercept, costs[code], options)
        if not math.isnan(tau):
            moved += 1
            for v in range(n_views):
                if state[STEP, v] != 0.0:
                    _add(places, like, v, i, _WEIGHTS, sign * state[STEP, v])
                    if averages:
                        _add(places, like, v, i, _LAGS, sign * state[STEP, v] * (seen + r))
            bias[0] += intercept * sign * tau
            bias[1] += intercept * sign * tau * (seen + r)
    for v in range(n_views):
        shares[v] = state[SHARE, v]
    return moved


# -- one round


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
def _round(state, groups, base, heft, cost, options):
    """Steps of one labeled row; return its loss and tau, or NaN where nothing moves. Adapts the shares.

    `base` and `heft` are the margin and the n of the intercept, `cost` is C, and options =
    (loss, update, gate, average, n_b or 0, coupling, rate, mix); see `LOSSES` and `UPDATES`.
    """
    n_views = state.shape[1]
    loss = 1.0 - base
    for v in range(n_views):
        loss -= state[SHARE, v] * state[MARGIN, v]
    tau = np.nan
    if cost > 0.0 and (loss > 0.0 or options[2] == 0.0):
        cap = cost if options[0] == 1.0 else np.inf
        extra = heft + (0.5 / cost if options[0] == 2.0 else 0.0)
        tau = _solve(state, groups, base, loss, extra, cap, options[5], options[1] == 1.0)
        idle = tau == 0.0
        for v in range(n_views):
            idle = idle and state[STEP, v] == 0.0
        if idle:
            tau = np.nan
    if options[6] > 0.0:
        _adapt(state, base, options[6], options[7])
    return max(loss, 0.0), tau


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
def _solve(state, groups, base, loss, extra, cap, coupling, printed):
    """Steps of one round, by the shortest way: one view, two of ordinary size (or as printed in the paper), any."""
    if state.shape[1] == 1 and state[NORM, 0] > EMPTY:
        tau = clip_step(loss, state[SHARE, 0] * state[SHARE, 0] * state[NORM, 0] + extra, cap)
        state[STEP, 0] = tau * state[SHARE, 0]
        return tau
    if state.shape[1] == 2:
        a, b, qa, qb = state[NORM, 0], state[NORM, 1], state[SHARE, 0], state[SHARE, 1]
        ordinary = 1e-4 < a < 1e4 and 1e-4 < b < 1e4  # no digits cancel in the steps
        if printed and min(a, b) > EMPTY:
            tau, u = solve_paper(state[MARGIN, 0], state[MARGIN, 1], a, b, loss, cap, coupling)
        elif ordinary:
            tau, u = solve_two(state[MARGIN, 0], state[MARGIN, 1], a, b, qa, qb, loss, extra, cap, coupling, True)
        if ordinary or (printed and min(a, b) > EMPTY):
            state[STEP, 0], state[STEP, 1] = tau * qa - u, tau * qb + u
            return tau
    return solve_round(state, base, extra, cap, coupling, groups)


@njit(nogil=True, cache=True, error_model="numpy")
def _adapt(state, base, rate, mix):
    """Multiply shares by exp(-rate x loss), loss = (1 - margin) / 2 in 0..1, then mix in the uniform (fixed share).

    A view that the row lacks takes part with the mean loss of the others, so that its share stays what it is.
    """
    n_views = state.shape[1]
    voting, kept = 0.0, 0.0
    for v in range(n_views):
        if state[NORM, v] > EMPTY:
            voting += state[SHARE, v]
            state[SHARE, v] *= math.exp(-rate * min(max(0.5 * (1.0 - state[MARGIN, v] - base), 0.0), 1.0))
            kept += state[SHARE, v]
    if voting <= 0.0:
        return
    total = 0.0
    for v in range(n_views):
        if state[NORM, v] > EMPTY:
            state[SHARE, v] *= voting / kept
        state[SHARE, v] = (1.0 - mix) * state[SHARE, v] + mix / n_views
        total += state[SHARE, v]
    for v in range(n_views):
        state[SHARE, v] /= total


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
def _gap(state):
    """Mean difference of the views' margins over the pairs of views that the row has; NaN where it has no pair."""
    total, pairs = 0.0, 0
    for v in range(state.shape[1]):
        for w in range(v):
            if state[NORM, v] > 0.0 and state[NORM, w] > 0.0:
                total += abs(state[MARGIN, v] - state[MARGIN, w])
                pairs += 1
    return total / pairs if pairs else np.nan


# -- rows; unsigned positions, since numba asks of signed ones whether they count from the end


@njit(inline="always")
def _row(places, like, v, i, which):
    """Indices, values and weights (or lags) of view v, and where row i starts and stops."""
    indptr = array_at(places[0, v], like[0], _ENDLESS)
    indices = array_at(places[1, v], like[0], _ENDLESS)
    values = array_at(places[2, v], like[1], _ENDLESS)
    weights = array_at(places[which, v], like[1], _ENDLESS)
    k = np.uint64(i)
    return indices, values, weights, np.uint64(indptr[k]), np.uint64(indptr[k + _1])


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
def _ask_ahead(places, like, codes, i, further):
    """Ask for row i, whose turn is soon, and for where a later one lies: no processor guesses a random order."""
    place = codes.ctypes.data + further * codes.itemsize
    ask_for(place, place + 1)
    for v in range(places.shape[1]):
        place = places[0, v] + further * like[0].itemsize
        ask_for(place, place + 1)
        indptr = array_at(places[0, v], like[0], _ENDLESS)
        start, stop = np.int64(indptr[i]), np.int64(indptr[i + 1])
        ask_for(places[1, v] + start * like[0].itemsize, places[1, v] + stop * like[0].itemsize)
        ask_for(places[2, v] + start * like[1].itemsize, places[2, v] + stop * like[1].itemsize)


@_written
def _multiply_add(typing, x, y, z):
    """x * y + z, rounded once: one step of most processors; those of before 2013 call a function for it."""

    def code(context, builder, signature, arguments):
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), code


@njit(inline="always")
def _ask_along(places, like, v, j):
    """Ask for what lies at position j of a view, which need not exist."""
    ask_for_line(places[1, v] + j * like[0].itemsize)
    ask_for_line(places[2, v] + j * like[1].itemsize)


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
def _dot(places, like, v, i, following):
    """Row . weights, and |row|^2; asks for the row that follows."""
    indices, values, weights, j, stop = _row(places, like, v, i, _WEIGHTS)
    ahead = np.int64(array_at(places[0, v], like[0], _ENDLESS)[np.uint64(following)]) - np.int64(j)
    s0 = s1 = s2 = s3 = 0.0
    n0 = n1 = n2 = n3 = 0.0
    while j + _4 <= stop:
        _ask_along(places, like, v, np.int64(j) + ahead)
        x0, x1 = np.float64(values[j]), np.float64(values[j + _1])
        x2, x3 = np.float64(values[j + _2]), np.float64(values[j + _3])
        s0 = _multiply_add(x0, np.float64(weights[np.uint64(indices[j])]), s0)
        s1 = _multiply_add(x1, np.float64(weights[np.uint64(indices[j + _1])]), s1)
        s2 = _multiply_add(x2, np.float64(weights[np.uint64(indices[j + _2])]), s2)
        s3 = _multiply_add(x3, np.float64(weights[np.uint64(indices[j + _3])]), s3)
        n0 = _multiply_add(x0, x0, n0)
        n1 = _multiply_add(x1, x1, n1)
        n2 = _multiply_add(x2, x2, n2)
        n3 = _multiply_add(x3, x3, n3)
        j += _4
    while j < stop:
        x0 = np.float64(values[j])
        s0 = _multiply_add(x0, np.float64(weights[np.uint64(indices[j])]), s0)
        n0 = _multiply_add(x0, x0, n0)
        j += _1
    return (s0 + s1) + (s2 + s3), (n0 + n1) + (n2 + n3)


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
def _dots(places, like, v, i, dots, sums):
    """Row . weights of every class, to dots[v]; |row|^2. Added up in the order of `_dot`."""
    indices, values, weights, start, stop = _row(places, like, v, i, _WEIGHTS)
    n_classes = np.uint64(dots.shape[1])
    sums[:] = 0.0
    whole = stop - (stop - start) % _4
    for j in range(start, stop):
        lane = (j - start) % _4 if j < whole else _0
        x = np.float64(values[j])
        sums[lane, n_classes] = _multiply_add(x, x, sums[lane, n_classes])
        first = np.uint64(indices[j]) * n_classes
        for k in range(n_classes):
            sums[lane, k] = _multiply_add(x, np.float64(weights[first + k]), sums[lane, k])
    for k in range(n_classes):
        dots[v, k] = (sums[0, k] + sums[1, k]) + (sums[2, k] + sums[3, k])
    return (sums[0, n_classes] + sums[1, n_classes]) + (sums[2, n_classes] + sums[3, n_classes])


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
def _add(places, like, v, i, which, step):
    """Add step x row to the weights or lags of a view."""
    indices, values, weights, j, stop = _row(places, like, v, i, which)
    while j + _4 <= stop:  # one after the other: an index may occur twice
        i0, i1 = np.uint64(indices[j]), np.uint64(indices[j + _1])
        i2, i3 = np.uint64(indices[j + _2]), np.uint64(indices[j + _3])
        x0, x1, x2, x3 = values[j], values[j + _1], values[j + _2], values[j + _3]
        weights[i0] += step * x0
        weights[i1] += step * x1
        weights[i2] += step * x2
        weights[i3] += step * x3
        j += _4
    while j < stop:
        weights[np.uint64(indices[j])] += step * values[j]
        j += _1


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
def _add_pair(places, like, v, i, which, step, n_classes, label, rival):
    """Add step x row to the weights or lags of one class, and take it from those of another."""
    indices, values, weights, start, stop = _row(places, like, v, i, which)
    up, down = np.uint64(label), np.uint64(rival)
    for j in range(start, stop):
        first = np.uint64(indices[j]) * np.uint64(n_classes)
        change = step * values[j]
        weights[first + up] += change
        weights[first + down] -= change

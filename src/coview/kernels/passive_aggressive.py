"""Passive-aggressive learning from rows, one after the other: score, solve the round, move what the row touches.

    score = b + sum_v q_v w_v . x_v        w_v += p_v y x_v        b += n_b tau y

with the steps p_v of `coview.kernels.rounds` and n_b the squared norm of the intercept's feature. Only the non-zeros of
a row are read or written. Many classes: the label's weights move by +p_v x_v and those of the best wrong class by
-p_v x_v, with n_v = 2 |x_v|^2.

The kernel waits for memory more than it computes: while a row is read, the next one is asked for at the same pace. All
that one row needs is forced into one piece of code (`forceinline`), since a call would cost as much as a short row.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from coview.kernels.compiling import njit
from coview.kernels.memory import array_at, ask_for_line, borrowed
from coview.kernels.rounds import LARGEST_NORM, MARGIN, NORM, SHARE, STEP, solve_round

__all__ = ["LOSSES", "UPDATES", "learn_rows"]

LOSSES = ("pa", "pa1", "pa2")  # `options` hold their positions
UPDATES = ("exact", "paper")

_WEIGHTS, _LAGS = np.int64(3), np.int64(4)  # rows of `places`; plain numbers would be compiled one by one
_NOBODY: Any = np.int64(-1)
_1, _2, _3, _4 = (np.uint64(i) for i in range(1, 5))


@njit(nogil=True, cache=True, error_model="numpy")
def learn_rows(
    places, like_index, like_data, state, groups, bias, codes, order, costs, options, seen, scores, losses, gaps
):
    """Learn from rows in the given order, classes from 0 up (-1: only scored); return the number of rows that moved.

    `places` (5, views) holds the addresses of each view's CSR parts (indptr, indices, values), weights (features,
    outputs) and lags, the sum of (round - 1) x change that averages need (not read unless asked for). Two classes have
    one output, the score of class 1; more have one each. `like_index` and `like_data` are empty arrays of the types of
    indices and values; `state` (ROWS, views) of float64 and `groups` (2, views) of int64 are scratch. `bias` is (2,
    outputs): intercept and its lag. `costs` is C by class; for `options` see `_solve`. What rows say before they are
    learned goes to scores (rows, outputs), losses and gaps, the mean |z_v - z_w| over the pairs of views that the row
    has (NaN: it has no pair); both are NaN without label. The largest |x_v|^2 goes to the row LARGEST_NORM of the
    state.
    """
    n_views, n_outputs, like = places.shape[1], bias.shape[1], (like_index, like_data)
    state, groups = borrowed(state, state.shape), borrowed(groups, groups.shape)
    options = borrowed(options, options.shape)
    state[SHARE, :], state[LARGEST_NORM, :] = 1.0 / n_views, 0.0
    dots = np.empty((n_views, n_outputs))
    averages, intercept = options[3] != 0.0, options[4]
    moved = 0
    for r in range(len(order)):
        i, following = order[r], order[min(r + 1, len(order) - 1)]
        for k in range(n_outputs):
            scores[r, k] = bias[0, k]
        for v in range(n_views):
            if n_outputs == 1:
                dots[v, 0], norm = _dot(places, like, v, i, following)
            else:
                norm = _dots(places, like, v, i, dots)
            state[NORM, v], state[LARGEST_NORM, v] = norm, max(state[LARGEST_NORM, v], norm)
            for k in range(n_outputs):
                scores[r, k] += state[SHARE, v] * dots[v, k]
        label = codes[np.uint64(i)]
        losses[r], gaps[r] = np.nan, np.nan
        if label < 0:
            continue
        cost, heft, base, rival = costs[label], intercept, 0.0, _NOBODY
        if n_outputs == 1:
            sign = 1.0 if label == 1 else -1.0
            label, base = label * 0, sign * bias[0, 0]
            for v in range(n_views):
                state[MARGIN, v] = sign * dots[v, 0]
        else:
            sign = 1.0
            # the wrong class that comes nearest, as Crammer et al. (2006) do for many classes
            for k in range(n_outputs):
                if k != label and (rival < 0 or scores[r, k] > scores[r, rival]):
                    rival = k
            # two weight vectors move, each by the full step
            heft, base = 2.0 * intercept, bias[0, label] - bias[0, rival]
            for v in range(n_views):
                state[MARGIN, v] = dots[v, label] - dots[v, rival]
                state[NORM, v] *= 2.0
        gaps[r] = _gap(state)
        losses[r], tau = _solve(state, groups, base, heft, cost, options)
        if math.isnan(tau):
            continue
        moved += 1
        for v in range(n_views):
            step = sign * state[STEP, v]
            _add(places, like, v, i, _WEIGHTS, step, n_outputs, label)
            if rival >= 0:
                _add(places, like, v, i, _WEIGHTS, -step, n_outputs, rival)
            if averages:
                _add(places, like, v, i, _LAGS, step * (seen + r), n_outputs, label)
                if rival >= 0:
                    _add(places, like, v, i, _LAGS, -step * (seen + r), n_outputs, rival)
        for row, change in ((0, sign * intercept * tau), (1, sign * intercept * tau * (seen + r))):
            bias[row, label] += change
            if rival >= 0:
                bias[row, rival] -= change
    return moved


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
def _solve(state, groups, base, heft, cost, options):
    """Steps of one labeled row; return its loss and tau, or NaN where nothing moves.

    `base` and `heft` are the margin and the n of the intercept, `cost` is C, and options =
    (loss, update, gate, average, n_b or 0, coupling); see `LOSSES` and `UPDATES`.
    """
    loss = 1.0 - base
    for v in range(state.shape[1]):
        loss -= state[SHARE, v] * state[MARGIN, v]
    # passive: Algorithm 1 of Nguyen et al. moves where the vote suffers a loss
    if cost <= 0.0 or (loss <= 0.0 and options[2] != 0.0):
        return max(loss, 0.0), np.nan
    cap = cost if options[0] == 1.0 else np.inf
    # PA-II pays C xi^2: its dual has tau^2 / (4 C), here in units of half a square
    extra = heft + (0.5 / cost if options[0] == 2.0 else 0.0)
    tau = solve_round(state, base, extra, cap, options[5], groups, options[1] == 1.0)
    moved = tau != 0.0
    for v in range(state.shape[1]):
        moved = moved or state[STEP, v] != 0.0
    return max(loss, 0.0), tau if moved else np.nan


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
    endless = 1 << 40  # the length is never asked for
    indptr = array_at(places[0, v], like[0], endless)
    indices = array_at(places[1, v], like[0], endless)
    values = array_at(places[2, v], like[1], endless)
    weights = array_at(places[which, v], like[1], endless)
    k = np.uint64(i)
    return indices, values, weights, np.uint64(indptr[k]), np.uint64(indptr[k + np.uint64(1)])


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True, fastmath={"contract"})
def _dot(places, like, v, i, following):
    """Row . weights, and |row|^2; asks for the row that follows.

    Four running sums need not wait for each other.
    """
    indices, values, weights, j, stop = _row(places, like, v, i, _WEIGHTS)
    ahead = np.int64(array_at(places[0, v], like[0], 1 << 40)[np.uint64(following)]) - np.int64(j)
    s0 = s1 = s2 = s3 = n0 = n1 = n2 = n3 = 0.0
    while j + _4 <= stop:
        ask_for_line(places[1, v] + (np.int64(j) + ahead) * like[0].itemsize)  # type: ignore[call-arg]
        ask_for_line(places[2, v] + (np.int64(j) + ahead) * like[1].itemsize)
        x0, x1 = np.float64(values[j]), np.float64(values[j + _1])
        x2, x3 = np.float64(values[j + _2]), np.float64(values[j + _3])
        s0 += x0 * np.float64(weights[np.uint64(indices[j])])
        s1 += x1 * np.float64(weights[np.uint64(indices[j + _1])])
        s2 += x2 * np.float64(weights[np.uint64(indices[j + _2])])
        s3 += x3 * np.float64(weights[np.uint64(indices[j + _3])])
        n0 += x0 * x0
        n1 += x1 * x1
        n2 += x2 * x2
        n3 += x3 * x3
        j += _4
    while j < stop:
        x0 = np.float64(values[j])
        s0 += x0 * np.float64(weights[np.uint64(indices[j])])
        n0 += x0 * x0
        j += _1
    return (s0 + s1) + (s2 + s3), (n0 + n1) + (n2 + n3)


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
def _dots(places, like, v, i, dots):
    """Row . weights of every class, to dots[v]; |row|^2."""
    indices, values, weights, start, stop = _row(places, like, v, i, _WEIGHTS)
    n_outputs, norm = np.uint64(dots.shape[1]), 0.0
    dots[v, :] = 0.0
    for j in range(start, stop):
        x = np.float64(values[j])
        norm += x * x
        first = np.uint64(indices[j]) * n_outputs
        for k in range(n_outputs):
            dots[v, k] += x * np.float64(weights[first + k])
    return norm


@njit(nogil=True, cache=True, error_model="numpy", forceinline=True)
def _add(places, like, v, i, which, step, n_outputs, label):
    """Add step x row to the weights or lags of one output."""
    indices, values, weights, start, stop = _row(places, like, v, i, which)
    for j in range(start, stop):
        weights[np.uint64(indices[j]) * np.uint64(n_outputs) + np.uint64(label)] += step * values[j]

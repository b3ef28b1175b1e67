"""Best label sets, one object at a time: arrays in, arrays out.

For scores s (views x labels) and the cost d of a disagreement, every kernel maximizes

    sum y s  -  d sum_{v<w} sum_i |y_vi - y_wi|  -  (cost of the constraints that the labels of a view break)

over y in {0, 1}. Without an ontology a view pays `mutex` times |n_v - 1|, n_v its number of labels; in a tree it pays
`subset` for each label whose parent is off, and `mutex` for each pair of exclusive siblings. A set of views is written
as the bits of a whole number. Rows start to stop are the call's own; `labels` comes in as zeros. A kernel that relies
on a condition leaves `solved` False where an object does not meet it.
"""

from __future__ import annotations

import numpy as np

from coview.kernels.compiling import njit

__all__ = ["choose_sets", "solve_flat", "solve_tree"]


@njit(inline="always")
def _ones(p):
    """Number of bits that are 1."""
    count = 0
    while p:
        p &= p - 1
        count += 1
    return count


@njit(inline="always")
def _gains(scores, n, k, d, gain):
    """Gain of label k for each set of views that have it, by its scores and the views that do not."""
    V = scores.shape[1]
    # each set of views from the one without its lowest view: one addition a set
    gain[0] = 0.0
    for p in range(1, 1 << V):
        v = 0
        while not (p >> v) & 1:
            v += 1
        gain[p] = gain[p & (p - 1)] + np.float64(scores[n, v, k])
    for p in range(1, 1 << V):
        ones = _ones(p)
        # pairs of views of which one has the label
        gain[p] -= d * ones * (V - ones)


@njit(nogil=True, cache=True)
def solve_flat(scores, d, mutex, labels, objective, solved, start, stop):
    """Any weights, no ontology: over the labels, with the set of views that have one already as the state."""
    V, K = scores.shape[1], scores.shape[2]
    full = 1 << V
    gain = np.zeros(full)
    value = np.zeros(full)
    fresh = np.zeros(full)
    came = np.zeros((K, full), dtype=np.int64)
    for n in range(start, stop):
        value[:] = -np.inf
        value[0] = 0.0
        for k in range(K):
            _gains(scores, n, k, d, gain)
            fresh[:] = -np.inf
            for state in range(full):
                # no way leads here yet
                if value[state] == -np.inf:
                    continue
                for p in range(full):
                    # a view's first label is free, each further one costs `mutex`
                    candidate = value[state] + gain[p] - mutex * _ones(state & p)
                    if candidate > fresh[state | p]:
                        fresh[state | p] = candidate
                        came[k, state | p] = state * full + p
            value, fresh = fresh, value
        # views that ended without any label pay for it
        at = 0
        best = -np.inf
        for state in range(full):
            candidate = value[state] - mutex * (V - _ones(state))
            if candidate > best:
                best, at = candidate, state
        objective[n] = best
        solved[n] = True
        for k in range(K - 1, -1, -1):
            p = came[k, at] % full
            at = came[k, at] // full
            for v in range(V):
                if (p >> v) & 1:
                    labels[n, v, k] = True


@njit(inline="always")
def _within(value, members, at, end, limit):
    """Whether no member of a group would lose more than `limit` by letting go of one view."""
    for m in range(at, end):
        j = members[m]
        for q in range(1, value.shape[1]):
            v = 1
            while v <= q:
                if q & v and value[j, q] - value[j, q ^ v] > limit:
                    return False
                v <<= 1
    return True


@njit(inline="always")
def _add_group(value, u, p, subset, mutex, members, at, end, step, price, state, fresh, choice, last):
    """Add to node u, on in the views p, its group's best value with any number of members up to a cap in each view.

    The state is the number of members on in each view; `price` is how many pairs a further member breaks.
    """
    n_states = price.shape[0]
    state[:] = -np.inf
    state[0] = 0.0
    for m in range(at, end):
        j = members[m]
        fresh[:] = -np.inf
        for q in range(value.shape[1]):
            # views where the member is on and its parent is not
            worth = value[j, q] - subset * _ones(q & ~p)
            for c in range(n_states):
                if price[c, q] < 0 or state[c] == -np.inf:
                    continue
                candidate = state[c] + worth - mutex * price[c, q]
                if candidate > fresh[c + step[q]]:
                    fresh[c + step[q]] = candidate
                    choice[m, p, c + step[q]] = q
        for c in range(n_states):  # a whole-array assignment takes seconds to compile
            state[c] = fresh[c]
    for c in range(n_states):
        if c == 0 or state[c] > state[last[p]]:
            last[p] = c
    value[u, p] += state[last[p]]


@njit(nogil=True, cache=True)
def solve_tree(
    scores, d, subset, mutex, order, node_ptr, group_ptr, members, step, price, cap,
    labels, objective, solved, start, stop,
):  # fmt: skip
    """A tree: from the leaves up, with the set of views that have a label as its state; then down again.

    `order` holds the labels, children first, and last a root (number K) that every view has. Node u owns the groups
    node_ptr[u] to node_ptr[u + 1]; group g the members group_ptr[g] to group_ptr[g + 1]. At most `cap` members of a
    group are on in a view. That is enough where letting go of one never loses more than the cap x mutex that it mends;
    else the object is not solved.
    """
    V, K = scores.shape[1], scores.shape[2]
    full = 1 << V
    value = np.zeros((K + 1, full))
    state = np.zeros(price.shape[0])
    fresh = np.zeros(price.shape[0])
    choice = np.zeros((len(members), full, price.shape[0]), dtype=np.int64)
    last = np.zeros((len(group_ptr) - 1, full), dtype=np.int64)
    on = np.zeros(K + 1, dtype=np.int64)
    on[K] = full - 1
    for n in range(start, stop):
        solved[n] = True
        for u in order:
            if u < K:
                _gains(scores, n, u, d, value[u])
            else:
                value[u, :] = 0.0
            for g in range(node_ptr[u], node_ptr[u + 1]):
                at, end = group_ptr[g], group_ptr[g + 1]
                solved[n] = solved[n] and (end - at <= cap or _within(value, members, at, end, cap * mutex))
                for p in range(full - 1 if u == K else 0, full):
                    _add_group(value, u, p, subset, mutex, members, at, end, step, price, state, fresh, choice, last[g])
            if not solved[n]:
                break
        if not solved[n]:
            continue
        objective[n] = value[K, full - 1]
        # back down: what was the best choice for the views that the parent has
        for t in range(len(order) - 1, -1, -1):
            u = order[t]
            for g in range(node_ptr[u], node_ptr[u + 1]):
                c = last[g, on[u]]
                for m in range(group_ptr[g + 1] - 1, group_ptr[g] - 1, -1):
                    on[members[m]] = choice[m, on[u], c]
                    c -= step[on[members[m]]]
        for k in range(K):
            for v in range(V):
                labels[n, v, k] = (on[k] >> v) & 1


@njit(nogil=True, cache=True)
def choose_sets(values, apart, chosen, objective):
    """Best set of each view out of S sets: values (views x sets) minus `apart` of every pair of chosen sets.

    A depth-first search over the views; what the rest could add at best cuts branches.
    """
    V, S = values.shape[1], values.shape[2]
    rest = np.zeros(V + 1)
    so_far = np.zeros(V + 1)
    at = np.zeros(V, dtype=np.int64)
    for n in range(len(values)):
        rest[V] = 0.0
        for v in range(V - 1, -1, -1):
            top = values[n, v, 0]
            for s in range(1, S):
                top = max(top, values[n, v, s])
            # an upper bound: disagreements only take away
            rest[v] = rest[v + 1] + top
        best = -np.inf
        v = 0
        at[0] = -1
        while v >= 0:
            at[v] += 1
            if at[v] == S:
                v -= 1
                continue
            candidate = so_far[v] + values[n, v, at[v]]
            if candidate + rest[v + 1] <= best:
                continue
            for w in range(v):
                candidate -= apart[at[w], at[v]]
            if candidate + rest[v + 1] <= best:
                continue
            if v == V - 1:
                best = candidate
                for w in range(V):
                    chosen[n, w] = at[w]
            else:
                so_far[v + 1] = candidate
                v += 1
                at[v] = -1
        objective[n] = best

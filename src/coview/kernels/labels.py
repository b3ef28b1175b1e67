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

__all__ = ["choose_sets", "label_program", "partitions", "tree_program", "two_views"]


@njit(inline="always")
def _ones(p):
    """Number of bits that are 1."""
    count = 0
    while p:
        p &= p - 1
        count += 1
    return count


@njit(nogil=True, cache=True)
def two_views(scores, d, mutex, labels, objective, solved, start, stop):
    """Two views: the best common label, unless the views' own favorites win by more than 2 d.

    Right where a second label or none never pays: mutex >= max s + d and mutex >= d - max_i s_i of each view.
    """
    K = scores.shape[2]
    for n in range(start, stop):
        # the largest values, odd and even labels apart so that one comparison need not wait for another
        top1 = top2 = best = odd1 = odd2 = odd = -np.inf
        for k in range(0, K - 1, 2):
            s1 = np.float64(scores[n, 0, k])
            s2 = np.float64(scores[n, 1, k])
            t1 = np.float64(scores[n, 0, k + 1])
            t2 = np.float64(scores[n, 1, k + 1])
            top1 = s1 if s1 > top1 else top1
            top2 = s2 if s2 > top2 else top2
            best = s1 + s2 if s1 + s2 > best else best
            odd1 = t1 if t1 > odd1 else odd1
            odd2 = t2 if t2 > odd2 else odd2
            odd = t1 + t2 if t1 + t2 > odd else odd
        s1 = np.float64(scores[n, 0, K - 1])
        s2 = np.float64(scores[n, 1, K - 1])
        top1 = max(top1, odd1, s1)
        top2 = max(top2, odd2, s2)
        best = max(best, odd, s1 + s2)
        if mutex < max(top1, top2) + d or mutex < d - min(top1, top2):
            solved[n] = False
            continue
        solved[n] = True
        first = second = 0
        if (top1 + top2) - 2 * d > best:
            while np.float64(scores[n, 0, first]) != top1:
                first += 1
            while np.float64(scores[n, 1, second]) != top2:
                second += 1
            objective[n] = (top1 + top2) - 2 * d
        else:
            while np.float64(scores[n, 0, first]) + np.float64(scores[n, 1, first]) != best:
                first += 1
            second = first
            objective[n] = best
        labels[n, 0, first] = True
        labels[n, 1, second] = True


@njit(nogil=True, cache=True)
def partitions(scores, d, mutex, labels, objective, solved, start, stop):
    """Any number of views, one label each: the best partition of the views, 2 d for each pair that is apart.

    f(S) = max over T in S, with S's first view in T, of max_i sum_{v in T} s_vi - 2 d |T| |S - T| + f(S - T).
    """
    V, K = scores.shape[1], scores.shape[2]
    full = 1 << V
    total = np.zeros(full)
    best = np.zeros(full)
    where = np.zeros(full, dtype=np.int64)
    value = np.zeros(full)
    part = np.zeros(full, dtype=np.int64)
    for n in range(start, stop):
        for k in range(K):
            for T in range(1, full):
                v = 0
                while not (T >> v) & 1:
                    v += 1
                total[T] = total[T & (T - 1)] + np.float64(scores[n, v, k])
                if k == 0 or total[T] > best[T]:
                    best[T] = total[T]
                    where[T] = k
        hi = best[1]
        lo = best[1]
        for v in range(1, V):
            hi = max(hi, best[1 << v])
            lo = min(lo, best[1 << v])
        solved[n] = mutex >= hi + (V - 1) * d and mutex >= (V - 1) * d - lo
        if not solved[n]:
            continue
        for S in range(1, full):
            low = S & -S
            rest = S ^ low
            value[S] = -np.inf
            sub = rest  # T = low and any part of the rest, largest first
            while True:
                T = low | sub
                candidate = best[T] - 2 * d * _ones(T) * _ones(S ^ T) + value[S ^ T]
                if candidate > value[S]:
                    value[S] = candidate
                    part[S] = T
                if sub == 0:
                    break
                sub = (sub - 1) & rest
        objective[n] = value[full - 1]
        S = full - 1
        while S:
            for v in range(V):
                if (part[S] >> v) & 1:
                    labels[n, v, where[part[S]]] = True
            S ^= part[S]


@njit(inline="always")
def _gains(scores, n, k, d, gain):
    """Gain of label k for each set of views that have it, by its scores and the views that do not."""
    V = scores.shape[1]
    gain[0] = 0.0
    for p in range(1, 1 << V):
        v = 0
        while not (p >> v) & 1:
            v += 1
        gain[p] = gain[p & (p - 1)] + np.float64(scores[n, v, k])
    for p in range(1, 1 << V):
        ones = _ones(p)
        gain[p] -= d * ones * (V - ones)


@njit(nogil=True, cache=True)
def label_program(scores, d, mutex, labels, objective, solved, start, stop):
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
                if value[state] == -np.inf:
                    continue
                for p in range(full):
                    # a view's first label is free, each further one costs `mutex`
                    candidate = value[state] + gain[p] - mutex * _ones(state & p)
                    if candidate > fresh[state | p]:
                        fresh[state | p] = candidate
                        came[k, state | p] = state * full + p
            value, fresh = fresh, value
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
def _one_each(value, u, members, at, end, best, pick, last):
    """Add to node u its group's best value where a view has at most one member, and only below a parent that is on.

    best[S]: the views S have a member each, the others none. It does not depend on the parent, which allows S in p.
    """
    full = value.shape[1]
    base = 0.0
    best[0] = 0.0
    best[1:] = -np.inf
    for m in range(at, end):
        j = members[m]
        off = value[j, 0]
        base += off
        for S in range(full - 1, 0, -1):  # downwards: smaller sets still are those of the members before
            pick[m, S] = 0
            q = S
            while q:
                candidate = best[S ^ q] + value[j, q] - off
                if candidate > best[S]:
                    best[S] = candidate
                    pick[m, S] = q
                q = (q - 1) & S
    for p in range(full):
        last[p] = p
        v = 1
        while v <= p:
            if p & v and best[last[p ^ v]] >= best[last[p]]:
                last[p] = last[p ^ v]
            v <<= 1
        value[u, p] += base + best[last[p]]


@njit(inline="always")
def _counted(value, u, p, subset, mutex, members, at, end, step, price, state, fresh, choice, last):
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
def tree_program(
    scores, d, subset, mutex, order, node_ptr, group_ptr, members, step, price, cap,
    labels, objective, solved, start, stop,
):  # fmt: skip
    """A tree: from the leaves up, with the set of views that have a label as its state; then down again.

    `order` holds the labels, children first, and last a root (number K) that every view has. Node u owns the groups
    node_ptr[u] to node_ptr[u + 1]; group g the members group_ptr[g] to group_ptr[g + 1]. Letting go of a member of a
    group mends what it breaks: where that never loses more than either cost, one member per view is enough, and where
    it never loses more than cap x mutex, cap members are; else the object is not solved.
    """
    V, K = scores.shape[1], scores.shape[2]
    full = 1 << V
    value = np.zeros((K + 1, full))
    best = np.zeros(full)
    pick = np.zeros((len(members), full), dtype=np.int64)
    state = np.zeros(price.shape[0])
    fresh = np.zeros(price.shape[0])
    choice = np.zeros((len(members), full, price.shape[0]), dtype=np.int64)
    last = np.zeros((len(group_ptr) - 1, full), dtype=np.int64)
    single = np.zeros(len(group_ptr) - 1, dtype=np.bool_)
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
                single[g] = _within(value, members, at, end, min(subset, mutex))
                if single[g]:
                    _one_each(value, u, members, at, end, best, pick, last[g])
                    continue
                solved[n] = solved[n] and (end - at <= cap or _within(value, members, at, end, cap * mutex))
                for p in range(full - 1 if u == K else 0, full):
                    _counted(value, u, p, subset, mutex, members, at, end, step, price, state, fresh, choice, last[g])
            if not solved[n]:
                break
        if not solved[n]:
            continue
        objective[n] = value[K, full - 1]
        for t in range(len(order) - 1, -1, -1):
            u = order[t]
            for g in range(node_ptr[u], node_ptr[u + 1]):
                c = last[g, on[u]]
                for m in range(group_ptr[g + 1] - 1, group_ptr[g] - 1, -1):
                    q = pick[m, c] if single[g] else choice[m, on[u], c]
                    on[members[m]] = q
                    c -= q if single[g] else step[q]
        for k in range(K):
            for v in range(V):
                labels[n, v, k] = (on[k] >> v) & 1


@njit(nogil=True, cache=True)
def choose_sets(values, apart, chosen, objective, start, stop):
    """Best set of each view out of S sets: values (views x sets) minus `apart` of every pair of chosen sets.

    A depth-first search over the views; what the rest could add at best cuts branches.
    """
    V, S = values.shape[1], values.shape[2]
    rest = np.zeros(V + 1)
    so_far = np.zeros(V + 1)
    at = np.zeros(V, dtype=np.int64)
    for n in range(start, stop):
        rest[V] = 0.0
        for v in range(V - 1, -1, -1):
            top = values[n, v, 0]
            for s in range(1, S):
                top = max(top, values[n, v, s])
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

"""The graph of an ontology's constraints: connected components, the plan of a tree, and sets that may be optimal.

Labels that share no constraint, directly or through others, can be chosen apart, so that a component that is a tree is
solved as a tree whatever the others are.

In a component that is no tree, the label sets that could be the best choice of a view, whatever the scores are within
their bounds, are enumerated. With d the cost of a disagreement, leaving a label out of a view loses at most
g = max s + (V - 1) d, and putting one in loses at most h = (V - 1) d - min s. So a set can be passed over

    if leaving out one label, or one with all below it, mends constraints worth as much as it loses, or
    if putting in one label mends constraints worth more than it loses.

The first never adds a label and the second always gains, so no two sets rule each other out for ever: what remains
holds a best choice of every object. Sets are grown from the leaves up, which lets the first rule cut whole branches.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from coview.assignment.ontology import Ontology

__all__ = ["Component", "TreePlan", "candidate_sets", "components", "count_tables", "plan_tree"]

Pairs = tuple[tuple[int, int], ...]
_VISITS = 300_000  # partial sets looked at before giving up


@dataclass(frozen=True)
class TreePlan:
    """A forest for the tree program: labels children first, then a root above all; groups of exclusive siblings."""

    order: np.ndarray
    node_ptr: np.ndarray
    group_ptr: np.ndarray
    members: np.ndarray

    @property
    def largest(self) -> int:
        """Size of the largest group."""
        return int(np.diff(self.group_ptr).max(initial=0))


@dataclass(frozen=True)
class Component:
    """Some labels of an ontology with all pairs among them, as positions within `codes`."""

    codes: np.ndarray
    subset: Pairs
    mutex: Pairs
    tree: TreePlan | None


@lru_cache(maxsize=32)
def components(ontology: Ontology) -> tuple[Component, ...]:
    """Return the connected components of an ontology's constraints."""
    n = len(ontology)
    pairs = np.concatenate([ontology.subset_codes, ontology.mutex_codes])
    graph = sparse.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    _, component = connected_components(graph, directed=False)
    parts = []
    for number in dict.fromkeys(component.tolist()):
        codes = np.flatnonzero(component == number)
        place = {int(code): i for i, code in enumerate(codes)}
        subset = tuple((place[int(a)], place[int(b)]) for a, b in ontology.subset_codes if int(a) in place)
        mutex = tuple((place[int(a)], place[int(b)]) for a, b in ontology.mutex_codes if int(a) in place)
        parts.append(Component(codes, subset, mutex, plan_tree(len(codes), subset, mutex)))
    return tuple(parts)


def plan_tree(n: int, subset: Pairs, mutex: Pairs) -> TreePlan | None:
    """Return the plan of a forest whose exclusions join siblings, all of a group or none; None for other components."""
    parent = [n] * n  # n is the root above all
    for child, above in subset:
        if parent[child] != n:
            return None
        parent[child] = above
    if any(parent[a] != parent[b] for a, b in mutex):
        return None
    graph = sparse.coo_array((np.ones(len(mutex)), tuple(np.array(mutex, dtype=int).reshape(-1, 2).T)), shape=(n, n))
    _, group = connected_components(graph, directed=False)
    sizes = np.bincount(group)
    if sum(size * (size - 1) // 2 for size in sizes.tolist()) != len(mutex):
        return None  # some labels of a group exclude each other and some do not
    below: list[dict[int, list[int]]] = [{} for _ in range(n + 1)]
    for i in range(n):
        below[parent[i]].setdefault(int(group[i]), []).append(i)
    order = [n]
    for u in order:
        order += [i for members in below[u].values() for i in members]
    groups = [members for u in range(n + 1) for members in below[u].values()]
    return TreePlan(
        np.array(order[::-1], dtype=np.int64),
        np.cumsum([0, *(len(groups_of) for groups_of in below)], dtype=np.int64),
        np.cumsum([0, *map(len, groups)], dtype=np.int64),
        np.array([i for members in groups for i in members], dtype=np.int64),
    )


@lru_cache(maxsize=64)
def count_tables(n_views: int, cap: int) -> tuple[np.ndarray, np.ndarray]:
    """Step and price of a further group member that is on in the views q, when c_v members are on in view v so far.

    States number all counts from 0 to cap in each view. ``step[q]`` is the way to the next state; ``price[state, q]``
    the number of exclusive pairs that it makes, -1 where a count would rise above cap.
    """
    states = np.arange((cap + 1) ** n_views)
    powers = (cap + 1) ** np.arange(n_views)
    counts = states[:, None] // powers % (cap + 1)
    bits = (np.arange(1 << n_views)[:, None] >> np.arange(n_views)) & 1
    price = counts @ bits.T
    full = (counts == cap).astype(np.int64) @ bits.T > 0
    return (bits @ powers).astype(np.int64), np.where(full, -1, price).astype(np.int32)


def candidate_sets(
    component: Component, g: float, h: float, subset: float, mutex: float, most: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the sets (n_sets, n_labels) that may be best and the cost of what each breaks; None if there are too many.

    Parameters
    ----------
    component : Component
        Labels and their constraints.
    g, h : float
        What leaving out, or putting in, one label of one view loses at most.
    subset, mutex : float
        Costs of a broken pair.
    most : int
        Number of sets that are too many.

    Examples
    --------
    >>> (component,) = components(Ontology.from_edges([("Bat", "Mammal"), ("Bat", "Flier")]))
    >>> candidate_sets(component, 0.6, 0.1, 1.0, 1.0, 100)[0].astype(int).tolist()
    [[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1], [1, 1, 1]]
    """
    unit = max(subset, mutex) or 1.0
    # bounds in quarters of the larger cost, upwards: the sets of one block of objects serve the next
    bounds = float(np.ceil(4 * g / unit) / 4), float(np.ceil(4 * h / unit) / 4)
    sets = _enumerate(
        len(component.codes), component.subset, component.mutex, *bounds, subset / unit, mutex / unit, most
    )
    if sets is None:
        return None
    child, parent = np.array(component.subset, dtype=int).reshape(-1, 2).T
    a, b = np.array(component.mutex, dtype=int).reshape(-1, 2).T
    open_pairs = (sets[:, child] & ~sets[:, parent]).sum(axis=1)
    return sets, subset * open_pairs + mutex * (sets[:, a] & sets[:, b]).sum(axis=1)


@lru_cache(maxsize=64)
def _enumerate(
    n: int, subset: Pairs, mutex: Pairs, g: float, h: float, subset_cost: float, mutex_cost: float, most: int
) -> np.ndarray | None:
    search = _LabelSetSearch(n, subset, mutex, g, h, subset_cost, mutex_cost, most)
    if not search.grow(0, 0, 0):
        return None
    return np.array(sorted([(on >> i) & 1 for i in range(n)] for on in search.kept), dtype=bool)


class _LabelSetSearch:
    """Depth-first over the labels, those below first; a set is the bits of a whole number."""

    def __init__(
        self,
        n: int,
        subset: Pairs,
        mutex: Pairs,
        g: float,
        h: float,
        subset_cost: float,
        mutex_cost: float,
        most: int,
    ) -> None:
        self.n, self.g, self.h, self.most = n, g, h, most
        self.subset_cost, self.mutex_cost = subset_cost, mutex_cost
        self.above, self.below, self.apart = [0] * n, [0] * n, [0] * n
        for child, parent in subset:
            self.above[child] |= 1 << parent
            self.below[parent] |= 1 << child
        for a, b in mutex:
            self.apart[a] |= 1 << b
            self.apart[b] |= 1 << a
        self.order = self._post_order()
        self.under = [1 << i for i in range(n)]  # a label and all below it
        for i in self.order:
            for child in _bits(self.below[i]):
                self.under[i] |= self.under[child]
        self.kept: list[int] = []
        self.visits = 0

    def grow(self, t: int, on: int, decided: int) -> bool:
        """Decide label t of the order, and all after it; False if there is no end to it."""
        self.visits += 1
        if self.visits > _VISITS or len(self.kept) > self.most:
            return False
        if t == self.n:
            if not self._gains_by_addition(on):
                self.kept.append(on)
            return len(self.kept) <= self.most
        bit = 1 << self.order[t]
        for choice in (on, on | bit):
            if not self._loses_nothing_by_removal(choice, decided | bit) and not self.grow(
                t + 1, choice, decided | bit
            ):
                return False
        return True

    def _loses_nothing_by_removal(self, on: int, decided: int) -> bool:
        """Whether leaving something out mends as much as it costs; what is still to be decided can only mend more."""
        for i in _bits(on):
            exclusive = (self.apart[i] & on).bit_count()
            open_pairs = (self.above[i] & decided & ~on).bit_count() - (self.below[i] & on).bit_count()
            if self.mutex_cost * exclusive + self.subset_cost * open_pairs >= self.g:
                return True
            branch = self.under[i] & on
            if branch != 1 << i:
                mended = sum(
                    self.mutex_cost * (self.apart[j] & on & ~branch).bit_count()
                    + self.subset_cost * (self.above[j] & decided & ~on).bit_count()
                    for j in _bits(branch)
                )
                if mended >= branch.bit_count() * self.g:
                    return True
        return False

    def _gains_by_addition(self, on: int) -> bool:
        for i in range(self.n):
            if not (on >> i) & 1:
                exclusive = (self.apart[i] & on).bit_count()
                open_pairs = (self.above[i] & ~on).bit_count() - (self.below[i] & on).bit_count()
                if self.mutex_cost * exclusive + self.subset_cost * open_pairs + self.h < 0:
                    return True
        return False

    def _post_order(self) -> list[int]:
        order: dict[int, None] = {}

        def walk(i: int) -> None:
            for child in _bits(self.below[i]):
                if child not in order:
                    walk(child)
            order[i] = None

        for i in range(self.n):
            if i not in order:
                walk(i)
        return list(order)


def _bits(number: int) -> list[int]:
    positions = []
    while number:
        low = number & -number
        positions.append(low.bit_length() - 1)
        number ^= low
    return positions

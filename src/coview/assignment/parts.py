"""An ontology in independent parts, and what is known of each: labels that share no constraint, directly or through
others, can be chosen apart, so that a part that is a tree is solved as a tree whatever the others are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from coview.assignment.ontology import Ontology

__all__ = ["Part", "TreePlan", "count_tables", "parts_of", "plan_tree"]


@dataclass(frozen=True)
class TreePlan:
    """A forest for the tree programme: labels children first, then a root above all; groups of exclusive siblings."""

    order: np.ndarray
    node_ptr: np.ndarray
    group_ptr: np.ndarray
    members: np.ndarray

    @property
    def largest(self) -> int:
        """Size of the largest group."""
        return int(np.diff(self.group_ptr).max(initial=0))


@dataclass(frozen=True)
class Part:
    """Some labels of an ontology with all pairs among them, as positions within `codes`."""

    codes: np.ndarray
    subset: tuple[tuple[int, int], ...]
    mutex: tuple[tuple[int, int], ...]
    tree: TreePlan | None


@lru_cache(maxsize=32)
def parts_of(ontology: Ontology) -> tuple[Part, ...]:
    """Independent parts of an ontology.

    Examples
    --------
    >>> found = parts_of(Ontology("abc", subset=[("a", "b")]))
    >>> [part.codes.tolist() for part in found]
    [[0, 1], [2]]
    """
    n = len(ontology)
    pairs = np.concatenate([ontology.subset_codes, ontology.mutex_codes])
    graph = sparse.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    _, part = connected_components(graph, directed=False)
    found = []
    for number in dict.fromkeys(part.tolist()):
        codes = np.flatnonzero(part == number)
        place = {int(code): i for i, code in enumerate(codes)}
        subset = tuple((place[int(a)], place[int(b)]) for a, b in ontology.subset_codes if int(a) in place)
        mutex = tuple((place[int(a)], place[int(b)]) for a, b in ontology.mutex_codes if int(a) in place)
        found.append(Part(codes, subset, mutex, plan_tree(len(codes), subset, mutex)))
    return tuple(found)


def plan_tree(n: int, subset: tuple[tuple[int, int], ...], mutex: tuple[tuple[int, int], ...]) -> TreePlan | None:
    """Plan of a part that is a forest whose exclusions join siblings, all of a group or none; else None."""
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

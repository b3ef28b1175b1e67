"""The graph of an ontology's constraints: the plan of a tree, and for other graphs the sets that may be optimal.

Where an ontology is no tree, the label sets that could be the best choice of a view, whatever the scores are within
their bounds, are enumerated. With d the cost of a disagreement, leaving a label out of a view loses at most
g = max s + (V - 1) d, and putting one in loses at most h = (V - 1) d - min s. So a set can be passed over

    if leaving out a label with all below it mends constraints worth as much as that loses, or
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

__all__ = ["TreePlan", "count_tables", "list_candidate_sets", "plan_tree"]

_MOST_SETS = 2048  # beyond these, one call of HiGHS per object is about as fast as looking at all of them


@dataclass(frozen=True)
class TreePlan:
    """A forest for `solve_tree`: labels children first, then a root above all; groups of exclusive siblings."""

    order: np.ndarray
    node_ptr: np.ndarray
    group_ptr: np.ndarray
    members: np.ndarray


@lru_cache(maxsize=32)
def plan_tree(ontology: Ontology) -> TreePlan | None:
    """Return the plan of a forest whose exclusions join siblings, all of a group or none; None for other graphs."""
    n, subset, mutex = len(ontology), ontology.subset_codes, ontology.mutex_codes
    parent = np.full(n, n)  # n is the root above all
    parent[subset[:, 0]] = subset[:, 1]
    graph = sparse.coo_array((np.ones(len(mutex)), (mutex[:, 0], mutex[:, 1])), shape=(n, n))
    # labels that exclude each other must all do so, or a group could not be counted by how many of it are on
    _, group = connected_components(graph, directed=False)
    sizes = np.bincount(group)
    several_parents = len(np.unique(subset[:, 0])) < len(subset)
    some_not_all = (sizes * (sizes - 1) // 2).sum() != len(mutex)
    if several_parents or some_not_all or (parent[mutex[:, 0]] != parent[mutex[:, 1]]).any():
        return None
    below: list[dict[int, list[int]]] = [{} for _ in range(n + 1)]
    for i in range(n):
        below[parent[i]].setdefault(int(group[i]), []).append(i)
    # breadth first from the root; reversed, every label comes after all that are below it
    order = [n]
    for u in order:
        order += [i for members in below[u].values() for i in members]
    groups = [members for u in range(n + 1) for members in below[u].values()]
    return TreePlan(
        np.array(order[::-1], dtype=np.int64),
        np.cumsum([0, *map(len, below)], dtype=np.int64),
        np.cumsum([0, *map(len, groups)], dtype=np.int64),
        np.concatenate(groups).astype(np.int64),
    )


@lru_cache(maxsize=64)
def count_tables(n_views: int, cap: int) -> tuple[np.ndarray, np.ndarray]:
    """Step and price of a further group member that is on in the views q, when c_v members are on in view v so far.

    States number all counts from 0 to cap in each view. ``step[q]`` is the way to the next state; ``price[state, q]``
    the number of exclusive pairs that it makes, -1 where a count would rise above cap.
    """
    states = np.arange((cap + 1) ** n_views)
    # a state is written in base cap + 1, one digit for each view
    powers = (cap + 1) ** np.arange(n_views)
    counts = states[:, None] // powers % (cap + 1)
    bits = (np.arange(1 << n_views)[:, None] >> np.arange(n_views)) & 1
    price = counts @ bits.T
    full = (counts == cap).astype(np.int64) @ bits.T > 0
    return (bits @ powers).astype(np.int64), np.where(full, -1, price).astype(np.int32)


@lru_cache(maxsize=64)
def list_candidate_sets(
    ontology: Ontology, g: float, h: float, subset_cost: float, mutex_cost: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the sets (n_sets, n_labels) that may be best and the cost of what each breaks; None if there are too many.

    Parameters
    ----------
    ontology : Ontology
        Labels and their constraints.
    g, h : float
        What leaving out, or putting in, one label of one view loses at most.
    subset_cost, mutex_cost : float
        Costs of a broken pair.

    Examples
    --------
    >>> bats = Ontology.from_edges([("Bat", "Mammal"), ("Bat", "Flier")])
    >>> sorted(list_candidate_sets(bats, 0.6, 0.1, 1.0, 1.0)[0].astype(int).tolist())
    [[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1], [1, 1, 1]]
    """
    n = len(ontology)
    above, apart = np.zeros((n, n)), np.zeros((n, n))
    child, parent = ontology.subset_codes.T
    a, b = ontology.mutex_codes.T
    above[child, parent] = subset_cost
    apart[a, b] = apart[b, a] = mutex_cost
    under = ontology.reach.T
    joined = np.eye(n) + above + above.T + apart > 0
    # with label after label, each set is kept without it and with it
    sets, decided = np.zeros((1, n), dtype=bool), np.zeros(n, dtype=bool)
    for label in reversed(ontology.top_down):
        sets = np.repeat(sets, 2, axis=0)
        sets[1::2, label] = decided[label] = True
        # what is still to be decided can only mend more
        for top in np.flatnonzero(joined[label]):
            branch = sets & under[top]
            mended = ((branch @ above) * (decided & ~sets) + (branch @ apart) * (sets & ~under[top])).sum(axis=1)
            sets = sets[~sets[:, top] | (mended < g * branch.sum(axis=1))]
        if len(sets) > _MOST_SETS:
            return None
    # what putting in a label breaks, less what it mends
    broken = ~sets @ above.T - sets @ above + sets @ apart
    sets = sets[~(~sets & (broken + h < 0)).any(axis=1)]
    open_pairs = (sets[:, child] & ~sets[:, parent]).sum(axis=1)
    return sets, subset_cost * open_pairs + mutex_cost * (sets[:, a] & sets[:, b]).sum(axis=1)

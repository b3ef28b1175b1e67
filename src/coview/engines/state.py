"""Where a fit stands: trees (nested dicts of arrays), the state that the loop carries, each sweep, and the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Fit", "State", "Sweep", "Tree", "tree_leaves", "tree_map"]

Tree = dict[str, Any]


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Apply a function to the leaves of trees (dicts and lists) of one shape."""
    if isinstance(tree, dict):
        return {key: tree_map(function, value, *(other[key] for other in others)) for key, value in tree.items()}
    if isinstance(tree, list):
        return [tree_map(function, *parts) for parts in zip(tree, *others)]
    return function(tree, *others)


def tree_leaves(tree: Any) -> Iterator[Any]:
    """Yield the leaves of a tree of dicts and lists."""
    if isinstance(tree, dict):
        tree = tree.values()
    elif not isinstance(tree, list):
        yield tree
        return
    for part in tree:
        yield from tree_leaves(part)


@dataclass
class State:
    """Where a fit stands: the row state of every block, in its holder's form, and the shared parameters."""

    rows: Any
    shared: Tree


@dataclass(frozen=True)
class Sweep:
    """What a callback is told after each sweep.

    `objective` is of the state *before* the sweep (it falls out of the sweep itself); `change` is relative to the one
    before; `state` makes the current state available.
    """

    restart: int
    n_restarts: int
    number: int
    max_iter: int
    objective: float
    change: float
    seconds: float
    state: State


@dataclass
class Fit:
    """Where a fit ended."""

    state: State
    history: dict[str, list[float]] = field(default_factory=lambda: {"objective": [], "seconds": []})
    n_iter: int = 0
    converged: bool = False
    stopped_by: str = "max_iter"
    pace: int = 0  # sweeps since momentum began
    behind: State | None = None  # the state one sweep before, where momentum is on

    @property
    def objective(self) -> float:
        return self.history["objective"][-1] if self.history["objective"] else -np.inf

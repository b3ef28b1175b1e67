"""SQUAREM for any model of the loop: squared extrapolation of two sweeps, with a safeguard that keeps the ascent.

With r = M(t) - t and v = M(M(t)) - M(t) - r, the point t - 2 a r + a^2 v with a = -|r|/|v| replaces the two plain
sweeps (Varadhan and Roland, 2008). It is kept only if its objective is not below that of the first plain sweep;
otherwise the second plain sweep stands, and the next step is shorter; that refused sweep is not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from coview.engines.protocol import Holder, Steps
from coview.engines.state import State, Tree, tree_leaves, tree_map

__all__ = ["Squarem"]


class Squarem:
    """The accelerator of one run: call `advance` for each sweep."""

    def __init__(self, holder: Holder, longest: float = 4.0) -> None:
        self.holder = holder
        self.longest = longest  # the boldest step allowed now: grows with success, shrinks with refusals
        self.trail: list[State] = []  # states of this cycle
        self.plain: tuple[State, float] | None = None  # what stands if the extrapolation is refused, and its bar

    @classmethod
    def start(cls, name: str | None, longest: float, holder: Holder) -> Squarem | None:
        """Return an accelerator by name, or None for plain sweeps."""
        if name is None:
            return None
        if name != "squarem":
            raise ValueError(f"acceleration must be None or 'squarem', got {name!r}.")
        return cls(holder, longest)

    @property
    def at_rest(self) -> bool:
        """Whether the state alone says all (a checkpoint can be written here)."""
        return not self.trail and self.plain is None

    def advance(self, state: State, steps: Steps, sweep: Callable[[State], float]) -> float:
        """One sweep; every third sweep of a cycle starts from the extrapolated point, if that holds."""
        if self.plain is not None:
            return self._judge(state, sweep)
        if not self.trail:
            self.trail = [_copied(state)]
        before = sweep(state)
        self.trail.append(_copied(state))
        if len(self.trail) == 3:
            plain = _copied(state)
            state.rows, state.shared = self._extrapolate(steps)
            self.plain, self.trail = (plain, before), []
        return before

    def _judge(self, state: State, sweep: Callable[[State], float]) -> float:
        """Sweep from the extrapolated point; go back to the plain one if the objective there is lower."""
        assert self.plain is not None
        plain, bar = self.plain
        value = sweep(state)  # if interrupted here, `settle` still knows the plain sweep
        self.plain = None
        if np.isfinite(value) and value >= bar:
            self.longest = min(self.longest * 1.5, 1e6)
            return value
        self.longest = max(1.0, self.longest / 4.0)
        state.rows, state.shared = plain.rows, plain.shared
        return sweep(state)

    def settle(self, state: State) -> None:
        """A run that ends on an unjudged extrapolation ends on the plain sweep instead."""
        if self.plain is not None:
            state.rows, state.shared = self.plain[0].rows, self.plain[0].shared
            self.plain = None

    def _extrapolate(self, steps: Steps) -> tuple[Any, Tree]:
        rows, shared = [state.rows for state in self.trail], [state.shared for state in self.trail]
        r2, v2 = self.holder.total(_lengths, *rows) + _lengths(*shared)
        length = float(np.clip(np.sqrt(r2 / v2) if v2 > 0 else 1.0, 1.0, self.longest))
        moved = self.holder.combine(partial(_jumped_rows, steps, length), *rows)
        return moved, steps.normalize_shared(_jumped(length, *shared))


def _lengths(zero: Tree, one: Tree, two: Tree) -> np.ndarray:
    """Squared lengths of r and v."""
    r2 = v2 = 0.0
    for a, b, c in zip(tree_leaves(zero), tree_leaves(one), tree_leaves(two)):
        r = b - a
        v = (c - b) - r
        r2 += float((r * r).sum())
        v2 += float((v * v).sum())
    return np.array([r2, v2])


def _jumped(length: float, zero: Tree, one: Tree, two: Tree) -> Tree:
    def jump(a: Any, b: Any, c: Any) -> Any:
        r = b - a
        return a + (2.0 * length) * r + (length * length) * ((c - b) - r)

    return tree_map(jump, zero, one, two)


def _jumped_rows(steps: Steps, length: float, zero: Tree, one: Tree, two: Tree) -> Tree:
    return steps.normalize_rows(_jumped(length, zero, one, two))


def _copied(state: State) -> State:
    # leaves are replaced, never written to, by the steps: a shallow copy is a snapshot
    return State(list(state.rows) if isinstance(state.rows, list) else state.rows, state.shared)

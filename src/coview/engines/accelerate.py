"""Acceleration of any model of the loop: extrapolation with a safeguard that keeps the ascent.

M is one sweep. *Momentum* (Nesterov, 1983; of factorizations: Ang and Gillis, 2019) sweeps from a point ahead of where
the fit stands: t_(k+1) = M(t_k + b_k (t_k - t_(k-1))) with b_k = k / (k + 3). It begins once a plain sweep gains
little, so that the early climb, which decides on which hill the fit ends, is that of plain sweeps; and it begins anew
where the objective ahead is lower than at the last sweep: that sweep is not counted, and the next one is plain.

*SQUAREM* (Varadhan and Roland, 2008): with r = M(t) - t and v = M(M(t)) - M(t) - r, the point t - 2 a r + a^2 v with
a = -|r|/|v| replaces two plain sweeps. It is kept only if its objective is not below that of the first plain sweep;
otherwise the second plain sweep stands, and the next step is shorter; that refused sweep is not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np

from coview.engines.protocol import Holder, Steps
from coview.engines.state import Fit, State, Tree, tree_leaves, tree_map

__all__ = ["Accelerator", "Momentum", "Squarem", "start_accelerator"]

SLOW = 3e-4  # gain of a plain sweep, relative to the objective, below which momentum begins


class Accelerator(Protocol):
    """The accelerator of one run: it moves the state of a fit, sweep by sweep."""

    @property
    def at_rest(self) -> bool:
        """Whether the fit says all that the rest of the run depends on (a checkpoint can be written here)."""

    def advance(self, steps: Steps, sweep: Callable[[State], float]) -> float:
        """One sweep; returns the objective of the point that it started from."""

    def confirms(self) -> bool:
        """Whether a small gain of the last sweep means that the fit has converged."""

    def settle(self) -> None:
        """End on a state whose objective is not below the last one that was told."""


def start_accelerator(name: str | None, fit: Fit, holder: Holder) -> Accelerator | None:
    """Return an accelerator of a fit by name, or None for plain sweeps."""
    if name is None:
        return None
    kinds: dict[str, Callable[[Fit, Holder], Accelerator]] = {"momentum": Momentum, "squarem": Squarem}
    if name not in kinds:
        raise ValueError(f"acceleration must be None, 'momentum' or 'squarem', got {name!r}.")
    return kinds[name](fit, holder)


class Momentum:
    """Sweeps from ahead of where the fit stands; between two sweeps the fit stands on a plain one."""

    at_rest = True

    def __init__(self, fit: Fit, holder: Holder) -> None:
        self.fit, self.holder = fit, holder

    def advance(self, steps: Steps, sweep: Callable[[State], float]) -> float:
        """One sweep, from ahead of the state where momentum is on and the objective there holds."""
        fit = self.fit
        bar = fit.objective
        if fit.behind is not None and fit.pace > 0:
            ahead = self._ahead(steps, fit.state, fit.behind)
            value = sweep(ahead)  # if interrupted here, the state is that of before
            if np.isfinite(value) and value >= bar:
                fit.behind, fit.state, fit.pace = fit.state, ahead, fit.pace + 1
                return value
        fit.behind, fit.pace = _copied(fit.state), 0
        value = sweep(fit.state)
        if value - bar < SLOW * abs(value):
            fit.pace = 1
        else:
            fit.behind = None
        return value

    def confirms(self) -> bool:
        """Begin anew: a swing may gain as little as a fit that has converged; the next sweep is plain, and tells."""
        if self.fit.pace <= 1:
            return True
        self.fit.pace = 0
        return False

    def settle(self) -> None:
        """Forget the sweep before; the state is a plain one."""
        self.fit.behind = None

    def _ahead(self, steps: Steps, state: State, behind: State) -> State:
        share = self.fit.pace / (self.fit.pace + 3.0)
        rows = self.holder.combine(partial(_ahead_rows, steps, share), state.rows, behind.rows)
        return State(rows, steps.normalize_shared(_moved(share, state.shared, behind.shared)))


class Squarem:
    """Two sweeps, then one from where they point to."""

    def __init__(self, fit: Fit, holder: Holder) -> None:
        self.fit, self.holder = fit, holder
        self.trail: list[State] = []  # states of this cycle
        self.plain: tuple[State, float] | None = None  # what stands if the extrapolation is refused, and its bar

    @property
    def at_rest(self) -> bool:
        """Whether the state alone says all (a checkpoint can be written here)."""
        return not self.trail and self.plain is None

    def advance(self, steps: Steps, sweep: Callable[[State], float]) -> float:
        """One sweep; every third sweep of a cycle starts from the extrapolated point, if that holds."""
        state = self.fit.state
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
            self.fit.longest = min(self.fit.longest * 1.5, 1e6)
            return value
        self.fit.longest = max(1.0, self.fit.longest / 4.0)
        state.rows, state.shared = plain.rows, plain.shared
        return sweep(state)

    def confirms(self) -> bool:
        """Say that it has: its sweeps are plain ones, from points that hold."""
        return True

    def settle(self) -> None:
        """A run that ends on an unjudged extrapolation ends on the plain sweep instead."""
        state = self.fit.state
        if self.plain is not None:
            state.rows, state.shared = self.plain[0].rows, self.plain[0].shared
            self.plain = None

    def _extrapolate(self, steps: Steps) -> tuple[Any, Tree]:
        rows, shared = [state.rows for state in self.trail], [state.shared for state in self.trail]
        r2, v2 = self.holder.total(_lengths, *rows) + _lengths(*shared)
        length = float(np.clip(np.sqrt(r2 / v2) if v2 > 0 else 1.0, 1.0, self.fit.longest))
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


def _moved(share: float, now: Tree, before: Tree) -> Tree:
    def move(b: Any, a: Any) -> Any:
        ahead = b - a
        ahead *= share
        ahead += b
        return ahead

    return tree_map(move, now, before)


def _ahead_rows(steps: Steps, share: float, now: Tree, before: Tree) -> Tree:
    return steps.normalize_rows(_moved(share, now, before))


def _copied(state: State) -> State:
    # leaves are replaced, never written to, by the steps: a shallow copy is a snapshot
    return State(list(state.rows) if isinstance(state.rows, list) else state.rows, state.shared)

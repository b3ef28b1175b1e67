"""Momentum for any model of the loop, with a safeguard that keeps the ascent.

With M one sweep, t_(k+1) = M(t_k + b_k (t_k - t_(k-1))), b_k = k / (k + 3) (Nesterov, 1983; of factorizations: Ang and
Gillis, 2019). It begins once a plain sweep gains little, so that the early climb, which decides on which hill the fit
ends, is that of plain sweeps; and it begins anew where the objective ahead is lower than at the last sweep: that sweep
is not counted, and the next one is plain.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from coview.engines.protocol import Holder, Steps
from coview.engines.state import Fit, State, Tree, tree_map

__all__ = ["Momentum"]

SLOW = 3e-4  # gain of a plain sweep, relative to the objective, below which momentum begins


class Momentum:
    """Sweeps from ahead of where the fit stands; between two sweeps the fit stands on a plain one."""

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
        """Tell whether a small gain means convergence: a swing may gain as little, and the next sweep is plain."""
        if self.fit.pace <= 1:
            return True
        self.fit.pace = 0
        return False

    def _ahead(self, steps: Steps, state: State, behind: State) -> State:
        share = self.fit.pace / (self.fit.pace + 3.0)
        rows = self.holder.combine(partial(_ahead_rows, steps, share), state.rows, behind.rows)
        return State(rows, steps.normalize_shared(_moved(share, state.shared, behind.shared)))


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

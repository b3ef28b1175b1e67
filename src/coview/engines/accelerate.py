"""Momentum for any model of the loop, with a safeguard that keeps the ascent.

M is one sweep. Momentum (Nesterov, 1983; of factorizations: Ang and Gillis, 2019) sweeps from a point ahead of where
the fit stands: t_(k+1) = M(t_k + b_k (t_k - t_(k-1))) with b_k = k / (k + 3). It begins once a plain sweep gains
little, so that the early climb, which decides on which hill the fit ends, is that of plain sweeps; and it begins anew
where the objective ahead is lower than at the last sweep: that sweep is not counted, and the next one is plain.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from coview.engines.protocol import Holder, Steps
from coview.engines.state import Fit, State, Tree, tree_map

__all__ = ["SLOW", "Momentum"]

SLOW = 3e-4  # gain of a plain sweep, relative to the objective, below which momentum begins


class Momentum:
    """Sweeps from ahead of where the fit stands; between two sweeps the fit stands on a plain one."""

    def __init__(self, fit: Fit, holder: Holder) -> None:
        self.fit, self.holder = fit, holder

    def advance(self, steps: Steps, sweep: Callable[[State], float]) -> float:
        """One sweep, from ahead of the state where the objective there holds; returns where it started from."""
        fit = self.fit
        bar = fit.objective
        if fit.behind is not None and fit.pace > 0:
            ahead = self._ahead(steps, fit.state, fit.behind)
            value = sweep(ahead)  # if interrupted here, the state is that of before
            if np.isfinite(value) and value >= bar:
                fit.behind, fit.state, fit.pace = fit.state, ahead, fit.pace + 1
                return value
        # the steps replace leaves and never write to them: a shallow copy is a snapshot
        rows = list(fit.state.rows) if isinstance(fit.state.rows, list) else fit.state.rows
        fit.behind, fit.pace = State(rows, fit.state.shared), 0
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

    def _ahead(self, steps: Steps, state: State, behind: State) -> State:
        share = self.fit.pace / (self.fit.pace + 3.0)
        rows = self.holder.combine(partial(_move_rows, steps, share), state.rows, behind.rows)
        return State(rows, steps.normalize_shared(_move(share, state.shared, behind.shared)))


def _move(share: float, now: Tree, before: Tree) -> Tree:
    def move(b: Any, a: Any) -> Any:
        ahead = b - a
        ahead *= share
        ahead += b
        return ahead

    return tree_map(move, now, before)


def _move_rows(steps: Steps, share: float, now: Tree, before: Tree) -> Tree:
    return steps.normalize_rows(_move(share, now, before))

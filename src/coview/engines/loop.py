"""The one loop that drives every batch model: sweeps, tolerance, restarts, history, time budget, stop and resume.

A sweep is the row step over every block, then one shared step. The loop knows nothing of any model, and nothing of
where the rows are: a holder passes over them.

Momentum: with M one sweep, t_(k+1) = M(t_k + b_k (t_k - t_(k-1))), b_k = k / (k + 3) (Nesterov, 1983; of
factorizations: Ang and Gillis, 2019), with a safeguard that keeps the ascent. It begins once a plain sweep gains
little, so that the early climb, which decides on which hill the fit ends, is that of plain sweeps; and it begins anew
where the objective ahead is lower than at the last sweep: that sweep is not counted, and the next one is plain.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from coview.engines.checkpoint import CheckpointFile
from coview.engines.deadline import NO_DEADLINE, Deadline
from coview.engines.protocol import Block, Engine, Holder, Steps
from coview.engines.state import Fit, State, Sweep, Tree, tree_map
from coview.exceptions import InterruptedFitWarning
from coview.utils.warn import warn_user

__all__ = ["Momentum", "Options", "fold_in", "run", "sweep"]

SLOW = 3e-4  # gain of a plain sweep, relative to the objective, below which momentum begins
NEXT = 1.5  # times the last sweep: what a further one takes, with the pass that measures where it ends
_CROWDED = 0.75  # share of rows still moving above which those at rest stay among them


@dataclass
class Options:
    """How long to go on, and who watches."""

    max_iter: int = 200
    tol: float = 1e-5
    n_init: int = 1
    momentum: bool = False
    deadline: Deadline = NO_DEADLINE
    callbacks: Iterable[Callable[[Sweep], Any]] = ()
    checkpoint: CheckpointFile | None = None


def run(steps: Steps, holder: Holder, begin: Callable[[int], tuple[Tree, int]], options: Options) -> Fit:
    """Fit from `n_init` starts and keep the best; goes on from a checkpoint if there is one.

    `begin(restart)` gives the shared parameters of a start and the seed of its rows.
    """
    best: Fit | None = None
    first, current, took = 0, None, 0.0
    if options.checkpoint is not None and (stored := options.checkpoint.read(holder)) is not None:
        first, current, best = stored
    for restart in range(first, options.n_init):
        if best is not None and current is None and options.deadline.left() < NEXT * took:
            best.stopped_by = "time"  # whatever ended the best of those that were made: the others were not
            break
        if current is None:
            shared, seed = begin(restart)
            current = Fit(State(holder.start(steps, shared, seed, restart), shared))
        fit = _Run(steps, holder, options, restart, best).go(current)
        current, took = None, fit.history["seconds"][-1] / max(fit.n_iter, 1)
        if best is None or fit.objective > best.objective:
            best = fit
        if fit.stopped_by in ("interrupt", "time", "callback"):
            best.stopped_by = fit.stopped_by
            break
    if best is None:
        raise ValueError(f"n_init must be at least 1, got {options.n_init}.")
    if options.checkpoint is not None and best.stopped_by not in ("interrupt", "time"):
        options.checkpoint.remove()
    return best


def sweep(steps: Steps, holder: Holder, state: State) -> float:
    """One sweep, in place; returns the objective of the state before it."""
    state.rows, stats = holder.step(steps, state.rows, state.shared)
    state.shared = steps.shared_step(stats, state.shared, holder.ops)
    return float(stats["objective"])


@dataclass
class _Run:
    """One start, sweep by sweep."""

    steps: Steps
    holder: Holder
    options: Options
    restart: int
    best: Fit | None

    def go(self, fit: Fit) -> Fit:
        """Sweep until something says stop; the last objective is measured in a pass of its own."""
        clock = time.monotonic() - (fit.history["seconds"][-1] if fit.history["seconds"] else 0.0)
        momentum = Momentum(fit, self.holder) if self.options.momentum else None
        advance = partial(sweep, self.steps, self.holder)
        try:
            while fit.n_iter < self.options.max_iter:
                began = time.monotonic()
                before = advance(fit.state) if momentum is None else momentum.advance(self.steps, advance)
                fit.history["objective"].append(before)
                fit.history["seconds"].append(time.monotonic() - clock)
                fit.n_iter += 1
                if self._should_stop(fit, time.monotonic() - began, momentum):
                    break
                if self.options.checkpoint is not None:
                    self.options.checkpoint.maybe_write(self.restart, fit, self.best, self.holder)
        except KeyboardInterrupt:
            fit.stopped_by = "interrupt"
            warn_user(
                f"The fit was interrupted after {fit.n_iter} of {self.options.max_iter} sweeps; the model keeps what "
                "it has learned so far.",
                InterruptedFitWarning,
                inside=True,  # a model that fits this one goes on with what it has
            )
        fit.behind = None
        if len(fit.history["objective"]) == fit.n_iter:
            last = self.holder.objective(self.steps, fit.state.rows, fit.state.shared)
            fit.history["objective"].append(last)
            fit.history["seconds"].append(time.monotonic() - clock)
        return fit

    def _should_stop(self, fit: Fit, took: float, momentum: Momentum | None) -> bool:
        """Tell the callbacks, and whether to end; `took` are the seconds of the last sweep."""
        values, seconds, options = fit.history["objective"], fit.history["seconds"][-1], self.options
        change = np.inf
        if len(values) > 1:
            change = (values[-1] - values[-2]) / max(abs(values[-1]), np.finfo(float).tiny)
        report = Sweep(
            self.restart, options.n_init, fit.n_iter, options.max_iter, values[-1], float(change), seconds, fit.state
        )
        # every callback hears of every sweep, even when an earlier one asked to stop
        if any([bool(callback(report)) for callback in options.callbacks]):  # noqa: C419
            fit.stopped_by = "callback"
            return True
        if options.tol > 0 and abs(change) <= options.tol and (momentum is None or momentum.confirms()):
            fit.converged, fit.stopped_by = True, "tol"
            return True
        refused = momentum is not None  # a sweep ahead may be, and then a plain one follows
        if options.deadline.left() < (NEXT + refused) * took:
            fit.stopped_by = "time"
            return True
        return False


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


def fold_in(
    step: Callable[[Block, Tree, int], tuple[Tree, np.ndarray]],
    block: Block,
    rows: Tree,
    ops: Engine,
    *,
    max_iter: int,
    tol: float,
) -> Tree:
    """Row state of new objects with the shared parameters fixed; each row stops by itself.

    `step` gives the next state of some rows, and how far each of them was from rest; it is told how many steps there
    were. A row rests once that is `tol` or less, so what an object gets does not depend on its company.
    """
    result = {name: ops.to_numpy(array).copy() for name, array in rows.items()}
    active, going = np.arange(len(block)), np.ones(len(block), dtype=bool)
    part = block
    for number in range(max_iter):
        new, unrest = step(part, rows, number)
        whole = going.all()
        for name, known in result.items():
            fresh = ops.to_numpy(new[name])
            known[active if whole else active[going]] = fresh if whole else fresh[going]
        going &= unrest > tol
        rows = new
        if not going.any():
            break
        if going.sum() > _CROWDED * len(going):
            continue  # a few rows at rest are carried along unread: that costs less than taking the others out
        keep = np.flatnonzero(going)
        active, going = active[keep], going[keep]
        part = part.take(keep, ops)
        rows = {name: ops.asarray(ops.to_numpy(array)[keep]) for name, array in new.items()}
    return result

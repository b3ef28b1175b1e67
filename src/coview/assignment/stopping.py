"""When to stop: no label changes any more, or labeled objects that were held out say that more sweeps would hurt.

Held-out agreement: in each fold some labeled objects are treated as unlabeled. After 0, 1, 2, ... sweeps it is known
how many of them get their own label back; the number of sweeps with the best mean over the folds is taken, and of
equals the smallest.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from coview.assignment.hierarchical import agrees
from coview.assignment.steps import AssignmentSteps
from coview.engines.holders import InMemory
from coview.engines.loop import Options, Sweep, run
from coview.engines.protocol import Block, Engine
from coview.engines.steps import Tree

__all__ = ["Watch", "best_sweeps", "make_folds", "without_labels"]


class Watch:
    """A callback of the loop: keeps the number of flipped bits, and says stop when there are none."""

    def __init__(self, until_still: bool, most: int | None = None) -> None:
        self.until_still, self.most = until_still, most
        self.flips: list[float] = []
        self.held_out: list[float] = []
        self.reason = ""

    def __call__(self, sweep: Sweep) -> bool:
        self.flips.append(float(sum(int(rows["flips"].sum()) for rows in sweep.state.rows)))
        if self.until_still and self.flips[-1] == 0:
            self.reason = "still"
        elif self.most is not None and sweep.number >= self.most:
            self.reason = "held_out"
        return bool(self.reason)


def make_folds(codes: np.ndarray, n_folds: int, seed: int) -> np.ndarray:
    """Fold of each labeled object, class by class at random; -1 for the unlabeled and for the only one of its class.

    Examples
    --------
    >>> import numpy as np
    >>> make_folds(np.array([0, 0, 1, -1]), 2, seed=0).tolist() in ([0, 1, -1, -1], [1, 0, -1, -1])
    True
    """
    rng = np.random.default_rng(seed)
    folds = np.full(len(codes), -1)
    for code in np.unique(codes[codes >= 0]):
        rows = rng.permutation(np.flatnonzero(codes == code))
        if len(rows) > 1:
            # a random first fold: else all small classes would be in the first ones
            folds[rows] = (np.arange(len(rows)) + rng.integers(n_folds)) % n_folds
    return folds


def best_sweeps(
    steps: AssignmentSteps,
    blocks: list[Block],
    begin: Callable[[list[Block]], Tree],
    codes: np.ndarray,
    engine: Engine,
    n_folds: int,
    max_iter: int,
    seed: int,
) -> tuple[int | None, list[float]]:
    """Number of sweeps with the best held-out agreement, and the agreement after each number; None if none can tell."""
    folds = make_folds(codes, n_folds, seed)
    curves = []
    for fold in range(n_folds):
        held = folds == fold
        if held.any():
            part = [without_labels(block, held[block.start : block.stop], engine) for block in blocks]
            curves.append(_agreement(steps, part, begin(part), codes, held, engine, max_iter))
    if not curves:
        warnings.warn(
            "early_stopping needs a class with two labeled objects or more; none has, so it sweeps to the end.",
            UserWarning,
            stacklevel=4,
        )
        return None, []
    longest = max(map(len, curves))
    mean = np.mean([curve + [curve[-1]] * (longest - len(curve)) for curve in curves], axis=0)
    return int(mean.argmax()), mean.tolist()


def _agreement(
    steps: AssignmentSteps,
    blocks: list[Block],
    shared: Tree,
    codes: np.ndarray,
    held: np.ndarray,
    engine: Engine,
    max_iter: int,
) -> list[float]:
    """Share of the held-out objects that get their label back by the centroids after 0, 1, ... sweeps."""
    curve: list[float] = []

    def look(sweep: Sweep) -> bool:
        found = np.concatenate([rows["codes"] for rows in sweep.state.rows])
        curve.append(float(np.mean(agrees(found[held], codes[held], steps.rule.ontology))))
        return not any(rows["flips"].any() for rows in sweep.state.rows)

    run(steps, InMemory(blocks, engine), lambda restart: (shared, 0), Options(max_iter, 0.0, callbacks=[look]))
    return curve


def without_labels(block: Block, held: np.ndarray, engine: Engine) -> Block:
    """The same block with some labels hidden."""
    codes = engine.to_numpy(block.extra["code"]).copy()
    codes[held] = -1
    given = engine.to_numpy(block.extra["given"]).copy()
    given[held] = False
    extra = {"code": engine.asarray(codes), "given": engine.asarray(given)}
    return Block(block.start, block.stop, block.views, block.present, extra)

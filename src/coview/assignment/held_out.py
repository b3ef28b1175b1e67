"""Choices by labeled objects that are held out: the number of sweeps, and the weights of the views.

In each fold some labeled objects are treated as unlabeled.

Sweeps. After 0, 1, 2, ... sweeps it is known how many held-out objects get their own label back; the number of sweeps
with the best mean over the folds is taken, and of equals the smallest.

Weights. Cosines of a short text are larger than those of a long one, whatever they are worth, so a poor view can drown
a good one. Held-out objects are scored by the centroids of the others. From equal weights on, the weight of one view is
doubled or halved, the one that helps most,

    as long as   mean gain > 2 standard errors of it      (gain of an object: label right now minus right before)

so that few labels, which cannot tell, leave the weights equal. Weights have a mean of 1: scores stay as large as the
costs of the label program expect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from coview.assignment.decision_rules import DecisionRule
from coview.assignment.label_sets import agrees
from coview.assignment.seeded_kmeans_steps import AssignmentSteps
from coview.engines.deadline import NO_DEADLINE, Deadline
from coview.engines.loop import Options, run
from coview.engines.memory import MemoryHolder
from coview.engines.protocol import Block, Engine
from coview.engines.state import Sweep, Tree
from coview.utils.folds import deal_folds
from coview.utils.warn import warn_user

__all__ = ["best_sweeps", "best_weights", "weigh_views"]

_ERRORS = 2.0  # standard errors that a gain must have
_MOST = 16.0  # largest weight over smallest


def best_sweeps(
    steps: AssignmentSteps,
    blocks: list[Block],
    begin: Callable[[list[Block]], Tree],
    codes: np.ndarray,
    engine: Engine,
    n_folds: int,
    max_iter: int,
    seed: int,
    deadline: Deadline = NO_DEADLINE,
) -> tuple[int | None, list[float]]:
    """Number of sweeps with the best held-out agreement, and the agreement after each number; None if none can tell.

    Folds share the time until the deadline; those that it leaves out do not count.
    """
    folds = deal_folds(codes, n_folds, seed)
    curves: list[list[float]] = []
    for fold in range(n_folds):
        held = folds == fold
        if curves and deadline.is_over():
            break
        if held.any():
            part = [hide_labels(block, held[block.start : block.stop], engine) for block in blocks]
            options = Options(max_iter, 0.0, deadline=deadline.share(1 / (n_folds - fold)))
            curves.append(_agreement(steps, part, begin(part), codes, held, engine, options))
    if not curves:
        warn_user(
            "early_stopping needs a class with at least two labeled objects, but there is none: the fit is not stopped "
            "early.",
            UserWarning,
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
    options: Options,
) -> list[float]:
    """Share of the held-out objects that get their label back by the centroids after 0, 1, ... sweeps."""
    curve: list[float] = []

    def look(sweep: Sweep) -> bool:
        assigned = np.concatenate([rows["codes"] for rows in sweep.state.rows])
        curve.append(float(np.mean(agrees(assigned[held], codes[held], steps.rule.ontology))))
        return not any(rows["flips"].any() for rows in sweep.state.rows)

    run(steps, MemoryHolder(blocks, engine), lambda restart: (shared, 0), replace(options, callbacks=[look]))
    return curve


def hide_labels(block: Block, held: np.ndarray, engine: Engine) -> Block:
    """The same block with some labels hidden."""
    codes = engine.to_numpy(block.extra["code"]).copy()
    codes[held] = -1
    labels = engine.to_numpy(block.extra["given"]).copy()
    labels[held] = False
    extra = {"code": engine.asarray(codes), "given": engine.asarray(labels)}
    return Block(block.start, block.stop, block.views, block.present, extra)


def weigh_views(
    steps: AssignmentSteps,
    blocks: list[Block],
    begin: Callable[[list[Block]], Tree],
    codes: np.ndarray,
    engine: Engine,
    n_folds: int,
    seed: int,
    deadline: Deadline = NO_DEADLINE,
) -> np.ndarray:
    """Weight of each view by held-out labeled objects; all 1 with a warning where none can be held out.

    `begin` makes centroids from the labeled objects of blocks. After the deadline no further fold is held out.
    """
    folds = deal_folds(codes, n_folds, seed)
    scores: list[np.ndarray] = []
    present: list[np.ndarray] = []
    truth: list[np.ndarray] = []
    for fold in range(n_folds):
        held = folds == fold
        if not held.any():
            continue
        if truth and deadline.is_over():
            break
        shared = begin([hide_labels(block, held[block.start : block.stop], engine) for block in blocks])
        for block in blocks:
            rows = np.flatnonzero(held[block.start : block.stop])
            if len(rows):
                scores.append(steps.scores(block, shared, engine)[rows])
                present.append(steps.present(block)[rows])
                truth.append(codes[block.start : block.stop][rows])
    if not truth:
        warn_user(
            "view_weights='held_out' needs a class with at least two labeled objects, but there is none: all views get "
            "the same weight.",
            UserWarning,
        )
        return np.ones(len(blocks[0].views))
    return best_weights(steps.rule, np.concatenate(scores), np.concatenate(present), np.concatenate(truth))


def best_weights(rule: DecisionRule, scores: np.ndarray, present: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Weights of the views by the scores (n_objects, n_views, n_labels) of objects whose label is known."""

    def right(weights: np.ndarray) -> np.ndarray:
        weighing = replace(rule, weights=tuple(weights))
        decided, _ = weighing.decide(scores, weighing.assign(scores, present), present)
        return agrees(decided, truth, rule.ontology).astype(np.float64)

    weights = np.ones(scores.shape[1])
    now = right(weights)
    while len(weights) > 1:
        steps = [_scaled(weights, v, factor) for v in range(len(weights)) for factor in (2.0, 0.5)]
        tried = [(step, right(step)) for step in steps if step.max() <= _MOST * step.min()]
        if not tried:
            break
        step, then = max(tried, key=lambda pair: pair[1].mean())
        gain = then - now
        if gain.mean() <= _ERRORS * gain.std() / np.sqrt(len(gain)):
            break
        weights, now = step, then
    return weights


def _scaled(weights: np.ndarray, view: int, factor: float) -> np.ndarray:
    scaled = weights.copy()
    scaled[view] *= factor
    return scaled / scaled.mean()

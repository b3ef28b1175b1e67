"""Choices by labeled objects that are held out: the number of iterations, and the weights of the views.

In each fold some labeled objects are treated as unlabeled.

Iterations. After 0, 1, 2, ... iterations it is known how many held-out objects get their own label back; the number
with the best mean over the folds is taken, and of equals the smallest.

Weights. Cosines of a short text are larger than those of a long one, whatever they are worth, so a poor view can drown
a good one. Held-out objects are scored by the centroids of the others. From equal weights on, the weight of one view is
doubled or halved, the one that helps most,

    as long as   mean gain > 2 standard errors of it      (gain of an object: label right now minus right before)

so that few labels, which cannot tell, leave the weights equal. Weights have a mean of 1: scores stay as large as the
costs of the label program expect.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from coview.assignment.decision_rules import DecisionRule
from coview.assignment.label_sets import agrees
from coview.engines.loop import NO_DEADLINE, Deadline, Iteration, Options, run
from coview.engines.protocol import Block, Engine, Holder, Tree
from coview.utils.sampling import deal_folds
from coview.utils.warn import warn_user

if TYPE_CHECKING:
    from coview.assignment.seeded_kmeans import AssignmentSteps

__all__ = ["choose_max_iter", "fit_view_weights", "weigh_views"]


def choose_max_iter(
    steps: AssignmentSteps,
    blocks: list[Block],
    engine: Engine,
    codes: np.ndarray,
    n_folds: int,
    seed: int,
    max_iter: int,
    deadline: Deadline = NO_DEADLINE,
) -> tuple[int | None, list[float]]:
    """Choose the number of iterations with the best held-out agreement; and the agreements. None if none can tell.

    Folds share the time until the deadline; those that it leaves out do not count.
    """
    curves: list[list[float]] = []
    for fold, (held, part) in enumerate(_hold_out(blocks, engine, codes, n_folds, seed, deadline)):
        curve: list[float] = []
        shared = steps.seeds(part, engine)

        def look(iteration: Iteration, held: np.ndarray = held, curve: list[float] = curve) -> bool:
            """Share of the held-out objects that get their label back by the centroids before this iteration."""
            assigned = np.concatenate([rows["codes"] for rows in iteration.state.rows])
            curve.append(float(np.mean(agrees(assigned[held], codes[held], steps.rule.ontology))))
            return iteration.state.shared["flips"][-1] == 0

        options = Options(max_iter, 0.0, deadline=deadline.share(1 / (n_folds - fold)), callbacks=[look])
        run(steps, Holder(part, engine), partial(_begin, shared), options)
        curves.append(curve)
    if not curves:
        _warn_of_few("early_stopping", "the fit is not stopped early")
        return None, []
    # a fold that has come to rest stays where it is
    longest = max(map(len, curves))
    mean = np.mean([curve + [curve[-1]] * (longest - len(curve)) for curve in curves], axis=0)
    # of equals the first: fewer iterations lean less on unlabeled objects
    return int(mean.argmax()), mean.tolist()


def weigh_views(
    steps: AssignmentSteps,
    blocks: list[Block],
    engine: Engine,
    codes: np.ndarray,
    n_folds: int,
    seed: int,
    deadline: Deadline = NO_DEADLINE,
) -> np.ndarray:
    """Weight of each view by held-out labeled objects; all 1 with a warning where none can be held out."""
    found: list[tuple[np.ndarray, ...]] = []
    for held, part in _hold_out(blocks, engine, codes, n_folds, seed, deadline):
        shared = steps.seeds(part, engine)
        # by the centroids of the labeled objects alone, which the iterations start from
        for block in blocks:
            rows = held[block.start : block.stop]
            truth = codes[block.start : block.stop][rows]
            found.append((steps.scores(block, shared, engine)[rows], steps.present(block)[rows], truth))
    if not found:
        _warn_of_few("view_weights='held_out'", "all views get the same weight")
        return np.ones(len(blocks[0].views))
    return fit_view_weights(steps.rule, *map(np.concatenate, zip(*found)))


def fit_view_weights(rule: DecisionRule, scores: np.ndarray, present: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Weights of the views by the scores (n_objects, n_views, n_labels) of objects whose label is known."""

    def right(weights: np.ndarray) -> np.ndarray:
        weighing = replace(rule, weights=tuple(weights))
        decided = weighing.decide(scores, weighing.assign(scores, present), present)
        return agrees(decided, truth, rule.ontology).astype(np.float64)

    n_views = scores.shape[1]
    weights = np.ones(n_views)
    now = right(weights)
    while n_views > 1:
        scaled = [weights * np.where(np.arange(n_views) == v, by, 1) for v in range(n_views) for by in (2.0, 0.5)]
        # no view counts more than 16 times as much as another
        tried = [(step / step.mean(), right(step / step.mean())) for step in scaled if step.max() <= 16 * step.min()]
        step, then = max(tried, key=lambda pair: pair[1].mean())
        gain = then - now
        # two standard errors: with few labels, the best of many weights is mostly luck
        if gain.mean() <= 2 * gain.std() / np.sqrt(len(gain)):
            break
        weights, now = step, then
    return weights


def _hold_out(
    blocks: list[Block], engine: Engine, codes: np.ndarray, n_folds: int, seed: int, deadline: Deadline
) -> Iterator[tuple[np.ndarray, list[Block]]]:
    """Yield which objects a fold holds out, and the blocks without their labels; after the deadline no second fold."""
    folds = deal_folds(codes, n_folds, seed)
    for number, fold in enumerate(np.unique(folds[folds >= 0])):
        # one fold at least, however late it is: without any there is nothing to choose by
        if number and deadline.is_over():
            return
        held = folds == fold
        yield held, [_hide_labels(block, held[block.start : block.stop], engine) for block in blocks]


def _begin(shared: Tree, restart: int) -> tuple[Tree, int]:
    return shared, 0


def _hide_labels(block: Block, held: np.ndarray, engine: Engine) -> Block:
    """The same block with some labels hidden."""
    codes = np.where(held, -1, engine.to_numpy(block.extra["code"]))
    given = engine.to_numpy(block.extra["given"]) & ~held[:, None]
    extra: dict[str, Any] = {"code": engine.asarray(codes), "given": engine.asarray(given)}
    return replace(block, extra=extra)


def _warn_of_few(what: str, instead: str) -> None:
    warn_user(f"{what} needs a class with at least two labeled objects, but there is none: {instead}.", UserWarning)

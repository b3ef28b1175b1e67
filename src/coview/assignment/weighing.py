"""How much each view counts: weights that give labeled objects their labels back when they are held out.

Cosines of a short text are larger than those of a long one, whatever they are worth, so a poor view can drown a good
one. In each fold some labeled objects are treated as unlabeled and scored by the centroids of the others. From equal
weights on, the weight of one view is doubled or halved, the one that helps most,

    as long as   mean gain > 2 standard errors of it      (gain of an object: label right now minus right before)

so that few labels, which cannot tell, leave the weights equal. Weights have a mean of 1: scores stay as large as the
other terms of the program expect.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from coview.assignment.combine import Rule
from coview.assignment.hierarchical import agrees
from coview.assignment.steps import AssignmentSteps
from coview.assignment.stopping import make_folds, without_labels
from coview.engines.protocol import Block, Engine
from coview.engines.steps import Tree

__all__ = ["best_weights", "weigh_views"]

_ERRORS = 2.0  # standard errors that a gain must have
_MOST = 16.0  # largest weight over smallest


def weigh_views(
    steps: AssignmentSteps,
    blocks: list[Block],
    begin: Callable[[list[Block]], Tree],
    codes: np.ndarray,
    engine: Engine,
    n_folds: int,
    seed: int,
) -> np.ndarray:
    """Weight of each view by held-out labeled objects; all 1 with a warning where none can be held out.

    `steps` score without weights; `begin` makes centroids from the labeled objects of blocks.
    """
    folds = make_folds(codes, n_folds, seed)
    scores, present, truth = [], [], []
    for fold in range(n_folds):
        held = folds == fold
        if not held.any():
            continue
        shared = begin([without_labels(block, held[block.start : block.stop], engine) for block in blocks])
        for block in blocks:
            rows = np.flatnonzero(held[block.start : block.stop])
            if len(rows):
                scores.append(steps.scores(block, shared, engine)[rows])
                present.append(steps.present(block)[rows])
                truth.append(codes[block.start : block.stop][rows])
    if not truth:
        warnings.warn(
            "view_weights='held_out' needs a class with two labeled objects or more; none has, so all views count "
            "the same.",
            UserWarning,
            stacklevel=4,
        )
        return np.ones(len(blocks[0].views))
    return best_weights(steps.rule, np.concatenate(scores), np.concatenate(present), np.concatenate(truth))


def best_weights(rule: Rule, scores: np.ndarray, present: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Weights of the views by the scores (n_objects, n_views, n_labels) of objects whose label is known.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 3, 200)
    >>> good, poor = 0.2 * np.eye(3)[truth] + 0.1 * rng.random((200, 3)), rng.random((200, 3))
    >>> best_weights(Rule("sum"), np.stack([good, poor], 1), np.ones((200, 2), dtype=bool), truth).round(2).tolist()
    [1.78, 0.22]
    """

    def right(weights: np.ndarray) -> np.ndarray:
        weighed = scores * weights[:, None].astype(scores.dtype)
        found, _ = rule.decide(weighed, rule.assign(weighed, present), present)
        return agrees(found, truth, rule.ontology).astype(np.float64)

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
    found = weights.copy()
    found[view] *= factor
    return found / found.mean()

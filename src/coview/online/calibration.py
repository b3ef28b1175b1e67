"""Probabilities from scores, learned as the scores come: softmax(slope x scores), one slope, no scores kept.

    log slope <- argmin  sum_batch -log p(label) + precision (log slope - old log slope)^2 / 2

by Gauss-Newton steps; the precision is then raised by the curvature of the batch. What was learned fades with a
half-life, shorter while the model is young, so that the slope follows a model that is still learning. At first the
slope is one by the scale of the scores, so that the units of the data and the size of the weights do not matter. The
largest score stays the most probable class.
"""

from __future__ import annotations

import numpy as np

from coview.inspection import softmax

__all__ = ["class_probabilities", "new_calibration", "update_calibration"]

_HALF_LIFE = 10_000.0  # most rows after which what was learned counts half
_YOUNG = 0.25  # as a share of the rounds so far: weights that are still growing make larger scores than before


def new_calibration() -> dict[str, float]:
    """Return the calibration before any row."""
    return {"slope": 1.0, "precision": 0.0}


def update_calibration(
    known: dict[str, float], scores: np.ndarray, codes: np.ndarray, n_rounds: float = np.inf
) -> dict[str, float]:
    """Return the calibration after one batch of scores (rows,) or (rows, classes) and codes (-1: no label).

    `n_rounds` is how many rows the model that made the scores has learned from.
    """
    labeled = codes >= 0
    logits, codes = _logits(scores[labeled]), codes[labeled]
    scale = float(np.sqrt(np.mean(logits.std(axis=1) ** 2))) if len(codes) else 0.0
    if not scale > 0:
        return known
    own = logits[np.arange(len(codes)), codes]
    half_life = min(_HALF_LIFE, max(_YOUNG * n_rounds, 1.0))
    precision = 1.0 + known["precision"] * 0.5 ** (len(codes) / half_life)
    before = known["slope"] if known["precision"] else 1.0 / scale
    slope, curvature = before, 0.0
    for _ in range(20):
        shares = softmax(logits, slope)
        mean = (shares * logits).sum(axis=1)
        curvature = slope**2 * float((shares * (logits - mean[:, None]) ** 2).sum())
        gradient = slope * float((mean - own).sum()) + precision * np.log(slope / before)
        # a step of at most twofold: far from the optimum the curvature says little
        factor = float(np.exp(np.clip(-gradient / (curvature + precision), -np.log(2.0), np.log(2.0))))
        slope *= factor
        if abs(factor - 1.0) <= 1e-6:
            break
    return {"slope": slope, "precision": precision - 1.0 + curvature}


def class_probabilities(known: dict[str, float], scores: np.ndarray) -> np.ndarray:
    """Return softmax(slope x scores) (rows, classes); scores of two classes are one column."""
    return softmax(_logits(scores), known["slope"]).astype(scores.dtype, copy=False)


def _logits(scores: np.ndarray) -> np.ndarray:
    if scores.ndim == 2:
        return scores.astype(np.float64, copy=False)
    return np.column_stack([np.zeros(len(scores)), scores]).astype(np.float64, copy=False)

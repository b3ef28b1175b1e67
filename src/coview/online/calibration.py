"""Probabilities from scores, learned as the scores come: softmax(slope x scores), one slope, no scores kept.

    slope <- argmin  sum_batch -log p(label) + precision (slope - old slope)^2 / 2

by Newton steps; the precision is then raised by the curvature of the batch and fades with a half-life, so that the
slope follows a model that is still learning. The largest score stays the most probable class.
"""

from __future__ import annotations

import numpy as np

from coview.inspection import softmax

__all__ = ["class_probabilities", "new_calibration", "update_calibration"]

_HALF_LIFE = 10_000.0  # rows after which what was learned counts half
_LEAST = 1e-3  # a slope below would turn the order of the classes around


def new_calibration() -> dict[str, float]:
    """Return the calibration before any row: slope 1, held loosely."""
    return {"slope": 1.0, "precision": 1.0}


def update_calibration(known: dict[str, float], scores: np.ndarray, codes: np.ndarray) -> dict[str, float]:
    """Return the calibration after one batch of scores (rows,) or (rows, classes) and codes (-1: no label)."""
    labeled = codes >= 0
    if not labeled.any():
        return known
    logits, codes = _logits(scores[labeled]), codes[labeled]
    own = logits[np.arange(len(codes)), codes]
    precision = known["precision"] * 0.5 ** (len(codes) / _HALF_LIFE)
    slope, curvature = known["slope"], 0.0
    for _ in range(20):
        shares = softmax(logits, slope)
        mean = (shares * logits).sum(axis=1)
        curvature = float((shares * (logits - mean[:, None]) ** 2).sum())
        gradient = float((mean - own).sum()) + precision * (slope - known["slope"])
        # a step of at most twofold: far from the optimum the curvature says little
        following = min(max(slope - gradient / (curvature + precision), 0.5 * slope, _LEAST), 2.0 * slope)
        if abs(following - slope) <= 1e-6 * slope:
            break
        slope = following
    return {"slope": slope, "precision": precision + curvature}


def class_probabilities(known: dict[str, float], scores: np.ndarray) -> np.ndarray:
    """Return softmax(slope x scores) (rows, classes); scores of two classes are one column."""
    return softmax(_logits(scores), known["slope"]).astype(scores.dtype, copy=False)


def _logits(scores: np.ndarray) -> np.ndarray:
    if scores.ndim == 2:
        return scores.astype(np.float64, copy=False)
    return np.column_stack([np.zeros(len(scores)), scores]).astype(np.float64, copy=False)

"""Memberships of objects in groups, made of what models have: labels, scores, distances, coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from coview.views.views import Views

__all__ = ["SHARPNESS", "both_sides", "dense", "label_codes", "near_centers", "one_hot", "shares_of", "softmax"]

SHARPNESS = 12.0  # how fast a membership grows with a cosine


def dense(values: Any) -> np.ndarray:
    """Return an answer as a dense matrix of floats; of views, side by side."""
    if isinstance(values, Views):
        values = values.hstack()
    array = np.asarray(values.toarray() if sparse.issparse(values) else values)
    array = array if array.dtype.kind == "f" else array.astype(np.float64)
    return array.reshape(-1, 1) if array.ndim == 1 else array


def label_codes(labels: Any, classes: list[Any]) -> np.ndarray:
    """Return positions of labels among classes; -1 for those that are none."""
    position = {label: i for i, label in enumerate(classes)}
    return np.array([position.get(label, -1) for label in np.asarray(labels).tolist()], dtype=np.int64)


def one_hot(codes: np.ndarray, n_groups: int) -> np.ndarray:
    """Return memberships of objects that belong to one group each; rows of code -1 are zero.

    Examples
    --------
    >>> one_hot(np.array([1, -1]), 2).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    return (np.asarray(codes)[:, None] == np.arange(n_groups)).astype(np.float64)


def softmax(scores: np.ndarray, sharpness: float = 1.0) -> np.ndarray:
    """Return memberships that follow scores; rows sum to one.

    Examples
    --------
    >>> softmax(np.array([[0.0, 0.0]])).tolist()
    [[0.5, 0.5]]
    """
    scaled = sharpness * np.asarray(scores, dtype=np.float64)
    shares = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def shares_of(scores: Any) -> np.ndarray:
    """Return scores without their negative part, as rows that sum to one (or to zero where there is none).

    Examples
    --------
    >>> shares_of(np.array([[3.0, 1.0, -1.0]])).tolist()
    [[0.75, 0.25, 0.0]]
    """
    positive = np.maximum(np.asarray(scores, dtype=np.float64), 0)
    return positive / np.maximum(positive.sum(axis=1, keepdims=True), 1e-300)


def near_centers(distances: np.ndarray) -> np.ndarray:
    """Return memberships by distances from centers, 1 / sum over k of (d / d_k) ** 12, as fuzzy k-means does.

    Examples
    --------
    >>> near_centers(np.array([[1.0, 1.0], [0.0, 5.0]])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    distances = np.asarray(distances, dtype=np.float64)
    nearest = distances.min(axis=1, keepdims=True)
    shares = np.divide(nearest, distances, out=np.ones_like(distances), where=distances > 0) ** SHARPNESS
    return shares / shares.sum(axis=1, keepdims=True)


def both_sides(coefficients: Any) -> np.ndarray:
    """Return one row (or column, of scores) for each class: of two classes a linear model keeps only the second."""
    array = np.asarray(coefficients.toarray() if sparse.issparse(coefficients) else coefficients)
    if array.ndim == 1:
        return np.column_stack([-array, array])
    return np.vstack([-array, array]) if len(array) == 1 else array

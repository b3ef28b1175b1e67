"""Parameters that are one number for all views, or one number per view."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["check_sample_weight", "per_view"]


def per_view(parameter: str, value: Any, names: Sequence[str], *, default: float = 1.0) -> np.ndarray:
    """Return one non-negative number per view from a scalar, a ``{view: number}`` dict, or None.

    Examples
    --------
    >>> per_view("view_weights", {"links": 2}, ["words", "links"])
    array([1., 2.])
    """
    given = value if isinstance(value, Mapping) else dict.fromkeys(names, default if value is None else value)
    for name, number in given.items():
        if name not in names:
            listed = ", ".join(map(repr, names))
            raise ValueError(f"{parameter} names view {name!r}, but the views are {listed}.")
        real = isinstance(number, numbers.Real) and not isinstance(number, bool)
        if not real or not 0 <= number < np.inf:
            raise ValueError(f"{parameter} of view {name!r} must be a number of at least 0, got {number!r}.")
    found = np.array([float(given.get(name, default)) for name in names])
    if not found.any() and parameter.endswith("weights"):
        raise ValueError(f"{parameter} must leave at least one view a weight above 0, got {value!r}.")
    return found


def check_sample_weight(sample_weight: Any, n_rows: int) -> np.ndarray | None:
    """Return one finite, non-negative weight per object, or None.

    Examples
    --------
    >>> check_sample_weight([1, 2], 2)
    array([1., 2.])
    """
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar, one weight per object.")
    if len(weights) != n_rows:
        raise ValueError(f"sample_weight must hold one weight per object: {len(weights)} weights for {n_rows} objects.")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must hold finite weights of at least 0.")
    if not weights.any():
        raise ValueError("sample_weight is zero for every object, so that nothing can be learned.")
    return weights

"""Samples of rows that are the same each time."""

from __future__ import annotations

import numpy as np

__all__ = ["sample_positions"]


def sample_positions(n: int, most: int, seed: int = 0) -> np.ndarray:
    """Return all positions below n, or `most` of them drawn without replacement, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))

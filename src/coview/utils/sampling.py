"""Samples of rows that are the same each time."""

from __future__ import annotations

import numpy as np

__all__ = ["sample_positions"]


def sample_positions(n: int, most: int, seed: int = 0) -> np.ndarray:
    """Return all positions below n, or `most` of them drawn without replacement, in order.

    Examples
    --------
    >>> sample_positions(3, 10).tolist(), len(sample_positions(100, 10))
    ([0, 1, 2], 10)
    """
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))

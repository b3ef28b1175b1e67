"""Values as JSON has them: numbers, texts, lists and dicts, nothing of NumPy, nothing infinite."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """Return the value with arrays as lists, keys as texts, and None for numbers that are not finite.

    Examples
    --------
    >>> import numpy as np
    >>> plain({1: np.array([0.5, np.nan]), "n": np.int64(3), "when": ("a", None)})
    {'1': [0.5, None], 'n': 3, 'when': ['a', None]}
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        safe = value.dtype.kind in "biuU" or (value.dtype.kind == "f" and np.isfinite(value).all())
        return value.tolist() if safe else plain(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(part) for part in value]
    return str(value)

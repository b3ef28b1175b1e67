"""Values that JSON can hold, out of NumPy's and of whatever parameters a model has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["plain", "sentence"]


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it; numbers that JSON does not know are None, other objects their short form.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"a": np.float32(0.5), "b": np.array([1, 2]), "c": float("nan"), "d": (None, True)})
    {'a': 0.5, 'b': [1, 2], 'c': None, 'd': [None, True]}
    """
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            return plain(value.tolist())
        return plain(value.tolist()) if value.dtype.kind not in "biufU" else value.tolist()
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(part) for part in value]
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:197]}..."


def sentence(error: BaseException, most: int = 300) -> str:
    """Return the first line of what an error says, of bounded length.

    Examples
    --------
    >>> sentence(ValueError("Too wide.\\n\\nA long story follows."))
    'Too wide.'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    return text if len(text) <= most else f"{text[: most - 3]}..."

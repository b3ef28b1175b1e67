"""Values as one would type them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["shown"]


def shown(value: Any, longest: int = 120) -> str:
    """Return a value as one would type it, cut where it is long.

    Examples
    --------
    >>> shown({"words": 3}), shown("x" * 9, longest=5)
    ("{'words': 3}", "'xxx…")
    """
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    if isinstance(value, Mapping) and any(isinstance(part, np.ndarray) for part in value.values()):
        return "{" + ", ".join(f"{key!r}: {shown(part)}" for key, part in value.items()) + "}"
    text = " ".join(repr(value).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"

"""What stands for no label in an array of labels."""

from __future__ import annotations

from typing import Any

__all__ = ["is_gap"]


def is_gap(label: Any) -> bool:
    """Tell whether a label stands for "no label": None, NaN, or pandas' NA.

    Examples
    --------
    >>> is_gap(None), is_gap(float("nan")), is_gap("a"), is_gap(0)
    (True, True, False, False)
    """
    # NA is known by its name, since pandas is not imported here and NA refuses to be compared
    return label is None or type(label).__name__ == "NAType" or bool(label != label)

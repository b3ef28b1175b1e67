"""How much memory a file may ask for: what it states is compared with its size before anything is allocated."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from coview.exceptions import ViewsError

__all__ = ["exceeds", "shown_bytes", "text_array"]

_FREE = 64 << 20  # bytes that any file may ask for, however small it is
# bytes in memory for each byte of a file: text and binary files take fewer than 20, a compressed matrix of which one
# number in a hundred is not zero 70 to 180
_FACTOR = 200


def exceeds(stated: int, size: int) -> bool:
    """Tell whether bytes in memory, as a file states them, are out of proportion to the bytes that it has.

    Examples
    --------
    >>> exceeds(60_000_000, 67), exceeds(5_000_000_000, 67), exceeds(5_000_000_000, 100_000_000)
    (False, True, False)
    """
    return stated > max(_FREE, _FACTOR * size)


def shown_bytes(count: int) -> str:
    """Return a number of bytes as it stands in a sentence.

    Examples
    --------
    >>> shown_bytes(67), shown_bytes(173_000), shown_bytes(4_800_000_000)
    ('67 bytes', '173 kB', '4.8 GB')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}" if count < 1000 * unit else f"{count // unit} {name}"
    return f"{count} bytes"


def text_array(values: Collection[Any], what: str) -> np.ndarray:
    """Return texts as an array, in which each takes as much room as the longest; `what` they are, for the error.

    Examples
    --------
    >>> text_array(["fox", "sea"], "ids")
    array(['fox', 'sea'], dtype='<U3')
    """
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        return values.astype(str, copy=False)
    lengths = [len(value) for value in values if isinstance(value, str)]
    longest, room = max(lengths, default=0), 4 * max(lengths, default=0) * len(values)
    if exceeds(room, sum(lengths)):
        raise ViewsError(
            f"The {what} would take {shown_bytes(room)} of memory, because one of the {len(values)} has {longest} "
            "characters and all get the same room. Shorten it."
        )
    return np.asarray(values, dtype=str)

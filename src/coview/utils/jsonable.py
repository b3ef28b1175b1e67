"""JSON in and out: objects of files with one per line, and values as JSON has them, without NumPy and infinity."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from coview.exceptions import DataFileError

__all__ = ["parse_json", "read_json_rows", "to_jsonable"]


def parse_json(text: str | bytes) -> Any:
    """Return what a text in JSON says, or raise a ValueError, of deeply nested lists too.

    Examples
    --------
    >>> parse_json('{"words": {"fox": 2}}')
    {'words': {'fox': 2}}
    """
    try:
        return json.loads(text)
    except RecursionError:  # which is no ValueError, as all other faults of a text are
        raise ValueError("its lists and objects are nested too deeply") from None


def read_json_rows(stream: Iterable[str], name: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file that has one per line; `name` is what errors call the file."""
    for number, line in enumerate(stream, start=1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except ValueError as error:
            raise DataFileError(
                f"{name} has no JSON object in line {number} ({error}). Write one object per line."
            ) from None
        if not isinstance(row, dict):
            raise DataFileError(f"{name} has no JSON object in line {number}, but {type(row).__name__}.")
        yield row


def to_jsonable(value: Any) -> Any:
    """Return the value with arrays as lists, keys as texts, and None for numbers that are not finite.

    Examples
    --------
    >>> to_jsonable({1: np.array([0.5, np.nan]), "n": np.int64(3), "when": ("a", None)})
    {'1': [0.5, None], 'n': 3, 'when': ['a', None]}
    """
    # before numbers: True is an int to Python
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, np.generic):
        return to_jsonable(value.item())
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): to_jsonable(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        # most arrays are large and have nothing to change: one look in place of a call for each number
        safe = value.dtype.kind in "biuU" or (value.dtype.kind == "f" and np.isfinite(value).all())
        return value.tolist() if safe else to_jsonable(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_jsonable(part) for part in value]
    return str(value)

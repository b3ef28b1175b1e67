"""Text files row by row: cells of .csv tables, objects of .jsonl files; errors name the line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from coview.exceptions import DataFileError

__all__ = ["find_delimiter", "json_rows", "parse_json"]


def find_delimiter(header: str) -> str:
    """Return the sign that separates the names in the first line of a table: the most frequent outside quotes.

    Examples
    --------
    >>> find_delimiter('key;"title, short";year')
    ';'
    """
    return max((",", ";", "\t", "|"), key=re.sub(r'"[^"]*"?', "", header).count)


def json_rows(stream: Iterable[str], name: Any) -> Iterator[dict[str, Any]]:
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


def parse_json(text: str | bytes) -> Any:
    """Return what a text in JSON says, or raise a ValueError, of deeply nested lists too.

    Examples
    --------
    >>> parse_json('{"words": {"fox": 2}}')
    {'words': {'fox': 2}}
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its lists and objects are nested too deeply") from None

"""Text files row by row: cells of .csv tables, objects of .jsonl files; errors name the line."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from coview.exceptions import DataFileError
from coview.utils.spreadsheet import without_escape

__all__ = ["csv_rows", "find_delimiter", "json_rows", "parse_json"]


def find_delimiter(header: str) -> str:
    """Return the sign that separates the names in the first line of a table: the most frequent outside quotes.

    Examples
    --------
    >>> find_delimiter('key;"title, short";year')
    ';'
    """
    return max((",", ";", "\t", "|"), key=re.sub(r'"[^"]*"?', "", header).count)


def csv_rows(stream: Iterable[str], name: Any) -> Iterator[dict[str, str]]:
    """Yield the rows of a table by the names of its header; `name` is what errors call the file."""
    csv.field_size_limit(2**31 - 1)  # the csv module refuses texts of more than 131,072 characters otherwise
    lines = iter(stream)
    first = next(lines, "")
    rows = csv.DictReader(chain([first], lines), delimiter=find_delimiter(first), strict=True, restval="")
    try:
        header = [without_escape(cell.strip()) for cell in rows.fieldnames or [""]]
        rows.fieldnames = header
        if not all(header) or len(set(header)) < len(header):
            raise DataFileError(f"{name} has no header row with a name for each column. Name them in the first line.")
        for row in rows:
            if row.pop(None, None):
                raise DataFileError(f"{name} has too many cells in line {rows.line_num}. Quote cells with separators.")
            yield {column: without_escape(cell) for column, cell in row.items()}
    except csv.Error as error:
        raise DataFileError(f"{name} is broken in line {rows.line_num} ({error}).") from None


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

"""Text files row by row: cells of .csv and .tsv tables, objects of .jsonl files; errors name the line."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from coview.exceptions import DataFileError

__all__ = ["csv_rows", "find_delimiter", "json_rows"]

_DELIMITERS = (",", ";", "\t", "|")
_LONGEST_CELL = 2**31 - 1  # the csv module refuses texts of more than 131,072 characters otherwise


def find_delimiter(header: str) -> str:
    """Return the sign that separates the names in the first line of a table: the most frequent outside quotes.

    Examples
    --------
    >>> find_delimiter('key;"title, short";year')
    ';'
    """
    bare = re.sub(r'"[^"]*"?', "", header)
    return max(_DELIMITERS, key=bare.count)


def csv_rows(stream: Iterable[str], name: Any, delimiter: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """Yield the header of a table, then its rows, each with the number of its line; an empty line is a row of no cells.

    `name` is what errors call the file; without a `delimiter` the header tells. Empty cells beyond the header, which
    spreadsheets leave, are dropped.
    """
    csv.field_size_limit(_LONGEST_CELL)
    if delimiter is None:
        stream = iter(stream)
        first = next(stream, "")
        delimiter, stream = find_delimiter(first), chain([first], stream)
    lines = csv.reader(stream, delimiter=delimiter, strict=True)
    try:
        header = [cell.strip() for cell in next(lines, [])]
        if not any(header):
            raise DataFileError(
                f"{name} has no header row: its first line is empty. Name the columns in the first line."
            )
        yield lines.line_num, header
        width = len(header)
        for row in lines:
            if len(row) > width and not any(row[width:]):
                row = row[:width]
            if row and len(row) != width:
                raise DataFileError(
                    f"{name} has {len(row)} cells in line {lines.line_num}, but {width} in its header. The separator "
                    f"is taken to be {delimiter!r}: quote cells that contain it or a line break, or name another one."
                )
            yield lines.line_num, row
    except csv.Error as error:
        raise DataFileError(f"{name} is broken in line {lines.line_num} ({error}).") from None


def json_rows(stream: Iterable[str], name: Any, skip_empty: bool = True) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file that has one per line; `name` is what errors call the file."""
    for number, line in enumerate(stream, start=1):
        if skip_empty and not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataFileError(
                f"{name} has no JSON object in line {number} ({error.msg}). Write one object per line."
            ) from None
        if not isinstance(row, dict):
            raise DataFileError(f"{name} has no JSON object in line {number}, but {type(row).__name__}.")
        yield row

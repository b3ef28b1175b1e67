"""Text files row by row: cells of .csv and .tsv tables, objects of .jsonl files; errors name the line."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from coview.exceptions import DataFileError
from coview.utils.messages import short
from coview.utils.spreadsheet import without_escape

__all__ = ["NUMBER", "check_unique", "csv_rows", "find_delimiter", "json_rows", "parse_json"]

NUMBER = re.compile(r"[+-]?((0|[1-9]\d{0,17})(\.\d*)?|\.\d+)([eE][+-]?\d+)?")  # Python would take nan and 2023_01 too
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
    spreadsheets leave, are dropped, and so is the ' that `spreadsheet_cell` puts before formulas.
    """
    csv.field_size_limit(_LONGEST_CELL)
    if delimiter is None:
        stream = iter(stream)
        first = next(stream, "")
        delimiter, stream = find_delimiter(first), chain([first], stream)
    lines = csv.reader(stream, delimiter=delimiter, strict=True)
    try:
        header = [without_escape(cell.strip()) for cell in next(lines, [])]
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
            yield lines.line_num, [without_escape(cell) for cell in row] if "'" in "".join(row) else row
    except csv.Error as error:
        raise DataFileError(f"{name} is broken in line {lines.line_num} ({error}).") from None


def check_unique(name: Any, header: list[str]) -> None:
    """Refuse a table in which two columns have the same name: the values of one would be lost."""
    column, count = Counter(header).most_common(1)[0]
    if count > 1:
        raise DataFileError(f"{name} has the column {short(column)} more than once. Rename one of them.")


def json_rows(stream: Iterable[str], name: Any, skip_empty: bool = True) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file that has one per line; `name` is what errors call the file."""
    for number, line in enumerate(stream, start=1):
        if skip_empty and not line.strip():
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
    """Return what a text in JSON says, or raise a ValueError that says in a few words why that is nothing.

    Examples
    --------
    >>> parse_json('{"words": {"fox": 2}}')
    {'words': {'fox': 2}}
    >>> parse_json('{"fox": 2, "fox": 3}')
    Traceback (most recent call last):
    ...
    ValueError: the key 'fox' occurs twice in one object
    """
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        raise ValueError(error.msg if error.lineno == 1 else f"{error.msg} in line {error.lineno}") from None
    except UnicodeDecodeError:
        raise ValueError("it is not text in UTF-8") from None
    except RecursionError:
        raise ValueError("its lists and objects are nested too deeply") from None
    except ValueError as error:
        if "int_max_str_digits" in str(error):
            raise ValueError("it has a number of thousands of digits") from None
        raise


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; of a repeated key the last value would count, and the others be lost."""
    content = dict(pairs)
    if len(content) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ValueError(f"the key {short(counts.most_common(1)[0][0])} occurs twice in one object")
    return content

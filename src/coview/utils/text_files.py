"""Text files row by row: cells of .csv and .tsv tables, objects of .jsonl files; errors name the line."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from typing import Any

from coview.exceptions import DataFileError

__all__ = ["csv_rows", "json_rows"]


def csv_rows(stream: Iterable[str], name: Any, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield the header of a table, then its rows, each with the number of its line; an empty line is a row of no cells.

    `name` is what errors call the file.
    """
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
            if row and len(row) != width:
                raise DataFileError(
                    f"{name} has {len(row)} cells in line {lines.line_num}, but {width} in its header. The file is "
                    "truncated, or it uses another separator."
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

"""Comma- and tab-separated tables with a header row: numbers, and identifiers in the first column where it has them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from coview.exceptions import DataFileError
from coview.utils.messages import short

__all__ = ["partly_empty", "read_delimited"]

_CHUNK = 4096  # rows held as text at a time; numbers take an eighth of the room


def read_delimited(
    path: Path, delimiter: str
) -> tuple[np.ndarray, np.ndarray | None, list[str] | None, np.ndarray | None]:
    """Return (matrix, ids or None, feature names, rows present or None).

    The first column holds ids if it is named "id", has no name, or holds text that is different in every row. A row
    whose cells are all empty lacks the view.
    """
    with open(path, newline="", encoding="utf-8-sig") as stream:
        lines = csv.reader(stream, delimiter=delimiter, strict=True)
        try:
            header = _header(path, lines)
            first, rest, empty = _body(path, lines, header)
        except csv.Error as error:
            raise DataFileError(f"{path} is broken in line {lines.line_num} ({error}).") from None
    return _assemble(path, header, first, rest, empty)


def partly_empty(path: Path, row: int, empty: int, columns: int) -> DataFileError:
    """Error for a row of a table that has only some of its cells."""
    return DataFileError(
        f"{path} has {empty} of {columns} cells empty in row {row}. Fill them, or leave all of a row's cells empty "
        "where the object lacks the view."
    )


def _header(path: Path, lines: Any) -> list[str]:
    header = [cell.strip() for cell in next(lines, [])]
    if not any(header):
        raise DataFileError(f"{path} has no header row: its first line is empty.")
    if header[0].startswith("<"):
        raise DataFileError(f"{path} is HTML or XML by content ({short(header[0], 30)}), not a table. Fetch it again.")
    numbers = [_number(cell) for cell in header]
    counting = [list(range(start, start + len(header))) for start in (0, 1)]  # names that pandas gives by itself
    if None not in numbers and numbers not in counting:
        raise DataFileError(f"{path} has no header row: its first line is all numbers. Add the columns' names.")
    return header


def _body(path: Path, lines: Any, header: list[str]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """First column as text, the others as numbers, and how many of those others are empty in each row."""
    first: list[str] = []
    blocks: list[np.ndarray] = []
    empties: list[np.ndarray] = []
    for number, rows in _chunks(path, lines, len(header)):
        first += [row[0].strip() for row in rows]
        cells = np.array([row[1:] for row in rows], dtype=str).reshape(len(rows), len(header) - 1)
        cells = np.strings.strip(cells)
        empty = cells == ""
        cells[empty] = "0"
        blocks.append(_numbers(path, cells, header[1:], number))
        empties.append(empty.sum(axis=1))
    if not first:
        raise DataFileError(f"{path} has a header row but no rows below it.")
    return first, np.concatenate(blocks), np.concatenate(empties)


def _chunks(path: Path, lines: Any, width: int) -> Iterator[tuple[int, list[list[str]]]]:
    """Rows in chunks, each with the number of its first row in the table."""
    start, rows = 0, []
    blank = None
    for row in lines:
        if not row:
            blank = blank or lines.line_num
            continue
        if blank:
            raise DataFileError(f"{path} has an empty line ({blank}) between its rows. Take it out.")
        if len(row) != width:
            raise DataFileError(
                f"{path} has {len(row)} cells in line {lines.line_num}, but {width} in its header. The file is "
                "truncated, or its cells are separated in another way."
            )
        rows.append(row)
        if len(rows) == _CHUNK:
            yield start, rows
            start, rows = start + len(rows), []
    if rows:
        yield start, rows


def _numbers(path: Path, cells: np.ndarray, names: list[str], start: int) -> np.ndarray:
    for dtype in (np.int64, np.float64):  # counts stay whole numbers
        try:
            return cells.astype(dtype)
        except (ValueError, OverflowError):
            continue
    row, column = next((i, j) for (i, j), cell in np.ndenumerate(cells) if _number(cell) is None)
    raise DataFileError(
        f"{path} has {short(str(cells[row, column]))} in column {short(names[column])} of row {start + row}, which is "
        "no number. Text and categories come in through TextViews and ColumnViews."
    )


def _assemble(
    path: Path, header: list[str], first: list[str], rest: np.ndarray, empty: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None, list[str] | None, np.ndarray | None]:
    ids, names = None, header
    if header[0].lower() in ("", "id") or _is_text(path, header[0], first):
        ids, names, matrix = _ids(first), header[1:], rest
    else:
        column = np.array(first, dtype=str)
        empty = empty + (column == "")
        column[column == ""] = "0"
        matrix = np.hstack([_numbers(path, column[:, None], header[:1], 0), rest])
    if not names:
        raise DataFileError(f"{path} has no column of features beside {short(header[0])}.")
    partly = np.flatnonzero((empty > 0) & (empty < len(names)))
    if partly.size:
        raise partly_empty(path, int(partly[0]), int(empty[partly[0]]), len(names))
    return matrix, ids, names, (empty == 0) if empty.any() else None


def _is_text(path: Path, name: str, cells: list[str]) -> bool:
    text = [i for i, cell in enumerate(cells) if cell and _number(cell) is None]
    if not text:
        return False
    if len(set(cells)) < len(cells):
        raise DataFileError(
            f"{path} has {short(cells[text[0]])} in column {short(name)} of row {text[0]}, which is no number, and no "
            "id either, since some rows have the same. Text and categories come in through TextViews and ColumnViews."
        )
    return True


def _ids(cells: list[str]) -> np.ndarray:
    """Identifiers as integers where all are written as such, else as text."""
    if all(cell.removeprefix("-").isdecimal() and str(int(cell)) == cell for cell in cells):  # "007" stays text
        return np.asarray([int(cell) for cell in cells])
    return np.asarray(cells, dtype=str)


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None

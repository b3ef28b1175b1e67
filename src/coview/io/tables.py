"""Raw tables from files: columns of text and numbers as they are, for `TextViews`, `ColumnViews` and `TableViews`."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from coview.exceptions import DataFileError
from coview.io.formats import native_parquet
from coview.utils.messages import listed, not_text, short

__all__ = ["TABLES", "read_table"]

TABLES = (".csv", ".tsv", ".jsonl", ".json", ".parquet")
_INTEGER = re.compile(r"[+-]?(0|[1-9]\d{0,17})")  # 007 is a name, and so is what 64 bits do not hold
_NUMBER = re.compile(r"[+-]?((0|[1-9]\d{0,17})(\.\d*)?|\.\d+)([eE][+-]?\d+)?")  # Python would take nan and 2023_01 too


def read_table(path: str | Path) -> Any:
    """Read a table: a mapping of column to values, or a data frame of a Parquet file.

    In .csv and .tsv files a column is one of numbers if all of its filled cells are; an empty cell is a missing value.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "pages.csv"
    >>> _ = file.write_text('title,year,code\\n"Red, blue",1999,007\\nSea,,008\\n')
    >>> read_table(file)
    {'title': ['Red, blue', 'Sea'], 'year': array([1999.,   nan]), 'code': ['007', '008']}
    """
    path = Path(path)
    if not path.is_file():
        raise DataFileError(f"{path} is {'no file' if path.exists() else 'absent'}; give the name of a table.")
    kind = path.suffix.lower()
    try:
        if kind in (".csv", ".tsv"):
            return _delimited(path, "," if kind == ".csv" else "\t")
        if kind == ".jsonl":
            return _records(path, [_json(path, i, line) for i, line in _lines(path)])
        if kind == ".json":
            return _records(path, json.loads(path.read_text(encoding="utf-8")))
    except UnicodeDecodeError as error:
        raise not_text(path, error) from None
    except json.JSONDecodeError as error:
        raise DataFileError(f"{path} is not JSON: {error.msg} in line {error.lineno}.") from None
    if kind == ".parquet":
        return native_parquet(path)
    raise DataFileError(f"{path} has the extension {kind!r}; tables are read from {listed(TABLES)}.")


def _delimited(path: Path, delimiter: str) -> dict[str, Any]:
    with open(path, newline="", encoding="utf-8-sig") as stream:
        rows = csv.reader(stream, delimiter=delimiter, strict=True)
        try:
            header = [name.strip() for name in next(rows, [])]
            _check_header(path, header)
            cells: list[list[str]] = [[] for _ in header]
            for row in rows:
                if not row:
                    continue
                if len(row) != len(header):
                    raise DataFileError(
                        f"{path} has {len(row)} cells in line {rows.line_num}, but {len(header)} columns in its header."
                    )
                for column, cell in zip(cells, row):
                    column.append(cell)
        except csv.Error as error:
            raise DataFileError(f"{path} is broken in line {rows.line_num} ({error}).") from None
    if not cells[0]:
        raise DataFileError(f"{path} has a header row but no rows below it.")
    return {name: _typed(column) for name, column in zip(header, cells)}


def _check_header(path: Path, header: list[str]) -> None:
    if not any(header):
        raise DataFileError(f"{path} has no header row: its first line is empty.")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise DataFileError(f"{path} has the column {short(twice[0])} more than once. Rename one of them.")


def _typed(cells: list[str]) -> Any:
    """Numbers where every filled cell is one, else texts, None where a cell is empty."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    if filled and all(_NUMBER.fullmatch(cell) for cell in filled):
        if len(filled) == len(cells) and all(_INTEGER.fullmatch(cell) for cell in filled):
            return np.array([int(cell) for cell in filled])
        return np.array([float(cell) if cell.strip() else np.nan for cell in cells])
    return [cell if cell.strip() else None for cell in cells]


def _lines(path: Path) -> list[tuple[int, str]]:
    with open(path, encoding="utf-8-sig") as stream:
        return [(i, line) for i, line in enumerate(stream, start=1) if line.strip()]


def _json(path: Path, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise DataFileError(f"{path} is not JSON in line {number}: {error.msg}.") from None


def _records(path: Path, records: Any) -> dict[str, list[Any]]:
    if not isinstance(records, list) or not records:
        raise DataFileError(f"{path} must hold objects, one per row; it holds {'none' if not records else 'no list'}.")
    strange = next((i for i, row in enumerate(records) if not isinstance(row, dict)), None)
    if strange is not None:
        raise DataFileError(f"{path} must hold objects, but row {strange} is {type(records[strange]).__name__}.")
    names = list(dict.fromkeys(name for row in records for name in row))
    return {name: [row.get(name) for row in records] for name in names}

"""What the command line writes: tables as CSV, TSV, JSON or Parquet by extension, whole or not at all."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

from coview.exceptions import DataFileError
from coview.utils.atomic import atomic_path

__all__ = ["WRITTEN", "check_writable", "plain", "write_table"]

WRITTEN = (".csv", ".tsv", ".json", ".jsonl", ".parquet")


def check_writable(path: Path | None) -> None:
    """Refuse an output that could not be written, before the work is done."""
    if path is None:
        return
    if path.suffix.lower() not in WRITTEN:
        raise DataFileError(f"{path} has the extension {path.suffix!r}; tables are written as {', '.join(WRITTEN)}.")
    if path.is_dir():
        raise DataFileError(f"{path} is a folder; give the name of a file.")
    if path.suffix.lower() == ".parquet":
        _frame({"a": [1]}, path)


def write_table(columns: dict[str, Any], path: Path | None = None) -> None:
    """Write columns of equal length to a file by its extension, or as CSV to standard output.

    Examples
    --------
    >>> write_table({"id": ["a", "b"], "label": [0, 1]})
    id,label
    a,0
    b,1
    """
    lists = plain(columns)
    if path is None:
        _delimited(lists, sys.stdout, ",")
        return
    check_writable(path)
    kind = path.suffix.lower()
    with atomic_path(path) as beside:
        if kind == ".parquet":
            _frame(lists, path).write_parquet(beside)
            return
        with open(beside, "w", newline="", encoding="utf-8") as stream:
            if kind in (".csv", ".tsv"):
                _delimited(lists, stream, "," if kind == ".csv" else "\t")
            elif kind == ".json":
                json.dump(_records(lists), stream)
            else:
                stream.writelines(json.dumps(row) + "\n" for row in _records(lists))


def plain(columns: dict[str, Any]) -> dict[str, list[Any]]:
    """Columns as lists of plain values."""
    return {name: values.tolist() if hasattr(values, "tolist") else list(values) for name, values in columns.items()}


def _records(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def _delimited(columns: dict[str, list[Any]], stream: Any, delimiter: str) -> None:
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values()))


def _frame(columns: dict[str, list[Any]], path: Path) -> Any:
    try:
        import polars
    except ImportError:
        raise DataFileError(f'{path} needs polars to be written. Run: pip install "coview[parquet]".') from None
    return polars.DataFrame(columns)

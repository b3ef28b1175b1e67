"""What the commands write: tables of objects, to a file, to standard output or as JSON; whole, or not at all."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coview.cli.files import ids_of, named_paths, plain
from coview.cli.options import Json
from coview.exceptions import DataFileError
from coview.io.delimited import escape_cell
from coview.io.tables import has_table_extension
from coview.utils.atomic import atomic_path
from coview.utils.messages import printable, quantity

if TYPE_CHECKING:
    from coview.inspection import Inspection

__all__ = ["Writing", "check_outputs", "check_writable", "keys_of", "write_table"]

_WRITTEN = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
_EXACT = ("id", "row", "label")  # columns that keep all digits
_OUTPUTS = ("out", "save_to", "save_edits")  # what commands call the files that they write


@dataclass
class Writing:
    """Where a table of objects is written, as the commands take it."""

    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Table to write: .csv .tsv .json .jsonl .parquet; else CSV is printed."),
    ] = None
    as_json: Json = False

    def __post_init__(self) -> None:
        check_writable(self.out)

    @property
    def on_terminal(self) -> bool:
        """Whether a person is to read the table."""
        return self.out is None and not self.as_json and sys.stdout.isatty()

    def write(self, columns: dict[str, Any], whole: dict[str, Any] | None = None, about: str = "") -> None:
        """Write the columns; `whole` is what a file holds where that is more, and `about` says what it is."""
        if self.out is not None:
            write_table(whole or columns, self.out)
        if self.as_json:
            print(json.dumps(plain(columns)))
        elif self.out is not None:
            rows = quantity(len(next(iter(columns.values()))), "row")
            print(f"{printable(self.out)}: {about or rows}", file=sys.stderr)
        else:
            write_table(columns)


def check_outputs(command: str, values: Mapping[str, Any]) -> None:
    """Refuse to write over a file that a command reads, and to give a model or a page the extension of a table.

    A model that a command changes may be written to its own file.
    """
    for name, path in values.items():
        if name not in _OUTPUTS or path is None:
            continue
        if not path.parent.is_dir():
            raise DataFileError(f"There is no folder {path.parent}. Make it, or write to another one.")
        is_model = name.startswith("save") or command in ("fit", "edit")
        read: list[Any] = list(named_paths(values.get("view")).values())
        for key, value in values.items():
            if key not in _OUTPUTS and not (is_model and key == "model"):
                read += value if isinstance(value, list) else [value]
        there = [each for each in read if isinstance(each, (str, Path)) and os.path.exists(each)]
        if os.path.exists(path) and any(path.samefile(each) for each in there):
            raise DataFileError(f"{path} is a file that coview {command} reads here. Write to another one.")
        if (is_model or command == "report") and has_table_extension(path):
            what = "a model, such as model.coview" if is_model else "a page, such as report.html"
            raise DataFileError(f"{path} has the extension of a table; pass the name of {what}.")


def check_writable(path: Path | None) -> None:
    """Refuse an output that could not be written, before the work is done."""
    if path is None:
        return
    if path.suffix.lower() not in _WRITTEN:
        raise DataFileError(f"{path} has the extension {path.suffix!r}; tables are written as {', '.join(_WRITTEN)}.")
    if path.is_dir():
        raise DataFileError(f"{path} is a folder; pass the path of a file.")


def write_table(columns: dict[str, Any], path: Path | None = None) -> None:
    """Write columns of equal length to a file by its extension, or as CSV to standard output.

    In .csv and .tsv files a text that a spreadsheet would run as a formula gets a ' in front, and figures have six
    digits.
    """
    lists = plain(columns)
    if path is None:  # a terminal obeys what is printed; a program gets the texts as they are
        _write_delimited(lists, sys.stdout, ",", printable if sys.stdout.isatty() else str)
        return
    check_writable(path)
    kind = path.suffix.lower()
    rows = (dict(zip(lists, row)) for row in zip(*lists.values()))
    with atomic_path(path) as new:
        if kind == ".parquet":
            _frame(lists, path).write_parquet(new)
        elif kind in (".json", ".jsonl"):
            text = json.dumps([*rows]) if kind == ".json" else "".join(f"{json.dumps(row)}\n" for row in rows)
            new.write_text(text, encoding="utf-8")
        else:
            with open(new, "w", newline="", encoding="utf-8") as stream:
                _write_delimited(lists, stream, "," if kind == ".csv" else "\t", escape_cell)


class _Lines:
    """A stream of lines that end as text files do here."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, line: str) -> None:
        self.stream.write(line.removesuffix("\r\n") + "\n")


def _write_delimited(columns: dict[str, list[Any]], stream: Any, delimiter: str, shown: Any) -> None:
    def cell(name: str, value: Any) -> Any:
        if isinstance(value, float) and name not in _EXACT:
            return float(f"{value:.6g}")
        return shown(value) if isinstance(value, str) else value

    # csv quotes the ends of lines in cells only if they are those of its own lines
    writer = csv.writer(_Lines(stream), delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(map(shown, columns))
    writer.writerows(map(cell, columns, row) for row in zip(*columns.values()))


def _frame(columns: dict[str, list[Any]], path: Path) -> Any:
    try:
        import polars
    except ImportError:
        raise DataFileError(f'{path} needs polars to be written. Run: pip install "coview[table]".') from None
    return polars.DataFrame(columns)


# -- columns on the objects


def keys_of(model: Inspection, X: Any, rows: Sequence[int]) -> dict[str, list[Any]]:
    """Return the column that names some objects: their ids, or where they have none the numbers of their rows."""
    ids = ids_of(X, model.preparation.id_column)
    return {"row": list(rows)} if ids is None else plain({"id": [ids[row] for row in rows]})

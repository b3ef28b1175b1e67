"""How commands write a table of objects: to a file, to standard output or as JSON, with a line on each object."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coview.cli.files import check_writable, columns_of, ids_of, plain, write_table
from coview.cli.options import EscapeFormulas, Json
from coview.utils.messages import cut, did_you_mean, listed, printable, quantity, short
from coview.utils.progress import print_line

if TYPE_CHECKING:
    from coview.inspection import Inspection

__all__ = ["Caption", "Writing", "find_captions", "keys_of"]

_DIGITS = 6

Caption = Annotated[
    str | None,
    typer.Option(
        "--caption", help="Column of the table that tells an object in a line, such as a title; else one is chosen."
    ),
]


@dataclass
class Writing:
    """Where and how a table of objects is written, as the commands take it."""

    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Table to write: .csv .tsv .json .jsonl .parquet; else CSV is printed."),
    ] = None
    caption: Caption = None
    all_digits: Annotated[
        bool, typer.Option("--all-digits", help="Write numbers in CSV with all digits, not rounded to six.")
    ] = False
    escape_formulas: EscapeFormulas = True
    as_json: Json = False

    def __post_init__(self) -> None:
        check_writable(self.out)

    @property
    def captioned(self) -> bool:
        """Whether a person is to read the table: on a terminal, or because a column of captions was asked for."""
        return self.caption is not None or (self.out is None and not self.as_json and sys.stdout.isatty())

    def write(self, columns: dict[str, Any], whole: dict[str, Any] | None = None, about: str = "") -> None:
        """Write the columns; `whole` is what a file holds where that is more, and `about` says what it is."""
        digits = None if self.all_digits else _DIGITS
        if self.out is not None:
            rows = quantity(len(next(iter(columns.values()))), "row")
            write_table(whole or columns, self.out, escape_formulas=self.escape_formulas, digits=digits)
            if not self.as_json:
                print(f"{printable(self.out)}: {about or rows}", file=sys.stderr)
        elif not self.as_json:
            write_table(columns, digits=digits)
        if self.as_json:
            print(json.dumps(plain(columns)))


def keys_of(model: Inspection, X: Any, rows: Sequence[int]) -> dict[str, list[Any]]:
    """Return the column that names some objects: their ids, or where they have none the numbers of their rows."""
    ids = ids_of(X, model.id_column)
    if model.id_column is not None and ids is None:
        print_line(
            f"coview: the table has no column {short(model.id_column)}, which names the objects: they are numbered "
            f"from 0.{did_you_mean(model.id_column, columns_of(X))}"
        )
    return {"row": list(rows)} if ids is None else plain({"id": [ids[row] for row in rows]})


def find_captions(model: Inspection, X: Any, column: str | None) -> list[str] | None:
    """Return a line on each object of a raw table; None where the data is no table, or no column tells an object."""
    from coview.inspection.captions import LONGEST_LINE, LOOKED_AT, caption_column
    from coview.preprocessing.columns import RawTransformer, as_table

    front = model.front
    if not isinstance(front, RawTransformer) or not hasattr(X, "columns"):
        if column is not None:
            raise ValueError(f"--caption {column} names a column, but the objects are no raw table: leave it out.")
        return None
    table = as_table(X)
    if column is None:
        first = table.head(LOOKED_AT)
        columns = {name: first.cells(name) for name in first.names if name != model.id_column}
        ids = table.cells(model.id_column) if model.id_column in table.names else range(table.n_rows)
        column = caption_column(columns, ids, front.text_columns(), front.list_columns())
    elif column not in table.names:
        hint = did_you_mean(column, table.names)
        raise ValueError(f"--caption {column}: the table has no such column, only {listed(table.names)}.{hint}")
    if column is None:
        return None
    return ["" if cell is None else cut(" ".join(str(cell).split()), LONGEST_LINE) for cell in table.cells(column)]

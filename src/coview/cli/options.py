"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Columns", "Config", "Data", "Id", "Json", "Labels", "Table", "Text", "View"]

View = Annotated[list[str] | None, typer.Option("--view", help="A view and its file, words=words.npz; one per view.")]
Data = Annotated[Path | None, typer.Option("--data", help="A folder of views, or one file of several.")]
Table = Annotated[Path | None, typer.Option("--table", help="A raw table: .csv .tsv .jsonl .json .parquet.")]
Text = Annotated[list[str] | None, typer.Option("--text", help="A view of words of a column of the table: words=body.")]
Columns = Annotated[
    list[str] | None, typer.Option("--columns", help="A view of columns of the table: meta=year,venue.")
]
Id = Annotated[str | None, typer.Option("--id", help="Column of the table that names the objects.")]
Labels = Annotated[
    str | None,
    typer.Option("--labels", help="A file of labels (one a line, or id and label), or a column of the table."),
]
Config = Annotated[
    Path | None, typer.Option("--config", help="Repeat the run that this TOML file records; if absent, record it.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a machine to read.")]

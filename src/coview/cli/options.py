"""Options that several commands share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from coview.exceptions import InterruptedFitWarning

__all__ = ["By", "Json", "Labels", "Model", "Objects", "TableOptions", "stop_when_interrupted"]

Model = Annotated[Path, typer.Argument(help="A model file that coview wrote.")]
Labels = Annotated[
    str | None,
    typer.Option("--labels", help="A column of the table, or a file of labels (one per line, or id and label)."),
]
By = Annotated[
    list[str] | None,
    typer.Option("--by", help="Columns of the table, such as date,venue: show how prevalent the groups are by each."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass
class Objects:
    """The objects of a command: a raw table, a folder or file of views, or a file for each view."""

    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]", help="The objects: a raw table (.csv .tsv .jsonl .json .parquet), or a folder of views."
        ),
    ] = None
    view: Annotated[
        list[str] | None,
        typer.Option(
            "--view",
            help="A view and its file, words=words.npz; can be repeated. With a table: vectors of its rows, "
            "meaning=meaning.npy.",
        ),
    ] = None

    @property
    def table(self) -> Path | None:
        """The raw table, where the data is one."""
        from coview.io.tables import has_table_extension

        is_table = self.data is not None and has_table_extension(self.data) and not self.data.is_dir()
        return self.data if is_table else None

    @property
    def given(self) -> bool:
        """Whether there are any."""
        return bool(self.view) or self.data is not None

    def words(self) -> list[str]:
        """Return what is typed to give the same objects to another command."""
        views = [word for view in self.view or [] for word in ("--view", view)]
        return views if self.data is None else [str(self.data), *views]


@dataclass(frozen=True)
class TableOptions:
    """How a raw table becomes views, as the commands that build views take it."""

    text: Annotated[
        list[str] | None, typer.Option("--text", help="A view of the words in a column of the table: words=body.")
    ] = None
    tokens: Annotated[
        list[str] | None, typer.Option("--tokens", help="A view of the items of the lists in a column: tags=tags.")
    ] = None
    columns: Annotated[
        list[str] | None,
        typer.Option("--columns", help="A view of columns of one kind, numbers or categories: place=venue,country."),
    ] = None
    id: Annotated[str | None, typer.Option("--id", help="Column of the table that names the objects.")] = None

    @property
    def names_views(self) -> bool:
        """Whether they say which columns are views; else that is guessed."""
        return bool(self.text or self.tokens or self.columns)


@contextmanager
def stop_when_interrupted() -> Iterator[None]:
    """End a command at Ctrl-C, so that nothing is written, where a fit in Python keeps what was done."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", InterruptedFitWarning)
        try:
            yield
        except InterruptedFitWarning as error:
            raise KeyboardInterrupt(str(error)) from None

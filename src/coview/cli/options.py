"""Options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "Data",
    "Json",
    "Labels",
    "Objects",
    "TableOptions",
    "take_options",
]

Source = Annotated[
    Path | None,
    typer.Argument(
        metavar="[DATA]", help="The objects: a raw table (.csv .tsv .jsonl .json .parquet), or a folder of views."
    ),
]
View = Annotated[
    list[str] | None,
    typer.Option(
        "--view",
        help="A view and its file: words=words.npz; repeat for each view. Beside --table, vectors of its rows: "
        "meaning=meaning.npy.",
    ),
]
Data = Annotated[
    Path | None, typer.Option("--data", help="DATA, where it is a folder of views or one file of several.")
]
Table = Annotated[Path | None, typer.Option("--table", help="DATA, where it is a raw table.")]
Sep = Annotated[
    str | None,
    typer.Option("--sep", help="Sign between the cells of a .csv table; by default the header tells (, ; | or tab)."),
]
Labels = Annotated[
    str | None,
    typer.Option("--labels", help="A file of labels (one per line, or id and label), or a column of the table."),
]
EscapeFormulas = Annotated[
    bool,
    typer.Option(
        "--escape-formulas/--keep-formulas",
        help="Put ' before texts of .csv and .tsv files that a spreadsheet would run as formulas (=, +, -, @).",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass
class Objects:
    """The objects of a command: a raw table, a folder of views, a file of several, or a file for each view."""

    source: Source = None
    view: View = None
    data: Data = None
    table: Table = None
    sep: Sep = None

    def __post_init__(self) -> None:
        if self.source is None:
            return
        from coview.io.tables import has_table_extension

        if self.data is not None or self.table is not None:
            other = "--data" if self.table is None else "--table"
            raise ValueError(f"The data is given twice, as {self.source} and with {other}: leave out one of them.")
        if has_table_extension(self.source):
            self.table = self.source
        else:
            self.data = self.source
        self.source = None

    @property
    def given(self) -> bool:
        """Whether there are any."""
        return bool(self.view) or self.data is not None or self.table is not None

    def words(self) -> list[str]:
        """Return what is typed to give the same objects to another command."""
        words = [str(path) for path in (self.data, self.table) if path is not None]
        words += [part for view in self.view or [] for part in ("--view", view)]
        return words if self.sep is None else [*words, "--sep", self.sep]


@dataclass(frozen=True)
class TableOptions:
    """How a raw table becomes views, as the commands that build views take it."""

    text: Annotated[
        list[str] | None, typer.Option("--text", help="A view of the words in a column of the table: words=body.")
    ] = None
    tokens: Annotated[
        list[str] | None,
        typer.Option(
            "--tokens",
            help="A view of the items of lists in a column: tags=tags; the separator is recognized, or given: "
            "tags=tags:;",
        ),
    ] = None
    columns: Annotated[
        list[str] | None,
        typer.Option("--columns", help="A view of columns of one kind, numbers or categories: place=venue,country."),
    ] = None
    id: Annotated[str | None, typer.Option("--id", help="Column of the table that names the objects.")] = None
    stop_words: Annotated[
        str | None,
        typer.Option(
            "--stop-words",
            help="Words to leave out of texts: those of a language (en), a list (the,of,and), or "
            "none; by default those of the language found.",
        ),
    ] = None
    min_df: Annotated[
        str | None,
        typer.Option("--min-df", help="Least number (or share, such as 0.01) of texts that a word must be in."),
    ] = None
    max_df: Annotated[
        str | None,
        typer.Option("--max-df", help="Largest number (or share, such as 0.5) of texts that a word may be in."),
    ] = None

    @property
    def names_views(self) -> bool:
        """Whether they say which columns are views; else that is guessed."""
        return bool(self.text or self.tokens or self.columns)


def take_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of each of its parameters that is a dataclass of options."""
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for name, each in inspect.signature(command, eval_str=True).parameters.items():
        if is_dataclass(each.annotation):
            groups[name] = each.annotation
            options: Any = each.annotation
            parameters += inspect.signature(options, eval_str=True).parameters.values()
        else:
            parameters.append(each)
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]

    @wraps(command)
    def with_groups(**values: Any) -> None:
        made = {
            name: kind(**{each.name: values.pop(each.name) for each in fields(kind) if each.name in values})
            for name, kind in groups.items()
        }
        command(**made, **values)

    with_groups.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_groups.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_groups

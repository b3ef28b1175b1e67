"""Options that several commands share, and `--config run.toml`, which records a run or repeats a recorded one."""

from __future__ import annotations

import inspect
import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from coview.exceptions import DataFileError
from coview.utils.atomic import atomic_path
from coview.utils.messages import cut

__all__ = [
    "Config",
    "Data",
    "Json",
    "Labels",
    "Objects",
    "TableOptions",
    "fields_of",
    "merge_config",
    "spread",
    "write_config",
]

_NEVER = ("config", "as_json")  # how a run is shown is not part of it

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
Config = Annotated[
    Path | None,
    typer.Option("--config", help="TOML file that records a run: written if absent, else its run is repeated."),
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
        self.source, self.data, self.table = (
            None if path is None else Path(path) for path in (self.source, self.data, self.table)
        )
        if self.source is None:
            return
        from coview.io.tables import is_table

        if self.data is not None or self.table is not None:
            other = "--data" if self.table is None else "--table"
            raise ValueError(f"The data is given twice, as {self.source} and with {other}: leave out one of them.")
        if is_table(self.source):
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


def fields_of(kind: type[Any], options: dict[str, Any]) -> Any:
    """Make `Objects` or `TableOptions` of those of a command's options that they are."""
    return kind(**{each.name: options[each.name] for each in fields(kind) if each.name in options})


def spread(command: Callable[..., None]) -> Callable[..., None]:
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
        made = {name: fields_of(kind, values) for name, kind in groups.items()}
        inside = {each.name for kind in groups.values() for each in fields(kind)}
        command(**made, **{name: value for name, value in values.items() if name not in inside})

    with_groups.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_groups.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_groups


def merge_config(ctx: Any, config: Path | None, paths: tuple[str, ...]) -> dict[str, Any]:
    """Return the options of a command: of the command line, else of the file, else the defaults.

    `paths` names the options that are paths.
    """
    options = {name: value for name, value in ctx.params.items() if name not in _NEVER}
    for name in paths:  # older versions of typer make paths of texts only when they call the command
        options[name] = None if options[name] is None else Path(options[name])
    if config is None or not config.exists():
        return options
    try:
        stored = tomllib.loads(config.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise DataFileError(
            f"{config} is not text, so it cannot be the TOML record of a run. Give --config the name of another file."
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise DataFileError(f"{config} is not TOML: {cut(str(error))}.") from None
    command = stored.pop("command", ctx.info_name)
    if command != ctx.info_name:
        raise DataFileError(f"{config} records a run of `coview {command}`, not of `coview {ctx.info_name}`.")
    for name, value in stored.items():
        if name not in options:
            raise DataFileError(f"{config} sets {name!r}; `coview {command}` has {', '.join(options)}.")
        source = ctx.get_parameter_source(name)
        if source is None or source.name == "DEFAULT":
            options[name] = Path(value) if name in paths else value
    return options


def write_config(ctx: Any, config: Path, options: dict[str, Any]) -> None:
    """Record the options that are set; a file that is there stays as it is."""
    if config.exists():
        return
    lines = [f"command = {json.dumps(ctx.info_name)}"]
    for name, value in options.items():
        if value is not None and value != [] and value != ():
            # JSON of texts, numbers, truth values and lists is TOML too; a path is a text
            lines.append(f"{name} = {json.dumps(value, ensure_ascii=False, default=str)}")
    with atomic_path(config) as beside:
        beside.write_text("\n".join(lines) + "\n", encoding="utf-8")

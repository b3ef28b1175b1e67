"""Options that several commands share, and `--config run.toml`, which records a run or repeats a recorded one."""

from __future__ import annotations

import inspect
import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields
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
    "Sep",
    "Table",
    "TableOptions",
    "View",
    "merge_config",
    "takes_table",
    "write_config",
]

_NEVER = ("config", "as_json")  # how a run is shown is not part of it

View = Annotated[
    list[str] | None,
    typer.Option(
        "--view",
        help="A view and its file: words=words.npz; repeat for each view. Beside --table, vectors of its rows: "
        "meaning=meaning.npy.",
    ),
]
Data = Annotated[Path | None, typer.Option("--data", help="A folder of views, or one file that holds several.")]
Table = Annotated[Path | None, typer.Option("--table", help="A raw table: .csv .tsv .jsonl .json .parquet.")]
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


@dataclass(frozen=True)
class TableOptions:
    """A raw table and how it becomes views, as the commands that build views take it."""

    table: Table = None
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
    sep: Sep = None
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

    @classmethod
    def of(cls, options: dict[str, Any]) -> TableOptions:
        """Take those of a command's options that describe a raw table."""
        return cls(**{each.name: options[each.name] for each in fields(cls)})


def takes_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a raw table, where it has a parameter `raw` of `TableOptions`."""
    options = inspect.signature(TableOptions, eval_str=True).parameters
    parameters: list[inspect.Parameter] = []
    for each in inspect.signature(command, eval_str=True).parameters.values():
        parameters += options.values() if each.name == "raw" else [each]
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]

    @wraps(command)
    def with_table(**values: Any) -> None:
        own = {name: value for name, value in values.items() if name not in options}
        command(raw=TableOptions.of(values), **own)

    with_table.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_table.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_table


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

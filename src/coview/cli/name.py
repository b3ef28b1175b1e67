"""`coview name`: the names of a model's topics or clusters, found in objects, asked of a function or given by hand."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from coview.cli.files import (
    check_input,
    check_there,
    check_writable,
    plain,
    read_input,
    report_absent_views,
    write_table,
)
from coview.cli.options import Data, EscapeFormulas, Json, Sep, Table, View
from coview.cli.predict import Out
from coview.utils.messages import did_you_mean, listed, printable
from coview.utils.progress import progress, tell

__all__ = ["name"]


def name(
    model: Annotated[Path, typer.Argument(help="A model file; its names are changed in place.")],
    view: View = None,
    data: Data = None,
    table: Table = None,
    sep: Sep = None,
    namer: Annotated[
        str | None,
        typer.Option(
            "--namer",
            help="A Python function, MODULE:FUNCTION, that is given a coview.GroupCard and returns a name, such as by "
            "asking a language model. A module in this folder is found.",
        ),
    ] = None,
    rename: Annotated[
        list[str] | None, typer.Option("--rename", help="A name by hand: 3='Mail clients'. May be repeated.")
    ] = None,
    names: Annotated[
        Path | None, typer.Option("--names", help="A table with the columns group and name, as --out writes it.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Find names also for groups that people have named, by hand or seeds.")
    ] = False,
    out: Out = None,
    escape_formulas: EscapeFormulas = True,
    as_json: Json = False,
) -> None:
    """Name the topics or clusters of a model, and keep the names in its file.

    With objects, groups are named by the words and phrases that tell them apart, or by --namer; names that people gave
    before, by hand or with seeds, are kept without --overwrite. --rename and --names give names by hand, after that.
    With none of these the names are printed as they are. Commands that read the model (predict, report, explore, ...)
    show them.
    """
    check_there(model)
    check_writable(out)
    has_objects = bool(view) or data is not None or table is not None
    if has_objects:
        check_input(view or [], data, table, sep)
    by_file, by_option = ({} if names is None else _of_file(names)), _of_options(rename or [])
    given = {**by_file, **by_option}

    from coview.inspection import inspect
    from coview.inspection.naming import name_groups, set_group_names
    from coview.io.models import load, save

    with progress(verbose=0 if as_json else None):
        asked = None if namer is None else _function(namer)
        tell("loading the model")
        fitted = load(model)
        if has_objects or asked is not None:
            tell("reading")
            X = read_input(view or [], data, table, sep) if has_objects else None
            if table is not None:
                report_absent_views(inspect(fitted).front, X, "named")
            tell("")
            name_groups(fitted, X, asked, overwrite=overwrite)
        if given:
            groups = inspect(fitted).groups
            for key in by_file:
                if key not in groups:
                    raise ValueError(f"{names} names the group {key!r:.60}, but the groups are {listed(groups)}.")
            set_group_names(fitted, given)
        if has_objects or asked is not None or given:
            save(fitted, model)
    columns = _table(inspect(fitted))
    if as_json:
        print(json.dumps(plain(columns)))
    if out is not None:
        write_table(columns, out, escape_formulas=escape_formulas)
    elif not as_json:
        write_table(columns)
    if not as_json and (has_objects or asked is not None or given):
        print(f"Names are kept in {printable(model)}.", file=sys.stderr)


def _table(model: Any) -> dict[str, list[Any]]:
    """Keys, names and sizes of the groups."""
    import numpy as np

    columns: dict[str, list[Any]] = {"group": list(model.groups), "name": list(model.group_names)}
    codes = model.training.codes
    if codes is not None:
        columns["objects"] = np.bincount(codes[codes >= 0], minlength=len(model.groups)).tolist()
    return columns


def _of_file(names: Path) -> dict[str, str]:
    """Names of the table of --names; groups whose cell is empty keep theirs."""
    check_there(names)
    from coview.io.tables import read_table
    from coview.validation import is_gap

    table = read_table(names)
    known = list(table.columns)
    for column in ("group", "name"):
        if column not in known:
            raise ValueError(f"{names} has no column {column!r}, only {listed(known)}.{did_you_mean(column, known)}")
    keys, called = ([_stripped(cell) for cell in plain({"": table[column]})[""]] for column in ("group", "name"))
    keys = [int(key) if isinstance(key, float) and key.is_integer() else key for key in keys]  # beside empty cells
    return {str(key): str(name) for key, name in zip(keys, called) if not (is_gap(key) or is_gap(name))}


def _stripped(cell: Any) -> Any:
    return cell.strip() if isinstance(cell, str) else cell


def _of_options(rename: list[str]) -> dict[str, str]:
    """Names of --rename."""
    given: dict[str, str] = {}
    for pair in rename:
        key, sign, called = pair.partition("=")
        if not sign:
            raise ValueError(f"--rename must be GROUP=NAME, such as 3='Mail clients', got {pair!r}.")
        given[key.strip()] = called
    return given


def _function(path: str) -> Callable[[Any], str]:
    """The function that MODULE:FUNCTION names."""
    module, _, function = path.partition(":")
    if not module or not function:
        raise ValueError(f"--namer must be MODULE:FUNCTION, such as my_names:ask, got {path!r}.")
    sys.path.insert(0, "")
    try:
        found = vars(importlib.import_module(module)).get(function)
    except ImportError as error:
        raise ValueError(f"--namer {path}: {error}.") from error
    finally:
        sys.path.remove("")
    if not callable(found):
        raise ValueError(f"--namer {path}: module {module!r} has no function {function!r}.")
    return found

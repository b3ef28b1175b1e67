"""`coview edit`: merge, split, rename, drop or mark groups of a model file as noise; shows what moves, then writes."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coview.cli.files import (
    check_input,
    check_there,
    check_writable,
    ids_of,
    plain,
    read_input,
    report_absent_views,
    write_table,
)
from coview.cli.options import EscapeFormulas, Json, Objects, take_options
from coview.utils.messages import cut, printable, quantity
from coview.utils.progress import progress, tell

if TYPE_CHECKING:
    from coview.editing import EditedModel, Moves

__all__ = ["edit"]

SHOWN_MOVES, SHOWN_OBJECTS, NAME_LETTERS = 8, 5, 40


@take_options
def edit(
    *,
    model: Annotated[Path, typer.Argument(help="A model file of topics or clusters.")],
    objects: Objects,
    merge: Annotated[
        list[str] | None,
        typer.Option("--merge", help="Groups to merge, by number or name: 3,7 or 3,7=Engines; names with ; between."),
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option("--split", help="A group to split, 4, or 4=3 for three parts; needs the objects of the fit."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", help="A group to drop: its objects, which it needs, go to their next best one."),
    ] = None,
    noise: Annotated[
        list[str] | None, typer.Option("--noise", help="A group that is noise: its objects belong to no group (-1).")
    ] = None,
    reduce: Annotated[
        int | None,
        typer.Option("--reduce", min=1, help="Merge the groups that are most alike, until so many are left."),
    ] = None,
    rename: Annotated[list[str] | None, typer.Option("--rename", help="A name for a group: 2='steam engines'.")] = None,
    undo: Annotated[int, typer.Option("--undo", count=True, help="Take the last edit back; repeat for more.")] = 0,
    log: Annotated[bool, typer.Option("--log", help="Show all edits.")] = False,
    name: Annotated[
        bool,
        typer.Option(
            "--name", help="Name the groups by the words and phrases that tell them apart; names by hand are kept."
        ),
    ] = False,
    namer: Annotated[
        str | None,
        typer.Option(
            "--namer",
            help="Name them by a Python function, MODULE:FUNCTION, that takes a coview.GroupCard and returns a name, "
            "such as by asking a language model. A module in this folder is found.",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Find names also for groups that people have named, by hand or seeds.")
    ] = False,
    moves: Annotated[
        Path | None, typer.Option("--moves", help="Table to write the objects that move to, with both groups.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Model file to write; without it the edits are shown only.")
    ] = None,
    escape_formulas: EscapeFormulas = True,
    as_json: Json = False,
) -> None:
    """Name, merge, split, rename or drop topics or clusters of a model, or mark them as noise; its file keeps a log.

    Shows which objects move first, those of the fit or of the data that is given, and writes a model with --out alone,
    which may be the same file. Each option may be repeated. Edits are made in the order --undo, --merge, --split,
    --drop, --noise, --reduce, --rename, --name, whatever the order of the options; call the command again for another.
    Numbers of groups stay: a merged group has the lowest one, parts of a split get new ones.
    """
    check_there(model)
    check_writable(moves)
    if out is not None and out.is_dir():
        raise ValueError(f"{out} is a folder; give the name of a file, such as {out / 'model.coview'}.")
    edits = _asked(undo, merge, split, drop, noise, reduce, rename)
    if objects.given:
        check_input(objects)
    if split and not objects.given:
        raise ValueError("--split needs the objects of the fit: pass their table, or the folder of their views.")
    asked = None if namer is None else _function(namer)
    names = name or namer is not None

    from coview.editing import edit as edited
    from coview.inspection import inspect
    from coview.inspection.naming import name_groups
    from coview.io.models import load, save

    with progress(verbose=0 if as_json else None):
        tell("loading the model")
        fitted = load(model)
        about = inspect(fitted)
        if about.kind == "class":
            raise ValueError(
                f"coview edit changes topics or clusters, but the model of {model}, {about.title}, is a classifier, "
                "whose classes are those of its labels: change the labels, and fit it again."
            )
        before = edited(fitted)
        shown = inspect(before)
        X = None
        if objects.given:
            tell("reading")
            X = read_input(objects)
            if objects.table is not None:
                report_absent_views(shown.front, X, "shown")
        tell("editing")
        now, steps = before, []
        for options in edits:
            earlier, now = now, edited(now)
            if "undo" in options:
                now.undo(options["undo"])
            else:
                now.apply(options.pop("edit"), X, **options)
            steps.append(now.moves_from(earlier, X))
        # a model that only gets names is no edited one
        kept = now if now.edits_ or steps else fitted
        if names:
            name_groups(kept, X, asked, overwrite=overwrite)
            now = edited(kept)
        if (steps or names) and out is not None:
            save(kept, out)
    known = None if X is None else ids_of(X, shown.id_column)
    ids = None if known is None else plain({"id": known})["id"]
    if moves is not None:
        whole = now.moves_from(before, X)
        write_table(_objects(whole, ids), moves, escape_formulas=escape_formulas)
    if as_json:
        print(json.dumps(_as_json(now, X, steps, ids)))
        return
    for step in steps:
        _echo(_told(step, ids))
    if X is None and any(step["row"] for step in steps) and shown.training.ids is None:
        _echo("Objects are shown by their row, from 0: pass their table or views for their ids.")
    if log:
        lines = [f"  {i}. {line}" for i, line in enumerate(now.log(), 1)]
        _echo("\n".join(["log:", *lines] if lines else ["No edits."]))
    if steps or not log:
        _echo(_groups(now, X))
    if steps or names:
        written = f"{out}: {quantity(len(now.edits_), 'edit')} in its log{', and names' if names else ''}."
        _echo("Nothing was written: add --out FILE." if out is None else written)


def _asked(
    undo: int,
    merge: list[str] | None,
    split: list[str] | None,
    drop: list[str] | None,
    noise: list[str] | None,
    reduce: int | None,
    rename: list[str] | None,
) -> list[dict[str, Any]]:
    """The edits of the options, in the order in which they are made."""
    edits: list[dict[str, Any]] = [{"undo": undo}] if undo else []
    for value in merge or []:
        groups, _, called = value.partition("=")
        parts = [part.strip() for part in groups.split(";" if ";" in groups else ",") if part.strip()]
        if len(parts) < 2:
            raise ValueError(f"--merge must name two groups or more, such as 3,7 or 'engines; boats', got {value!r}.")
        edits.append({"edit": "merge", "groups": parts, "name": called.strip() or None})
    for value in split or []:
        group, sign, n = value.rpartition("=")
        counted = bool(sign) and n.isdecimal()
        edits.append({"edit": "split", "group": (group if counted else value).strip(), "n": int(n) if counted else 2})
    edits += [{"edit": "drop", "group": value.strip()} for value in drop or []]
    edits += [{"edit": "noise", "group": value.strip()} for value in noise or []]
    if reduce is not None:
        edits.append({"edit": "reduce", "n": reduce})
    for value in rename or []:
        group, sign, called = value.partition("=")
        if not sign:
            raise ValueError(f"--rename must be GROUP=NAME, such as 2='steam engines', got {value!r}.")
        edits.append({"edit": "rename", "group": group.strip(), "name": called.strip()})
    return edits


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


def _echo(text: str) -> None:
    typer.echo("\n".join(printable(line) for line in text.split("\n")))


def _told(step: Moves, ids: Any) -> str:
    """An edit, how many objects go from where to where, and the first of them."""
    lines = [step.sentence]
    counts = list(zip(*step.counts.values()))
    names = _objects(step, ids)["id"]
    for before, after, n in counts[:SHOWN_MOVES]:
        pairs = zip(step["before"], step["after"])
        some = [str(name) for name, pair in zip(names, pairs) if pair == (before, after)][:SHOWN_OBJECTS]
        more = ", ..." if n > len(some) else ""
        listing = ", ".join(cut(one, NAME_LETTERS) for one in some)
        lines.append(f"  {_number(before)} to {_number(after)}: {n:,} ({listing}{more})")
    if len(counts) > SHOWN_MOVES:
        lines.append(f"  and {sum(n for *_, n in counts[SHOWN_MOVES:]):,} more")
    return "\n".join(lines)


def _number(number: int) -> str:
    return "no group" if number < 0 else str(number)


def _objects(moved: Moves, ids: Any) -> dict[str, list[Any]]:
    """The objects that move: their ids, or their rows, and both groups."""
    names = moved["id"] if ids is None else [ids[row] for row in moved["row"]]
    return {"id": names, "before": moved["before"], "after": moved["after"]}


def _sizes(model: EditedModel, X: Any) -> tuple[list[Any], str]:
    """Number, name and number of objects of each group, and which objects these are.

    Objects that are given are sorted as `predict` and the report do; those of the fit are where the fit has left them.
    """
    import numpy as np

    from coview.inspection import inspect
    from coview.utils.fitted_state import find_attribute

    shown = inspect(model)
    predict = find_attribute(model, "predict")
    read = shown.codes(predict(X)) if X is not None and predict is not None else None
    codes = shown.training.codes if read is None else read
    if codes is None:
        return list(zip(model.numbers_, shown.group_names, [None] * len(shown.groups))), ""
    sizes = np.bincount(codes[codes >= 0], minlength=len(shown.groups)).tolist()
    which = f"{quantity(len(codes), 'object')} {'of the fit' if read is None else 'that were given'}"
    return list(zip(model.numbers_, shown.group_names, sizes)), which


def _groups(model: EditedModel, X: Any) -> str:
    from coview.utils.tables import ColumnTable

    rows, which = _sizes(model, X)
    table = ColumnTable(dict(zip(("group", "name", "objects"), map(list, zip(*rows)))))
    lines = str(table).split("\n")
    return "\n".join([f"{quantity(len(rows), 'group')}{f' of the {which}' if which else ''}", *lines[1:]])


def _as_json(model: EditedModel, X: Any, steps: list[Moves], ids: Any) -> dict[str, Any]:
    groups = [dict(zip(("group", "name", "objects"), row)) for row in _sizes(model, X)[0]]
    done = [{"edit": step.edit, "n_objects": step.n_objects, "moves": plain(_objects(step, ids))} for step in steps]
    return {"steps": done, "groups": groups, "edits": model.edits_, "log": model.log()}

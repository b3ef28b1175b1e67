"""`coview edit`: merge, split, rename, drop or mark groups of a model file as noise; shows what moves, then writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coview.cli.files import check_there, ids_of, plain, read_input, report_views
from coview.cli.options import Json, Model, Objects
from coview.cli.taking import take_options
from coview.utils.messages import cut, printable, quantity
from coview.utils.progress import progress, tell

if TYPE_CHECKING:
    from coview.editing import EditedModel, Moves

__all__ = ["edit"]

_SHOWN_MOVES, _SHOWN_OBJECTS = 8, 5


@take_options
def edit(
    *,
    model: Model,
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
    together: Annotated[
        list[str] | None,
        typer.Option("--together", help="Objects that belong in one group: a,b by id, or by row where there are none."),
    ] = None,
    apart: Annotated[
        list[str] | None, typer.Option("--apart", help="Objects that belong in different groups: c,d.")
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option("--pairs", help="Table of pairs: two columns of objects, and one of 'together' or 'apart'."),
    ] = None,
    rename: Annotated[list[str] | None, typer.Option("--rename", help="A name for a group: 2='steam engines'.")] = None,
    undo: Annotated[
        int,
        typer.Option(
            "--undo", count=True, metavar=" ", show_default=False, help="Take back the last edit; repeat for more."
        ),
    ] = 0,
    log: Annotated[bool, typer.Option("--log", help="Show all edits.")] = False,
    name: Annotated[
        bool, typer.Option("--name", help="Name the groups by their distinctive phrases; names by hand are kept.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Model file to write; without it the edits are shown only.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Name, merge, split, rename or drop topics or clusters of a model, or say which objects belong together or apart.

    Shows which objects move first, those of the fit or of the data that is given, and writes a model with --out alone,
    which may be the same file. Each option may be repeated. Edits follow in the order --undo, --merge, --split, --drop,
    --noise, --rename, --together, --apart, --pairs, --name, whatever the order of the options; call the command again
    for another. Numbers of groups stay: a merged group has the lowest one, parts of a split get new ones.
    """
    check_there(model)
    if undo and str(objects.data).isdecimal():
        raise ValueError("--undo takes no number; repeat it to take more edits back.")
    if split and not objects.given:
        raise ValueError("--split needs the objects of the fit: pass their table, or the folder of their views.")
    edits = [*map(_read_merge, merge or []), *map(_read_split, split or [])]
    edits += [{"edit": "drop", "group": value.strip()} for value in drop or []]
    edits += [{"edit": "noise", "group": value.strip()} for value in noise or []]
    edits += map(_read_name, rename or [])
    given = [("together", value) for value in together or []] + [("apart", value) for value in apart or []]
    edits += [{"edit": kind, "objects": _split_list(value)} for kind, value in given]
    edits += [] if pairs is None else _read_pairs(pairs)

    from coview import inspect, load, save
    from coview.editing import edit as start_editing

    with progress(verbose=0 if as_json else None):
        tell("loading the model")
        fitted = load(model)
        about = inspect(fitted)
        if about.kind == "class":
            raise ValueError(
                f"coview edit changes topics or clusters, but the model of {model}, {about.name}, is a classifier, "
                "whose classes are those of its labels: change the labels, and fit it again."
            )
        X = read_input(objects) if objects.given else None
        if X is not None:
            report_views(about.preparation.front, X)
        tell("editing")
        now, steps = start_editing(fitted), []
        for options in [*([{"undo": undo}] if undo else []), *edits]:
            earlier, now = now, start_editing(now)
            if "undo" in options:
                now.undo(undo)
            else:
                now.apply(options.pop("edit"), X, **options)
            steps.append(now.moves_from(earlier, X))
        # a model that only gets names is no edited one
        kept = now if now.edits_ or steps else fitted
        if name:
            from coview.inspection.naming import name_groups

            name_groups(kept, X)
            now = start_editing(kept)
        if (steps or name) and out is not None:
            save(kept, out)
    known = None if X is None else ids_of(X, about.preparation.id_column)
    ids = None if known is None else plain({"id": known})["id"]
    groups, which = _count_groups(now, X)
    if as_json:
        moved = [{"edit": each.edit, "n_objects": each.n_objects, "moves": _list_moves(each, ids)} for each in steps]
        print(json.dumps({"steps": moved, "groups": groups, "edits": now.edits_, "log": now.log()}))
        return
    lines = [line for step in steps for line in _describe_moves(step, ids)]
    if log:
        lines += ["log:", *(f"  {i}. {line}" for i, line in enumerate(now.log(), 1))] if now.edits_ else ["No edits."]
    if steps or not log:
        lines.append(f"{quantity(len(groups), 'group')}{which}:")
        lines += [
            f"  {each['group']}: {each['name']}" + ("" if each["objects"] is None else f" ({each['objects']:,})")
            for each in groups
        ]
    if steps or name:
        saved = f"{out}: {quantity(len(now.edits_), 'edit')} in its log{', and names' if name else ''}."
        lines.append("Nothing was written: add --out FILE." if out is None else saved)
    print("\n".join(map(printable, lines)))


def _split_list(value: str) -> list[str]:
    return [part.strip() for part in value.split(";" if ";" in value else ",") if part.strip()]


def _read_pairs(path: Path) -> list[dict[str, Any]]:
    """Edits of a table of pairs."""
    from coview.io.tables import read_table

    table = read_table(path)
    columns = list(plain({name: table[name] for name in table.columns}).values())
    if len(columns) != 3 or not set(columns[2]) <= {"together", "apart"}:
        raise ValueError(f"{path} must have three columns: two of objects, and one that says 'together' or 'apart'.")
    return [{"edit": kind, "objects": [str(one), str(other)]} for one, other, kind in zip(*columns)]


def _read_merge(value: str) -> dict[str, Any]:
    groups, _, called = value.partition("=")
    parts = _split_list(groups)
    if len(parts) < 2:
        raise ValueError(f"--merge must name two groups or more, such as 3,7 or 'engines; boats', got {value!r}.")
    return {"edit": "merge", "groups": parts, "name": called.strip() or None}


def _read_split(value: str) -> dict[str, Any]:
    group, _, n = value.rpartition("=")
    counted = bool(group) and n.isdecimal()
    return {"edit": "split", "group": (group if counted else value).strip(), "n": int(n) if counted else 2}


def _read_name(value: str) -> dict[str, Any]:
    group, sign, called = value.partition("=")
    if not sign:
        raise ValueError(f"--rename must be GROUP=NAME, such as 2='steam engines', got {value!r}.")
    return {"edit": "rename", "group": group.strip(), "name": called.strip()}


def _list_moves(moved: Moves, ids: Any) -> dict[str, list[Any]]:
    """The objects that move: their ids, or their rows, and both groups."""
    names = moved["id"] if ids is None else [ids[row] for row in moved["row"]]
    return plain({"id": names, "before": moved["before"], "after": moved["after"]})


def _describe_moves(step: Moves, ids: Any) -> list[str]:
    """An edit, how many objects go from where to where, and the first of them."""
    lines, moves = [step.sentence], list(zip(*_list_moves(step, ids).values()))
    counts = list(zip(*step.counts.values()))
    for *groups, n in counts[:_SHOWN_MOVES]:
        before, after = ("no group" if number < 0 else number for number in groups)
        some = [cut(str(name), 40) for name, *pair in moves if pair == groups][:_SHOWN_OBJECTS]
        lines.append(f"  {before} to {after}: {n:,} ({', '.join(some)}{', ...' if n > len(some) else ''})")
    rest = sum(n for *_, n in counts[_SHOWN_MOVES:])
    return [*lines, *([f"  and {rest:,} more"] if rest else [])]


def _count_groups(model: EditedModel, X: Any) -> tuple[list[dict[str, Any]], str]:
    """Number, name and number of objects of each group, and which objects these are.

    Objects that are given are sorted as `predict` and the report do; those of the fit are where the fit has left them.
    """
    import numpy as np

    from coview import inspect
    from coview.inspection.memberships import label_codes
    from coview.utils.fitted_state import find_attribute

    shown = inspect(model)
    predict = find_attribute(model, "predict")
    read = label_codes(predict(X), shown.labels) if X is not None and predict is not None else None
    codes = shown.training.codes if read is None else read
    sizes: list[Any] = [None] * len(shown.groups)
    which = ""
    if codes is not None:
        sizes = np.bincount(codes[codes >= 0], minlength=len(shown.groups)).tolist()
        which = f" of the {quantity(len(codes), 'object')} {'of the fit' if read is None else 'that were given'}"
    rows = zip(model.numbers_, shown.group_names, sizes)
    return [{"group": group, "name": name, "objects": size} for group, name, size in rows], which

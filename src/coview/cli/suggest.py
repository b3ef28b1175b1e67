"""`coview suggest`: a model file and data to a table of objects that a person is to label."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from coview.cli.files import ids_of, plain, read_target, report_absent_views
from coview.cli.options import Config, Data, EscapeFormulas, Json, Labels, Sep, Table, View
from coview.cli.predict import AllDigits, Model, Out, load_objects, run_to_table, tell_no_ids
from coview.utils.messages import quantity
from coview.utils.progress import tell

__all__ = ["run_suggest", "suggest"]


def suggest(
    ctx: typer.Context,
    model: Model = None,
    view: View = None,
    data: Data = None,
    table: Table = None,
    sep: Sep = None,
    labels: Labels = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="Number of objects to name.")] = 10,
    out: Out = None,
    seed: Annotated[int, typer.Option("--seed", help="Random seed, of samples of many objects.")] = 0,
    all_digits: AllDigits = False,
    escape_formulas: EscapeFormulas = True,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Name the objects whose labels would help a classifier most, with an empty column for the label.

    Pass the labels that the model was fitted with, --labels, so that labeled objects are not named. The file that --out
    writes has them too, below: fill in the column "label" at its top, and pass the file to coview fit and to the next
    coview suggest as --labels.

    Columns say why: "uncertainty" of the model and "coverage" (share of what needs a label that this one would tell
    of), each from 0 to 1.
    """
    run_to_table(ctx, config, as_json, run_suggest, _in_file)


def run_suggest(
    model: Path | None,
    view: Any = None,
    data: Path | None = None,
    table: Path | None = None,
    sep: str | None = None,
    labels: str | None = None,
    count: int = 10,
    seed: int = 0,
) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Return the columns that `coview suggest` writes: of the objects to label, and of those that are labeled."""
    fitted, X = load_objects(model, "suggest", view, data, table, sep)
    if fitted.kind != "class" or len(fitted.groups) < 2:
        raise ValueError(
            f"coview suggest needs a classifier of at least two classes, but the model of {model} is {fitted.title}. "
            "Fit one with labels: coview fit auto --labels ..."
        )

    from coview.model_selection.suggest import suggest_labels
    from coview.validation import minus_one_is_unlabeled, unlabeled_rows

    y = read_target(labels, X, fitted.id_column)
    report_absent_views(fitted.front, X, "suggested")
    tell_no_ids(fitted, X)
    tell("choosing")
    found = suggest_labels(fitted.model, X, count, y=y, random_state=seed)
    ids = ids_of(X, fitted.id_column)
    key = "row" if ids is None else "id"

    def named(rows: list[int]) -> dict[str, list[Any]]:
        return {key: rows if ids is None else plain({key: [ids[row] for row in rows]})[key]}

    shown = {name: values for name, values in found.columns.items() if name not in ("row", "id")}
    columns = {**named(found.indices.tolist()), "label": [None] * len(found), **shown}
    if y is None:
        return columns, {}
    known = ~unlabeled_rows(y, semi_supervised=minus_one_is_unlabeled(fitted.estimator))
    rows = [row for row, one in enumerate(known.tolist()) if one]
    return columns, {**named(rows), "label": plain({"label": [y[row] for row in rows]})["label"]}


def _in_file(answer: tuple[dict[str, list[Any]], dict[str, list[Any]]]) -> tuple[dict[str, list[Any]], str]:
    """The objects to label, and below them those that are labeled, whose other cells are empty; and how many."""
    columns, given = answer
    count = len(given.get("label", ()))
    about = f"{quantity(len(columns['label']), 'object')} to label"
    about += f" and {quantity(count, 'label')} so far" if given else ""
    return {name: [*part, *given.get(name, [None] * count)] for name, part in columns.items()}, about

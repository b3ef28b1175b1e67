"""`coview label`: a model file and data to a table of objects that a person is to label."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from coview.cli.files import columns_of, plain, read_target, report_absent_views
from coview.cli.options import Labels, Objects, take_options
from coview.cli.predict import Model, load_objects
from coview.cli.writing import Writing, find_captions, keys_of
from coview.utils.messages import quantity
from coview.utils.progress import progress, tell

__all__ = ["label"]


@take_options
def label(
    *,
    model: Model = None,
    objects: Objects,
    labels: Labels = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="Number of objects to name.")] = 10,
    seed: Annotated[int, typer.Option("--seed", help="Random seed, of samples of many objects.")] = 0,
    writing: Writing,
) -> None:
    """Name the objects whose labels would help a classifier most, with an empty column for the label.

    Objects that have a label are not named: those of --labels, by default of the column that the model was fitted with.
    The file that --out writes has them too, below: fill in the column "label" at its top, and pass the file to coview
    fit and to the next coview label as --labels.

    Columns say why: "uncertainty" of the model and "coverage" (share of what needs a label that this one would tell
    of), each from 0 to 1.
    """
    with progress(verbose=0 if writing.as_json else None):
        fitted, X = load_objects(model, "label", objects)
        if fitted.kind != "class" or len(fitted.groups) < 2:
            raise ValueError(
                f"coview label needs a classifier of at least two classes, but the model of {model} is {fitted.title}. "
                "Fit one with labels: coview fit auto TABLE --labels COLUMN"
            )

        from coview.model_selection.suggest import suggest_labels
        from coview.validation import minus_one_is_unlabeled, unlabeled_rows

        column = getattr(fitted.front, "label", None)
        if labels is None and column is not None and column in columns_of(X):
            labels = column
        y = read_target(labels, X, fitted.id_column)
        report_absent_views(fitted.front, X, "suggested")
        tell("choosing")
        found = suggest_labels(fitted.model, X, count, y=y, random_state=seed)
        rows = found.indices.tolist()
        known = [] if y is None else _rows(~unlabeled_rows(y, semi_supervised=minus_one_is_unlabeled(fitted.estimator)))
        ((key, names),) = keys_of(fitted, X, [*rows, *known]).items()
        shown = {name: values for name, values in found.columns.items() if name not in ("row", "id")}
        columns: dict[str, Any] = {key: names[: len(rows)], "label": [None] * len(rows), **shown}
        if (captions := find_captions(fitted, X, writing.caption)) is not None:
            columns["caption"] = [captions[row] for row in rows]
    # below the objects to label those that are labeled, whose other cells are empty
    below = {key: names[len(rows) :], "label": plain({"": [y[row] for row in known]})[""]}
    whole = {name: [*part, *below.get(name, [None] * len(known))] for name, part in columns.items()}
    so_far = "" if y is None else f" and {quantity(len(known), 'label')} so far"
    writing.write(columns, whole, f"{quantity(len(rows), 'object')} to label{so_far}")


def _rows(chosen: Any) -> list[int]:
    return [row for row, one in enumerate(chosen.tolist()) if one]

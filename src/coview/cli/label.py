"""`coview label`: a model file and data to a table of objects that a person is to label."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from coview.cli.files import columns_of, report_absent_views
from coview.cli.labels import read_target
from coview.cli.options import Labels, Model, Objects
from coview.cli.predict import load_objects
from coview.cli.taking import take_options
from coview.cli.writing import Writing, keys_of
from coview.utils.messages import quantity
from coview.utils.progress import progress, tell

__all__ = ["label"]


@take_options
def label(
    *,
    model: Model,
    objects: Objects,
    labels: Labels = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="Number of objects to name.")] = 10,
    writing: Writing,
) -> None:
    """Name the objects whose labels would help a classifier most, with an empty column for the label.

    Objects that have a label are not named: those of --labels, by default of the column that the model was fitted with.
    The file that --out writes has them too, below: fill in the column "label" at its top, and pass the file to coview
    fit and to the next coview label as --labels.

    "uncertainty" is that of the model; "coverage" is the share of the uncertain objects that this one resembles and
    no labeled one does. Both are from 0 to 1.
    """
    with progress(verbose=0 if writing.as_json else None):
        fitted, X = load_objects(model, objects)
        if fitted.kind != "class" or len(fitted.groups) < 2:
            raise ValueError(
                f"coview label needs a classifier of at least two classes, but the model of {model} is {fitted.name}. "
                "Fit one with labels: coview fit auto TABLE --labels COLUMN"
            )

        from coview.model_selection.suggest import suggest_labels
        from coview.validation import minus_one_is_unlabeled, unlabeled_rows

        column = getattr(fitted.preparation.front, "label", None)
        y = read_target(
            column if labels is None and column in columns_of(X) else labels, X, fitted.preparation.id_column
        )
        report_absent_views(fitted.preparation.front, X)
        tell("choosing")
        found = suggest_labels(fitted.preparation.model, X, count, y=y, random_state=0)
        rows, known = found.indices.tolist(), []
        if y is not None:
            gaps = unlabeled_rows(y, semi_supervised=minus_one_is_unlabeled(fitted.estimator))
            known = [row for row, gap in enumerate(gaps.tolist()) if not gap]
        ((key, names),) = keys_of(fitted, X, [*rows, *known]).items()
        shown = {name: values for name, values in found.columns.items() if name not in ("row", "id")}
        columns: dict[str, Any] = {key: names[: len(rows)], "label": [None] * len(rows), **shown}
        if captions := fitted.preparation.captions(X, rows):
            columns["caption"] = captions
    # below the objects to label those that are labeled, whose other cells are empty
    below = {key: names[len(rows) :], "label": [] if y is None else y[known].tolist()}
    whole = {name: [*part, *below.get(name, [None] * len(known))] for name, part in columns.items()}
    so_far = "" if y is None else f" and {quantity(len(known), 'label')} so far"
    writing.write(columns, whole, f"{quantity(len(rows), 'object')} to label{so_far}")

"""`coview label`: a model file and data to a table of objects that a person is to label, or whose labels to check."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from coview.cli.files import columns_of, report_views
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
    audit: Annotated[bool, typer.Option("--audit", help="Name the labels that are likely wrong instead.")] = False,
    writing: Writing,
) -> None:
    """Name the objects whose labels would help a classifier most, with an empty column for the label.

    Objects that have a label are not named: those of --labels, by default of the column that the model was fitted with.
    The file that --out writes has them too, below: fill in the column "label" at its top, and pass the file to coview
    fit and to the next coview label as --labels.

    "uncertainty" is that of the model; "coverage" is the share of the uncertain objects that this one resembles and
    no labeled one does. Both are from 0 to 1.

    With --audit the labels that are there are checked: each view is asked for the class of an object whose label it has
    not seen. "doubt" is the probability that the label is wrong, "suggested" the likeliest other class, and "reason"
    what each view says. The file that --out writes has all labels: change those that are wrong in the column "label",
    and pass it to coview fit as --labels.
    """
    with progress(verbose=0 if writing.as_json else None):
        fitted, X = load_objects(model, objects)
        if fitted.kind != "class" or len(fitted.groups) < 2:
            raise ValueError(
                f"coview label needs a classifier of at least two classes, but the model of {model} is {fitted.name}. "
                "Fit one with labels: coview fit auto TABLE --labels COLUMN"
            )

        import numpy as np

        from coview.validation import minus_one_is_unlabeled, unlabeled_rows

        column = getattr(fitted.preparation.front, "label", None)
        labels = column if labels is None and column in columns_of(X) else labels
        y = read_target(labels, X, fitted.preparation.id_column)
        report_views(fitted.preparation.front, X, labels)
        known = []
        if y is not None:
            gaps = unlabeled_rows(y, semi_supervised=minus_one_is_unlabeled(fitted.estimator))
            known = np.flatnonzero(~gaps).tolist()
        if audit:
            if y is None:
                raise ValueError("--audit needs the labels: name their column, or a file, with --labels.")
            from coview.model_selection.audit import audit_labels

            audited = audit_labels(fitted.preparation.model, X, y, random_state=0)
            shown, about = audited.columns, repr(audited)
            rows, n_printed, given = audited.indices.tolist(), count, shown["label"]
        else:
            from coview.model_selection.suggest import suggest_labels

            tell("choosing")
            suggested = suggest_labels(fitted.preparation.model, X, count, y=y, random_state=0)
            rows, n_printed, shown = suggested.indices.tolist(), None, suggested.columns
            so_far = "" if y is None else f" and {quantity(len(known), 'label')} so far"
            given, about = [None] * len(rows), f"{quantity(len(rows), 'object')} to label{so_far}"
        others = sorted(set(known).difference(rows))
        ((key, names),) = keys_of(fitted, X, [*rows, *others]).items()
        shown = {name: values for name, values in shown.items() if name not in ("row", "id", "label")}
        columns: dict[str, Any] = {key: names[: len(rows)], "label": given, **shown}
        if captions := fitted.preparation.captions(X, rows):
            columns["caption"] = captions
    # below them the other labels, whose other cells are empty
    below = {key: names[len(rows) :], "label": [] if y is None else y[others].tolist()}
    whole = {name: [*part, *below.get(name, [None] * len(others))] for name, part in columns.items()}
    writing.write({name: part[:n_printed] for name, part in columns.items()}, whole, about)

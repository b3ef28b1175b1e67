"""`coview predict`: a model file and data to a table of groups, coordinates or outliers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coview.cli.files import check_input, check_there, ids_of, named_paths, read_input, report_views
from coview.cli.options import Model, Objects
from coview.cli.taking import take_options
from coview.cli.writing import Writing, keys_of
from coview.utils.messages import did_you_mean, listed, printable
from coview.utils.progress import print_line, progress, tell
from coview.utils.warn import warn_user

if TYPE_CHECKING:
    from coview.inspection import Inspection

__all__ = ["load_objects", "predict"]


@take_options
def predict(
    *,
    model: Model,
    objects: Objects,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of each class or topic, of models that have some.")
    ] = False,
    coordinates: Annotated[
        bool, typer.Option("--coordinates", help="Write the topics, memberships or coordinates instead, a column each.")
    ] = False,
    outliers: Annotated[
        bool, typer.Option("--outliers", help="List the objects that no topic or cluster explains instead.")
    ] = False,
    reference: Annotated[
        Path | None,
        typer.Option("--reference", help="With --outliers: usual objects that were not in the fit, a file like DATA."),
    ] = None,
    writing: Writing,
) -> None:
    """Give each object its class, cluster or first topic; any non-empty subset of the model's views will do.

    The column "label" is the class, or the number of the cluster or of the topic of the largest share, -1 for none;
    "name" says what the group is about. With --proba, columns begin with "p_" and the class, or the number of the
    group: "p_3: photo, image, raw". The column "known" is False for objects without anything that the model knows,
    such as a text of new words only.

    With --outliers, one half of an object is predicted from the other half. "score" says how far the likelihood of an
    object lies above that of usual objects of its length, in standard deviations; it is negative for outliers. A
    warning is printed where there are no more of them than by chance.

    Objects of the fit are predicted like new ones: a few may get another cluster than in the fit.
    """
    if coordinates + outliers + proba > 1:
        raise ValueError("--proba, --coordinates and --outliers write three different tables: choose one of them.")
    with progress(verbose=0 if writing.as_json else None):
        fitted, X = load_objects(model, objects)
        from coview.inspection.reading import can_predict, can_transform

        can = {"transform": can_transform(fitted), "predict": can_predict(fitted) or fitted.kind == "topic"}
        method = "transform" if coordinates else "predict"
        if not can[method] and not outliers:
            other = "leave out --coordinates" if coordinates else "add --coordinates"
            raise ValueError(f"The model of {model}, {fitted.name}, has no {method}: {other}.")
        tell("predicting")
        if outliers:
            usual = None if reference is None else read_input(Objects(reference))
            found = fitted.outliers(X, reference=usual, random_state=0)
            if not found.exceeds_chance:
                warn_user(f"{found.about}.", UserWarning)
            rows = list(found["row"])
            columns = {name: part for name, part in found.items() if name not in ("row", "id")}
        else:
            report_views(fitted.preparation.front, X)
            columns = _transform(fitted, X) if coordinates else _predict(fitted, X, proba)
            rows = list(range(len(next(iter(columns.values())))))
        columns = {**keys_of(fitted, X, rows), **columns}
        if writing.on_terminal and (captions := fitted.preparation.captions(X, rows)):
            columns["caption"] = captions
    writing.write(columns)


def _predict(fitted: Inspection, X: Any, proba: bool) -> dict[str, Any]:
    """Return the groups of objects; a line counts those that the model knows nothing of."""
    from coview.inspection import NAMED_BY_FEATURES
    from coview.inspection.features import keyed_names
    from coview.inspection.known import describe_unknown
    from coview.inspection.memberships import label_codes
    from coview.inspection.reading import can_transform

    if proba and not fitted.structure.probabilities:
        other = " --coordinates writes its memberships." if can_transform(fitted) else ""
        raise ValueError(f"{fitted.name} has no probabilities. Leave out --proba.{other}")
    prepared, known = fitted.preparation.prepare_known(X)
    labels = fitted.predict(prepared, prepared=True)
    columns: dict[str, Any] = {"label": labels}
    if fitted.kind in NAMED_BY_FEATURES:
        names = [*fitted.group_names, ""]  # -1 is the last
        columns["name"] = [names[code] for code in label_codes(labels, fitted.labels)]
    if proba:
        shares = fitted.memberships(prepared, prepared=True)
        assert shares is not None  # they are what has probabilities
        columns.update({f"p_{name}": shares[:, j] for j, name in enumerate(keyed_names(fitted))})
    ids = ids_of(X, fitted.preparation.id_column)
    warning = describe_unknown(known, range(len(labels)) if ids is None else ids, labels)
    if warning is not None:
        print_line(f"coview: {printable(warning)}")
    return {**columns, "known": known}


def _transform(fitted: Inspection, X: Any) -> dict[str, Any]:
    """Return the coordinates of objects, a column each."""
    import numpy as np
    from scipy import sparse

    from coview.inspection.reading import output_names, transform_objects
    from coview.views.views import Views

    result = transform_objects(fitted, X)
    parts = dict(result.items()) if isinstance(result, (Views, Mapping)) else {"": result}
    columns: dict[str, Any] = {}
    for name, part in parts.items():
        dense = np.asarray(part.toarray() if sparse.issparse(part) else part)
        width = dense.shape[1]
        header = output_names(fitted, width) if name == "" else [f"{name}:{j}" for j in range(width)]
        columns.update({each: dense[:, j] for j, each in enumerate(header)})
    return columns


def load_objects(path: Path, objects: Objects) -> tuple[Inspection, Any]:
    """Return the model and the objects to ask it of; what is not there is refused before large libraries are loaded."""
    check_there(path)
    check_input(objects)

    from coview import inspect, load

    model = inspect(load(path))
    if model.preparation.front is not None and objects.table is None:
        raise ValueError("The model was fitted on a raw table: pass one, a .csv, .tsv, .jsonl, .json or .parquet file.")
    if model.preparation.front is None and objects.table is not None:
        raise ValueError("The model was fitted on views: pass a folder of them, or --view NAME=FILE.")
    for name in named_paths(objects.view):
        if name not in model.views:
            known = list(model.views)
            raise ValueError(f"The model has no view {name!r}, only {listed(known)}.{did_you_mean(name, known)}")
    tell("reading")
    return model, read_input(objects)

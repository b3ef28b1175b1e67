"""`coview predict` and `coview transform`: a model file and data to a table."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coview.cli.files import (
    check_input,
    check_there,
    check_writable,
    columns_of,
    ids_of,
    named_paths,
    plain,
    read_input,
    report_absent_views,
    write_table,
)
from coview.cli.options import Config, Data, EscapeFormulas, Json, Sep, Table, View, merge_config, write_config
from coview.utils.messages import did_you_mean, listed, printable, quantity, short
from coview.utils.progress import print_line, progress, tell

if TYPE_CHECKING:
    from coview.inspection import Inspection

__all__ = [
    "AllDigits",
    "Model",
    "Out",
    "load_objects",
    "predict",
    "run_predict",
    "run_to_table",
    "run_transform",
    "tell_no_ids",
    "transform",
]

Model = Annotated[Path | None, typer.Argument(help="A model file that coview wrote.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Table to write: .csv .tsv .json .jsonl .parquet; else CSV is printed."),
]
AllDigits = Annotated[
    bool, typer.Option("--all-digits", help="Write numbers in CSV with all digits, not rounded to six.")
]
DIGITS = 6


def predict(
    ctx: typer.Context,
    model: Model = None,
    view: View = None,
    data: Data = None,
    table: Table = None,
    sep: Sep = None,
    proba: Annotated[
        bool,
        typer.Option(
            "--proba",
            help="Add the probability of each class or topic, of models that have some; those of other clusters have "
            "memberships, which coview transform writes.",
        ),
    ] = False,
    out: Out = None,
    all_digits: AllDigits = False,
    escape_formulas: EscapeFormulas = True,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Give each object its class, cluster or first topic; any non-empty subset of the model's views will do.

    The column "label" is the class, or the number of the cluster or of the topic of the largest share, -1 for none;
    "name" says what the group is about. With --proba, columns begin with "p_" and the class, or the number of the
    group: "p_3: photo, image, raw". The column "known" is False for objects without anything that the model knows,
    such as a text of new words only.

    Objects of the fit are predicted like new ones: a few may get another cluster than in the fit.
    """
    run_to_table(ctx, config, as_json, run_predict)


def transform(
    ctx: typer.Context,
    model: Model = None,
    view: View = None,
    data: Data = None,
    table: Table = None,
    sep: Sep = None,
    out: Out = None,
    all_digits: AllDigits = False,
    escape_formulas: EscapeFormulas = True,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Give each object its topics or coordinates, a column each."""
    run_to_table(ctx, config, as_json, run_transform)


def run_to_table(
    ctx: typer.Context,
    config: Path | None,
    as_json: bool,
    work: Callable[..., Any],
    in_file: Callable[[Any], tuple[dict[str, Any], str]] | None = None,
) -> None:
    """Do the work of a command by its options, and write its columns to a file, to standard output or as JSON.

    `work` returns the columns. Where a file holds more than is printed, `work` returns the columns to print and what
    else there is, and `in_file` turns both into the columns of the file, and a few words on what is in it.
    """
    options = merge_config(ctx, config, ("model", "data", "table", "out"))
    out, escape, all_digits = options.pop("out"), options.pop("escape_formulas"), options.pop("all_digits")
    digits = None if all_digits else DIGITS
    check_writable(out)
    with progress(verbose=0 if as_json else None):
        answer = work(**options)
    columns = answer if in_file is None else answer[0]
    if out is not None:
        rows = quantity(len(next(iter(columns.values()))), "row")
        written, about = (columns, rows) if in_file is None else in_file(answer)
        write_table(written, out, escape_formulas=escape, digits=digits)
        if not as_json:
            print(f"{printable(out)}: {about}", file=sys.stderr)
    elif not as_json:
        write_table(columns, digits=digits)
    if config is not None:
        write_config(ctx, config, {**options, "out": out, "escape_formulas": escape, "all_digits": all_digits})
    if as_json:
        print(json.dumps(plain(columns)))


def run_predict(
    model: Path | None,
    view: Any = None,
    data: Path | None = None,
    table: Path | None = None,
    sep: str | None = None,
    proba: bool = False,
) -> dict[str, Any]:
    """Return the columns that `coview predict` writes; a warning counts the objects that the model knows nothing of."""
    fitted, X = load_objects(model, "predict", view, data, table, sep)
    if proba and not fitted.probabilities:
        other = f" coview transform {model} ... writes its memberships." if fitted.transforms else ""
        raise ValueError(f"{fitted.name} has no probabilities. Leave out --proba.{other}")

    from coview.inspection import NAMED_BY_FEATURES
    from coview.inspection.known import describe_unknown
    from coview.views.views import Views

    report_absent_views(fitted.front, X, "predicted")
    tell("predicting")
    prepared, known = fitted.prepare_known(X)
    labels = fitted.predict(prepared, prepared=True)
    columns = {"id": _ids(fitted, X, len(labels)), "label": labels}
    if fitted.kind in NAMED_BY_FEATURES:
        columns["name"] = [fitted.group_names[code] if code >= 0 else "" for code in fitted.codes(labels)]
    if proba:
        shares = fitted.memberships(prepared, prepared=True)
        assert shares is not None  # they are what has probabilities
        columns.update({f"p_{name}": shares[:, j] for j, name in enumerate(fitted.keyed_names)})
    columns["known"] = known
    given = prepared.present.any(axis=1) if isinstance(prepared, Views) else True
    warning = describe_unknown(known, columns["id"], labels, given)
    if warning is not None:
        print(f"coview: {printable(warning)}", file=sys.stderr)
    return columns


def run_transform(
    model: Path | None,
    view: Any = None,
    data: Path | None = None,
    table: Path | None = None,
    sep: str | None = None,
) -> dict[str, Any]:
    """Return the columns that `coview transform` writes."""
    fitted, X = load_objects(model, "transform", view, data, table, sep)

    import numpy as np
    from scipy import sparse

    from coview.views.views import Views

    report_absent_views(fitted.front, X, "transformed")
    tell("transforming")
    result = fitted.transform(X)
    parts = dict(result.items()) if isinstance(result, (Views, Mapping)) else {"": result}
    columns: dict[str, Any] = {}
    for name, part in parts.items():
        dense = np.asarray(part.toarray() if sparse.issparse(part) else part)
        width = dense.shape[1]
        header = fitted.output_names(width) if name == "" else [f"{name}:{j}" for j in range(width)]
        columns = columns or {"id": _ids(fitted, X, len(dense))}
        columns.update({each: dense[:, j] for j, each in enumerate(header)})
    return columns


def load_objects(
    path: Path | None, method: str, view: Any, data: Path | None, table: Path | None, sep: str | None
) -> tuple[Inspection, Any]:
    """Return the model and the objects to ask it of; what is not there is refused before large libraries are loaded."""
    if path is None:
        raise ValueError(f"Name a model file. Example: coview {method} model.coview --data folder --out table.csv")
    check_there(path)
    check_input(view or [], data, table, sep)
    if table is not None:
        check_there(table)

    from coview.inspection import inspect
    from coview.io.models import load

    model = inspect(load(path))
    can = {"transform": model.transforms, "predict": model.predicts or _sorts(model)}
    if not can.get(method, True):
        other = "predict" if method == "transform" else "transform"
        use = f" Use: coview {other} {path} ..." if can[other] else ""
        raise ValueError(f"The model of {path}, {model.name}, has no {method}.{use}")
    if model.front is not None and table is None:
        raise ValueError("The model was fitted on a raw table: pass --table FILE.")
    if model.front is None and table is not None:
        rows = f" For rows of a stream: coview stream FILE --model {path} --labels '' --predictions OUT."
        stream = rows if hasattr(model.estimator, "predict_then_learn") else ""
        raise ValueError(f"The model was fitted on views: pass --view NAME=FILE or --data FOLDER.{stream}")
    for name in named_paths(view or []):
        if name not in model.views:
            known = list(model.views)
            raise ValueError(f"The model has no view {name!r}, only {listed(known)}.{did_you_mean(name, known)}")
    tell("reading")
    return model, read_input(view or [], data, table, sep)


def _sorts(model: Inspection) -> bool:
    """Tell whether it is a topic model, which gives each object the topic of its largest share."""
    return model.kind == "topic" and (model._memberships is not None or model._predict is not None)


def _ids(model: Inspection, X: Any, n_rows: int) -> Any:
    tell_no_ids(model, X)
    ids = ids_of(X, model.id_column)
    return range(n_rows) if ids is None else ids


def tell_no_ids(model: Inspection, X: Any) -> None:
    """Say in a line that a table lacks the column that names the objects."""
    if model.id_column is not None and ids_of(X, model.id_column) is None:
        print_line(
            f"coview: the table has no column {short(model.id_column)}, which names the objects: they are numbered "
            f"from 0.{did_you_mean(model.id_column, columns_of(X))}"
        )

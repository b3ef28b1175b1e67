"""`coview report`: a model file, with its data and labels where they are at hand, as one HTML page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from coview.cli.files import columns_of, named_paths, read_input, report_views, split_columns
from coview.cli.labels import read_target
from coview.cli.options import By, Labels, Model, Objects
from coview.cli.taking import take_options
from coview.utils.messages import printable
from coview.utils.progress import progress, tell

__all__ = ["report"]


@take_options
def report(
    *,
    model: Model,
    objects: Objects,
    labels: Labels = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write the page to.")] = Path("report.html"),
    held_out: Annotated[
        bool | None,
        typer.Option(
            "--held-out/--no-held-out",
            help="Refit the model with some labels or objects hidden, to score it and its views on them; "
            "by default if that is quick.",
        ),
    ] = None,
    by: By = None,
    effects: Annotated[
        str | None,
        typer.Option("--effects", help='Columns that shares depend on: "~ party + spline(date)"; needs a raw table.'),
    ] = None,
    clusters: Annotated[
        str | None, typer.Option("--clusters", help="With --effects: the column that tells which rows belong together.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what the page says as JSON; write no page.")] = False,
) -> None:
    """Write a self-contained HTML page: what the model is, how well it did, what each view contributed."""
    if labels is not None and not objects.given:
        raise ValueError("--labels requires the objects: pass their table, or the folder of their views, too.")
    if by and objects.table is None:
        raise ValueError("--by names columns of a raw table: pass the table, too.")
    if effects and objects.table is None:
        raise ValueError("--effects names columns of a raw table: pass the table, too.")
    if clusters and not effects:
        raise ValueError("--clusters is only for --effects, which were not asked for.")

    from coview import inspect, load
    from coview.io.models import outline
    from coview.report.report import make_report, table_columns
    from coview.utils.limits import shown_bytes

    with progress(verbose=0 if as_json else None):
        tell("loading the model")
        fitted = inspect(load(model))
        tell("reading")
        X: Any = read_input(objects) if objects.given else None
        y = read_target(labels, X, fitted.preparation.id_column)
        names = [name for each in by or [] for name in split_columns(each, columns_of(X))]
        columns = table_columns(names, X, fitted) if names else None
        source: Any = {name: str(path) for name, path in named_paths(objects.view).items()} or None
        if objects.table is not None:
            report_views(fitted.preparation.front, X, labels)
            if fitted.structure.retriever is not None and fitted.preparation.front is not None:  # it makes views itself
                X = fitted.preparation.front.transform(X)
        elif objects.data is not None:
            source = str(objects.data)
        tell("")
        page = make_report(
            fitted.preparation.model,
            X,
            y,
            by=columns,
            effects=effects,
            clusters=clusters,
            held_out="auto" if held_out is None else held_out,
            made_from={"model file": model, "data": source, "labels": labels, "table": objects.table},
            saved_with=outline(model)["versions"],
        )
    if as_json:
        print(json.dumps(page.summary))
        return
    path = page.save(out)
    print(printable(f"{path} ({shown_bytes(path.stat().st_size)}): {page._headline()}"))

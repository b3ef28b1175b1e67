"""`coview report`: a model file, with its data and labels where they are at hand, as one HTML page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from coview.cli.files import (
    columns_of,
    named_paths,
    read_input,
    read_target,
    report_absent_views,
    split_columns,
)
from coview.cli.options import Labels, Objects, take_options
from coview.utils.messages import printable
from coview.utils.progress import progress, tell

__all__ = ["report"]


@take_options
def report(
    *,
    model: Annotated[Path, typer.Argument(help="A model file.")],
    objects: Objects,
    labels: Labels = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write the page to.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    held_out: Annotated[
        bool | None,
        typer.Option(
            "--held-out/--no-held-out",
            help="Refit the model with some labels or objects hidden, to score it and its views on them; "
            "by default if that is quick.",
        ),
    ] = None,
    fitted_labels: Annotated[
        str | None,
        typer.Option(
            "--fitted-labels", help="The labels used in the fit, if fewer than --labels: scores then use the others."
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            help="Columns of the table, such as date,venue: how prevalent the groups are by each; can be repeated.",
        ),
    ] = None,
    stability: Annotated[
        bool,
        typer.Option(
            "--stability",
            help="Fit five copies with other seeds and show how much of each topic or cluster they find again; "
            "needs the objects of the fit.",
        ),
    ] = False,
    most: Annotated[int | None, typer.Option("--objects", min=1, help="Read at most this many objects.")] = None,
    map_method: Annotated[str, typer.Option("--map", help="How the map places objects: tsne or pca.")] = "tsne",
    as_json: Annotated[bool, typer.Option("--json", help="Print what the page says as JSON; write no page.")] = False,
) -> None:
    """Write a self-contained HTML page: what the model is, how well it did, what each view contributed."""
    from coview.inspection import inspect
    from coview.io.models import load, outline
    from coview.report.report import make_report, table_columns

    with progress(verbose=0 if as_json else None):
        tell("loading the model")
        fitted = inspect(load(model))
        table = objects.table
        if labels is not None and not objects.given:
            raise ValueError("--labels requires the objects: pass their table, or the folder of their views, too.")
        if by and table is None:
            raise ValueError("--by names columns of a raw table: pass the table, too.")
        tell("reading")
        X = read_input(objects) if objects.given else None
        y, y_fit = (read_target(source, X, fitted.id_column) for source in (labels, fitted_labels))
        names = [name for each in by or [] for name in split_columns(each, columns_of(X))]
        columns = table_columns(list(dict.fromkeys(names)), X, fitted) if names else None
        if table is not None:
            report_absent_views(fitted.front, X, "reported")
        if table is not None and fitted.retriever is not None and fitted.front is not None:  # it makes views itself
            X = fitted.front.transform(X)
        source: Any = None if objects.data is None else str(objects.data)
        if objects.view:
            source = {name: str(path) for name, path in named_paths(objects.view).items()}
        tell("")
        page = make_report(
            fitted.model,
            X,
            y,
            y_fit=y_fit,
            by=columns,
            held_out="auto" if held_out is None else held_out,
            stability=stability,
            max_objects=most,
            map_method=map_method,
            title=title,
            model_path=str(model),
            data=source,
            labels=labels,
            table=None if table is None else str(table),
            saved_with=outline(model)["versions"],
        )
    if as_json:
        print(json.dumps(page.summary))
        return
    path = page.save(out)
    typer.echo(printable(f"{path} ({path.stat().st_size / 1e6:.1f} MB): {page._headline()}"))

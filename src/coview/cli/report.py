"""`coview report`: a model file, with its data and labels where they are at hand, as one HTML page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from coview.cli.files import named_paths, read_input, read_labels
from coview.cli.options import Data, Labels, Table, View

__all__ = ["report", "run_report"]


def report(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    view: View = None,
    data: Data = None,
    table: Table = None,
    labels: Labels = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write the page to.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    held_out: Annotated[
        bool | None,
        typer.Option(
            "--held-out/--no-held-out",
            help="Refit a classifier with some labels hidden, to score it on them; by default if that is quick.",
        ),
    ] = None,
    fitted_labels: Annotated[
        str | None,
        typer.Option(
            "--fitted-labels", help="The labels used in the fit, if fewer than --labels: scores then use the others."
        ),
    ] = None,
    objects: Annotated[int | None, typer.Option("--objects", min=1, help="Read at most this many objects.")] = None,
    map_method: Annotated[str, typer.Option("--map", help="How the map places objects: pca, umap or auto.")] = "pca",
    as_json: Annotated[bool, typer.Option("--json", help="Print what the page says as JSON; write no page.")] = False,
) -> None:
    """Write a self-contained HTML page: what the model is, how well it did, what each view contributed."""
    chosen: bool | str = "auto" if held_out is None else held_out
    page = run_report(
        model,
        view or [],
        data,
        table,
        labels,
        fitted_labels=fitted_labels,
        title=title,
        held_out=chosen,
        max_objects=objects,
        map_method=map_method,
    )
    if as_json:
        print(json.dumps(page.summary))
        return
    path = page.save(out)
    typer.echo(f"{path} ({path.stat().st_size / 1e6:.1f} MB): {page!r}")


def run_report(
    model: Path,
    view: list[str],
    data: Path | None,
    table: Path | None,
    labels: str | None,
    fitted_labels: str | None = None,
    **options: Any,
) -> Any:
    """Return the report on a model file; see `coview.make_report` for the options."""
    from coview.inspection import inspect
    from coview.io.models import load, outline
    from coview.report.report import make_report

    fitted = inspect(load(model))
    has_objects = bool(view) or data is not None or table is not None
    if labels is not None and not has_objects:
        raise ValueError("--labels requires the objects: pass --view, --data or --table too.")
    X = read_input(view, data, table) if has_objects else None
    key = fitted.id_column
    y = read_labels(labels, X, key)
    if table is not None and fitted.retriever is not None and fitted.front is not None:  # it makes views itself
        X = fitted.front.transform(X)
    source: Any = {name: str(path) for name, path in named_paths(view).items()} if view else None
    if data is not None:
        source = str(data)
    if fitted_labels is not None:
        options["y_fit"] = read_labels(fitted_labels, X, key)
    options |= {"model_path": str(model), "data": source, "labels": labels, "saved_with": outline(model)["versions"]}
    options["table"] = None if table is None else str(table)
    return make_report(fitted.model, X, y, **options)

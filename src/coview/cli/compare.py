"""`coview compare`: every method and every baseline on the views in your files, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from coview.cli.files import check_input, guess_views, read_input, report_views, table_front
from coview.cli.labels import read_target
from coview.cli.options import Json, Labels, Objects, TableOptions, stop_when_interrupted
from coview.cli.taking import take_options
from coview.cli.writing import check_writable, write_table
from coview.utils.messages import quantity
from coview.utils.progress import progress, tell

__all__ = ["compare", "format_rows"]

_SHOWN = 10


@take_options
def compare(
    *,
    objects: Objects,
    raw: TableOptions,
    labels: Labels = None,
    task: Annotated[
        str | None,
        typer.Option(help="classification, few_labels or clustering; by default it follows from the labels."),
    ] = None,
    clusters: Annotated[int | None, typer.Option(min=2, help="Number of clusters; by default of classes.")] = None,
    share: Annotated[
        float | None, typer.Option(help="Keep only this share of the labels, to see how methods do with few.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Names or patterns, separated by commas: 'MultiView*,baselines'; all by default.")
    ] = None,
    folds: Annotated[int | None, typer.Option(min=2, help="Folds of the labeled objects; by default 5.")] = None,
    budget: Annotated[float, typer.Option(min=0, help="Seconds for each method; 0 sets no limit.")] = 60.0,
    seed: Annotated[int, typer.Option(help="Seed of the splits and of the methods.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the table to this file: .csv, .json, ...")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show all rows, not only the ten best.")] = False,
    as_json: Json = False,
) -> None:
    """Compare every method and baseline on your data; methods that fail or run out of time are listed as such."""
    check_writable(out)
    check_input(objects)

    from coview.model_selection.compare import compare as run
    from coview.views.lazy import LazyViews

    with progress(verbose=0 if as_json else None):
        tell("reading")
        X = read_input(objects)
        raw, _ = guess_views(raw, objects, X, labels)
        front = table_front(raw, objects, X)
        y = read_target(labels, X, raw.id)
        if front is not None:
            table, X = X, front.fit_transform(X)
            report_views(front, table, labels)
    with stop_when_interrupted():
        result = run(
            X.collect() if isinstance(X, LazyViews) else X,
            y,
            task=task,
            methods=None if methods is None else [name.strip() for name in methods.split(",") if name.strip()],
            cv=folds,
            n_clusters=clusters,
            label_share=share,
            time_budget=budget or None,
            random_state=seed,
            verbose=0 if as_json else None,
        )
    if out is not None and out.suffix.lower() == ".json":
        result.to_json(out)
    elif out is not None:
        write_table(result.columns, out)
    print(result.to_json() if as_json else format_rows(result, every))
    if not any(row["status"] == "done" for row in result.rows):
        raise ValueError(f"No method finished; the first one reported: {result.rows[0]['note']}")


def format_rows(result: Any, every: bool) -> str:
    """Return the table with the ten best rows, or all of it."""
    rest = result.rows[_SHOWN:]
    if every or not rest:
        return str(result)
    unfinished = sum(row["status"] != "done" for row in rest)
    about = f", of which {unfinished} did not finish" if unfinished else ""
    return (
        f"{result.to_text(result.rows[:_SHOWN])}\nNot shown: {quantity(len(rest), 'method')}{about}; --all shows all."
    )

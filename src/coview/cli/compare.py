"""`coview compare`: every method and every baseline on the views in your files, side by side."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from coview.cli.files import (
    check_input,
    check_table,
    check_writable,
    guess_views,
    read_input,
    read_target,
    table_front,
    write_table,
)
from coview.cli.options import EscapeFormulas, Json, Labels, Objects, TableOptions, take_options
from coview.exceptions import DataFileError, InterruptedFitWarning
from coview.utils.messages import printable, quantity
from coview.utils.progress import progress, tell

__all__ = ["compare", "format_rows"]

_SHOWN = 10
_FIGURES = (".png", ".svg", ".pdf")


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
    links: Annotated[
        str | None, typer.Option(help="A view of links: also try each method on views smoothed over it.")
    ] = None,
    folds: Annotated[int | None, typer.Option(min=2, help="Folds of the labeled objects; by default 5.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Splits of few labels, or seeds of clusterings.")] = 5,
    budget: Annotated[float, typer.Option(min=0, help="Seconds for each method; 0 sets no limit.")] = 60.0,
    jobs: Annotated[int | None, typer.Option(help="Methods to run at a time; one per core by default.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the splits and of the methods.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the table to this file: .csv, .json, ...")
    ] = None,
    escape_formulas: EscapeFormulas = True,
    every: Annotated[bool, typer.Option("--all", help="Show all rows, not only ten that differ.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Plot the scores to this file: .png, .svg or .pdf.")] = None,
    as_json: Json = False,
) -> None:
    """Compare every method and baseline on your data; methods that fail or run out of time are listed as such."""
    check_writable(out)
    _check_figure(plot)
    check_table(raw, objects, labels)
    check_input(objects)

    from coview.model_selection.compare import compare as run

    X, y = _read(objects, raw, labels, as_json)
    result = _uninterrupted(
        run,
        X,
        y,
        task=task,
        methods=None if methods is None else [name.strip() for name in methods.split(",") if name.strip()],
        cv=folds,
        n_repeats=repeats,
        n_clusters=clusters,
        links=links,
        label_share=share,
        time_budget=budget or None,
        n_jobs=jobs,
        random_state=seed,
        verbose=0 if as_json else None,
    )
    _write(result, out, plot, escape_formulas)
    print(result.to_json() if as_json else format_rows(result, every))
    if not any(row["status"] == "done" for row in result.rows):
        raise ValueError(f"No method finished; the first one reported: {result.rows[0]['note']}")


def _read(objects: Objects, raw: TableOptions, labels: str | None, as_json: bool) -> tuple[Any, Any]:
    """Views in memory, and the labels where there are any."""
    from coview.views.lazy import LazyViews

    with progress(verbose=0 if as_json else None):
        tell("reading")
        X = read_input(objects)
        raw, _ = guess_views(raw, objects, X, labels)
        front = table_front(raw, objects, X)
        y = read_target(labels, X, raw.id)
        if front is not None:
            X = front.fit_transform(X)
        return X.collect() if isinstance(X, LazyViews) else X, y


def _write(result: Any, out: Path | None, plot: Path | None, escape_formulas: bool) -> None:
    """Write the table and the figure to their files, where they are asked for."""
    if out is not None and out.suffix.lower() == ".json":
        result.to_json(out)
    elif out is not None:
        write_table(result.columns, out, escape_formulas=escape_formulas)
    if plot is not None:
        _draw(result, plot)


def format_rows(result: Any, every: bool) -> str:
    """Return the table with ten rows of different scores, or all of it."""
    chosen: dict[Any, Any] = {}
    for row in result.rows:
        scores = tuple(round(row[name], 3) for name in result.metrics) if row["status"] == "done" else row["method"]
        chosen.setdefault(scores, row)
    rows = list(chosen.values())[:_SHOWN]
    if every or len(result.rows) <= _SHOWN:
        return str(result)
    more = quantity(len(result.rows) - len(rows), "more row")
    return f"{result.to_text(rows)}\n{more}, with the same scores or lower ones: --all"


def _uninterrupted(run: Any, *args: Any, **options: Any) -> Any:
    """Run to the end; Ctrl-C ends the command and writes nothing, where in Python it gives what was done."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", InterruptedFitWarning)
        try:
            return run(*args, **options)
        except InterruptedFitWarning:
            raise KeyboardInterrupt from None


def _check_figure(path: Path | None) -> None:
    """Refuse a figure that could not be drawn, before the work is done."""
    from importlib.util import find_spec

    if path is None:
        return
    if path.suffix.lower() not in _FIGURES:
        raise DataFileError(
            f"{path} has the extension {path.suffix!r}; figures can be written as {', '.join(_FIGURES)}."
        )
    if find_spec("matplotlib") is None:
        raise DataFileError(f'{path} needs matplotlib to be drawn. Run: pip install "coview[plot]".')


def _draw(result: Any, path: Path) -> None:
    from coview.utils.atomic import atomic_path

    with atomic_path(path) as beside:
        result.plot().savefig(beside, format=path.suffix.lower().removeprefix("."), dpi=150)
    print(f"Written: {printable(path)}", file=sys.stderr)

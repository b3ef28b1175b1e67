"""`coview stream`: predict every row of a file or of standard input, then learn from it, and keep score."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from coview.utils.jsonable import plain
from coview.utils.messages import not_text
from coview.utils.progress import progress, tell

__all__ = ["stream"]


def stream(
    source: Annotated[str, typer.Argument(help="A file (.svmlight .jsonl .csv .parquet), or - for standard input.")],
    label: Annotated[str, typer.Option(help='Key or column that holds the label; "" where there is none.')] = "label",
    format: Annotated[
        str | None, typer.Option(help="svmlight, jsonl, csv or parquet; by default taken from the file extension.")
    ] = None,
    views: Annotated[
        str | None,
        typer.Option(help="Names of the views: words,links. For svmlight, with columns: words=3000,links=1840."),
    ] = None,
    n_features: Annotated[int, typer.Option("--features", min=1, help="Columns that names are hashed to.")] = 2**18,
    C: Annotated[float, typer.Option("--aggressiveness", "-C", help="How far one row may move the weights.")] = 0.1,
    coupling: Annotated[float, typer.Option(help="Penalty on a difference between the views.")] = 0.5,
    update: Annotated[str, typer.Option(help="Update rule: exact, or paper (two views only).")] = "exact",
    adaptive: Annotated[
        bool, typer.Option("--adaptive", help="Give better views a larger weight in the vote.")
    ] = False,
    every: Annotated[int, typer.Option(min=1, help="Rows per line of the table.")] = 1000,
    batch: Annotated[int, typer.Option(min=1, help="Rows to read at a time.")] = 1000,
    model: Annotated[Path | None, typer.Option(help="Continue learning with this model file.")] = None,
    save_to: Annotated[Path | None, typer.Option("--save", help="Write the model to this file at the end.")] = None,
    predictions: Annotated[Path | None, typer.Option(help="Write the predictions to this file, one per line.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON per line of the table.")] = False,
) -> None:
    """Predict each row before learning from it, and show how accurate that is."""
    from coview.online.readers import read_stream
    from coview.online.stream import evaluate_stream

    learner = _learner(model, C, coupling, update, adaptive)
    stream_in: Any = sys.stdin if source == "-" else source
    if source == "-" and format is None:
        raise ValueError("Standard input has no file extension: pass --format svmlight, jsonl or csv.")
    batches = read_stream(
        stream_in, format=format, views=_views(views), label=label or None, batch_size=batch, n_features=n_features
    )
    with ExitStack() as stack:
        watched: Any = learner
        if predictions is not None:
            watched = _PredictionWriter(learner, stack.enter_context(open(predictions, "w", encoding="utf-8")))
        stack.enter_context(progress(verbose=0 if as_json else None))
        count = _RowCount()
        watch = _print_json if as_json else count.line
        result = evaluate_stream(watched, _count_rows(batches, count, source), every=every, watch=watch)
    if save_to is not None:
        from coview.io.models import save

        save(learner, save_to)
    if not as_json:
        _show(result, learner)


def _learner(path: Path | None, C: float, coupling: float, update: str, adaptive: bool) -> Any:
    from coview.online.passive_aggressive import MultiViewPassiveAggressiveClassifier

    if path is None:
        weighting = "adaptive" if adaptive else None
        return MultiViewPassiveAggressiveClassifier(C, coupling, update=update, view_weighting=weighting)
    from coview.io.models import load

    learner = load(path)
    if not isinstance(learner, MultiViewPassiveAggressiveClassifier):
        raise ValueError(f"{path} holds a {type(learner).__name__}, which does not learn from a stream.")
    return learner


def _views(text: str | None) -> Any:
    """Names of views, or {name: width}, from words,links or words=3000,links=1840."""
    if text is None:
        return None
    parts = [part.partition("=") for part in text.split(",")]
    if any(equals for _, equals, _ in parts):
        for name, _, width in parts:
            if not width.isdecimal() or not int(width):
                raise ValueError(
                    f"--views takes names, as in words,links, or a number of columns for every view, as in "
                    f"words=3000,links=1840; {name!r} has {width!r}."
                    if width
                    else f"--views gives columns to some views, but {name!r} has none. Write words,links or "
                    "words=3000,links=1840."
                )
        return {name: int(width) for name, _, width in parts}
    return [name for name, _, _ in parts]


def _count_rows(batches: Iterator[Any], count: _RowCount, source: str) -> Iterator[Any]:
    try:
        for batch in batches:
            yield batch
            count.rows(len(batch.labels))
    except UnicodeDecodeError as error:
        raise not_text("Standard input" if source == "-" else source, error) from None


class _PredictionWriter:
    """A classifier that also writes what it predicts to a file."""

    def __init__(self, learner: Any, file: Any) -> None:
        self.learner, self.file = learner, file

    @property
    def classes_(self) -> Any:
        return self.learner.classes_

    def predict_then_learn(self, *data: Any, **options: Any) -> Any:
        outcome = self.learner.predict_then_learn(*data, **options)
        self.file.writelines(f"{label}\n" for label in outcome.predictions.tolist())
        return outcome


def _print_json(figures: dict[str, float]) -> None:
    """Print a line of the table as JSON."""
    print(json.dumps(plain(figures)), flush=True)


class _RowCount:
    """Rows so far, rows per second, and the last line of the table."""

    def __init__(self) -> None:
        self.count, self.clock, self.last = 0, time.perf_counter(), ""

    def rows(self, count: int) -> None:
        self.count += count
        speed = self.count / max(time.perf_counter() - self.clock, 1e-9)
        tell(f"{self.count:,} rows, {speed:,.0f} a second{self.last}")

    def line(self, figures: dict[str, float]) -> None:
        self.last = "".join(f", {name} {figures[name]:.3f}" for name in ("accuracy", "f1") if name in figures)


def _show(result: Any, model: Any) -> None:
    from rich.table import Table

    table = Table(title=f"{int(result.final['rounds']):,} rows, each predicted before it was learned from")
    for name in result.table:
        table.add_column(name.replace("_", " "), justify="right")
    lines = list(zip(*result.table.values()))
    step = -(-len(lines) // 20)  # twenty lines at most: every so many, and the last
    for line in [*lines[step - 1 : -1 : step], lines[-1]]:
        table.add_row(f"{int(line[0]):,}", *(f"{value:.4f}" for value in line[1:]))
    console = Console()
    console.print(table)
    votes = ", ".join(f"{view} {share:.2f}" for view, share in model.view_weights_.items())
    console.print(f"Classes: {', '.join(map(str, model.classes_.tolist()))}. Votes of the views: {votes}.")

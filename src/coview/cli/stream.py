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

from coview.cli.files import check_table, check_there, guess_views, read_input, read_target, table_front
from coview.cli.options import EscapeFormulas, Objects, Sep, TableOptions, take_options
from coview.io.delimited import escape_cell
from coview.utils.atomic import atomic_path
from coview.utils.messages import make_text_error, printable
from coview.utils.progress import progress, tell

__all__ = ["stream"]


@take_options
def stream(
    *,
    source: Annotated[str | None, typer.Argument(help="A file (.svmlight .jsonl), or - for standard input.")] = None,
    table: Annotated[
        Path | None, typer.Option("--table", help="Rows of a raw table instead: .csv .tsv .jsonl .json .parquet.")
    ] = None,
    sep: Sep = None,
    raw: TableOptions,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            help='Key or column that holds the label ("label" by default, "" where there is none); of a table also a '
            "file of labels.",
        ),
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="svmlight or jsonl; by default taken from the file extension.")
    ] = None,
    views: Annotated[
        str | None,
        typer.Option(help="Names of the views: words,links. For svmlight, with columns: words=3000,links=1840."),
    ] = None,
    n_features: Annotated[int, typer.Option("--features", min=1, help="Columns that names are hashed to.")] = 2**18,
    C: Annotated[float, typer.Option("--aggressiveness", "-C", help="How far one row may move the weights.")] = 0.1,
    coupling: Annotated[float, typer.Option(help="Penalty on a difference between the views.")] = 0.5,
    update: Annotated[str, typer.Option(help="Update rule: exact, or paper (two views only).")] = "exact",
    every: Annotated[int, typer.Option(min=1, help="Rows per line of the table.")] = 1000,
    batch: Annotated[int, typer.Option(min=1, help="Rows to read at a time.")] = 1000,
    model: Annotated[Path | None, typer.Option(help="Continue learning with this model file.")] = None,
    save_to: Annotated[Path | None, typer.Option("--save", help="Write the model to this file at the end.")] = None,
    predictions: Annotated[Path | None, typer.Option(help="Write the predictions to this file, one per line.")] = None,
    escape_formulas: EscapeFormulas = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON per line of the table.")] = False,
) -> None:
    """Predict each row before learning from it, and show how accurate that is."""
    objects = Objects(table=table, sep=sep)
    _check_rows(source, objects, raw, labels, format, model)

    from coview.online.stream import evaluate_stream

    front, learner = _loaded(model) if model is not None else (None, _new_learner(C, coupling, update))
    with ExitStack() as stack:
        watched: Any = learner
        if predictions is not None:
            whole = not predictions.exists() or predictions.is_file()  # a pipe gets each line at once
            place = stack.enter_context(atomic_path(predictions)) if whole else predictions
            file = stack.enter_context(open(place, "w", encoding="utf-8"))
            watched = _PredictionWriter(learner, file, escape_formulas and predictions.suffix in (".csv", ".tsv"))
        stack.enter_context(progress(verbose=0 if as_json else None))
        if table is not None:
            if front is None and model is not None:
                raise ValueError(f"{model} was not learned from a table: pass the rows as a file.")
            tell("reading")
            X = read_input(objects)
            y = read_target(labels or None, X, raw.id)
            if front is None:
                raw, _ = guess_views(raw, objects, X, labels or None)
                front = table_front(raw, objects, X, labels)
                X = front.fit_transform(X)
            else:
                X = front.transform(X)
            batches = _table_batches(X, y, batch)
        else:
            batches = _file_batches(str(source), format, labels, views, batch, n_features)
        count = _RowCount()
        watch = _print_json if as_json else count.line
        result = evaluate_stream(watched, _count_rows(batches, count, str(source)), every=every, watch=watch)
        if not count.count:
            raise ValueError(f"{table if source is None else source} has no rows: there is nothing to learn from.")
    if save_to is not None:
        from sklearn.pipeline import make_pipeline

        from coview.io.models import save

        save(learner if front is None else make_pipeline(front, learner), save_to)
    if not as_json:
        _show(result, learner)


def _check_rows(
    source: str | None, objects: Objects, raw: TableOptions, labels: str | None, format: str | None, model: Path | None
) -> None:
    """Refuse options that do not fit the rows, before large libraries are loaded."""
    if (source is None) == (objects.table is None):
        what = "neither" if source is None else "both"
        raise ValueError(f"Pass the rows as a file (or - for standard input), or as --table FILE; got {what}.")
    if objects.table is None or model is None:  # a model knows itself how a table becomes views
        check_table(raw, objects, labels)
    if objects.table is not None and labels is None:
        raise ValueError("A table needs labels to learn from: add --labels COLUMN or FILE.")
    if source == "-" and format is None:
        raise ValueError("Standard input has no file extension: pass --format svmlight or jsonl.")
    if source is not None and Path(source).exists():  # else the reader of the stream tells
        check_there(Path(source))


def _new_learner(C: float, coupling: float, update: str) -> Any:
    from coview.online.passive_aggressive import MultiViewPassiveAggressiveClassifier

    return MultiViewPassiveAggressiveClassifier(C, coupling, update=update)


def _loaded(path: Path) -> tuple[Any, Any]:
    """Return the learner of a model file, after what makes views of a table where it learned from one, else None."""
    from sklearn.pipeline import Pipeline

    from coview.io.models import load
    from coview.online.passive_aggressive import MultiViewPassiveAggressiveClassifier

    model = load(path)
    front, learner = None, model
    if isinstance(model, Pipeline):
        front, learner = model[0] if len(model) == 2 else model[:-1], model[-1]
    if not isinstance(learner, MultiViewPassiveAggressiveClassifier):
        raise ValueError(f"{path} holds a {type(learner).__name__}, which does not learn from a stream.")
    return front, learner


def _file_batches(
    source: str, format: str | None, labels: str | None, views: str | None, batch: int, n_features: int
) -> Iterator[Any]:
    """Rows of a file of features, or of standard input."""
    from coview.online.readers import read_stream

    label = "label" if labels is None else labels or None
    settings = {"format": format, "views": _views(views), "batch_size": batch, "n_features": n_features}
    return read_stream(sys.stdin if source == "-" else source, label=label, **settings)


def _table_batches(views: Any, y: Any, batch: int) -> Iterator[Any]:
    """Rows of a table, in order; the words are those of the whole table, the labels are seen one after the other."""
    from coview.online.readers import Batch

    for start in range(0, len(views), batch):
        rows = views[start : start + batch]
        yield Batch(rows, [None] * len(rows) if y is None else y[start : start + batch].tolist())


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
        raise make_text_error("Standard input" if source == "-" else source, error) from None


class _PredictionWriter:
    """A classifier that also writes what it predicts to a file."""

    def __init__(self, learner: Any, file: Any, escape_formulas: bool) -> None:
        self.learner, self.file, self.escape_formulas = learner, file, escape_formulas

    @property
    def classes_(self) -> Any:
        return self.learner.classes_

    def predict_then_learn(self, *data: Any, **options: Any) -> Any:
        outcome = self.learner.predict_then_learn(*data, **options)
        labels = outcome.predictions.tolist()
        self.file.writelines(f"{escape_cell(label) if self.escape_formulas else label}\n" for label in labels)
        return outcome


def _print_json(figures: dict[str, float]) -> None:
    """Print a line of the table as JSON."""
    from coview.utils.jsonable import to_jsonable

    print(json.dumps(to_jsonable(figures)), flush=True)


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
        table.add_column(printable(name).replace("_", " "), justify="right")
    lines = list(zip(*result.table.values()))
    step = -(-len(lines) // 20)  # twenty lines at most: every so many, and the last
    for line in [*lines[step - 1 : -1 : step], lines[-1]]:
        table.add_row(f"{int(line[0]):,}", *(f"{value:.4f}" for value in line[1:]))
    console = Console(markup=False)
    console.print(table)
    classes = ", ".join(map(str, model.classes_.tolist()))
    console.print(printable(f"Classes: {classes}."))

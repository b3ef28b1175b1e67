"""`coview stream`: predict every row of a file or of standard input, then learn from it, and keep score."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from coview.cli.files import check_there, guess_views, read_input, table_front
from coview.cli.labels import read_target
from coview.cli.options import Objects, TableOptions
from coview.cli.settings import parse_settings
from coview.cli.taking import take_options
from coview.utils.messages import make_text_error, printable
from coview.utils.progress import progress, tell

__all__ = ["stream"]

_BATCH = 1000  # rows that are read at a time


@take_options
def stream(
    *,
    source: Annotated[
        str, typer.Argument(help="Rows: .jsonl, .svmlight, a raw table (.csv .tsv .parquet), or - for standard input.")
    ],
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
    set: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the learner: C=1 or coupling=0; can be repeated.")
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="Rows per line of the table.")] = 1000,
    model: Annotated[Path | None, typer.Option(help="Continue learning with this model file.")] = None,
    save_to: Annotated[Path | None, typer.Option("--save", help="Write the model to this file at the end.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON per line of the table.")] = False,
) -> None:
    """Predict each row before learning from it, and show how accurate that is."""
    if source != "-":
        check_there(Path(source))
    elif format is None:
        raise ValueError("Standard input has no file extension: pass --format svmlight or jsonl.")
    objects = Objects(Path(source))
    is_table = objects.table is not None and objects.table.suffix not in (".json", ".jsonl")
    if is_table and labels is None:
        raise ValueError("A table needs labels to learn from: add --labels COLUMN or FILE.")
    if raw.names_views and not is_table:
        raise ValueError("--text, --tokens and --columns describe a .csv, .tsv or .parquet table: leave them out.")

    from coview.online.stream import evaluate_stream

    front, learner = _load_learner(model, set)
    with progress(verbose=0 if as_json else None):
        if is_table:
            if front is None and model is not None:
                raise ValueError(f"{model} was not learned from a table: pass the rows as .jsonl or .svmlight.")
            tell("reading")
            X = read_input(objects)
            y = read_target(labels or None, X, raw.id)
            if front is None:
                raw, _ = guess_views(raw, objects, X, labels or None)
                front = table_front(raw, objects, X, labels)
                front.fit(X)
            batches = _split_table(front.transform(X), y)
        else:
            from coview.online.readers import read_stream

            label = "label" if labels is None else labels or None
            rows = sys.stdin if source == "-" else source
            batches = read_stream(rows, format=format, label=label, batch_size=_BATCH)
        watch = _print_json if as_json else None
        result = evaluate_stream(learner, _report_rows(batches, source), every=every, watch=watch)
        if save_to is not None:
            from sklearn.pipeline import make_pipeline

            from coview import save

            save(learner if front is None else make_pipeline(front, learner), save_to)
    if not as_json:
        print(printable(_format_result(result, learner), lines=True))


def _load_learner(path: Path | None, set: list[str] | None) -> tuple[Any, Any]:
    """Return the learner, a new one or that of a model file, after what makes views of a table, if it has that."""
    from sklearn.pipeline import Pipeline

    from coview import load
    from coview.online.passive_aggressive import MultiViewPassiveAggressiveClassifier

    front, learner = None, MultiViewPassiveAggressiveClassifier() if path is None else load(path)
    if isinstance(learner, Pipeline):
        front, learner = learner[:-1], learner[-1]
    if not isinstance(learner, MultiViewPassiveAggressiveClassifier):
        raise ValueError(f"{path} holds a {type(learner).__name__}, which does not learn from a stream.")
    return front, learner.set_params(**parse_settings(set))


def _split_table(views: Any, y: Any) -> Iterator[Any]:
    """Rows of a table, in order; the words are those of the whole table, the labels are seen one after the other."""
    from coview.online.readers import Batch

    for start in range(0, len(views), _BATCH):
        rows = views[start : start + _BATCH]
        yield Batch(rows, [None] * len(rows) if y is None else y[start : start + _BATCH].tolist())


def _report_rows(batches: Iterator[Any], source: str) -> Iterator[Any]:
    """Batches as they come; progress says how many rows that were."""
    begun, count = time.perf_counter(), 0
    try:
        for batch in batches:
            yield batch
            count += len(batch.labels)
            tell(f"{count:,} rows, {count / max(time.perf_counter() - begun, 1e-9):,.0f} a second")
    except UnicodeDecodeError as error:
        raise make_text_error("Standard input" if source == "-" else source, error) from None
    if not count:
        raise ValueError(f"{source} has no rows: there is nothing to learn from.")


def _print_json(figures: dict[str, float]) -> None:
    """Print a line of the table as JSON."""
    from coview.utils.jsonable import to_jsonable

    print(json.dumps(to_jsonable(figures)), flush=True)


def _format_result(result: Any, model: Any) -> str:
    from coview.utils.tables import format_text_table

    lines = zip(*result.table.values())
    shown = [[f"{int(rows):,}", *(f"{value:.4f}" for value in values)] for rows, *values in lines]
    title = f"{int(result.final['rounds']):,} rows, each predicted before it was learned from"
    names = [name.replace("_", " ") for name in result.table]
    table = format_text_table(title, [names, *shown], aligned=len(names))
    return f"{table}\nClasses: {', '.join(map(str, model.classes_.tolist()))}."

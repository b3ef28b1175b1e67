"""Files read row by row, in batches that fit in memory whatever the length of the file.

Features go to columns by the hash of their name (`coview.online.hashing`), so that the width of a view is fixed before
its features are known. Labels of .svmlight and .csv are text, since there -1 is mostly a class; others stay as is.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from scipy import sparse

from coview.data.views import Views
from coview.exceptions import DataFileError
from coview.online.hashing import WIDTH, hash_rows

__all__ = ["FORMATS", "Batch", "read_stream"]

PLAIN = "x"  # the view of features that name no view


class Batch(NamedTuple):
    """Some objects and their labels; None where one has no label."""

    views: Views
    labels: list[Any]


def read_stream(
    source: str | Path | IO[Any],
    *,
    format: str | None = None,
    views: Iterable[str] | Mapping[str, int] | None = None,
    label: str = "label",
    batch_size: int = 1000,
    n_features: int = WIDTH,
) -> Iterator[Batch]:
    """Read a file, or a stream such as standard input, batch by batch.

    Parameters
    ----------
    source : path or open file
        What to read; a text stream for .jsonl and .csv, either kind for .svmlight, a path for .parquet.
    format : {"svmlight", "jsonl", "csv", "parquet"}, optional
        By the extension of a path where not given.
    views : names, or {name: width}, optional
        The views. In .svmlight, widths cut the columns (from 0) into views, in this order; without, all columns are one
        view "x" of `n_features`. In the other formats the views are named in the file, and those of the first batch
        count where this is not given; a width is the number of columns that the view's features are hashed to.
    label : str, default="label"
        Key or column that holds the label.
    batch_size : int, default=1000
        Rows at a time.
    n_features : int, default=2**18
        Width of views for which `views` gives none.

    Yields
    ------
    Batch
        ``views`` and ``labels``. In .jsonl a line is an object: every key but the label and "id" is a view, whose value
        is ``{feature: number or text}``, a list of numbers, or text (its words are counted); a number is a feature of
        the view "x". In .csv and .parquet a column "view:feature" belongs to a view, any other to "x"; a row whose
        cells of a view are all empty lacks it.

    Examples
    --------
    >>> import io
    >>> lines = '{"label": "ham", "text": "see you"}\\n{"label": "spam", "text": "win win", "links": {"a.com": 1}}\\n'
    >>> batch = next(read_stream(io.StringIO(lines), format="jsonl", views=["text", "links"], n_features=64))
    >>> batch.labels, batch.views.present.tolist()
    (['ham', 'spam'], [[True, False], [True, True]])
    """
    kind = _format(source, format)
    if batch_size < 1:
        raise ValueError(f"batch_size must be a whole number of at least 1, got {batch_size!r}.")
    widths = dict(views) if isinstance(views, Mapping) else dict.fromkeys(views or (), n_features)
    if kind == "svmlight":
        yield from _svmlight(source, widths or {PLAIN: n_features}, batch_size)
        return
    assemble = _Assembler(widths, n_features, label)
    yield from (assemble(rows) for rows in _batches(FORMATS[kind](source, label), batch_size))


def _format(source: Any, given: str | None) -> str:
    name = given or (Path(source).suffix.lstrip(".").lower() if isinstance(source, (str, Path)) else "")
    name = {"libsvm": "svmlight", "svm": "svmlight", "ndjson": "jsonl"}.get(name, name)
    if name not in FORMATS:
        raise DataFileError(
            f"{str(source)!r} has no known format for a stream ({name or 'none given'!r}); formats are "
            f"{', '.join(FORMATS)}."
        )
    if isinstance(source, (str, Path)) and not Path(source).is_file():
        raise DataFileError(f"There is no file {source}.")
    return name


def _batches(rows: Iterable[Any], size: int) -> Iterator[list[Any]]:
    rows = iter(rows)
    while batch := list(itertools.islice(rows, size)):
        yield batch


# -- svmlight: parsed by scikit-learn, a batch of lines at a time


def _svmlight(source: Any, widths: Mapping[str, int], size: int) -> Iterator[Batch]:
    from sklearn.datasets import load_svmlight_file

    edges = np.cumsum([0, *widths.values()])
    number = 0
    with _opened(source, "rb") as stream:
        lines = (line.encode() if isinstance(line, str) else line for line in stream)
        kept = (line for line in lines if line.strip() and not line.lstrip().startswith(b"#"))
        for batch in _batches(kept, size):
            try:
                matrix, target = load_svmlight_file(io.BytesIO(b"".join(batch)), zero_based=True)
            except ValueError as error:
                raise DataFileError(
                    f"{_called(source)} is no svmlight in rows {number} to {number + len(batch) - 1} ({error})."
                ) from None
            number += len(batch)
            yield Batch(_cut(matrix, widths, edges, _called(source)), [_as_text(value) for value in target.tolist()])


def _cut(matrix: Any, widths: Mapping[str, int], edges: np.ndarray, called: str) -> Views:
    columns = matrix.indices
    if len(widths) == 1:  # columns beyond the width share those below, as hashed ones do
        columns = (columns % edges[-1]).astype(np.int32)
    elif columns.size and columns.max() >= edges[-1]:
        raise DataFileError(
            f"{called} has a feature {int(columns.max())}, but the widths {dict(widths)} make {edges[-1]} columns."
        )
    whole = sparse.csr_array((matrix.data, columns, matrix.indptr), shape=(matrix.shape[0], int(edges[-1])))
    whole.sum_duplicates()
    return Views({name: whole[:, edges[v] : edges[v + 1]] for v, name in enumerate(widths)})


def _as_text(label: float) -> str:
    return str(int(label)) if label == int(label) else repr(label)


# -- rows as {view: features}


def _read_jsonl(source: Any, label: str) -> Iterator[dict[str, Any]]:
    with _opened(source, "r") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise DataFileError(
                    f"{_called(source)} has no JSON object in line {number} ({error.msg}). Write one object per line."
                ) from None
            if not isinstance(row, dict):
                raise DataFileError(f"{_called(source)} has no JSON object in line {number}, but {type(row).__name__}.")
            yield row


def _read_csv(source: Any, label: str) -> Iterator[dict[str, Any]]:
    with _opened(source, "r") as stream:
        lines = csv.reader(stream)
        header = [cell.strip() for cell in next(lines, [])]
        if not any(header):
            raise DataFileError(f"{_called(source)} has no header row. Name the columns in the first line.")
        for row in lines:
            if row and len(row) != len(header):
                raise DataFileError(
                    f"{_called(source)} has {len(row)} cells in line {lines.line_num}, but {len(header)} in its header."
                )
            if row:
                yield _by_view(zip(header, map(_cell, row)), label)


def _read_parquet(source: Any, label: str) -> Iterator[dict[str, Any]]:
    try:
        import polars
    except ImportError:
        raise DataFileError(
            f'{_called(source)} needs polars to be streamed. Run: pip install "coview[parquet]".'
        ) from None
    frame, start, step = polars.scan_parquet(source, glob=False), 0, 8192
    while True:
        part = frame.slice(start, step).collect()
        for row in part.iter_rows(named=True):
            yield _by_view(row.items(), label)
        start += step
        if len(part) < step:
            return


FORMATS: dict[str, Callable[[Any, str], Iterator[dict[str, Any]]]] = {
    "svmlight": lambda source, label: iter(()),  # has a way of its own
    "jsonl": _read_jsonl,
    "csv": _read_csv,
    "parquet": _read_parquet,
}


def _by_view(cells: Iterable[tuple[str, Any]], label: str) -> dict[str, Any]:
    """Cells of a table as {view: {feature: value}}, with the label beside them; a column without colon is of "x"."""
    row: dict[str, Any] = {}
    for column, value in cells:
        if column == label:
            row[label] = value
        elif value is not None and column != "id":
            view, colon, feature = column.partition(":")
            row.setdefault(view if colon else PLAIN, {})[feature if colon else column] = value
    return row


def _cell(text: str) -> Any:
    text = text.strip()
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        return text


class _Assembler:
    """Turns rows into batches of the same views and widths, from the first to the last."""

    def __init__(self, widths: Mapping[str, int], n_features: int, label: str) -> None:
        self.widths = dict(widths)
        self.n_features = n_features
        self.label = label
        self.positions: dict[str, int] = {}  # views that are lists of numbers, and how long these are

    def __call__(self, rows: list[dict[str, Any]]) -> Batch:
        labels = [row.pop(self.label, None) for row in rows]
        found = [_gathered(row) for row in rows]
        if not self.widths:
            self.widths = dict.fromkeys(dict.fromkeys(view for row in found for view in row), self.n_features)
        for row in found:
            for view in row:
                if view not in self.widths:
                    known = ", ".join(map(repr, self.widths))
                    raise DataFileError(
                        f"A row has the view {view!r}, but the views are {known}. Name all with views=."
                    )
        if not self.widths:
            raise DataFileError(f"The rows hold nothing beside {self.label!r}: there is no feature to learn from.")
        present = np.array([[view in row for view in self.widths] for row in found])
        columns = {view: [row.get(view) for row in found] for view in self.widths}
        matrices = {view: self._matrix(view, values) for view, values in columns.items()}
        return Batch(Views(matrices, present=present), [_label(value) for value in labels])

    def _matrix(self, view: str, values: list[Any]) -> Any:
        if view not in self.positions and not any(isinstance(value, list) for value in values):
            return hash_rows(values, self.widths[view])
        width = self.positions.setdefault(view, len(next((v for v in values if isinstance(v, list)), [])))
        dense = np.zeros((len(values), width))
        for i, value in enumerate(values):
            if value is None:
                continue
            if not isinstance(value, list) or len(value) != width:
                raise DataFileError(
                    f"View {view!r} is a list of {width} numbers in some rows, but {value!r:.60} in one."
                )
            dense[i] = value
        return dense


def _gathered(row: dict[str, Any]) -> dict[str, Any]:
    """Views of a row; bare numbers and flags are features of the view "x"."""
    views: dict[str, Any] = {}
    for key, value in row.items():
        if value is None or key == "id":
            continue
        if isinstance(value, dict):
            views[key] = {name: _value(key, name, item) for name, item in value.items() if item is not None}
        elif isinstance(value, (list, str)):
            views[key] = value
        else:
            views.setdefault(PLAIN, {})[key] = float(value)
    return views


def _value(view: str, feature: str, value: Any) -> Any:
    if isinstance(value, str):
        return value
    if not isinstance(value, (int, float)):
        raise DataFileError(f"View {view!r} has {value!r:.60} for {feature!r}; a number or a text is needed.")
    return float(value)


def _label(value: Any) -> Any:
    """A label as it is; whole numbers of a table without their decimals, and as text like other cells."""
    if isinstance(value, float):
        return None if value != value else _as_text(value)
    return value


# -- sources


@contextmanager
def _opened(source: Any, mode: str) -> Iterator[Any]:
    """Open a path for reading; a stream is taken as it is, and left open."""
    if not isinstance(source, (str, Path)):
        yield source
    elif mode == "r":
        with open(source, encoding="utf-8-sig", newline="") as stream:
            yield stream
    else:
        with open(source, "rb") as stream:
            yield stream


def _called(source: Any) -> str:
    return str(source) if isinstance(source, (str, Path)) else getattr(source, "name", "the stream")

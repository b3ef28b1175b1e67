"""Files read row by row, in batches that fit in memory whatever the length of the file.

Features go to columns by the hash of their name (`coview.online.hashing`), so that the width of a view is fixed before
its features are known.

Labels of .svmlight and .csv are text, since there -1 is mostly a class; a number is written without needless decimals,
so that 1 and 1.0 are one class, "1". In .jsonl and .parquet labels keep their type, and a number without fraction is a
whole one, so that 1 and 1.0 are one class too, the number 1; "1" is another kind of label. null, NaN and empty text are
no label, nor is the number -1 to a classifier.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from scipy import sparse

from coview.exceptions import DataFileError
from coview.kernels.svmlight import parse_svmlight
from coview.online.hashing import WIDTH, hash_rows
from coview.utils.messages import listed, not_text, one_sentence, quantity, short
from coview.utils.text_files import csv_rows, json_rows
from coview.utils.warn import warn_user
from coview.validation import check_count
from coview.views.coerce import PLAIN
from coview.views.views import Views

__all__ = ["FORMATS", "Batch", "read_stream"]


class Batch(NamedTuple):
    """Some objects and their labels; None where one has no label."""

    views: Views
    labels: list[Any]


def read_stream(
    source: str | Path | IO[Any],
    *,
    format: str | None = None,
    views: Iterable[str] | Mapping[str, int] | None = None,
    label: str | None = "label",
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
    label : str or None, default="label"
        Key or column that holds the label; some row of the first batch must have it. None where there are no labels.
    batch_size : int, default=1000
        Rows at a time; in .svmlight lines, of which comments hold no row.
    n_features : int, default=2**18
        Width of views for which `views` gives none.

    Yields
    ------
    Batch
        ``views`` and ``labels``. In .jsonl a line is an object: every key but the label and "id" is a view, whose value
        is ``{feature: number or text}``, a list of numbers, or text (its words are counted); a number is a feature of
        the view "x". In .csv and .parquet a column "view:feature" belongs to a view, a column with the name of one of
        `views` is that view's text, any other belongs to "x"; a row whose cells of a view are all empty lacks it.

    Examples
    --------
    >>> import io
    >>> lines = '{"label": "ham", "text": "see you"}\\n{"label": "spam", "text": "win win", "links": {"a.com": 1}}\\n'
    >>> batch = next(read_stream(io.StringIO(lines), format="jsonl", views=["text", "links"], n_features=64))
    >>> batch.labels, batch.views.present.tolist()
    (['ham', 'spam'], [[True, False], [True, True]])
    """
    kind = _format(source, format)
    check_count("batch_size", batch_size)
    with one_sentence(f"{_called(source)} cannot be read as {kind}", "It is truncated or of another format."):
        try:
            yield from _read_batches(source, kind, views, label, batch_size, n_features)
        except UnicodeDecodeError as error:
            raise not_text(_called(source), error) from None


def _read_batches(
    source: Any, kind: str, views: Any, label: str | None, batch_size: int, n_features: int
) -> Iterator[Batch]:
    widths = dict(views) if isinstance(views, Mapping) else dict.fromkeys(views or (), n_features)
    if kind == "svmlight":
        if len(widths) > 1 and not isinstance(views, Mapping):
            raise DataFileError(
                f"The columns of {_called(source)} have numbers, not names: say how many belong to each of the views "
                f"{', '.join(widths)}.",
                python=f"As in views={{{next(iter(widths))!r}: 3000, ...}}.",
                cli=f"As in --views {next(iter(widths))}=3000,...",
            )
        yield from _svmlight(source, widths or {PLAIN: n_features}, batch_size)
        return
    assemble = _Assembler(widths, n_features, label, _called(source), kind)
    yield from (assemble(rows) for rows in _batches(FORMATS[kind](source, label), batch_size))


def _format(source: Any, asked: str | None) -> str:
    name = asked or (Path(source).suffix.lstrip(".").lower() if isinstance(source, (str, Path)) else "")
    name = {"libsvm": "svmlight", "svm": "svmlight", "ndjson": "jsonl"}.get(name, name)
    if name not in FORMATS:
        raise DataFileError(
            f"{str(source)!r} has no known format for a stream ({name or 'none given'!r}); formats are "
            f"{', '.join(FORMATS)}."
        )
    if isinstance(source, (str, Path)) and not Path(source).is_file():
        raise DataFileError(f"File not found: {source}.")
    return name


def _batches(rows: Iterable[Any], size: int) -> Iterator[list[Any]]:
    rows = iter(rows)
    while batch := list(itertools.islice(rows, size)):
        yield batch


# -- svmlight: some lines at a time


def _svmlight(source: Any, widths: Mapping[str, int], size: int) -> Iterator[Batch]:
    edges = np.cumsum([0, *widths.values()])
    texts: dict[float, str] = {}  # labels that were met, as text
    number = 0
    with _opened(source, "rb") as stream:
        for lines in _batches(stream, size):
            text = "".join(lines).encode() if isinstance(lines[0], str) else b"".join(lines)
            where = f"lines {number + 1} to {number + len(lines)}"
            with one_sentence(f"{_called(source)} is not valid svmlight in {where}", "Mend them."):
                matrix, target = _parsed(text)
            number += len(lines)
            if len(target):
                values, codes = np.unique(target, return_inverse=True)
                names = [texts.setdefault(value, _as_text(value)) for value in values.tolist()]
                labels = [names[code] for code in codes.tolist()]
                yield Batch(_cut(matrix, widths, edges, _called(source)), labels)


def _parsed(text: bytes) -> tuple[Any, np.ndarray]:
    """Matrix and labels of some lines; by the kernel, or by scikit-learn where they are not plain.

    On counts and decimals of a few digits the kernel takes a seventh of the time of `load_svmlight_file`, most of
    what a stream of short rows takes.
    """
    rows, entries = text.count(b"\n") + 1, text.count(b":")
    labels, values = np.empty(rows), np.empty(entries)
    indptr, indices = np.empty(rows + 1, dtype=np.int32), np.empty(entries, dtype=np.int32)
    n_rows = parse_svmlight(np.frombuffer(text, dtype=np.uint8), labels, indptr, indices, values)
    if n_rows < 0:
        from sklearn.datasets import load_svmlight_file

        return load_svmlight_file(io.BytesIO(text), zero_based=True)
    ends = indptr[: n_rows + 1]
    columns = indices[: ends[-1]]
    shape = n_rows, int(columns.max(initial=0)) + 1
    return sparse.csr_array((values[: ends[-1]], columns, ends), shape=shape), labels[:n_rows]


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


# -- rows as {view: features}


def _read_jsonl(source: Any, label: str | None) -> Iterator[dict[str, Any]]:
    with _opened(source, "r") as stream:
        yield from json_rows(stream, _called(source))


def _read_csv(source: Any, label: str | None) -> Iterator[dict[str, Any]]:
    with _opened(source, "r") as stream:
        for row in csv_rows(stream, _called(source)):
            yield _by_view(zip(row, map(_cell, row.values())), label)


def _read_parquet(source: Any, label: str | None) -> Iterator[dict[str, Any]]:
    try:
        import polars
    except ImportError:
        raise DataFileError(
            f'{_called(source)} needs polars to be streamed. Run: pip install "coview[table]".'
        ) from None
    frame, start, step = polars.scan_parquet(source, glob=False), 0, 8192
    while True:
        part = frame.slice(start, step).collect()
        for row in part.iter_rows(named=True):
            yield _by_view(row.items(), label)
        start += step
        if len(part) < step:
            return


FORMATS: dict[str, Callable[[Any, str | None], Iterator[dict[str, Any]]]] = {
    "svmlight": lambda source, label: iter(()),  # has a way of its own
    "jsonl": _read_jsonl,
    "csv": _read_csv,
    "parquet": _read_parquet,
}


def _by_view(cells: Iterable[tuple[str, Any]], label: str | None) -> dict[str, Any]:
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
        return text if "_" in text else float(text)  # Python would read 1_000 as 1000
    except ValueError:
        return text


class _Assembler:
    """Turns rows into batches of the same views and widths, from the first to the last."""

    def __init__(self, widths: Mapping[str, int], n_features: int, label: str | None, called: str, kind: str) -> None:
        self.widths = dict(widths)
        self.n_features = n_features
        self.label, self.as_text, self.table = label, kind == "csv", kind != "jsonl"
        self.texts = list(widths) if self.table else []  # columns that may be views
        self.called = called
        self.label_found = label is None  # whether a row had it
        self.positions: dict[str, int] = {}  # views that are lists of numbers, and how long these are

    def __call__(self, rows: list[dict[str, Any]]) -> Batch:
        labels = self._labels(rows)
        for row in rows if self.texts else []:
            _take_texts(row, self.texts)
        by_view = [_group_by_view(row) for row in rows]
        if not self.widths:
            self._warn_of_texts(by_view)
            self.widths = dict.fromkeys(dict.fromkeys(view for row in by_view for view in row), self.n_features)
        for row in by_view:
            for view in row:
                if view not in self.widths:
                    known = ", ".join(map(repr, self.widths))
                    column = f" (column {next(iter(row[view]))!r})" if self.table and view == PLAIN else ""
                    raise DataFileError(
                        f"A row has the view {view!r}{column}, but the views are {known}.",
                        python="Name all with views=.",
                        cli="Name all with --views.",
                    )
        if not self.widths:
            raise DataFileError(f"The rows of {self.called} have no features besides {self.label!r}.")
        present = np.array([[view in row for view in self.widths] for row in by_view])
        columns = {view: [row.get(view) for row in by_view] for view in self.widths}
        matrices = {view: self._matrix(view, values) for view, values in columns.items()}
        return Batch(Views(matrices, present=present), labels)

    def _labels(self, rows: list[dict[str, Any]]) -> list[Any]:
        """Take the labels out of rows; a key that no row has is misspelt more often than not."""
        if self.label is None:
            return [None] * len(rows)
        if not self.label_found and not any(self.label in row for row in rows):
            raise DataFileError(
                f"{self.called} has no {self.label!r} in its first {quantity(len(rows), 'row')}; there are "
                f"{_key_names(rows)}.",
                python="Name what holds the label with label=, or pass label=None if there is none.",
                cli='Name what holds the label with --labels, or pass --labels "" if there is none.',
            )
        self.label_found = True
        return [_clean_label(row.pop(self.label, None), self.as_text) for row in rows]

    def _warn_of_texts(self, rows: list[dict[str, Any]]) -> None:
        cells = (cell for row in rows if self.table for cell in row.get(PLAIN, {}).items())
        text = next((cell for cell in cells if isinstance(cell[1], str) and len(cell[1].split()) > 3), None)
        if text is not None:
            warn_user(
                f"Column {text[0]!r} of {self.called} holds text ({short(text[1])}): each whole text is one feature. "
                f"To count its words, name the column as a view, views=[{text[0]!r}, ...] (--views {text[0]},...).",
                UserWarning,
            )

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
                    f"View {view!r} is a list of {width} numbers in some rows, but {short(value)} in one."
                )
            plain = set(map(type, value)) == {float}  # the usual case, and ten times as fast
            dense[i] = value if plain else [_number(view, f"position {j}", item) for j, item in enumerate(value)]
        return dense


# -- a row and its label


def _take_texts(row: dict[str, Any], names: list[str]) -> None:
    """Make views of the cells whose columns have these names."""
    plain = row.get(PLAIN, {})
    for name in names:
        if isinstance(plain.get(name), str):
            row[name] = plain.pop(name)
    if not plain:
        row.pop(PLAIN, None)


def _group_by_view(row: dict[str, Any]) -> dict[str, Any]:
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
            views.setdefault(PLAIN, {})[key] = _number(PLAIN, short(key), value)
    return views


def _value(view: str, feature: str, value: Any) -> Any:
    return value if isinstance(value, str) else _number(view, short(feature), value, "a number or a string")


def _number(view: str, feature: str, value: Any, wanted: str = "a number") -> float:
    try:
        if isinstance(value, (int, float)):
            return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        pass
    raise DataFileError(f"View {short(view)} has {short(value)} for {feature}; it must be {wanted}.")


def _clean_label(value: Any, textual: bool) -> Any:
    """A label, None where there is none; with `textual`, numbers as text, since a table does not tell them apart."""
    if isinstance(value, float):
        if value != value:
            return None
        return _as_text(value) if textual else int(value) if value.is_integer() else value
    if isinstance(value, str) and not value.strip():
        return None
    if isinstance(value, (dict, list)):
        raise DataFileError(f"A label must be text or a number, got {short(value)}.")
    return value


def _key_names(rows: list[dict[str, Any]]) -> str:
    """Names of keys and columns for a message: of views as they are, of cells in the view "x" by themselves."""
    keys: dict[str, None] = {}
    for row in rows:
        for key, value in row.items():
            plain = key == PLAIN and isinstance(value, dict)
            keys.update(dict.fromkeys(value if plain else [key]))
    return listed(keys) or "none"


def _as_text(label: float) -> str:
    return str(int(label)) if label.is_integer() else repr(label)


# -- sources


def _opened(source: Any, mode: str) -> AbstractContextManager[Any]:
    """Open a path for reading; a stream is taken as it is, and left open."""
    if not isinstance(source, (str, Path)):
        return nullcontext(source)
    return open(source, "rb") if mode == "rb" else open(source, encoding="utf-8-sig", newline="")


def _called(source: Any) -> str:
    return str(source) if isinstance(source, (str, Path)) else getattr(source, "name", "the stream")

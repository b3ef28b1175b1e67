"""Files read row by row, in batches that fit in memory whatever the length of the file.

Features go to columns by the hash of their name (`coview.online.hashing`), so that the width of a view is fixed before
its features are known.

Labels of .svmlight are text, since there -1 is mostly a class; a number is written without needless decimals, so that 1
and 1.0 are one class, "1". In .jsonl labels keep their type, and a number without fraction is a whole one, so that 1
and 1.0 are one class too, the number 1; "1" is another kind of label. null, NaN and empty text are no label, nor is the
number -1 to a classifier.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from coview.exceptions import DataFileError
from coview.kernels.svmlight import parse_svmlight
from coview.online.hashing import WIDTH, hash_rows
from coview.utils.jsonable import read_json_rows
from coview.utils.messages import file_errors, listed, make_text_error, quantity, short
from coview.utils.warn import warn_user
from coview.validation import check_count
from coview.views.views import PLAIN, Views

__all__ = ["Batch", "read_stream"]


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
        What to read; a text stream for .jsonl, either kind for .svmlight.
    format : {"svmlight", "jsonl"}, optional
        By the extension of a path where not given.
    views : names, or {name: width}, optional
        The views. In .svmlight, widths cut the columns (from 0) into views, in this order; without, all columns are one
        view "x" of `n_features`. In .jsonl the views are named in the file, and those of the first batch count where
        this is not given; a width is the number of columns that the view's features are hashed to.
    label : str or None, default="label"
        Key that holds the label; some row of the first batch must have it. None where there are no labels.
    batch_size : int, default=1000
        Rows at a time; in .svmlight lines, of which comments hold no row.
    n_features : int, default=2**18
        Width of views for which `views` gives none.

    Yields
    ------
    Batch
        ``views`` and ``labels``. In .jsonl a line is an object: every key but the label and "id" is a view, whose value
        is ``{feature: number or text}``, a list of numbers, or text (its words are counted); a number is a feature of
        the view "x", of which a warning tells where there are other views and `views` does not name it.

    Examples
    --------
    >>> import io
    >>> lines = '{"label": "ham", "text": "see you"}\\n{"label": "spam", "text": "win win", "links": {"a.com": 1}}\\n'
    >>> batch = next(read_stream(io.StringIO(lines), format="jsonl", views=["text", "links"], n_features=64))
    >>> batch.labels, batch.views.present.tolist()
    (['ham', 'spam'], [[True, False], [True, True]])
    """
    called = str(source) if isinstance(source, (str, Path)) else getattr(source, "name", "the stream")
    kind = format or Path(called).suffix.lstrip(".").lower()
    if kind not in ("svmlight", "jsonl"):
        raise DataFileError(f"{called} has no known format for a stream ({kind!r}); formats are svmlight and jsonl.")
    if isinstance(source, (str, Path)) and not Path(source).is_file():
        raise DataFileError(f"File not found: {source}.")
    check_count("batch_size", batch_size)
    widths = dict(views) if isinstance(views, Mapping) else dict.fromkeys(views or (), n_features)
    try:
        with _open_lines(source, kind) as stream:
            if kind == "svmlight":
                if len(widths) > 1 and not isinstance(views, Mapping):
                    raise DataFileError(
                        f"The columns of {called} have numbers, not names: say how many belong to each of the views "
                        f"{', '.join(widths)}.",
                        python=f"As in views={{{next(iter(widths))!r}: 3000, ...}}.",
                        cli=f"As in --views {next(iter(widths))}=3000,...",
                    )
                yield from _read_svmlight(stream, widths or {PLAIN: n_features}, batch_size, called)
            else:
                assemble = _Assembler(widths, n_features, label, called)
                yield from map(assemble, _make_batches(read_json_rows(stream, called), batch_size))
    except UnicodeDecodeError as error:
        raise make_text_error(called, error) from None


def _open_lines(source: Any, kind: str) -> AbstractContextManager[Any]:
    """Open a path for reading; a stream is taken as it is, and left open."""
    if not isinstance(source, (str, Path)):
        return nullcontext(source)
    return open(source, "rb") if kind == "svmlight" else open(source, encoding="utf-8-sig", newline="")


def _make_batches(rows: Iterable[Any], size: int) -> Iterator[list[Any]]:
    rows = iter(rows)
    while batch := list(itertools.islice(rows, size)):
        yield batch


# -- svmlight: some lines at a time


def _read_svmlight(stream: Any, widths: Mapping[str, int], size: int, called: str) -> Iterator[Batch]:
    number = 0
    for lines in _make_batches(stream, size):
        text = "".join(lines).encode() if isinstance(lines[0], str) else b"".join(lines)
        where = f"lines {number + 1} to {number + len(lines)}"
        with file_errors(f"{called} is not valid svmlight in {where}", "Mend them."):
            matrix, target = _parse_lines(text)
        number += len(lines)
        if len(target):
            # each value is written as text once, not once for each row
            values, codes = np.unique(target, return_inverse=True)
            names = [str(int(value)) if value.is_integer() else repr(value) for value in values.tolist()]
            yield Batch(_cut_columns(matrix, widths, called), [names[code] for code in codes.tolist()])


def _parse_lines(text: bytes) -> tuple[Any, np.ndarray]:
    """Matrix and labels of some lines; by the kernel, or by scikit-learn where they are not plain.

    Parsing is most of what a stream of short rows takes, and the kernel takes a seventh of scikit-learn's time.
    """
    text += b"\n"
    rows, entries = text.count(b"\n"), text.count(b":")
    labels, values = np.empty(rows), np.empty(entries)
    indptr, indices = np.empty(rows + 1, dtype=np.int32), np.empty(entries, dtype=np.int32)
    n_rows = parse_svmlight(np.frombuffer(text, dtype=np.uint8), labels, indptr, indices, values)
    # comments, query ids and the like
    if n_rows < 0:
        return load_svmlight_file(io.BytesIO(text), zero_based=True)
    shape = n_rows, int(indices.max(initial=0)) + 1
    return sparse.csr_array((values, indices, indptr[: n_rows + 1]), shape=shape), labels[:n_rows]


def _cut_columns(matrix: Any, widths: Mapping[str, int], called: str) -> Views:
    edges = np.cumsum([0, *widths.values()])
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


class _Assembler:
    """Turns rows into batches of the same views and widths, from the first to the last."""

    def __init__(self, widths: Mapping[str, int], n_features: int, label: str | None, called: str) -> None:
        self.widths, self.n_features, self.label, self.called = dict(widths), n_features, label, called
        self.label_found = label is None  # whether a row had it
        self.lengths: dict[str, int] = {}  # of views that are lists of numbers
        self.given = bool(widths)

    def __call__(self, rows: list[dict[str, Any]]) -> Batch:
        labels = self._labels(rows)
        by_view = [_group_by_view(row) for row in rows]
        found = dict.fromkeys(view for row in by_view for view in row)
        self.widths = self.widths or dict.fromkeys(found, self.n_features)
        if not self.given and PLAIN in found and len(found) > 1:
            bare = next(key for row in by_view for key in row.get(PLAIN, ()))
            warn_user(
                f"{self.called} has numbers beside its views, such as {short(bare)}: they are features of one more "
                f"view, {PLAIN!r}. Name all views to say that they are meant so, or leave the numbers out.",
                UserWarning,
            )
        self.given = True  # what the first batch has is what is meant from then on
        unknown = [view for view in found if view not in self.widths]
        if unknown:
            raise DataFileError(
                f"A row has the view {unknown[0]!r}, but the views are {listed(self.widths)}.",
                python="Name all with views=.",
                cli="Name all with --views.",
            )
        if not self.widths:
            raise DataFileError(f"The rows of {self.called} have no features besides {self.label!r}.")
        # a view that a row does not name is missing, which an empty one is not
        present = np.array([[view in row for view in self.widths] for row in by_view])
        matrices = {view: self._matrix(view, [row.get(view) for row in by_view]) for view in self.widths}
        return Batch(Views(matrices, present=present), labels)

    def _labels(self, rows: list[dict[str, Any]]) -> list[Any]:
        """Take the labels out of rows; a key that no row has is misspelt more often than not."""
        if self.label is None:
            return [None] * len(rows)
        if not self.label_found and not any(self.label in row for row in rows):
            raise DataFileError(
                f"{self.called} has no {self.label!r} in its first {quantity(len(rows), 'row')}; there are "
                f"{listed(dict.fromkeys(key for row in rows for key in row))}.",
                python="Name what holds the label with label=, or pass label=None if there is none.",
                cli='Name what holds the label with --labels, or pass --labels "" if there is none.',
            )
        self.label_found = True
        return [_clean_label(row.pop(self.label, None)) for row in rows]

    def _matrix(self, view: str, values: list[Any]) -> Any:
        lists = [value for value in values if isinstance(value, list)]
        if view not in self.lengths and not lists:
            return hash_rows(values, self.widths[view])
        width = self.lengths.setdefault(view, len(lists[0]) if lists else 0)
        with file_errors(f"View {view!r} of {self.called} is not a list of {width} numbers in every row", "Mend it."):
            return np.array([[0.0] * width if value is None else value for value in values], dtype=np.float64)


def _group_by_view(row: dict[str, Any]) -> dict[str, Any]:
    """Views of a row; bare numbers and flags are features of the view "x"."""
    views: dict[str, Any] = {}
    for key, value in row.items():
        if value is None or key == "id":
            continue
        if isinstance(value, dict):
            views[key] = {name: _checked(key, name, item) for name, item in value.items() if item is not None}
        elif isinstance(value, (list, str)):
            views[key] = value
        else:
            views.setdefault(PLAIN, {})[key] = _checked(PLAIN, key, value)
    return views


def _checked(view: str, feature: str, value: Any) -> Any:
    try:
        if isinstance(value, (str, int, float)):
            return value if isinstance(value, str) else float(value)
    except OverflowError:  # a whole number of hundreds of digits
        pass
    raise DataFileError(f"View {short(view)} has {short(value)} for {short(feature)}; it must be a number or a string.")


def _clean_label(value: Any) -> Any:
    """A label, None where there is none."""
    if isinstance(value, (dict, list)):
        raise DataFileError(f"A label must be text or a number, got {short(value)}.")
    if value != value or (isinstance(value, str) and not value.strip()):
        return None
    return int(value) if isinstance(value, float) and value.is_integer() else value

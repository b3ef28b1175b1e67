"""From JSON to `Views`: rows of numbers, features by name, or raw text, for the views that a model knows.

A cell is what one object has in one view:

    [0, 2, 1]                 all features, in order
    {"sea": 2, "fox": 1}      features by name; the others are 0
    {"age": 31, "job": null}  columns by name; those that are null or not there are filled as in a table
    "two foxes at sea"        raw text, where the view has a vectorizer or its features are named by words
    ["sea", "fox", "sea"]     tokens, likewise; in a list of cells: one list for each object
    "EU", 12.5                the value of a view that is one column of categories or numbers
    null                      the object lacks the view
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError
from coview.online.hashing import hash_row
from coview.retrieval.queries import list_known_words
from coview.utils.messages import did_you_mean, listed, quantity, short
from coview.views.inputs import ViewInput
from coview.views.views import Views

__all__ = ["CellReader", "RowError", "read_rows", "rows_to_views"]

MOST_ROWS = 10_000  # objects in one request
_NUMBERED = re.compile(r"f(0|[1-9]\d{0,9})")  # how features without names are shown: f0, f1, ...


class RowError(ViewsError):
    """Tells what is wrong in one view of a request.

    Parameters
    ----------
    view : str
        The view.
    message : str
        What is wrong.
    """

    def __init__(self, view: str, message: str) -> None:
        super().__init__(message)
        self.view = view


class CellReader:
    """Turns cells of one view into columns and values.

    Parameters
    ----------
    view : ViewInput
        What the model takes for the view.
    measured : bool, default=False
        Whether it holds measurements: their features have names too, but nobody writes texts of them.
    """

    def __init__(self, view: ViewInput, measured: bool = False) -> None:
        self.view, self.name, self.width = view, view.name, view.n_features
        self._measured = measured or view.dense or view.fill_values is not None
        self.vectorizer = view.vectorizer
        self.named = view.feature_names is not None
        self.hashed = view.hashed and not self.named

    @property
    def kinds(self) -> list[str]:
        """Kinds of cells that the view takes: "numbers", "names" and "text"."""
        text = self.vectorizer is not None or self.hashed or (self.named and not self._measured)
        return ["numbers", "names", *(["text"] if text else [])]

    @cached_property
    def _column(self) -> dict[str, int]:
        names = self.view.feature_names
        return {} if names is None else {str(name): j for j, name in enumerate(names)}

    @cached_property
    def _lower(self) -> dict[str, int]:
        return {name.lower(): j for name, j in self._column.items()}

    def dense(self, row: Sequence[Any]) -> np.ndarray:
        """All features of one object, checked."""
        try:
            values = np.array(row)
        except (ValueError, OverflowError):
            values = np.empty(0, dtype=object)
        if values.dtype.kind not in "biuf" or values.ndim != 1:
            raise ViewsError(f"A row of view {self.name!r} must be {self.accepted}, got {short(row)}.")
        if len(values) != self.width:
            raise ViewsError(f"View {self.name!r} has {quantity(self.width, 'feature')}, got a row of {len(values)}.")
        if not np.isfinite(values).all():
            raise ViewsError(f"A row of view {self.name!r} holds a value that is not a finite number.")
        return values.astype(np.float64)

    @property
    def accepted(self) -> str:
        """Return what a row may be, in words."""
        if "text" in self.kinds:
            return "a list of numbers, {feature: value}, a text or a list of tokens"
        return "a list of numbers or {feature: value}"

    def without_gaps(self, cell: Any) -> Any:
        """A cell as it was sent; of columns by name those that have a value, None where none has.

        The bare value of a view of one column is that column by name; tokens are counted, or read as a list.
        """
        if isinstance(cell, list) and cell and "text" in self.kinds and all(isinstance(item, str) for item in cell):
            return Counter(cell) if getattr(self.vectorizer, "separator", None) is None else json.dumps(cell)
        if self.view.column is not None and isinstance(cell, (str, int, float)):
            return {self.view.column: cell}
        if self.view.fill_values is None or not isinstance(cell, dict):
            return cell
        return {name: value for name, value in cell.items() if value is not None} or None

    def named_cell(self, cell: Mapping[str, Any], strict: bool) -> tuple[list[int], list[float]]:
        """Columns and values of one object that is given by names."""
        value_of: dict[int, float] = {}
        for name, value in cell.items():
            column, number = self._feature(str(name), value)
            if column is not None:
                value_of[column] = value_of.get(column, 0.0) + number
            elif strict and str(name) not in self.view.categorical:  # a category that is new counts as none
                raise ViewsError(
                    f'View {self.name!r} has no feature {short(name)}. Leave it out, or send "unknown": "ignore".'
                )
        self._fill(value_of)
        return list(value_of), list(value_of.values())

    def _indicator(self, name: str, category: Any) -> int | None:
        """Feature that tells of a category: it is named column_category."""
        if self.view.fill_values is not None and name not in self.view.categorical:  # a column of numbers may look so
            return None
        return self._column.get(f"{name}_{category}")

    def _fill(self, value_of: dict[int, float]) -> None:
        """Add what stands for the columns that are not there."""
        if self.view.fill_values is None:
            return
        for column in np.flatnonzero(self.view.fill_values).tolist():
            value = float(self.view.fill_values[column])
            if column not in value_of and math.isnan(value):
                name = short(str(next(name for name, j in self._column.items() if j == column)))
                raise ViewsError(f"View {self.name!r} needs a value of {name}, but an object has only others. Add it.")
            value_of.setdefault(column, value)

    def _feature(self, name: str, value: Any) -> tuple[int | None, float]:
        if isinstance(value, str):
            column = self._indicator(name, value)
            if column is None and name in self._column:
                raise ViewsError(f"Feature {short(name)} of view {self.name!r} must be a number, got {short(value)}.")
            if column is None and self.hashed:
                columns, values = hash_row({name: value}, self.width)
                return int(columns[0]), float(values[0])
            return column, 1.0
        if isinstance(value, bool) and (column := self._indicator(name, value)) is not None:
            return column, 1.0
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not _finite(value):
            raise ViewsError(
                f"Feature {short(name)} of view {self.name!r} must be a finite number, got {short(value)}."
            )
        column = self._column.get(name)
        if column is None and self.named:  # a number that was made a category
            return self._indicator(name, f"{value:g}"), 1.0
        if column is None and self.hashed:
            columns, values = hash_row({name: float(value)}, self.width)
            return int(columns[0]), float(values[0])
        match = _NUMBERED.fullmatch(name)
        if column is None and match and int(match[1]) < self.width:
            column = int(match[1])
        return column, float(value)

    def texts(self, texts: Sequence[str]) -> list[tuple[list[int], list[float]]]:
        """Columns and values of objects that are given by raw text, by one call of the vectorizer."""
        if self.vectorizer is None or not texts:
            return [self._of_text(text) for text in texts]
        matrix = sparse.csr_array(self.vectorizer.transform(list(texts)))
        indices, values = matrix.indices.tolist(), matrix.data.astype(np.float64).tolist()
        return [(indices[start:stop], values[start:stop]) for start, stop in pairwise(matrix.indptr.tolist())]

    def _of_text(self, text: str) -> tuple[list[int], list[float]]:
        if self.named:
            indices = [self._lower[word] for word in list_known_words(text.lower(), self._lower)]
            return indices, [1.0] * len(indices)
        if self.hashed:
            columns, values = hash_row(text, self.width)
            return columns.tolist(), values.tolist()
        raise ViewsError(
            f"View {self.name!r} takes no text: its model has no vectorizer and its features have no names. Send "
            "numbers."
        )


def read_rows(rows: Any, known: Sequence[str]) -> tuple[dict[str, list[Any]], int]:
    """Return {view: one cell per object} and the number of objects, of rows in any of the shapes that are taken.

    Examples
    --------
    >>> read_rows({"words": "a fox", "links": [1, 0]}, ["words", "links"])
    ({'words': ['a fox'], 'links': [[1, 0]]}, 1)
    >>> read_rows([{"words": "a fox"}, {"links": [1, 0]}], ["words", "links"])
    ({'words': ['a fox', None], 'links': [None, [1, 0]]}, 2)
    """
    if isinstance(rows, list):
        if not rows or not all(isinstance(row, dict) for row in rows):
            raise ViewsError("rows must be {view: ...}, or a list of such objects with at least one of them.")
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: [row.get(name) for row in rows] for name in names}
    elif isinstance(rows, dict):
        columns = {name: _as_cells(name, part) for name, part in rows.items()}
    else:
        raise ViewsError(f"rows must be {{view: ...}} or a list of such objects, got {short(rows)}.")
    for name in columns:
        if name not in known:
            raise ViewsError(
                f"The model has no view {short(name)}; its views are {listed(known)}.{did_you_mean(name, known)}"
            )
    lengths = {name: len(cells) for name, cells in columns.items()}
    if not columns:
        raise ViewsError(f"rows contains no views; the views are {listed(tuple(known))}.")
    if len(set(lengths.values())) > 1:
        counted = ", ".join(f"{name!r} has {n}" for name, n in lengths.items())
        raise ViewsError(f"Views must have the same number of rows: {counted}.")
    n_rows = next(iter(lengths.values()))
    if n_rows > MOST_ROWS:
        raise ViewsError(f"A request may have at most {MOST_ROWS} rows, got {n_rows}. Send them in parts.")
    return columns, n_rows


def rows_to_views(rows: Any, readers: Mapping[str, CellReader], *, unknown: str = "refuse") -> Views:
    """Return JSON rows as `Views`."""
    columns, _ = read_rows(rows, tuple(readers))
    arrays: dict[str, Any] = {}
    present: dict[str, np.ndarray] = {}
    for name, given in columns.items():
        cells = list(map(readers[name].without_gaps, given))
        try:
            arrays[name] = _matrix(readers[name], cells, unknown == "refuse")
        except ViewsError as error:
            raise RowError(name, str(error)) from error
        present[name] = np.array([cell is not None for cell in cells])
    lacking = np.flatnonzero(~np.any(list(present.values()), axis=0))
    if len(lacking):
        raise ViewsError(f"Object {lacking[0]} has no views. Provide at least one, or leave out the object.")
    return Views(arrays, present=present)


def _as_cells(name: str, part: Any) -> list[Any]:
    """Cells of one view: one object's cell may stand alone."""
    if part is None or isinstance(part, (str, dict, int, float)):
        return [part]
    if not isinstance(part, list):
        raise ViewsError(f"View {short(name)} must be a list of rows, features by name or text, got {short(part)}.")
    if not part:
        raise ViewsError(f"View {short(name)} has no rows.")
    if all(isinstance(value, (int, float)) for value in part):
        return [part]
    return part


def _matrix(reader: CellReader, cells: list[Any], strict: bool) -> Any:
    if all(isinstance(cell, list) for cell in cells):
        return np.vstack([reader.dense(cell) for cell in cells])
    rows: list[int] = []
    indices: list[int] = []
    values: list[float] = []
    of_texts = iter(reader.texts([cell for cell in cells if isinstance(cell, str)]))
    for i, cell in enumerate(cells):
        if cell is None:
            continue
        if isinstance(cell, list):
            dense = reader.dense(cell)
            here = np.flatnonzero(dense).tolist()
            columns_values = here, dense[here].tolist()
        elif isinstance(cell, str):
            columns_values = next(of_texts)
        elif isinstance(cell, dict):
            columns_values = reader.named_cell(cell, strict)
        else:
            raise ViewsError(f"A row of view {reader.name!r} must be {reader.accepted}, got {short(cell)}.")
        rows += [i] * len(columns_values[0])
        indices += columns_values[0]
        values += columns_values[1]
    # pairs that repeat, as words of a text do, are summed
    cells_of = (np.array(values, dtype=np.float64), (np.array(rows, dtype=np.intp), np.array(indices, dtype=np.intp)))
    matrix = sparse.csr_array(cells_of, shape=(len(cells), reader.width))
    return matrix.toarray() if reader.view.dense else matrix


def _finite(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False

"""Dask arrays and DataFrames as `LazyViews`: the chunks of rows become the parts, and nothing is computed early.

``as_views({"words": dask_array, "links": dask_frame})`` comes here. Where the chunks of rows differ between views, all
are cut like the view that has most of them; chunks of columns are put together; scipy matrices inside a dask array stay
sparse. Rows of unknown number (after a filter, say) are counted once. A view in memory is cut to match the others.

Nothing here imports dask by itself: whoever holds a dask collection has done so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError
from coview.utils.messages import did_you_mean, listed
from coview.views.arrays import as_matrix, is_dask_collection, is_frame, stack, take_rows
from coview.views.checks import as_feature_names, as_ids, as_present, check_same_index, common_length
from coview.views.lazy import LazyViews
from coview.views.sources import Source, ViewLayout, kind_of, load_dask, memory_size, parts_between
from coview.views.views import Views

__all__ = ["DaskSource", "from_dask"]

Piece = tuple[list[Any], int, int]  # blocks side by side, and which of their rows: first, and one after the last


def from_dask(
    sources: Mapping[str, Any], *, ids: Any = None, present: Any = None, feature_names: Mapping[str, Any] | None = None
) -> LazyViews:
    """Make `LazyViews` of matrices by name, at least one of which is a dask collection.

    Examples
    --------
    >>> import pytest
    >>> da = pytest.importorskip("dask.array", reason="needs dask")
    >>> from coview import as_views
    >>> X = as_views({"words": da.ones((6, 4), chunks=(2, 4)), "links": da.ones((6, 2), chunks=(3, 1))})
    >>> X
    LazyViews of 6 rows in 3 parts
      words  6 x 4  dense float64
      links  6 x 2  dense float64
    >>> import dask
    >>> with dask.config.set(scheduler="synchronous"):
    ...     X[2:5]["links"].shape
    (3, 2)
    """
    columns = {name: _column(name, source) for name, source in sources.items()}
    _count(columns)
    n_rows = common_length({name: sum(column.lengths) for name, column in columns.items()})
    target = max((column.lengths for column in columns.values() if not column.local), key=len)
    titles = feature_names or {}
    for name in titles:
        if name not in columns:
            raise ViewsError(
                f"feature_names names view {name!r}, but the views are {listed(columns)}.{did_you_mean(name, columns)}"
            )
    for name, column in columns.items():
        column = columns[name] = column.cut(target)
        if name in titles:
            renamed = as_feature_names(name, titles[name], column.features)
            columns[name] = replace(column, feature_names=renamed)
    for what, value in (("ids", ids), ("present", present)):
        if is_dask_collection(value):
            raise ViewsError(f"{what} must be in memory, got a dask collection. Pass {what}.compute().")
    mask = None if present is None else as_present(present, tuple(columns), n_rows)
    return LazyViews(DaskSource(columns, as_ids(ids, n_rows), mask))


class DaskSource(Source):
    """Rows of dask collections; a part is computed when it is read."""

    is_dask = True

    def __init__(self, columns: dict[str, _Column], ids: np.ndarray | None, present: np.ndarray | None) -> None:
        self._columns, self._ids, self._present = columns, ids, present
        self.names = tuple(columns)
        self.layout = {n: ViewLayout(c.features, c.dtype, c.kind, c.feature_names) for n, c in columns.items()}
        self.lengths = next(iter(columns.values())).lengths
        width = sum(column.features for column in columns.values())
        self._sparse = any(column.kind == "sparse" for column in columns.values())
        self.nnz = None if self._sparse else tuple(n * width for n in self.lengths)

    @cached_property
    def nbytes(self) -> tuple[int, ...]:  # type: ignore[override]
        """Bytes of each part; where a view is sparse, as many per row as the first part has, which is computed."""
        if self._sparse:
            per_row = sum(map(memory_size, self.read(0, 0, self.lengths[0]).values())) / self.lengths[0]
        else:
            per_row = sum(view.dtype.itemsize * view.features for view in self.layout.values())
        return tuple(math.ceil(n * per_row) for n in self.lengths)

    @cached_property
    def _parts(self) -> list[Any]:
        dask = load_dask()
        assemble = dask.delayed(_assemble, pure=False)
        about = [(c.name, c.indexed, c.dtype, c.feature_names) for c in self._columns.values()]
        shared = dask.delayed(about, traverse=False)  # one node: names of many features travel once
        ends = np.cumsum(self.lengths)
        parts = []
        for i, (end, length) in enumerate(zip(ends.tolist(), self.lengths)):
            rows = slice(end - length, end)
            ids = None if self._ids is None else self._ids[rows]
            present = None if self._present is None else self._present[rows]
            pieces = [column.parts[i] for column in self._columns.values()]
            parts.append(assemble(pieces, shared, ids, present))
        return parts

    def delayed(self) -> list[Any]:
        """Return one dask Delayed of `Views` per part."""
        return list(self._parts)

    def read(self, part: int, start: int, stop: int) -> Views:
        """Compute one part and take rows of it."""
        return self._parts[part].compute()[start:stop]

    def ids(self, part: int) -> np.ndarray | None:
        """Return the ids that were given, or compute the index of one part's frames."""
        if self._ids is not None:
            end = sum(self.lengths[: part + 1])
            return self._ids[end - self.lengths[part] : end]
        if not any(column.indexed for column in self._columns.values()):
            return None
        return self._parts[part].compute().ids

    def select(self, names: tuple[str, ...]) -> Source:
        """Return a source that computes these views only."""
        order = [self.names.index(name) for name in names]
        present = None if self._present is None else self._present[:, order]
        return DaskSource({name: self._columns[name] for name in names}, self._ids, present)

    def __reduce__(self) -> tuple[Any, ...]:
        return DaskSource, (self._columns, self._ids, self._present)


# -- one view


@dataclass(frozen=True)
class _Column:
    """One view: the pieces that the rows of each part are put together from, and what is known of them."""

    name: str
    parts: list[list[Piece]]
    lengths: tuple[int, ...]
    features: int
    dtype: np.dtype
    kind: str
    feature_names: np.ndarray | None = None
    indexed: bool = False  # the index of a frame identifies the rows
    local: bool = False  # a matrix in memory

    def cut(self, lengths: tuple[int, ...]) -> _Column:
        """Return the same rows in parts of other lengths; a part refers to the rows of the pieces that it needs."""
        if lengths == self.lengths:
            return self
        ends, parts = np.cumsum(self.lengths), []
        stops = np.cumsum(lengths).tolist()
        for start, stop in zip([0, *stops[:-1]], stops):
            part: list[Piece] = []
            for i, low, high in parts_between(ends, start, stop):
                ((blocks, _, _),) = self.parts[i]
                if self.local:  # sliced here, so that no part carries the rows of the others
                    rows = slice(low, high)
                    block = blocks[0].iloc[rows] if is_frame(blocks[0]) else take_rows(blocks[0], rows)
                    part.append(([block], 0, high - low))
                else:
                    part.append((blocks, low, high))
            parts.append(part)
        return replace(self, parts=parts, lengths=lengths)


def _column(name: str, source: Any) -> _Column:
    """One view of a source, in its own chunks; unknown sizes are NaN here."""
    if not is_dask_collection(source):
        matrix, columns, index = as_matrix(name, source)
        blocks = [source if index is not None else matrix]  # the frame keeps its index
        n, m = matrix.shape
        part: list[list[Piece]] = [[(blocks, 0, n)]]
        return _Column(name, part, (n,), m, matrix.dtype, kind_of(matrix), columns, index is not None, True)
    classes = {cls.__name__ for cls in type(source).__mro__}  # by name: a Delayed says yes to any attribute
    if "Array" in classes:
        return _array_column(name, source)
    if "DataFrame" in classes:
        return _frame_column(name, source)
    raise ViewsError(
        f"View {name!r} is a dask {type(source).__name__}, which is not a matrix. Pass a dask array or DataFrame."
    )


def _array_column(name: str, array: Any) -> _Column:
    if array.ndim != 2:
        raise ViewsError(f"View {name!r} must be two-dimensional (objects x features), got {array.ndim} dimension(s).")
    if array.dtype.kind not in "biuf":
        raise ViewsError(f"View {name!r} has dtype {array.dtype}, which is not numeric.")
    meta = array._meta
    kind = "sparse" if sparse.issparse(meta) or hasattr(meta, "to_scipy_sparse") else "dense"
    parts: list[list[Piece]] = [[(list(row), 0, 0)] for row in array.to_delayed()]
    features = array.shape[1]
    return _Column(name, parts, array.chunks[0], features, array.dtype, kind)


def _frame_column(name: str, frame: Any) -> _Column:
    meta = frame._meta
    for column, dtype in meta.dtypes.items():
        kind = getattr(dtype, "subtype", dtype)
        if getattr(kind, "kind", "O") not in "biuf":
            raise ViewsError(
                f"View {name!r} has column {column!r} of type {dtype}, which is not numeric. Turn text into counts and "
                "categories into indicators, or drop the column."
            )
    if not len(meta.columns):
        raise ViewsError(f"View {name!r} is empty: 0 feature(s) while a minimum of 1 is required.")
    dtype = meta.to_numpy().dtype
    is_sparse = all(type(kind).__name__ == "SparseDtype" for kind in meta.dtypes)
    return _Column(
        name,
        [[([block], 0, 0)] for block in frame.to_delayed()],
        (math.nan,) * frame.npartitions,
        len(meta.columns),
        np.dtype(np.float64) if dtype.kind == "O" else dtype,
        "sparse" if is_sparse else "dense",
        np.asarray([str(column) for column in meta.columns]),
        type(meta.index).__name__ != "RangeIndex",
    )


def _count(columns: dict[str, _Column]) -> None:
    """Find the sizes that are not known, all in one computation, and leave out chunks without rows."""
    dask = load_dask()
    shape = dask.delayed(_shape)
    unknown: dict[str, list[Any]] = {}
    for name, column in columns.items():
        if math.isnan(sum(column.lengths)):
            unknown[name] = [shape(blocks[0]) for ((blocks, _, _),) in column.parts]
    widths = {
        name: [shape(block) for block in column.parts[0][0][0]]
        for name, column in columns.items()
        if math.isnan(column.features)
    }
    if unknown or widths:
        unknown, widths = dask.compute(unknown, widths)
    for name, column in columns.items():
        lengths = [int(n) for n, _ in unknown[name]] if name in unknown else [int(n) for n in column.lengths]
        features = sum(int(m) for _, m in widths[name]) if name in widths else column.features
        pairs = [([(blocks, 0, n)], n) for ((blocks, _, _),), n in zip(column.parts, lengths) if n]
        if not pairs or not features:
            raise ViewsError(f"View {name!r} is empty: {sum(lengths)} row(s) of {features} feature(s).")
        parts, kept = zip(*pairs)
        columns[name] = replace(column, parts=list(parts), lengths=kept, features=features)


# -- what runs where a part is


def _shape(block: Any) -> tuple[int, int]:
    return block.shape


def _assemble(pieces: list[list[Piece]], about: list[Any], ids: Any, present: Any) -> Views:
    """Put the views of one part together."""
    arrays: dict[str, Any] = {}
    names: dict[str, Any] = {}
    indexes: list[tuple[str, np.ndarray]] = []
    for part, (name, indexed, dtype, titles) in zip(pieces, about):
        blocks = [_rows(name, *piece) for piece in part]
        matrix = stack([rows for rows, _ in blocks])
        if matrix.dtype != dtype and np.can_cast(matrix.dtype, dtype, "same_kind"):
            matrix = matrix.astype(dtype)  # chunks may be of other types than dask says, one by one
        arrays[name] = matrix
        if titles is not None:
            names[name] = titles
        if indexed:
            index = np.concatenate([index for _, index in blocks])
            indexes.append((name, index.astype(str) if index.dtype == object else index))
    check_same_index(indexes)
    if ids is None and indexes:
        ids = indexes[0][1]
    return Views(arrays, ids=ids, present=present, feature_names=names)


def _rows(name: str, blocks: list[Any], start: int, stop: int) -> tuple[Any, Any]:
    """Rows of the blocks that stand side by side, and their index where they are of a frame."""
    matrices = []
    for block in blocks:
        part = block.iloc[start:stop] if is_frame(block) else block
        if hasattr(part, "to_scipy_sparse"):
            part = part.to_scipy_sparse()
        matrix, _, _ = as_matrix(name, part)
        matrices.append(matrix if is_frame(block) else take_rows(matrix, slice(start, stop)))
    index = np.asarray(blocks[0].index[start:stop]) if is_frame(blocks[0]) else None
    return stack(matrices, axis=1), index

"""Dask arrays and DataFrames as `LazyViews`: the chunks of rows become the parts, and no rows are computed early.

``as_views({"words": dask_array, "links": dask_frame})`` comes here. Where the chunks of rows differ between views, all
are cut like the view that has most of them; chunks of columns are put together; scipy matrices inside a dask array stay
sparse. Rows of unknown number (after a filter, say) are counted, and a frame's own index is read. A view in memory is
cut to match the others.

Nothing here imports dask by itself: whoever holds a dask collection has done so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError
from coview.views.arrays import as_matrix, count_bytes, is_dask_collection, take_rows
from coview.views.checks import as_ids, check_lengths, check_same_index
from coview.views.lazy import LazyViews
from coview.views.sources import Source, ViewLayout, load_dask
from coview.views.views import Views

__all__ = ["DaskSource", "from_dask"]


def from_dask(sources: Mapping[str, Any]) -> LazyViews:
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
    arrays: dict[str, Any] = {}
    names: dict[str, np.ndarray] = {}
    indexes: list[tuple[str, np.ndarray]] = []
    for name, source in sources.items():
        read = _read_collection if is_dask_collection(source) else as_matrix
        arrays[name], columns, index = read(name, source)
        if columns is not None:
            names[name] = columns
        if index is not None:
            indexes.append((name, index))
    n_rows = check_lengths({name: array.shape[0] for name, array in arrays.items()})
    check_same_index(indexes)
    # the finest cut, since a part of all views has to fit into memory
    lengths = max((array.chunks[0] for array in arrays.values() if is_dask_collection(array)), key=len)
    cut = {name: _cut_rows(array, lengths) for name, array in arrays.items()}
    return LazyViews(DaskSource(cut, names, as_ids(indexes[0][1] if indexes else None, n_rows)))


class DaskSource(Source):
    """Rows of dask arrays with the same chunks of rows, and all columns in one; a part is computed when it is read."""

    is_dask = True

    def __init__(
        self,
        arrays: dict[str, Any],
        feature_names: dict[str, np.ndarray],
        ids: np.ndarray | None,
    ) -> None:
        self._arrays, self._feature_names, self._ids = arrays, feature_names, ids
        self.names = tuple(arrays)
        kinds = {name: "sparse" if _is_sparse(array) else "dense" for name, array in arrays.items()}
        self.layout = {
            name: ViewLayout(array.shape[1], array.dtype, kinds[name], feature_names.get(name))
            for name, array in arrays.items()
        }
        self.lengths = next(iter(arrays.values())).chunks[0]
        self._sparse = "sparse" in kinds.values()
        width = sum(view.features for view in self.layout.values())
        self.nnz = None if self._sparse else tuple(n * width for n in self.lengths)

    @cached_property
    def nbytes(self) -> tuple[int, ...]:  # type: ignore[override]
        """Bytes of each part; where a view is sparse, as many per row as the first part has, which is computed."""
        if self._sparse:
            # dask knows no number of stored values before it computes
            per_row = sum(map(count_bytes, self.read(0, 0, self.lengths[0]).values())) / self.lengths[0]
        else:
            per_row = sum(view.dtype.itemsize * view.features for view in self.layout.values())
        return tuple(math.ceil(n * per_row) for n in self.lengths)

    @cached_property
    def _parts(self) -> list[Any]:
        dask = load_dask()
        # not pure: hashing the blocks to find equal ones would cost more than it saves
        assemble = dask.delayed(_assemble, pure=False)
        shared = dask.delayed((self.names, self._feature_names), traverse=False)  # names of many features travel once
        blocks = [array.to_delayed()[:, 0] for array in self._arrays.values()]
        parts = []
        for i, end in enumerate(np.cumsum(self.lengths).tolist()):
            rows = slice(end - self.lengths[i], end)
            ids = None if self._ids is None else self._ids[rows]
            parts.append(assemble([column[i] for column in blocks], shared, ids))
        return parts

    def delayed(self) -> list[Any]:
        """Return one dask Delayed of `Views` per part."""
        return list(self._parts)

    def read(self, part: int, start: int, stop: int) -> Views:
        """Compute one part and take rows of it."""
        return self._parts[part].compute()[start:stop]

    def ids(self, part: int) -> np.ndarray | None:
        """Return the ids of one part's rows, which are in memory."""
        end = sum(self.lengths[: part + 1])
        return None if self._ids is None else self._ids[end - self.lengths[part] : end]

    def select(self, names: tuple[str, ...]) -> Source:
        """Return a source that computes these views only."""
        return DaskSource({name: self._arrays[name] for name in names}, self._feature_names, self._ids)

    def __reduce__(self) -> tuple[Any, ...]:
        return DaskSource, (self._arrays, self._feature_names, self._ids)


def _read_collection(name: str, source: Any) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
    """Return a dask collection as a dask array of known sizes, with the names and the own index of a frame."""
    classes = {cls.__name__ for cls in type(source).__mro__}  # by name: a Delayed says yes to any attribute
    columns = index = None
    if "DataFrame" in classes:
        columns = np.asarray([str(column) for column in source.columns])
        if type(source._meta.index).__name__ != "RangeIndex":
            index = np.asarray(source.index.compute())
        # known lengths are needed: parts are found by row number
        source = source.to_dask_array(lengths=True)
    elif "Array" not in classes:
        raise ViewsError(
            f"View {name!r} is a dask {type(source).__name__}, which is not a matrix. Pass a dask array or DataFrame."
        )
    if source.ndim != 2 or source.dtype.kind not in "biuf":
        raise ViewsError(
            f"View {name!r} must be a numeric matrix (objects x features), got {source.ndim} dimension(s) of dtype "
            f"{source.dtype}."
        )
    if any(math.isnan(size) for size in source.shape):
        source = source.copy().compute_chunk_sizes()
    if not all(source.shape):
        raise ViewsError(f"View {name!r} is empty: {source.shape[0]} row(s) of {source.shape[1]} feature(s).")
    # a filter leaves empty chunks behind, and a part has at least one row
    lengths = tuple(length for length in source.chunks[0] if length)
    return source.rechunk((lengths, -1)), columns, index


def _cut_rows(array: Any, lengths: tuple[int, ...]) -> Any:
    """Return an array, also one in memory, as a dask array with chunks of so many rows."""
    if is_dask_collection(array):
        return array.rechunk((lengths, -1))
    import dask.array as da

    # sliced here, so that no part carries the rows of the others
    blocks = [take_rows(array, slice(end - n, end)) for n, end in zip(lengths, np.cumsum(lengths).tolist())]
    return da.concatenate([da.from_array(block, chunks=block.shape, asarray=False) for block in blocks])


def _is_sparse(array: Any) -> bool:
    return sparse.issparse(array._meta) or hasattr(array._meta, "to_scipy_sparse")


def _assemble(blocks: list[Any], about: tuple[tuple[str, ...], dict[str, Any]], ids: Any) -> Views:
    """Put the views of one part together, where the part is."""
    names, feature_names = about
    arrays = [block.to_scipy_sparse() if hasattr(block, "to_scipy_sparse") else block for block in blocks]
    kept = {name: columns for name, columns in feature_names.items() if name in names}
    return Views(dict(zip(names, arrays)), ids=ids, feature_names=kept)

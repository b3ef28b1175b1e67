"""`LazyViews`: views of more rows than memory holds, in parts that are read when needed and forgotten afterwards.

Where the rows come from is a *source* (`sources.py`): a folder of shards, dask collections, or memory. What is
asked of it is here: rows by number across parts, one part after the other, and lazy changes of the views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from coview.exceptions import ViewsTypeError
from coview.utils.messages import listed
from coview.utils.tables import format_html_table, format_text_table
from coview.views.checks import convert_texts
from coview.views.sources import Changed, MemorySource, Renamed, Source, find_parts, load_dask, map_some
from coview.views.views import Matrix, NamedViews, Views

__all__ = ["LazyViews", "stack_views"]


class LazyViews(NamedViews):
    """Views in parts that are read on demand: a folder of shards, Dask collections, or any `Source`.

    Most users meet it as what `read_views` returns for a folder of several shards and what `as_views` makes of dask
    arrays. Taking rows reads just those and gives `Views`; everything else stays lazy. It pickles small: paths or dask
    keys, no data.

    Parameters
    ----------
    source : Source
        Knows the parts and reads rows of them.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import Views
    >>> from coview.views.lazy import LazyViews
    >>> X = LazyViews.from_views(Views(words=np.eye(5), links=np.ones((5, 2))), rows_per_part=2)
    >>> X
    LazyViews of 5 rows in 3 parts
      words  5 x 5  dense float64
      links  5 x 2  dense float64
    >>> X.lengths
    (2, 2, 1)
    >>> X[1:3]
    Views of 2 rows
      words  2 x 5  dense float64  20.0 % non-zero
      links  2 x 2  dense float64  100.0 % non-zero
    >>> sum(len(part) for part in X.parts())
    5
    >>> X.select("links").map(np.sqrt).collect()["links"].shape
    (5, 2)
    """

    __slots__ = ("_ends", "_source")

    _source: Source
    _ends: np.ndarray

    def __init__(self, source: Source) -> None:
        # by `object`: views refuse to have attributes set
        object.__setattr__(self, "_source", source)
        object.__setattr__(self, "_ends", np.cumsum(source.lengths, dtype=np.intp))

    @classmethod
    def from_views(cls, views: Views, rows_per_part: int) -> LazyViews:
        """Split in-memory views into parts of `rows_per_part` rows without copying."""
        return cls(MemorySource(views, rows_per_part))

    def __reduce__(self) -> tuple[Any, ...]:
        return LazyViews, (self._source,)

    # -- what is in it

    @property
    def source(self) -> Source:
        """Source that reads the parts."""
        return self._source

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the views, in order."""
        return self._source.names

    @property
    def n_features(self) -> dict[str, int]:
        """Number of features of each view."""
        return {name: view.features for name, view in self._source.layout.items()}

    @property
    def feature_names(self) -> dict[str, np.ndarray]:
        """Feature names, for the views that have them."""
        names = {name: view.feature_names for name, view in self._source.layout.items()}
        return {name: columns for name, columns in names.items() if columns is not None}

    @property
    def dtypes(self) -> dict[str, np.dtype]:
        """Data type of each view."""
        return {name: view.dtype for name, view in self._source.layout.items()}

    @property
    def kinds(self) -> dict[str, str]:
        """Layout of each view, "sparse" or "dense"."""
        return {name: view.kind for name, view in self._source.layout.items()}

    @property
    def lengths(self) -> tuple[int, ...]:
        """Number of rows of each part."""
        return self._source.lengths

    @property
    def nbytes(self) -> tuple[int, ...]:
        """Memory of each part in bytes, for all views together; estimated if the source does not know."""
        return self._source.nbytes

    @property
    def nnz(self) -> tuple[int, ...] | None:
        """Number of stored values of each part, for all views together, or None if unknown."""
        return self._source.nnz

    @property
    def is_dask(self) -> bool:
        """Whether the parts are computed by Dask."""
        return self._source.is_dask

    @property
    def ids(self) -> np.ndarray | None:
        """Ids of the objects, read on access, or None; texts are Python's own `str`."""
        parts: list[np.ndarray] = []
        for i in range(len(self.lengths)):
            ids = self._source.ids(i)
            # parts have all ids or none: those of one part without the others name no rows
            if ids is None:
                return None
            parts.append(ids)
        return convert_texts(np.concatenate(parts))

    def __len__(self) -> int:
        return int(self._ends[-1])

    # -- reading

    def part(self, i: int) -> Views:
        """Read one part into memory."""
        if not 0 <= i < len(self.lengths):
            raise IndexError(f"Part {i} is out of range: there are {len(self.lengths)} parts, counted from 0.")
        return self._source.read(i, 0, self.lengths[i])

    def parts(self) -> Iterator[Views]:
        """Iterate over the parts, holding one at a time in memory."""
        for i in range(len(self.lengths)):
            yield self.part(i)

    def collect(self) -> Views:
        """Read all rows into memory."""
        return stack_views(list(self.parts()))

    def delayed_parts(self) -> list[Any]:
        """Return one Dask Delayed of `Views` per part."""
        if self.is_dask:
            return self._source.delayed()
        delayed = load_dask().delayed
        return [delayed(LazyViews.part)(self, i) for i in range(len(self.lengths))]

    def __getitem__(self, key: Any) -> Views:
        if isinstance(key, str):
            raise TypeError(
                f"LazyViews hold no matrices in memory: read one with X.select({key!r}).collect()[{key!r}]."
            )
        rows = self._as_rows(key)
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step == 1:
                return self._range(start, stop)
            rows = np.arange(start, stop, step, dtype=np.intp)
        return self._rows(np.where(rows < 0, rows + len(self), rows).astype(np.intp))

    def _range(self, start: int, stop: int) -> Views:
        if stop <= start:
            # one row is read and dropped: an empty result still has the names, widths and types of the views
            return self._source.read(0, 0, 1)[:0]
        return stack_views([self._source.read(*rows) for rows in find_parts(self._ends, start, stop)])

    def _rows(self, rows: np.ndarray) -> Views:
        """Read rows in any order; every part that holds some of them is read once."""
        if not rows.size:
            return self._range(0, 0)
        part = np.searchsorted(self._ends, rows, side="right")
        # rows are asked for part by part, so that each file is opened once, and put in their order at the end
        order = np.argsort(part, kind="stable")
        pieces = []
        for i in np.unique(part):
            local = rows[order][part[order] == i] - (self._ends[i] - self.lengths[i])
            pieces.append(self._source.take(int(i), local))
        whole = stack_views(pieces)
        return whole if (np.diff(order) > 0).all() else whole[np.argsort(order)]

    # -- lazy changes

    def _select(self, names: tuple[str, ...]) -> LazyViews:
        return self if names == self.names else LazyViews(self._source.select(names))

    def rename(self, mapping: Mapping[str, str] | None = None, /, **named: str) -> LazyViews:
        """Rename views: ``X.rename(words="text")``."""
        new = self._renaming(mapping, named)
        return LazyViews(Renamed(self._source, {new.get(name, name): name for name in self.names}))

    def map(self, function: Callable[[Matrix], Any] | Mapping[str, Callable[[Matrix], Any]]) -> LazyViews:
        """Apply one function to every view on reading, or a separate function to each view by name.

        It is given some rows at a time, so what it makes of a row must not depend on the other rows. To send the
        views to other processes it must be picklable.
        """
        functions = dict(function) if isinstance(function, Mapping) else dict.fromkeys(self.names, function)
        self._check_names(tuple(functions))
        return LazyViews(Changed(self._source, partial(map_some, functions)))

    # -- showing

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise ViewsTypeError(f"LazyViews ({listed(self.names)}) are not one matrix. Read rows first: X[:100].hstack().")

    def _summary(self) -> list[tuple[str, str, str]]:
        return [
            (name, f"{len(self)} x {view.features}", f"{view.kind} {view.dtype}")
            for name, view in self._source.layout.items()
        ]

    def _title(self) -> str:
        parts = len(self.lengths)
        return f"LazyViews of {len(self)} rows in {parts} part{'s' if parts > 1 else ''}"

    def __repr__(self) -> str:
        return format_text_table(self._title(), self._summary(), aligned=2)

    def _repr_html_(self) -> str:
        return format_html_table(self._title(), ("view", "shape", "kind"), self._summary())


def stack_views(pieces: Sequence[Views]) -> Views:
    """Return one `Views` of the rows of all pieces, which have the same views; one piece comes back as it is."""
    return pieces[0] if len(pieces) == 1 else Views.concat(pieces)

"""Sources: small objects that know what the parts of `LazyViews` hold and read rows of them.

A source subclasses `Source` and has

    names, layout              of the views; the layout says of each what is known without its rows
    lengths, nbytes, nnz       of the parts: rows, bytes in memory, stored values (or None)
    read(part, start, stop)    rows start to stop of one part as `Views`, and no others if it can
    ids(part)                  identifiers of one part's rows, or None

and may have better ways than these to `take` rows in any order and to `select` views.

Parts have at least one row. `coview.io.views_folder` reads them from a folder, `dask_collections.py` from dask
collections. Selecting, renaming and mapping views wrap a source into another one; nothing is read by that, except a few
rows of the first part when somebody asks for the width of a mapped view.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from coview.exceptions import MissingPackageError
from coview.views.arrays import count_bytes, describe_kind, get_stored_values
from coview.views.views import Matrix, Views

__all__ = [
    "Changed",
    "MemorySource",
    "Renamed",
    "Source",
    "ViewLayout",
    "describe_layout",
    "find_parts",
    "load_dask",
    "map_some",
]


@dataclass(frozen=True)
class ViewLayout:
    """What is known of a view without its rows."""

    features: int
    dtype: np.dtype
    kind: str  # "sparse" or "dense"
    feature_names: np.ndarray | None = None


def describe_layout(views: Views) -> dict[str, ViewLayout]:
    """Return the layout of views in memory."""
    names = views.feature_names
    return {
        name: ViewLayout(array.shape[1], array.dtype, describe_kind(array), names.get(name))
        for name, array in views.items()
    }


class Source(ABC):
    """Where the parts of `LazyViews` come from; the module's first lines say what each attribute is."""

    names: tuple[str, ...]
    layout: dict[str, ViewLayout]
    lengths: tuple[int, ...]
    nbytes: tuple[int, ...]
    nnz: tuple[int, ...] | None = None
    is_dask = False

    @abstractmethod
    def read(self, part: int, start: int, stop: int) -> Views:
        """Read rows start to stop of one part."""

    def take(self, part: int, rows: np.ndarray) -> Views:
        """Read some rows of one part, at least one, in any order."""
        low = int(rows.min())
        return self.read(part, low, int(rows.max()) + 1)[rows - low]

    def ids(self, part: int) -> np.ndarray | None:
        """Read the identifiers of one part's rows."""
        return self.read(part, 0, self.lengths[part]).ids

    def select(self, names: tuple[str, ...]) -> Source:
        """Return a source of these views only; one that can leave the others unread overrides this."""
        return Renamed(self, {name: name for name in names})

    def delayed(self) -> list[Any]:
        """Return one dask Delayed of `Views` per part, where the source is dask's."""
        raise TypeError(f"{type(self).__name__} does not come from dask.")


class MemorySource(Source):
    """Views in memory, seen as parts of so many rows."""

    def __init__(self, views: Views, rows_per_part: int) -> None:
        n = len(views)
        self._views, self._rows = views, rows_per_part
        self.names = views.names
        self.layout = describe_layout(views)
        self.lengths = tuple(min(rows_per_part, n - start) for start in range(0, n, rows_per_part))
        parts = [self.read(i, 0, length) for i, length in enumerate(self.lengths)]
        self.nbytes = tuple(sum(map(count_bytes, part.values())) for part in parts)
        self.nnz = tuple(sum(map(get_stored_values, part.values())) for part in parts)

    def read(self, part: int, start: int, stop: int) -> Views:
        """Read rows start to stop of one part."""
        first = part * self._rows
        return self._views[first + start : first + stop]

    def select(self, names: tuple[str, ...]) -> Source:
        """Return a source of these views only."""
        return MemorySource(self._views.select(*names), self._rows)


class _Derived(Source):
    """A source whose `Views` go through one step after they are read; the step is picklable, as a source is."""

    def __init__(self, base: Source, step: Callable[[Views], Views]) -> None:
        self._base, self._step = base, step
        self.lengths = base.lengths
        self.is_dask = base.is_dask

    @cached_property
    def nbytes(self) -> tuple[int, ...]:  # type: ignore[override]
        return self._base.nbytes

    @property
    def nnz(self) -> tuple[int, ...] | None:  # type: ignore[override]
        return self._base.nnz

    def read(self, part: int, start: int, stop: int) -> Views:
        return self._step(self._base.read(part, start, stop))

    def take(self, part: int, rows: np.ndarray) -> Views:
        return self._step(self._base.take(part, rows))

    def ids(self, part: int) -> np.ndarray | None:
        return self._base.ids(part)

    @cached_property
    def _delayed(self) -> list[Any]:
        step = load_dask().delayed(self._step)
        return [step(part) for part in self._base.delayed()]

    def delayed(self) -> list[Any]:
        return list(self._delayed)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_delayed"}  # made again where needed


class Renamed(_Derived):
    """Views of a source, all or some of them, under other names or the same: ``{name: name in the source}``."""

    def __init__(self, base: Source, old: dict[str, str]) -> None:
        super().__init__(base, partial(_rename, old))
        self._old = old
        self.names = tuple(old)

    @property
    def layout(self) -> dict[str, ViewLayout]:  # type: ignore[override]
        return {name: self._base.layout[old] for name, old in self._old.items()}

    @property
    def nnz(self) -> tuple[int, ...] | None:  # type: ignore[override]
        # the base knows the sum over all its views only
        return self._base.nnz if len(self._old) == len(self._base.names) else None

    def select(self, names: tuple[str, ...]) -> Source:
        """Return a source of these views only, which reads no others if the base can."""
        old = {name: self._old[name] for name in names}
        return Renamed(self._base.select(tuple(old.values())), old)


def _rename(old: dict[str, str], views: Views) -> Views:
    return views.select(*old.values()).rename({was: name for name, was in old.items()})


class Changed(_Derived):
    """Views that go through a step, which must change each by itself, take any of them, and keep the rows and names.

    A few rows of the first part tell their layout, when asked for. Views that are left out are not read, so that a view
    cannot be made of others here.
    """

    nnz = None

    def __init__(self, base: Source, step: Callable[[Views], Views]) -> None:
        super().__init__(base, step)
        self.names = base.names

    @cached_property
    def _probe(self) -> tuple[Views, Views]:
        """Some rows before and after."""
        before = self._base.read(0, 0, min(64, self.lengths[0]))
        return before, self._step(before)

    @cached_property
    def layout(self) -> dict[str, ViewLayout]:  # type: ignore[override]
        return describe_layout(self._probe[1])

    @cached_property
    def nbytes(self) -> tuple[int, ...]:  # type: ignore[override]
        before, after = (sum(map(count_bytes, views.values())) for views in self._probe)
        return tuple(round(size * after / before) for size in self._base.nbytes)

    def select(self, names: tuple[str, ...]) -> Source:
        """Return a source of these views only, which reads no others if the base can."""
        return Changed(self._base.select(names), self._step)


def map_some(functions: dict[str, Callable[[Matrix], Any]], views: Views) -> Views:
    """Apply functions to the matrices of those of their views that are there."""
    return views.map({name: function for name, function in functions.items() if name in views})


def find_parts(ends: np.ndarray, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Yield every part that has some of the rows start to stop, and which of its own rows these are.

    Examples
    --------
    >>> list(find_parts(np.array([3, 5, 9]), 2, 6))
    [(0, 2, 3), (1, 0, 2), (2, 0, 1)]
    """
    for part in range(int(np.searchsorted(ends, start, side="right")), len(ends)):
        first, end = int(ends[part - 1]) if part else 0, int(ends[part])
        if first >= stop:
            return
        yield part, max(start - first, 0), min(stop, end) - first


def load_dask() -> Any:
    """Return dask, or refuse with a sentence where it is not installed."""
    try:
        import dask
    except ImportError:
        raise MissingPackageError('This needs dask, which is not installed. Run: pip install "coview[dask]".') from None
    return dask

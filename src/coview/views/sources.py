"""Sources: small objects that know what the parts of `LazyViews` hold and read rows of them.

A source subclasses `Source` and has

    names, n_features, feature_names, dtypes, kinds    of the views, as `Views` has them (kinds: "sparse" or "dense")
    lengths, nbytes, nnz                                of the parts: rows, bytes in memory, stored values (or None)
    read(part, start, stop) -> Views                    rows start to stop of one part, and no others if it can
    ids(part) -> array or None                          identifiers of one part's rows

and may have better ways than these to `take` rows in any order and to `select` views.

Parts have at least one row. `coview.io.views_folder` reads them from a folder, `dask_collections.py` from dask
collections. Selecting, renaming and mapping views wrap a source into another one; nothing is read by that, except a few
rows of the first part when somebody asks for the width of a mapped view.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import methodcaller
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import EngineError, ViewsError
from coview.views.views import Matrix, Views

__all__ = ["Mapped", "MemorySource", "Renamed", "Source", "kind_of", "load_dask", "memory_size", "stored_values"]

_PROBE = 64  # rows that tell the width of a mapped view


class Source(ABC):
    """Where the parts of `LazyViews` come from; the module's first lines say what each attribute is."""

    names: tuple[str, ...]
    n_features: dict[str, int]
    feature_names: dict[str, np.ndarray]
    dtypes: dict[str, np.dtype]
    kinds: dict[str, str]
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
        return Selected(self, names)

    def delayed(self) -> list[Any]:
        """Return one dask Delayed of `Views` per part, where the source is dask's."""
        raise TypeError(f"{type(self).__name__} does not come from dask.")


class MemorySource(Source):
    """Views in memory, seen as parts of so many rows."""

    def __init__(self, views: Views, rows_per_part: int) -> None:
        n = len(views)
        self._views, self._rows = views, rows_per_part
        self.names = views.names
        self.n_features = views.n_features
        self.feature_names = views.feature_names
        self.dtypes = {name: array.dtype for name, array in views.items()}
        self.kinds = {name: kind_of(array) for name, array in views.items()}
        self.lengths = tuple(min(rows_per_part, n - start) for start in range(0, n, rows_per_part))
        parts = [self.read(i, 0, length) for i, length in enumerate(self.lengths)]
        self.nbytes = tuple(sum(map(memory_size, part.values())) for part in parts)
        self.nnz = tuple(sum(map(stored_values, part.values())) for part in parts)

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


class Selected(_Derived):
    """Some of the views of a source that reads them all."""

    def __init__(self, base: Source, names: tuple[str, ...]) -> None:
        super().__init__(base, methodcaller("select", *names))
        self.names = names
        self.n_features = {name: base.n_features[name] for name in names}
        self.feature_names = {name: base.feature_names[name] for name in names if name in base.feature_names}
        self.dtypes = {name: base.dtypes[name] for name in names}
        self.kinds = {name: base.kinds[name] for name in names}

    @property
    def nnz(self) -> tuple[int, ...] | None:  # type: ignore[override]
        return None  # the base knows the sum over its own views only


class Renamed(_Derived):
    """The same views under other names."""

    def __init__(self, base: Source, new: dict[str, str]) -> None:
        super().__init__(base, methodcaller("rename", new))
        self._old = {new.get(name, name): name for name in base.names}
        self.names = tuple(self._old)

    @property
    def n_features(self) -> dict[str, int]:  # type: ignore[override]
        return {name: self._base.n_features[old] for name, old in self._old.items()}

    @property
    def feature_names(self) -> dict[str, np.ndarray]:  # type: ignore[override]
        known = self._base.feature_names
        return {name: known[old] for name, old in self._old.items() if old in known}

    @property
    def dtypes(self) -> dict[str, np.dtype]:  # type: ignore[override]
        return {name: self._base.dtypes[old] for name, old in self._old.items()}

    @property
    def kinds(self) -> dict[str, str]:  # type: ignore[override]
        return {name: self._base.kinds[old] for name, old in self._old.items()}

    def select(self, names: tuple[str, ...]) -> Source:
        """Return a source of these views only, which reads no others if the base can."""
        old = tuple(self._old[name] for name in names)
        return Renamed(self._base.select(old), {self._old[name]: name for name in names})


class Mapped(_Derived):
    """Views whose matrices go through a function."""

    def __init__(self, base: Source, functions: dict[str, Callable[[Matrix], Any]]) -> None:
        super().__init__(base, methodcaller("map", {name: _SameRows(name, f) for name, f in functions.items()}))
        self._functions = functions
        self.names = base.names

    @cached_property
    def _probe(self) -> tuple[dict[str, int], dict[str, np.ndarray], dict[str, np.dtype], dict[str, str], float]:
        """Widths, names of columns, types and kinds of the mapped views, and how many times larger they are."""
        before = self._base.read(0, 0, min(_PROBE, self.lengths[0]))
        after = self._step(before)
        growth = sum(map(memory_size, after.values())) / sum(map(memory_size, before.values()))
        dtypes = {name: array.dtype for name, array in after.items()}
        return after.n_features, after.feature_names, dtypes, {n: kind_of(a) for n, a in after.items()}, growth

    @property
    def n_features(self) -> dict[str, int]:  # type: ignore[override]
        return self._probe[0]

    @property
    def feature_names(self) -> dict[str, np.ndarray]:  # type: ignore[override]
        return self._probe[1]

    @property
    def dtypes(self) -> dict[str, np.dtype]:  # type: ignore[override]
        return self._probe[2]

    @property
    def kinds(self) -> dict[str, str]:  # type: ignore[override]
        return self._probe[3]

    @cached_property
    def nbytes(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(round(size * self._probe[4]) for size in self._base.nbytes)

    @property
    def nnz(self) -> tuple[int, ...] | None:  # type: ignore[override]
        return None

    def select(self, names: tuple[str, ...]) -> Source:
        """Return a source of these views only, which reads no others if the base can."""
        functions = {name: self._functions[name] for name in names if name in self._functions}
        return Mapped(self._base.select(names), functions)


@dataclass(frozen=True)
class _SameRows:
    """A function that must give as many rows as it gets: it sees some rows at a time, in whatever pieces."""

    name: str
    function: Callable[[Matrix], Any]

    def __call__(self, matrix: Matrix) -> Any:
        result = self.function(matrix)
        shape = getattr(result, "shape", ())
        if shape[:1] != matrix.shape[:1]:
            raise ViewsError(
                f"A function mapped over view {self.name!r} must keep the rows: it got {matrix.shape[0]} and returned "
                f"shape {tuple(shape)}."
            )
        return result


def load_dask() -> Any:
    """Return dask, or refuse with a sentence where it is not installed."""
    try:
        import dask
    except ImportError:
        raise EngineError('This needs dask, which is not installed. Run: pip install "coview[dask]".') from None
    return dask


def kind_of(matrix: Any) -> str:
    """Say whether a matrix is "sparse" or "dense"."""
    return "sparse" if sparse.issparse(matrix) else "dense"


def memory_size(matrix: Any) -> int:
    """Bytes of a matrix in memory."""
    if sparse.issparse(matrix):
        return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)
    return int(matrix.nbytes)


def stored_values(matrix: Any) -> int:
    """Number of values that a matrix stores: all cells of a dense one."""
    return int(matrix.nnz if sparse.issparse(matrix) else matrix.size)

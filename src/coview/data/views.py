"""`Views`: several feature matrices of the same objects, named, aligned by row and immutable.

A row may lack a view: `present[i, v]` is False there and the matrix holds zeros in that row. Indexing selects rows, as
scikit-learn's splitters and searches expect, or one view by its name.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from scipy import sparse

from coview.data.arrays import as_matrix, density, read_only, scatter_rows, take_rows
from coview.exceptions import ViewsError

if TYPE_CHECKING:
    from pathlib import Path

Matrix = Union[np.ndarray, sparse.csr_matrix, sparse.csr_array]  # noqa: UP007  (evaluated at run time by sphinx)

__all__ = ["Matrix", "Views"]


class Views:
    """Feature sets of the same objects, side by side but never glued.

    Parameters
    ----------
    views : mapping, sequence or matrix, optional
        ``{name: matrix}``, a list of matrices (named ``view0``, ``view1``, ...), or one matrix (named ``x``).
        A matrix is a NumPy array, a scipy sparse matrix or array of any format, or a pandas or polars frame.
    ids : array-like of shape (n_rows,), optional
        One identifier per object. Taken from the index of pandas frames where they have one of their own.
    present : mapping or array-like of shape (n_rows, n_views), optional
        Which objects have which view; ``{name: mask}`` or one boolean matrix. All of them by default.
    feature_names : mapping, optional
        ``{name: names of the columns}``. Taken from frames where absent.
    **named : matrices
        Views by keyword: ``Views(words=W, links=L)``.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import Views
    >>> X = Views(words=np.eye(3), links=np.ones((3, 2)))
    >>> X
    Views of 3 rows
      words  3 x 3  dense float64  33.3 % non-zero
      links  3 x 2  dense float64  100.0 % non-zero
    >>> X[[0, 2]]["links"]
    array([[1., 1.],
           [1., 1.]])
    """

    __slots__ = ("_arrays", "_feature_names", "_ids", "_names", "_present")
    __hash__ = None  # type: ignore[assignment]

    _arrays: dict[str, Matrix]
    _feature_names: dict[str, np.ndarray]
    _ids: np.ndarray | None
    _names: tuple[str, ...]
    _present: np.ndarray

    def __init__(
        self,
        views: Any = None,
        /,
        *,
        ids: Any = None,
        present: Any = None,
        feature_names: Mapping[str, Any] | None = None,
        **named: Any,
    ) -> None:
        from coview.data.coerce import named_matrices

        sources = named_matrices(views, named)
        if not sources:
            raise ViewsError("Views needs at least one view, got none. Example: Views(words=W, links=L).")
        arrays: dict[str, Matrix] = {}
        names: dict[str, np.ndarray] = {}
        found_ids: list[tuple[str, np.ndarray]] = []
        for name, source in sources.items():
            array, columns, index = as_matrix(name, source)
            arrays[name] = array
            if columns is not None:
                names[name] = columns
            if index is not None:
                found_ids.append((name, index))
        n_rows = _common_length(arrays)
        _check_same_index(found_ids)
        if ids is None and found_ids:
            ids = found_ids[0][1]
        mask = _as_present(present, tuple(arrays), n_rows)
        for v, name in enumerate(arrays):
            _check_absent_rows_empty(name, arrays[name], mask[:, v])
        for name, columns in (feature_names or {}).items():
            if name not in arrays:
                raise ViewsError(f"feature_names names view {name!r}, but the views are {_listed(tuple(arrays))}.")
            names[name] = _as_feature_names(name, columns, arrays[name].shape[1])
        self._set(arrays, _as_ids(ids, n_rows), mask, names)

    # -- construction without checks, and immutability

    def _set(
        self, arrays: dict[str, Matrix], ids: np.ndarray | None, present: np.ndarray, names: dict[str, np.ndarray]
    ) -> None:
        present.flags.writeable = False
        put = object.__setattr__
        put(self, "_arrays", arrays)
        put(self, "_names", tuple(arrays))
        put(self, "_ids", ids)
        put(self, "_present", present)
        put(self, "_feature_names", names)

    @classmethod
    def _trusted(
        cls,
        arrays: dict[str, Matrix],
        ids: np.ndarray | None,
        present: np.ndarray,
        names: dict[str, np.ndarray],
    ) -> Views:
        self = object.__new__(cls)
        self._set({name: read_only(array) for name, array in arrays.items()}, ids, present, names)
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("Views are immutable. Make new ones with select, drop, rename, map, or Views(...).")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError("Views are immutable. Make new ones with select, drop, rename, map, or Views(...).")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("Views are immutable. Make new ones with drop(name).")

    def __getstate__(self) -> dict[str, Any]:
        return {
            "arrays": self._arrays,
            "ids": self._ids,
            "present": self._present,
            "feature_names": self._feature_names,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        arrays = {name: read_only(array) for name, array in state["arrays"].items()}
        self._set(arrays, state["ids"], np.asarray(state["present"]).view(), state["feature_names"])

    # -- what is in it

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the views, in order."""
        return self._names

    @property
    def shape(self) -> tuple[int, int]:
        """Number of objects, and of features over all views."""
        return len(self), sum(array.shape[1] for array in self._arrays.values())

    @property
    def n_features(self) -> dict[str, int]:
        """Number of features of each view."""
        return {name: array.shape[1] for name, array in self._arrays.items()}

    @property
    def ids(self) -> np.ndarray | None:
        """Identifiers of the objects, or None."""
        return self._ids

    @property
    def present(self) -> np.ndarray:
        """Boolean matrix (n_rows, n_views): which object has which view."""
        return self._present

    @property
    def feature_names(self) -> dict[str, np.ndarray]:
        """Names of the columns, for the views that have them."""
        return dict(self._feature_names)

    def __len__(self) -> int:
        return int(self._present.shape[0])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def keys(self) -> tuple[str, ...]:
        """Names of the views, so that ``dict(X)`` works."""
        return self._names

    def items(self) -> Iterator[tuple[str, Matrix]]:
        """Pairs of name and matrix."""
        return iter(self._arrays.items())

    def values(self) -> Iterator[Matrix]:
        """The matrices, in order."""
        return iter(self._arrays.values())

    # -- selecting

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            self._check_names((key,))
            return self._arrays[key]
        if isinstance(key, tuple):  # scikit-learn asks for X[rows, ...]
            if len(key) != 2 or not (key[1] is Ellipsis or key[1] == slice(None)):
                raise TypeError("Views are indexed by rows or by one view's name. For several views use X.select(...).")
            key = key[0]
        return self._take(key)

    def _take(self, key: Any) -> Views:
        rows = _as_rows(key, len(self))
        return Views._trusted(
            {name: take_rows(array, rows) for name, array in self._arrays.items()},
            None if self._ids is None else self._ids[rows],
            self._present[rows],
            self._feature_names,
        )

    def select(self, *names: str) -> Views:
        """Keep these views, in this order."""
        if len(names) == 1 and not isinstance(names[0], str):
            names = tuple(names[0])
        if not names:
            raise ViewsError(f"select needs at least one view; the views are {_listed(self._names)}.")
        self._check_names(names)
        if len(set(names)) != len(names):
            raise ViewsError(f"Views must have different names, got {_listed(names)}.")
        columns = [self._names.index(name) for name in names]
        return Views._trusted(
            {name: self._arrays[name] for name in names},
            self._ids,
            self._present[:, columns],
            {name: self._feature_names[name] for name in names if name in self._feature_names},
        )

    def drop(self, *names: str) -> Views:
        """Keep all views but these."""
        self._check_names(names)
        return self.select(*(name for name in self._names if name not in names))

    def rename(self, mapping: Mapping[str, str] | None = None, /, **named: str) -> Views:
        """Give views new names: ``X.rename(words="text")``."""
        new = {**(mapping or {}), **named}
        self._check_names(tuple(new))
        names = [new.get(name, name) for name in self._names]
        if len(set(names)) != len(names):
            raise ViewsError(f"Views must have different names, got {_listed(tuple(names))}.")
        return Views._trusted(
            dict(zip(names, self._arrays.values())),
            self._ids,
            self._present.copy(),
            {new.get(name, name): columns for name, columns in self._feature_names.items()},
        )

    def map(self, function: Callable[[Matrix], Any] | Mapping[str, Callable[[Matrix], Any]]) -> Views:
        """Apply a function to every view's matrix, or one function each by name."""
        functions = function if isinstance(function, Mapping) else dict.fromkeys(self._names, function)
        self._check_names(tuple(functions))
        arrays = {name: functions[name](a) if name in functions else a for name, a in self._arrays.items()}
        kept = {n: c for n, c in self._feature_names.items() if getattr(arrays[n], "shape", (0, 0))[1:] == c.shape}
        return Views(arrays, ids=self._ids, present=self._present, feature_names=kept)

    def hstack(self) -> Matrix:
        """Return one matrix of all columns, sparse if any view is sparse."""
        arrays = list(self._arrays.values())
        if len(arrays) == 1:
            return arrays[0]
        if any(sparse.issparse(array) for array in arrays):
            return sparse.hstack([sparse.csr_array(array) for array in arrays], format="csr")
        return np.hstack(arrays)

    @classmethod
    def align(cls, views: Mapping[str, Any], *, how: str = "outer") -> Views:
        """Join views by the identifiers of their rows.

        Parameters
        ----------
        views : mapping
            ``{name: (ids, matrix)}``; a pandas frame alone brings its index as ids.
        how : {"outer", "inner", "left"}, default="outer"
            Keep the objects of any view, of all views, or of the first view. With "outer" and "left" an object
            that lacks a view has ``present`` False there.

        Examples
        --------
        >>> import numpy as np
        >>> X = Views.align({"words": (["a", "b"], np.eye(2)), "image": (["b", "c"], np.ones((2, 2)))})
        >>> X.ids.tolist(), X.present.tolist()
        (['a', 'b', 'c'], [[True, False], [True, True], [False, True]])
        """
        if how not in ("outer", "inner", "left"):
            raise ViewsError(f"how must be 'outer', 'inner' or 'left', got {how!r}.")
        if not isinstance(views, Mapping) or not views:
            raise ViewsError("Views.align needs {name: (ids, matrix)} with at least one view.")
        arrays: dict[str, Matrix] = {}
        names: dict[str, np.ndarray] = {}
        rows: dict[str, dict[Any, int]] = {}
        for name, source in views.items():
            ids, matrix = source if isinstance(source, tuple) and len(source) == 2 else (None, source)
            arrays[name], columns, index = as_matrix(name, matrix)
            if columns is not None:
                names[name] = columns
            rows[name] = _row_of_id(name, index if ids is None else ids, arrays[name].shape[0])
        if how == "left":
            order = list(next(iter(rows.values())))
        else:
            order = list(dict.fromkeys(key for index in rows.values() for key in index))
        if how == "inner":
            order = [key for key in order if all(key in index for index in rows.values())]
        if not order:
            raise ViewsError("The views have no identifier in common. Check the ids, or use how='outer'.")
        present = np.empty((len(order), len(arrays)), dtype=bool)
        for v, (name, index) in enumerate(rows.items()):
            positions = np.array([index.get(key, -1) for key in order], dtype=np.intp)
            present[:, v] = positions >= 0
            arrays[name] = scatter_rows(arrays[name], positions)
        return cls._trusted(arrays, _as_ids(order, len(order)), present, names)

    def write(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a folder of views that `read_views` reads back; it appears whole or not at all."""
        from coview.data.files import write_views

        write_views(self, path, overwrite=overwrite)

    # -- comparing and showing

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Views):
            return NotImplemented
        return (
            self._names == other._names
            and np.array_equal(self._present, other._present)
            and _same_optional(self._ids, other._ids)
            and self._feature_names.keys() == other._feature_names.keys()
            and all(np.array_equal(c, other._feature_names[n]) for n, c in self._feature_names.items())
            and all(_same_values(array, other._arrays[name]) for name, array in self._arrays.items())
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError(
            f"Views ({_listed(self._names)}) are not one matrix. Use X.hstack() to glue them, X['{self._names[0]}'] "
            "for one of them, or a coview estimator."
        )

    def _summary(self) -> list[tuple[str, str, str, str, str]]:
        rows = []
        for v, (name, array) in enumerate(self._arrays.items()):
            kind = "sparse" if sparse.issparse(array) else "dense"
            have = self._present[:, v].mean() if len(self) else 1.0
            missing = "" if have == 1.0 else f"present in {100 * have:.1f} % of rows"
            n, m = array.shape
            rows.append((name, f"{n} x {m}", f"{kind} {array.dtype}", f"{100 * density(array):.1f} % non-zero", missing))
        return rows

    def __repr__(self) -> str:
        rows = self._summary()
        widths = [max(len(row[c]) for row in rows) for c in range(3)]
        lines = [
            "  " + "  ".join([*(cell.ljust(w) for cell, w in zip(row, widths)), *(c for c in row[3:] if c)])
            for row in rows
        ]
        return "\n".join([f"Views of {len(self)} rows", *lines])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{h}</th>" for h in ("view", "shape", "kind", "density", "present"))
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in (*row[:4], row[4] or "in all rows")) + "</tr>"
            for row in self._summary()
        )
        caption = f"<caption>Views of {len(self)} rows</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _check_names(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self._arrays:
                raise ViewsError(f"There is no view {name!r}; the views are {_listed(self._names)}.")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _common_length(arrays: Mapping[str, Matrix]) -> int:
    lengths = {name: array.shape[0] for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name!r} has {n}" for name, n in lengths.items())
        raise ViewsError(
            f"Views must have the same rows: {found}. Join rows by id with Views.align({{name: (ids, matrix)}})."
        )
    return next(iter(lengths.values()))


def _check_same_index(found: list[tuple[str, np.ndarray]]) -> None:
    for name, index in found[1:]:
        if not np.array_equal(index, found[0][1]):
            raise ViewsError(
                f"Views {found[0][0]!r} and {name!r} have different row indexes. Join them with Views.align, or drop "
                "the index with reset_index(drop=True) if the rows already match."
            )


def _as_ids(ids: Any, n_rows: int) -> np.ndarray | None:
    if ids is None:
        return None
    array = np.asarray(ids)
    if array.dtype == object and all(isinstance(value, str) for value in array):
        array = array.astype(str)
    if array.shape != (n_rows,):
        raise ViewsError(f"ids must have one entry per row: {n_rows} rows, ids of shape {array.shape}.")
    return array


def _as_present(present: Any, names: tuple[str, ...], n_rows: int) -> np.ndarray:
    mask = np.ones((n_rows, len(names)), dtype=bool)
    if present is None:
        return mask
    if isinstance(present, Mapping):
        for name, column in present.items():
            if name not in names:
                raise ViewsError(f"present names view {name!r}, but the views are {_listed(names)}.")
            mask[:, names.index(name)] = _as_mask(column, (n_rows,))
        return mask
    return _as_mask(present, mask.shape).copy()


def _as_mask(values: Any, shape: tuple[int, ...]) -> np.ndarray:
    array = np.asarray(values)
    if array.shape != shape or array.dtype != bool:
        raise ViewsError(f"present must be boolean of shape {shape}, got {array.dtype} of shape {array.shape}.")
    return array


def _check_absent_rows_empty(name: str, array: Matrix, present: np.ndarray) -> None:
    if present.all():
        return
    absent = np.flatnonzero(~present)
    rows = take_rows(array, absent)
    filled = rows.count_nonzero() if sparse.issparse(rows) else np.count_nonzero(rows)
    if filled:
        raise ViewsError(
            f"View {name!r} has {filled} non-zero values in rows that present marks as lacking it. Set those rows to "
            "zero, or mark them present."
        )


def _as_feature_names(name: str, columns: Any, n_features: int) -> np.ndarray:
    array = np.asarray(list(columns), dtype=str)
    if array.shape != (n_features,):
        raise ViewsError(f"View {name!r} has {n_features} features, but {array.size} feature names were given.")
    return array


def _as_rows(key: Any, n_rows: int) -> Any:
    """Rows as a slice or an integer array; one integer keeps its dimension."""
    if isinstance(key, slice):
        return key
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        if not -n_rows <= key < n_rows:
            raise IndexError(f"Row {key} is out of range: the views have {n_rows} rows.")
        return np.array([key % n_rows])
    rows = np.asarray(key)
    if rows.size == 0 and rows.dtype != bool:
        rows = rows.astype(np.intp)
    if rows.ndim != 1 or rows.dtype.kind not in "biu":
        raise TypeError(f"Views are indexed by rows or by one view's name, got {type(key).__name__}.")
    if rows.dtype == bool:
        if len(rows) != n_rows:
            raise IndexError(f"A boolean mask must have one entry per row: {n_rows} rows, mask of {len(rows)}.")
        return np.flatnonzero(rows)
    if rows.size and (rows.min() < -n_rows or rows.max() >= n_rows):
        raise IndexError(f"Rows {rows.min()} to {rows.max()} are out of range: the views have {n_rows} rows.")
    return rows


def _row_of_id(name: str, ids: Any, n_rows: int) -> dict[Any, int]:
    if ids is None:
        raise ViewsError(f"View {name!r} has no ids to align by. Pass (ids, matrix), or a pandas frame with an index.")
    keys = np.asarray(ids).tolist() if not isinstance(ids, list) else ids
    if len(keys) != n_rows:
        raise ViewsError(f"View {name!r} has {n_rows} rows but {len(keys)} ids.")
    index = {key: i for i, key in enumerate(keys)}
    if len(index) != len(keys):
        seen: set[Any] = set()
        twice = next(key for key in keys if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ViewsError(f"View {name!r} has the id {twice!r} more than once. Ids must be unique to align by.")
    return index


def _same_optional(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    if a is None or b is None:
        return a is b
    return np.array_equal(a, b)


def _same_values(a: Matrix, b: Matrix) -> bool:
    if a.shape != b.shape:
        return False
    if sparse.issparse(a) and sparse.issparse(b):
        return (a != b).nnz == 0
    if sparse.issparse(a) or sparse.issparse(b):
        return False
    return np.array_equal(a, b)

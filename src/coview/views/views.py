"""`Views`: several feature matrices of the same objects, named, aligned by row and immutable; and what becomes such.

A row may lack a view: `present[i, v]` is False there and the matrix holds zeros in that row. Indexing selects rows, as
scikit-learn's splitters and searches expect, or one view by its name. `NamedViews` is what views in memory and lazy
ones (`lazy.py`) have in common: names, choosing among them, immutability.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Union

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError, ViewsTypeError
from coview.utils.messages import did_you_mean, listed
from coview.utils.tables import format_html_table, format_text_table
from coview.views.alignment import concat_rows, join_rows
from coview.views.arrays import (
    as_matrix,
    density,
    describe_kind,
    frozen,
    has_two_levels,
    is_anndata,
    is_dask_collection,
    is_frame,
    is_mudata,
    read_only,
    side_by_side,
    take_rows,
)
from coview.views.checks import (
    are_equal,
    are_equal_or_none,
    as_feature_names,
    as_ids,
    as_present,
    check_absent_rows_empty,
    check_lengths,
    check_name,
    check_same_index,
    convert_texts,
)

Matrix = Union[np.ndarray, sparse.csr_matrix, sparse.csr_array]  # noqa: UP007  (evaluated at run time by sphinx)

__all__ = [
    "PLAIN",
    "Matrix",
    "NamedViews",
    "Views",
    "check_same_order",
    "is_list_of_views",
    "is_plain",
    "n_present",
    "name_matrices",
    "presence_patterns",
]

PLAIN = "x"  # the name of the view that a plain matrix becomes


class NamedViews(ABC):
    """Several views of the same objects, by name; `Views` and `LazyViews` say where the rows are."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the views, in order."""

    @property
    @abstractmethod
    def n_features(self) -> dict[str, int]:
        """Number of features of each view."""

    @property
    @abstractmethod
    def feature_names(self) -> dict[str, np.ndarray]:
        """Feature names, for the views that have them."""

    @property
    @abstractmethod
    def ids(self) -> np.ndarray | None:
        """Ids of the objects, or None."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, key: Any) -> Any: ...

    @abstractmethod
    def _select(self, names: tuple[str, ...]) -> Any: ...

    @property
    def shape(self) -> tuple[int, int]:
        """Number of objects, and of features over all views."""
        return len(self), sum(self.n_features.values())

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def keys(self) -> tuple[str, ...]:
        """Return the names of the views, so that ``dict(X)`` works for views in memory."""
        return self.names

    # -- choosing among the views

    def select(self, *names: str) -> Any:
        """Keep these views, in this order."""
        if len(names) == 1 and not isinstance(names[0], str):
            names = tuple(names[0])
        if not names:
            raise ViewsError(f"select needs at least one view; the views are {listed(self.names)}.")
        self._check_names(names)
        _check_different(names)
        return self._select(names)

    def drop(self, *names: str) -> Any:
        """Keep all views but these."""
        self._check_names(names)
        return self.select(*(name for name in self.names if name not in names))

    def _renaming(self, mapping: Mapping[str, str] | None, named: Mapping[str, str]) -> dict[str, str]:
        """Return ``{old name: new name}``, refusing unknown views and names that would be there twice."""
        new = {**(mapping or {}), **named}
        self._check_names(tuple(new))
        _check_different(tuple(new.get(name, name) for name in self.names))
        return new

    def _check_names(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self.names:
                raise ViewsError(
                    f"There is no view {name!r}; the views are {listed(self.names)}.{did_you_mean(name, self.names)}"
                )

    def _as_rows(self, key: Any) -> Any:
        """Return the rows of an index as a slice or an integer array; one integer keeps its dimension."""
        if isinstance(key, tuple):
            # scikit-learn's indexing of anything with a shape asks for X[rows, ...]
            if len(key) != 2 or not (key[1] is Ellipsis or (isinstance(key[1], slice) and key[1] == slice(None))):
                raise TypeError(f"{type(self).__name__} are indexed by rows. For several views use X.select(...).")
            key = key[0]
        if isinstance(key, slice):
            return key
        rows, n_rows = np.atleast_1d(key), len(self)
        if not rows.size and rows.dtype != bool:
            rows = rows.astype(np.intp)  # NumPy makes floats of an empty list
        if rows.ndim != 1 or rows.dtype.kind not in "biu":
            raise TypeError(
                f"Views are indexed by rows or by one view's name, got {type(key).__name__}. For several views use "
                "X.select(...)."
            )
        if rows.dtype == bool and len(rows) == n_rows:
            return np.flatnonzero(rows)
        # NumPy, SciPy and sources of lazy rows would each refuse these in words of their own
        if rows.dtype == bool or (rows.size and not -n_rows <= rows.min() <= rows.max() < n_rows):
            raise IndexError(f"Rows are out of range, or a mask of another length: the views have {n_rows} rows.")
        return rows

    # -- immutability

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} are immutable. Create new ones with select, drop, rename or map.")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(f"{type(self).__name__} are immutable. Create new ones with select, drop, rename or map.")


def _check_different(names: tuple[str, ...]) -> None:
    if len(set(names)) != len(names):
        raise ViewsError(f"View names must be unique, got {listed(names)}.")


class Views(NamedViews):
    """Named feature matrices that describe the same objects, one per view.

    Parameters
    ----------
    views : mapping, sequence or matrix, optional
        ``{name: matrix}``, a list of matrices (named ``view0``, ``view1``, ...), or one matrix (named ``x``).
        A matrix is a NumPy array, a scipy sparse matrix or array of any format, or a pandas or polars frame.
        `as_views` takes dask arrays and DataFrames, MuData and lazy views as well.
    ids : array-like of shape (n_rows,), optional
        One identifier per object, a text or a number. Taken from the index of pandas frames where they have one of
        their own.
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
        if isinstance(views, Views):  # what is known of these views stays known
            ids = views._ids if ids is None else ids
            present = dict(zip(views._names, views._present.T)) if present is None else present
            feature_names = {**views._feature_names, **(feature_names or {})}
            views = views._arrays
        elif isinstance(views, NamedViews):
            raise ViewsError(
                "Views() takes matrices, got lazy views. Keep them lazy with as_views(X), or read X.collect()."
            )
        sources = name_matrices(views, named)
        if not sources:
            raise ViewsError("Views needs at least one view, got none. Example: Views(words=W, links=L).")
        arrays: dict[str, Matrix] = {}
        names: dict[str, np.ndarray] = {}
        indexes: list[tuple[str, np.ndarray]] = []
        for name, source in sources.items():
            if is_dask_collection(source):
                raise ViewsError(
                    f"View {name!r} is a dask {type(source).__name__}, which Views() does not compute. Keep it lazy "
                    f"with as_views({{{name!r}: ...}}), or pass its .compute()."
                )
            # each matrix is made read-only and its indices are checked, so that all later code may trust it
            array, columns, index = as_matrix(name, source)
            arrays[name] = array
            if columns is not None:
                names[name] = columns
            if index is not None:
                indexes.append((name, index))
        n_rows = check_lengths({name: array.shape[0] for name, array in arrays.items()})
        check_same_index(indexes)
        if ids is None and indexes:
            ids = indexes[0][1]
        mask = as_present(present, tuple(arrays), n_rows)
        for v, name in enumerate(arrays):
            check_absent_rows_empty(name, arrays[name], mask[:, v])
        for name, columns in (feature_names or {}).items():
            if name not in arrays:
                raise ViewsError(
                    f"feature_names names view {name!r}, but the views are {listed(arrays)}."
                    f"{did_you_mean(name, arrays)}"
                )
            names[name] = as_feature_names(name, columns, arrays[name].shape[1])
        self._set(arrays, as_ids(ids, n_rows), mask, names)

    # -- construction without checks, and immutability

    def _set(
        self, arrays: dict[str, Matrix], ids: np.ndarray | None, present: np.ndarray, names: dict[str, np.ndarray]
    ) -> None:
        # views refuse to have attributes set
        put = object.__setattr__
        put(self, "_arrays", arrays)
        put(self, "_names", tuple(arrays))
        put(self, "_ids", None if ids is None else frozen(ids))
        put(self, "_present", frozen(present))
        put(self, "_feature_names", {name: frozen(columns) for name, columns in names.items()})

    @classmethod
    def _trusted(
        cls, arrays: dict[str, Matrix], ids: np.ndarray | None, present: np.ndarray, names: dict[str, np.ndarray]
    ) -> Views:
        self = object.__new__(cls)
        self._set({name: read_only(array) for name, array in arrays.items()}, ids, present, names)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # what was checked once need not be again in each worker process
        return Views._trusted, (self._arrays, self._ids, self._present, self._feature_names)

    # -- what is in it

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the views, in order."""
        return self._names

    @property
    def n_features(self) -> dict[str, int]:
        """Number of features of each view."""
        return {name: array.shape[1] for name, array in self._arrays.items()}

    @property
    def ids(self) -> np.ndarray | None:
        """Ids of the objects, or None; texts are Python's own `str`."""
        if self._ids is not None and self._ids.dtype.kind == "U":  # as they are in files
            object.__setattr__(self, "_ids", frozen(convert_texts(self._ids)))
        return self._ids

    @property
    def present(self) -> np.ndarray:
        """Boolean matrix (n_rows, n_views): which object has which view."""
        return self._present

    @property
    def feature_names(self) -> dict[str, np.ndarray]:
        """Feature names, for the views that have them."""
        return dict(self._feature_names)

    def __len__(self) -> int:
        return int(self._present.shape[0])

    def items(self) -> Iterator[tuple[str, Matrix]]:
        """Return pairs of name and matrix."""
        return iter(self._arrays.items())

    def values(self) -> Iterator[Matrix]:
        """Return the matrices, in order."""
        return iter(self._arrays.values())

    # -- selecting

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            self._check_names((key,))
            return self._arrays[key]
        return self._take(self._as_rows(key))

    def _take(self, rows: Any) -> Views:
        return Views._trusted(
            {name: take_rows(array, rows) for name, array in self._arrays.items()},
            None if self._ids is None else self._ids[rows],
            self._present[rows],
            self._feature_names,
        )

    def _select(self, names: tuple[str, ...]) -> Views:
        columns = [self._names.index(name) for name in names]
        return Views._trusted(
            {name: self._arrays[name] for name in names},
            self._ids,
            self._present[:, columns],
            {name: self._feature_names[name] for name in names if name in self._feature_names},
        )

    def rename(self, mapping: Mapping[str, str] | None = None, /, **named: str) -> Views:
        """Rename views: ``X.rename(words="text")``."""
        new = self._renaming(mapping, named)
        return Views._trusted(
            {new.get(name, name): array for name, array in self._arrays.items()},
            self._ids,
            self._present,
            {new.get(name, name): columns for name, columns in self._feature_names.items()},
        )

    def _cast(self, dtypes: Mapping[str, Any]) -> Views:
        """Return the same values in other types; a view that has its type already is not copied."""
        arrays = {name: array.astype(dtypes[name], copy=False) for name, array in self._arrays.items()}
        return Views._trusted(arrays, self._ids, self._present, self._feature_names)

    def map(self, function: Callable[[Matrix], Any] | Mapping[str, Callable[[Matrix], Any]]) -> Views:
        """Apply one function to the matrix of every view, or a separate function to each view by name."""
        functions = function if isinstance(function, Mapping) else dict.fromkeys(self._names, function)
        self._check_names(tuple(functions))
        arrays = {name: functions[name](a) if name in functions else a for name, a in self._arrays.items()}
        # a function that changes the number of columns makes other features of them
        kept = {n: c for n, c in self._feature_names.items() if getattr(arrays[n], "shape", (0, 0))[1:] == c.shape}
        return Views(arrays, ids=self._ids, present=self._present, feature_names=kept)

    def hstack(self) -> Matrix:
        """Return one matrix of all columns, sparse if any view is sparse."""
        return side_by_side(list(self._arrays.values()))

    @classmethod
    def align(cls, views: Mapping[str, Any], *, how: str = "outer") -> Views:
        """Join views by row ids.

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
        return cls._trusted(*join_rows(views, how))

    @classmethod
    def concat(cls, parts: Iterable[Views]) -> Views:
        """Put the rows of several `Views` below each other.

        Parameters
        ----------
        parts : sequence of Views
            Their views must have the same features. Objects of a part that lacks a view have ``present`` False there.

        Examples
        --------
        >>> import numpy as np
        >>> X = Views.concat([Views(words=np.eye(2), ids=["a", "b"]), Views(words=np.ones((1, 2)), ids=["c"])])
        >>> X.ids.tolist(), X["words"][-1].tolist()
        (['a', 'b', 'c'], [1.0, 1.0])
        """
        # a generator is gone after the check of its parts
        parts = list(parts)
        for i, part in enumerate(parts):
            if not isinstance(part, Views):
                raise ViewsError(f"Views.concat takes Views, but part {i} is {type(part).__name__}.")
        return cls._trusted(*concat_rows(parts))

    # -- comparing and showing

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Views):
            return NotImplemented
        return (
            self._names == other._names
            and np.array_equal(self._present, other._present)
            and are_equal_or_none(self._ids, other._ids)
            and self._feature_names.keys() == other._feature_names.keys()
            and all(np.array_equal(c, other._feature_names[n]) for n, c in self._feature_names.items())
            and all(are_equal(array, other._arrays[name]) for name, array in self._arrays.items())
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        # without this, NumPy makes some array of objects, and scikit-learn complains of its shape
        raise ViewsTypeError(
            f"Views ({listed(self._names)}) are not one matrix. Use X.hstack() to concatenate them, "
            f"X['{self._names[0]}'] "
            "for one of them, or a coview estimator."
        )

    def _summary(self) -> list[tuple[str, str, str, str, str]]:
        rows = []
        for v, (name, array) in enumerate(self._arrays.items()):
            have = self._present[:, v].mean() if len(self) else 1.0
            missing = "" if have == 1.0 else f"present in {100 * have:.1f} % of rows"
            n, m = array.shape
            rows.append(
                (
                    name,
                    f"{n} x {m}",
                    f"{describe_kind(array)} {array.dtype}",
                    f"{100 * density(array):.1f} % non-zero",
                    missing,
                )
            )
        return rows

    def _title(self) -> str:
        return f"Views of {len(self)} row{'' if len(self) == 1 else 's'}"

    def __repr__(self) -> str:
        return format_text_table(self._title(), self._summary(), aligned=3)

    def _repr_html_(self) -> str:
        rows = [(*row[:4], row[4] or "in all rows") for row in self._summary()]
        return format_html_table(self._title(), ("view", "shape", "kind", "density", "present"), rows)


def name_matrices(views: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sources by view name, from any form that `Views(...)` accepts."""
    pairs: list[tuple[str, Any]]
    if views is None or (isinstance(views, (list, tuple)) and not views):
        pairs = []
    elif isinstance(views, Mapping) and not sparse.issparse(views):
        pairs = list(views.items())
    elif is_mudata(views) or is_anndata(views):
        raise ViewsError("Views() takes matrices; a MuData or AnnData becomes views by as_views(data).")
    elif isinstance(views, (list, tuple)) and is_list_of_views(views):
        pairs = [(f"view{i}", view) for i, view in enumerate(views)]
    elif is_frame(views) and has_two_levels(views):
        pairs = [(str(name), views[name]) for name in dict.fromkeys(views.columns.get_level_values(0))]
    else:
        pairs = [(PLAIN, views)]
    # by keyword too, beside a mapping: Views({"words": W}, links=L)
    pairs += named.items()
    for name, _ in pairs:
        check_name(name)
    matrices = dict(pairs)
    if len(matrices) < len(pairs):
        name = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ViewsError(f"View names must be unique, got {name!r} more than once.")
    return matrices


def is_list_of_views(X: list[Any] | tuple[Any, ...]) -> bool:
    """Tell a list of matrices from a matrix written as a list of rows."""
    return len(X) > 0 and all(
        sparse.issparse(part)
        or is_frame(part)
        or (isinstance(part, np.ndarray) and part.ndim == 2)
        or is_dask_collection(part)
        for part in X
    )


def is_plain(X: Any) -> bool:
    """Tell whether X is one matrix, as any scikit-learn estimator takes it, rather than several views."""
    if sparse.issparse(X):  # asked first: a dok matrix is a mapping too
        return True
    if isinstance(X, (NamedViews, Mapping)) or is_mudata(X) or is_anndata(X):
        return False
    if isinstance(X, (list, tuple)):
        return not is_list_of_views(X)
    return not (is_frame(X) and has_two_levels(X))


def check_same_order(X: Any, values: Any, name: str) -> None:
    """Refuse a pandas Series or frame with the rows of X in another order: by position it would mix up objects.

    X is a frame, a mapping of frames, or views, whose ids count where they are texts: numbers may be those of a column
    of ids. A Series whose rows are merely counted is taken by position, as an array is.
    """
    index, own = _find_index(values), _find_index(X)
    if index is None or type(values.index).__name__ == "RangeIndex":
        return
    # a frame among several tells the order of all: `Views` refuses frames with different indexes
    parts = X.values() if isinstance(X, Mapping) else X if isinstance(X, (list, tuple)) else ()
    if parts:
        own = next((rows for rows in map(_find_index, parts) if rows is not None), None)
    elif isinstance(X, NamedViews) and X.ids is not None and all(isinstance(key, str) for key in X.ids.tolist()):
        own = X.ids.tolist()
    # only the same objects in another order are refused: other indexes say nothing of the rows of X
    if own is not None and own != index and sorted(map(str, own)) == sorted(map(str, index)):
        raise ViewsError(
            f"The rows of {name} are in another order than those of X. Put them in its order with {name}.loc[...], or "
            f"pass {name}.to_numpy() if they already match."
        )


def _find_index(values: Any) -> list[Any] | None:
    """Return the index of a pandas Series or frame as a list, or None."""
    index = getattr(values, "index", None) if type(values).__module__.partition(".")[0] == "pandas" else None
    return None if index is None else index.tolist()


def n_present(views: Views) -> dict[str, int]:
    """Return the number of objects that have each view.

    Examples
    --------
    >>> n_present(Views({"words": np.eye(2), "size": [[3.0], [0.0]]}, present={"size": [True, False]}))
    {'words': 2, 'size': 1}
    """
    return dict(zip(views.names, views.present.sum(axis=0).tolist()))


def presence_patterns(present: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the objects (rows) that have the same views, with those views (columns); not those without any.

    Examples
    --------
    >>> presence_patterns(np.array([[True, True], [False, True], [True, True]]))
    [(array([1]), array([1])), (array([0, 2]), array([0, 1]))]
    """
    n, n_views = present.shape
    if present.all():
        return [(np.arange(n), np.arange(n_views))] if n else []
    # one number for each row, whose bits are its views: comparing rows as such takes long where there are many
    fits = n_views < 63
    bits = present @ (1 << np.arange(n_views)) if fits else np.unique(present, axis=0, return_inverse=True)[1].ravel()
    kinds, first = np.unique(bits, return_index=True)
    patterns = [(np.flatnonzero(bits == kind), np.flatnonzero(present[row])) for kind, row in zip(kinds, first)]
    return [(rows, views) for rows, views in patterns if len(views)]

"""Raw columns as `TextViews` and `ColumnViews` meet them: of a data frame, a mapping of columns, a list of
mappings, one for each row, or a list of texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain, islice
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from coview.exceptions import ViewsError
from coview.preprocessing.base import ViewsTransformerMixin
from coview.preprocessing.vector_columns import holds_vectors, read_items, read_vectors
from coview.utils import fitted_state as rules
from coview.utils.fitting import WholeFitMixin
from coview.utils.messages import close_names, did_you_mean, listed, short
from coview.utils.missing import is_missing
from coview.utils.warn import warn_user
from coview.views.arrays import check_width, frame_ids, is_frame, open_frame

__all__ = [
    "Column",
    "RawTransformer",
    "Table",
    "as_table",
    "check_column_name",
    "columns_by_view",
    "is_rows",
    "iso_date",
    "month_first",
    "no_columns",
    "read_dates",
]

_DOTTED = re.compile(r"^(\d{1,2})\.(\d{1,2})\.(\d{4})(?=$|[T ])")  # 31.12.2024: with dots the day comes first
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?).*)?")  # a time zone does not count


class RawTransformer(WholeFitMixin, ViewsTransformerMixin, BaseEstimator):
    """Base of transformers of raw input, whose columns have names."""

    columns_: Any
    _table_columns: Sequence[Any] = ()  # all columns of the fit's table, where they are known
    _fitted_state: ClassVar[Mapping[str, rules.Rule | None]] = {
        "_table_columns": rules.optional(rules.sequence(rules.custom(lambda *value: check_column_name(*value))))
    }
    _input_tags: tuple[str, ...] = ()  # what scikit-learn is told that it takes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = replace(tags.input_tags, two_d_array=False, **dict.fromkeys(self._input_tags, True))
        return tags

    def absent_views(self, X: Any) -> dict[str, list[Any]]:
        """Return the fitted views of which a table has no column, with the columns that they are made of.

        Parameters
        ----------
        X : table
            What `transform` takes.
        """
        check_is_fitted(self)
        columns = self._columns_of_views()
        return _absent(as_table(X, type(self).__name__, bare=next(iter(columns.values()))[0]), columns)

    def text_columns(self) -> list[Any]:
        """Return the columns whose texts are read as words, or by an encoder; lists are none of them."""
        return []

    def list_columns(self) -> dict[Any, Callable[[str], list[str]]]:
        """Return the columns that are read as lists, each with the function that splits its texts into items."""
        return {}

    def _columns_of_views(self) -> dict[str, list[Any]]:
        """Columns of each fitted view."""
        return {view: names if isinstance(names, list) else [names] for view, names in self.columns_.items()}

    def _could_be(self, view: str, table: Table, name: Any) -> bool:
        """Tell whether a column holds what the view was made of, as far as its kind tells."""
        return table.column(name).kind in ("text", "other")

    def _remember_columns(self, table: Table) -> None:
        """Keep the names of all columns of the fit's table, so that new ones are known."""
        self._table_columns = [name for name in table.names if isinstance(name, (str, int))]

    def renamed_views(self, X: Any) -> dict[str, str]:
        """Return a sentence, of which `transform` warns, for each absent view whose column seems to be renamed.

        A table that merely lacks a view says nothing: there must be a column of a similar name, or one of the same kind
        that the table of the fit did not have.

        Parameters
        ----------
        X : table
            What `transform` takes.
        """
        check_is_fitted(self)
        columns = self._columns_of_views()
        table = as_table(X, type(self).__name__, bare=next(iter(columns.values()))[0])
        taken = {*chain.from_iterable(columns.values()), *self._other_columns()}
        free = [name for name in table.names if name not in taken]
        fresh = [name for name in free if self._table_columns and name not in self._table_columns]
        sentences = {}
        for view, names in _absent(table, columns).items():
            new = [name for name in fresh if self._could_be(view, table, name)]
            if hint := _rename_hint(names, free, new):
                sentences[view] = f"{no_columns(names)}, so view {view!r} is missing for all rows. {hint}"
        return sentences

    def _other_columns(self) -> Sequence[Any]:
        """Columns that are known, but are none of a view."""
        return ()

    def _warn_of_renamed(self, table: Table) -> None:
        for sentence in self.renamed_views(table).values():
            warn_user(sentence, UserWarning)


@dataclass(frozen=True)
class Column:
    """Values of one column, and where it has none."""

    name: Any
    kind: str  # "number", "text", "category", "vector" (whose values are read by `Table.vectors`), or "other"
    type_name: str  # as its owner calls it, for errors
    values: np.ndarray  # numbers, with zeros where missing; objects for the other kinds
    missing: np.ndarray

    def cells(self) -> list[Any]:
        """Values as a list, None where there is none."""
        return [None if gap else value for value, gap in zip(self.values.tolist(), self.missing)]


@dataclass(frozen=True)
class Table:
    """Columns of equal length, read when asked for."""

    sources: dict[Any, Any]
    n_rows: int
    who: str  # the transformer that reads it, for its errors
    ids: np.ndarray | None = None

    @property
    def names(self) -> list[Any]:
        """Names of the columns, in order."""
        return list(self.sources)

    def column(self, name: Any) -> Column:
        """Read one column."""
        source = self.sources[name]
        if self.has_vectors(name):
            none = np.full(self.n_rows, None, dtype=object)
            return Column(name, "vector", "vectors", none, np.zeros(self.n_rows, dtype=bool))
        if _is_frame(source):
            return _of_series(name, source)
        if isinstance(source, np.ndarray) and source.dtype.kind in "iuf" and source.ndim == 1:
            return _number(name, str(source.dtype), source)
        return _of_values(name, list(source))

    def items(self, name: Any) -> Column:
        """Read one column of texts or lists: what would be vectors are lists of ids where all numbers are whole."""
        column = self.column(name)
        lists = read_items(self.sources[name]) if column.kind in ("vector", "other") else None
        return column if lists is None else _objects(name, "other", "lists", lists)

    def head(self, n: int) -> Table:
        """Return the first rows, without reading the others."""
        rows = {name: _first(source, n) for name, source in self.sources.items()}
        return replace(self, sources=rows, n_rows=min(n, self.n_rows), ids=None if self.ids is None else self.ids[:n])

    def has_vectors(self, name: Any) -> bool:
        """Tell whether the column holds lists or arrays of numbers, one for each row."""
        return holds_vectors(self.sources[name])

    def vectors(self, name: Any, width: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Read a column of vectors: a matrix, zero in the rows that have none, and which rows these are."""
        return read_vectors(name, self.sources[name], width)

    def check_has_any(self, names: list[Any]) -> None:
        """Refuse a table that has none of these columns."""
        if len(names) > 1 and not any(name in self.sources for name in names):
            raise ViewsError(
                f"The table has none of the columns {listed(names)}; it has {listed(self.names)}. Give them the names "
                "that they had in the fit."
            )
        if len(names) == 1:
            self.check_has(names)

    def check_has(self, names: list[Any], purpose: str = "") -> None:
        """Refuse columns that are not there; `purpose` says what they are for."""
        absent = [name for name in names if not isinstance(name, Hashable) or name not in self.sources]
        if absent:
            hint = did_you_mean(absent[0], self.names)
            if len(self.names) == 1 and any(sign in str(self.names[0]) for sign in ";\t|"):
                hint = " Separate the columns by commas: the header uses another separator."
            raise ViewsError(
                f"The table has no column {short(absent[0])}{purpose}; its columns are {listed(self.names)}.{hint}"
            )


def no_columns(names: list[Any]) -> str:
    """Return the words for columns that a table lacks.

    Examples
    --------
    >>> no_columns(["text"]), no_columns(["age", "job"])
    ("The table has no column 'text'", "The table has none of the columns 'age', 'job'")
    """
    return f"The table has {_no(names)}"


def _no(names: list[Any]) -> str:
    return f"{'no column' if len(names) == 1 else 'none of the columns'} {listed(names)}"


def _rename_hint(names: list[Any], free: list[Any], new: list[Any]) -> str:
    """Say which column may be one of `names`: a free one of a similar name, else one that is new since the fit."""
    for name in names:
        if near := close_names(name, free):
            return f"Did you mean {short(near[0])}? Rename it to {short(name)}."
    if not new:
        return ""
    it, same = ("it" if len(new) == 1 else "one of them"), (short(names[0]) if len(names) == 1 else "one of those")
    to = f" to {same}" if len(names) == 1 else ""
    return f"The table of the fit had {_no(new)}: if {it} is {same} under another name, rename it{to}."


def _absent(table: Table, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {view: names for view, names in columns.items() if not any(name in table.sources for name in names)}


def columns_by_view(parameter: str, columns: Any) -> dict[str, Any]:
    """Return ``{view: column}`` of a mapping, of one column or of a list of columns, whose views have their names.

    Examples
    --------
    >>> columns_by_view("text", "body"), columns_by_view("text", {"words": "body"})
    ({'body': 'body'}, {'words': 'body'})
    """
    if isinstance(columns, Mapping):
        for view, name in columns.items():
            if parameter != "tokens" and not isinstance(name, Hashable):
                raise ViewsError(
                    f"must give view {view!r} one column, got {short(name)}. A view of several columns is made by "
                    f"TableViews(columns={{{view!r}: [column, ...]}}).",
                    parameter=parameter,
                )
        return dict(columns)
    if columns is None or isinstance(columns, str):
        columns = [] if columns is None else [columns]
    if not isinstance(columns, Iterable):
        raise ViewsError(
            f"must be {{view: column}}, a column or a list of columns, got {short(columns)}.", parameter=parameter
        )
    return {str(name): name for name in columns}


def check_column_name(checker: rules.Checker, value: Any, where: str) -> None:
    """Refuse what cannot name a column, in a model from a file."""
    if not isinstance(value, (str, int)):
        checker.refuse(where, f"is {value!r}, but must be the name of a column")


def as_table(X: Any, who: str, bare: str | None = None) -> Table:
    """Return X as a table; with `bare`, one list of values is a table with one column of that name.

    Of a list of mappings, one for each row, a row that lacks a column has no value there.
    What is a table already keeps the name of the transformer that it was made for.
    """
    if isinstance(X, Table):
        return X
    if is_frame(X):
        frame = open_frame(X)
        sources = {name: frame.select(name) for name in frame.columns}
        return _checked(Table(sources, len(frame), who, frame_ids(frame)))
    if is_rows(X):
        X = {name: [row.get(name) for row in X] for name in dict.fromkeys(name for row in X for name in row)}
    if isinstance(X, Mapping):
        for name, values in X.items():
            single = sparse.issparse(values) or (isinstance(values, np.ndarray) and not values.ndim)
            if single or isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
                raise ViewsError(f"Column {short(name)} must be a list of values, got {short(values)}.")
        lengths = {name: len(values) for name, values in X.items()}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{short(name)} has {n}" for name, n in lengths.items())
            raise ViewsError(f"Columns must have the same rows: {counts}.")
        return _checked(Table(dict(X), next(iter(lengths.values()), 0), who))
    values = X.tolist() if hasattr(X, "tolist") else list(X) if isinstance(X, (list, tuple)) else _to_list(X)
    if bare is None or values is None or any(isinstance(value, list) for value in values[:1]):
        kinds = "a data frame, a mapping of columns or a list of mappings, one for each row"
        kinds = kinds if bare is None else "a data frame, a mapping of columns, a list of mappings or a list of texts"
        raise ViewsError(f"{who} needs {kinds}, got {type(X).__name__}.")
    index = getattr(X, "index", None)
    own = index is not None and not callable(index) and type(index).__name__ != "RangeIndex"
    return _checked(Table({bare: values}, len(values), who, np.asarray(index) if own else None))


def is_rows(X: Any) -> bool:
    """Tell a list of mappings, one for each row, from all else.

    Examples
    --------
    >>> is_rows([{"body": "red fox"}, {}]), is_rows([]), is_rows(["red fox"])
    (True, False, False)
    """
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(row, Mapping) for row in X)


def iso_date(text: str) -> str:
    """Return a text that is a date with dots as 2026-11-15 has it, and any other as it is, as 02.24.2026.

    Examples
    --------
    >>> iso_date("5.11.2026"), iso_date("15.11.2026 08:30"), iso_date("2026-11-15"), iso_date("1.2.10")
    ('2026-11-05', '2026-11-15 08:30', '2026-11-15', '1.2.10')
    """
    found = _DOTTED.match(text)
    if found is None or not _is_day(found[3], found[2], found[1]):
        return text
    return f"{found[3]}-{found[2]:0>2}-{found[1]:0>2}{text[found.end() :]}"


def month_first(texts: Iterable[str]) -> str | None:
    """Return a date with dots whose first number can only be the month, where none can only have the day first.

    Examples
    --------
    >>> month_first(["02.03.2026", "02.24.2026"]), month_first(["24.02.2026", "02.24.2026"])
    ('02.24.2026', None)
    """
    only = None
    for text in texts:
        if (found := _DOTTED.match(text)) is None:
            continue
        fits = _is_day(found[3], found[2], found[1]), _is_day(found[3], found[1], found[2])
        if fits == (True, False):
            return None
        if fits == (False, True) and only is None:
            only = text
    return only


def _is_day(year: str, month: str, day: str) -> bool:
    try:
        date(int(year), int(month), int(day))
    except ValueError:  # such as the 31st of February
        return False
    return True


def read_dates(column: Column) -> Column | None:
    """Return a column of dates, or of texts that are dates, as years with a fraction; None for others.

    Texts are dates as 2026-11-15 or 15.11.2026.
    """
    if column.kind not in ("text", "other") or column.missing.all():
        return None
    texts = [value if isinstance(value, str) else _isoformat(value) for value in column.values[~column.missing]]
    matches = [_DATE.fullmatch(iso_date(text or "")) for text in texts]
    if not all(matches):
        return None
    try:
        days = np.array(["T".join(filter(None, match.groups())) for match in matches if match], dtype="datetime64[s]")
    except ValueError:  # such as the 31st of February
        return None
    years = days.astype("datetime64[Y]")
    length = (years + 1).astype("datetime64[s]") - years.astype("datetime64[s]")
    values = np.zeros(len(column.values))
    values[~column.missing] = 1970 + years.astype(np.int64) + (days - years) / length
    return Column(column.name, "number", column.type_name, values, column.missing)


def _isoformat(value: Any) -> str | None:
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[s]"))
    return value.isoformat() if isinstance(value, date) else None


def _to_list(X: Any) -> list[Any] | None:
    return X.to_list() if hasattr(X, "to_list") else None


def _checked(table: Table) -> Table:
    if not table.n_rows or not table.sources:
        raise ViewsError(f"{table.who} got an empty table: {table.n_rows} rows x {len(table.sources)} columns.")
    return table


def _is_frame(source: Any) -> bool:
    """Whether a column came with a frame: it is a frame of narwhals with that column alone."""
    return hasattr(source, "iter_columns")


def _first(source: Any, n: int) -> Any:
    if _is_frame(source):
        return source.head(n)
    return source[:n] if isinstance(source, (list, tuple, np.ndarray)) else list(islice(source, n))


def _of_series(name: Any, frame: Any) -> Column:
    import narwhals as nw

    series = frame[:, 0]
    dtype = series.dtype
    if dtype.is_numeric():
        check_width(series)
        values = series.to_numpy()
        if values.dtype.kind not in "biuf":  # decimals and nullable numbers
            values = np.array([np.nan if is_missing(value) else float(value) for value in series.to_list()])
        return _number(name, str(dtype), values)
    if dtype in (nw.String, nw.Boolean, nw.Categorical, nw.Enum):
        return _objects(name, "text" if dtype == nw.String else "category", str(dtype), series.to_list())
    if dtype in (nw.Object, nw.Unknown):  # pandas keeps text with gaps, and booleans with gaps, as objects
        return _of_values(name, series.to_list())
    return _objects(name, "other", str(dtype), series.to_list())


def _of_values(name: Any, values: list[Any]) -> Column:
    have = [value for value in values if not is_missing(value)]
    types = sorted({type(value).__name__ for value in have})
    type_name = " and ".join(types) or "nothing but gaps"
    if all(isinstance(value, str) for value in have):
        return _objects(name, "text", type_name, values)
    if all(isinstance(value, (bool, np.bool_)) for value in have):
        return _objects(name, "category", type_name, values)
    if all(isinstance(value, (int, float, np.number)) and not isinstance(value, bool) for value in have):
        return _number(name, type_name, np.array([np.nan if is_missing(value) else value for value in values]))
    return _objects(name, "other", type_name, values)


def _number(name: Any, type_name: str, values: np.ndarray) -> Column:
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    if missing.any():
        values = np.where(missing, values.dtype.type(0), values)
    return Column(name, "number", type_name, values, missing)


def _objects(name: Any, kind: str, type_name: str, values: list[Any]) -> Column:
    objects = np.fromiter(values, dtype=object, count=len(values))  # lists of one length stay lists
    return Column(name, kind, type_name, objects, np.array([is_missing(value) for value in values], dtype=bool))

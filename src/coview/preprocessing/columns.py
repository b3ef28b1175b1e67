"""Raw tables as transformers meet them: data frames, mappings of columns, lists of mappings (one for each row) and
lists of texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from coview.exceptions import ViewsError
from coview.preprocessing.base import ViewsTransformerMixin
from coview.utils import fitted_state as rules
from coview.utils.fitting import WholeFitMixin
from coview.utils.messages import did_you_mean, listed, short
from coview.views.arrays import is_frame, open_frame, read_frame_ids

__all__ = [
    "RawTransformer",
    "Table",
    "as_table",
    "as_years",
    "check_column_name",
    "find_missing",
    "find_odd_cell",
    "is_missing",
    "is_number",
    "is_number_or_date",
    "is_rows",
    "read_amounts",
    "read_columns",
    "read_dates",
    "read_vectors",
]

# a time zone does not count
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?)(?:\.\d+)?(?:Z| ?[+-]\d{2}:?\d{2})?")

# Jun 12 1998, June 12th, 1998, 12 June 1998, Fri Jun 12 1998
_WEEKDAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? +)?"
_WRITTEN_DATE = re.compile(
    rf"{_WEEKDAY}(?:(?P<month>[A-Za-z]{{3,9}})\.? +(?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
    r"|(?P<first>\d{1,2})(?:st|nd|rd|th|\.)? +(?P<then>[A-Za-z]{3,9})\.?),? +(?P<year>\d{4})"
)
# of e-mails and changelogs, Fri, 12 Jun 1998 08:30:00 +0200, and of git and date, Fri Jun 12 08:30:00 1998 +0200
_TIME, _ZONE = r" +\d{1,2}:\d{2}(?::\d{2})?", r"(?: +(?:[-+]\d{4}|[A-Z]{1,5}))?"
_SENT_DATE = re.compile(
    rf"{_WEEKDAY}(?:\d{{1,2}} +[A-Z][a-z]{{2}} +\d{{4}}{_TIME}|[A-Z][a-z]{{2}} +\d{{1,2}}{_TIME}{_ZONE} +\d{{4}})"
    rf"{_ZONE}(?: +\(.*\))?"
)
# 8,31 and 1.234,50 and € 8.31
_CURRENCY = r"(?:[€$£¥₹%]|EUR|USD|GBP|CHF)"
_AMOUNT = re.compile(rf"([-+\u2212]?)\s?({_CURRENCY}?)\s?([-+\u2212]?)(\d[\d.,]*)\s?({_CURRENCY}?)")
_GROUPS = re.compile(r"(?<=\d)[ '\u2019\u00a0\u202f](?=\d{3}(?!\d))")  # between thousands
_NOTATIONS = [  # three digits behind a sign are thousands, if all numbers can be read so; 0,125 cannot
    (thousands, decimal, re.compile(rf"(?:[1-9]\d{{,2}}(?:\{thousands}\d{{3}})+|\d+)(?:\{decimal}{fraction})?"))
    for fraction in (r"(?:\d\d?|\d{4,})", r"\d+")
    for thousands, decimal in (",.", ".,")
]
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)


class RawTransformer(WholeFitMixin, ViewsTransformerMixin, BaseEstimator):
    """Base of transformers of raw input, whose columns have names."""

    columns_: Any
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
        table = as_table(X, bare=next(iter(columns.values()))[0])
        return {view: names for view, names in columns.items() if not any(name in table.sources for name in names)}

    def text_columns(self) -> list[Any]:
        """Return the columns whose texts are read as words, or by an encoder; lists are none of them."""
        return []

    def list_columns(self) -> dict[Any, Callable[[str], list[str]]]:
        """Return the columns that are read as lists, each with the function that splits its texts into items."""
        return {}

    def _columns_of_views(self) -> dict[str, list[Any]]:
        """Columns of each fitted view."""
        return {view: [name] for view, name in self.columns_.items()}

    def _as_table(self, X: Any, columns: Any) -> Table:
        """X as a table; a plain list is the only one of `columns`, or else the column "text"."""
        one = isinstance(columns, Mapping) and len(columns) == 1
        return as_table(X, bare=next(iter(columns.values())) if one else "text")


@dataclass(frozen=True)
class Table:
    """Columns of equal length, read when asked for: lists, arrays, or columns of a data frame (narwhals).

    Examples
    --------
    >>> table = as_table({"year": [1999, None], "day": ["2020-01-01", "2020-07-02"], "vec": [[0.5, 1.0], None]})
    >>> table.cells("year"), table.column("year").tolist(), table.column("day").round(1).tolist()
    ([1999, None], [1999.0, nan], [2020.0, 2020.5])
    >>> table.column("vec").tolist()
    [[0.5, 1.0], [nan, nan]]
    """

    sources: dict[Any, Any]
    n_rows: int
    ids: np.ndarray | None = None

    @property
    def names(self) -> list[Any]:
        """Names of the columns, in order."""
        return list(self.sources)

    def head(self, n: int) -> Table:
        """Return the first rows, without reading the others."""
        ids = None if self.ids is None else self.ids[:n]
        return Table({name: source[:n] for name, source in self.sources.items()}, min(n, self.n_rows), ids)

    def take(self, rows: np.ndarray) -> Table:
        """Return some of the rows, without reading the others."""
        places = rows.tolist()
        sources = {
            name: source[places]
            if isinstance(source, np.ndarray) or hasattr(source, "to_list")
            else [source[i] for i in places]
            for name, source in self.sources.items()
        }
        return Table(sources, len(places), None if self.ids is None else self.ids[places])

    def cells(self, name: Any) -> list[Any]:
        """Return the values of a column as Python's objects, None where there is none."""
        source = self.sources[name]
        if isinstance(source, np.ndarray):
            dates = source.ndim == 1 and source.dtype.kind == "M"
            values = source.astype("datetime64[s]").tolist() if dates else source.tolist()
        else:  # pandas deprecates to_list of categories, polars has no other
            values = next((getattr(source, how)() for how in ("tolist", "to_list") if hasattr(source, how)), source)
        return [
            None if is_missing(value) else float(value) if isinstance(value, Decimal) else value for value in values
        ]

    def column(self, name: Any, decimal: str | None = None) -> np.ndarray:
        """Return a column as an array: of numbers, dates as years, of vectors as a matrix, or else of objects.

        What is missing is NaN, a row of NaN, or None. With `decimal`, the sign of a column of numbers in a fit, texts
        are read with it one by one, as the others have no say; only where some are neither numbers nor dates, these
        stay what they are, among numbers.
        """
        source = self.sources[name]
        if _is_numeric(source):
            return _as_numbers(source)
        matrix = read_vectors(name, source)
        if matrix is not None:
            return matrix
        cells = self.cells(name)
        # numbers among None are objects to NumPy
        if all(cell is None or is_number(cell) for cell in cells):
            return np.array([np.nan if cell is None else cell for cell in cells])
        if decimal is not None:
            return _read_numbers(cells, decimal)
        if (amounts := read_amounts(cells)) is not None:
            return amounts[0]
        dates = read_dates(cells)
        if np.array_equal(np.isnat(dates), [cell is None for cell in cells]):
            return as_years(dates)
        return np.fromiter(cells, dtype=object, count=len(cells))

    def decimal(self, name: Any) -> str | None:
        """Return the decimal sign of a column of texts that are read as numbers; None of other columns."""
        amounts = None if _is_numeric(self.sources[name]) else read_amounts(self.cells(name))
        return None if amounts is None else amounts[1]

    def check_has(self, names: list[Any], purpose: str = "") -> None:
        """Refuse columns that are not there; `purpose` says what they are for."""
        absent = [name for name in names if not isinstance(name, Hashable) or name not in self.sources]
        if absent:
            raise ViewsError(
                f"The table has no column {short(absent[0])}{purpose}; its columns are {listed(self.names)}."
                f"{did_you_mean(absent[0], self.names)}"
            )

    def check_has_any(self, names: list[Any]) -> None:
        """Refuse a table that has none of the columns of a fit."""
        if not any(name in self.sources for name in names):
            raise ViewsError(
                f"The table has none of the columns {listed(names)}; it has {listed(self.names)}. Give them the names "
                "that they had in the fit."
            )


def as_table(X: Any, bare: Any = None) -> Table:
    """Return X as a table; with `bare`, a list of values is a table with one column of that name."""
    if isinstance(X, Table):
        return X
    ids = None
    if is_frame(X):
        frame = open_frame(X)
        X, ids = {name: frame[name] for name in frame.columns}, read_frame_ids(frame)
    elif is_rows(X):
        # all keys, in the order in which they first occur: rows may have different ones
        X = {name: [row.get(name) for row in X] for name in dict.fromkeys(name for row in X for name in row)}
    elif not isinstance(X, Mapping):
        # a list has a method of that name
        index = getattr(X, "index", None)  # of a series of pandas
        ids = None if index is None or callable(index) or type(index).__name__ == "RangeIndex" else np.asarray(index)
        values = X.tolist() if hasattr(X, "tolist") else X.to_list() if hasattr(X, "to_list") else X
        if bare is None or not isinstance(values, (list, tuple)) or isinstance(values[0] if values else None, list):
            raise ViewsError(
                f"A data frame, a mapping of columns or a list of mappings, one for each row, is needed, got "
                f"{type(X).__name__}."
            )
        X = {bare: values}
    for name, values in X.items():
        if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
            raise ViewsError(f"Column {short(name)} must be a list of values, got {short(values)}.")
    lengths = {name: len(values) for name, values in X.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{short(name)} has {n}" for name, n in lengths.items())
        raise ViewsError(f"Columns must have the same rows: {counts}.")
    n_rows = next(iter(lengths.values()), 0)
    if not n_rows:
        raise ViewsError(f"The table is empty: {n_rows} rows x {len(lengths)} columns.")
    return Table(dict(X), n_rows, ids)


def is_rows(X: Any) -> bool:
    """Tell a list of mappings, one for each row, from all else.

    Examples
    --------
    >>> is_rows([{"body": "red fox"}, {}]), is_rows([]), is_rows(["red fox"])
    (True, False, False)
    """
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(row, Mapping) for row in X)


def read_columns(parameter: str, columns: Any) -> dict[str, Any]:
    """Return ``{view: column}`` of a mapping, of one column or of a list of columns, whose views have their names.

    Examples
    --------
    >>> read_columns("text", "body"), read_columns("text", {"words": "body"})
    ({'body': 'body'}, {'words': 'body'})
    """
    if not isinstance(columns, Mapping):
        names = [] if columns is None else [columns] if isinstance(columns, (str, int)) else list(columns)
        return {str(name): name for name in names}
    for view, name in columns.items():
        if not isinstance(name, Hashable):
            raise ViewsError(
                f"must give view {view!r} one column, got {short(name)}. A view of several columns is made by "
                f"TableViews(columns={{{view!r}: [column, ...]}}).",
                parameter=parameter,
            )
    return dict(columns)


def check_column_name(checker: rules.Checker, value: Any, where: str) -> None:
    """Refuse what cannot name a column, in a model from a file."""
    if not isinstance(value, (str, int)):
        checker.refuse(where, f"is {value!r}, but must be the name of a column")


def read_dates(cells: list[Any]) -> np.ndarray:
    """Return dates, and texts that are dates as 2026-11-15 08:30 or Nov 15 2026, as an array; NaT for all else.

    Examples
    --------
    >>> read_dates(["2026-11-15", None, "soon", "Fri Jun 12 1998"]).astype("datetime64[D]").astype(str).tolist()
    ['2026-11-15', 'NaT', 'NaT', '1998-06-12']
    >>> sent = ["Sun, 27 Mar 2022 22:53:21 +0200", "Sun Mar 27 22:53:21 2022 +0200", "27 Mar 2022 22:53:21 GMT (UTC)"]
    >>> sent += ["Sun Mar 27 22:53:21 CEST 2022", "2022-03-27 22:53:21 +0200", "Thu, 31 Feb 2022 22:53:21 +0200"]
    >>> read_dates(sent).astype(str).tolist() == ["2022-03-27T22:53:21"] * 5 + ["NaT"]
    True
    """
    found = [_as_iso(str(cell)) if isinstance(cell, (str, date, np.datetime64)) else "NaT" for cell in cells]
    try:
        return np.array(found, dtype="datetime64[s]")
    except ValueError:  # such as the 31st of February
        if len(cells) > 1:
            return np.concatenate([read_dates([cell]) for cell in cells])
        return np.array(["NaT"], dtype="datetime64[s]")


def _as_iso(text: str) -> str:
    """A date as 2026-11-15, with the time where there is one; NaT of other texts."""
    if (match := _DATE.fullmatch(text)) is not None:
        return match[1]
    if _SENT_DATE.fullmatch(text):
        try:
            return parsedate_to_datetime(text).replace(tzinfo=None).isoformat()
        except ValueError:
            return "NaT"
    if (match := _WRITTEN_DATE.fullmatch(text)) is None:
        return "NaT"
    name = (match["month"] or match["then"]).lower()
    number = next((i for i, month in enumerate(_MONTHS, 1) if name in (month, month[:3], month[:4])), None)
    return "NaT" if number is None else f"{match['year']}-{number:02}-{int(match['day'] or match['first']):02}"


def read_amounts(cells: list[Any], decimal: str | None = None) -> tuple[np.ndarray, str] | None:
    """Return texts with decimal commas or signs of currencies as numbers, and the decimal sign that they have.

    None where some are others, or none has any; with `decimal`, the sign is known, and plain numbers do as well.

    Examples
    --------
    >>> read_amounts(["8,31", None, "1.234,50", "7"])
    (array([   8.31,     nan, 1234.5 ,    7.  ]), ',')
    >>> read_amounts(["$1,200", "$ 950"]), read_amounts(["8.5", "9"]), read_amounts(["1,2", "1,2,3"])
    ((array([1200.,  950.]), '.'), None, None)
    >>> read_amounts(["0,033", "12,345"]), read_amounts(["$0.033", "$12.345"])
    ((array([ 0.033, 12.345]), ','), (array([ 0.033, 12.345]), '.'))
    >>> read_amounts(["1,200"], ","), read_amounts(["1.5"], ",")
    ((array([1.2]), ','), None)
    """
    signs, digits, marked = [], [], decimal is not None
    for cell in cells:
        match = _AMOUNT.fullmatch(_GROUPS.sub("", cell.strip())) if isinstance(cell, str) else None
        if match is None and cell is not None:
            return None
        before, currency, sign, number, after = ("", "", "", "", "") if match is None else match.groups()
        signs.append(-1 if before + sign in ("-", "\u2212") else 1)
        digits.append(number)
        marked |= bool(currency or after or "," in number)
    for thousands, point, pattern in _NOTATIONS if marked else ():
        if decimal in (None, point) and all(pattern.fullmatch(number) for number in digits if number):
            plain = (number.replace(thousands, "").replace(",", ".") or "nan" for number in digits)
            return np.array([sign * float(number) for sign, number in zip(signs, plain)]), point
    return None


def _read_numbers(cells: list[Any], decimal: str) -> np.ndarray:
    """Cells as numbers, dates as years, each by itself; objects where some are neither."""
    read: list[Any] = []
    for cell, year in zip(cells, as_years(read_dates(cells))):
        if not np.isnan(year) or cell is None:
            read.append(year)
        elif isinstance(cell, str) and (amount := read_amounts([cell], decimal)) is not None:
            read.append(amount[0][0])
        else:
            read.append(float(cell) if isinstance(cell, str) and decimal == "." and _is_plain(cell) else cell)
    return np.array(read, dtype=None if all(map(is_number, read)) else object)


def find_odd_cell(cells: list[str]) -> str | None:
    """Return the first text that is none of the numbers and dates that nearly all others are; None if they are not.

    Examples
    --------
    >>> find_odd_cell([*map(str, range(30)), "many"]), find_odd_cell(["1", "many"])
    ('many', None)
    """
    others = (cell for cell, none in zip(cells, np.isnat(read_dates(cells))) if none)  # dates are read all at once
    odd = [*islice((cell for cell in others if not is_number_or_date(cell)), len(cells) // 10 + 1)]
    return odd[0] if odd and 10 * len(odd) <= len(cells) else None


def is_number_or_date(cell: Any) -> bool:
    """Tell whether a cell is a number or a date, though it be a text: one word makes texts of a whole column."""
    return _is_plain(cell) or read_amounts([cell]) is not None or not np.isnat(read_dates([cell])[0])


def _is_plain(cell: Any) -> bool:
    """Whether Python reads a cell as a number, such as 1e-3."""
    try:
        return math.isfinite(float(cell))
    except (TypeError, ValueError):
        return False


def as_years(dates: np.ndarray) -> np.ndarray:
    """Return dates as years with a fraction, NaN for NaT."""
    years = dates.astype("datetime64[Y]")
    length = (years + 1).astype("datetime64[s]") - years.astype("datetime64[s]")
    # the share of the year that is over, so that distances between dates are in one unit
    return np.where(np.isnat(dates), np.nan, 1970 + years.astype(np.int64) + (dates - years) / length)


def is_missing(value: Any) -> bool:
    """Tell whether a cell holds nothing: None, NaN or a marker of pandas, told without importing it.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing(""), is_missing([None])
    (True, True, False, False)
    """
    return (
        value is None
        or (isinstance(value, (float, np.floating, np.datetime64)) and value != value)
        or type(value).__name__ in ("NAType", "NaTType")
    )


def find_missing(values: np.ndarray) -> np.ndarray:
    """Return which rows of an array from `Table.column` have no value."""
    if values.dtype == object:
        return np.array([value is None for value in values])
    gaps: Any = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, dtype=bool)
    return gaps.all(axis=1) if values.ndim == 2 else gaps


def read_vectors(name: Any, source: Any) -> np.ndarray | None:
    """Return a column of vectors (lists or arrays of numbers, all of one length) as a matrix; None of other columns.

    Rows without a vector are NaN. Lists that polars holds are not made Python's objects.
    """
    if _is_numeric(source):
        return None
    if isinstance(source, np.ndarray) and source.ndim == 2:
        return source if source.dtype.kind in "iuf" else None
    # one look at the first vector spares going through columns of texts
    first: Any = next((value for value in source if not is_missing(value) and np.size(value)), None)
    if np.ndim(first) != 1 or isinstance(first, (str, Mapping)) or not all(map(is_number, first)):
        return None
    native = source.to_native() if hasattr(source, "to_native") else source
    try:
        if type(native).__module__.startswith("polars"):
            import polars

            # without objects of Python, of which a million vectors would make hundreds of millions
            return native.cast(polars.Array(native.dtype.inner, len(first))).to_numpy()
        missing = np.array([is_missing(value) for value in source])
        vectors = np.stack([np.asarray(value) for value, gap in zip(source, missing) if not gap])
        if vectors.dtype.kind not in "iuf":
            raise ValueError("some are no numbers")
    except Exception as error:  # the words of each library for the same problem
        raise ViewsError(
            f"Column {name!r} must hold vectors of one length, all of numbers, {len(first)} as in {short(first)}. If "
            "they are lists of ids, name the column in tokens= (--tokens)."
        ) from error
    if not missing.any():
        return vectors
    matrix = np.full((len(missing), len(first)), np.nan, dtype=np.result_type(vectors, np.float32))
    matrix[~missing] = vectors
    return matrix


def _is_numeric(source: Any) -> bool:
    if hasattr(source, "to_native"):
        return source.dtype.is_numeric() and "128" not in str(source.dtype)  # NumPy has no such integers
    return isinstance(source, np.ndarray) and source.ndim == 1 and source.dtype.kind in "iuf"


def _as_numbers(source: Any) -> np.ndarray:
    values = source if isinstance(source, np.ndarray) else source.to_numpy()
    if values.dtype.kind in "iuf":
        return values
    return np.array([np.nan if is_missing(value) else float(value) for value in source.to_list()])  # decimals


def is_number(value: Any) -> bool:
    """Tell whether a cell is a number of Python or NumPy; True and False are none."""
    return isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))

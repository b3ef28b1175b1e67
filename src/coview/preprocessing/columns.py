"""`ColumnViews`: groups of a table's columns become views; numbers stay numbers, categories become indicators."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from coview.exceptions import ViewsError
from coview.preprocessing.magnitudes import magnitudes, warn_of_other_units
from coview.preprocessing.raw_columns import Column, RawTransformer, Table, as_table, check_column_name, read_dates
from coview.utils import fitted_state as rules
from coview.utils.messages import did_you_mean, listed, quantity, short
from coview.utils.parameters import COLUMNS, NONE, instance, number, one_of
from coview.utils.text_files import NUMBER
from coview.utils.warn import warn_user
from coview.views.arrays import scatter_rows
from coview.views.checks import check_same_order
from coview.views.inputs import ViewInput
from coview.views.views import Views

__all__ = ["ColumnViews", "column_groups"]

# a list of numbers as a text: [0.5, 1e-3]
_VECTOR_TEXT = re.compile(r"\s*\[\s*[-+.\deE]+(?:[\s,]+[-+.\deE]+)+\s*,?\s*\]\s*")


# an amount, with a sign of a currency, a unit, a decimal comma or groups of thousands
_AMOUNT = r"(?:\d{1,3}(?:[., ']\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
_NUMBER_TEXT = re.compile(
    rf"[-+]?(?:[$€£¥₹]|[A-Z]{{3}})\s?[-+]?{_AMOUNT}|[-+]?{_AMOUNT}\s?(?:[$€£¥₹%]|[A-Z]{{3}}|k|kg|cm|km|m)"
    rf"|[-+]?\d{{1,3}}(?:[., ']\d{{3}})+(?:[.,]\d+)?|[-+]?\d+[.,]\d+"
)
_DATE_TEXT = re.compile(
    r"\d{1,2}([/.-])\d{1,2}\1(?:\d{4}|\d{2})(?:[T ].*)?|\d{4}/\d{1,2}/\d{1,2}(?:[T ].*)?"
    r"|[A-Z][a-z]{2,8}\.? \d{1,2},? \d{4}|\d{1,2}\.? [A-Z][a-z]{2,8}\.? \d{4}"
)
MOSTLY = 0.8  # share of texts of a column that look like numbers or dates, where it is told of


def _of_columns(rule: rules.Rule) -> rules.Rule:
    """What is kept of the columns of a view, by column; of each there is an encoder or a fill value."""

    def visit(checker: rules.Checker, value: Any, where: str) -> None:
        columns, *parts = (
            checker.state.get(name, {}).get(checker.view, ())
            for name in ("columns_", "encoders_", "fill_values_", "widths_")
        )
        if not isinstance(value, dict) or sorted(map(str, columns)) != sorted(
            str(name) for part in parts for name in part
        ):
            checker.refuse(where, "does not have the columns of the view")
        for column, part in value.items():
            checker.check(rule, part, f"{where}[{column!r}]")

    return rules.custom(visit)


class ColumnViews(RawTransformer):
    """Turn groups of columns into views.

    Numeric columns pass through as numbers, dates (2026-11-15, 15.11.2026) become years with a fraction; text,
    categories and booleans become one indicator per category. A column of vectors (lists or arrays of numbers, all of
    one length, as embeddings are) becomes as many columns of numbers, in its own precision. Numbers and categories
    belong in different views: a view of both is mostly zeros, which models take for counts, and a warning says so.

    An object that has no value in any column of a view lacks that view. One that misses some of them has no indicator
    set where a category is missing, and the median of the column where a number is. So it is with new rows that lack a
    column of a view altogether; a warning names it.

    Parameters
    ----------
    groups : mapping of view to columns, column, or None, default=None
        ``{"person": ["age", "size"], "life": ["city", "job"]}``. By default the numeric columns are the view "numeric",
        each column of vectors is a view of its own name, and all others are the view "categorical".
    categorical : "auto" or list of columns, default="auto"
        Numeric columns to treat as categories too, such as codes.
    impute : {"median", "mean"}, float or None, default="median"
        What stands for a number that is missing among others of a view: the median or mean of the column, or a number;
        None refuses it.

    Attributes
    ----------
    columns_ : dict
        The columns of each view.
    encoders_ : dict
        ``{view: {column: fitted OneHotEncoder}}``, for the columns that are categories.
    fill_values_ : dict
        ``{view: {column: number}}``, for the columns that are numbers: what stands for a missing one.
    magnitudes_ : dict
        ``{view: {column: [least, median, largest]}}``, for the columns that are numbers: their magnitudes without
        zeros, None where all are. New numbers beyond them, as in other units, are told of.
    widths_ : dict
        ``{view: {column: number}}``, for the columns of vectors: the length of these.
    dates_ : list
        The columns that are dates.
    view_names_ : list of str
        Names of the views.

    Examples
    --------
    >>> from coview.preprocessing.columns import ColumnViews
    >>> X = ColumnViews().fit_transform({"age": [31, 7, 52], "job": ["cook", None, "smith"]})
    >>> X
    Views of 3 rows
      numeric      3 x 1  dense int64     100.0 % non-zero
      categorical  3 x 2  sparse float64  33.3 % non-zero  present in 66.7 % of rows
    >>> X.feature_names["categorical"].tolist()
    ['job_cook', 'job_smith']
    """

    _input_tags = ("string", "categorical", "allow_nan")

    widths_: Mapping[str, dict[Any, int]] = {}  # of models that were written before there were columns of vectors
    magnitudes_: Mapping[str, dict[Any, Any]] = {}  # likewise
    _fitted_state = {
        "view_names_": rules.view_names(),
        "columns_": rules.by_view(rules.sequence(rules.custom(check_column_name), low=1)),
        "encoders_": rules.by_view(_of_columns(rules.estimator(methods=["get_feature_names_out"]))),
        "fill_values_": rules.by_view(_of_columns(rules.or_none(rules.number()))),
        "widths_": rules.optional(rules.by_view(_of_columns(rules.count(1, high=1 << 20)))),
        "magnitudes_": rules.optional(rules.by_view(_of_columns(rules.or_none(rules.sequence(rules.number(0)))))),
        "dates_": rules.sequence(rules.custom(check_column_name)),
    }
    _parameters = {
        "groups": COLUMNS,
        "categorical": one_of("auto") | instance(list, tuple),
        "impute": one_of("median", "mean") | number(least=None) | NONE,
    }

    def __init__(self, groups: Any = None, categorical: Any = "auto", *, impute: Any = "median") -> None:
        self.groups = groups
        self.categorical = categorical
        self.impute = impute

    def fit(self, X: Any, y: Any = None) -> ColumnViews:
        """Learn the categories of each column."""
        check_same_order(X, y, "y")
        table = as_table(X, "ColumnViews")
        as_category = self._as_category(table)
        columns = _chosen_groups(self.groups, table, as_category)
        encoders: dict[str, dict[Any, OneHotEncoder]] = {}
        fill_values: dict[str, dict[Any, float | None]] = {}
        sizes: dict[str, dict[Any, list[float] | None]] = {}
        widths: dict[str, dict[Any, int]] = {}
        dates: list[Any] = []
        for view, names in columns.items():
            encoders[view], fill_values[view], sizes[view], widths[view] = {}, {}, {}, {}
            wide: list[Any] = []  # columns that outweigh the indicators beside them
            for name in names:
                if table.has_vectors(name) and name not in as_category:
                    widths[view][name] = table.vectors(name)[0].shape[1]
                    wide.append(name)
                    continue
                column = table.column(name)
                if column.name not in as_category and (years := read_dates(column)) is not None:
                    column = years
                    dates += [column.name] if column.name not in dates else []
                _check_kind(column, table.who)
                if column.kind == "number" and column.name not in as_category:
                    fill_values[view][column.name] = self._fill_value(column)
                    sizes[view][column.name] = magnitudes(column.values)
                    wide += [name] if ((column.values < 0) | (column.values > 1)).any() else []
                    continue
                if column.missing.all():
                    raise ViewsError(f"Column {column.name!r} of view {view!r} has no value in any row.")
                _check_no_vectors(column, view)
                _warn_of_texts(column, table.who)
                encoders[view][column.name] = OneHotEncoder(handle_unknown="ignore").fit(_categories(column))
            if wide and encoders[view]:
                _warn_of_mixed(view, wide, [name for name in names if name not in wide])
        self._remember_columns(table)
        self.columns_ = columns
        self.encoders_ = encoders
        self.fill_values_ = fill_values
        self.magnitudes_ = sizes
        self.widths_ = widths
        self.dates_ = dates
        self.view_names_ = list(columns)
        return self

    def transform(self, X: Any) -> Views:
        """Return the views of which X has a column; other columns of such a view count as missing in every row."""
        check_is_fitted(self)
        table = as_table(X, "ColumnViews")
        chosen = [view for view, names in self.columns_.items() if any(name in table.sources for name in names)]
        if not chosen:
            table.check_has_any([name for names in self.columns_.values() for name in names])
        if table is not X:  # else TableViews, which knows all columns, has looked
            self._warn_of_renamed(table)
        table = self._completed(table, chosen)
        arrays, present, names = {}, {}, {}
        for view in chosen:
            blocks, present[view] = self._blocks(view, table)
            arrays[view] = _side_by_side(blocks)
            columns = self._feature_names(view)
            if columns is not None:
                names[view] = columns
        return Views(arrays, ids=table.ids, present=present, feature_names=names)

    def view_inputs(self) -> dict[str, ViewInput]:
        """Describe the resulting views for `inspect`."""
        check_is_fitted(self)
        inputs = {}
        for view in self.columns_:
            names = self._feature_names(view)
            if names is None:
                inputs[view] = ViewInput(view, sum(self.widths_.get(view, {}).values()))
            else:
                values, dense = self._fill_values(view), not self.encoders_[view]
                one = str(self.columns_[view][0]) if len(self.columns_[view]) == 1 else None
                inputs[view] = ViewInput(
                    view,
                    len(names),
                    np.array(names),
                    fill_values=values,
                    dense=dense,
                    column=one,
                    categorical=frozenset(map(str, self.encoders_[view])),
                )
        return inputs

    def _fill_values(self, view: str) -> np.ndarray:
        """What stands for each feature of a view where it is missing; NaN of those that are refused then."""
        parts: list[np.ndarray] = []
        for column in self.columns_[view]:
            if column in self.fill_values_[view]:
                value = self.fill_values_[view][column]
                parts.append(np.array([np.nan if value is None else value]))
            elif column in self.encoders_[view]:
                parts.append(np.zeros(len(self.encoders_[view][column].categories_[0])))
            else:
                parts.append(np.full(self.widths_[view][column], np.nan))
        return np.concatenate(parts)

    def _blocks(self, view: str, table: Table) -> tuple[list[Any], np.ndarray]:
        """Columns of a view as matrices, and a mask of the objects that have a value in one of them."""
        widths, encoders, fill_values = self.widths_.get(view, {}), self.encoders_[view], self.fill_values_[view]
        vectors = {name: table.vectors(name, width) for name, width in widths.items()}
        columns = {name: table.column(name) for name in self.columns_[view] if name not in vectors}
        for name, column in columns.items():
            if name in fill_values:
                columns[name] = column = _as_dates(column, name in self.dates_)
            _check_kind(column, table.who)
        gaps = [part[1] for part in vectors.values()] + [column.missing for column in columns.values()]
        have = ~np.all(gaps, axis=0)
        numbers = {name: columns[name].values for name in fill_values if columns[name].kind == "number"}
        warn_of_other_units(view, self.magnitudes_.get(view, {}), numbers)
        blocks: list[Any] = []
        for name in self.columns_[view]:
            if name in vectors:
                blocks.append(_vectors(view, name, *vectors[name], have))
            elif name in encoders:
                blocks.append(_indicators(columns[name], encoders[name]))
            else:
                blocks.append(_numbers(view, columns[name], fill_values[name], have))
        return blocks, have

    def _completed(self, table: Table, views: list[str]) -> Table:
        """Add the columns of these views that the table lacks, without a value in any row."""
        absent = {name: view for view in views for name in self.columns_[view] if name not in table.sources}
        for name, view in absent.items():
            warn_user(
                f"The table has no column {short(name)} of view {view!r}; it counts as missing in every row."
                f"{did_you_mean(name, table.names)}",
                UserWarning,
            )
        return replace(table, sources={**table.sources, **{name: [None] * table.n_rows for name in absent}})

    def _feature_names(self, view: str) -> list[str] | None:
        """Names of a view's features; None of one that is vectors alone, whose numbers mean nothing one by one."""
        names: list[str] = []
        for column in self.columns_[view]:
            encoder, width = self.encoders_[view].get(column), self.widths_.get(view, {}).get(column)
            if width is not None:
                names += [f"{column}_{i}" for i in range(width)]
            else:
                names += [str(column)] if encoder is None else encoder.get_feature_names_out([str(column)]).tolist()
        return None if len(self.widths_.get(view, {})) == len(self.columns_[view]) else names

    def _fill_value(self, column: Column) -> float | None:
        values = column.values[~column.missing]
        if isinstance(self.impute, str):
            center = np.median if self.impute == "median" else np.mean
            return float(center(values)) if len(values) else 0.0
        return None if self.impute is None else float(self.impute)

    def _could_be(self, view: str, table: Table, name: Any) -> bool:
        column = table.column(name)
        if self.widths_.get(view):
            return column.kind == "vector"
        number = (read_dates(column) or column).kind == "number"
        return number if self.fill_values_[view] else not number and column.kind in ("text", "category")

    def _as_category(self, table: Table) -> list[Any]:
        if isinstance(self.categorical, str):  # "auto"
            return []
        table.check_has(list(self.categorical))
        return list(self.categorical)


def _chosen_groups(groups: Any, table: Table, as_category: list[Any]) -> dict[str, list[Any]]:
    if groups is None:
        vectors = [name for name in table.names if name not in as_category and table.has_vectors(name)]
        free = [name for name in table.names if name not in vectors]
        numeric = [name for name in free if name not in as_category and _is_numeric(table.column(name))]
        others = [name for name in free if name not in numeric]
        groups = {"numeric": numeric, "categorical": others, **{str(name): [name] for name in vectors}}
        return {view: names for view, names in groups.items() if names}
    chosen = column_groups("groups", groups)
    for view, names in chosen.items():
        table.check_has(names, f" for view {view!r}")
    return chosen


def column_groups(parameter: str, groups: Any) -> dict[str, list[Any]]:
    """Return ``{view: list of columns}``, of one column too; a list does not say which columns are a view.

    Examples
    --------
    >>> column_groups("groups", {"person": ["age", "job"], "place": "city"}), column_groups("groups", "age")
    ({'person': ['age', 'job'], 'place': ['city']}, {'age': ['age']})
    >>> column_groups("groups", {"numbered": 3})
    {'numbered': [3]}
    """
    if isinstance(groups, str):
        groups = {groups: [groups]}
    if not isinstance(groups, Mapping) or not groups:
        raise ViewsError(
            f"must name the columns of at least one view, {{view: columns}}, got {short(groups)}.", parameter=parameter
        )
    for view, names in groups.items():
        if not isinstance(names, (str, int, Iterable)):
            raise ViewsError(f"must name columns for view {view!r}, got {short(names)}.", parameter=parameter)
    chosen = {view: [names] if isinstance(names, (str, int)) else list(names) for view, names in groups.items()}
    for view, names in chosen.items():
        if not names:
            raise ViewsError(f"View {view!r} has no columns. Name at least one.")
    return chosen


def _is_numeric(column: Column) -> bool:
    return (read_dates(column) or column).kind == "number"


def _as_dates(column: Column, were_dates: bool) -> Column:
    """Return a numeric column of new rows, dates as years; refuses the first cell that is none where dates are due."""
    years = read_dates(column)
    if years is not None or not were_dates or column.kind == "number" or column.missing.all():
        return years or column
    for row in np.flatnonzero(~column.missing):
        one = replace(column, values=column.values[row : row + 1], missing=column.missing[row : row + 1])
        if read_dates(one) is None:
            raise ViewsError(
                f"Column {column.name!r} held dates in fit, but row {row} (counting from 0) holds "
                f"{short(column.values[row])}. Write dates as 2026-11-15, or leave the cell empty."
            )
    return column


def _check_no_vectors(column: Column, view: Any) -> None:
    """Refuse vectors that a CSV file holds as texts: each would be a category of its own."""
    values = column.values[~column.missing][:20].tolist()
    if column.kind == "text" and all(_VECTOR_TEXT.fullmatch(str(value)) for value in values):
        raise ViewsError(
            f"Column {column.name!r} of view {view!r} holds vectors written as texts, such as {short(values[0])}.",
            python="Read them as lists (from Parquet or JSON), or give the matrix as a column: "
            f"{{**table, {column.name!r}: np.load(...)}}.",
            cli="Keep them in a Parquet file, or in an .npy file beside the table: --view NAME=FILE.npy.",
        )


def _warn_of_texts(column: Column, who: str) -> None:
    """Warn of numbers and dates that are written as texts, and of categories that are as many as objects.

    Such categories say nothing that two objects share.
    """
    values = column.values[~column.missing]
    if column.kind == "text":
        for what, form, wanted in (("numbers", _NUMBER_TEXT, "1234.5"), ("dates", _DATE_TEXT, "2026-11-15")):
            fit = [value for value in values.tolist() if form.fullmatch(value.strip())]
            if len(fit) > MOSTLY * len(values):
                warn_user(
                    f"Column {column.name!r} holds texts that look like {what}, such as {short(fit[0])}, and becomes "
                    f"{len(set(values.tolist())):,} categories. Write {what} as {wanted}.",
                    UserWarning,
                )
                return
    different = len(set(values.tolist()))
    by = "TextViews" if who == "ColumnViews" else f"{who}(text=)"
    if column.kind == "text" and len(values) >= 20 and different > 0.9 * len(values):
        warn_user(
            f"Column {column.name!r} has {different} different values in {len(values)} rows, so hardly any category is "
            f"shared. If it contains text, count its words with {by} (--text on the command line).",
            UserWarning,
        )


def _warn_of_mixed(view: str, numbers: list[Any], others: list[Any]) -> None:
    """Warn of a view of numbers and indicators, which is mostly zeros: models weigh it like counts, by size."""
    split = {f"{view}_numbers": numbers, f"{view}_categories": others}
    options = " ".join(f"--columns {name}={','.join(map(str, columns))}" for name, columns in split.items())
    warn_user(
        f"View {view!r} has numbers ({listed(numbers)}) beside categories, so that models take it for counts, in which "
        f"the largest numbers outweigh the rest. Make two views of it: {split} (on the command line: {options}).",
        UserWarning,
    )


def _check_kind(column: Column, who: str) -> None:
    if column.kind in ("other", "vector") and not column.missing.all():
        raise ViewsError(
            f"Column {column.name!r} holds {column.type_name}, but {who} takes numbers, dates, text, categories, "
            "booleans and vectors of one length. Turn it into one of these, or leave it out."
        )


def _side_by_side(blocks: list[Any]) -> Any:
    if len(blocks) == 1 and not sparse.issparse(blocks[0]):
        return blocks[0]  # vectors are not copied
    if not any(sparse.issparse(block) for block in blocks):
        return np.hstack(blocks)
    dtypes = [block.dtype for block in blocks if not sparse.issparse(block)]
    dtype = np.result_type(*dtypes) if dtypes else np.dtype(np.float64)
    dtype = dtype if dtype.kind == "f" else np.dtype(np.float64)  # indicators take the precision of the numbers
    return sparse.hstack([sparse.csr_array(block, dtype=dtype) for block in blocks], format="csr")


def _vectors(view: str, name: Any, matrix: np.ndarray, missing: np.ndarray, have: np.ndarray) -> np.ndarray:
    gaps = np.flatnonzero(missing & have)
    if gaps.size:
        raise ViewsError(
            f"Column {name!r} has no vector in {quantity(gaps.size, 'row')} (the first is row {gaps[0]}, counting from "
            f"0) with other values of view {view!r}. Move the column to its own view."
        )
    return matrix


def _numbers(view: str, column: Column, fill_value: float | None, have: np.ndarray) -> np.ndarray:
    if column.missing.all():  # of which nothing tells the type
        column = replace(column, kind="number", values=np.zeros(len(column.values)))
    if column.kind != "number":
        texts = [row for row in np.flatnonzero(~column.missing) if not _is_number(column.values[row])]
        # one word makes texts of all numbers in a column of a file: the word is to blame, not the first of these
        row = next((row for row in texts if not NUMBER.fullmatch(str(column.values[row]).strip())), texts[0])
        raise ViewsError(
            f"Column {column.name!r} held numbers in fit, but row {row} (counting from 0) holds "
            f"{short(column.values[row])}. Write a number, or leave the cell empty."
        )
    gaps = np.flatnonzero(column.missing & have)
    if gaps.size and fill_value is None:
        raise ViewsError(
            f"Column {column.name!r} has no value in {quantity(gaps.size, 'row')} (the first is row {gaps[0]}, "
            f"counting from 0) with other values of view {view!r}. Fill them with impute='median', or move the column "
            "to its own view."
        )
    values = column.values
    if gaps.size:
        values = values.astype(np.result_type(values.dtype, np.float32), copy=True)
        values[gaps] = fill_value
    return values.reshape(-1, 1)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _indicators(column: Column, encoder: OneHotEncoder) -> Any:
    known = ~column.missing
    categories = _categories(column)
    if not known.any():
        return sparse.csr_array((len(known), len(encoder.categories_[0])))
    if isinstance(encoder.categories_[0][0], str) != isinstance(categories[0, 0], str):  # none would be known
        raise ViewsError(f"Column {column.name!r} holds {column.type_name} now, but had other categories in fit.")
    return scatter_rows(encoder.transform(categories), np.where(known, np.cumsum(known) - 1, -1))


def _categories(column: Column) -> np.ndarray:
    """Values that are there, as a column; whole numbers read as such even where gaps made them floats."""
    values = column.values[~column.missing]
    if values.dtype.kind == "f" and np.array_equal(values, np.floor(values)) and np.abs(values).max(initial=0) < 2**53:
        values = values.astype(np.int64)
    return values.reshape(-1, 1)

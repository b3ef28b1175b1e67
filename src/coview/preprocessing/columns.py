"""`ColumnViews`: groups of a table's columns become views; numbers stay numbers, categories become indicators."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from coview.exceptions import ViewsError
from coview.preprocessing.raw_columns import Column, RawTransformer, Table, as_table
from coview.views.arrays import scatter_rows
from coview.views.inputs import ViewInput
from coview.views.views import Views

__all__ = ["ColumnViews"]


class ColumnViews(RawTransformer):
    """Turn groups of columns into views.

    Numeric columns pass through as numbers; text, categories and booleans become one indicator per category. An
    object that has no value in any column of a view lacks that view. One that misses some of them has no indicator
    set where a category is missing, and is refused where a number is.

    Parameters
    ----------
    groups : mapping of view to columns, or None, default=None
        ``{"person": ["age", "job"], "place": ["city"]}``. By default the numeric columns are the view "numeric" and
        all others the view "categorical".
    categorical : "auto" or list of columns, default="auto"
        Numeric columns to treat as categories too, such as codes.

    Attributes
    ----------
    columns_ : dict
        The columns of each view.
    encoders_ : dict
        ``{view: {column: fitted OneHotEncoder}}``, for the columns that are categories.
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

    def __init__(self, groups: Any = None, categorical: Any = "auto") -> None:
        self.groups = groups
        self.categorical = categorical

    def fit(self, X: Any, y: Any = None) -> ColumnViews:
        """Learn the categories of each column."""
        table = as_table(X, "ColumnViews")
        as_category = self._as_category(table)
        columns = _chosen_groups(self.groups, table, as_category)
        encoders: dict[str, dict[Any, OneHotEncoder]] = {}
        for view, names in columns.items():
            encoders[view] = {}
            for column in (table.column(name) for name in names):
                _check_kind(column, table.who)
                if column.kind == "number" and column.name not in as_category:
                    continue
                if column.missing.all():
                    raise ViewsError(f"Column {column.name!r} of view {view!r} has no value in any row.")
                _warn_of_text(column, table.who)
                encoders[view][column.name] = OneHotEncoder(handle_unknown="ignore").fit(_categories(column))
        self.columns_ = columns
        self.encoders_ = encoders
        self.view_names_ = list(columns)
        return self

    def transform(self, X: Any) -> Views:
        """Return the views whose columns X has; at least one view must be complete."""
        check_is_fitted(self)
        table = as_table(X, "ColumnViews")
        chosen = [view for view, names in self.columns_.items() if any(name in table.sources for name in names)]
        for view in chosen or self.view_names_:
            table.check_has(self.columns_[view])
        arrays, present, names = {}, {}, {}
        for view in chosen:
            columns = [table.column(name) for name in self.columns_[view]]
            for column in columns:
                _check_kind(column, table.who)
            have = ~np.all([column.missing for column in columns], axis=0)
            arrays[view], names[view] = _matrix(view, columns, self.encoders_[view], have), self._feature_names(view)
            present[view] = have
        return Views(arrays, ids=table.ids, present=present, feature_names=names)

    def view_inputs(self) -> dict[str, ViewInput]:
        """Describe the resulting views for `inspect`."""
        check_is_fitted(self)
        names = {view: np.array(self._feature_names(view)) for view in self.columns_}
        return {view: ViewInput(view, len(columns), columns) for view, columns in names.items()}

    def _feature_names(self, view: str) -> list[str]:
        names: list[str] = []
        for column in self.columns_[view]:
            encoder = self.encoders_[view].get(column)
            names += [str(column)] if encoder is None else encoder.get_feature_names_out([str(column)]).tolist()
        return names

    def _as_category(self, table: Table) -> list[Any]:
        if isinstance(self.categorical, str):
            if self.categorical != "auto":
                raise ViewsError(f"categorical must be 'auto' or a list of columns, got {self.categorical!r}.")
            return []
        table.check_has(list(self.categorical))
        return list(self.categorical)


def _chosen_groups(groups: Any, table: Table, as_category: list[Any]) -> dict[str, list[Any]]:
    if groups is None:
        numbers = [name for name in table.names if table.column(name).kind == "number" and name not in as_category]
        others = [name for name in table.names if name not in numbers]
        return {view: names for view, names in (("numeric", numbers), ("categorical", others)) if names}
    if not isinstance(groups, Mapping) or not groups:
        raise ViewsError("ColumnViews needs groups as {view: columns} with at least one view.")
    chosen = {view: [names] if isinstance(names, str) else list(names) for view, names in groups.items()}
    for view, names in chosen.items():
        if not names:
            raise ViewsError(f"View {view!r} has no columns. Name at least one.")
        table.check_has(names)
    return chosen


def _warn_of_text(column: Column, who: str) -> None:
    """Warn where categories are as many as objects: they say nothing that two objects share."""
    values = column.values[~column.missing]
    different = len(set(values.tolist()))
    by = "TextViews" if who == "ColumnViews" else f"{who}(text=)"
    if column.kind == "text" and len(values) >= 20 and different > 0.9 * len(values):
        warnings.warn(
            f"Column {column.name!r} has {different} different values in {len(values)} rows, so hardly any category is "
            f"shared. If it contains text, count its words with {by} (--text on the command line).",
            UserWarning,
            stacklevel=3,
        )


def _check_kind(column: Column, who: str) -> None:
    if column.kind == "other":
        raise ViewsError(
            f"Column {column.name!r} holds {column.type_name}, but {who} takes numbers, text, categories and "
            "booleans. Turn it into one of these, or leave it out."
        )


def _matrix(view: str, columns: list[Column], encoders: Mapping[Any, OneHotEncoder], have: np.ndarray) -> Any:
    """Blocks of all columns side by side."""
    blocks: list[Any] = [
        _indicators(column, encoders[column.name]) if column.name in encoders else _numbers(view, column, have)
        for column in columns
    ]
    if not encoders:
        return np.hstack(blocks)
    dtypes = [block.dtype for block in blocks if not sparse.issparse(block)]
    dtype = np.result_type(*dtypes) if dtypes else np.dtype(np.float64)
    dtype = dtype if dtype.kind == "f" else np.dtype(np.float64)  # indicators take the precision of the numbers
    return sparse.hstack([sparse.csr_array(block, dtype=dtype) for block in blocks], format="csr")


def _numbers(view: str, column: Column, have: np.ndarray) -> np.ndarray:
    if column.kind != "number":
        raise ViewsError(f"Column {column.name!r} was numeric in fit, but holds {column.type_name} now.")
    gaps = np.flatnonzero(column.missing & have)
    if gaps.size:
        raise ViewsError(
            f"Column {column.name!r} has no value in {gaps.size} rows (the first is row {gaps[0]}) that have other "
            f"values of view {view!r}. Fill them, for instance with SimpleImputer, or move the column to its own view."
        )
    return column.values.reshape(-1, 1)


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

"""`TextViews`: raw texts become views of counts, one scikit-learn vectorizer each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.validation import check_is_fitted

from coview.exceptions import ViewsError
from coview.preprocessing.raw_columns import Column, RawTransformer, Table, as_table
from coview.utils.messages import cut, listed
from coview.views.arrays import scatter_rows
from coview.views.inputs import ViewInput
from coview.views.views import Views

__all__ = ["TextViews"]

_BARE = "text"  # the column, and so the view, that a plain list of texts becomes


class TextViews(RawTransformer):
    """Turn text columns into views, each with its own vectorizer.

    An object whose text is missing (None or NaN) lacks that view; an empty text is a view without words.

    Parameters
    ----------
    columns : mapping of view to column, list of columns, or None, default=None
        Which column makes which view. By default every column of text is a view of the same name; a plain list of
        texts is one view named "text".
    vectorizer : scikit-learn vectorizer, mapping of view to vectorizer, or None, default=None
        Cloned for each view. Views without one, and None, use ``CountVectorizer()``.

    Attributes
    ----------
    vectorizers_ : dict
        The fitted vectorizer of each view.
    columns_ : dict
        The column of each view.
    view_names_ : list of str
        Names of the views.

    Examples
    --------
    >>> from coview.preprocessing.text import TextViews
    >>> X = TextViews().fit_transform({"title": ["red fox", "blue sea"], "body": ["a fox runs", None]})
    >>> X
    Views of 2 rows
      title  2 x 4  sparse int64  50.0 % non-zero
      body   2 x 2  sparse int64  50.0 % non-zero  present in 50.0 % of rows
    >>> X.feature_names["title"].tolist()
    ['blue', 'fox', 'red', 'sea']
    """

    _input_tags = ("string", "one_d_array")

    def __init__(self, columns: Any = None, vectorizer: Any = None) -> None:
        self.columns = columns
        self.vectorizer = vectorizer

    def fit(self, X: Any, y: Any = None) -> TextViews:
        """Learn the vocabulary of each view."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Views:
        """Learn the vocabulary of each view and return the views."""
        table = self._table(X, self.columns)
        columns = self._chosen_columns(table)
        vectorizers = self._chosen_vectorizers(tuple(columns))
        counted = {}
        for view, name in columns.items():
            column = _text_column(table, name)
            if column.missing.all():
                raise ViewsError(f"Column {name!r} of view {view!r} has no text in any row.")
            try:
                matrix = vectorizers[view].fit_transform(column.values[~column.missing].tolist())
            except ValueError as error:
                why = cut(str(error), 200)
                raise ViewsError(f"View {view!r} cannot be built from column {name!r}: {why}") from error
            counted[view] = (matrix, column.missing)
        self.columns_ = columns
        self.vectorizers_ = vectorizers
        self.view_names_ = list(columns)
        return self._views(table, counted)

    def transform(self, X: Any) -> Views:
        """Return the views whose columns X has; at least one is required."""
        check_is_fitted(self)
        table = self._table(X, self.columns_)
        columns = {view: name for view, name in self.columns_.items() if name in table.sources}
        if not columns:
            table.check_has_any(list(self.columns_.values()))
        counted = {}
        for view, name in columns.items():
            column = _text_column(table, name)
            texts = column.values[~column.missing].tolist() or [""]  # vectorizers refuse no text at all
            counted[view] = (self.vectorizers_[view].transform(texts), column.missing)
        return self._views(table, counted)

    def raw_texts(self, X: Any) -> dict[str, list[str]]:
        """Return the texts from which each view is built; empty if an object has none.

        Parameters
        ----------
        X : table or list of texts
            What `transform` takes.
        """
        check_is_fitted(self)
        table = self._table(X, self.columns_)
        there = {view: table.column(name) for view, name in self.columns_.items() if name in table.sources}
        return {view: [v if isinstance(v, str) else "" for v in column.values] for view, column in there.items()}

    def view_inputs(self) -> dict[str, ViewInput]:
        """Describe the resulting views for `inspect`."""
        check_is_fitted(self)
        return {view: _input(view, vectorizer) for view, vectorizer in self.vectorizers_.items()}

    def _table(self, X: Any, columns: Any) -> Table:
        one = isinstance(columns, Mapping) and len(columns) == 1
        return as_table(X, "TextViews", bare=next(iter(columns.values())) if one else _BARE)

    def _chosen_columns(self, table: Table) -> dict[str, Any]:
        if self.columns is None:
            chosen = {str(name): name for name in table.names if table.column(name).kind == "text"}
            if not chosen:
                raise ViewsError(f"{table.who} found no column of text; the columns are {listed(table.names)}.")
            return chosen
        if isinstance(self.columns, Mapping):
            chosen = dict(self.columns)
        else:
            names = [self.columns] if isinstance(self.columns, str) else self.columns
            chosen = {str(name): name for name in names}
        if not chosen:
            raise ViewsError(f"{table.who} needs at least one column, got none.")
        table.check_has(list(chosen.values()))
        return chosen

    def _chosen_vectorizers(self, views: tuple[str, ...]) -> dict[str, Any]:
        by_view = self.vectorizer if isinstance(self.vectorizer, Mapping) else dict.fromkeys(views, self.vectorizer)
        for view in by_view:
            if view not in views:
                raise ViewsError(f"vectorizer names view {view!r}, but the views are {listed(views)}.")
        return {view: CountVectorizer() if by_view.get(view) is None else clone(by_view[view]) for view in views}

    def _views(self, table: Table, counted: Mapping[str, tuple[Any, np.ndarray]]) -> Views:
        arrays, present, names = {}, {}, {}
        for view, (matrix, missing) in counted.items():
            present[view] = ~missing
            if missing.any():
                matrix = scatter_rows(matrix, np.where(missing, -1, np.cumsum(~missing) - 1))
            arrays[view] = matrix
            columns = _feature_names(self.vectorizers_[view])
            if columns is not None:
                names[view] = columns
        return Views(arrays, ids=table.ids, present=present, feature_names=names)


def _text_column(table: Table, name: Any) -> Column:
    column = table.column(name)
    if column.kind == "text" or all(isinstance(value, str) for value in column.values[~column.missing]):
        return column
    raise ViewsError(
        f"{table.who} needs text, but column {name!r} holds {column.type_name}.",
        python="Turn it into text, or " + ("use ColumnViews." if table.who == "TextViews" else "name it in columns=."),
        cli="Turn it into text, or use --columns in place of --text.",
    )


def _feature_names(vectorizer: Any) -> np.ndarray | None:
    """Names of the columns; a vectorizer that hashes has none."""
    return vectorizer.get_feature_names_out() if hasattr(vectorizer, "get_feature_names_out") else None


def _input(view: str, vectorizer: Any) -> ViewInput:
    names = _feature_names(vectorizer)
    reads_text = hasattr(vectorizer, "build_analyzer")  # else it reads images
    width = int(getattr(vectorizer, "n_features", 0)) if names is None else len(names)
    return ViewInput(view, width, names, vectorizer if reads_text else None)

"""`TableViews`: the columns of a table become views of words, of items, of numbers, of categories and of vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from coview.exceptions import ViewsError
from coview.preprocessing.columns import (
    RawTransformer,
    Table,
    as_table,
    check_column_name,
    find_missing,
    is_number,
    is_number_or_date,
    read_columns,
)
from coview.preprocessing.embeddings import EmbeddingViews
from coview.preprocessing.text import TextViews
from coview.preprocessing.vectorizer import STOPPED
from coview.utils import fitted_state as rules
from coview.utils.fitting import same_work
from coview.utils.messages import listed, short
from coview.utils.parameters import COLUMNS, MAPPING, NONE, TRANSFORMER, frequency, instance, one_of
from coview.utils.warn import warn_user
from coview.views.inputs import ViewInput
from coview.views.views import Views, check_same_order

__all__ = ["TableViews", "read_column_groups"]


def _check_columns(checker: rules.Checker, value: Any, where: str) -> None:
    """Columns of each view; of each there are categories, a median or a width."""
    checker.check(rules.mapping(rules.sequence(rules.custom(check_column_name), low=1)), value, where)
    parts = [checker.state.get(name, {}) for name in ("categories_", "medians_", "widths_")]
    if set(chain(*value.values())) != {name for part in parts for name in part}:
        checker.refuse(where, "does not have the columns of the fit")


class TableViews(RawTransformer):
    """Turn a table into views built from text columns and groups of other columns.

    A pipeline that starts here takes raw tables, and a model file carries all that it needs.

    In groups of columns, numbers stay numbers, also as texts with decimal commas or signs of currencies ("€ 8,31"),
    and dates (2026-11-15) become years with a fraction; text, categories and
    booleans become one indicator per category. A column of vectors (lists or arrays of numbers, all of one length, as
    embeddings are) becomes as many columns of numbers. An object that has no value in any column of a view lacks that
    view; where only some are missing, no indicator is set, and numbers are the median of their column. So it is with
    new rows that lack a column of a view altogether; a warning names it.

    Parameters
    ----------
    text : mapping of view to column, column, list of columns, or None, default=None
        Views made of the words of a column, ``{"words": "body"}``; ``"body"`` is ``{"body": "body"}``.
    columns : mapping of view to columns, or None, default=None
        Views made of groups of columns, ``{"place": ["venue", "country"]}``, numbers and categories in views of their
        own. A column of vectors, such as embeddings, is a dense view: ``{"image": "vector"}``.
    tokens : mapping of view to column or to (column, separator), column, list of columns, or None, default=None
        Views made of the items of a column of lists, ``{"tags": "tags"}``; see `TextViews`. Where most items are ids of
        the rows, as in ``tokens={"cites": "cites"}, id="key"``, the view is links among the objects.
    vectorizer : scikit-learn vectorizer, mapping of view to vectorizer, or None, default=None
        Cloned for each view of text. Views without one, and None, use a `TextVectorizer`; see `TextViews`.
    stop_words : str, list of str or None, default="auto"
        Words to leave out of texts: those of a language ("english" or "en"), a list, or none. "auto" takes the language
        that the texts are in; see `TextViews`.
    min_df : int, float or "auto", default="auto"
        Least number (or share) of texts that a word must be in; see `TextViews`. "auto" keeps all items of lists that
        are mostly ids of the rows, since most objects may be linked once.
    max_df : int, float or "auto", default="auto"
        Largest number (or share) of texts that a word may be in; see `TextViews`.
    embeddings : EmbeddingViews or None, default=None
        Views made of texts or images by an encoder, ``EmbeddingViews(encode, {"meaning": "body"})``. After a model was
        loaded from a file, the encoder is set again: ``set_params(tableviews__embeddings__encoder=encode)``.
    id : str or None, default=None
        Column that names the objects. Without it a frame's own index does, where it has one.
    label : str or None, default=None
        Column of the labels, which is no view. A model file keeps it, so that `coview label` knows what is labeled.

    Attributes
    ----------
    text_ : TextViews or None
        The fitted part that makes views of text.
    embeddings_ : EmbeddingViews or None
        The fitted part that makes views by an encoder.
    columns_ : dict
        The columns of each view that is made of a group of them.
    categories_ : dict
        The categories of each such column that holds some.
    medians_ : dict
        The median of each such column of numbers or dates, which stands for a missing one.
    decimals_ : dict
        The decimal sign of each such column whose numbers are texts as "8,31", by which those of new rows are read.
    widths_ : dict
        The length of the vectors of each such column that holds some.
    vectorizers_ : dict
        The fitted vectorizer of each view of text.
    view_names_ : list of str
        Names of the views, those of text first, those of an encoder last.

    Examples
    --------
    >>> from coview import TableViews
    >>> table = {"key": ["p1", "p2"], "body": ["red fox", "blue sea"], "year": [1999, 2007], "job": ["cook", None]}
    >>> X = TableViews(text={"words": "body"}, columns={"when": "year", "job": "job"}, id="key").fit_transform(table)
    >>> X
    Views of 2 rows
      words  2 x 4  sparse int64    50.0 % non-zero
      when   2 x 1  dense int64     100.0 % non-zero
      job    2 x 1  sparse float64  50.0 % non-zero  present in 50.0 % of rows
    >>> X.feature_names["job"].tolist()
    ['job_cook']
    """

    _input_tags = ("string", "categorical", "allow_nan")

    _fitted_state = {
        "view_names_": rules.view_names(),
        "text_": rules.or_none(rules.estimator(methods=["raw_texts", "view_inputs"])),
        "embeddings_": rules.or_none(rules.estimator(methods=["raw_texts", "view_inputs"])),
        "categories_": rules.mapping(rules.sequence(rules.text(), low=1)),
        "medians_": rules.mapping(rules.real()),
        "decimals_": rules.mapping(rules.choice(".", ",")),
        "widths_": rules.mapping(rules.count(1, high=1 << 20)),
        "columns_": rules.custom(_check_columns),
        "vectorizers_": rules.mapping(rules.estimator(methods=["transform"])),
    }
    _parameters = {
        "text": COLUMNS,
        "columns": COLUMNS,
        "tokens": COLUMNS,
        "vectorizer": TRANSFORMER | MAPPING | NONE,
        "stop_words": one_of("auto") | STOPPED | NONE,
        "min_df": frequency() | one_of("auto"),
        "max_df": frequency() | one_of("auto"),
        "embeddings": instance(EmbeddingViews) | NONE,
        "id": instance(str, int) | NONE,
        "label": instance(str, int) | NONE,
    }

    def __init__(
        self,
        text: Any = None,
        columns: Any = None,
        *,
        tokens: Any = None,
        vectorizer: Any = None,
        stop_words: Any = "auto",
        min_df: Any = "auto",
        max_df: Any = "auto",
        embeddings: EmbeddingViews | None = None,
        id: Any = None,
        label: Any = None,
    ) -> None:
        self.text = text
        self.columns = columns
        self.tokens = tokens
        self.vectorizer = vectorizer
        self.stop_words = stop_words
        self.min_df = min_df
        self.max_df = max_df
        self.embeddings = embeddings
        self.id = id
        self.label = label

    def fit(self, X: Any, y: Any = None) -> TableViews:
        """Learn the vocabularies and categories."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Views:
        """Learn the vocabularies and categories and return the views."""
        check_same_order(X, y, "y")
        table = as_table(X)
        # first, since lists of ids are recognized as links by them
        table = replace(table, ids=self._ids(table))
        self.text_, self.embeddings_, parts = None, None, []
        if self.text or self.tokens:
            text = TextViews(read_columns("text", self.text), self.vectorizer, tokens=self.tokens)
            self.text_ = text.set_params(stop_words=self.stop_words, min_df=self.min_df, max_df=self.max_df)
            # its warnings are about the columns of the user
            with same_work(self.text_):
                parts.append(self.text_.fit_transform(table))
        self.columns_ = read_column_groups(self.columns)
        self._fit_columns(table)
        if self.columns_:
            parts.append(self._column_views(table))
        if self.embeddings is not None:
            if not self.embeddings.columns:  # the names and the classes of the objects may be texts, too
                raise ViewsError('Name the columns to embed: embeddings=EmbeddingViews(encode, {"meaning": "body"}).')
            self.embeddings_ = clone(self.embeddings)
            with same_work(self.embeddings_):
                parts.append(self.embeddings_.fit_transform(table))
        if not parts:
            raise ViewsError(
                "TableViews needs text={view: column}, tokens={view: column}, columns={view: [column, ...]} or "
                "embeddings=EmbeddingViews(...), got none of them."
            )
        self.vectorizers_ = {} if self.text_ is None else self.text_.vectorizers_
        self.view_names_ = [name for part in parts for name in part.names]
        return _join(parts, table.ids)

    def transform(self, X: Any) -> Views:
        """Return the views whose columns X has; at least one is required."""
        check_is_fitted(self)
        table = as_table(X)
        table.check_has_any(list(chain(*self._columns_of_views().values())))
        # new rows need no names
        ids = table.ids if self.id is None or self.id not in table.sources else self._ids(table)
        makers: list[Any] = [(self.columns_, self._column_views)]
        if self.text_ is not None:
            makers.insert(0, (self.text_._columns_of_views(), self.text_.transform))
        if (encoding := self._encoding()) is not None:
            makers.append((encoding._columns_of_views(), encoding.transform))
        parts = [make(table) for groups, make in makers if not set(table.names).isdisjoint(chain(*groups.values()))]
        return _join(parts, ids)

    def raw_texts(self, X: Any) -> dict[str, list[str]]:
        """Return the texts from which each text view is built; empty if an object has none.

        Parameters
        ----------
        X : table
            What `transform` takes.
        """
        check_is_fitted(self)
        texts = {} if self.text_ is None else self.text_.raw_texts(X)
        if self.embeddings_ is None:
            return texts
        # a column that is both counted and embedded is shown once
        known = [] if self.text_ is None else list(self.text_.columns_.values())
        embedded = self.embeddings_.raw_texts(X)
        return {**texts, **{view: embedded[view] for view in embedded if self.embeddings_.columns_[view] not in known}}

    def view_inputs(self) -> dict[str, ViewInput]:
        """Describe the resulting views for `inspect`."""
        check_is_fitted(self)
        inputs = {} if self.text_ is None else self.text_.view_inputs()
        inputs.update({view: self._column_input(view, names) for view, names in self.columns_.items()})
        return inputs if self.embeddings_ is None else {**inputs, **self.embeddings_.view_inputs()}

    def text_columns(self) -> list[Any]:
        """Return the columns whose texts are read as words, or by an encoder; lists are none of them."""
        check_is_fitted(self)
        return [name for part in (self.text_, self.embeddings_) if part is not None for name in part.text_columns()]

    def list_columns(self) -> dict[Any, Callable[[str], list[str]]]:
        """Return the columns that are read as lists, each with the function that splits its texts into items."""
        check_is_fitted(self)
        return {} if self.text_ is None else self.text_.list_columns()

    def _columns_of_views(self) -> dict[str, list[Any]]:
        inner = [part._columns_of_views() for part in (self.text_, self.embeddings_) if part is not None]
        return {view: names for part in (*inner, self.columns_) for view, names in part.items()}

    def _encoding(self) -> EmbeddingViews | None:
        """The part that makes views by an encoder, which may have been set again since the fit."""
        if self.embeddings_ is None or self.embeddings is None:
            return None
        # an encoder is no part of a model file: it is the one that was set after loading
        given = {name: value for name, value in self.embeddings.get_params(deep=False).items() if name != "columns"}
        return copy(self.embeddings_).set_params(**given)

    def _ids(self, table: Table) -> np.ndarray | None:
        if self.id is None:
            return table.ids
        table.check_has([self.id], " to name the objects")
        ids = table.column(self.id)
        missing = find_missing(ids)
        if ids.dtype.kind not in "iu":
            ids = np.array([str(cell) for cell in table.cells(self.id)])
        # links, labels and results are matched by id: two rows of one name would be mixed up silently
        values, counts = np.unique(ids, return_counts=True)
        if missing.any() or counts.max() > 1:
            row, twice = missing.argmax(), short(values[counts.argmax()].item())
            problem = f"row {row} (counting from 0) has no value" if missing.any() else f"{twice} is in several rows"
            advice = "Each row needs a value of its own; without"
            raise ViewsError(
                f"Column {self.id!r} names the objects, but {problem}.",
                python=f"{advice} id, rows are numbered.",
                cli=f"{advice} --id, rows are numbered.",
            )
        return ids

    # -- groups of columns

    def _fit_columns(self, table: Table) -> None:
        self.categories_: dict[Any, list[str]] = {}
        self.medians_: dict[Any, float] = {}
        self.decimals_: dict[Any, str] = {}
        self.widths_: dict[Any, int] = {}
        for view, names in self.columns_.items():
            table.check_has(names, f" for view {view!r}")
            for name in names:
                values = table.column(name)
                missing = find_missing(values)
                if missing.all():
                    raise ViewsError(f"Column {name!r} of view {view!r} has no value in any row.")
                if values.ndim == 2:
                    self.widths_[name] = values.shape[1]
                elif values.dtype != object:
                    # the median: one typing error in a column of numbers would move the mean
                    self.medians_[name] = float(np.median(values[~missing]))
                    if (decimal := table.decimal(name)) is not None:
                        self.decimals_[name] = decimal
                else:
                    self.categories_[name] = _find_categories(name, values[~missing])
            kinds = {name in self.categories_ for name in names}
            if len(kinds) > 1:
                warn_user(
                    f"View {view!r} has numbers beside categories ({listed(names)}), so that models take it for "
                    "counts, in which the largest numbers outweigh the rest. Make two views of it.",
                    UserWarning,
                )

    def _column_views(self, table: Table) -> Views:
        arrays, present, feature_names = {}, {}, {}
        for view, names in self.columns_.items():
            there = [name for name in names if name in table.sources]
            if not there:
                continue
            for name in set(names).difference(there):
                warn_user(
                    f"The table has no column {short(name)} of view {view!r}; it counts as missing in every row.",
                    UserWarning,
                )
            # the model expects all features of a view, so that an absent column is filled like empty cells
            empty = np.full(table.n_rows, np.nan)
            values = {name: self._values(table, name) if name in there else empty for name in names}
            gaps = {name: find_missing(column) for name, column in values.items()}
            # an object lacks a view only where all of its columns are empty
            present[view] = ~np.all(list(gaps.values()), axis=0)
            blocks = [self._block(view, name, values[name], gaps[name], present[view]) for name in names]
            if any(map(sparse.issparse, blocks)):
                arrays[view] = sparse.hstack(blocks, format="csr", dtype=np.float64)
            else:
                arrays[view] = blocks[0] if len(blocks) == 1 else np.hstack(blocks)
            if (columns := self._column_input(view, names).feature_names) is not None:
                feature_names[view] = columns
        return Views(arrays, ids=table.ids, present=present, feature_names=feature_names)

    def _values(self, table: Table, name: Any) -> np.ndarray:
        """A column as in the fit: some rows alone may look like numbers, or like other numbers."""
        if name in self.categories_:
            return np.fromiter(table.cells(name), object, table.n_rows)
        decimal = self.decimals_.get(name, ".")
        cells = table.cells(name) if decimal == "," else []
        # what reads a file takes 1.234 for a number where no cell says otherwise
        digits = {len(str(cell).partition(".")[2]) for cell in cells if isinstance(cell, float)}
        if max(digits, default=0) == 3 and not any(isinstance(cell, str) for cell in cells):
            warn_user(
                f"Column {name!r} had decimal commas in fit, and now holds numbers with a point, which are read as "
                "they are. If the point stands between thousands, leave it out.",
                UserWarning,
            )
        return table.column(name, decimal)

    def _block(self, view: str, name: Any, values: np.ndarray, missing: np.ndarray, present: np.ndarray) -> Any:
        """The features of one column."""
        if name in self.categories_:
            return _make_indicators(values, missing, self.categories_[name])
        if values.dtype == object:
            row = next(i for i, value in enumerate(values) if not is_number(value))
            raise ViewsError(
                f"Column {name!r} held numbers in fit, but row {row} (counting from 0) holds {short(values[row])}. "
                f"Write a number as 8{self.decimals_.get(name, '.')}31 or a date as 2026-11-15, or leave the cell "
                "empty."
            )
        width = self.widths_.get(name, 1)
        if missing.all():
            values = np.zeros((len(values), width))
        values = values.reshape(len(missing), -1)
        if values.shape[1] != width:
            raise ViewsError(f"Column {name!r} holds {values.shape[1]} numbers per row, but had {width} in fit.")
        # no vector can be made up, as a number can by the median; and zeros would be a direction of their own
        if name in self.widths_ and (missing & present).any():
            raise ViewsError(
                f"Column {name!r} has no vector in some rows with other values of view {view!r}. Move the column to "
                "its own view."
            )
        if missing.any():
            values = values.astype(np.result_type(values, np.float32))
            values[missing] = 0 if name in self.widths_ else self.medians_[name]
            # rows that lack a view are zeros in `Views`
            values[~present] = 0
        return values

    def _column_input(self, view: str, names: list[Any]) -> ViewInput:
        features: list[str] = []
        fill_values: list[float] = []
        for name in names:
            if name in self.categories_:
                features += [f"{name}_{category}" for category in self.categories_[name]]
                # a missing category is none of those known
                fill_values += [0.0] * len(self.categories_[name])
            elif name in self.medians_:
                features.append(str(name))
                fill_values.append(self.medians_[name])
            else:
                features += [f"{name}_{i}" for i in range(self.widths_[name])]
                fill_values += [np.nan] * self.widths_[name]
        if all(name in self.widths_ for name in names):  # the numbers of a vector mean nothing one by one
            return ViewInput(view, len(features))
        categorical = frozenset(str(name) for name in names if name in self.categories_)
        return ViewInput(
            view,
            len(features),
            np.array(features),
            fill_values=np.array(fill_values),
            dense=not categorical,
            column=str(names[0]) if len(names) == 1 else None,
            categorical=categorical,
        )


def read_column_groups(groups: Any) -> dict[str, list[Any]]:
    """Return ``{view: list of columns}``, of one column too; a list does not say which columns are a view.

    Examples
    --------
    >>> read_column_groups({"person": ["age", "job"], "place": "city"}), read_column_groups("age")
    ({'person': ['age', 'job'], 'place': ['city']}, {'age': ['age']})
    """
    if groups is None:
        return {}
    if isinstance(groups, str):
        groups = {groups: [groups]}
    if not isinstance(groups, Mapping) or not all(isinstance(names, (str, int)) or names for names in groups.values()):
        raise ViewsError(
            f"must name the columns of each view, {{view: columns}}, got {short(groups)}.", parameter="columns"
        )
    return {view: [names] if isinstance(names, (str, int)) else list(names) for view, names in groups.items()}


def _find_categories(name: Any, values: np.ndarray) -> list[str]:
    categories = sorted({str(value) for value in values})
    words = [category for category in categories if not is_number_or_date(category)]
    if words and len(words) < len(categories) / 2:  # a column of numbers with a word in it, rather than categories
        warn_user(
            f"Column {name!r} is read as categories, because it holds {short(words[0])} among numbers. Leave such cells"
            " empty to have numbers.",
            UserWarning,
        )
    # 20 rows and 9 of 10: fewer may differ by chance, and more say nothing that two objects share
    if len(values) >= 20 and len(categories) > 0.9 * len(values):
        warn_user(
            f"Column {name!r} has {len(categories)} different values in {len(values)} rows, so hardly any category is "
            "shared. If it contains text, count its words with TableViews(text=) (--text on the command line).",
            UserWarning,
        )
    return categories


def _make_indicators(values: np.ndarray, missing: np.ndarray, categories: list[str]) -> sparse.csr_array:
    position = {category: i for i, category in enumerate(categories)}
    # a category that the fit has not met has no column
    codes = np.array([-1 if gap else position.get(str(value), -1) for value, gap in zip(values, missing)])
    rows = np.flatnonzero(codes >= 0)
    return sparse.csr_array((np.ones(len(rows)), (rows, codes[rows])), shape=(len(codes), len(categories)))


def _join(parts: list[Views], ids: np.ndarray | None) -> Views:
    names = [name for part in parts for name in part.names]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ViewsError(
            f"View {twice[0]!r} is named in two of text, tokens, columns and embeddings. Rename one of them."
        )
    arrays = {name: array for part in parts for name, array in part.items()}
    feature_names = {name: columns for part in parts for name, columns in part.feature_names.items()}
    return Views(arrays, ids=ids, present=np.hstack([part.present for part in parts]), feature_names=feature_names)

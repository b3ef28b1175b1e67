"""`TableViews`: one table of raw text and columns becomes views, by a vectorizer or by groups of columns."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from coview.exceptions import ViewsError
from coview.preprocessing.columns import ColumnViews, column_groups
from coview.preprocessing.embeddings import EmbeddingViews
from coview.preprocessing.raw_columns import RawTransformer, Table, as_table, columns_by_view
from coview.preprocessing.text import TextViews
from coview.preprocessing.vectorizer import STOPPED
from coview.utils import fitted_state as rules
from coview.utils.messages import short
from coview.utils.parameters import (
    COLUMNS,
    MAPPING,
    NONE,
    TRANSFORMER,
    frequency,
    instance,
    number,
    one_of,
)
from coview.utils.warn import same_work
from coview.views.checks import check_same_order
from coview.views.inputs import ViewInput
from coview.views.views import Views

__all__ = ["TableViews"]


class TableViews(RawTransformer):
    """Turn a table into views built from text columns and groups of other columns.

    `TextViews`, `ColumnViews` and `EmbeddingViews` on one table, so that a pipeline that starts here takes raw tables
    and a model file carries all that it needs.

    Parameters
    ----------
    text : mapping of view to column, column, list of columns, or None, default=None
        Views made of the words of a column, ``{"words": "body"}``; ``"body"`` is ``{"body": "body"}``.
    columns : mapping of view to columns, or None, default=None
        Views made of groups of columns, ``{"place": ["venue", "country"]}``; numbers stay numbers, categories
        become indicators, dates become years, each kind in a view of its own. A column of vectors, such as
        embeddings, is a dense view: ``{"image": "vector"}``.
    tokens : mapping of view to column or to (column, separator), column, list of columns, or None, default=None
        Views made of the items of a column of lists, ``{"tags": "tags"}``; see `TextViews`. Where most items are ids of
        the rows, as in ``tokens={"cites": "cites"}, id="key"``, the view is links among the objects.
    vectorizer : scikit-learn vectorizer, mapping of view to vectorizer, or None, default=None
        Cloned for each view of text. Views without one, and None, use a `TextVectorizer`; see `TextViews`.
    stop_words : str, list of str or None, default="auto"
        Words to leave out of texts: those of a language ("english" or "en") or of several ("en+de"), a list, or none.
        "auto" takes the languages that the texts are in; see `TextViews`.
    min_df : int, float or "auto", default="auto"
        Least number (or share) of texts that a word must be in; see `TextViews`. "auto" keeps all items of lists that
        are mostly ids of the rows, since most objects may be linked once.
    max_df : int, float or "auto", default="auto"
        Largest number (or share) of texts that a word may be in; see `TextViews`.
    impute : {"median", "mean"}, float or None, default="median"
        What stands for a number that is missing among others of a view; None refuses it.
    embeddings : EmbeddingViews or None, default=None
        Views made of texts or images by an encoder, ``EmbeddingViews(encode, {"meaning": "body"})``. After a model was
        loaded from a file, the encoder is set again: ``set_params(tableviews__embeddings__encoder=encode)``.
    id : str or None, default=None
        Column that names the objects. Without it a frame's own index does, where it has one.

    Attributes
    ----------
    text_ : TextViews or None
        The fitted part that makes views of text.
    columns_ : ColumnViews or None
        The fitted part that makes views of columns.
    embeddings_ : EmbeddingViews or None
        The fitted part that makes views by an encoder.
    vectorizers_ : dict
        The fitted vectorizer of each view of text.
    view_names_ : list of str
        Names of the views, those of text first, those of an encoder last.

    Examples
    --------
    >>> from coview import TableViews
    >>> table = {"key": ["p1", "p2"], "body": ["red fox", "blue sea"], "year": [1999, 2007]}
    >>> TableViews(text={"words": "body"}, columns={"meta": ["year"]}, id="key").fit_transform(table)
    Views of 2 rows
      words  2 x 4  sparse int64  50.0 % non-zero
      meta   2 x 1  dense int64   100.0 % non-zero
    """

    _input_tags = ("string", "categorical", "allow_nan")

    embeddings_: EmbeddingViews | None = None  # also of models that were written before there were any
    _fitted_state = {
        "view_names_": rules.view_names(),
        "text_": rules.or_none(rules.estimator(methods=["raw_texts", "view_inputs"])),
        "columns_": rules.or_none(rules.estimator(methods=["transform", "view_inputs"])),
        "embeddings_": rules.optional(rules.or_none(rules.estimator(methods=["raw_texts", "view_inputs"]))),
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
        "impute": one_of("median", "mean") | number(least=None) | NONE,
        "embeddings": instance(EmbeddingViews) | NONE,
        "id": instance(str, int) | NONE,
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
        impute: Any = "median",
        embeddings: EmbeddingViews | None = None,
        id: Any = None,
    ) -> None:
        self.text = text
        self.columns = columns
        self.tokens = tokens
        self.vectorizer = vectorizer
        self.stop_words = stop_words
        self.min_df = min_df
        self.max_df = max_df
        self.impute = impute
        self.embeddings = embeddings
        self.id = id

    def fit(self, X: Any, y: Any = None) -> TableViews:
        """Learn the vocabularies and categories."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Views:
        """Learn the vocabularies and categories and return the views."""
        check_same_order(X, y, "y")
        if not self.text and not self.columns and not self.tokens and self.embeddings is None:
            raise ViewsError(
                "TableViews needs text={view: column}, tokens={view: column}, columns={view: [column, ...]} or "
                "embeddings=EmbeddingViews(...), got none of them."
            )
        text, tokens = columns_by_view("text", self.text), columns_by_view("tokens", self.tokens)
        groups = column_groups("columns", self.columns) if self.columns else {}
        embedded = {} if self.embeddings is None else columns_by_view("columns", self.embeddings.columns)
        named = [*text, *tokens, *groups, *embedded]
        twice = [view for view in named if named.count(view) > 1]
        if twice:
            where = "text, tokens, columns and embeddings"
            raise ViewsError(f"View {twice[0]!r} is named in two of {where}. Rename one of them.")
        table = as_table(X, "TableViews")
        ids = self._ids(table)
        self.text_ = None
        if text or tokens:
            frequencies = {"min_df": self.min_df, "max_df": self.max_df}
            self.text_ = TextViews(text, self.vectorizer, tokens=tokens, stop_words=self.stop_words, **frequencies)
        self.columns_ = ColumnViews(groups, impute=self.impute) if groups else None
        self.embeddings_ = None
        if self.embeddings is not None:
            if not embedded:  # the names and the classes of the objects may be texts, too
                raise ViewsError(
                    "TableViews needs the columns to embed by name, such as embeddings=EmbeddingViews(encode, "
                    '{"meaning": "body"}).'
                )
            self.embeddings_ = clone(self.embeddings)
        parts = []
        for part in (self.text_, self.columns_, self.embeddings_):
            if part is not None:
                with same_work(part):
                    parts.append(part.fit_transform(replace(table, ids=ids)))
        self.vectorizers_ = self.text_.vectorizers_ if self.text_ is not None else {}
        self.view_names_ = [name for part in parts for name in part.names]
        self._remember_columns(table)
        return _together(parts, ids)

    def transform(self, X: Any) -> Views:
        """Return the views whose columns X has; at least one is required."""
        check_is_fitted(self)
        table = as_table(X, "TableViews")
        ids = self._ids(table, needed=False)
        wanted = [(part, list(chain.from_iterable(part._columns_of_views().values()))) for part in self._parts()]
        parts = [part.transform(table) for part, names in wanted if any(name in table.sources for name in names)]
        if not parts:
            table.check_has_any([name for _, names in wanted for name in names])
        self._warn_of_renamed(table)
        return _together(parts, ids)

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
        known = [] if self.text_ is None else list(self.text_.columns_.values())
        more = {view: name for view, name in self.embeddings_.columns_.items() if name not in known}
        return {**texts, **{view: part for view, part in self.embeddings_.raw_texts(X).items() if view in more}}

    def view_inputs(self) -> dict[str, ViewInput]:
        """Describe the resulting views for `inspect`."""
        check_is_fitted(self)
        return {view: expected for part in self._parts() for view, expected in part.view_inputs().items()}

    def text_columns(self) -> list[Any]:
        """Return the columns whose texts are read as words, or by an encoder; lists are none of them."""
        check_is_fitted(self)
        return [name for part in self._parts() for name in part.text_columns()]

    def list_columns(self) -> dict[Any, Callable[[str], list[str]]]:
        """Return the columns that are read as lists, each with the function that splits its texts into items."""
        check_is_fitted(self)
        return {} if self.text_ is None else self.text_.list_columns()

    def _columns_of_views(self) -> dict[str, list[Any]]:
        return {view: names for part in self._parts() for view, names in part._columns_of_views().items()}

    def _other_columns(self) -> list[Any]:
        return [] if self.id is None else [self.id]

    def _could_be(self, view: str, table: Table, name: Any) -> bool:
        owner = next(part for part in self._parts() if view in part._columns_of_views())
        return bool(owner._could_be(view, table, name))

    def _parts(self) -> list[Any]:
        return [part for part in (self.text_, self.columns_, self._encoding()) if part is not None]

    def _encoding(self) -> EmbeddingViews | None:
        """The part that makes views by an encoder, which may have been set again since the fit."""
        if self.embeddings_ is None or self.embeddings is None:
            return None
        given = {name: value for name, value in self.embeddings.get_params(deep=False).items() if name != "columns"}
        return copy(self.embeddings_).set_params(**given)

    def _ids(self, table: Table, needed: bool = True) -> np.ndarray | None:
        if self.id is None or (not needed and self.id not in table.sources):
            return table.ids
        table.check_has([self.id], " to name the objects")
        column = table.column(self.id)
        gaps = np.flatnonzero(column.missing)
        if gaps.size:
            raise _unfit_ids(
                f"Column {self.id!r} names the objects, but row {gaps[0]} (counting from 0) has no value.", needed
            )
        ids = column.values if column.kind == "number" else np.array([str(value) for value in column.values])
        values, counts = np.unique(ids, return_counts=True)
        if counts.max() > 1:
            twice = short(values[counts.argmax()].item())
            raise _unfit_ids(f"Column {self.id!r} names the objects, but {twice} is in {counts.max()} rows.", needed)
        return ids


def _unfit_ids(problem: str, fitting: bool) -> ViewsError:
    """Return the error for a column that cannot name the objects; after the fit, another one cannot be chosen."""
    if not fitting:
        advice = "Give each row a value of its own, or leave the column out: rows are then numbered from 0."
        return ViewsError(problem, python=advice)
    own, rest = "a column with a value of its own in each row", "to number the rows"
    one = "If rows belong to one object, make one row of them first."
    return ViewsError(
        problem,
        python=f"Name {own}, or pass id=None {rest}. {one}",
        cli=f"Name {own}, or leave out --id {rest}. {one}",
    )


def _together(parts: list[Views], ids: np.ndarray | None) -> Views:
    arrays = {name: array for part in parts for name, array in part.items()}
    names = {name: columns for part in parts for name, columns in part.feature_names.items()}
    return Views(arrays, ids=ids, present=np.hstack([part.present for part in parts]), feature_names=names)

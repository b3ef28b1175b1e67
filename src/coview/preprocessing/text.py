"""`TextViews`: raw texts and lists become views of counts, one vectorizer each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from coview.exceptions import ParameterError, ViewsError
from coview.preprocessing.base import warn_of_emptied_rows
from coview.preprocessing.raw_columns import Column, RawTransformer, Table, as_table, check_column_name, columns_by_view
from coview.preprocessing.stop_words import detect_languages
from coview.preprocessing.vectorizer import STOPPED, TextVectorizer, find_separators
from coview.utils import fitted_state as rules
from coview.utils.inner import asking
from coview.utils.messages import cut, did_you_mean, listed, short
from coview.utils.parameters import COLUMNS, MAPPING, NONE, TRANSFORMER, frequency, one_of
from coview.views.arrays import scatter_rows
from coview.views.checks import check_same_order
from coview.views.inputs import ViewInput
from coview.views.views import Views

__all__ = ["TextViews"]

_BARE = "text"  # the column, and so the view, that a plain list of texts becomes
_MANY = 100  # texts from which words that are in one text only, or in most, are left out
_LIST_SEPARATORS = (",", ";", "|", "\n")  # between the items of lists that are no texts

Separator = str | tuple[str, ...]


class _Lists(NamedTuple):
    """A column of lists, and what stands between their items."""

    column: Any
    separator: Separator
    recognized: bool


class TextViews(RawTransformer):
    """Turn text columns into views, each with its own vectorizer.

    By default words are counted by `TextVectorizer`: without the function words of the language that the texts are in,
    and without words that hardly any or most of the texts contain. An object whose text is missing (None or NaN) lacks
    that view; an empty text is a view without words.

    Parameters
    ----------
    columns : mapping of view to column, column, list of columns, or None, default=None
        Which column makes which view. By default every column of text is a view of the same name; a plain list of
        texts is one view named "text".
    vectorizer : scikit-learn vectorizer, mapping of view to vectorizer, or None, default=None
        Cloned for each view. Views without one, and None, use a `TextVectorizer` with the parameters below.
    tokens : mapping of view to column or to (column, separator), column, list of columns, or None, default=None
        Views made of the items of lists, ``{"tags": "tags"}``: texts such as "red, blue", whose separator is recognized
        or given, or lists of texts or whole numbers, such as ids. Where it is recognized, alternatives ("python3 |
        python3-dev") are counted by themselves and required versions ("libc6 (>= 2.14)") are left out. Items, like
        words, are bounded by `min_df` and `max_df`.
    stop_words : str, list of str or None, default="auto"
        Words to leave out: those of a language ("english" or "en"), of several ("en+de": of the first in all texts, of
        the others in texts that are in them), a list, or none. "auto" takes the languages of each view's texts, and
        those of the other texts where a view's are too short to tell.
    min_df : int, float or "auto", default="auto"
        Least number (or share) of texts that a word must be in. "auto" is 1 below 100 texts, 2 below 5,000, 3 below
        50,000 and 5 above; of `tokens` that are mostly ids of the rows, which are links, it is 1.
    max_df : int, float or "auto", default="auto"
        Largest number (or share) of texts that a word may be in. "auto" is a half, and all below 100 texts and of
        `tokens` that are mostly ids of the rows.

    Attributes
    ----------
    vectorizers_ : dict
        The fitted vectorizer of each view.
    columns_ : dict
        The column of each view.
    stop_words_ : dict
        The languages whose function words are left out ("english", "english+german"), or the list of words, by view;
        None where none are.
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

    _fitted_state = {
        "view_names_": rules.view_names(),
        "columns_": rules.by_view(rules.custom(check_column_name)),
        "vectorizers_": rules.by_view(rules.estimator(methods=["transform"])),
        "stop_words_": rules.optional(rules.by_view(rules.plain())),
    }
    _parameters = {
        "columns": COLUMNS,
        "vectorizer": TRANSFORMER | MAPPING | NONE,
        "tokens": COLUMNS,
        "stop_words": one_of("auto") | STOPPED | NONE,
        "min_df": frequency() | one_of("auto"),
        "max_df": frequency() | one_of("auto"),
    }

    def __init__(
        self,
        columns: Any = None,
        vectorizer: Any = None,
        *,
        tokens: Any = None,
        stop_words: Any = "auto",
        min_df: Any = "auto",
        max_df: Any = "auto",
    ) -> None:
        self.columns = columns
        self.vectorizer = vectorizer
        self.tokens = tokens
        self.stop_words = stop_words
        self.min_df = min_df
        self.max_df = max_df

    def fit(self, X: Any, y: Any = None) -> TextViews:
        """Learn the vocabulary of each view."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Views:
        """Learn the vocabulary of each view and return the views."""
        check_same_order(X, y, "y")
        table = self._table(X, self.columns)
        lists = self._chosen_lists(table)
        columns = {**self._chosen_columns(table, [chosen.column for chosen in lists.values()])}
        for view, chosen in lists.items():
            if view in columns:
                raise ViewsError(f"View {view!r} is named in both columns and tokens. Rename one of them.")
            columns[view] = chosen.column
        read = {
            view: _text_column(table, name, lists[view].separator if view in lists else None, view in lists)
            for view, name in columns.items()
        }
        written = {
            view: np.array([not gap and not _is_blank(value) for value, gap in zip(column.values, column.missing)])
            for view, column in read.items()
        }
        for view, rows in written.items():
            if not rows.any():
                raise ViewsError(f"Column {columns[view]!r} of view {view!r} has no text in any row.")
        texts = {view: column.values[~column.missing].tolist() for view, column in read.items()}
        vectorizers = self._chosen_vectorizers(texts, lists, table.ids)
        counts = {}
        for view, column in read.items():
            try:
                vectorizers[view], matrix = _fit_counts(vectorizers[view], texts[view], self._own_choices())
            except ValueError as error:
                why = cut(str(error), 200)
                raise ViewsError(f"View {view!r} cannot be built from column {columns[view]!r}: {why}") from error
            counts[view] = (matrix, column.missing)
        self._remember_columns(table)
        self.columns_ = columns
        self.vectorizers_ = vectorizers
        self.stop_words_ = {
            view: one.stop_words if isinstance(one, TextVectorizer) else None for view, one in vectorizers.items()
        }
        self.view_names_ = list(columns)
        views = self._views(table, counts)
        advice = " A smaller min_df (--min-df 1), a larger max_df or other stop_words keep more words."
        warn_of_emptied_rows(written, views, advice=advice)
        return views

    def transform(self, X: Any) -> Views:
        """Return the views whose columns X has; at least one is required."""
        check_is_fitted(self)
        table = self._table(X, self.columns_)
        columns = {view: name for view, name in self.columns_.items() if name in table.sources}
        if not columns:
            table.check_has_any(list(self.columns_.values()))
        if table is not X:  # else TableViews, which knows all columns, has looked
            self._warn_of_renamed(table)
        counts = {}
        for view in columns:
            column = self._read(table, view)
            counts[view] = (self._counts(view, column.values[~column.missing].tolist()), column.missing)
        return self._views(table, counts)

    def raw_texts(self, X: Any) -> dict[str, list[str]]:
        """Return the texts from which each view is built; empty if an object has none.

        Parameters
        ----------
        X : table or list of texts
            What `transform` takes.
        """
        check_is_fitted(self)
        table = self._table(X, self.columns_)
        read = {view: self._read(table, view) for view, name in self.columns_.items() if name in table.sources}
        return {view: [v if isinstance(v, str) else "" for v in column.values] for view, column in read.items()}

    def view_inputs(self) -> dict[str, ViewInput]:
        """Describe the resulting views for `inspect`."""
        check_is_fitted(self)
        return {view: _input(view, vectorizer) for view, vectorizer in self.vectorizers_.items()}

    def text_columns(self) -> list[Any]:
        """Return the columns whose words are counted; lists are none of them, nor are images."""
        check_is_fitted(self)
        lists = self.list_columns()
        words = [view for view, vectorizer in self.vectorizers_.items() if _input(view, vectorizer).vectorizer]
        return [self.columns_[view] for view in words if self.columns_[view] not in lists]

    def list_columns(self) -> dict[Any, Callable[[str], list[str]]]:
        """Return the columns that are read as lists, each with the function that splits its texts into items.

        Examples
        --------
        >>> front = TextViews(tokens={"tags": "tags"}).fit({"tags": ["red; blue", "red"]})
        >>> front.list_columns()["tags"]("blue; green")
        ['blue', 'green']
        """
        check_is_fitted(self)
        return {
            self.columns_[view]: one.build_tokenizer()
            for view, one in self.vectorizers_.items()
            if isinstance(one, TextVectorizer) and one.separator is not None
        }

    def _counts(self, view: str, texts: list[str]) -> Any:
        """Counts of texts, or of images, by the fitted vectorizer of a view; vectorizers refuse none at all."""
        vectorizer = self.vectorizers_[view]
        expected = _input(view, vectorizer)
        if not texts and expected.vectorizer is None:  # an empty text is no image
            return sparse.csr_array((0, expected.n_features))
        with asking(vectorizer, f"view {view!r}"):
            return vectorizer.transform(texts or [""])

    def _table(self, X: Any, columns: Any) -> Table:
        one = isinstance(columns, Mapping) and len(columns) == 1
        return as_table(X, "TextViews", bare=next(iter(columns.values())) if one else _BARE)

    def _read(self, table: Table, view: str) -> Column:
        """Texts of a fitted view."""
        separator = getattr(self.vectorizers_[view], "separator", None)  # only a TextVectorizer reads lists
        return _text_column(table, self.columns_[view], separator, separator is not None)

    def _chosen_lists(self, table: Table) -> dict[str, _Lists]:
        """Return column and separator of each view that is made of lists."""
        chosen = {}
        for view, source in columns_by_view("tokens", self.tokens).items():
            pair = source if isinstance(source, (tuple, list)) else (source, None)
            if len(pair) != 2:
                raise ParameterError(
                    f"must give view {view!r} a column or (column, separator), got {short(source)}.", parameter="tokens"
                )
            name, separator = pair
            table.check_has([name], f" for view {view!r}")
            recognized = separator is None
            chosen[view] = _Lists(name, _separator_of(table.items(name)) if recognized else separator, recognized)
        return chosen

    def _chosen_columns(self, table: Table, taken: list[Any]) -> dict[str, Any]:
        if self.columns is None:
            free = [name for name in table.names if name not in taken]
            chosen = {str(name): name for name in free if table.column(name).kind == "text"}
            if not chosen and not taken:
                raise ViewsError(f"{table.who} found no column of text; the columns are {listed(table.names)}.")
            return chosen
        chosen = columns_by_view("columns", self.columns)
        if not chosen and not taken:
            raise ViewsError(f"{table.who} needs at least one column, got none.")
        for view, name in chosen.items():
            table.check_has([name], f" for view {view!r}")
        return chosen

    def _chosen_vectorizers(
        self, texts: dict[str, list[str]], lists: dict[str, _Lists], ids: np.ndarray | None
    ) -> dict[str, Any]:
        wanted = self.vectorizer if isinstance(self.vectorizer, Mapping) else dict.fromkeys(texts, self.vectorizer)
        for view in wanted:
            if view not in texts:
                raise ViewsError(
                    f"vectorizer names view {view!r}, but the views are {listed(texts)}.{did_you_mean(view, texts)}"
                )
        ours = [view for view in texts if view in lists or wanted.get(view) is None]
        languages = self._languages({view: texts[view] for view in ours if view not in lists})
        vectorizers = {view: clone(wanted[view]) for view in texts if view not in ours}
        for view in ours:
            n = len(texts[view])
            vectorizers[view] = TextVectorizer(
                languages.get(view),
                separator=lists[view].separator if view in lists else None,
                drop_versions=view in lists and lists[view].recognized,
                min_df=_least_frequency(n) if self.min_df == "auto" else self.min_df,
                max_df=(0.5 if n >= _MANY else 1.0) if self.max_df == "auto" else self.max_df,
            )
            if view in lists and n >= _MANY and _are_ids(texts[view], vectorizers[view], ids):
                bounds = {"min_df": (self.min_df, 1), "max_df": (self.max_df, 1.0)}
                vectorizers[view].set_params(
                    **{name: all_ for name, (asked, all_) in bounds.items() if asked == "auto"}
                )
        return {view: vectorizers[view] for view in texts}

    def _own_choices(self) -> dict[str, Any]:
        """What a vectorizer that is left without any word does without: settings that nobody asked for."""
        without = {"stop_words": None, "min_df": 1, "max_df": 1.0}
        asked = {"stop_words": self.stop_words, "min_df": self.min_df, "max_df": self.max_df}
        return {
            name: value for name, value in without.items() if isinstance(asked[name], str) and asked[name] == "auto"
        }

    def _languages(self, texts: dict[str, list[str]]) -> dict[str, Any]:
        """Stop words of each view: those asked for, else those of its own language, or of the others'."""
        if not isinstance(self.stop_words, str) or self.stop_words != "auto":
            return dict.fromkeys(texts, self.stop_words)
        found = {view: detect_languages(values) for view, values in texts.items()}
        second: dict[str, dict[str, None]] = {}  # of views with the same first language: short texts show it less
        for own, *others in filter(None, found.values()):
            second.setdefault(own, {}).update(dict.fromkeys(others))
        common = {languages[0] for languages in found.values() if languages}
        first = {view: languages[0] if languages else None for view, languages in found.items()}
        first = {view: own or (min(common) if len(common) == 1 else None) for view, own in first.items()}
        return {view: own and "+".join([own, *second[own]]) for view, own in first.items()}

    def _views(self, table: Table, counts: Mapping[str, tuple[Any, np.ndarray]]) -> Views:
        arrays, present, names = {}, {}, {}
        for view, (matrix, missing) in counts.items():
            present[view] = ~missing
            if missing.any():
                matrix = scatter_rows(matrix, np.where(missing, -1, np.cumsum(~missing) - 1))
            arrays[view] = matrix
            columns = _feature_names(self.vectorizers_[view])
            if columns is not None:
                names[view] = columns
        return Views(arrays, ids=table.ids, present=present, feature_names=names)


def _fit_counts(vectorizer: Any, texts: list[str], own_choices: dict[str, Any]) -> tuple[Any, Any]:
    """Fit a vectorizer; ours without the settings of its own choice where these would leave no word at all."""
    try:
        return vectorizer, vectorizer.fit_transform(texts)
    except ValueError:
        if not isinstance(vectorizer, TextVectorizer) or not own_choices:
            raise
        vectorizer = clone(vectorizer).set_params(**own_choices)
        return vectorizer, vectorizer.fit_transform(texts)


def _least_frequency(n_texts: int) -> int:
    return 1 + sum(n_texts >= limit for limit in (_MANY, 5_000)) + 2 * (n_texts >= 50_000)


def _are_ids(texts: list[str], vectorizer: TextVectorizer, ids: np.ndarray | None) -> bool:
    """Tell whether most items of lists are ids of the rows: links, of which none is too rare.

    Examples
    --------
    >>> lists = TextVectorizer(separator=",")
    >>> _are_ids(["p2, p3", "p3, q7"], lists, np.array(["p1", "p2", "p3"])), _are_ids(["p2", "red"], lists, None)
    (True, False)
    """
    if ids is None:
        return False
    split = vectorizer.build_tokenizer()
    items = {item for text in texts for item in split(text)}
    return 2 * len(items.intersection(map(str, ids.tolist()))) > len(items)


def _text_column(table: Table, name: Any, separator: Separator | None, lists: bool) -> Column:
    column = table.items(name) if lists else table.column(name)
    values = column.values[~column.missing]
    if column.kind == "text" or all(isinstance(value, str) for value in values):
        return column
    if lists and _has_lists(column):
        between = str(separator[0] if isinstance(separator, tuple) else separator)
        joined = [value if gap else between.join(value) for value, gap in zip(column.values, column.missing)]
        return replace(column, kind="text", values=np.array(joined, dtype=object))
    named = "tokens" if lists else "text"
    what, instead = "texts or lists of items" if lists else "text", f"columns= in place of {named}="
    raise ViewsError(
        f"{table.who} needs {what}, but column {name!r} holds {column.type_name}.",
        python="Turn it into text, or "
        + ("use ColumnViews." if table.who == "TextViews" else f"name it in {instead}."),
        cli=f"Turn it into text, or use --columns in place of --{named}.",
    )


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip()


def _has_lists(column: Column) -> bool:
    values = column.values[~column.missing]
    # arrays are what pandas makes of the lists of a Parquet file
    return all(
        isinstance(value, (list, tuple, np.ndarray)) and all(isinstance(item, str) for item in value)
        for value in values
    )


def _separator_of(column: Column) -> Separator:
    """Return what stands between the items of a column of lists: a sign that is in no item where the lists are real."""
    values = column.values[~column.missing]
    if not _has_lists(column):
        return find_separators([value for value in values if isinstance(value, str)])
    items = {item for value in values for item in value}
    return next((sign for sign in _LIST_SEPARATORS if not any(sign in item for item in items)), _LIST_SEPARATORS[-1])


def _feature_names(vectorizer: Any) -> np.ndarray | None:
    """Names of the columns; a vectorizer that hashes has none."""
    return vectorizer.get_feature_names_out() if hasattr(vectorizer, "get_feature_names_out") else None


def _input(view: str, vectorizer: Any) -> ViewInput:
    names = _feature_names(vectorizer)
    reads_text = hasattr(vectorizer, "build_analyzer")  # else it reads images
    width = int(getattr(vectorizer, "n_features", 0)) if names is None else len(names)
    return ViewInput(view, width, names, vectorizer if reads_text else None)

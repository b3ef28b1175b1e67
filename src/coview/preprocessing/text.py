"""`TextViews`: raw texts and lists become views of counts, one vectorizer each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from coview.exceptions import ParameterError, ViewsError
from coview.preprocessing.base import insert_absent, warn_of_emptied_rows
from coview.preprocessing.columns import RawTransformer, Table, check_column_name, read_columns
from coview.preprocessing.stop_words import detect_language
from coview.preprocessing.vectorizer import STOPPED, TextVectorizer, find_separators, read_noted_list
from coview.utils import fitted_state as rules
from coview.utils.inner import asking
from coview.utils.messages import cut, did_you_mean, listed, short
from coview.utils.parameters import COLUMNS, MAPPING, NONE, TRANSFORMER, frequency, one_of
from coview.views.inputs import ViewInput
from coview.views.views import Views, check_same_order

__all__ = ["TextViews"]

Separator = str | tuple[str, ...]


class TextViews(RawTransformer):
    """Turn text columns into views, each with its own vectorizer.

    By default words are counted by `TextVectorizer`: without the function words of the language that the texts are in,
    and without words that hardly any or most of the texts contain; in short texts, character n-grams are counted beside
    words. An object whose text is missing (None or NaN) lacks
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
        or given, or as "['red', 'blue']", or lists of texts or whole numbers, such as ids. Where it is recognized,
        alternatives ("python3 | python3-dev") are counted by themselves and required versions ("libc6 (>= 2.14)") are
        left out. Items, like words, are bounded by `min_df` and `max_df`.
    stop_words : str, list of str or None, default="auto"
        Words to leave out: those of a language ("english" or "en"), a list, or none. "auto" takes the language of each
        view's texts, and that of the other texts where a view's are too short to tell.
    min_df : int, float or "auto", default="auto"
        Least number (or share) of texts that a word must be in. "auto" is 1 below 100 texts, 2 below 50,000 and 5
        above, but a text without any such word keeps those that it has; of `tokens` that are mostly ids of the rows,
        which are links, it is 1.
    max_df : int, float or "auto", default="auto"
        Largest number (or share) of texts that a word may be in. "auto" is a half, but a text that has only words of
        most texts keeps them; it is all below 100 texts and of `tokens` that are mostly ids of the rows.

    Attributes
    ----------
    vectorizers_ : dict
        The fitted vectorizer of each view.
    columns_ : dict
        The column of each view.
    stop_words_ : dict
        The language whose function words are left out, or the list of words, by view; None where none are.
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
        "stop_words_": rules.optional(rules.by_view(rules.anything())),
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
        table = self._as_table(X, self.columns)
        lists = self._chosen_lists(table)
        columns = self._chosen_columns(table, [column for column, _ in lists.values()])
        for view, (column, _) in lists.items():
            if view in columns:
                raise ViewsError(f"View {view!r} is named in two of text, columns and tokens. Rename one of them.")
            columns[view] = column
        # recognized over the whole column: one list alone may have a single item
        separators = {view: given or find_separators(table.cells(column)) for view, (column, given) in lists.items()}
        cells = {view: _read_texts(table, name, separators.get(view)) for view, name in columns.items()}
        for view, texts in cells.items():
            # said here with the name of the column; a vectorizer would only speak of an empty vocabulary
            if not any(text and text.strip() for text in texts):
                raise ViewsError(f"Column {columns[view]!r} of view {view!r} has no text in any row.")
        self.columns_ = columns
        self.vectorizers_ = self._chosen_vectorizers(cells, separators, table.ids)
        for view, (_, separator) in lists.items():
            # a separator that is given says how the items are written, so that nothing is taken off them
            self.vectorizers_[view].set_params(drop_versions=separator is None)
        counts = {}
        for view, texts in cells.items():
            try:
                counts[view] = self.vectorizers_[view].fit_transform([text for text in texts if text is not None])
            except ValueError as error:
                why = cut(str(error), 200)
                raise ViewsError(f"View {view!r} cannot be built from column {columns[view]!r}: {why}") from error
        self.stop_words_ = {
            view: one.stop_words if isinstance(one, TextVectorizer) else None for view, one in self.vectorizers_.items()
        }
        self.view_names_ = list(columns)
        views = self._views(table, cells, counts)
        # an empty text was empty before: it is not worth a warning
        written = {view: np.array([bool(text and text.strip()) for text in texts]) for view, texts in cells.items()}
        advice = " A smaller min_df (min_df=1), a larger max_df or other stop_words keep more words."
        warn_of_emptied_rows(written, views, advice=advice)
        return views

    def transform(self, X: Any) -> Views:
        """Return the views whose columns X has; at least one is required."""
        cells = self._read(X)
        table = self._as_table(X, self.columns_)
        table.check_has_any(list(self.columns_.values()))
        return self._views(table, cells, {view: self._counts(view, texts) for view, texts in cells.items()})

    def raw_texts(self, X: Any) -> dict[str, list[str]]:
        """Return the texts from which each view is built; empty if an object has none.

        Parameters
        ----------
        X : table or list of texts
            What `transform` takes.
        """
        return {view: [text or "" for text in texts] for view, texts in self._read(X).items()}

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

    def _counts(self, view: str, texts: list[Any]) -> Any:
        """Counts of texts, or of images, by the fitted vectorizer of a view; vectorizers refuse none at all."""
        vectorizer = self.vectorizers_[view]
        expected = _input(view, vectorizer)
        there = [text for text in texts if text is not None]
        if not there and expected.vectorizer is None:  # an empty text is no image
            return sparse.csr_array((0, expected.n_features))
        # a vectorizer of the user may fail on texts that it has not met, and does not know the name of the view
        with asking(vectorizer, f"view {view!r}"):
            return vectorizer.transform(there or [""])

    def _read(self, X: Any) -> dict[str, list[Any]]:
        """Texts of the fitted views of which a table has the column, None where there is none."""
        check_is_fitted(self)
        table = self._as_table(X, self.columns_)
        columns = {view: name for view, name in self.columns_.items() if name in table.sources}
        # only a TextVectorizer reads lists
        separators = {view: getattr(self.vectorizers_[view], "separator", None) for view in columns}
        return {view: _read_texts(table, name, separators[view]) for view, name in columns.items()}

    def _chosen_lists(self, table: Table) -> dict[str, tuple[Any, Separator | None]]:
        """Return column and separator, None where it is to be recognized, of each view that is made of lists."""
        chosen = {}
        for view, source in read_columns("tokens", self.tokens).items():
            pair = source if isinstance(source, tuple) else (source, None)
            if len(pair) != 2:
                raise ParameterError(
                    f"must give view {view!r} a column or (column, separator), got {short(source)}.", parameter="tokens"
                )
            table.check_has([pair[0]], f" for view {view!r}")
            chosen[view] = pair
        return chosen

    def _chosen_columns(self, table: Table, taken: list[Any]) -> dict[str, Any]:
        if self.columns is None:
            texts = [name for name in table.names if name not in taken and _holds_text(table.cells(name))]
            chosen = {str(name): name for name in texts}
        else:
            chosen = read_columns("columns", self.columns)
        if not chosen and not taken:
            raise ViewsError(f"A column of text is needed; the columns are {listed(table.names)}.")
        for view, name in chosen.items():
            table.check_has([name], f" for view {view!r}")
        return chosen

    def _chosen_vectorizers(
        self, cells: dict[str, list[Any]], separators: dict[str, Separator], ids: np.ndarray | None
    ) -> dict[str, Any]:
        wanted = self.vectorizer if isinstance(self.vectorizer, Mapping) else dict.fromkeys(cells, self.vectorizer)
        for view in wanted:
            if view not in cells:
                raise ViewsError(
                    f"vectorizer names view {view!r}, but the views are {listed(cells)}.{did_you_mean(view, cells)}"
                )
        ours = [view for view in cells if view in separators or wanted.get(view) is None]
        languages = self._languages({view: cells[view] for view in ours if view not in separators})
        vectorizers = {}
        for view, texts in cells.items():
            if view not in ours:
                vectorizers[view] = clone(wanted[view])
                continue
            made = TextVectorizer(
                languages.get(view),
                separator=separators.get(view),
                char_ngrams="auto",
                min_df=self.min_df,
                max_df=self.max_df,
            )
            if view in separators and _are_ids([text for text in texts if text is not None], made, ids):
                # no link is too rare to count, nor too common
                made.set_params(
                    min_df=1 if self.min_df == "auto" else self.min_df,
                    max_df=1.0 if self.max_df == "auto" else self.max_df,
                )
            vectorizers[view] = made
        return vectorizers

    def _languages(self, cells: dict[str, list[Any]]) -> dict[str, Any]:
        """Stop words of each view: those asked for, else those of its own language, or of the others'."""
        if not isinstance(self.stop_words, str) or self.stop_words != "auto":
            return dict.fromkeys(cells, self.stop_words)
        found = {view: detect_language(filter(None, texts)) for view, texts in cells.items()}
        # titles are too short to tell a language by, but are in that of the bodies
        known = set(filter(None, found.values()))
        common = known.pop() if len(known) == 1 else None
        return {view: language or common for view, language in found.items()}

    def _views(self, table: Table, cells: dict[str, list[Any]], counts: dict[str, Any]) -> Views:
        arrays, present, names = {}, {}, {}
        for view, matrix in counts.items():
            have = np.array([text is not None for text in cells[view]])
            # vectorizers were given only the texts that are there
            arrays[view] = insert_absent(matrix, have)
            present[view] = have
            columns = _feature_names(self.vectorizers_[view])
            if columns is not None:
                names[view] = columns
        return Views(arrays, ids=table.ids, present=present, feature_names=names)


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


def _holds_text(cells: list[Any]) -> bool:
    return all(cell is None or isinstance(cell, str) for cell in cells)


def _read_texts(table: Table, name: Any, separator: Separator | None) -> list[Any]:
    """Texts of a column, None where there is none; lists of items are joined by the separator."""
    cells = table.cells(name)
    if separator is not None:
        between = separator[0] if isinstance(separator, tuple) else separator
        cells = [between.join(map(str, cell)) if _is_list(cell) else cell for cell in cells]
        cells = ["" if isinstance(cell, str) and read_noted_list(cell) == [] else cell for cell in cells]
    if not _holds_text(cells):
        other = next(cell for cell in cells if cell is not None and not isinstance(cell, str))
        named = "text" if separator is None else "tokens"
        raise ViewsError(
            f"Column {name!r} holds {type(other).__name__}, not {'text' if separator is None else 'lists of items'}.",
            python=f"Turn it into text, or make a view of it by TableViews(columns=...) in place of {named}=.",
            cli=f"Turn it into text, or use --columns in place of --{named}.",
        )
    return cells


def _is_list(cell: Any) -> bool:
    """Tell whether a cell is a list of items: texts or whole numbers."""
    # arrays are what pandas makes of the lists of a Parquet file
    return isinstance(cell, (list, tuple, np.ndarray)) and all(
        isinstance(item, (str, int, np.integer)) and not isinstance(item, bool) for item in cell
    )


def _feature_names(vectorizer: Any) -> np.ndarray | None:
    """Names of the columns; a vectorizer that hashes has none."""
    return vectorizer.get_feature_names_out() if hasattr(vectorizer, "get_feature_names_out") else None


def _input(view: str, vectorizer: Any) -> ViewInput:
    names = _feature_names(vectorizer)
    reads_text = hasattr(vectorizer, "build_analyzer")  # else it reads images
    width = int(getattr(vectorizer, "n_features", 0)) if names is None else len(names)
    return ViewInput(view, width, names, vectorizer if reads_text else None)

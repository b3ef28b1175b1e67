"""From what a user searches with to views: raw texts, images, matrices, mappings, tables."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from coview.exceptions import ViewsError
from coview.preprocessing.columns import is_rows
from coview.preprocessing.embeddings import EmbeddingViews
from coview.preprocessing.stop_words import STOP_WORDS, detect_language
from coview.preprocessing.tables import TableViews
from coview.preprocessing.text import TextViews
from coview.preprocessing.vectorizer import TextVectorizer
from coview.utils.messages import listed, short
from coview.views.inputs import ViewInput
from coview.views.views import Views

__all__ = [
    "QueryReader",
    "ReadQuery",
    "is_raw",
    "is_table",
    "is_text",
    "list_known_words",
    "make_unknown_error",
    "split_words",
]

_TOKEN = re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_PUNCTUATION = ".,;:!?()[]{}<>\"'`“”„‘’«»…"  # around words
_ANALYZE = TextVectorizer().build_analyzer()


def split_words(text: str) -> list[str]:
    """Return the words of a text as they were typed, without the punctuation around them.

    Examples
    --------
    >>> split_words('A "real-time" C++ library.')
    ['A', 'real-time', 'C++', 'library']
    """
    return [word for word in (piece.strip(_PUNCTUATION) for piece in text.split()) if word]


def is_raw(query: Any) -> bool:
    """Tell texts, paths and images from matrices and views.

    Examples
    --------
    >>> import numpy as np
    >>> is_raw("some words"), is_raw(["a text", "another"]), is_raw(np.zeros((8, 8, 3))), is_raw(np.eye(3))
    (True, True, True, False)
    """
    if isinstance(query, (str, os.PathLike)) or (isinstance(query, np.ndarray) and query.ndim == 3):
        return True
    return isinstance(query, (list, tuple)) and len(query) > 0 and all(is_raw(part) for part in query)


def is_text(query: Any) -> bool:
    """Tell a text, or a list of texts, from all else.

    Examples
    --------
    >>> is_text("some words"), is_text(["a text", "another"]), is_text([])
    (True, True, False)
    """
    return isinstance(query, str) or (
        isinstance(query, (list, tuple)) and len(query) > 0 and all(isinstance(part, str) for part in query)
    )


def is_table(query: Any) -> bool:
    """Tell a table, as a data frame, a mapping of columns or a list of rows, from all else.

    Examples
    --------
    >>> is_table({"body": ["red fox"]}), is_table([{"body": "red fox"}]), is_table("red fox")
    (True, True, False)
    """
    return isinstance(query, Mapping) or is_rows(query) or (not isinstance(query, Views) and hasattr(query, "columns"))


@dataclass(frozen=True)
class ReadQuery:
    """One query or several, as a retriever searches with them."""

    views: Views
    texts: dict[str, list[str]]  # raw texts, by view
    target: str | None  # view to search in; None for all of them
    words: sparse.csr_array | None = None  # weights of their words, where shared words count
    ignored: list[list[str]] = field(default_factory=list)  # words of texts that nothing knows, one list for each query
    unknown: np.ndarray | None = None  # rows of a table of which nothing is known, where others are


class QueryReader:
    """Turns what a user searches with into views, and finds the words in it that no view knows.

    Parameters
    ----------
    front : estimator or None
        The step that makes views of tables, where there is one.
    inputs : mapping of ViewInput
        What the model takes, by view: raw text becomes a row by the view's vectorizer, or is counted over the names of
        its features.

    Examples
    --------
    >>> reader = QueryReader(None, {"words": ViewInput("words", 2, np.array(["fox", "sea"]))})
    >>> reader.read("A fox, two foxes", "words")["words"].toarray()
    array([[1., 0.]])
    >>> reader.ignored("A fox, two foxes", ["words"], lambda words: False)
    ['two', 'foxes']
    """

    def __init__(self, front: Any, inputs: Mapping[str, ViewInput]) -> None:
        self.front, self.inputs = front, dict(inputs)
        self._columns: dict[str, dict[str, int]] = {}
        self._analyzers: dict[str, Callable[[str], list[str]]] = {}

    @property
    def text_views(self) -> list[str]:
        """Names of the views that read text."""
        return [
            name for name, view in self.inputs.items() if view.vectorizer is not None or view.feature_names is not None
        ]

    @property
    def feature_names(self) -> dict[str, Any]:
        """Names of the features, by view, of the views that have some."""
        names = {name: view.feature_names for name, view in self.inputs.items()}
        return {name: words for name, words in names.items() if words is not None}

    def read(self, query: Any, source: str | None) -> Views:
        """Return a query as views: of raw texts or images, of a matrix, of a mapping, of a table, or views as they are.

        Parameters
        ----------
        query : str, path, image, list of these, matrix, mapping, Views or table
            What to search with; a vector is one object.
        source : str or None
            Name of the view that raw queries and matrices belong to.
        """
        names = list(self.inputs)
        if isinstance(query, Views):
            return query
        if is_raw(query):
            single = isinstance(query, (str, os.PathLike, np.ndarray))
            view = self.inputs[_needed(source, names, "raw queries")]
            # a view of embeddings has no vectorizer: its encoder reads the query
            embedded = self._embedded([query] if single else list(query), view.name)
            if embedded is not None:
                return embedded
            if view.vectorizer is None and isinstance(self.front, (TextViews, TableViews)):
                view = replace(view, vectorizer=self.front.vectorizers_.get(view.name))  # of images: it reads no text
            return self._raw_views([query] if single else list(query), view)
        if isinstance(query, Mapping) and not sparse.issparse(query):
            # a mapping of matrices is views already, also where the model takes tables
            raw = self.front is not None and not all(name in names and _is_matrix(part) for name, part in query.items())
            return self.front.transform(query) if raw else Views(query)
        if self.front is not None and (hasattr(query, "columns") or is_rows(query)):
            return self.front.transform(query)
        matrix = query if sparse.issparse(query) else np.asarray(query)
        if not sparse.issparse(matrix) and (matrix.ndim == 0 or matrix.dtype.kind not in "biuf"):
            raise ViewsError(
                f"A query must be a text, an image, a row of numbers, a table or views, got {short(query)}."
            )
        if matrix.ndim == 1:
            matrix = matrix.reshape(1, -1)
        return Views({_needed(source, names, "rows of numbers"): matrix})

    def _embedded(self, queries: list[Any], source: str) -> Views | None:
        """Return raw queries as the encoder of a view reads them; None of a view that has none."""
        part = self.front.embeddings_ if isinstance(self.front, TableViews) else self.front
        if not isinstance(part, EmbeddingViews) or source not in part.columns_:
            return None
        return self.front.transform({part.columns_[source]: queries}).select(source)

    def read_by_all(self, texts: list[str]) -> Views:
        """Return texts as every view that reads text reads them; a text lacks a view that knows none of its words."""
        if not self.text_views:
            raise ViewsError(
                f"must name the view that raw queries belong to: {listed(tuple(self.inputs))}.", parameter="source"
            )
        parts = {name: self._raw_views(texts, self.inputs[name])[name] for name in self.text_views}
        # a view that knows no word would put the text in the middle of all objects
        present = {name: np.asarray(abs(part).sum(axis=1)).ravel() > 0 for name, part in parts.items()}
        names = {name: words for name, words in self.feature_names.items() if name in parts}
        return Views(parts, present=present, feature_names=names)

    @property
    def short_views(self) -> list[str]:
        """Names of the views whose texts are so short that their words are counted by characters, too."""
        return [name for name, view in self.inputs.items() if getattr(view.vectorizer, "char_ngrams_", False)]

    def raw_texts(self, X: Any) -> dict[str, list[str]]:
        """Return the raw texts of objects by view, where they are a table; paths of images are no texts."""
        if not isinstance(self.front, (TextViews, TableViews)) or isinstance(X, Views):
            return {}
        return {name: texts for name, texts in self.front.raw_texts(X).items() if self._reads_words(name)}

    def texts(self, query: Any, views: Views) -> dict[str, list[str]]:
        """Return the raw texts of a query by view, where it has some; `views` are the query as views."""
        if is_raw(query):
            first = views.names[0]
            texts = [query] if isinstance(query, str) else query
            return {first: list(texts)} if self._reads_words(first) and is_text(query) else {}
        if is_table(query):
            return {name: texts for name, texts in self.raw_texts(query).items() if name in views}
        return {}

    def _reads_words(self, view: str) -> bool:
        return self.front is None or self.inputs[view].vectorizer is not None

    def ignored(self, text: str, views: Iterable[str], shared: Callable[[list[str]], bool]) -> list[str]:
        """Return the words of a text that nothing knows, as they were typed, without function words.

        Parameters
        ----------
        text : str
            The text.
        views : iterable of str
            Views that read it.
        shared : callable
            Tells whether an indexed object has one of some words, where shared words count.
        """
        unknown = []
        for word in dict.fromkeys(split_words(text)):
            # single letters and small numbers, which vectorizers leave out, are not worth a remark
            parts = _ANALYZE(word) if len(word) > 1 else []
            if parts and not any(self._knows(view, word) for view in views) and not shared(parts):
                unknown.append((word, parts))
        if not unknown:
            return []
        # looked up last: most queries have no unknown words
        function_words = STOP_WORDS[detect_language([text]) or "english"]
        return [word for word, parts in unknown if not function_words.issuperset(parts)]

    def _knows(self, view: str, word: str) -> bool:
        """Tell whether a view counts a word or its parts, or leaves it out on purpose, as it does function words."""
        vectorizer = self.inputs[view].vectorizer
        if vectorizer is None:
            return any(True for _ in list_known_words(word.lower(), self._columns_of(view)))
        if view not in self._analyzers:
            self._analyzers[view] = vectorizer.build_analyzer()
        parts = self._analyzers[view](word)
        if not parts or not isinstance(vectorizer, CountVectorizer):  # one that hashes knows every word
            return True
        if set(parts) <= set(vectorizer.get_stop_words() or ()):  # which stay where there is nothing else
            return True
        return any(part in vectorizer.vocabulary_ for part in parts)

    def _columns_of(self, view: str) -> dict[str, int]:
        """Column of each feature by its name; capitals do not matter."""
        if view not in self._columns:
            names = self.inputs[view].feature_names
            self._columns[view] = {str(name).lower(): j for j, name in enumerate(() if names is None else names)}
        return self._columns[view]

    def _raw_views(self, queries: list[Any], view: ViewInput) -> Views:
        source, names = view.name, view.feature_names
        if view.vectorizer is not None:
            matrix = view.vectorizer.transform(queries)
        elif names is not None and all(isinstance(query, str) for query in queries):
            matrix = _count_known(queries, self._columns_of(source), len(names))
        else:
            raise ViewsError(
                f"View {source!r} cannot be built from raw queries: its model has no vectorizer and its features have "
                "no names.",
                python=f"Put TextViews(...) before the model, or pass a matrix: Views({source}=...).",
                cli="Fit the retriever on a raw table, with --text.",
            )
        return Views({source: matrix}, feature_names=None if names is None else {source: names})


def _is_matrix(part: Any) -> bool:
    return sparse.issparse(part) or (isinstance(part, np.ndarray) and part.ndim == 2)


def _needed(source: str | None, names: Sequence[str], what: str) -> str:
    if source is None and len(names) == 1:
        return names[0]
    if source is None:
        raise ViewsError(f"must name the view that {what} belong to: {listed(tuple(names))}.", parameter="source")
    return source


def make_unknown_error(query: Any, row: int, view: str | None) -> ViewsError:
    """Return the error for one of some queries, by its row, of which a view knows nothing, or all (None)."""
    one = query[row] if isinstance(query, (list, tuple)) else query
    if isinstance(one, str) and not one.strip():
        return ViewsError("The query is empty. Enter some words.")
    named = f"the query {short(one)}" if isinstance(one, str) else "the query"
    where = "any view" if view is None else f"view {view!r}"
    return ViewsError(f"Nothing in {named} is known to {where}. Use other words or values.")


def _count_known(texts: list[str], columns: Mapping[str, int], width: int) -> sparse.csr_array:
    """Count the words of texts that are names of features, by their columns."""
    known = [[columns[word] for word in list_known_words(text.lower(), columns)] for text in texts]
    rows = np.repeat(np.arange(len(texts)), [len(row) for row in known])
    cells = (np.ones(len(rows)), (rows, np.array([j for row in known for j in row], dtype=np.intp)))
    return sparse.csr_array(cells, shape=(len(texts), width))


def list_known_words(text: str, known: Mapping[str, Any]) -> Iterator[str]:
    """Yield the known words of a text: as they stand ("c++"), else without signs ("w6,"), else their letters alone."""
    for piece in text.split():
        if piece in known:
            yield piece
            continue
        for token in _TOKEN.findall(piece):
            yield from [token] if token in known else [part for part in _LETTERS.findall(token) if part in known]

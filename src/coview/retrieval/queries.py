"""From what a user searches with to views: raw texts, images, matrices, mappings, tables."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError
from coview.preprocessing.tables import TableViews
from coview.preprocessing.text import TextViews
from coview.utils.messages import listed, short
from coview.views.inputs import ViewInput
from coview.views.views import Views

__all__ = ["as_query", "is_raw", "is_text", "known_words", "texts_in_all", "unknown_query"]

_TOKEN = re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d_]{2,}")


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


def texts_in_all(texts: list[str], inputs: Mapping[str, ViewInput]) -> Views | None:
    """Return texts as every view that reads text reads them; a text lacks a view that knows none of its words."""
    readable = {
        name: view for name, view in inputs.items() if view.vectorizer is not None or view.feature_names is not None
    }
    if not readable:
        return None
    parts = {name: _raw_views(texts, view, unknown=True)[name] for name, view in readable.items()}
    present = {name: np.asarray(abs(part).sum(axis=1)).ravel() > 0 for name, part in parts.items()}
    names = {name: view.feature_names for name, view in readable.items() if view.feature_names is not None}
    return Views(parts, present=present, feature_names=names)


def as_query(
    query: Any, source: str | None, front: Any, inputs: Mapping[str, ViewInput], *, unknown: bool = False
) -> Views:
    """Return a query as views: of raw texts or images, of a matrix, of a mapping, of a table, or views as they are.

    Parameters
    ----------
    query : str, path, image, list of these, matrix, mapping, Views or table
        What to search with; a vector is one object.
    source : str or None
        Name of the view that raw queries and matrices belong to.
    front : estimator or None
        The step that makes views of tables, where there is one.
    inputs : mapping of ViewInput
        What the model takes, by view: raw text becomes a row by the view's vectorizer, or is counted over the names of
        its features.
    unknown : bool, default=False
        Take raw texts with no word that the view knows.
    """
    names = list(inputs)
    if isinstance(query, Views):
        return query
    if is_raw(query):
        single = isinstance(query, (str, os.PathLike, np.ndarray))
        view = inputs[_needed(source, names, "raw queries")]
        if view.vectorizer is None and isinstance(front, (TextViews, TableViews)):
            view = replace(view, vectorizer=front.vectorizers_.get(view.name))  # of images, which reads no text
        return _raw_views([query] if single else list(query), view, unknown)
    if isinstance(query, Mapping) and not sparse.issparse(query):
        raw = front is not None and not all(name in names and _is_matrix(part) for name, part in query.items())
        return front.transform(query) if raw else Views(query)
    if front is not None and hasattr(query, "columns"):
        return front.transform(query)
    matrix = query if sparse.issparse(query) else np.asarray(query)
    if matrix.ndim == 1:
        matrix = matrix.reshape(1, -1)
    return Views({_needed(source, names, "a matrix"): matrix})


def _is_matrix(part: Any) -> bool:
    return sparse.issparse(part) or (isinstance(part, np.ndarray) and part.ndim == 2)


def _needed(source: str | None, names: Sequence[str], what: str) -> str:
    if source is None and len(names) == 1:
        return names[0]
    if source is None:
        raise ViewsError(f"must name the view that {what} belong to: {listed(tuple(names))}.", parameter="source")
    return source


def _raw_views(queries: list[Any], view: ViewInput, unknown: bool) -> Views:
    source, names = view.name, view.feature_names
    if view.vectorizer is not None:
        matrix = view.vectorizer.transform(queries)
    elif names is not None and all(isinstance(query, str) for query in queries):
        matrix = _count_known(queries, names)
    else:
        raise ViewsError(
            f"View {source!r} cannot be built from raw queries: its model has no vectorizer and its features have no "
            "names.",
            python=f"Put TextViews(...) before the model, or pass a matrix: Views({source}=...).",
            cli="Fit the retriever on a raw table, by --table and --text.",
        )
    views = Views({source: matrix}, feature_names=None if names is None else {source: names})
    empty = np.flatnonzero(np.asarray(views[source].sum(axis=1)).ravel() == 0)
    if len(empty) and not unknown:
        raise unknown_query(queries[empty[0]] if isinstance(queries[empty[0]], str) else int(empty[0]), source)
    return views


def unknown_query(query: str | int, view: str) -> ViewsError:
    """Return the error for a query of which nothing is known; one that is no text is told by its number."""
    shown = short(query) if isinstance(query, str) else f"number {query}"
    return ViewsError(f"Nothing in the query {shown} is known to view {view!r}. Use other words or images.")


def _count_known(texts: list[str], names: Any) -> sparse.csr_array:
    """Count the words of texts that are names of features; capitals do not matter."""
    place_of = {str(name).lower(): j for j, name in enumerate(names)}
    known = [[place_of[word] for word in known_words(text.lower(), place_of)] for text in texts]
    rows = np.repeat(np.arange(len(texts)), [len(row) for row in known])
    cells = (np.ones(len(rows)), (rows, np.array([j for row in known for j in row], dtype=np.intp)))
    return sparse.csr_array(cells, shape=(len(texts), len(names)))


def known_words(text: str, known: Mapping[str, Any]) -> Iterator[str]:
    """Yield the known words of a text: as they stand ("c++"), else without signs ("w6,"), else their letters alone."""
    for piece in text.split():
        if piece in known:
            yield piece
            continue
        for token in _TOKEN.findall(piece):
            yield from [token] if token in known else [part for part in _LETTERS.findall(token) if part in known]

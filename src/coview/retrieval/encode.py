"""From what a user holds to places in a model's space, view by view: raw texts, images, matrices, views, pipelines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from coview.exceptions import ViewsError
from coview.inspection import inspect
from coview.preprocessing.columns import ColumnViews
from coview.preprocessing.tables import TableViews
from coview.preprocessing.text import TextViews
from coview.utils.messages import listed, short
from coview.views.views import Views

__all__ = [
    "as_query",
    "feature_names",
    "is_raw",
    "known_words",
    "last_step",
    "place",
    "profiles",
    "row_at_last",
    "split_front",
]

_TOKEN = re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d_]{2,}")


def _steps(model: Any) -> list[Any]:
    if not isinstance(model, Pipeline):
        return [model]
    return [step for _, step in model.steps if step is not None and step != "passthrough"]


def last_step(model: Any) -> Any:
    """Return the estimator at the end of a pipeline, or the model itself."""
    return _steps(model)[-1]


def split_front(model: Any) -> tuple[Any, Any]:
    """Return the step that makes views of tables (None where a model starts from views), and the rest of the model."""
    steps = _steps(model)
    if not isinstance(steps[0], (TextViews, ColumnViews, TableViews)):
        return None, model
    if len(steps) == 1:
        raise TypeError(f"{type(model).__name__} makes views and places nothing. Put a model after it.")
    return steps[0], steps[1] if len(steps) == 2 else Pipeline(model.steps[1:])


def place(model: Any, views: Views, name: str, method: str) -> np.ndarray:
    """Return what a method of the model's last step says of one view of objects, all of which have that view.

    Without a method, objects are placed by what `inspect` says of them.
    """
    if not method:
        embedded = inspect(model).embed(views.select(name))
        if embedded is None:
            raise TypeError(
                f"{type(last_step(model)).__name__} places no objects: it has neither transform nor predict."
            )
        return embedded
    found = getattr(last_step(model), method)(_before_last(model, views.select(name)))
    if isinstance(found, (Views, Mapping)):
        found = found[name]
    return np.asarray(found.toarray() if sparse.issparse(found) else found)


def row_at_last(model: Any, views: Views, name: str) -> Any:
    """Return the rows of one view as the last step of a model gets them."""
    value = _before_last(model, views.select(name))
    return value[name] if isinstance(value, (Views, Mapping)) else value


def _before_last(model: Any, value: Any) -> Any:
    for step in _steps(model)[:-1]:
        value = step.transform(value)
    return value


def feature_names(model: Any, name: str, width: int) -> list[str]:
    """Return the names of the features of a view as a model's last step knows them, or f0, f1, ..."""
    known = getattr(last_step(model), "feature_names_by_view_", {}).get(name)
    return [f"f{j}" for j in range(width)] if known is None else known.tolist()


def profiles(model: Any, name: str) -> np.ndarray | None:
    """Return what each topic (or cluster) says of the features of a view (topics x features), where a model has topics.

    Examples
    --------
    >>> from coview import MultiViewPLSA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views
    >>> profiles(MultiViewPLSA(3, 5, random_state=0).fit(X), "view1").sum(axis=1).round(6)
    array([1., 1., 1.])
    """
    last = last_step(model)
    topics, clusters = getattr(last, "topic_feature_", None), getattr(last, "cluster_topic_", None)
    if topics is None:
        return None
    return topics[name] if clusters is None else clusters[name] @ topics[name]


# -- queries


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


def as_query(query: Any, source: str | None, front: Any, names: Sequence[str], columns: Mapping[str, Any]) -> Views:
    """Return a query as views: of raw texts or images, of a matrix, of a mapping, of a table, or views as they are.

    Parameters
    ----------
    query : str, path, image, list of these, matrix, mapping, Views or table
        What to search with; a vector is one object.
    source : str or None
        Name of the view that raw queries and matrices belong to.
    front : estimator or None
        The step that makes views of tables, where there is one.
    names : sequence of str
        Views that the model knows.
    columns : mapping
        Names of the features by view, where they are known: raw text is counted over them.
    """
    if isinstance(query, Views):
        return query
    if is_raw(query):
        single = isinstance(query, (str, os.PathLike, np.ndarray))
        return _raw_views([query] if single else list(query), _needed(source, names, "raw queries"), front, columns)
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
        raise ViewsError(f"Say which view {what} belong to: source= one of {listed(tuple(names))}.")
    return source


def _raw_views(queries: list[Any], source: str, front: Any, columns: Mapping[str, Any]) -> Views:
    vectorizers = getattr(front, "vectorizers_", {})
    if source in vectorizers:
        matrix = vectorizers[source].transform(queries)
        found = Views({source: matrix}, feature_names={source: vectorizers[source].get_feature_names_out()})
    elif source in columns and all(isinstance(query, str) for query in queries):
        found = Views({source: _count_known(queries, columns[source])}, feature_names={source: columns[source]})
    else:
        raise ViewsError(
            f"View {source!r} cannot be made of raw queries: its model has no vectorizer and its features have no "
            f"names. Put TextViews(...) in front of the model, or give a matrix: Views({source}=...)."
        )
    empty = np.flatnonzero(np.asarray(found[source].sum(axis=1)).ravel() == 0)
    if len(empty):
        shown = short(queries[empty[0]]) if isinstance(queries[empty[0]], str) else f"number {empty[0]}"
        raise ViewsError(f"Nothing in the query {shown} is known to view {source!r}. Use other words or images.")
    return found


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

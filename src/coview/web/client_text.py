"""Texts of clients are texts: a model that would open them as paths of files is refused before it is served.

A vectorizer of scikit-learn with ``input="filename"`` does, and so may an analyzer of one's own. The latter is tried
out: whether a file exists must make no difference to what becomes of its path.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scipy import sparse
from sklearn.base import BaseEstimator

from coview.exceptions import ViewsError
from coview.inspection import Inspection

__all__ = ["check_reads_no_files"]

_TRIED = 100  # features whose names are in the file that nobody should read


def check_reads_no_files(model: Inspection) -> None:
    """Refuse a model that opens texts as files.

    Parameters
    ----------
    model : Inspection
        What will be served.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from coview import inspect
    >>> words = make_pipeline(CountVectorizer(), MultinomialNB()).fit(["a fox", "the sea"], [0, 1])
    >>> check_reads_no_files(inspect(words))
    >>> check_reads_no_files(inspect(words.set_params(countvectorizer__input="filename")))
    Traceback (most recent call last):
    ...
    coview.exceptions.ViewsError: CountVectorizer(input='filename') would open the texts of clients as files. Set ...
    """
    for part in _estimators(model.model, set()):
        source = vars(part).get("input")
        if source in ("filename", "file"):
            raise ViewsError(
                f"{type(part).__name__}(input={source!r}) would open the texts of clients as files. Set "
                "input='content', so that clients send the texts themselves, and save the model again."
            )
    for view, taken in model.inputs.items():
        if taken.vectorizer is not None and _has_functions(taken.vectorizer) and _notices_files(taken):
            raise ViewsError(
                f"The vectorizer of view {view!r} has a function that would open the texts of clients as files. Use "
                "one that takes the texts as they are."
            )


def _estimators(value: Any, seen: set[int]) -> Iterator[BaseEstimator]:
    """Every estimator inside a value: parameters, steps, fitted parts."""
    if id(value) in seen:
        return
    inside: Any = ()
    if isinstance(value, BaseEstimator):
        yield value
        inside = vars(value).values()
    elif isinstance(value, Mapping):
        inside = value.values()
    elif isinstance(value, (list, tuple)):
        inside = value
    seen.add(id(value))
    for part in inside:
        if isinstance(part, (BaseEstimator, Mapping, list, tuple)):
            yield from _estimators(part, seen)


def _has_functions(vectorizer: Any) -> bool:
    """Whether somebody's own function sees the texts; model files hold none."""
    parameters = vectorizer.get_params(deep=False).values()
    return any(callable(value) and not isinstance(value, (type, BaseEstimator)) for value in parameters)


def _notices_files(taken: Any) -> bool:
    """Whether the path of a file becomes something else once the file is there."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "words.txt"
        absent = _row(taken.vectorizer, path)
        names = [] if taken.feature_names is None else taken.feature_names[:_TRIED]
        path.write_text("\n".join(map(str, names)), encoding="utf-8", errors="replace")
        return absent != _row(taken.vectorizer, path)


def _row(vectorizer: Any, path: Path) -> Any:
    """What becomes of a path, or the kind of error that it causes."""
    try:
        row = sparse.csr_array(vectorizer.transform([str(path)]))
    except Exception as error:  # of somebody's own function
        return type(error)
    return row.indices.tolist(), row.data.tolist()

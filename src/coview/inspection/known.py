"""Objects that a model knows nothing of, such as a text of new words only: which they are, and a sentence about them.

An object is unknown where all values of all its views are 0. A model predicts something for it nevertheless, always the
same: `predict` warns of it, the command line and the server say so in their own ways.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

import numpy as np
from scipy import sparse

from coview.utils.messages import short
from coview.views.coerce import as_views
from coview.views.views import Views

__all__ = ["describe_unknown", "known_rows", "objects_by_view", "rows_with_values", "unwarned", "warns_of_unknown"]

_unwarned: ContextVar[bool] = ContextVar("coview_unwarned", default=False)


def rows_with_values(X: Any) -> np.ndarray | None:
    """Tell which rows of views, or of a matrix, have a value that is not 0; None for tables and measurements."""
    if isinstance(X, Views):
        parts: Any = [rows_with_values(part) for part in X.values()]
        return None if any(part is None for part in parts) else np.any(parts, axis=0)
    if sparse.issparse(X):
        return np.bincount(X.nonzero()[0], minlength=X.shape[0]) > 0
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biu":
        return (X != 0).any(axis=1)
    return None


def objects_by_view(views: Views) -> dict[str, np.ndarray]:
    """Tell, by view, which objects have a feature in it: of the others, the view alone says nothing.

    An object has none where it lacks the view, or where all its values are 0; only sparse matrices and whole numbers
    are judged by their values.

    Examples
    --------
    >>> X = Views(words=np.array([[2, 1], [0, 0]]), size=np.array([[0.5], [0.0]]))
    >>> {view: mask.tolist() for view, mask in objects_by_view(X).items()}
    {'words': [True, False], 'size': [True, True]}
    """
    described = {}
    for v, (view, matrix) in enumerate(views.items()):
        filled = rows_with_values(matrix)
        described[view] = views.present[:, v] if filled is None else views.present[:, v] & filled
    return described


def known_rows(stages: Sequence[Any]) -> np.ndarray:
    """Tell which objects have values as they come in and after each step; `stages` are the objects at each of them."""
    known = [part for part in map(rows_with_values, stages) if part is not None]
    last = stages[-1]
    n_rows = last.shape[0] if sparse.issparse(last) else len(last)
    return np.all(known, axis=0) if known else np.ones(n_rows, dtype=bool)


def describe_unknown(known: Any, ids: Any, labels: Any, most: int = 5) -> str | None:
    """Return a sentence about the objects that a model knows nothing of, or None where there are none.

    Examples
    --------
    >>> describe_unknown([True, False, True], ["a", "b", "c"], [0, 2, 1])
    "1 of 3 objects has no feature known to the model ('b'): it predicts 2 for it, whatever it is."
    """
    rows = [row for row, there in enumerate(known) if not there]
    if not rows:
        return None
    named = ", ".join(short(ids[row]) for row in rows[:most]) + (", ..." if len(rows) > most else "")
    values = sorted({short(labels[row]) for row in rows})
    predicted = " or ".join(values[:most]) + (" or others" if len(values) > most else "")
    has, them = ("has", "it, whatever it is") if len(rows) == 1 else ("have", "them, whatever they are")
    share = f"{len(rows):,} of {len(known):,} object{'' if len(known) == 1 else 's'}"
    return f"{share} {has} no feature known to the model ({named}): it predicts {predicted} for {them}."


def warns_of_unknown(predict: Callable[..., Any]) -> Callable[..., Any]:
    """Let `predict` warn once of objects that the model knows nothing of; a `predict` that it calls does not."""

    @wraps(predict)
    def predict_and_warn(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        if _unwarned.get():
            return predict(self, X, *args, **options)
        with unwarned():
            labels = predict(self, X, *args, **options)
        views = as_views(X)
        known = rows_with_values(views)  # None of lazy views, which would have to be read once more
        if known is not None and not known.all():
            ids = range(len(known)) if views.ids is None else views.ids
            warnings.warn(str(describe_unknown(known, ids, labels)), stacklevel=2)
        return labels

    return predict_and_warn


@contextmanager
def unwarned() -> Iterator[None]:
    """Let `predict` inside be silent about objects that a model knows nothing of, where the caller speaks of them."""
    token = _unwarned.set(True)
    try:
        yield
    finally:
        _unwarned.reset(token)

"""Warnings about a user's data: at the line of theirs that called coview, and silent in work inside other work.

Folds of a cross-validation, scores, and models inside others fit and predict many times: they would say the same of
parts of the data, again and again, and to nobody who asked.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["is_at_work", "is_own_work", "same_work", "silenced", "unwarned", "warn_user", "working"]

_LIBRARIES = ("coview", "sklearn", "joblib")  # no line of theirs is the user's
_VALIDATION = ("sklearn.model_selection._validation", "sklearn.metrics")  # what fits and predicts in folds and scores

_worker: ContextVar[Any] = ContextVar("coview_worker", default=None)
_unwarned: ContextVar[bool] = ContextVar("coview_unwarned", default=False)


@contextmanager
def working(owner: Any) -> Iterator[None]:
    """Let the work of others inside be silent; a method that calls another one of the same object is one work."""
    if _worker.get() is owner:
        yield
    elif _worker.get() is not None:
        with unwarned():
            yield
    else:
        token = _worker.set(owner)
        try:
            yield
        finally:
            _worker.reset(token)


@contextmanager
def same_work(part: Any) -> Iterator[None]:
    """Let a part that gets the user's own data speak inside the work of its owner, as if it were called alone.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught, working("owner"):
    ...     with working("part"):
    ...         warn_user("Not heard.", UserWarning)
    ...     with same_work("part"), working("part"):
    ...         warn_user("Heard.", UserWarning)
    >>> [str(each.message) for each in caught]
    ['Heard.']
    """
    token = _worker.set(part)
    try:
        yield
    finally:
        _worker.reset(token)


@contextmanager
def unwarned() -> Iterator[None]:
    """Let all work inside be silent, where the caller speaks for it or nobody asked."""
    token = _unwarned.set(True)
    try:
        yield
    finally:
        _unwarned.reset(token)


@contextmanager
def silenced(*, but: type[Warning]) -> Iterator[None]:
    """Silence every warning inside, those of other libraries too, but one kind, which does what was asked for before.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     with silenced(but=DeprecationWarning):
    ...         warnings.warn("not converged", UserWarning)
    ...         warnings.warn("stopped", DeprecationWarning)
    >>> [str(each.message) for each in caught]
    ['stopped']
    """
    general = (entry[0] for entry in warnings.filters if issubclass(but, entry[2]) and not entry[1] and not entry[3])
    action: Any = next(general, "default")
    with unwarned(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter(action, but)
        yield


def is_at_work() -> bool:
    """Tell whether this is inside of other work."""
    return _unwarned.get() or _worker.get() is not None


def is_own_work(owner: Any) -> bool:
    """Tell whether this is the work that a user asked `owner` for, and no part of another one's.

    Examples
    --------
    >>> with working("owner"):
    ...     is_own_work("owner"), is_own_work("part")
    (True, False)
    """
    return not _unwarned.get() and (_worker.get() is None or _worker.get() is owner)


def warn_user(message: str, category: type[Warning], *, inside: bool = False) -> None:
    """Warn at the user's line, unless this is work inside other work, in folds or for scores.

    `inside` of other work too where nobody else would speak, as of data that is handed on as it came.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warn_user("Label more.", UserWarning)
    ...     with unwarned():
    ...         warn_user("Label more.", UserWarning)
    >>> [str(each.message) for each in caught]
    ['Label more.']
    """
    if _unwarned.get() and not inside:
        return
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None:
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] not in _LIBRARIES:
            break
        if module.startswith(_VALIDATION) and not inside:
            return
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)

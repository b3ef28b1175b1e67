"""Warnings about a user's data, which point to the line of the user's code that called coview.

Folds of a cross-validation, scorers and models inside other models fit and predict many times. They would repeat the
same warning for parts of the data, so that warnings are silent there.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any

__all__ = ["SILENT", "silenced", "unwarned", "warn_user"]

_LIBRARIES = ("coview", "sklearn", "joblib")  # no line of theirs is the user's
_VALIDATION = ("sklearn.model_selection._validation", "sklearn.metrics")  # what fits and predicts in folds and scores

SILENT: ContextVar[bool] = ContextVar("coview_silent", default=False)  # whether this is inside of `unwarned`


@contextmanager
def unwarned() -> Iterator[None]:
    """Silence the warnings of `warn_user` inside, where the caller warns itself or no user asked for the work."""
    token = SILENT.set(True)
    try:
        yield
    finally:
        SILENT.reset(token)


class _Filters:
    """The filters of `warnings`, one list for all threads: the first to change it saves it, the last puts it back.

    Were each thread to save and restore it, one that ends late would put back what another one had changed.
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0

    def change(self, but: type[Warning]) -> None:
        with self._lock:
            if not self._inside:
                self._before, self._saved = list(warnings.filters), warnings.catch_warnings()
                self._saved.__enter__()
                warnings.simplefilter("ignore")
            self._inside += 1
            general = (
                entry[0] for entry in self._before if issubclass(but, entry[2]) and not entry[1] and not entry[3]
            )
            action: Any = next(general, "default")
            warnings.simplefilter(action, but)

    def put_back(self) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._saved.__exit__(None, None, None)


_FILTERS = _Filters()


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
    with unwarned():
        _FILTERS.change(but)
        try:
            yield
        finally:
            _FILTERS.put_back()


def warn_user(message: str, category: type[Warning], *, inside: bool = False) -> None:
    """Warn at the line of the user's code, unless this is part of other work, such as a fold or a score.

    With `inside`, warn there too: of a fault in data that the outer work hands on unchanged and does not look at.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warn_user("Label more.", UserWarning)
    ...     with unwarned():
    ...         warn_user("Label more.", UserWarning)
    >>> [str(each.message) for each in caught]
    ['Label more.']
    """
    if SILENT.get() and not inside:
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

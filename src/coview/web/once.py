"""Answers that are computed once, each while others are computed in other threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any

__all__ = ["Once"]


class Once:
    """Keeps answers by key; of two who ask for one, the second waits for the answer of the first.

    Examples
    --------
    >>> once = Once()
    >>> once.get("a", lambda: 1), once.get("a", lambda: 2)
    (1, 1)
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}
        self._locks: dict[Hashable, threading.Lock] = {}  # of what is being computed
        self._changing = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the answer to a key, which `make` computes where there is none; an error is not kept.

        Parameters
        ----------
        key : hashable
            What is asked.
        make : callable
            Computes the answer.
        """
        if key in self._kept:
            return self._kept[key]
        with self._changing:
            lock = self._locks.setdefault(key, threading.Lock())
        try:
            with lock:
                if key not in self._kept:
                    self._kept[key] = make()
                return self._kept[key]
        finally:
            with self._changing:
                self._locks.pop(key, None)

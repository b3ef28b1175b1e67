"""Loading of modules."""

from __future__ import annotations

import gc
import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from coview.exceptions import MissingPackageError

__all__ = ["load_extra", "load_matplotlib", "load_member", "paused_collector"]

_LOCK = threading.Lock()
_pauses, _was_enabled = 0, True


@contextmanager
def paused_collector() -> Iterator[None]:
    """Pause the garbage collector, while modules are loaded.

    They make hundreds of thousands of objects that live for ever, which the collector would walk again and again.
    """
    global _pauses, _was_enabled
    with _LOCK:  # threads of a cluster may load at once: the last of them lets the collector go on
        if not _pauses:
            _was_enabled = gc.isenabled()
            gc.disable()
        _pauses += 1
    try:
        yield
    finally:
        with _LOCK:
            _pauses -= 1
            if not _pauses and _was_enabled:
                gc.enable()


def load_member(module: str, name: str) -> Any:
    """Return a member of a module, which is loaded when first needed.

    Examples
    --------
    >>> load_member("coview.plsa.plsa", "PLSA").__name__
    'PLSA'
    """
    with paused_collector():
        return getattr(importlib.import_module(module), name)


def load_extra(module: str, needs: str, extra: str) -> Any:
    """Return a module of a package that an extra of coview installs; where it is absent, say how to install it.

    Examples
    --------
    >>> load_extra("no_such_package.io", "Reading needs no_such_package", "io")
    Traceback (most recent call last):
        ...
    coview.exceptions.MissingPackageError: Reading needs no_such_package, which is not installed. Run: pip install ...
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(f'{needs}, which is not installed. Run: pip install "coview[{extra}]".') from error


def load_matplotlib(part: str) -> Any:
    """Return a module of matplotlib, such as pyplot."""
    return load_extra(f"matplotlib.{part}", "Figures need matplotlib", "plot")

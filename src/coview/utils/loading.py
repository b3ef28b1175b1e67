"""Loading of modules."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["load_member", "paused_collector"]


@contextmanager
def paused_collector() -> Iterator[None]:
    """Pause the garbage collector, while modules are loaded.

    They make hundreds of thousands of objects that live for ever, which the collector would walk again and again.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
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

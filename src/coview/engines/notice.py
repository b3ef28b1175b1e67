"""One line on standard error where kernels have to be compiled first, which takes some seconds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

__all__ = ["announce"]

_asked: set[int] = set()  # ids of kernels, which live as long as the process
_said = False


def announce(kernel: Any) -> None:
    """Say, once in a process, that kernels are being compiled; silent where this one is compiled or cached."""
    global _said
    if _said or id(kernel) in _asked:
        return
    _asked.add(id(kernel))
    name = f"{kernel.py_func.__module__.rpartition('.')[2]}.{kernel.__name__}"
    cache = Path(kernel.stats.cache_path or ".")
    if not kernel.signatures and not any(cache.glob(f"{name}-*.nbi")):
        _said = True
        print("coview: compiling kernels for this machine, once (some seconds) ...", file=sys.stderr, flush=True)

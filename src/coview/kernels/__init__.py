"""Numba kernels: arrays in, arrays out; no objects, no validation, every output row owned by one thread."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

__all__ = ["announce"]

_asked: set[int] = set()  # ids of kernels, which live as long as the process
_announced = False


def _start() -> None:
    """Import numba and fill its registries with the garbage collector paused: a quarter of the wait for a first fit.

    Both make hundreds of thousands of objects that live for ever, which the collector would walk again and again.
    """
    paused = gc.isenabled()
    gc.disable()
    try:
        from numba.core.registry import cpu_target

        cpu_target.typing_context.refresh()
        cpu_target.target_context.refresh()
    finally:
        if paused:
            gc.enable()


_start()


def announce(kernel: Any) -> None:
    """Say, once in a process, that kernels are being compiled; silent where this one is compiled or cached."""
    global _announced
    if _announced or id(kernel) in _asked:
        return
    _asked.add(id(kernel))
    name = f"{kernel.py_func.__module__.rpartition('.')[2]}.{kernel.__name__}"
    path = kernel.stats.cache_path
    if not kernel.signatures and (path is None or not any(Path(path).glob(f"{name}-*.nbi"))):
        from coview.kernels.compiling import cache_note

        _announced = True
        print(f"coview: compiling kernels for this machine ({cache_note(kernel)}) ...", file=sys.stderr, flush=True)

"""Numba kernels: arrays in, arrays out; no objects, no validation, every output row owned by one thread."""

from __future__ import annotations

import gc


def _load_numba() -> None:
    """Import numba and fill its registries with the garbage collector paused."""
    # both make hundreds of thousands of objects that live for ever, which the collector would walk again and again:
    # a quarter of the wait for a first fit
    paused = gc.isenabled()
    gc.disable()
    try:
        from numba.core.registry import cpu_target

        cpu_target.typing_context.refresh()
        cpu_target.target_context.refresh()
    finally:
        if paused:
            gc.enable()


_load_numba()

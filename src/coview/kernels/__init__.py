"""Numba kernels: arrays in, arrays out; no objects, no validation, every output row owned by one thread."""

from __future__ import annotations

from coview.utils.loading import paused_collector

with paused_collector():  # a quarter of the wait for a first fit
    from numba.core.registry import cpu_target

    # fills numba's registries, which is part of its loading
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()

"""Memory of large factors: in large pages, handed on from one factor to the next."""

from __future__ import annotations

import math
import mmap
import weakref
from contextlib import suppress
from typing import Any

import numpy as np

from coview.kernels.memory import addresses, empty_rows

__all__ = ["LargePages"]

_LARGE = 4 << 20  # bytes of a large array
_PAGE = 2 << 20  # bytes of a large page
_SIZES, _KEPT = 8, 2  # sizes of which memory waits for the next array, and how many pieces of each


class LargePages:
    """Gives empty arrays; the memory of a large one goes to the next of its size once nothing refers to it.

    Rows that are gathered from 15 MB in pages of 4 KiB are in a page that the processor has to look up nearly every
    time. A system that is asked for large pages gives them to memory that is new; what an allocator hands out again has
    the pages that it had. Where large pages cannot be asked for, arrays are NumPy's.

    Parameters
    ----------
    handed_on : bool, default=True
        Whether memory waits for the next array. It counts as taken until the system wants it back, which does not go
        with a limit.

    Examples
    --------
    >>> pages = LargePages()
    >>> pages.empty((3, 2), np.float32).shape
    (3, 2)
    """

    def __init__(self, handed_on: bool = True) -> None:
        self._handed_on = handed_on
        self._free: dict[int, list[mmap.mmap]] = {}

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return an array of any content that begins at a cache line, a large one at a large page."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        memory = self._memory(size) if size >= _LARGE else None
        if memory is None:
            return empty_rows(shape, dtype)
        room = np.frombuffer(memoryview(memory), dtype=np.uint8)
        if self._handed_on:
            weakref.finalize(room, _set_free, self._free, size, memory).atexit = False
        start = int(-addresses([room])[0] % _PAGE)
        return room[start : start + size].view(dtype).reshape(shape)

    def _memory(self, size: int) -> mmap.mmap | None:
        """Return memory for `size` bytes and up to a page before them, used or new; None where there is none."""
        if "MADV_HUGEPAGE" not in vars(mmap):
            return None
        try:
            return self._free[size].pop()
        except LookupError:
            pass
        try:
            memory = mmap.mmap(-1, size + _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            memory.madvise(mmap.MADV_HUGEPAGE)
        except OSError:  # no memory, or a system without large pages
            return None
        return memory

    def __reduce__(self) -> tuple[Any, ...]:
        return LargePages, (self._handed_on,)


def _set_free(free: dict[int, list[mmap.mmap]], size: int, memory: mmap.mmap) -> None:
    """Keep memory for the next array of its size; until then the system may take its pages back."""
    waiting = free[size] = free.pop(size, [])  # the newest last
    for oldest in list(free)[:-_SIZES]:
        free.pop(oldest, None)
    if len(waiting) < _KEPT:
        with suppress(AttributeError, OSError):  # older systems take no pages back
            memory.madvise(mmap.MADV_FREE)
        waiting.append(memory)

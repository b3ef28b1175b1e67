"""Threads over chunks of rows: which chunk runs where never changes a result."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["Team", "balanced_chunks", "few_threads", "thread_count", "thread_pools"]

SMALL = 60_000  # objects x clusters: up to that size one thread is quicker than several, which wait for each other
_known: tuple[int, Any] = (0, None)  # how many modules were loaded, and the thread pools found then


def thread_pools() -> Any:
    """Thread pools of the libraries loaded so far, as threadpoolctl's controller.

    Looking for them takes milliseconds, longer than a small prediction; they come with modules, so they are looked
    for again only after something was imported.
    """
    global _known
    from threadpoolctl import ThreadpoolController

    if _known[0] != len(sys.modules):
        _known = len(sys.modules), ThreadpoolController()
    return _known[1]


def few_threads(n_objects: int, n_clusters: int) -> AbstractContextManager[Any]:
    """One thread for BLAS and OpenMP inside the block where the problem is small; otherwise as many as before.

    Examples
    --------
    >>> with few_threads(300, 3):
    ...     thread_count(None)
    1
    """
    return thread_pools().limit(limits=1) if n_objects * n_clusters <= SMALL else nullcontext()


def thread_count(n_jobs: int | None) -> int:
    """Threads to use: `n_jobs` as joblib counts it (None = all cores), never above what threadpoolctl allows."""
    from joblib import cpu_count

    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; use -1 for all cores.")
    cores = cpu_count()
    wanted = cores if n_jobs is None else n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)
    limits = [pool["num_threads"] for pool in thread_pools().info() if pool["user_api"] == "openmp"]
    return max(1, min([wanted, *limits]))


def balanced_chunks(indptr: np.ndarray, least: int = 65_536, most: int = 16) -> list[tuple[int, int]]:
    """Cut rows into runs of about equal numbers of non-zeros; depends on the data alone, never on the threads.

    A run below `least` non-zeros takes less than a millisecond or two: handing it to another thread costs more.
    """
    n_rows, nnz = len(indptr) - 1, int(indptr[-1] - indptr[0])
    pieces = max(1, min(most, nnz // least, n_rows))
    targets = indptr[0] + (nnz * np.arange(1, pieces)) // pieces
    cuts = np.unique(np.concatenate([[0], np.searchsorted(indptr, targets), [n_rows]]))
    return [(a, b) for a, b in pairwise(cuts.tolist())]


class Team:
    """A pool of threads that is started when first needed; pickles as its size."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0  # whose threads they are: a forked child has none of its parent's

    def map(self, work: Callable[[int, int], Any], chunks: list[tuple[int, int]]) -> list[Any]:
        """Call work(start, stop) for each chunk; results in the order of the chunks."""
        if self.size == 1 or len(chunks) == 1:
            return [work(start, stop) for start, stop in chunks]
        if self._pool is None or self._process != os.getpid():
            self._process = os.getpid()
            self._pool = ThreadPoolExecutor(self.size, thread_name_prefix="coview")
        return list(self._pool.map(lambda chunk: work(*chunk), chunks))

    def __reduce__(self) -> tuple[Any, ...]:
        return Team, (self.size,)

"""What a fit is made of: an engine, blocks of rows, the state of a model, and the holder of its rows.

A model sees an engine and plain arrays, never NumPy, numba or torch by name, so that one row step runs on every engine.
`ReferenceEngine` says what an engine offers, and the other engines are derived from it. The state of a model is a tree:
a dict of arrays, or of such dicts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from coview.engines.reference import Handle
from coview.engines.reference import ReferenceEngine as Engine
from coview.utils.progress import counted
from coview.views.arrays import count_bytes
from coview.views.lazy import LazyViews, stack_views
from coview.views.views import Views

__all__ = [
    "Block",
    "Engine",
    "Extra",
    "Fit",
    "Gate",
    "Handle",
    "Holder",
    "State",
    "Steps",
    "Team",
    "Tree",
    "count_threads",
    "few_threads",
    "find_thread_pools",
    "floating_type",
    "in_threads",
    "make_block",
    "make_blocks",
    "over_rows",
    "row_bytes",
    "sample_rows",
    "tree_leaves",
    "tree_map",
]

Tree = dict[str, Any]
Rows = Any  # row state of every block, in the holder's own form
Extra = Mapping[str, Any]  # what blocks carry: arrays over all rows, or functions of some rows (Views)
Gate = Callable[[Views], Views]

_ROWS = 8192  # of lazy views in memory at a time, in passes that no engine makes
_RUNS = 32  # of neighboring rows in a sample: reading single rows from a file takes far longer
SMALL = 60_000  # objects x clusters: up to that size one thread is quicker than several, which wait for each other
_known: tuple[int, Any] = (0, None)  # how many modules were loaded, and the thread pools found then


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Apply a function to the leaves of trees (dicts and lists) of one shape."""
    if isinstance(tree, dict):
        return {key: tree_map(function, value, *(other[key] for other in others)) for key, value in tree.items()}
    if isinstance(tree, list):
        return [tree_map(function, *parts) for parts in zip(tree, *others)]
    return function(tree, *others)


def tree_leaves(tree: Any) -> Iterator[Any]:
    """Yield the leaves of a tree of dicts and lists."""
    if isinstance(tree, dict):
        tree = tree.values()
    elif not isinstance(tree, list):
        yield tree
        return
    for part in tree:
        yield from tree_leaves(part)


@dataclass
class State:
    """Current state of a fit: the row state of every block, in its holder's form, and the shared parameters."""

    rows: Rows
    shared: Tree


@dataclass
class Fit:
    """A fit from one start, so far; what a checkpoint stores."""

    state: State
    history: dict[str, list[float]] = field(default_factory=lambda: {"objective": [], "seconds": []})
    n_iter: int = 0
    converged: bool = False
    stopped_by: str = "max_iter"
    pace: int = 0  # sweeps since momentum began
    behind: State | None = None  # the state one sweep before, where momentum is on

    @property
    def objective(self) -> float:
        return self.history["objective"][-1] if self.history["objective"] else -np.inf


class Steps(Protocol):
    """A batch model as the loop sees it: pure functions of plain dicts of arrays.

        start(block, shared, seed, restart, ops)    -> rows           row state of one block
        row_step(block, rows, shared, ops, stats)   -> rows, stats    of the block alone; adds to stats, if not None
        shared_step(stats, shared, ops)             -> shared         summed statistics to new shared parameters
        objective(block, rows, shared, ops)         -> float          of the rows as given: what must never fall
        normalize_rows(rows), normalize_shared(shared)                back onto the simplexes after an extrapolation

    `row_step` puts the objective of the state that it was *given* into stats["objective"]: it falls out of the pass
    over the data anyway, so that watching a fit costs nothing. A model without iterations needs the first two alone.
    """

    def start(self, block: Block, shared: Tree, seed: int, restart: int, ops: Engine) -> Tree: ...

    def row_step(
        self, block: Block, rows: Tree, shared: Tree, ops: Engine, stats: Tree | None
    ) -> tuple[Tree, Tree | None]: ...

    def shared_step(self, stats: Tree, shared: Tree, ops: Engine) -> Tree: ...

    def objective(self, block: Block, rows: Tree, shared: Tree, ops: Engine) -> float: ...

    def normalize_rows(self, rows: Tree) -> Tree: ...

    def normalize_shared(self, shared: Tree) -> Tree: ...


@dataclass
class Block:
    """Some rows of every view, with what a model clamps or weighs there."""

    start: int
    stop: int
    views: dict[str, Handle]
    present: dict[str, np.ndarray]
    extra: dict[str, Any] = field(default_factory=dict)  # e.g. clamped labels: first axis = the rows of the block

    def __len__(self) -> int:
        return self.stop - self.start

    def take(self, rows: np.ndarray, engine: Engine) -> Block:
        """Return the block of some of the rows (sorted positions within this block)."""
        return Block(
            0,
            len(rows),
            {name: engine.take(X, rows) for name, X in self.views.items()},
            {name: mask[rows] for name, mask in self.present.items()},
            {name: array[rows] for name, array in self.extra.items()},
        )


def make_block(views: Any, start: int, stop: int, engine: Engine, extra: Extra, gate: Gate | None = None) -> Block:
    """Make a block of the rows start to stop of views, in memory or lazy; slices of CSR share the memory of the whole.

    Of `extra`, an array is cut like the rows, and a function is called with the rows (as Views).
    """
    part = views[start:stop]
    if gate is not None:  # lazy rows were not seen before: they are checked and cast as they are read
        part = gate(part)
    carried = {
        name: engine.asarray(value(part) if callable(value) else value[start:stop]) for name, value in extra.items()
    }
    return Block(
        start,
        stop,
        {name: engine.prepare(matrix) for name, matrix in part.items()},
        {name: part.present[:, v] for v, name in enumerate(part.names)},
        carried,
    )


def make_blocks(views: Views, engine: Engine, rows_per_block: int, extra: Extra | None = None) -> Iterator[Block]:
    """Cut views into blocks of rows, one after the other."""
    for start in range(0, len(views), rows_per_block):
        yield make_block(views, start, min(start + rows_per_block, len(views)), engine, extra or {})


def floating_type(views: Any) -> np.dtype:
    """Return the floating type that all views are brought to: float32 where they all are, else float64."""
    kinds = set(views.dtypes.values()) if isinstance(views, LazyViews) else {m.dtype for m in views.values()}
    return np.dtype(np.float32) if kinds == {np.dtype(np.float32)} else np.dtype(np.float64)


def row_bytes(views: Any) -> float:
    """Return the bytes that a row of all views takes in memory, on average."""
    if isinstance(views, LazyViews):
        return sum(views.nbytes) / len(views)
    return sum(map(count_bytes, views.values())) / max(len(views), 1)


class Holder:
    """Blocks and row state of a fit in this process's memory; a row state is a list of trees, one per block.

    The loop calls a holder, never the blocks themselves. Fits from disk (`DiskHolder`) and on a cluster (`DaskHolder`)
    differ in these methods alone. Functions that are passed in must be picklable, since they may run elsewhere.

    Parameters
    ----------
    blocks : list of Block
        All rows of the fit.
    ops : Engine
        Engine of the row steps and of the shared step.
    """

    def __init__(self, blocks: list[Block], ops: Engine) -> None:
        self.blocks, self.ops = blocks, ops

    @property
    def stops(self) -> list[int]:
        """Where each block ends: row states of one cut do not fit another."""
        return [block.stop for block in self.blocks]

    def start(self, steps: Any, shared: Tree, seed: int, restart: int) -> Rows:
        """Return the row state that a fit starts from."""
        return [steps.start(block, shared, seed, restart, self.ops) for block in self.blocks]

    def step(self, steps: Any, rows: Rows, shared: Tree) -> tuple[Rows, Tree]:
        """Take the row step of every block; return the new row state and the summed statistics."""
        stats: Tree = {}
        for b, block in enumerate(self.blocks):  # in place, so that two whole row states are never held
            rows[b], _ = steps.row_step(block, rows[b], shared, self.ops, stats)
        return rows, stats

    def objective(self, steps: Steps, rows: Rows, shared: Tree) -> float:
        """Return the objective of all blocks."""
        states = zip(self.blocks, rows, strict=True)
        return float(sum(steps.objective(block, part, shared, self.ops) for block, part in states))

    def combine(self, function: Callable[..., Tree], *rows: Rows) -> Rows:
        """Return the row state that a function makes of several, block by block."""
        return [function(*parts) for parts in zip(*rows)]

    def total(self, function: Callable[..., np.ndarray], *rows: Rows) -> np.ndarray:
        """Return the sum of a function of row states over the blocks."""
        return np.sum([function(*parts) for parts in zip(*rows)], axis=0)

    def pack(self, rows: Rows, path: Path) -> Any:
        """Return a row state as NumPy arrays, for a checkpoint at `path`."""
        return tree_map(self.ops.to_numpy, rows)

    def unpack(self, tree: Any, path: Path) -> Rows:
        """Return the row state of a checkpoint."""
        return tree_map(self.ops.asarray, tree)

    def release(self) -> None:
        """Forget the data; row states stay."""
        self.blocks = []

    def collect(self, rows: Rows, name: str) -> Any:
        """Return one array of the row state over all rows."""
        parts = [self.ops.to_numpy(part[name]) for part in rows]
        # no copy of a single block: nothing writes to the state any more
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def find_thread_pools() -> Any:
    """Return the thread pools of the libraries loaded so far, as threadpoolctl's controller."""
    global _known
    from threadpoolctl import ThreadpoolController

    # looking for them takes milliseconds, longer than a small prediction. They come with modules, so that they are
    # looked for again only after something was imported
    if _known[0] != len(sys.modules):
        _known = len(sys.modules), ThreadpoolController()
    return _known[1]


def few_threads(n_objects: int, n_clusters: int) -> AbstractContextManager[Any]:
    """Give BLAS and OpenMP one thread inside the block if the problem is small, otherwise as many as before.

    Examples
    --------
    >>> with few_threads(300, 3):
    ...     count_threads(None)
    1
    """
    return find_thread_pools().limit(limits=1) if n_objects * n_clusters <= SMALL else nullcontext()


class Team:
    """A pool of threads that is started when first needed; pickles as its size."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0  # whose threads they are: a forked child has none of its parent's

    def map(self, work: Callable[[int, int], Any], chunks: list[tuple[int, int]]) -> list[Any]:
        """Call work(start, stop) for each chunk; return the results in the order of the chunks."""
        if self.size == 1 or len(chunks) == 1:
            return [work(start, stop) for start, stop in chunks]
        if self._pool is None or self._process != os.getpid():
            self._process = os.getpid()
            self._pool = ThreadPoolExecutor(self.size, thread_name_prefix="coview")
        return list(self._pool.map(lambda chunk: work(*chunk), chunks))

    def __reduce__(self) -> tuple[Any, ...]:
        return Team, (self.size,)


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads: `n_jobs` as joblib counts it (None = all cores), within threadpoolctl's limits."""
    from joblib import cpu_count

    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; use -1 for all cores.")
    cores = cpu_count()
    wanted = cores if n_jobs is None else n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)
    limits = [pool["num_threads"] for pool in find_thread_pools().info() if pool["user_api"] == "openmp"]
    return max(1, min([wanted, *limits]))


def in_threads(function: Callable[[Any], Any], items: Sequence[Any], noun: str = "") -> list[Any]:
    """Call a function with each item, several at a time; inside a call BLAS and OpenMP have one thread.

    With a `noun`, progress counts them.

    Examples
    --------
    >>> in_threads(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    pools, n_threads = find_thread_pools(), count_threads(None)

    def work(item: Any) -> Any:
        with pools.select(user_api="openmp").limit(limits=1):  # which each thread counts for itself
            return function(item)

    # calls set the threads of BLAS, which are counted for the process, and would each leave another number behind
    with pools.limit(limits=1, user_api="blas"), ThreadPoolExecutor(n_threads) as team:
        found = team.map(work, items)
        return list(counted(found, noun, len(items)) if noun else found)


def over_rows(views: Any, function: Callable[[Views, int], Any], block: int = 0) -> list[Any]:
    """Call function(rows, first row) for all rows, some at a time and in order; the results come back as a list.

    With a `block`, several threads take at most as many rows each, also of views in memory.

    Examples
    --------
    >>> over_rows(Views(x=np.ones((3, 2))), lambda part, first: float(part["x"].sum()))
    [6.0]
    """
    lazy = isinstance(views, LazyViews)
    if lazy and views.is_dask:  # the function goes to the rows, not the rows to this process
        import dask

        firsts = np.cumsum([0, *views.lengths[:-1]]).tolist()
        call = dask.delayed(function)
        return list(dask.compute(*(call(part, first) for part, first in zip(views.delayed_parts(), firsts))))
    if not lazy and not block:
        return [function(views, 0)]
    size = min(block, -(-len(views) // count_threads(None))) or _ROWS
    firsts = range(0, len(views), size)

    def work(first: int) -> Any:
        return function(views[first : first + size], first)

    return in_threads(work, firsts, "block of objects") if block else [*map(work, firsts)]


def sample_rows(views: LazyViews, most: int) -> Views:
    """Read about `most` rows in even runs from all over the views."""
    if len(views) <= most:
        return views[: len(views)]
    run = max(most // _RUNS, 1)
    firsts = np.linspace(0, len(views) - run, _RUNS).astype(int)
    return stack_views([views[first : first + run] for first in np.unique(firsts).tolist()])

"""The protocols of a fit: blocks of rows, the steps of a model, holders of the rows.

A model sees an engine and plain arrays, never NumPy, numba or torch by name: the same row step runs on each engine.
What an engine offers is said by `ReferenceEngine`, from which the others are derived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from coview.engines.reference import Handle
from coview.engines.reference import ReferenceEngine as Engine
from coview.engines.state import Tree
from coview.views.arrays import memory_size
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = [
    "Block",
    "Engine",
    "Extra",
    "Gate",
    "Handle",
    "Holder",
    "RowSteps",
    "Steps",
    "floating_type",
    "make_block",
    "make_blocks",
    "row_bytes",
]

Extra = Mapping[str, Any]  # what blocks carry: arrays over all rows, or functions of some rows (Views)
Gate = Callable[[Views], Views]


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
        """Block of some of the rows (sorted positions within this block)."""
        return Block(
            0,
            len(rows),
            {name: engine.take(X, rows) for name, X in self.views.items()},
            {name: mask[rows] for name, mask in self.present.items()},
            {name: array[rows] for name, array in self.extra.items()},
        )


class RowSteps(Protocol):
    """What is done with the rows of a block, where nothing goes on until it converges; see `Steps`."""

    def start(self, block: Block, shared: Tree, seed: int, restart: int, ops: Engine) -> Tree: ...

    def row_step(
        self, block: Block, rows: Tree, shared: Tree, ops: Engine, stats: Tree | None
    ) -> tuple[Tree, Tree | None]: ...


class Steps(RowSteps, Protocol):
    """A batch model as the loop sees it: pure functions over plain dicts of arrays.

        start(block, shared, seed, restart, ops)    -> rows           row state of one block
        row_step(block, rows, shared, ops, stats)   -> rows, stats    of the block alone; adds to stats, if not None
        shared_step(stats, shared, ops)             -> shared         summed statistics to new shared parameters
        objective(block, rows, shared, ops)         -> float          of the rows as given: what must never fall
        normalize_rows(rows), normalize_shared(shared)                back onto the simplexes after an extrapolation

    `row_step` puts the objective of the state that it was *given* into stats["objective"]: it falls out of the pass
    over the data anyway, so that watching a fit costs nothing.
    """

    def shared_step(self, stats: Tree, shared: Tree, ops: Engine) -> Tree: ...

    def objective(self, block: Block, rows: Tree, shared: Tree, ops: Engine) -> float: ...

    def normalize_rows(self, rows: Tree) -> Tree: ...

    def normalize_shared(self, shared: Tree) -> Tree: ...


Rows = Any  # row state of every block, in the holder's own form


class Holder(Protocol):
    """Who holds the rows: the blocks of a fit, their row state, and the passes over them.

    The loop asks a holder, never the blocks themselves. A fit in memory, from disk and on a cluster differ here alone:

        start(steps, shared, seed, restart)  -> rows          row state of every block, in a form of the holder's own
        step(steps, rows, shared)            -> rows, stats   the row step of every block, statistics added up
        objective(steps, rows, shared)       -> float         of all blocks
        combine(function, *rows)             -> rows          function of the row states of one block each
        total(function, *rows)               -> array         the same, added up over the blocks
        pack(rows, path), unpack(tree, path)                  row state for a checkpoint at `path`, and back
        release()                                             forget the data; row states stay
        collect(rows, name)                  -> array         one array of the row state, over all rows

    Functions that are handed in must be picklable: they may run elsewhere.
    """

    ops: Engine  # runs the shared step

    @property
    def stops(self) -> list[int]:
        """Where each block ends: row states of one cut do not fit another."""

    def start(self, steps: RowSteps, shared: Tree, seed: int, restart: int) -> Rows: ...

    def step(self, steps: RowSteps, rows: Rows, shared: Tree) -> tuple[Rows, Tree]: ...

    def objective(self, steps: Steps, rows: Rows, shared: Tree) -> float: ...

    def combine(self, function: Callable[..., Tree], *rows: Rows) -> Rows: ...

    def total(self, function: Callable[..., np.ndarray], *rows: Rows) -> np.ndarray: ...

    def pack(self, rows: Rows, path: Path) -> Any: ...

    def unpack(self, tree: Any, path: Path) -> Rows: ...

    def release(self) -> None: ...

    def collect(self, rows: Rows, name: str) -> Any: ...


def make_block(views: Any, start: int, stop: int, engine: Engine, extra: Extra, gate: Gate | None = None) -> Block:
    """Rows start to stop of views, in memory or lazy, as a block; slices of CSR share the memory of the whole.

    Of `extra`, an array is cut like the rows; a function is asked for what the rows (as Views) carry. Lazy views are
    let in by the gate, which checks and casts what was read.
    """
    part = views[start:stop]
    if gate is not None:
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
    """Floating type that all views are brought to: float32 where they all are, else float64."""
    kinds = set(views.dtypes.values()) if isinstance(views, LazyViews) else {m.dtype for m in views.values()}
    return np.dtype(np.float32) if kinds == {np.dtype(np.float32)} else np.dtype(np.float64)


def row_bytes(views: Any) -> float:
    """Bytes that a row of all views takes in memory, on average."""
    if isinstance(views, LazyViews):
        return sum(views.nbytes) / len(views)
    return sum(map(memory_size, views.values())) / max(len(views), 1)

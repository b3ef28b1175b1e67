"""Who holds the rows: the blocks of a fit, their row state, and the passes over them.

The loop asks a holder, never the blocks themselves. A fit in memory, from disk and on a cluster differ here alone:

    start(steps, shared, seed)        -> rows          row state of every block, in a form of the holder's own
    step(steps, rows, shared)         -> rows, stats   the row step of every block, statistics added up
    objective(steps, rows, shared)    -> float         of all blocks
    combine(function, *rows)          -> rows          function of the row states of one block each
    total(function, *rows)            -> array         the same, added up over the blocks
    pack(rows, path), unpack(tree, path)               row state for a checkpoint at `path`, and back
    release()                                          forget the data; row states stay
    collect(rows, name)               -> array         one array of the row state, over all rows

Functions that are handed in must be picklable: they may run elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from coview.engines.protocol import Block, Engine
from coview.engines.steps import Steps, Tree
from coview.engines.tree import tree_map

__all__ = ["Holder", "InMemory"]

Rows = Any  # row state of every block, in the holder's own form


class Holder(Protocol):
    """The face that the loop sees; see the module's docstring."""

    ops: Engine  # runs the shared step

    @property
    def stops(self) -> list[int]:
        """Where each block ends: row states of one cut do not fit another."""

    def start(self, steps: Steps, shared: Tree, seed: int) -> Rows: ...

    def step(self, steps: Steps, rows: Rows, shared: Tree) -> tuple[Rows, Tree]: ...

    def objective(self, steps: Steps, rows: Rows, shared: Tree) -> float: ...

    def combine(self, function: Callable[..., Tree], *rows: Rows) -> Rows: ...

    def total(self, function: Callable[..., np.ndarray], *rows: Rows) -> np.ndarray: ...

    def pack(self, rows: Rows, path: Path) -> Any: ...

    def unpack(self, tree: Any, path: Path) -> Rows: ...

    def release(self) -> None: ...

    def collect(self, rows: Rows, name: str) -> Any: ...


class InMemory:
    """Blocks and row state in this process; a row state is a list of trees, one per block."""

    def __init__(self, blocks: list[Block], ops: Engine) -> None:
        self.blocks, self.ops = blocks, ops

    @property
    def stops(self) -> list[int]:
        return [block.stop for block in self.blocks]

    def start(self, steps: Steps, shared: Tree, seed: int) -> list[Tree]:
        return [steps.start(block, shared, seed, self.ops) for block in self.blocks]

    def step(self, steps: Steps, rows: list[Tree], shared: Tree) -> tuple[list[Tree], Tree]:
        stats: Tree = {}
        for b, block in enumerate(self.blocks):  # block by block, in place: two whole row states are never held
            rows[b], _ = steps.row_step(block, rows[b], shared, self.ops, stats)
        return rows, stats

    def objective(self, steps: Steps, rows: list[Tree], shared: Tree) -> float:
        return float(
            sum(steps.objective(block, part, shared, self.ops) for block, part in zip(self.blocks, rows, strict=True))
        )

    def combine(self, function: Callable[..., Tree], *rows: list[Tree]) -> list[Tree]:
        return [function(*parts) for parts in zip(*rows)]

    def total(self, function: Callable[..., np.ndarray], *rows: list[Tree]) -> np.ndarray:
        return np.sum([function(*parts) for parts in zip(*rows)], axis=0)

    def pack(self, rows: list[Tree], path: Path) -> Any:
        return tree_map(self.ops.to_numpy, rows)

    def unpack(self, tree: Any, path: Path) -> list[Tree]:
        return tree_map(self.ops.asarray, tree)

    def release(self) -> None:
        self.blocks = []

    def collect(self, rows: list[Tree], name: str) -> np.ndarray:
        return np.concatenate([self.ops.to_numpy(part[name]) for part in rows])

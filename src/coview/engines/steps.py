"""A batch model as the loop sees it: pure functions over plain dicts of arrays.

    start(block, shared, seed, ops)             -> rows           row state of one block
    row_step(block, rows, shared, ops, stats)   -> rows, stats    local to the block; adds to stats (None: keeps none)
    shared_step(stats, shared, ops)             -> shared         summed statistics to new shared parameters
    objective(block, rows, shared, ops)         -> float          of the rows as given: what must never fall
    normalize_rows(rows), normalize_shared(shared)                back onto the simplexes after an extrapolation

`row_step` puts the objective of the state that it was *given* into stats["objective"]: it falls out of the pass over
the data anyway, so that watching a fit costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from coview.engines.protocol import Block, Engine

__all__ = ["State", "Steps"]

Tree = dict[str, Any]


class Steps(Protocol):
    """The functions that make a model; see the module's docstring."""

    def start(self, block: Block, shared: Tree, seed: int, ops: Engine) -> Tree: ...

    def row_step(
        self, block: Block, rows: Tree, shared: Tree, ops: Engine, stats: Tree | None
    ) -> tuple[Tree, Tree | None]: ...

    def shared_step(self, stats: Tree, shared: Tree, ops: Engine) -> Tree: ...

    def objective(self, block: Block, rows: Tree, shared: Tree, ops: Engine) -> float: ...

    def normalize_rows(self, rows: Tree) -> Tree: ...

    def normalize_shared(self, shared: Tree) -> Tree: ...


@dataclass
class State:
    """Where a fit stands: the row state of every block, in its holder's form, and the shared parameters."""

    rows: Any
    shared: Tree

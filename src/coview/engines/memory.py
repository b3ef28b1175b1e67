"""Rows of a fit in this process's memory, and how much of it the process takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from coview.engines.protocol import Block, Engine, RowSteps, Steps
from coview.engines.state import Tree, tree_map

__all__ = ["MemoryHolder", "resident"]


class MemoryHolder:
    """Blocks and row state in this process; a row state is a list of trees, one per block."""

    def __init__(self, blocks: list[Block], ops: Engine) -> None:
        self.blocks, self.ops = blocks, ops

    @property
    def stops(self) -> list[int]:
        return [block.stop for block in self.blocks]

    def start(self, steps: RowSteps, shared: Tree, seed: int, restart: int) -> list[Tree]:
        return [steps.start(block, shared, seed, restart, self.ops) for block in self.blocks]

    def step(self, steps: RowSteps, rows: list[Tree], shared: Tree) -> tuple[list[Tree], Tree]:
        stats: Tree = {}
        for b, block in enumerate(self.blocks):  # block by block, in place: two whole row states are never held
            rows[b], _ = steps.row_step(block, rows[b], shared, self.ops, stats)
        return rows, stats

    def objective(self, steps: Steps, rows: list[Tree], shared: Tree) -> float:
        states = zip(self.blocks, rows, strict=True)
        return float(sum(steps.objective(block, part, shared, self.ops) for block, part in states))

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
        parts = [self.ops.to_numpy(part[name]) for part in rows]
        # the state itself, if it is one block: nobody writes to it any more
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def resident() -> int:
    """Bytes of memory that this process takes now."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024
    return 300 * 2**20  # an interpreter with scipy and numba loaded, where the system does not tell

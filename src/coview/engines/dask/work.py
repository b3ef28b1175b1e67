"""What a worker of a cluster does with its part of the rows: plain functions, called by name over the network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from coview.engines.cpu import CpuEngine
from coview.engines.protocol import Block, Extra, Gate, Steps, make_block
from coview.engines.reference import ReferenceEngine
from coview.engines.state import Tree, tree_leaves, tree_map
from coview.views.views import Views

__all__ = [
    "PreparedPart",
    "added",
    "combine",
    "objective",
    "pick",
    "prepare",
    "read_copy",
    "row_step",
    "same",
    "shape_of",
    "start",
    "total",
    "write_copy",
]  # fmt: skip


@dataclass
class PreparedPart:
    """One part of the data, cut into blocks; says its size, so that the scheduler does not move it lightly."""

    blocks: list[Block]
    nbytes: int

    def __sizeof__(self) -> int:
        return self.nbytes


def _fitted(part: PreparedPart, rows: list[Tree], ops: Any) -> list[Tree]:
    """Row states cut as the part's blocks are; another engine, or the same with other memory, cuts otherwise."""
    lengths = [len(block) for block in part.blocks]
    if [len(next(tree_leaves(tree))) for tree in rows] == lengths:
        return rows
    whole = tree_map(lambda *leaves: np.concatenate([ops.to_numpy(leaf) for leaf in leaves]), *rows)
    ends = np.cumsum([0, *lengths]).tolist()
    return [tree_map(lambda leaf, cut=slice(*cut): ops.asarray(leaf[cut]), whole) for cut in pairwise(ends)]


@lru_cache
def _engine(name: str) -> Any:
    """Engine of this worker, which has as many tasks at a time as threads."""
    if name == "cuda":
        from coview.engines.cuda import CudaEngine

        return CudaEngine()
    return ReferenceEngine() if name == "reference" else CpuEngine(n_jobs=1)


def prepare(
    views: Views, offset: int, extra: Extra, gate: Gate, engine: str, width: int, itemsize: int, row_bytes: float
) -> PreparedPart:
    """Cut a part, whose first row is number `offset` of all, into blocks of the engine's."""
    ops = _engine(engine)
    size = ops.block_rows(width, itemsize, len(views), row_bytes)
    blocks = []
    for first in range(0, len(views), size):
        block = make_block(views, first, min(first + size, len(views)), ops, extra, gate)
        block.start, block.stop = block.start + offset, block.stop + offset
        blocks.append(block)
    return PreparedPart(blocks, int(2 * row_bytes * len(views)))


def same(tree: Tree) -> Tree:
    """Return what is given: parameters as a task, which Dask can send again."""
    return tree


def start(part: PreparedPart, shared: Tree, steps: Steps, seed: int, restart: int, engine: str) -> list[Tree]:
    """Row state to begin with, block by block."""
    ops = _engine(engine)
    shared = tree_map(ops.asarray, shared)
    return [steps.start(block, shared, seed, restart, ops) for block in part.blocks]


def row_step(part: PreparedPart, rows: list[Tree], shared: Tree, steps: Steps, engine: str) -> tuple[list[Tree], Tree]:
    """New row state, and the part's statistics as NumPy arrays."""
    ops = _engine(engine)
    stats: Tree = {}
    new = []
    with ops.limits():
        shared = tree_map(ops.asarray, shared)
        for block, old in zip(part.blocks, _fitted(part, rows, ops), strict=True):
            tree, _ = steps.row_step(block, old, shared, ops, stats)
            new.append(tree)
    return new, tree_map(ops.to_numpy, stats)


def objective(part: PreparedPart, rows: list[Tree], shared: Tree, steps: Steps, engine: str) -> float:
    """Objective of a part."""
    ops = _engine(engine)
    with ops.limits():
        shared = tree_map(ops.asarray, shared)
        states = zip(part.blocks, _fitted(part, rows, ops), strict=True)
        return float(sum(steps.objective(block, tree, shared, ops) for block, tree in states))


def combine(*rows: list[Tree], function: Callable[..., Tree]) -> list[Tree]:
    """Row state of a part out of several, block by block."""
    return [function(*trees) for trees in zip(*rows)]


def total(*rows: list[Tree], function: Callable[..., np.ndarray]) -> np.ndarray:
    """Sum of a function of row states over the blocks."""
    return np.sum([function(*trees) for trees in zip(*rows)], axis=0)


def added(first: Tree, *others: Tree) -> Tree:
    """Sum of trees, from left to right."""
    for other in others:
        first = tree_map(np.add, first, other)
    return first


def to_host(rows: list[Tree], engine: str) -> list[Tree]:
    """Row state as NumPy arrays."""
    return tree_map(_engine(engine).to_numpy, rows)


def to_engine(rows: list[Tree], engine: str) -> list[Tree]:
    """Row state as the worker's engine likes it."""
    return tree_map(_engine(engine).asarray, rows)


def write_copy(rows: list[Tree], path: str, engine: str) -> None:
    """Write a copy of a part's row state, beside and then into place."""
    from coview.utils.archive import write_archive

    write_archive(path, to_host(rows, engine), kind="rows", version=1)


def read_copy(path: str, engine: str) -> list[Tree]:
    """Read a copy of a part's row state."""
    from coview.utils.archive import read_archive

    return to_engine(read_archive(path, kind="rows", newest=1)[0], engine)


def pick(rows: list[Tree], name: str, engine: str) -> np.ndarray:
    """One array of the row state over a part's blocks."""
    return np.concatenate([_engine(engine).to_numpy(tree[name]) for tree in rows])


def shape_of(rows: list[Tree], name: str, engine: str) -> tuple[tuple[int, ...], Any]:
    """Shape and type of what `pick` gives, but for the number of rows."""
    first = _engine(engine).to_numpy(rows[0][name])
    return first.shape[1:], first.dtype

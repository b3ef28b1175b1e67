"""What a worker of a cluster does with a group of parts: plain functions, called by name over the network.

Row state of a group is a list (its parts) of lists (their blocks) of trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from coview.engines.cpu import CpuEngine
from coview.engines.protocol import Block, Extra, Gate, Steps, Tree, make_block, tree_leaves, tree_map
from coview.engines.reference import ReferenceEngine
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = [
    "PartsToRead",
    "PreparedPart",
    "add",
    "collect_rows",
    "combine_rows",
    "get_shape",
    "objective",
    "prepare",
    "row_step",
    "same",
    "start",
    "total",
]  # fmt: skip

PartRows = list[Tree]  # one tree per block
GroupRows = list[PartRows]


@dataclass(frozen=True)
class PartsToRead:
    """Some parts of lazy views, each read when it is its turn."""

    views: LazyViews
    numbers: range

    def __iter__(self) -> Iterator[Views]:
        return map(self.views.part, self.numbers)


@dataclass
class PreparedPart:
    """One part of the data, cut into blocks; says its size, so that the scheduler does not move it lightly."""

    blocks: list[Block]
    nbytes: int

    def __sizeof__(self) -> int:
        return self.nbytes


def _fitted(part: PreparedPart, rows: PartRows, ops: Any) -> PartRows:
    """Row states cut as the part's blocks are; another engine, or the same with other memory, cuts otherwise."""
    # a checkpoint may come from a cluster with other engines, and a lost part may be made again on another machine
    lengths = [len(block) for block in part.blocks]
    if [len(next(tree_leaves(tree))) for tree in rows] == lengths:
        return rows
    whole = tree_map(lambda *leaves: np.concatenate([ops.to_numpy(leaf) for leaf in leaves]), *rows)
    ends = np.cumsum([0, *lengths]).tolist()
    return [tree_map(lambda leaf, cut=slice(*cut): ops.asarray(leaf[cut]), whole) for cut in pairwise(ends)]


@lru_cache
def _engine(name: str) -> Any:
    """Return the engine of this worker."""
    # one thread each: a worker has as many tasks at a time as threads
    if name == "cuda":
        from coview.engines.cuda import CudaEngine

        return CudaEngine()
    return ReferenceEngine() if name == "reference" else CpuEngine(n_jobs=1)


def prepare(
    parts: Iterable[Views],
    offsets: list[int],
    extras: list[Extra],
    gate: Gate,
    engine: str,
    width: int,
    itemsize: int,
    row_bytes: float,
    most: int | None = None,
) -> list[PreparedPart]:
    """Cut parts, whose first rows have these numbers among all, into blocks of the engine's, of `most` rows at most."""
    ops = _engine(engine)
    prepared = []
    for views, offset, extra in zip(parts, offsets, extras, strict=True):
        size = ops.block_rows(width, itemsize, len(views), row_bytes)
        size = size if most is None else min(size, most)
        blocks = []
        for first in range(0, len(views), size):
            block = make_block(views, first, min(first + size, len(views)), ops, extra, gate)
            # numbers among all rows, by which random starts are drawn: the same as on one machine
            block.start, block.stop = block.start + offset, block.stop + offset
            blocks.append(block)
        prepared.append(PreparedPart(blocks, int(2 * row_bytes * len(views))))  # by row and by feature
    return prepared


def same(tree: Tree) -> Tree:
    """Return what is given."""
    # parameters as the result of a task: Dask can make that again when a worker is lost, scattered data it cannot
    return tree


def _receive(shared: Tree, ops: Any) -> Tree:
    """Bring parameters to the engine of this worker."""
    # arrays that came over the network begin at any byte; gathering from such takes up to half as long again
    return tree_map(ops.align if isinstance(ops, CpuEngine) else ops.asarray, shared)


def start(parts: list[PreparedPart], shared: Tree, steps: Any, seed: int, restart: int, engine: str) -> GroupRows:
    """Return the row state to begin with, block by block."""
    ops = _engine(engine)
    shared = _receive(shared, ops)
    return [[steps.start(block, shared, seed, restart, ops) for block in part.blocks] for part in parts]


def row_step(
    parts: list[PreparedPart], rows: GroupRows, shared: Tree, steps: Any, engine: str
) -> tuple[GroupRows, Tree]:
    """Return the new row state, and the group's statistics as NumPy arrays."""
    ops = _engine(engine)
    stats: Tree = {}
    new: GroupRows = []
    with ops.limits():
        shared = _receive(shared, ops)
        for part, states in zip(parts, rows, strict=True):
            new.append([])
            for block, old in zip(part.blocks, _fitted(part, states, ops), strict=True):
                tree, _ = steps.row_step(block, old, shared, ops, stats)
                new[-1].append(tree)
    return new, tree_map(ops.to_numpy, stats)


def objective(parts: list[PreparedPart], rows: GroupRows, shared: Tree, steps: Steps, engine: str) -> float:
    """Return the objective of a group."""
    ops = _engine(engine)
    value = 0.0
    with ops.limits():
        shared = _receive(shared, ops)
        for part, states in zip(parts, rows, strict=True):
            for block, tree in zip(part.blocks, _fitted(part, states, ops), strict=True):
                value += float(steps.objective(block, tree, shared, ops))
    return value


def combine_rows(*rows: GroupRows, function: Callable[..., Tree]) -> GroupRows:
    """Return the row state of a group that a function makes of several, block by block."""
    return [[function(*trees) for trees in zip(*parts)] for parts in zip(*rows)]


def total(*rows: GroupRows, function: Callable[..., np.ndarray]) -> np.ndarray:
    """Return the sum of a function of row states over the blocks."""
    return np.sum([function(*trees) for parts in zip(*rows) for trees in zip(*parts)], axis=0)


def add(first: Tree, *others: Tree) -> Tree:
    """Add trees from left to right, in new arrays."""
    # new, since Dask may need what is given again, and since it may be read-only and begin at any byte
    whole = tree_map(np.array, first)
    for other in others:
        whole = tree_map(_add_to, whole, other)
    return whole


def _add_to(whole: Any, part: Any) -> Any:
    whole += part
    return whole


def to_host(rows: GroupRows, engine: str) -> GroupRows:
    """Return row state as NumPy arrays."""
    return tree_map(_engine(engine).to_numpy, rows)


def to_engine(rows: GroupRows, engine: str) -> GroupRows:
    """Return row state as arrays of the worker's engine."""
    return tree_map(_engine(engine).asarray, rows)


def collect_rows(rows: GroupRows, number: int, name: str, engine: str) -> np.ndarray:
    """Return one array of the row state over the blocks of one part of a group."""
    return np.concatenate([_engine(engine).to_numpy(tree[name]) for tree in rows[number]])


def get_shape(rows: GroupRows, name: str, engine: str) -> tuple[tuple[int, ...], Any]:
    """Return shape and type of what `collect_rows` returns, without the number of rows."""
    first = _engine(engine).to_numpy(rows[0][0][name])
    return first.shape[1:], first.dtype

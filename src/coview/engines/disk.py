"""Fits of rows that are read when needed: one block in memory, the next one being read, row state on disk.

With a `memory_limit`, blocks are cut so that the process stays within it:

    taken now + parameters + 2 blocks x (rows, rows by feature) + row state of one block  <=  limit

Without one they have the engine's usual number of rows, and the fit equals the one in memory bit for bit.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from coview.engines.disk_store import Shelf, Stored
from coview.engines.memory import resident
from coview.engines.protocol import Block, Engine, Extra, Gate, make_block
from coview.engines.steps import Steps, Tree
from coview.engines.tree import tree_map
from coview.exceptions import EngineError
from coview.views.lazy import LazyViews

__all__ = ["OnDisk"]

_LEAST = 64  # rows of a block: with fewer, a sweep is all overhead
_PARAMETERS = 4  # copies of the parameters at the height of a sweep: old, statistics, new, one in passing
_ROW_STATES = 6  # copies of a block's row state at the height of a step
_SLACK = 0.8  # of what is left; the rest goes to small things and to what the allocator keeps


class OnDisk:
    """Holds a fit whose rows are lazy; a row state is a list of trees on a shelf."""

    def __init__(
        self, views: LazyViews, engine: Engine, width: int, extra: Extra, gate: Gate, row_bytes: float
    ) -> None:
        self.views, self.ops, self.extra, self.gate = views, engine, extra, gate
        itemsize = gate.dtype.itemsize if hasattr(gate, "dtype") else 8
        size = engine.block_rows(width, itemsize, len(views), row_bytes)
        limit = getattr(engine, "host_memory_limit", None)  # a device's own limit says nothing of this process
        if limit is not None:
            size = _rows_within(limit, size, views, width, itemsize, row_bytes)
        starts = range(0, len(views), min(size, len(views)))
        self.cuts = [(start, min(start + size, len(views))) for start in starts]
        self.shelf = Shelf()

    @property
    def stops(self) -> list[int]:
        return [stop for _, stop in self.cuts]

    def start(self, steps: Steps, shared: Tree, seed: int) -> list[Stored]:
        return [
            self.shelf.put(tree_map(self.ops.to_numpy, steps.start(block, shared, seed, self.ops)))
            for block in self._blocks(starting=True)
        ]

    def step(self, steps: Steps, rows: list[Stored], shared: Tree) -> tuple[list[Stored], Tree]:
        stats: Tree = {}
        new = []
        for block, old in zip(self._blocks(), rows):
            tree, _ = steps.row_step(block, self._row_state(old), shared, self.ops, stats)
            new.append(self.shelf.put(tree_map(self.ops.to_numpy, tree)))
            del block, tree
        return new, stats

    def objective(self, steps: Steps, rows: list[Stored], shared: Tree) -> float:
        return float(
            sum(
                steps.objective(block, self._row_state(part), shared, self.ops)
                for block, part in zip(self._blocks(), rows)
            )
        )

    def _row_state(self, stored: Stored) -> Tree:
        return tree_map(self.ops.asarray, stored.get())

    def combine(self, function: Callable[..., Tree], *rows: list[Stored]) -> list[Stored]:
        return [self.shelf.put(function(*(part.get() for part in parts))) for parts in zip(*rows)]

    def total(self, function: Callable[..., np.ndarray], *rows: list[Stored]) -> np.ndarray:
        return np.sum([function(*(part.get() for part in parts)) for parts in zip(*rows)], axis=0)

    def pack(self, rows: list[Stored], path: Path) -> Any:
        # mapped, not read: they pass through memory as the file is written
        return [tree_map(lambda file: np.load(file, mmap_mode="r"), part.paths) for part in rows]

    def unpack(self, tree: Any, path: Path) -> list[Stored]:
        return [self.shelf.put(part) for part in tree]

    def release(self) -> None:
        """Nothing of the data is held between passes."""

    def collect(self, rows: list[Stored], name: str) -> np.ndarray:
        """Return one array over all rows, mapped from a file that goes when the array does."""
        first = np.load(rows[0].paths[name], mmap_mode="r")
        shape = (len(self.views), *first.shape[1:])
        stored = self.shelf.put({name: np.empty((0,), dtype=first.dtype)})
        whole = np.lib.format.open_memmap(stored.paths[name], mode="w+", dtype=first.dtype, shape=shape)
        for (start, stop), part in zip(self.cuts, rows):
            whole[start:stop] = part.get()[name]
        whole.flush()
        found = np.load(stored.paths[name], mmap_mode="r")
        weakref.finalize(found._mmap, stored.get_paths)  # the file stays as long as the mapping
        return found

    def _blocks(self, *, starting: bool = False) -> Iterator[Block]:
        """Blocks one after the other; while one is worked on, a thread reads the next."""
        extra = {name: value for name, value in self.extra.items() if starting or name != "start"}

        def read(cut: tuple[int, int]) -> Block:
            block = make_block(self.views, *cut, self.ops, extra, self.gate)
            for handle in block.views.values():
                getattr(handle, "feature_parts", None)  # by feature as well, here rather than in the step
            return block

        with ThreadPoolExecutor(1) as reader:
            coming = reader.submit(read, self.cuts[0])
            for cut in [*self.cuts[1:], None]:
                block = coming.result()
                if cut is not None:
                    coming = reader.submit(read, cut)
                else:
                    del coming
                yield block
                del block


def _rows_within(limit: int, most: int, views: LazyViews, width: int, itemsize: int, row_bytes: float) -> int:
    """Rows per block so that a sweep stays within the limit: the engine's number halved as often as needed."""
    parameters = _PARAMETERS * width * itemsize * sum(views.n_features.values())
    taken = resident()
    left = (limit - taken - parameters) * _SLACK
    per_row = 2 * 2 * row_bytes + _ROW_STATES * width * itemsize
    size = min(most, len(views))
    while size > _LEAST and size * per_row > left:
        size = -(-size // 2)
    if size * per_row > left:
        need = taken + parameters + size * per_row / _SLACK
        raise EngineError(
            f"memory_limit={limit / 1e6:.0f} MB is too small: {taken / 1e6:.0f} MB are taken before the fit, "
            f"{parameters / 1e6:.0f} MB go to the parameters ({width} columns), and a block of {size} rows needs "
            f"{size * per_row / 1e6:.0f} MB. Allow at least {need / 1e6:.0f} MB."
        )
    return size

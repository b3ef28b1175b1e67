"""Fits of rows that are read when needed: one block in memory, the next one being read, row state on disk.

With a `memory_limit`, blocks are cut so that the process stays within it:

    taken now + parameters + 2 blocks x (rows, rows by feature) + row state of one block  <=  limit

Without one they have the engine's usual number of rows, and the fit has the steps of the one in memory.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from coview.engines.cpu import CpuMatrix
from coview.engines.protocol import (
    Block,
    Engine,
    Extra,
    Gate,
    Holder,
    Steps,
    Tree,
    floating_type,
    make_block,
    row_bytes,
    tree_leaves,
    tree_map,
)
from coview.exceptions import EngineError
from coview.utils.atomic import remove_files
from coview.views.lazy import LazyViews

__all__ = ["DiskHolder", "StoredTree", "TreeStore", "measure_memory"]

_LEAST = 64  # rows of a block: with fewer, a sweep is all overhead
_PARAMETERS = 6  # most copies at the height of a sweep: old, statistics, new, one in passing, two that momentum keeps
_ROW_STATES = 6  # copies of a block's row state at the height of a step
_SLACK = 0.8  # of what is left; the rest goes to small things and to what the allocator keeps


class TreeStore:
    """A folder for trees, removed with everything in it when the store is forgotten."""

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="coview-", dir=folder))
        self._numbers = itertools.count()
        self._end = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def put(self, tree: Tree) -> StoredTree:
        """Write a tree; its files live as long as what is returned."""
        return StoredTree(self, tree_map(self._write, tree))

    def _write(self, array: Any) -> Path:
        path = self.folder / f"{next(self._numbers)}.npy"
        np.save(path, array, allow_pickle=False)
        return path


class StoredTree:
    """A tree on disk."""

    def __init__(self, store: TreeStore, paths: Any) -> None:
        self._store = store  # keeps the folder
        self.paths = paths
        self._end = weakref.finalize(self, remove_files, list(tree_leaves(paths)))

    def get_paths(self) -> list[Path]:
        """Return the files, which are kept as long as a reference to this method is."""
        return list(tree_leaves(self.paths))

    def get(self) -> Tree:
        """Read the tree into memory."""
        return tree_map(lambda path: np.load(path, allow_pickle=False), self.paths)


class DiskHolder(Holder):
    """Rows of a fit that are lazy; a row state is a list of stored trees."""

    def __init__(
        self, views: LazyViews, engine: Engine, width: int, extra: Extra, gate: Gate, most: int | None = None
    ) -> None:
        self.views, self.ops, self.extra, self.gate = views, engine, extra, gate
        itemsize, per_row = floating_type(views).itemsize, row_bytes(views)
        size = min(engine.block_rows(width, itemsize, len(views), per_row), most or len(views))
        if engine.memory_limit is not None:
            size = _count_rows(engine.memory_limit, size, views, width, itemsize, per_row)
        starts = range(0, len(views), min(size, len(views)))
        self.cuts = [(start, min(start + size, len(views))) for start in starts]
        self.store = TreeStore()

    @property
    def stops(self) -> list[int]:
        return [stop for _, stop in self.cuts]

    def start(self, steps: Any, shared: Tree, seed: int, restart: int) -> list[StoredTree]:
        return [
            self.store.put(tree_map(self.ops.to_numpy, steps.start(block, shared, seed, restart, self.ops)))
            for block in self._blocks(starting=True)
        ]

    def step(self, steps: Any, rows: list[StoredTree], shared: Tree) -> tuple[list[StoredTree], Tree]:
        stats: Tree = {}
        new = []
        for block, old in zip(self._blocks(), rows):
            tree, _ = steps.row_step(block, self._row_state(old), shared, self.ops, stats)
            new.append(self.store.put(tree_map(self.ops.to_numpy, tree)))
            del block, tree
        return new, stats

    def objective(self, steps: Steps, rows: list[StoredTree], shared: Tree) -> float:
        states = zip(self._blocks(), rows)
        return float(sum(steps.objective(block, self._row_state(part), shared, self.ops) for block, part in states))

    def _row_state(self, stored: StoredTree) -> Tree:
        return tree_map(self.ops.asarray, stored.get())

    def combine(self, function: Callable[..., Tree], *rows: list[StoredTree]) -> list[StoredTree]:
        return [self.store.put(function(*(part.get() for part in parts))) for parts in zip(*rows)]

    def total(self, function: Callable[..., np.ndarray], *rows: list[StoredTree]) -> np.ndarray:
        return np.sum([function(*(part.get() for part in parts)) for parts in zip(*rows)], axis=0)

    def pack(self, rows: list[StoredTree], path: Path) -> Any:
        # mapped, not read: they pass through memory as the file is written
        return [tree_map(lambda file: np.load(file, mmap_mode="r"), part.paths) for part in rows]

    def unpack(self, tree: Any, path: Path) -> list[StoredTree]:
        return [self.store.put(part) for part in tree]

    def release(self) -> None:
        """Nothing of the data is held between passes."""

    def collect(self, rows: list[StoredTree], name: str) -> np.ndarray:
        """Return one array over all rows, mapped from a file that goes when the array does."""
        first = np.load(rows[0].paths[name], mmap_mode="r")
        shape = (len(self.views), *first.shape[1:])
        stored = self.store.put({name: np.empty((0,), dtype=first.dtype)})
        whole = np.lib.format.open_memmap(stored.paths[name], mode="w+", dtype=first.dtype, shape=shape)
        for (start, stop), part in zip(self.cuts, rows):
            whole[start:stop] = part.get()[name]
        whole.flush()
        mapped = np.load(stored.paths[name], mmap_mode="r")
        weakref.finalize(mapped._mmap, stored.get_paths)  # the file stays as long as the mapping
        return mapped

    def _blocks(self, *, starting: bool = False) -> Iterator[Block]:
        """Blocks one after the other; while one is worked on, a thread reads the next."""
        extra = {name: value for name, value in self.extra.items() if starting or name != "start"}

        def read(cut: tuple[int, int]) -> Block:
            block = make_block(self.views, *cut, self.ops, extra, self.gate)
            for handle in block.views.values():
                if isinstance(handle, CpuMatrix) and not handle.is_dense:
                    handle.feature_parts  # noqa: B018, by feature as well: here rather than in the step
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


def _count_rows(limit: int, most: int, views: LazyViews, width: int, itemsize: int, bytes_per_row: float) -> int:
    """Rows per block so that a sweep stays within the limit: the engine's number halved as often as needed."""
    parameters = _PARAMETERS * width * itemsize * sum(views.n_features.values())
    taken = measure_memory()
    left = (limit - taken - parameters) * _SLACK
    per_row = 2 * 2 * bytes_per_row + _ROW_STATES * width * itemsize
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


def measure_memory() -> int:
    """Return the bytes of memory that this process takes now."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024
    return 300 * 2**20  # an interpreter with scipy and numba loaded, where the system does not tell

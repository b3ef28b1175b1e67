"""A shelf on disk for trees of arrays: put one there, get it back, and its files go when nobody holds it any more."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from coview.engines.steps import Tree
from coview.engines.tree import tree_leaves, tree_map

__all__ = ["Shelf", "Stored"]


class Shelf:
    """A folder for trees, removed with everything in it when the shelf is forgotten.

    Examples
    --------
    >>> shelf = Shelf()
    >>> stored = shelf.put({"mixture": np.eye(2)})
    >>> stored.get()["mixture"]
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="coview-", dir=folder))
        self._numbers = itertools.count()
        self._end = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def put(self, tree: Tree) -> Stored:
        """Write a tree; its files live as long as what is returned."""
        return Stored(self, tree_map(self._write, tree))

    def _write(self, array: Any) -> Path:
        path = self.folder / f"{next(self._numbers)}.npy"
        np.save(path, array, allow_pickle=False)
        return path


class Stored:
    """A tree on a shelf."""

    def __init__(self, shelf: Shelf, paths: Any) -> None:
        self._shelf = shelf  # keeps the folder
        self.paths = paths
        self._end = weakref.finalize(self, _unlink, list(tree_leaves(paths)))

    def get_paths(self) -> list[Path]:
        """Return the files; who holds on to this method holds on to them."""
        return list(tree_leaves(self.paths))

    def get(self) -> Tree:
        """Read the tree into memory."""
        return tree_map(lambda path: np.load(path, allow_pickle=False), self.paths)


def _unlink(paths: list[Path]) -> None:
    for path in paths:
        if path.exists():
            os.unlink(path)

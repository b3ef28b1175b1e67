"""How a row state on a cluster came about: enough to make it again, exactly, where a worker is lost.

    Begin(shared, seed, restart)        the start
    Stepped(before, shared)         a row step after another state
    Combined(function, *before)     a function of other states (SQUAREM)
    Copy(paths)                     read from files that the workers wrote
    Given(parts)                    handed in by the client (a resumed fit)

Shared parameters are kept on the client's disk. A state is a chain of steps back to one of the others.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coview.engines.disk import StoredTree

__all__ = ["Begin", "Combined", "Copy", "Given", "Recipe", "Stepped", "length"]


@dataclass(frozen=True)
class Begin:
    """The start of a fit."""

    shared: StoredTree
    seed: int
    restart: int


@dataclass(frozen=True)
class Stepped:
    """One row step later."""

    before: Recipe
    shared: StoredTree


@dataclass(frozen=True)
class Combined:
    """A function of several states, part by part."""

    function: Callable[..., Any]
    before: tuple[Recipe, ...]


@dataclass(frozen=True)
class Given:
    """What the client handed in, a tree per part."""

    parts: tuple[StoredTree, ...]


class Copy:
    """Files of every part's state; removed when the copy is forgotten."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        self._end = weakref.finalize(self, _unlink, paths)


Recipe = Begin | Stepped | Combined | Given | Copy


def length(recipe: Recipe) -> int:
    """Row steps since the last state that is stored or simple."""
    steps = 0
    while isinstance(recipe, Stepped):
        steps, recipe = steps + 1, recipe.before
    return steps


def _unlink(paths: list[str]) -> None:
    for path in paths:
        Path(path).unlink(missing_ok=True)

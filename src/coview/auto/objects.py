"""The objects of a fit: all of them, in memory or read in blocks, and those that are held in memory at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coview.utils.sampling import sample_positions
from coview.views.lazy import LazyViews
from coview.views.sources import Changed
from coview.views.views import Views

__all__ = ["Objects"]

BASE = 25_000  # objects that are held in memory beside those that the user holds, and whose neighbors are looked for
BLOCK = 8192  # objects that are gone through at a time


@dataclass(frozen=True)
class Objects:
    """All objects, and a sample of them in memory, `base`, with its positions; of few objects it is all of them."""

    all: Any  # Views, or LazyViews where there are more than `base`
    base: Views
    base_rows: np.ndarray

    @classmethod
    def of(cls, views: Any, seed: int) -> Objects:
        """Draw the sample."""
        n = len(views)
        rows = sample_positions(n, BASE, seed)
        if len(rows) == n:
            base = views[:n] if isinstance(views, LazyViews) else views
            return cls(base, base, rows)
        some = views[rows]
        return cls(views if isinstance(views, LazyViews) else LazyViews.from_views(views, BLOCK), some, rows)

    def __len__(self) -> int:
        return len(self.all)

    @property
    def many(self) -> bool:
        """Whether there are more objects than are held in memory at once."""
        return len(self.base) < len(self.all)

    def select(self, names: Sequence[str]) -> Objects:
        """Return the same objects with some of their views."""
        return Objects(self.all.select(*names), self.base.select(*names), self.base_rows)

    def through(self, step: Callable[[Views], Views]) -> Objects:
        """Return the same objects, changed by a step that keeps the rows; those that are not in memory when read."""
        base = step(self.base)
        return Objects(LazyViews(Changed(self.all.source, step)) if self.many else base, base, self.base_rows)

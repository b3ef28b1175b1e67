"""The objects of a fit: all of them, in memory or read in blocks, and two samples of bounded size.

| rows | who sees them |
|---|---|
| sample | every candidate's first fit, and the evidence |
| base | what the views are prepared by, and second fits of methods that do not go through blocks |
| all | second fits of methods that do, and the placing of objects by what was fitted |

So whatever the number of objects, only what is linear in it, block by block, sees them all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from coview.utils.sampling import sample_positions
from coview.views.lazy import LazyViews
from coview.views.sources import Changed
from coview.views.views import Views

__all__ = ["Objects"]

SAMPLE, SAMPLE_PER_CLUSTER = 4000, 20  # objects that evidence is gathered on
BASE, BASE_PER_CLUSTER = 20_000, 50  # most objects that are held in memory beside those that the user holds
BLOCK = 8192  # objects that are gone through at a time


@dataclass(frozen=True)
class Objects:
    """All objects, and samples of them in memory with their positions."""

    all: Any  # Views, or LazyViews where there are more than `base`
    base: Views
    base_rows: np.ndarray
    sample: Views
    sample_rows: np.ndarray

    @classmethod
    def of(cls, views: Any, n_clusters: int, seed: int) -> Objects:
        """Draw the samples; each is all objects where there are no more."""
        n = len(views)
        base_rows = sample_positions(n, max(BASE, BASE_PER_CLUSTER * n_clusters), seed)
        base = views[base_rows] if len(base_rows) < n else views[:n] if isinstance(views, LazyViews) else views
        if len(base_rows) == n:
            views = base
        elif not isinstance(views, LazyViews):
            views = LazyViews.from_views(views, BLOCK)
        some = sample_positions(len(base), max(SAMPLE, SAMPLE_PER_CLUSTER * n_clusters), seed + 1)
        return cls(views, base, base_rows, base if len(some) == len(base) else base[some], base_rows[some])

    def __len__(self) -> int:
        return len(self.all)

    @property
    def sampled(self) -> bool:
        """Whether the sample is not all objects."""
        return len(self.sample) < len(self.all)

    def through(self, step: Callable[[Views], Views]) -> Objects:
        """Return the same objects, changed by a step that keeps the rows; those that are not in memory when read."""
        base = step(self.base)
        if isinstance(self.all, LazyViews):
            views: Any = LazyViews(Changed(self.all.source, step))
        else:
            views = base
        if len(self.sample) == len(self.base):
            return Objects(views, base, self.base_rows, base, self.sample_rows)
        sample = base[np.searchsorted(self.base_rows, self.sample_rows)]
        return Objects(views, base, self.base_rows, sample, self.sample_rows)

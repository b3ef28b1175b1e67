"""Views in memory as an engine holds them, whole: what the passes of a start go over, moved there once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coview.engines.loop import select_engine
from coview.engines.protocol import Block, Engine, Handle, floating_type, row_bytes
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["HeldViews"]

_COPIES = 2  # of the rows that a start needs at a time: as they are, and of length 1


@dataclass(frozen=True)
class HeldViews:
    """Whole views that an engine holds.

    Examples
    --------
    >>> held = HeldViews.here(Views(words=np.eye(3)))
    >>> held.ops.name, held.ops.row_sums(held.handles["words"])
    ('cpu', array([1., 1., 1.]))
    """

    ops: Engine
    handles: dict[str, Handle]
    present: np.ndarray  # objects x views
    floating_type: Any

    @classmethod
    def here(cls, views: Views) -> HeldViews:
        """Hold views in this process, by reference."""
        return cls._of(views, select_engine("cpu"))

    @classmethod
    def on_device(cls, views: Any, engine: Engine | None, n_columns: int) -> HeldViews | None:
        """Move views to the device of a fit's engine; None where it has none, or where they do not fit there.

        A start then makes its passes on this machine's processor, as for rows that are read when needed.
        """
        if engine is None or engine.name != "cuda" or isinstance(views, LazyViews):
            return None
        size = floating_type(views).itemsize
        # the engine's own rule for a block: views that fit as one block of this width fit the start
        if engine.block_rows(_COPIES * n_columns, size, len(views), _COPIES * row_bytes(views)) < len(views):
            return None
        return cls._of(views, engine)

    @classmethod
    def _of(cls, views: Views, ops: Engine) -> HeldViews:
        return cls(
            ops, {name: ops.prepare(matrix) for name, matrix in views.items()}, views.present, floating_type(views)
        )

    def block(self) -> Block:
        """All rows as one block."""
        present = {name: self.present[:, v] for v, name in enumerate(self.handles)}
        return Block(0, len(self.present), dict(self.handles), present)

    def feature_sums(self, rows: Any) -> dict[str, np.ndarray]:
        """Sum of the rows of each column of memberships (features x columns), by view."""
        there = self.ops.asarray(rows)
        return {name: self.ops.to_numpy(self.ops.accumulate(X, there, None)) for name, X in self.handles.items()}

    def select(self, *names: str) -> HeldViews:
        """Hold some of the views."""
        columns = [list(self.handles).index(name) for name in names]
        return replace(self, handles={name: self.handles[name] for name in names}, present=self.present[:, columns])

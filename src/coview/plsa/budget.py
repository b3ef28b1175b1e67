"""One `time_budget` for a fit in stages: models that make the start, and the sweeps from there."""

from __future__ import annotations

import time
from typing import Any, TypeVar

from coview.engines.protocol import Engine
from coview.plsa.mixture import WeightedModel

__all__ = ["StagedModel"]

_SPENT = 1e-9  # seconds: every stage makes one sweep at least

Self = TypeVar("Self", bound="StagedModel")


class StagedModel(WeightedModel):
    """A model whose start is made by other fits; they and its own sweeps share `time_budget`."""

    _deadline: float | None = None

    def _fit_on(self: Self, engine: Engine, X: Any, views: Any, extra: dict[str, Any]) -> Self:
        self._deadline = None if self.time_budget is None else time.monotonic() + self.time_budget
        try:
            return super()._fit_on(engine, X, views, extra)
        finally:
            del self._deadline

    def _time_left(self) -> float | None:
        """Seconds that are left of the budget, None if there is no budget."""
        return None if self._deadline is None else max(self._deadline - time.monotonic(), _SPENT)

    def _start_budget(self) -> float | None:
        """Seconds left for a fit of the start; with a checkpoint no limit, since a resumed fit starts at the same."""
        return None if self.checkpoint is not None else self._time_left()

"""A progress bar for long fits: sweep, objective, change and time left, on standard error."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coview.engines.loop import Sweep

__all__ = ["ProgressBar"]


class ProgressBar:
    """A callback of the loop that draws one rich bar per restart; use it as a context manager."""

    def __init__(self, title: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.title = title
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("objective {task.fields[objective]:.6g}  change {task.fields[change]:.1e}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._tasks: dict[int, Any] = {}

    def __enter__(self) -> ProgressBar:
        self._progress.start()
        return self

    def __call__(self, sweep: Sweep) -> None:
        if sweep.restart not in self._tasks:
            name = self.title if sweep.n_restarts == 1 else f"{self.title} {sweep.restart + 1}/{sweep.n_restarts}"
            self._tasks[sweep.restart] = self._progress.add_task(
                name, total=sweep.max_iter, objective=sweep.objective, change=sweep.change
            )
        self._progress.update(
            self._tasks[sweep.restart], completed=sweep.number, objective=sweep.objective, change=sweep.change
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

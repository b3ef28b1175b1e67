"""One line per job on standard error: waiting, running, done, failed or over its budget."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from coview.model_selection.workers import Outcome

__all__ = ["JobLines"]

_STYLES = {"done": "green", "failed": "red", "over budget": "yellow", "stopped": "yellow", "running": "bold"}


class JobLines:
    """A watch of `run_jobs` that keeps one line per job; use it as a context manager."""

    def __init__(self, names: list[str], total: int, show: str | None = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        wide = max(map(len, names), default=0)
        self._progress = Progress(
            TextColumn("{task.description}", table_column=Column(no_wrap=True, min_width=min(wide, 40))),
            BarColumn(bar_width=8),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[status]}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
            console=Console(stderr=True),
            expand=True,
        )
        self._show = show
        self._tasks: list[Any] = [
            self._progress.add_task(name, total=total, start=False, status="[dim]waiting[/dim]") for name in names
        ]

    def __enter__(self) -> JobLines:
        self._progress.start()
        return self

    def __call__(self, position: int, outcome: Outcome) -> None:
        task = self._tasks[position]
        if outcome.status == "running" and not outcome.parts:
            self._progress.start_task(task)
        style = _STYLES.get(outcome.status, "")
        self._progress.update(
            task, completed=len(outcome.parts), status=f"[{style}]{outcome.status}[/{style}] {self._figure(outcome)}"
        )
        if outcome.status not in ("waiting", "running"):
            self._progress.stop_task(task)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def _figure(self, outcome: Outcome) -> str:
        if outcome.note:
            from rich.markup import escape

            return escape(outcome.note[:100])
        values = [part[self._show] for part in outcome.parts if self._show in part]
        return f"{self._show} {sum(values) / len(values):.3f}" if values else ""

"""Make the runs that are missing, in several processes, and keep each as soon as it is done."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from joblib import Parallel, delayed, parallel_config
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from coview.exceptions import DataFileError
from harness.paper import Cell, Paper, load_experiment
from harness.store import Results

__all__ = ["absent_data", "fill", "missing_cells"]


def missing_cells(paper: Paper, cells: Iterable[Cell], results: Results) -> list[Cell]:
    """Cells of which no run is kept."""
    return [cell for cell in cells if cell.key(paper.protocol) not in results.runs]


def absent_data(paper: Paper, cells: Iterable[Cell]) -> dict[str, str]:
    """Data sets of the cells that cannot be had, and why."""
    experiment = load_experiment(str(paper.folder))
    absent = {}
    for data in dict.fromkeys(cell.data for cell in cells):
        try:
            experiment.load(data, paper.raw["data"][data])
        except DataFileError as error:
            absent[data] = str(error)
    return absent


def fill(paper: Paper, cells: list[Cell], results: Results, processes: int, console: Console) -> None:
    """Run the cells and keep their values; after a kill, call it again with what is still missing."""
    if not cells:
        return
    started, done = time.perf_counter(), 0
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    tasks = (delayed(_run)(str(paper.folder), paper.raw["data"][cell.data], cell) for cell in cells)
    backend: dict[str, Any] = {"backend": "loky", "inner_max_num_threads": 1} if processes > 1 else {}
    try:
        with Progress(*columns, console=console) as progress, parallel_config(**backend):
            bar = progress.add_task(paper.folder.name, total=len(cells))
            pool = Parallel(n_jobs=processes, return_as="generator_unordered", batch_size=1)
            for cell, values, seconds in pool(tasks):
                results.add(cell.key(paper.protocol), values, seconds)
                done += 1
                progress.update(bar, advance=1, description=f"{cell.experiment} {cell.data} {cell.method}")
    finally:
        if done:
            results.add_session(done, time.perf_counter() - started, processes)


def _run(folder: str, options: dict[str, Any], cell: Cell) -> tuple[Cell, dict[str, dict[str, float]], float]:
    experiment = load_experiment(folder)
    experiment.load(cell.data, options)  # its time is no part of the run's
    started = time.process_time()  # what the run costs, however busy the machine is
    values = experiment.run(cell, options)
    return cell, values, time.process_time() - started

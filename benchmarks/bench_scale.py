"""Bigger than one process: Dask with one and two workers, and fits from disk under a memory limit.

python benchmarks/bench_scale.py [--quick]
python benchmarks/bench_scale.py disk SIZE K FOLDER     one measurement as JSON (called by the above in its own process)
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import SIZES, in_process, median, processor_seconds, text_parts, write

SWEEPS = 5
SHARDS = 8
ROUNDS = 3

QUIET = {  # without what Dask does beside the work in every process; see the guide on larger data
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}


def sweep_seconds(model: Any) -> float:
    """Median seconds of a sweep by the fit's own clock, the first two left out (caches fill, pages are touched)."""
    return median(np.diff(model.history_["seconds"][2 : SWEEPS + 1]).tolist())


def shards(size: str, folder: str) -> Any:
    """The benchmark's matrix as a sharded folder, made once."""
    from coview import Views, read_views, write_views

    path = Path(folder) / f"{size}-shards"
    if not path.exists():
        write_views((Views(x=part) for part in text_parts(size)), path, rows_per_shard=-(-SIZES[size][0] // SHARDS))
    return read_views(path)


def dask(size: str, k: int, folder: str) -> dict[str, Any]:
    """Seconds per sweep in memory, with one and with two workers of one thread, in turn; by the clock and by processor.

    Workers are processes of a cluster as Dask sets it up, or of one without its profiling, or threads of this process
    without it, as in the cluster that `engine="dask"` starts by itself. Processor time is that of the longest chain:
    this process, which schedules, and the worker process that takes longest.
    """
    from dask import config as dask_config
    from distributed import Client, LocalCluster

    from coview import PLSA, CpuEngine, DaskEngine

    X = shards(size, folder)
    found: dict[str, Any] = {"nnz": int(sum(X.nnz or (0,))), "objective": {}}
    kinds: dict[str, tuple[dict[str, Any], bool]] = {
        "plain": ({}, True),
        "quiet": (QUIET, True),
        "inside": ({}, False),
    }
    found["clock"] = {"0": [], **{f"{workers} {kind}": [] for kind in kinds for workers in (1, 2)}}
    found["processor"] = {workers: [] for workers in found["clock"]}

    def fit(rows: Any, engine: Any, setup: str, pids: list[int]) -> None:
        marks: list[list[float]] = []
        told = lambda sweep: marks.append([time.process_time(), *map(processor_seconds, pids)])  # noqa: E731
        model = PLSA(k, max_iter=SWEEPS, tol=0, algorithm="published", random_state=0, engine=engine)
        model.set_callbacks(told).fit(rows)
        spent = np.diff(marks[1:], axis=0)
        found["clock"][setup] += np.diff(model.history_["seconds"][2 : SWEEPS + 1]).tolist()
        found["processor"][setup] += (spent[:, 0] + spent[:, 1:].max(axis=1, initial=0.0)).tolist()
        found["objective"][setup] = model.history_["objective"][-1]

    PLSA(k, max_iter=1, random_state=0).fit(X[:1000])
    for _ in range(ROUNDS):
        fit(X.collect(), CpuEngine(1), "0", [])
        for (kind, (config, processes)), workers in itertools.product(kinds.items(), (1, 2)):
            settings = {"n_workers": workers, "threads_per_worker": 1, "memory_limit": 0, "dashboard_address": ":0"}
            with (
                dask_config.set(config),
                LocalCluster(**settings, processes=processes) as cluster,
                Client(cluster) as client,
            ):
                pids = list(client.run(os.getpid).values()) if processes else []
                fit(X, DaskEngine(client), f"{workers} {kind}", pids)
    return found


def disk(size: str, k: int, folder: str) -> dict[str, Any]:
    """A fit from disk, under a limit of a third of the data where that is more than the process itself takes."""
    from coview import PLSA, CpuEngine
    from coview.engines.disk import measure_memory

    X = shards(size, folder)
    PLSA(k, max_iter=1, random_state=0).fit(X[:1000])
    before = measure_memory()
    limit = sum(X.nbytes) // 3
    engine = CpuEngine(1, memory_limit=limit if size == "disk" else None)
    Path("/proc/self/clear_refs").write_text("5")
    model = PLSA(k, max_iter=SWEEPS, tol=0, algorithm="published", random_state=0, engine=engine).fit(X)
    status = Path("/proc/self/status").read_text().splitlines()
    peak = 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    found = {"data": sum(X.nbytes), "limit": limit, "before": before, "peak": peak}
    return {**found, "seconds": sweep_seconds(model), "objective": model.history_["objective"][-1]}


def memory(size: str, k: int, folder: str) -> dict[str, Any]:
    """Seconds per sweep of the same fit in memory."""
    from coview import PLSA

    X = shards(size, folder).collect()
    PLSA(k, max_iter=1, random_state=0).fit(X[:1000])
    model = PLSA(k, max_iter=SWEEPS, tol=0, algorithm="published", random_state=0, n_jobs=1).fit(X)
    return {"seconds": sweep_seconds(model), "objective": model.history_["objective"][-1]}


def main(quick: bool) -> None:
    here, scratch = str(Path(__file__)), tempfile.TemporaryDirectory()
    size, k = ("newsgroups", 20) if quick else ("disk", 20)
    pairs = [[in_process(here, job, size, str(k), scratch.name) for job in ("disk", "memory")] for _ in range(1)]
    slow, fast = (median([pair[side]["seconds"] for pair in pairs]) for side in (0, 1))
    on_disk, inside = pairs[-1]
    rows = [["from disk", size, k, slow, "in memory, one thread", fast, slow / fast]]
    gap = abs(on_disk["objective"] / inside["objective"] - 1)
    notes = []
    if not quick:
        notes.append(
            f"From disk: limit {on_disk['limit'] / 1e6:.0f} MB for the whole process, of which "
            f"{on_disk['before'] / 1e6:.0f} MB were taken before the fit; data {on_disk['data'] / 1e6:.0f} MB; peak "
            f"{on_disk['peak'] / 1e6:.0f} MB = {on_disk['peak'] / on_disk['limit']:.2f} x the limit."
        )
    size, k = ("newsgroups", 20) if quick else ("large", 64)
    cluster = in_process(here, "dask", size, str(k), scratch.name)
    for clock, kind, told in (
        ("clock", "quiet", ""),
        ("processor", "quiet", ", processor time"),
        ("clock", "plain", ", with Dask's profiling"),
        ("clock", "inside", ", threads of one process"),
    ):
        alone, one, two = (median(cluster[clock][workers]) for workers in ("0", f"1 {kind}", f"2 {kind}"))
        rows.append([f"Dask, 2 workers of one thread{told}", size, k, two, "Dask, 1 worker", one, two / one])
        rows.append([f"Dask, 1 worker{told}", size, k, one, "in memory, one thread", alone, one / alone])
        notes.append(f"Two workers are {one / two:.2f} x one{told}.")
    same = max(abs(value / cluster["objective"]["0"] - 1) for value in cluster["objective"].values())
    notes += [
        "Workers are processes without Dask's profiling (see the guide on larger data) if not said; threads of one "
        "process, also without it, are what engine='dask' starts by itself. "
        "Processor time on a cluster is that of this process, which schedules, and of the worker that takes longest. "
        f"Other programs ran at the same time: load {os.getloadavg()[2]:.1f} over the last quarter of an hour.",
        f"Objectives after {SWEEPS} sweeps are apart by {gap:.1e} (disk) and {same:.1e} (Dask), relative.",
        f"Medians within fits of {SWEEPS} sweeps; in memory and clusters {ROUNDS} times, in turn; {SHARDS} shards, "
        "float32.",
    ]
    head = ["what", "data", "K", "s/sweep", "beside", "s/sweep", "ratio"]
    write("scale_quick" if quick else "scale", "Fits from disk and on a cluster", head, rows, notes)


if __name__ == "__main__":
    jobs = {"dask": dask, "disk": disk, "memory": memory}
    if len(sys.argv) > 1 and sys.argv[1] in jobs:
        print(json.dumps(jobs[sys.argv[1]](sys.argv[2], int(sys.argv[3]), sys.argv[4])))
    else:
        main("--quick" in sys.argv)

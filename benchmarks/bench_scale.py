"""Bigger than one process: Dask with one and two workers, and fits from disk under a memory limit.

python benchmarks/bench_scale.py [--quick]
python benchmarks/bench_scale.py disk SIZE K FOLDER     one measurement as JSON (called by the above in its own process)
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import SIZES, in_process, median, text_parts, write

SWEEPS = 5
SHARDS = 8


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
    """Seconds per sweep with one and with two workers of one thread, in turn."""
    from distributed import Client, LocalCluster

    from coview import PLSA, DaskEngine

    X = shards(size, folder)
    found: dict[str, Any] = {"nnz": int(sum(X.nnz or (0,))), "1": [], "2": []}
    for _ in range(2):
        for workers in (1, 2):
            with (
                LocalCluster(
                    n_workers=workers, threads_per_worker=1, memory_limit=0, dashboard_address=None
                ) as cluster,
                Client(cluster) as client,
            ):
                model = PLSA(k, max_iter=SWEEPS, tol=0, random_state=0, engine=DaskEngine(client)).fit(X)
                found[str(workers)].append(sweep_seconds(model))
                found[f"objective {workers}"] = model.history_["objective"][-1]
    return found


def disk(size: str, k: int, folder: str) -> dict[str, Any]:
    """A fit from disk, under a limit of a third of the data where that is more than the process itself takes."""
    from coview import PLSA, CpuEngine
    from coview.engines.memory import resident

    X = shards(size, folder)
    PLSA(k, max_iter=1, random_state=0).fit(X[:1000])
    before = resident()
    limit = sum(X.nbytes) // 3
    engine = CpuEngine(1, memory_limit=limit if size == "disk" else None)
    Path("/proc/self/clear_refs").write_text("5")
    model = PLSA(k, max_iter=SWEEPS, tol=0, random_state=0, engine=engine).fit(X)
    status = Path("/proc/self/status").read_text().splitlines()
    peak = 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    found = {"data": sum(X.nbytes), "limit": limit, "before": before, "peak": peak}
    return {**found, "seconds": sweep_seconds(model), "objective": model.history_["objective"][-1]}


def memory(size: str, k: int, folder: str) -> dict[str, Any]:
    """Seconds per sweep of the same fit in memory."""
    from coview import PLSA

    X = shards(size, folder).collect()
    PLSA(k, max_iter=1, random_state=0).fit(X[:1000])
    model = PLSA(k, max_iter=SWEEPS, tol=0, random_state=0, n_jobs=1).fit(X)
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
    alone = in_process(here, "memory", size, str(k), scratch.name)
    one, two = median(cluster["1"]), median(cluster["2"])
    rows.append(["Dask, 2 workers of one thread", size, k, two, "Dask, 1 worker", one, two / one])
    rows.append(["Dask, 1 worker", size, k, one, "in memory, one thread", alone["seconds"], one / alone["seconds"]])
    same = abs(cluster["objective 2"] / alone["objective"] - 1)
    notes += [
        f"Two workers are {one / two:.2f} x one. Objectives after {SWEEPS} sweeps are apart by {gap:.1e} (disk) and "
        f"{same:.1e} (Dask), relative.",
        f"Medians within fits of {SWEEPS} sweeps, clusters twice, in turn; {SHARDS} shards, float32.",
    ]
    head = ["what", "data", "K", "s/sweep", "beside", "s/sweep", "ratio"]
    write("scale_quick" if quick else "scale", "Fits from disk and on a cluster", head, rows, notes)


if __name__ == "__main__":
    jobs = {"dask": dask, "disk": disk, "memory": memory}
    if len(sys.argv) > 1 and sys.argv[1] in jobs:
        print(json.dumps(jobs[sys.argv[1]](sys.argv[2], int(sys.argv[3]), sys.argv[4])))
    else:
        main("--quick" in sys.argv)

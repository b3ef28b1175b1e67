"""Whole jobs as objects grow: seconds, and peak of memory beside data and result, on one core, more cores and a GPU.

python benchmarks/bench_whole.py [--jobs=NAME,NAME] [--engines=1,2,16,cuda] [--sizes=1000,10000] [--table]

Each job of each size runs in a process of its own, on so many cores or the GPU, after a small one that compiles its
kernels; a job grows until it takes longer than `LONG`. What is found is kept beside the results by machine, so that
several machines make one table: `--table` writes it and its picture.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, machine, part, write_parts

from coview.views.arrays import count_bytes as count_matrix

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
MODELED = 10_000_000  # objects up to which lines go on in the picture
LONG = 40.0  # seconds, after which a job is not tried with more objects
CLUSTERS, NEIGHBORS, DIMENSIONS = 20, 30, 100


def views(n: int) -> Any:
    """Two views of counts, 60 and 30 words of an object."""
    from coview.datasets import make_topic_views

    words = {"a": 5000, "b": 3000}
    return make_topic_views(n, words, n_clusters=CLUSTERS, length=[60, 30], quality=0.5, random_state=0)


def vectors(n: int) -> np.ndarray:
    """Vectors of 100 numbers around 1,000 middles, most of what differs in 20 directions."""
    rng = np.random.default_rng(0)
    middles, turn = rng.normal(size=(1000, 20)), rng.normal(size=(20, DIMENSIONS)) / 4.5
    inner = middles[rng.integers(0, 1000, n)] + 0.7 * rng.normal(size=(n, 20))
    return (inner @ turn + 0.1 * rng.normal(size=(n, DIMENSIONS))).astype(np.float32)


def texts(n: int) -> Any:
    from coview import TfidfViews
    from coview.views.arrays import unit_rows

    return unit_rows(TfidfViews().fit_transform(views(n).views)["a"])


def some_labels(n: int) -> tuple[Any, np.ndarray]:
    made = views(n)
    return made.views, np.where(np.random.default_rng(1).random(n) < max(0.01, 100 / n), made.target, -1)


def find(rows: Any, engine: str) -> Any:
    from coview.engines.loop import select_engine
    from coview.engines.neighbors import find_neighbors

    return find_neighbors(rows, NEIGHBORS, ops=select_engine(engine))


def model_of(name: str, **parameters: Any) -> Callable[[Any, str], Any]:
    def fit(data: Any, engine: str) -> Any:
        import coview

        X, y = data if isinstance(data, tuple) else (data, None)
        return getattr(coview, name)(engine=engine, random_state=0, **parameters).fit(X, y)

    return fit


def _views(n: int) -> Any:
    return views(n).views


JOBS: dict[str, tuple[Callable[[int], Any], Callable[[Any, str], Any]]] = {
    "30 neighbors of texts": (texts, find),
    "30 neighbors of vectors": (vectors, find),
    "MultiViewPLSA": (_views, model_of("MultiViewPLSA", n_components=CLUSTERS)),
    "MultiViewPLSAClassifier": (some_labels, model_of("MultiViewPLSAClassifier")),
    "PairwiseCoPLSA": (_views, model_of("PairwiseCoPLSA", n_clusters=CLUSTERS)),
    "AutoClustering": (_views, model_of("AutoClustering", n_clusters=CLUSTERS)),
}


def count_bytes(value: Any, seen: set[int]) -> int:
    """Bytes of all arrays in a value."""
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray) or hasattr(value, "nnz"):
        return count_matrix(value)
    if hasattr(value, "present"):  # views
        return sum(map(count_matrix, value.values()))
    if isinstance(value, dict):
        return sum(count_bytes(each, seen) for each in value.values())
    if isinstance(value, list | tuple):
        return sum(count_bytes(each, seen) for each in value)
    return count_bytes(vars(value), seen) if hasattr(value, "__dict__") else 0


def status(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) / 1024


def measure(job: str, engine: str, sizes: list[int]) -> None:
    """Print a line of JSON for each size, in a process that has compiled its kernels."""
    make, run = JOBS[job]
    on = "cuda" if engine == "cuda" else "cpu"
    run(make(1000), on)
    for n in sizes:
        data = make(n)
        Path("/proc/self/clear_refs").write_text("5")
        before, wall, cpu = status("VmRSS"), time.perf_counter(), time.process_time()
        found = run(data, on)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        told = {"n": n, "s": wall, "cpu": cpu, "peak": status("VmHWM") - before, "gpu": 0.0}
        if on == "cuda":
            import torch

            told["gpu"] = torch.cuda.max_memory_allocated() / 2**20
            torch.cuda.reset_peak_memory_stats()
        told["data"], told["result"] = count_bytes(data, set()) / 2**20, count_bytes(found, set()) / 2**20
        print(json.dumps(told), flush=True)
        if wall > LONG:
            return


def in_own_process(job: str, engine: str, sizes: list[int]) -> list[dict[str, Any]]:
    cores = sorted(os.sched_getaffinity(0))[: os.cpu_count() if engine == "cuda" else int(engine)]
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT")
    out = subprocess.run(
        [sys.executable, __file__, "--measure", job, engine, *map(str, sizes)],
        env={**os.environ, **dict.fromkeys(names, str(len(cores)))}, stdout=subprocess.PIPE, text=True, check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )  # fmt: skip
    return [json.loads(line) for line in out.stdout.splitlines() if line.startswith("{")]


def main(words: list[str]) -> None:
    if words[:1] == ["--measure"]:
        measure(words[1], words[2], [int(word) for word in words[3:]])
        return
    if words == ["--table"]:
        table()
        return
    options = dict(word[2:].split("=") for word in words)
    sizes = [int(n) for n in options.get("sizes", ",".join(map(str, SIZES))).split(",")]
    here = machine()
    name = f"{here['processor']}, {os.cpu_count()} cores"
    kept = RESULTS / "whole_measured.json"
    for job in options.get("jobs", ",".join(JOBS)).split(","):
        for engine in options.get("engines", "1,2").split(","):
            for found in in_own_process(job, engine, sizes):
                known = json.loads(kept.read_text()) if kept.exists() else {}
                key = f"{job}|{engine}|{found.pop('n')}|{name}"
                known[key] = {**found, "date": here["date"]}
                kept.write_text(json.dumps(known, indent=1) + "\n")
                print(key, {key: round(value, 2) for key, value in found.items()}, flush=True)


def table() -> None:
    known = json.loads((RESULTS / "whole_measured.json").read_text())
    head = ["job", "on", "objects", "seconds", "of the processors", "data, MB", "result, MB", "peak beside data, MB",
            "on the GPU, MB"]  # fmt: skip
    rows, dates = [], set()
    for key, found in known.items():
        job, engine, n, where = key.split("|")
        place = where if engine == "cuda" else f"{engine} of {where}"
        rows.append([
            job, f"GPU beside {where}" if engine == "cuda" else place, int(n),
            *(round(found[name], 2) for name in ("s", "cpu")),
            *(round(found[name], 1) for name in ("data", "result", "peak", "gpu")),
        ])  # fmt: skip
        dates.add(found["date"])
    rows.sort(key=lambda row: (list(JOBS).index(row[0]), row[1], row[2]))
    notes = [
        f"Measured on {', '.join(sorted(dates))}; the GPU is an NVIDIA H200. Views of 60 and 30 words, 20 clusters, "
        "default parameters, random_state=0; each line after a small fit of the same job that compiles the kernels. "
        "Seconds of the processors are of all threads, those that wait actively for others too.",
        "Peak: by how much resident memory rose during the job; 0 where what a smaller job had taken sufficed.",
        "Not every job was measured on every machine. In the picture, dotted lines are modeled, not measured: up to "
        f"{MODELED:,} objects they go on as between the last two sizes.",
        "AutoClustering bends at 20,000 objects: up to there all objects are clustered, of more a sample of 5,000, and "
        "the others are placed by their neighbors in it, by several threads; the rest of its time does not grow.",
        "Neighbors are exact. An HNSW graph of usearch (connectivity 16, expansions of 64, recall .99) of 100,000 "
        "vectors took 82 s of the processor, 41 to build it and 41 to ask it, the exact search 36; of 20,000, 8.9 and "
        "3.1. Cells of k-means would have to be probed up to a fifth of all objects for a recall of .95.",
    ]
    write_parts("whole", [part("Whole jobs as objects grow", head, rows, notes, {})])
    draw(known)


def draw(known: dict[str, Any]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    measured = [job for job in JOBS if any(key.startswith(f"{job}|") for key in known)]
    size = {"figsize": (4 * len(measured), 3.5), "constrained_layout": True, "squeeze": False}
    figure, axes = plt.subplots(1, len(measured), **size)
    for axis, job in zip(axes.ravel(), measured):
        lines: dict[str, list[tuple[int, float]]] = {}
        for key, found in known.items():
            words = key.split("|")
            if words[0] == job:
                where = "GPU" if words[1] == "cuda" else f"{words[1]} of {words[3].rsplit(', ')[-1]}"
                lines.setdefault(where, []).append((int(words[2]), found["s"]))
        for where, points in sorted(lines.items()):
            points.sort()
            (line,) = axis.loglog(*zip(*points), marker="o", label=where)
            if len(points) > 1:  # what follows is modeled: it goes on as it did between the last two sizes
                (a, first), (b, last) = points[-2:]
                steepness = np.log(last / first) / np.log(b / a)
                axis.loglog([b, MODELED], [last, last * (MODELED / b) ** steepness], ":", color=line.get_color())
        axis.set(title=job, xlabel="objects", ylabel="seconds")
        axis.legend()
    figure.savefig(RESULTS / "whole.png", dpi=80)


if __name__ == "__main__":
    main(sys.argv[1:])

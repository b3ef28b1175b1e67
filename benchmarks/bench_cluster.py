"""What a cluster costs per sweep, and what many workers would: processor time of scheduler, workers and client.

python benchmarks/bench_cluster.py [--quick]

Scheduler, workers (one thread each) and client are processes of this machine, which has fewer cores than that: their
processor time is measured, never how long it took. With

    G      groups of rows, one for each worker          S      bytes of the parameters, and of the statistics
    N      non-zeros                                    tasks  1 + 3 G + those that add up, 4 at a time

per sweep, runs with few and many workers and with few and many topics give

    scheduler   t tasks + b S          t from the number of workers, b from the number of topics
    client      e S (1 + H)            parameters sent, H sums of statistics received, the shared step
    workers     c N + d S G            d from the number of workers: parameters received, statistics sent and added

and a sweep on W workers is put at no more than

    T = c N / W  +  d S (1 + 3 levels)  +  t tasks + b S  +  e S (1 + H)  +  S / B (doublings + 3 levels + 2 + H)

one after the other, with a network of B bytes a second: parameters spread from worker to worker (the number of those
who have them doubles), statistics go up a tree, four into one, until at most four are left, which come home.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import SIZES, median, part, processor_seconds, text_parts, write_parts

NETWORK = 1.25e9  # bytes a second: 10 Gbit/s, assumed
FAN_IN = 4
FLOAT = 4  # bytes
BYTES_PER_NONZERO = 2 * (FLOAT + 4)  # by row and by feature: a value and an index each
SHARDS = 16


@dataclass
class Cost:
    """Processor seconds per sweep."""

    scheduler: float
    workers: float
    client: float
    wall: float


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of one thread that ends with the block."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    command = [sys.executable, "-m", *words]
    env = {**os.environ, **dict.fromkeys(names, "1")}
    running = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield running
    finally:
        running.terminate()
        running.wait()


class Cluster:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, stack: ExitStack, folder: str) -> None:
        from distributed import Client

        self.stack, self.file, self.folder = stack, f"{folder}/scheduler.json", folder
        words = ("--port", "0", "--no-dashboard", "--dashboard-address", ":0", "--scheduler-file", self.file)
        self.scheduler = stack.enter_context(process("distributed.cli.dask_scheduler", *words)).pid
        self.workers: list[int] = []
        self.client = stack.enter_context(Client(scheduler_file=self.file, timeout=120))

    def grow(self, count: int) -> None:
        """Start workers until there are so many."""
        words = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0")
        for _ in range(count - len(self.workers)):
            folder = ("--local-directory", self.folder, "--scheduler-file", self.file)
            self.workers.append(self.stack.enter_context(process("distributed.cli.dask_worker", *words, *folder)).pid)
        self.client.wait_for_workers(count, timeout=600)

    def clock(self) -> np.ndarray:
        """Processor seconds of scheduler, workers and client, and the time."""
        workers = sum(map(processor_seconds, self.workers))
        return np.array([processor_seconds(self.scheduler), workers, time.process_time(), time.monotonic()])


def sweeps(cluster: Cluster, X: Any, k: int, count: int, idle: np.ndarray) -> Cost:
    """Cost of a sweep: the mean over some, the first left out, less what processes take that wait."""
    from coview import PLSA, DaskEngine

    marks: list[np.ndarray] = []
    engine = DaskEngine(cluster.client)
    told = lambda sweep: marks.append(cluster.clock())  # noqa: E731
    model = PLSA(k, max_iter=count + 1, tol=0, algorithm="published", random_state=0, engine=engine)
    model.set_callbacks(told).fit(X)
    spent = (marks[-1] - marks[0]) / count
    return Cost(*np.maximum(spent[:3] - idle * spent[3], 0.0), spent[3])


def idle_cost(cluster: Cluster, seconds: float) -> np.ndarray:
    """Processor seconds that scheduler, workers and client take in a second of waiting."""
    before = cluster.clock()
    time.sleep(seconds)
    spent = cluster.clock() - before
    return spent[:3] / spent[3]


def doublings(workers: int) -> int:
    """How often the number of workers that have the parameters doubles until all have them."""
    return math.ceil(math.log2(workers))


def tree(groups: int) -> tuple[int, int, int]:
    """Levels of sums on the workers, tasks that add up, and sums that come home."""
    depth, total, left = 0, 0, groups
    while left > FAN_IN:
        left = -(-left // FAN_IN)
        depth, total = depth + 1, total + left
    return depth, total, left


def tasks(groups: int) -> int:
    """Tasks of a sweep: the parameters; a step and its two results for each group; sums."""
    return 1 + 3 * groups + tree(groups)[1]


def middle(costs: list[Cost]) -> Cost:
    """Median of each kind of cost."""
    return Cost(*(median([getattr(cost, name) for cost in costs]) for name in Cost.__dataclass_fields__))


def main(quick: bool) -> None:
    from coview import Views, read_views, write_views

    size, ks, counts = "newsgroups", (4, 64), (2, 4) if quick else (2, 8)
    n_sweeps, rounds = (3, 1) if quick else (6, 1)
    found: dict[tuple[int, int], Cost] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        rows = -(-SIZES[size][0] // SHARDS)
        write_views((Views(x=block) for block in text_parts(size)), f"{folder}/shards", rows_per_shard=rows)
        X = read_views(f"{folder}/shards")
        cluster = Cluster(stack, folder)
        for count in counts:
            cluster.grow(count)
            for k in ks:  # kernels are compiled, pages touched
                sweeps(cluster, X, k, 1, np.zeros(3))
            idle = idle_cost(cluster, 3.0)
            runs: dict[int, list[Cost]] = {k: [] for k in ks}
            for _ in range(rounds):
                for k in ks:
                    runs[k].append(sweeps(cluster, X, k, n_sweeps, idle))
            found.update({(count, k): middle(runs[k]) for k in ks})
    report("cluster_quick" if quick else "cluster", X, found, counts, ks, f"{rounds} x {n_sweeps} sweeps")


def report(name: str, X: Any, found: dict[tuple[int, int], Cost], counts: Any, ks: Any, how_often: str) -> None:
    """Tables of what was measured, of what one unit of each costs, and of what follows for many workers."""
    (few, many), (narrow, wide) = counts, ks
    n_features, nonzeros = X.n_features["x"], int(sum(X.nnz))
    size = {k: n_features * k * FLOAT for k in ks}
    measured = [
        [w, k, size[k] / 1e6, tasks(w), 1e3 * c.scheduler, 1e3 * c.client, 1e3 * c.workers]
        for (w, k), c in found.items()
    ]
    more_tasks, more_bytes = tasks(many) - tasks(few), size[wide] - size[narrow]
    per_task = max(found[many, narrow].scheduler - found[few, narrow].scheduler, 0.0) / more_tasks
    scheduled, sent = (
        max(median([(getattr(found[w, wide], who) - getattr(found[w, narrow], who)) / copies(w) for w in counts]), 0.0)
        / more_bytes
        for who, copies in (("scheduler", lambda w: 1), ("client", lambda w: 1 + tree(w)[2]))
    )
    handled = max(found[many, wide].workers - found[few, wide].workers, 0.0) / ((many - few) * size[wide])
    step = (found[few, wide].workers - handled * size[wide] * few) / nonzeros
    units = [
        ["scheduler, per task (t)", 1e3 * per_task, "ms"],
        ["scheduler, per MB of parameters (b)", 1e9 * scheduled, "ms"],
        ["client, per MB of parameters sent or sums received (e)", 1e9 * sent, "ms"],
        ["a worker, per MB of parameters (d)", 1e9 * handled, "ms"],
        [f"row step, per million non-zeros at K = {wide} (c)", 1e9 * step, "ms"],
    ]
    rows = []
    for features in (100_000, 1_000_000):
        for workers in (10, 100, 400):
            S, (depth, _, home) = features * wide * FLOAT, tree(workers)
            parts = [
                step * 1e10 / workers,
                handled * S * (1 + 3 * depth),
                per_task * tasks(workers) + scheduled * S,
                sent * S * (1 + home),
                S / NETWORK * (doublings(workers) + 3 * depth + 2 + home),
            ]
            memory = 1e10 / workers * BYTES_PER_NONZERO / 1e9
            rows.append([workers, features, *parts, sum(parts), f"{parts[0] / sum(parts):.0%}", memory])
    where = f"{nonzeros / 1e6:.1f} million non-zeros, {n_features} features, float32, {SHARDS} shards"
    write_parts(
        name,
        [
            part(
                "What a sweep on a cluster costs",
                ["workers", "K", "MB of parameters", "tasks", "scheduler, ms", "client, ms", "all workers, ms"],
                measured,
                [
                    "Processor time per sweep, of each process by the system's own count; workers of one thread, all "
                    "processes on this machine. What waiting processes take is measured and taken off.",
                    f"{where}; means over {how_often}, numbers of topics in turn. Other programs ran at the "
                    f"same time: load {os.getloadavg()[2]:.1f} over the last quarter of an hour.",
                ],
            ),
            part("What each unit costs", ["what", "costs", "in"], units, [], {}),
            part(
                f"Put at: 10 billion non-zeros, K = {wide}",
                [
                    "workers",
                    "features",
                    "row step, s",
                    "workers: sums, s",
                    "scheduler, s",
                    "client, s",
                    "network, s",
                    "sweep, s",
                    "of it row step",
                    "GB of rows per worker",
                ],
                rows,
                ["Not measured: computed from the units above; see the script for the formula."],
                {},
            ),
        ],
    )


if __name__ == "__main__":
    main("--quick" in sys.argv)

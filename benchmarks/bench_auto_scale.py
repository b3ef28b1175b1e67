"""Time, memory and quality of `AutoClustering` as objects grow, beside `MiniBatchKMeans` on tf-idf in the same run.

python benchmarks/bench_auto_scale.py [objects ...]

Each number of objects runs in a process of its own, so that the peak of memory is its own. A million objects, and more,
are read from shards on disk; fewer are held in memory. The peer sees the views side by side, in batches where they are
read from shards. What is found is kept in a folder of the temporary ones, so that the table can be made in pieces:
without numbers all sizes run that are not kept yet, and then the table is written.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import write
from sklearn.cluster import MiniBatchKMeans

from coview import AutoClustering, TfidfViews, read_views, write_views
from coview.datasets import make_topic_views
from coview.metrics import normalized_mutual_info

SIZES = (2_000, 10_000, 100_000, 1_000_000)
ON_DISK = 1_000_000  # objects from which they are read from shards
SHARD = 50_000
CLUSTERS = 20


def made(n: int) -> Any:
    """Two sparse views of 60 and 30 words."""
    features = {"a": 5000, "b": 3000}
    return make_topic_views(n, features, n_clusters=CLUSTERS, length=[60, 30], quality=0.5, random_state=0)


def prepare(n: int, folder: Path) -> None:
    """Write the objects to a folder, some at a time; they are drawn from the same clusters."""
    corpus = made(n)
    write_views((corpus.views[i : i + SHARD] for i in range(0, n, SHARD)), folder / "views")
    np.save(folder / "target.npy", corpus.target)


def peak() -> float:
    """Peak of memory of this process alone, in GiB (resource usage would carry over that of its parent)."""
    status = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 2**20


def auto(X: Any) -> tuple[np.ndarray, str]:
    model = AutoClustering(CLUSTERS, random_state=0).fit(X)
    return model.labels_, f"{len(model.sample_):,} clustered"


def peer(X: Any) -> tuple[np.ndarray, str]:
    """tf-idf learned on 20,000 rows, then mini-batch k-means over all: one pass to learn, one to assign."""
    weights = TfidfViews().fit(X[: min(len(X), 20_000)])
    model = MiniBatchKMeans(CLUSTERS, batch_size=SHARD // 10, n_init=3, random_state=0)
    firsts = range(0, len(X), SHARD)
    if len(X) <= SHARD:
        return model.fit_predict(weights.transform(X).hstack()), "MiniBatchKMeans"
    for first in firsts:
        model.partial_fit(weights.transform(X[first : first + SHARD]).hstack())
    labels = [model.predict(weights.transform(X[first : first + SHARD]).hstack()) for first in firsts]
    return np.concatenate(labels), "MiniBatchKMeans"


def measure(who: str, n: int, folder: Path) -> dict[str, Any]:
    X = read_views(folder / "views") if n >= ON_DISK else made(n).views
    y = np.load(folder / "target.npy") if n >= ON_DISK else made(n).target
    before, wall, cpu = peak(), time.perf_counter(), time.process_time()
    labels, method = {"auto": auto, "peer": peer}[who](X)
    return {
        "s": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "before": before, "peak": peak(),
        "nmi": normalized_mutual_info(y, labels), "method": method,
    }  # fmt: skip


def main(words: list[str]) -> None:
    if words[:1] == ["--measure"]:
        print(json.dumps(measure(words[1], int(words[2]), Path(words[3]))))
        return
    kept = Path(tempfile.gettempdir()) / "coview_auto_scale"
    kept.mkdir(exist_ok=True)
    for n in [int(word) for word in words] or [n for n in SIZES if not (kept / f"{n}.json").exists()]:
        with tempfile.TemporaryDirectory() as folder:
            if n >= ON_DISK:
                prepare(n, Path(folder))
            found = {}
            for who in ("auto", "peer"):
                command = [sys.executable, __file__, "--measure", who, str(n), folder]
                out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                found[who] = json.loads(out.strip().splitlines()[-1])
        (kept / f"{n}.json").write_text(json.dumps(found))
        print(n, found, flush=True)
    if not words:
        table(kept)


def table(kept: Path) -> None:
    rows = []
    for n in SIZES:
        found = json.loads((kept / f"{n}.json").read_text())
        ours, theirs = found["auto"], found["peer"]
        rows.append([
            n, "shards on disk" if n >= ON_DISK else "memory", round(ours["s"], 1), round(ours["cpu"], 1),
            round(ours["peak"], 2), round(ours["nmi"], 3), ours["method"], round(theirs["s"], 1),
            round(theirs["nmi"], 3), round(ours["s"] / theirs["s"], 1),
        ])  # fmt: skip
    head = ["objects", "held in", "seconds", "of the processor", "peak GiB", "NMI", "sample",
            "MiniBatchKMeans seconds", "its NMI", "times its seconds"]  # fmt: skip
    notes = [
        "make_topic_views(n, {'a': 5000, 'b': 3000}, n_clusters=20, length=[60, 30], quality=0.5, random_state=0); "
        "AutoClustering(20, random_state=0), each size in a process of its own.",
        "Peak: of the whole process, with the views where they are held in memory, and what the libraries take.",
    ]
    write("auto_scale", "AutoClustering as objects grow, beside MiniBatchKMeans on tf-idf", head, rows, notes)


if __name__ == "__main__":
    main(sys.argv[1:])

"""Anchor graphs and neighbors on a GPU beside the processor: python benchmarks/bench_anchor_cuda.py [--quick]."""

from __future__ import annotations

import os
import sys
import time

import numpy as np
from common import write

from coview import AnchorGraphClustering, TfidfViews, Views
from coview.clustering.affinity import Scaling
from coview.clustering.neighbors import find_neighbors
from coview.datasets import make_topic_views
from coview.engines.loop import select_engine
from coview.metrics import normalized_mutual_info

NEIGHBOR_OBJECTS = 50_000  # every one is compared with every other


def main(quick: bool) -> None:
    import torch

    if not torch.cuda.is_available():
        print("no GPU: nothing is measured")
        return
    threads = os.cpu_count()
    notes = [f"GPU: {torch.cuda.get_device_name()}; processor: {threads} threads."]
    n = 10_000 if quick else 100_000
    made = make_topic_views(n, {"a": 5000, "b": 3000}, 20, length=[60, 30], quality=0.5, random_state=0)
    rng = np.random.default_rng(0)
    dense = (rng.normal(size=(20, 256)) * 0.5)[made.target] + rng.normal(size=(n, 256))
    sets = {"sparse": TfidfViews().fit_transform(made.views), "dense": Views(x=dense.astype(np.float32))}
    rows = []

    def remember(what: str, name: str, count: int, engine: str, nmi: object, seconds: dict[str, float]) -> None:
        ratio = round(seconds[engine] / seconds["cpu"], 3)
        rows.append([what, name, f"{count:,}", engine, nmi, round(seconds[engine], 2), ratio])
        print(*rows[-1], flush=True)

    for name, views in sets.items():
        seconds = {}
        for engine in ("cpu", "cuda"):
            model = AnchorGraphClustering(20, engine=engine, random_state=0)
            model.fit(views[:2000])  # kernels are compiled and the device is awake
            begun = time.perf_counter()
            labels = model.fit(views).labels_
            seconds[engine] = time.perf_counter() - begun
            nmi = round(normalized_mutual_info(made.target, labels), 3)
            remember("clusters by anchor graphs", name, n, engine, nmi, seconds)
    count = min(n, NEIGHBOR_OBJECTS)
    for name, views in sets.items():
        matrix = next(iter(views.values()))[:count]
        some = Scaling.learned(matrix).rows(matrix)
        seconds, found = {}, {}
        for engine in ("cpu", "cuda"):
            ops = select_engine(engine)
            find_neighbors(some[:2000], 40, ops=ops)
            begun = time.perf_counter()
            found[engine], _ = find_neighbors(some, 40, ops=ops)
            seconds[engine] = time.perf_counter() - begun
            remember("40 nearest rows", name, count, engine, "", seconds)
        gap = float(np.abs(found["cuda"] - found["cpu"]).max())
        notes.append(f"Largest difference of a distance, {name} rows: {gap:.1e}.")
    head = ["what", "views", "objects", "engine", "NMI", "seconds", "time / cpu"]
    write("anchor_cuda_quick" if quick else "anchor_cuda", "Anchor graphs and neighbors on a GPU", head, rows, notes)


if __name__ == "__main__":
    main("--quick" in sys.argv)

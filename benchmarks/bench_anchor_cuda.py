"""Anchor graphs on a GPU beside the same fit on the processor: python benchmarks/bench_anchor_cuda.py [--quick]."""

from __future__ import annotations

import sys
import time

import numpy as np
from common import write

from coview import AnchorGraphClustering, TfidfViews, Views
from coview.datasets import make_topic_views
from coview.metrics import normalized_mutual_info


def main(quick: bool) -> None:
    import torch

    if not torch.cuda.is_available():
        print("no GPU: nothing is measured")
        return
    n = 10_000 if quick else 100_000
    made = make_topic_views(n, {"a": 5000, "b": 3000}, 20, length=[60, 30], quality=0.5, random_state=0)
    rng = np.random.default_rng(0)
    dense = (rng.normal(size=(20, 256)) * 0.5)[made.target] + rng.normal(size=(n, 256))
    sets = {"sparse": TfidfViews().fit_transform(made.views), "dense": Views(x=dense.astype(np.float32))}
    rows = []
    for name, views in sets.items():
        seconds = {}
        for engine in ("cpu", "cuda"):
            model = AnchorGraphClustering(20, engine=engine, random_state=0)
            model.fit(views[:2000])  # kernels are compiled and the device is awake
            begun = time.perf_counter()
            labels = model.fit(views).labels_
            seconds[engine] = time.perf_counter() - begun
            nmi = round(normalized_mutual_info(made.target, labels), 3)
            ratio = round(seconds[engine] / seconds["cpu"], 2)
            rows.append([name, f"{n:,}", engine, nmi, round(seconds[engine], 2), ratio])
            print(*rows[-1], flush=True)
    head = ["views", "objects", "engine", "NMI", "seconds", "time / cpu"]
    write("anchor_cuda_quick" if quick else "anchor_cuda", "Anchor graphs on a GPU", head, rows, [])


if __name__ == "__main__":
    main("--quick" in sys.argv)

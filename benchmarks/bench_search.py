"""Search over many indexed objects: exact and through an HNSW graph, beside plain NumPy.

python benchmarks/bench_search.py [--quick]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from common import in_process, median, seconds, write

REPEATS = 5
QUERIES = 100


def vectors(n: int, k: int, seed: int) -> np.ndarray:
    """Centred topic mixtures of length 1, as a retriever indexes them: few topics each, some topics frequent."""
    popular = 1.0 / np.arange(1, k + 1) ** 0.5
    rng = np.random.default_rng(seed)
    rows = np.empty((n, k), dtype=np.float32)
    for start in range(0, n, 100_000):
        stop = min(start + 100_000, n)
        part = rng.gamma(6.0 * popular / popular.sum(), size=(stop - start, k)) + 1e-9
        rows[start:stop] = part / part.sum(axis=1, keepdims=True)
    rows -= (popular / popular.sum()).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def plain_numpy(items: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """What one would write without an index: all scores, then a partial sort."""
    scores = queries @ items.T
    best = np.argpartition(-scores, k, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)
    return np.take_along_axis(best, order, axis=1)


def exact(n: int, k: int) -> dict[str, Any]:
    from coview.retrieval.index import ExactIndex

    items, queries = vectors(n, k, 0), vectors(QUERIES, k, 1)
    index = ExactIndex(k)
    index.add(np.arange(n), items)
    index.search(queries, 10)
    return {
        "batch": [seconds(lambda: index.search(queries, 10)) / QUERIES for _ in range(REPEATS)],
        "one": [seconds(lambda: index.search(queries[:1], 10)) for _ in range(REPEATS)],
        "numpy": [seconds(lambda: plain_numpy(items, queries, 10)) / QUERIES for _ in range(3)],
    }


def hnsw(n: int, k: int) -> dict[str, Any]:
    from coview.retrieval.index import ExactIndex, GraphIndex

    items, queries = vectors(n, k, 0), vectors(QUERIES, k, 1)
    index, full = GraphIndex(k), ExactIndex(k)
    build = seconds(lambda: index.add(np.arange(n), items))
    full.add(np.arange(n), items)
    _, bar = full.search(queries, 10)
    _, found = index.search(queries, 10)
    return {
        "build": build,
        "recall": float(np.mean(found >= bar[:, -1:] - 1e-6)),
        "promised": index.recall_,
        "effort": index.effort,
        "one": [seconds(lambda i=i: index.search(queries[i : i + 1], 10)) for i in range(QUERIES)],
        "batch": [seconds(lambda: index.search(queries, 10)) / QUERIES for _ in range(REPEATS)],
    }


def main(quick: bool) -> None:
    n, k, here = (100_000 if quick else 1_000_000), 100, str(Path(__file__))
    slow = in_process(here, "exact", str(n), str(k), threads=2)
    fast = in_process(here, "hnsw", str(n), str(k), threads=2)
    milli = 1000.0
    rows = [
        ["NumPy, all scores and a partial sort, batch of 100", n, k, milli * median(slow["numpy"]), "1", ""],
        ["exact, batch of 100", n, k, milli * median(slow["batch"]), "1", ""],
        ["exact, one query", n, k, milli * median(slow["one"]), "1", ""],
        ["hnsw, batch of 100", n, k, milli * median(fast["batch"]), f"{fast['recall']:.3f}", round(fast["build"])],
        ["hnsw, one query", n, k, milli * median(fast["one"]), f"{fast['recall']:.3f}", round(fast["build"])],
    ]
    notes = [
        "Medians, two threads, float32; milliseconds for each query, the 10 best. Recall is that of the 10 best, on "
        f"new queries; the index had measured {fast['promised']:.3f} when it was built (effort {fast['effort']}).",
    ]
    head = ["what", "objects", "topics", "ms a query", "recall@10", "build, s"]
    write("search_quick" if quick else "search", "Search among topic mixtures", head, rows, notes)


if __name__ == "__main__":
    jobs = {"exact": exact, "hnsw": hnsw}
    if len(sys.argv) > 1 and sys.argv[1] in jobs:
        print(json.dumps(jobs[sys.argv[1]](int(sys.argv[2]), int(sys.argv[3]))))
    else:
        main("--quick" in sys.argv)

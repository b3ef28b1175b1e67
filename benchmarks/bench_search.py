"""Search over many indexed objects: exact and through an HNSW graph, beside plain NumPy.

python benchmarks/bench_search.py [--objects=200000]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from common import median, seconds, write

from coview.retrieval.index import ObjectIndex

REPEATS, QUERIES, TOPICS = 5, 100, 100


def vectors(n: int, k: int, seed: int) -> np.ndarray:
    """Centered topic mixtures of length 1, as a retriever indexes them: few topics each, some topics frequent."""
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


def both_clocks(call: Callable[[], Any]) -> tuple[float, float]:
    """Seconds on the clock, and of the processor (all threads together), which other work hardly changes."""
    start = time.process_time()
    clock = seconds(call)
    return clock, time.process_time() - start


def row(name: str, n: int, call: Callable[[], Any], n_queries: int, recall: float) -> list[Any]:
    pairs = [both_clocks(call) for _ in range(REPEATS)]
    clock, spent = (1000 * median(list(part)) / n_queries for part in zip(*pairs))
    return [name, n, clock, spent, f"{recall:.3f}"]


def main(n: int) -> None:
    items, queries = vectors(n, TOPICS, 0), vectors(QUERIES, TOPICS, 1)
    rows = [
        row("NumPy, all scores and a partial sort, batch of 100", n, lambda: plain_numpy(items, queries, 10), 100, 1)
    ]
    notes = [
        f"{TOPICS} topics, float32, the 10 best; medians; one thread, but for batches through the graph (one for each "
        "core). Processor: of all threads together; the clock depends on what else is running."
    ]
    known = plain_numpy(items, queries, 10)
    for kind in ("exact", "hnsw"):
        index = ObjectIndex({"topics": TOPICS}, kind)
        index.add(None, n, {"topics": (np.arange(n), items)})
        _, spent = both_clocks(index.prepare)
        found, _ = index.search(queries, None, 0.0, "topics", 10)
        recall = float(np.mean([np.isin(one, other).mean() for one, other in zip(known, found)]))
        for asked, name in ((queries, f"{kind}, batch of 100"), (queries[:1], f"{kind}, one query")):
            call = partial(index.search, asked, None, 0.0, "topics", 10)
            rows.append(row(name, n, call, len(asked), recall))
        if kind == "hnsw":
            notes.append(f"Building the graph took {spent:.0f} s of the processor. It is not part of a model file.")
    head = ["what", "objects", "ms a query, clock", "ms a query, processor", "recall@10"]
    write("search", "Search among topic mixtures", head, rows, notes)


if __name__ == "__main__":
    sizes = [int(word.split("=")[1]) for word in sys.argv[1:] if word.startswith("--objects=")]
    main(sizes[0] if sizes else 200_000)

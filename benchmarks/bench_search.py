"""Search over many indexed objects: exact and through an HNSW graph, beside plain NumPy.

python benchmarks/bench_search.py [--objects=1000000]              everything, one after the other
python benchmarks/bench_search.py STEP ... [--objects=1000000]     some steps: exact, build, hnsw, table

The graph takes long to build. `build` adds objects for some minutes and writes the graph to a file, so that it can be
stopped and gone on with; call it until it says that the graph is complete. The table has all numbers of objects that
were measured. Files are kept in the folder that the variable COVIEW_BENCH names, by default one for temporary files.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from common import in_process, median, seconds, write

REPEATS = 3
QUERIES = 100
PART, MOST_SECONDS = 50_000, 290.0  # `build` adds parts of the objects for so long
TOPICS = 100


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


def both_clocks(call: Callable[[], Any]) -> tuple[float, float]:
    """Seconds on the clock, and of the processor (all threads together), which other work hardly changes."""
    start = time.process_time()
    clock = seconds(call)
    return clock, time.process_time() - start


def plain_numpy(items: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """What one would write without an index: all scores, then a partial sort."""
    scores = queries @ items.T
    best = np.argpartition(-scores, k, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)
    return np.take_along_axis(best, order, axis=1)


def indexed(n: int, k: int) -> np.ndarray:
    """The objects, made once."""
    path = _folder() / f"objects_{n}.npy"
    if not path.exists():
        np.save(path, vectors(n, k, 0))
    return np.load(path)


def exact(n: int, k: int) -> dict[str, Any]:
    from coview.retrieval.index import ExactIndex

    items, queries = indexed(n, k), vectors(QUERIES, k, 1)
    index = ExactIndex(k)
    index.add(np.arange(n), items)
    index.search(queries, 10)
    calls: dict[str, tuple[Callable[[], Any], int, int]] = {
        "batch": (lambda: index.search(queries, 10), QUERIES, REPEATS),
        "one": (lambda: index.search(queries[:1], 10), 1, REPEATS),
        "numpy": (lambda: plain_numpy(items, queries, 10), QUERIES, 3),
    }
    return timed(calls)


def timed(calls: dict[str, tuple[Callable[[], Any], int, int]]) -> dict[str, Any]:
    """Seconds a query on the clock and of the processor, by name of a call, with its number of queries and repeats."""
    found: dict[str, Any] = {}
    for name, (call, n_queries, repeats) in calls.items():
        pairs = [both_clocks(call) for _ in range(repeats)]
        found[name] = [clock / n_queries for clock, _ in pairs]
        found[f"{name}_processor"] = [spent / n_queries for _, spent in pairs]
    return found


def build(n: int, k: int) -> dict[str, Any]:
    """Add more parts to the graph; seconds are those of all parts so far."""
    from coview.retrieval.index import GraphIndex

    path = _folder() / f"graph_{n}.pickle"
    index, spent = pickle.loads(path.read_bytes()) if path.exists() else (GraphIndex(k), 0.0)
    items, until = indexed(n, k), time.monotonic() + MOST_SECONDS
    while len(index) < n and time.monotonic() < until:
        first = len(index)
        part = items[first : first + PART]
        spent += both_clocks(lambda first=first, part=part: index.add(np.arange(first, first + len(part)), part))[1]
    path.write_bytes(pickle.dumps((index, spent), protocol=5))
    return {"objects": len(index), "complete": len(index) == n, "build_processor": spent}


def hnsw(n: int, k: int) -> dict[str, Any]:
    from coview.retrieval.index import ExactIndex

    index, build = pickle.loads((_folder() / f"graph_{n}.pickle").read_bytes())
    queries = vectors(QUERIES, k, 1)
    index.measure()
    full = ExactIndex(k)
    full.add(index.keys, index.vectors)
    _, bar = full.search(queries, 10)
    found: dict[str, Any] = {"build_processor": build, "promised": index.recall_, "effort": index.effort, "efforts": {}}
    for effort in sorted({32, 64, 128, 256, index.effort}):
        index.effort = effort
        _, scores = index.search(queries, 10)
        turn = cycle(range(QUERIES))

        def one(turn: Any = turn) -> Any:
            at = next(turn)
            return index.search(queries[at : at + 1], 10)

        found["efforts"][effort] = {
            "recall": float(np.mean(scores >= bar[:, -1:] - 1e-6)),
            **timed({"batch": (lambda: index.search(queries, 10), QUERIES, REPEATS), "one": (one, 1, QUERIES)}),
        }
    return found


def table() -> None:
    """Write the results of the steps, of all numbers of objects that were measured."""
    rows: list[list[Any]] = []
    notes = [
        f"{TOPICS} topics, float32, the 10 best; medians; one thread, but for batches through the graph (one for each "
        "core). Processor: of all threads together; the clock depends on what else is running."
    ]
    for n, slow in _measured("exact"):
        rows.append(_row("NumPy, all scores and a partial sort, batch of 100", n, slow, "numpy", "1"))
        rows.append(_row("exact, batch of 100", n, slow, "batch", "1"))
        rows.append(_row("exact, one query", n, slow, "one", "1"))
    for n, fast in _measured("hnsw"):
        for effort, found in fast["efforts"].items():
            mark = ", chosen by the index" if int(effort) == fast["effort"] else ""
            for what, name in (("batch", "batch of 100"), ("one", "one query")):
                rows.append(_row(f"hnsw, effort {effort}{mark}, {name}", n, found, what, f"{found['recall']:.3f}"))
        notes.append(
            f"hnsw, {n} objects: recall is that of the 10 best, on new queries. The index itself had measured "
            f"{fast['promised']:.3f} and chosen its effort by it (0.95 is asked for). Building took "
            f"{fast['build_processor']:.0f} s of the processor, once; the graph is saved with the retriever."
        )
    head = ["what", "objects", "ms a query, clock", "ms a query, processor", "recall@10"]
    write("search", "Search among topic mixtures", head, rows, notes)


def _measured(step: str) -> list[tuple[int, dict[str, Any]]]:
    found = {int(path.stem.split("_")[1]): json.loads(path.read_text()) for path in _folder().glob(f"{step}_*.json")}
    return sorted(found.items())


def _row(name: str, n: int, found: dict[str, Any], what: str, recall: str) -> list[Any]:
    return [name, n, 1000 * median(found[what]), 1000 * median(found[f"{what}_processor"]), recall]


def main(steps: list[str], n: int) -> None:
    for step in steps:
        if step == "table":
            table()
            continue
        while True:
            found = in_process(str(Path(__file__)), "step", step, str(n), str(TOPICS))
            (_folder() / f"{step}_{n}.json").write_text(json.dumps(found))
            print(step, {key: value for key, value in found.items() if not isinstance(value, (list, dict))}, flush=True)
            if found.get("complete", True) or len(steps) == 1:
                break


def _folder() -> Path:
    folder = Path(os.environ.get("COVIEW_BENCH", Path(tempfile.gettempdir()) / "coview_bench"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


if __name__ == "__main__":
    jobs = {"exact": exact, "build": build, "hnsw": hnsw}
    if sys.argv[1:2] == ["step"]:
        print(json.dumps(jobs[sys.argv[2]](int(sys.argv[3]), int(sys.argv[4]))))
    else:
        named = [word for word in sys.argv[1:] if not word.startswith("-")]
        sizes = [int(word.split("=")[1]) for word in sys.argv[1:] if word.startswith("--objects=")]
        main(named or [*jobs, "table"], sizes[0] if sizes else 1_000_000)

"""Exact label sets: a million objects under a tree against one HiGHS call per object, and MAXAGREE against SUM.

python benchmarks/bench_labels.py [--quick]
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import in_process, median, write

REPEATS = 3
HIGHS = 20  # objects that HiGHS is timed on


def cost(job: Callable[[], Any]) -> tuple[float, float]:
    """Seconds by the clock, and of all threads' processor time, which other programs do not change."""
    clock, processor = time.perf_counter(), time.process_time()
    job()
    return time.perf_counter() - clock, time.process_time() - processor


def cosines(n: int, n_labels: int, seed: int = 0) -> np.ndarray:
    """Scores of two views as cosines of texts are: small, and one label (the same or not) stands out."""
    rng = np.random.default_rng(seed)
    scores = rng.beta(2, 12, size=(n, 2, n_labels))
    for v in range(2):
        scores[np.arange(n), v, rng.integers(0, n_labels, n)] += rng.beta(2, 4, n)
    return scores


def tree(n: int) -> dict[str, Any]:
    """Seconds for n objects with 25 labels in a tree of two levels, and for one object by HiGHS."""
    from coview import Ontology, solve_labels

    ontology = Ontology.from_tree({f"top{i}": [f"leaf{i}.{j}" for j in range(4)] for i in range(5)})
    kinds = {"cosines": cosines(n, 25), "uniform": np.random.default_rng(1).random((n, 2, 25))}
    found = {}
    for kind, scores in kinds.items():
        solve_labels(scores[:100], ontology=ontology)
        times = [cost(lambda scores=scores: solve_labels(scores, ontology=ontology)) for _ in range(REPEATS)]
        reached: list[np.ndarray] = []
        few = scores[:HIGHS]
        highs = cost(lambda few=few, to=reached: to.append(solve_labels(few, ontology=ontology, solver="milp")[1]))
        gap = np.abs(solve_labels(few, ontology=ontology)[1] - reached[0]).max()
        found[kind] = {"ours": times, "highs": [value / HIGHS for value in highs], "gap": float(gap)}
    return found


def flat(n: int) -> dict[str, Any]:
    """Seconds for n objects with 100 labels: MAXAGREE, and SUM as a sum and an argmax."""
    from coview import solve_labels

    scores = cosines(n, 100)
    solve_labels(scores[:100])

    def total() -> np.ndarray:
        labels = np.zeros((n, 100), dtype=bool)
        labels[np.arange(n), scores.sum(axis=1).argmax(axis=1)] = True
        return labels

    pairs = [(cost(lambda: solve_labels(scores)), cost(total)) for _ in range(REPEATS)]
    return {"max_agree": [a for a, _ in pairs], "sum": [b for _, b in pairs]}


def sweep(n: int) -> dict[str, Any]:
    """Seconds of 5 sweeps of the classifier on n objects, two sparse views, 100 classes: MAXAGREE and SUM."""
    from scipy import sparse

    from coview import SeededKMeansClassifier, Views

    rng = np.random.default_rng(0)
    views = Views({name: sparse.random_array((n, 5000), density=0.008, rng=rng, format="csr") for name in "ab"})
    y = np.where(np.arange(n) < n // 10, rng.integers(0, 100, n), -1)
    found: dict[str, list[tuple[float, float]]] = {"max_agree": [], "sum": []}
    for _ in range(REPEATS):
        for combine, times in found.items():
            model = SeededKMeansClassifier(combine, max_iter=5, tol=0)
            times.append(cost(lambda model=model: model.fit(views, y)))
    return found


def row(what: str, n: int, ours: list, peer: str, theirs: list) -> list[Any]:
    """One line of the table: medians, and how many times the peer's processor time is ours."""
    clock, processor = (median([pair[i] for pair in ours]) for i in range(2))
    there, spent = (median([pair[i] for pair in theirs]) for i in range(2))
    return [what, n, clock, processor, peer, there, spent, spent / processor]


def main(quick: bool) -> None:
    here, n = str(Path(__file__)), 100_000 if quick else 1_000_000
    small = n // 10
    rows: list[list[Any]] = []
    gaps = []
    for kind, found in in_process(here, "tree", str(n), threads=2).items():
        what = f"tree of 25 labels, 2 views, {kind} scores"
        each = [[value * n for value in found["highs"]]]
        rows.append(row(what, n, found["ours"], "HiGHS, one call per object (x objects)", each))
        gaps.append(found["gap"])
    found = in_process(here, "flat", str(small), threads=2)
    peer = "SUM: sum and argmax (NumPy)"
    rows.append(row("MAXAGREE, 100 labels, 2 views", small, found["max_agree"], peer, found["sum"]))
    found = in_process(here, "sweep", str(small // 5), threads=2)
    what = "fit with MAXAGREE, 5 sweeps, 100 classes"
    rows.append(row(what, small // 5, found["max_agree"], "fit with SUM", found["sum"]))
    head = ["what", "objects", "coview, s", "processor s", "peer", "peer, s", "processor s", "peer / coview"]
    notes = [
        f"Medians of {REPEATS}, two threads. The ratio is of processor time, which a busy machine changes little.",
        f"HiGHS is timed on {HIGHS} objects (scipy.optimize.milp) and multiplied; optima agree to {max(gaps):.0e}.",
        f"At the end {os.getloadavg()[0]:.1f} programs shared the machine's {os.cpu_count()} cores (load average).",
    ]
    write("labels_quick" if quick else "labels", "Exact label sets", head, rows, notes)


if __name__ == "__main__":
    jobs = {"tree": tree, "flat": flat, "sweep": sweep}
    if len(sys.argv) > 1 and sys.argv[1] in jobs:
        print(json.dumps(jobs[sys.argv[1]](int(sys.argv[2]))))
    else:
        main("--quick" in sys.argv)

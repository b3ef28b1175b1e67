"""The pairwise regularizer of co-regularized PLSA against vectorized NumPy, how a sweep grows, and a large fit.

python benchmarks/bench_pairs.py [--quick]
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import in_process, median, write
from scipy import sparse

REPEATS = 3
LARGE = 100_000, 5_000_000  # objects, pairs
CHUNK = 100_000  # pairs that NumPy handles at a time: all at once it would take gigabytes


def mixtures(n: int, k: int, views: int = 2) -> list[np.ndarray]:
    """Few topics per object, half of them in common between the views."""
    rng = np.random.default_rng(0)
    parts = [rng.dirichlet(np.full(k, 0.1), n) for _ in range(1 + views)]
    return [0.5 * (parts[0] + own) for own in parts[1:]]


def cpu_seconds(call: Callable[[], Any]) -> float:
    """Seconds of the processor: on one thread the same as on the clock, but for what else the machine does."""
    start = time.process_time()
    call()
    return time.process_time() - start


def compiled(partners: np.ndarray, P: list[np.ndarray], sigma: float) -> tuple[float, np.ndarray]:
    """Value, and gradient for the first view, by coview's kernels."""
    from coview import CpuEngine

    have, weights = np.ones((len(partners), 2), dtype=bool), np.array([[0.0, 1.0], [1.0, 0.0]])
    field = CpuEngine(1).pair_field(partners, have, weights, sigma, P)
    return field.part(0), field.gradient(0, P[0])


def vectorized(partners: np.ndarray, P: list[np.ndarray], sigma: float) -> tuple[float, np.ndarray]:
    """The same in NumPy, over arrays of pairs; sums over the pairs of an object are products with a sparse matrix."""
    n, k = P[0].shape
    i, place = np.nonzero(partners >= 0)
    j = partners[i, place].astype(np.int64)
    value, gradient = 0.0, np.zeros((n, k))
    for first in range(0, len(i), CHUNK):
        a, b = i[first : first + CHUNK], j[first : first + CHUNK]
        gaps = [part[a] - part[b] for part in P]
        own, other = (np.exp(-np.einsum("ij,ij->i", gap, gap) / sigma) for gap in gaps)
        value += 2 * float(((own - other) ** 2).sum())
        pull = (-8 / sigma * own * (own - other))[:, None] * gaps[0]
        ones = np.ones(len(a))
        to = sparse.csr_array((ones, (a, np.arange(len(a)))), shape=(n, len(a)))
        back = sparse.csr_array((ones, (b, np.arange(len(b)))), shape=(n, len(b)))
        gradient += to @ pull - back @ pull
    return value, gradient


def measure(n: int, pairs: int, k: int) -> dict[str, Any]:
    from coview import Views
    from coview.plsa.pairwise import Partners

    partners = Partners(0, 2 * pairs / (n * (n - 1)))(Views(x=np.zeros((n, 1))))
    P, sigma = mixtures(n, k), 0.5
    compiled(partners[:, :1], P, sigma)
    found: dict[str, Any] = {"ours": [], "numpy": []}
    for _ in range(REPEATS):
        found["ours"].append(cpu_seconds(lambda: compiled(partners, P, sigma)))
        found["numpy"].append(cpu_seconds(lambda: vectorized(partners, P, sigma)))
    (value, gradient), (expected, slope) = compiled(partners, P, sigma), vectorized(partners, P, sigma)
    found["apart"] = max(abs(value / expected - 1), float(np.abs(gradient - slope).max() / np.abs(slope).max()))
    return found


def large(n: int, pairs: int, sweeps: int) -> dict[str, Any]:
    """A whole fit: seconds of the processor per sweep, and the most memory that the process ever took."""
    from coview import PairwiseCoPLSA
    from coview.datasets import make_topic_views

    X = make_topic_views(n, {"words": 5000, "links": 2000}, 10, length=40, random_state=0).views
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    options: dict[str, Any] = {"init": "random", "tol": 0, "n_jobs": 1, "random_state": 0}
    PairwiseCoPLSA(10, max_iter=1, **options).fit(X[:1000])
    options["pair_fraction"] = 2 * pairs / (len(X) * min(len(X) - 1, 8192))  # pairs lie inside blocks
    once = cpu_seconds(lambda: PairwiseCoPLSA(10, max_iter=1, **options).fit(X))
    more = cpu_seconds(lambda: PairwiseCoPLSA(10, max_iter=1 + sweeps, **options).fit(X))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    nonzeros = sum(matrix.nnz for matrix in X.values())
    return {"sweep": (more - once) / sweeps, "base": base, "peak": peak, "nonzeros": nonzeros}


def main(quick: bool) -> None:
    rows: list[list[Any]] = []
    sizes = [(8192, 400_000, 10)] if quick else [(8192, 200_000, 10), (8192, 400_000, 10), (8192, 400_000, 50)]
    for n, pairs, k in sizes:
        found = in_process(str(Path(__file__)), "gradient", str(n), str(pairs), str(k))
        ours, numpy = median(found["ours"]), median(found["numpy"])
        rows.append(["value and gradient", n, pairs, k, ours, numpy, numpy / ours, found["apart"], ""])
        print(rows[-1], flush=True)
    n, pairs = (10_000, 500_000) if quick else LARGE
    for share in (0.01, 0.5, 1.0):
        found = in_process(str(Path(__file__)), "large", str(n), str(int(share * pairs)), "2")
        rows.append(["sweep", n, int(share * pairs), 10, found["sweep"], "", "", "", found["peak"] / 2**30])
        print(rows[-1], flush=True)
    write(
        "pairs_quick" if quick else "pairs",
        "Pairwise co-regularized PLSA: sampled pairs",
        ["what", "objects", "pairs", "topics", "coview, s", "NumPy, s", "NumPy / coview", "apart", "peak memory, GiB"],
        rows,
        [
            "Value and gradient: of one block and one view, similarities of both views included. Medians of three, in "
            "turn in one process, one thread, float64; seconds of the processor.",
            f"NumPy: the same over arrays of pairs, {CHUNK:,} at a time, exp and einsum vectorized, sums over the "
            "pairs of an object by a sparse product.",
            "apart: relative difference of the values, or of the gradients relative to their largest entry.",
            f"Sweep: PairwiseCoPLSA of two views, {found['nonzeros']:,} non-zeros, one thread, float64; the difference "
            "between fits of three sweeps and of one, halved. Peak memory is that of the whole process, "
            "with the data and everything imported.",
        ],
    )


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "gradient":
        print(json.dumps(measure(*map(int, sys.argv[2:]))))
    elif len(sys.argv) > 1 and sys.argv[1] == "large":
        print(json.dumps(large(*map(int, sys.argv[2:]))))
    else:
        main("--quick" in sys.argv)

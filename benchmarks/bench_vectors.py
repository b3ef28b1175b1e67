"""What a view of vectors adds to a sweep: beside that of the texts alone, and one pass of BLAS over the vectors.

OPENBLAS_NUM_THREADS=1 python benchmarks/bench_vectors.py [--objects=100000] [--engine=cpu|cuda]
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from common import SIZES, Clock, median, peak_memory, per_sweep, seconds, text_like, write

from coview import LinkPLSA, Views

WIDTH, TOPICS = 384, (20, 64)
SWEEPS, REPEATS = 10, 3


def data(n: int) -> Views:
    """Texts of 60 words, and a vector of each in single precision."""
    SIZES["short"] = (n, 30_000, 60)
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(64, WIDTH)).astype(np.float32)
    vectors = rng.normal(size=(n, WIDTH)).astype(np.float32)
    for start in range(0, n, 10_000):
        rows = slice(start, min(start + 10_000, n))
        vectors[rows] += centers[rng.integers(64, size=rows.stop - rows.start)]
    return Views(words=text_like("short"), vector=vectors)


def clock_of(engine: str) -> Clock:
    """Seconds of the one thread at work, which other programs change little; of the wall where a device works."""
    return time.perf_counter if engine == "cuda" else time.process_time


def blas_pass(X: np.ndarray, k: int, engine: str) -> float:
    """Seconds of the two products that no method can do without: vectors times means, and mixtures times vectors."""
    rng = np.random.default_rng(0)
    mixtures, means = rng.random((len(X), k), dtype=np.float32), rng.random((WIDTH, k), dtype=np.float32)
    if engine == "cuda":
        import torch

        X, mixtures, means = (torch.tensor(part, device="cuda") for part in (X, mixtures, means))

        def both() -> None:
            (X @ means, mixtures.T @ X)
            torch.cuda.synchronize()
    else:

        def both() -> None:
            (X @ means, mixtures.T @ X)

    both()
    return median([seconds(both, clock_of(engine)) for _ in range(5)])


def main(words: list[str]) -> None:
    options = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
    n, engine = int(options.get("objects", "100000")), options.get("engine", "cpu")
    X = data(n)
    rows: list[list[Any]] = []
    for k in TOPICS:

        def fit(views: Views, sweeps: int, k: int = k) -> Any:
            return LinkPLSA(
                k, init="random", max_iter=sweeps, tol=0, algorithm="published", engine=engine, n_jobs=1, random_state=0
            ).fit(views)

        def sweep(views: Views) -> float:
            fit(views, 1)
            return median(per_sweep(lambda count: fit(views, count), SWEEPS, REPEATS, clock_of(engine)))

        texts, both, blas = sweep(X.select("words")), sweep(X), blas_pass(X["vector"], k, engine)
        extra = peak_memory(lambda: fit(X, 2)) / X["vector"].nbytes if engine == "cpu" else ""
        rows.append([k, 1000 * texts, 1000 * both, 1000 * blas, both / (texts + blas), extra])
    write(
        "vectors" if engine == "cpu" else f"vectors_{engine}",
        f"A sweep over texts and vectors, {engine}",
        ["topics", "texts ms", "texts and vectors ms", "BLAS ms", "both / (texts + BLAS)", "memory / vectors"],
        rows,
        [
            f"{n:,} objects with texts of 60 words and vectors of {WIDTH}, float32; one thread, medians of {REPEATS}.",
            "BLAS: vectors times means, and mixtures times vectors, once each.",
            "memory: what a fit takes at the most beyond the data, as a share of the vectors' own.",
        ],
    )


if __name__ == "__main__":
    main(sys.argv[1:])

"""The CUDA engine per sweep beside the torch.sparse path and the card's copy bandwidth; needs a GPU, says so if none.

python benchmarks/bench_cuda.py [--quick]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from common import median, part, per_sweep, start, text_like, write_parts


def milliseconds(call: Callable[[], Any], repeats: int = 20) -> float:
    """Median time of a call on the GPU, after three calls to warm up."""
    import torch

    for _ in range(3):
        call()
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return median(times)


def sparse_path(X: Any, A: Any, B: Any) -> Callable[[], Any]:
    """Both half-steps with torch.sparse: sampled_addmm for the model on the non-zeros, sparse products for the sums."""
    import torch

    csr = torch.sparse_csr_tensor(X.indptr, X.indices.long(), X.values, X.shape)
    T = X.transposed
    csc = torch.sparse_csr_tensor(T.indptr, T.indices.long(), T.values, T.shape)

    def half(matrix: Any, left: Any, right: Any) -> Any:
        model = torch.sparse.sampled_addmm(matrix, left, right.T, beta=0.0)
        weights = torch.sparse_csr_tensor(
            matrix.crow_indices(), matrix.col_indices(), matrix.values() / model.values(), matrix.shape
        )
        return weights @ right

    def sweep() -> None:
        new = left_shares(half(csr, A, B) * A)
        half(csc, B, new)

    def left_shares(values: Any) -> Any:
        return values / values.sum(dim=1, keepdim=True)

    return sweep


def cpu_sweep(X: Any, k: int) -> float:
    """Milliseconds of a sweep of the CPU engine on all cores of the same machine."""
    from coview import PLSA

    PLSA(k, max_iter=1, random_state=0).fit(X[:1000])
    return 1e3 * median(
        per_sweep(
            lambda n: PLSA(k, max_iter=n, tol=0, algorithm="published", random_state=0).fit(X), 3, 3, time.perf_counter
        )
    )


def whole_fits(X: Any, k: int) -> list[str]:
    """50 sweeps on both engines from one start; a multi-view sweep beside a PLSA sweep."""
    from coview import PLSA, CudaEngine, MultiViewPLSA, Views

    doc, topics = start(X, k)
    init = {"memberships": doc, "topic_feature": topics}
    ends = {}
    for name, engine in (("cpu", "cpu"), ("single", CudaEngine()), ("mixed", CudaEngine(precision="mixed"))):
        model = PLSA(k, init=init, max_iter=50, tol=0, algorithm="published", engine=engine).fit(X)
        ends[name] = model.history_["objective"][-1]
    gaps = {name: abs(ends[name] / ends["cpu"] - 1) for name in ("single", "mixed")}
    clusters = {"memberships": doc}
    two = Views(a=X, b=X)

    def within(model: Any) -> float:
        """Milliseconds of a sweep of a fit, by its own clock."""
        return 1e3 * median(np.diff(model.history_["seconds"][20:200]).tolist())

    one = within(PLSA(k, init=init, max_iter=200, tol=0, algorithm="published", engine="cuda").fit(X))
    both = within(MultiViewPLSA(k, k, init=clusters, max_iter=200, tol=0, random_state=0, engine="cuda").fit(two))
    return [
        f"K = {k}: objective after 50 sweeps of a fit, relative to the CPU engine's: {gaps['single']:.1e} (single), "
        f"{gaps['mixed']:.1e} (mixed).",
        f"K = {k}: within a fit, a PLSA sweep takes {one:.2f} ms, a MultiViewPLSA sweep of two such views "
        f"{both:.2f} ms: {both / one:.2f} x.",
    ]


def many_topics(X: Any, k: int) -> dict[str, Any]:
    """Fits with many topics, in both precisions."""
    from coview import PLSA, CudaEngine

    doc, topics = start(X, k)
    init = {"memberships": doc, "topic_feature": topics}
    rows, ends = [], {}
    for precision in ("single", "mixed"):
        engine = CudaEngine(precision=precision)
        PLSA(k, init=init, max_iter=10, tol=0, algorithm="published", engine=engine).fit(X)  # compiles the kernels
        for sweeps in (50, 200):
            history = PLSA(k, init=init, max_iter=sweeps, tol=0, algorithm="published", engine=engine).fit(X).history_
            took = 1e3 * np.diff([0.0, *history["seconds"][:sweeps]])
            ends[precision, sweeps] = history["objective"][-1]
            gap = (ends[precision, sweeps] - ends["single", sweeps]) / abs(ends["single", sweeps])
            mean = float(np.mean(took[1:]))
            rows.append([precision, sweeps, mean, X.nnz / mean / 1e6, gap])
            print(rows[-1], flush=True)
    head = ["precision", "sweeps of the fit", "mean sweep, ms", "G non-zeros/s",
            "log-likelihood, relative to single"]  # fmt: skip
    notes = [
        f"{X.nnz} non-zeros. Whole sweeps of PLSA fits from one random start, by their own clock, without the first; "
        "the log-likelihood at the end of each fit is measured with whole rows in float32: above zero is higher."
    ]
    return part(f"PLSA fits with {k:,} topics on a GPU", head, rows, notes)


def gathers(X: Any, k: int, copy: float) -> dict[str, Any]:
    """Both half-steps beside what the memory allows, and beside rows that are all in the cache of the GPU."""
    from copy import copy as shallow

    from coview import CudaEngine

    rng, rows = np.random.default_rng(0), []
    for precision, size in (("single", 4), ("mixed", 2)):
        engine = CudaEngine(precision=precision)
        handle = engine.prepare(X)
        A, B = (engine.asarray(rng.random((n, k), dtype=np.float32)) for n in X.shape)
        few = shallow(handle)
        few.indices, few.segments = handle.indices % 2000, handle.segments
        moved = X.nnz * k * size / 1e6
        for name, half, X_ in (
            ("rows", engine.ratio_rows, handle),
            ("features", engine.ratio_features, handle),
            ("rows, of 2,000 features", engine.ratio_rows, few),
        ):
            took = milliseconds(partial(half, X_, A, B), 5)
            rows.append([precision, name, took, moved / took, moved / copy])
    head = ["precision", "half-step", "ms", "gathered GB/s", "ms at the bandwidth of a copy"]
    notes = [
        f"{X.nnz} non-zeros, K = {k}, device copy {copy:.0f} GB/s: each non-zero gathers a row of the other factor "
        "once in each half-step. Rows of 2,000 features are all in the cache of the GPU."
    ]
    return part(f"What {k:,} topics gather", head, rows, notes)


def main(quick: bool) -> None:
    import torch

    if not torch.cuda.is_available():
        print("no GPU here: nothing measured")
        return
    from coview import CudaEngine

    X = text_like("newsgroups" if quick else "gpu")
    rows = []
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    copy = 2 * source.numel() / milliseconds(lambda: target.copy_(source)) / 1e6
    for k in (32, 64, 128):
        rng = np.random.default_rng(0)
        cpu = cpu_sweep(X, k)
        peer = float("nan")
        for precision in ("single", "mixed"):
            engine = CudaEngine(precision=precision)
            handle = engine.prepare(X)
            A, B = (engine.asarray(rng.random((n, k), dtype=np.float32)) for n in X.shape)

            def halves(A: Any = A, B: Any = B, engine: Any = engine, handle: Any = handle) -> None:
                engine.ratio_rows(handle, A, B)
                engine.ratio_features(handle, A, B)

            def sweep(A: Any = A, B: Any = B, engine: Any = engine, handle: Any = handle) -> None:
                pull, _ = engine.ratio_rows(handle, A, B)
                new = engine.row_shares(A, pull, 1e-12)
                engine.column_shares({"x": B}, {"x": engine.ratio_features(handle, new, B)}, 1e-15)

            half, ours = milliseconds(halves), milliseconds(sweep)
            if precision == "single":
                peer = milliseconds(sparse_path(handle, A, B), 5)
            moved = 2 * X.nnz * k * (4 if precision == "single" else 2) / half / 1e6
            rows.append([precision, X.nnz, k, half, ours, peer, peer / ours, cpu, cpu / ours, moved, moved / copy])
            print(rows[-1], flush=True)
    head = ["precision", "non-zeros", "K", "half-steps, ms", "sweep, ms", "torch.sparse, ms", "ratio", "CPU engine, ms",
            "ratio to CPU", "gathered GB/s", "of copy"]  # fmt: skip
    notes = [
        f"{torch.cuda.get_device_name()}; device copy {copy:.0f} GB/s; CPU engine on {os.cpu_count()} cores beside it. "
        "A sweep = both half-steps with their normalization. Medians of 20."
    ]
    if not quick:
        notes += whole_fits(X, 64)
    parts = [part("PLSA sweep on a GPU, float32", head, rows, notes)]
    more = [] if quick else [many_topics(X, 1024), gathers(X, 1024, copy)]
    write_parts("cuda_quick" if quick else "cuda", [*parts, *more])


if __name__ == "__main__":
    main("--quick" in sys.argv)

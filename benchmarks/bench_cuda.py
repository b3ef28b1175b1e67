"""The CUDA engine per sweep beside the torch.sparse path and the card's copy bandwidth; needs a GPU, says so if none.

python benchmarks/bench_cuda.py [--quick]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from common import median, text_like, write


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


def main(quick: bool) -> None:
    import torch

    if not torch.cuda.is_available():
        print("no GPU here: nothing measured")
        return
    from coview.engines.cuda import CudaEngine

    X = text_like("newsgroups" if quick else "large")
    rows = []
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    copy = 2 * source.numel() / milliseconds(lambda: target.copy_(source)) / 1e6
    for precision in ("single", "mixed"):
        engine = CudaEngine(precision=precision)
        handle = engine.prepare(X)
        for k in (32, 64, 128):
            rng = np.random.default_rng(0)
            A, B = (engine.asarray(rng.random((n, k), dtype=np.float32)) for n in X.shape)

            def sweep(A: Any = A, B: Any = B, engine: Any = engine, handle: Any = handle) -> None:
                pull, _ = engine.ratio_rows(handle, A, B)
                new = engine.row_shares(A, pull, 1e-12)
                engine.column_shares({"x": B}, {"x": engine.ratio_features(handle, new, B)}, 1e-15)

            ours = milliseconds(sweep)
            peer = milliseconds(sparse_path(handle, A, B), 5) if precision == "single" else float("nan")
            moved = 2 * X.nnz * k * (4 if precision == "single" else 2) / ours / 1e6
            rows.append([precision, X.nnz, k, ours, peer, peer / ours, moved, moved / copy])
            print(rows[-1], flush=True)
    head = ["precision", "non-zeros", "K", "coview, ms/sweep", "torch.sparse, ms", "ratio", "gathered GB/s", "of copy"]
    name = torch.cuda.get_device_name()
    notes = [f"{name}; device copy {copy:.0f} GB/s. A sweep = both half-steps with their normalisation. Medians."]
    write("cuda_quick" if quick else "cuda", "PLSA sweep on a GPU, float32", head, rows, notes)


if __name__ == "__main__":
    main("--quick" in sys.argv)

"""The `ratio` half-step and plain products as Triton kernels: one program per run of non-zeros, each row of B gathered
once.

A program keeps a tile of gathered rows in registers, uses it for the scalar products and again for the sum. Rows with
many non-zeros (a word that is in every document) are cut into segments, whose sums meet by atomic addition.

The memory's bandwidth bounds it: other tiles and more warps a program are not faster.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

__all__ = ["log_likelihood", "products", "ratio", "segments"]

LONGEST = 2048  # non-zeros of one segment
TILE = 2048  # bytes of B that a program holds: one warp, so that sums stay within it


def segments(indptr: Any) -> tuple[Any, Any, Any, Any]:
    """Runs of at most LONGEST non-zeros: (row, first, last, whether the row has other runs), the longest first."""
    counts = indptr[1:] - indptr[:-1]
    pieces = torch.clamp((counts + LONGEST - 1) // LONGEST, min=1)
    row = torch.repeat_interleave(torch.arange(len(counts), device=indptr.device), pieces)
    offsets = torch.cumsum(pieces, 0) - pieces
    number = torch.arange(len(row), device=indptr.device) - offsets[row]
    first = indptr[row] + number * LONGEST
    last = torch.minimum(first + LONGEST, indptr[row + 1])
    order = torch.argsort(last - first, descending=True)
    shared = pieces[row] > 1
    return row[order].contiguous(), first[order].contiguous(), last[order].contiguous(), shared[order].contiguous()


@triton.jit
def _segment(program, row_of, first_of, last_of, shared_of):
    """Return the segment that a program goes over: one of those that `segments` gives."""
    return (
        tl.load(row_of + program),
        tl.load(first_of + program),
        tl.load(last_of + program),
        tl.load(shared_of + program),
    )


@triton.jit
def _ratio(
    row_of, first_of, last_of, shared_of, indices, values, A, B, out, logs,
    K: tl.constexpr, WIDTH: tl.constexpr, TILE: tl.constexpr, LOGS: tl.constexpr, ADD: tl.constexpr,
    HALF: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    row, first, last, shared = _segment(program, row_of, first_of, last_of, shared_of)
    k = tl.arange(0, WIDTH)
    inside = k < K
    a = tl.load(A + row * K + k, mask=inside, other=0.0)
    total = tl.zeros((WIDTH,), dtype=tl.float32)
    # a segment's logarithms in float64; with half-precision factors float32 is finer than they are
    likelihood = tl.zeros((TILE,), dtype=tl.float32 if HALF else tl.float64)
    for start in range(first, last, TILE):
        j = start + tl.arange(0, TILE)
        valid = j < last
        column = tl.load(indices + j, mask=valid, other=0).to(tl.int64)
        x = tl.load(values + j, mask=valid, other=0.0)
        b = tl.load(B + column[:, None] * K + k[None, :], mask=valid[:, None] & inside[None, :], other=0.0).to(
            tl.float32
        )
        s = tl.sum(a[None, :] * b, axis=1)
        safe = tl.where(s > 0, s, 1.0)
        r = tl.where(s > 0, x / safe, 0.0)
        total += tl.sum(r[:, None] * b, axis=0)
        if LOGS:
            likelihood += x.to(likelihood.dtype) * tl.log(safe).to(likelihood.dtype)
    where = out + row * K + k
    if shared:
        tl.atomic_add(where, total, mask=inside)
    elif ADD:
        tl.store(where, tl.load(where, mask=inside, other=0.0) + total, mask=inside)
    else:
        tl.store(where, total, mask=inside)
    if LOGS:
        tl.store(logs + program, tl.sum(likelihood).to(tl.float64))


def ratio(X: Any, A: Any, B: Any, into: Any, logs: bool) -> tuple[Any, Any]:
    """R @ B over the rows of X, added to `into` if given, and the log-likelihood as a float64 scalar (0 if unasked)."""
    out, likelihoods = _run_ratio(X, A, B, into, logs)
    return out, likelihoods.sum() if logs else torch.zeros((), dtype=torch.float64, device=A.device)


def log_likelihood(X: Any, A: Any, B: Any) -> Any:
    """Log-likelihood of each row (float64)."""
    _, likelihoods = _run_ratio(X, A, B, None, True)
    return torch.zeros(X.shape[0], dtype=torch.float64, device=A.device).index_add_(0, X.segments[0], likelihoods)


def _run_ratio(X: Any, A: Any, B: Any, into: Any, logs: bool) -> tuple[Any, Any]:
    """R @ B, and the log-likelihood of each segment."""
    row, first, last, shared = X.segments
    K = A.shape[1]
    out = torch.zeros_like(A) if into is None else into
    likelihoods = torch.empty(len(row) if logs else 1, dtype=torch.float64, device=A.device)
    width = triton.next_power_of_2(K)
    tile = max(2, min(16, TILE // (B.element_size() * width)))
    _ratio[(len(row),)](
        row, first, last, shared, X.indices, X.values, A, B, out, likelihoods,
        K=K, WIDTH=width, TILE=tile, LOGS=logs, ADD=into is not None,
        HALF=B.element_size() == 2, num_warps=1,
    )  # fmt: skip
    return out, likelihoods


@triton.jit
def _products(
    row_of, first_of, last_of, shared_of, indices, values, B, out,
    K: tl.constexpr, WIDTH: tl.constexpr, TILE: tl.constexpr, ADD: tl.constexpr, DOUBLE: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    row, first, last, shared = _segment(program, row_of, first_of, last_of, shared_of)
    k = tl.arange(0, WIDTH)
    inside = k < K
    total = tl.zeros((WIDTH,), dtype=tl.float64 if DOUBLE else tl.float32)
    for start in range(first, last, TILE):
        j = start + tl.arange(0, TILE)
        valid = j < last
        column = tl.load(indices + j, mask=valid, other=0).to(tl.int64)
        x = tl.load(values + j, mask=valid, other=0.0).to(total.dtype)
        b = tl.load(B + column[:, None] * K + k[None, :], mask=valid[:, None] & inside[None, :], other=0.0)
        total += tl.sum(x[:, None] * b.to(total.dtype), axis=0)
    where = out + row * K + k
    if shared or ADD:
        tl.atomic_add(where, total, mask=inside)
    else:
        tl.store(where, total, mask=inside)


def products(X: Any, B: Any, into: Any) -> Any:
    """X @ B in the type of B (single or double), added to `into` if given."""
    row, first, last, shared = X.segments
    K = B.shape[1]
    out = torch.zeros((X.shape[0], K), dtype=B.dtype, device=B.device) if into is None else into
    width = triton.next_power_of_2(K)
    tile = max(2, min(64, TILE // (B.element_size() * width)))
    _products[(len(row),)](
        row, first, last, shared, X.indices, X.values, B, out,
        K=K, WIDTH=width, TILE=tile, ADD=into is not None, DOUBLE=B.dtype == torch.float64, num_warps=1,
    )  # fmt: skip
    return out

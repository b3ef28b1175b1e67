"""The `ratio` half-steps with the gathered factor in eight bits, for hundreds of topics.

A weight has five bits of exponent and three of mantissa and no sign, scaled by row so that the largest is 2 ** 15: less
than 1e-10 of that is zero. Four weights make a word. Shifted to where a float32 has the same bits, each is the weight
times 2 ** -112. A program goes over one run of non-zeros, and the row of the next one comes while it works on this.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from coview.kernels.triton_ratio import segment_of

__all__ = ["Eight", "add_ratio", "eight_bits"]

_TOP = 2.0**15
_ALIGNED = 16  # weights by which rows are filled up


@triton.jit
def _encode(B, out, scales, TOP: tl.constexpr, K: tl.constexpr, WIDTH: tl.constexpr, STRIDE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, WIDTH)
    b = tl.load(B + row * K + k, mask=k < K, other=0.0)
    largest = tl.max(b, axis=0)
    largest = tl.where(largest > 0, largest, 1.0)
    bits = (b * (TOP / largest)).to(tl.float16).to(tl.int16, bitcast=True).to(tl.int32)
    tl.store(out + row * STRIDE + k, ((bits + 64) >> 7).to(tl.uint8), mask=k < STRIDE)
    tl.store(scales + row, largest / TOP)


@triton.jit
def _ratio(
    row_of, first_of, last_of, shared_of, indices, values, A, B, scales, out, logs,
    K: tl.constexpr, WORDS: tl.constexpr, WIDTH: tl.constexpr, LOGS: tl.constexpr,
):  # fmt: skip
    BITS: tl.constexpr = 0x0FF00000
    UP: tl.constexpr = 5192296858534827628530496329220096.0  # 2 ** 112
    program = tl.program_id(0)
    row, first, last, shared = segment_of(program, row_of, first_of, last_of, shared_of)
    q = tl.arange(0, WIDTH)
    inside = q < WORDS
    k = 4 * q
    own = A + row * K + k
    a0 = tl.load(own, mask=k < K, other=0.0) * UP
    a1 = tl.load(own + 1, mask=k + 1 < K, other=0.0) * UP
    a2 = tl.load(own + 2, mask=k + 2 < K, other=0.0) * UP
    a3 = tl.load(own + 3, mask=k + 3 < K, other=0.0) * UP
    t0 = tl.zeros((WIDTH,), dtype=tl.float32)
    t1 = tl.zeros((WIDTH,), dtype=tl.float32)
    t2 = tl.zeros((WIDTH,), dtype=tl.float32)
    t3 = tl.zeros((WIDTH,), dtype=tl.float32)
    likelihood = 0.0
    column = tl.load(indices + first, mask=first < last, other=0).to(tl.int64)
    following = tl.load(indices + first + 1, mask=first + 1 < last, other=0).to(tl.int64)
    coming = tl.load(B + column * WORDS + q, mask=inside, other=0)
    for j in range(first, last):
        word = coming
        x = tl.load(values + j)
        scale = tl.load(scales + column)
        column = following
        coming = tl.load(B + column * WORDS + q, mask=inside, other=0)
        following = tl.load(indices + j + 2, mask=j + 2 < last, other=0).to(tl.int64)
        b0 = ((word << 20) & BITS).to(tl.float32, bitcast=True)
        b1 = ((word << 12) & BITS).to(tl.float32, bitcast=True)
        b2 = ((word << 4) & BITS).to(tl.float32, bitcast=True)
        b3 = ((word >> 4) & BITS).to(tl.float32, bitcast=True)
        s = tl.sum(a0 * b0 + a1 * b1 + a2 * b2 + a3 * b3, axis=0)
        safe = tl.where(s > 0, s, 1.0)
        r = tl.where(s > 0, x / safe, 0.0)
        t0 += r * b0
        t1 += r * b1
        t2 += r * b2
        t3 += r * b3
        if LOGS:
            likelihood += tl.where(s > 0, x * tl.log(safe * scale), 0.0)
    where = out + row * K + k
    if shared:
        tl.atomic_add(where, t0 * UP, mask=k < K)
        tl.atomic_add(where + 1, t1 * UP, mask=k + 1 < K)
        tl.atomic_add(where + 2, t2 * UP, mask=k + 2 < K)
        tl.atomic_add(where + 3, t3 * UP, mask=k + 3 < K)
    else:
        tl.store(where, tl.load(where, mask=k < K, other=0.0) + t0 * UP, mask=k < K)
        tl.store(where + 1, tl.load(where + 1, mask=k + 1 < K, other=0.0) + t1 * UP, mask=k + 1 < K)
        tl.store(where + 2, tl.load(where + 2, mask=k + 2 < K, other=0.0) + t2 * UP, mask=k + 2 < K)
        tl.store(where + 3, tl.load(where + 3, mask=k + 3 < K, other=0.0) + t3 * UP, mask=k + 3 < K)
    if LOGS:
        tl.store(logs + program, likelihood)


class Eight:
    """A factor in eight bits: words by row, and what to multiply each row by."""

    def __init__(self, words: Any, scales: Any) -> None:
        self.words, self.scales = words, scales


def eight_bits(B: Any) -> Eight:
    """Round a factor (float32, none negative) to eight bits."""
    n, K = B.shape
    stride = triton.cdiv(K, _ALIGNED) * _ALIGNED
    codes = torch.empty((n, stride), dtype=torch.uint8, device=B.device)
    scales = torch.empty(n, dtype=torch.float32, device=B.device)
    width = triton.next_power_of_2(stride)
    _encode[(n,)](B, codes, scales, TOP=_TOP, K=K, WIDTH=width, STRIDE=stride, num_warps=4)
    return Eight(codes.view(torch.int32), scales)


def add_ratio(X: Any, A: Any, B: Eight, out: Any, logs: bool) -> Any:
    """Add R @ B over the rows of X to `out`; returns the log-likelihood as a float64 scalar (0 if unasked)."""
    row, first, last, shared = X.segments
    words = B.words.shape[1]
    likelihoods = torch.zeros(len(row) if logs else 1, dtype=torch.float64, device=A.device)
    _ratio[(len(row),)](
        row, first, last, shared, X.indices, X.values, A, B.words, B.scales, out, likelihoods,
        K=A.shape[1], WORDS=words, WIDTH=triton.next_power_of_2(words), LOGS=logs, num_warps=1,
    )  # fmt: skip
    return likelihoods.sum()

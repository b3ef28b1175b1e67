"""Keep factors distributions on a GPU, in one pass over each: what `kernels/shares.py` is on the CPU.

row_shares      out = old * pull / its row sums, floored; old where the sum is zero
column_products sums <- old * sums in place, and the column sums of many rows at a time (float64)
column_scale    sums <- sums * scale, floored; old where the column's sum is zero
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

__all__ = ["column_products", "column_scale", "row_shares"]

_VALUES = 4096  # of a factor that one program handles
_STRIPES = 1024  # programs that add up columns: each keeps one row of sums


@triton.jit
def _row_shares(old, pull, out, floor, n, K: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    k = tl.arange(0, WIDTH)
    at = i.to(tl.int64)[:, None] * K + k[None, :]
    inside = (i < n)[:, None] & (k < K)[None, :]
    was = tl.load(old + at, mask=inside, other=0.0)
    value = was * tl.load(pull + at, mask=inside, other=0.0)
    total = tl.sum(value, axis=1)[:, None]
    share = value / tl.where(total > 0, total, 1.0)
    share = tl.where(share > floor, share, floor)
    tl.store(out + at, tl.where(total > 0, share, was), mask=inside)


@triton.jit
def _column_products(old, sums, partial, n, stripes, K: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    program = tl.program_id(0)
    k = tl.arange(0, WIDTH)
    total = tl.zeros((WIDTH,), dtype=tl.float64)
    for first in range(program * ROWS, n, stripes * ROWS):
        i = first + tl.arange(0, ROWS)
        at = i.to(tl.int64)[:, None] * K + k[None, :]
        inside = (i < n)[:, None] & (k < K)[None, :]
        value = tl.load(old + at, mask=inside, other=0.0) * tl.load(sums + at, mask=inside, other=0.0)
        tl.store(sums + at, value, mask=inside)
        total += tl.sum(value, axis=0).to(tl.float64)
    tl.store(partial + program * K + k, total, mask=k < K)


@triton.jit
def _column_scale(old, sums, totals, floor, n, K: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    k = tl.arange(0, WIDTH)
    at = i.to(tl.int64)[:, None] * K + k[None, :]
    inside = (i < n)[:, None] & (k < K)[None, :]
    total = tl.load(totals + k, mask=k < K, other=0.0)
    scale = (1.0 / tl.where(total > 0, total, 1.0)).to(tl.float32)[None, :]
    value = tl.load(sums + at, mask=inside, other=0.0) * scale
    value = tl.where(value > floor, value, floor)
    empty = (total <= 0)[None, :]
    was = tl.load(old + at, mask=inside & empty, other=0.0)
    tl.store(sums + at, tl.where(empty, was, value), mask=inside)


def _shape(K: int) -> tuple[int, int]:
    width = triton.next_power_of_2(K)
    return width, max(1, _VALUES // width)


def row_shares(old: Any, pull: Any, floor: float) -> Any:
    """Rows of old * pull divided by their sums; see the module's docstring."""
    n, K = old.shape
    width, rows = _shape(K)
    out = torch.empty_like(old)
    _row_shares[(triton.cdiv(n, rows),)](old, pull, out, floor, n, K=K, WIDTH=width, ROWS=rows)
    return out


def column_products(old: Any, sums: Any) -> Any:
    """Multiply in place; return the column sums (float64)."""
    n, K = old.shape
    width, rows = _shape(K)
    stripes = min(_STRIPES, triton.cdiv(n, rows))
    partial = torch.empty((stripes, K), dtype=torch.float64, device=old.device)
    _column_products[(stripes,)](old, sums, partial, n, stripes, K=K, WIDTH=width, ROWS=rows)
    return partial.sum(dim=0)


def column_scale(old: Any, sums: Any, totals: Any, floor: float) -> Any:
    """Divide by the totals in place, floored; empty columns keep their old values."""
    n, K = old.shape
    width, rows = _shape(K)
    _column_scale[(triton.cdiv(n, rows),)](old, sums, totals, floor, n, K=K, WIDTH=width, ROWS=rows)
    return sums

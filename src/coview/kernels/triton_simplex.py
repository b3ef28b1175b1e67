"""`quadratic_rows` of `simplex.py` on a GPU: rows stay in registers from the first step of Newton to the last."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

__all__ = ["quadratic_rows"]

_VALUES = 1024  # of a factor that one program handles
_STEPS = 100


@triton.jit
def _quadratic_rows(
    counts, old, slope, curvature, out, floor, n, K: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr,
    STEPS: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    k = tl.arange(0, WIDTH)
    at = i.to(tl.int64)[:, None] * K + k[None, :]
    column = (k < K)[None, :]
    inside = (i < n)[:, None] & column
    n_k = tl.load(counts + at, mask=inside, other=0.0).to(tl.float64)
    was = tl.load(old + at, mask=inside, other=1.0 / K).to(tl.float64)
    c = tl.load(curvature + i, mask=i < n, other=1.0).to(tl.float64)
    total = tl.sum(n_k, axis=1)
    free = c <= 1e-12 * total
    strength = tl.where(free, 1.0, c)[:, None]
    p = n_k / strength
    g = was + tl.load(slope + at, mask=inside, other=0.0).to(tl.float64) / strength
    # a constant changes no row: with 0 for the largest, digits of h are left however large the slope is
    g -= tl.max(tl.where(column, g, float("-inf")), axis=1)[:, None]
    mass = tl.sum(p, axis=1)
    lowest = tl.min(tl.where(column, g, float("inf")), axis=1)
    low = tl.maximum(mass - 1.0 + lowest, -1.0) - 1e-12  # no share is above 1
    high = mass
    eta = 0.5 * (low + high)
    h = was
    worst = tl.full((), 1.0, tl.float64)
    step = 0
    while (step < STEPS) & (worst > 1e-13):
        t = g - eta[:, None]
        root = tl.sqrt(t * t + 4.0 * p)
        h = tl.where(t > 0, 0.5 * (t + root), 2.0 * p / tl.maximum(root - t, 1e-300))
        h = tl.where(column, h, 0.0)
        over = tl.sum(h, axis=1) - 1.0
        low = tl.where(over > 0, eta, low)
        high = tl.where(over > 0, high, eta)
        fall = tl.sum(tl.where(root > 0, h / tl.maximum(root, 1e-300), 0.0), axis=1)
        new = eta + over * tl.maximum(over + 1.0, 1e-3) / tl.maximum(fall, 1e-300)
        settled = tl.abs(over) <= 1e-13
        moved = tl.where((low < new) & (new < high), new, 0.5 * (low + high))
        eta = tl.where(settled, eta, moved)
        worst = tl.max(tl.where(free | (i >= n), 0.0, tl.abs(over)), axis=0)
        step += 1
    h = h / tl.sum(h, axis=1)[:, None]
    plain = tl.where((total > 0)[:, None], n_k / tl.maximum(total, 1e-300)[:, None], was)
    h = tl.maximum(tl.where(free[:, None], plain, h), floor)
    tl.store(out + at, h, mask=inside)


def quadratic_rows(counts: Any, old: Any, slope: Any, curvature: Any, floor: float) -> Any:
    """Rows of the simplex that maximize counts log h + slope h - curvature |h - old|^2 / 2, at least `floor`."""
    n, K = old.shape
    width = triton.next_power_of_2(K)
    rows = max(1, _VALUES // width)
    out = torch.empty_like(old)
    parts = [part.contiguous() for part in (counts, old, slope, curvature)]
    _quadratic_rows[(triton.cdiv(n, rows),)](*parts, out, floor, n, K=K, WIDTH=width, ROWS=rows, STEPS=_STEPS)
    return out

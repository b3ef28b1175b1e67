"""Similarities of sampled pairs and their gradient as Triton kernels: one program per row, its partners gathered once.

Formulas are those of `kernels/pairs.py`. A row adds to its partners' gradients by atomic addition.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

__all__ = ["gap_squares", "gradient", "similarities"]

_VALUES = 1024  # of the mixtures that a program holds: in registers, with two warps
_PAIRS = 4096  # that a program adds up


@triton.jit
def _similarities(P, have, partners, scale, out, C, K: tl.constexpr, WIDTH: tl.constexpr, TILE: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, WIDTH)
    inside = k < K
    has = tl.load(have + i)
    factor = tl.load(scale)  # by address: a number would be passed in single precision
    own = tl.load(P + i * K + k, mask=inside, other=0.0)
    for start in range(0, C, TILE):
        c = start + tl.arange(0, TILE)
        valid = c < C
        j = tl.load(partners + i * C + c, mask=valid, other=-1).to(tl.int64)
        real = j >= 0
        near = tl.load(P + j[:, None] * K + k[None, :], mask=real[:, None] & inside[None, :], other=0.0)
        both = real & (has != 0) & (tl.load(have + j, mask=real, other=0) != 0)
        gap = own[None, :] - near
        similar = tl.exp(tl.sum(gap * gap, axis=1).to(tl.float64) * factor)
        tl.store(out + i * C + c, tl.where(both, similar, -1.0), mask=valid)


@triton.jit
def _gradient(P, partners, pulls, out, C, K: tl.constexpr, WIDTH: tl.constexpr, TILE: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, WIDTH)
    inside = k < K
    own = tl.load(P + i * K + k, mask=inside, other=0.0).to(tl.float64)
    total = tl.zeros((WIDTH,), dtype=tl.float64)
    for start in range(0, C, TILE):
        c = start + tl.arange(0, TILE)
        j = tl.load(partners + i * C + c, mask=c < C, other=-1).to(tl.int64)
        pull = tl.load(pulls + i * C + c, mask=c < C, other=0.0)
        real = (j >= 0) & (pull != 0)
        chosen = real[:, None] & inside[None, :]
        near = tl.load(P + j[:, None] * K + k[None, :], mask=chosen, other=0.0).to(tl.float64)
        part = tl.where(chosen, pull[:, None] * (own[None, :] - near), 0.0)
        total += tl.sum(part, axis=0)
        # a partner belongs to many rows, which other programs add to at the same time
        tl.atomic_add(out + j[:, None] * K + k[None, :], -part, mask=chosen)
    tl.atomic_add(out + i * K + k, total, mask=inside)


@triton.jit
def _gap_squares(own, other, out, size, PAIRS: tl.constexpr):
    # int64: there may be more than 2^31 pairs
    at = tl.program_id(0).to(tl.int64) * PAIRS + tl.arange(0, PAIRS)
    a = tl.load(own + at, mask=at < size, other=-1.0)
    b = tl.load(other + at, mask=at < size, other=-1.0)
    gap = tl.where((a >= 0) & (b >= 0), a - b, 0.0)
    tl.store(out + tl.program_id(0), tl.sum(gap * gap, axis=0))


def _shape(K: int) -> dict[str, int]:
    width = triton.next_power_of_2(K)
    return {"K": K, "WIDTH": width, "TILE": max(4, min(64, _VALUES // width))}


def similarities(P: Any, have: Any, partners: Any, sigma: float) -> Any:
    """Similarities (float64) of the pairs of all rows; -1 where there is none."""
    out = torch.empty(partners.shape, dtype=torch.float64, device=P.device)
    scale = torch.full((1,), -1.0 / sigma, dtype=torch.float64, device=P.device)
    there = have.contiguous().view(torch.uint8)
    _similarities[(len(P),)](P, there, partners, scale, out, partners.shape[1], **_shape(P.shape[1]), num_warps=2)
    return out


def gradient(P: Any, partners: Any, pulls: Any) -> Any:
    """Sum over pairs of pull (P_i - P_j), of i and, with the other sign, of j (float64).

    Where there is no pair, the pull must be 0.
    """
    out = torch.zeros(P.shape, dtype=torch.float64, device=P.device)
    _gradient[(len(P),)](P, partners, pulls, out, partners.shape[1], **_shape(P.shape[1]), num_warps=2)
    return out


def gap_squares(own: Any, other: Any) -> Any:
    """Sum of squared differences of similarities, over the pairs that both have."""
    size = own.numel()
    sums = torch.empty(triton.cdiv(size, _PAIRS), dtype=torch.float64, device=own.device)
    _gap_squares[(len(sums),)](own, other, sums, size, PAIRS=_PAIRS)
    return sums.sum()

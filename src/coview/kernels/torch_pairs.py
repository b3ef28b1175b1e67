"""Similarities of sampled pairs and their gradient in torch, some rows at a time; see `kernels/pairs.py`.

Distances are in the type of the mixtures, all else in float64. `triton_pairs.py` has the same functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

__all__ = ["gap_squares", "gradient", "similarities"]

_VALUES = 1 << 26  # gathered at a time: half a GB in float64


def similarities(P: Any, have: Any, partners: Any, sigma: float) -> Any:
    """Similarities (float64) of the pairs of all rows; -1 where there is none."""
    out = torch.empty(partners.shape, dtype=torch.float64, device=P.device)
    for part in _runs(partners, P):
        near = partners[part].clamp(min=0).long()  # -1 is no position; those places are filled below
        squares = ((P[part, None] - P[near]) ** 2).sum(dim=2)
        lacking = (partners[part] < 0) | ~have[part, None] | ~have[near]
        out[part] = torch.exp(squares.double() / -sigma).masked_fill_(lacking, -1.0)
    return out


def gradient(P: Any, partners: Any, pulls: Any) -> Any:
    """Sum over pairs of pull (P_i - P_j), of i and, with the other sign, of j (float64).

    Where there is no pair, the pull must be 0.
    """
    P = P.double()
    out = torch.zeros_like(P)
    for part in _runs(partners, P):
        near = partners[part].clamp(min=0).long()
        pieces = pulls[part, :, None] * (P[part, None] - P[near])
        out[part] += pieces.sum(dim=1)
        out.index_add_(0, near.reshape(-1), pieces.reshape(-1, P.shape[1]), alpha=-1)
    return out


def gap_squares(own: Any, other: Any) -> Any:
    """Sum of squared differences of similarities, over the pairs that both have."""
    gap = (own - other).masked_fill_((own < 0) | (other < 0), 0.0)
    return (gap * gap).sum()


def _runs(partners: Any, P: Any) -> Iterator[slice]:
    step = max(1, _VALUES // max(partners.shape[1] * P.shape[1], 1))
    return (slice(start, start + step) for start in range(0, len(P), step))

"""Similarities of sampled pairs of a block on a torch device: what `engines/pair_field.py` is on the processor.

Formulas are those of `kernels/pairs.py`; distances in the type of the mixtures, all else in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

__all__ = ["TorchPairField"]

_VALUES = 1 << 26  # gathered at a time


class TorchPairField:
    """The regularizer of one block, as `PairField` but of tensors; `kernels` is `triton_pairs`, or None."""

    def __init__(
        self, partners: Any, have: Any, couplings: np.ndarray, sigma: float, mixtures: list[Any], kernels: Any = None
    ) -> None:
        self.have, self.couplings, self.sigma, self.kernels = have, couplings, sigma, kernels
        self.drawn = partners
        if kernels is None:
            self.nobody = partners < 0
            self.partners = partners.clamp(min=0).long()
        self.similar = [self.similarities(v, mixture) for v, mixture in enumerate(mixtures)]

    def similarities(self, v: int, mixture: Any) -> Any:
        """Similarities of the pairs if view v had these mixtures; -1 where there is none."""
        there = self.have[:, v]
        if self.kernels is not None:
            return self.kernels.similarities(mixture, there, self.drawn, self.sigma)
        out = torch.empty(self.partners.shape, dtype=torch.float64, device=mixture.device)
        for part in self._runs(mixture):
            near = self.partners[part]
            squares = ((mixture[part, None] - mixture[near]) ** 2).sum(dim=2)
            lacking = self.nobody[part] | ~there[part, None] | ~there[near]
            out[part] = torch.exp(squares.double() / -self.sigma).masked_fill_(lacking, -1.0)
        return out

    def part(self, v: int, similar: Any = None) -> float:
        """What view v has to do with the value, with its own similarities or with others."""
        own = self.similar[v] if similar is None else similar
        if self.kernels is not None:
            others = zip(self.couplings[v].tolist(), self.similar)
            return 2.0 * float(sum(weight * self.kernels.gap_squares(own, other) for weight, other in others if weight))
        gaps = [weight * (gap * gap).sum() for weight, gap in self._gaps(v, own)]
        return 2.0 * float(sum(gaps))

    def value(self) -> float:
        """The regularizer; each pair of views counts once."""
        return 0.5 * sum(self.part(v) for v in range(len(self.similar)))

    def gradient(self, v: int, mixture: Any) -> Any:
        """Gradient of the value with respect to the mixtures of view v, which are those of its similarities."""
        own = self.similar[v]
        pulls = sum((weight * gap for weight, gap in self._gaps(v, own)), torch.zeros_like(own))
        pulls *= own.clamp(min=0) * (-8.0 / self.sigma)
        if self.kernels is not None:
            return self.kernels.gradient(mixture, self.drawn, pulls)
        P = mixture.double()
        out = torch.zeros_like(P)
        for part in self._runs(mixture):
            near, pull = self.partners[part], pulls[part, :, None]
            pieces = pull * (P[part, None] - P[near])
            out[part] += pieces.sum(dim=1)
            out.index_add_(0, near.reshape(-1), pieces.reshape(-1, P.shape[1]), alpha=-1)
        return out

    def _gaps(self, v: int, own: Any) -> Iterator[tuple[float, Any]]:
        """Coupling of each other view, and how far the similarities are apart; 0 where one of the two has none."""
        for weight, other in zip(self.couplings[v].tolist(), self.similar):
            if weight != 0:
                yield weight, (own - other).masked_fill_((own < 0) | (other < 0), 0.0)

    def _runs(self, mixture: Any) -> Iterator[slice]:
        step = max(1, _VALUES // max(self.partners.shape[1] * mixture.shape[1], 1))
        return (slice(start, start + step) for start in range(0, len(mixture), step))

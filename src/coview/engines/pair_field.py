"""Similarities of sampled pairs of objects in every view of a block, and what their differences cost.

The regularizer of `plsa/pairwise.py` is  sum_(v<w) coupling_vw sum_ij (S^v_ij - S^w_ij)^2;  formulas are in
`kernels/pairs.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from coview.engines.threads import Team

__all__ = ["DevicePairField", "HostPairField", "PairField"]

_CHUNK = 65_536  # pairs below which another thread costs more than it gives
_BUFFERS = 4  # gradients that are summed, one per chunk of rows


class PairField(ABC):
    """The regularizer of one block: similarities of its pairs in every view, value and gradient of one view's part.

    Parameters
    ----------
    partners : array of int (n_rows, pairs per row)
        Partners of each row, each pair once, -1 = none.
    have : array of bool (n_rows, n_views)
        Which objects have which view.
    couplings : ndarray (n_views, n_views)
        Coupling of each pair of views, symmetric, zero on the diagonal.
    sigma : float
        Width of the similarity.
    mixtures : list of array (n_rows, n_topics)
        Mixtures of every view.
    """

    similar: Any  # by view, similarities of the pairs; a step writes those of the mixtures that it takes

    def __init__(self, partners: Any, have: Any, couplings: np.ndarray, sigma: float, mixtures: list[Any]) -> None:
        self.partners, self.have, self.couplings, self.sigma = partners, have, couplings, sigma
        self.similar = self._stacked([self.similarities(v, mixture) for v, mixture in enumerate(mixtures)])

    @abstractmethod
    def similarities(self, v: int, mixture: Any) -> Any:
        """Similarities of the pairs if view v had these mixtures; -1 where there is none."""

    @abstractmethod
    def part(self, v: int, similar: Any = None) -> float:
        """What view v has to do with the value, with its own similarities or with others."""

    @abstractmethod
    def gradient(self, v: int, mixture: Any) -> Any:
        """Gradient of the value with respect to the mixtures of view v, which are those of its similarities."""

    def value(self) -> float:
        """The regularizer; each pair of views counts once."""
        return 0.5 * sum(self.part(v) for v in range(len(self.similar)))

    def _stacked(self, parts: list[Any]) -> Any:
        return parts


class HostPairField(PairField):
    """Pairs on the processor, by chunks of rows; results do not depend on the number of threads."""

    def __init__(
        self,
        partners: np.ndarray,
        have: np.ndarray,
        couplings: np.ndarray,
        sigma: float,
        mixtures: list[np.ndarray],
        team: Team,
    ) -> None:
        self.team = team
        pieces = int(np.clip(partners.size // _CHUNK, 1, _BUFFERS))
        cuts = np.linspace(0, len(partners), pieces + 1).astype(int).tolist()
        self.chunks = list(pairwise(cuts))
        super().__init__(partners, have, couplings, sigma, mixtures)

    def similarities(self, v: int, mixture: np.ndarray) -> np.ndarray:
        from coview.kernels import pairs

        out = np.empty(self.partners.shape)
        have = np.ascontiguousarray(self.have[:, v])
        mixture = np.ascontiguousarray(mixture)
        self.team.map(lambda i, j: pairs.similarities(mixture, have, self.partners, self.sigma, out, i, j), self.chunks)
        return out

    def part(self, v: int, similar: np.ndarray | None = None) -> float:
        from coview.kernels import pairs

        own = self.similar[v] if similar is None else similar
        couplings = np.ascontiguousarray(self.couplings[v])
        sums = self.team.map(lambda i, j: pairs.pair_value(own, self.similar, couplings, i, j), self.chunks)
        return float(np.sum(sums))

    def gradient(self, v: int, mixture: np.ndarray) -> np.ndarray:
        from coview.kernels import pairs

        buffers = np.zeros((len(self.chunks), *mixture.shape))
        couplings, position = np.ascontiguousarray(self.couplings[v]), {i: b for b, (i, _) in enumerate(self.chunks)}
        mixture, own = np.ascontiguousarray(mixture), self.similar[v]

        def work(i: int, j: int) -> None:
            buffer = buffers[position[i]]
            pairs.pair_gradient(mixture, self.partners, own, self.similar, couplings, self.sigma, buffer, i, j)

        self.team.map(work, self.chunks)
        return buffers.sum(axis=0)

    def _stacked(self, parts: list[np.ndarray]) -> np.ndarray:
        return np.stack(parts)


class DevicePairField(PairField):
    """Pairs as tensors; `kernels` is `kernels/triton_pairs.py`, or `kernels/torch_pairs.py` where that cannot run."""

    def __init__(
        self, partners: Any, have: Any, couplings: np.ndarray, sigma: float, mixtures: list[Any], kernels: Any
    ) -> None:
        self.kernels = kernels
        super().__init__(partners, have, couplings, sigma, mixtures)

    def similarities(self, v: int, mixture: Any) -> Any:
        return self.kernels.similarities(mixture, self.have[:, v], self.partners, self.sigma)

    def part(self, v: int, similar: Any = None) -> float:
        own = self.similar[v] if similar is None else similar
        return 2.0 * float(sum(weight * self.kernels.gap_squares(own, other) for weight, other in self._others(v)))

    def gradient(self, v: int, mixture: Any) -> Any:
        own = self.similar[v]
        pulls = own.new_zeros(own.shape)
        for weight, other in self._others(v):
            pulls += weight * (own - other).masked_fill_((own < 0) | (other < 0), 0.0)
        pulls *= own.clamp(min=0) * (-8.0 / self.sigma)
        return self.kernels.gradient(mixture, self.partners, pulls)

    def _others(self, v: int) -> Iterator[tuple[float, Any]]:
        """Coupling and similarities of each view that this one is coupled with."""
        return ((weight, part) for weight, part in zip(self.couplings[v].tolist(), self.similar) if weight != 0)

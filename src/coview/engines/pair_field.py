"""Similarities of sampled pairs of objects in every view of a block, on the processor; see `kernels/pairs.py`.

The regularizer of `plsa/pairwise.py` is  sum_(v<w) coupling_vw sum_ij (S^v_ij - S^w_ij)^2.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from coview.engines.threads import Team

__all__ = ["PairField"]

_CHUNK = 65_536  # pairs below which another thread costs more than it gives
_BUFFERS = 4  # gradients that are summed, one per chunk of rows


class PairField:
    """The regularizer of one block: similarities of its pairs in every view, value and gradient of one view's part.

    Parameters
    ----------
    partners : ndarray of int (n_rows, pairs per row)
        Partners of each row, each pair once, -1 = none.
    have : ndarray of bool (n_rows, n_views)
        Which objects have which view.
    couplings : ndarray (n_views, n_views)
        Coupling of each pair of views, symmetric, zero on the diagonal.
    sigma : float
        Width of the similarity.
    mixtures : list of ndarray (n_rows, n_topics)
        Mixtures of every view.
    team : Team
        Threads; results do not depend on their number.
    """

    def __init__(
        self,
        partners: np.ndarray,
        have: np.ndarray,
        couplings: np.ndarray,
        sigma: float,
        mixtures: list[np.ndarray],
        team: Team,
    ) -> None:
        self.partners, self.have, self.couplings, self.sigma, self.team = partners, have, couplings, sigma, team
        pieces = int(np.clip(partners.size // _CHUNK, 1, _BUFFERS))
        cuts = np.linspace(0, len(partners), pieces + 1).astype(int).tolist()
        self.chunks = list(pairwise(cuts))
        self.similar = np.empty((len(mixtures), *partners.shape))
        for v, mixture in enumerate(mixtures):
            self.similar[v] = self.similarities(v, mixture)

    def similarities(self, v: int, mixture: np.ndarray) -> np.ndarray:
        """Similarities of the pairs if view v had these mixtures; -1 where there is none."""
        from coview.kernels import pairs

        out = np.empty(self.partners.shape)
        have = np.ascontiguousarray(self.have[:, v])
        mixture = np.ascontiguousarray(mixture)
        self.team.map(lambda i, j: pairs.similarities(mixture, have, self.partners, self.sigma, out, i, j), self.chunks)
        return out

    def part(self, v: int, similar: np.ndarray | None = None) -> float:
        """What view v has to do with the value, with its own similarities or with others."""
        from coview.kernels import pairs

        own = self.similar[v] if similar is None else similar
        couplings = np.ascontiguousarray(self.couplings[v])
        sums = self.team.map(lambda i, j: pairs.pair_value(own, self.similar, couplings, i, j), self.chunks)
        return float(np.sum(sums))

    def value(self) -> float:
        """The regularizer; each pair of views counts once."""
        return 0.5 * sum(self.part(v) for v in range(len(self.similar)))

    def gradient(self, v: int, mixture: np.ndarray) -> np.ndarray:
        """Gradient of the value with respect to the mixtures of view v, which are those of its similarities."""
        from coview.kernels import pairs

        buffers = np.zeros((len(self.chunks), *mixture.shape))
        couplings, position = np.ascontiguousarray(self.couplings[v]), {i: b for b, (i, _) in enumerate(self.chunks)}
        mixture, own = np.ascontiguousarray(mixture), self.similar[v]

        def work(i: int, j: int) -> None:
            buffer = buffers[position[i]]
            pairs.pair_gradient(mixture, self.partners, own, self.similar, couplings, self.sigma, buffer, i, j)

        self.team.map(work, self.chunks)
        return buffers.sum(axis=0)

"""Similarities of sampled pairs of objects in every view of a block, and what their differences cost.

    s_ij = exp(-|P_i - P_j|^2 / sigma)                     similarity in a view with mixtures P
    value = sum_(v<w) coupling_vw sum_ij (s^v_ij - s^w_ij)^2
    d value / d P^v_i = -(8 / sigma) sum_j s^v_ij (P^v_i - P^v_j) sum_w coupling_vw (s^v_ij - s^w_ij)

Each pair is stored once and counts twice, since the sums are over ordered pairs. It is the regularizer of
`coview.PairwiseCoPLSA`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["PairField"]


class PairField:
    """The regularizer of one block: similarities of its pairs in every view, value and gradient of one view's part.

    Parameters
    ----------
    ops : Engine
        Engine of the arrays; it computes `pair_similarities`, `pair_gaps` and `pair_gradient`.
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

    Attributes
    ----------
    similar : list of array (n_rows, pairs per row)
        Similarities by view, -1 where there is no pair; a step writes those of the mixtures that it accepts.
    """

    def __init__(
        self, ops: Any, partners: Any, have: Any, couplings: np.ndarray, sigma: float, mixtures: list[Any]
    ) -> None:
        self.ops, self.partners, self.have, self.couplings, self.sigma = ops, partners, have, couplings, sigma
        self.similar = [self.similarities(v, mixture) for v, mixture in enumerate(mixtures)]

    def similarities(self, v: int, mixture: Any) -> Any:
        """Return the similarities of the pairs if view v had these mixtures."""
        return self.ops.pair_similarities(mixture, self.have[:, v], self.partners, self.sigma)

    def part(self, v: int, similar: Any = None) -> float:
        """Return the terms of the value that view v is in, with its own similarities or with others."""
        own = self.similar[v] if similar is None else similar
        return 2.0 * float(sum(weight * self.ops.pair_gaps(own, other) for weight, other in self._coupled_views(v)))

    def gradient(self, v: int, mixture: Any) -> Any:
        """Return the gradient of the value with respect to the mixtures of view v, those of its similarities."""
        own = self.similar[v]
        pulls = self.ops.xp.zeros_like(own)
        for weight, other in self._coupled_views(v):
            # a pair that one of the views lacks says nothing of their difference
            pulls += weight * self.ops.xp.where((own < 0) | (other < 0), 0.0, own - other)
        pulls *= own * (-8.0 / self.sigma)  # where there is no pair, the pull is 0 already
        return self.ops.pair_gradient(mixture, self.partners, pulls)

    def value(self) -> float:
        """Return the regularizer; each pair of views is in the parts of both."""
        return 0.5 * sum(self.part(v) for v in range(len(self.similar)))

    def _coupled_views(self, v: int) -> list[tuple[float, Any]]:
        """Return the coupling and the similarities of each view that view v is coupled with."""
        return [(weight, other) for weight, other in zip(self.couplings[v].tolist(), self.similar) if weight != 0]

"""A regularizer over pairs of objects: a pair is to be as similar in one view as in another.

    sum_(v<w) coupling_vw sum_ij (S^v_ij - S^w_ij)^2,     S^v_ij = exp(-|P_i - P_j|^2 / sigma)

P = p(y|d,v) by rows, and ij runs over sampled pairs, in both orders, that lie inside a block of rows: time and memory
grow with the number of pairs, never with the square of the objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from coview.engines.threads import Team
from coview.views.views import Views

__all__ = ["Masses", "PairField", "Partners", "median_distance"]

_CHUNK = 65_536  # pairs below which another thread costs more than it gives
_BUFFERS = 4  # gradients that are summed, one per chunk of rows


@dataclass(frozen=True)
class Partners:
    """Draws the pairs of a block, each once: partners of each row (rows x most pairs of a row, -1 = none).

    A share of all pairs of the block, or the block's part of so many pairs among all `n_rows` rows.
    """

    seed: int
    fraction: float = 0.05
    n_pairs: int | None = None
    n_rows: int = 0

    def __call__(self, views: Views) -> np.ndarray:
        from coview.kernels.pairs import draw_partners  # numba, only when it is needed

        n = len(views)
        every = n * (n - 1) // 2
        wanted = self.fraction * every if self.n_pairs is None else self.n_pairs * n / self.n_rows
        total = min(int(np.ceil(wanted - 1e-9)), every)
        # row i owns as many pairs as objects follow it on a half circle; see the kernel
        owned = np.full(n, n // 2)
        if n % 2 == 0:
            owned[n // 2 :] -= 1
        exact = owned * (total / max(every, 1))
        counts = np.floor(exact + 1e-9).astype(np.int64)
        order = np.random.default_rng(self.seed).permutation(n)
        order = order[np.argsort(-(exact - counts)[order], kind="stable")]
        counts[order[: total - int(counts.sum())]] += 1
        out = np.empty((n, int(counts.max(initial=0))), dtype=np.int32)
        draw_partners(self.seed, counts, out)
        return out


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


@dataclass(frozen=True)
class Masses:
    """Sum of each object's values, views weighted: what the blocks carry for weights in units of it.

    Examples
    --------
    >>> Masses({"words": 0.5, "links": 2.0})(Views(words=np.array([[1.0, 3.0]]), links=np.array([[4.0]])))
    array([10.])
    """

    shares: dict[str, float]

    def __call__(self, views: Views) -> np.ndarray:
        sums = [self.shares[name] * np.asarray(matrix.sum(axis=1)).ravel() for name, matrix in views.items()]
        return np.asarray(np.sum(sums, axis=0, dtype=np.float64))


def median_distance(mixtures: np.ndarray) -> float:
    """Median squared distance of two rows (objects x views x topics) in the same view; 1 where all are alike.

    Examples
    --------
    >>> median_distance(np.array([[[1.0, 0.0]], [[0.0, 1.0]]]))
    2.0
    """
    gaps = mixtures - np.roll(mixtures, 1, axis=0)
    median = float(np.median((gaps * gaps).sum(axis=2)))
    return median if median > 0 else 1.0

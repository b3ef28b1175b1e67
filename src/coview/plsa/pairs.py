"""A regularizer over pairs of objects: a pair is to be as similar in one view as in another.

    sum_(v<w) coupling_vw sum_ij (S^v_ij - S^w_ij)^2,     S^v_ij = exp(-|P_i - P_j|^2 / sigma)

P = p(y|d,v) by rows, and ij runs over sampled pairs, in both orders, that lie inside a block of rows: time and memory
grow with the number of pairs, never with the square of the objects.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coview.views.views import Views

__all__ = ["Masses", "Partners", "median_distance"]


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

"""k-means on a torch device: the starts, the rounds and the draws of scikit-learn's `KMeans`.

Starts are greedy k-means++: of a few rows drawn by their squared distance to the nearest center so far, the one that
leaves the least. All draws are made by NumPy from the seed, in the order in which scikit-learn makes them, so that both
find the same centers but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

__all__ = ["kmeans_centers"]

Assign = Callable[[Any, Any], tuple[Any, np.ndarray, float]]

ROUNDS = 300  # most rounds of each start
REST = 1e-4  # mean variance of a column: centers that move by less than this share of it rest


def kmeans_centers(rows: Any, n_clusters: int, n_init: int, seed: int, center_sums: Assign) -> np.ndarray:
    """Centers (clusters x columns) of the best of some starts; `center_sums` is that of the engine."""
    middle = rows.mean(dim=0)
    rows = rows - middle
    squares = (rows**2).sum(dim=1)
    rest = REST * float(rows.var(dim=0, unbiased=False).mean())
    n_trials = 2 + int(np.log(n_clusters))
    random = np.random.RandomState(seed)
    best, least = None, np.inf
    for _ in range(n_init):
        first, draws = random.random_sample(), random.random_sample((n_clusters - 1, n_trials))
        centers = _spread(rows, squares, int(first * len(rows)), torch.from_numpy(draws).to(rows.device))
        centers, inertia = _rounds(rows, centers, rest, center_sums)
        if inertia < least:
            best, least = centers, inertia
    assert best is not None
    return (best + middle).cpu().numpy()


def _spread(rows: Any, squares: Any, first: int, draws: Any) -> Any:
    """First centers (rows far from each other): `first`, then one of as many candidates as a row of draws has."""
    chosen = torch.empty(len(draws) + 1, dtype=torch.int64, device=rows.device)
    chosen[0] = first
    nearest = _distances(rows, squares, chosen[:1])[0]
    for c, draw in enumerate(draws, 1):
        sums = torch.cumsum(nearest.double(), 0)
        candidates = torch.searchsorted(sums, draw * sums[-1]).clamp_(max=len(rows) - 1)
        left = torch.minimum(nearest, _distances(rows, squares, candidates))
        winner = left.double().sum(dim=1).argmin()
        chosen[c], nearest = candidates[winner], left[winner]
    return rows[chosen]


def _distances(rows: Any, squares: Any, of: Any) -> Any:
    """Squared distances of some rows to all."""
    return (squares[of][:, None] + squares - 2 * rows[of] @ rows.T).clamp_(min=0)


def _rounds(rows: Any, centers: Any, rest: float, center_sums: Assign) -> tuple[Any, float]:
    """Lloyd's rounds until no row changes its center, or the centers rest; their inertia."""
    labels = None
    for _ in range(ROUNDS):
        before = labels
        labels, sums, inertia = center_sums(rows, centers)
        if before is not None and torch.equal(labels, before):
            return centers, inertia
        totals = torch.from_numpy(sums).to(rows.device)
        _fill_empty(rows, centers, labels, totals)
        moved = (totals[:, :-1] / totals[:, -1:].clamp(min=1)).to(rows.dtype)
        shift, centers = float(((moved - centers) ** 2).sum()), moved
        if shift <= rest:
            break
    return centers, center_sums(rows, centers)[2]


def _fill_empty(rows: Any, centers: Any, labels: Any, totals: Any) -> None:
    """Give the rows that are farthest from their centers to centers that have none."""
    empty = torch.nonzero(totals[:, -1] == 0).ravel()
    if not len(empty):
        return
    far = ((rows - centers[labels.long()]) ** 2).sum(dim=1).topk(len(empty)).indices
    for z, i in zip(empty, far):
        ours = torch.cat([rows[i].double(), torch.ones(1, dtype=torch.float64, device=rows.device)])
        totals[labels[i].long()] -= ours
        totals[z] = ours

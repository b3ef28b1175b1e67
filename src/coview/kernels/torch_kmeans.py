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

__all__ = ["kmeans_labels"]

Product = Callable[[Any], Any]

ROUNDS = 300  # most rounds of each start
REST = 1e-4  # mean variance of a column: centers that move by less than this share of it rest


def _spread_rows(distances: Product, n_rows: int, first: int, draws: Any) -> Any:
    """Positions of the first centers; `distances` are the squared ones of some rows to all."""
    chosen = torch.empty(len(draws) + 1, dtype=torch.int64, device=draws.device)
    chosen[0] = first
    nearest = distances(chosen[:1])[0]
    for c, draw in enumerate(draws, 1):
        sums = torch.cumsum(nearest.double(), 0)  # in float32, rows at the end would no longer raise the sum
        candidates = torch.searchsorted(sums, draw * sums[-1]).clamp_(max=n_rows - 1)
        left = torch.minimum(nearest, distances(candidates))
        winner = left.double().sum(dim=1).argmin()
        chosen[c], nearest = candidates[winner], left[winner]
    return chosen


def kmeans_labels(products: Product, sums: Product, squares: Any, n_clusters: int, seed: int) -> Any:
    """Cluster of each row of X after one start; `products` is X @ W, `sums` is X.T @ A, `squares` those of the rows.

    Sparse rows are never made dense: the centers are sums(one-hot labels), the distances products with them.
    """
    random = np.random.RandomState(seed)
    first, draws = random.random_sample(), random.random_sample((n_clusters - 1, 2 + int(np.log(n_clusters))))
    rows = _ProductRows(products, sums, squares)
    chosen = _spread_rows(
        rows.distances, len(squares), int(first * len(squares)), torch.from_numpy(draws).to(squares.device)
    )
    centers = rows.columns(chosen)
    rest = REST * rows.mean_variance(len(centers))
    labels = None
    for _ in range(ROUNDS):
        before, (labels, far) = labels, rows.assign(centers)
        if before is not None and torch.equal(labels, before):  # centers would be the same again
            return labels
        moved = rows.means(labels, far, n_clusters)
        shift, centers = float(((moved - centers) ** 2).sum()), moved
        if shift <= rest:
            break
    return rows.assign(centers)[0]


class _ProductRows:
    """Rows that are known by products alone; centers are columns (features x clusters)."""

    def __init__(self, products: Product, sums: Product, squares: Any) -> None:
        self.products, self.sums, self.squares = products, sums, squares

    def columns(self, of: Any) -> Any:
        """Some rows as columns."""
        chosen = torch.zeros((len(self.squares), len(of)), dtype=self.squares.dtype, device=of.device)
        chosen[of, torch.arange(len(of), device=of.device)] = 1
        return self.sums(chosen)

    def distances(self, of: Any) -> Any:
        """Squared distances of some rows to all."""
        return (self.squares[of][:, None] + self.squares - 2 * self.products(self.columns(of)).T).clamp_(min=0)

    def mean_variance(self, n_columns: int) -> float:
        """Mean of the variances of the columns."""
        n = len(self.squares)
        means = self.sums(torch.ones((n, 1), dtype=self.squares.dtype, device=self.squares.device)).double() / n
        return float(self.squares.double().sum() / n - (means**2).sum()) / n_columns

    def assign(self, centers: Any) -> tuple[Any, Any]:
        """Nearest center of each row, and the squared distance to it."""
        least, labels = ((centers**2).sum(dim=0) - 2 * self.products(centers)).min(dim=1)
        return labels, least + self.squares

    def means(self, labels: Any, far: Any, n_clusters: int) -> Any:
        """Mean of the rows of each cluster; one without any gets a row that is farthest from its center."""
        sizes = torch.bincount(labels, minlength=n_clusters)
        empty = torch.nonzero(sizes == 0).ravel()
        if len(empty):
            labels = labels.clone()
            labels[far.topk(len(empty)).indices] = empty
            sizes = torch.bincount(labels, minlength=n_clusters)
        member = torch.zeros((len(labels), n_clusters), dtype=self.squares.dtype, device=labels.device)
        member.scatter_(1, labels[:, None], 1)
        return self.sums(member) / sizes.clamp(min=1).to(member.dtype)

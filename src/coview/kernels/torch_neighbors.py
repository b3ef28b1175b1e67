"""The nearest of rows on a torch device: a few more than are asked for are found in single precision, then measured.

    |x - y|^2 >= (|x|^2 + |y|^2) (1 - e) - 2 <x, y>,     e what rounding may have added to sums of so many terms

The rows of which this bound is least are measured in double precision, dense ones by sums of squared differences. Where
the last of these bounds does not say that all others are farther, as where many rows are equally far, the row is
measured against all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["find_nearest_rows"]

_VALUES = 1 << 28  # bounds that are held at a time
_MORE = 16  # rows that are measured, beside a quarter more than are asked for


def find_nearest_rows(X: Any, among: Any, k: int, take: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """Distances and positions (rows x k) of the nearest rows in `among`, nearest first; None is the other rows.

    Both are matrices as the CUDA engine prepares them, and `take` gives some rows of one.
    """
    others = X if among is None else among
    n, m = X.shape[0], others.shape[0]
    search = _TorchSearch(others, take)
    distances = torch.empty((n, k), dtype=torch.float64, device=X.values.device)
    positions = torch.empty((n, k), dtype=torch.int64, device=X.values.device)
    step = max(1, _VALUES // max(m, X.shape[1]))
    for rows in torch.arange(n, device=X.values.device).split(step):
        some, own = take(X, rows), rows[:, None] if among is None else None
        distances[rows], positions[rows], sure = search.nearest(some, own, k)
        if sure.all():
            continue
        for left in torch.nonzero(~sure).ravel().split(step):
            part = take(some, left)
            distances[rows[left]], positions[rows[left]] = search.measured(part, None if own is None else own[left], k)
    return distances, positions


class _TorchSearch:
    """Rows among which the nearest of others are looked for."""

    def __init__(self, others: Any, take: Callable[[Any, Any], Any]) -> None:
        self.others, self.take, self.squares = others, take, others.squares
        self.sparse, self.middle = others.values.dim() == 1, 0.0
        self.places: dict[Any, Any] = {}
        if not self.sparse:  # far from zero, differences would be lost in single precision
            self.middle = others.values.mean(dim=0, dtype=torch.float64)
            self.near_zero = (others.values - self.middle).float()
            self.squares = (self.near_zero.double() ** 2).sum(dim=1)

    def products(self, rows: Any, dtype: Any) -> Any:
        """Products of dense rows with all, without `middle` where these are dense."""
        if not self.sparse:
            return rows @ self.near_zero.T
        if dtype not in self.places:
            self.places[dtype] = self.others.coordinates(dtype)
        return torch.sparse.mm(self.places[dtype], rows.T.contiguous()).T

    def nearest(self, some: Any, own: Any, k: int) -> tuple[Any, Any, Any]:
        """Distances and positions of the nearest, and of which rows they are surely right."""
        m = self.others.shape[0]
        count = min(k + k // 4 + _MORE, m)
        rows = (_as_dense(some, torch.float64) - self.middle).float()
        squares = (rows.double() ** 2).sum(dim=1)
        terms = (some.indptr[1:] - some.indptr[:-1]) if self.sparse else some.shape[1]
        exact = torch.get_float32_matmul_precision() == "highest"
        less = 1 - (terms + 8.0) * (2.0**-23 if exact else 2.0**-9) * torch.ones_like(squares)
        bounds = self.products(rows, torch.float32).mul_(-2).addr_(less.float(), self.squares.float())
        if own is not None:
            bounds.scatter_(1, own, torch.inf)
        low, at = torch.topk(bounds, count, dim=1, largest=False)
        least = torch.full_like(squares, torch.inf)
        if count < m:  # infinite bounds say nothing
            least = torch.where(low[:, -1].isfinite(), low[:, -1].double() + squares * less, -torch.inf)
        del bounds
        at = at.sort(dim=1).values  # of equal ones, the first
        apart = self.measure(some, at)
        if own is not None:
            apart[at == own] = torch.inf
        near, order = apart.sort(dim=1, stable=True)
        return near[:, :k].sqrt(), at.gather(1, order[:, :k]), near[:, k - 1] < least

    def measure(self, some: Any, at: Any) -> Any:
        """Squared distances of rows to some others each."""
        if not self.sparse:
            apart = torch.empty(at.shape, dtype=torch.float64, device=at.device)
            step = max(1, _VALUES // 8 // max(at.shape[1] * some.shape[1], 1))
            for part in torch.arange(len(at), device=at.device).split(step):
                gaps = self.others.values[at[part]].double() - some.values[part, None].double()
                apart[part] = (gaps**2).sum(dim=2)
            return apart
        chosen, rows = self.take(self.others, at.ravel()), _as_dense(some, torch.float64)
        products = torch.zeros(at.numel(), dtype=torch.float64, device=at.device)
        of = chosen.rows.long()
        products.index_add_(0, of, chosen.values.double() * rows[of // at.shape[1], chosen.indices.long()])
        return (some.squares[:, None] + self.squares[at] - 2 * products.view(at.shape)).clamp_(min=0)

    def measured(self, some: Any, own: Any, k: int) -> tuple[Any, Any]:
        """Distances and positions of the nearest of all, measured in double precision."""
        rows = _as_dense(some, torch.float64)
        if self.sparse:
            products = self.products(rows, torch.float64)
            apart = (some.squares[:, None] + self.squares - 2 * products).clamp_(min=0)
        else:
            apart = torch.stack([((self.others.values.double() - row) ** 2).sum(dim=1) for row in rows])
        if own is not None:
            apart.scatter_(1, own, torch.inf)
        near, order = apart.sort(dim=1, stable=True)
        return near[:, :k].sqrt(), order[:, :k]


def _as_dense(some: Any, dtype: Any) -> Any:
    """Return rows as dense ones."""
    if some.values.dim() == 2:
        return some.values.to(dtype)
    out = torch.zeros(some.shape, dtype=dtype, device=some.values.device)
    return out.index_put_((some.rows.long(), some.indices.long()), some.values.to(dtype), accumulate=True)

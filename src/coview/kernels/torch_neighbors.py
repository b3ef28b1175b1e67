"""The nearest of rows on a torch device.

Sparse rows are measured against all others in double precision. Of dense ones a few more than are asked for are found
in single precision, then measured by sums of squared differences in double precision:

    |x - y|^2 >= (|x|^2 + |y|^2) (1 - e) - 2 <x, y>,     e what rounding may have added to sums of so many terms

Where the last of these bounds does not say that all others are farther, as where many rows are equally far, the row is
measured against all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["find_nearest_rows"]

_VALUES = 1 << 27  # distances that are held at a time
_MORE = 16  # rows that are measured, beside a quarter more than are asked for


def find_nearest_rows(X: Any, among: Any, k: int, take: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """Distances and positions (rows x k) of the nearest rows in `among`, nearest first; None is the other rows.

    Both are matrices as the CUDA engine prepares them, and `take` gives some rows of one.
    """
    others = X if among is None else among
    n, m = X.shape[0], others.shape[0]
    search = _TorchSearch(others)
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

    def __init__(self, others: Any) -> None:
        self.others, self.squares, self.sparse = others, others.squares, others.values.dim() == 1
        if self.sparse:
            self.places = others.coordinates(torch.float64)
        else:  # far from zero, differences would be lost in single precision
            self.middle = others.values.mean(dim=0, dtype=torch.float64)
            self.near_zero = (others.values - self.middle).float()
            self.squares = (self.near_zero.double() ** 2).sum(dim=1)

    def nearest(self, some: Any, own: Any, k: int) -> tuple[Any, Any, Any]:
        """Distances and positions of the nearest, and of which rows they are surely right."""
        m = self.others.shape[0]
        bounds, lost = (self.measure_all(some, own), 0.0) if self.sparse else self.bound(some, own)
        low, at = torch.topk(bounds, min(k + k // 4 + _MORE, m), dim=1, largest=False)
        at = at.sort(dim=1).values  # of equal ones, the first
        least = torch.full_like(low[:, -1], torch.inf, dtype=torch.float64)
        if at.shape[1] < m:  # infinite bounds say nothing
            least = torch.where(low[:, -1].isfinite(), low[:, -1].double() + lost, -torch.inf)
        apart = bounds.gather(1, at) if self.sparse else self.measure(some, own, at)
        near, order = apart.sort(dim=1, stable=True)
        return near[:, :k].sqrt(), at.gather(1, order[:, :k]), near[:, k - 1] < least

    def bound(self, some: Any, own: Any) -> tuple[Any, Any]:
        """Lower bounds of the squared distances of dense rows to all, without what is returned beside them."""
        rows = (some.values.double() - self.middle).float()
        squares = (rows.double() ** 2).sum(dim=1)
        exact = torch.get_float32_matmul_precision() == "highest"
        less = 1 - (some.shape[1] + 8.0) * (2.0**-23 if exact else 2.0**-9) * torch.ones_like(squares)
        bounds = (rows @ self.near_zero.T).mul_(-2).addr_(less.float(), self.squares.float())
        return bounds if own is None else bounds.scatter_(1, own, torch.inf), squares * less

    def measure(self, some: Any, own: Any, at: Any) -> Any:
        """Squared distances of dense rows to some others each."""
        apart = torch.empty(at.shape, dtype=torch.float64, device=at.device)
        step = max(1, _VALUES // 4 // max(at.shape[1] * some.shape[1], 1))
        for part in torch.arange(len(at), device=at.device).split(step):
            gaps = self.others.values[at[part]].double() - some.values[part, None].double()
            apart[part] = (gaps**2).sum(dim=2)
        return apart if own is None else apart.masked_fill_(at == own, torch.inf)

    def measure_all(self, some: Any, own: Any) -> Any:
        """Squared distances of rows to all, in double precision."""
        if self.sparse:
            products = torch.sparse.mm(self.places, _as_dense(some).T.contiguous()).T
            apart = products.mul_(-2).add_(some.squares[:, None]).add_(self.squares).clamp_(min=0)
        else:
            apart = torch.stack([((self.others.values.double() - row) ** 2).sum(dim=1) for row in some.values.double()])
        return apart if own is None else apart.scatter_(1, own, torch.inf)

    def measured(self, some: Any, own: Any, k: int) -> tuple[Any, Any]:
        """Distances and positions of the nearest of all."""
        near, order = self.measure_all(some, own).sort(dim=1, stable=True)
        return near[:, :k].sqrt(), order[:, :k]


def _as_dense(some: Any) -> Any:
    """Return sparse rows as dense ones in double precision."""
    out = torch.zeros(some.shape, dtype=torch.float64, device=some.values.device)
    return out.index_put_((some.rows.long(), some.indices.long()), some.values.double(), accumulate=True)

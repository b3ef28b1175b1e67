"""The row steps of `simplex_quadratic.py` and `simplex.py` in torch, all rows at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

__all__ = ["quadratic_rows", "skl_rows"]

_FREE = 1e-12  # as in `simplex_quadratic.py`
_STEPS = 100
_ALONE = 1e-15  # as in `simplex.py`, like the next
_CLOSE = 6e-4


def quadratic_rows(counts: Any, old: Any, slope: Any, curvature: Any) -> Any:
    """Rows h of the simplex that maximize counts log h + slope h - curvature |h - old|^2 / 2, in float64.

    Newton's method on the multiplier of each row, held between bounds that close in: a step that leaves them halves
    them instead.
    """
    counts, old, curvature = counts.double(), old.double(), curvature.double()
    total = counts.sum(dim=1)
    free = curvature <= _FREE * total
    strength = torch.where(free, torch.ones_like(curvature), curvature)[:, None]
    p, g = counts / strength, old + slope.double() / strength
    # a constant changes no row: with 0 for the largest, digits of h are left however large the slope is
    g = g - g.max(dim=1, keepdim=True).values
    mass = p.sum(dim=1)
    low = (mass - 1 + g.min(dim=1).values).clamp_(min=-1) - 1e-12  # no share is above 1
    high = mass.clone()
    eta = 0.5 * (low + high)
    h = old
    for step in range(_STEPS):
        t = g - eta[:, None]
        root = (t * t + 4 * p).sqrt()
        h = torch.where(t > 0, (t + root) / 2, 2 * p / (root - t).clamp(min=torch.finfo(t.dtype).tiny))
        over = h.sum(dim=1) - 1
        if step % 4 == 3 and bool((over.abs() <= 1e-13).all()):  # asking waits for the device
            break
        low, high = torch.where(over > 0, eta, low), torch.where(over > 0, high, eta)
        fall = torch.where(root > 0, h / root.clamp(min=torch.finfo(t.dtype).tiny), torch.zeros_like(h)).sum(dim=1)
        new = eta + over * (over + 1).clamp(min=1e-3) / fall.clamp(min=torch.finfo(t.dtype).tiny)
        inside = (low < new) & (new < high)
        eta = torch.where(inside, new, 0.5 * (low + high))
    h = h / h.sum(dim=1, keepdim=True)
    plain = torch.where((total > 0)[:, None], counts / total.clamp(min=torch.finfo(total.dtype).tiny)[:, None], old)
    return torch.where(free[:, None], plain, h)


def skl_rows(counts: Any, table: Any, view: int, weights: np.ndarray, have: Any, floor: float) -> Any:
    """Mixtures of one view given those of the others, which stand side by side in the table; see `simplex.py`.

    Rows of an object that lacks the view are those that the others impute: their counts must be zero.
    """
    width = counts.shape[1]
    q = counts.double()
    total = q.sum(dim=1, keepdim=True)
    others = [v for v in range(len(weights)) if v != view]
    parts = {v: table[:, v * width : (v + 1) * width].double() for v in others}
    there = {v: have[:, v, None].double() for v in others}
    shares = {v: float(weights[v]) * there[v] for v in others if weights[v] > 0}
    strength = sum(shares.values(), torch.zeros_like(total))
    alone = (strength <= _ALONE * total) | (width == 1)
    scale = 1 / torch.where(alone, torch.ones_like(strength), strength)
    shares = {v: scale * part for v, part in shares.items()}
    # one without partners is not kept: any rows that are finite do
    mean = sum((part * parts[v] for v, part in shares.items()), torch.where(alone, 1.0 / width, torch.zeros_like(q)))
    h = _skl_shares(scale * q, mean, [(part, parts[v]) for v, part in shares.items()])
    if bool(alone.any()):
        found = sum(there.values(), torch.zeros_like(total))
        even = sum((there[v] * parts[v] for v in others), torch.zeros_like(q)) / found.clamp(min=1)
        old = table[:, view * width : (view + 1) * width].double()
        without = torch.where(found > 0, even, old)  # data
        h = torch.where(alone, torch.where(total > 0, q / torch.where(total > 0, total, 1.0), without), h)
    return _floored(h, floor, table.dtype)


def _skl_shares(p: Any, g: Any, partners: list[tuple[Any, Any]]) -> Any:
    """Rows u / omega(b + s) that sum to one, for symmetric KL: Halley's method on s, until the last row is there."""
    u = p + g
    if len(partners) == 1:
        b = torch.log1p(p / g)
    else:
        b = u.log()
        for share, part in partners:
            b = b - share * part.log()
    mass = u.sum(dim=1, keepdim=True)
    s = mass + mass.log() - (u * b).sum(dim=1, keepdim=True) / mass
    for _ in range(_STEPS):
        w = _omega(b + s)
        h, t = u / w, 1 / (1 + w)
        ht = h * t
        total = h.sum(dim=1, keepdim=True)
        value, slope = total.log(), ht.sum(dim=1, keepdim=True) / total
        curve = (ht * t * (2 - t)).sum(dim=1, keepdim=True) / total - slope * slope
        s = s + value * slope / (slope * slope - 0.5 * value * curve)
        if bool((value.abs() < _CLOSE).all()):  # the step just taken, of third order, leaves 1e-12
            break
    h = u / _omega(b + s)
    return h / h.sum(dim=1, keepdim=True)


def _omega(z: Any) -> Any:
    """Wright's omega, omega + log omega = z: a first guess, and two corrections of fourth order."""
    z = z.clamp(min=-700)
    x, high = z - 1, z.clamp(min=0.9)
    log = high.log()
    small = torch.where(z > -1.5, 1 + x * (0.5 + x * (1 / 16 - x / 192)), z.clamp(max=1).exp())
    w = torch.where(z > 0.9, high - log + log / high * (1 + 0.5 * (log - 2) / high), small)
    for _ in range(2):
        r = z - w - w.log()
        a = 1 + w
        c = a * (a + r * (2 / 3))
        w = w * (1 + r * (c - 0.5 * r) / (a * (c - r)))
    return w


def _floored(h: Any, floor: float, dtype: Any) -> Any:
    """Rows at least `floor` and with sum one; the largest entry pays for the floor."""
    h = h.clamp(min=floor)
    over = h.sum(dim=1, keepdim=True) - 1
    slack = 1e-6 if dtype == torch.float32 else 1e-13
    return h.scatter_add_(1, h.argmax(dim=1, keepdim=True), torch.where(over.abs() > slack, -over, 0.0)).to(dtype)

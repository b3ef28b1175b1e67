"""The row steps of `simplex.py` in torch, all rows at a time."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["omega_rows", "quadratic_rows"]

_STEPS = 100  # a few are enough


def quadratic_rows(counts: Any, old: Any, slope: Any, curvature: Any) -> Any:
    """Rows h of the simplex that maximize counts log h + slope h - curvature |h - old|^2 / 2, in float64.

    Newton's method on the multiplier of each row, held between bounds that close in: a step that leaves them halves
    them instead.
    """
    counts, old, curvature = counts.double(), old.double(), curvature.double()
    total = counts.sum(dim=1)
    free = curvature <= 1e-12 * total
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


def omega_rows(u: Any, b: Any) -> Any:
    """Rows u / omega(b + s) that sum to one: Halley's method on s, until the last row is there."""
    mass = u.sum(dim=1, keepdim=True)
    s = mass + mass.log() - (u * b).sum(dim=1, keepdim=True) / mass
    h = u
    for _ in range(_STEPS):
        w = _omega(b + s)
        h, t = u / w, 1 / (1 + w)
        total = h.sum(dim=1, keepdim=True)
        value, slope = total.log(), (h * t).sum(dim=1, keepdim=True) / total
        if bool((value.abs() < 1e-12).all()):
            break
        curve = (h * t * t * (2 - t)).sum(dim=1, keepdim=True) / total - slope * slope
        s = s + value * slope / (slope * slope - 0.5 * value * curve)
    return h / h.sum(dim=1, keepdim=True)


def _omega(z: Any) -> Any:
    """Wright's omega, omega + log omega = z: a first guess, and corrections of fourth order."""
    z = z.clamp(min=-700)
    w = torch.nn.functional.softplus(z)
    for _ in range(3):
        r = z - w - w.log()
        a = 1 + w
        c = a * (a + r * (2 / 3))
        w = w * (1 + r * (c - 0.5 * r) / (a * (c - r)))
    return w

"""Divergences of topic mixtures: each one value, slope and row step, in the registry `DIVERGENCES`.

The penalty of an object is  sum_(v<u) c_vu D(h_v, h_u)  over the pairs of views that it has, with the couplings c.
Going through all pairs would take time quadratic in the views at every step. For two of the divergences it is a product
with the Laplacian of the couplings,  (L x)_v = sum_u c_vu (x_v - x_u),  one matrix product for all views:

    skl   sum_v <h_v, L log h>_v        with the slope  L log h + (L h) / h
    l2    sum_v <h_v, L h>_v / 2        with the slope  L h

L1 has no such form, and is added up one view against all others.

A row step maximizes  sum_v q_v log h_v - sum_(v<u) c_vu D(h_v, h_u)  for counts q. Given the other views, of weights
lambda_u and Lambda in all, with p = q / Lambda, g the weighted mean of the others and g~ the geometric one:

    skl   h = u / omega(b + s)              (eq. 11)    u = p + g,  b = log(u / g~),  omega + log omega = argument
    l2    h = (t + sqrt(t^2 + 4 p)) / 2     (eq. 12)    t = g - eta

with the multiplier s or eta at which they sum to one (eq. 14). Equations are those of Wang, Chang, Ying and Lyu (2016);
omega(x) is their W_0(exp x), which does not overflow. The views of L1 (eq. 13) are solved jointly
(`kernels/simplex_l1.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from coview.engines.protocol import Engine

__all__ = ["DAMPING", "DIVERGENCES", "Divergence", "step_rows"]

DAMPING = 0.01  # share of its mass that L1's row step adds to a view where it is


@dataclass(frozen=True)
class Divergence:
    """A measure of how far the mixtures of an object are apart.

    Mixtures are views x objects x topics, `have` tells which objects have which view (objects x views), couplings are
    views x views, symmetric with a diagonal of zeros, and `xp` is the module of the arrays, NumPy or torch.

    Parameters
    ----------
    pair : callable
        ``pair(P, Q)`` is the divergence of each row of P and Q.
    total : callable
        ``total(mixtures, have, couplings, xp)`` is the penalty of each object.
    slope : callable or None
        ``slope(mixtures, have, couplings)`` is the derivative of the penalty by every entry; None where it has none.
    step : callable
        ``step(counts, mixtures, have, couplings, order, floor, ops)`` rewrites the mixtures of all views, and returns
        what was added to the counts of each object where its old mixtures are, as a share of their mass.
    one_coupling : bool, default=False
        Whether the step needs one coupling for all pairs of views.
    """

    pair: Callable[..., np.ndarray]
    total: Callable[..., Any]
    slope: Callable[..., np.ndarray] | None
    step: Callable[..., np.ndarray]
    one_coupling: bool = False


def step_rows(
    divergence: Divergence,
    counts: list[Any],
    table: Any,
    couplings: np.ndarray,
    have: Any,
    order: list[int],
    floor: float,
    ops: Engine,
) -> tuple[Any, np.ndarray]:
    """Take the row step of a table (objects x views * topics) given the counts of each view.

    Views are taken in that order, each given the others, or all at once (L1); one that an object lacks is imputed from
    those that it has. Second, what was added to the counts of each object.
    """
    xp, width = ops.xp, counts[0].shape[1]
    new, added = xp.empty_like(table), np.zeros(len(table))

    def work(i: int, j: int) -> None:
        here = have[i:j]
        q = xp.stack([xp.where(here[:, v : v + 1], part[i:j], 0.0) for v, part in enumerate(counts)])
        mixtures = xp.asarray(table[i:j], dtype=xp.float64).reshape(j - i, -1, width).swapaxes(0, 1)
        mixtures = xp.stack(list(mixtures))  # a copy, view by view
        added[i:j] = divergence.step(xp.asarray(q, dtype=xp.float64), mixtures, here, couplings, order, floor, ops)
        new[i:j] = xp.asarray(mixtures.swapaxes(0, 1).reshape(j - i, -1), dtype=table.dtype)

    ops.each_chunk(work, *table.shape)
    return new, added


def _step_views(
    solve: Callable[..., Any],
    q: Any,
    mixtures: Any,
    have: Any,
    couplings: np.ndarray,
    order: list[int],
    floor: float,
    ops: Engine,
) -> np.ndarray:
    """Solve one view after the other given all others, first those that objects have, then those that they lack."""
    xp = ops.xp
    for v, lacking in [(v, False) for v in order] + [(v, True) for v in order if not bool(have.all())]:
        weights = xp.asarray(have, dtype=xp.float64) * ops.asarray(couplings[v])
        strength, total = weights.sum(1)[:, None], q[v].sum(1)[:, None]
        alone = strength <= 1e-15 * total  # so small a weight beside the data changes no digit
        shares = weights / xp.where(alone, 1.0, strength)
        rows = solve(q[v], mixtures, shares, xp.where(alone, 1.0, strength), alone, ops)
        if bool(alone.any()):
            mean = _mean_of_others(mixtures, have, v, xp)
            rows = xp.where(alone, xp.where(total > 0, q[v] / xp.where(total > 0, total, 1.0), mean), rows)
        chosen = (have[:, v] != lacking)[:, None]
        mixtures[v] = xp.where(chosen, rows.clip(floor), mixtures[v])
    return np.zeros(len(have))


def _mean_of_others(mixtures: Any, have: Any, v: int, xp: Any) -> Any:
    """Mean of the other views that each object has; its own mixture where there are none."""
    others = xp.asarray(have, dtype=xp.float64)
    others[:, v] = 0.0
    number = others.sum(1)[:, None]
    mean = xp.einsum("iu,uik->ik", others, mixtures) / xp.where(number > 0, number, 1.0)
    return xp.where(number > 0, mean, mixtures[v])


# -- symmetric Kullback-Leibler divergence


def symmetric_kl(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Symmetric Kullback-Leibler divergence of each row of P and Q; all entries must be above 0.

    Examples
    --------
    >>> symmetric_kl(np.array([[0.5, 0.5]]), np.array([[0.25, 0.75]])).round(4)
    array([0.2747])
    """
    P, Q = (np.asarray(part, dtype=np.float64) for part in (P, Q))
    return np.einsum("ij,ij->i", P - Q, np.log(P / Q))


def _total_skl(mixtures: Any, have: Any, couplings: Any, xp: Any = np) -> Any:
    mixtures = xp.asarray(mixtures, dtype=xp.float64)
    return xp.einsum("vik,vik->i", mixtures - mixtures[:1], _laplacian(xp.log(mixtures), have, couplings, xp))


def _slope_skl(mixtures: np.ndarray, have: np.ndarray, couplings: np.ndarray) -> np.ndarray:
    return _laplacian(mixtures, have, couplings) / mixtures + _laplacian(np.log(mixtures), have, couplings)


def _solve_skl(q: Any, mixtures: Any, shares: Any, strength: Any, alone: Any, ops: Engine) -> Any:
    xp = ops.xp
    u = q / strength + xp.einsum("iu,uik->ik", shares, mixtures)
    u = xp.where(alone, 1.0, u)  # any rows do there
    b = xp.log(u) - xp.einsum("iu,uik->ik", shares, xp.log(mixtures))
    return ops.omega_shares(u, b)


# -- half the squared distance


def squared_difference(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Half the squared distance of each row of P and Q.

    Examples
    --------
    >>> squared_difference(np.array([[0.5, 0.5]]), np.array([[0.25, 0.75]]))
    array([0.0625])
    """
    gap = np.asarray(P, dtype=np.float64) - Q
    return 0.5 * np.einsum("ij,ij->i", gap, gap)


def _total_l2(mixtures: Any, have: Any, couplings: Any, xp: Any = np) -> Any:
    mixtures = xp.asarray(mixtures, dtype=xp.float64)
    return 0.5 * xp.einsum("vik,vik->i", mixtures, _laplacian(mixtures, have, couplings, xp))


def _solve_l2(q: Any, mixtures: Any, shares: Any, strength: Any, alone: Any, ops: Engine) -> Any:
    mean = ops.xp.einsum("iu,uik->ik", shares, mixtures)
    return ops.quadratic_shares(mean, q, ops.xp.zeros_like(q), strength[:, 0], 0.0)


# -- absolute differences


def absolute_difference(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Sum of absolute differences of each row of P and Q.

    Examples
    --------
    >>> absolute_difference(np.array([[0.5, 0.5]]), np.array([[0.25, 0.75]]))
    array([0.5])
    """
    return np.abs(np.asarray(P, dtype=np.float64) - Q).sum(1)


def _total_l1(mixtures: Any, have: Any, couplings: Any, xp: Any = np) -> Any:
    mixtures = xp.asarray(mixtures, dtype=xp.float64)
    total = xp.zeros_like(mixtures[0, :, 0])
    for v in range(1, len(mixtures)):
        both = have[:, :v] * have[:, v : v + 1] * couplings[v, :v]
        total = total + xp.einsum("iv,vi->i", both, xp.abs(mixtures[:v] - mixtures[v]).sum(2))
    return total


def _step_l1(
    q: Any, mixtures: Any, have: Any, couplings: np.ndarray, order: list[int], floor: float, ops: Engine
) -> np.ndarray:
    """Solve all views that an object has at once; those that it lacks get the mean of the others."""
    solved, added = ops.tied_shares(q, mixtures, have, float(couplings.max()), DAMPING)
    for v in range(len(mixtures)):
        rows = _mean_of_others(solved, have, v, ops.xp)
        mixtures[v] = ops.xp.where(have[:, v : v + 1], solved[v], rows).clip(floor)
    return added


def _laplacian(values: Any, have: Any, couplings: Any, xp: Any = np) -> Any:
    """Sum over the other views that an object has of coupling times difference; zero in the views that it lacks."""
    there = xp.asarray(have.T, dtype=values.dtype)[:, :, None]
    values = values - values[:1]  # which changes no difference, and leaves nothing but zeros of equal mixtures
    others = xp.tensordot(couplings, there * values, 1)
    return there * (xp.tensordot(couplings, there, 1) * values - others)


# A new divergence is entered here: parameter checks, objective, fold-in, engines and the tests go by this table.
DIVERGENCES = {
    "skl": Divergence(symmetric_kl, _total_skl, _slope_skl, partial(_step_views, _solve_skl)),
    "l2": Divergence(squared_difference, _total_l2, _laplacian, partial(_step_views, _solve_l2)),
    "l1": Divergence(absolute_difference, _total_l1, None, _step_l1, one_coupling=True),
}

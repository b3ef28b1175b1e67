"""Divergences of topic mixtures: of two, and of all views of an object at once.

The penalty of an object is  sum_(v<u) c_vu D(h_v, h_u)  over the pairs of views that it has, with the couplings c.
Going through all pairs would take time quadratic in the views at every step. For two of the divergences it is a product
with the Laplacian of the couplings,  (L x)_v = sum_u c_vu (x_v - x_u),  one matrix product for all views:

    skl   sum_v <h_v, L log h>_v        with the slope  L log h + (L h) / h
    l2    sum_v <h_v, L h>_v / 2        with the slope  L h

L1 has no such form, and is added up one view against all others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["DIVERGENCES", "divergence_slope", "total_divergence"]


def symmetric_kl(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Symmetric Kullback-Leibler divergence of each row of P and Q; all entries must be above 0.

    Examples
    --------
    >>> symmetric_kl(np.array([[0.5, 0.5]]), np.array([[0.25, 0.75]])).round(4)
    array([0.2747])
    """
    P, Q = (np.asarray(part, dtype=np.float64) for part in (P, Q))
    return np.einsum("ij,ij->i", P - Q, np.log(P / Q))


def squared_difference(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Half the squared distance of each row of P and Q.

    Examples
    --------
    >>> squared_difference(np.array([[0.5, 0.5]]), np.array([[0.25, 0.75]]))
    array([0.0625])
    """
    gap = np.asarray(P, dtype=np.float64) - Q
    return 0.5 * np.einsum("ij,ij->i", gap, gap)


def absolute_difference(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Sum of absolute differences of each row of P and Q.

    Examples
    --------
    >>> absolute_difference(np.array([[0.5, 0.5]]), np.array([[0.25, 0.75]]))
    array([0.5])
    """
    return np.abs(np.asarray(P, dtype=np.float64) - Q).sum(1)


DIVERGENCES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "skl": symmetric_kl,
    "l2": squared_difference,
    "l1": absolute_difference,
}


def total_divergence(divergence: str, mixtures: Any, have: Any, couplings: Any, xp: Any = np) -> Any:
    """Sum over pairs of views of how far apart each object's mixtures are, times the coupling of the pair.

    Parameters
    ----------
    divergence : {"skl", "l2", "l1"}
        The measure.
    mixtures : array (n_views, n_objects, n_topics)
        Topic mixtures by view.
    have : array of bool (n_objects, n_views)
        Which objects have which view; a pair counts for the objects that have both.
    couplings : array (n_views, n_views)
        Coupling of each pair of views, symmetric, with a diagonal of zeros.
    xp : module, default=numpy
        Whose arrays these are: `Engine.xp`.

    Returns
    -------
    array (n_objects,)
        The penalty of each object.

    Examples
    --------
    >>> mixtures = np.array([[[0.5, 0.5]], [[0.25, 0.75]], [[0.5, 0.5]]])
    >>> total_divergence("l1", mixtures, np.ones((1, 3), dtype=bool), 1.0 - np.eye(3))
    array([1.])
    """
    mixtures = xp.asarray(mixtures, dtype=xp.float64)
    if divergence == "l2":
        return 0.5 * xp.einsum("vik,vik->i", mixtures, _laplacian(mixtures, have, couplings, xp))
    if divergence == "skl":
        return xp.einsum("vik,vik->i", mixtures - mixtures[:1], _laplacian(xp.log(mixtures), have, couplings, xp))
    total = xp.zeros_like(mixtures[0, :, 0])
    for v in range(1, len(mixtures)):
        both = have[:, :v] * have[:, v : v + 1] * couplings[v, :v]
        total = total + xp.einsum("iv,vi->i", both, xp.abs(mixtures[:v] - mixtures[v]).sum(2))
    return total


def divergence_slope(divergence: str, mixtures: np.ndarray, have: np.ndarray, couplings: np.ndarray) -> np.ndarray:
    """Derivative of `total_divergence` by every entry (n_views, n_objects, n_topics), of skl and l2.

    Examples
    --------
    >>> mixtures = np.array([[[0.5, 0.5]], [[0.25, 0.75]]])
    >>> divergence_slope("l2", mixtures, np.ones((1, 2), dtype=bool), 1.0 - np.eye(2)).tolist()
    [[[0.25, -0.25]], [[-0.25, 0.25]]]
    """
    slope = _laplacian(mixtures, have, couplings)
    return slope if divergence == "l2" else slope / mixtures + _laplacian(np.log(mixtures), have, couplings)


def _laplacian(values: Any, have: Any, couplings: Any, xp: Any = np) -> Any:
    """Sum over the other views that an object has of coupling times difference; zero in the views that it lacks."""
    there = xp.asarray(have.T, dtype=values.dtype)[:, :, None]
    values = values - values[:1]  # which changes no difference, and leaves nothing but zeros of equal mixtures
    others = xp.tensordot(couplings, there * values, 1)
    return there * (xp.tensordot(couplings, there, 1) * values - others)

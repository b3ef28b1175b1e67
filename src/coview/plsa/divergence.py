"""How far apart two topic mixtures of an object are: what co-regularized PLSA holds against its likelihood.

    skl   sum_k (p_k - q_k) log(p_k / q_k)      symmetric Kullback-Leibler divergence, KL(p, q) + KL(q, p)
    l2    sum_k (p_k - q_k)^2 / 2
    l1    sum_k |p_k - q_k|

All are convex in the pair (p, q), and zero where the two are equal.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np

__all__ = [
    "DIVERGENCES",
    "absolute_difference",
    "pair_couplings",
    "squared_difference",
    "symmetric_kl",
    "total_divergence",
]


def symmetric_kl(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Symmetric Kullback-Leibler divergence of each row of P and Q; all entries must be above 0.

    Examples
    --------
    >>> symmetric_kl(np.array([[0.5, 0.5]]), np.array([[0.25, 0.75]])).round(4)
    array([0.2747])
    """
    P, Q = P.astype(np.float64, copy=False), Q.astype(np.float64, copy=False)
    return np.einsum("ij,ij->i", P - Q, np.log(P / Q))


def squared_difference(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Half the squared distance of each row of P and Q.

    Examples
    --------
    >>> squared_difference(np.array([[0.5, 0.5]]), np.array([[0.25, 0.75]]))
    array([0.0625])
    """
    gap = P.astype(np.float64, copy=False) - Q
    return 0.5 * np.einsum("ij,ij->i", gap, gap)


def absolute_difference(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Sum of absolute differences of each row of P and Q.

    Examples
    --------
    >>> absolute_difference(np.array([[0.5, 0.5]]), np.array([[0.25, 0.75]]))
    array([0.5])
    """
    return np.abs(P.astype(np.float64, copy=False) - Q).sum(axis=1)


DIVERGENCES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "skl": symmetric_kl,
    "l2": squared_difference,
    "l1": absolute_difference,
}


def total_divergence(
    divergence: str,
    mixtures: Mapping[str, np.ndarray],
    have: Mapping[str, np.ndarray],
    couplings: Mapping[tuple[str, str], float],
) -> np.ndarray:
    """Sum over pairs of views of how far apart each object's mixtures are, times the coupling of the pair.

    Parameters
    ----------
    divergence : {"skl", "l2", "l1"}
        The measure.
    mixtures : {view: ndarray (n_objects, n_topics)}
        Topic mixtures by view.
    have : {view: ndarray of bool (n_objects,)}
        Which objects have the view; a pair counts for the objects that have both.
    couplings : {(view, view): float}
        Coupling of each pair of views.

    Returns
    -------
    ndarray (n_objects,)
        The penalty of each object.

    Examples
    --------
    >>> P, Q = np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> have = {"words": np.array([True, True]), "image": np.array([True, False])}
    >>> total_divergence("l1", {"words": P, "image": Q}, have, {("words", "image"): 3.0})
    array([6., 0.])
    """
    measure = DIVERGENCES[divergence]
    total = np.zeros(len(next(iter(mixtures.values()))))
    for (a, b), coupling in couplings.items():
        if coupling == 0 or a not in mixtures or b not in mixtures:
            continue
        both = have[a] & have[b]
        if both.all():
            total += coupling * measure(mixtures[a], mixtures[b])
        elif both.any():
            total[both] += coupling * measure(mixtures[a][both], mixtures[b][both])
    return total


def pair_couplings(coupling: Any, names: list[str]) -> dict[tuple[str, str], float]:
    """Coupling of each pair of views, pairs in alphabetical order, from one number or ``{(view, view): number}``.

    Examples
    --------
    >>> pair_couplings({("words", "image"): 2}, ["words", "image", "links"])
    {('image', 'links'): 1.0, ('image', 'words'): 2.0, ('links', 'words'): 1.0}
    """
    pairs = list(combinations(sorted(names), 2))
    if not isinstance(coupling, Mapping):
        return dict.fromkeys(pairs, _checked_coupling(coupling, "coupling"))
    found = dict.fromkeys(pairs, 1.0)
    named: set[tuple[str, ...]] = set()
    for key, value in coupling.items():
        pair = tuple(sorted(key)) if isinstance(key, tuple) else ()
        if pair not in found:
            listed = ", ".join(map(repr, names))
            raise ValueError(f"coupling has the key {key!r}, which is no pair of the views {listed}.")
        if pair in named:
            raise ValueError(f"coupling names the pair {key!r} twice.")
        named.add(pair)
        found[pair] = _checked_coupling(value, f"coupling of {key!r}")
    return found


def _checked_coupling(value: Any, name: str) -> float:
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not 0 <= value < np.inf:
        raise ValueError(f"{name} must be a number of at least 0, got {value!r}.")
    return float(value)

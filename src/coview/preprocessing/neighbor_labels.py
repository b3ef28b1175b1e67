"""Known labels of the neighbors as one more view: spread over the links, each object's own label left out.

With Y one row per object (1 at its label, all 0 where it has none) and S the step over the links, `hops` steps
H <- (1 - restart) S H + restart Y make P Y, P a polynomial in S. Row i of the view is that without what object i gave:

    Z_i = sum_{j != i} (P_ij + prior / n) Y_j = (P Y)_i - P_ii Y_i + prior / n (sum_j Y_j - Y_i)
    P_ii = sum_k w_k (S^k)_ii,      (S^(a+b))_ii = <row i of S^a, column i of S^b>

so labeled objects look like unlabeled ones, which have nothing to leave out. The `prior` is a weak link to everybody:
where few labels come over the links, the shares of the classes count. Walks of half the hops from the labeled
objects are enough to know P_ii; nothing of objects x objects is built.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from coview.exceptions import ViewsError
from coview.preprocessing.link_graph import LinkGraph, scale_rows
from coview.utils.messages import short
from coview.utils.missing import is_gap

__all__ = ["join_labels", "known_labels", "own_shares", "spread_labels"]

_WALKED = 4_000_000  # places that the walks held at a time may have come to
_ROUNDING = 1e-9  # what is left of a share that was taken away whole


def known_labels(y: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes of the labels, -1 for -1, None, NaN and NA, and the sorted classes.

    Examples
    --------
    >>> codes, classes = known_labels(["dog", None, "cat", "dog"], 4)
    >>> codes.tolist(), classes.tolist()
    ([1, -1, 0, 1], ['cat', 'dog'])
    """
    labels = y.tolist() if hasattr(y, "tolist") else list(y)
    if len(labels) != n_rows:
        raise ViewsError(f"y must hold one label per object: {len(labels)} labels for {n_rows} objects.")
    known = np.array([not _no_label(label) for label in labels], dtype=bool)
    given = [label for label, there in zip(labels, known) if there]
    if not given:
        raise ViewsError(
            f"y has no label to spread: all {n_rows} objects are unlabeled (-1, None or NaN). Label some, or leave "
            "labels=False."
        )
    kinds = {"text" if isinstance(label, str) else isinstance(label, Real) for label in given}
    if len(kinds) > 1 or False in kinds:
        strange = next((label for label in given if not isinstance(label, (str, Real))), given[0])
        raise ViewsError(
            f"y must hold one label per object, all texts or all numbers, to be spread over links; got "
            f"{short(strange)}. Give such labels, or leave labels=False."
        )
    check_classification_targets(np.array(given))
    classes = np.unique(np.array(given))
    codes = np.full(n_rows, -1)
    codes[known] = np.searchsorted(classes, np.array(given))
    return codes, classes


def spread_labels(
    graph: LinkGraph, codes: np.ndarray, n_classes: int, hops: int, restart: float, prior: float, normalize: str
) -> tuple[list[np.ndarray], sparse.csr_array]:
    """Labels after 0, 1, ... hops, own ones included, for new objects; and after all hops without the own ones.

    Examples
    --------
    >>> links = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> graph = LinkGraph.of(links, None, "symmetric")
    >>> layers, near = spread_labels(graph, np.array([0, 1]), 2, 1, 0.0, 0.0, "symmetric")
    >>> near.toarray().round(2).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    rows = np.flatnonzero(codes >= 0)
    first = np.zeros((len(codes), n_classes))
    first[rows, codes[rows]] = 1.0
    layers = [first]
    for _ in range(hops):
        layers.append((1 - restart) * graph.step(layers[-1], None, None, normalize) + restart * first)
    near = layers.pop()
    whole = near[rows, codes[rows]]
    rest = whole - own_shares(graph, rows, hops, restart, normalize)
    near[rows, codes[rows]] = np.where(rest > _ROUNDING * whole, rest, 0.0)
    near += prior / len(codes) * (first.sum(axis=0) - first)
    return layers, sparse.csr_array(near)


def own_shares(graph: LinkGraph, rows: np.ndarray, hops: int, restart: float, normalize: str) -> np.ndarray:
    """P_ii of some objects: how much of what an object starts with comes back to it."""
    step = scale_rows(graph.within + sparse.eye_array(len(graph.scale), format="csr"), graph.scale)
    if normalize == "symmetric":
        step = sparse.csr_array(step @ sparse.diags_array(graph.scale))
    back = sparse.csr_array(step.T)
    weights = [restart * (1 - restart) ** k for k in range(hops)] + [(1 - restart) ** hops]
    found = np.full(len(rows), float(weights[0]))
    block = max(1, _WALKED // step.shape[0])
    for start in range(0, len(rows), block):
        some = rows[start : start + block]
        ones = (np.ones(len(some)), (np.arange(len(some)), some))
        out = home = sparse.csr_array(ones, shape=(len(some), step.shape[0]))
        for k in range(1, hops + 1):
            out, home = (sparse.csr_array(out @ step), home) if k % 2 else (out, sparse.csr_array(home @ back))
            if weights[k]:
                found[start : start + block] += weights[k] * out.multiply(home).sum(axis=1)
    return found


def join_labels(
    graph: LinkGraph,
    fitted: np.ndarray,
    layers: list[np.ndarray],
    near: sparse.csr_array,
    scale: np.ndarray,
    restart: float,
    prior: float,
    normalize: str,
) -> sparse.csr_array:
    """Labels near given objects: of fitted ones (their row in `fitted`, -1 for new) as in the fit; new ones join them.

    Labels travel over the links of the fit only, so that no label comes home by way of a new object.
    """
    old = np.flatnonzero(fitted >= 0)
    known = fitted[old]
    factors = graph.scale.copy()
    factors[old] = scale[known]
    joined = LinkGraph(graph.within, graph.outside, factors)
    found = np.zeros((len(fitted), near.shape[1]))
    for layer in layers:
        found[old] = layer[known]
        found = (1 - restart) * joined.step(found, layer, scale, normalize)  # new objects have no label to restart with
    found += prior * layers[0].mean(axis=0)
    found[old] = near[known].toarray()
    return sparse.csr_array(found)


def _no_label(label: Any) -> bool:
    return is_gap(label) or (isinstance(label, Real) and not isinstance(label, bool) and label == -1)

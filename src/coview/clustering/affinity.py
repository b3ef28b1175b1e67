"""Who is near whom: sparse graphs of nearest neighbors, one per view, and the eigenvectors that cut them.

An edge joins two objects if one is among the k nearest of the other, with the weight exp(-d^2 / (s_i s_j)), s_i the
distance of i to its k-th neighbor (Zelnik-Manor and Perona 2004), halved where only one of the two names the other.
Where s_i s_j is 0, in a pile of equal rows, equal rows have weight 1 and others none. Of cosines, rows that have
nothing in common have no edge, whatever their rank: all such rows are equally far.
The graph enters as

    S = D^-1/2 (A + t/n 11') D^-1/2,     D = diag(row sums + t)

with t a share of the mean degree: a little of everything, without which a few outliers by themselves are the best cut
(Amini et al. 2013). S is an operator of a sparse matrix and a rank one; it is formed as one dense matrix only where
that is small: of at most 400 objects, or 3 times the number of eigenvectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from coview.decomposition.cca import column_signs
from coview.engines.loop import select_engine
from coview.engines.neighbors import find_neighbors
from coview.engines.protocol import Engine
from coview.preprocessing.scaling import SCALINGS, column_scales, scaled, scaling_by_default
from coview.views.arrays import filled_rows, for_sklearn, looks_counted, mostly_zeros, take_rows, unit_rows

__all__ = [
    "METRICS",
    "Graph",
    "Scaling",
    "drawn_vectors",
    "edges_to",
    "leading_vectors",
    "metric_by_default",
    "neighbor_graph",
    "neighbor_graphs",
    "neighbors_by_default",
    "row_squares",
    "unit_length",
]

METRICS = ("auto", "cosine", *SCALINGS)
FEW = 10  # neighbors in a view of measurements: short distances say much
SOME, MANY = 40, 90  # fewest and most neighbors by cosines; fewer make islands of near copies
_NEAR = 1e-6  # share of a distance, or of a square, below which there is none but for rounding


@dataclass(frozen=True)
class Scaling:
    """How the rows of one view are made comparable; a new row is treated as those before."""

    metric: str  # "cosine": rows of length 1; else one of `SCALINGS`, of columns
    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def learned(cls, matrix: Any, metric: str = "auto", n_present: int | None = None) -> Scaling:
        """Choose and learn a scaling.

        "auto" takes the metric of `metric_by_default`, by the `n_present` rows (all) that have the view.
        """
        if metric == "auto":
            metric = metric_by_default(matrix, n_present)
        if metric == "cosine":
            return cls(metric, np.zeros(0), np.zeros(0))
        return cls(metric, *column_scales(matrix.toarray() if sparse.issparse(matrix) else matrix, metric))

    def rows(self, matrix: Any, present: np.ndarray | None = None) -> Any:
        """Return rows among which Euclidean distances mean what they should; absent ones are in the middle, at zero."""
        if self.metric == "cosine":
            return unit_rows(matrix)
        return scaled(matrix.toarray() if sparse.issparse(matrix) else matrix, self.mean, self.deviation, present)

    def known(self, rows: Any, present: np.ndarray) -> np.ndarray:
        """Tell which rows say anything: those that are there, and for cosines not empty."""
        if self.metric != "cosine":
            return present
        return present & filled_rows(rows)


@dataclass(frozen=True)
class Graph:
    """A symmetric sparse graph ready to be cut; an object without edges has no say."""

    weights: Any  # CSR, symmetric, D^-1/2 A D^-1/2
    lift: np.ndarray  # sqrt(t/n) D^-1/2 1: the rank one that holds islands together

    @classmethod
    def of(cls, weights: Any, lift: float = 0.1) -> Graph:
        """Scale a symmetric affinity by its degrees; `lift` is t as a share of the mean degree."""
        degree = np.asarray(weights.sum(axis=1)).ravel()
        known = degree > 0
        t = lift * degree[known].mean() if known.any() else 0.0
        root = np.where(known, 1.0 / np.sqrt(np.where(known, degree + t, 1.0)), 0.0)
        scale = sparse.dia_array((root[None, :], [0]), shape=weights.shape)
        return cls((scale @ weights @ scale).tocsr(), np.sqrt(t / max(known.sum(), 1)) * root)

    def __matmul__(self, block: np.ndarray) -> np.ndarray:
        return self.weights @ block + np.multiply.outer(self.lift, self.lift @ block)


def metric_by_default(matrix: Any, n_present: int | None = None) -> str:
    """Choose cosines for counts and other matrices stored as sparse, a scaling of columns for measurements.

    A matrix of which more than half is filled holds measurements, however it is stored; of `n_present` rows (all) that
    have the view, where the others are zeros. `scaling_by_default` chooses how their columns are scaled.

    Examples
    --------
    >>> import numpy as np
    >>> metric_by_default(np.eye(3)), metric_by_default(-np.eye(3)), metric_by_default(sparse.csr_array(-np.eye(3)))
    ('cosine', 'standard', 'cosine')
    """
    thin = sparse.issparse(matrix) and mostly_zeros(matrix, n_present)
    return "cosine" if thin or looks_counted(matrix, n_present) else scaling_by_default(matrix)


def neighbors_by_default(cosine: bool, n_objects: int, n_clusters: int) -> int:
    """Neighbors where their number is not given: 10 of measurements; by cosines half of the mean size of a cluster.

    Short distances between measurements say much. Two texts on one matter share few words by chance, and with few
    neighbors their graph falls into islands of near copies; hence 40 to 90 of them, but no more than a fourth of all.
    """
    if not cosine:
        return FEW
    return max(min(int(np.clip(n_objects // (2 * n_clusters), SOME, MANY)), n_objects // 4), FEW)


def neighbor_graph(
    rows: Any, known: np.ndarray, n_neighbors: int, *, cosine: bool = False, ops: Engine | None = None
) -> Any:
    """Affinity (objects x objects, CSR, symmetric) of each object and its nearest; rows not known have no edges.

    Parameters
    ----------
    rows : matrix
        As `Scaling.rows` gives them.
    known : ndarray of bool
        Which rows say anything, see `Scaling.known`.
    n_neighbors : int
        Neighbors of each object; fewer where there are fewer objects.
    cosine : bool, default=False
        Rows at right angles have nothing in common, and no edge.
    ops : Engine or None, default=None
        Who looks for the neighbors; None is the processor.
    """
    return neighbor_graphs(rows, known, [n_neighbors], cosine=cosine, ops=ops)[0]


def neighbor_graphs(
    rows: Any, known: np.ndarray, counts: Sequence[int], *, cosine: bool = False, ops: Engine | None = None
) -> list[Any]:
    """As `neighbor_graph`, one graph for each number of neighbors; the neighbors are looked for once."""
    n = rows.shape[0]
    have = np.flatnonzero(known)
    most = min(max(counts), len(have) - 1)
    if most < 1:
        return [sparse.csr_array((n, n)) for _ in counts]
    some = rows if len(have) == n else for_sklearn(take_rows(rows, have))
    distances, positions = find_neighbors(some, most, ops=ops)
    return [_affinity(distances[:, :k], have, have[positions[:, :k]], n, cosine) for k in counts]


def edges_to(
    rows: Any,
    known: np.ndarray,
    among: Any,
    counts: Sequence[int],
    *,
    cosine: bool = False,
    ops: Engine | None = None,
) -> Any:
    """Weights (new rows x fitted rows, CSR) by which new rows lean on fitted ones, in the mean of the `counts`.

    Those of a row sum to one, or there are none. A row that equals a fitted one leans on that one alone, so that fitted
    objects stay where they are.
    """
    have, shape = np.flatnonzero(known), (rows.shape[0], among.shape[0])
    most = min(max(counts), among.shape[0])
    if not have.size or not most:  # it is 0 where no fitted object has the view
        return sparse.csr_array(shape)
    distances, positions = find_neighbors(for_sklearn(take_rows(rows, have)), most, among, ops=ops)
    weights = np.zeros_like(distances)
    for k in counts:
        weights[:, :k] += _leaning(distances[:, :k], cosine) / len(counts)
    ends = np.zeros(len(known) + 1, dtype=np.int64)
    ends[1:] = most * np.cumsum(known)
    return sparse.csr_array((weights.ravel(), positions.ravel(), ends), shape=shape)


def _affinity(distances: np.ndarray, of: np.ndarray, near: np.ndarray, n: int, cosine: bool) -> Any:
    """Affinity of objects from the distances of each to its nearest, rising."""
    reach = distances[:, -1]
    places = np.full(n, -1)
    places[of] = np.arange(len(of))
    product = reach[:, None] * reach[places[near]]
    gaps = np.divide(distances**2, product, out=np.where(distances > 0, np.inf, 0.0), where=product > 0)
    weights = np.exp(-gaps)
    if cosine:
        weights[_apart(distances)] = 0.0
    weights[weights.max(axis=1) < 1e-6] = 1e-6  # nothing is near: without an edge an object would have no say
    ends = np.zeros(n + 1, dtype=np.int64)
    ends[1:] = near.shape[1] * np.cumsum(places >= 0)
    other_way = sparse.csr_array((weights.ravel(), near.ravel(), ends), shape=(n, n)).T.tocsr()
    return (other_way.T.tocsr() + other_way) * 0.5  # both with sorted indices, which are quicker to add up


def _leaning(distances: np.ndarray, cosine: bool) -> np.ndarray:
    """Weights of the fitted rows that are near new ones, from the distances."""
    reach = np.maximum(distances[:, -1:], 1e-12)
    same = distances <= _NEAR * np.maximum(reach, 1.0)
    weights = np.where(same.any(axis=1, keepdims=True), same, np.exp(-((distances / reach) ** 2)))
    if cosine:
        weights[_apart(distances)] = 0.0
    sums = weights.sum(axis=1, keepdims=True)
    return weights / np.where(sums > 0, sums, 1.0)  # a row that shares nothing with any leans on none


def leading_vectors(graph: Graph, count: int, seed: int, ops: Engine | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Largest eigenvalues of a graph, falling, and their eigenvectors (objects x count)."""
    n = graph.lift.size
    count = min(count, n)
    known = np.diff(graph.weights.indptr) > 0
    if not known.any():
        return np.zeros(count), np.zeros((n, count))
    values, vectors = (ops or select_engine("cpu")).leading_vectors(graph.weights, graph.lift, count, seed)
    order = np.argsort(-values, kind="stable")
    vectors = np.where(known[:, None], vectors[:, order], 0.0)  # rows without edges would hold rounding errors
    return values[order], vectors * column_signs(vectors)


def drawn_vectors(
    graph: Graph, vectors: np.ndarray, pulls: list[tuple[float, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray]:
    """Leading eigenvectors of M = graph + sum_w weight_w U_w U_w', from those that are near.

    The best of what U, M U, ..., M^d U span (block Krylov, Rayleigh-Ritz): never worse than U itself.
    """

    def apply(block: np.ndarray) -> np.ndarray:
        product = graph @ block
        for weight, other in pulls:
            product += weight * (other @ (other.T @ block))
        return product

    blocks = [vectors]
    for _ in range(4):
        blocks.append(np.linalg.qr(apply(blocks[-1]))[0])
    basis = np.linalg.qr(np.hstack(blocks))[0]
    small = basis.T @ apply(basis)
    values, turn = np.linalg.eigh((small + small.T) / 2)
    order = np.argsort(-values, kind="stable")[: vectors.shape[1]]
    vectors = basis @ turn[:, order]
    return values[order], vectors * column_signs(vectors)


def unit_length(rows: np.ndarray) -> np.ndarray:
    """Rows of length 1; those of none stay."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 1e-12, length, 1.0)


def row_squares(rows: Any) -> np.ndarray:
    """Squared length of each row."""
    return np.asarray((rows.multiply(rows) if sparse.issparse(rows) else rows * rows).sum(axis=1)).ravel()


def _apart(distances: np.ndarray) -> np.ndarray:
    """Which neighbors of rows of length 1 stand at right angles to them, or farther."""
    return distances**2 >= 2 * (1 - _NEAR)

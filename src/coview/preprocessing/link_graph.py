"""Links among objects as a graph over which features are smoothed: one hop, sparse, with objects outside.

For objects within and neighbors outside, with D = 1 + all links of a row:

    H <- D^-1/2 (D^-1/2 H + A D^-1/2 H + A_out D_out^-1/2 H_out)      or with the mean over a row, D^-1 (H + A H + ...)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError

__all__ = ["LinkGraph", "as_floats", "as_links", "find_rows", "pick_columns", "prune", "scale_rows"]


class LinkGraph:
    """Links of some objects within themselves and to others outside, with the factor of each as a neighbor.

    Examples
    --------
    >>> graph = LinkGraph.of(sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])), None, "rows")
    >>> graph.step(np.array([[4.0], [0.0]]), None, None, "rows").tolist()
    [[2.0], [2.0]]
    """

    def __init__(self, within: sparse.csr_array, outside: sparse.csr_array | None, scale: np.ndarray) -> None:
        self.within, self.outside, self.scale = within, outside, scale

    @classmethod
    def of(cls, within: sparse.csr_array, outside: sparse.csr_array | None, normalize: str) -> LinkGraph:
        """Make one with the factors that the degrees give; `normalize` as in `NeighborViews`."""
        degree = 1.0 + within.sum(axis=1)
        if outside is not None:
            degree = degree + outside.sum(axis=1)
        return cls(within, outside, degree**-0.5 if normalize == "symmetric" else degree**-1.0)

    def step(self, array: Any, others: Any, others_scale: Any, normalize: str) -> Any:
        """One hop: own features and those of the neighbors."""
        both = normalize == "symmetric"
        mine = scale_rows(array, self.scale) if both else array
        total = mine + self.within.astype(array.dtype) @ mine
        if others is not None and self.outside is not None and self.outside.nnz:
            theirs = scale_rows(others, others_scale) if both else others
            total = total + self.outside.astype(array.dtype) @ theirs
        return scale_rows(total, self.scale)

    def spread(self, present: np.ndarray, others: np.ndarray | None) -> np.ndarray:
        """Which objects have features after one hop."""
        found = present | (self.within @ present.astype(np.float64) > 0)
        if others is not None and self.outside is not None:
            found |= self.outside @ others.astype(np.float64) > 0
        return found


def as_links(name: str, matrix: Any) -> sparse.csr_array:
    """View of links as a sparse matrix of numbers that are 0 or more."""
    links = sparse.csr_array(matrix, dtype=np.float64)
    if links.nnz and links.data.min() < 0:
        raise ViewsError(f"View {name!r} has negative links (minimum {links.data.min():.3g}). Links must be 0 or more.")
    return links


def pick_columns(links: sparse.csr_array, positions: np.ndarray, width: int | None = None) -> sparse.csr_array:
    """Columns of the links moved to the positions that they stand for; those of -1 are left out."""
    width = links.shape[0] if width is None else width
    known = np.flatnonzero(positions >= 0)
    move = sparse.csr_array((np.ones(len(known)), (known, positions[known])), shape=(links.shape[1], width))
    found = sparse.csr_array(links @ move)
    found.sort_indices()
    return found


def find_rows(names: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Row of the object that each name stands for, -1 for none."""
    row = {str(key): i for i, key in enumerate(ids.tolist())}  # feature names are text, ids need not be
    return np.array([row.get(name, -1) for name in names.tolist()], dtype=np.intp)


def scale_rows(array: Any, scale: np.ndarray) -> Any:
    """Rows times their factors, sparse or dense as given."""
    factors = scale.astype(array.dtype)
    if sparse.issparse(array):
        return sparse.csr_array(sparse.diags_array(factors) @ array)
    return array * factors[:, None]


def prune(matrix: Any, tol: float) -> sparse.csr_array:
    """Matrix without the values that are smaller than tol times the largest of their row."""
    rows = sparse.csr_array(matrix)
    if not rows.nnz:
        return rows
    sizes = np.diff(rows.indptr)
    filled = np.flatnonzero(sizes)
    largest = np.maximum.reduceat(np.abs(rows.data), rows.indptr[filled])
    kept = np.abs(rows.data) >= tol * np.repeat(largest, sizes[filled])
    ends = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    return sparse.csr_array((rows.data[kept], rows.indices[kept], ends), shape=rows.shape)


def as_floats(array: Any) -> Any:
    """Features as numbers that can be averaged: float32 and float64 stay."""
    floats = array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    return sparse.csr_array(floats) if sparse.issparse(floats) else floats

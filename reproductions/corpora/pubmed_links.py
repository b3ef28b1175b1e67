"""The direction of Pubmed's links, for a copy of the data that has lost it.

The words are at hand beside links without direction, under ids that are row numbers; LINQS' own links have a direction
and PubMed's ids. Both are the same graph, so their nodes can be matched: colors are refined until nodes of one color
have neighbors of the same colors, and what is then still alike is told apart, the same way in both graphs. Of 19,717
papers 10,893 are determined; the others are interchangeable, most of them papers with one and the same neighbor, and
which of these has which direction is arbitrary.
"""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np
from scipy import sparse

from corpora.files import data_home
from coview.exceptions import DataFileError

__all__ = ["directed", "read_arcs"]

_FILE = "pubmed_diabetes/original/Pubmed-Diabetes.DIRECTED.cites.tab.gz"
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)


def read_arcs() -> Any:
    """Links as LINQS gives them: citing papers x cited papers."""
    path = data_home() / _FILE
    if not path.is_file():
        raise DataFileError(f"{_FILE} is not in the folder of the data.")
    codes: dict[str, int] = {}
    ends = []
    with gzip.open(path, "rt", encoding="latin-1") as lines:
        for line in lines:
            parts = line.split("\t")
            if len(parts) == 4 and parts[2] == "|":
                ends.append([codes.setdefault(part.strip(), len(codes)) for part in (parts[1], parts[3])])
    citing, cited = np.array(ends).T
    matrix = sparse.csr_array((np.ones(len(ends)), (citing, cited)), shape=(len(codes),) * 2)
    return _zero_one(matrix)


def directed(links: Any, arcs: Any) -> Any:
    """Arcs with their nodes in the order of `links`, the same graph without direction; refused where it is not.

    >>> path = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> arcs = sparse.csr_array(np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]]))  # both ends cite the middle
    >>> directed(path, arcs).toarray().astype(int).tolist()
    [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    """
    graphs = [_zero_one(links), _zero_one(arcs.maximum(arcs.T))]
    colors = _refine(graphs, [(graph.sum(axis=1) * 2 + graph.diagonal()).astype(np.uint64) for graph in graphs])
    colors = _refine(graphs, [_mix(own + _twins(graph)) for graph, own in zip(graphs, colors)])
    while True:
        kinds, place, counts = np.unique(colors[0], return_inverse=True, return_counts=True)
        alike = np.flatnonzero(counts[place] > 1)
        if not len(alike) or not np.isin(kinds, colors[1]).all():
            break
        color = colors[0][alike[0]]
        for own in colors:  # one node of the color, in both graphs
            own[np.flatnonzero(own == color)[0]] += np.uint64(1)
        colors = _refine(graphs, colors)
    order = [np.argsort(own) for own in colors]
    mine = np.empty(len(order[0]), dtype=np.int64)
    mine[order[0]] = order[1]
    found = arcs.tocsr()[mine][:, mine]
    if (_zero_one(found.maximum(found.T)) != graphs[0]).nnz:
        raise DataFileError("The links with and those without direction are not the same graph.")
    return found


def _zero_one(matrix: Any) -> Any:
    ones = sparse.csr_array(matrix != 0).astype(np.float64)
    ones.sort_indices()
    return ones


def _mix(values: np.ndarray) -> np.ndarray:
    values = values * _FACTORS[0]
    values ^= values >> np.uint64(29)
    values = values * _FACTORS[1]
    return values ^ (values >> np.uint64(32))


def _refine(graphs: list[Any], colors: list[np.ndarray]) -> list[np.ndarray]:
    """Colors by those of the neighbors, as many times as it tells more nodes apart."""
    known = 0
    while len(np.unique(colors[0])) > known:
        known = len(np.unique(colors[0]))
        mixed = [_mix(own) for own in colors]
        colors = [_mix(own * np.uint64(3) + _sums(graph, own) * _FACTORS[2]) for graph, own in zip(graphs, mixed)]
    return colors


def _sums(graph: Any, values: np.ndarray) -> np.ndarray:
    """Sum of the values of each node's neighbors, of whole numbers that may run over."""
    totals = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(values[graph.indices], dtype=np.uint64)])
    return totals[graph.indptr[1:]] - totals[graph.indptr[:-1]]


def _twins(graph: Any) -> np.ndarray:
    """Number of each node among those with the same neighbors."""
    numbers, seen = np.zeros(graph.shape[0], dtype=np.uint64), {}
    for node, (begin, end) in enumerate(zip(graph.indptr[:-1], graph.indptr[1:])):
        key = graph.indices[begin:end].tobytes()
        numbers[node] = seen[key] = seen.get(key, -1) + 1
    return numbers

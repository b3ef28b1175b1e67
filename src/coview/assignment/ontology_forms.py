"""What an ontology can be made of, as labels and pairs: nested trees, paths, graphs; and label sets in their forms."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from coview.utils.missing import is_gap

__all__ = [
    "Pair",
    "any_of",
    "as_pair",
    "as_set",
    "graph_edges",
    "is_no_label",
    "path_edges",
    "plain",
    "sibling_pairs",
    "some",
    "tree_edges",
]

Pair = tuple[Hashable, Hashable]


def tree_edges(tree: Any) -> tuple[list[Any], list[Pair]]:
    """Labels and (child, parent) pairs of nested dicts, lists and labels.

    Examples
    --------
    >>> tree_edges({"Animal": ["Dog", "Cat"]})
    (['Animal', 'Dog', 'Cat'], [('Dog', 'Animal'), ('Cat', 'Animal')])
    """
    order: dict[Any, None] = {}
    edges: list[Pair] = []

    def walk(part: Any, parent: Any) -> None:
        for label, below in _branches(part):
            if label in order:
                raise ValueError(f"The tree has label {label!r} more than once. For several parents use from_edges.")
            order[label] = None
            if parent is not None:
                edges.append((label, parent))
            walk(below, label)

    walk(tree, None)
    return list(order), edges


def path_edges(paths: Iterable[str], separator: str) -> tuple[list[Any], list[Pair]]:
    """Labels and (child, parent) pairs of paths from the top down.

    Examples
    --------
    >>> path_edges(["Animal/Dog", "Animal/Cat"], "/")[1]
    [('Dog', 'Animal'), ('Cat', 'Animal')]
    """
    order: dict[Any, None] = {}
    edges: dict[Pair, None] = {}
    for path in paths:
        parts = [part.strip() for part in str(path).split(separator) if part.strip()]
        if not parts:
            raise ValueError(f"A path must name at least one label, got {path!r}.")
        order.update(dict.fromkeys(parts))
        edges.update(dict.fromkeys(zip(parts[1:], parts)))
    return list(order), list(edges)


def graph_edges(graph: Any) -> tuple[list[Any], list[Pair], list[Pair]]:
    """Labels, (child, parent) pairs and mutex pairs of a networkx graph whose edges lead from parent to child."""
    if not graph.is_directed():
        raise ValueError("from_networkx needs a directed graph (DiGraph) whose edges lead from parent to child.")
    edges = list(graph.edges(data=True))
    apart = [(a, b) for a, b, data in edges if data.get("relation") == "mutex"]
    below = [(child, parent) for parent, child, data in edges if data.get("relation") != "mutex"]
    return list(graph.nodes), below, apart


def sibling_pairs(parents: list[list[int]], children: list[list[int]], reach: np.ndarray) -> list[tuple[int, int]]:
    """Labels with a parent in common, or both on top, of which neither is above the other and none is below both."""
    top = [i for i, above in enumerate(parents) if not above]
    found: dict[tuple[int, int], None] = {}
    for group in (top, *children):
        for i, j in combinations(group, 2):
            if not (reach[i, j] or reach[j, i] or (reach[:, i] & reach[:, j]).any()):
                found[i, j] = None
    return list(found)


def as_pair(kind: str, entry: Any) -> Pair:
    """Return two labels, or say what was found."""
    if isinstance(entry, str) or not isinstance(entry, Sequence) or len(entry) != 2:
        form = "(child, parent)" if kind == "subset" else "two labels"
        raise ValueError(f"A {kind} pair must be {form}, got {entry!r}.")
    return plain(entry[0]), plain(entry[1])


def as_set(labels: Any) -> list[Any]:
    """Labels of one object: a collection of labels, or one label by itself."""
    if isinstance(labels, (set, frozenset, list, tuple, np.ndarray)):
        return [plain(label) for label in labels]
    return [plain(labels)]


def plain(label: Any) -> Any:
    """Label as Python's own text or number, so that NumPy's are found too."""
    return label.item() if isinstance(label, np.generic) else label


def is_no_label(label: Any) -> bool:
    """Whether a label stands for "no label": None, NaN, "" or the number -1."""
    return is_gap(label) or label == "" or (not isinstance(label, (str, bool)) and label == -1)


def some(labels: Sequence[Any]) -> str:
    """The first labels, and how many more there are."""
    shown = ", ".join(map(repr, labels[:6]))
    return shown if len(labels) <= 6 else f"{shown} and {len(labels) - 6} more"


def any_of(rows: np.ndarray, relation: np.ndarray) -> np.ndarray:
    """Boolean product of two boolean matrices, by the fast product of floats."""
    return (rows.astype(np.float32) @ relation.astype(np.float32)) > 0


def _branches(part: Any) -> list[tuple[Any, Any]]:
    """Labels of one level of a tree, each with what is below it."""
    if part is None:
        return []
    if isinstance(part, Mapping):
        return [(plain(label), below) for label, below in part.items()]
    if isinstance(part, (list, tuple, set, frozenset)):
        return [pair for entry in part for pair in _branches(entry)]
    return [(plain(part), None)]

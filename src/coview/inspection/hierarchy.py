"""Groups of a model as a tree: topics, clusters or classes joined by how alike their features are, in all views.

The distance of two groups in a view is the Jensen-Shannon distance of their distributions over its features (between 0
and 1; weights below 0 count as 0); in a view of vectors, the distance of their mean vectors, the farthest two being 1
apart. Distances are averaged over the views, and groups are joined by average linkage. A cut at any level gives fewer,
larger groups; memberships in these add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import cut_tree, leaves_list, linkage
from scipy.spatial.distance import pdist, squareform

from coview.exceptions import ViewsError
from coview.inspection.features import features_by_view, holds_vectors
from coview.utils.messages import cut, printable
from coview.validation import check_count
from coview.views.views import Views

if TYPE_CHECKING:
    from coview.inspection.contract import Inspection

__all__ = ["GroupHierarchy", "group_distances", "group_hierarchy"]

NAME_LETTERS = 40
MOST_LINES, DEEPEST = 60, 30  # of a printed tree


class GroupHierarchy:
    """A tree over the groups of a model.

    Parameters
    ----------
    linkage : ndarray (n_groups - 1, 4)
        Which two are joined at which distance, as in `scipy.cluster.hierarchy.linkage`.
    keys, names : list
        Keys and names of the groups.

    Attributes
    ----------
    linkage, keys, names
        The same.

    Examples
    --------
    >>> distances = np.array([[0.0, 0.1, 0.9], [0.1, 0.0, 0.8], [0.9, 0.8, 0.0]])
    >>> tree = GroupHierarchy(linkage(squareform(distances), "average"), ["0", "1", "2"], ["cat", "dog", "tax"])
    >>> tree
    Hierarchy of 3 groups
      0.85
        0: cat, 1: dog at 0.10
        2: tax
    >>> tree.cut(2).tolist()
    [0, 0, 1]
    """

    def __init__(self, linkage: np.ndarray, keys: Sequence[Any], names: Sequence[str]) -> None:
        self.linkage, self.keys, self.names = np.asarray(linkage), list(keys), list(names)

    def cut(self, n: int) -> np.ndarray:
        """Return the part that each group is in when the tree is cut into n parts, numbered by their first group.

        Parameters
        ----------
        n : int
            Number of parts, from 1 to the number of groups.
        """
        check_count("n", n)
        if n > len(self.keys):
            raise ViewsError(f"n must be at most the number of groups, {len(self.keys)}, got {n}.")
        if len(self.keys) == 1:
            return np.zeros(1, dtype=np.int64)
        codes = cut_tree(self.linkage, n_clusters=n).ravel()
        _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[codes]

    def join(self, memberships: Any, n: int) -> np.ndarray:
        """Return memberships in the n parts of a cut (objects x n), from those in the groups.

        Parameters
        ----------
        memberships : array-like (n_objects, n_groups)
            As of `transform` or `predict_proba`.
        n : int
            Number of parts.
        """
        memberships, codes = np.asarray(memberships, dtype=np.float64), self.cut(n)
        if memberships.ndim != 2 or memberships.shape[1] != len(codes):
            raise ViewsError(
                f"memberships must have a column for each of the {len(codes)} groups, got shape {memberships.shape}."
            )
        return memberships @ (codes[:, None] == np.arange(n)).astype(np.float64)

    @property
    def order(self) -> list[int]:
        """Positions of the groups in the order of the tree's leaves, like beside like."""
        return [0] if len(self.keys) == 1 else leaves_list(self.linkage).tolist()

    def __repr__(self) -> str:
        lines = [f"Hierarchy of {len(self.keys)} groups", *islice(self._lines(), MOST_LINES)]
        return "\n".join(lines)

    def _lines(self) -> Iterator[str]:
        """A line for a group and for each join; two groups that are joined with each other stand on one line."""
        n = len(self.keys)
        least = list(range(n))  # group of each node by which children are put in order
        for left, right in self.linkage[:, :2].astype(np.int64).tolist():
            least.append(min(least[left], least[right]))
        waiting = [(2 * n - 2, 1)]
        while waiting:
            node, depth = waiting.pop()
            pad = "  " * min(depth, DEEPEST)
            if node < n:
                yield f"{pad}{self._leaf(node)}"
                continue
            children, height = self.linkage[node - n, :2].astype(np.int64).tolist(), self.linkage[node - n, 2]
            if max(children) < n:
                yield f"{pad}{self._leaf(min(children))}, {self._leaf(max(children))} at {height:.2f}"
                continue
            yield f"{pad}{height:.2f}"
            waiting += [(child, depth + 1) for child in sorted(children, key=least.__getitem__, reverse=True)]

    def _leaf(self, group: int) -> str:
        return f"{self.keys[group]}: {cut(printable(self.names[group]), NAME_LETTERS)}"


def group_distances(inspection: Inspection, views: Views | None = None, codes: np.ndarray | None = None) -> np.ndarray:
    """Return how far apart the groups of a model are (groups x groups), a mean over the views."""
    parts = [_divergences(part.weights) for part in features_by_view(inspection, views, codes).values()]
    for view in inspection.views:
        means = inspection.features(view) if holds_vectors(inspection, view, views) else None
        if means is not None:
            apart = pdist(np.asarray(means, dtype=np.float64))
            parts.append(apart / (apart.max(initial=0.0) or 1.0))
    if not parts:
        raise ViewsError(
            f"{inspection.name} says nothing of the features of its groups. Pass X, to take the means of their objects."
        )
    return squareform(np.mean(parts, axis=0), checks=False)


def _divergences(weights: np.ndarray) -> np.ndarray:
    """Jensen-Shannon distances of all pairs of rows, as shares; a row without weight is 1 away from all others."""
    weights = np.maximum(np.asarray(weights, dtype=np.float64), 0.0)
    total = weights.sum(axis=1, keepdims=True)
    shares = weights / np.where(total > 0, total, 1.0)
    apart = pdist(shares, "jensenshannon") / np.sqrt(np.log(2.0))
    return np.nan_to_num(apart, nan=1.0)


def group_hierarchy(
    inspection: Inspection, views: Views | None = None, codes: np.ndarray | None = None
) -> GroupHierarchy:
    """Return the tree over the groups of a model."""
    if not inspection.groups or inspection.kind == "value":
        raise ViewsError(f"{inspection.name} has no groups to join.")
    n = len(inspection.groups)
    distances = group_distances(inspection, views, codes)
    joined = linkage(squareform(distances, checks=False), "average") if n > 1 else np.empty((0, 4))
    return GroupHierarchy(joined, inspection.groups, inspection.group_names)

"""Groups of a model as a tree: topics, clusters or classes joined by how alike their features are, in all views.

The distance of two groups in a view is the Jensen-Shannon distance of their distributions over its features (between 0
and 1; weights below 0 count as 0); in a view of vectors or measurements, the distance of their means, measurements in
standard deviations, the farthest two being 1 apart. Distances are averaged over the views, and groups are joined by
average linkage. A cut at any level gives fewer, larger groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import ClusterNode, cut_tree, linkage, to_tree
from scipy.spatial.distance import pdist, squareform

from coview.exceptions import ViewsError
from coview.inspection.features import described_features, holds_vectors, is_measured, readable_features, view_features
from coview.utils.messages import quantity
from coview.validation import check_count
from coview.views.views import Views

if TYPE_CHECKING:
    from coview.inspection.contract import Inspection

__all__ = ["GroupHierarchy", "group_distances", "group_hierarchy"]


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
    >>> tree.cut(2).tolist()
    [0, 0, 1]
    """

    def __init__(self, linkage: np.ndarray, keys: Sequence[Any], names: Sequence[str]) -> None:
        self.linkage, self.keys, self.names = np.asarray(linkage), list(keys), list(names)

    def cut(self, n_parts: int) -> np.ndarray:
        """Return the part that each group is in when the tree is cut, numbered by their first group.

        Parameters
        ----------
        n_parts : int
            Number of parts, from 1 to the number of groups.
        """
        check_count("n_parts", n_parts)
        if n_parts > len(self.keys):
            raise ViewsError(f"n_parts must be at most the number of groups, {len(self.keys)}, got {n_parts}.")
        if len(self.keys) == 1:
            return np.zeros(1, dtype=np.int64)
        return cut_tree(self.linkage, n_clusters=n_parts).ravel()  # in the order of first groups

    def __repr__(self) -> str:
        return f"Hierarchy of {quantity(len(self.keys), 'group')}"

    def walk(self, n_parts: int | None = None) -> Iterator[tuple[ClusterNode, int]]:
        """Yield each node of the tree, as scipy's, and its depth, from the root (0) down, the lowest group first.

        Parameters
        ----------
        n_parts : int, optional
            Go no deeper than the parts of this cut.

        Examples
        --------
        >>> tree = GroupHierarchy(np.array([[0, 1, 0.1, 2], [2, 3, 0.8, 3]]), ["0", "1", "2"], ["cat", "dog", "tax"])
        >>> [(node.pre_order(), depth) for node, depth in tree.walk()]
        [([2, 0, 1], 0), ([0, 1], 1), ([0], 2), ([1], 2), ([2], 1)]
        >>> [(node.pre_order(), depth) for node, depth in tree.walk(2)]
        [([2, 0, 1], 0), ([0, 1], 1), ([2], 1)]
        """
        n = len(self.keys)
        first = n if n_parts is None else max(2 * n - n_parts, n)  # of the joins that are made last
        waiting = [(to_tree(self.linkage) if n > 1 else ClusterNode(0), 0)]
        while waiting:
            node, depth = waiting.pop()
            yield node, depth
            if node.id >= first:
                below = sorted((node.left, node.right), key=lambda each: min(each.pre_order()), reverse=True)
                waiting += [(child, depth + 1) for child in below]


def group_distances(inspection: Inspection, views: Views | None = None, codes: np.ndarray | None = None) -> np.ndarray:
    """Return how far apart the groups of a model are (groups x groups), a mean over the views."""
    measured = [view for view in inspection.views if is_measured(inspection, view, views)]
    lengths = [_lengths(inspection, view, views, codes) for view in measured]
    known = [_divergences(part.weights) for part in readable_features(inspection, views, codes).values()]
    known += [part for part in lengths if part is not None]
    if not known:
        raise ViewsError(
            f"{inspection.name} says nothing of the features of its groups. Pass X, to take the means of their objects."
        )
    return squareform(np.mean(known, axis=0), checks=False)


def _divergences(weights: np.ndarray) -> np.ndarray:
    """Jensen-Shannon distances of all pairs of rows, as shares; a row without weight is 1 away from all others."""
    weights = np.maximum(np.asarray(weights, dtype=np.float64), 0.0)
    total = weights.sum(axis=1)
    empty = total <= 0
    shares = weights / np.where(empty, 1.0, total)[:, None]
    apart = squareform(np.nan_to_num(pdist(shares, "jensenshannon"), nan=0.0, posinf=0.0)) / np.sqrt(np.log(2.0))
    apart[empty[:, None] ^ empty] = 1.0  # NaN is the root of what rounding made negative, of rows that are equal
    return squareform(apart, checks=False)


def _lengths(inspection: Inspection, view: str, views: Views | None, codes: np.ndarray | None) -> np.ndarray | None:
    """Distances of the means of measurements, in deviations where they have names and so units, else as they are."""
    features = view_features(inspection, view, views, codes) or described_features(inspection, view)
    if features is None:
        return None
    vectors = holds_vectors(inspection, view, views)
    means = np.asarray(features.weights if vectors else features.strengths, dtype=np.float64)
    if not vectors and features.deviations is None:
        means = means / np.where(means.std(axis=0) > 0, means.std(axis=0), 1.0)
    apart = pdist(means)
    return apart / (apart.max(initial=0.0) or 1.0)


def group_hierarchy(
    inspection: Inspection, views: Views | None = None, codes: np.ndarray | None = None
) -> GroupHierarchy:
    """Return the tree over the groups of a model."""
    distances = group_distances(inspection, views, codes)
    joined = linkage(squareform(distances, checks=False), "average") if len(inspection.groups) > 1 else np.empty((0, 4))
    return GroupHierarchy(joined, inspection.groups, inspection.group_names)

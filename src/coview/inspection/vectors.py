"""Views of vectors explained: by the objects nearest to a group's mean vector, and by the words of the other views.

A column of an embedding means nothing by itself. What a group is in such a view is seen from its own objects (those
that have it as their first group) whose vectors lie nearest to its mean vector, by Euclidean distance; where all
vectors have one length, these are those of the largest cosine. The mean vector is that of the group's objects: weighted
by their memberships at the fit where the model has kept it (a Gaussian view), else that of the objects given. Objects
of other groups are not asked: one that lies near, but belongs elsewhere by its words, would not explain the group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coview.engines.neighbors import find_neighbors
from coview.inspection.features import described_features
from coview.views.views import Views

if TYPE_CHECKING:
    from coview.inspection.contract import Inspection

__all__ = ["nearest_in_groups", "rank_nearest_rows"]


def rank_nearest_rows(
    matrix: Any, codes: np.ndarray, n_groups: int, n: int, means: np.ndarray | None = None
) -> list[list[int]]:
    """Return for each group its n rows nearest to the mean vector of the group; ties go to the lower row.

    Parameters
    ----------
    matrix : array or sparse array (n_objects, n_features)
        The vectors.
    codes : ndarray
        Group of each row; -1 for none.
    n_groups : int
        Number of groups.
    n : int
        Rows of each.
    means : ndarray (n_groups, n_features), optional
        Mean vectors; by default those of the rows of each group.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [1.2], [9.0], [8.0]])
    >>> rank_nearest_rows(points, np.array([0, 0, 0, 1, 1]), 2, 2)
    [[1, 2], [3, 4]]
    """
    chosen: list[list[int]] = []
    for group in range(n_groups):
        members = np.flatnonzero(codes == group)
        if len(members):
            own = matrix[members].astype(np.float64)
            center = np.reshape(own.mean(axis=0) if means is None else means[group], (1, -1)).astype(np.float64)
            members = members[find_neighbors(center, min(n, len(members)), own)[1][0]]
        chosen.append(members.tolist())
    return chosen


def nearest_in_groups(inspection: Inspection, views: Views, codes: np.ndarray, view: str, n: int) -> list[list[int]]:
    """Return the objects of each group nearest to its mean vector; `codes` are the groups of the objects."""
    measured = inspection.structure.likelihoods.get(view, "multinomial") != "multinomial"
    features = described_features(inspection, view) if measured else None
    have = views.present[:, views.names.index(view)]
    means = None if features is None else features.weights
    return rank_nearest_rows(views[view], np.where(have, codes, -1), len(inspection.groups), n, means)

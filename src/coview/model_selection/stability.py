"""Stability of a model's groups: what other seeds find again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from coview.exceptions import ViewsError
from coview.inspection import Inspection, inspect
from coview.inspection.features import readable_features
from coview.inspection.reading import read_groups
from coview.metrics.topics import compute_shared_features
from coview.model_selection.copies import copy_to_fit
from coview.utils.progress import counted
from coview.utils.tables import ColumnTable
from coview.utils.warn import unwarned
from coview.validation import check_count, checked_random_state

__all__ = ["refit_stability"]


def refit_stability(
    model: Any, X: Any, y: Any = None, *, n_fits: int = 5, n_features: int = 10, random_state: Any = 0
) -> ColumnTable:
    """Fit copies of a model with other seeds, and measure how much of each group's first features they find again.

    A topic that other seeds do not find is one of several ways to cut the data, not a fact about it. Groups of two fits
    are matched one to one, by what they share in all views together. The edits of an edited model are made again in
    each copy.

    Parameters
    ----------
    model : estimator
        A fitted estimator with groups that have features, such as topics, or a Pipeline that ends in one.
    X : what the model takes
        The objects that it was fitted on.
    y : array-like, optional
        Their labels, for a model that takes labels.
    n_fits : int, default=5
        Number of copies.
    n_features : int, default=10
        How many features of each group count, by weight.
    random_state : int, RandomState or None, default=0
        Which seeds the copies get.

    Returns
    -------
    dict of lists
        "group", "name", "view" and "stability" (from 0 to 1), a row per group and view. It prints as a table.

    Examples
    --------
    >>> from coview import LinkPLSA, refit_stability
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=200, n_clusters=3, random_state=0).views
    >>> model = LinkPLSA(3, random_state=0).fit(X)
    >>> table = refit_stability(model, X, n_fits=2)
    >>> list(table), min(table["stability"]) > 0.3
    (['group', 'name', 'view', 'stability'], True)
    """
    check_count("n_fits", n_fits)
    check_count("n_features", n_features)
    mine = inspect(model)
    ours = _weights(mine, X)
    if not ours:
        raise ViewsError(
            f"{mine.name} has no features that could be found again: its views hold vectors or measurements."
        )
    others = []
    seeds = checked_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_fits)
    # warnings of a copy would be those of the model, once more for each
    with unwarned():
        for seed in counted(seeds.tolist(), "fitting copies", n_fits):
            copy = copy_to_fit(model, seed=seed)
            theirs = inspect(copy.fit(X) if y is None else copy.fit(X, y))
            # a pipeline of texts may choose other words from other objects
            _check_features(mine, theirs, ours)
            others.append(_weights(theirs, X))
    shared = np.mean([_find_again(ours, other, n_features) for other in others], axis=0)
    columns: dict[str, list[Any]] = {"group": [], "name": [], "view": [], "stability": []}
    for view, stability in zip(ours, shared):
        columns["group"] += [str(key) for key in mine.groups]
        columns["name"] += mine.group_names
        columns["view"] += [view] * len(stability)
        columns["stability"] += stability.tolist()
    return ColumnTable(columns)


def _check_features(mine: Inspection, theirs: Inspection, views: Iterable[str]) -> None:
    """Refuse objects in which copies find other features: columns could not be compared."""
    for view in views:
        if view not in theirs.views or mine.feature_names(view) != theirs.feature_names(view):
            raise ViewsError(
                f"Copies of {mine.name} have other features in view {view!r} than the model itself: pass the objects "
                "that it was fitted on."
            )


def _find_again(ours: dict[str, Any], theirs: dict[str, Any], n_features: int) -> np.ndarray:
    """Shared features of each group and its partner by view (views x groups); one partner for all views."""
    overlaps = np.array([compute_shared_features(ours[view], theirs[view], n_features) for view in ours])
    # matched by all views together: a group that is another one in each view would not be found again
    rows, columns = linear_sum_assignment(overlaps.sum(axis=0), maximize=True)
    # a group without partner, where a copy has fewer, is not found again: 0
    found = np.zeros(overlaps.shape[:2])
    found[:, rows] = overlaps[:, rows, columns]
    return found


def _weights(inspection: Any, X: Any) -> dict[str, Any]:
    """Weights of the features of a model's groups, by view, of the views whose features can be read."""
    views = inspection.preparation.prepare_views(X)
    codes = read_groups(inspection, views, prepared=True).codes
    codes = inspection.training.codes if codes is None else codes
    found = readable_features(inspection, views, codes)
    return {view: part.weights.clip(min=0.0) for view, part in found.items()}

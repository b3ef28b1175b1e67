"""Which features make a group, view by view, for every kind of model.

A model that knows probabilities p(feature | group) ranks a feature by what it adds to the divergence of the group from
all groups, p log(p / mean p); one that knows weights (centroids, coefficients) by the weight less the mean over groups.
A model that shows neither is described by its objects: the mean of every feature over the objects of each group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from coview.views.views import Views

__all__ = ["GroupFeatures", "group_features", "means_of_groups", "top_features", "topic_features"]

SAMPLED_OBJECTS = 5_000  # enough for the mean of a feature


@dataclass(frozen=True)
class GroupFeatures:
    """Weights of features (groups x features), by view; probabilities where rows are distributions."""

    weights: dict[str, np.ndarray]
    probabilities: bool
    origin: str  # a few words on where they come from


def group_features(core: Any, n_groups: int) -> GroupFeatures | None:
    """Return what a model itself says of the features of its groups, or None where it says nothing.

    Examples
    --------
    >>> from coview import MultiViewNaiveBayes
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=60, n_clusters=3, random_state=0)
    >>> found = group_features(MultiViewNaiveBayes().fit(data.views, data.target), 3)
    >>> found.weights["view0"].shape, found.probabilities
    ((3, 500), True)
    """
    for look in (_of_clusters, _of_topics, _of_naive_bayes, _of_centroids, _of_coefficients, _of_heads, _of_parts):
        found = look(core)
        if found is not None and all(len(part) == n_groups for part in found.weights.values()):
            return found
    return None


def topic_features(core: Any) -> GroupFeatures | None:
    """Return the topics themselves, of a model that has topics below its clusters or classes.

    Examples
    --------
    >>> from coview import DualPLSA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=60, n_clusters=3, random_state=0).views.select("view0")
    >>> topic_features(DualPLSA(3, 5, random_state=0).fit(X)).weights["view0"].shape
    (5, 500)
    """
    return _of_topics(core) if hasattr(core, "cluster_topic_") else None


def means_of_groups(views: Views, codes: np.ndarray, n_groups: int, seed: int = 0) -> GroupFeatures:
    """Return the mean of every feature over the objects of each group, rows of a view brought to sum one first.

    Examples
    --------
    >>> import numpy as np
    >>> found = means_of_groups(Views(words=np.array([[2.0, 0.0], [1.0, 1.0]])), np.array([0, 0]), 1)
    >>> found.weights["words"].tolist()
    [[0.75, 0.25]]
    """
    from coview.report.reader import sample_rows

    rows = sample_rows(len(views), SAMPLED_OBJECTS, seed)
    part, found = views[rows], {}
    known = codes[rows] >= 0
    belongs = sparse.csr_array(
        (np.ones(known.sum()), (codes[rows][known], np.flatnonzero(known))), shape=(n_groups, len(rows))
    )
    counts = np.maximum(np.asarray(belongs.sum(axis=1)).reshape(-1, 1), 1)
    positive = True
    for name, matrix in part.items():
        positive = positive and bool((matrix.data if sparse.issparse(matrix) else matrix).min(initial=0) >= 0)
        mass = np.asarray(abs(matrix).sum(axis=1)).reshape(-1)
        scaled = sparse.dia_array((1 / np.maximum(mass, 1e-300)[None], [0]), shape=(len(mass), len(mass))) @ matrix
        summed = belongs @ scaled
        found[name] = np.asarray(summed.toarray() if sparse.issparse(summed) else summed) / counts
    return GroupFeatures(found, positive, "mean of the group's objects")


def top_features(
    found: GroupFeatures, names: dict[str, Any], n: int = 10, *, rank: str = "distinctive"
) -> dict[str, list[list[tuple[str, float, float]]]]:
    """Return for each view and group the `n` best features as (name, weight, weight over the mean weight).

    Parameters
    ----------
    found : GroupFeatures
        Weights by view.
    names : {view: names of features}
        Names where they are known; others are f0, f1, ...
    n : int, default=10
        Features of each group.
    rank : {"distinctive", "weight"}, default="distinctive"
        By what sets the group apart from the others, or by the weight alone.

    Examples
    --------
    >>> import numpy as np
    >>> weights = {"words": np.array([[0.6, 0.4, 0.0], [0.6, 0.0, 0.4]])}
    >>> top_features(GroupFeatures(weights, True, ""), {"words": ["the", "cat", "dog"]}, 1)
    {'words': [[('cat', 0.4, 2.0)], [('dog', 0.4, 2.0)]]}
    """
    shown = {}
    for view, weights in found.weights.items():
        mean = weights.mean(axis=0, keepdims=True)
        lift = np.divide(weights, mean, out=np.ones_like(weights), where=mean > 0)
        if rank == "weight" or len(weights) == 1:
            order = weights
        elif found.probabilities:
            order = np.where(weights > 0, weights * np.log(np.maximum(lift, 1e-300)), 0.0)
        else:
            order = weights - mean
        labels = names.get(view)
        shown[view] = [
            [
                (f"f{j}" if labels is None else str(labels[j]), float(row[j]), float(times[j]))
                for j in _largest(keys, n)
                if keys[j] > 0
            ]
            for row, times, keys in zip(weights, lift, order)
        ]
    return shown


def _largest(keys: np.ndarray, n: int) -> np.ndarray:
    """Positions of the n largest values, largest first; ties go to the lower position."""
    n = min(n, len(keys))
    kept = np.flatnonzero(-keys <= np.partition(-keys, n - 1)[n - 1])
    return kept[np.argsort(-keys[kept], kind="stable")][:n]


# -- where the kinds of models keep them


def _of_clusters(core: Any) -> GroupFeatures | None:
    if not hasattr(core, "cluster_topic_") or not hasattr(core, "topic_feature_"):
        return None
    topics = core.topic_feature_
    return GroupFeatures({v: np.asarray(core.cluster_topic_[v] @ topics[v]) for v in topics}, True, "p(feature)")


def _of_topics(core: Any) -> GroupFeatures | None:
    topics = getattr(core, "topic_feature_", None)
    return None if topics is None else GroupFeatures({v: np.asarray(t) for v, t in topics.items()}, True, "p(feature)")


def _of_naive_bayes(core: Any) -> GroupFeatures | None:
    found = getattr(core, "feature_log_prob_", None)
    if not isinstance(found, dict):
        return None
    return GroupFeatures({view: np.exp(part) for view, part in found.items()}, True, "p(feature)")


def _of_centroids(core: Any) -> GroupFeatures | None:
    found = getattr(core, "cluster_centers_", None)
    if not isinstance(found, dict):
        return None
    return GroupFeatures({view: np.asarray(part) for view, part in found.items()}, False, "centroid")


def _of_coefficients(core: Any) -> GroupFeatures | None:
    found = getattr(core, "coef_", None)
    if not isinstance(found, dict):
        return None
    return GroupFeatures({view: _both_sides(part) for view, part in found.items()}, False, "coefficient")


def _of_heads(core: Any) -> GroupFeatures | None:
    """Classes through a common space: the weight of a feature in it, times the weight of the class there."""
    heads, places = getattr(core, "classifiers_", None), getattr(core, "projections_", None)
    if not isinstance(heads, dict) or not isinstance(places, dict):
        return None
    found = {v: _both_sides(head.coef_) @ places[v].T for v, head in heads.items() if hasattr(head, "coef_")}
    return GroupFeatures(found, False, "coefficient") if found else None


def _of_parts(core: Any) -> GroupFeatures | None:
    """Models made of one scikit-learn estimator per view, or of one for all views side by side."""
    parts, mapping = getattr(core, "estimators_", None), getattr(core, "cluster_mapping_", None)
    widths = getattr(core, "n_features_by_view_", None)
    if isinstance(parts, dict) and not set(parts) <= set(widths or ()):
        return None  # candidates of a consensus: they are no views
    if isinstance(parts, dict):
        kinds = {view: _of_estimator(part) for view, part in parts.items()}
        if not kinds or any(kind is None for kind in kinds.values()):
            return None
        weights = {view: kind[0] for view, kind in kinds.items() if kind is not None}
        if widths is None or any(part.shape[1] != widths.get(view) for view, part in weights.items()):
            return None  # members of another kind: their columns are no features of a view
        if mapping is not None:  # clusters of the consensus are shares of each view's own clusters
            weights = {v: np.asarray(mapping[v]) @ part for v, part in weights.items() if v in mapping}
        return GroupFeatures(weights, all(kind[1] for kind in kinds.values() if kind is not None), "of each view")
    whole = _of_estimator(getattr(core, "estimator_", None))
    if whole is None or widths is None or whole[0].shape[1] != sum(widths.values()):
        return None
    cuts = np.cumsum(list(widths.values()))[:-1]
    return GroupFeatures(dict(zip(widths, np.split(whole[0], cuts, axis=1))), whole[1], "of all views")


def _of_estimator(model: Any) -> tuple[np.ndarray, bool] | None:
    if hasattr(model, "feature_log_prob_"):
        return np.exp(model.feature_log_prob_), True
    if hasattr(model, "coef_") and hasattr(model, "classes_"):
        return _both_sides(model.coef_), False
    if hasattr(model, "cluster_centers_"):
        return np.asarray(model.cluster_centers_), False
    return None


def _both_sides(coefficients: Any) -> np.ndarray:
    """One row for each class: of two classes a linear model keeps only the second."""
    found = np.asarray(coefficients.toarray() if sparse.issparse(coefficients) else coefficients)
    return np.vstack([-found, found]) if len(found) == 1 else found

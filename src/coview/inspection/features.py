"""Which features make a group, view by view.

A model that knows probabilities p(feature | group) ranks a feature by what it adds to the divergence of the group from
all groups, p log(p / mean p); one that knows weights (centers, coefficients) by the weight less the mean over groups.
A group of which the model says nothing in a view is described by the mean of its objects. Measurements have units, so
that a column is ranked by how far the mean of the group lies from that of all objects, in standard deviations:

    deviation = (mean of the group - mean of all) / standard deviation of all

A view of vectors, whose columns have no names, says nothing by single columns: it has no features here, and is
explained by objects (`vectors`) and by the other views.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from coview.inspection.choice import views_that
from coview.inspection.names import NAMED_BY_FEATURES, characteristic_names, keyed_name, measured_names, own_names
from coview.preprocessing.vectorizer import is_char_ngram
from coview.utils.sampling import sample_positions
from coview.validation import check_option
from coview.views.arrays import holds_measurements
from coview.views.views import Views

if TYPE_CHECKING:
    from coview.inspection.contract import Inspection

__all__ = [
    "Features",
    "described_features",
    "deviations_of",
    "feature_names",
    "features_by_view",
    "group_names",
    "holds_categories",
    "holds_vectors",
    "is_measured",
    "keyed_names",
    "name_by_features",
    "rank_features",
    "readable_features",
    "summarize_groups",
    "top_features",
    "view_features",
]

RANKINGS = ("distinctive", "weight", "signed")
SAMPLED_OBJECTS = 5_000  # enough for the mean of a feature
COUNTED = ("tf-idf", "unit length")  # scalings of counts: what is scaled otherwise was taken for measurements
DEVIATION = "standard deviations from the mean of all objects"


@dataclass(frozen=True, eq=False)
class Features:
    """Weights of a view's features in each group (groups x features).

    Parameters
    ----------
    weights : ndarray (n_groups, n_features)
        The weights.
    probabilities : bool
        Whether every row is a distribution over features.
    origin : str
        A few words on where they come from: "p(feature)", "center", "coefficient", ...
    frequencies : ndarray (n_groups, n_features) or None
        Share of each group's objects that have the feature, of all its objects, where it is known.
    deviations : ndarray (n_groups, n_features) or None
        Of measurements, how far each mean lies from that of all objects, in standard deviations of the feature.
    with_background : Features or None
        Distribution of the features of each group's objects, where the weights are only what sets the group apart from
        a background.
    view_shares : ndarray (n_groups,) or None
        p(view | group), where a group is one distribution over the features of all views.
    """

    weights: np.ndarray
    probabilities: bool = False
    origin: str = ""
    frequencies: np.ndarray | None = None
    deviations: np.ndarray | None = None
    with_background: Features | None = None
    view_shares: np.ndarray | None = None

    @property
    def expected(self) -> np.ndarray:
        """What the objects of each group are expected to have: the weights, and the background where there is one."""
        return self.weights if self.with_background is None else self.with_background.weights

    @property
    def strengths(self) -> np.ndarray:
        """What features are ranked by: deviations where there are any, else weights."""
        return np.asarray(self.weights if self.deviations is None else self.deviations)


def rank_features(features: Features, n: int = 10, *, by: str = "distinctive", above: float = 0.0) -> list[np.ndarray]:
    """Return for each group the positions of its n first features; ties go to the lower position.

    Parameters
    ----------
    features : Features
        Weights (groups x features).
    n : int, default=10
        Features of each group.
    by : {"distinctive", "weight", "signed"}, default="distinctive"
        By what sets the group apart from the others, by the weight alone, or half of them by the largest and half by
        the smallest weights. Of measurements, deviations are the weights, and those far below the mean set a group
        apart as well as those far above.
    above : float, default=0.0
        Features whose rank is not above this are left out; not of "signed".
    """
    check_option("by", by, RANKINGS)
    weights = features.strengths
    if by == "signed":
        n = min(n, weights.shape[1])
        return [np.concatenate([_largest(row, n - n // 2), _largest(-row, n // 2)[::-1]]) for row in weights]
    mean = weights.mean(axis=0, keepdims=True)
    if features.deviations is not None and by == "distinctive":
        ranks = np.abs(weights)
    elif by == "weight" or len(weights) == 1:
        ranks = weights
    elif features.probabilities:
        ranks = np.where(
            weights > 0, weights * np.log(np.maximum(_lift(weights, mean), np.finfo(np.float32).tiny)), 0.0
        )
    else:
        ranks = weights - mean
    return [best[row[best] > above] for row in ranks for best in [_largest(row, n)]]


def top_features(
    features: Features, names: Sequence[str] | np.ndarray, n: int = 10, *, by: str = "distinctive"
) -> list[list[tuple[str, float, float]]]:
    """Return for each group its first features as (name, weight, weight over the mean weight of all groups).

    They are ranked as `rank_features` does. Of measurements they are (name, deviation, mean of the group). Character
    n-grams beside words are left out.
    """
    weights, beside = features.strengths, np.asarray(features.weights)
    if features.deviations is None:
        beside = _lift(weights, weights.mean(axis=0, keepdims=True))
    shown = np.array([not is_char_ngram(str(name)) for name in names], dtype=bool)
    best = rank_features(features, n if shown.all() else len(shown), by=by)
    return [
        [(str(names[j]), float(row[j]), float(other[j])) for j in chosen[shown[chosen]][:n]]
        for row, other, chosen in zip(weights, beside, best)
    ]


def features_by_view(
    inspection: Inspection, views: Views | None = None, codes: np.ndarray | None = None
) -> dict[str, Features]:
    """Return the features of a model's groups by view, of the views that have any; see `view_features`."""
    described = {view: view_features(inspection, view, views, codes) for view in inspection.views}
    return {view: part for view, part in described.items() if part is not None}


def readable_features(
    inspection: Inspection, views: Views | None = None, codes: np.ndarray | None = None
) -> dict[str, Features]:
    """Return the features of a model's groups by view, of the views whose features occur in objects or do not.

    Measurements do not: every object has them.
    """
    described = features_by_view(inspection, views, codes)
    return {view: part for view, part in described.items() if not is_measured(inspection, view, views)}


def described_features(inspection: Inspection, view: str) -> Features | None:
    """Return the features that a model itself says make its groups in a view, or None."""
    inspection._check_view(view)
    return inspection._features(view)


def view_features(
    inspection: Inspection, view: str, views: Views | None = None, codes: np.ndarray | None = None
) -> Features | None:
    """Return the features of a model's groups in a view: what it says itself, else means of the objects of each group.

    A view of vectors has none (`holds_vectors`). Measurements are described by their deviations: those that the model
    knows, else those of the objects, where their groups are given.
    """
    if holds_vectors(inspection, view, views):
        return None
    features = described_features(inspection, view)
    if views is None or codes is None or view not in views:
        return features
    if features is not None and (features.deviations is not None or not is_measured(inspection, view, views)):
        return features
    means, frequencies, moments = summarize_groups(
        views.select(view), codes, len(inspection.groups), inspection.structure.scalings
    )
    return features_of_means(means[view], frequencies[view], moments.get(view), "group")


def holds_vectors(inspection: Inspection, view: str, views: Views | None = None) -> bool:
    """Tell whether a view holds vectors whose columns have no names: a single column says nothing to a reader.

    What is no count is told by the likelihood that the model gave the view, else by the values where objects are
    given, else by centers and means with signs.

    Examples
    --------
    >>> from coview import SphericalKMeans, inspect
    >>> X = Views(words=np.array([[2, 1], [3, 0], [0, 4]]), vector=np.array([[0.1, 0.2], [0.3, 0.1], [-0.2, 0.4]]))
    >>> model = inspect(SphericalKMeans(2, random_state=0).fit(X))
    >>> [view for view in X.names if holds_vectors(model, view)]
    ['vector']
    """
    named = inspection.views[view].feature_names is not None or (views is not None and view in views.feature_names)
    return not named and is_measured(inspection, view, views)


def holds_categories(features: Features, matrix: Any = None) -> bool:
    """Tell whether no object has two features of a view, as of a column of categories.

    Objects tell where they are given, else the shares of the objects of each group that have a feature.

    Examples
    --------
    >>> shares = np.array([[0.7, 0.3], [0.0, 1.0]])
    >>> holds_categories(Features(shares, frequencies=shares)), holds_categories(Features(shares), [[1, 1], [0, 1]])
    (True, False)
    """
    if matrix is not None:
        present = matrix if sparse.issparse(matrix) else np.asarray(matrix)
        return int(np.asarray((present != 0).sum(axis=1)).max(initial=0)) < 2
    shares = features.frequencies
    return shares is not None and bool(shares.sum(axis=1).max(initial=0) <= 1 + 1e-5)


def is_measured(inspection: Inspection, view: str, views: Views | None) -> bool:
    """Tell whether the values of a view are measurements, not counts."""
    if view in inspection.structure.likelihoods:
        return inspection.structure.likelihoods[view] != "multinomial"
    if view in inspection.structure.scalings:
        return inspection.structure.scalings[view] not in COUNTED
    if views is not None and view in views:
        return holds_measurements(views[view], int(views.present[:, views.names.index(view)].sum()))
    features = described_features(inspection, view)
    if features is not None and features.deviations is not None:
        return True
    if features is None or not features.origin.startswith(("center", "mean")):  # coefficients of counts have signs too
        return False
    return bool((features.weights < 0).any())


def deviations_of(means: np.ndarray, center: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return how far means (groups x features) lie from a center, in standard deviations; 0 of a constant feature."""
    gaps = np.asarray(means, dtype=np.float64) - center
    least = 1e-11 * np.abs(center)  # below, a spread is rounding alone: that of 10,000 rows is some 1e-13
    return np.divide(gaps, spread, out=np.zeros_like(gaps), where=np.broadcast_to(spread > least, gaps.shape))


def group_names(inspection: Inspection, views: Views | None = None, codes: np.ndarray | None = None) -> list[str]:
    """Return the names of a model's groups; where it says nothing of features, by means of the objects of each group.

    Examples
    --------
    >>> from coview import SphericalKMeans, inspect
    >>> X = Views(words=np.array([[2, 1, 0], [3, 0, 0], [0, 1, 4]]), feature_names={"words": ["photo", "the", "mail"]})
    >>> sorted(group_names(inspect(SphericalKMeans(2, random_state=0).fit(X)), X))
    ['mail', 'photo']
    """
    own = {view for view in inspection.views if described_features(inspection, view) is not None}
    if views is None or codes is None or own or inspection.kind not in NAMED_BY_FEATURES:
        return inspection.group_names
    features = features_by_view(inspection, views, codes)
    return name_by_features(inspection, features)


def keyed_names(inspection: Inspection) -> list[str]:
    """Return groups by key and name, "3: photo, image, raw"; by the key alone where they have no other name."""
    own = own_names(inspection.groups, inspection.group_names, inspection.kind)
    return [keyed_name(key, own) for key in inspection.groups]


def name_by_features(
    inspection: Inspection, features: dict[str, Features], kept: Mapping[str, str] | None = None
) -> list[str]:
    """Return names of groups by features of each view: those of the model, or means of the objects of each group.

    Views in which the model found no structure name no group, where there are others. A group that was given a
    name keeps it, and so does one that had a name before others were edited.
    """
    given = {**(kept or {}), **inspection.structure.given_names}
    taken = set(given.values())
    names = zip(inspection.groups, _names_by_features(inspection, features))
    return [given.get(key, f"{name} ({key})" if name in taken else name) for key, name in names]


def _names_by_features(inspection: Inspection, features: dict[str, Features]) -> list[str]:
    kind, groups, views = inspection.kind, inspection.groups, inspection.views
    if kind not in NAMED_BY_FEATURES:
        return groups if kind != "component" else [f"component {name}" for name in groups]
    features = {view: part for view, part in features.items() if views[view].feature_names is not None}
    words = {view: part for view, part in features.items() if part.deviations is None}
    features = words or features
    noise = views_that(inspection.selection.relations, "noise")
    told = {view: part for view, part in features.items() if view not in noise}
    features = told or features  # a view of noise has words that go with a group by chance alone
    named = {view: inspection.feature_names(view) for view in features}
    fallback = [f"{kind} {key}" for key in groups]
    weights = {view: part.strengths for view, part in features.items()}
    if features and not words:
        return measured_names(weights, {view: part.weights for view, part in features.items()}, named, fallback)
    for view, part in features.items():
        if len(views) > 1 and holds_categories(part):  # "no" alone does not say of what
            named[view] = [f"{view}: {name}" for name in named[view]]
    memberships, codes = inspection.training.memberships, inspection.training.codes
    sizes = None if memberships is None else memberships.sum(axis=0)
    if sizes is None and codes is not None:
        sizes = np.bincount(codes[codes >= 0], minlength=len(groups))
    frequencies = {view: part.frequencies for view, part in features.items() if part.frequencies is not None}
    return characteristic_names(weights, named, fallback, sizes, frequencies)


def summarize_groups(
    views: Views, codes: np.ndarray, n_groups: int, scalings: Mapping[str, str] | None = None
) -> tuple[dict[str, np.ndarray], ...]:
    """Return what groups are about by view: means, shares of objects that have a feature, and moments of measurements.

    Means are over the objects of a group that have the view, rows brought to sum one first; of measurements, as they
    are. The moments of measurements are the mean and the standard deviation of each column over all objects that have
    the view. What a view holds is told by its values, or by the `scalings` of the model where these have it.

    Examples
    --------
    >>> views = Views(a=np.array([[2, 0], [0, 0], [0, 3]]), age=np.array([[20.5], [30.5], [90.5]]))
    >>> means, frequencies, moments = summarize_groups(views, np.array([0, 0, 1]), 2)
    >>> means["a"].tolist(), means["age"].tolist(), frequencies["a"].tolist()
    ([[0.5, 0.0], [0.0, 1.0]], [[25.5], [90.5]], [[0.5, 0.0], [0.0, 1.0]])
    >>> moments["age"].round().tolist()
    [[47.0], [31.0]]
    """
    rows = sample_positions(len(views), SAMPLED_OBJECTS)
    some, codes = views[rows], np.asarray(codes)[rows]
    means, frequencies, moments = {}, {}, {}
    for v, (name, matrix) in enumerate(some.items()):
        have = some.present[:, v]
        scaling = (scalings or {}).get(name)
        measured = holds_measurements(matrix, int(have.sum())) if scaling is None else scaling not in COUNTED
        measured &= not sparse.issparse(matrix)
        part = matrix if measured else normalize(matrix, "l1")
        means[name] = _group_means(part, np.where(have, codes, -1), n_groups)
        present = matrix != 0 if sparse.issparse(matrix) else (matrix != 0).astype(np.float64)
        frequencies[name] = _group_means(present, codes, n_groups).astype(np.float32)  # 0 without the view
        if measured:
            known = np.asarray(matrix[have if have.any() else [0]], dtype=np.float64)  # an absent view holds zeros
            moments[name] = np.stack([known.mean(axis=0), known.std(axis=0)])
    return means, frequencies, moments


def _group_means(matrix: Any, codes: np.ndarray, n_groups: int) -> np.ndarray:
    """Mean of every column over the objects of each group."""
    known = np.flatnonzero(codes >= 0)
    belongs = sparse.csr_array((np.ones(len(known)), (codes[known], known)), shape=(n_groups, len(codes)))
    total = belongs @ matrix
    counts = np.maximum(np.bincount(codes[known], minlength=n_groups), 1)[:, None]
    return np.asarray(total.toarray() if sparse.issparse(total) else total) / counts


def features_of_means(means: np.ndarray, frequencies: np.ndarray, moments: np.ndarray | None, group: str) -> Features:
    """Features of groups in a view by what `summarize_groups` found; `group` is the word for a group."""
    if moments is not None:
        means = np.where(frequencies.any(axis=1, keepdims=True), means, moments[0])  # of no object, the mean of all
        return Features(means, False, DEVIATION, deviations=deviations_of(means, *moments))
    positive = bool(means.min(initial=0) >= 0)
    return Features(means, positive, f"mean of the {group}'s objects", frequencies if positive else None)


def feature_names(inspection: Inspection, view: str, views: Views | None = None) -> list[str]:
    """Return the names of a view's features: those of the objects where they have any, else those of the model."""
    if views is not None and view in views.feature_names:
        return [str(name) for name in views.feature_names[view]]
    return inspection.feature_names(view)


def _largest(keys: np.ndarray, n: int) -> np.ndarray:
    """Positions of the n largest values, largest first; ties go to the lower position."""
    n = min(n, len(keys))
    if n < 1:
        return np.zeros(0, dtype=np.int64)
    kept = np.flatnonzero(-keys <= np.partition(-keys, n - 1)[n - 1])
    return kept[np.argsort(-keys[kept], kind="stable")][:n]


def _lift(weights: np.ndarray, mean: np.ndarray) -> np.ndarray:
    return np.divide(weights, mean, out=np.ones_like(weights, dtype=np.float64), where=mean > 0)

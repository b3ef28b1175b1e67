"""Objects as a model sees them: a map, the most typical of each group, those that the views dispute, what is in them.

The map is a principal component analysis, or t-SNE, of what all views, and each of them alone, say of an object.
Memberships are put on the scale of their logarithms first, where near-certain ones still differ; positions stay as they
are. In t-SNE the features of the objects count as well. Every object is moved by a little, so that those at one place
do not hide each other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.manifold import TSNE
from sklearn.preprocessing import normalize

from coview.engines.neighbors import find_neighbors
from coview.inspection.by_view import ViewReadings
from coview.inspection.contract import Inspection
from coview.inspection.features import deviations_of, feature_names, holds_vectors, is_measured
from coview.inspection.known import objects_by_view
from coview.inspection.names import measured_word
from coview.inspection.reading import embed_objects
from coview.inspection.records import Reading
from coview.preprocessing.vectorizer import is_char_ngram
from coview.preprocessing.weighting import compute_idf
from coview.utils.sampling import sample_positions
from coview.validation import check_option
from coview.views.views import Views

__all__ = [
    "disputed_objects",
    "distinctive_features",
    "map_objects",
    "measured_deviations",
    "place",
    "typical_objects",
]

FLOOR = 1e-3  # memberships below are taken as equal
LEAST_TYPICAL = 0.5  # of what the most typical object counts
FEWEST_OF_TSNE, LANDMARKS = 30, 600  # objects; of more than the latter, a sample is placed and the rest beside it
BESIDE = 5  # objects of the sample between which another one stands
FEATURE_SHARE = 0.25  # of the variance, of features beside memberships
JITTER = 0.005  # of the map
TINY = float(np.finfo(np.float32).tiny)  # what may be divided by, in single precision too
CONFIDENT = 0.5  # share of its group from which on a view is sure of an object
BEYOND_CHANCE = 2.0  # standard errors, from which on a view says something of the groups
FAR = 1.0  # standard deviations, from which on a measurement of one object is high or low
METHODS = ("pca", "tsne")


def map_objects(
    inspection: Inspection, readings: ViewReadings, method: str = "pca", seed: int = 0
) -> tuple[np.ndarray, str] | None:
    """Return a position in the plane for each object, and in words how it was found; None where that cannot be.

    See `place` for the methods.
    """
    parts = [readings.whole, *readings.alone.values()]
    if not all(part.graded for part in parts):  # groups alone make no map: the space of the model does
        some = [readings.views, *(readings.views.select(view) for view in readings.alone)]
        parts = [Reading(embed_objects(inspection, views, prepared=True), None) for views in some]
    return place([part.memberships for part in parts if part.graded], readings.views, method, seed)


def place(
    parts: Sequence[np.ndarray | None], views: Views | None = None, method: str = "pca", seed: int = 0
) -> tuple[np.ndarray, str] | None:
    """Return a position in the plane for each object, and in words how it was found; None where that cannot be.

    Parameters
    ----------
    parts : list of ndarray
        Memberships or positions of the same objects: from all views, and from each alone where there are several.
    views : Views, optional
        The objects; their features are used where the parts have too few columns to make a plane, and by t-SNE.
    method : {"pca", "tsne"}, default="pca"
        Principal components, or t-SNE, which places 600 objects, and each other one between the 5 of them that are
        nearest. Fewer than 30 objects are placed by principal components.
    seed : int, default=0
        Seed of t-SNE.
    """
    check_option("method", method, METHODS)
    matrices = _filled([part for part in parts if part is not None])
    what = "memberships" if matrices and all(map(_are_shares, matrices)) else "scores"
    nothing = np.zeros((len(views or ()), 0))
    matrix = np.hstack([_scaled(part) for part in matrices]) if matrices else nothing
    flat = matrix.shape[1] < 3 or len(matrix) < 3 or np.linalg.matrix_rank(matrix[:200] - matrix[:200].mean(axis=0)) < 2
    by_tsne = method == "tsne" and len(matrix) >= FEWEST_OF_TSNE
    features = _features(views, seed) if flat or by_tsne else None
    if flat:
        if features is None:
            return None
        matrix, what = features, "features"
    elif features is not None:
        scale = np.sqrt(FEATURE_SHARE * matrix.var(axis=0).sum() / max(features.var(axis=0).sum(), TINY))
        matrix, what = np.hstack([matrix, scale * features]), f"{what} and features"
    if by_tsne:
        positions, how = _by_tsne(matrix, seed), f"t-SNE of {what}"
    else:
        positions, how = PCA(2, random_state=seed).fit_transform(matrix), f"PCA of {what}"
    moves = np.random.default_rng(seed).uniform(-JITTER, JITTER, positions.shape)
    return positions + moves * np.ptp(positions, axis=0), how


def typical_objects(reading: Reading, n_groups: int, views: Views, n: int = 3) -> list[list[int]]:
    """Return for each group the rows of objects that are typical of it.

    A group's objects count by membership times cosine to the mean of the group, and are chosen one after the other by
    maximal marginal relevance (Carbonell and Goldstein, 1998): what counts is less by the cosine to the nearest object
    that is chosen already, so that no two of them are near-duplicates. Objects that count less than half as much as the
    first come last. Cosines are means over the views; an object without any feature is not typical of anything.
    """
    if reading.codes is None or reading.memberships is None:
        return [[] for _ in range(n_groups)]
    unit = [sparse.csr_array(normalize(sparse.csr_array(matrix))) for matrix in views.values()]
    known = np.any(list(objects_by_view(views, counts=True).values()), axis=0)  # 0 has no direction
    rows = []
    for group in range(n_groups):
        members = np.flatnonzero((reading.codes == group) & known)
        best = _different([matrix[members] for matrix in unit], reading.memberships[members, group], n)
        rows.append(members[best].tolist())
    return rows


def _different(parts: Sequence[sparse.csr_array], share: np.ndarray, n: int) -> list[int]:
    """Positions of n typical objects that differ; `parts` are their rows in each view, of length one."""
    if len(share) < 2:
        return list(range(len(share)))
    means = [np.asarray(part.mean(axis=0)).reshape(-1) for part in parts]
    central = sum(part @ (mean / max(float(np.linalg.norm(mean)), TINY)) for part, mean in zip(parts, means))
    worth = share * central / len(parts)
    worth[worth < LEAST_TYPICAL * worth.max()] -= 2.0  # an outlier differs from all others, but is not typical
    nearest = np.zeros(len(worth))
    chosen: list[int] = []
    while len(chosen) < min(n, len(worth)):
        gain = worth - nearest
        gain[chosen] = -np.inf
        best = int(gain.argmax())
        chosen.append(best)
        cosines = sum((part @ part[[best]].T).toarray().reshape(-1) for part in parts) / len(parts)
        nearest = np.maximum(nearest, cosines)
    return chosen


def disputed_objects(readings: ViewReadings, n: int = 10, noise: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the objects that views put into different groups, each with confidence; the surest dispute first.

    A view is confident of a group that it gives a share of at least one half, and a dispute is as sure as the surest
    view with another opinion than the surest. Views of `noise`, and those that agree with all views no more than chance
    would, have no opinions; nor has a view of an object without any feature in it.

    Returns
    -------
    list of dict
        With "row", "strength" (the share, 0.5 to 1) and "codes" (group by view, of those that are confident).
    """
    codes, sure = {}, {}
    for name, alone in readings.alone.items():
        have = readings.described[name]
        if name in noise or alone.codes is None or alone.memberships is None or not _tells(alone, readings.whole, have):
            continue
        share = np.take_along_axis(alone.memberships, alone.codes[:, None], axis=1)[:, 0]
        codes[name], sure[name] = alone.codes, np.where(have & (alone.codes >= 0) & (share >= CONFIDENT), share, -1.0)
    if len(codes) < 2:
        return []
    said, shares = np.column_stack([*codes.values()]), np.column_stack([*sure.values()])
    first = np.take_along_axis(said, shares.argmax(axis=1)[:, None], axis=1)
    strength = np.where(said != first, shares, -1.0).max(axis=1)
    return [
        {
            "row": row,
            "strength": float(strength[row]),
            "codes": {name: int(codes[name][row]) for name in codes if sure[name][row] > 0},
        }
        for row in np.argsort(-strength, kind="stable")[:n].tolist()
        if strength[row] > 0
    ]


def _tells(alone: Reading, whole: Reading, have: np.ndarray) -> bool:
    """Whether a view puts more objects where all views put them than groups of these sizes would by chance."""
    if alone.codes is None or whole.codes is None or not have.any():
        return False
    own, all_views = alone.codes[have], whole.codes[have]
    chance = sum(np.mean(own == group) * np.mean(all_views == group) for group in np.unique(own))
    return bool(np.mean(own == all_views) > chance + BEYOND_CHANCE * np.sqrt(chance * (1 - chance) / len(own)))


def measured_deviations(inspection: Inspection, views: Views) -> dict[str, np.ndarray]:
    """Return views of measurements in standard deviations from the mean of the objects that have the view."""
    found = {}
    for v, (view, matrix) in enumerate(views.items()):
        have = views.present[:, v]
        read = view in inspection.views and have.any() and not sparse.issparse(matrix)
        if read and is_measured(inspection, view, views):
            values = np.asarray(matrix, dtype=np.float64)
            found[view] = deviations_of(values, values[have].mean(axis=0), values[have].std(axis=0))
    return found


def distinctive_features(
    inspection: Inspection, views: Views, rows: Sequence[int], n: int = 8
) -> list[dict[str, list[str]]]:
    """Return the features that say most of each of some objects, by view.

    Of counts these are frequent in the object and rare elsewhere, of measurements far from the mean. Views of vectors
    say nothing.

    Examples
    --------
    >>> from coview import PLSA, inspect
    >>> X = Views(words=np.array([[1, 3, 0], [1, 0, 2]]), feature_names={"words": ["the", "cat", "dog"]})
    >>> distinctive_features(inspect(PLSA(1).fit(X)), X, [0], n=1)
    [{'words': ['cat']}]
    """
    described: list[dict[str, list[str]]] = [{} for _ in rows]
    deviations = measured_deviations(inspection, views)
    for v, view in enumerate(views.names):
        if view not in inspection.views or holds_vectors(inspection, view, views):
            continue
        names = feature_names(inspection, view, views)
        if view in deviations:
            strengths, least = iter(deviations[view][rows]), FAR
        else:
            matrix = sparse.csr_array(views[view])
            # less than the idf that models use: what all objects have says nothing of one of them
            rarity = compute_idf(matrix[sample_positions(matrix.shape[0], 5_000)]) - 1 + 1e-6
            rarity[[is_char_ngram(name) for name in names]] = 0
            strengths, least = (np.abs(matrix[[row]].toarray()[0]) * rarity for row in rows), TINY
        for said, row, line in zip(described, rows, strengths):
            if views.present[row, v]:
                best = np.argsort(-np.abs(line), kind="stable")[:n]
                told = [(names[j], line[j]) for j in best.tolist() if abs(line[j]) >= least]
                said[view] = [measured_word(*one) if view in deviations else one[0] for one in told]
    return described


def _features(views: Views | None, seed: int) -> np.ndarray | None:
    """Objects by the leading directions of all their features, each view counting alike; None of too few."""
    if views is None or min(len(views), views.shape[1]) < 3:
        return None
    beside = sparse.csr_array(normalize(sparse.hstack([normalize(sparse.csr_array(m)) for m in views.values()])))
    return TruncatedSVD(min(20, min(beside.shape) - 1), random_state=seed).fit_transform(beside)


def _filled(parts: list[np.ndarray]) -> list[np.ndarray]:
    """Memberships by view; where a view says nothing of an object, its row is that of all views, the first part."""
    described = [part[part.any(axis=1)] for part in parts]  # none where a view says nothing of any object
    if not all(part.shape == parts[0].shape for part in parts) or not all(map(_are_shares, filter(len, described))):
        return parts
    return [np.where(part.any(axis=1, keepdims=True), part, parts[0]) for part in parts]


def _are_shares(part: np.ndarray) -> bool:
    """Whether rows are not negative and sum to one."""
    return bool(part.size and (part >= 0).all() and np.allclose(part.sum(axis=1), 1, atol=1e-3))


def _scaled(part: np.ndarray) -> np.ndarray:
    if not _are_shares(part):
        spread = part.std()
        return part / spread if spread > 0 else part
    logs = np.log(part + FLOOR)
    return logs - logs.mean(axis=1, keepdims=True)


def _by_tsne(matrix: np.ndarray, seed: int) -> np.ndarray:
    """Positions by t-SNE of a sample, which takes about a second; the others stand between their nearest ones."""
    if min(matrix.shape) > 30:
        matrix = PCA(30, random_state=seed).fit_transform(matrix)
    rows = sample_positions(len(matrix), LANDMARKS, seed)
    perplexity = min(30.0, (len(rows) - 1) / 3)
    mapper = TSNE(2, perplexity=perplexity, init="pca", max_iter=500, random_state=seed, n_jobs=1)
    placed = mapper.fit_transform(np.ascontiguousarray(matrix[rows]))
    distances, near = find_neighbors(matrix, BESIDE, matrix[rows])
    weights = np.exp(-4.5 * (distances / np.maximum(distances[:, -1:], TINY)) ** 2)  # the last is three sigma away
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("ij,ijk->ik", weights, placed[near]).astype(np.float64)

"""Objects of a model: a map of them, the most typical of each group, and those that the views dispute most.

The map is a principal component analysis of what all views, and each of them alone, say of an object. Memberships
are put on the scale of their logarithms first, where near-certain ones still differ; other scores stay as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import normalize

from coview.report.contributions import ViewReadings
from coview.report.reader import Reading, sample_rows
from coview.utils.jsonable import plain
from coview.views.views import Views

__all__ = ["disputed_objects", "place_objects", "typical_objects", "words_of_objects"]

FLOOR = 1e-3  # memberships below are taken as equal
FEWEST_OF_UMAP = 5  # objects; it cannot start from its spectrum with fewer


def place_objects(
    readings: list[Reading], views: Views | None = None, method: str = "pca", seed: int = 0
) -> tuple[np.ndarray, str] | None:
    """Return a place in the plane for each object, and in words how it was found; None where that cannot be.

    Parameters
    ----------
    readings : list of Reading
        Readings of the same objects: from all views, and from each alone where there are several.
    views : Views, optional
        The objects; their features are used where the scores have too few columns to make a plane.
    method : {"pca", "umap", "auto"}, default="pca"
        Principal components, or UMAP (the package umap-learn); "auto" is UMAP where it is installed. Fewer
        than 5 objects are placed by principal components.
    seed : int, default=0
        Seed of UMAP.

    Examples
    --------
    >>> import numpy as np
    >>> shares = np.random.default_rng(0).dirichlet(np.ones(4), size=30)
    >>> places, method = place_objects([Reading(shares, shares.argmax(axis=1))])
    >>> places.shape, method
    ((30, 2), 'PCA of memberships')
    """
    parts = [reading for reading in readings if reading.scores is not None]
    what = "memberships" if parts and all(reading.shares for reading in parts) else "scores"
    columns = [_scaled(reading) for reading in parts]
    matrix = np.hstack(columns) if columns else np.zeros((0, 0))
    if matrix.shape[1] < 3 or len(matrix) < 3 or np.linalg.matrix_rank(matrix[:200] - matrix[:200].mean(axis=0)) < 2:
        if views is None or len(views) < 3 or views.shape[1] < 3:
            return None
        glued = sparse.csr_array(normalize(sparse.hstack([normalize(sparse.csr_array(m)) for m in views.values()])))
        kept = min(20, min(glued.shape) - 1)
        matrix, what = TruncatedSVD(kept, random_state=seed).fit_transform(glued), "features"
    if method == "auto":
        method = "umap" if _has_umap() else "pca"
    if method not in ("pca", "umap"):
        raise ValueError(f"method must be 'pca', 'umap' or 'auto', got {method!r}.")
    if method == "umap" and not _has_umap():
        raise ValueError(
            "A map by UMAP needs the package umap-learn, which is not installed. Run: pip install umap-learn, or "
            "choose 'pca'."
        )
    if method == "umap" and len(matrix) >= FEWEST_OF_UMAP:
        return _by_umap(matrix, seed), f"UMAP of {what}"
    return PCA(2, random_state=seed).fit_transform(matrix), f"PCA of {what}"


def typical_objects(reading: Reading, n_groups: int, n: int = 3) -> list[list[int]]:
    """Return for each group the rows of the objects that belong to it most.

    Examples
    --------
    >>> import numpy as np
    >>> shares = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    >>> typical_objects(Reading(shares, shares.argmax(axis=1), True), 2, n=1)
    [[0], [2]]
    """
    if reading.codes is None or reading.scores is None or not reading.by_group:
        return [[] for _ in range(n_groups)]
    found = []
    for group in range(n_groups):
        members = np.flatnonzero(reading.codes == group)
        best = np.argsort(-reading.scores[members, group], kind="stable")[:n]
        found.append(members[best].tolist())
    return found


def disputed_objects(readings: ViewReadings, n: int = 10) -> list[dict[str, Any]]:
    """Return the objects that views put into different groups, each view sure of its own; the surest dispute first.

    A dispute is as sure as the second surest view with another opinion than the surest.
    """
    alone = {name: reading for name, reading in readings.alone.items() if reading.codes is not None}
    if len(alone) < 2:
        return []
    names = list(alone)
    codes = np.column_stack([np.asarray(alone[name].codes) for name in names])
    have = np.column_stack([readings.present[name] for name in names])
    margins = [alone[name].margins() for name in names]
    sure = np.column_stack([np.zeros(len(codes)) if m is None else m / max(m.max(initial=0), 1e-300) for m in margins])
    sure = np.where(have, sure, -1.0)
    first = sure.argmax(axis=1)
    other = np.where((codes != codes[np.arange(len(codes)), first][:, None]) & have, sure, -1.0)
    strength = other.max(axis=1)
    order = [i for i in np.argsort(-strength, kind="stable")[:n] if strength[i] >= 0]
    return plain(
        [
            {
                "row": int(i),
                "strength": float(strength[i]),
                "by_view": {name: int(codes[i, v]) for v, name in enumerate(names) if have[i, v]},
                "sure": {name: float(sure[i, v]) for v, name in enumerate(names) if have[i, v]},
            }
            for i in order
        ]
    )


def words_of_objects(views: Views, rows: list[int], feature_names: dict[str, Any], n: int = 8) -> list[dict[str, Any]]:
    """Return the features that say most of each of some objects, by view: frequent in it and rare elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> X = Views(words=np.array([[1.0, 3.0, 0.0], [1.0, 0.0, 2.0]]))
    >>> words_of_objects(X, [0], {"words": ["the", "cat", "dog"]}, n=1)
    [{'words': ['cat']}]
    """
    found: list[dict[str, Any]] = [{} for _ in rows]
    for v, name in enumerate(views.names):
        matrix: Any = views[name]
        labels = feature_names.get(name)
        sampled = matrix[sample_rows(matrix.shape[0], 5_000)]
        if sparse.issparse(matrix):
            seen = np.asarray((sampled != 0).sum(axis=0)).reshape(-1)
            rarity, center = np.log((1 + sampled.shape[0]) / (1 + seen)) + 1e-6, 0.0
        else:
            spread = sampled.std(axis=0)
            center = sampled.mean(axis=0)
            rarity = np.divide(1, spread, out=np.zeros_like(spread, dtype=np.float64), where=spread > 0)
        for place, row in enumerate(rows):
            if not views.present[row, v]:
                continue
            values = matrix[[row]].toarray().reshape(-1) if sparse.issparse(matrix) else np.asarray(matrix[row])
            told = np.abs(values - center) * rarity
            best = [j for j in np.argsort(-told, kind="stable")[:n] if values[j] != 0]
            found[place][name] = [f"f{j}" if labels is None else str(labels[j]) for j in best]
    return found


def _scaled(reading: Reading) -> np.ndarray:
    scores = reading.scores if reading.scores is not None else np.zeros((0, 0))
    if not reading.shares:
        spread = scores.std()
        return scores / spread if spread > 0 else scores
    logs = np.log(scores + FLOOR)
    return logs - logs.mean(axis=1, keepdims=True)


def _by_umap(matrix: np.ndarray, seed: int) -> np.ndarray:
    from umap import UMAP  # an optional package, slow to import

    # one job and few neighbors are what UMAP would come to by itself, with a warning each
    made = UMAP(n_neighbors=min(15, len(matrix) - 1), n_jobs=1, random_state=seed)
    return np.asarray(made.fit_transform(matrix), dtype=np.float64)


def _has_umap() -> bool:
    from importlib.util import find_spec

    try:
        return find_spec("umap") is not None
    except ValueError:  # it was taken out of the modules by hand
        return False

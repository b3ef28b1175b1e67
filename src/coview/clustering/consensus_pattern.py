"""First memberships without labels: one clustering per view, and the pattern that explains all of them (MVC).

Consensus (Long, Yu and Zhang 2008): the softened clusters of every view, A_v (objects x its clusters), are explained by
one pattern B (objects x clusters) and a mapping P_v (clusters x its clusters) per view:

    minimize sum_v D(A_v || B P_v),     D(A || C) = sum A log(A / C) - A + C

Rows of A_v, B and P_v sum to one, so B is read as memberships and a view that an object lacks just drops its term.
With R_v = A_v / (B P_v), the updates B <- rows(B * sum_v R_v P_v^T) and P_v <- rows(P_v * B^T R_v) never raise it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from coview.views.arrays import take_rows
from coview.views.matrices import for_sklearn, unit_rows
from coview.views.views import Views

__all__ = [
    "Consensus",
    "consensus",
    "consensus_memberships",
    "default_clusterer",
    "fold_in_consensus",
    "several_memberships",
    "side_by_side_memberships",
    "soft_indicators",
]

SOFTNESS = 0.01  # share of every one-hot row that is spread over all clusters
FLOOR = 1e-12
SMALL = 50_000  # entries of the patterns of all starts up to which every start is followed to its end
HEAT = 5  # updates of each start, above that, before the best one goes on alone


@dataclass(frozen=True)
class Consensus:
    """A common clustering of several."""

    memberships: np.ndarray  # objects x clusters, rows sum to one
    mappings: list[np.ndarray]  # clusters x clusters of the view, rows sum to one
    objective: list[float]  # minus the divergence, from the start on; never falls


def consensus_memberships(views: Views, n_clusters: int, seed: int) -> np.ndarray:
    """Memberships of objects by consensus of one k-means (on unit-length rows) per view.

    Parameters
    ----------
    views : Views
        Views of any real numbers.
    n_clusters : int
        Number of clusters, of each view and of the consensus.
    seed : int
        Seed of k-means and of the consensus.

    Returns
    -------
    ndarray (n_objects, n_clusters)
        Rows sum to one. An object without any view is uniform.

    Examples
    --------
    >>> import numpy as np
    >>> X = Views(words=np.array([[3, 0], [2, 0], [0, 3]]), links=np.array([[1, 0], [2, 1], [0, 1]]))
    >>> found = consensus_memberships(X, 2, seed=0).argmax(axis=1)
    >>> bool(found[0] == found[1]), bool(found[0] == found[2])
    (True, False)
    """
    return next(several_memberships(views, n_clusters, [seed]))


def several_memberships(
    views: Views, n_clusters: int, seeds: Iterable[int], *, rough: bool = False
) -> Iterator[np.ndarray]:
    """Yield one consensus for each seed.

    Rough ones are of k-means with one start, and start from the views' own clusterings alone: less good each, but
    quick, and more different from each other.
    """
    rows = {}
    for v, (name, matrix) in enumerate(views.items()):
        have = views.present[:, v]
        if have.any():
            rows[v] = unit_rows(matrix if have.all() else take_rows(views[name], np.flatnonzero(have)))
    for seed in seeds:
        labels = [np.full(len(views), -1) for _ in views.names]
        for v, part in rows.items():
            clusterer = default_clusterer(min(n_clusters, part.shape[0]), seed, n_init=1 if rough else 5)
            labels[v][views.present[:, v]] = clusterer.fit(part).labels_
        settings: dict[str, Any] = {"n_init": len(labels), "tol": 1e-5} if rough else {}
        yield consensus(labels, n_clusters, seed=seed, **settings).memberships


def side_by_side_memberships(views: Views, n_clusters: int, seeds: Iterable[int]) -> Iterator[np.ndarray]:
    """Yield, for each seed, memberships by one start of k-means on the unit-length rows of all views side by side."""
    joined = Views({name: normalize(matrix) for name, matrix in views.items()}).hstack()
    known = views.present.any(axis=1)
    rows = for_sklearn(joined if known.all() else take_rows(joined, np.flatnonzero(known)))
    for seed in seeds:
        labels = np.full(len(views), -1)
        if known.any():
            labels[known] = default_clusterer(min(n_clusters, rows.shape[0]), seed, n_init=1).fit(rows).labels_
        found = soft_indicators(labels, n_clusters)
        found[~known] = 1.0 / n_clusters
        yield found


def default_clusterer(n_clusters: int, seed: int, n_init: int = 5) -> KMeans:
    """Return the clusterer of one view: k-means, several starts."""
    return KMeans(n_clusters, n_init=n_init, random_state=seed)


def soft_indicators(labels: np.ndarray, n_clusters: int, softness: float = SOFTNESS) -> np.ndarray:
    """One-hot rows mixed with the uniform distribution; rows of label -1 are all zero.

    Examples
    --------
    >>> import numpy as np
    >>> soft_indicators(np.array([1, -1]), 2, softness=0.1)
    array([[0.05, 0.95],
           [0.  , 0.  ]])
    """
    known = labels >= 0
    soft = np.zeros((len(labels), n_clusters))
    soft[known] = softness / n_clusters
    soft[np.flatnonzero(known), labels[known]] += 1 - softness
    return soft


def consensus(
    labels: Sequence[np.ndarray],
    n_clusters: int,
    *,
    seed: int,
    weights: Sequence[float] | np.ndarray | None = None,
    softness: float = SOFTNESS,
    max_iter: int = 300,
    tol: float = 1e-7,
    n_init: int = 10,
) -> Consensus:
    """Common pattern of several clusterings of the same objects; label -1 means that an object has none there.

    Objects with the same labels in every view have the same row in every A_v, so the work is done once for each such
    group. The first starts are the views' own clusterings where they have `n_clusters` clusters, the others random.
    Where groups and clusters are many, only the start that is ahead after some updates is followed to its end.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.array([0, 0, 0, 1, 1, 1]), np.array([1, 1, 1, 0, 0, -1])
    >>> found = consensus([a, b], 2, seed=0).memberships.argmax(axis=1)
    >>> bool((found == found[0])[:3].all()), bool((found != found[0])[3:].all())
    (True, True)
    """
    groups, sizes = np.unique(np.column_stack(labels), axis=0, return_counts=True)
    widths = [max(int(column.max()) + 1, 1) for column in groups.T]
    parts = [soft_indicators(column, width, softness) for column, width in zip(groups.T, widths)]
    heft = np.ones(len(parts)) if weights is None else np.asarray(weights, dtype=np.float64)
    own = [part for part, width in zip(parts, widths) if width == n_clusters]
    search = _Search(parts, sizes.astype(np.float64), heft, tol)
    heat = max_iter if len(groups) * n_clusters * n_init <= SMALL else min(HEAT, max_iter)
    best: _Pattern | None = None
    for restart in range(n_init):
        rng = np.random.default_rng([seed, restart])
        rows = rng.gamma(1.0, size=(len(groups), n_clusters))
        if restart < len(own):  # not so near to one-hot that it could not move
            rows = own[restart] + 0.3 * rows / rows.sum(axis=1, keepdims=True)
        found = search.go_on(search.start(_shares(rows)), heat)
        if best is None or found.objective[-1] > best.objective[-1]:
            best = found
    assert best is not None
    if not best.at_rest:
        best = search.go_on(best, max_iter - heat)
    memberships = fold_in_consensus(labels, best.mappings, weights=weights, softness=softness)
    return Consensus(memberships, best.mappings, best.objective)


def fold_in_consensus(
    labels: Sequence[np.ndarray],
    mappings: Sequence[np.ndarray],
    *,
    weights: Sequence[float] | np.ndarray | None = None,
    softness: float = SOFTNESS,
    max_iter: int = 300,
    tol: float = 1e-9,
) -> np.ndarray:
    """Memberships of objects whose clusters in some views are known, the mappings being fixed.

    The problem of one object is convex, so that its answer depends neither on a start nor on the other objects.
    """
    groups, member = np.unique(np.column_stack(labels), axis=0, return_inverse=True)
    parts = [soft_indicators(column, mapping.shape[1], softness) for column, mapping in zip(groups.T, mappings)]
    heft = np.ones(len(parts)) if weights is None else np.asarray(weights, dtype=np.float64)
    pattern = np.full((len(groups), len(mappings[0])), 1.0 / len(mappings[0]))
    moving = np.arange(len(groups))
    here, given = pattern, parts
    for _ in range(max_iter):
        moved = _move_pattern(given, here, mappings, [here @ mapping for mapping in mappings], heft)
        change = np.abs(moved - here).max(axis=1)
        pattern[moving] = here = moved
        still = change > tol
        if not still.all():  # the others are there
            moving, here, given = moving[still], here[still], [part[still] for part in given]
        if not moving.size:
            break
    return pattern[member.ravel()]


@dataclass
class _Pattern:
    """Where one start stands; `models` are the products of pattern and mappings."""

    rows: np.ndarray
    mappings: list[np.ndarray]
    models: list[np.ndarray]
    objective: list[float]
    at_rest: bool = False


class _Search:
    """The updates of one problem: softened clusters of groups of objects by view, sizes of the groups."""

    def __init__(self, parts: list[np.ndarray], sizes: np.ndarray, heft: np.ndarray, tol: float) -> None:
        self.parts, self.heft, self.tol = parts, heft, tol
        self.counts = [part * sizes[:, None] for part in parts]
        self.least = sum(
            weight * float(xlogy(count, part).sum()) for weight, count, part in zip(heft, self.counts, parts)
        )

    def start(self, rows: np.ndarray) -> _Pattern:
        mappings = [_shares(rows.T @ count) for count in self.counts]
        models = [rows @ mapping for mapping in mappings]
        return _Pattern(rows, mappings, models, [self._objective(models)])

    def go_on(self, at: _Pattern, updates: int) -> _Pattern:
        for _ in range(updates):
            rows = _move_pattern(self.parts, at.rows, at.mappings, at.models, self.heft)
            mappings = [
                _shares(mapping * (rows.T @ (count / np.maximum(rows @ mapping, FLOOR))))
                for count, mapping in zip(self.counts, at.mappings)
            ]
            models = [rows @ mapping for mapping in mappings]
            objective = self._objective(models)
            before = at.objective[-1]
            if objective >= before:  # else rounding: it is as good as it gets
                at.rows, at.mappings, at.models = rows, mappings, models
            at.objective.append(max(objective, before))
            if self.tol > 0 and at.objective[-1] - before <= self.tol * max(abs(before), FLOOR):
                at.at_rest = True
                break
        return at

    def _objective(self, models: list[np.ndarray]) -> float:
        """Minus the divergence; the sums of A and of its model are the same, since their rows sum to one."""
        near = sum(
            weight * float(np.vdot(count, np.log(np.maximum(model, FLOOR))))
            for weight, count, model in zip(self.heft, self.counts, models)
        )
        return near - self.least


def _move_pattern(
    parts: Sequence[np.ndarray],
    rows: np.ndarray,
    mappings: Sequence[np.ndarray],
    models: Sequence[np.ndarray],
    heft: np.ndarray,
) -> np.ndarray:
    pull = np.zeros_like(rows)
    for part, mapping, model, weight in zip(parts, mappings, models, heft):
        pull += weight * ((part / np.maximum(model, FLOOR)) @ mapping.T)
    return _shares(rows * pull)


def _shares(array: np.ndarray) -> np.ndarray:
    """Rows divided by their sums; a row that sums to zero becomes uniform."""
    total = array.sum(axis=1, keepdims=True)
    if total.min() > 0:
        return array / total
    return np.where(total > 0, array / np.where(total > 0, total, 1), 1.0 / array.shape[1])

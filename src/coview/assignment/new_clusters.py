"""New clusters for objects that fit no class: when to open one, and around which objects.

An object's fit is its best score, the largest sum over the views of its cosine with a class's centroid. Labeled
objects say what to expect: m of them, each judged by centroids that do not contain it, have fits c_1 <= ... <= c_m. If
the unlabeled objects are of the same classes, the share of them with a fit below c_k has the distribution
Beta(k, m - k + 1), whatever the classes look like. With k about 5 % of m:

    open a cluster   while so many unlabeled objects fit worse than c_k that the chance of it is below 5 %
    around           the densest spot among those objects: as many of them as a class has labels (the median), taken
                     by their cosine with each other
    unless           these do not fit each other as well as c_k: then there is no class to be seen

Centroids of new clusters come from as many objects as those of classes, since more objects make a centroid fit
everything better. The sweeps that follow treat new clusters as any class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import betabinom

from coview.engines.deadline import NO_DEADLINE, Deadline
from coview.engines.protocol import Block, Engine
from coview.engines.state import Tree
from coview.views.arrays import take_rows
from coview.views.views import Views

__all__ = ["SHARE", "SURE", "new_centers", "open_clusters"]

SHARE = 0.05  # of the labeled objects fit worse than the threshold
SURE = 0.05  # chance that nothing new looks as new
_MOST = 50  # clusters that "auto" opens
_ROUNDS = 10  # of moving a new center


def open_clusters(
    views: Views,
    codes: np.ndarray,
    shared: Tree,
    engine: Engine,
    blocks: list[Block],
    weights: dict[str, float],
    most: int | None,
    deadline: Deadline = NO_DEADLINE,
) -> Tree:
    """Centroids with a further column for each new cluster; `most` None opens as many as there are signs of.

    After the deadline none is opened.
    """
    old = {name: engine.to_numpy(part) for name, part in shared["centroids"].items()}
    scale = np.array([weights.get(name, 1.0) for name in views.names])
    centers = new_centers(views, codes, list(old.values()), scale, most, deadline)
    if not centers:
        return shared
    return {
        "centroids": {
            name: engine.asarray(np.column_stack([part, *(center[v] for center in centers)]).astype(part.dtype))
            for v, (name, part) in enumerate(old.items())
        }
    }


def new_centers(
    views: Views,
    codes: np.ndarray,
    centroids: list[np.ndarray],
    weights: np.ndarray,
    most: int | None,
    deadline: Deadline = NO_DEADLINE,
) -> list[list[np.ndarray]]:
    """Centers of new clusters, a vector per view each. Rows of the views have length 1 or 0."""
    matrices = list(views.values())
    scores: Any = sum(w * np.asarray(X @ C) for w, X, C in zip(weights, matrices, centroids))
    labeled, free = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
    expected = _expected_fits(matrices, weights, scores, codes, labeled)
    if not len(expected) or not len(free):
        return []
    k = max(1, int(SHARE * (len(expected) + 1)))
    least = expected[k - 1]
    sizes = np.bincount(codes[labeled])
    size = max(2, int(np.median(sizes[sizes > 0])))
    parts = [take_rows(X, free) for X in matrices]
    fit = scores[free].max(axis=1)
    centers: list[list[np.ndarray]] = []
    while len(centers) < (_MOST if most is None else most) and not deadline.is_over():
        poor = np.flatnonzero(fit < least)
        chance = betabinom.sf(len(poor) - 1, len(free), k, len(expected) - k + 1)
        if len(poor) < size or (most is None and chance >= SURE):
            break
        members, center = _densest(parts, weights, poor, size)
        own = _others_fit(parts, weights, members, center)
        if most is None and np.median(own) < least:
            break
        centers.append([_unit(total) for total in center])
        fresh: Any = sum(w * np.asarray(X @ c).ravel() for w, X, c in zip(weights, parts, centers[-1]))
        fresh[members] = np.maximum(own, least)  # they are what the cluster is made of
        fit = np.maximum(fit, fresh)
    return centers


def _expected_fits(
    matrices: list[Any], weights: np.ndarray, scores: np.ndarray, codes: np.ndarray, labeled: np.ndarray
) -> np.ndarray:
    """Sorted fits of the labeled objects, each by centroids without it; those alone in their class tell nothing."""
    sizes = np.bincount(codes[labeled])
    rows = labeled[sizes[codes[labeled]] > 1]
    fits = scores[rows].copy()
    own = np.zeros(len(rows))
    for w, X in zip(weights, matrices):
        one_hot = sparse.csr_array(
            (np.ones(len(labeled)), (codes[labeled], np.arange(len(labeled)))), shape=(len(sizes), len(labeled))
        )
        total = one_hot @ take_rows(X, labeled)
        total = total.toarray() if sparse.issparse(total) else np.asarray(total)
        part = take_rows(X, rows)
        own += w * _without_self(
            _row_dots(part, total[codes[rows]]), (total**2).sum(axis=1)[codes[rows]], _row_dots(part, part)
        )
    fits[np.arange(len(rows)), codes[rows]] = own
    return np.sort(fits.max(axis=1)) if len(rows) else own


def _densest(parts: list[Any], weights: np.ndarray, poor: np.ndarray, size: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Objects around the densest spot: the one nearest to the mean of all, then the `size` nearest, until they stay."""
    mine = [take_rows(X, poor) for X in parts]
    center = [_sum_rows(X) for X in mine]
    members = poor[:0]
    for turn in range(_ROUNDS):
        near: Any = sum(w * np.asarray(X @ _unit(c)).ravel() for w, X, c in zip(weights, mine, center))
        chosen = np.sort(np.argsort(-near, kind="stable")[: 1 if turn == 0 else size])
        if np.array_equal(chosen, members):
            break
        members = chosen
        center = [_sum_rows(take_rows(X, members)) for X in mine]
    return poor[members], center


def _others_fit(parts: list[Any], weights: np.ndarray, members: np.ndarray, center: list[np.ndarray]) -> np.ndarray:
    """Fit of each member with the others."""
    fits = np.zeros(len(members))
    for w, X, total in zip(weights, parts, center):
        part = take_rows(X, members)
        dots = np.asarray(part @ total).ravel()
        fits += w * _without_self(dots, np.full(len(members), float(total @ total)), _row_dots(part, part))
    return fits


def _without_self(dots: np.ndarray, squares: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Cosine of x with S - x, from <S, x>, |S|^2 and |x|^2."""
    rest = np.sqrt(np.maximum(squares - 2 * dots + own, 0.0))
    return np.divide(dots - own, rest, out=np.zeros_like(rest), where=rest > 1e-9)


def _row_dots(X: Any, rows: Any) -> np.ndarray:
    product = X.multiply(rows) if sparse.issparse(X) else X * rows
    return np.asarray(product.sum(axis=1)).ravel().astype(np.float64)


def _sum_rows(X: Any) -> np.ndarray:
    return np.asarray(X.sum(axis=0)).ravel().astype(np.float64)


def _unit(total: np.ndarray) -> np.ndarray:
    length = float(np.sqrt(total @ total))
    return total / length if length > 0 else total

"""First memberships of objects: naive Bayes where some labels are known, consensus clustering where none is.

Naive Bayes (multinomial), per view v and averaged over the views that an object has:

    p(z|x, v) ~ p(z) prod_f p(f|z, v)^x_f,     p(f|z, v) = (counts + alpha) / (their sum over f)

Consensus (MVC; Long, Yu and Zhang 2008): the softened clusters of every view, A_v (objects x its clusters), are
explained by one pattern B (objects x clusters) and a mapping P_v (clusters x its clusters) per view:

    minimise sum_v D(A_v || B P_v),     D(A || C) = sum A log(A / C) - A + C

Rows of A_v, B and P_v sum to one, so B is read as memberships and a view that an object lacks just drops its term.
With R_v = A_v / (B P_v), the updates B <- rows(B * sum_v R_v P_v^T) and P_v <- rows(P_v * B^T R_v) never raise it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax, xlogy
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from coview.data.arrays import take_rows
from coview.data.views import Views
from coview.engines.passes import over_rows, sample_rows

__all__ = [
    "Consensus",
    "NaiveBayesStart",
    "class_feature_counts",
    "consensus",
    "consensus_memberships",
    "count_scales",
    "default_clusterer",
    "feature_log_prob",
    "fold_in_consensus",
    "for_sklearn",
    "log_shares",
    "mean_posterior",
    "naive_bayes_posterior",
    "sampled_start",
    "soft_indicators",
    "unit_rows",
    "view_posterior",
]

SOFTNESS = 0.01  # share of every one-hot row that is spread over all clusters
FLOOR = 1e-12


def naive_bayes_posterior(views: Views, codes: np.ndarray, n_classes: int, alpha: float = 1.0) -> np.ndarray:
    """Mean of the posteriors of one multinomial naive Bayes per view, trained on the labelled objects.

    Parameters
    ----------
    views : Views
        Non-negative views.
    codes : ndarray of int (n_objects,)
        Class of each object, -1 without label.
    n_classes : int
        Number of classes.
    alpha : float, default=1.0
        Smoothing: so many more of each feature in each class (1 = Laplace).

    Returns
    -------
    ndarray (n_objects, n_classes)
        Rows sum to one. An object is averaged over the views that it has; one without any view is uniform.

    Examples
    --------
    >>> import numpy as np
    >>> X = Views(words=np.array([[3, 0], [0, 3], [2, 0]]), links=np.array([[1, 0], [0, 1], [1, 1]]))
    >>> naive_bayes_posterior(X, np.array([0, 1, -1]), 2).round(2)
    array([[0.83, 0.17],
           [0.17, 0.83],
           [0.72, 0.28]])
    """
    return NaiveBayesStart.learned(views, codes, n_classes, alpha)(views)


@dataclass(frozen=True)
class NaiveBayesStart:
    """One multinomial naive Bayes per view, learned in one pass; called with some rows it gives their mean posterior.

    Each view is scaled before (`scales`). Rows may be lazy: they are gone through some at a time.
    """

    log_probs: dict[str, np.ndarray]
    log_prior: np.ndarray
    scales: dict[str, float]

    @classmethod
    def learned(
        cls,
        views: Any,
        codes: np.ndarray,
        n_classes: int,
        alpha: float = 1.0,
        scales: dict[str, float] | None = None,
    ) -> NaiveBayesStart:
        """Learn from the labelled rows (code not -1) of views in memory or lazy."""
        scales = dict.fromkeys(views.names, 1.0) if scales is None else scales
        parts = over_rows(views, partial(_counts_by_view, codes=codes, n_classes=n_classes))
        counts = {name: sum(part[name] for part in parts) * scales[name] for name in views.names}
        prior = log_shares(np.bincount(codes[codes >= 0], minlength=n_classes))
        return cls({name: feature_log_prob(part, alpha) for name, part in counts.items()}, prior, scales)

    def __call__(self, views: Views) -> np.ndarray:
        posteriors = {
            name: view_posterior(matrix, self.log_probs[name] * self.scales[name], self.log_prior)
            for name, matrix in views.items()
        }
        n_classes = len(self.log_prior)
        return mean_posterior(posteriors, views.present, np.ones(len(posteriors)), np.full(n_classes, 1.0 / n_classes))


def _counts_by_view(views: Views, first: int, *, codes: np.ndarray, n_classes: int) -> dict[str, np.ndarray]:
    here = codes[first : first + len(views)]
    return {name: class_feature_counts(matrix, here, n_classes) for name, matrix in views.items()}


def count_scales(views: Any) -> dict[str, float]:
    """Factors that bring the typical entry of each view to 1 where it is below, so that Laplace's one more is small.

    Only a start is made so: EM itself does not see the scale of a view.
    """
    parts = over_rows(views, _sums_by_view)
    scales = {}
    for name in views.names:
        total, number = np.sum([part[name] for part in parts], axis=0)
        typical = total / number if number else 1.0
        scales[name] = 1.0 / typical if 0 < typical < 1 else 1.0
    return scales


def _sums_by_view(views: Views, first: int) -> dict[str, tuple[float, int]]:
    found = {}
    for name, matrix in views.items():
        values: Any = matrix.data if sparse.issparse(matrix) else matrix[matrix > 0]
        found[name] = (float(values.sum(dtype=np.float64)), len(values))
    return found


def sampled_start(views: Any, n_clusters: int, seed: int, most: int = 20_000) -> NaiveBayesStart:
    """Consensus of a sample of lazy rows, carried to all rows by naive Bayes."""
    sample = sample_rows(views, most)
    codes = consensus_memberships(sample, n_clusters, seed).argmax(axis=1)
    return NaiveBayesStart.learned(sample, codes, n_clusters, scales=count_scales(sample))


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
    labels = []
    for v, (name, matrix) in enumerate(views.items()):
        have = views.present[:, v]
        found = np.full(len(views), -1)
        if have.any():
            rows = unit_rows(matrix if have.all() else take_rows(views[name], np.flatnonzero(have)))
            found[have] = default_clusterer(min(n_clusters, rows.shape[0]), seed).fit(rows).labels_
        labels.append(found)
    return consensus(labels, n_clusters, seed=seed).memberships


# -- naive Bayes


def class_feature_counts(
    matrix: Any, codes: np.ndarray, n_classes: int, weights: np.ndarray | None = None
) -> np.ndarray:
    """Sum of the rows of each class (classes x features): one product with the sparse one-hot labels."""
    labelled = np.flatnonzero(codes >= 0)
    values = np.ones(len(labelled)) if weights is None else weights[labelled].astype(np.float64)
    if len(labelled) < len(codes):
        matrix, codes = take_rows(matrix, labelled), codes[labelled]
    one_hot = sparse.csr_array((values, (codes, np.arange(len(codes)))), shape=(n_classes, len(codes)))
    counts = one_hot @ matrix
    return counts.toarray() if sparse.issparse(counts) else np.asarray(counts)


def feature_log_prob(counts: np.ndarray, alpha: float) -> np.ndarray:
    """Log p(feature | class) from counts (classes x features) with `alpha` more of each; never minus infinity."""
    smoothed = counts + max(alpha, 1e-10)
    return np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True))


def view_posterior(matrix: Any, log_prob: np.ndarray, log_prior: np.ndarray) -> np.ndarray:
    """Posterior of each object from one view, in the view's own floating type."""
    dtype = matrix.dtype if matrix.dtype == np.float32 else np.float64
    # the mean over the classes cancels in the posterior; without it the sums over long objects keep their digits
    log_odds = log_prob - log_prob.mean(axis=0)
    joint = np.asarray(matrix @ np.ascontiguousarray(log_odds.T, dtype=dtype))
    return softmax(joint + log_prior.astype(dtype), axis=1)


def log_shares(counts: np.ndarray) -> np.ndarray:
    """Logarithm of the shares of the whole; minus infinity where the count is zero, uniform where all are."""
    total = counts.sum()
    if not total:
        return np.full(len(counts), -np.log(len(counts)))
    with np.errstate(divide="ignore"):
        return np.log(counts / total)


def mean_posterior(
    posteriors: Mapping[str, np.ndarray], present: np.ndarray, weights: np.ndarray, fallback: np.ndarray
) -> np.ndarray:
    """Weighted mean over the views that an object has; `fallback` where it has none with a weight."""
    shares = present * weights
    total = shares.sum(axis=1)
    first = next(iter(posteriors.values()))
    shares = (shares / np.where(total > 0, total, 1)[:, None]).astype(first.dtype)
    mean = np.zeros_like(first)
    for v, posterior in enumerate(posteriors.values()):
        mean += shares[:, v, None] * posterior
    mean[total <= 0] = fallback
    return mean


# -- consensus


@dataclass(frozen=True)
class Consensus:
    """A common clustering of several."""

    memberships: np.ndarray  # objects x clusters, rows sum to one
    mappings: list[np.ndarray]  # clusters x clusters of the view, rows sum to one
    objective: list[float]  # minus the divergence, from the start on; never falls


def default_clusterer(n_clusters: int, seed: int) -> KMeans:
    """Return the clusterer of one view: k-means, several starts."""
    return KMeans(n_clusters, n_init=5, random_state=seed)


def unit_rows(matrix: Any) -> Any:
    """Rows of length one, in floating point; empty rows stay empty."""
    if matrix.dtype.kind != "f":
        matrix = matrix.astype(np.float64)
    return for_sklearn(normalize(matrix))


def for_sklearn(matrix: Any) -> Any:
    """Sparse matrix as scikit-learn's compiled code wants it: 32-bit indices where they suffice, not read-only.

    A dense matrix is handed over as it is.
    """
    if not sparse.issparse(matrix):
        return matrix
    short = max(matrix.nnz, *matrix.shape) <= np.iinfo(np.int32).max
    kind = np.int32 if short else np.int64
    parts = (matrix.data, matrix.indices.astype(kind, copy=False), matrix.indptr.astype(kind, copy=False))
    own = tuple(part if part.flags.writeable else part.copy() for part in parts)
    return type(matrix)(own, shape=matrix.shape)


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

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.array([0, 0, 0, 1, 1, 1]), np.array([1, 1, 1, 0, 0, -1])
    >>> consensus([a, b], 2, seed=0).memberships.argmax(axis=1)
    array([0, 0, 0, 1, 1, 1])
    """
    groups, sizes = np.unique(np.column_stack(labels), axis=0, return_counts=True)
    widths = [max(int(column.max()) + 1, 1) for column in groups.T]
    parts = [soft_indicators(column, width, softness) for column, width in zip(groups.T, widths)]
    heft = np.ones(len(parts)) if weights is None else np.asarray(weights, dtype=np.float64)
    own = [part for part, width in zip(parts, widths) if width == n_clusters]
    best: Consensus | None = None
    for restart in range(n_init):
        rng = np.random.default_rng([seed, restart])
        pattern = rng.gamma(1.0, size=(len(groups), n_clusters))
        if restart < len(own):  # not so near to one-hot that it could not move
            pattern = own[restart] + 0.3 * pattern / pattern.sum(axis=1, keepdims=True)
        found = _explain(parts, _shares(pattern), sizes.astype(np.float64), heft, max_iter, tol)
        if best is None or found.objective[-1] > best.objective[-1]:
            best = found
    assert best is not None
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
    for _ in range(max_iter):
        moved = _move_pattern([part[moving] for part in parts], pattern[moving], mappings, heft)
        change = np.abs(moved - pattern[moving]).max(axis=1)
        pattern[moving] = moved
        moving = moving[change > tol]
        if not moving.size:
            break
    return pattern[member.ravel()]


def _explain(
    parts: list[np.ndarray], pattern: np.ndarray, sizes: np.ndarray, heft: np.ndarray, max_iter: int, tol: float
) -> Consensus:
    mappings = [_shares(pattern.T @ (part * sizes[:, None])) for part in parts]
    history = [-_divergence(parts, pattern, mappings, sizes, heft)]
    for _ in range(max_iter):
        new_pattern = _move_pattern(parts, pattern, mappings, heft)
        new_mappings = [
            _shares(mapping * (new_pattern.T @ (sizes[:, None] * part / np.maximum(new_pattern @ mapping, FLOOR))))
            for part, mapping in zip(parts, mappings)
        ]
        objective = -_divergence(parts, new_pattern, new_mappings, sizes, heft)
        if objective >= history[-1]:  # else rounding: it is as good as it gets
            pattern, mappings = new_pattern, new_mappings
        history.append(max(objective, history[-1]))
        if tol > 0 and history[-1] - history[-2] <= tol * max(abs(history[-2]), FLOOR):
            break
    return Consensus(pattern, mappings, history)


def _move_pattern(
    parts: Sequence[np.ndarray], pattern: np.ndarray, mappings: Sequence[np.ndarray], heft: np.ndarray
) -> np.ndarray:
    pull = np.zeros_like(pattern)
    for part, mapping, weight in zip(parts, mappings, heft):
        pull += weight * ((part / np.maximum(pattern @ mapping, FLOOR)) @ mapping.T)
    return _shares(pattern * pull)


def _divergence(
    parts: list[np.ndarray], pattern: np.ndarray, mappings: list[np.ndarray], sizes: np.ndarray, heft: np.ndarray
) -> float:
    total = 0.0
    for part, mapping, weight in zip(parts, mappings, heft):
        model = np.maximum(pattern @ mapping, FLOOR)
        have = part.any(axis=1)
        terms = xlogy(part, part / model) - part + model
        total += weight * float(sizes[have] @ terms[have].sum(axis=1))
    return total


def _shares(array: np.ndarray) -> np.ndarray:
    """Rows divided by their sums; a row that sums to zero becomes uniform."""
    total = array.sum(axis=1, keepdims=True)
    return np.where(total > 0, array / np.where(total > 0, total, 1), 1.0 / array.shape[1])

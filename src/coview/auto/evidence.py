"""Reliability of groups without labels: are they predicted by the views?

Each view gives two scores of an object for every group. The centroid score is minus half the squared distance to the
group's mean, taken over other folds. The neighbor score is the logarithm of the group's share among the nearest other
objects, so that a group may have any shape. Scores s_e(i, z) are added up with weights t_e:

    p(z | i) ~ p(z) exp(sum_e t_e s_e(i, z)),       t >= 0, maximum likelihood for the groups as they are

The likeliest z is the prediction; its normalized mutual information with the groups is their reliability. Weights are
fitted to several groupings together: with weights of its own any cut through one view would be predicted well, by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from coview.clustering.affinity import FEW, Scaling
from coview.clustering.neighbors import find_neighbors
from coview.engines.loop import NO_DEADLINE, Deadline, largest_in_time
from coview.metrics import normalized_mutual_info
from coview.views.arrays import for_sklearn, take_rows
from coview.views.views import Views

__all__ = [
    "ViewEvidence",
    "centroid_scores",
    "neighbor_scores",
    "predictability",
    "reliabilities",
    "view_evidence",
]

FOLDS = 5
MOST_OBJECTS = 2000  # objects whose clusters are predicted
MOST_SCORES = 20_000_000  # numbers that all scores together may have
MIN_NEIGHBORS, MAX_NEIGHBORS = 10, 30
SMOOTHING = 0.1  # share of the clusters' sizes in the votes of neighbors, so that no vote is not impossible
STEPS = 30  # of the search for weights of the scores
RIDGE = 1e-4  # keeps the weights finite where clusters are predicted without fault


def reliabilities(
    views: Views, labels: Sequence[np.ndarray], n_clusters: int, seed: int, deadline: Deadline = NO_DEADLINE
) -> np.ndarray:
    """Reliability of each clustering, by all views; of many objects with many clusters, fewer are predicted.

    Where time is short, of as many objects as there is time for.
    """
    numbers = sum(int(part.max()) + 1 for part in labels) * 2 * len(views.names)  # of each object
    n_objects = int(np.clip(MOST_SCORES // max(numbers, 1), MOST_OBJECTS // 10, MOST_OBJECTS))
    n_neighbors = int(np.clip(len(views) // (2 * n_clusters), MIN_NEIGHBORS, MAX_NEIGHBORS))

    def predict(rows: np.ndarray) -> np.ndarray:
        some = views if len(rows) == len(views) else views[rows]
        evidence = view_evidence(some, n_neighbors, n_objects, seed)
        return predictability(evidence, [part[rows] for part in labels])

    return largest_in_time(predict, len(views), MOST_OBJECTS // 2, seed, deadline)[0]


@dataclass(frozen=True)
class ViewEvidence:
    """What one view says about any clustering of the objects is computed from this."""

    rows: Any  # as nearest centroids should see them
    known: np.ndarray  # who has the view, and something in it
    chosen: np.ndarray  # objects whose clusters are predicted
    neighbors: np.ndarray  # chosen x k positions; -1 where an object is not known


def view_evidence(views: Views, n_neighbors: int, n_objects: int = MOST_OBJECTS, seed: int = 0) -> list[ViewEvidence]:
    """Prepare all views; clusters of the same objects are predicted in each.

    Of measurements at most 10 neighbors are used, since short distances say more there.
    """
    n = len(views)
    chosen = np.arange(n)
    if n > n_objects:
        chosen = np.sort(np.random.default_rng([seed, 0]).choice(n, n_objects, replace=False))
    evidence = []
    for v, matrix in enumerate(views.values()):
        scaling = Scaling.learned(matrix, n_present=int(views.present[:, v].sum()))
        rows = scaling.rows(matrix)
        known = scaling.known(rows, views.present[:, v])
        count = n_neighbors if scaling.metric == "cosine" else min(n_neighbors, FEW)
        evidence.append(ViewEvidence(rows, known, chosen, _neighbors(rows, known, chosen, count)))
    return evidence


def predictability(evidence: Sequence[ViewEvidence], labels: Sequence[np.ndarray]) -> np.ndarray:
    """How well each clustering is predicted from all views, by weights of the scores that all have in common."""
    predictions = [_Prediction.of(evidence, part) for part in labels]
    common = _score_weights(predictions)
    return np.array([part.information(common) for part in predictions])


def centroid_scores(rows: Any, labels: np.ndarray, n_clusters: int, chosen: np.ndarray) -> np.ndarray:
    """Minus half the squared distance of chosen rows to the clusters' means in other folds, less the best of each.

    Scaled to mean 1 of what is lost, since views have units of their own. Folds are drawn the same way always.
    """
    fold = np.random.default_rng(0).permutation(rows.shape[0]) % FOLDS
    sums, counts = [], []
    for f in range(FOLDS):
        here = np.flatnonzero((fold == f) & (labels >= 0))
        onto = (np.ones(len(here)), (labels[here], np.arange(len(here))))
        total = sparse.csr_array(onto, shape=(n_clusters, len(here))) @ rows[here]
        sums.append(total.toarray() if sparse.issparse(total) else np.asarray(total))
        counts.append(np.bincount(labels[here], minlength=n_clusters))
    scores = np.zeros((len(chosen), n_clusters))
    for f in range(FOLDS):
        count = sum(counts) - counts[f]
        centers = (sum(sums) - sums[f]) / np.maximum(count, 1)[:, None]
        here = np.flatnonzero(fold[chosen] == f)
        part = np.asarray(rows[chosen[here]] @ centers.T) - 0.5 * (centers**2).sum(axis=1)
        part[:, count == 0] = part.min(axis=1, initial=0.0)[:, None]  # nothing is known of it: as the farthest
        scores[here] = part
    scores -= scores.max(axis=1, keepdims=True)
    return scores / max(-float(scores.sum()) / max(scores.size, 1), np.finfo(float).tiny)


def neighbor_scores(neighbors: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Logarithm of each cluster's share among the neighbors, mixed with a little of the clusters' sizes."""
    sizes = np.bincount(labels[labels >= 0], minlength=n_clusters) / max(int((labels >= 0).sum()), 1)
    near = np.where(neighbors >= 0, labels[neighbors], -1)
    of, place = np.nonzero(near >= 0)
    votes = np.zeros((len(near), n_clusters))
    np.add.at(votes, (of, near[of, place]), 1.0)
    votes /= np.maximum(votes.sum(axis=1, keepdims=True), 1.0)
    return np.log(np.maximum(votes + SMOOTHING * sizes, 1e-12) / (votes.sum(axis=1, keepdims=True) + SMOOTHING))


# -- pieces


@dataclass(frozen=True)
class _Prediction:
    """One clustering: scores of the chosen objects for its clusters, and their clusters."""

    scores: np.ndarray  # scores x objects x clusters
    labels: np.ndarray
    sizes: np.ndarray  # log of the clusters' shares
    entropy: float  # entropy of the sizes

    @classmethod
    def of(cls, evidence: Sequence[ViewEvidence], labels: np.ndarray) -> _Prediction:
        count = max(int(labels.max()) + 1, 1)
        chosen = evidence[0].chosen
        here = np.flatnonzero(labels[chosen] >= 0)
        scores = []
        for view in evidence:
            had = np.flatnonzero(view.known[chosen[here]])
            known = np.where(view.known, labels, -1)
            by_center, by_near = np.zeros((2, len(here), count), dtype=np.float32)  # no view, no score
            by_center[had] = centroid_scores(view.rows, known, count, chosen[here[had]])
            by_near[had] = neighbor_scores(view.neighbors[here[had]], labels, count)
            scores += [by_center, by_near]
        shares = np.bincount(labels[chosen[here]], minlength=count) / max(len(here), 1)
        sizes = np.log(np.maximum(shares, 1e-12))
        entropy = float(-(shares * sizes).sum())
        return cls(np.array(scores), labels[chosen[here]], sizes, max(entropy, 1e-12))

    def loss(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the mean log-likelihood of the clusters as a share of their entropy, and its gradient."""
        score = self._sum(weights)
        score -= score.max(axis=1, keepdims=True)
        one = (np.arange(len(self.labels)), self.labels)
        own = score[one]
        gap = np.exp(score, out=score)
        total = gap.sum(axis=1)
        gap /= total[:, None]
        gap[one] -= 1.0
        scale = 1.0 / (self.entropy * len(self.labels))
        slope = self.scores.reshape(len(self.scores), -1) @ gap.ravel()
        return float((np.log(total) - own).sum(dtype=np.float64)) * scale, slope.astype(np.float64) * scale

    def information(self, weights: np.ndarray) -> float:
        """Mutual information of the clusters with the likeliest ones by these scores."""
        if len(self.labels) < FOLDS or self.labels.min() == self.labels.max():
            return 0.0  # one cluster says nothing
        return float(normalized_mutual_info(self.labels, self._sum(weights).argmax(axis=1)))

    def _sum(self, weights: np.ndarray) -> np.ndarray:
        """Scores of all views with these weights (objects x clusters)."""
        flat = weights.astype(self.scores.dtype) @ self.scores.reshape(len(self.scores), -1)
        return flat.reshape(self.scores.shape[1:]) + self.sizes.astype(self.scores.dtype)


def _score_weights(predictions: Sequence[_Prediction]) -> np.ndarray:
    """Weights of the scores that make these clusterings together the likeliest: a convex problem."""
    used = [prediction for prediction in predictions if len(prediction.labels)]
    start = np.full(len(predictions[0].scores), 0.5)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        parts = [prediction.loss(weights) for prediction in used]
        value = sum(part for part, _ in parts) / len(parts) + RIDGE * float(weights @ weights)
        return value, sum(slope for _, slope in parts) / len(parts) + 2 * RIDGE * weights

    if not used:
        return start
    bounds = [(0.0, None)] * len(start)
    return minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": STEPS}).x


def _neighbors(rows: Any, known: np.ndarray, chosen: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Positions of the nearest other objects of each chosen one."""
    have, here = np.flatnonzero(known), np.flatnonzero(known[chosen])
    k = min(n_neighbors, len(have) - 1)
    neighbors = np.full((len(chosen), max(k, 1)), -1, dtype=np.int64)
    if k < 1 or not len(here):
        return neighbors
    among = for_sklearn(take_rows(rows, have))
    _, places = find_neighbors(for_sklearn(take_rows(rows, chosen[here])), k + 1, among)
    near = have[places]
    # an object is its own neighbor; in a pile of equal rows it may be named later or not at all
    own = near == chosen[here][:, None]
    own[~own.any(axis=1), -1] = True
    neighbors[here] = near[~own].reshape(len(here), k)
    return neighbors

"""Which clusterings to trust, without labels: how well an object's cluster is told from its views, and comes back.

A view has two opinions about an object. One is by centroids: minus half the squared distance to each cluster's mean,
of the objects in other folds. One is by neighbors: the logarithm of the clusters' shares among the nearest other
objects, so that a cluster may have any shape. Opinions s_e(i, z) are added up, each as far as it is trusted:

    p(z | i) ~ p(z) exp(sum_e t_e s_e(i, z)),       t >= 0, the likeliest for the clusters as they are

The likeliest z is the guess, and its normalized mutual information with the clusters says how well they are told.

| evidence | what is asked |
|---|---|
| own | told with the trust that suits this clustering: a view may speak where the others say little |
| common | told with the trust that suits all clusterings together: views bear it out as they do others |
| stability | the member fitted again on most of the objects: mutual information with its clusters of all of them |

    telling = (own x common)^(1/2)     worth = prior x telling x stability^(1/4)
    weight = (worth / largest worth)^24, 0 below a fifth

With the first alone any cut through one view would be told well, by that view; hence the second.
Agreement with other members is shown and not weighed: of rings only one kind of member is right, and all others agree
more with each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp

from coview.clustering.affinity import FEW, Scaling, nearest
from coview.metrics import normalized_mutual_info
from coview.views.arrays import take_rows
from coview.views.matrices import for_sklearn
from coview.views.views import Views

__all__ = ["Witness", "agreements", "centroid_scores", "member_weights", "neighbor_scores", "telling", "witnesses"]

FOLDS = 5
MOST_ASKED = 2000  # objects whose clusters are guessed
MOST_SCORES = 20_000_000  # numbers that all opinions together may have
FAINT = 0.1  # share of the clusters' sizes in the votes of neighbors: none of them is no proof
STEPS = 30  # of the search for trust
RIDGE = 1e-4  # trust has an end, also where clusters are told without fault
SHARPNESS = 24.0  # power of a member's worth that is its weight: members within 6 % of the best are kept
STABILITY = 0.25  # power of stability in a member's worth
LEAST = 0.2  # share of the largest weight below which a member is dropped


@dataclass(frozen=True)
class Witness:
    """One view as opinions are formed on it."""

    rows: Any  # as nearest centroids should see them
    known: np.ndarray  # who has the view, and something in it
    asked: np.ndarray  # objects whose clusters will be guessed
    neighbors: np.ndarray  # asked x k positions; -1 where an object is not known


def witnesses(views: Views, n_neighbors: int, n_asked: int = MOST_ASKED, seed: int = 0) -> list[Witness]:
    """Prepare all views; the same objects are asked about in each.

    Of measurements at most 10 neighbors are asked, since short distances say more there.

    Examples
    --------
    >>> import numpy as np
    >>> seen = witnesses(Views(a=np.array([[0.0], [1.0], [5.0], [6.1]])), n_neighbors=1)
    >>> seen[0].neighbors.ravel()
    array([1, 0, 3, 2])
    """
    n = len(views)
    asked = np.arange(n)
    if n > n_asked:
        asked = np.sort(np.random.default_rng([seed, 0]).choice(n, n_asked, replace=False))
    found = []
    for v, matrix in enumerate(views.values()):
        scaling = Scaling.learned(matrix)
        rows = scaling.rows(matrix)
        known = scaling.known(rows, views.present[:, v])
        count = n_neighbors if scaling.metric == "cosine" else min(n_neighbors, FEW)
        found.append(Witness(rows, known, asked, _neighbors(rows, known, asked, count)))
    return found


def telling(seen: Sequence[Witness], labels: Sequence[np.ndarray]) -> np.ndarray:
    """How well each clustering is told from all views: trust that suits it, and trust that suits all of them.

    Examples
    --------
    >>> import numpy as np
    >>> X = Views(a=np.repeat([[0.0], [9.0]], 10, axis=0) + np.arange(20)[:, None] / 99)
    >>> real, chance = np.repeat([0, 1], 10), np.random.default_rng(0).integers(0, 2, 20)
    >>> told = telling(witnesses(X, 3), [real, chance])
    >>> round(float(told[0]), 6), bool(told[1] < 0.5)
    (1.0, True)
    """
    cases = [_Case.of(seen, part) for part in labels]
    common = _trust(cases)
    return np.array([np.sqrt(case.told(_trust([case])) * case.told(common)) for case in cases])


def centroid_scores(rows: Any, labels: np.ndarray, n_clusters: int, asked: np.ndarray) -> np.ndarray:
    """Minus half the squared distance of asked rows to the clusters' means in other folds, less the best of each.

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
    scores = np.zeros((len(asked), n_clusters))
    for f in range(FOLDS):
        count = sum(counts) - counts[f]
        centers = (sum(sums) - sums[f]) / np.maximum(count, 1)[:, None]
        here = np.flatnonzero(fold[asked] == f)
        part = np.asarray(rows[asked[here]] @ centers.T) - 0.5 * (centers**2).sum(axis=1)
        part[:, count == 0] = part.min(axis=1, initial=0.0)[:, None]  # nothing is known of it: as the farthest
        scores[here] = part
    scores -= scores.max(axis=1, keepdims=True)
    return scores / max(-float(scores.sum()) / max(scores.size, 1), np.finfo(float).tiny)


def neighbor_scores(neighbors: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Logarithm of each cluster's share among the neighbors, mixed with a little of the clusters' sizes.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(neighbor_scores(np.array([[1, 2]]), np.array([0, 0, 0, 1]), 2)).round(3)
    array([[0.977, 0.023]])
    """
    sizes = np.bincount(labels[labels >= 0], minlength=n_clusters) / max(int((labels >= 0).sum()), 1)
    near = np.where(neighbors >= 0, labels[neighbors], -1)
    of, place = np.nonzero(near >= 0)
    votes = np.zeros((len(near), n_clusters))
    np.add.at(votes, (of, near[of, place]), 1.0)
    votes /= np.maximum(votes.sum(axis=1, keepdims=True), 1.0)
    return np.log(np.maximum(votes + FAINT * sizes, 1e-12) / (votes.sum(axis=1, keepdims=True) + FAINT))


def agreements(labels: Sequence[np.ndarray]) -> np.ndarray:
    """Mean mutual information of each clustering with the others, where both know; 1 for one alone.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> agreements([a, a, b]).round(2)
    array([0.5, 0.5, 0. ])
    """
    n = len(labels)
    if n == 1:
        return np.ones(1)
    shared = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            both = (labels[i] >= 0) & (labels[j] >= 0)
            shared[i, j] = shared[j, i] = normalized_mutual_info(labels[i][both], labels[j][both]) if both.any() else 0
    return shared.sum(axis=1) / (n - 1)


def member_weights(told: np.ndarray, stable: np.ndarray, prior: Any = 1.0) -> np.ndarray:
    """Weights of members: the largest is 1, and those below a share of it are 0.

    Examples
    --------
    >>> import numpy as np
    >>> member_weights(np.array([0.6, 0.59, 0.4]), np.array([0.9, 0.9, 0.9])).round(2)
    array([1.  , 0.67, 0.  ])
    """
    worth = prior * told * np.maximum(stable, 0) ** STABILITY
    if not worth.max() > 0:
        return np.ones(len(worth))
    weights = (worth / worth.max()) ** SHARPNESS
    return np.where(weights >= LEAST, weights, 0.0)


# -- pieces


@dataclass(frozen=True)
class _Case:
    """One clustering: the opinions about the objects asked, and their clusters."""

    opinions: np.ndarray  # opinions x objects x clusters
    labels: np.ndarray
    sizes: np.ndarray  # log of the clusters' shares
    doubt: float  # entropy of the sizes

    @classmethod
    def of(cls, seen: Sequence[Witness], labels: np.ndarray) -> _Case:
        count = max(int(labels.max()) + 1, 1)
        asked = seen[0].asked
        here = np.flatnonzero(labels[asked] >= 0)
        opinions = []
        for witness in seen:
            had = np.flatnonzero(witness.known[asked[here]])
            known = np.where(witness.known, labels, -1)
            by_center, by_near = np.zeros((2, len(here), count), dtype=np.float32)  # no view, no opinion
            by_center[had] = centroid_scores(witness.rows, known, count, asked[here[had]])
            by_near[had] = neighbor_scores(witness.neighbors[here[had]], labels, count)
            opinions += [by_center, by_near]
        shares = np.bincount(labels[asked[here]], minlength=count) / max(len(here), 1)
        sizes = np.log(np.maximum(shares, 1e-12))
        doubt = float(-(shares * sizes).sum())
        return cls(np.array(opinions), labels[asked[here]], sizes, max(doubt, 1e-12))

    def loss(self, trust: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the mean log-likelihood of the clusters as a share of their entropy, and its gradient."""
        score = np.tensordot(trust, self.opinions, 1) + self.sizes
        total = logsumexp(score, axis=1)
        one = (np.arange(len(self.labels)), self.labels)
        gap = np.exp(score - total[:, None])
        gap[one] -= 1.0
        scale = 1.0 / (self.doubt * len(self.labels))
        return float((total - score[one]).sum()) * scale, np.einsum("enk,nk->e", self.opinions, gap) * scale

    def told(self, trust: np.ndarray) -> float:
        """Mutual information of the clusters with the likeliest ones by these opinions."""
        if len(self.labels) < FOLDS or self.labels.min() == self.labels.max():
            return 0.0  # one cluster says nothing
        guess = (np.tensordot(trust, self.opinions, 1) + self.sizes).argmax(axis=1)
        return float(normalized_mutual_info(self.labels, guess))


def _trust(cases: Sequence[_Case]) -> np.ndarray:
    """How far each opinion is trusted: the likeliest for these clusterings together, a convex problem."""
    used = [case for case in cases if len(case.labels)]
    start = np.full(len(cases[0].opinions), 0.5)

    def loss(trust: np.ndarray) -> tuple[float, np.ndarray]:
        parts = [case.loss(trust) for case in used]
        value = sum(part for part, _ in parts) / len(parts) + RIDGE * float(trust @ trust)
        return value, sum(slope for _, slope in parts) / len(parts) + 2 * RIDGE * trust

    if not used:
        return start
    bounds = [(0.0, None)] * len(start)
    return minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": STEPS}).x


def _neighbors(rows: Any, known: np.ndarray, asked: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Positions of the nearest other objects of each that is asked about."""
    have, here = np.flatnonzero(known), np.flatnonzero(known[asked])
    k = min(n_neighbors, len(have) - 1)
    found = np.full((len(asked), max(k, 1)), -1, dtype=np.int64)
    if k < 1 or not len(here):
        return found
    among = for_sklearn(take_rows(rows, have))
    _, places = nearest(for_sklearn(take_rows(rows, asked[here])), k + 1, among)
    near = have[places]
    # an object is its own neighbor; in a pile of equal rows it may be named later or not at all
    own = near == asked[here][:, None]
    own[~own.any(axis=1), -1] = True
    found[here] = near[~own].reshape(len(here), k)
    return found

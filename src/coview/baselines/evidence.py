"""Which clusterings to trust, without labels: how well each is told from the views, repeats itself, and is agreed with.

| evidence | what is asked |
|---|---|
| telling | clusters predicted out of fold from each view alone, by nearest centroid: mutual information with what is |
| stability | the member fitted again on most of the objects: mutual information with its clusters of all of them |
| agreement | mutual information with the members of other families, those of one family counting as one |

All mutual information is normalised. A cluster that is in the data is told from the views, comes back from other
objects, and is found in more than one way. Telling is the root of the mean square over the views: some view must tell
the clusters well, and it is better if several do, but a view of noise does not speak against them. Agreement alone
misleads, since a cut that all graphs make is not made truer by being made often; but a view with clusters of its own,
told by itself and as stable as can be, is known by nobody's agreeing. So it counts, though least:

    worth = telling x stability^(1/2) x agreement^(1/4)       weight = (worth / largest worth)^24, 0 below a fifth
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from coview.baselines.affinity import Scaling
from coview.data.views import Views
from coview.metrics import normalized_mutual_info

__all__ = ["agreements", "comparable_rows", "member_weights", "out_of_fold", "telling"]

FOLDS = 5
SHARPNESS = 24.0  # power of a member's worth that is its weight: members within 6 % of the best are kept
STABILITY, AGREEMENT = 0.5, 0.25  # powers of these in a member's worth
LEAST = 0.2  # share of the largest weight below which a member is dropped


def comparable_rows(views: Views) -> list[tuple[Any, np.ndarray]]:
    """Rows of each view as nearest centroids should see them, and who has them."""
    return [(Scaling.learned(matrix).rows(matrix), views.present[:, v]) for v, matrix in enumerate(views.values())]


def telling(rows: Sequence[tuple[Any, np.ndarray]], labels: np.ndarray, n_clusters: int) -> float:
    """How well clusters are told from each view alone: the root of the mean square over the views.

    Examples
    --------
    >>> import numpy as np
    >>> rows = [(np.repeat([[0.0], [9.0]], 10, axis=0), np.ones(20, dtype=bool))]
    >>> round(telling(rows, np.repeat([0, 1], 10), 2), 6), telling(rows, np.arange(20) % 2, 2) < 0.5
    (1.0, True)
    """
    found = []
    for part, present in rows:
        here = np.flatnonzero(present & (labels >= 0))
        if len(here) >= FOLDS:
            guess = out_of_fold(part[here], labels[here], n_clusters)
            found.append(normalized_mutual_info(labels[here], guess))
    return float(np.sqrt(np.mean(np.square(found)))) if found else 0.0


def out_of_fold(rows: Any, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Cluster of each row by the nearest centroid of the rows in other folds; folds are drawn the same way always."""
    fold = np.random.default_rng(0).permutation(rows.shape[0]) % FOLDS
    sums, counts = [], []
    for f in range(FOLDS):
        here = np.flatnonzero(fold == f)
        onto = (np.ones(len(here)), (labels[here], np.arange(len(here))))
        total = sparse.csr_array(onto, shape=(n_clusters, len(here))) @ rows[here]
        sums.append(total.toarray() if sparse.issparse(total) else np.asarray(total))
        counts.append(np.bincount(labels[here], minlength=n_clusters))
    guess = np.zeros(rows.shape[0], dtype=np.int64)
    for f in range(FOLDS):
        count = sum(counts) - counts[f]
        centres = (sum(sums) - sums[f]) / np.maximum(count, 1)[:, None]
        here = np.flatnonzero(fold == f)
        scores = np.asarray(rows[here] @ centres.T) - 0.5 * (centres**2).sum(axis=1)
        scores[:, count == 0] = -np.inf
        guess[here] = scores.argmax(axis=1)
    return guess


def agreements(labels: Sequence[np.ndarray], families: Sequence[str]) -> np.ndarray:
    """Mean agreement of each clustering with the other families, each family the mean of its members.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> agreements([a, a, a, b], ["graph", "graph", "angle", "topics"]).round(2)
    array([0.5, 0.5, 0.5, 0. ])
    """
    n = len(labels)
    shared = np.eye(n)
    for i in range(n):
        for j in range(i):
            both = (labels[i] >= 0) & (labels[j] >= 0)
            shared[i, j] = shared[j, i] = normalized_mutual_info(labels[i][both], labels[j][both]) if both.any() else 0
    found = np.zeros(n)
    for i in range(n):
        others = sorted(set(families) - {families[i]})
        means = [np.mean([shared[i, j] for j in range(n) if families[j] == family]) for family in others]
        if not means:  # one family: its other members have to do
            means = [shared[i, j] for j in range(n) if j != i]
        found[i] = np.mean(means) if means else 1.0
    return found


def member_weights(tell: np.ndarray, stable: np.ndarray, agree: np.ndarray) -> np.ndarray:
    """Weights of members: the largest is 1, and those below a share of it are 0.

    Examples
    --------
    >>> import numpy as np
    >>> member_weights(np.array([0.6, 0.59, 0.4]), np.array([0.9, 0.9, 0.9]), np.array([0.5, 0.5, 0.5])).round(2)
    array([1.  , 0.67, 0.  ])
    """
    worth = tell * np.maximum(stable, 0) ** STABILITY * np.maximum(agree, 0) ** AGREEMENT
    if not worth.max() > 0:
        return np.ones(len(worth))
    weights = (worth / worth.max()) ** SHARPNESS
    return np.where(weights >= LEAST, weights, 0.0)

"""How much a Gaussian view counts beside counts where nobody says: by what its clusters say of the counts.

A vector counts as w tokens (`gaussian.py`). One token is safe: a vector that says nothing, or something else than the
texts, moves no text of fifty words. But then a good vector moves none either, and words that say nothing drown it. So
three things are asked of a sample of the objects, each with a score s_i per object that is zero on average where the
answer is no, and as z, the mean of s in standard errors:

    own        Do clusters by most tokens of the objects predict the tokens that were held out?
    crossed    Do clusters by vectors predict the tokens of objects that nothing was learned from?
    groups     Do clusters by half of the columns predict the other half, of objects that nothing was learned from?

Tokens x of an object in cluster z have the score  sum_f x_f (l_fz - sum_g p_g l_gz)  with l = log p(f|z) / p_f,  and a
vector x has the score  (x - mean) (mean of z - mean).  With m columns, T tokens per object, each with the weight
of its view, h the share of the tokens that is held out, and what the vectors predict as a share of what counts do,

    w = 1 + a (min(m, T) - 1),     a = min(1, crossed / (own / sqrt h))  where crossed is sure, else 0

so that vectors that bear the texts out count as much as the texts, but never more than by the density of their values.
Vectors lead where their clusters predict the counts far better than the clusters of the counts do, or where counts
have no clusters and they have: then w = max(m, T), and objects begin at the vectors' clusters. A classifier asks its
labels as well (`vector_labels.py`): where they do not bear a view out, a = 0 and it does not lead.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from coview.engines.deadline import NO_DEADLINE, Deadline
from coview.engines.passes import sample_rows
from coview.plsa.vector_labels import label_evidence, labeled_sample
from coview.views.arrays import for_sklearn, unit_rows
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["VectorEvidence", "vector_evidence"]

SAMPLE = 1500  # objects that are looked at
MOST_GROUPS, MEMBERS = 32, 10  # clusters at most, and objects in each of them at least, on average
MOST_TOKENS = 1e6  # that a vector counts as
HELD_OUT = 0.2  # share of the tokens
SURE, UNSURE = 3.0, 2.0  # standard errors from which vectors say something, up to which counts say nothing
FAR_BETTER = 1.5  # times as much as the counts' own clusters predict, from which vectors lead
STARTS, SWEEPS, ROUNDS = 2, 30, 20  # starts and sweeps of k-means, rounds of EM on counts
LARGEST_COUNT = 1e9  # up to which single tokens are drawn


@dataclass(frozen=True)
class VectorEvidence:
    """What was found of some Gaussian views."""

    weights: dict[str, float]
    agreement: dict[str, float] = field(default_factory=dict)  # a, from 0 to 1
    leading: tuple[str, ...] = ()


def vector_evidence(
    views: Any,
    names: Iterable[str],
    counts: Mapping[str, float],
    n_groups: int,
    seed: int,
    *,
    codes: np.ndarray | None = None,
    deadline: Deadline = NO_DEADLINE,
) -> VectorEvidence:
    """Weights of the Gaussian views `names` beside views of `counts`, which have weights; 1 where too little is known.

    `codes` are the labels of a classifier, -1 for none; then groups are classes. A view that its turn does not come to
    before the deadline has the weight 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> groups = rng.integers(3, size=300)
    >>> words = rng.poisson(0.2 + np.eye(3)[groups][:, np.arange(30) % 3])
    >>> X = Views(words=words, good=3 * np.eye(3)[groups] + rng.normal(size=(300, 3)), noise=rng.normal(size=(300, 3)))
    >>> {view: round(w) for view, w in vector_evidence(X, ["good", "noise"], {"words": 1.0}, 3, 0).weights.items()}
    {'good': 3, 'noise': 1}
    """
    names = list(names)
    weights, agreement = dict.fromkeys(names, 1.0), dict.fromkeys(names, 0.0)
    if not counts or not names or deadline.is_over():
        return VectorEvidence(weights, agreement)
    some = _some(views, seed)
    words = sparse.csr_array(some.select(*counts).hstack()).astype(np.float64)
    mass = np.sum([weight * np.asarray(some[name].sum(axis=1)).ravel() for name, weight in counts.items()], axis=0)
    filled = np.flatnonzero(mass > 0)
    k = min(n_groups, MOST_GROUPS, len(filled) // MEMBERS)
    if k < 2:
        return VectorEvidence(weights, agreement)
    n_tokens = min(float(mass[filled].mean()), MOST_TOKENS)
    own = _own_score(words[filled], k, seed)
    best = own / HELD_OUT**0.5
    labeled: tuple[Views, np.ndarray] | None = None
    leading = []
    for name in names:
        there = np.flatnonzero((mass > 0) & some.present[:, some.names.index(name)])
        if len(there) < k * MEMBERS or deadline.is_over():
            continue
        rows, width = _about_mean(some[name][there]), some.n_features[name]
        crossed = _crossed_score(words[there], _clusters(rows, k, seed), k, seed)
        if crossed > SURE:
            agreement[name] = min(1.0, crossed / best) if best > 0 else 1.0
        knows_more = crossed > max(SURE, FAR_BETTER * best)
        leads = knows_more or (own <= UNSURE and _group_score(rows, k, seed) > SURE)
        if codes is not None and (leads or agreement[name] > 0):
            labeled = labeled or labeled_sample(views, codes, SAMPLE, seed)
            found = label_evidence(labeled[0], name, counts, labeled[1], n_groups, seed)
            leads = leads and found.allows_lead()
            agreement[name] *= found.allows_weight()
        weights[name] = 1.0 + agreement[name] * max(min(width, n_tokens) - 1.0, 0.0)
        if leads:
            leading.append(name)
            weights[name] = max(float(width), n_tokens)
    return VectorEvidence(weights, agreement, tuple(leading))


# -- scores


def _own_score(words: sparse.csr_array, n_groups: int, seed: int) -> float:
    """Do clusters by most tokens predict those that were held out?"""
    held = words.copy()
    rng = np.random.default_rng(seed)
    if (words.data == np.rint(words.data)).all() and words.data.max() <= LARGEST_COUNT:
        held.data = rng.binomial(words.data.astype(np.int64), HELD_OUT).astype(np.float64)
    else:
        held.data = words.data * (rng.random(len(words.data)) < HELD_OUT)
    memberships, log_odds, kept = _mixture_of_counts(sparse.csr_array(words - held), n_groups, seed)
    return _standardized(_token_scores(held[:, kept], memberships, log_odds, _shares(words[:, kept])))


def _crossed_score(words: sparse.csr_array, clusters: np.ndarray, n_groups: int, seed: int) -> float:
    """Do clusters predict the tokens of objects that their words were not learned from?"""
    words = words[:, np.flatnonzero(words.sum(axis=0))]
    members, scores = np.eye(n_groups)[clusters], np.zeros(len(clusters))
    for known, new in _halves(len(clusters), seed):
        log_odds = _log_odds(words[known], members[known], _shares(words))
        scores[new] = _token_scores(words[new], members[new], log_odds, _shares(words))
    return _standardized(scores)


def _group_score(rows: np.ndarray, n_groups: int, seed: int) -> float:
    """Do clusters by half of the columns predict the other half?"""
    columns = np.random.default_rng(seed).permutation(rows.shape[1])
    half = len(columns) // 2
    if not half:
        return 0.0
    members = np.eye(n_groups)[_clusters(rows[:, columns[:half]], n_groups, seed)]
    others, scores = rows[:, columns[half:]], np.zeros(len(rows))
    for known, new in _halves(len(rows), seed):
        mean = others[known].mean(axis=0)
        apart = (members[known].T @ (others[known] - mean)) / (members[known].sum(axis=0) + 1.0)[:, None]
        scores[new] = ((others[new] - mean) * (members[new] @ apart)).sum(axis=1)
    return _standardized(scores)


def _standardized(scores: np.ndarray) -> float:
    spread = float(scores.std())
    return float(scores.mean() * np.sqrt(len(scores)) / spread) if spread > 0 else 0.0


def _halves(n: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Objects to learn from and objects to predict, and the other way around."""
    fold = np.random.default_rng(seed).permutation(n) % 2
    one, other = np.flatnonzero(fold == 0), np.flatnonzero(fold == 1)
    return [(one, other), (other, one)]


# -- clusters


def _clusters(rows: Any, n_groups: int, seed: int, n_init: int = STARTS) -> np.ndarray:
    model = KMeans(n_groups, n_init=n_init, max_iter=SWEEPS, random_state=seed % 2**32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # rows that are alike have fewer clusters
        return model.fit_predict(for_sklearn(rows))


def _mixture_of_counts(words: sparse.csr_array, n_groups: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mixture of multinomials by EM from k-means: memberships, log odds of the words that occur, and which those are.

    It sees groups in words long before k-means does.
    """
    kept = np.flatnonzero(words.sum(axis=0))
    words = words[:, kept]
    shares, highest = _shares(words), -np.inf
    for start in range(STARTS):
        members = 0.9 * np.eye(n_groups)[_clusters(unit_rows(words), n_groups, seed + start, 1)] + 0.1 / n_groups
        for _ in range(ROUNDS):
            log_odds = _log_odds(words, members, shares)
            joint = np.asarray(words @ log_odds.T) + np.log(members.mean(axis=0) + 1e-9)
            members = softmax(joint, axis=1)
        reached = float((members * joint).sum())
        if reached > highest:
            best, highest = (members, log_odds, kept), reached
    return best


def _shares(words: sparse.csr_array) -> np.ndarray:
    sums = np.asarray(words.sum(axis=0)).ravel()
    return sums / sums.sum()


def _log_odds(words: sparse.csr_array, members: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Log p(word | group) / p(word), drawn to 0 as if each word had come once more for each group, by its share."""
    counts = np.asarray((words.T @ members).T) + len(shares) * shares
    return np.log(counts / counts.sum(axis=1, keepdims=True)) - np.log(shares)


def _token_scores(words: sparse.csr_array, members: np.ndarray, log_odds: np.ndarray, shares: np.ndarray) -> np.ndarray:
    return (np.asarray(words @ (log_odds - (log_odds @ shares)[:, None]).T) * members).sum(axis=1)


# -- the sample


def _some(views: Any, seed: int) -> Views:
    if isinstance(views, LazyViews):
        return sample_rows(views, SAMPLE)
    if len(views) <= SAMPLE:
        return views
    return views[np.sort(np.random.default_rng(seed).choice(len(views), SAMPLE, replace=False))]


def _about_mean(matrix: Any) -> np.ndarray:
    """Vectors less their mean, in float64."""
    rows = np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix).astype(np.float64)
    return rows - rows.mean(axis=0)

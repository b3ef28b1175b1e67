"""How much a Gaussian view counts beside counts where nobody says.

A vector is worth w* tokens (`vector_start.py`), from 1 to the number of its columns, by the classes of the labeled
objects or, where there are none, by clusters of the vectors. Counts come in any unit, as whole numbers or as rows of
length 1: a token is the mean c of all entries above 0. So a vector has the weight

    w = c w*    where the view knows something, else  w = c,  one token

Vectors of noise, of other groups than those of the counts, or of what the counts say better, would else drag the counts
down. What a view knows is asked of objects that nothing was learned from:

    labels      log p(class | counts, vector) - log p(class | counts),  both by naive Bayes: is it above 0 on average?
    clusters    log p(vector | k means) - log p(vector | one mean),  with the weight w*: is it for more than half?
    counts      Groups by half of the features, by EM from the clusters: do they foretell the other half much worse
                where the vectors take part?

Labels against a view decide, and labels clearly for it; else, and without labels, it needs clusters that do not cost
the counts half of what they foretell alone. Counts without groups foretell nothing, and lose nothing. Clusters are not
asked on average: a few vectors that lie far out are near a cluster of their own wherever there are none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp

from coview.classification.naive_bayes import LEAST, NaiveBayesStart, sum_entries
from coview.engines.deadline import NO_DEADLINE, Deadline
from coview.plsa.vector_start import (
    VectorStart,
    as_dense,
    cluster_vectors,
    rank_in_class,
    some_rows,
    vectors_of_classes,
)
from coview.views.views import Views

__all__ = ["vector_weights"]

SAMPLE = 1500  # objects that are looked at
MEMBERS = 10  # objects of each cluster at least, on average
FOLDS = 5
STARTS, ROUNDS = 2, 10  # of k-means, of EM on counts
SURE = 2.0  # standard errors
DIGITS = 6  # of logarithms: what rounding leaves of no gain is none


def vector_weights(
    views: Any,
    names: Iterable[str],
    counts: Mapping[str, float],
    n_groups: int,
    seed: int,
    *,
    codes: np.ndarray | None = None,
    deadline: Deadline = NO_DEADLINE,
) -> tuple[float, dict[str, float]]:
    """Weight of a token, and how many each of the Gaussian views `names` is worth beside `counts`, which have weights.

    `codes` are the labels of a classifier, -1 for none; then groups are classes. A view that its turn does not come to
    before the deadline is worth one token, and so are all where there are no counts.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> groups = rng.integers(3, size=300)
    >>> words = 0.1 * rng.poisson(0.2 + np.eye(3)[groups][:, np.arange(30) % 3])
    >>> X = Views(words=words, good=3 * np.eye(3)[groups] + rng.normal(size=(300, 3)), noise=rng.normal(size=(300, 3)))
    >>> token, tokens = vector_weights(X, ["good", "noise"], {"words": 1.0}, 3, 0)
    >>> round(token, 1), {view: round(worth) for view, worth in tokens.items()}
    (0.1, {'good': 3, 'noise': 1})
    """
    tokens = dict.fromkeys(names, 1.0)
    if not counts or not tokens:
        return 1.0, tokens
    some = some_rows(views, SAMPLE, seed)
    entries = {name: sum_entries(some[name]) for name in counts}
    number = sum(number for _, number in entries.values())
    token = sum(counts[name] * total for name, (total, _) in entries.items()) / number if number else 0.0
    if n_groups > 1:
        for name in tokens:
            if not deadline.is_over():
                tokens[name] = _worth(views, some.select(*counts, name), counts, n_groups, seed, codes)
    return token or 1.0, tokens


def _worth(views: Any, some: Views, counts: Iterable[str], n_groups: int, seed: int, codes: np.ndarray | None) -> float:
    """Tokens that the vectors of a view are worth; 1 where it is not sure that it knows something."""
    name = some.names[-1]
    gain = np.nan if codes is None else _gain_of_classes(views, name, counts, codes, n_groups, seed)
    if gain <= 0:
        return 1.0
    if codes is None or not gain > SURE:
        some = some[np.random.default_rng(seed).permutation(np.flatnonzero(some.present[:, -1]))]
        half = len(some) // 2
        k = min(n_groups, half // MEMBERS)
        if k < 2:
            return 1.0
        vectors = some.select(name)
        clusters = cluster_vectors(vectors[:half], k, seed, STARTS)(vectors).argmax(axis=1)
        start = vectors_of_classes(vectors[:half], clusters[:half], k, seed)
        if (
            _gain_of_clusters(vectors, clusters, start, half) < SURE
            or _gain_of_counts(some, clusters, start, half) < -SURE
        ):
            return 1.0
        if codes is None:
            return start.tokens[name]
    return vectors_of_classes(views.select(name), codes, n_groups, seed).tokens[name]


def _gain_of_classes(
    views: Any, name: str, counts: Iterable[str], codes: np.ndarray, n_classes: int, seed: int
) -> float:
    """Do held-out labels gain probability where vectors stand beside counts? In standard errors; NaN: nobody knows."""
    rows, ranks = rank_in_class(codes, seed)
    first = np.argsort(ranks, kind="stable")[:SAMPLE]
    some, known, ranks = views[rows[first]], codes[rows[first]], ranks[first]
    there = some.present[:, some.names.index(name)]
    fold = np.where(there & (np.bincount(known)[known] > 1), ranks % FOLDS, -1)
    gains = np.full(len(known), np.nan)
    for number in range(FOLDS):
        hidden, seen = np.flatnonzero(fold == number), np.where(fold == number, -1, known)
        if not len(hidden) or (seen >= 0).sum() <= len(np.unique(known)):  # one of each class says nothing of noise
            continue
        words = NaiveBayesStart.learned(some.select(*counts), seen, n_classes, scaled=True)(some[hidden])
        odds = vectors_of_classes(some.select(name), seen, n_classes, seed).log_odds(some[hidden])
        alone = np.log(np.maximum(words, LEAST))
        gains[hidden] = (log_softmax(alone + odds, axis=1) - alone)[np.arange(len(hidden)), known[hidden]]
    return _in_standard_errors(gains)


def _gain_of_clusters(vectors: Views, clusters: np.ndarray, start: VectorStart, half: int) -> float:
    """Have most of the vectors past `half` a higher density around k means than around one? In standard errors."""
    ((name, scale),) = start.scales.items()
    if scale == 0:  # vectors that are all alike
        return 0.0
    squares = ((as_dense(vectors[name]) - start.offsets[name]) ** 2).sum(axis=1)
    worth = start.tokens[name]
    single = worth / (2 * squares[:half].mean())
    sizes = np.bincount(clusters[:half], minlength=len(start.centers[name]))
    around = logsumexp(start.log_odds(vectors[half:]) + np.log(np.maximum(sizes / half, LEAST)), axis=1)
    gains = around + (single - scale) * squares[half:] + worth / 2 * np.log(scale / single)
    return float((2 * np.mean(gains > 0) - 1) * np.sqrt(len(gains)))


def _gain_of_counts(some: Views, clusters: np.ndarray, start: VectorStart, half: int) -> float:
    """Do groups by counts and vectors foretell held-out counts at least half as well as groups by counts alone?"""
    names = some.names[:-1]
    seen = some.map(dict.fromkeys(names, lambda matrix: matrix[:, ::2]))
    gains = np.zeros(len(some) - half)
    for share, odds in ((1.0, start.log_odds), (-0.5, None)):
        model = NaiveBayesStart.learned(
            seen.select(*names), clusters, len(start.centers[some.names[-1]]), scaled=True, odds=odds
        )
        for _ in range(ROUNDS):
            model = model.refined(seen, np.full(len(some), -1))
        members = model(seen)
        for name, scale in model.scales.items():
            rest = some[name][:, 1::2]
            log_prob = np.log1p(scale * np.asarray(rest[:half].T @ members[:half]).T)
            sums = rest[half:].T @ np.ones(len(gains))
            log_prob -= (log_prob @ sums / max(sums.sum(), LEAST))[:, None]  # 0 on average where groups say nothing
            gains += share * scale * ((rest[half:] @ log_prob.T) * members[half:]).sum(axis=1)
    return _in_standard_errors(gains)


def _in_standard_errors(gains: np.ndarray) -> float:
    gains = gains[~np.isnan(gains)].round(DIGITS)
    return float(gains.mean() * np.sqrt(len(gains)) / (gains.std() or 1.0)) if len(gains) else np.nan

"""Do the views belong together? What the neighbors of an object in one view are to it in another.

The objects of a bounded sample are compared in each view. s_v(i, j) is how alike two of them are there, by cosines or
distances, and N_v(i) are the nearest of i. What two views share is the sum of

    T(v, w) = mean of s_w(i, j),  j in N_v(i)          and T(w, v)

each in units of its standard deviation by chance. How far chance goes is seen where the rows of one of the views are
shuffled: the sum is compared with its mean there, again in standard deviations. The same figure of two halves of a
view's columns, drawn at random, says whether the view has structure at all, before any other view is asked.

| verdict | shares with another view | its halves share | so |
|---|---|---|---|
| shares | yes | not asked | the view belongs to the others |
| alone | no | yes | its rows may be in another order than those of the others |
| noise | no | no | its columns have nothing to do with each other |
| noise | no, though others have structure | cannot be told | one column, or one category of each object |
| unknown | no | cannot be told | few objects, or no other view that has structure |

Noise is a matter of degree: with z the largest of the figures of a view, it counts for min(max(z / 2 - 1, 0), 1) of a
view. Up to two deviations it has no say, from four on it is a view like the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances

from coview.clustering.affinity import Scaling
from coview.inspection.choice import describe_misaligned
from coview.utils import fitted_state as rules
from coview.utils.progress import tell
from coview.utils.sampling import sample_positions
from coview.utils.warn import warn_user
from coview.views.arrays import unit_rows
from coview.views.views import Views

__all__ = ["RELATIONS", "check_alignment", "relate_views", "weigh_by_relations"]

MOST_OBJECTS = 800  # objects that are compared: their pairs are held
FEWEST = 30  # objects that have both of two views; of fewer, chance alone reaches far
NEAREST = 10  # neighbors of each object in one view whose likeness in the other is averaged
SHUFFLES = 40  # of the rows: by as many, the deviation of chance is known to a ninth, 1 / sqrt(2 * 39)
SHARED = (
    4.0  # standard deviations of chance from which two views share something: of normal values, 1 in 30,000 is beyond
)

# what a fitted model keeps of it
RELATIONS = rules.record(
    view=rules.sequence(rules.text(), "views related"),
    verdict=rules.sequence(rules.choice("shares", "alone", "noise", "unknown"), "views related"),
    weight=rules.sequence(rules.real(0, 1), "views related"),
)


def check_alignment(views: Views, seed: int = 0) -> dict[str, list[Any]]:
    """Return what each view shares with the others; warn of those that share nothing though they could."""
    tell("views")
    relations = relate_views(views, seed)
    if sentence := describe_misaligned(relations):
        warn_user(sentence, UserWarning)
    return relations


def relate_views(views: Views, seed: int = 0) -> dict[str, list[Any]]:
    """Say of each view whether it shares anything with the others.

    Parameters
    ----------
    views : Views
        Prepared ones, as candidates see them.
    seed : int, default=0
        Of the sample, the shuffles and the halves.

    Returns
    -------
    dict of lists
        "view", "verdict" and "weight", one row per view.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = (np.eye(3)[np.arange(90) % 3] * 4 + rng.normal(size=(90, 3)) for _ in range(2))
    >>> relate_views(Views(a=a, b=b))["verdict"], relate_views(Views(a=a, b=rng.permutation(b)))["verdict"]
    (['shares', 'shares'], ['alone', 'alone'])
    """
    some = views[sample_positions(len(views), MOST_OBJECTS, seed)]
    rng = np.random.default_rng([seed, 2])
    wholes, halves = zip(
        *(_compute_likeness(matrix, some.present[:, v], rng) for v, matrix in enumerate(some.values()))
    )
    n = len(wholes)
    shared = np.full((n, n), np.nan)
    for v in range(n):
        for w in range(v):
            shared[v, w] = shared[w, v] = _compute_shared(wholes[v], wholes[w], rng)
    joined: Any = (shared >= SHARED).any(axis=1)
    own = np.array([np.nan if joined[v] else _compute_shared(halves[v][0], halves[v][1], rng) for v in range(n)])
    structured: Any = joined | (own >= SHARED)
    verdicts, told = [], np.fmax.reduce([*shared, own, np.zeros(n)])
    for v in range(n):
        comparable = np.isfinite(shared[v])
        others = bool((structured & comparable).any())
        if joined[v]:
            verdicts.append("shares")
        elif own[v] < SHARED or (np.isnan(own[v]) and others):
            verdicts.append("noise")
        else:
            verdicts.append("alone" if own[v] >= SHARED and others else "unknown")
    weights = [min(max(2 * z / SHARED - 1, 0.0), 1.0) if word == "noise" else 1.0 for z, word in zip(told, verdicts)]
    return {"view": list(views.names), "verdict": verdicts, "weight": weights}


def weigh_by_relations(relations: dict[str, list[Any]]) -> dict[str, float]:
    """Return how much the views count that clusters are looked for in: noise less or not, where there is any other.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a = np.eye(3)[np.arange(90) % 3] * 4 + rng.normal(size=(90, 3))
    >>> weigh_by_relations(relate_views(Views(a=a, b=rng.normal(size=(90, 5)))))
    {'a': 1.0}
    """
    if set(relations["verdict"]) == {"noise"}:
        return dict.fromkeys(relations["view"], 1.0)
    return {view: weight for view, weight in zip(relations["view"], relations["weight"]) if weight > 0}


# -- pieces

Likeness = tuple[np.ndarray, np.ndarray]  # how alike objects are (objects x objects), and which of them say anything


def _compute_likeness(
    matrix: Any, present: np.ndarray, rng: np.random.Generator
) -> tuple[Likeness, tuple[Likeness, Likeness]]:
    """Compute how alike objects are in a view, and in two halves of its columns."""
    scaling = Scaling.learned(matrix, n_present=int(present.sum()))
    rows, cosine = scaling.rows(matrix, present), scaling.metric == "cosine"

    def compare(part: Any) -> Likeness:
        if not part.shape[1]:  # half of a single column says nothing
            return np.zeros((len(present), len(present))), np.zeros(len(present), dtype=bool)
        if cosine:
            part = unit_rows(part)
            product = part @ part.T
            likeness = product.toarray() if sparse.issparse(product) else product
        else:
            gaps = pairwise_distances(part, metric="sqeuclidean")
            likeness = 1.0 / (1.0 + gaps / (np.median(gaps) or 1.0))
        return likeness, scaling.known(part, present)

    order = rng.permutation(matrix.shape[1])
    first, second = (compare(rows[:, columns]) for columns in np.array_split(order, 2))
    return compare(rows), (first, second)


def _list_nearest(likeness: np.ndarray) -> np.ndarray:
    """Return pairs of each object and its nearest neighbors, without those that have nothing in common."""
    others = likeness - 3 * np.eye(len(likeness))
    nearest = np.argpartition(-others, NEAREST, axis=1)[:, :NEAREST]
    pairs = np.stack([np.repeat(np.arange(len(likeness)), NEAREST), nearest.ravel()])
    return pairs[:, others[tuple(pairs)] > 0]


def _compute_shared(one: Likeness, other: Likeness, rng: np.random.Generator) -> float:
    """Compute T of two views in standard deviations from chance; NaN where it cannot be told."""
    have = np.flatnonzero(one[1] & other[1])
    if len(have) < FEWEST:
        return np.nan
    alike = [likeness[np.ix_(have, have)] for likeness, _ in (one, other)]
    pairs = [_list_nearest(part) for part in alike]
    if not pairs[0].size or not pairs[1].size:
        return np.nan

    def compute_means(order: np.ndarray) -> list[float]:
        """Both means where the object in place i of the first view is that in place order[i] of the second."""
        back = np.argsort(order)
        return [alike[1][tuple(order[pairs[0]])].mean(), alike[0][tuple(back[pairs[1]])].mean()]

    chance = np.array([compute_means(rng.permutation(len(have))) for _ in range(SHUFFLES)])
    spread = chance.std(axis=0, ddof=1)
    if spread.min() < 1e-7:  # all objects are equally alike, but for rounding
        return np.nan
    sums = np.array([compute_means(np.arange(len(have))), *chance]) @ (1.0 / spread)
    return float((sums[0] - sums[1:].mean()) / sums[1:].std(ddof=1))

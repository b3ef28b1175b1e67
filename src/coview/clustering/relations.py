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
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from coview.clustering.affinity import Scaling, row_squares
from coview.inspection.choice import describe_misaligned
from coview.utils import fitted_state as rules
from coview.utils.progress import tell
from coview.utils.sampling import sample_positions
from coview.utils.warn import warn_user
from coview.views.arrays import unit_rows
from coview.views.views import Views

__all__ = ["RELATIONS", "check_alignment", "relate_views", "structured_views"]

SHARE, LEAST_OBJECTS, MOST_OBJECTS = 0.5, 300, 1000  # of the objects that are compared
FEWEST = 30  # objects that have both of two views
NEAREST = 10
SHUFFLES = 40
FAINT = 1e-7  # standard deviation of a mean of likenesses: there is none but for rounding
SHARED = 4.0  # standard deviations of chance from which two views share something
VERDICTS = ("shares", "alone", "noise", "unknown")

# what a fitted model keeps of it
RELATIONS = rules.record(
    view=rules.sequence(rules.text(), "views related"),
    shared=rules.sequence(rules.number(nan=True), "views related"),
    partner=rules.sequence(rules.or_none(rules.text()), "views related"),
    own=rules.sequence(rules.number(nan=True), "views related"),
    verdict=rules.sequence(rules.one_of(*VERDICTS), "views related"),
)


def check_alignment(views: Views, seed: int = 0) -> dict[str, list[Any]]:
    """Return what each view shares with the others; warn of those that share nothing though they could."""
    tell("views")
    relations = relate_views(views, seed)
    if sentence := describe_misaligned(relations):
        warn_user(sentence, UserWarning)
    return relations


def relate_views(views: Views, seed: int = 0) -> dict[str, list[Any]]:
    """Say of each view what it shares with the others: a table with one row per view.

    Parameters
    ----------
    views : Views
        Prepared ones, as candidates see them.
    seed : int, default=0
        Of the sample, the shuffles and the halves.

    Returns
    -------
    dict of lists
        "view"; "shared" with the view that it shares most with, in standard deviations of chance, and "partner",
        that view's name; "own", the same figure of two halves of its columns, where it shares nothing; "verdict".

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = (np.eye(3)[np.arange(90) % 3] * 4 + rng.normal(size=(90, 3)) for _ in range(2))
    >>> relate_views(Views(a=a, b=b))["verdict"], relate_views(Views(a=a, b=rng.permutation(b)))["verdict"]
    (['shares', 'shares'], ['alone', 'alone'])
    """
    most = max(MOST_OBJECTS / max(len(views.names) - 1, 1) ** 0.5, LEAST_OBJECTS)  # many views are many pairs of them
    rows = sample_positions(len(views), int(np.clip(SHARE * len(views), LEAST_OBJECTS, most)), seed)
    some = views if len(rows) == len(views) else views[rows]
    parts = [_Likeness.of(matrix, some.present[:, v]) for v, matrix in enumerate(some.values())]
    rng = np.random.default_rng([seed, 2])
    shared = np.full((len(parts), len(parts)), -np.inf)
    for v, w in combinations(range(len(parts)), 2):
        figure = _shared(parts[v], parts[w], rng)
        shared[v, w] = shared[w, v] = -np.inf if figure is None else figure
    largest = shared.max(axis=1, initial=-np.inf)
    own = [
        np.nan if largest[v] >= SHARED or len(parts) == 1 else _shared_by_halves(matrix, some.present[:, v], rng)
        for v, matrix in enumerate(some.values())
    ]
    structured = [largest[v] >= SHARED or own[v] >= SHARED for v in range(len(parts))]
    known = np.isfinite(largest)
    return {
        "view": list(views.names),
        "shared": [float(figure) if finite else np.nan for figure, finite in zip(largest, known)],
        "partner": [views.names[int(shared[v].argmax())] if known[v] else None for v in range(len(parts))],
        "own": [float(figure) for figure in own],
        "verdict": [
            _verdict(largest[v], own[v], any(structured[w] for w in range(len(parts)) if np.isfinite(shared[v, w])))
            for v in range(len(parts))
        ],
    }


def structured_views(relations: dict[str, list[Any]]) -> list[str]:
    """Views that clusters are looked for in: all but those of noise, where any other has structure.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a = np.eye(3)[np.arange(90) % 3] * 4 + rng.normal(size=(90, 3))
    >>> structured_views(relate_views(Views(a=a, b=rng.normal(size=(90, 5)))))
    ['a']
    """
    rows = list(zip(relations["view"], relations["verdict"], relations["own"]))
    if not any(verdict in ("shares", "alone") or own >= SHARED for _, verdict, own in rows):
        return list(relations["view"])
    return [view for view, verdict, _ in rows if verdict != "noise"]


# -- pieces


def _verdict(shared: float, own: float, others: bool) -> str:
    """Return one word for a view; `others` says whether any other view has structure that could be shared."""
    if shared >= SHARED:
        return "shares"
    if own < SHARED or (np.isnan(own) and np.isfinite(shared) and others):
        return "noise"
    return "alone" if own >= SHARED and others else "unknown"


class _Likeness:
    """How alike the objects are in one view, 0 to 1: cosines, or of measurements by their distances."""

    def __init__(self, rows: Any, known: np.ndarray, cosine: bool) -> None:
        product = rows @ rows.T
        likeness = product.toarray() if sparse.issparse(product) else np.asarray(product)
        if not cosine:
            squares = row_squares(rows)
            gaps = np.maximum(squares[:, None] + squares - 2.0 * likeness, 0.0)
            usual = float(np.median(gaps[:: max(len(gaps) // 50, 1)]))
            likeness = 1.0 / (1.0 + gaps / (usual or 1.0))
        self.known = known
        self.values = likeness.astype(np.float32)
        self._all: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def of(cls, matrix: Any, present: np.ndarray) -> _Likeness:
        scaling = Scaling.learned(matrix, n_present=int(present.sum()))
        rows = scaling.rows(matrix, present)
        return cls(rows, scaling.known(rows, present), scaling.metric == "cosine")

    def among(self, have: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the likeness of some objects, and the pairs of each and those nearest to it."""
        if len(have) < len(self.known):
            return _with_nearest(self.values[np.ix_(have, have)])
        if self._all is None:
            self._all = _with_nearest(self.values)
        return self._all


def _with_nearest(likeness: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n = len(likeness)
    others = likeness.copy()
    np.fill_diagonal(others, -1.0)
    nearest = np.argpartition(others, n - NEAREST, axis=1)[:, n - NEAREST :]
    pairs = np.stack([np.repeat(np.arange(n), NEAREST), nearest.ravel()])
    return likeness, pairs[:, others[pairs[0], pairs[1]] > 0]  # who has nothing in common is nobody's neighbor


def _shared(one: _Likeness, other: _Likeness, rng: np.random.Generator) -> float | None:
    """Return T of two views in standard deviations from chance; None of too few objects."""
    have = np.flatnonzero(one.known & other.known)
    if len(have) < FEWEST:
        return None
    (likeness, pairs), (others_likeness, others_pairs) = one.among(have), other.among(have)
    if not pairs.size or not others_pairs.size:
        return None

    def together(order: np.ndarray) -> np.ndarray:
        """Both means where the object in place i of the first view is that in place order[i] of the second."""
        first, second = np.argsort(order)[others_pairs], order[pairs]
        means = others_likeness[second[0], second[1]], likeness[first[0], first[1]]
        return np.array([float(np.mean(part, dtype=np.float64)) for part in means])

    chance = np.array([together(rng.permutation(len(have))) for _ in range(SHUFFLES)])
    spread = chance.std(axis=0, ddof=1)
    if not (spread > FAINT).all():  # all objects are equally alike
        return None
    scaled = np.array([together(np.arange(len(have))), *chance]) @ (1.0 / spread)
    return float((scaled[0] - scaled[1:].mean()) / scaled[1:].std(ddof=1))


def _shared_by_halves(matrix: Any, present: np.ndarray, rng: np.random.Generator) -> float:
    """Return the same of two halves of a view's columns; NaN where it cannot be told."""
    width = matrix.shape[1]
    if width < 2:
        return np.nan
    scaling = Scaling.learned(matrix, n_present=int(present.sum()))
    rows = scaling.rows(matrix, present)
    order = rng.permutation(width)
    halves = []
    for columns in (order[: width // 2], order[width // 2 :]):
        part = unit_rows(rows[:, columns]) if scaling.metric == "cosine" else rows[:, columns]
        halves.append(_Likeness(part, scaling.known(part, present), scaling.metric == "cosine"))
    figure = _shared(halves[0], halves[1], rng)
    return np.nan if figure is None else figure

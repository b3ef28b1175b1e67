"""How much each view says of the classes, from few labels: the weights of `view_weights="auto"`.

Two things tell a view that helps from one that does not. Its opinion of held-out labeled objects: does it give their
labels back? And its opinion of the unlabeled objects: does another view share it? A view that knows nothing of the
classes agrees with no other beyond chance. Both are measured as Cohen's kappa, less what chance alone may bring,

    a_v = max over views w of kappa(opinion of v, opinion of w) - 2 / sqrt(n)       n unlabeled objects with both views
    h_v = kappa(labels, opinion of v without them) - 1 / sqrt(m)                    m labeled objects held out

each as a share of its largest and joined, h_v with the weight of its m labels against 20. Opinions are those of naive
Bayes after two rounds of EM; of a view with negative values those of the nearest class mean by the cosine, and of one
that a model takes for Gaussian vectors those of the nearest class mean by the distance, wherever 0 is. What is left is
no measure of how good a view is: good views may agree little. So a view whose share is at least 0.4 keeps the weight 1,
one below 0.1 gets 0, and those between stand between. Where nothing is known of any view, all keep theirs.

Opinions from a few labels are poor, and so are their agreements. Whether views share anything at all can be told
without labels (`coview.clustering.relations`). Where some do, a view that could share something with them and does not
is a stranger: noise, or other rows. Ten labels are no reason to leave one of the others out, and no reason to take in a
stranger, unless it is the only one that knows of the classes and there are labels enough to see it:

- a_v is looked for among the others only; if nobody's rises above chance, all of them have the same, with the weight of
  5 labels;
- their shares of h_v are moved towards 1 as far as the largest h_v is less than two standard deviations, 2 / sqrt(m);
- h_v of a stranger is less by 1 / sqrt(m) once more.

Views of few objects are no strangers, nor are any of more than 12 views, whose pairs would take too long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from coview.classification.naive_bayes import ViewOpinion
from coview.clustering.relations import relate_views
from coview.engines.deadline import NO_DEADLINE, Deadline
from coview.preprocessing.weighting import TfidfViews
from coview.utils.folds import deal_folds
from coview.utils.remembered import remembered
from coview.utils.sampling import sample_positions
from coview.views.arrays import looks_counted, unit_rows
from coview.views.views import Views, n_present

__all__ = ["LEARNED", "held_out_agreement", "learned_view_weights", "strange_views"]

LEARNED = "auto"  # what asks for weights of this kind
MOST_OBJECTS = 2000  # that are looked at
FOLDS = 3
LABELS = 20  # that count as much as the agreement of the views
SHARING = 5  # that count as much as what they share without any label
CLEAR = 2  # standard deviations above chance, beside the one that h_v has taken off, from which labels alone decide
STRANGERS = ("alone", "noise")  # verdicts on views that share nothing, though they could
HALVED = 4  # columns from which two halves of a view say whether it has structure
RELATED, MOST_VIEWS = 2000, 12  # objects by which views are related to each other, and how many views at most
NOTHING, ENOUGH = 0.1, 0.4  # shares of the best view's evidence below which a view is left out, from which it counts
Opinion = Callable[[np.ndarray], np.ndarray]  # codes of the labels (-1 for none) to a class for each object
ROUNDS = 2  # of learning from the unlabeled, for views with negative values and for vectors


def learned_view_weights(
    views: Any,
    codes: np.ndarray,
    n_classes: int,
    seed: int,
    deadline: Deadline = NO_DEADLINE,
    gaussian: Collection[str] = (),
) -> dict[str, float]:
    """Weights from 0 to 1 by view, from the labeled (code not -1) and unlabeled objects of views in memory or lazy.

    Views named in `gaussian` are vectors, whatever their signs are.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> classes = np.arange(200) % 2
    >>> words, tags = (rng.poisson(0.2 + 3 * np.eye(2)[classes]) for _ in range(2))
    >>> noise = rng.poisson(1.0, (200, 5))
    >>> codes = np.where(np.arange(200) < 4, classes, -1)
    >>> learned_view_weights(Views(words=words, tags=tags, noise=noise), codes, 2, seed=0)
    {'words': 1.0, 'tags': 1.0, 'noise': 0.0}
    """
    if len(views.names) == 1:
        return dict.fromkeys(views.names, 1.0)
    rng = np.random.default_rng(seed)
    rows = _some_rows(codes, rng)
    some, codes = views[rows], codes[rows]
    known = {
        name: some.present[:, v] if name in gaussian else _filled(some[name]) & some.present[:, v]
        for v, name in enumerate(some.names)
    }
    opinions = {name: _opinion(some.select(name), n_classes, name in gaussian) for name in some.names}
    verdicts = _verdicts(some if len(some) == len(views) else views, gaussian, deadline)
    related = "shares" in verdicts
    trusted = np.array([not related or verdict not in STRANGERS for verdict in verdicts])
    agreement = _agreement(opinions, codes, known, n_classes, trusted)
    held_out, n_held = _held_out(opinions, codes, n_classes, rng, deadline)
    agreement_weight, confidence = LABELS, 1.0
    if related:
        if agreement.max() <= 0:
            agreement, agreement_weight = trusted.astype(np.float64), SHARING
        if n_held:
            confidence = min(float(held_out.max()) * np.sqrt(n_held) / CLEAR, 1.0)
            held_out = np.where(trusted, held_out, np.maximum(held_out - 1 / np.sqrt(n_held), 0.0))
    evidence, total = np.zeros(len(some.names)), 0.0
    for values, weight, sure in ((agreement, agreement_weight, 1.0), (held_out, n_held, confidence)):
        if values.max() > 0:
            shares = sure * values / values.max() + (1 - sure) * trusted
            evidence, total = evidence + weight * shares, total + weight
    if not total:
        return dict.fromkeys(views.names, 1.0)
    weights = np.clip((evidence / total - NOTHING) / (ENOUGH - NOTHING), 0.0, 1.0)
    return dict(zip(views.names, weights.tolist()))


def strange_views(views: Views, codes: np.ndarray, n_classes: int, seed: int) -> list[str]:
    """Of some strangers, those that labels do not speak for.

    A view of few columns has no two halves to tell its structure by, and is none.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> classes = np.arange(90) % 3
    >>> X = Views(means=np.eye(3)[classes].repeat(2, axis=1) + rng.normal(size=(90, 6)), noise=rng.normal(size=(90, 6)))
    >>> strange_views(X, np.where(np.arange(90) < 45, classes, -1), 3, seed=0)
    ['noise']
    """
    doubtful = [name for name, width in views.n_features.items() if width >= HALVED]
    if not doubtful:
        return []
    kappas, n_held = held_out_agreement(views.select(*doubtful), codes, n_classes, seed)
    return [name for name, kappa in kappas.items() if not n_held or kappa <= 1 / np.sqrt(n_held)]


def held_out_agreement(views: Views, codes: np.ndarray, n_classes: int, seed: int) -> tuple[dict[str, float], int]:
    """For each view h_v, how well held-out labels come back from it alone; and how many were held out.

    Examples
    --------
    >>> classes = np.arange(90) % 3
    >>> X = Views(means=9 * np.eye(3)[classes], noise=np.random.default_rng(0).poisson(1.0, (90, 6)))
    >>> kappas, n_held_out = held_out_agreement(X, np.where(np.arange(90) < 45, classes, -1), 3, seed=0)
    >>> round(kappas["means"], 2), kappas["noise"] < 0.2, n_held_out
    (0.85, True, 45)
    """
    rng = np.random.default_rng(seed)
    rows = _some_rows(codes, rng)
    some, codes = views[rows], codes[rows]
    opinions = {name: _opinion(some.select(name), n_classes, False) for name in some.names}
    kappas, n_held = _held_out(opinions, codes, n_classes, rng, NO_DEADLINE)
    return dict(zip(some.names, kappas.tolist())), n_held


def _some_rows(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """At most so many objects, at most half of them labeled if there are others."""
    labeled, free = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
    n_labeled = min(len(labeled), max(MOST_OBJECTS // 2, MOST_OBJECTS - len(free)))
    parts = rng.permutation(labeled)[:n_labeled], rng.permutation(free)[: MOST_OBJECTS - n_labeled]
    return np.sort(np.concatenate(parts))


def _verdicts(views: Any, gaussian: Collection[str], deadline: Deadline) -> list[str]:
    """What `relate_views` says of each view, the same whatever the labels are; "unknown" where it would take long."""
    if len(views.names) > MOST_VIEWS or deadline.is_over():
        return ["unknown"] * len(views.names)
    rows = sample_positions(len(views), RELATED, 0)
    some = views[rows] if len(rows) < len(views) else views
    having = n_present(some)
    counted = [name for name in some.names if name not in gaussian and looks_counted(some[name], having[name])]

    def relate() -> list[str]:
        weighed = TfidfViews(views=counted).fit_transform(some) if counted else some
        return list(relate_views(weighed)["verdict"])

    return remembered(("verdicts", *counted, *some.names, *some.values(), some.present), relate)


def _agreement(
    opinions: Mapping[str, Opinion],
    codes: np.ndarray,
    known: dict[str, np.ndarray],
    n_classes: int,
    among: np.ndarray,
) -> np.ndarray:
    """For each view the agreement with the view that it agrees with most `among` some, on unlabeled objects."""
    answers = {name: opinion(codes) for name, opinion in opinions.items()}
    best, names = np.zeros(len(answers)), list(answers)
    for v, one in enumerate(names):
        for w, other in enumerate(names[:v]):
            both = (codes < 0) & known[one] & known[other]
            if among[v] and among[w] and both.any():
                chance = 2 / np.sqrt(both.sum())
                kappa = _kappa(answers[one][both], answers[other][both], n_classes) - chance
                best[[v, w]] = np.maximum(best[[v, w]], kappa)
    return best


def _held_out(
    opinions: Mapping[str, Opinion],
    codes: np.ndarray,
    n_classes: int,
    rng: np.random.Generator,
    deadline: Deadline,
) -> tuple[np.ndarray, int]:
    """For each view how well held-out labels come back, and how many were held out: classes with one are left out."""
    fold = deal_folds(codes, FOLDS, int(rng.integers(2**31)))
    answers = np.full((len(opinions), len(codes)), -1)
    for number in range(FOLDS):
        hidden = fold == number
        if not hidden.any() or deadline.is_over():
            continue
        seen = np.where(hidden, -1, codes)
        for v, opinion in enumerate(opinions.values()):
            answers[v, hidden] = opinion(seen)[hidden]
    tried = answers[0] >= 0
    if not tried.any():
        return np.zeros(len(opinions)), 0
    chance = 1 / np.sqrt(tried.sum())
    kappas = [_kappa(codes[tried], answer[tried], n_classes) - chance for answer in answers]
    return np.maximum(kappas, 0.0), int(tried.sum())


def _opinion(one: Views, n_classes: int, is_gaussian: bool) -> Opinion:
    """Class of each object by the only view, as a function of the labels: what does not depend on them is done once."""
    matrix: Any = next(iter(one.values()))
    values = matrix.data if sparse.issparse(matrix) else matrix
    if not is_gaussian and (not values.size or values.min() >= 0):
        return ViewOpinion(one, n_classes)
    nearest = _nearest_means if is_gaussian else _nearest_directions
    there = one.present[:, 0] if is_gaussian else np.ones(len(one), dtype=bool)
    rows = matrix.astype(np.float64) if is_gaussian else unit_rows(matrix)

    def answer(codes: np.ndarray) -> np.ndarray:
        found = codes
        for _ in range(ROUNDS + 1):
            known = np.flatnonzero((found >= 0) & there)
            members = sparse.csr_array(
                (np.ones(len(known), rows.dtype), (found[known], known)), shape=(n_classes, len(found))
            )
            found = np.where(codes >= 0, codes, nearest(rows, members, there))
        return found

    return answer


def _nearest_directions(rows: Any, members: sparse.csr_array, there: np.ndarray) -> np.ndarray:
    scores = rows @ unit_rows(members @ rows).T
    return np.asarray(scores.toarray() if sparse.issparse(scores) else scores).argmax(axis=1)


def _nearest_means(rows: Any, members: sparse.csr_array, there: np.ndarray) -> np.ndarray:
    """By the distance to the class means, each drawn to the mean of all as if that were one more."""
    sums = members @ rows
    sums = sums.toarray() if sparse.issparse(sums) else np.asarray(sums)
    mean = np.asarray(rows.sum(axis=0)).ravel() / max(there.sum(), 1)  # rows that are not there are zeros
    apart = (sums + mean) / (members.sum(axis=1) + 1)[:, None] - mean
    scores = np.asarray(rows @ apart.T) - mean @ apart.T - (apart**2).sum(axis=1) / 2
    return scores.argmax(axis=1)


def _filled(matrix: Any) -> np.ndarray:
    """Which rows hold anything."""
    return np.diff(matrix.indptr) > 0 if sparse.issparse(matrix) else np.asarray(matrix.any(axis=1))


def _kappa(one: np.ndarray, other: np.ndarray, n_classes: int) -> float:
    """Agreement beyond chance (Cohen)."""
    table = np.zeros((n_classes, n_classes))
    np.add.at(table, (one, other), 1.0 / len(one))
    chance = float(table.sum(axis=0) @ table.sum(axis=1))
    return (float(np.trace(table)) - chance) / (1 - chance) if chance < 1 else 0.0

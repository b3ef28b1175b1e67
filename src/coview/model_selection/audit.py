"""`audit_labels`: which given labels the views contradict, and what they say instead.

Witnesses are classifiers of each view alone and of all of them. None has seen the labels that it is asked about: these
are held out, fold by fold. With calibrated probabilities of those that see one view of object x, a(t | x), and of those
that see all, b(t | x), each the product of several classifiers,

    p(t | x)        ~ (a(t | x)^u b(t | x)^w) ^ (1 / T)     u and w by the likelihood of held-out labels
    p(t | x, g)     ~ p(t | x) n(g | t)                     t the true class, g the given label
    n(g | t)        share of the objects of class t that were given g: by EM, near one wrong label of eleven

T maximizes the likelihood of the given labels, sum_x log sum_t p(t | x) n(g | t): without n, p would have to explain
the mistakes too, and be less sure than it is right. A label is doubted more where the same mistake is made often: most
labels that are wrong are so in the same way. A view that knows nothing is nearly uniform after its calibration, and
changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp, softmax

from coview.auto.classifier import AutoClassifier
from coview.auto.experts import Expert, propose_experts
from coview.auto.held_out import FAILURES, FOLDS, PreparedViews, fit_expert, fitted_scores
from coview.auto.pooling import fit_exponents, fit_temperature
from coview.clustering.links import find_links, judge_links
from coview.exceptions import ParameterError
from coview.inspection import Inspection, inspect
from coview.inspection.known import objects_by_view
from coview.model_selection.copies import copy_to_fit
from coview.model_selection.table import ObjectTable
from coview.utils.messages import quantity
from coview.utils.progress import tell
from coview.utils.remembered import remembering
from coview.utils.sampling import deal_folds
from coview.utils.warn import unwarned
from coview.validation import base_seed, check_count, encode_labels, minus_one_is_unlabeled
from coview.views.coerce import as_views
from coview.views.lazy import LazyViews
from coview.views.views import PLAIN, Views, check_same_order

__all__ = ["LabelAudit", "audit_labels"]

ALONE, TOGETHER = ("latent", "graph"), ("margins", "latent", "graph", "near")  # experts that are asked
RIGHT, WRONG = 50.0, 5.0  # labels of each class, right and wrong, that are believed in before any is seen
ROUNDS = 50  # of EM
SHOWN = 10
UNJUDGED = "no view to judge it by"


def audit_labels(model: Any, X: Any, y: Any, *, cv: int = FOLDS, random_state: Any = 0) -> LabelAudit:
    """Find given labels that are likely wrong, the most doubtful first.

    Every view is a witness: classifiers of each view alone and of all views are fitted without the labels that they are
    asked about. The answer says how likely a label is wrong, which class is suggested instead, and what each view says.

    Parameters
    ----------
    model : fitted classifier or None
        `AutoClassifier` or another of coview's, a pipeline that ends in one, or one of scikit-learn. A copy of it is
        one more witness; not of `AutoClassifier`, whose candidates are witnesses in any case. None needs no fit.
    X : what the model takes
        Objects with and without a label, such as those of the fit; without a model, what becomes Views.
    y : array-like
        Labels of X as in `fit`; None, NaN, an empty text and, for semi-supervised classifiers, -1 mark the unlabeled
        objects.
    cv : int, default=5
        Number of folds in which labels are held out.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the folds.

    Returns
    -------
    LabelAudit
        A table (``rows``, ``columns``, ``frame``) of all labels that could be held out.

    See Also
    --------
    suggest_labels : The objects to label next.

    Notes
    -----
    The only label of a class cannot be held out and is not audited. Steps of a pipeline before the classifier are taken
    as they were fitted: if one of them has learned from the labels, witnesses are too sure of these.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import audit_labels
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=120, n_clusters=3, random_state=0)
    >>> y = np.array(["tea", "rice", "oats"])[data.target]
    >>> y[7] = "tea"  # a mistake
    >>> audit = audit_labels(None, data.views, y)
    >>> audit.rows[0]["row"], audit.rows[0]["suggested"]
    (7, 'oats')
    """
    check_count("cv", cv, least=2)
    check_same_order(X, y, "y")
    inspection, objects, views = _prepare(model, X)
    estimator = None if inspection is None else inspection.estimator
    codes, classes = encode_labels(
        y, len(views), semi_supervised=estimator is None or minus_one_is_unlabeled(estimator)
    )
    folds = deal_folds(codes, cv, base_seed(random_state))
    rows = np.flatnonzero(folds >= 0)
    if len(classes) < 2 or not len(rows):
        raise ParameterError("must have two classes, one of them with two labels at least.", parameter="y")
    with unwarned(), remembering():
        witnesses = _hear(inspection, objects, views, codes, folds, classes)
    beliefs = {}
    for name in views.names:
        if heard := [each for each in witnesses if each.views == (name,)]:
            beliefs[name] = _combine(heard, codes[rows])
    doubted, probabilities = _doubt(_combine_all(witnesses, codes[rows]), codes[rows])
    given = doubted[np.arange(len(rows)), codes[rows]]
    judged = np.any([each.had for each in witnesses], axis=0)  # by one view at least; the others come last
    order = np.lexsort((given, ~judged))  # of small shares, doubts near 1 would be the same
    described = _describe(rows, codes[rows], classes, doubted, beliefs, witnesses, views)
    for i in np.flatnonzero(~judged).tolist():
        described[i]["reason"] = UNJUDGED
    return LabelAudit([described[i] for i in order], probabilities[order])


class LabelAudit(ObjectTable):
    """Result of `audit_labels`: one row per label that could be held out, the most doubtful first.

    Objects that lack all views come last: no view can judge them.

    Attributes
    ----------
    rows : list of dict
        By object: "row" (position in X), "id", "label" (the given one), "suggested" (the likeliest other class),
        "doubt" (probability that the label is wrong), "views" (by view the class that it says, its probability, and
        that of the given label; without views that the object lacks) and "reason", the same in words.
    indices : ndarray of int
        Positions in X.
    probabilities : ndarray (n_labels, n_classes)
        Of the classes, by all witnesses together without the given label; classes are sorted.
    n_doubted : int
        Number of labels that are more likely wrong than right.

    Examples
    --------
    >>> row = {"row": 4, "id": "p4", "label": "tea", "suggested": "oats", "doubt": 0.93, "reason": "words say oats",
    ...        "views": {"words": ("oats", 0.9, 0.02)}}
    >>> LabelAudit([row], np.array([[0.95, 0.05]]))
    1 label, 1 of them more likely wrong than right
    """

    _fields = ("row", "id", "label", "suggested", "doubt", "reason")

    def __init__(self, rows: list[dict[str, Any]], probabilities: np.ndarray) -> None:
        self.rows, self.probabilities = rows, probabilities

    @property
    def n_doubted(self) -> int:
        """Number of labels that are more likely wrong than right."""
        return sum(row["doubt"] > 0.5 for row in self.rows)

    def __repr__(self) -> str:
        return f"{quantity(len(self.rows), 'label')}, {self.n_doubted:,} of them more likely wrong than right"

    def __str__(self) -> str:
        return self.to_text(self.rows[:SHOWN])

    def _content(self) -> dict[str, Any]:
        return {"n_doubted": self.n_doubted, "rows": self.rows}

    def _head(self) -> list[str]:
        return ["id", "doubt", "label", "suggested", "reason"]

    def _cells(self, row: Mapping[str, Any]) -> list[str]:
        return [f"{row['id']}", f"{row['doubt']:.2f}", f"{row['label']}", f"{row['suggested']}", row["reason"]]


def _prepare(model: Any, X: Any) -> tuple[Inspection | None, Any, Views]:
    """What the model says of itself, objects as its estimator takes them, and the same as views."""
    X = X.collect() if isinstance(X, LazyViews) else X
    if model is None:
        views: Any = as_views(X)
        return None, views, views
    inspection = inspect(model)
    if inspection.kind != "class" or len(inspection.groups) < 2:
        raise ValueError(f"audit_labels needs a fitted classifier of at least two classes, got {inspection.name}.")
    if inspection.structure.ontology is not None:
        raise ParameterError("has an ontology: only labels of one level are audited.", parameter="model")
    with unwarned():
        objects = inspection.preparation.prepare(X)
    return inspection, objects, objects if isinstance(objects, Views) else Views({PLAIN: objects})


@dataclass(frozen=True)
class _Witness:
    """Calibrated logarithms of probabilities (held-out objects x classes), and which of these have a view it sees."""

    views: tuple[str, ...]
    logarithms: np.ndarray
    had: np.ndarray


def _hear(
    inspection: Inspection | None, objects: Any, views: Views, codes: np.ndarray, folds: np.ndarray, classes: np.ndarray
) -> list[_Witness]:
    """Return what all witnesses say of held-out objects."""
    prepared, filled, found = PreparedViews(views), objects_by_view(views), list[_Witness]()
    rows, error = np.flatnonzero(folds >= 0), None
    asked: list[Expert | None] = [*_propose(views, len(classes))]
    if inspection is not None and not isinstance(inspection.estimator, AutoClassifier):
        asked.append(None)
    for turn, expert in enumerate(asked):
        tell(expert.name if expert else "the model", turn, len(asked))
        names = tuple(views.names) if expert is None else expert.views
        scores = np.zeros((len(codes), len(classes)))
        try:
            for fold in np.unique(folds[rows]).tolist():
                shown, held = np.where(folds == fold, -1, codes), np.flatnonzero(folds == fold)
                if expert is not None:
                    _, rest, seen = prepared.behind(expert)
                    scores[held] = fitted_scores(fit_expert(rest, seen, shown, classes), seen, held, classes)
                elif inspection is not None:
                    scores[held] = _ask_copy(inspection, objects, shown, held, classes)
        except FAILURES as failure:  # as in a fit of `AutoClassifier`, the others are heard
            error = failure
            continue
        said = scores[rows]
        had = np.any([filled[name][rows] for name in names], axis=0)
        found.append(_Witness(names, log_softmax(said / fit_temperature(said[had], codes[rows][had]), axis=1), had))
    if not found:
        raise ValueError(f"No classifier could be fitted: {error}") from error
    return found


def _propose(views: Views, n_classes: int) -> list[Expert]:
    """Experts of each view alone and of all views together."""
    alone = [
        expert
        for name in views.names
        for expert in propose_experts(views.select(name), None, 0)
        if expert.name.startswith(ALONE)
    ]
    links = find_links(views, None) if len(views.names) > 1 else None
    if links is not None and not judge_links(views, links, n_classes, 0, False).used:
        links = None
    together = propose_experts(views, links, 0)
    return alone + [e for e in together if e.name.startswith(TOGETHER) and (len(e.views) > 1 or len(views.names) == 1)]


def _ask_copy(
    inspection: Inspection, objects: Any, shown: np.ndarray, held: np.ndarray, classes: np.ndarray
) -> np.ndarray:
    """Logarithms of probabilities by a copy of the model, fitted to the labels that are shown."""
    copy, known = copy_to_fit(inspection.estimator), np.flatnonzero(shown >= 0)
    if inspection.preparation.takes_matrix:
        copy.fit(objects[known], classes[shown[known]])
    else:
        labels = np.full(len(shown), None, dtype=object)
        labels[known] = classes[shown[known]].tolist()
        copy.fit(objects, labels)
    answer = inspect(copy)
    shares = np.full((len(held), len(classes)), 0.0)
    shares[:, np.searchsorted(classes, answer.labels)] = answer.memberships(objects[held], prepared=True)
    return np.log(np.maximum(shares, 1e-6))


def _combine(witnesses: list[_Witness], codes: np.ndarray) -> np.ndarray:
    """Logarithms of probabilities by the product of several witnesses, calibrated."""
    n_heard = np.sum([each.had for each in witnesses], axis=0)
    total = np.sum([each.logarithms * each.had[:, None] for each in witnesses], axis=0)
    mean, told = total / np.maximum(n_heard, 1)[:, None], n_heard > 0
    return np.asarray(log_softmax(mean / fit_temperature(mean[told], codes[told]), axis=1))


def _combine_all(witnesses: list[_Witness], codes: np.ndarray) -> np.ndarray:
    """The product of those that see one view and of those that see several, with exponents by held-out labels."""
    kinds = [[each for each in witnesses if (len(each.views) > 1) is several] for several in (False, True)]
    found = np.array([_combine(heard, codes) for heard in kinds if heard])
    exponents = fit_exponents(found, codes, np.full(len(found), 1 / len(found)))
    return np.asarray(np.tensordot(exponents, found, axes=1))


def _doubt(logarithms: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the true class given the label too, and without it (objects x classes).

    Examples
    --------
    >>> p = np.array([[0.9, 0.1]] * 30 + [[0.1, 0.9]] * 30 + [[0.5, 0.5]])
    >>> codes = np.repeat([0, 1, 0], [30, 30, 1])
    >>> _doubt(np.log(p), codes)[0][-1].round(1).tolist()
    [0.9, 0.1]
    """

    def loss(log_t: float) -> float:
        return -_learn_mistakes(log_softmax(logarithms * np.exp(-log_t), axis=1), codes)[1]

    log_t = minimize_scalar(loss, bounds=(-1.0, 1.0), method="bounded", options={"xatol": 0.05}).x
    sharpened = log_softmax(logarithms * np.exp(-log_t), axis=1)
    return _learn_mistakes(sharpened, codes)[0], np.exp(sharpened)


def _learn_mistakes(logarithms: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, float]:
    """Probabilities of the true class given the label too, by EM; and the logarithm of what it maximizes."""
    n_classes = logarithms.shape[1]
    prior = np.full((n_classes, n_classes), WRONG / (n_classes - 1))
    np.fill_diagonal(prior, RIGHT)
    given, counts = np.eye(n_classes)[codes], prior
    for _ in range(ROUNDS):
        mistakes = np.log(counts / counts.sum(axis=1, keepdims=True))
        joint = logarithms + mistakes[:, codes].T
        belief = softmax(joint, axis=1)
        counts = prior + belief.T @ given
    return belief, float(logsumexp(joint, axis=1).sum() + (prior * mistakes).sum())


def _describe(
    rows: np.ndarray,
    codes: np.ndarray,
    classes: np.ndarray,
    belief: np.ndarray,
    beliefs: Mapping[str, np.ndarray],
    witnesses: list[_Witness],
    views: Views,
) -> list[dict[str, Any]]:
    """One row per object."""
    each = np.arange(len(rows))
    others = belief.copy()
    others[each, codes] = 0
    had = {name: np.any([w.had for w in witnesses if w.views == (name,)], axis=0) for name in beliefs}
    ids = (np.arange(len(views)) if views.ids is None else views.ids).tolist()
    names = classes.tolist()
    found = []
    for i in each.tolist():
        said = {}
        for view, part in beliefs.items():
            if had[view][i]:
                best = int(part[i].argmax())
                said[view] = (names[best], float(np.exp(part[i, best])), float(np.exp(part[i, codes[i]])))
        found.append(
            {
                "row": int(rows[i]),
                "id": ids[rows[i]],
                "label": names[codes[i]],
                "suggested": names[int(others[i].argmax())],
                "doubt": float(others[i].sum()),
                "views": said,
                "reason": ", ".join(f"{view}: {name} ({share:.2f})" for view, (name, share, _) in said.items()),
            }
        )
    return found

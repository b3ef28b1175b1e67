"""Self-training: a last classifier of `AutoClassifier`, which learns from what the others say of unlabeled objects.

The combination of the candidates gives every object a class. Those that learn from labels alone have seen the features
of a few objects; the others see all of them, but as topics, singular vectors or neighbors. A logistic regression of the
weighted views side by side now learns the classes of some thousands of objects, each weighted by how probable its class
is (Scudder, 1965), and has half of the weight in the end.

It is used where labels are fewer than other objects, and either links join alike ones, so that most of the weight is
with candidates that look at an object's neighbors and not at itself, or there are many and a linear classifier has the
most weight: then it learns from some of them and says something new of the others.
It must come to say what the others say: classes that are no matter of a linear function are left to them.

Where it agrees with them of a training object, their probabilities stay, since what it says of an object that it
learned from is an echo. Of new objects the combination with it is as sure as the one without.

All this was settled on draws 0 to 3 and 15 to 22 of labels from CiteSeer and Cora, and 0 to 3 from ten other
collections. Of new objects, on draws 0 to 3, it raised the accuracy by .004 to .026 (CiteSeer, Cora; 10,000 Debian
packages .015). Of many made objects that topics tell best it lowered it by up to .14, also that of training objects; of
a few hundred or thousand objects without links it raised that of the training objects by up to .01, and lowered that of
new ones by up to .07. There it is not used. An opinion of training objects that is no echo, learned from the half of
them that an object is not in, is better calibrated, and with one label per class worse (leaves .911, without any .931).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from coview.auto.cross_validation import PreparedViews, class_scores, few_unlabeled
from coview.auto.pipelines import PER_CLASS, PipelineCandidate
from coview.utils.sampling import sample_positions
from coview.views.views import Views

__all__ = ["CANNOT_FOLLOW", "SelfTrained", "self_train", "worth_self_training"]

LABELED = 3000  # objects with a label that it learns from at most
MANY = 1200  # unlabeled objects from which on those that it will be asked for are left out
COMPARED = 2000  # unlabeled objects by which it is compared with the others
MOST_WEIGHTS = 30_000_000  # features x classes
FOLLOWS = 0.9  # least probability of its classes by the others, as a share of that of their own, where it learned them
CANNOT_FOLLOW = "does not come to say what the others say"


def worth_self_training(codes: np.ndarray, linked: bool, linear: bool) -> bool:
    """Whether labels (code not -1) are few, and either links join alike objects or linear classifiers lead on many.

    Examples
    --------
    >>> few, many = (np.where(np.arange(n) < 50, np.arange(n) % 2, -1) for n in (200, 5000))
    >>> worth_self_training(few, True, False), worth_self_training(few, False, True)
    (True, False)
    >>> worth_self_training(many, False, True), worth_self_training(many, False, False)
    (True, False)
    """
    n_unlabeled = np.count_nonzero(codes < 0)
    n_taught = np.count_nonzero(codes[few_unlabeled(codes, PER_CLASS, 0)] < 0)
    return bool(len(codes) < 2 * n_unlabeled and (linked or (linear and n_unlabeled > 2 * n_taught)))


@dataclass(frozen=True)
class SelfTrained:
    """The classifier behind fitted steps that read no labels, and its probabilities for all objects.

    `compared` are unlabeled objects by which it is compared with the others.
    """

    steps: list[Any]
    rest: Any
    views: Views
    model: Any
    probabilities: np.ndarray
    compared: np.ndarray


def self_train(
    candidate: PipelineCandidate,
    prepared: PreparedViews,
    codes: np.ndarray,
    memberships: np.ndarray,
    factors: np.ndarray,
    classes: np.ndarray,
    asked: np.ndarray,
    seed: int,
) -> SelfTrained | None:
    """Fit a candidate to labels (code not -1) and, for other objects, to the likeliest class; None if it follows not.

    `factors` of the classes are in the memberships, and will be put on what it says: it leaves them out. Objects that
    are `asked` about later, as if they were new, are not among those that it learns from, if there are many.
    """
    steps, rest, views = prepared.behind(candidate)
    sees = candidate.sees(prepared.views)
    told = np.where(codes >= 0, codes, memberships.argmax(axis=1))
    surely = np.where(codes >= 0, 1.0, memberships.max(axis=1))
    rows, free = _training_rows(codes, sees, asked, seed), np.flatnonzero((codes < 0) & sees)
    n_weights = sum(views.n_features.values()) * len(classes)
    if len(np.unique(told[rows])) < 2 or not free.size or n_weights > MOST_WEIGHTS:
        return None
    ((name, last),) = rest.steps
    labels = np.empty(len(rows), dtype=object)
    labels[:] = classes[told[rows]].tolist()
    with config_context(enable_metadata_routing=False):  # weights are for the regression, whatever a user has set
        last = clone(last).fit(views[rows], labels, sample_weight=surely[rows])
    model = Pipeline([(name, last)])
    scores = class_scores(model, views, classes)
    learned = rows[codes[rows] < 0]
    agreed = memberships[learned, scores[learned].argmax(axis=1)]
    if agreed.sum() < FOLLOWS * memberships[learned].max(axis=1).sum():
        return None
    free = free[sample_positions(len(free), COMPARED, seed)]
    _divide_odds(factors[np.isin(classes, last.classes_)], last.estimator_)
    return SelfTrained(steps, rest, views, model, softmax(scores - np.log(factors), axis=1), free)


def _training_rows(codes: np.ndarray, sees: np.ndarray, asked: np.ndarray, seed: int) -> np.ndarray:
    """Objects to learn from: labeled and some unlabeled ones."""
    rows = np.flatnonzero(sees)
    if np.count_nonzero(codes < 0) >= MANY:
        rows = np.setdiff1d(rows, asked)
    rows = rows[few_unlabeled(codes[rows], PER_CLASS, seed)]
    labeled = np.flatnonzero(codes[rows] >= 0)
    kept = labeled[sample_positions(len(labeled), LABELED, seed)]
    firsts = labeled[np.unique(codes[rows[labeled]], return_index=True)[1]]  # no class is lost
    return np.delete(rows, np.setdiff1d(labeled, np.union1d(kept, firsts)))


def _divide_odds(factors: np.ndarray, regression: Any) -> None:
    """Divide the odds of a logistic regression by factors of its classes."""
    shift = np.log(factors)
    regression.intercept_ = regression.intercept_ - (shift[1:] - shift[:1] if len(shift) == 2 else shift)

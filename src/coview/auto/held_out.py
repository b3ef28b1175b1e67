"""Held-out labels: what each expert of `AutoClassifier` says of labeled objects whose labels it has not seen.

The labeled objects are dealt into folds, class by class. For each fold an expert is fitted to all objects, those of
the fold without their labels, so that one that learns from unlabeled objects does here too: experts that learn from
few of them are judged by another task than the one that they are for. The only object of a class is never held out:
nothing could be learned of the class without it. Steps that read no labels are fitted once for all folds, for the final
fit and for all experts that begin with them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np
from scipy.special import softmax
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from coview.auto.experts import Expert, needed_view
from coview.auto.pooling import Answer
from coview.auto.preparation import MOST_OBJECTS
from coview.classification.label_spreading import LabelSpreadingClassifier
from coview.classification.wrapper import last_step
from coview.engines.loop import NO_DEADLINE, Deadline, TimeBudget, models_inside
from coview.preprocessing.base import PerViewTransformer
from coview.preprocessing.neighbors import NeighborViews
from coview.utils import fitted_state as rules
from coview.utils.progress import tell
from coview.utils.sampling import sample_positions
from coview.views.arrays import sparse_in_single
from coview.views.views import Views

__all__ = [
    "HeldOut",
    "JudgedExpert",
    "PreparedViews",
    "class_scores",
    "fit_expert",
    "fitted_scores",
    "judge",
    "share_had",
]

FOLDS = 5
ENOUGH = 200  # held-out labels, which tell a share to .03: further folds are left out
NEW = 120  # unlabeled objects that are asked for as new ones, at most one of six
JUDGED = 0.7  # share of the time for held-out labels; the rest is for the last fits
# what a fit of an expert may end in: it is dropped then, and the others go on
FAILURES = (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError, RuntimeError)
LEAST = 1e-6  # of a probability, so that its logarithm is finite


# -- what a classifier says


def class_scores(estimator: Any, views: Views, classes: np.ndarray) -> np.ndarray:
    """Scores of all classes (objects x classes), up to a factor logarithms of probabilities.

    A class that the estimator has not met has the lowest score of the object.
    """
    probabilities = rules.find_attribute(estimator, "predict_proba")
    if probabilities is not None:
        known = _logarithms(probabilities(views))
    else:
        known = np.asarray(estimator.decision_function(views), dtype=np.float64)
        known = np.column_stack([-known, known]) if known.ndim == 1 else known
    return _of_all_classes(known, estimator.classes_, classes)


def fitted_scores(estimator: Any, views: Views, rows: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Scores as `class_scores` of some objects of the fit, which a graph knows without a search."""
    last = last_step(estimator)
    if isinstance(last, LabelSpreadingClassifier):
        return _of_all_classes(_logarithms(last.memberships_[rows]), last.classes_, classes)
    return class_scores(estimator, views[rows], classes)


def share_had(filled: Mapping[str, np.ndarray], names: Sequence[str]) -> np.ndarray:
    """Share of these views that each object has something in."""
    return np.asarray(np.sum([some for name, some in filled.items() if name in names], axis=0) / len(names))


def _logarithms(shares: Any) -> np.ndarray:
    known = np.nan_to_num(np.asarray(shares, dtype=np.float64))  # NaN where no label reaches
    return np.asarray(np.log(np.maximum(known, LEAST)))


def _of_all_classes(known: np.ndarray, own: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Scores of all classes from those of an estimator's own; the lowest of the object for the others."""
    if known.shape[1] == len(classes):
        return known
    scores = np.repeat(known.min(axis=1, keepdims=True), len(classes), axis=1)
    scores[:, np.searchsorted(classes, own)] = known
    return scores


# -- fits


@dataclass
class PreparedViews:
    """Views after steps that read no labels, each kind of them fitted once.

    Sparse views are in single precision where that loses no digit: it takes less time.
    """

    views: Views
    _known: dict[tuple[str, ...], tuple[list[Any], Views]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.views = self.views.map(sparse_in_single)

    def behind(self, expert: Expert) -> tuple[list[Any], Pipeline, Views]:
        """Fitted steps of an expert that read no labels, what is left of it, and the views between the two."""
        steps, rest = label_free_steps(expert.estimator)
        seen, fitted = self.views.select(*expert.views), list[Any]()
        key: tuple[str, ...] = expert.views
        for step in steps:
            key = (*key, str(joblib.hash(step)))
            if key not in self._known:
                own = clone(step)
                self._known[key] = [*fitted, own], own.fit_transform(seen)
            fitted, seen = self._known[key]
        return fitted, rest, seen


def label_free_steps(estimator: Pipeline) -> tuple[list[Any], Pipeline]:
    """Leading steps of a pipeline that do not read labels, and what is left of it.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from coview import MultiViewNaiveBayes, TfidfViews
    >>> steps, rest = label_free_steps(make_pipeline(TfidfViews(), MultiViewNaiveBayes()))
    >>> steps, rest.steps[0][0]
    ([TfidfViews()], 'multiviewnaivebayes')
    """
    steps = [step for _, step in estimator.steps]
    reads = [not isinstance(step, (PerViewTransformer, NeighborViews)) for step in steps]
    first = reads.index(True)
    return steps[:first], Pipeline(estimator.steps[first:])


def fit_expert(rest: Any, views: Views, codes: np.ndarray, classes: np.ndarray, seconds: float | None = None) -> Any:
    """A copy of an estimator, fitted to labeled and unlabeled objects (code -1); within so many seconds if it can."""
    labels = np.empty(len(codes), dtype=object)
    labels[:] = classes[codes].tolist()
    labels[codes < 0] = None
    copy = clone(rest)
    with _within(copy, seconds):
        return copy.fit(views, labels)


@contextmanager
def _within(estimator: Any, seconds: float | None) -> Iterator[None]:
    """Let an estimator that can have a time budget fit within so many seconds; then it is as it was."""
    own = models_inside(estimator)
    for model in own:
        model._callbacks = () if seconds is None else (TimeBudget(seconds),)
    try:
        yield
    finally:
        for model in own:
            model._callbacks = ()


# -- held-out labels


@dataclass(frozen=True)
class HeldOut:
    """The fold in which the label of each object is held out, -1 for never, and its code, -1 for none."""

    codes: np.ndarray
    folds: np.ndarray

    @property
    def lone(self) -> float:
        """Share of the labels whose class is never held out: mostly the only ones of their class."""
        return float(1 - np.isin(self.codes[self.codes >= 0], self.codes[self.folds >= 0]).mean())

    def relabeled(self, codes: np.ndarray) -> HeldOut:
        """Return the same folds of the same objects with other labels."""
        folds = np.where(codes >= 0, self.folds, -1)
        for code in np.unique(codes[folds >= 0]):  # nothing could be learned of a class all of which is in one fold
            mine = codes == code
            if len(np.unique(folds[mine])) == 1:
                folds[mine] = -1
        return HeldOut(codes, folds)


@dataclass
class JudgedExpert:
    """An expert, what it says of held-out objects, and how long its longest fit took."""

    expert: Expert
    scores: np.ndarray  # objects x classes; rows of NaN where an object was not held out
    of_new: np.ndarray | None = None  # of objects that it was not fitted to
    seconds: float = float("nan")
    temperature: float = 1.0
    weight: float = 0.0
    exponent: float = 0.0
    dropped: str | None = None
    error: Exception | None = None

    def answer(self, views: Views, scores: np.ndarray) -> Answer:
        """Return what its scores of some objects are worth, by what they have of the views that it sees."""
        had = share_had(dict(zip(views.names, views.present.T)), self.expert.views)
        return self.weight * had, self.exponent * had, softmax(scores / self.temperature, axis=1)

    def attempt(self, place: str, log: Callable[[str], None], step: Callable[..., Any], *given: Any) -> Any:
        """Return what a step returns, None where it fails; note how long it takes, and why it failed."""
        began, found = time.monotonic(), None
        try:
            found = step(self.expert, *given)
        except FAILURES as error:
            self.dropped, self.error = f"could not be fitted: {error}", error
        took = time.monotonic() - began
        self.seconds = float(np.fmax(self.seconds, took))
        log(f"{place}: {self.dropped or f'{took:.1f} s'}")
        return found


def judge(
    experts: list[Expert],
    prepared: PreparedViews,
    held_out: HeldOut,
    classes: np.ndarray,
    deadline: Deadline,
    late: str,
    log: Callable[[str], None],
) -> tuple[list[JudgedExpert], np.ndarray]:
    """Let each expert score held-out objects, fold by fold, all by the same objects.

    In the first fold some unlabeled objects, which are returned too, are left out of the fits, and are scored; not by
    experts that need links, to which objects without links say something else.
    `late` says why one is dropped whose turn never comes. Where time is short the cheapest come first; a fold is begun
    only if there is time for all of it and for a last fit. Of very many objects a sample is used, but by experts that
    need links, which lead out of a sample: they see all objects, and labels of the sample only, as the others do.
    """
    n, rows = len(held_out.codes), _sample_rows(held_out.codes)
    sample = prepared if len(rows) == n else PreparedViews(prepared.views[rows])
    shown = np.full(n, -1)
    shown[rows] = held_out.codes[rows]
    folds = np.where(shown >= 0, held_out.folds, -1)
    free = rows[shown[rows] < 0]
    new = free[sample_positions(len(free), min(NEW, len(free) // 6))]
    judged = [JudgedExpert(expert, np.full((n, len(classes)), np.nan)) for expert in experts]
    turns = judged if deadline == NO_DEADLINE else sorted(judged, key=lambda each: each.expert.cost)
    numbers, judging = np.unique(folds[folds >= 0]).tolist(), deadline.share(JUDGED)
    for turn, number in enumerate(numbers):
        alive = [each for each in turns if each.dropped is None]
        takes = [each.seconds for each in alive]
        short = turn and alive and (sum(takes) > judging.left() or sum(takes) + max(takes) > deadline.left())
        if short or np.isin(folds, numbers[:turn]).sum() >= ENOUGH:
            break
        for i, each in enumerate(alive):
            place = f"fold {turn + 1}/{len(numbers)}, {each.expert.name}"
            tell(place, turn * len(turns) + i, len(numbers) * len(turns))
            if turn == 0 and i and judging.is_over():
                each.dropped = late
                continue
            linked = needed_view(each.expert.estimator) is not None
            seconds = judging.share(1 / (len(alive) - i)).seconds()
            mine, whole = (np.arange(n), prepared) if linked else (rows, sample)
            left_out, hidden = np.isin(mine, [] if turn or linked else new), folds == number
            given = whole, shown[mine], hidden[mine], left_out, classes, seconds
            if (found := each.attempt(place, log, _score, *given)) is not None:
                each.scores[hidden] = found[0]
                each.of_new = each.of_new if found[1] is None else found[1]
    return judged, new


def _score(
    expert: Expert,
    prepared: PreparedViews,
    codes: np.ndarray,
    hidden: np.ndarray,
    left_out: np.ndarray,
    classes: np.ndarray,
    seconds: float | None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Scores of hidden objects by an expert that is fitted without their labels, and of those left out."""
    _, rest, views = prepared.behind(expert)
    kept = np.flatnonzero(~left_out)
    mine = views[kept] if left_out.any() else views
    model = fit_expert(rest, mine, np.where(hidden, -1, codes)[kept], classes, seconds)
    of_new = class_scores(model, views[np.flatnonzero(left_out)], classes) if left_out.any() else None
    return fitted_scores(model, mine, np.flatnonzero(hidden[kept]), classes), of_new


def _sample_rows(codes: np.ndarray) -> np.ndarray:
    """Objects that experts are judged with: all, or as many labeled as unlabeled ones where there are too many."""
    if len(codes) <= MOST_OBJECTS:
        return np.arange(len(codes))
    labeled, others = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
    labeled = labeled[sample_positions(len(labeled), max(MOST_OBJECTS // 2, MOST_OBJECTS - len(others)))]
    return np.sort(np.concatenate([labeled, others[sample_positions(len(others), MOST_OBJECTS - len(labeled))]]))

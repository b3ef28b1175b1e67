"""Out-of-fold scores: what each candidate of `AutoClassifier` says of labeled objects whose labels it has not seen.

The labeled objects are dealt into folds, class by class. For each fold a candidate is fitted to all or many objects,
those of the fold without their labels, so that a candidate that learns from unlabeled objects does here too. The only
object of a class is never held out: nothing could be learned of the class without it.

A candidate costs several fits, so what need not be done in each of them is not. Steps that read no labels are fitted
once, for all folds, the final fit and all candidates that begin with them. Topics and centers, whose time every
unlabeled object takes, are judged with some thousands of them: they find their classes by the profiles of those. But
they make as many sweeps as in the final fit, since what is calibrated here must be as sure as what is kept. What labels
that were spread over a graph say of its objects is read from it. Weights of views that are learned from labels are
learned in every fold: those of the first fold have seen the labels that later ones hold out.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import joblib
import numpy as np
from scipy import sparse
from scipy.special import entr, softmax
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from coview.auto.candidates import within
from coview.auto.pipelines import PipelineCandidate
from coview.auto.pooling import fit_temperature, log_losses, own_temperature
from coview.classification.label_spreading import LabelSpreadingClassifier
from coview.classification.wrapper import last_step
from coview.exceptions import ViewsError
from coview.preprocessing.base import PerViewTransformer
from coview.preprocessing.neighbors import NeighborViews
from coview.utils import fitted_state as rules
from coview.utils.messages import listed
from coview.utils.sampling import deal_folds, sample_positions
from coview.views.arrays import sparse_in_single
from coview.views.views import Views

__all__ = [
    "CLEARLY",
    "LARGE",
    "FittedFold",
    "FoldPlan",
    "FoldScores",
    "LabeledSample",
    "PreparedViews",
    "asked_of_all",
    "best_so_far",
    "class_scores",
    "deal_folds",
    "drop_hopeless",
    "few_unlabeled",
    "fit_candidate",
    "fitted_scores",
]

CLEARLY = 3.5  # standard deviations of a difference between two candidates that is no accident
LARGE, SAMPLE = 12_000, 6_000  # objects above which candidates are judged by a sample, and its size
UNLABELED = 2000  # objects that are enough to judge with, where there are few classes
LEAST = 1e-6  # of a probability, so that its logarithm is finite
LOSSES, CLEAR_LOSS = 20, 3.0  # held-out objects from which log losses are compared, and standard errors between them
LITTLE = 1 / 3  # share of what the best candidate gains on knowing nothing
MISSED = 2  # labels beside those held out, in the share that a candidate finds


def class_scores(estimator: Any, views: Views, classes: np.ndarray) -> np.ndarray:
    """Scores of all classes (objects x classes), up to a factor logarithms of probabilities.

    A class that the estimator has not met has the lowest score of the object.
    """
    probabilities = rules.find_attribute(estimator, "predict_proba")
    if probabilities is not None:
        known = _logarithms(probabilities(views))
    elif (decision := rules.find_attribute(estimator, "decision_function")) is not None:
        known = np.asarray(decision(views), dtype=np.float64)
        known = np.column_stack([-known, known]) if known.ndim == 1 else known
    else:
        known = np.where(np.asarray(estimator.predict(views))[:, None] == estimator.classes_, 0.0, np.log(LEAST))
    return _of_all_classes(known, estimator.classes_, classes)


def fitted_scores(estimator: Any, views: Views, classes: np.ndarray) -> np.ndarray:
    """Scores as `class_scores` of the objects that the estimator was fitted to; a graph knows them without a search.

    Topics know them too, but fold them in: judged by where objects lie at the end of the fit, they had less weight and
    the whole was less accurate, on words and images of Wikipedia.
    """
    last = last_step(estimator)
    if isinstance(last, LabelSpreadingClassifier):
        return _of_all_classes(_logarithms(last.memberships_), last.classes_, classes)
    return class_scores(estimator, views, classes)


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


@dataclass
class PreparedViews:
    """Views after steps that read no labels, each kind of them fitted once.

    Default candidates get sparse views in single precision where that loses no digit: it takes less time. Those of the
    user get views as they are.
    """

    views: Views
    _known: dict[tuple[str, ...], tuple[list[Any], Views]] = field(default_factory=dict)
    _hashes: dict[int, tuple[Any, list[str]]] = field(default_factory=dict)  # by id, which the pipeline keeps taken

    @cached_property
    def _in_single(self) -> Views:
        return self.views.map(sparse_in_single)

    def _seen(self, candidate: PipelineCandidate) -> Views | None:
        return candidate.seen(self.views if candidate.as_given else self._in_single)

    def keep(self, candidates: Iterable[PipelineCandidate]) -> None:
        """Forget what only other candidates begin with, and what was on the way: views take much room."""
        needed = {key[-1] for key in map(self._keys, candidates) if key}
        self._known = {key: value for key, value in self._known.items() if key in needed}

    def behind(self, candidate: PipelineCandidate) -> tuple[list[Any], Any, Views]:
        """Fitted steps of a candidate that read no labels, what is left of it, and the views between the two."""
        seen = self._seen(candidate)
        if seen is None:
            raise ViewsError(f"Candidate {candidate.name!r} needs a view that is not among {listed(self.views.names)}.")
        steps, rest = label_free_steps(candidate.estimator)
        keys = self._keys(candidate)
        ready = max((i for i, key in enumerate(keys) if key in self._known), default=-1)
        fitted: list[Any] = []
        if ready >= 0:
            fitted, seen = self._known[keys[ready]]
        for step, key in zip(steps[ready + 1 :], keys[ready + 1 :]):
            own = clone(step)
            self._known[key] = [*fitted, own], own.fit_transform(seen)
            fitted, seen = self._known[key]
        return fitted, rest, seen

    def _keys(self, candidate: PipelineCandidate) -> list[tuple[str, ...]]:
        """Key of the views after each of the candidate's steps that read no labels."""
        seen = self._seen(candidate)
        if seen is None:
            return []
        pipeline = candidate.estimator
        if id(pipeline) not in self._hashes:
            self._hashes[id(pipeline)] = pipeline, [_step_key(step) for step in label_free_steps(pipeline)[0]]
        hashes = self._hashes[id(pipeline)][1]
        types = [str(matrix.dtype) for matrix in seen.values()]
        return [(*seen.names, *types, *hashes[: i + 1]) for i in range(len(hashes))]


def _step_key(step: Any) -> str:
    """Key of a step by what is in it; of one that cannot be pickled, such as a lambda, by which it is."""
    try:
        return str(joblib.hash(step))
    except (pickle.PicklingError, TypeError, AttributeError):
        return str(id(step))


def label_free_steps(estimator: Any) -> tuple[list[Any], Any]:
    """Leading steps of a pipeline that do not read labels, and what is left of it.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from coview import MultiViewNaiveBayes, TfidfViews
    >>> steps, rest = label_free_steps(make_pipeline(TfidfViews(), MultiViewNaiveBayes()))
    >>> steps, rest.steps[0][0]
    ([TfidfViews()], 'multiviewnaivebayes')
    """
    if not isinstance(estimator, Pipeline):
        return [], estimator
    free: list[Any] = []
    for _, step in estimator.steps[:-1]:
        if not isinstance(step, PerViewTransformer) and not (isinstance(step, NeighborViews) and not step.labels):
            break
        free.append(step)
    return free, Pipeline(estimator.steps[len(free) :])


def reads_links(rest: Any) -> bool:
    """Whether a step of a pipeline looks at links among the objects it is given."""
    return isinstance(rest, Pipeline) and any(isinstance(step, NeighborViews) for _, step in rest.steps)


def fit_candidate(rest: Any, views: Views, codes: np.ndarray, classes: np.ndarray, seconds: float | None = None) -> Any:
    """A copy of an estimator, fitted to labeled and unlabeled objects (code -1); within so many seconds if it can."""
    labels = np.empty(len(codes), dtype=object)
    labels[:] = classes[codes].tolist()
    labels[codes < 0] = None
    copy = clone(rest)
    with within(copy, seconds):
        return copy.fit(views, labels)


def few_unlabeled(codes: np.ndarray, per_class: int, seed: int) -> np.ndarray:
    """Labeled objects and some unlabeled ones, so many for each class, or two thousand where this is more.

    Examples
    --------
    >>> codes = np.where(np.arange(5000) < 10, np.arange(5000) % 2, -1)
    >>> rows = few_unlabeled(codes, 40, seed=0)
    >>> len(rows), rows[:10].tolist() == list(range(10))
    (2010, True)
    """
    most = max(UNLABELED, per_class * int(codes.max(initial=-1) + 1))
    unlabeled = np.flatnonzero(codes < 0)
    return np.sort(
        np.concatenate([np.flatnonzero(codes >= 0), unlabeled[sample_positions(len(unlabeled), most, seed)]])
    )


def _rows_of(views: Views, rows: np.ndarray) -> Views:
    """Some objects, without the features of sparse views that none of them has: these would only take time."""

    def occupied(matrix: Any) -> Any:
        return matrix[:, np.unique(matrix.indices)] if sparse.issparse(matrix) and matrix.nnz else matrix

    return views[rows].map(occupied)


@dataclass
class LabeledSample:
    """Objects that candidates are judged by: all, or some labeled and unlabeled ones."""

    prepared: PreparedViews
    codes: np.ndarray
    rows: np.ndarray  # among all objects
    seed: int

    @classmethod
    def of(cls, views: Views, codes: np.ndarray, most: int, seed: int) -> LabeledSample:
        """Take all objects, or at most so many: half of them labeled, where there are as many, and drawn by class."""
        rows = np.arange(len(codes))
        if len(codes) > most:
            rng = np.random.default_rng([seed, len(codes)])
            labeled, others = (rng.permutation(np.flatnonzero(part)) for part in (codes >= 0, codes < 0))
            turns = np.empty(len(labeled), dtype=np.int64)  # first one object of every class, then a second ...
            for code in np.unique(codes[labeled]):
                mine = codes[labeled] == code
                turns[mine] = np.arange(mine.sum()) * len(labeled) // mine.sum()
            labeled = labeled[np.argsort(turns, kind="stable")][: max(most // 2, most - len(others))]
            rows = np.sort(np.concatenate([labeled, others[: most - len(labeled)]]))
            views, codes = views[rows], codes[rows]
        return cls(PreparedViews(views), codes, rows, seed)

    def judging(self, candidate: PipelineCandidate) -> np.ndarray:
        """Positions of the objects that a candidate is judged with."""
        if candidate.per_class is None:
            return np.arange(len(self.rows))
        return few_unlabeled(self.codes, candidate.per_class, self.seed)

    def behind(self, candidate: PipelineCandidate) -> tuple[Any, Views, np.ndarray, np.ndarray]:
        """What is left of a candidate behind steps that read no labels, and its views, codes and rows to judge with."""
        _, rest, views = self.prepared.behind(candidate)
        some = self.judging(candidate)
        if len(some) == len(self.rows):
            return rest, views, self.codes, self.rows
        return rest, _rows_of(views, some), self.codes[some], self.rows[some]


@dataclass
class FoldPlan:
    """All objects, those that candidates are judged by, and the fold in which each of them is held out, or -1."""

    whole: LabeledSample
    sample: LabeledSample
    folds: np.ndarray

    @classmethod
    def of(cls, views: Views, codes: np.ndarray, n_folds: int, seed: int) -> FoldPlan:
        """Deal the labeled objects into folds; of many objects, a sample."""
        whole = LabeledSample.of(views, codes, len(codes), seed)
        sample = whole if len(codes) <= LARGE else LabeledSample.of(views, codes, SAMPLE, seed)
        folds = np.full(len(codes), -1)
        folds[sample.rows] = deal_folds(sample.codes, n_folds, seed)
        return cls(whole, sample, folds)

    @property
    def everything(self) -> LabeledSample:
        """All objects, with labels of the sample only."""
        shown = np.full(len(self.folds), -1)
        shown[self.sample.rows] = self.sample.codes
        return replace(self.whole, codes=shown)

    @property
    def first_fold(self) -> np.ndarray:
        """Objects that are held out first; none where nothing is."""
        return np.flatnonzero(self.folds == self.folds[self.folds >= 0].min(initial=len(self.folds)))

    @property
    def lone(self) -> float:
        """Share of the labels whose class is never held out: mostly the only ones of their class."""
        codes = self.whole.codes
        return float(1 - np.isin(codes[codes >= 0], codes[self.folds >= 0]).mean())

    def relabeled(self, codes: np.ndarray) -> FoldPlan:
        """Return the same folds of the same objects with other labels; views that are ready are shared."""
        whole = replace(self.whole, codes=codes)
        sample = whole if self.sample is self.whole else replace(self.sample, codes=codes[self.sample.rows])
        folds = np.where(codes >= 0, self.folds, -1)
        for code in np.unique(codes[folds >= 0]):  # nothing could be learned of a class all of which is in one fold
            mine = sample.rows[sample.codes == code]
            if len(np.unique(folds[mine])) == 1:
                folds[mine] = -1
        return FoldPlan(whole, sample, folds)


@dataclass(frozen=True)
class FittedFold:
    """A candidate's classifier, fitted without the labels of a fold: to these views and codes, of these objects."""

    model: Any
    rest: Any
    views: Views
    codes: np.ndarray
    rows: np.ndarray


@dataclass
class FoldScores:
    """What a candidate says of the objects of some folds, and how long a fit of all objects takes."""

    candidate: PipelineCandidate
    scores: np.ndarray  # objects x classes; rows of NaN where an object was not held out
    seconds: list[float] = field(default_factory=list)
    temperature: float = 1.0
    weight: float = 0.0
    opinions: np.ndarray | None = None  # class of each object, -1 for not known, where nothing was held out
    model: Any = None  # fitted to all labels of all objects, where nothing was held out
    first_fold: FittedFold | None = None  # kept where unlabeled objects are too few to ask for
    reliability: float = float("nan")
    dropped: str | None = None
    error: Exception | None = None

    def judge(
        self,
        sample: LabeledSample,
        classes: np.ndarray,
        fold: np.ndarray,
        seconds: float | None = None,
        keep: bool = False,
    ) -> None:
        """Fit the candidate without the labels of a fold (a mask of all objects), and keep what it says of them.

        With `keep` the fitted classifier is kept too.
        """
        began = time.monotonic()
        rest, views, codes, rows = sample.behind(self.candidate)
        hidden = fold[rows]
        shown = np.where(hidden, -1, codes)
        model = fit_candidate(rest, views, shown, classes, seconds)
        last = last_step(model)
        if keep:
            self.first_fold = FittedFold(model, rest, views, shown, rows)
        if reads_links(rest) or isinstance(last, LabelSpreadingClassifier):  # links lead from one object to the other
            self.scores[rows[hidden]] = fitted_scores(model, views, classes)[hidden]
        else:
            self.scores[rows[hidden]] = class_scores(model, views[np.flatnonzero(hidden)], classes)
        self.seconds.append((time.monotonic() - began) * len(self.scores) / len(rows))

    def consult(self, sample: LabeledSample, classes: np.ndarray, seconds: float | None = None) -> None:
        """Fit the candidate to all labels of a sample, since none can be held out, and keep what it says of the others.

        Its temperature is the one before any label.
        """
        began = time.monotonic()
        _, rest, views = sample.prepared.behind(self.candidate)
        model = fit_candidate(rest, views, sample.codes, classes, seconds)
        scores = fitted_scores(model, views, classes)
        has = self.candidate.sees(sample.prepared.views) & (sample.codes < 0)
        self.temperature = own_temperature(scores[has]) if has.any() else 1.0
        self.opinions = np.full(len(self.scores), -1)
        self.opinions[sample.rows] = np.where(has, scores.argmax(axis=1), sample.codes)
        self.seconds.append((time.monotonic() - began) * len(self.scores) / len(sample.rows))
        if len(sample.rows) == len(self.scores):
            self.model = model

    def calibrate(self, codes: np.ndarray) -> None:
        """Find the temperature of the scores by the objects that were held out and have a code."""
        rows = np.flatnonzero(self.judged & (codes >= 0))
        if rows.size:
            self.temperature = fit_temperature(self.scores[rows], codes[rows])
        elif self.judged.any():
            self.temperature = own_temperature(self.scores[self.judged])

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        """Calibrated probabilities of objects that were held out (objects x classes)."""
        return softmax(self.scores[rows] / self.temperature, axis=1)

    @property
    def judged(self) -> np.ndarray:
        """Mask of the objects with scores."""
        return ~np.isnan(self.scores[:, 0])


def best_so_far(judged: list[FoldScores], codes: np.ndarray) -> FoldScores | None:
    """Return the candidate that finds the largest share of the labels held out so far; None where none were.

    Where time ends in the middle of a fold, some are asked for more labels than others. So two labels are added to
    those of each, as not found: one that finds a few labels, all of them, is not before one that finds most of many.
    Of equals it is the one with the larger prior.
    """
    alive = [each for each in judged if each.dropped is None and each.judged.any()]

    def rank(each: FoldScores) -> tuple[float, float]:
        rows = np.flatnonzero(each.judged)
        found = np.count_nonzero(each.scores[rows].argmax(axis=1) == codes[rows])
        return found / (len(rows) + MISSED), each.candidate.prior

    return max(alive, key=rank, default=None)


def asked_of_all(judged: list[FoldScores], codes: np.ndarray) -> np.ndarray:
    """Objects with a code that all of these candidates have scores for."""
    return np.flatnonzero(np.all([each.judged for each in judged], axis=0) & (codes >= 0))


def drop_hopeless(judged: list[FoldScores], codes: np.ndarray) -> None:
    """Give up candidates, calibrated ones, that are clearly worse than the best on the objects held out so far.

    By how many labels they find: of two candidates, those objects count that one of them gets right and the other
    wrong. If both were equally good, their difference would exceed so many standard deviations, the root of their
    number, once in thousands of times. And, of enough objects, by how probable they call the right class: one that
    gains less than a third of what the best does on the log loss of the classes' own shares, by so many standard errors
    of the difference. It knows next to nothing of the classes, and beside the others it is only in the way.
    """
    alive = [each for each in judged if each.dropped is None and each.judged.any()]
    if len(alive) < 2:
        return
    rows = asked_of_all(alive, codes)
    right = np.array([each.scores[rows].argmax(axis=1) == codes[rows] for each in alive])
    best = int(right.sum(axis=1).argmax())
    for each, mine in zip(alive, right):
        ahead, behind = int((right[best] & ~mine).sum()), int((mine & ~right[best]).sum())
        if ahead - behind > CLEARLY * np.sqrt(ahead + behind):
            each.dropped = f"clearly worse than {alive[best].candidate.name} on held-out labels"
    alive = [each for each in alive if each.dropped is None]
    if len(rows) < LOSSES or len(alive) < 2:
        return
    losses = np.array([log_losses(each.probabilities(rows), codes[rows]) for each in alive])
    gains = entr(np.bincount(codes[rows]) / len(rows)).sum() - losses.mean(axis=1)
    best = int(gains.argmax())
    if gains[best] <= 0:
        return
    for each, gain, gaps in zip(alive, gains, losses - losses[best]):
        if gain < LITTLE * gains[best] and gaps.mean() > CLEAR_LOSS * gaps.std(ddof=1) / np.sqrt(len(rows)):
            each.dropped = f"clearly worse than {alive[best].candidate.name} by log loss on held-out labels"

"""Online classification from several views: as little change as possible, a right vote, views that agree.

Each round minimizes

    sum_v |w_v - w_v'|^2 / 2 + coupling * sum_{v<w} |z_v - z_w| + C * max(0, 1 - mean_v z_v),     z_v = y w_v . x_v

Nguyen, Chang and Hui, Two-view online learning (2012), here solved exactly, for any number of views and classes. Their
Algorithm 1 is not the minimizer of the problem they state: update="paper" keeps it.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import Bunch
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from coview.base import MultiViewEstimator
from coview.exceptions import ParameterError
from coview.inspection import Features, Inspection, both_sides, softmax
from coview.kernels.passive_aggressive import LOSSES, UPDATES
from coview.online.calibration import class_probabilities, new_calibration, update_calibration
from coview.online.targets import class_costs, first_classes, known_classes, split_rows
from coview.online.weights import (
    CompressedRows,
    Memory,
    Outcome,
    averaged_memory,
    check_memory,
    check_range,
    dense_memory,
    grow_classes,
    joined,
    learn_rows,
    matrices_of,
    new_weights,
    rows_of,
    score_views,
    shuffled_rows,
    sparse_memory,
    tables,
)
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.messages import short
from coview.utils.parameters import MAPPING, NONE, TRUTH, integer, number, one_of
from coview.validation import LabeledScoreMixin, base_seed, check_count, check_number, check_option
from coview.views.arrays import LARGEST, SINGLE_LARGEST, check_magnitude, largest
from coview.views.inputs import ViewInput
from coview.views.views import Views

__all__ = ["MultiViewPassiveAggressiveClassifier"]


_SCORES = 2**22  # of rows by class, that a fit has in memory at once
_PARTS = 16  # calibrations are one sixteenth of the rows so far apart: weights, and averages, hardly change meanwhile
FEWEST_HASHED = 2**12  # columns, a power of two, by which hashed views are told


@shared_parameters
class MultiViewPassiveAggressiveClassifier(LabeledScoreMixin, ClassifierMixin, MultiViewEstimator):
    """Online passive-aggressive classifier for objects with several views, with exact updates.

    Parameters
    ----------
    C : float, default=0.1
        Aggressiveness: how far one object may move the weights.
    coupling : float, default=0.5
        Price of a difference between the views' margins (gamma in the paper); 0 lets them differ.
    update : {"exact", "paper"}, default="exact"
        Minimize the round's problem exactly, or take the printed step of the two-view paper (two views, loss "pa1").
    loss : {"pa1", "pa", "pa2"}, default="pa1"
        Hinge loss at price C, hard margin (no C), or squared hinge loss. With one view: PA-I, PA and PA-II.
    gate : bool, default=True
        Stay passive where the vote's margin is at least 1, even if the views differ.
    average : bool, default=False
        Predict with the mean of the weights over all rounds. If it is turned on between two batches, the weights at
        that time count for all rounds before.
    class_weight : dict, "balanced" or None, default=None
        ``{class: factor of C}``; "balanced" makes it inverse to the class frequencies, in `fit` only.
    view_weighting : {None, "adaptive"}, default=None
        All views have the same vote, or the better ones get more of it as the stream goes on.
    weighting_rate : float, default=0.1
        Adaptive votes: exp(-rate x loss in 0..1) multiplies a view's vote in every round.
    weighting_share : float, default=0.001
        Adaptive votes: share of all votes that is dealt out equally again in every round, so that a view that was bad
        can come back.
    fit_intercept : bool, default=False
        Learn an intercept too, as a feature that is 1 for all objects; the paper has none.
    shuffle : bool, default=True
        Go over the objects in random order in `fit`; `partial_fit` takes them as they come. From 16,384 objects on,
        random runs of 16 neighbors are mixed within windows of 512, which the memory follows a third faster.
    max_iter : int, default=1
        Passes over the data in `fit`; it ends sooner after a pass that changed nothing.
    early_stopping : bool, default=False
        Hold out some objects and stop when their accuracy stops rising; the best weights are kept.
    validation_fraction : float, default=0.1
        Share of the objects that is held out.
    n_iter_no_change : int, default=5
        Passes without a better accuracy before stopping.
    probability : bool, default=False
        Learn to turn scores into probabilities (`predict_proba`), from the scores that objects have before they are
        learned, by the mean of the weights with `average`, or from those held out.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the order and of the held-out objects.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    coef_ : dict of ndarray (n_classes or 1, n_features of the view)
        Weights by view (a copy); one row, that of ``classes_[1]``, for two classes.
    intercept_ : ndarray (n_classes or 1,)
        Intercept of the vote.
    view_weights_ : dict of float
        Share of each view in the vote; they sum to one.
    t_ : int
        Rounds so far.
    n_iter_ : int
        Passes of the last `fit`.
    history_ : dict of lists
        By pass: "objective" (mean hinge loss of objects before they are learned), "difference" (mean difference of the
        views' margins) and "updates" (share of rounds that moved the weights). Entry 0 is the start. Empty after
        `partial_fit` alone.
    <shared: fitted views>

    Notes
    -----
    Objects without label (None or NaN in y) are passed over; -1 is a class like any other. A view that an object lacks,
    or that is empty, takes no part in its round. With three classes or more the label's weights move against those of
    the best wrong class. There both change, so that the same C moves a margin twice as far as with two classes.

    Examples
    --------
    >>> from coview import MultiViewPassiveAggressiveClassifier
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=300, n_clusters=3, random_state=0)
    >>> model = MultiViewPassiveAggressiveClassifier(random_state=0).fit(data.views[:200], data.target[:200])
    >>> model.score(data.views[200:], data.target[200:]) > 0.9
    True
    >>> model.partial_fit(data.views[200:], data.target[200:]).t_
    300
    """

    _models_counts = False
    _semi_supervised = False
    _memory: Memory
    history_: dict[str, list[float]]

    _fitted_state = {
        "classes_": rules.labels("classes"),
        "history_": rules.history(),
        "n_iter_": rules.count(),
        "_memory": rules.custom(check_memory),
    }
    _parameters = {
        "C": number(above=0),
        "coupling": number(),
        "update": one_of(*UPDATES),
        "loss": one_of(*LOSSES),
        "gate": TRUTH,
        "average": TRUTH,
        "class_weight": one_of("balanced") | MAPPING | NONE,
        "view_weighting": one_of(None, "adaptive"),
        "weighting_rate": number(above=0),
        "weighting_share": number(below=1),
        "fit_intercept": TRUTH,
        "shuffle": TRUTH,
        "early_stopping": TRUTH,
        "validation_fraction": number(above=0, below=1),
        "n_iter_no_change": integer(),
        "probability": TRUTH,
    }

    def __init__(
        self,
        C: float = 0.1,
        coupling: float = 0.5,
        *,
        update: str = "exact",
        loss: str = "pa1",
        gate: bool = True,
        average: bool = False,
        class_weight: Any = None,
        view_weighting: str | None = None,
        weighting_rate: float = 0.1,
        weighting_share: float = 0.001,
        fit_intercept: bool = False,
        shuffle: bool = True,
        max_iter: int = 1,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        probability: bool = False,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.coupling = coupling
        self.update = update
        self.loss = loss
        self.gate = gate
        self.average = average
        self.class_weight = class_weight
        self.view_weighting = view_weighting
        self.weighting_rate = weighting_rate
        self.weighting_share = weighting_share
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.probability = probability
        self.random_state = random_state

    # -- learning

    def fit(self, X: Any, y: Any) -> MultiViewPassiveAggressiveClassifier:
        """Fit from scratch with at most `max_iter` passes over the objects."""
        views = self._fit_views(X)
        codes, self.classes_ = first_classes(y, len(views))
        if len(self.classes_) < 2:
            raise ParameterError(
                f"has 1 class ({short(self.classes_[0])}), but a classifier needs at least two classes.",
                parameter="y",
            )
        self._begin(views, fixed=False)
        batch = self._batch(views, codes)
        rng = np.random.default_rng(base_seed(self.random_state))
        order = np.flatnonzero(codes >= 0)
        unseen = order[:0]
        if self.early_stopping:
            order, unseen = split_rows(codes, order, self.validation_fraction, rng)
        if self.probability or len(order) < len(views):  # scored before, or not looked at as others are learned
            _check_values(views)
        self.history_ = {"objective": [1.0], "difference": [0.0], "updates": [0.0]}
        rows = order
        best, waited, kept = -1.0, 0, self._memory
        for sweep in range(check_count("max_iter", self.max_iter)):
            order = shuffled_rows(rows, order, rng) if self.shuffle else order
            moved = self._sweep(batch, order, calibrate=sweep == 0 and not len(unseen), unread=sweep == 0)
            self.n_iter_ = sweep + 1
            if len(unseen):
                accuracy = float(np.mean(_best_class(self._decide(views[unseen])) == codes[unseen]))
                waited += 1
                if accuracy > best:
                    best, waited, kept = accuracy, 0, deepcopy(self._memory)
            if not moved or waited >= self.n_iter_no_change:
                break
        if len(unseen):
            self._memory = kept
            if self.probability:
                kept["calibration"] = update_calibration(new_calibration(), self._decide(views[unseen]), codes[unseen])
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> MultiViewPassiveAggressiveClassifier:
        """Learn from a batch of any size, in order; it may have only some of the views.

        The first call fixes the views. `classes` may name all classes that will come; without it, a class that was
        never seen before is taken up when it comes.
        """
        self._learn_batch(X, y, classes)
        return self

    def predict_then_learn(self, X: Any, y: Any, classes: Any = None) -> Bunch:
        """Predict each object of a batch and then learn from it, one after another; see `partial_fit`.

        Returns
        -------
        Bunch
            What was known of each object before it was learned: ``predictions``, ``scores``, ``losses`` (hinge loss;
            NaN without label), ``differences`` (between the views' margins; NaN without two views), and ``codes``, the
            positions of the labels in ``classes_`` (-1 without label).
        """
        outcome, codes = self._learn_batch(X, y, classes)
        return Bunch(
            predictions=self.classes_[_best_class(outcome.scores)],
            scores=outcome.scores,
            losses=outcome.losses,
            differences=outcome.gaps,
            codes=codes,
        )

    def _learn_batch(self, X: Any, y: Any, classes: Any = None) -> tuple[Outcome, np.ndarray]:
        """Predict and learn object by object; return what was known before, and the labels' codes."""
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all of y at once. Use fit, or pass a dict of weights.")
        first = not self.__sklearn_is_fitted__()
        views = self._fit_views(X) if first else X if self._is_plain_batch(X) else self._new_views(X)
        if first:
            _check_values(views)
        known, n = None if first else self.classes_, len(views)
        codes, known_now = known_classes(y, n, known, classes, not first and self._memory["fixed"])
        if first:
            self.classes_ = known_now
            self._begin(views, fixed=classes is not None)
            self.n_iter_ = 1
            self.history_ = {}
        else:
            memory = averaged_memory(dense_memory(self._memory), bool(self.average))
            if len(known_now) > len(self.classes_):
                memory = grow_classes(memory, np.searchsorted(known_now, self.classes_).tolist(), len(known_now))
            self.classes_ = known_now
            self._memory = {**memory, "fixed": memory["fixed"] or classes is not None}
        return self._pass(self._batch(views, codes), np.arange(n), calibrate=True), codes

    def _is_plain_batch(self, X: Any) -> bool:
        """Tell Views that are as fitted in all that `_new_views` would check; small batches feel that check."""
        fitted = isinstance(X, Views) and len(X) > 0 and X.n_features == self.n_features_by_view_
        dtype = self._memory["dtype"]
        most = SINGLE_LARGEST if dtype == np.float32 else LARGEST
        return fitted and not X.feature_names and all(m.dtype == dtype and not largest(m) > most for m in X.values())

    def _numbers(self, views: Any, plain: bool, *, new: bool = False) -> Any:
        """Leave it to the first pass to find values that are too large or too small: one pass reads them once.

        Of other types, the largest value says beforehand whether they, or double precision, are enough.
        """
        if new or any(matrix.dtype != np.float64 for matrix in views.values()):
            return super()._numbers(views, plain, new=new)
        return views

    def _begin(self, views: Views, *, fixed: bool) -> None:
        """Check the parameters, and start with zero weights."""
        self._options()
        if self.update == "paper" and len(self.view_names_) != 2:
            listed = ", ".join(map(repr, self.view_names_))
            raise ParameterError(
                f"update='paper' requires two views, got {len(self.view_names_)} ({listed}).",
                use={"update": "exact"},
            )
        dtype = next(views.values()).dtype
        memory = new_weights(self.n_features_by_view_, len(self.classes_), dtype, averages=bool(self.average))
        self._memory = {**memory, "dtype": dtype, "fixed": fixed, "calibration": new_calibration()}

    def _batch(self, views: Views, codes: np.ndarray) -> tuple[CompressedRows, np.ndarray, np.ndarray, np.ndarray]:
        """Return what the kernel needs beside the weights: rows, codes, costs by class, options."""
        rows = rows_of(views, self.view_names_, self._memory["dtype"])
        return rows, codes, class_costs(self.class_weight, float(self.C), self.classes_, codes), self._options()

    def _sweep(self, batch: tuple[Any, ...], order: np.ndarray, *, calibrate: bool, unread: bool) -> int:
        """Go over the rows once, block by block, and note what was known of them; return how many moved the weights."""
        whole = calibrate and self.probability  # which cuts the rows into parts by itself
        block = len(order) if whole else max(_SCORES // len(self.classes_), 1)
        moved, losses, pairs, gaps = 0, 0.0, 0, 0.0
        for start in range(0, len(order), block):
            outcome = self._pass(batch, order[start : start + block], calibrate=calibrate, unread=unread)
            moved += outcome.moved
            losses += float(outcome.losses.sum())
            known = outcome.gaps if np.isfinite(outcome.gaps.sum()) else outcome.gaps[np.isfinite(outcome.gaps)]
            pairs += len(known)
            gaps += float(known.sum())
        self.history_["objective"].append(losses / len(order))
        self.history_["difference"].append(gaps / pairs if pairs else 0.0)
        self.history_["updates"].append(moved / len(order))
        return moved

    def _pass(self, batch: tuple[Any, ...], order: np.ndarray, *, calibrate: bool, unread: bool = False) -> Outcome:
        """Learn from the rows in this order; return what was known of each before. Refuses `unread` values."""
        rows, codes, costs, options = batch
        if calibrate and self.probability:
            outcome = self._learn_calibrated(batch, order)
        else:
            outcome = learn_rows(self._memory, rows, codes, order, costs, options)
        if unread:
            check_range(self.view_names_, rows, outcome)
        return outcome

    def _learn_calibrated(self, batch: tuple[Any, ...], order: np.ndarray) -> Outcome:
        """Learn from rows, and how sure to be from the scores that they have before.

        With averages, these are the scores by the averages before each part of the rows, during which they hardly move.
        """
        rows, codes, costs, options = batch
        memory, start, outcomes = self._memory, 0, []
        matrices = {} if memory["lags"] is None else matrices_of(memory, rows)
        while start < len(order):
            n_rounds = self.t_
            part = order[start : start + 1 + n_rounds // _PARTS]
            scores = self._decide({name: matrix[part] for name, matrix in matrices.items()}) if matrices else None
            outcomes.append(learn_rows(memory, rows, codes, part, costs, options))
            scores = outcomes[-1].scores if scores is None else scores
            memory["calibration"] = update_calibration(memory["calibration"], scores, codes[part], n_rounds)
            start += len(part)
        return joined(outcomes)

    def _options(self) -> np.ndarray:
        """Parameters as the kernels take them; refuses those out of range."""
        choices = (self.loss, self.update, self.gate, self.average, self.fit_intercept, self.view_weighting)
        rates = (self.C, self.coupling, self.weighting_rate, self.weighting_share)
        return _kernel_options(len(self.view_names_), *choices, *rates)

    # -- predicting

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the scores of the vote from some or all of the fitted views.

        Parameters
        ----------
        X : Views or what becomes Views
            The objects; a view that one lacks adds nothing to its vote.

        Returns
        -------
        ndarray (n_objects,) for two classes, else (n_objects, n_classes)
            Above zero for ``classes_[1]``, or highest for the predicted class.
        """
        check_is_fitted(self)
        return self._decide(self._new_views(X))

    def decision_function_by_view(self, X: Any) -> dict[str, np.ndarray]:
        """Compute the scores from each view that has a share in the vote, in the shape of `decision_function`."""
        check_is_fitted(self)
        bias, scores_by_view = self._bias(), self._opinions(score_views(self._memory, self._new_views(X)))
        return {name: _plus(scores, bias) for name, scores in scores_by_view.items()}

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class with the highest score from some or all of the fitted views."""
        scores = self.decision_function(X)  # first: it says when the model is not fitted
        return self.classes_[_best_class(scores)]

    @available_if(lambda self: self.probability)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities (n_objects, n_classes); only with probability=True."""
        scores = self.decision_function(X)
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1), dtype=scores.dtype)
        return class_probabilities(self._memory["calibration"], scores)

    def _inspect(self) -> Inspection:
        """Answer `inspect`: linear classifiers by view, in a vote."""

        def by_view(X: Any) -> dict[str, np.ndarray]:
            return {view: softmax(both_sides(scores)) for view, scores in self.decision_function_by_view(X).items()}

        inspection = super()._inspect()
        views = {view: replace(part, hashed=_is_hashed(part)) for view, part in inspection.views.items()}
        return replace(
            inspection,
            views=views,
            view_weights=self.view_weights_,
            history=self.history_,
            n_rounds=int(self.t_),
            _features=lambda view: Features(both_sides(self.coef_[view]), False, "coefficient"),
            _memberships_by_view=by_view,
        )

    def sparsify(self) -> MultiViewPassiveAggressiveClassifier:
        """Convert the weights to sparse matrices to save memory; further learning converts them back."""
        check_is_fitted(self)
        self._memory = sparse_memory(self._memory)
        return self

    def densify(self) -> MultiViewPassiveAggressiveClassifier:
        """Undo `sparsify`."""
        check_is_fitted(self)
        self._memory = dense_memory(self._memory)
        return self

    @property
    def coef_(self) -> dict[str, Any]:
        """Copy of the weights by view; rows are classes."""
        check_is_fitted(self)
        return tables(self._memory)[0]

    @property
    def intercept_(self) -> np.ndarray:
        """Copy of the intercept of the vote, by class."""
        check_is_fitted(self)
        return tables(self._memory)[1]

    @property
    def view_weights_(self) -> dict[str, float]:
        """Share of each view in the vote."""
        check_is_fitted(self)
        return dict(zip(self.view_names_, self._memory["shares"].tolist()))

    @property
    def t_(self) -> int:
        """Number of rounds so far."""
        check_is_fitted(self)
        return int(self._memory["n_rounds"])

    def __sklearn_is_fitted__(self) -> bool:
        return "_memory" in vars(self)

    def _decide(self, views: Any) -> np.ndarray:
        shares = dict(zip(self.view_names_, self._memory["shares"].tolist()))
        votes = [shares[name] * scores for name, scores in score_views(self._memory, views).items()]
        return _plus(np.add.reduce(votes), self._bias())

    def _bias(self) -> np.ndarray:
        bias = self._memory["bias"]
        return bias[0] - bias[1] / max(self._memory["n_rounds"], 1) if self._memory["lags"] is not None else bias[0]


def _kernel_options(n_views: int, *parameters: Any) -> np.ndarray:
    """Return (loss, update, gate, average, n of the intercept, coupling, rate, mix), or say which value is wrong.

    Parameters
    ----------
    n_views : int
        Number of views.
    parameters
        loss, update, gate, average, fit_intercept, view_weighting, C, coupling, weighting_rate and weighting_share of
        the classifier.

    Examples
    --------
    >>> _kernel_options(2, "pa1", "exact", True, False, True, None, 0.1, 0.5, 0.1, 0.001).tolist()
    [1.0, 0.0, 1.0, 0.0, 0.25, 0.5, 0.0, 0.001]
    """
    try:
        return _cached_options(n_views, *parameters)
    except TypeError:  # unhashable values, such as lists, which the check refuses
        return _checked_options(n_views, *parameters)


def _checked_options(n_views: int, *parameters: Any) -> np.ndarray:
    loss, update, gate, average, fit_intercept, view_weighting, C, coupling, rate, share = parameters
    check_option("loss", loss, tuple(LOSSES))
    check_option("update", update, tuple(UPDATES))
    check_option("view_weighting", view_weighting, (None, "adaptive"))
    check_number("C", C, positive=True)
    check_number("coupling", coupling)
    check_number("weighting_rate", rate, positive=True)
    check_number("weighting_share", share, below=1)
    adaptive = view_weighting == "adaptive"
    if update == "paper" and (loss != "pa1" or not gate or fit_intercept or adaptive):
        problem = "update='paper' requires loss='pa1', gate=True, no intercept and equal votes."
        raise ParameterError(problem, use={"update": "exact"})
    # a feature of value 1 in the sum that is divided by the number of views
    intercept = 1.0 / n_views**2 if fit_intercept else 0.0
    flags = (LOSSES[loss], UPDATES[update], bool(gate), bool(average), intercept)
    return np.array([*flags, coupling, rate if adaptive else 0.0, share], dtype=np.float64)


_cached_options = lru_cache(maxsize=64, typed=True)(_checked_options)  # every batch asks again; kernels only read it


def _check_values(views: Views) -> None:
    """Refuse values that no pass will look at; those of single precision are let in by their largest one."""
    for name, matrix in views.items():
        if matrix.dtype == np.float64:
            check_magnitude(name, matrix)


def _plus(scores: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return scores + np.asarray(bias, dtype=scores.dtype)


def _best_class(scores: np.ndarray) -> np.ndarray:
    """Codes of the classes with the largest scores; those of one class alone are 0, as is its code."""
    return scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)


def _is_hashed(view: ViewInput) -> bool:
    """Guess whether names of features were hashed: `read_stream` makes that many columns, others hardly do."""
    width = view.n_features
    return view.feature_names is None and width >= FEWEST_HASHED and width & (width - 1) == 0

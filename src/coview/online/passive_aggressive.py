"""Online classification from several views: as little change as possible, a right vote, views that agree.

Each round minimizes

    sum_v |w_v - w_v'|^2 / 2 + coupling * sum_{v<w} |z_v - z_w| + C * max(0, 1 - mean_v z_v),     z_v = y w_v . x_v

Nguyen, Chang and Hui, Two-view online learning (2012): the problem of their section 3.3, with the loss of equation 2,
the L1 relatedness of equation 3, and coupling for their gamma. It is solved exactly here (`coview.kernels.rounds`), for
any number of views and classes. Their Algorithm 1 is not the minimizer of the problem that they state: update="paper"
keeps it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import Bunch
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from coview.base import MultiViewEstimator
from coview.exceptions import ParameterError
from coview.inspection import Features, Inspection, both_sides, softmax
from coview.kernels.mixing import mix_rows
from coview.kernels.passive_aggressive import LOSSES, UPDATES
from coview.online.weights import (
    Memory,
    Outcome,
    average_memory,
    check_memory,
    compress_rows,
    compute_averages,
    grow_classes,
    make_weights,
    score_rows,
    update_weights,
)
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.messages import short
from coview.utils.parameters import MAPPING, NONE, TRUTH, number, one_of
from coview.validation import LabeledScoreMixin, base_seed, check_count, check_number
from coview.validation import encode_labels as encode_any_labels
from coview.views.arrays import LARGEST, SINGLE_LARGEST, SMALLEST, check_magnitude, largest
from coview.views.inputs import ViewInput
from coview.views.views import Views

__all__ = ["MultiViewPassiveAggressiveClassifier"]

_SCORES = 2**22  # of rows by class, that a fit has in memory at once: 32 MB

encode_labels = partial(encode_any_labels, semi_supervised=False)  # -1 is a class like any other


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
    fit_intercept : bool, default=False
        Learn an intercept too, as a feature that is 1 for all objects; the paper has none.
    shuffle : bool, default=True
        Go over the objects in random order in `fit`; `partial_fit` takes them as they come. From 16,384 objects on,
        random runs of 16 neighbors are mixed within windows of 512, an order that memory can follow.
    max_iter : int, default=1
        Passes over the data in `fit`; it ends sooner after a pass that changed nothing.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the order.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    coef_ : dict of ndarray (n_classes or 1, n_features of the view)
        Weights by view (a copy); one row, that of ``classes_[1]``, for two classes.
    intercept_ : ndarray (n_classes or 1,)
        Intercept of the vote.
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
        "fit_intercept": TRUTH,
        "shuffle": TRUTH,
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
        fit_intercept: bool = False,
        shuffle: bool = True,
        max_iter: int = 1,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.coupling = coupling
        self.update = update
        self.loss = loss
        self.gate = gate
        self.average = average
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.max_iter = max_iter
        self.random_state = random_state

    # -- learning

    def fit(self, X: Any, y: Any) -> MultiViewPassiveAggressiveClassifier:
        """Fit from scratch with at most `max_iter` passes over the objects."""
        views = self._fit_views(X)
        codes, self.classes_ = _read_first_classes(y, len(views))
        if len(self.classes_) < 2:
            raise ParameterError(
                f"has 1 class ({short(self.classes_[0])}), but a classifier needs at least two classes.",
                parameter="y",
            )
        self._begin(views, fixed=False)
        batch = self._batch(views, codes)
        rng = np.random.default_rng(base_seed(self.random_state))
        # unlabeled objects teach nothing: `fit` does not go over them
        order = rows = np.flatnonzero(codes >= 0)
        self.history_ = {"objective": [1.0], "difference": [0.0], "updates": [0.0]}
        for sweep in range(check_count("max_iter", self.max_iter)):
            if self.shuffle:
                order = _shuffle_rows(rows, order, rng)
            moved = self._sweep(batch, order)
            self.n_iter_ = sweep + 1
            # passive in every round: another pass would be the same
            if not moved:
                break
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
            NaN without label), ``differences`` (between the views' margins; NaN without label or two views), and
            ``codes``, the positions of the labels in ``classes_`` (-1 without label).
        """
        outcome, codes = self._learn_batch(X, y, classes)
        scores = _public(outcome.scores)
        predictions = self.classes_[_choose_class(scores)]
        return Bunch(
            predictions=predictions, scores=scores, losses=outcome.losses, differences=outcome.gaps, codes=codes
        )

    def _learn_batch(self, X: Any, y: Any, classes: Any = None) -> tuple[Outcome, np.ndarray]:
        """Predict and learn object by object; return what was known before, and the labels' codes."""
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all of y at once. Use fit, or pass a dict of weights.")
        if not self.__sklearn_is_fitted__():
            views = self._fit_views(X)
            for name, matrix in views.items():
                check_magnitude(name, matrix)
            codes, self.classes_ = _merge_classes(y, len(views), None, classes, fixed=False)
            self._begin(views, fixed=classes is not None)
            self.n_iter_ = 1
            self.history_ = {}
        else:
            views = X if self._is_plain_batch(X) else self._new_views(X)
            codes, known = _merge_classes(y, len(views), self.classes_, classes, fixed=self._memory["fixed"])
            # `average` may have been set since the last batch
            memory = average_memory(self._memory, bool(self.average))
            if len(known) > len(self.classes_):
                memory = grow_classes(memory, np.searchsorted(known, self.classes_).tolist(), len(known))
            self.classes_ = known
            self._memory = {**memory, "fixed": memory["fixed"] or classes is not None}
        rows, codes, costs, options = self._batch(views, codes)
        return update_weights(self._memory, rows, codes, np.arange(len(views)), costs, options), codes

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
        """Check how parameters fit together, and start with zero weights."""
        if self.update == "paper" and (self.loss != "pa1" or not self.gate or self.fit_intercept):
            problem = "update='paper' requires loss='pa1', gate=True and no intercept."
            raise ParameterError(problem, use={"update": "exact"})
        if self.update == "paper" and len(self.view_names_) != 2:
            raise ParameterError(
                f"update='paper' requires two views, got {len(self.view_names_)}.", use={"update": "exact"}
            )
        dtype = next(views.values()).dtype
        memory = make_weights(self.n_features_by_view_, len(self.classes_), dtype, averages=bool(self.average))
        self._memory = {**memory, "dtype": dtype, "fixed": fixed}

    def _batch(self, views: Views, codes: np.ndarray) -> tuple[Any, ...]:
        """Return what the kernel needs beside the weights: rows, codes, costs by class, options."""
        rows = compress_rows(views, self.view_names_, self._memory["dtype"])
        if self.class_weight == "balanced":
            factors = compute_class_weight("balanced", classes=self.classes_, y=self.classes_[codes[codes >= 0]])
        else:
            given = self.class_weight or {}
            factors = np.array(
                [check_number(f"class_weight of {label!r}", given.get(label, 1.0)) for label in self.classes_.tolist()]
            )
        # the intercept is a feature of value 1 in the sum that is divided by the number of views
        intercept = 1.0 / len(self.view_names_) ** 2 if self.fit_intercept else 0.0
        chosen = LOSSES.index(self.loss), UPDATES.index(self.update)
        # one array of numbers: a kernel is compiled anew for each mixture of types
        options = np.array([*chosen, self.gate, self.average, intercept, self.coupling], dtype=np.float64)
        return rows, codes, self.C * factors, options

    def _sweep(self, batch: tuple[Any, ...], order: np.ndarray) -> int:
        """Go over the rows once, block by block, and note what was known of them; return how many moved the weights."""
        rows, codes, costs, options = batch
        block = max(_SCORES // len(self.classes_), 1)
        parts = [order[start : start + block] for start in range(0, len(order), block)]
        outcomes = [update_weights(self._memory, rows, codes, part, costs, options) for part in parts]
        moved = sum(outcome.moved for outcome in outcomes)
        gaps = np.concatenate([outcome.gaps for outcome in outcomes])
        known = gaps[~np.isnan(gaps)]
        self.history_["objective"].append(sum(float(outcome.losses.sum()) for outcome in outcomes) / len(order))
        self.history_["difference"].append(float(known.mean()) if len(known) else 0.0)
        self.history_["updates"].append(moved / len(order))
        # the kernel has seen every norm: values are looked at again only where one is out of range
        norms = np.max([outcome.largest for outcome in outcomes], axis=0).tolist()
        for name, values, most in zip(self.view_names_, rows.values, norms):
            if not len(values) * SMALLEST**2 <= most <= LARGEST**2:
                check_magnitude(name, values)
        return moved

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
        views = self._new_views(X)
        weights, bias = compute_averages(self._memory)
        votes = np.add.reduce([matrix @ weights[name] for name, matrix in views.items()])
        return _public(votes / len(self.view_names_) + bias.astype(votes.dtype))

    def decision_function_by_view(self, X: Any) -> dict[str, np.ndarray]:
        """Compute the scores from each view, in the shape of `decision_function`."""
        return {name: _public(part) for name, part in score_rows(self._memory, self._new_views(X)).items()}

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class with the highest score from some or all of the fitted views."""
        scores = self.decision_function(X)  # first: it says when the model is not fitted
        return self.classes_[_choose_class(scores)]

    def _inspect(self) -> Inspection:
        """Answer `inspect`: linear classifiers by view, in a vote."""

        def by_view(X: Any) -> dict[str, np.ndarray]:
            return {view: softmax(both_sides(scores)) for view, scores in self.decision_function_by_view(X).items()}

        inspection = super()._inspect()
        views = {view: replace(part, hashed=_is_hashed(part)) for view, part in inspection.views.items()}
        return replace(
            inspection,
            views=views,
            training=replace(inspection.training, history=self.history_, n_rounds=int(self.t_)),
            _features=lambda view: Features(both_sides(self.coef_[view]), False, "coefficient"),
            _memberships_by_view=by_view,
        )

    @property
    def coef_(self) -> dict[str, Any]:
        """Copy of the weights by view; rows are classes."""
        check_is_fitted(self)
        return {name: array.T.copy() for name, array in compute_averages(self._memory)[0].items()}

    @property
    def intercept_(self) -> np.ndarray:
        """Copy of the intercept of the vote, by class."""
        check_is_fitted(self)
        return compute_averages(self._memory)[1].copy()

    @property
    def t_(self) -> int:
        """Number of rounds so far."""
        check_is_fitted(self)
        return int(self._memory["n_rounds"])

    def __sklearn_is_fitted__(self) -> bool:
        return "_memory" in vars(self)


def _read_first_classes(y: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return codes and classes; whole numbers from 0 up are counted, since sorting takes a third of a whole pass."""
    plain = type(y) is np.ndarray and y.dtype.kind == "i" and y.shape == (n_rows,) and n_rows > 0
    if not plain or y.min() < 0 or y.max() >= n_rows or y.min() == y.max():
        return encode_labels(y, n_rows)
    present = np.bincount(y) > 0
    return (np.cumsum(present) - 1)[y], np.flatnonzero(present).astype(y.dtype)


def _merge_classes(
    y: Any, n_rows: int, known: np.ndarray | None, classes: Any, *, fixed: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return codes of a batch (-1: no label), and the classes known from then on, sorted.

    `known` are those of earlier batches, `classes` all that will come, where the user names them. If they were named
    before (`fixed`), another class is an error, else it is taken up.
    """
    if known is not None and classes is not None and np.array_equal(classes, known):
        classes, fixed = None, True  # as most batches say again
    if classes is not None:
        named = encode_labels(classes, batch=True)[1]
        if known is not None and (not np.isin(known, named).all() or (fixed and len(named) != len(known))):
            raise ValueError(f"classes={named.tolist()} differ from those of earlier batches, {known.tolist()}.")
        return encode_labels(y, n_rows, named)
    try:
        return encode_labels(y, n_rows, known, batch=True)
    except ValueError:  # a new class, or a mistake
        if known is None or fixed:
            raise
        fresh = encode_labels(y, n_rows, batch=True)[1]
    # NumPy would turn the number 1 into the text "1", and two classes into one
    if (fresh.dtype.kind in "US") != (known.dtype.kind in "US"):
        raise ParameterError(
            f"holds labels such as {short(fresh[0])}, but earlier ones were like {short(known[0])}. Use numbers only, "
            "or strings only.",
            parameter="y",
        )
    return encode_labels(y, n_rows, np.union1d(known, fresh))


def _shuffle_rows(rows: np.ndarray, before: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return rows, which ascend, in random order: a permutation of the order `before`, or one that memory can follow.

    The latter where there are very many: random runs of 16 neighbors, mixed within windows of 512.
    """
    # smaller ones stay in the cache, whatever their order
    if len(rows) < 2**14:
        return rng.permutation(before)
    # runs long enough for the prefetcher to follow, windows of rows that stay in a cache of 1 MB
    return mix_rows(rows, 16, 512, rng.integers(2**63, dtype=np.uint64))


def _public(scores: np.ndarray) -> np.ndarray:
    """Scores as scikit-learn has them: one column for two classes has one dimension."""
    return scores[:, 0] if scores.shape[1] == 1 else scores


def _choose_class(scores: np.ndarray) -> np.ndarray:
    """Codes of the classes with the largest scores; those of one class alone are 0, as is its code."""
    return scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)


def _is_hashed(view: ViewInput) -> bool:
    """Guess whether names of features were hashed: `read_stream` makes that many columns, others hardly do."""
    width = view.n_features
    return view.feature_names is None and width >= 2**12 and width & (width - 1) == 0

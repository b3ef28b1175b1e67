"""The experiments of the 2012 paper on two-view online learning: one function per method, one fold per call.

A run returns ``{metric: {row: value}}`` in percent; all methods of a run see the same fold in the same order.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from corpora import load_internet_ads, load_webkb_course
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import ParameterGrid, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.utils import Bunch

from coview import ConcatenatedViews, MultiViewPassiveAggressiveClassifier, Views

C, GAMMA = 0.1, 0.5
FOLDS = 5
FIRST_SPLIT = 200  # splits from here on were never looked at while the grids were chosen
COSTS = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]
COUPLINGS = [0.0, 0.01, 0.05, 0.2, 0.5]

Values = dict[str, dict[str, float]]
Model = MultiViewPassiveAggressiveClassifier


class Row(NamedTuple):
    """A line of a table: the model, the views that it sees, and what may be chosen by cross-validation."""

    model: Any
    views: Views
    grid: dict[str, list[Any]]


class IndependentLearners(BaseEstimator):
    """One PA per view, each with a loss of its own; the vote is the sum of their scores."""

    def __init__(
        self,
        C: float = C,
        fit_intercept: bool = False,
        max_iter: int = 1,
        average: bool = False,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.average = average
        self.random_state = random_state

    def fit(self, X: Views, y: np.ndarray) -> IndependentLearners:
        """Fit the learner of each view; all see the objects in the same order."""
        self.models_ = {name: Model(**self.get_params()).fit(X.select(name), y) for name in X.names}
        return self

    def predict(self, X: Views) -> np.ndarray:
        """Class of the sum of the scores, 0 or 1."""
        scores = sum(model.decision_function(X.select(name)) for name, model in self.models_.items())
        return (scores > 0).astype(int)


def load(data: str, options: dict[str, Any]) -> Bunch:
    """Views and target of a data set; kept in memory."""
    return _load(options["loader"])


def run(cell: Any, options: dict[str, Any]) -> Values:
    """Make one run."""
    data, loader = load(cell.data, options), options["loader"]
    marks = [0, *_rounds(cell.data)]
    if cell.experiment == "difference":
        return _difference(_gaps(loader, cell.seed), cell["rounds"], marks)
    if cell.experiment == "steps":
        return {"worse than no step": {"Two-view PA": 100 * algorithm_1(*_shuffled(loader, cell.seed))[0]}}
    if cell.experiment == "difference_tuned":
        return _difference(_tuned_gaps(loader, cell.seed), cell["rounds"], marks)
    learn, test = fold(data.target, cell.seed)
    found = {}
    for name, row in METHODS[cell.method](data.views, cell.experiment == "tuned", cell.seed).items():
        model = clone(row.model).set_params(max_iter=cell["passes"]) if cell.experiment == "passes" else row.model
        if row.grid:
            model = clone(model).set_params(**_chosen(loader, cell.method, name, cell.seed))
        guess = model.fit(row.views[learn], data.target[learn]).predict(row.views[test])
        found[name] = 100 * float(f1_score(data.target[test], guess))
    return {"F1": found}


def fold(target: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Objects to learn from and to test on: fold `seed` mod 5 of a split number that grows with `seed` div 5."""
    splits = StratifiedKFold(FOLDS, shuffle=True, random_state=FIRST_SPLIT + seed // FOLDS).split(target, target)
    return list(splits)[seed % FOLDS]


@cache
def _load(loader: str) -> Bunch:
    return load_internet_ads() if loader == "internet_ads" else load_webkb_course()


# -- methods: name of a row -> model, views and grid


def _pa(views: Views, tuned: bool, seed: int) -> dict[str, Row]:
    parts = {f"PA View {v}": views.select(name) for v, name in enumerate(views.names, start=1)}
    parts["PA Cat"] = Views(x=views.hstack())
    grid = {"C": COSTS, "fit_intercept": [False, True], "max_iter": [1, 10], "average": [True]}
    return {name: Row(Model(C, random_state=seed), part, grid if tuned else {}) for name, part in parts.items()}


def _sum(views: Views, tuned: bool, seed: int) -> dict[str, Row]:
    grid = {"C": COSTS, "fit_intercept": [False, True], "max_iter": [1, 10], "average": [True]}
    return {"PA Sum": Row(IndependentLearners(random_state=seed), views, grid if tuned else {})}


def _two_view(views: Views, tuned: bool, seed: int) -> dict[str, Row]:
    printed = Model(C, GAMMA, update="paper", random_state=seed)
    exact = Model(C, GAMMA, random_state=seed)
    if not tuned:
        free = Model(C, GAMMA, gate=False, random_state=seed)
        rows = {"Two-view PA": printed, "exact": exact, "exact, no gate": free}
        return {name: Row(model, views, {}) for name, model in rows.items()}
    grid = {"C": COSTS, "coupling": COUPLINGS, "max_iter": [1, 10], "average": [True]}
    return {
        "Two-view PA": Row(printed, views, grid),
        "exact": Row(exact, views, {**grid, "fit_intercept": [False, True]}),
    }


def _batch(views: Views, tuned: bool, seed: int) -> dict[str, Row]:
    model = ConcatenatedViews(LogisticRegression(max_iter=1000))
    return {"logistic regression": Row(model, views, {"estimator__C": [0.1, 1.0, 10.0, 100.0]})}


METHODS = {"PA": _pa, "Sum": _sum, "TwoView": _two_view, "Batch": _batch}


@cache
def _chosen(loader: str, method: str, name: str, seed: int, **only: Any) -> dict[str, Any]:
    """Parameters with the best mean F1 over three times three folds of the training part; the test part is not seen.

    `only` fixes some of them.
    """
    data = _load(loader)
    learn, _ = fold(data.target, seed)
    row = METHODS[method](data.views, True, seed)[name]
    views, target = row.views[learn], data.target[learn]
    folds = RepeatedStratifiedKFold(n_splits=3, n_repeats=3, random_state=seed).split(target, target)
    parts = [(views[a], target[a], views[b], target[b]) for a, b in folds]  # rows are taken once, not per model
    candidates = list(ParameterGrid({**row.grid, **{key: [value] for key, value in only.items()}}))
    scores = []
    for candidate in candidates:
        model = clone(row.model).set_params(**candidate)
        scores.append(np.mean([_f1(known, model.fit(X, y).predict(new)) for X, y, new, known in parts]))
    return candidates[int(np.argmax(scores))]


def _f1(known: np.ndarray, guess: np.ndarray) -> float:
    """F1 of class 1, without the checks that take longer than a fit here."""
    both = float(known.sum() + guess.sum())
    return 2 * float((known * guess).sum()) / both if both else 0.0


# -- figures: how far apart the views are, round by round


def _rounds(data: str) -> list[int]:
    return {
        "ads": [100, 250, 500, 1000, 1500, 2000, 2500, 3279],
        "webkb": [50, 100, 200, 400, 600, 800, 1051],
    }[data]


def _difference(gaps: dict[str, np.ndarray], rounds: int, marks: list[int]) -> Values:
    """Mean difference up to a round, and since the mark before it."""
    start = max(mark for mark in marks if mark < rounds)
    return {
        "cumulative view difference": {row: 100 * float(np.mean(gap[:rounds])) for row, gap in gaps.items()},
        "view difference": {row: 100 * float(np.mean(gap[start:rounds])) for row, gap in gaps.items()},
    }


def _gaps(loader: str, seed: int) -> dict[str, np.ndarray]:
    """Differences round by round, over all objects in random order, at the paper's parameters."""
    views, target = _shuffled(loader, seed)
    return {
        "PA": _single(views, target, [Model(C)] * 2),
        "Two-view PA": _paired(Model(C, GAMMA, update="paper"), views, target),
        "exact": _paired(Model(C, GAMMA), views, target),
    }


@cache
def _tuned_gaps(loader: str, seed: int) -> dict[str, np.ndarray]:
    """The same, each method with parameters chosen for one pass over this seed's training part."""
    views, target = _shuffled(loader, seed)

    def made(method: str, name: str, **fixed: Any) -> Any:
        return Model(**_chosen(loader, method, name, seed, max_iter=1, average=False), **fixed)

    return {
        "PA": _single(views, target, [made("PA", "PA View 1"), made("PA", "PA View 2")]),
        "Two-view PA": _paired(made("TwoView", "Two-view PA", update="paper"), views, target),
        "exact": _paired(made("TwoView", "exact"), views, target),
    }


def _shuffled(loader: str, seed: int) -> tuple[Views, np.ndarray]:
    data = _load(loader)
    order = np.random.default_rng(seed).permutation(len(data.target))
    return data.views[order], data.target[order]


def _single(views: Views, target: np.ndarray, models: list[Any]) -> np.ndarray:
    """|wA.xA - wB.xB| of one PA per view, side by side."""
    said = [
        clone(model).predict_then_learn(views.select(name), target, classes=[0, 1]).scores
        for name, model in zip(views.names, models)
    ]
    return np.abs(said[0] - said[1])


def _paired(model: Any, views: Views, target: np.ndarray) -> np.ndarray:
    """The same of one model of both views; where an object lacks a view, that view says 0."""
    said = model.predict_then_learn(views, target, classes=[0, 1])
    # the vote is half of what the one view says that speaks
    return np.where(np.isnan(said.differences), np.abs(2 * said.scores), said.differences)


# -- Algorithm 1, written out: is its step better than none?


def algorithm_1(views: Views, target: np.ndarray) -> tuple[float, list[np.ndarray]]:
    """One pass of Algorithm 1: the share of its steps that leave its own objective above that of no step; weights.

    Objects that lack a view are left out: the algorithm divides by their length.
    """
    tables = [views[name].tocsr() for name in views.names]
    weights, worse, steps = [np.zeros(X.shape[1]) for X in tables], 0, 0
    for i, y in enumerate(2 * target - 1):
        rows = [(X.indices[X.indptr[i] : X.indptr[i + 1]], X.data[X.indptr[i] : X.indptr[i + 1]]) for X in tables]
        a, b = (float(x @ x) for _, x in rows)
        margins = [y * float(w[at] @ x) for w, (at, x) in zip(weights, rows)]
        loss = 1 - sum(margins) / 2
        if loss <= 0 or a * b == 0:
            continue
        tilt = ((1 - margins[1]) / b - (1 - margins[0]) / a) / (a + b)
        u = np.clip((GAMMA + tilt) / 2, 0, GAMMA) - np.clip((GAMMA - tilt) / 2, 0, GAMMA)
        tau = min(C, (u * (a - b) + 2 * loss) / (a + b))
        lengths = (tau / 2 - u, tau / 2 + u)
        worse += _objective(lengths, (a, b), margins) > _objective((0.0, 0.0), (a, b), margins)
        steps += 1
        for w, (at, x), length in zip(weights, rows, lengths):
            w[at] += length * y * x
    return worse / steps, weights


def _objective(lengths: Any, squares: Any, margins: Any) -> float:
    """Problem of section 3.3 at the weights that steps of these lengths lead to."""
    first, second = (m + p * square for m, p, square in zip(margins, lengths, squares))
    moved = sum(p * p * square for p, square in zip(lengths, squares)) / 2
    return float(moved + GAMMA * abs(first - second) + C * max(0.0, 1 - (first + second) / 2))

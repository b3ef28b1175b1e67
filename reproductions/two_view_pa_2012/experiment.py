"""The experiments of the 2012 paper on two-view online learning: one function per method, one fold per call.

A run returns ``{metric: {row: value}}`` in percent; all methods of a run see the same fold in the same order.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import ParameterGrid, StratifiedKFold
from sklearn.utils import Bunch

from coview import (
    ConcatenatedViews,
    MultiViewPassiveAggressiveClassifier,
    Views,
    load_internet_ads,
    load_webkb_course,
)

C, GAMMA = 0.1, 0.5
FOLDS = 5
COSTS = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
AGREEMENTS = [0.0, 0.01, 0.05, 0.2, 0.5]

Values = dict[str, dict[str, float]]
Model = MultiViewPassiveAggressiveClassifier


def load(data: str, options: dict[str, Any]) -> Bunch:
    """Views and target of a data set; kept in memory."""
    return _load(options["loader"])


def run(cell: Any, options: dict[str, Any]) -> Values:
    """Make one run."""
    data = load(cell.data, options)
    if cell.experiment == "difference":
        return _difference(data, cell["rounds"], cell.seed, [0, *_rounds(cell.data)])
    learn, test = fold(data.target, cell.seed)
    rows = METHODS[cell.method](data.views, cell.experiment == "tuned", cell.seed)
    found = {}
    for row, (model, views) in rows.items():
        guess = model.fit(views[learn], data.target[learn]).predict(views[test])
        found[row] = 100 * float(f1_score(data.target[test], guess))
    return {"F1": found}


def fold(target: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Objects to learn from and to test on: fold `seed` mod 5 of the split number `seed` div 5."""
    splits = StratifiedKFold(FOLDS, shuffle=True, random_state=seed // FOLDS).split(target, target)
    return list(splits)[seed % FOLDS]


@cache
def _load(loader: str) -> Bunch:
    return load_internet_ads() if loader == "internet_ads" else load_webkb_course()


# -- methods: row -> model and the views that it sees


def _pa(views: Views, tuned: bool, seed: int) -> dict[str, tuple[Any, Views]]:
    parts = {f"PA View {v}": views.select(name) for v, name in enumerate(views.names, start=1)}
    parts["PA Cat"] = Views(x=views.hstack())
    grid = {"C": COSTS, "fit_intercept": [False, True], "max_iter": [1, 10], "average": [True]}
    model = Model(C, random_state=seed)
    return {row: (_search(model, grid, seed) if tuned else model, part) for row, part in parts.items()}


def _two_view(views: Views, tuned: bool, seed: int) -> dict[str, tuple[Any, Views]]:
    printed = Model(C, GAMMA, update="paper", random_state=seed)
    exact = Model(C, GAMMA, random_state=seed)
    if not tuned:
        free = Model(C, GAMMA, gate=False, random_state=seed)
        votes = Model(C, GAMMA, view_weighting="adaptive", random_state=seed)
        rows = {"Two-view PA": printed, "exact": exact, "exact, no gate": free, "exact, adaptive votes": votes}
        return {row: (model, views) for row, model in rows.items()}
    # the vote is a mean of two views: four times C moves it as far as C moves that of all columns together
    grid = {"C": [4 * cost for cost in COSTS], "agreement": AGREEMENTS, "max_iter": [1, 10], "average": [True]}
    return {
        "Two-view PA": (_search(printed, grid, seed), views),
        "exact": (_search(exact, {**grid, "fit_intercept": [False, True]}, seed), views),
    }


def _batch(views: Views, tuned: bool, seed: int) -> dict[str, tuple[Any, Views]]:
    model = ConcatenatedViews(LogisticRegression(max_iter=1000))
    grid = {"estimator__C": [0.1, 1.0, 10.0, 100.0]}
    return {"logistic regression": (_search(model, grid, seed), views)}


def _search(model: Any, grid: dict[str, list[Any]], seed: int) -> _Search:
    return _Search(model, list(ParameterGrid(grid)), StratifiedKFold(3, shuffle=True, random_state=seed))


class _Search:
    """Parameters with the best mean F1 over inner folds; as GridSearchCV, but rows are taken once, not per model."""

    def __init__(self, model: Any, candidates: list[dict[str, Any]], folds: Any) -> None:
        self.model, self.candidates, self.folds = model, candidates, folds

    def fit(self, views: Views, target: np.ndarray) -> Any:
        parts = [(views[a], target[a], views[b], target[b]) for a, b in self.folds.split(target, target)]
        scores = [
            np.mean([f1_score(known, self._made(candidate).fit(X, y).predict(new)) for X, y, new, known in parts])
            for candidate in self.candidates
        ]
        return self._made(self.candidates[int(np.argmax(scores))]).fit(views, target)

    def _made(self, candidate: dict[str, Any]) -> Any:
        return clone(self.model).set_params(**candidate)


METHODS = {"PA": _pa, "TwoView": _two_view, "Batch": _batch}


# -- figures: how far apart the views are, round by round


def _rounds(data: str) -> list[int]:
    return {
        "ads": [100, 250, 500, 1000, 1500, 2000, 2500, 3279],
        "webkb": [50, 100, 200, 400, 600, 800, 1051],
    }[data]


def _difference(data: Bunch, rounds: int, seed: int, marks: list[int]) -> Values:
    """Mean difference up to a round, and since the mark before it, over all objects in random order."""
    order = np.random.default_rng(seed).permutation(len(data.target))[:rounds]
    views, target = data.views[order], data.target[order]
    gaps = {
        "PA": _single(views, target),
        "Two-view PA": _paired(Model(C, GAMMA, update="paper"), views, target),
        "exact": _paired(Model(C, GAMMA), views, target),
    }
    start = max(mark for mark in marks if mark < rounds)
    return {
        "cumulative view difference": {row: 100 * float(np.mean(gap)) for row, gap in gaps.items()},
        "view difference": {row: 100 * float(np.mean(gap[start:])) for row, gap in gaps.items()},
    }


def _single(views: Views, target: np.ndarray) -> np.ndarray:
    """|wA.xA - wB.xB| of one PA per view, side by side."""
    said = [Model(C).predict_then_learn(views.select(name), target, classes=[0, 1]).scores for name in views.names]
    return np.abs(said[0] - said[1])


def _paired(model: Any, views: Views, target: np.ndarray) -> np.ndarray:
    """The same of one model of both views; where an object lacks a view, that view says 0."""
    said = model.predict_then_learn(views, target, classes=[0, 1])
    # the vote is half of what the one view says that speaks
    return np.where(np.isnan(said.differences), np.abs(2 * said.scores), said.differences)

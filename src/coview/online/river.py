"""The classifier as river's users know models: one object at a time, features by name.

``learn_one({"words": {"win": 2, "now": 1}, "links": {"a.com": 1}}, "spam")``: features go to columns by their hash,
and classes may turn up later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from coview.exceptions import ViewsError
from coview.kernels.memory import addresses
from coview.kernels.rounds import ROWS
from coview.online.calibration import class_probabilities, update_calibration
from coview.online.hashing import WIDTH, ColumnCache, hash_rows
from coview.online.passive_aggressive import MultiViewPassiveAggressiveClassifier
from coview.online.targets import class_costs
from coview.online.weights import Memory, learner
from coview.validation import UNLABELED
from coview.views.arrays import LARGEST, check_magnitude
from coview.views.coerce import PLAIN
from coview.views.views import Views

__all__ = ["RowLearner", "to_river"]

Row = tuple[np.ndarray, np.ndarray] | None  # columns and values of a view; None where the object lacks it
_CAPACITY = 256  # features of a view that there is room for at first


def to_river(
    model: MultiViewPassiveAggressiveClassifier,
    views: Iterable[str] | Mapping[str, int] | None = None,
    n_features: int = WIDTH,
) -> Any:
    """Wrap a classifier with river's ``learn_one``, ``predict_one`` and ``predict_proba_one``.

    Parameters
    ----------
    model : MultiViewPassiveAggressiveClassifier
        Fresh or fitted; it is changed by learning. One that was fitted must know hashed features, as `read_stream`
        gives them: names are hashed to the widths of its views.
    views : names, or {name: number of columns}, optional
        The views of a fresh model; those of the first object by default. An object that is one flat
        ``{feature: value}`` has the one view "x".
    n_features : int, default=2**18
        Columns of the views for which `views` gives no number.

    Returns
    -------
    object
        A ``river.base.Classifier`` where river is installed, so that its metrics and pipelines take it; else a plain
        object with the same methods.

    Examples
    --------
    >>> from coview import MultiViewPassiveAggressiveClassifier, to_river
    >>> online = to_river(MultiViewPassiveAggressiveClassifier(C=1.0), views=["words", "links"])
    >>> online.predict_one({"words": {"win": 1}}) is None
    True
    >>> online.learn_one({"words": {"win": 2, "now": 1}, "links": {"a.com": 1}}, "spam")
    >>> online.learn_one({"words": {"see": 1, "you": 1}}, "ham")
    >>> online.learn_one({"words": {"win": 1}, "links": {"a.com": 1}}, "spam")
    >>> online.predict_one({"links": {"a.com": 1}})
    'spam'
    """
    if not isinstance(model, MultiViewPassiveAggressiveClassifier):
        raise TypeError(f"to_river takes a MultiViewPassiveAggressiveClassifier, got {type(model).__name__}.")
    widths = dict(views) if isinstance(views, Mapping) else dict.fromkeys(views or (), n_features)
    return _adapter()(model, widths, n_features)


class _OneByOne:
    """The adapter without river."""

    def __init__(self, model: Any, widths: dict[str, int], n_features: int) -> None:
        fitted = model.__sklearn_is_fitted__()
        self.model = model.densify() if fitted else model
        self.widths = dict(model.n_features_by_view_) if fitted else widths
        self.n_features = n_features
        self._learner: RowLearner | None = None
        self._last: tuple[Any, Any] = (None, None)
        self._columns: dict[str, ColumnCache] = {}

    def learn_one(self, x: Mapping[str, Any], y: Any) -> None:
        """Learn from one object, {view: {feature: value}}."""
        learner = self._row_learner()
        code = None if learner is None else learner.codes.get(y)
        if learner is None or code is None:
            by_view = _by_view(x)
            self.widths = self.widths or dict.fromkeys(by_view, self.n_features)
            self.model.partial_fit(self._views(by_view), [y])  # the first object, or a new class: by the long way
            return
        memory, calibrates = learner.memory, self.model.probability and len(learner.codes) > 1
        averaged = None if memory["lags"] is None or not calibrates else np.asarray(self._scores(learner, x))[None]
        scores = learner.learn(self._rows(x), code)
        if calibrates:
            scores = scores if averaged is None else averaged
            known, n_rounds = memory["calibration"], memory["n_rounds"] - 1
            memory["calibration"] = update_calibration(known, scores, learner.code, n_rounds)

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """Class of one object; None before any was learned."""
        learner = self._row_learner()
        if learner is None:
            return None
        scores = self._scores(learner, x)
        return learner.labels[int(scores.argmax()) if isinstance(scores, np.ndarray) else int(scores > 0)]

    def predict_proba_one(self, x: Mapping[str, Any]) -> dict[Any, float]:
        """Probability of each class known so far."""
        learner = self._row_learner()
        if learner is None:
            return {}
        if len(learner.labels) == 1:
            return {learner.labels[0]: 1.0}
        shares = class_probabilities(self.model._memory["calibration"], np.asarray(self._scores(learner, x))[None])
        return dict(zip(learner.labels, shares[0].tolist()))

    @property
    def _multiclass(self) -> bool:
        return True

    def _row_learner(self) -> RowLearner | None:
        """The model's arrays, laid out for single objects; anew where the model got other ones."""
        model = self.model
        if not model.__sklearn_is_fitted__():
            return None
        if self._learner is None or self._learner.memory is not model._memory:
            model.densify()
            codes = np.zeros(0, dtype=np.int64)
            costs = class_costs(model.class_weight, float(model.C), model.classes_, codes)
            self._learner = RowLearner(model._memory, model.classes_.tolist(), costs, model._options())
        return self._learner

    def _scores(self, learner: RowLearner, x: Mapping[str, Any]) -> Any:
        """Scores of the vote (a number for two classes), by the weights, or by their averages."""
        memory, rows = learner.memory, self._rows(x)
        if memory["lags"] is None:
            return learner.score(rows)[0]
        rounds = max(memory["n_rounds"], 1)
        total = memory["bias"][0] - memory["bias"][1] / rounds
        for share, weights, lags, row in zip(memory["shares"], learner.weights, memory["lags"].values(), rows):
            if row is not None:
                columns, values = row
                total = total + share * (values @ weights[columns] - values @ lags[columns] / rounds)
        return total

    def _rows(self, x: Mapping[str, Any]) -> list[Row]:
        """Columns and values by view. Those of the last object are kept: it is mostly predicted, then learned."""
        kept, rows = self._last
        if kept is not None and kept == x:
            return rows
        by_view = _by_view(x)
        self._check_names(by_view)
        rows = []
        for view, width in self.widths.items():
            if view not in by_view:
                rows.append(None)
                continue
            if view not in self._columns:
                self._columns[view] = ColumnCache(width)
            row = self._columns[view].row(by_view[view])
            if not np.abs(row[1]).max(initial=0.0) <= LARGEST:
                for name, value in by_view[view].items():
                    if not isfinite(value):
                        raise ViewsError(f"View {view!r} has a value that is not finite: {name!r} is {value}.")
                check_magnitude(view, row[1])
            rows.append(row)
        # a copy, since the caller may change the object between two calls
        self._last = {view: dict(part) if type(part) is dict else part for view, part in x.items()}, rows
        return rows

    def _views(self, by_view: Mapping[str, Any]) -> Views:
        self._check_names(by_view)
        present = np.array([[view in by_view for view in self.widths]])
        return Views({v: hash_rows([by_view.get(v)], width) for v, width in self.widths.items()}, present=present)

    def _check_names(self, by_view: Mapping[str, Any]) -> None:
        for view in by_view:
            if view not in self.widths:
                if view == "x" and self.widths:
                    first = next(iter(self.widths))
                    raise ViewsError(
                        f"An object must be {{view: {{feature: value}}}}, such as {{{first!r}: {{'word': 1}}}}; found "
                        "features outside of a view."
                    )
                known = ", ".join(map(repr, self.widths))
                raise ViewsError(f"An object has the view {view!r}, but the views are {known}. Name all with views=.")


class RowLearner:
    """A model's arrays, laid out once to learn single rows.

    A batch of one object takes a hundred times longer to prepare than to learn. Here the row is written into arrays
    whose addresses the kernel knows already, so that a call is a copy of the row and the round itself.

    Parameters
    ----------
    memory : dict
        What the model remembers, with dense weights; its arrays are changed by learning.
    labels : list
        The classes, sorted.
    costs, options : ndarray
        As the kernels take them.

    Attributes
    ----------
    codes : dict
        Position of each class.
    code : ndarray (1,)
        That of the object learned last.

    Examples
    --------
    >>> import numpy as np
    >>> from coview.online.passive_aggressive import kernel_options
    >>> from coview.online.weights import new_weights
    >>> memory = {**new_weights({"words": 3}, 2, np.float64, averages=False), "dtype": np.dtype(np.float64)}
    >>> options = kernel_options(1, "pa1", "exact", True, False, False, None, 1.0, 0.5, 0.1, 0.001)
    >>> learner = RowLearner(memory, ["ham", "spam"], np.ones(2), options)
    >>> learner.learn([(np.array([0, 2]), np.array([1.0, 1.0]))], 1).tolist()
    [0.0]
    >>> memory["weights"]["words"].tolist()
    [0.5, 0.0, 0.5]
    """

    def __init__(self, memory: Memory, labels: list[Any], costs: np.ndarray, options: np.ndarray) -> None:
        self.memory, self.labels = memory, labels
        self.codes = {label: code for code, label in enumerate(labels)}
        self.weights: list[np.ndarray] = list(memory["weights"].values())
        self.code = np.zeros(1, dtype=np.int64)
        self._settings = costs, memory["shares"], options
        self._outputs = np.zeros(1 if len(labels) <= 2 else (1, len(labels))), np.zeros(1), np.zeros(1)
        self._order = np.zeros(1, dtype=np.int64)
        self._written: Any = None  # the row in the arrays: it is mostly scored, then learned
        self._learn = learner(len(labels), len(self.weights))
        self._allocate(_CAPACITY)

    def learn(self, rows: Sequence[Row], code: int) -> np.ndarray:
        """Learn one object, columns and values by view; return its scores from before (until the next call)."""
        self.memory["n_rounds"] += 1
        self.code[0] = code
        return self._round(rows)

    def score(self, rows: Sequence[Row]) -> np.ndarray:
        """Return the scores of one object by the weights as they are (until the next call)."""
        self.code[0] = UNLABELED
        return self._round(rows)

    def _round(self, rows: Sequence[Row]) -> np.ndarray:
        if len(self.labels) < 2:  # no rival yet
            return self._outputs[0]
        if rows is not self._written:
            self._write(rows)
        costs, shares, options = self._settings
        state = (self.memory["bias"], self.code, self._order, costs, shares, options, self.memory["n_rounds"] - 1)
        self._learn(self._addresses, *self._types, *self._scratch, *state, *self._outputs)
        return self._outputs[0]

    def _write(self, rows: Sequence[Row]) -> None:
        """Write a row to where the kernel reads it."""
        longest = max((len(row[0]) for row in rows if row is not None), default=0)
        if longest > self._indices.shape[1]:
            self._allocate(2 * longest)
        for v, row in enumerate(rows):
            size = 0 if row is None else len(row[0])
            self._ends[v, 1] = size
            if row is not None:
                self._indices[v, :size], self._values[v, :size] = row
        self._written = rows

    def _allocate(self, capacity: int) -> None:
        """Arrays for rows of so many features in each view, and where they are."""
        n, dtype = len(self.weights), self.memory["dtype"]
        self._ends = np.zeros((n, 2), dtype=np.int32)
        self._indices = np.zeros((n, capacity), dtype=np.int32)
        self._values = np.zeros((n, capacity), dtype=dtype)
        self._scratch = np.empty((ROWS, n)), np.empty((3, n), dtype=np.int64)
        self._types = np.empty(0, dtype=np.int32), np.empty(0, dtype=dtype)
        lags = self.weights if self.memory["lags"] is None else list(self.memory["lags"].values())
        self._addresses = addresses([*self._ends, *self._indices, *self._values, *self.weights, *lags]).reshape(5, n)


def _by_view(x: Mapping[str, Any]) -> dict[str, Any]:
    """Views of an object; a flat {feature: value} is the view "x"."""
    if all(isinstance(value, Mapping) for value in x.values()):
        return {view: features for view, features in x.items() if features}
    return {PLAIN: x}


def _adapter() -> type[Any]:
    try:
        from river.base import Classifier
    except ImportError:
        return _OneByOne

    class OneByOne(_OneByOne, Classifier):  # type: ignore[misc, unused-ignore]  # river names its parameters otherwise
        """The adapter as a classifier of river."""

    return OneByOne

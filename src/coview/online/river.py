"""The classifier as river's users know models: one object at a time, features by name.

``learn_one({"words": {"win": 2, "now": 1}, "links": {"a.com": 1}}, "spam")``: features go to columns by their hash,
and classes may turn up later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

import numpy as np

from coview.exceptions import ViewsError
from coview.online.calibration import class_probabilities, update_calibration
from coview.online.desk import Desk
from coview.online.hashing import WIDTH, Places, hash_rows
from coview.online.passive_aggressive import MultiViewPassiveAggressiveClassifier
from coview.online.targets import class_costs
from coview.views.views import Views

__all__ = ["to_river"]

PLAIN = "x"


def to_river(
    model: MultiViewPassiveAggressiveClassifier,
    views: Iterable[str] | Mapping[str, int] | None = None,
    n_features: int = WIDTH,
) -> Any:
    """Return an object with river's ``learn_one``, ``predict_one`` and ``predict_proba_one`` around a classifier.

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
    """What the adapter does, with or without river."""

    def __init__(self, model: Any, widths: dict[str, int], n_features: int) -> None:
        fitted = model.__sklearn_is_fitted__()
        self.model = model.densify() if fitted else model
        self.widths = dict(model.n_features_by_view_) if fitted else widths
        self.n_features = n_features
        self._desk: Desk | None = None
        self._last: tuple[Any, Any] = (None, None)
        self._places: dict[str, Places] = {}

    def learn_one(self, x: Mapping[str, Any], y: Any) -> None:
        """Learn from one object, {view: {feature: value}}."""
        desk = self._at_desk()
        code = None if desk is None else desk.codes.get(y)
        if desk is None or code is None:
            found = _by_view(x)
            self.widths = self.widths or dict.fromkeys(found, self.n_features)
            self.model.partial_fit(self._views(found), [y])  # the first object, or a new class: by the long way
            return
        score = desk.learn(self._rows(x), code)
        if self.model.probability and len(desk.codes) > 1:
            memory = self.model._memory
            memory["calibration"] = update_calibration(memory["calibration"], score, desk.code)

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """Class of one object; None before any was learned."""
        desk = self._at_desk()
        if desk is None:
            return None
        scores = self._scores(desk, x)
        best = int(scores.argmax()) if isinstance(scores, np.ndarray) else int(scores > 0)
        return desk.labels[best if len(desk.labels) > 1 else 0]

    def predict_proba_one(self, x: Mapping[str, Any]) -> dict[Any, float]:
        """Probability of each class known so far."""
        desk = self._at_desk()
        if desk is None:
            return {}
        if len(desk.labels) == 1:
            return {desk.labels[0]: 1.0}
        shares = class_probabilities(self.model._memory["calibration"], np.asarray(self._scores(desk, x))[None])
        return dict(zip(desk.labels, shares[0].tolist()))

    @property
    def _multiclass(self) -> bool:
        return True

    def _at_desk(self) -> Desk | None:
        """The model's arrays, laid out for single objects; anew where the model got other ones."""
        model = self.model
        if not model.__sklearn_is_fitted__():
            return None
        if self._desk is None or self._desk.memory is not model._memory:
            model.densify()
            codes = np.zeros(0, dtype=np.int64)
            costs = class_costs(model.class_weight, float(model.C), model.classes_, codes)
            self._desk = Desk(model._memory, model.classes_.tolist(), costs, model._options())
        return self._desk

    def _scores(self, desk: Desk, x: Mapping[str, Any]) -> Any:
        """Scores of the vote (a number for two classes), by the weights, or by their averages."""
        memory, rows = desk.memory, self._rows(x)
        if memory["lags"] is None:
            return desk.score(rows)[0]
        rounds = max(memory["seen"], 1)
        total = memory["bias"][0] - memory["bias"][1] / rounds
        for share, weights, lags, row in zip(memory["shares"], desk.weights, memory["lags"].values(), rows):
            if row is not None:
                columns, values = row
                total = total + share * (values @ weights[columns] - values @ lags[columns] / rounds)
        return total

    def _rows(self, x: Mapping[str, Any]) -> list[tuple[np.ndarray, np.ndarray] | None]:
        """Columns and values by view. Those of the last object are kept: it is mostly predicted, then learned."""
        kept, rows = self._last
        if kept is not None and kept == x:
            return rows
        found = _by_view(x)
        self._known(found)
        rows = []
        for view, width in self.widths.items():
            if view not in found:
                rows.append(None)
                continue
            if view not in self._places:
                self._places[view] = Places(width)
            row = self._places[view].row(found[view])
            if not isfinite(row[1].sum()):
                strange = next(f"{name!r} is {value}" for name, value in found[view].items() if not isfinite(value))
                raise ViewsError(f"View {view!r} has a value that is no finite number: {strange}.")
            rows.append(row)
        # a copy, since the caller may change the object between two calls
        self._last = {view: dict(part) if type(part) is dict else part for view, part in x.items()}, rows
        return rows

    def _views(self, found: Mapping[str, Any]) -> Views:
        self._known(found)
        present = np.array([[view in found for view in self.widths]])
        return Views({v: hash_rows([found.get(v)], width) for v, width in self.widths.items()}, present=present)

    def _known(self, found: Mapping[str, Any]) -> None:
        for view in found:
            if view not in self.widths:
                if view == "x" and self.widths:
                    first = next(iter(self.widths))
                    raise ViewsError(
                        f"An object must be {{view: {{feature: value}}}}, such as {{{first!r}: {{'word': 1}}}}; found "
                        "features outside of a view."
                    )
                known = ", ".join(map(repr, self.widths))
                raise ViewsError(f"An object has the view {view!r}, but the views are {known}. Name all with views=.")


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

    class OneByOne(_OneByOne, Classifier):
        """The adapter as a classifier of river."""

    return OneByOne

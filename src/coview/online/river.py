"""The classifier as river's users know models: one object at a time, features by name.

``learn_one({"words": {"win": 2, "now": 1}, "links": {"a.com": 1}}, "spam")``: features go to columns by their hash,
and classes may turn up later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from coview.data.views import Views
from coview.exceptions import ViewsError
from coview.online.calibration import class_probabilities, update_calibration
from coview.online.hashing import WIDTH, hash_row, hash_rows
from coview.online.passive_aggressive import MultiViewPassiveAggressiveClassifier
from coview.online.targets import class_costs
from coview.online.weights import Rows, learn_rows

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
        self._ready: tuple[Any, ...] = ()

    def learn_one(self, x: Mapping[str, Any], y: Any) -> None:
        """Learn from one object, {view: {feature: value}}."""
        found = _by_view(x)
        if not self.model.__sklearn_is_fitted__():
            self.widths = self.widths or dict.fromkeys(found, self.n_features)
            self.model.partial_fit(self._views(found), [y])
            return
        if y not in self.model.classes_:
            self.model.partial_fit(self._views(found), [y])  # a new class: weights grow, by the long way
            return
        memory = self.model._memory
        costs, options, codes = self._prepared()
        code = np.array([codes[y]])
        said = learn_rows(memory, self._rows(found), code, np.zeros(1, dtype=np.int64), costs, options)
        if self.model.probability and len(self.model.classes_) > 1:
            memory["calibration"] = update_calibration(memory["calibration"], said.scores, code)

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """Class of one object; None before any was learned."""
        if not self.model.__sklearn_is_fitted__():
            return None
        classes, scores = self.model.classes_, self._scores(x)
        best = int(scores.argmax()) if scores.ndim else int(scores > 0)
        return classes[best if len(classes) > 1 else 0].item()

    def predict_proba_one(self, x: Mapping[str, Any]) -> dict[Any, float]:
        """Probability of each class known so far."""
        if not self.model.__sklearn_is_fitted__():
            return {}
        classes = self.model.classes_.tolist()
        if len(classes) == 1:
            return {classes[0]: 1.0}
        shares = class_probabilities(self.model._memory["calibration"], np.asarray(self._scores(x))[None])
        return dict(zip(classes, shares[0].tolist()))

    @property
    def _multiclass(self) -> bool:
        return True

    def _prepared(self) -> tuple[Any, ...]:
        """Costs, options and codes of the classes, made again only when the classes change."""
        model = self.model
        if not self._ready or self._ready[0] is not model.classes_:
            costs = class_costs(model.class_weight, float(model.C), model.classes_, np.zeros(0, dtype=np.int64))
            codes = {label: code for code, label in enumerate(model.classes_.tolist())}
            self._ready = (model.classes_, costs, model._options(), codes)
        return self._ready[1:]

    def _scores(self, x: Mapping[str, Any]) -> np.ndarray:
        """Scores of the vote (a number for two classes), by the weights, or by their averages."""
        memory = self.model._memory
        found = _by_view(x)
        rounds = max(memory["seen"], 1)
        total = memory["bias"][0] - (memory["bias"][1] / rounds if memory["lags"] is not None else 0.0)
        for share, (view, weights) in zip(memory["shares"], memory["weights"].items()):
            if view in found:
                columns, values = hash_row(found[view], self.widths[view])
                total = total + share * (values @ weights[columns])
                if memory["lags"] is not None:
                    total = total - share * (values @ memory["lags"][view][columns]) / rounds
        self._known(found)
        return np.asarray(total)

    def _rows(self, found: Mapping[str, Any]) -> Rows:
        self._known(found)
        dtype = self.model._memory["dtype"]
        pairs = [hash_row(found.get(view, {}), width) for view, width in self.widths.items()]
        return Rows(
            tuple(np.array([0, len(columns)], dtype=np.int32) for columns, _ in pairs),
            tuple(columns for columns, _ in pairs),
            tuple(values.astype(dtype, copy=False) for _, values in pairs),
        )

    def _views(self, found: Mapping[str, Any]) -> Views:
        self._known(found)
        present = np.array([[view in found for view in self.widths]])
        return Views({v: hash_rows([found.get(v)], width) for v, width in self.widths.items()}, present=present)

    def _known(self, found: Mapping[str, Any]) -> None:
        for view in found:
            if view not in self.widths:
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

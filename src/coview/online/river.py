"""The classifier as river's users know models: one object at a time, features by name.

``learn_one({"words": {"win": 2, "now": 1}, "links": {"a.com": 1}}, "spam")``: features go to columns by their hash,
and classes may turn up later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from coview.exceptions import ViewsError
from coview.online.calibration import class_probabilities
from coview.online.hashing import WIDTH, hash_rows
from coview.online.passive_aggressive import MultiViewPassiveAggressiveClassifier
from coview.views.coerce import PLAIN
from coview.views.views import Views

try:
    from river.base import Classifier
except ImportError:
    Classifier = object

__all__ = ["to_river"]


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
    return _OneByOne(model, widths, n_features)


class _OneByOne(Classifier):  # type: ignore[misc, unused-ignore]  # river names its parameters otherwise
    """A classifier that learns and predicts objects of the form {view: {feature: value}}."""

    def __init__(self, model: MultiViewPassiveAggressiveClassifier, widths: dict[str, int], n_features: int) -> None:
        self.model = model
        self.widths = widths
        self.n_features = n_features

    def learn_one(self, x: Mapping[str, Any], y: Any) -> None:
        """Learn from one object."""
        self.model.partial_fit(self._hash(x), [y])

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """Class of one object; None before any was learned."""
        return self.model.predict(self._hash(x)).tolist()[0] if self._is_fitted() else None

    def predict_proba_one(self, x: Mapping[str, Any]) -> dict[Any, float]:
        """Probability of each class known so far."""
        if not self._is_fitted():
            return {}
        labels, scores = self.model.classes_.tolist(), self.model.decision_function(self._hash(x))
        # not predict_proba, which asks for probability=True: without it, the slope is one
        shares = class_probabilities(self.model._memory["calibration"], scores)[0] if len(labels) > 1 else np.ones(1)
        return dict(zip(labels, shares.tolist()))

    @property
    def _multiclass(self) -> bool:
        return True

    def _is_fitted(self) -> bool:
        return self.model.__sklearn_is_fitted__()

    def _hash(self, x: Mapping[str, Any]) -> Views:
        """Views of one object; it lacks those that it does not name, or that are empty."""
        nested = all(isinstance(features, Mapping) for features in x.values())
        by_view = {view: features for view, features in x.items() if features} if nested else {PLAIN: x}
        widths = self.model.n_features_by_view_ if self._is_fitted() else self.widths
        widths = widths or dict.fromkeys(by_view, self.n_features)
        unknown = [view for view in by_view if view not in widths]
        if unknown:
            raise ViewsError(
                f"An object has the view {unknown[0]!r}, but the views are {', '.join(map(repr, widths))}. "
                "Pass {view: {feature: value}}, and name all views with views=."
            )
        present = np.array([[view in by_view for view in widths]])
        return Views({view: hash_rows([by_view.get(view)], n) for view, n in widths.items()}, present=present)

"""How a fitted model reads objects: a row of scores and a group for each, from all of their views or from some.

Scores are what the model has: class probabilities, decision values, memberships, topic mixtures, or places in a space.
A group is a class, a cluster, or the strongest topic; a model that only places objects in a space has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_clusterer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from coview.views.coerce import as_views, is_plain
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["Reader", "Reading", "sample_rows"]


@dataclass(frozen=True)
class Reading:
    """What a model says of some objects.

    Attributes
    ----------
    scores : ndarray (n_objects, n_columns) or None
        A row of scores for each object.
    codes : ndarray of int (n_objects,) or None
        Its group, as a position among the names of the groups; -1 for none.
    by_group : bool
        Whether column g of the scores tells how much an object belongs to group g.
    """

    scores: np.ndarray | None
    codes: np.ndarray | None
    by_group: bool = False

    @property
    def shares(self) -> bool:
        """Whether the scores are shares: not negative, and rows that sum to one."""
        if self.scores is None or self.scores.size == 0:
            return False
        return bool((self.scores >= 0).all() and np.allclose(self.scores.sum(axis=1), 1, atol=1e-3))

    def take(self, rows: np.ndarray) -> Reading:
        """Return the reading of some of the objects."""
        scores, codes = (None if part is None else part[rows] for part in (self.scores, self.codes))
        return Reading(scores, codes, self.by_group)

    def margins(self) -> np.ndarray | None:
        """How far the best score is ahead of the second, for each object; None where scores are not of groups."""
        if self.scores is None or self.scores.shape[1] < 2 or not self.by_group:
            return None
        best = np.partition(self.scores, -2, axis=1)
        return best[:, -1] - best[:, -2]


class Reader:
    """A fitted model, asked in one way whatever its kind.

    Parameters
    ----------
    model : estimator
        A fitted estimator of coview, or a scikit-learn Pipeline or search that ends in one.

    Attributes
    ----------
    core : estimator
        The model itself: what is left without pipeline and search.
    noun : {"class", "cluster", "topic", None}
        What it sorts objects into.
    names : list of str
        Names of those groups.

    Examples
    --------
    >>> from coview import MultiViewPLSA
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=60, n_clusters=3, random_state=0)
    >>> reader = Reader(MultiViewPLSA(3, 4, random_state=0).fit(data.views))
    >>> reader.noun, reader.names
    ('cluster', ['0', '1', '2'])
    >>> reader.read(data.views.select("view1")).scores.shape
    (60, 3)
    """

    def __init__(self, model: Any) -> None:
        check_is_fitted(model)
        self.model = model
        inside = getattr(model, "best_estimator_", model) if hasattr(model, "cv_results_") else model
        self._before = inside[:-1] if isinstance(inside, Pipeline) and len(inside) > 1 else None
        self.core = inside[-1] if isinstance(inside, Pipeline) else inside
        self.noun = _noun(self.core)
        self.names = _names(self.core, self.noun)
        self._codes = {label: i for i, label in enumerate(_labels(self.core, self.noun, len(self.names)))}

    @property
    def view_names(self) -> list[str]:
        """Names of the views that the model was fitted on."""
        return list(getattr(self.core, "view_names_", ()))

    def views(self, X: Any) -> Views:
        """Bring objects to the views that the model itself sees, in memory."""
        if self._before is not None:
            X = self._before.transform(X)
        if is_plain(X) and len(self.view_names) == 1:
            X = {self.view_names[0]: X}
        found = as_views(X)
        return found.collect() if isinstance(found, LazyViews) else found

    def read(self, views: Views) -> Reading:
        """Read objects from the views given, some or all of those fitted."""
        scores = None
        for method in ("predict_proba", "decision_function", "transform"):
            if hasattr(self.core, method):
                scores = _matrix(getattr(self.core, method)(views))
                break
        if self.noun == "topic" and scores is not None:
            return Reading(scores, scores.argmax(axis=1), True)
        if self.noun is None or not hasattr(self.core, "predict"):
            return Reading(scores, None)
        if scores is not None and hasattr(self.core, "memberships_") and scores.shape[1] == len(self.names):
            # such models predict the largest membership: asking again would fold the objects in twice
            return Reading(scores, scores.argmax(axis=1), True)
        return self._matched(scores, self._coded(self.core.predict(views)))

    def _matched(self, scores: np.ndarray | None, codes: np.ndarray) -> Reading:
        """Tell whether the columns of the scores are the groups; distances from the groups change their sign."""
        if scores is None or scores.shape[1] != len(self.names):
            return Reading(scores, codes)
        if self.noun == "class" or np.mean(scores.argmax(axis=1) == codes) > 0.5:
            return Reading(scores, codes, True)
        near = np.mean(scores.argmin(axis=1) == codes) > 0.5
        return Reading(-scores, codes, True) if near else Reading(scores, codes)

    def training(self) -> Reading:
        """Return what the model remembers of the objects that it was fitted on."""
        scores = getattr(self.core, "memberships_", None)
        if scores is None:
            scores = getattr(self.core, "memberships_by_view_", None)
        if isinstance(scores, dict):
            scores = sum(np.asarray(part) for part in scores.values()) / len(scores)
        scores = None if scores is None else _matrix(scores)
        if scores is not None and self.names and scores.shape[1] != len(self.names):
            scores = None
        labels = getattr(self.core, "labels_", getattr(self.core, "transduction_", None))
        if self.noun in ("class", "cluster") and labels is not None:
            return Reading(scores, self._coded(np.asarray(labels)), scores is not None)
        if scores is None or self.noun is None:
            return Reading(scores, None)
        return Reading(scores, scores.argmax(axis=1), True)

    def _coded(self, labels: Any) -> np.ndarray:
        return np.array([self._codes.get(label, -1) for label in np.asarray(labels).tolist()], dtype=np.int64)


def sample_rows(n: int, most: int, seed: int = 0) -> np.ndarray:
    """Return all rows in order, or `most` of them drawn without replacement, in order.

    Examples
    --------
    >>> sample_rows(3, 10).tolist(), len(sample_rows(100, 10))
    ([0, 1, 2], 10)
    """
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


# -- pieces


def _noun(core: Any) -> str | None:
    if is_classifier(core):
        return "class"
    if is_clusterer(core) or (hasattr(core, "labels_") and not hasattr(core, "classes_")):
        return "cluster"
    if hasattr(core, "topic_feature_") and hasattr(core, "transform"):
        return "topic"
    return None


def _labels(core: Any, noun: str | None, count: int) -> list[Any]:
    return np.asarray(core.classes_).tolist() if noun == "class" and hasattr(core, "classes_") else list(range(count))


def _names(core: Any, noun: str | None) -> list[str]:
    if noun == "class":
        return [str(label) for label in np.asarray(getattr(core, "classes_", ())).tolist()]
    if noun == "cluster":
        if hasattr(core, "memberships_"):
            return [str(i) for i in range(core.memberships_.shape[1])]
        labels = np.asarray(getattr(core, "labels_", getattr(core, "labels_by_view_", ())))
        known = labels[labels >= 0] if labels.dtype.kind in "iu" else np.zeros(0, dtype=int)
        count = max(int(known.max()) + 1 if known.size else 0, int(getattr(core, "n_clusters", 0) or 0))
        return [str(i) for i in range(count)]
    if noun == "topic":
        return [str(i) for i in range(len(next(iter(core.topic_feature_.values()))))]
    return []


def _matrix(values: Any) -> np.ndarray:
    found = np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)
    return np.column_stack([-found, found]) if found.ndim == 1 else found

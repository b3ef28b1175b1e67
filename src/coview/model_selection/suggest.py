"""`suggest_labels`: the objects whose labels would help a fitted classifier most.

    uncertainty   1 less the lead of the likeliest class over the next: 1 is a tie, 0 is sure
    coverage      share of all uncertainty that a label newly covers: it says something of objects that are alike
                  (cosine, in the leading directions of all features), as far as other labels do not say it already;
                  uncertainty counts by its rank, so that probabilities need not be calibrated

Objects are chosen one after the other, each the one that covers most. So no two are alike, an object that stands for
many uncertain ones comes before one that is like no other, and regions without any label come first. Everything is
linear in the objects: they are compared with a sample of at most `LANDMARKS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import rankdata
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

from coview.auto.preparation import preparation, prepared
from coview.exceptions import ParameterError
from coview.inspection import inspect
from coview.model_selection.table import ObjectTable
from coview.utils.messages import quantity
from coview.utils.sampling import sample_positions
from coview.utils.warn import unwarned
from coview.validation import base_seed, check_count, minus_one_is_unlabeled, unlabeled_rows
from coview.views.lazy import LazyViews
from coview.views.views import PLAIN, Views, check_same_order

__all__ = ["LabelSuggestions", "suggest_labels"]

MOST = 10_000  # objects with and without a label, each, that are looked at; of more, a sample
LANDMARKS = 1_000  # objects that a label is to say something of
WIDTH = 30  # directions in which objects are compared, settled on citations and news


def suggest_labels(model: Any, X: Any, n: int = 10, *, y: Any = None, random_state: Any = 0) -> LabelSuggestions:
    """Name the objects whose labels would help a fitted classifier most, the most helpful first.

    Two things count: how uncertain the model is of an object, and how many such objects are like it and unlike all
    labeled ones. Each is a column of the answer.

    Parameters
    ----------
    model : fitted classifier
        `AutoClassifier` or another of coview's, a pipeline that ends in one, or one of scikit-learn.
    X : what the model takes
        Objects to choose from, such as those of the fit; any of the views will do.
    n : int, default=10
        Number of objects; fewer are named where there are not so many without a label.
    y : array-like, optional
        Labels of X as in `fit`; None, NaN, an empty text and, for semi-supervised classifiers, -1 mark the unlabeled
        objects, and others are not named. Without y, every object may be named.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the samples of many objects: above 10,000 unlabeled ones a sample is looked at.

    Returns
    -------
    LabelSuggestions
        A table (``rows``, ``columns``, ``frame``); ``indices`` are the rows of X.

    See Also
    --------
    AutoClassifier : A classifier to trust with few labels.

    Notes
    -----
    Objects that lack all views, or have no feature that the model knows, are never named. Label what is named, fit
    again with the new labels, ask again. The most uncertain objects alone do little better than random ones while
    labels are few: an object that is like no other teaches nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import AutoClassifier, suggest_labels
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=120, n_clusters=3, random_state=0)
    >>> y = np.where(np.arange(120) < 9, data.target, -1)
    >>> model = AutoClassifier(random_state=0).fit(data.views, y)
    >>> suggested = suggest_labels(model, data.views, 5, y=y)
    >>> len(suggested), bool((suggested.indices >= 9).all())
    (5, True)
    >>> y[suggested.indices] = data.target[suggested.indices]  # what a person would say
    >>> model = model.fit(data.views, y)
    """
    n = check_count("n", n)
    check_same_order(X, y, "y")
    inspection = inspect(model)
    if inspection.kind != "class" or len(inspection.groups) < 2:
        raise ValueError(f"suggest_labels needs a fitted classifier of at least two classes, got {inspection.name}.")
    seed = base_seed(random_state)
    with unwarned():
        objects, known = inspection.preparation.prepare_known(X.collect() if isinstance(X, LazyViews) else X)
    views = objects if isinstance(objects, Views) else Views({PLAIN: objects})
    labeled = np.zeros(len(views), dtype=bool)
    if y is not None:
        labeled = ~unlabeled_rows(y, semi_supervised=minus_one_is_unlabeled(inspection.estimator))
    if len(labeled) != len(views):
        raise ParameterError(f"must hold one label per object: {len(labeled)} for {len(views)}.", parameter="y")
    free, sure = np.flatnonzero(~labeled & known), np.flatnonzero(labeled)
    facts = {"n_labeled": int(labeled.sum()), "n_unlabeled": int((~labeled).sum())}
    if not len(free):
        return LabelSuggestions([], **facts)
    free, sure = free[sample_positions(len(free), MOST, seed)], sure[sample_positions(len(sure), MOST, seed)]
    with unwarned():
        memberships = np.asarray(inspection.memberships(views[free], prepared=True))
    best = np.partition(memberships, -2, axis=1)
    uncertainty = np.clip(1 - (best[:, -1] - best[:, -2]), 0, 1)
    places = _embed(views[np.concatenate([free, sure])], seed)
    need = rankdata(np.round(uncertainty, 9)) / len(free)
    ids = np.arange(len(views)) if views.ids is None else views.ids
    rows = [
        {
            "row": int(free[i]),
            "id": ids[free[i]],
            "predicted": inspection.labels[int(memberships[i].argmax())],
            "probability": float(memberships[i].max()),
            "uncertainty": float(uncertainty[i]),
            "coverage": coverage,
        }
        for i, coverage in _choose(places[: len(free)], places[len(free) :], need, n, seed)
    ]
    return LabelSuggestions(rows, **facts)


class LabelSuggestions(ObjectTable):
    """Result of `suggest_labels`: one row per object, the most helpful first.

    Attributes
    ----------
    rows : list of dict
        By object: "row" (position in X), "id", "predicted" (the likeliest class) and its "probability"; "uncertainty"
        and "coverage", each from 0 to 1.
    indices : ndarray of int
        Positions in X.
    n_labeled, n_unlabeled : int
        Number of objects of X that count as labeled, and of the others.

    Examples
    --------
    >>> LabelSuggestions([], n_labeled=3, n_unlabeled=0)
    0 objects to label, of 0 without a label (3 labeled)
    """

    _fields = ("row", "id", "predicted", "probability", "uncertainty", "coverage")

    def __init__(self, rows: list[dict[str, Any]], *, n_labeled: int, n_unlabeled: int) -> None:
        self.rows, self.n_labeled, self.n_unlabeled = rows, n_labeled, n_unlabeled

    def __repr__(self) -> str:
        objects = quantity(len(self.rows), "object")
        return f"{objects} to label, of {self.n_unlabeled:,} without a label ({self.n_labeled:,} labeled)"

    def _content(self) -> dict[str, Any]:
        return {"n_labeled": self.n_labeled, "n_unlabeled": self.n_unlabeled, "rows": self.rows}

    def _head(self) -> list[str]:
        return [*self._fields[1:]]

    def _cells(self, row: Mapping[str, Any]) -> list[str]:
        coverage = f"{100 * row['coverage']:.2g} %"  # one object of many covers a small share
        return [
            f"{row['id']}",
            f"{row['predicted']}",
            f"{row['probability']:.2f}",
            f"{row['uncertainty']:.2f}",
            coverage,
        ]


def _embed(views: Views, seed: int) -> np.ndarray:
    """Objects as rows of length 1, in the leading directions of all their features, each view counting alike."""
    ready = prepared(views, preparation(views))
    parts = []
    for v, matrix in enumerate(ready.values()):
        if not sparse.issparse(matrix):  # a constant beside makes the length of a row count
            measured = np.asarray(matrix, dtype=np.float64) / np.sqrt(matrix.shape[1])
            matrix = np.column_stack([measured, np.ones(len(measured))]) * ready.present[:, [v]]
        parts.append(normalize(sparse.csr_array(matrix)))
    joined = sparse.csr_array(sparse.hstack(parts))
    if min(joined.shape) > WIDTH:
        return normalize(TruncatedSVD(WIDTH, random_state=seed).fit_transform(joined))
    return normalize(joined.toarray())


def _choose(places: np.ndarray, labeled: np.ndarray, need: np.ndarray, n: int, seed: int) -> list[tuple[int, float]]:
    """Objects one after the other, with the share of all need that each newly covers."""
    marks = sample_positions(len(places), LANDMARKS, seed)
    likeness = np.maximum(places @ places[marks].T, 0)
    covered = np.maximum(places[marks] @ labeled.T, 0).max(axis=1, initial=0)
    share = need[marks] / need[marks].sum()
    chosen: list[tuple[int, float]] = []
    left = np.ones(len(places), dtype=bool)
    while len(chosen) < min(n, len(places)):
        coverage = np.maximum(likeness - covered, 0) @ share
        # where all is covered, need alone decides
        best = int(np.lexsort((-need, -np.round(coverage, 7), ~left))[0])
        chosen.append((best, float(coverage[best])))
        covered = np.maximum(covered, likeness[best])
        left[best] = False
    return chosen

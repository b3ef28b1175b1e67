"""Scorers for cross-validation with few labels: unlabeled objects cannot be right or wrong, so they do not count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer
from sklearn.utils import _safe_indexing

from coview.validation import labeled, minus_one_is_unlabeled

__all__ = ["labeled_scorer"]


def labeled_scorer(scoring: Any = "accuracy") -> Any:
    """Return a scorer that counts only the objects that have a label in y.

    scikit-learn's own scorers take the -1 of an unlabeled object for a class that is never predicted, so that every
    such object counts as an error. `score` of coview's classifiers, the default of a search, leaves them out as well.

    Parameters
    ----------
    scoring : str or callable, default="accuracy"
        A score of scikit-learn by name, or a scorer ``(estimator, X, y)``.

    Returns
    -------
    callable
        A scorer ``(estimator, X, y)``, for `scoring=` of ``cross_val_score``, ``GridSearchCV`` and their like.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from coview import CoTrainingClassifier
    >>> from coview.datasets import make_topic_views
    >>> from coview.metrics import labeled_scorer
    >>> data = make_topic_views(90, n_clusters=3, random_state=0)
    >>> y = np.where(np.arange(90) % 3 == 0, data.target, -1)
    >>> model = CoTrainingClassifier(random_state=0)
    >>> bool(cross_val_score(model, data.views, y, scoring="accuracy", cv=3).mean() < 0.4)
    True
    >>> bool(cross_val_score(model, data.views, y, scoring=labeled_scorer("f1_macro"), cv=3).mean() > 0.9)
    True
    """
    return _LabeledScorer(get_scorer(scoring))


@dataclass(frozen=True)
class _LabeledScorer:
    """A scorer that travels to other processes."""

    scorer: Any

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        known, labels = labeled(y, semi_supervised=minus_one_is_unlabeled(estimator))
        rows = _safe_indexing(X, np.flatnonzero(known))  # as the folds were made
        return self.scorer(estimator, rows, labels)

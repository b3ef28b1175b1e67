"""Multinomial logistic regression on places in a space: what turns topics, or canonical variates, into classes."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

__all__ = ["fit_head", "head_probabilities"]

MAX_ITER = 1000


def fit_head(places: np.ndarray, codes: np.ndarray, C: float) -> Any:
    """Return a logistic regression from places (objects x dimensions) to class codes; of one class, a constant.

    Examples
    --------
    >>> import numpy as np
    >>> head = fit_head(np.array([[0.0], [1.0], [2.0]]), np.array([0, 0, 2]), C=1.0)
    >>> head_probabilities(head, np.array([[1.5]]), n_classes=3).round(2)
    array([[0.6, 0. , 0.4]])
    """
    if isinstance(C, bool) or not isinstance(C, numbers.Real) or not 0 < C < np.inf:
        raise ValueError(f"C must be a positive number, got {C!r}.")
    if len(np.unique(codes)) == 1:
        return DummyClassifier(strategy="prior").fit(places, codes)
    return LogisticRegression(C=float(C), max_iter=MAX_ITER).fit(places, codes)


def head_probabilities(head: Any, places: np.ndarray, n_classes: int) -> np.ndarray:
    """Return class probabilities (objects x n_classes); classes that the head has not seen have none."""
    found = np.zeros((len(places), n_classes))
    if len(places):
        found[:, head.classes_] = head.predict_proba(places)
    return found

"""Are probabilities what they say: of the objects with confidence .8, are 80 % right?"""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.exceptions import ParameterError
from coview.metrics.labels import as_labels
from coview.validation import check_count

__all__ = ["expected_calibration_error"]


def expected_calibration_error(y_true: Any, probabilities: Any, *, classes: Any = None, n_bins: int = 10) -> float:
    """Mean gap between the confidence of predictions and their accuracy, over bins of equal size.

    Predictions are sorted by confidence, the probability of the likeliest class, and cut into bins of as many objects
    each; a bin's gap is the distance between its mean confidence and its accuracy (Nguyen and O'Connor 2015).

    Parameters
    ----------
    y_true : array-like (n_objects,)
        The class of each object.
    probabilities : array-like (n_objects, n_classes)
        Probability of each class; rows sum to one.
    classes : array-like (n_classes,) or None, default=None
        Class of each column; None is the sorted classes of `y_true`.
    n_bins : int, default=10
        Number of bins; there are no more than objects.

    Returns
    -------
    float
        From 0, where every bin is as accurate as it is confident, to 1.

    Examples
    --------
    >>> from coview.metrics import expected_calibration_error
    >>> sure = [[0.9, 0.1]] * 10
    >>> expected_calibration_error([0] * 9 + [1], sure, n_bins=1)
    0.0
    >>> round(expected_calibration_error([0] * 5 + [1] * 5, sure, n_bins=1), 2)
    0.4
    """
    labels = as_labels("y_true", y_true)
    shares = np.asarray(probabilities, dtype=np.float64)
    known = np.unique(labels) if classes is None else as_labels("classes", classes)
    if shares.shape != (len(labels), len(known)):
        raise ParameterError(
            f"must have one row for each of the {len(labels)} labels and one column for each of the {len(known)} "
            f"classes, got shape {shares.shape}.",
            parameter="probabilities",
        )
    confidence, right = shares.max(axis=1), known[shares.argmax(axis=1)] == labels
    # bins of equal size, not of equal width: the confidences of most models crowd near 1
    order = np.argsort(confidence, kind="stable")
    bins = np.array_split(order, min(check_count("n_bins", n_bins), len(order)))
    gaps = [len(rows) * abs(confidence[rows].mean() - right[rows].mean()) for rows in bins]
    return float(sum(gaps) / len(order))

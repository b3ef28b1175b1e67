"""Are probabilities what they say: of the objects with confidence .8, are 80 % right?"""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.exceptions import ParameterError
from coview.utils.messages import short
from coview.utils.missing import label_array
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
        Class of each column; None is the sorted classes of `y_true`, or 0, 1, ... where those are fewer.
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
    check_count("n_bins", n_bins)
    labels = label_array(y_true)
    try:
        shares = np.asarray(probabilities, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ParameterError(f"must be numbers, got {short(probabilities)}.", parameter="probabilities") from error
    if labels.ndim != 1 or shares.ndim != 2 or len(labels) != len(shares) or not len(labels):
        raise ParameterError(
            f"must have one row for each of the {labels.size} labels, at least one, got shape {shares.shape}.",
            parameter="probabilities",
        )
    known = np.unique(labels) if classes is None else np.atleast_1d(label_array(classes))
    if classes is None and len(known) < shares.shape[1]:
        if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= shares.shape[1]:
            raise ParameterError(
                f"must name the {shares.shape[1]} columns of probabilities, of which y_true has {len(known)}.",
                parameter="classes",
            )
        known = np.arange(shares.shape[1])
    if known.shape != shares.shape[1:]:
        raise ParameterError(
            f"must name the {shares.shape[1]} columns of probabilities, got {len(known)}.", parameter="classes"
        )
    if not np.isfinite(shares).all() or (np.abs(shares.sum(axis=1) - 1) > 1e-3).any():
        raise ParameterError("must have rows that sum to one.", parameter="probabilities")
    confidence, right = shares.max(axis=1), known[shares.argmax(axis=1)] == labels
    order = np.argsort(confidence, kind="stable")
    bins = np.array_split(order, min(n_bins, len(order)))
    gaps = [len(rows) * abs(confidence[rows].mean() - right[rows].mean()) for rows in bins]
    return float(sum(gaps) / len(order))

"""How alike the views are: agreement of the labels that each gives on its own, and imbalance of their scores.

For two views these are the definitions of the paper on optimal assignment of label sets (2016): the share of objects
that both views give the same label, and |score of view 1 - score of view 2|. For more views both are averaged over
the pairs of views.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from coview.exceptions import ViewsError
from coview.metrics.labels import as_labels, encode

__all__ = ["view_agreement", "view_imbalance"]


def view_agreement(*labels: Any) -> float:
    """Compute the share of objects that get the same label from two views, in the mean over the pairs of views.

    Labels are compared directly: for clusterings whose numbers mean nothing across views, use
    `normalized_mutual_info` or match the clusters first.

    Parameters
    ----------
    *labels : array-like
        The labels of each view, one argument per view: one label per object, or label sets as a boolean array of shape
        (n_objects, n_labels), which agree when they are equal.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from coview.metrics import view_agreement
    >>> view_agreement(["a", "b", "b", "a"], ["a", "b", "a", "b"])
    0.5
    """
    if len(labels) < 2:
        raise ViewsError(f"view_agreement needs the labels of at least 2 views, got {len(labels)}.")
    if all(np.ndim(part) == 2 for part in labels):
        codes = [np.asarray(part) for part in labels]
    else:
        # one code book for all views, or the same label could have two numbers
        codes = [part[:, None] for part in encode(*(as_labels("labels", part) for part in labels))]
    if len({len(part) for part in codes}) > 1:
        raise ViewsError(f"All views must label the same objects, got {', '.join(str(len(part)) for part in codes)}.")
    return float(np.mean([(one == other).all(axis=1).mean() for one, other in combinations(codes, 2)]))


def view_imbalance(*scores: float) -> float:
    """Compute the absolute difference between the scores of two views, in the mean over the pairs of views.

    Parameters
    ----------
    *scores : float
        The score of each view, one argument per view. Any measure and scale: the paper uses F1 in percent.

    Returns
    -------
    float
        At least 0, in the unit of the scores.

    Examples
    --------
    >>> from coview.metrics import view_imbalance
    >>> round(view_imbalance(55.0, 42.7), 6)
    12.3
    """
    if len(scores) < 2:
        raise ViewsError(f"view_imbalance needs the scores of at least 2 views, got {len(scores)}.")
    return float(np.mean([abs(one - other) for one, other in combinations(scores, 2)]))

"""How alike the views are: agreement of the labels that each gives on its own, and imbalance of their scores.

For two views these are the definitions of the paper on optimal assignment of label sets (2016): the share of objects
that both views give the same label, and |score of view 1 - score of view 2|. For more views both are averaged over
the pairs of views, or taken over all views at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from coview.exceptions import ViewsError
from coview.metrics.labels import as_labels, encode
from coview.views.arrays import is_frame

__all__ = ["view_agreement", "view_imbalance"]


def view_agreement(*labels: Any, present: Any = None, over: str = "pairs") -> float:
    """Compute the share of objects that get the same label from the views.

    Labels are compared directly: for clusterings whose numbers mean nothing across views, use
    `normalized_mutual_info` or match the clusters first.

    Parameters
    ----------
    *labels : array-like
        The labels of each view, one argument per view; or one argument: ``{view: labels}``, a list of one array per
        view, a frame with one column per view, or an array of shape (n_objects, n_views). A boolean array of shape
        (n_objects, n_views, n_labels) holds label sets, which agree when they are equal.
    present : array-like of bool, shape (n_objects, n_views), optional
        Which objects have which view, as in `Views`; an object counts only between views it has.
    over : {"pairs", "all"}, default="pairs"
        Mean over the pairs of views of the share of objects on which the two agree, or the share of objects (with at
        least two views) on which all their views agree. For two views these are the same.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from coview.metrics import view_agreement
    >>> view_agreement(["a", "b", "b", "a"], ["a", "b", "a", "b"])
    0.5
    >>> view_agreement({"words": [0, 1, 1], "links": [0, 1, 0], "image": [0, 0, 0]}, over="all")
    0.3333333333333333
    """
    codes = _label_columns(labels)
    _check_over(over)
    _check_several(codes.shape[1], "labels", "view_agreement")
    mask = np.ones(codes.shape, dtype=bool) if present is None else np.asarray(present)
    if mask.shape != codes.shape or mask.dtype != bool:
        raise ViewsError(f"present must be boolean of shape {codes.shape}, got {mask.dtype} of shape {mask.shape}.")
    if over == "all":
        counted = mask.sum(axis=1) >= 2
        high = np.where(mask, codes, -1).max(axis=1)
        low = np.where(mask, codes, codes.max() + 1).min(axis=1)
        shares = [float((high == low)[counted].mean())] if counted.any() else []
    else:
        shares = []
        for v, w in combinations(range(codes.shape[1]), 2):
            both = mask[:, v] & mask[:, w]
            if both.any():
                shares.append(float((codes[both, v] == codes[both, w]).mean()))
    if not shares:
        raise ViewsError("No object has two views, so there is nothing to compare. Check present.")
    return float(np.mean(shares))


def view_imbalance(*scores: Any, over: str = "pairs") -> float:
    """Compute the difference between the scores of the individual views.

    Parameters
    ----------
    *scores : float or array-like
        The score of each view, one argument per view; or one argument: ``{view: score}`` or a sequence of scores.
        Any measure and scale: the paper uses F1 in percent.
    over : {"pairs", "all"}, default="pairs"
        Mean absolute difference over the pairs of views, or the best view minus the worst. For two views these are
        the same.

    Returns
    -------
    float
        At least 0, in the unit of the scores.

    Examples
    --------
    >>> from coview.metrics import view_imbalance
    >>> round(view_imbalance(55.0, 42.7), 6)
    12.3
    >>> view_imbalance({"words": 60, "links": 50, "image": 40}, over="all")
    20.0
    """
    _check_over(over)
    by_view = scores[0] if len(scores) == 1 else scores
    values = np.asarray(list(by_view.values()) if isinstance(by_view, Mapping) else by_view, dtype=np.float64)
    if values.ndim > 1:
        raise ValueError(f"view_imbalance needs one score per view, got an array of shape {values.shape}.")
    _check_several(values.size, "scores", "view_imbalance")
    if not np.isfinite(values).all():
        raise ValueError(f"Scores must be finite numbers, got {values.tolist()}.")
    if over == "all":
        return float(values.max() - values.min())
    return float(np.mean([abs(a - b) for a, b in combinations(values, 2)]))


def _label_columns(labels: Sequence[Any]) -> np.ndarray:
    """Codes of shape (n_objects, n_views), equal where the labels are equal."""
    by_view = labels[0] if len(labels) == 1 else list(labels)
    if isinstance(by_view, np.ndarray) and by_view.ndim == 3:
        if by_view.dtype != bool:
            raise ValueError(f"Label sets must be boolean (n_objects, n_views, n_labels), got {by_view.dtype}.")
        packed = np.packbits(by_view, axis=2)
        _, codes = np.unique(packed.reshape(-1, packed.shape[2]), axis=0, return_inverse=True)
        return codes.reshape(by_view.shape[:2])
    named = _by_view(by_view)
    arrays = [as_labels(f"The labels of view {name!r}", column) for name, column in named.items()]
    if len({len(array) for array in arrays}) > 1:
        counts = ", ".join(f"{name!r} has {len(array)}" for name, array in zip(named, arrays))
        raise ViewsError(f"All views must label the same objects: {counts}.")
    if not arrays:
        return np.empty((0, 0), dtype=np.intp)
    return np.column_stack(encode(*arrays))


def _by_view(labels: Any) -> dict[Any, Any]:
    if isinstance(labels, Mapping):
        return dict(labels)
    if is_frame(labels):
        return {name: np.asarray(labels[name]) for name in labels.columns}
    if isinstance(labels, np.ndarray):
        if labels.ndim != 2:
            raise ValueError(f"One array of labels must have shape (n_objects, n_views), got {labels.shape}.")
        return dict(enumerate(labels.T))
    return dict(enumerate(labels))


def _check_over(over: str) -> None:
    if over not in ("pairs", "all"):
        raise ValueError(f"over must be 'pairs' or 'all', got {over!r}.")


def _check_several(n_views: int, what: str, function: str) -> None:
    if n_views < 2:
        raise ViewsError(f"{function} needs the {what} of at least 2 views, got {n_views}.")

"""Parameters of online learning as the kernels take them: one array of numbers, checked once."""

from __future__ import annotations

import numbers
from functools import lru_cache
from typing import Any

import numpy as np

from coview.kernels.passive_aggressive import LOSSES, UPDATES
from coview.validation import check_option

__all__ = ["kernel_options"]


def kernel_options(n_views: int, *given: Any) -> np.ndarray:
    """Return (loss, update, gate, average, n of the intercept, agreement, rate, mix), or say which value is wrong.

    Parameters
    ----------
    n_views : int
        Number of views.
    given
        loss, update, gate, average, fit_intercept, view_weighting, C, agreement, weighting_rate and weighting_share of
        the classifier.

    Examples
    --------
    >>> kernel_options(2, "pa1", "exact", True, False, True, None, 0.1, 0.5, 0.1, 0.001).tolist()
    [1.0, 0.0, 1.0, 0.0, 0.25, 0.5, 0.0, 0.001]
    """
    try:
        return _kept(n_views, *given)
    except TypeError:  # values that cannot be kept, such as lists; what is wrong with them is said below
        return _made(n_views, *given)


def _made(
    n_views: int,
    loss: Any,
    update: Any,
    gate: Any,
    average: Any,
    fit_intercept: Any,
    view_weighting: Any,
    C: Any,
    agreement: Any,
    rate: Any,
    share: Any,
) -> np.ndarray:
    check_option("loss", loss, tuple(LOSSES))
    check_option("update", update, tuple(UPDATES))
    check_option("view_weighting", view_weighting, (None, "adaptive"))
    for name, value, lowest in (
        ("C", C, "above"),
        ("agreement", agreement, "at least"),
        ("weighting_rate", rate, "above"),
    ):
        real = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not real or not (value > 0 if lowest == "above" else value >= 0) or value == np.inf:
            raise ValueError(f"{name} must be a number {lowest} 0, got {value!r}.")
    mix: Any = share if isinstance(share, numbers.Real) else -1
    if not 0 <= mix < 1:
        raise ValueError(f"weighting_share must lie between 0 and 1, got {share!r}.")
    adaptive = view_weighting == "adaptive"
    if update == "paper" and (loss != "pa1" or not gate or fit_intercept or adaptive):
        raise ValueError("update='paper' has loss='pa1', gate=True, no intercept, equal votes. Use update='exact'.")
    # a feature of value 1 in the sum that is divided by the number of views
    intercept = 1.0 / n_views**2 if fit_intercept else 0.0
    flags = (LOSSES[loss], UPDATES[update], bool(gate), bool(average), intercept)
    return np.array([*flags, agreement, rate if adaptive else 0.0, share], dtype=np.float64)


_kept = lru_cache(maxsize=64, typed=True)(_made)  # every batch asks again; kernels only read it

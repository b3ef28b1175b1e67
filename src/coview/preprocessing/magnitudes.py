"""Numbers of a column in other units than at the fit, millimeters where there were meters; vectors of another length.

What is remembered of a column are the least, the median and the largest of its magnitudes |x|, zeros left out. New
numbers are in other units where their median magnitude lies outside of those of the fit, and 30 times above or below
their median. Of rows drawn from the same table the median is never outside, however heavy the tails: half of the new
numbers would have to be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coview.utils.messages import short
from coview.utils.warn import warn_user

__all__ = ["magnitudes", "warn_of_other_units"]

FACTOR = 30.0  # between the medians: less may be another selection of objects
FEWEST = 5  # new numbers: one or two may lie anywhere
MOST = 3  # columns that are described


def magnitudes(values: np.ndarray) -> list[float] | None:
    """Return the least, the median and the largest magnitude of numbers that are not 0; None where all are.

    Whole numbers beyond floating point have none: whoever computes with them refuses them.

    Examples
    --------
    >>> magnitudes(np.array([0.0, -2.0, 3.0, 7.0])), magnitudes(np.zeros(2)), magnitudes(np.array([10**400, 1]))
    ([2.0, 3.0, 7.0], None, None)
    """
    try:
        sizes = np.abs(values[values != 0].astype(np.float64))
    except OverflowError:
        return None
    return [float(sizes.min()), float(np.median(sizes)), float(sizes.max())] if sizes.size else None


def warn_of_other_units(view: str, fitted: Mapping[Any, Sequence[float] | None], new: Mapping[Any, np.ndarray]) -> None:
    """Warn of the columns of a view whose new numbers are in other units than those whose magnitudes are given.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warn_of_other_units("size", {"height": [1.5, 1.7, 2.0]}, {"height": np.arange(1500, 2000, 100)})
    >>> print(caught[0].message)
    View 'size' has numbers of another magnitude than in fit: 'height' is about 1.7e+03 here, and was about 1.7. ...
    """
    other = []
    for name, values in new.items():
        known, here = fitted.get(name), magnitudes(values)
        if known is None or here is None or np.count_nonzero(values) < FEWEST:
            continue
        (low, usual, high), middle = known, here[1]
        if (middle > high and middle > FACTOR * usual) or (middle < low and middle * FACTOR < usual):
            other.append(f"{short(name)} is about {middle:.3g} here, and was about {usual:.3g}")
    if other:
        more = f"; {len(other) - MOST} more columns too" if len(other) > MOST else ""
        warn_user(
            f"View {view!r} has numbers of another magnitude than in fit: {'; '.join(other[:MOST])}{more}. If they are "
            "in other units, convert them first.",
            UserWarning,
        )

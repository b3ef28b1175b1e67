"""Numbers of a column in other units than at the fit, millimeters where there were meters; vectors of another length.

What is remembered of a column are the least, the median and the largest of its magnitudes |x|, zeros left out. New
numbers are in other units where their median magnitude lies outside of those of the fit, and 30 times above or below
their median. Of rows drawn from the same table the median is never outside, however heavy the tails: half of the new
numbers would have to be.

Of vectors the same is remembered of the lengths of rows, which vary less: new ones are of another scale where their
median length is outside and 5 times above or below; twice where either the new ones or those of the fit have length 1,
all of them, as vectors have that were normalized. One vector may lie apart: of fewer than five, the median is compared
with the longest or the shortest vector of the fit, not with the median.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coview.utils.messages import short
from coview.utils.warn import warn_user
from coview.views.arrays import holds_measurements

__all__ = ["magnitudes", "vector_norms", "warn_of_other_scale", "warn_of_other_units"]

FACTOR = 30.0  # between the medians: less may be another selection of objects
FEWEST = 5  # new numbers: one or two may lie anywhere
MOST = 3  # columns that are described
VECTOR_FACTOR = 5.0  # between median lengths of vectors
UNIT_FACTOR = 2.0  # where the vectors of one side were normalized
ROUNDING = 2e-3  # of the length of such vectors, in half precision
ROWS = 2000  # vectors that are looked at, spread over all


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


def vector_norms(matrix: Any) -> list[float] | None:
    """Return the least, the median and the largest length of the rows of a view that holds vectors; None of others.

    Vectors are dense rows of two or more real numbers; rows of zeros lack the view.

    Examples
    --------
    >>> vector_norms(np.array([[0.0, 0.0], [3.0, -4.0], [0.6, 0.8]])), vector_norms(np.eye(3))
    ([1.0, 3.0, 5.0], None)
    """
    if not isinstance(matrix, np.ndarray) or matrix.shape[1] < 2 or matrix.dtype.kind != "f":
        return None
    rows, lengths = _rows_with_lengths(matrix)
    if not lengths.size or not holds_measurements(rows):
        return None
    return [float(lengths.min()), float(np.median(lengths)), float(lengths.max())]


def warn_of_other_scale(fitted: Mapping[str, Sequence[float]], new: Mapping[str, Any]) -> None:
    """Warn of views whose new vectors are much longer or shorter than those whose lengths are given.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warn_of_other_scale({"vec": [7.0, 9.0, 12.0]}, {"vec": np.array([[0.6, 0.8]])})
    >>> print(caught[0].message)
    View 'vec' has vectors of another scale than in fit: all have length 1 here, and were about 9 long. Scale ...
    """
    for view, (low, usual, high) in fitted.items():
        matrix = new.get(view)
        if not isinstance(matrix, np.ndarray):
            continue
        lengths = _rows_with_lengths(matrix)[1]
        if not lengths.size:
            continue
        middle, units = float(np.median(lengths)), _are_units(lengths.min(), lengths.max())
        factor = UNIT_FACTOR if units or _are_units(low, high) else VECTOR_FACTOR
        above, below = (usual, usual) if lengths.size >= FEWEST else (high, low)
        if (middle > high and middle >= factor * above) or (middle < low and middle * factor <= below):
            here = "all have length 1 here" if units else f"they are about {middle:.3g} long here"
            before = "had length 1" if _are_units(low, high) else f"were about {usual:.3g} long"
            warn_user(
                f"View {view!r} has vectors of another scale than in fit: {here}, and {before}. Scale them as those of "
                "the fit were, or fit on vectors of length 1 (UnitRows).",
                UserWarning,
                inside=True,
            )


def _rows_with_lengths(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Some rows of a matrix that are not zero, and their lengths."""
    rows = matrix[:: max(len(matrix) // ROWS, 1)]
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    return (rows, lengths) if lengths.all() else (rows[lengths > 0], lengths[lengths > 0])


def _are_units(shortest: float, longest: float) -> bool:
    return bool(shortest > 1 - ROUNDING and longest < 1 + ROUNDING)

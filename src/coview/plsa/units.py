"""Columns of a Gaussian view in units of very different size, of which the fit tells the user.

A Gaussian view has one noise variance, so that a column counts by its variance: of an age in years and an income in
cents, the income decides alone. That is meant where columns are the coordinates of one vector, whose standard
deviations differ (those of 200 singular vectors of a text corpus by a factor of 5, of rows of pixels by more, in a few
columns); it is an accident where they are measurements. What tells the two apart is how many columns count for nothing:

    view (columns)                                    columns below 1/30 of the widest, in standard deviations
    singular vectors, 2 to 200, of three corpora        0 %
    handwritten digits: Fourier, profile, Zernike       0, 19 and 26 %
    leaves, 3 x 64; color bins of images, 128           at most 8 %
    wine (13), tumors (30), shapes of digits (6)        83 to 85 %
    age and income                                     50 %
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coview.utils.messages import short
from coview.utils.warn import warn_user

__all__ = ["warn_of_units"]

NARROW = 1 / 30  # of the widest standard deviation: below, a column counts for a thousandth of the widest
MOST_NARROW = 1 / 3  # share of narrow columns from which the units differ


def warn_of_units(moments: Mapping[str, np.ndarray], feature_names: Mapping[str, Any]) -> None:
    """Warn of the views whose columns have units of very different size, by the means and standard deviations of each.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warn_of_units({"person": np.array([[45.0, 40_000.0], [20.0, 30_000.0]])}, {"person": ["age", "income"]})
    >>> print(caught[0].message)
    View 'person' has columns in units of very different size: the standard deviation of 'income' is 3e+04, that of ...
    """
    for view, (mean, deviation) in moments.items():
        varies = np.flatnonzero(deviation > 1e-11 * np.abs(mean))
        if len(varies) < 2:
            continue
        spread, names = deviation[varies], feature_names.get(view)
        if np.mean(spread < NARROW * spread.max()) < MOST_NARROW:
            continue
        widest, narrowest = (
            short(names[j]) if names is not None else f"column {j}"
            for j in (varies[spread.argmax()], varies[spread.argmin()])
        )
        warn_user(
            f"View {view!r} has columns in units of very different size: the standard deviation of {widest} is "
            f"{spread.max():.3g}, that of {narrowest} {spread.min():.3g}, which so counts for almost nothing. Bring "
            f"them to one scale with ScaledViews('standard', views=[{view!r}]) before the model: in a pipeline, or as "
            "a --step of the command line.",
            UserWarning,
        )

"""Objects of very different lengths brought to the same mass, view by view.

EM weighs an object by its counts: with s_dv the sum of row d in view v, one text of 10,000 words says as much about
every topic as 100 texts of 100 words, and beside a short caption it decides on the object's class alone. Where the
lengths differ that much, topics are those of a few long texts, and labels of the others are lost. Rows scaled to the
same mass

    x_dvj <- x_dvj m_v / s_dv,     m_v the median of s_dv over the objects that have something in the view

count alike; the medians keep the mass of the views relative to each other, so that a short view stays a weak one.
Where lengths are alike nothing is scaled: a longer text then does say more.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from coview.engines.passes import over_rows
from coview.views.arrays import for_sklearn
from coview.views.views import Views

__all__ = ["common_masses", "uneven", "with_masses_of"]

SPREAD = 1.0  # standard deviation of the objects' masses, in means, from which they are brought to the same one


def common_masses(views: Any, unit_mass: bool | str) -> dict[str, float]:
    """Mass that rows of each view are brought to; none where they stay as they are.

    Parameters
    ----------
    views : Views or LazyViews
        Views of counts.
    unit_mass : bool or "auto"
        "auto" scales where the masses of the objects, of all views together, differ by more than their mean.

    Examples
    --------
    >>> import numpy as np
    >>> common_masses(Views(words=np.diag([1.0, 2.0, 60.0])), "auto")
    {'words': 2.0}
    >>> common_masses(Views(words=np.diag([1.0, 2.0, 3.0])), "auto")
    {}
    """
    if not unit_mass:
        return {}
    masses = np.concatenate(over_rows(views, _row_masses))
    total = masses.sum(axis=1)
    if not (total > 0).any() or (unit_mass == "auto" and not uneven(total)):
        return {}
    filled = {name: column[column > 0] for name, column in zip(views.names, masses.T)}
    return {name: float(np.median(column)) for name, column in filled.items() if column.size}


def uneven(masses: np.ndarray) -> bool:
    """Tell whether masses of objects, but for those that have none, differ so widely that a few decide on all.

    Examples
    --------
    >>> uneven(np.array([1.0, 2.0, 60.0])), uneven(np.array([1.0, 2.0, 3.0])), uneven(np.zeros(2))
    (True, False, False)
    """
    some = masses[masses > 0]
    return bool(some.size) and bool(some.std() > SPREAD * some.mean())


def with_masses_of(views: Any, masses: Mapping[str, float]) -> Any:
    """Views, in memory or lazy, whose rows have these masses; empty rows and other views stay."""
    scaled = {name: partial(_with_mass, mass=mass) for name, mass in masses.items() if name in views.names}
    return views.map(scaled) if scaled else views


def _row_masses(views: Views, first: int) -> np.ndarray:
    return np.column_stack([np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel() for matrix in views.values()])


def _with_mass(matrix: Any, mass: float) -> Any:
    shares = normalize(matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64), norm="l1")
    return for_sklearn(shares * shares.dtype.type(mass))

"""How far the columns of a view of measurements reach, and by what they are divided so that distances mean something.

Three scalings, all of columns about their means and of total variance as many as there are columns:

    "standard"  each column to variance 1: columns of units of their own, such as an age beside an income
    "pareto"    each column by the root of its deviation: histograms and other amounts of one kind, where a wide column
                says more, but not all
    "centered"  all columns by one factor: the axes of an embedding have no meaning, and what is said of its vectors
                must stay the same where they are turned; a column of variance 1 each would make noise of the narrow
                ones as loud as the wide ones

`scaling_by_default` chooses among them by what a view looks like, for those who did not say.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["SCALINGS", "column_scales", "scaling_by_default"]

SCALINGS = {"standard": 1.0, "pareto": 0.5, "centered": 0.0}  # power of the deviation that a column is divided by
FEWEST = 16  # columns from which a view may be a vector; fewer are measurements, each of its own
WIDEST = 5.0  # times the median deviation, up to which columns pass for those of one unit
STILL = 1e-12  # deviation of a column that does not vary
_ROWS = 5000  # rows that are looked at
_COLUMNS = 256  # columns whose correlations are looked at
_BLOCK = 1 << 22  # values in double precision at a time


def column_scales(matrix: Any, scaling: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean of each column, and what it is divided by.

    Examples
    --------
    >>> turned = np.array([[3.0, 1.0], [-3.0, -1.0], [3.0, -1.0], [-3.0, 1.0]])
    >>> [column_scales(turned, scaling)[1].round(2).tolist() for scaling in ("standard", "pareto", "centered")]
    [[3.0, 1.0], [2.45, 1.41], [2.24, 2.24]]
    """
    mean, deviation = _moments(matrix)
    varies = deviation > STILL
    factor = np.where(varies, deviation, 1.0) ** SCALINGS[scaling]
    if varies.any():
        factor *= np.sqrt(np.mean((deviation[varies] / factor[varies]) ** 2))
    return mean, factor


def scaling_by_default(matrix: Any) -> str:
    """Choose a scaling for a view of measurements by its columns; rows of zeros are of those who do not have it.

    Fewer than 16 columns, or some that reach far beyond most, have units of their own: "standard". Others are
    "pareto" where nothing is negative, else "centered"; so are columns of any reach without correlations, since such
    are principal components.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> vectors = rng.normal(size=(200, 32))
    >>> scaling_by_default(vectors), scaling_by_default(abs(vectors)), scaling_by_default(vectors[:, :4])
    ('centered', 'pareto', 'standard')
    >>> in_grams = (vectors + vectors[:, :1]) * np.where(np.arange(32) == 5, 1000.0, 1.0)
    >>> scaling_by_default(in_grams)
    'standard'
    """
    if matrix.shape[1] < FEWEST or not matrix.shape[0]:
        return "standard"
    some = matrix[np.unique(np.linspace(0, matrix.shape[0] - 1, _ROWS).astype(np.int64))]
    some = some.toarray() if sparse.issparse(some) else np.asarray(some)
    some = some[some.any(axis=1)].astype(np.float64)
    deviation = some.std(axis=0) if len(some) else np.zeros(some.shape[1])
    varies = deviation > STILL
    if varies.sum() < FEWEST:
        return "standard"
    if some.min() >= 0:
        return "pareto" if _in_reach(deviation[varies]) else "standard"
    return "centered" if _in_reach(deviation[varies]) or _uncorrelated(some[:, varies]) else "standard"


def _in_reach(deviation: np.ndarray) -> bool:
    return bool(deviation.max() <= WIDEST * np.median(deviation))


def _uncorrelated(rows: np.ndarray) -> bool:
    """Whether columns are no more correlated than those of chance would be."""
    columns = np.unique(np.linspace(0, rows.shape[1] - 1, _COLUMNS).astype(np.int64))
    figures = np.corrcoef(rows[:, columns], rowvar=False)
    apart = np.abs(figures[np.triu_indices(len(figures), 1)]).mean()
    return bool(apart <= 1.25 * np.sqrt(2 / (np.pi * len(rows))))


def _moments(matrix: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each column in double precision, by blocks of rows."""
    n, width = matrix.shape
    if sparse.issparse(matrix):
        from sklearn.utils.sparsefuncs import mean_variance_axis  # who only holds views need not wait for scikit-learn

        mean, variance = mean_variance_axis(sparse.csr_array(matrix, dtype=np.float64), axis=0)
        return mean, np.sqrt(variance)
    step = max(_BLOCK // max(width, 1), 1)
    mean = matrix.mean(axis=0, dtype=np.float64)
    squares = np.zeros(width)
    for first in range(0, n, step):
        gaps = matrix[first : first + step] - mean
        squares += np.einsum("ij,ij->j", gaps, gaps)
    return mean, np.sqrt(squares / max(n, 1))

"""Measurements and vectors made comparable: columns about their means, in one scale.

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

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from coview.exceptions import ParameterError, ViewsError
from coview.preprocessing.base import PerViewTransformer, float_of
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.messages import listed
from coview.utils.parameters import by_view, one_of
from coview.views.arrays import looks_counted
from coview.views.views import Views, n_present

__all__ = ["SCALINGS", "ScaledViews", "column_scales", "fall", "scaled", "scaling_by_default", "vary"]

SCALINGS = {"standard": 1.0, "pareto": 0.5, "centered": 0.0}  # power of the deviation that a column is divided by
FEWEST = 16  # columns from which a view may be a vector; fewer are measurements, each of its own
WIDEST = 5.0  # times the median deviation, up to which columns pass for those of one unit
NARROW, MOST_NARROW = 1 / 30, 0.15  # of the widest deviation; share of such columns that pass, as the rim of an image
ROUNDING = 1e-11  # of the mean of a column: a smaller deviation is none
_ROWS = 5000  # rows that are looked at
_COLUMNS = 256  # columns whose correlations are looked at
_BLOCK = 1 << 22  # values in double precision at a time


@shared_parameters
class ScaledViews(PerViewTransformer):
    """Scale the columns of views of measurements and vectors; counts pass through.

    A column in grams would decide alone beside one in tons, so columns of units of their own are brought to variance 1.
    The columns of an embedding have one unit and no meaning by themselves: brought to variance 1 each, those that hold
    noise would count as much as those that tell objects apart. They are scaled as a whole, so that an embedding that is
    turned, as by PCA, leads to the same answers.

    Parameters
    ----------
    scaling : {"auto", "standard", "pareto", "centered"} or {view: scaling}, default="auto"
        How columns are scaled about their means: "standard" divides each by its standard deviation, "pareto" by the
        root of it, "centered" all by one number; in each, the mean variance of a view's columns becomes 1. "auto"
        chooses by the view: "standard" with fewer than 16 columns, where the widest column reaches beyond five times
        the median deviation, or where a sixth of them lies below a thirtieth of the widest; else "pareto" where nothing
        is negative, "centered" where something is. From 16 columns on, principal components are "centered" however far
        they reach: columns without correlations whose deviations fall. A view that is sparse at the fit keeps its
        zeros: its columns are divided, not moved.
    views : str, list of str or None, default=None
        Views to scale; the others pass through. By default all that do not look like counts: those with negative
        values, or mostly filled; and those that `scaling` names.

    Attributes
    ----------
    scaling_ : dict of str
        The scaling of each view.
    mean_ : dict of ndarray
        What is subtracted from each column, by view: its mean, 0 in views that were sparse.
    scale_ : dict of ndarray
        What each column is divided by, by view.
    <shared: changed_views_, fitted views>

    See Also
    --------
    EachView : Any scaler of scikit-learn in each view.
    UnitRows : Rows of length 1.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import ScaledViews, Views
    >>> rng = np.random.default_rng(0)
    >>> X = Views(person=rng.normal([40, 30000], [15, 9000], size=(100, 2)), text=rng.normal(size=(100, 64)))
    >>> model = ScaledViews().fit(X)
    >>> model.scaling_
    {'person': 'standard', 'text': 'centered'}
    >>> model.transform(X)["person"].std(axis=0)
    array([1., 1.])
    """

    _learned = ("scaling_", "mean_", "scale_")
    scaling_: dict[str, str]
    mean_: dict[str, np.ndarray]
    scale_: dict[str, np.ndarray]

    _fitted_state = {
        "scaling_": rules.mapping(rules.one_of(*SCALINGS), "changed views"),
        "mean_": rules.mapping(rules.floats("features of {view}"), "changed views"),
        "scale_": rules.mapping(rules.floats("features of {view}", low=1e-300), "changed views"),
    }
    _parameters = {"scaling": by_view(one_of("auto", *SCALINGS))}

    def __init__(self, scaling: Any = "auto", views: Any = None) -> None:
        self.scaling = scaling
        self.views = views

    def _chosen(self, views: Views) -> tuple[str, ...]:
        if isinstance(self.scaling, Mapping):
            self._check_names(tuple(self.scaling), views)
        chosen = super()._chosen(views)
        other = [name for name in self._named() if name not in chosen]
        if other:
            raise ParameterError(
                f"names view {other[0]!r}, which is not among views ({listed(chosen)}). Add it there, or leave it out.",
                parameter="scaling",
            )
        return chosen

    def _default_views(self, views: Views) -> tuple[str, ...]:
        having, named = n_present(views), self._named()
        return tuple(name for name, array in views.items() if name in named or not looks_counted(array, having[name]))

    def _named(self) -> tuple[str, ...]:
        """Views that have a scaling of their own."""
        return tuple(self.scaling) if isinstance(self.scaling, Mapping) else ()

    def _fit_view(self, name: str, array: Any) -> tuple[str, np.ndarray, np.ndarray]:
        if not array.shape[0]:
            raise ViewsError(f"No object has view {name!r}, so that nothing can be fitted to it. Leave the view out.")
        scaling = self.scaling.get(name, "auto") if isinstance(self.scaling, Mapping) else self.scaling
        if scaling == "auto":
            scaling = scaling_by_default(array)
        mean, scale = column_scales(array, scaling)
        return scaling, np.zeros_like(mean) if sparse.issparse(array) else mean, scale

    def _transform_view(self, name: str, array: Any, present: np.ndarray) -> Any:
        mean, scale = self.mean_[name], self.scale_[name]
        if sparse.issparse(array) and not mean.any():
            return sparse.csr_array(array.multiply(1 / scale), dtype=float_of(array))
        # one that was dense at the fit is mostly filled, however it is stored now
        return scaled(array.toarray() if sparse.issparse(array) else array, mean, scale, present)


def scaled(rows: np.ndarray, mean: np.ndarray, scale: np.ndarray, present: np.ndarray | None = None) -> np.ndarray:
    """Rows less the means, by the scales, in their own precision; those that are not present stay zero."""
    made = np.subtract(rows, mean, dtype=float_of(rows), casting="unsafe")
    made /= scale.astype(made.dtype)
    if present is not None and not present.all():
        made[~present] = 0
    return made


def column_scales(matrix: Any, scaling: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean of each column, and what it is divided by; 1 where it does not vary.

    Examples
    --------
    >>> turned = np.array([[3.0, 1.0], [-3.0, -1.0], [3.0, -1.0], [-3.0, 1.0]])
    >>> [column_scales(turned, scaling)[1].round(2).tolist() for scaling in ("standard", "pareto", "centered")]
    [[3.0, 1.0], [2.45, 1.41], [2.24, 2.24]]
    """
    mean, deviation = _moments(matrix)
    moves = vary(mean, deviation)
    factor = np.ones_like(deviation)
    factor[moves] = deviation[moves] ** SCALINGS[scaling]
    if moves.any():
        factor[moves] *= np.sqrt(np.mean((deviation[moves] / factor[moves]) ** 2))
    return mean, factor


def scaling_by_default(matrix: Any) -> str:
    """Choose a scaling for a view of measurements by its columns; rows of zeros are of those who do not have it.

    Fewer than 16 columns, or some that reach far beyond most, have units of their own: "standard". Others are
    "pareto" where nothing is negative, else "centered"; so are principal components of any reach.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> vectors = rng.normal(size=(200, 32))
    >>> scaling_by_default(vectors), scaling_by_default(abs(vectors)), scaling_by_default(vectors[:, :4])
    ('centered', 'pareto', 'standard')
    >>> scaling_by_default(vectors * np.where(np.arange(32) == 5, 1000.0, 1.0))
    'standard'
    """
    if matrix.shape[1] < FEWEST or not matrix.shape[0]:
        return "standard"
    some = matrix[np.unique(np.linspace(0, matrix.shape[0] - 1, _ROWS).astype(np.int64))]
    if sparse.issparse(some):
        some = sparse.csr_array(some)
        some, least = some[np.diff(some.indptr) > 0], some.data.min(initial=0.0)
    else:
        some, least = some[some.any(axis=1)], some.min()
    if not some.shape[0]:
        return "standard"
    mean, deviation = _moments(some)
    moves = np.flatnonzero(vary(mean, deviation))
    if len(moves) < FEWEST:
        return "standard"
    widest = deviation[moves].max()
    few_narrow = np.mean(deviation[moves] < NARROW * widest) < MOST_NARROW
    if few_narrow and widest <= WIDEST * np.median(deviation[moves]):
        return "pareto" if least >= 0 else "centered"
    components = least < 0 and fall(deviation[moves]) and _uncorrelated(some, moves)
    return "centered" if components else "standard"


def vary(mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Tell which columns vary by more than rounding, from their means and standard deviations."""
    return deviation > ROUNDING * np.abs(mean)


def fall(deviation: np.ndarray) -> bool:
    """Tell whether deviations fall from column to column, as those of principal components do but for a few.

    Examples
    --------
    >>> fall(np.array([5.0, 9.0, 4.0, 3.0, 2.0, 1.0])), fall(np.array([1.0, 9.0, 2.0, 8.0, 1.5, 4.0]))
    (True, False)
    """
    ranks = np.argsort(np.argsort(-deviation, kind="stable"), kind="stable")
    return len(deviation) > 1 and bool(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1] > 0.9)


def _uncorrelated(rows: Any, columns: np.ndarray) -> bool:
    """Whether columns are hardly more correlated than by chance, as components of other rows are; few cannot tell."""
    columns = columns[np.unique(np.linspace(0, len(columns) - 1, _COLUMNS).astype(np.int64))]
    if rows.shape[0] < 2 * len(columns):
        return False
    block = rows[:, columns]
    figures = np.corrcoef(block.toarray() if sparse.issparse(block) else block, rowvar=False)
    apart = np.abs(figures[np.triu_indices(len(figures), 1)]).mean()
    return bool(apart <= 2 * np.sqrt(2 / (np.pi * rows.shape[0])))


def _moments(matrix: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each column in double precision, by blocks of rows."""
    n, width = matrix.shape
    if sparse.issparse(matrix):
        mean, variance = mean_variance_axis(sparse.csr_array(matrix, dtype=np.float64), axis=0)
        return mean, np.sqrt(variance)
    step = max(_BLOCK // max(width, 1), 1)
    mean = matrix.mean(axis=0, dtype=np.float64)
    rest, squares = np.zeros(width), np.zeros(width)
    for first in range(0, n, step):
        gaps = matrix[first : first + step] - mean
        rest += gaps.sum(axis=0)
        squares += np.einsum("ij,ij->j", gaps, gaps)
    rest /= n  # what rounding left of the mean
    return mean + rest, np.sqrt(np.maximum(squares / n - rest**2, 0.0))

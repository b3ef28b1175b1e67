"""Measurements and vectors made comparable: columns about their means, in one scale.

Three scalings, all of columns about their means and of total variance as many as there are columns:

    "standard"  each column to variance 1: columns of units of their own, such as an age beside an income
    "pareto"    each column by the root of its deviation: histograms and other amounts of one kind, where a wide column
                says more, but not all
    "centered"  all columns by one factor: the axes of an embedding have no meaning, and what is said of its vectors
                must stay the same where they are turned; a column of variance 1 each would make noise of the narrow
                ones as loud as the wide ones

`scaling_by_default` chooses among them by what a view looks like, where none is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches

from coview.exceptions import ViewsError
from coview.preprocessing.base import PerViewTransformer, choose_float
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import one_of, one_or_by_view
from coview.views.arrays import looks_counted, mostly_zeros
from coview.views.views import Views, n_present

__all__ = [
    "SCALINGS",
    "ScaledViews",
    "column_scales",
    "scaled",
    "scaling_by_default",
]

SCALINGS = {"standard": 1.0, "pareto": 0.5, "centered": 0.0}  # power of the deviation that a column is divided by


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
        chooses by the view: "standard" with fewer than 16 columns, or where the widest column reaches beyond five times
        the median deviation, unless deviations fall from column to column, as those of principal components do; else
        "pareto" where nothing is negative, "centered" where something is. A view that is sparse and mostly
        zeros at the fit keeps its zeros: its columns are divided, not moved.
    views : str, list of str or None, default=None
        Views to scale; the others pass through. By default all that do not look like counts: those with negative
        values, or mostly filled; and those that `scaling` names.

    Attributes
    ----------
    scaling_ : dict of str
        The scaling of each view.
    mean_ : dict of ndarray
        What is subtracted from each column, by view: its mean, 0 in views that keep their zeros.
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
        "scaling_": rules.mapping(rules.choice(*SCALINGS), "changed views"),
        "mean_": rules.mapping(rules.floats("features of {view}"), "changed views"),
        "scale_": rules.mapping(rules.floats("features of {view}", low=1e-300), "changed views"),
    }
    _parameters = {"scaling": one_or_by_view(one_of("auto", *SCALINGS))}

    def __init__(self, scaling: Any = "auto", views: Any = None) -> None:
        self.scaling = scaling
        self.views = views

    def _default_views(self, views: Views) -> tuple[str, ...]:
        having, named = n_present(views), self.scaling if isinstance(self.scaling, Mapping) else ()
        self._check_names(tuple(named), views)
        return tuple(name for name, array in views.items() if name in named or not looks_counted(array, having[name]))

    def _fit_view(self, name: str, array: Any) -> tuple[str, np.ndarray, np.ndarray]:
        if not array.shape[0]:
            raise ViewsError(f"No object has view {name!r}, so that nothing can be fitted to it. Leave the view out.")
        scaling = self.scaling.get(name, "auto") if isinstance(self.scaling, Mapping) else self.scaling
        if scaling == "auto":
            scaling = scaling_by_default(array)
        mean, scale = column_scales(array, scaling)
        return scaling, np.zeros_like(mean) if sparse.issparse(array) and mostly_zeros(array) else mean, scale

    def _transform_view(self, name: str, array: Any, present: np.ndarray) -> Any:
        mean, scale = self.mean_[name], self.scale_[name]
        if sparse.issparse(array) and not mean.any():
            return sparse.csr_array(array.multiply(1 / scale), dtype=choose_float(array))
        # one that was mostly filled at the fit still is, however it is stored now
        return scaled(array.toarray() if sparse.issparse(array) else array, mean, scale, present)


def scaled(rows: np.ndarray, mean: np.ndarray, scale: np.ndarray, present: np.ndarray | None = None) -> np.ndarray:
    """Rows less the means, by the scales, in their own precision; those that are not present stay zero."""
    made = np.subtract(rows, mean, dtype=choose_float(rows), casting="unsafe")
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
    mean, deviation = _compute_moments(matrix)
    moves = deviation > 0
    factor = np.ones_like(deviation)
    factor[moves] = deviation[moves] ** SCALINGS[scaling]
    if moves.any():
        factor[moves] *= np.sqrt(np.mean((deviation[moves] / factor[moves]) ** 2))
    return mean, factor


def scaling_by_default(matrix: Any) -> str:
    """Choose a scaling for a view of measurements by its columns; rows of zeros are of those who do not have it.

    Fewer than 16 columns, or some that reach far beyond most, have units of their own: "standard". Others are
    "pareto" where nothing is negative, else "centered"; so are principal components, whose deviations fall.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> vectors = rng.normal(size=(200, 32))
    >>> scaling_by_default(vectors), scaling_by_default(abs(vectors)), scaling_by_default(vectors[:, :4])
    ('centered', 'pareto', 'standard')
    >>> scaling_by_default(vectors * np.where(np.arange(32) == 5, 1000.0, 1.0))
    'standard'
    """
    fewest = 16  # columns from which a view may be a vector; fewer are measurements, each of its own
    if matrix.shape[1] < fewest or not matrix.shape[0]:
        return "standard"
    some = matrix[np.unique(np.linspace(0, matrix.shape[0] - 1, 5000).astype(np.int64))]
    some = some[np.flatnonzero(abs(some).sum(axis=1))]
    deviation = _compute_moments(some)[1] if some.shape[0] else np.zeros(1)
    deviation = deviation[deviation > 0]
    if len(deviation) < fewest:
        return "standard"
    # up to five times the median passes for one unit; settled on numerals, leaves and singular vectors of words
    one_unit = deviation.max() <= 5 * np.median(deviation)
    ranks = np.argsort(np.argsort(-deviation))
    falls = np.corrcoef(ranks, np.arange(len(ranks)))[0, 1] > 0.9  # as those of principal components, but for a few
    if some.min() >= 0:
        return "pareto" if one_unit else "standard"
    return "centered" if one_unit or falls else "standard"


def _compute_moments(matrix: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each column; 0 where it varies by no more than rounding."""
    scaler = StandardScaler(with_mean=False)
    n_rows = matrix.shape[0]
    for rows in gen_batches(n_rows, n_rows if sparse.issparse(matrix) else max((1 << 22) // matrix.shape[1], 1)):
        scaler.partial_fit(matrix[rows])
    mean, deviation = scaler.mean_.astype(np.float64), np.sqrt(scaler.var_.astype(np.float64))
    return mean, np.where(deviation > 1e-11 * np.abs(mean), deviation, 0)


# -- vectors of another length than those of the fit

"""Measurements and vectors made comparable: columns about their means, in one scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from coview.preprocessing.base import PerViewTransformer, float_of
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import by_view, one_of
from coview.views.arrays import looks_counted
from coview.views.scales import SCALINGS, column_scales, scaling_by_default
from coview.views.views import Views, n_present

__all__ = ["ScaledViews"]


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
        the median deviation; else "pareto" where nothing is negative, "centered" where something is. Principal
        components are "centered" however far they reach. A view that is sparse at the fit keeps its zeros: its columns
        are divided, not moved.
    views : str, list of str or None, default=None
        Views to scale; the others pass through. By default all that do not look like counts: those with negative
        values, or mostly filled.

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

    def _default_views(self, views: Views) -> tuple[str, ...]:
        having = n_present(views)
        return tuple(name for name, array in views.items() if not looks_counted(array, having[name]))

    def _fit_view(self, name: str, array: Any) -> tuple[str, np.ndarray, np.ndarray]:
        scaling = self.scaling.get(name, "auto") if isinstance(self.scaling, dict) else self.scaling
        if scaling == "auto":
            scaling = scaling_by_default(array)
        mean, scale = column_scales(array, scaling)
        return scaling, np.zeros_like(mean) if sparse.issparse(array) else mean, scale

    def _transform_view(self, name: str, array: Any, present: np.ndarray) -> Any:
        mean, dtype = self.mean_[name], float_of(array)
        if sparse.issparse(array):
            if not mean.any():
                return sparse.csr_array(array.multiply(1 / self.scale_[name]), dtype=dtype)
            array = array.toarray()  # fitted to a dense view: mostly filled, however it is stored now
        rows = np.subtract(array, mean, dtype=dtype, casting="unsafe")
        rows /= self.scale_[name].astype(rows.dtype)
        rows[~present] = 0
        return rows

"""Weights for counts, as transformers over views: tf-idf and unit rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from coview.preprocessing.base import PerViewTransformer, float_of
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import TRUTH, one_of

__all__ = ["TfidfViews", "UnitRows", "document_frequency"]


@shared_parameters
class TfidfViews(PerViewTransformer):
    """Weight counts by inverse document frequency: ``tf * (log((1 + n) / (1 + df)) + 1)``, then unit rows.

    Values are those of scikit-learn's ``TfidfTransformer`` in each view. Rows that lack a view do not count in `n`.

    Parameters
    ----------
    norm : {"l2", "l1", None}, default="l2"
        Length to which each row is scaled.
    use_idf : bool, default=True
        Weigh by inverse document frequency.
    smooth_idf : bool, default=True
        Count one more document that has every feature; without it, ``log(n / df) + 1``.
    sublinear_tf : bool, default=False
        Use ``1 + log(tf)`` in place of ``tf``.
    views : str, list of str or None, default=None
        Views to weigh; the others pass through. All by default.

    Attributes
    ----------
    idf_ : dict of arrays
        Weight of each feature, by view.
    <shared: changed_views_, fitted views>

    Examples
    --------
    >>> import numpy as np
    >>> from coview import Views
    >>> from coview.preprocessing.weighting import TfidfViews
    >>> TfidfViews(norm=None).fit_transform(Views(words=np.array([[1, 1], [0, 2]])))["words"].round(2)
    array([[1.41, 1.  ],
           [0.  , 2.  ]])
    """

    _learned = ("idf_",)
    _takes_counts = True
    idf_: dict[str, np.ndarray]

    _fitted_state = {"idf_": rules.mapping(rules.floats("features of {view}"), "changed views")}
    _parameters = {
        "norm": one_of("l1", "l2", None),
        "use_idf": TRUTH,
        "smooth_idf": TRUTH,
        "sublinear_tf": TRUTH,
    }

    def __init__(
        self,
        norm: str | None = "l2",
        use_idf: bool = True,
        smooth_idf: bool = True,
        sublinear_tf: bool = False,
        views: Any = None,
    ) -> None:
        self.norm = norm
        self.use_idf = use_idf
        self.smooth_idf = smooth_idf
        self.sublinear_tf = sublinear_tf
        self.views = views

    def _fit_view(self, name: str, array: Any) -> tuple[np.ndarray]:
        if not self.use_idf:
            return (np.ones(array.shape[1], dtype=float_of(array)),)
        extra = int(bool(self.smooth_idf))
        frequency = document_frequency(array) + float(extra)
        # a feature of no document has a weight that nothing is multiplied by; 1 keeps it finite
        ratio = np.divide(array.shape[0] + extra, frequency, out=np.ones_like(frequency), where=frequency > 0)
        return ((np.log(ratio) + 1).astype(float_of(array)),)

    def _transform_view(self, name: str, array: Any, present: np.ndarray) -> Any:
        counts = _map_values(array, _one_plus_log) if self.sublinear_tf else array
        weighed = _scale_columns(counts, self.idf_[name])
        return weighed if self.norm is None else normalize(weighed, norm=self.norm, copy=False)


@shared_parameters
class UnitRows(PerViewTransformer):
    """Scale each row of each view to length 1; empty rows stay empty.

    Parameters
    ----------
    norm : {"l2", "l1", "max"}, default="l2"
        What length means: Euclidean, the sum of absolute values, or the largest absolute value.
    views : str, list of str or None, default=None
        Views to scale; the others pass through. All by default.

    Attributes
    ----------
    <shared: changed_views_, fitted views>

    Examples
    --------
    >>> import numpy as np
    >>> from coview import Views
    >>> from coview.preprocessing.weighting import UnitRows
    >>> UnitRows().fit_transform(Views(words=np.array([[3.0, 4.0], [0.0, 0.0]])))["words"]
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    _parameters = {
        "norm": one_of("l1", "l2", "max"),
    }

    def __init__(self, norm: str = "l2", views: Any = None) -> None:
        self.norm = norm
        self.views = views

    def _transform_view(self, name: str, array: Any, present: np.ndarray) -> Any:
        return normalize(array.astype(float_of(array)), norm=self.norm, copy=False)


def document_frequency(array: Any) -> np.ndarray:
    """Return the number of rows in which each feature is not zero."""
    if not sparse.issparse(array):
        return np.count_nonzero(array, axis=0)
    return np.bincount(array.indices[array.data != 0], minlength=array.shape[1])


def _map_values(array: Any, function: Any) -> Any:
    """Apply a function that leaves 0 alone; a sparse array keeps its pattern."""
    dtype = float_of(array)
    if not sparse.issparse(array):
        return function(array.astype(dtype))
    return _with_values(array, function(array.data.astype(dtype)))


def _scale_columns(array: Any, scale: np.ndarray) -> Any:
    dtype = float_of(array)
    if not sparse.issparse(array):
        return (array * scale).astype(dtype, copy=False)
    return _with_values(array, (array.data * scale[array.indices]).astype(dtype, copy=False))


def _with_values(array: Any, values: np.ndarray) -> Any:
    """Return a sparse array of the same class and pattern with other values."""
    return type(array)((values, array.indices, array.indptr), shape=array.shape)


def _one_plus_log(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, 1 + np.log(np.where(values > 0, values, 1)), 0).astype(values.dtype, copy=False)

"""Weights for counts, as transformers over views: tf-idf and unit rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from coview.preprocessing.base import PerViewTransformer, choose_float
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import TRUTH, one_of
from coview.views.arrays import is_whole
from coview.views.views import Views

__all__ = ["TfidfViews", "UnitRows", "compute_idf", "count_documents", "weigh_counts"]

REPEATED = 1.2  # mean count of the features of a row from which on texts are long


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
        "sublinear_tf": TRUTH,
    }

    def __init__(
        self,
        norm: str | None = "l2",
        use_idf: bool = True,
        sublinear_tf: bool = False,
        views: Any = None,
    ) -> None:
        self.norm = norm
        self.use_idf = use_idf
        self.sublinear_tf = sublinear_tf
        self.views = views

    def _fit_view(self, name: str, array: Any) -> tuple[np.ndarray]:
        idf = compute_idf(array) if self.use_idf else np.ones(array.shape[1])
        return (idf.astype(choose_float(array)),)

    def _transform_view(self, name: str, array: Any, present: np.ndarray) -> Any:
        # zeros stay zeros in all weights: dense rows go the same way
        sparsely = array if sparse.issparse(array) else sparse.csr_array(array)
        weighed = sparsely.astype(choose_float(array))
        # the logarithm of a stored zero is no number
        weighed.eliminate_zeros()
        if self.sublinear_tf:
            weighed.data = 1 + np.log(weighed.data)
        weighed.data *= self.idf_[name][weighed.indices]
        if self.norm is not None:
            weighed = normalize(weighed, norm=self.norm, copy=False)
        return weighed if sparse.issparse(array) else weighed.toarray()


def weigh_counts(views: Views, names: Sequence[str] | None = None, *, keep_short: bool = False) -> list[TfidfViews]:
    """Return the transformers that weigh views of counts, to be fitted one after the other.

    All models that weigh counts by themselves ask here, so that the same counts are weighed alike in all of them:

    | values of the view                      | weights                                |
    |-----------------------------------------|----------------------------------------|
    | whole numbers: counts                   | (1 + log tf) idf, rows of length 1     |
    | 0 and 1 for the most part, `keep_short` | none: the counts stay as they are      |
    | others: counts that have weights        | theirs, rows scaled to length 1        |

    Parameters
    ----------
    views : Views
        Views in memory.
    names : list of str, optional
        The views of counts, weighted or not: none of their values is negative. All by default.
    keep_short : bool, default=False
        Leave counts alone in which hardly any feature of a row is there twice, as in short texts and links: for models
        of counts, such as topic models, to which they are tokens.

    Returns
    -------
    transformers : list of TfidfViews
        At most one for each kind of weights; none where all counts stay as they are.

    Examples
    --------
    >>> X = Views(words=np.array([[2, 1]]), links=np.array([[0, 1]]), shares=np.array([[0.6, 0.8]]))
    >>> weigh_counts(X)
    [TfidfViews(sublinear_tf=True, views=['words', 'links']), TfidfViews(use_idf=False, views=['shares'])]
    >>> weigh_counts(X, ["words", "links"], keep_short=True)
    [TfidfViews(sublinear_tf=True, views=['words'])]
    """
    names = list(views.names if names is None else names)
    # a logarithm is for counts alone: 1 + log of a share such as 0.1 is negative
    whole = [name for name in names if is_whole(views[name])]
    given = [name for name in names if name not in whole]
    counted = [name for name in whole if not keep_short or _repeats_features(views[name])]
    steps = [TfidfViews(sublinear_tf=True, views=counted)] if counted else []
    return [*steps, TfidfViews(use_idf=False, views=given)] if given else steps


def _repeats_features(counts: Any) -> bool:
    """Tell whether the features of a row are often there more than once, as words are in long texts."""
    values = counts.data if sparse.issparse(counts) else counts
    return bool(values.sum(dtype=np.float64) >= REPEATED * np.count_nonzero(values) > 0)


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
        return normalize(array.astype(choose_float(array)), norm=self.norm, copy=False)


def compute_idf(array: Any) -> np.ndarray:
    """Return the inverse document frequency of each feature, ``log((1 + n) / (1 + df)) + 1``.

    It is at least 1, so that no row with features becomes empty by it.
    """
    return np.log((1 + array.shape[0]) / (1 + count_documents(array))) + 1


def count_documents(array: Any) -> np.ndarray:
    """Return the number of rows in which each feature is not zero."""
    if not sparse.issparse(array):
        return np.count_nonzero(array, axis=0)
    return np.bincount(array.indices[array.data != 0], minlength=array.shape[1])

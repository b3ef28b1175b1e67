"""Objects that a model knows nothing of, such as a text of new words only: which they are, and a sentence about them.

An object is unknown where it lacks all views, as one of an empty row, and where all values of all its views are 0, in
the columns that the model was fitted with, as of a text of new words, or the model does not use the views. Zeros of a
sparse matrix are features that an object lacks, and so are all zeros for a model of counts; in a dense matrix of
measurements 0 is a value like others. A model predicts something for an unknown object nevertheless, always the same:
`predict` warns of it, the command line and the server say so in their own ways.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from functools import wraps
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches, get_tags

from coview.exceptions import UnknownObjectsWarning
from coview.utils.fitting import is_at_work
from coview.utils.messages import quantity, short
from coview.utils.warn import unwarned, warn_user
from coview.views.arrays import filled_rows, is_dask_collection
from coview.views.coerce import as_views
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = [
    "count_equal",
    "describe_unknown",
    "note_views",
    "objects_by_view",
    "rows_with_values",
    "takes_counts",
    "warns_of_unknown",
]

MOST = 5  # objects, and labels, that a sentence names

_noted: ContextVar[list[Any] | None] = ContextVar("coview_noted_views", default=None)  # of the `predict` at work


def takes_counts(estimator: Any) -> bool:
    """Tell whether a model takes counts, shares and the like only, in which 0 means that a feature is not there.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> takes_counts(MultinomialNB()), takes_counts(LogisticRegression())
    (True, False)
    """
    return isinstance(estimator, BaseEstimator) and bool(get_tags(estimator).input_tags.positive_only)


def rows_with_values(X: Any, counts: bool = False) -> np.ndarray | None:
    """Tell which rows of a matrix have a value that is not 0; None where 0 is a value, and of what is no matrix.

    Examples
    --------
    >>> rows_with_values(sparse.csr_array([[0.0, 2.0], [0.0, 0.0]])).tolist()
    [True, False]
    >>> rows_with_values(np.array([[0.0, 2.0], [0.0, 0.0]]), counts=True).tolist()
    [True, False]
    """
    told = sparse.issparse(X) or (counts and isinstance(X, np.ndarray) and X.ndim == 2)
    return filled_rows(X) if told else None


def objects_by_view(
    views: Views,
    counts: bool = False,
    feature_names: Mapping[str, np.ndarray | None] | None = None,
    unused: Collection[str] = (),
) -> dict[str, np.ndarray]:
    """Tell, by view, which objects have a feature in it: of the others, the view alone says nothing.

    An object has none where it lacks the view, or where all its values are 0 in the columns that a model was fitted
    with. Dense matrices are judged by their values for models of `counts` only.

    Parameters
    ----------
    views : Views
        The objects.
    counts : bool, default=False
        Whether the model takes counts: `takes_counts`.
    feature_names : mapping, optional
        Names of the columns that the model was fitted with, by view; other columns of these views are left out.
    unused : collection of str, optional
        Views that a model does not use: no object has a feature in them.

    Examples
    --------
    >>> names = {"words": ["fox", "zebra"]}
    >>> X = Views(words=sparse.csr_array([[2, 1], [0, 3]]), size=np.array([[0.5], [0.0]]), feature_names=names)
    >>> described = objects_by_view(X, feature_names={"words": np.array(["fox", "sea"])})
    >>> {view: mask.tolist() for view, mask in described.items()}
    {'words': [True, False], 'size': [True, True]}
    """
    described = {}
    for v, (view, matrix) in enumerate(views.items()):
        fitted, columns = (feature_names or {}).get(view), views.feature_names.get(view)
        if fitted is not None and columns is not None and not np.array_equal(fitted, columns):
            names = set(fitted.tolist())
            matrix = matrix[:, [name in names for name in columns.tolist()]]
        filled = rows_with_values(matrix, counts)
        have = views.present[:, v] & (view not in unused)
        described[view] = have if filled is None else have & filled
    return described


def count_equal(views: Views) -> int:
    """Return the number of objects that are equal to another one in all views.

    Examples
    --------
    >>> count_equal(Views(words=np.array([[1, 2], [0, 0], [1, 2], [2, 1]])))
    2
    """
    matrices = [sparse.csr_array(matrix) if sparse.issparse(matrix) else matrix for matrix in views.values()]
    width = sum(matrix.shape[1] for matrix in matrices if not sparse.issparse(matrix))
    keys: list[int] = []
    for some in gen_batches(len(views), max((1 << 16) // max(width, 64), 1)):  # little is copied at a time
        rows = sparse.hstack([*(sparse.csr_array(matrix[some]) for matrix in matrices), views.present[some]], "csr")
        rows.eliminate_zeros()
        ends = pairwise(rows.indptr.tolist())
        keys += [hash((rows.indices[a:b].tobytes(), rows.data[a:b].tobytes())) for a, b in ends]
    counts = np.unique(keys, return_counts=True)[1]
    return int(counts[counts > 1].sum())


def describe_unknown(known: Any, ids: Any, labels: Any) -> str | None:
    """Return a sentence about the objects that a model knows nothing of, or None where there are none.

    Examples
    --------
    >>> describe_unknown([True, False, True], ["a", "b", "c"], [0, 2, 1])
    "1 of 3 objects has no feature known to the model ('b'): it predicts 2 for it, whatever it is."
    """
    rows = np.flatnonzero(~np.asarray(known, dtype=bool))
    if not rows.size:
        return None
    share = f"{len(rows):,} of {quantity(len(known), 'object')} {'has' if len(rows) == 1 else 'have'}"
    named = ", ".join(short(ids[row]) for row in rows[:MOST].tolist()) + (", ..." if len(rows) > MOST else "")
    values = sorted({short(labels[row]) for row in rows.tolist()})
    predicted = " or ".join(values[:MOST]) + (" or others" if len(values) > MOST else "")
    whom = "it, whatever it is" if len(rows) == 1 else "them, whatever they are"
    return f"{share} no feature known to the model ({named}): it predicts {predicted} for {whom}."


def note_views(views: Any) -> None:
    """Hand the views that a model takes, matched to the fitted ones, to the `predict` that is at work."""
    noted = _noted.get()
    if noted is not None and not noted:  # those of models inside come later
        noted.append(views)


def warns_of_unknown(predict: Callable[..., Any]) -> Callable[..., Any]:
    """Let `predict` warn once of objects that the model knows nothing of, where a user calls it."""

    @wraps(predict)
    def predict_and_warn(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        if is_at_work():
            return predict(self, X, *args, **options)
        noted: list[Any] = []
        token = _noted.set(noted)
        try:
            with unwarned():
                labels = predict(self, X, *args, **options)
        finally:
            _noted.reset(token)
        if isinstance(X, LazyViews) or is_dask_collection(labels):  # rows would have to be read once more
            return labels
        views: Any = noted[0] if noted else as_views(X)
        described = objects_by_view(views, takes_counts(self), unused=self._unused_views())
        known = np.any(list(described.values()), axis=0)
        if not known.all():
            ids = range(len(known)) if views.ids is None else views.ids
            warn_user(str(describe_unknown(known, ids, labels)), UnknownObjectsWarning)
        return labels

    return predict_and_warn

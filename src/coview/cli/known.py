"""Which objects a model knows anything of: one without a known word in any view gets what the model says of nothing.

An object is unknown where all values of all its views are 0, as they come in or after a step before the model: a
vectorizer leaves out words that it has not seen, a weighting those that are too rare. Only sparse matrices and whole
numbers are judged: 0 in a column of measurements is a value like others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from coview.utils.messages import short
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["known_rows", "say_unknown", "up_to_last"]

_AT_A_TIME = 4096  # rows of lazy views
_FEW = 5  # unknown rows that a sentence names


def up_to_last(model: Any, X: Any) -> tuple[Any, Any, np.ndarray]:
    """Return the last step of a model, what it is given of X, and which objects have anything that the model knows.

    Parameters
    ----------
    model : estimator
        A fitted model, or a pipeline that ends in one.
    X : Views, LazyViews, or what the pipeline's first step takes
        The objects.

    Returns
    -------
    last, given : estimator, object
        So that ``last.predict(given)`` is ``model.predict(X)``.
    known : ndarray of bool
        True where at least one value of one view is not 0, and wherever that does not tell.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from coview import PLSA, TextViews
    >>> model = make_pipeline(TextViews(), PLSA(2, random_state=0)).fit({"words": ["red fox", "blue sea"]})
    >>> up_to_last(model, {"words": ["a red sea", "zebra", None]})[2].tolist()
    [True, False, False]
    """
    if isinstance(X, LazyViews):
        parts = [X[start : start + _AT_A_TIME] for start in range(0, len(X), _AT_A_TIME)]
        return model, X, np.concatenate([up_to_last(model, part)[2] for part in parts])
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    known = known_rows(X)
    for step in steps[:-1]:
        if step is not None and step != "passthrough":
            X = step.transform(X)
            here = known_rows(X)
            known = here if known is None else known if here is None else known & here
    return steps[-1], X, np.ones(len(X), dtype=bool) if known is None else known


def known_rows(X: Any) -> np.ndarray | None:
    """Tell which rows of views, or of a matrix, have a value that is not 0; None for tables and measurements.

    Examples
    --------
    >>> known_rows(Views(a=sparse.csr_array(np.eye(3)), b=sparse.csr_array((3, 1))))
    array([ True,  True,  True])
    >>> known_rows(np.array([[0, 2], [0, 0]]))
    array([ True, False])
    """
    if isinstance(X, Views):
        known = np.zeros(len(X), dtype=bool)
        for part in X.values():
            here = known_rows(part)
            if here is None:
                return None
            known |= here
        return known
    if sparse.issparse(X):
        return np.bincount(X.nonzero()[0], minlength=X.shape[0]) > 0
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biu":
        return (X != 0).any(axis=1)
    return None


def say_unknown(known: np.ndarray, ids: Any, labels: Any) -> str | None:
    """Return a sentence about the objects that a model knows nothing of, or None where there are none.

    Examples
    --------
    >>> say_unknown(np.array([True, False, False]), ["p1", "p2", "p3"], ["sky", "animal", "animal"])
    "2 of 3 objects have nothing that the model knows ('p2', 'p3'): it says 'animal' of them, whatever they are."
    """
    rows = np.flatnonzero(~known).tolist()
    if not rows:
        return None
    named = ", ".join(_shown(ids[row]) for row in rows[:_FEW]) + (", ..." if len(rows) > _FEW else "")
    said = " or ".join(sorted({_shown(labels[row]) for row in rows}))
    has, of = ("has", "it, whatever it is") if len(rows) == 1 else ("have", "them, whatever they are")
    share = f"{len(rows):,} of {len(known):,} object{'' if len(known) == 1 else 's'}"
    return f"{share} {has} nothing that the model knows ({named}): it says {said} of {of}."


def _shown(value: Any) -> str:
    return short(value.item() if isinstance(value, np.generic) else value)

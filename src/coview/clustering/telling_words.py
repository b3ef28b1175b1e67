"""Words weighed by how much they tell of clusters, beside how rare they are.

The inverse document frequency knows how rare a word is, not whether its objects have anything else in common. Once
there are clusters, that can be asked. The weight of a word is multiplied by

    sqrt(1/10 + I(word) / log k),     I(word) = sum_z p(z | word) log(p(z | word) / p(z))

where p(z) are the clusters of the objects that have the view, p(z | word) those of the objects that have the word and
of five more of all clusters, so that a word of one object tells nothing, and k is the number of clusters. A word of one
small cluster tells most. A word of all clusters keeps a third of its weight, so that no object is emptied. Counts that
have weights already keep them: who gives weights has weighed.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import rel_entr
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import gen_batches

from coview.views.views import Views

__all__ = ["stress_telling_words"]

PRIOR = 5.0  # objects of all clusters that each word is thought to have been in
LEAST = 0.1  # of the weight, squared, that a word of all clusters keeps
BLOCK = 16_384  # words at a time


def stress_telling_words(steps: Iterable[Any], views: Views, memberships: np.ndarray, whole: Views | None) -> list[Any]:
    """Return transformers that weigh words also by how much they tell of clusters; those without idf as they are.

    Parameters
    ----------
    steps : iterable of transformers
        Fitted ones.
    views : Views
        Views of the objects that are clustered, as they were given.
    memberships : ndarray (n_objects, n_clusters)
        Their memberships.
    whole : Views or None
        Views of all objects of the fit, over which those of words are smoothed once more; None keeps them as they are.

    Examples
    --------
    >>> from coview import TfidfViews
    >>> X = Views(words=np.array([[1, 0, 0, 1], [0, 1, 0, 1]] * 40))
    >>> plain = TfidfViews().fit(X)
    >>> (step,) = stress_telling_words([plain], X, np.eye(2)[[0, 1] * 40], X)
    >>> (step.idf_["words"] / plain.idf_["words"]).round(1)
    array([0.9, 0.9, 0.3, 0.3])
    """
    stressed = []
    for step in steps:
        weights = step[0] if isinstance(step, Pipeline) else step
        if not getattr(weights, "use_idf", False) or (weights is not step and whole is None):
            stressed.append(step)
            continue
        weights = copy.copy(weights)
        weights.idf_ = {
            name: idf * np.sqrt(LEAST + _information(views, name, memberships)).astype(idf.dtype)
            for name, idf in weights.idf_.items()
        }
        if isinstance(step, Pipeline):
            rest = clone(step[1:]).fit(weights.transform(whole))
            weights = Pipeline([("weights", weights), *rest.steps])
        stressed.append(weights)
    return stressed


def _information(views: Views, name: str, memberships: np.ndarray) -> np.ndarray:
    """Divergence of the clusters of each word's objects from those of all that have the view, as a share of log k."""
    have = memberships[views.present[:, views.names.index(name)]]
    base = have.mean(axis=0) if len(have) else memberships.mean(axis=0)
    there, found = sparse.csr_array((sparse.csr_array(views[name]) != 0).T), []
    for some in gen_batches(there.shape[0], BLOCK):
        objects = PRIOR * base + there[some] @ memberships
        shares = objects / objects.sum(axis=1, keepdims=True)
        found.append(rel_entr(shares, base).sum(axis=1))
    return np.concatenate(found) / np.log(max(len(base), 2))

"""What each feature of a query adds to its score, where places are weighted sums of features (canonical correlation).

    p - m = sum_j x_j w_j - o - m,    score = < p - m, q > / |p - m|

x is the query as the model gets it, w_j what feature j adds to each component, o and m what is taken off, q the vector
of the object: feature j adds x_j < w_j, q > / |p - m|, and what is taken off is one part more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from coview.decomposition.cca import MultiViewCCA
from coview.retrieval.encode import feature_names, last_step, place, row_at_last
from coview.views.views import Views

__all__ = ["USUAL", "feature_parts", "is_linear"]

USUAL = "the average object"  # the part that is taken off


def is_linear(models: list[Any]) -> bool:
    """Tell whether all models place objects by weighted sums of features."""
    return all(isinstance(last_step(model), MultiViewCCA) for model in models)


def feature_parts(
    model: Any, views: Views, name: str, found: np.ndarray, mean: np.ndarray, center: str
) -> dict[str, float]:
    """Return what each feature of a query adds to its product with the vector of an object.

    Parameters
    ----------
    model : estimator
        A model with weights, or a pipeline that ends in one.
    views : Views
        One query.
    name : str
        View of the query.
    found : ndarray
        Vector of the object in the space of the model.
    mean : ndarray
        Mean place of the training objects by the same view.
    center : {"mean", "row"}
        What is taken off each place.

    Returns
    -------
    dict
        By feature, and `USUAL` for what is taken off; they sum to the product of both vectors, of length 1.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import MultiViewCCA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(60, n_clusters=3, random_state=0).views
    >>> model = MultiViewCCA(2, random_state=0).fit(X)
    >>> query = X[[0]].select("view0")
    >>> parts = feature_parts(model, query, "view0", np.array([1.0, 0.0]), np.zeros(2), "mean")
    >>> place = model.transform(query)[0]
    >>> bool(np.isclose(sum(parts.values()), place[0] / np.linalg.norm(place)))
    True
    """
    last = last_step(model)
    placed = place(model, views, name, "project")[0].astype(np.float64)
    apart = placed - (mean if center == "mean" else placed.mean())
    length = np.linalg.norm(apart)
    if np.abs(apart).max(initial=0.0) < 1e-12:
        return {}
    along = found if center == "mean" else found - found.mean()  # taking a row's mean off either side is the same
    row = sparse.csr_array(row_at_last(model, views, name))
    names = feature_names(model, name, row.shape[1])
    adds = row.data * (last.projections_[name][row.indices] @ along) / length
    parts: dict[str, float] = {}
    for j, value in zip(row.indices, adds):  # features may share a name
        parts[str(names[j])] = parts.get(str(names[j]), 0.0) + float(value)
    parts[USUAL] = float(apart @ found / length - adds.sum())
    return parts

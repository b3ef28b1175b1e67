"""What each feature of a query adds to its score, where positions are weighted sums of features (as in CCA).

    p - m = sum_j x_j w_j - o - m,    score = < p - m, q > / |p - m|

x is the query as the model gets it, w_j what feature j adds to each component, o and m what is taken off, q the vector
of the object: feature j adds x_j < w_j, q > / |p - m|, and what is taken off is one part more.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from coview.inspection import Inspection
from coview.views.views import Views

__all__ = ["AVERAGE", "feature_contributions"]

AVERAGE = "the average object"  # the part that is taken off


def feature_contributions(
    model: Inspection, views: Views, name: str, target: np.ndarray, mean: np.ndarray, center: str
) -> dict[str, float]:
    """Return what each feature of a query adds to its product with the vector of an object.

    Parameters
    ----------
    model : Inspection
        Of a model with projections.
    views : Views
        One query.
    name : str
        View of the query.
    target : ndarray
        Vector of the object in the space of the model.
    mean : ndarray
        Mean position of the training objects by the same view.
    center : {"mean", "row"}
        What is taken off each position.

    Returns
    -------
    dict
        By feature, and `AVERAGE` for what is taken off; they sum to the product of both vectors, of length 1.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import MultiViewCCA, inspect
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(60, n_clusters=3, random_state=0).views
    >>> model = MultiViewCCA(2, random_state=0).fit(X)
    >>> query = X[[0]].select("view0")
    >>> parts = feature_contributions(inspect(model), query, "view0", np.array([1.0, 0.0]), np.zeros(2), "mean")
    >>> position = model.transform(query)[0]
    >>> bool(np.isclose(sum(parts.values()), position[0] / np.linalg.norm(position)))
    True
    """
    prepared = model.prepare(views.select(name))
    position = np.asarray(model.embed(prepared, prepared=True))[0].astype(np.float64)
    apart = position - (mean if center == "mean" else position.mean())
    length = np.linalg.norm(apart)
    if np.abs(apart).max(initial=0.0) < 1e-12:
        return {}
    along = target if center == "mean" else target - target.mean()  # taking a row's mean off either side is the same
    row = sparse.csr_array(prepared[name])
    names = model.feature_names(name)
    values = row.data * (model.projections[name][row.indices] @ along) / length
    parts: dict[str, float] = {}
    for j, value in zip(row.indices, values):  # features may share a name
        parts[names[j]] = parts.get(names[j], 0.0) + float(value)
    parts[AVERAGE] = float(apart @ target / length - values.sum())
    return parts

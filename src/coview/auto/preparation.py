"""How the Auto models make views comparable.

Counts are weighed by `weigh_counts`, columns of measurements scaled by `ScaledViews`, views smoothed over links stay as
they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from coview.clustering.affinity import metric_by_default
from coview.clustering.links import with_smoothed
from coview.preprocessing.scaling import SCALINGS, ScaledViews
from coview.preprocessing.weighting import TfidfViews, weigh_counts
from coview.utils import fitted_state as rules
from coview.views.arrays import looks_counted
from coview.views.views import Views, n_present

__all__ = [
    "MOST_OBJECTS",
    "SCALING",
    "WEIGHTED",
    "counted_views",
    "join_tokens",
    "preparation",
    "prepared",
    "token_weights",
    "view_scalings",
]

# above which neighbors of all objects take too long: a sample is clustered, and experts are judged with one
MOST_OBJECTS = 20_000
WIDE = 50  # columns up to which counts may well be something else, such as the pixels of a small image
WEIGHTED, GIVEN = "tf-idf", "unit length"  # how counts are made comparable, and those that have weights already
# what a fitted model keeps of how each view was; models of older files have nothing
SCALING = rules.optional(rules.mapping(rules.choice(WEIGHTED, GIVEN, *SCALINGS)))


def counted_views(views: Views) -> list[str]:
    """Names of the views that look like counts: nothing negative, at least half zeros in the rows that have the view.

    Examples
    --------
    >>> import numpy as np
    >>> counted_views(Views(words=np.eye(3), pixels=np.ones((3, 2)), waves=-np.eye(3)))
    ['words']
    """
    having = n_present(views)
    return [name for name, matrix in views.items() if looks_counted(matrix, having[name])]


def measured_views(views: Views) -> list[str]:
    """Names of the views that distances of scaled columns suit: those that cosines do not."""
    having = n_present(views)
    return [name for name, matrix in views.items() if metric_by_default(matrix, having[name]) != "cosine"]


def preparation(views: Views, names: Sequence[str] | None = None) -> list[Any]:
    """Transformers that make views comparable, learned: weights for counts, scales for measurements.

    Only views of these names are changed, None for all: those smoothed over links stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> X = Views(words=np.eye(3), sizes=np.array([[1.0], [2.0], [6.0]]))
    >>> prepared(X, preparation(X))["sizes"].ravel().round(2)
    array([-0.93, -0.46,  1.39])
    """
    given = views if names is None else views.select(*names)
    counted = counted_views(given)
    measured = measured_views(given)
    transformers: list[Any] = [step.fit(views) for step in weigh_counts(views, counted)]
    if measured:
        transformers.append(ScaledViews(views=measured).fit(views))
    return transformers


def token_weights(views: Views) -> list[Any]:
    """Transformers that weigh the tokens of views of many counts and leave rows as long as they are, learned.

    None where there is one view alone, or none of many counts.

    Examples
    --------
    >>> import numpy as np
    >>> [step.views for step in token_weights(Views(words=np.eye(60), tags=np.eye(60)))]
    [['words', 'tags']]
    """
    wide = [name for name in counted_views(views) if views[name].shape[1] > WIDE]
    if not wide or len(views.names) == 1:
        return []
    return [clone(step).set_params(norm=None).fit(views) for step in weigh_counts(views, wide)]


def join_tokens(views: Views, weights: list[Any], shares: Mapping[str, float]) -> Views:
    """Return weighed views of counts as one, "tokens": rows side by side, in which a long view counts for more.

    A view that is not given, or that an object lacks, has no tokens; those of the others count for the view's share.

    Examples
    --------
    >>> import numpy as np
    >>> X = Views(words=np.eye(60), tags=np.eye(60))
    >>> join_tokens(X, token_weights(X), {"words": 1.0, "tags": 1.0})
    Views of 60 rows
      tokens  60 x 120  sparse float64  1.7 % non-zero
    """
    parts, there = [], np.zeros(len(views), dtype=bool)
    for step in weights:
        names = [name for name in step.views if name in views]
        weighed = step.transform(views.select(*names)) if names else None
        for name in step.views:
            if weighed is None or name not in names:
                parts.append(sparse.csr_array((len(views), len(step.idf_[name]))))
                continue
            parts.append(sparse.csr_array(weighed[name] * np.sqrt(shares.get(name, 1.0))))
            there |= views.present[:, views.names.index(name)]
    return Views({"tokens": sparse.csr_array(sparse.hstack(parts))}, present={"tokens": there})


def view_scalings(steps: Iterable[Any]) -> dict[str, str]:
    """How fitted transformers make the columns of each view comparable.

    "tf-idf", "unit length" where some step takes it to have such weights already, or a scaling of `ScaledViews`.

    Examples
    --------
    >>> import numpy as np
    >>> X = Views(words=np.eye(3), sizes=np.array([[1.0], [2.0], [6.0]]))
    >>> view_scalings(preparation(X))
    {'words': 'tf-idf', 'sizes': 'standard'}
    """
    scalings: dict[str, str] = {}
    for step in steps:
        if isinstance(step, TfidfViews):
            for name in step.changed_views_:
                scalings[name] = scalings.get(name, WEIGHTED) if step.use_idf else GIVEN
        elif isinstance(step, ScaledViews):
            scalings.update(step.scaling_)
    return scalings


def prepared(views: Views, by: list[Any]) -> Views:
    """Views after the transformers of `preparation`."""
    for transformer in by:
        if isinstance(transformer, Pipeline):
            views = with_smoothed(transformer, views)
            continue
        views = transformer.transform(views)
    return views

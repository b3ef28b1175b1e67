"""One view cut into several: its features shared out at random, each to one part."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from coview.exceptions import ViewsError
from coview.validation import checked_random_state
from coview.views.coerce import as_views
from coview.views.views import Views

__all__ = ["split_features"]


def split_features(X: Any, n: int, random_state: Any = None) -> Views:
    """Split the features of one view at random into `n` views of (nearly) equal size.

    Parameters
    ----------
    X : matrix, frame or Views of one view
        Objects x features, dense or sparse.
    n : int
        Number of views to make, at most the number of features.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the split.

    Returns
    -------
    Views
        Views ``part0``, ``part1``, ...; within a part the features keep their order and their names.

    Examples
    --------
    >>> import numpy as np
    >>> split_features(np.arange(10).reshape(2, 5), 2, random_state=0)
    Views of 2 rows
      part0  2 x 3  dense int64  83.3 % non-zero
      part1  2 x 2  dense int64  100.0 % non-zero
    """
    views = as_views(X)
    if len(views.names) > 1:
        listed = ", ".join(map(repr, views.names))
        raise ViewsError(f"split_features takes one view, got {len(views.names)} ({listed}). Choose one: X[name].")
    name = views.names[0]
    n_features = views.n_features[name]
    if isinstance(n, bool) or not isinstance(n, numbers.Integral) or not 1 <= n <= n_features:
        raise ViewsError(f"n must be an integer from 1 to the {n_features} features of the view, got {n!r}.")
    rng: Any = random_state if isinstance(random_state, np.random.Generator) else checked_random_state(random_state)
    parts = [np.sort(columns) for columns in np.array_split(rng.permutation(n_features), n)]
    names = views.feature_names.get(name)
    return Views(
        {f"part{i}": views[name][:, columns] for i, columns in enumerate(parts)},
        ids=views.ids,
        present=np.repeat(views.present, n, axis=1),
        feature_names=None if names is None else {f"part{i}": names[columns] for i, columns in enumerate(parts)},
    )

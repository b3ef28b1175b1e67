"""`MultiViewCCA`: one space of any number of views, sparse ones included, by canonical correlation analysis.

The formulas are in `coview.decomposition.common_space`, since clustering uses the same space.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from coview.base import MultiViewEstimator
from coview.decomposition.common_space import CommonSpace, common_space
from coview.inspection import Features, Inspection
from coview.validation import base_seed, check_count, per_view
from coview.views.views import Matrix, Views

__all__ = ["MultiViewCCA"]

RANK_PER_COMPONENT, LEAST_RANK = 3, 100  # directions of each view that are kept: for each component, and at least


class MultiViewCCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MultiViewEstimator):
    """A common space of several views by regularized canonical correlation analysis.

    Parameters
    ----------
    n_components : int, default=100
        Dimensions of the common space; fewer where the views have fewer.
    regularization : float or {view: float}, default=0.005
        Ridge of each view, as a share of its total variance; more of it trusts strong directions more.
    power : float, default=1.0
        Components are multiplied by their correlation to this power: those that the views agree on count more. 0 leaves
        canonical variates as the textbook has them, of equal weight.
    rank : int or None, default=None
        Number of singular directions kept of each view; None is three times `n_components`, and at least 100.
    power_iter : int, default=4
        Power iterations of the randomised singular value decomposition.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the sketch.

    Attributes
    ----------
    weights_ : dict of ndarray (n_features of the view, n_components)
        What each feature adds to each component.
    offsets_ : dict of ndarray (n_components,)
        What the mean of the training objects adds; it is taken off.
    correlations_ : ndarray (n_components,)
        How far the views agree on each component, from 0 to 1, falling.

    See Also
    --------
    SemanticCorrelationMatching : the same space, and classes in it.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import MultiViewCCA
    >>> from coview.datasets import make_topic_views
    >>> X = make_topic_views(n_objects=200, n_clusters=3, random_state=0).views
    >>> model = MultiViewCCA(n_components=2, random_state=0).fit(X)
    >>> words, links = (model.transform(X.select(name)) for name in X.names)
    >>> bool(np.corrcoef(words[:, 0], links[:, 0])[0, 1] > 0.9)
    True
    """

    _models_counts = False
    weights_: dict[str, np.ndarray]
    offsets_: dict[str, np.ndarray]
    correlations_: np.ndarray

    def __init__(
        self,
        n_components: int = 100,
        *,
        regularization: Any = 0.005,
        power: float = 1.0,
        rank: int | None = None,
        power_iter: int = 4,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.regularization = regularization
        self.power = power
        self.rank = rank
        self.power_iter = power_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> MultiViewCCA:
        """Learn the common space; y is ignored."""
        self._learn_space(self._fit_views(X))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Place objects in the common space from some or all of the fitted views: the mean over those they have."""
        return self.project(X)

    def project(self, X: Any) -> np.ndarray:
        """Place objects in the common space, whatever `transform` gives."""
        check_is_fitted(self, "weights_")
        return CommonSpace(self.weights_, self.offsets_, self.correlations_).place(self._new_views(X))

    def _inspect(self) -> Inspection:
        """Answer `inspect`: components of a space; memberships are coordinates."""
        count = len(self.correlations_)
        return Inspection(
            self,
            "component",
            [str(k) for k in range(count)],
            list(range(count)),
            self._view_inputs(),
            history={"correlations": self.correlations_},
            projections=dict(self.weights_),
            _features=lambda view: Features(self.weights_[view].T, False, "weight"),
            _memberships=self.project,
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.correlations_)

    def _placed(self, name: str, matrix: Matrix) -> np.ndarray:
        return np.asarray(matrix @ self.weights_[name]) - self.offsets_[name]

    def _learn_space(self, views: Views) -> None:
        n_components = check_count("n_components", self.n_components)
        rank = max(RANK_PER_COMPONENT * n_components, LEAST_RANK)
        if self.rank is not None:
            rank = check_count("rank", self.rank)
        power_iter = check_count("power_iter", self.power_iter, 0)
        if isinstance(self.power, bool) or not isinstance(self.power, numbers.Real) or not 0 <= self.power < np.inf:
            raise ValueError(f"power must be a number of at least 0, got {self.power!r}.")
        space = common_space(
            views,
            n_components,
            ridge=per_view("regularization", self.regularization, views.names, default=0.005),
            power=float(self.power),
            rank=rank,
            power_iter=power_iter,
            seed=base_seed(self.random_state),
        )
        self.weights_, self.offsets_, self.correlations_ = space.weights, space.offsets, space.correlations

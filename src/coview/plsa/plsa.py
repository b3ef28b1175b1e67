"""PLSA: each object a mixture of topics, each topic a distribution over features.

    p(f|d) = sum_y p(f|y) p(y|d),     log-likelihood = sum_df x_df log p(f|d)

With A = p(y|d) (objects x topics), F = p(f|y) (features x topics) and R = X / (A F^T) on the non-zeros of X, one sweep
of EM is A <- rows(A * R F), F <- cols(F * R^T A). The alternating schedule recomputes R between the two and climbs
faster; the joint schedule uses one R for both, as in the literature. Several views are one matrix side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from coview.engines.state import Tree
from coview.exceptions import ViewsError
from coview.plsa.factors import (
    FEATURE_FLOOR,
    as_distributions,
    initial_arrays,
    nonnegative_svd,
    random_topics,
    view_masses,
)
from coview.plsa.mixture import MixtureModel
from coview.plsa.steps import JointSteps, MixtureSteps
from coview.utils.docs import shared_parameters
from coview.validation import check_count, check_option
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["PLSA"]


@shared_parameters
class PLSA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MixtureModel):
    """Probabilistic latent semantic analysis of one view; several views are taken side by side.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    max_iter : int, default=200
        Most sweeps over the data.
    tol : float, default=1e-5
        Stop when the log-likelihood changes by less than this, relative to itself; 0 runs exactly `max_iter` sweeps.
    n_init : int, default=1
        Number of starts; the one that ends highest is kept.
    init : {"random", "nndsvd"} or dict, default="random"
        Where to start. A dict holds any of ``memberships``, ``topic_feature`` (an array where there is one view, else
        ``{view: array}``) and ``topic_view`` in the shapes of the fitted attributes; the rest is random.
    schedule : {"alternating", "joint"}, default="alternating"
        Update topics with fresh mixtures, or both from the same expectations.
    acceleration : {None, "squarem"}, default=None
        Extrapolate every second sweep; never lowers the likelihood.
    <shared: engine, n_jobs, learning_decay, learning_offset>
    <shared: time_budget, random_state, verbose, callbacks>
    <shared: checkpoint>

    Attributes
    ----------
    topic_feature_ : dict of ndarray (n_components, n_features of the view)
        ``p(feature | topic, view)`` by view; rows sum to one.
    topic_view_ : ndarray (n_components, n_views)
        ``p(view | topic)``: how much of each topic lies in each view.
    memberships_ : ndarray (n_objects, n_components)
        ``p(topic | object)`` of the training objects.
    history_ : dict of lists
        "objective" (log-likelihood) and "seconds" after each sweep; entry 0 is the start.
    n_iter_ : int
        Sweeps of the best start.
    view_names_ : list of str
        Names of the views.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import PLSA
    >>> X = np.array([[4, 3, 0, 0], [5, 4, 0, 0], [0, 0, 3, 4], [0, 1, 6, 5]])
    >>> model = PLSA(n_components=2, random_state=0).fit(X)
    >>> topics = model.transform(X).argmax(axis=1)
    >>> bool(topics[0] == topics[1]), bool(topics[2] == topics[3]), bool(topics[0] == topics[2])
    (True, True, False)
    >>> model.topic_feature_["x"].sum(axis=1)
    array([1., 1.])
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        max_iter: int = 200,
        tol: float = 1e-5,
        n_init: int = 1,
        init: Any = "random",
        schedule: str = "alternating",
        acceleration: str | None = None,
        engine: Any = "auto",
        n_jobs: int | None = None,
        learning_decay: float = 0.7,
        learning_offset: float = 10.0,
        time_budget: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
        checkpoint: Any = None,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.init = init
        self.schedule = schedule
        self.acceleration = acceleration
        self.engine = engine
        self.n_jobs = n_jobs
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.time_budget = time_budget
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: Any = None) -> PLSA:
        """Learn topics from X; y is ignored."""
        return self._fit(X, self._fit_views(X))

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn topics from X and fold X in, so that what follows is trained on what it will meet later.

        The mixtures at the end of the fit itself are in `memberships_`.
        """
        return self.fit(X).transform(X)

    def transform(self, X: Any) -> np.ndarray:
        """Topic mixtures of objects, new or old, from some or all of the fitted views (topics stay fixed).

        Rows sum to one; an object without any feature gets an even mixture.
        """
        return self._mixtures(X)

    def partial_fit(self, X: Any, y: Any = None) -> PLSA:
        """Learn from one minibatch (online EM), going on from what is known; every batch has the views of the first."""
        fitted = hasattr(self, "topic_feature_")
        self._learn_stream(self._new_views(X) if fitted else self._fit_views(X))
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood per token (unit of mass) of X, its mixtures folded in; 0 where X holds nothing."""
        return self._token_score(X)

    def inverse_transform(self, X: Any) -> Any:
        """Expected shares of the features given topic mixtures (objects x topics).

        Returns a matrix where the model was fitted on one view, else Views; a whole row sums to one over all views.
        """
        mixtures = self._checked_mixtures(X)
        parts = {
            name: (mixtures * self.topic_view_[:, v]) @ self.topic_feature_[name]
            for v, name in enumerate(self.view_names_)
        }
        return next(iter(parts.values())) if len(parts) == 1 else Views(parts)

    # -- pieces

    _mixture = "memberships_"
    _start_names: tuple[str, ...] = ("memberships", "topic_feature", "topic_view")

    def _checked_mixtures(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "topic_feature_")
        mixtures, columns = np.asarray(X), self._n_features_out
        if mixtures.ndim != 2 or mixtures.shape[1] != columns:
            raise ValueError(f"X must be (objects, {columns}) topic mixtures, got shape {mixtures.shape}.")
        return mixtures

    @property
    def _n_features_out(self) -> int:
        return len(self.topic_view_)

    def _steps(self) -> MixtureSteps:
        return JointSteps(check_count("n_components", self.n_components), self.schedule == "alternating")

    def _begin(self, views: Any, seed: int, labels: np.ndarray | None) -> tuple[Any, dict[str, Any]]:
        carried: dict[str, np.ndarray] = {}
        if isinstance(self.init, Mapping):
            arrays = initial_arrays(self.init, self._start_names, list(views.names))
            if "memberships" in arrays:
                shape = (len(views), self.n_components)
                carried["start"] = as_distributions("memberships", arrays["memberships"], shape)
            return lambda here: {"profiles": self._start_profiles(arrays, views, here)}, carried
        if check_option("init", self.init, ("random", "nndsvd")) == "random":
            return lambda here: {"profiles": self._start_profiles({}, views, here)}, carried
        if isinstance(views, LazyViews):
            raise ViewsError(
                "init='nndsvd' needs the rows in memory, got rows that are read when needed. Use 'random'."
            )
        carried["start"], columns = nonnegative_svd(views, self.n_components, seed)
        return lambda here: {"profiles": self._as_start(columns)}, carried

    def _fixed_start(self) -> bool:
        if isinstance(self.init, Mapping):
            return {"memberships", "topic_feature"} <= {str(key).rstrip("_") for key in self.init}
        return self.init == "nndsvd"

    def _as_start(self, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Start profiles from columns that sum to one over all views."""
        return columns

    def _start_profiles(self, arrays: Mapping[str, Any], views: Any, seed: int) -> dict[str, np.ndarray]:
        """Topics over all views: given or random, each view with its share of the mass."""
        mass = view_masses(views)
        mass = mass / mass.sum() if mass.sum() > 0 else np.full(len(mass), 1 / len(mass))
        shares = np.tile(mass, (self.n_components, 1))
        if "topic_view" in arrays:
            shares = as_distributions("topic_view", arrays["topic_view"], shares.shape)
        given = arrays.get("topic_feature", {})
        topics = {
            name: random_topics(given.get(name), self.n_components, width, seed, name)
            for name, width in views.n_features.items()
        }
        return {
            name: np.maximum((part * shares[:, [v]]).T, FEATURE_FLOOR) for v, (name, part) in enumerate(topics.items())
        }

    def _profiles(self, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        columns = [self.view_names_.index(name) for name in names]
        weights = self.topic_view_[:, columns]
        weights = weights / weights.sum(axis=1, keepdims=True)
        return {
            name: np.maximum(self.topic_feature_[name].T * weights[:, v], FEATURE_FLOOR) for v, name in enumerate(names)
        }

    def _shared_attributes(self, shared: Tree) -> dict[str, Any]:
        topics, shares = split_by_view(shared["profiles"])
        return {"topic_feature_": topics, "topic_view_": shares}


def split_by_view(parts: Tree) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Topics over all views as p(feature | topic, view) by view (topics x features) and p(view | topic)."""
    shares = np.column_stack([part.sum(axis=0, dtype=np.float64) for part in parts.values()])
    if len(parts) == 1:
        return {name: part.T for name, part in parts.items()}, np.ones_like(shares)
    topics = {
        name: (part / np.maximum(shares[:, v], FEATURE_FLOOR)).astype(part.dtype).T
        for v, (name, part) in enumerate(parts.items())
    }
    return topics, shares / shares.sum(axis=1, keepdims=True)

"""PLSA: each object a mixture of topics, each topic a distribution over features.

    p(f|d) = sum_y p(f|y) p(y|d),     log-likelihood = sum_df x_df log p(f|d)

With A = p(y|d) (objects x topics), F = p(f|y) (features x topics) and R = X / (A F^T) on the non-zeros of X, one sweep
of EM is A <- rows(A * R F), F <- cols(F * R^T A). `algorithm="fast"` recomputes R between the two, and adds momentum;
"published" uses one R for both. Several views are one matrix side by side. With
`background` there is one more distribution, fixed, that all objects share (`background.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coview.engines.deadline import Deadline
from coview.engines.passes import over_rows
from coview.engines.state import Tree
from coview.exceptions import ViewsError
from coview.inspection import Features
from coview.plsa.background import (
    LARGEST_SHARE,
    BackgroundSteps,
    background_of,
    background_rule,
    moved_background,
    over_background,
    topic_counts_rule,
    topics_of,
    with_background,
)
from coview.plsa.factorized_start import factorized_arrays, nonnegative_svd
from coview.plsa.factors import (
    EVERY_FEATURE,
    FEATURE_FLOOR,
    as_distributions,
    given_keys,
    initial_arrays,
    random_topics,
    softened,
    view_shares,
)
from coview.plsa.likeliest_start import placed
from coview.plsa.mixture import FitContext, MixtureModel, MixtureSteps
from coview.plsa.seeds import SEED_PARAMETERS
from coview.plsa.vector_start import cluster_vectors
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import MAPPING, number, one_of
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["PLSA", "split_by_view"]


@shared_parameters
class PLSA(MixtureModel):
    """Probabilistic latent semantic analysis of one view; several views are concatenated.

    Views have no weights: a vector of a Gaussian view counts as one token. `LinkPLSA` weighs views.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    <shared: background, seeds, seed_strength, max_iter, tol, n_init>
    init : {"auto", "nmf", "random", "nndsvd"} or dict, default="auto"
        Where to start. "auto" is "nmf" with a background, else "random". "nmf" factorizes the tf-idf of the views into
        nonnegative topics for a few sweeps (of every n-th object, where there are more than 5,000 and 100 per topic),
        or clusters the vectors by k-means where those lead; "random" starts from `n_init` random mixtures, as
        published, "nndsvd" from the singular vectors of the counts. A dict holds any of ``memberships``,
        ``topic_feature`` (an array where there is one view, else ``{view: array}``) and ``topic_view`` in the shapes of
        the fitted attributes; the rest is random.
    <shared: likelihood, algorithm, engine, n_jobs>
    <shared: learning_decay>
    <shared: random_state, verbose>

    Attributes
    ----------
    <shared: topic_feature_, background_>
    topic_view_ : ndarray (n_components, n_views)
        ``p(view | topic)``: how much of each topic lies in each view; 0 for Gaussian views, where there are others.
    memberships_ : ndarray (n_objects, n_components)
        ``p(topic | object)`` of the training objects.
    <shared: group_names_>
    <shared: likelihood_, noise_variance_, variance_explained_>
    <shared: group_means_, column_moments_>
    <shared: history_, fit_seconds_>
    <shared: n_iter_, stopped_by_>
    <shared: fitted views>

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

    topic_view_: np.ndarray
    memberships_: np.ndarray
    background_: dict[str, np.ndarray]
    _takes_vectors = True
    _joint = True  # a topic is one distribution over all views
    _group_rows: tuple[str, ...] = ("topic_feature_", "topic_view_")
    _fitted_state = {
        "topic_view_": rules.shares("topics", "views"),
        "background_": background_rule(joint=True),
        "batch_counts_": topic_counts_rule(),
    }

    _parameters = {
        **SEED_PARAMETERS,
        "background": number(most=LARGEST_SHARE),
        "init": one_of("auto", "nmf", "random", "nndsvd") | MAPPING,
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        background: float = 0.0,
        seeds: Any = None,
        seed_strength: float = 0.03,
        max_iter: int = 200,
        tol: float = 1e-5,
        n_init: int = 1,
        init: Any = "auto",
        likelihood: Any = "auto",
        algorithm: str = "fast",
        engine: Any = "auto",
        n_jobs: int | None = None,
        learning_decay: float = 0.7,
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.background = background
        self.seeds = seeds
        self.seed_strength = seed_strength
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.init = init
        self.likelihood = likelihood
        self.algorithm = algorithm
        self.engine = engine
        self.n_jobs = n_jobs
        self.learning_decay = learning_decay
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> PLSA:
        """Learn topics from X; y is ignored."""
        return self._fit_until(X, self._deadline())

    def _fit_until(self, X: Any, deadline: Deadline) -> PLSA:
        views = self._fit_views(X)
        self.background_ = self._background_of(views, self.background)
        return self._fit(X, views, deadline)

    def partial_fit(self, X: Any, y: Any = None) -> PLSA:
        """Update the model with one minibatch (online EM); every batch must have the views of the first."""
        self._learn_stream(self._known_views(X))
        return self

    def inverse_transform(self, X: Any) -> Any:
        """Compute the expected feature frequencies from topic mixtures (objects x topics).

        Returns a matrix where the model was fitted on one view, else Views; a whole row sums to one over all views of
        counts, and holds the expected vectors in Gaussian ones.
        """
        check_is_fitted(self, "topic_feature_")
        shares = {name: self.topic_view_[:, v] for v, name in enumerate(self.view_names_)}
        return self._expected(X, {**shares, **dict.fromkeys(self._vector_views(), 1.0)})

    # -- pieces

    _start_names: tuple[str, ...] = ("memberships", "topic_feature", "topic_view")

    def _expected(self, X: Any, shares: dict[str, Any]) -> Any:
        """Features expected of mixtures, each view times its share in the topics."""
        mixtures, columns = np.asarray(X), self._n_features_out
        if mixtures.ndim != 2 or mixtures.shape[1] != columns:
            raise ValueError(f"X must be (objects, {columns}) topic mixtures, got shape {mixtures.shape}.")
        parts = {name: (mixtures * shares[name]) @ topics for name, topics in self.topic_feature_.items()}
        if background := self._background():
            some = {name: parts[name] for name in background}
            rows = {name: part.T for name, part in background.items()}
            parts.update(over_background(some, rows, joint=self._joint))
        return next(iter(parts.values())) if len(parts) == 1 else Views(parts)

    def _steps(self) -> MixtureSteps:
        kind = BackgroundSteps if self._background() else MixtureSteps
        return kind(self.n_components, self.algorithm == "fast", gaussian=self._vector_views(), joint=True)

    def _background_of(self, views: Any, share: float) -> dict[str, np.ndarray]:
        """Measure the background in the views of counts; none where it has no share."""
        counts = self._counts_of(views)
        return background_of(counts, share, joint=self._joint) if share > 0 and counts is not None else {}

    def _background(self) -> dict[str, np.ndarray]:
        """Fitted background as columns (features x 1), empty where there is none."""
        return {name: part[:, None] for name, part in vars(self).get("background_", {}).items()}

    def _learn_batch(self, views: Any, extra: dict[str, Any]) -> None:
        known = vars(self).get("background_", {})
        if not self._has_learned():
            self.background_ = self._background_of(views, self.background)
        elif known and list(views.names) == self.view_names_:
            self.background_ = moved_background(known, self._counts_of(views), self._batch_weight(), joint=self._joint)
        super()._learn_batch(views, extra)

    def _starts_from(self) -> Any:
        """What `init` says, "auto" spelled out."""
        automatic = isinstance(self.init, str) and self.init == "auto"
        return ("nmf" if self._background() else "random") if automatic else self.init

    def _initial_arrays(self, views: Any, context: FitContext) -> dict[str, Any]:
        """Arrays to start from, by the keys of `init`."""
        if context.start is not None or not isinstance(self.init, str) or self._starts_from() != "nmf":
            return initial_arrays(self.init, self._start_names, list(views.names))
        leading = self._leading_views(views)
        if leading:
            return self._by_vectors(views.select(*leading), context)
        weights = self._weights_of(views)
        names = [name for name in self._count_views(views.names) if weights.get(name, 1.0) > 0]
        if not names:
            return {}
        counts = views.select(*names)
        return factorized_arrays(counts, self.n_components, context.seed, weights, deadline=context.deadline)

    def _leading_views(self, views: Any) -> tuple[str, ...]:
        """Gaussian views that the start is made of alone: where there are no counts."""
        return () if self._count_views(views.names) else self._vector_views()

    def _weights_of(self, views: Any) -> dict[str, float]:
        """Weights of the views; they count alike here."""
        return {}

    def _by_vectors(self, views: Any, context: FitContext) -> dict[str, Any]:
        """Memberships by k-means of views of vectors; the topics of other views are random."""
        start = cluster_vectors(views, self.n_components, context.seed)
        return {"memberships": softened(np.concatenate(over_rows(views, partial(placed, start=start))))}

    def _begin(self, views: Any, context: FitContext) -> tuple[Callable[[int], Tree], dict[str, Any]]:
        arrays = self._initial_arrays(views, context)
        carried: dict[str, Any] = {}
        if "memberships" in arrays and isinstance(self.init, str):  # of our own making, or how to make them
            carried["start"] = arrays["memberships"]
        elif "memberships" in arrays:
            shape = (len(views), self.n_components)
            carried["start"] = as_distributions("memberships", arrays["memberships"], shape)
        if context.start is not None or self.init != "nndsvd":
            return lambda here: self._as_shared(self._start_profiles(arrays, views, here)), carried
        if isinstance(views, LazyViews):
            raise ViewsError("init='nndsvd' requires in-memory views, got lazy views. Use init='random'.")
        counts = self._counts_of(views)
        if counts is None:
            raise ViewsError("init='nndsvd' requires a view of counts, but all views are Gaussian. Use init='random'.")
        carried["start"], columns = nonnegative_svd(counts, self.n_components, context.seed)
        return lambda here: self._as_shared(self._as_start(columns)), carried

    def _as_shared(self, topics: dict[str, np.ndarray]) -> Tree:
        """Shared parameters of topics (features x topics), over the background where there is one."""
        background = self._background()
        return with_background(topics, background, joint=self._joint) if background else {"profiles": topics}

    def _fixed_start(self) -> bool:
        start = self._starts_from()
        return {"memberships", "topic_feature"} <= given_keys(start) or start in ("nmf", "nndsvd")

    def _as_start(self, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Start profiles from columns that sum to one over all views."""
        return columns

    def _start_profiles(self, arrays: dict[str, Any], views: Any, seed: int) -> dict[str, np.ndarray]:
        """Topics over all views of counts: given or random, each view with its share of the mass."""
        given, names = arrays.get("topic_view"), list(views.names)
        views = self._counts_of(views)
        if views is None:
            return {}
        if given is not None and np.shape(given)[1:] == (len(names),):  # Gaussian views have no share
            given = np.asarray(given)[:, [names.index(name) for name in views.names]]
        shares = view_shares(views, self.n_components, given)
        topics = random_topics(
            arrays.get("topic_feature", {}), dict.fromkeys(views.names, self.n_components), views.n_features, seed
        )
        return {name: np.maximum(part * shares[:, v], FEATURE_FLOOR) for v, (name, part) in enumerate(topics.items())}

    def _profiles(
        self, names: tuple[str, ...], some: Mapping[str, np.ndarray] = EVERY_FEATURE
    ) -> dict[str, np.ndarray]:
        background = self._background()
        parts = self._topics(names, some)
        if background:
            parts = over_background(parts, background, some, joint=self._joint)
        if self._joint:  # a subset of views: each topic's distribution over what is there
            shares = dict(zip(self.view_names_, self.topic_view_.T))
            left = 1 - sum(part.sum() for part in background.values())
            total = sum(left * shares[name] + (background[name].sum() if background else 0.0) for name in names)
            parts = {name: part / np.maximum(total, FEATURE_FLOOR) for name, part in parts.items()}
        return {name: np.maximum(part, FEATURE_FLOOR) for name, part in parts.items()}

    def _with_background(self, view: str) -> Features | None:
        background, shares = self._background(), self._view_shares(view)
        if not background:
            return None
        if shares is not None:
            left = 1 - sum(part.sum() for part in background.values())
            shares = left * shares + background[view].sum()
        return Features(self._profiles((view,))[view].T, True, view_shares=shares)

    def _view_shares(self, view: str) -> np.ndarray | None:
        return self.topic_view_[:, self.view_names_.index(view)] if self._joint else None

    def _topics(self, names: tuple[str, ...], some: Mapping[str, np.ndarray] = EVERY_FEATURE) -> dict[str, np.ndarray]:
        """Fitted topics (features x topics) over some of the views, each with the share of its view."""
        shares = {name: self.topic_view_[:, v] for v, name in enumerate(self.view_names_)}
        return {name: self._topics_of(name, some) * shares[name] for name in names}

    def _restored(self) -> Tree:
        names = self._count_views(self.view_names_)
        topics = {name: np.maximum(part, FEATURE_FLOOR) for name, part in self._topics(names).items()}
        return {**self._as_shared(topics), **self._fitted_means(self.view_names_)}

    def _shared_attributes(self, shared: Tree) -> dict[str, Any]:
        n_views = len(self.view_names_)
        if not shared["profiles"]:  # nothing to have a share of
            width = next(iter(shared["means"].values())).shape[1]
            return {"topic_feature_": {}, "topic_view_": np.full((width, n_views), 1 / n_views)}
        topics, known = split_by_view(topics_of(shared))
        shares = np.zeros((len(known), n_views))
        shares[:, [self.view_names_.index(name) for name in topics]] = known
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

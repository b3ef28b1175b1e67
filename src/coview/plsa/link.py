"""Link-PLSA: one topic mixture per object for all views, one distribution per topic and view.

    p(f | d, v) = sum_y p(y|d) p(f|y,v),     maximize sum_v w_v sum_df x_vdf log p(f | d, v)

Unlike views side by side, each view is a distribution of its own: an object's long view does not drown its short one in
the topics, and a view that an object lacks says nothing about its topics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coview.engines.state import Tree
from coview.plsa.background import BackgroundSteps, background_rule, topics_of
from coview.plsa.factors import EVERY_FEATURE
from coview.plsa.likeliest_start import likeliest_arrays
from coview.plsa.mixture import FitContext, MixtureSteps, WeightedModel, random_profiles
from coview.plsa.plsa import PLSA
from coview.utils.docs import shared_parameters
from coview.utils.parameters import MAPPING, one_of

__all__ = ["LinkPLSA"]


@shared_parameters
class LinkPLSA(WeightedModel, PLSA):
    """Topics of several views with one topic mixture per object.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    <shared: vector_weights, background, seeds, seed_strength, max_iter, tol, n_init>
    init : {"auto", "nmf", "random", "nndsvd", "likeliest"} or dict, default="auto"
        Where to start. "auto" is "nmf" with a background, else "random". "nmf" factorizes the tf-idf of the views into
        nonnegative topics for a few sweeps (of every n-th object, where there are more than 5,000 and 100 per topic),
        or clusters the vectors by k-means where there are no counts; "random" starts from `n_init` random mixtures, as
        published, "nndsvd" from the singular vectors of the counts, "likeliest" from the most likely, after a few
        sweeps, of several consensus clusterings of the views. A dict holds any of ``memberships`` and ``topic_feature``
        (an array where there is one view, else ``{view: array}``) in the shapes of the fitted attributes; the rest is
        random.
    <shared: likelihood, algorithm, engine, n_jobs>
    <shared: learning_decay>
    <shared: random_state, verbose>

    Attributes
    ----------
    <shared: topic_feature_, background_>
    memberships_ : ndarray (n_objects, n_components)
        ``p(topic | object)`` of the training objects, shared by all views.
    <shared: group_names_>
    <shared: view_weights_, likelihood_, noise_variance_, variance_explained_>
    <shared: group_means_, column_moments_>
    <shared: history_, fit_seconds_, n_iter_, stopped_by_>
    <shared: fitted views>

    Examples
    --------
    >>> from coview import LinkPLSA
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=100, n_clusters=3, random_state=0)
    >>> model = LinkPLSA(n_components=3, random_state=0).fit(data.views)
    >>> model.transform(data.views.select("view1")).shape
    (100, 3)
    """

    _parameters = {
        "init": one_of("auto", "nmf", "random", "nndsvd", "likeliest") | MAPPING,
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        view_weights: Any = None,
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
        super().__init__(
            n_components,
            background=background,
            seeds=seeds,
            seed_strength=seed_strength,
            max_iter=max_iter,
            tol=tol,
            n_init=n_init,
            init=init,
            likelihood=likelihood,
            algorithm=algorithm,
            engine=engine,
            n_jobs=n_jobs,
            learning_decay=learning_decay,
            random_state=random_state,
            verbose=verbose,
        )
        self.view_weights = view_weights

    def inverse_transform(self, X: Any) -> Any:
        """Compute the expected feature frequencies of each view from topic mixtures (objects x topics).

        Returns a matrix where the model was fitted on one view, else Views; rows sum to one in every view of counts,
        and are the expected vectors in Gaussian ones.
        """
        check_is_fitted(self, "topic_feature_")
        return self._expected(X, dict.fromkeys(self.view_names_, 1.0))

    _fitted_state = {"topic_view_": None, "background_": background_rule(joint=False)}
    _start_names = ("memberships", "topic_feature")
    _joint = False
    _group_rows = ("topic_feature_",)

    def _topics(self, names: tuple[str, ...], some: Mapping[str, np.ndarray] = EVERY_FEATURE) -> dict[str, np.ndarray]:
        return {name: self._topics_of(name, some) for name in names}

    def _shared_attributes(self, shared: Tree) -> dict[str, Any]:
        return {"topic_feature_": {name: part.T for name, part in topics_of(shared).items()}}

    def _steps(self) -> MixtureSteps:
        kind = BackgroundSteps if self._background() else MixtureSteps
        return kind(self.n_components, self.algorithm == "fast", self.view_weights_, self._vector_views())

    def _initial_arrays(self, views: Any, context: FitContext) -> dict[str, Any]:
        if context.start is not None or not isinstance(self.init, str) or self.init != "likeliest":
            return super()._initial_arrays(views, context)
        leading = self._leading_views(views)
        if leading:
            return self._by_vectors(views.select(*leading), context)
        return likeliest_arrays(
            views,
            self.n_components,
            context.seed,
            self._weights_of(views),
            self.n_jobs,
            gaussian=self._vector_views(),
            deadline=context.deadline,
            engine=context.engine,
        )

    def _start_profiles(self, arrays: dict[str, Any], views: Any, seed: int) -> dict[str, np.ndarray]:
        widths = {name: views.n_features[name] for name in self._count_views(views.names)}
        return random_profiles(arrays.get("topic_feature", {}), self.n_components, widths, seed)

    def _as_start(self, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: part / part.sum(axis=0) for name, part in columns.items()}

    def _fixed_start(self) -> bool:
        return self.init == "likeliest" or super()._fixed_start()

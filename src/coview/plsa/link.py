"""Link-PLSA: one topic mixture per object for all views, one distribution per topic and view.

    p(f | d, v) = sum_y p(y|d) p(f|y,v),     maximize sum_v w_v sum_df x_vdf log p(f | d, v)

Unlike views side by side, each view is a distribution of its own: an object's long view does not drown its short one in
the topics, and a view that an object lacks says nothing about its topics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coview.engines.state import Tree
from coview.exceptions import ViewsError
from coview.plsa.consensus_start import consensus_start, softened
from coview.plsa.factors import FEATURE_FLOOR, random_topics
from coview.plsa.mixture import WeightedModel
from coview.plsa.plsa import PLSA
from coview.plsa.steps import LinkSteps
from coview.validation import check_count
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["LinkPLSA"]


class LinkPLSA(WeightedModel, PLSA):
    """Topics of several views with one topic mixture per object.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    view_weights : None, float or {view: float}, default=None
        How much each view counts in an object's mixture; 1 by default.
    init : {"random", "nndsvd", "consensus"} or dict, default="random"
        Where to start. "consensus" takes the best of several consensus clusterings of the views as first memberships.
        A dict holds any of ``memberships`` and ``topic_feature`` in the shapes of the fitted attributes.
    max_iter, tol, n_init, schedule, acceleration, engine, n_jobs, learning_decay, learning_offset
        As in `PLSA`.
    time_budget, random_state, verbose, callbacks, checkpoint
        As in `PLSA`.

    Attributes
    ----------
    topic_feature_ : dict of ndarray (n_components, n_features of the view)
        ``p(feature | topic, view)`` by view; rows sum to one.
    memberships_ : ndarray (n_objects, n_components)
        ``p(topic | object)`` of the training objects, shared by all views.
    history_ : dict of lists
        "objective" (weighted log-likelihood) and "seconds" after each sweep; entry 0 is the start.

    Examples
    --------
    >>> from coview import LinkPLSA
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=100, n_clusters=3, random_state=0)
    >>> model = LinkPLSA(n_components=3, random_state=0).fit(data.views)
    >>> model.transform(data.views.select("view1")).shape
    (100, 3)
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        view_weights: Any = None,
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
        super().__init__(
            n_components,
            max_iter=max_iter,
            tol=tol,
            n_init=n_init,
            init=init,
            schedule=schedule,
            acceleration=acceleration,
            engine=engine,
            n_jobs=n_jobs,
            learning_decay=learning_decay,
            learning_offset=learning_offset,
            time_budget=time_budget,
            random_state=random_state,
            verbose=verbose,
            callbacks=callbacks,
            checkpoint=checkpoint,
        )
        self.view_weights = view_weights

    def inverse_transform(self, X: Any) -> Any:
        """Expected shares of the features of each view given topic mixtures (objects x topics).

        Returns a matrix where the model was fitted on one view, else Views; rows sum to one in every view.
        """
        mixtures = self._checked_mixtures(X)
        parts = {name: mixtures @ topics for name, topics in self.topic_feature_.items()}
        return next(iter(parts.values())) if len(parts) == 1 else Views(parts)

    _start_names = ("memberships", "topic_feature")

    @property
    def _n_features_out(self) -> int:
        return int(self.memberships_.shape[1])

    def _steps(self) -> LinkSteps:
        return LinkSteps(
            check_count("n_components", self.n_components), self.schedule == "alternating", self.view_weights_
        )

    def _begin(self, views: Any, seed: int, labels: np.ndarray | None) -> tuple[Any, dict[str, Any]]:
        if not isinstance(self.init, str) or self.init != "consensus":
            return super()._begin(views, seed, labels)
        if isinstance(views, LazyViews):
            raise ViewsError("init='consensus' needs the rows in memory, got rows that are read when needed.")
        start = softened(consensus_start(views, self.n_components, seed, self._steps().weights, self.n_jobs))
        profiles = {name: np.maximum(np.asarray(part.T @ start), FEATURE_FLOOR) for name, part in views.items()}
        return lambda here: {"profiles": self._as_start(profiles)}, {"start": start}

    def _fixed_start(self) -> bool:
        return (isinstance(self.init, str) and self.init == "consensus") or super()._fixed_start()

    def _start_profiles(self, arrays: Mapping[str, Any], views: Views, seed: int) -> dict[str, np.ndarray]:
        given = arrays.get("topic_feature", {})
        return {
            name: np.maximum(random_topics(given.get(name), self.n_components, width, seed, name).T, FEATURE_FLOOR)
            for name, width in views.n_features.items()
        }

    def _as_start(self, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: part / part.sum(axis=0) for name, part in columns.items()}

    def _profiles(self, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        return {name: np.maximum(self.topic_feature_[name].T, FEATURE_FLOOR) for name in names}

    def _shared_attributes(self, shared: Tree) -> dict[str, Any]:
        return {"topic_feature_": {name: part.T for name, part in shared["profiles"].items()}}

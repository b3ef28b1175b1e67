"""What dual and multi-view PLSA share: topics and clusters kept apart, fitted through the same steps.

p(f | d, v) = sum_z p(z|d) sum_y p(y|z,v) p(f|y,v)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from coview.engines.protocol import Block, Engine
from coview.engines.state import Tree
from coview.inspection import Features, Inspection, Topics
from coview.plsa.consensus_start import softened
from coview.plsa.factors import (
    FEATURE_FLOOR,
    as_distributions,
    initial_arrays,
    random_matrix,
    random_topics,
    stream_of,
    view_masses,
)
from coview.plsa.mixture import RESTART, WeightedModel
from coview.plsa.plsa import split_by_view
from coview.plsa.steps import ClusterSteps
from coview.plsa.topics import feature_labels, only_view, strongest
from coview.validation import check_count
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["ClusterModel"]


class ClusterModel(WeightedModel):
    """Base of dual and multi-view PLSA, clusterers and classifiers."""

    _joint = False  # all views share their topics (dual PLSA)
    _mixture = "memberships_"
    _own_start = False  # each restart begins elsewhere, and not only with other topics
    n_components: Any
    init: Any
    cluster_topic_: dict[str, np.ndarray]
    topic_view_: np.ndarray

    def _n_columns(self) -> int:
        """Number of clusters or classes."""
        raise TypeError(f"{type(self).__name__} does not say how many clusters there are.")

    def _memberships(self, views: Any, seed: int, labels: Any) -> Any:
        """Where the objects start by the model's own strategy: objects x clusters, or a function of some rows."""
        raise TypeError(f"{type(self).__name__} does not say where its objects start.")

    def _steps(self) -> ClusterSteps:
        return StartedSteps(self._n_columns(), self.schedule == "alternating", self.view_weights_, self._joint)

    def _topics(self) -> dict[str, int]:
        counts = _count_per_view("n_components", self.n_components, self.view_names_)
        if self._joint and len(set(counts.values())) > 1:
            raise ValueError(
                f"{type(self).__name__} has one set of topics for all views: n_components must be a number."
            )
        return {name: check_count("n_components", count) for name, count in counts.items()}

    def _begin(self, views: Any, seed: int, labels: np.ndarray | None) -> tuple[Any, dict[str, Any]]:
        arrays: Mapping[str, Any] = {}
        n_columns, n_topics = self._n_columns(), self._topics()
        if isinstance(self.init, Mapping):
            names = ("memberships", "topic_feature", "cluster_topic", "topic_view")
            arrays = initial_arrays(self.init, names, list(views.names))
        start: Any = None
        if "memberships" in arrays:
            start = as_distributions("memberships", arrays["memberships"], (len(views), n_columns))
        elif self.init != "random":
            starts = _Starts(self._each_start(views, seed, labels))
            start = starts if isinstance(views, LazyViews) else starts(views)

        def make(here: int) -> Tree:
            given_topics, given_clusters = arrays.get("topic_feature", {}), arrays.get("cluster_topic", {})
            features, clusters = {}, {}
            for name, width in views.n_features.items():
                features[name] = random_topics(given_topics.get(name), n_topics[name], width, here, name).T
                stream = here if self._joint else here + stream_of(name)
                clusters[name] = _start_clusters(given_clusters.get(name), n_columns, n_topics[name], stream)
            if self._joint:
                mass = view_masses(views)
                shares = np.tile(mass / mass.sum() if mass.sum() > 0 else np.full(len(mass), 1 / len(mass)),
                                 (next(iter(n_topics.values())), 1))  # fmt: skip
                if "topic_view" in arrays:
                    shares = as_distributions("topic_view", arrays["topic_view"], shares.shape)
                features = {name: part * shares[:, v] for v, (name, part) in enumerate(features.items())}
            floored = {name: np.maximum(part, FEATURE_FLOOR) for name, part in features.items()}
            return self._steps().with_profiles(floored, clusters)

        return make, {} if start is None else {"start": start}

    def _each_start(self, views: Any, seed: int, labels: np.ndarray | None) -> list[Any]:
        """Starts of the objects, in the order in which `StartedSteps` finds them: one, or one for each restart."""
        number = self.n_init if self._own_start and not self._fixed_start() else 1
        return [self._memberships(views, seed + RESTART * restart, labels) for restart in range(number)]

    def _fixed_start(self) -> bool:
        return isinstance(self.init, Mapping) and {"topic_feature", "cluster_topic"} <= {
            str(key).rstrip("_") for key in self.init
        }

    def _shared_attributes(self, shared: Tree) -> dict[str, Any]:
        clusters = dict(shared["cluster_topic"])
        if not self._joint:
            return {
                "topic_feature_": {n: part.T for n, part in shared["feature_topic"].items()},
                "cluster_topic_": clusters,
            }
        topics, shares = split_by_view(shared["feature_topic"])
        return {"topic_feature_": topics, "cluster_topic_": clusters, "topic_view_": shares}

    def _feature_topic(self, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        """Fitted topics (features x topics) over some of the views."""
        if not self._joint:
            return {name: self.topic_feature_[name].T for name in names}
        weights = self.topic_view_[:, [self.view_names_.index(name) for name in names]]
        return {name: self.topic_feature_[name].T * weights[:, v] for v, name in enumerate(names)}

    def _profiles(self, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        profiles = {n: part @ self.cluster_topic_[n].T for n, part in self._feature_topic(names).items()}
        if self._joint:  # a subset of views: each cluster's distribution over what is there
            total = sum(part.sum(axis=0) for part in profiles.values())
            profiles = {name: part / total for name, part in profiles.items()}
        return {name: np.maximum(part, FEATURE_FLOOR) for name, part in profiles.items()}

    def _restored(self) -> Tree:
        names = tuple(self.view_names_)
        return {
            "feature_topic": self._feature_topic(names),
            "cluster_topic": dict(self.cluster_topic_),
            "profiles": self._profiles(names),
        }

    def _inspect(self) -> Inspection:
        """Answer `inspect`: clusters or classes, with topics below them."""
        profiles = {view: self.cluster_topic_[view] @ self.topic_feature_[view] for view in self.view_names_}
        labels = self.classes_.tolist() if is_classifier(self) else list(range(self._n_features_out))
        return replace(
            super()._inspect(),
            kind="class" if is_classifier(self) else "cluster",
            groups=[str(label) for label in labels],
            labels=labels,
            topics=Topics(dict(self.topic_feature_), dict(self.cluster_topic_)),
            _features=lambda view: Features(profiles[view], True, "p(feature)"),
        )

    def top_features(self, view: str | None = None, n: int = 10, *, of: str = "topic") -> list[list[tuple[str, float]]]:
        """The `n` most probable features of a view for each topic, or for each cluster with ``of="cluster"``.

        Returns one list of (feature, probability) per topic or cluster; with ``of="class"``, the same for a classifier,
        the lists are in the order of ``classes_``.
        """
        if of == "topic":
            return super().top_features(view, n)
        if of not in ("cluster", "class"):
            raise ValueError(f"of must be 'topic', or 'cluster' (of a classifier: 'class'), got {of!r}.")
        view = only_view(view, self.view_names_)
        weights = self.cluster_topic_[view] @ self.topic_feature_[view]
        return strongest(weights, feature_labels(self, view, weights.shape[1]), n)


@dataclass(frozen=True)
class StartedSteps(ClusterSteps):
    """Steps whose objects may carry one start for each restart (objects x restarts x clusters)."""

    def start(self, block: Block, shared: Tree, seed: int, restart: int, ops: Engine) -> Tree:
        """Take the start of this restart."""
        starts = block.extra.get("start")
        if starts is not None and starts.ndim == 3:
            block = replace(block, extra={**block.extra, "start": starts[:, restart % starts.shape[1]]})
        return super().start(block, shared, seed, restart, ops)


@dataclass(frozen=True)
class _Starts:
    """Softened starts of some rows; each is given, or a function of them."""

    starts: list[Any]

    def __call__(self, views: Views) -> np.ndarray:
        found = [softened(start(views) if callable(start) else start) for start in self.starts]
        return found[0] if len(found) == 1 else np.stack(found, axis=1)


def _start_clusters(given: Any, n_clusters: int, n_topics: int, seed: int) -> np.ndarray:
    if given is not None:
        return as_distributions("cluster_topic", given, (n_clusters, n_topics))
    return random_matrix(seed, 0, n_clusters, n_topics, np.float64)


def _count_per_view(name: str, value: Any, views: list[str]) -> dict[str, Any]:
    """A number that is one for all views or {view: number}, by view."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(views, value)
    for view in value:
        if view not in views:
            raise ValueError(f"{name} names view {view!r}, but the views are {', '.join(map(repr, views))}.")
    for view in views:
        if view not in value:
            raise ValueError(f"{name} has no value for view {view!r}.")
    return {view: value[view] for view in views}

"""Voting PLSA: views cluster by themselves, objects on which they agree teach the rest.

1. PLSA with the same number of topics on each view: every view votes for the likeliest topic of each object.
2. Topics of the views are matched one to one (`align_topics`). An object on which enough of its views agree is a seed.
3. A constrained PLSA over all views, p(f|d,v) = sum_z p(z|d) p(f|z,v): seeds hold their cluster alone, p(z|d) of the
   others is learned. Its log-likelihood never falls.

Kim, Amini, Goutte and Gallinari (2010), in the form for any number of views.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from coview.engines.protocol import Tree
from coview.inspection import Inspection, one_hot
from coview.plsa.co_plsa import has_data
from coview.plsa.mixture import MixtureClusterMixin, MixtureModel
from coview.plsa.plsa import PLSA
from coview.plsa.starts import FitContext, align_topics, compute_topic_overlap, compute_topics, soften
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import number

__all__ = ["VotingPLSA"]


@shared_parameters
class VotingPLSA(MixtureClusterMixin, MixtureModel):
    """Cluster objects with several views: objects on which the views agree are seeds for the others.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    min_agreement : float, default=1.0
        Share of an object's views that must vote alike to make it a seed; above 0.5. An object with one view only, of
        several, is no seed.
    <shared: view_weights>
    max_iter : int, default=200
        Maximum number of EM iterations, of each view alone and of all together.
    <shared: tol>
    n_init : int, default=1
        Number of initializations of each view's PLSA; the fit with the highest objective votes.
    <shared: algorithm, engine, n_jobs>
    <shared: random_state, verbose>

    Attributes
    ----------
    labels_ : ndarray (n_objects,)
        Cluster of each training object.
    memberships_ : ndarray (n_objects, n_clusters)
        ``p(cluster | object)``; one-hot for seeds.
    labels_by_view_ : dict of ndarray (n_objects,)
        Cluster of each object by each view alone, topics matched; -1 where it lacks the view.
    seeds_ : ndarray of bool (n_objects,)
        Objects on which the views agreed.
    <shared: topic_feature_>
    <shared: view_weights_>
    <shared: history_, fit_seconds_, n_iter_, stopped_by_>
    <shared: fitted views>

    References
    ----------
    Y.-M. Kim, M.-R. Amini, C. Goutte, P. Gallinari: Multi-view clustering of multilingual documents. SIGIR 2010.

    Examples
    --------
    >>> from coview import VotingPLSA
    >>> from coview.datasets import make_topic_views
    >>> from coview.metrics import clustering_accuracy
    >>> data = make_topic_views(n_objects=150, n_clusters=3, random_state=0)
    >>> model = VotingPLSA(n_clusters=3, random_state=0).fit(data.views)
    >>> clustering_accuracy(data.target, model.labels_) > 0.9, bool((model.labels_ >= 0).all())
    (True, True)
    >>> model.predict(data.views[:5].select("view1")).shape
    (5,)
    """

    _takes_lazy = False  # objects vote together
    _start_share = 0.8  # the fits of the views alone are most of the work
    init = "random"

    _fitted_state = {
        "labels_": rules.integers("objects", below="topics"),
        "labels_by_view_": rules.by_view(rules.integers("objects", low=-1, below="topics")),
        "seeds_": rules.booleans("objects"),
    }
    _parameters = {
        "min_agreement": number(above=0.5, most=1),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        min_agreement: float = 1.0,
        view_weights: Any = None,
        max_iter: int = 200,
        tol: float = 1e-5,
        n_init: int = 1,
        algorithm: str = "fast",
        engine: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.min_agreement = min_agreement
        self.view_weights = view_weights
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.algorithm = algorithm
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- pieces

    def _inspect(self) -> Inspection:
        """Answer `inspect`: its topics are clusters."""
        answer = super()._inspect()
        votes = {view: one_hot(codes, len(answer.groups)) for view, codes in self.labels_by_view_.items()}
        return replace(answer, training=replace(answer.training, memberships_by_view=votes))

    def _fixed_start(self) -> bool:
        return True

    def _begin(self, views: Any, context: FitContext) -> tuple[Callable[[int], Tree], dict[str, Any]]:
        """Topics and mixtures that the votes make; the blocks carry the clusters of the seeds."""
        mixtures, have = self._vote(views, context), has_data(views)
        self.labels_by_view_ = {
            name: np.where(have[:, v], mixtures[name].argmax(axis=1), -1) for v, name in enumerate(views.names)
        }
        winners, self.seeds_ = _find_agreement(np.column_stack(list(self.labels_by_view_.values())), self.min_agreement)
        # seeds are certain, and clamped; the others begin at the mean opinion of their views
        mean = np.mean([mixtures[name] * have[:, [v]] for v, name in enumerate(views.names)], axis=0)
        mean[self.seeds_] = np.eye(self.n_clusters)[winners[self.seeds_]]
        mean[~have.any(axis=1)] = 1.0
        start = soften(mean / mean.sum(axis=1, keepdims=True))
        # profiles that the start makes are one M step ahead of random ones, and name the clusters as the seeds do
        counts = {name: part.T for name, part in compute_topics(views, start).items()}
        profiles = {name: part / part.sum(axis=0) for name, part in counts.items()}
        labels = np.where(self.seeds_, winners, -1)
        return lambda here: {"profiles": profiles}, {"labels": labels, "start": start}

    def _vote(self, views: Any, context: FitContext) -> dict[str, np.ndarray]:
        """Mixtures of each view's own PLSA, topics in the order of those of the first view (by name)."""
        votes = {}
        for v, name in enumerate(sorted(views.names)):
            model = PLSA(
                self.n_clusters,
                likelihood="multinomial",
                max_iter=self.max_iter,
                tol=self.tol,
                n_init=self.n_init,
                init="random",
                algorithm=self.algorithm,
                engine=self.engine,
                n_jobs=self.n_jobs,
                random_state=context.seed,
            )
            ready = context.deadline.share(1 / (len(views.names) - v))
            votes[name] = model._fit_until(views.select(name), ready).memberships_
        # topics of separate fits have no common numbers: votes can be compared only after matching
        orders = align_topics(compute_topic_overlap({"mixture": np.hstack(list(votes.values()))}), self.n_clusters)
        return {name: part[:, order] for (name, part), order in zip(votes.items(), orders)}


def _find_agreement(votes: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Most frequent vote of each object (objects x views, -1 = none; lowest of several), and whether it is a seed's.

    Examples
    --------
    >>> winners, seeds = _find_agreement(np.array([[1, 1, 1], [0, 1, 1], [2, 2, -1], [2, -1, -1]]), 1.0)
    >>> winners.tolist(), seeds.tolist()
    ([1, 1, 2, 2], [True, False, True, False])
    """
    counts = np.column_stack([(votes == label).sum(axis=1) for label in range(max(int(votes.max()) + 1, 1))])
    # one voter agrees with itself: where there are several views it takes two to make a seed
    voters = (votes >= 0).sum(axis=1)
    most = counts.max(axis=1)
    seeds = (voters >= min(2, votes.shape[1])) & (most >= share * voters - 1e-9)
    return counts.argmax(axis=1), seeds

"""Pairwise co-regularized PLSA: topics per view, and pairs of objects that are as similar in one view as in another.

    maximize  sum_v t_v sum_df x_vdf log sum_y p(y|d,v) p(f|y,v)  -  sum_(v<w) coupling_vw sum_ij (S^v_ij - S^w_ij)^2

S^v_ij = exp(-|p(.|i,v) - p(.|j,v)|^2 / sigma), ij over a sample of the pairs. Jiang, Liu, Li, Li and Lu (2012). Views
need not share their topics: only who is near whom counts. See `pairwise_steps.py`.
"""

from __future__ import annotations

import copy
import numbers
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from coview.clustering.consensus import consensus, fold_in_consensus
from coview.engines.loop import fold_in
from coview.engines.passes import blockwise
from coview.engines.protocol import Engine, Extra, Holder
from coview.engines.state import State, Tree
from coview.exceptions import ViewsError
from coview.inspection import Inspection
from coview.plsa.alignment import align_topics, topic_overlap
from coview.plsa.budget import StagedModel
from coview.plsa.co_plsa import _have
from coview.plsa.divergence import pair_couplings
from coview.plsa.factors import FEATURE_FLOOR, initial_arrays, random_topics
from coview.plsa.mixture import FOLD_IN_SWEEPS, FOLD_IN_TOL
from coview.plsa.pairwise_start import Masses, start_sigma, start_table, warm_arrays
from coview.plsa.pairwise_steps import PairSteps, Partners
from coview.plsa.steps import LinkSteps
from coview.validation import base_seed, check_count, check_option
from coview.views.views import Views

__all__ = ["PairwiseCoPLSA"]

AUTO = 0.3  # coupling="auto", in units of an object's mass per partner


class PairwiseCoPLSA(ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, StagedModel):
    """Cluster objects that have two or more views: topics per view, kept in line through pairs of objects.

    Two objects that are near each other in the topics of one view should be so in those of another, and two that are
    far apart likewise. Topics of two views need not be about the same things for that.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of topics, the same in every view; each is a cluster.
    coupling : "auto", float or {(view, view): float}, default="auto"
        Strength of the pull between the views: one number, or one per pair of views (1 for pairs that are not named).
        It stands against log-likelihoods: the longer objects are, and the fewer pairs each has, the more it takes.
        "auto" is 0.3 times the mean sum of an object's values, views weighted, over its number of partners.
    view_weights : None, float or {view: float}, default=None
        How much each view's likelihood counts, and its topics in the consensus; 1 where nothing is said.
    sigma : float or "median", default="median"
        Width of the similarity. "median" takes the median squared distance of mixtures at the start.
    pair_fraction : float, default=0.05
        Share of the pairs of objects that is held in line. Pairs are drawn once per fit, inside blocks of rows.
    n_pairs : int or None, default=None
        Number of pairs, in place of `pair_fraction`.
    step : {"safeguarded", "paper"}, default="safeguarded"
        How mixtures move: shortened until the objective does not fall, or the published fixed-point step, which may
        lower it. Both are the same wherever the published one climbs.
    consensus : {"alignment", "mvc"}, default="alignment"
        How views make one clustering: the mean of their mixtures, or the pattern that explains their labels
        (see `ConsensusClustering`).
    max_iter : int, default=200
        Most sweeps over the data.
    tol : float, default=1e-5
        Stop when the objective changes by less than this, relative to itself; 0 runs exactly `max_iter` sweeps.
    n_init : int, default=1
        Number of starts; the one that ends highest is kept. Unless ``init="random"``, of the models that `init` names.
    init : {"consensus", "link", "plsa", "random"} or dict, default="consensus"
        Where to start: some sweeps of `LinkPLSA` on all views that begin at a consensus clustering (k-means of each
        view and of all side by side), the same from a random start, some of PLSA on each view, or one random mixture
        per object in all views and random topics. A dict holds any of ``memberships_by_view`` (``{view: array}``, or
        one array for all views) and ``topic_feature`` (``{view: array}``) in the shapes of the fitted attributes; the
        rest is random.
    schedule : {"alternating", "joint"}, default="alternating"
        Update topics with fresh mixtures, or both from the same expectations (as in the paper).
    acceleration : {None, "squarem"}, default=None
        Extrapolate every second sweep; never lowers the objective.
    engine, n_jobs, time_budget, random_state, verbose, callbacks, checkpoint
        As in `PLSA`. `time_budget` counts the start too (its k-means is not cut short), which a checkpoint needs in
        full.

    Attributes
    ----------
    labels_ : ndarray (n_objects,)
        Cluster of each training object, by all its views.
    labels_by_view_ : dict of ndarray (n_objects,)
        Likeliest topic of each training object by view; -1 where it lacks the view.
    memberships_by_view_ : dict of ndarray (n_objects, n_clusters)
        ``p(topic | object, view)`` of the training objects, by view; even where an object lacks the view. Topics are
        numbered so that topic k goes with topic k of the other views.
    topic_feature_ : dict of ndarray (n_clusters, n_features of the view)
        ``p(feature | topic, view)`` by view; rows sum to one.
    cluster_mapping_ : dict of ndarray (n_clusters, n_clusters)
        With ``consensus="mvc"``: share of each view's topics in each cluster.
    sigma_ : float
        Width of the similarity.
    history_ : dict of lists
        "objective" (weighted log-likelihood less the penalty of the pairs) and "seconds" after each sweep; entry 0 is
        the start.
    n_iter_ : int
        Sweeps of the best start.

    Notes
    -----
    New objects have no pairs: each view is folded in by itself. Rows are worked on in blocks (8192 of them on the
    processor), pairs lie inside blocks: shuffle the rows of a large sorted collection. An object without any feature in
    a view counts as lacking that view.

    References
    ----------
    Y. Jiang, J. Liu, Z. Li, P. Li, H. Lu: Co-regularized PLSA for multi-view clustering. ACCV 2012.

    Examples
    --------
    >>> from coview import PairwiseCoPLSA
    >>> from coview.datasets import make_topic_views
    >>> from coview.metrics import clustering_accuracy
    >>> data = make_topic_views(n_objects=150, n_clusters=3, random_state=0)
    >>> model = PairwiseCoPLSA(n_clusters=3, random_state=0).fit(data.views)
    >>> clustering_accuracy(data.target, model.labels_) > 0.9
    True
    >>> sorted(model.labels_by_view_), model.predict(data.views[:5].select("view1")).shape
    (['view0', 'view1'], (5,))
    """

    _mixture = "memberships_by_view_"
    memberships_by_view_: dict[str, np.ndarray]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        coupling: Any = "auto",
        view_weights: Any = None,
        sigma: Any = "median",
        pair_fraction: float = 0.05,
        n_pairs: int | None = None,
        step: str = "safeguarded",
        consensus: str = "alignment",
        max_iter: int = 200,
        tol: float = 1e-5,
        n_init: int = 1,
        init: Any = "consensus",
        schedule: str = "alternating",
        acceleration: str | None = None,
        engine: Any = "auto",
        n_jobs: int | None = None,
        time_budget: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
        checkpoint: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.coupling = coupling
        self.view_weights = view_weights
        self.sigma = sigma
        self.pair_fraction = pair_fraction
        self.n_pairs = n_pairs
        self.step = step
        self.consensus = consensus
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.init = init
        self.schedule = schedule
        self.acceleration = acceleration
        self.engine = engine
        self.n_jobs = n_jobs
        self.time_budget = time_budget
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: Any = None) -> PairwiseCoPLSA:
        """Cluster the objects of X, which has at least two views; y is ignored."""
        check_option("consensus", self.consensus, ("alignment", "mvc"))
        self._fit(X, self._fit_views(X), {"have": _have})
        self.labels_by_view_ = {name: _opinions(part) for name, part in self.memberships_by_view_.items()}
        self.__dict__.pop("cluster_mapping_", None)
        if self.consensus == "mvc":
            votes = [np.asarray(labels) for labels in self.labels_by_view_.values()]
            found = consensus(votes, self.n_clusters, seed=base_seed(self.random_state), weights=self._shares())
            self.cluster_mapping_ = dict(zip(self.view_names_, _full(found.mappings, self.n_clusters)))
            self.labels_ = found.memberships.argmax(axis=1)
        else:
            self.labels_ = _blend(self.memberships_by_view_, self._shares()).argmax(axis=1)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Cluster the objects of X and fold them in; `memberships_by_view_` holds where the fit itself left them."""
        return self.fit(X).transform(X)

    @blockwise
    def transform(self, X: Any) -> np.ndarray:
        """Topic mixtures of objects, new or old, from some or all of the fitted views (topics stay fixed).

        The mixture of an object is the weighted mean over the views that it has, each folded in by itself. Rows sum to
        one; an object without any feature gets an even mixture.
        """
        parts = self.transform_by_view(X)
        views = self._new_views(X)
        have = _have(views) * self._shares(views.names)
        total = have.sum(axis=1, keepdims=True)
        have = np.where(total > 0, have / np.where(total > 0, total, 1.0), 1.0 / have.shape[1])
        mixed = sum(have[:, [v]] * part for v, part in enumerate(parts.values()))
        return np.asarray(mixed, dtype=next(iter(parts.values())).dtype)

    def transform_by_view(self, X: Any) -> dict[str, np.ndarray]:
        """Topic mixtures by view, for each of the views given; even where an object lacks the view."""
        check_is_fitted(self, "topic_feature_")
        table, width = self._tables(X), self.n_clusters
        return {name: table[:, v * width : (v + 1) * width] for v, name in enumerate(self._new_views(X).names)}

    @blockwise
    def predict(self, X: Any) -> np.ndarray:
        """Cluster of objects, new or old, from some or all of the fitted views."""
        check_is_fitted(self, "topic_feature_")
        if self.consensus != "mvc":
            return self.transform(X).argmax(axis=1)
        parts = self.transform_by_view(X)
        mappings = [self.cluster_mapping_[name] for name in parts]
        votes = [_opinions(part) for part in parts.values()]
        return fold_in_consensus(votes, mappings, weights=self._shares(tuple(parts))).argmax(axis=1)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood per token (unit of mass) of X, its mixtures folded in; 0 where X holds nothing."""
        return self._token_score(X)

    # -- pieces

    @property
    def _n_features_out(self) -> int:
        return int(next(iter(self.topic_feature_.values())).shape[0])

    def _inspect(self) -> Inspection:
        """Answer `inspect`: topics of the views are clusters, numbered alike in all views."""
        found = super()._inspect()
        codes = getattr(self, "labels_", None)
        training = replace(found.training, codes=None if codes is None else np.asarray(codes))
        mapped = self.consensus == "mvc"  # then a cluster is a pattern of topics, and not one of them
        return replace(
            found,
            kind="cluster",
            training=training,
            view_weights=self.view_weights_,
            _memberships_by_view=self.transform_by_view,
            probabilities=not mapped,
            _predict=self.predict if mapped else None,
        )

    def _fit_views(self, X: Any) -> Any:
        views = super()._fit_views(X)
        if len(views.names) > 1:
            return views
        raise ViewsError(f"PairwiseCoPLSA needs at least 2 views, got 1 ({views.names[0]!r}). For one view use PLSA.")

    def _shares(self, names: Any = None) -> np.ndarray:
        """Weights of the views, or of some of them."""
        return np.array([self.view_weights_[name] for name in names or self.view_names_])

    def _steps(self) -> PairSteps:
        return PairSteps(
            check_count("n_clusters", self.n_clusters),
            self.schedule == "alternating",
            self.view_weights_,
            pairs=pair_couplings(AUTO if self._relative() else self.coupling, self.view_names_),
            step=check_option("step", self.step, ("safeguarded", "paper")),
        )

    def _begin(self, views: Any, seed: int, labels: np.ndarray | None) -> tuple[Any, dict[str, Any]]:
        carried: dict[str, Any] = {"partners": self._partners(len(views), seed)}
        if self._relative():
            carried["mass"] = Masses(self.view_weights_)
        arrays: dict[str, Any] = {}
        if isinstance(self.init, Mapping):
            arrays = initial_arrays(self.init, ("memberships_by_view", "topic_feature"), list(views.names))
        elif check_option("init", self.init, ("consensus", "link", "plsa", "random")) != "random":
            arrays = warm_arrays(views, self.init, self.n_clusters, self.n_init, seed, self._start_options)
        if "memberships_by_view" in arrays:
            carried["start"] = start_table(arrays["memberships_by_view"], views, self.n_clusters, seed)
        sigma = np.array([start_sigma(self.sigma, carried.get("start"), len(views), self.n_clusters, seed)])
        given = arrays.get("topic_feature", {})

        def make(here: int) -> Tree:
            topics = {
                name: random_topics(given.get(name), self.n_clusters, width, here, name)
                for name, width in views.n_features.items()
            }
            return {
                "profiles": {name: np.maximum(part.T, FEATURE_FLOOR) for name, part in topics.items()},
                "sigma": sigma,
            }

        return make, carried

    def _start_options(self) -> dict[str, Any]:
        """Settings of a fit that makes the start; what is left of the budget when it begins."""
        return {"engine": self.engine, "n_jobs": self.n_jobs, "time_budget": self._start_budget()}

    def _relative(self) -> bool:
        return isinstance(self.coupling, str) and check_option("coupling", self.coupling, ("auto",)) == "auto"

    def _partners(self, n_rows: int, seed: int) -> Partners:
        fraction = self.pair_fraction
        if not isinstance(fraction, numbers.Real) or not 0 < fraction <= 1:
            raise ValueError(f"pair_fraction must lie above 0 and be at most 1, got {fraction!r}.")
        wanted = None if self.n_pairs is None else check_count("n_pairs", self.n_pairs)
        return Partners(seed, float(fraction), wanted, n_rows)

    def _fixed_start(self) -> bool:
        if isinstance(self.init, Mapping):
            return {"memberships_by_view", "topic_feature"} <= {str(key).rstrip("_") for key in self.init}
        return self.init != "random"

    def _profiles(self, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        return {name: np.maximum(self.topic_feature_[name].T, FEATURE_FLOOR) for name in names}

    def _shared_attributes(self, shared: Tree) -> dict[str, Any]:
        topics = {name: part.T for name, part in shared["profiles"].items()}
        return {"topic_feature_": topics, "sigma_": float(shared["sigma"][0])}

    def _attributes(self, state: State, holder: Holder) -> dict[str, Any]:
        """Fitted attributes, the topics of every view in the order of those of the first (by name)."""
        found, width, names = super()._attributes(state, holder), self.n_clusters, self.view_names_
        sequence = [names.index(name) for name in sorted(names)]
        parts = np.asarray(holder.total(topic_overlap, state.rows)).reshape(len(names), width, len(names), width)
        overlap = parts[sequence][:, :, sequence].reshape(len(names) * width, -1)
        orders = dict(zip(sorted(names), align_topics(overlap, width)))
        table = found[self._mixture]
        found[self._mixture] = {name: table[:, v * width + orders[name]] for v, name in enumerate(names)}
        found["topic_feature_"] = {name: part[orders[name]] for name, part in found["topic_feature_"].items()}
        return found

    @blockwise
    def _tables(self, X: Any) -> np.ndarray:
        """Mixtures of all views given, each folded in by itself, side by side."""
        views = self._new_views(X)
        engine, steps = self._engine(X), LinkSteps(self.n_clusters)
        with engine.limits():
            return np.hstack([self._fold_view(views.select(name), steps, engine)[0] for name in views.names])

    def _fold_view(self, view: Views, steps: LinkSteps, engine: Engine) -> tuple[np.ndarray, float, float]:
        """Mixtures of the rows of one view, their log-likelihood and mass."""
        shared, (name,) = self._fitted(view, engine), view.names
        dtype = shared["profiles"][name].dtype
        found, total, mass = [], 0.0, 0.0
        for block in self._each_block(view, engine, steps.width):
            rows = {"mixture": engine.asarray(np.full((len(block), steps.width), 1.0 / steps.width), dtype)}
            folded = fold_in(steps, block, rows, shared, engine, max_iter=FOLD_IN_SWEEPS, tol=FOLD_IN_TOL)["mixture"]
            found.append(folded)
            total += float(steps.objective(block, {"mixture": engine.asarray(folded)}, shared, engine))
            mass += float(engine.row_sums(block.views[name]).sum())
        return np.concatenate(found), total, mass

    def _likelihood(self, views: Views, first: int) -> tuple[float, float]:
        views = self._new_views(views)
        engine, steps = self._engine(), LinkSteps(self.n_clusters)
        parts = [self._fold_view(views.select(name), steps, engine)[1:] for name in views.names]
        total, mass = self._shares(views.names) @ np.array(parts)
        return float(total), float(mass)

    def _hold(self, views: Any, engine: Engine, width: int, extra: Extra) -> Holder:
        return super()._hold(views, engine, width * len(views.names), extra)  # a mixture for each view

    def _checkpoint(self, views: Any, holder: Holder, extra: Extra) -> Any:
        if not isinstance(self.coupling, Mapping):
            return super()._checkpoint(views, holder, extra)
        twin = copy.copy(self)  # the checkpoint's fingerprint is JSON, whose keys are text
        twin.coupling = sorted(
            (*pair, value) for pair, value in pair_couplings(self.coupling, self.view_names_).items()
        )
        return super(PairwiseCoPLSA, twin)._checkpoint(views, holder, extra)


def _opinions(mixtures: Any) -> Any:
    """Likeliest topic of each row, -1 for an even one; arrays on a cluster or on disk stay arrays of theirs."""
    known = mixtures.max(axis=1) > mixtures.min(axis=1)
    return (mixtures.argmax(axis=1) + 1) * known - 1


def _blend(parts: Mapping[str, Any], shares: np.ndarray) -> Any:
    return sum(share * part for share, part in zip(shares.tolist(), parts.values()))


def _full(mappings: list[np.ndarray], width: int) -> list[np.ndarray]:
    """Mappings with a column for topics that no training object prefers."""
    return [np.pad(mapping, ((0, 0), (0, width - mapping.shape[1]))) for mapping in mappings]

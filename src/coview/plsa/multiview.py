"""Multi-view PLSA: every view has topics of its own, all views share each object's cluster memberships.

    p(f | d, v) = sum_z p(z|d) sum_y p(y|z,v) p(f|y,v),     maximize sum_v w_v sum_df x_vdf log p(f | d, v)   (eq. 3, 4)

Equations are those of Zhuang, Karypis, Ning, He and Shi (2012), who take all weights w_v = 1. EM has the latent pair
(y, z):

    E step    p(y, z | f, d, v)  =  p(f|y,v) p(y|z,v) p(z|d) / p(f | d, v)                                     (eq. 9)
    M step    p(f|y,v)  ~  sum_(d,z) x_vdf p(y, z | f, d, v)                                                   (eq. 15)
              p(y|z,v)  ~  sum_(f,d) x_vdf p(y, z | f, d, v)                                                   (eq. 16)
              p(z|d)    ~  sum_v w_v sum_(f,y) x_vdf p(y, z | f, d, v)                                         (eq. 17)

The profile of a cluster is a mixture of topics, F B^T with F = p(f|y,v) (features x topics) and B = p(y|z,v) (clusters
x topics). With R = X / (mixture B F^T) on the non-zeros and H = R^T mixture, the same sums are

    F <- columns(F * H B),     B <- rows(B * H^T F),     mixture <- rows(mixture * sum_v w_v R F B^T)

The first two are `ClusterSteps.pulls` and `update`, the third is the row step of `steps.py`. This is exact: sums over
topics are taken before the pass over the data, so that a sweep costs non-zeros x clusters, however many topics there
are, and p(y, z | f, d, v) is never built.

A Gaussian view (`dense.py`) has no topics between its features and the clusters: the profile of a cluster is its
mean vector. Objects are to have one cluster: that the vectors of several are far from each other costs something.

Dual PLSA,  p(f | d) = sum_z p(z|d) sum_y p(y|z) p(f|y)  (eq. 2),  has one set of topics for all views, as if they were
one view side by side. The classifiers hold p(z|d) of labeled objects at their class (section 3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, is_classifier
from sklearn.preprocessing import normalize

from coview.classification.naive_bayes import NaiveBayesStart, learn_label_start
from coview.classification.view_evidence import LEARNED, learn_view_weights
from coview.engines.held import HeldViews
from coview.engines.passes import take_classes
from coview.engines.protocol import Block, Engine, Tree, over_rows
from coview.exceptions import ParameterError
from coview.inspection import Inspection, Topics
from coview.plsa.dense import SPREAD_COST, cluster_vectors, fit_class_means
from coview.plsa.fitted_rules import topic_rules
from coview.plsa.mixture import RESTART, FamilyMixin, MixtureClusterMixin, MixtureModel, split_by_view
from coview.plsa.starts import (
    SEED_PARAMETERS,
    FitContext,
    as_distributions,
    compute_view_shares,
    draw_topics,
    find_consensus_start,
    find_likeliest_start,
    read_init,
    read_init_keys,
    soften,
)
from coview.plsa.steps import (
    FEATURE_FLOOR,
    ROW_FLOOR,
    MixtureSteps,
    draw_rows,
    hash_name,
    normalize_mixtures,
    normalize_topics,
    scale_to_sums,
    update_columns,
)
from coview.utils import fitted_state as rules
from coview.utils.docs import parameters_of, shared_parameters
from coview.utils.messages import listed, short
from coview.utils.parameters import MAPPING, NONE, TRUTH, integer, number, one_of, one_or_by_view
from coview.validation import (
    LabeledScoreMixin,
    base_seed,
    check_option,
    encode_labels,
    warn_of_lone_labels,
)
from coview.views.arrays import for_sklearn
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["ClusterSteps", "DualPLSA", "DualPLSAClassifier", "MultiViewPLSA", "MultiViewPLSAClassifier", "is_uneven"]


@dataclass(frozen=True)
class ClusterSteps(MixtureSteps):
    """Steps of dual and multi-view PLSA: a profile is a mixture of topics.

    shared also holds "feature_topic" {view: features x topics} and "cluster_topic" {view: clusters x topics}. With
    `joint`, all views share their topics (dual PLSA). Blocks may carry one start for each restart (objects x restarts x
    clusters).
    """

    spread_cost: ClassVar[float] = SPREAD_COST

    def start(self, block: Block, shared: Tree, seed: int, restart: int, ops: Engine) -> Tree:
        """Take the start of this restart, where each has its own."""
        starts = block.extra.get("start")
        if starts is not None and starts.ndim == 3:
            # fewer than restarts where the time was short: then those serve again, with other topics
            block = replace(block, extra={**block.extra, "start": starts[:, restart % starts.shape[1]]})
        return super().start(block, shared, seed, restart, ops)

    def as_counts(self, shared: Tree, like: Tree) -> Tree:
        # a cluster has as many tokens as in the batch, a topic too; what was learned says how they are divided
        masses = {name: part.sum(axis=1, keepdims=True) for name, part in like["cluster_topic"].items()}
        return {
            "feature_topic": scale_to_sums(shared["feature_topic"], like["feature_topic"], joint=self.joint),
            "cluster_topic": {name: part * masses[name] for name, part in shared["cluster_topic"].items()},
        }

    def pulls(self, stats: Tree, shared: Tree) -> Tree:
        features, clusters, ratio = shared["feature_topic"], shared["cluster_topic"], stats["ratio"]
        if self.joint:  # views meet in the same topics: there their weights matter too
            ratio = {name: part * self.weights.get(name, 1.0) for name, part in ratio.items()}
        by_cluster = {name: part.T @ features[name] for name, part in ratio.items()}  # H^T F, eq. 16
        if self.joint:  # p(y|z) is one for all views
            by_cluster = dict.fromkeys(by_cluster, sum(by_cluster.values()))
        by_feature = {name: part @ clusters[name] for name, part in ratio.items()}  # H B, eq. 15
        return {"feature_topic": by_feature, "cluster_topic": by_cluster}

    def update(self, shared: Tree, pulls: Tree, ops: Engine) -> Tree:
        features = update_columns(shared["feature_topic"], pulls["feature_topic"], ops, joint=self.joint)
        clusters = {
            name: ops.row_shares(shared["cluster_topic"][name], pull, ROW_FLOOR)
            for name, pull in pulls["cluster_topic"].items()
        }
        return add_profiles(features, clusters)

    def normalize_profiles(self, shared: Tree) -> Tree:
        clusters = {name: normalize_mixtures(part) for name, part in shared["cluster_topic"].items()}
        return add_profiles(normalize_topics(shared["feature_topic"], joint=self.joint), clusters)


def add_profiles(features: Tree, clusters: Tree) -> Tree:
    """Shared parameters with the profiles that topics and their mixtures make."""
    profiles = {name: features[name] @ clusters[name].T for name in features}
    return {"feature_topic": features, "cluster_topic": clusters, "profiles": profiles}


def _rules(topics: str) -> dict[str, rules.Rule | None]:
    """What the fitted topics must look like; `topics` says whether views share them or have their own."""
    return {
        **topic_rules("clusters", topics),
        "cluster_topic_": rules.by_view(rules.shares("clusters", topics)),
    }


_SHARED = {**_rules("topics"), "topic_view_": rules.shares("topics", "views")}
_OF_CLUSTERS = {"labels_": rules.integers("objects", below="clusters")}
_OF_CLASSES = {
    "classes_": rules.labels("clusters"),
    "transduction_": rules.values("objects"),
    "row_masses_": rules.mapping(rules.real(1e-60, 1e60)),
}


# -- what the four models share


class _ClusterTopics(FamilyMixin):
    """What dual and multi-view PLSA have beside `MixtureModel`: groups that are mixtures of topics."""

    _own_starts = False  # whether each restart clusters anew, and not only draws other topics
    _group_rows = ("cluster_topic_",)
    cluster_topic_: dict[str, np.ndarray]

    def _steps(self) -> ClusterSteps:
        fast = self.algorithm == "fast"
        return ClusterSteps(self._n_columns(), fast, self.view_weights_, self._vector_views(), self._joint)

    def _topic_counts(self) -> dict[str, int]:
        """Number of topics of each view of counts; Gaussian views have none."""
        counts, names = self.n_components, self._count_views(self.view_names_)
        if not isinstance(counts, Mapping):
            return dict.fromkeys(names, counts)
        if self._joint or not set(names) <= set(counts) <= set(self.view_names_):
            known = "be a number" if self._joint else f"name the views {listed(names)}"
            raise ParameterError(f"must {known}, got {short(counts)}.", parameter="n_components")
        return {view: counts[view] for view in names}

    def _begin(self, views: Any, context: FitContext) -> tuple[Callable[[int], Tree], dict[str, Any]]:
        n_columns, n_topics = self._n_columns(), self._topic_counts()
        names = ("memberships", "topic_feature", "cluster_topic", "topic_view")
        arrays = read_init(self.init, names, list(views.names))
        given = arrays.get("cluster_topic", {})
        carried: dict[str, Any] = {}
        if "memberships" in arrays:
            carried["start"] = as_distributions("memberships", arrays["memberships"], (len(views), n_columns))
        elif context.start is None and self.init != "random":
            # rows that are read when needed start when they are read, unless the starts are known already
            starts = _Starts(self._each_start(views, context))
            carried["start"] = starts if isinstance(views, LazyViews) and starts.need_rows() else starts(views)

        def make(here: int) -> Tree:
            widths = {name: views.n_features[name] for name in n_topics}
            features = draw_topics(arrays.get("topic_feature", {}), n_topics, widths, here)
            clusters = {}
            for name, count in n_topics.items():
                # shared topics must start as the same mixtures in all views, topics of views as different ones
                stream = here if self._joint else here + hash_name(name)
                if name in given:
                    clusters[name] = as_distributions("cluster_topic", given[name], (n_columns, count))
                else:
                    clusters[name] = draw_rows(stream, 0, n_columns, count)
            if self._joint:
                shares = compute_view_shares(views, next(iter(n_topics.values())), arrays.get("topic_view"))
                features = {name: part * shares[:, v] for v, (name, part) in enumerate(features.items())}
            return add_profiles({name: np.maximum(part, FEATURE_FLOOR) for name, part in features.items()}, clusters)

        return make, carried

    def _each_start(self, views: Any, context: FitContext) -> list[Any]:
        """Starts of the objects: one, or one for each restart, as many as there is time for."""
        n_starts = self.n_init if self._own_starts and not self._fixed_start() else 1
        starts: list[Any] = []
        leading = self._leading_views(views)
        if leading:  # no counts to start from
            views = views.select(*leading)
        for restart in range(n_starts):
            if starts and context.deadline.is_over():
                break
            ready = context.deadline.share(1 / (n_starts - restart))
            here = replace(context, seed=context.seed + RESTART * restart, deadline=ready)
            starts.append(self._first_vectors(views, here) if leading else self._first_memberships(views, here))
        return starts

    def _first_vectors(self, views: Any, context: FitContext) -> Any:
        """Where objects start by Gaussian views alone."""
        raise NotImplementedError

    def _fixed_start(self) -> bool:
        return {"topic_feature", "cluster_topic"} <= read_init_keys(self.init)

    def _shared_attributes(self, shared: Tree) -> dict[str, Any]:
        clusters = dict(shared["cluster_topic"])
        if not self._joint:
            topics = {name: part.T for name, part in shared["feature_topic"].items()}
            # a Gaussian view has no topics: each cluster is one of its own, so that all views can be asked alike
            own = {name: np.eye(part.shape[1], dtype=part.dtype) for name, part in shared.get("means", {}).items()}
            clusters = {name: (clusters | own)[name] for name in self.view_names_}
            return {"topic_feature_": topics, "cluster_topic_": clusters}
        topics, shares = split_by_view(shared["feature_topic"])
        return {"topic_feature_": topics, "cluster_topic_": clusters, "topic_view_": shares}

    def _profiles(self, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        profiles = {name: part @ self.cluster_topic_[name].T for name, part in self._topics(names).items()}
        if self._joint:  # a subset of views: each cluster's distribution over what is there
            total = sum(self.cluster_topic_[n] @ self.topic_view_[:, self.view_names_.index(n)] for n in names)
            profiles = {name: part / np.maximum(total, FEATURE_FLOOR) for name, part in profiles.items()}
        return {name: np.maximum(part, FEATURE_FLOOR) for name, part in profiles.items()}

    def _restored(self) -> Tree:
        names = self._count_views(self.view_names_)
        return {
            "feature_topic": self._topics(names),
            "cluster_topic": {name: self.cluster_topic_[name] for name in names},
            "profiles": self._profiles(names),
            **self._fitted_means(self.view_names_),
        }

    @property
    def _n_features_out(self) -> int:
        return len(next(iter(self.cluster_topic_.values())))

    def _keeping(self, groups: np.ndarray) -> Any:
        light = super()._keeping(groups)
        vectors = {view: self.topic_feature_[view][groups] for view in self._vector_views()}
        light.topic_feature_ = {**self.topic_feature_, **vectors}
        return light

    def _cluster_features(self) -> dict[str, np.ndarray]:
        profiles = {view: self._profiles((view,))[view].T for view in self._count_views(self.view_names_)}
        return {view: profiles[view] if view in profiles else self.topic_feature_[view] for view in self.view_names_}

    def _view_shares(self, view: str) -> np.ndarray | None:
        return self._topics_in(view).sum(axis=1) if self._joint else None

    def _topics_in(self, view: str) -> np.ndarray:
        """Topics that clusters are made of in a view, p(topic | cluster) p(view | topic) where views share them."""
        shares = self.cluster_topic_[view]
        return shares * self.topic_view_[:, self.view_names_.index(view)] if self._joint else shares

    def _inspect(self) -> Inspection:
        """Answer `inspect`: clusters or classes, with topics below them."""
        profiles, counts = self._cluster_features(), self._count_views(self.view_names_)
        labels = self.classes_.tolist() if is_classifier(self) else list(range(self._n_features_out))
        answer = super()._inspect()
        topics = Topics(
            {name: self.topic_feature_[name] for name in counts},
            {
                name: normalize_mixtures(self._topics_in(name)) if self._joint else self.cluster_topic_[name]
                for name in counts
            },
        )
        return replace(
            answer,
            kind="class" if is_classifier(self) else "cluster",
            groups=[str(label) for label in labels],
            labels=labels,
            structure=replace(answer.structure, topics=topics),
            _features=lambda view: self._as_features(view, profiles[view]),
        )

    def top_features(self, view: str | None = None, n: int = 10, *, of: str = "topic") -> list[list[tuple[str, float]]]:
        """For each topic, cluster or class the `n` most probable features of a view, with their probabilities.

        Parameters
        ----------
        view : str, optional
            Name of the view; not needed where there is only one.
        n : int, default=10
            How many features of each.
        of : {"topic", "cluster", "class"}, default="topic"
            What to describe; clusters of a classifier are its classes, in the order of ``classes_``.

        Returns
        -------
        list of lists of (feature, probability)
            Features are named where names are known, else "f0", "f1", ...
        """
        if check_option("of", of, ("topic", "cluster", "class")) == "topic":
            return super().top_features(view, n)
        return self._ranked(self._cluster_features(), view, n)


@dataclass(frozen=True)
class _Starts:
    """Softened starts of some rows; each is given, or a function of them."""

    starts: list[Any]

    def need_rows(self) -> bool:
        return any(map(callable, self.starts))

    def __call__(self, views: Views) -> np.ndarray:
        # exact zeros are fixed points of EM: without softening, no object could leave its first cluster
        parts = [soften(start(views) if callable(start) else start) for start in self.starts]
        return parts[0] if len(parts) == 1 else np.stack(parts, axis=1)


class _TopicClusters(MixtureClusterMixin, _ClusterTopics):
    """The clusterers."""

    _own_starts = True
    _parameters = {
        **SEED_PARAMETERS,
        "n_components": one_or_by_view(integer()),
        "init": one_of("likeliest", "consensus", "random") | MAPPING,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        n_components: Any = 32,
        *,
        view_weights: Any = None,
        seeds: Any = None,
        seed_strength: float = 0.03,
        max_iter: int = 150,
        tol: float = 1e-5,
        n_init: int = 1,
        init: Any = "likeliest",
        likelihood: Any = "auto",
        algorithm: str = "fast",
        engine: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.view_weights = view_weights
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
        self.random_state = random_state
        self.verbose = verbose

    def _first_vectors(self, views: Any, context: FitContext) -> Any:
        return cluster_vectors(views, self.n_clusters, context.seed)

    def _first_memberships(self, views: Any, context: FitContext) -> Any:
        if self.init == "consensus":  # the published start, section 4.1.2
            counts = self._counts_of(views)
            return find_consensus_start(counts, self.n_clusters, context, self._weights_of(counts))
        weights, vectors = self._weights_of(views), self._vector_views()
        return find_likeliest_start(views, self.n_clusters, context, weights, self.n_jobs, dense=vectors)


class _TopicClasses(LabeledScoreMixin, ClassifierMixin, _ClusterTopics):  # type: ignore[misc]  # scores accuracy
    """The classifiers."""

    row_masses_: dict[str, float]
    _parameters = {
        "view_weights": one_or_by_view(number()) | one_of(LEARNED) | NONE,
        "unit_mass": TRUTH | one_of("auto"),
        "n_components": one_or_by_view(integer()),
        "init": one_of("co_em", "naive_bayes", "random") | MAPPING,
    }

    def __init__(
        self,
        n_components: Any = 32,
        *,
        view_weights: Any = None,
        unit_mass: bool | str = "auto",
        max_iter: int = 150,
        tol: float = 1e-5,
        n_init: int = 1,
        init: Any = "co_em",
        likelihood: Any = "auto",
        algorithm: str = "fast",
        engine: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.view_weights = view_weights
        self.unit_mass = unit_mass
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.init = init
        self.likelihood = likelihood
        self.algorithm = algorithm
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # proportions of features tell classes apart here, not distances: blobs are no fair test
        tags.classifier_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any) -> Any:  # type: ignore[override]  # labels are needed
        """Learn from labeled and unlabeled objects; -1, None or NaN in y marks unlabeled objects."""
        deadline = self._deadline()
        views = self._fit_views(X)
        codes, self.classes_ = encode_labels(y, len(views))
        warn_of_lone_labels(codes, self.classes_)
        # labels travel with the blocks: the row step clamps those that are not -1 (section 3.1 of the paper)
        if self.view_weights == LEARNED:
            seed, ready = base_seed(self.random_state), deadline.share(self._start_share)
            self.view_weights_ = learn_view_weights(views, codes, len(self.classes_), seed, ready, self._vector_views())
        self._fit(X, views, deadline, {"labels": codes})
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Compute class probabilities from some or all of the fitted views; rows sum to one."""
        return self._mixtures(X)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most likely class of each object from some or all of the fitted views."""
        codes = self._mixtures(X).argmax(axis=1)  # first: it says when the model is not fitted
        return take_classes(self.classes_, codes)

    def _keep_labels(self) -> None:
        self.transduction_ = take_classes(self.classes_, self.memberships_.argmax(axis=1))

    def _n_columns(self) -> int:
        return len(self.classes_)

    def _fit_views(self, X: Any) -> Any:
        views = super()._fit_views(X)
        # learned from the training objects alone, and applied to new ones as well
        counts = self._counts_of(views)
        self.row_masses_ = {} if counts is None else compute_row_masses(counts, self.unit_mass)
        return scale_to_masses(views, self.row_masses_)

    def _new_views(self, X: Any) -> Any:
        return scale_to_masses(super()._new_views(X), self.row_masses_)

    def _first_vectors(self, views: Any, context: FitContext) -> Any:
        assert context.labels is not None
        return fit_class_means(views, context.labels, len(self.classes_), context.seed)

    def _first_memberships(self, views: Any, context: FitContext) -> Any:
        assert context.labels is not None
        # a view of weight 0 takes no part in the fit, and none in its start
        n_classes, used = len(self.classes_), [name for name in views.names if self.view_weights_[name] > 0]
        counts, odds = views.select(*self._count_views(used)), None
        held = HeldViews.on_device(counts, context.engine, n_classes)
        if context.vectors:  # those that were found to know something of the classes; counts stay off the device then
            vectors = views.select(*context.vectors)
            odds, held = fit_class_means(vectors, context.labels, n_classes, context.seed).log_odds, None
        if self.init == "naive_bayes":  # as published, section 4.1.2
            start = NaiveBayesStart.learned(counts, context.labels, n_classes, odds=odds)
        else:
            names = (*counts.names, *context.vectors)
            start = learn_label_start(
                views.select(*names), context.labels, n_classes, context.deadline, held, odds, counts.names
            )
        return start if held is None else start(counts, held)


# -- objects of very different lengths


def compute_row_masses(views: Any, unit_mass: bool | str) -> dict[str, float]:
    """Mass that rows of each view are brought to; none where they stay as they are.

    Parameters
    ----------
    views : Views or LazyViews
        Views of counts.
    unit_mass : bool or "auto"
        "auto" scales where the masses of the objects, of all views together, differ by more than their mean.

    Examples
    --------
    >>> import numpy as np
    >>> compute_row_masses(Views(words=np.diag([1.0, 2.0, 60.0])), "auto")
    {'words': 2.0}
    >>> compute_row_masses(Views(words=np.diag([1.0, 2.0, 3.0])), "auto")
    {}
    """
    if not unit_mass:
        return {}
    masses = np.concatenate(over_rows(views, _sum_rows))
    total = masses.sum(axis=1)
    if not (total > 0).any() or (unit_mass == "auto" and not is_uneven(total)):
        return {}
    # to the median and not to 1: the weight of a view beside the others stays what it was for a usual object
    filled = {name: column[column > 0] for name, column in zip(views.names, masses.T)}
    return {name: float(np.median(column)) for name, column in filled.items() if column.size}


def is_uneven(masses: np.ndarray) -> bool:
    """Tell whether masses of objects, but for those that have none, differ so widely that a few decide on all.

    Examples
    --------
    >>> is_uneven(np.array([1.0, 2.0, 60.0])), is_uneven(np.array([1.0, 2.0, 3.0])), is_uneven(np.zeros(2))
    (True, False, False)
    """
    some = masses[masses > 0]
    return bool(some.size) and bool(some.std() > some.mean())


def scale_to_masses(views: Any, masses: Mapping[str, float]) -> Any:
    """Views, in memory or lazy, whose rows have these masses; empty rows and other views stay."""
    scaled = {name: partial(_scale_to_mass, mass=mass) for name, mass in masses.items() if name in views.names}
    return views.map(scaled) if scaled else views


def _sum_rows(views: Views, first: int) -> np.ndarray:
    return np.column_stack([np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel() for matrix in views.values()])


def _scale_to_mass(matrix: Any, mass: float) -> Any:
    shares = normalize(matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64), norm="l1")
    return for_sklearn(shares * shares.dtype.type(mass))


# -- the models


@shared_parameters
class MultiViewPLSA(_TopicClusters, MixtureModel):
    """Cluster objects with several views: topics for each view, one clustering for all.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_components : int or {view: int}, default=32
        Number of topics in each view of counts. Topics are cheap: an EM iteration costs non-zeros x clusters,
        however many there are.
    <shared: vector_weights, seeds, seed_strength>
    max_iter : int, default=150
        Maximum number of EM iterations.
    <shared: tol>
    n_init : int, default=1
        Number of initializations, each from its own clusterings; the fit with the highest objective is kept.
    init : {"likeliest", "consensus", "random"} or dict, default="likeliest"
        Initial memberships: the most likely, after a few EM iterations, of several clusterings of different kinds; one
        consensus clustering (`ConsensusClustering`), as published; or random. A dict holds any of ``memberships``,
        ``topic_feature``, ``cluster_topic`` (``{view: array}``, or one array where there is one view) in the shapes of
        the fitted attributes; memberships that it lacks start as by default, everything else at random.
    <shared: likelihood, algorithm>
    <shared: engine, n_jobs>
    <shared: random_state, verbose>

    Attributes
    ----------
    labels_ : ndarray (n_objects,)
        Most likely cluster of each training object.
    memberships_ : ndarray (n_objects, n_clusters)
        ``p(cluster | object)`` of the training objects.
    <shared: group_names_>
    cluster_topic_ : dict of ndarray (n_clusters, n_components)
        ``p(topic | cluster, view)`` by view. A Gaussian view has one topic for each cluster.
    <shared: topic_feature_>
    <shared: view_weights_, likelihood_, noise_variance_, variance_explained_>
    <shared: group_means_, column_moments_>
    <shared: history_, fit_seconds_, n_iter_, stopped_by_>
    <shared: fitted views>

    Examples
    --------
    >>> from coview import MultiViewPLSA
    >>> from coview.datasets import make_topic_views
    >>> from coview.metrics import clustering_accuracy
    >>> data = make_topic_views(n_objects=150, n_clusters=3, random_state=0)
    >>> model = MultiViewPLSA(n_clusters=3, n_components=6, random_state=0).fit(data.views)
    >>> clustering_accuracy(data.target, model.labels_) > 0.95
    True
    >>> model.predict(data.views[:5].select("view1")).shape
    (5,)
    """

    _takes_vectors = True
    _fitted_state = {**_rules("topics of {view}"), **_OF_CLUSTERS}


@shared_parameters
class MultiViewPLSAClassifier(_TopicClasses, MixtureModel):  # type: ignore[misc]
    """Classify objects with several views from few labels: labeled objects keep their class, the others are inferred.

    Parameters
    ----------
    n_components : int or {view: int}, default=32
        Number of topics in each view of counts. Topics are cheap: an EM iteration costs non-zeros x classes,
        however many there are.
    view_weights : float, {view: float}, None or "auto", default=None
        Weight of each view; 1 by default. Vectors beside counts are weighed by default: as one token where they know
        nothing of the classes, and else as up to one for each column, fewer the more the columns' noise goes together
        (`coview.plsa.dense`). "auto" leaves out views that share nothing with the others, unless held-out labels can be
        told from them (`coview.classification.view_evidence`).
    unit_mass : bool or "auto", default="auto"
        Bring the rows of each view to the same sum, so that a long text counts no more than a short one. "auto" does so
        where the sums of the objects differ widely, by a standard deviation above their mean: there a few long texts
        would decide on all topics. False takes the counts as they are, as published.
    max_iter : int, default=150
        Maximum number of EM iterations.
    <shared: tol>
    n_init : int, default=1
        Number of initializations; the fit with the highest objective is kept.
    init : {"co_em", "naive_bayes", "random"} or dict, default="co_em"
        Initial memberships of unlabeled objects: the mean of one naive Bayes posterior per view (Laplace's smoothing),
        as published ("naive_bayes"), or after two rounds of co-EM ("co_em"), in which each view also learns from the
        unlabeled objects; or random. A dict holds any of ``memberships``, ``topic_feature``, ``cluster_topic`` in the
        shapes of the fitted attributes.
    <shared: likelihood, algorithm>
    <shared: engine, n_jobs>
    <shared: random_state, verbose>

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    transduction_ : ndarray (n_objects,)
        Class of each training object: its label, or the inferred one.
    memberships_ : ndarray (n_objects, n_classes)
        ``p(class | object)`` of the training objects.
    cluster_topic_ : dict of ndarray (n_classes, n_components)
        ``p(topic | class, view)`` by view. A Gaussian view has one topic for each class.
    <shared: topic_feature_>
    <shared: view_weights_, likelihood_, noise_variance_, variance_explained_>
    <shared: group_means_, column_moments_>
    row_masses_ : dict of float
        Sum that the rows of each view are brought to; empty where they are taken as they are.
    <shared: history_, fit_seconds_, n_iter_, stopped_by_>
    <shared: fitted views>

    Examples
    --------
    >>> import numpy as np
    >>> from coview import MultiViewPLSAClassifier
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=150, n_clusters=3, random_state=0)
    >>> y = np.full(150, -1)
    >>> y[:6] = data.target[:6]
    >>> model = MultiViewPLSAClassifier(n_components=6, random_state=0).fit(data.views, y)
    >>> bool(np.mean(model.transduction_[6:] == data.target[6:]) > 0.95)
    True
    """

    _takes_vectors = True
    _fitted_state = {**_rules("topics of {view}"), **_OF_CLASSES}


@parameters_of(MultiViewPLSA)
class DualPLSA(_TopicClusters, MixtureModel):
    """Cluster the objects of one view with separate topics and clusters; several views are concatenated.

    Parameters
    ----------
    <same: n_clusters>
    n_components : int, default=32
        Number of topics, shared by all views. Topics are cheap: an EM iteration costs non-zeros x clusters.
    <same: view_weights, seeds, seed_strength, max_iter, tol, n_init, init>
    likelihood : {"auto", "multinomial"}, default="auto"
        All views are counts here: they share their topics.
    <same: algorithm, engine, n_jobs, random_state, verbose>

    Attributes
    ----------
    <same: labels_, memberships_, group_names_>
    cluster_topic_ : dict of ndarray (n_clusters, n_components)
        ``p(topic | cluster, view)`` by view, the same for all of them.
    <same: topic_feature_>
    topic_view_ : ndarray (n_components, n_views)
        ``p(view | topic)``: how much of each topic lies in each view.
    <same: view_weights_, history_, fit_seconds_, n_iter_, stopped_by_>
    <shared: fitted views>

    Examples
    --------
    >>> from coview import DualPLSA
    >>> from coview.datasets import make_topic_views
    >>> from coview.metrics import clustering_accuracy
    >>> data = make_topic_views(n_objects=150, n_views=1, n_clusters=3, random_state=0)
    >>> model = DualPLSA(n_clusters=3, n_components=6, random_state=0).fit(data.views["view0"])
    >>> clustering_accuracy(data.target, model.labels_) > 0.95
    True
    """

    _joint = True
    _takes_vectors = False
    _fitted_state = {**_SHARED, **_OF_CLUSTERS}
    _parameters = {"likelihood": one_of("auto", "multinomial")}


@parameters_of(MultiViewPLSAClassifier)
class DualPLSAClassifier(_TopicClasses, MixtureModel):  # type: ignore[misc]
    """Classify the objects of one view from few labels; several views are concatenated.

    Parameters
    ----------
    n_components : int, default=32
        Number of topics, shared by all views. Topics are cheap: an EM iteration costs non-zeros x classes.
    <same: view_weights, unit_mass, max_iter, tol, n_init, init>
    likelihood : {"auto", "multinomial"}, default="auto"
        All views are counts here: they share their topics.
    <same: algorithm, engine, n_jobs, random_state, verbose>

    Attributes
    ----------
    <same: classes_, transduction_, memberships_>
    cluster_topic_ : dict of ndarray (n_classes, n_components)
        ``p(topic | class, view)`` by view, the same for all of them.
    <same: topic_feature_>
    topic_view_ : ndarray (n_components, n_views)
        ``p(view | topic)``: how much of each topic lies in each view.
    <same: view_weights_, row_masses_, history_, fit_seconds_, n_iter_, stopped_by_>
    <shared: fitted views>

    Examples
    --------
    >>> import numpy as np
    >>> from coview import DualPLSAClassifier
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=150, n_views=1, n_clusters=3, random_state=0)
    >>> y = np.where(np.arange(150) < 9, data.target, -1)
    >>> model = DualPLSAClassifier(n_components=6, random_state=0).fit(data.views["view0"], y)
    >>> bool(np.mean(model.transduction_ == data.target) > 0.95)
    True
    """

    _joint = True
    _takes_vectors = False
    _fitted_state = {**_SHARED, **_OF_CLASSES}
    _parameters = {"likelihood": one_of("auto", "multinomial")}

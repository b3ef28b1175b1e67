"""The base of the PLSA family: objects are mixtures of profiles, fitted by EM in sweeps, blocks of rows at a time.

A model says what its steps are (`steps.py`), where it starts (`starts.py`), and how its shared parameters become fitted
attributes. What is said here is that of topics: each is one distribution per view, or (`_joint`) over all views, over a
background where there is one. A background q is the share of each feature in all objects; with its fixed share s,

    p(f | d, v) = sum_z p(z | d) ((1 - s) p(f | z, v) + s q(f | v))

(Zhai, Velivelli and Yu, 2004), so that topics say how objects differ from the mean.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, is_clusterer
from sklearn.utils.validation import check_is_fitted

from coview.base import MultiViewEstimator
from coview.engines.checkpoint import Checkpoint
from coview.engines.loop import NO_DEADLINE, START_SHARE, Deadline, LoopMixin, make_holder, with_callbacks
from coview.engines.passes import blockwise
from coview.engines.protocol import (
    Block,
    Engine,
    Extra,
    Holder,
    State,
    Tree,
    floating_type,
    over_rows,
    sample_rows,
    tree_map,
)
from coview.exceptions import ParameterError, ViewsError
from coview.inspection import Features, Inspection, Structure, Training
from coview.inspection.features import DEVIATION, deviations_of, rank_features, top_features
from coview.plsa.dense import (
    GAUSSIAN,
    LIKELIHOOD,
    LIKELIHOODS,
    MULTINOMIAL,
    SAMPLE,
    cluster_vectors,
    compute_column_moments,
    compute_vector_weights,
    initialize_vectors,
)
from coview.plsa.fitted_rules import topic_rules, vectors_rule
from coview.plsa.starts import (
    FitContext,
    Seeds,
    apply_start,
    as_distributions,
    compute_view_shares,
    draw_topics,
    factorize_views,
    read_init,
    read_init_keys,
    read_seeds,
    soften,
)
from coview.plsa.steps import (
    FEATURE_FLOOR,
    BackgroundSteps,
    MixtureSteps,
    add_background,
    fold_rows,
    get_topics,
    mix_with_background,
)
from coview.utils import fitted_state as rules
from coview.utils.messages import did_you_mean, listed
from coview.utils.parameters import number
from coview.validation import base_seed, check_enough_objects, per_view
from coview.views.arrays import holds_measurements
from coview.views.lazy import LazyViews
from coview.views.views import Views, n_present, presence_patterns

__all__ = ["RESTART", "FamilyMixin", "MixtureClusterMixin", "MixtureModel", "choose_likelihoods", "split_by_view"]

PHASES = ("start", "iterations", "end")  # of a fit
RESTART = 104_729  # apart enough that restarts share no stream

Self = TypeVar("Self", bound="MixtureModel")


class MixtureModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LoopMixin, MultiViewEstimator):
    """Base of the PLSA family."""

    _takes_lazy = True
    _takes_weights = True  # whether views count differently: `view_weights`
    _mixture = "memberships_"  # the fitted attribute that holds what was found of the training objects
    _most_rows: int | None = None  # of a block, where the model itself has a limit
    _group_rows: tuple[str, ...] = ("topic_feature_",)
    _joint = False  # whether a profile is one distribution over all views
    _start_share = START_SHARE  # of a time budget, for the start
    _start_names: tuple[str, ...] = ("memberships", "topic_feature")
    init: Any
    n_init: int
    n_components: Any
    random_state: Any
    learning_decay: float
    likelihood: Any = MULTINOMIAL  # this and the following where they are no parameters
    view_weights: Any = None
    background: float = 0.0
    seeds: Any = None
    seed_strength: float = 0.0
    topic_feature_: dict[str, np.ndarray]
    topic_view_: np.ndarray
    memberships_: np.ndarray
    background_: dict[str, np.ndarray]
    likelihood_: dict[str, str]
    noise_variance_: dict[str, float]
    view_weights_: dict[str, float]
    variance_explained_: dict[str, np.ndarray]
    group_means_: dict[str, np.ndarray]
    column_moments_: dict[str, np.ndarray]
    batch_counts_: Tree
    n_batches_: int
    fit_seconds_: dict[str, float]
    _fitted_state = {
        **topic_rules("topics", "topics"),
        "likelihood_": rules.optional(rules.by_view(rules.choice(*LIKELIHOODS))),
        "noise_variance_": vectors_rule(rules.real(1e-60, 1e120)),
        "column_moments_": rules.optional(rules.by_view(rules.floats(2, "features of {view}"), some=True)),
        "view_weights_": rules.by_view(rules.weight()),
        "n_batches_": rules.optional(rules.count(), needed=lambda state: "batch_counts_" in state),
        "updates_": rules.optional(rules.sequence(rules.anything())),
        "fit_seconds_": rules.optional(rules.record(**dict.fromkeys(PHASES, rules.real(0.0)))),
    }
    # beyond .95, what a background leaves to the topics is less than the noise of the counts
    _parameters = {"likelihood": LIKELIHOOD, "background": number(most=0.95)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self._takes_vectors:
            fitted = "likelihood_" in vars(self)
            tags.input_tags.positive_only = not self._vector_views() if fitted else self.likelihood == MULTINOMIAL
        return tags

    # -- what users call

    def fit(self: Self, X: Any, y: Any = None) -> Self:
        """Fit the model to X; y is ignored."""
        return self._fit_until(X, self._deadline())

    def fit_transform(self: Any, X: Any, y: Any = None) -> np.ndarray:
        """Fit to X and fold X in, so that what follows is trained on what it will meet later.

        Where the fit itself left the training objects is in `memberships_`, or `memberships_by_view_`.
        """
        return self.fit(X, y).transform(X)

    def transform(self, X: Any) -> np.ndarray:
        """Mixtures of objects, new or old, from some or all of the fitted views, the topics fixed.

        Rows sum to one; an object without any feature gets an even mixture, and one that lacks a view the mixture that
        it would get if that view were not given.
        """
        return self._mixtures(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood per token (unit of mass) of X, its mixtures folded in; 0 where X holds nothing.

        A vector of a Gaussian view counts as many tokens as its weight, with the mean logarithm of the density of its
        values (without the constant -log(2 pi) / 2): it depends on the unit of measurement, and compares models of the
        same views.
        """
        views = self._new_views(X)
        # tasks carry the model with them: without the training rows it is small
        on_cluster = isinstance(views, LazyViews) and views.is_dask
        sums = over_rows(views, self._traveling()._likelihood if on_cluster else self._likelihood)
        total, mass = np.sum(sums, axis=0)
        return float(total / mass) if mass else 0.0

    def perplexity(self, X: Any) -> float:
        """Perplexity of X: exp of minus the mean log-likelihood per token; lower is better.

        Densities have none: X must hold views of counts alone.
        """
        vectors = [name for name in self._new_views(X).names if name in self._vector_views()]
        if vectors:
            raise ViewsError(
                f"perplexity needs counts, but X holds Gaussian views {listed(vectors)}: leave them out, or use score."
            )
        return float(np.exp(-MixtureModel.score(self, X)))

    def top_features(self, view: str | None = None, n: int = 10) -> list[list[tuple[str, float]]]:
        """For each topic the `n` most probable features of a view, with their probabilities.

        Of a Gaussian view they are the columns whose mean over the objects of the topic, weighted by their
        memberships, lies farthest from that of all objects, with this distance in standard deviations, negative where
        it lies below. Vectors whose columns have no names are refused: `describe(model, X)` has the objects
        nearest to their means.

        Parameters
        ----------
        view : str, optional
            Name of the view; not needed where there is only one.
        n : int, default=10
            How many features per topic.

        Returns
        -------
        list of lists of (feature, probability)
            Features are named where names are known, else "f0", "f1", ...
        """
        check_is_fitted(self, "topic_feature_")
        return self._ranked(self.topic_feature_, view, n)

    def _ranked(self, weights: Mapping[str, np.ndarray], view: str | None, n: int) -> list[list[tuple[str, float]]]:
        """The n largest entries of each row of a view's weights with the names of their features."""
        if view is None and len(self.view_names_) == 1:
            view = self.view_names_[0]
        if view is None or view not in self.view_names_:
            raise ViewsError(f"view must name one of the views {listed(self.view_names_)}, got {view!r}.")
        names = self.feature_names_by_view_.get(view)
        if view in self._vector_views():
            if names is None:
                raise ViewsError(
                    f"View {view!r} holds vectors, and its columns have no names: one of them alone says nothing. Use "
                    "describe(model, X) for the objects nearest to each mean vector, or name the columns."
                )
            ranked = top_features(self._as_features(view, weights[view]), names, n)
            return [[(name, deviation) for name, deviation, _ in row] for row in ranked]
        labels = [f"f{j}" for j in range(self.n_features_by_view_[view])] if names is None else names
        best = rank_features(Features(weights[view]), n, by="weight", above=-np.inf)
        return [[(str(labels[j]), float(row[j])) for j in order] for row, order in zip(weights[view], best)]

    # -- views, their likelihoods and their weights

    def _fit_views(self, X: Any) -> Any:
        views = super()._fit_views(X)
        if self._takes_vectors:
            vectors = self._vector_views()
            self.column_moments_ = compute_column_moments(views, vectors) if vectors else {}
        if self._takes_weights:
            given = None if isinstance(self.view_weights, str) else self.view_weights  # "auto": learned from labels
            weights = per_view("view_weights", given, self.view_names_)
            self.view_weights_ = dict(zip(self.view_names_, weights.tolist()))
        return views

    def _look_at(self, views: Any) -> None:
        """Choose the likelihood of each view."""
        if self._takes_vectors:
            self.likelihood_ = choose_likelihoods(self.likelihood, views)

    def _real_views(self) -> frozenset[str]:
        return frozenset(self._vector_views())

    def _vector_views(self) -> dict[str, str]:
        """Views of vectors, each with its likelihood."""
        known = vars(self).get("likelihood_", {})  # models of counts alone have none
        return {name: likelihood for name, likelihood in known.items() if likelihood != MULTINOMIAL}

    def _count_views(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of some views that are counts."""
        vectors = self._vector_views()
        return tuple(name for name in names if name not in vectors)

    def _counts_of(self, views: Any) -> Any:
        """Views of counts alone; None where all are vectors."""
        names = self._count_views(views.names)
        return (views if len(names) == len(views.names) else views.select(*names)) if names else None

    def _weights_of(self, views: Any) -> dict[str, float]:
        """Weights of views; none where they count alike."""
        return {name: self.view_weights_[name] for name in views.names} if self._takes_weights else {}

    def _weigh_vectors(self, views: Any, context: FitContext) -> tuple[str, ...]:
        """Find the weights that were not given, by labels where there are any; return which views know something."""
        if not self._takes_weights:
            return ()
        given: Iterable[str] = self.view_weights if isinstance(self.view_weights, Mapping) else self.view_names_
        if self.view_weights is None or isinstance(self.view_weights, str):
            given = ()
        # a weight that a user gives is kept; 0 means that the view is not to be looked at
        names = [name for name in self._vector_views() if name not in given and self.view_weights_[name] > 0]
        counts = {name: self.view_weights_[name] for name in self._count_views(views.names)}
        counts = {name: weight for name, weight in counts.items() if weight > 0}
        token, worth = compute_vector_weights(
            views, names, counts, self._steps().width, context.seed, codes=context.labels, deadline=context.deadline
        )
        for name in names:
            self.view_weights_[name] *= token * worth[name]
        return tuple(name for name in names if worth[name] > 1)

    def _leading_views(self, views: Any) -> tuple[str, ...]:
        """Gaussian views that the start is made of alone: where there are no counts, or all have the weight 0."""
        weights = self._weights_of(views)
        if any(weights.get(name, 1.0) for name in self._count_views(views.names)):
            return ()
        return tuple(name for name in self._vector_views() if weights.get(name, 1.0))

    # -- fitting

    def _fit_until(self: Self, X: Any, deadline: Deadline) -> Self:
        views = self._prepared(self._fit_views(X))
        if "background" in vars(self):
            self.background_ = {}
            self._move_background(views, 1.0)
        return self._fit(X, views, deadline, self._carried())

    def _prepared(self, views: Any) -> Any:
        """Views as the steps take them."""
        return views

    def _carried(self) -> dict[str, Any]:
        """What blocks carry beside their views, whatever the start is."""
        return {}

    @with_callbacks
    def _fit(self: Self, X: Any, views: Views, deadline: Deadline, extra: dict[str, Any]) -> Self:
        engine, seeds = self._engine(X), self._read_seeds(views)
        with engine.limits():
            if seeds is None:
                self._fit_on(engine, X, views, deadline, extra)
            else:
                self._fit_on(engine, X, self._with_seeds(views, seeds), deadline, self._of_seeds(views, seeds))
                self.group_names_ = seeds.group_names()
        if self._joint and not isinstance(views, LazyViews):
            # objects that lack a view, but those with a label, get the mixture that new ones would get
            free = ~views.present.all(axis=1) & (extra["labels"] < 0 if "labels" in extra else True)
            if free.any():
                vars(self)[self._mixture][free] = self._mixtures(views[free])
        self._keep_labels()
        return self

    def _keep_labels(self) -> None:
        """Keep what the mixtures say of the training objects, where a model assigns them to groups."""

    def _fit_on(self, engine: Engine, X: Any, views: Any, deadline: Deadline, extra: dict[str, Any]) -> None:
        phases = [time.monotonic()]
        # a resumed fit must start at the same place: with a checkpoint the start takes the time that it needs
        ready = NO_DEADLINE if self._of_kind(Checkpoint) else deadline.share(self._start_share)
        context = FitContext(
            base_seed(self.random_state), self._known_labels(extra), ready, engine=engine, start=extra.get("start")
        )
        make, carried = self._begin_all(views, context)
        # after the start, which may have learned the weights of views that the steps use
        steps, extra = self._steps(), {**carried, **extra}
        holder = self._hold(views, engine, steps.width, extra)
        dtype = floating_type(views)

        def begin(restart: int) -> tuple[Tree, int]:
            here = context.seed + RESTART * restart
            return tree_map(lambda array: holder.ops.asarray(array, dtype), make(here)), here

        def reconstruct(state: State) -> dict[str, Any]:
            return self._attributes(state, holder)

        phases.append(time.monotonic())
        n_init = 1 if self._fixed_start() else self.n_init
        fit = self._run_loop(X, views, steps, holder, begin, extra, reconstruct, deadline, n_init=n_init)
        phases.append(time.monotonic())
        holder.release()
        # what `partial_fit` had summed up, and `update` told, is of another model now
        for name in ("batch_counts_", "n_batches_", "updates_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(self._attributes(fit.state, holder))
        phases.append(time.monotonic())
        self.fit_seconds_ = dict(zip(PHASES, np.diff(phases).tolist()))
        self.history_, self.n_iter_, self.stopped_by_ = fit.history, fit.n_iter, fit.stopped_by

    def _hold(self, views: Any, engine: Engine, width: int, extra: Extra) -> Holder:
        """Hand the rows to who will hold them during a fit: this process, its disk or a cluster."""
        return make_holder(views, engine, width, extra, self._gate(floating_type(views)), self._most_rows)

    def _traveling(self) -> Any:
        """Return a copy to send to the workers of a cluster: what it learned, but nothing of the training rows."""
        light = copy.copy(self)
        light.engine = getattr(self.engine, "worker_engine", "cpu" if self.engine in ("auto", "dask") else self.engine)
        for name in ("_callbacks", "labels_", "labels_by_view_", "transduction_", "history_", "_object_ids"):
            light.__dict__.pop(name, None)
        light.__dict__.pop(self._mixture, None)
        return light

    def _steps(self) -> MixtureSteps:
        kind = BackgroundSteps if self._background() else MixtureSteps
        weights = self.view_weights_ if self._takes_weights else {}
        return kind(self._n_columns(), self.algorithm == "fast", weights, self._vector_views(), self._joint)

    def _n_columns(self) -> int:
        """Number of groups that objects are mixtures of."""
        return int(self.n_components)

    def _known_labels(self, extra: Mapping[str, Any]) -> np.ndarray | None:
        """Labels of objects; those of pseudo-objects are none."""
        return extra.get("labels") if self.seeds is None else None

    # -- seeds of topics

    def _read_seeds(self, views: Any) -> Seeds | None:
        """Seeds of topics as columns of the views; None where there are none."""
        if self.seeds is None:
            return None
        if isinstance(views, LazyViews):
            raise ViewsError("seeds require in-memory views, got lazy views. Read them with X.collect().")
        if "memberships" in read_init_keys(self.init):
            raise ValueError("seeds and init['memberships'] both say where objects start. Leave one of them out.")
        widths = {name: views.n_features[name] for name in self._count_views(views.names)}
        return read_seeds(self.seeds, self._steps().width, widths, views.feature_names)

    def _with_seeds(self, views: Views, seeds: Seeds) -> Views:
        return seeds.with_pseudo_objects(views, self.seed_strength, self._steps().width)

    def _of_seeds(self, views: Views, seeds: Seeds) -> dict[str, Any]:
        """What blocks carry of objects and pseudo-objects: their topics, and where they start."""
        start = seeds.start(views, self._steps().width, base_seed(self.random_state))
        return {"labels": seeds.labels(len(views)), "start": start}

    # -- the start

    def _begin_all(self, views: Any, context: FitContext) -> tuple[Callable[[int], Tree], dict[str, Any]]:
        """As `_begin`, with the weights, means and noise of Gaussian views."""
        vectors = self._vector_views()
        if not vectors:
            return self._begin(views, context)
        evidence = replace(context, deadline=context.deadline.share(0.5))
        make, carried = self._begin(views, replace(context, vectors=self._weigh_vectors(views, evidence)))
        given = read_init(self.init, None, list(views.names)).get("topic_feature", {})

        def make_all(here: int) -> Tree:
            width = self._steps().width
            return {
                **make(here),
                **initialize_vectors(views, vectors, given, width, here, spread="start" not in carried),
            }

        return make_all, carried

    def _begin(self, views: Any, context: FitContext) -> tuple[Callable[[int], Tree], dict[str, Any]]:
        """Function from seed to shared parameters (NumPy arrays), and arrays that the blocks carry."""
        arrays = self._initial_arrays(views, context)
        carried: dict[str, Any] = {}
        if "memberships" in arrays:
            carried["start"] = arrays["memberships"]
            if isinstance(self.init, Mapping):  # a user's may be of any shape; those of a start may be a function
                shape = (len(views), self._n_columns())
                carried["start"] = as_distributions("memberships", arrays["memberships"], shape)
        return lambda here: self._as_shared(self._start_topics(arrays, views, here)), carried

    def _initial_arrays(self, views: Any, context: FitContext) -> dict[str, Any]:
        """Arrays to start from, by the keys of `init`: given, or those of a factorization."""
        if context.start is not None or isinstance(self.init, Mapping) or not self._fixed_start():
            return read_init(self.init, self._start_names, list(views.names))
        leading, weights = self._leading_views(views), self._weights_of(views)
        if leading:
            start = cluster_vectors(views.select(*leading), self._n_columns(), context.seed)
            return {"memberships": soften(np.concatenate(over_rows(views, partial(apply_start, start=start))))}
        names = [name for name in self._count_views(views.names) if weights.get(name, 1.0) > 0]
        return factorize_views(views.select(*names), self._n_columns(), context.seed, weights)

    def _fixed_start(self) -> bool:
        """Whether every start would be the same, so that one is enough."""
        if isinstance(self.init, Mapping):
            return {"memberships", "topic_feature"} <= read_init_keys(self.init)
        return self.init == "nmf" or (self.init == "auto" and bool(self._background()))

    def _start_topics(self, arrays: dict[str, Any], views: Any, seed: int) -> dict[str, np.ndarray]:
        """Topics over the views of counts: given or random; each view with its share of the mass, where joint."""
        counts, given = self._counts_of(views), arrays.get("topic_view")
        if counts is None:
            return {}
        n_topics = dict.fromkeys(counts.names, self._n_columns())
        topics = draw_topics(arrays.get("topic_feature", {}), n_topics, counts.n_features, seed)
        if not self._joint:
            return topics
        if given is not None and np.shape(given)[1:] == (len(views.names),):  # Gaussian views have no share
            given = np.asarray(given)[:, [views.names.index(name) for name in counts.names]]
        shares = compute_view_shares(counts, self._n_columns(), given)
        return {name: np.maximum(part * shares[:, v], FEATURE_FLOOR) for v, (name, part) in enumerate(topics.items())}

    def _as_shared(self, topics: dict[str, np.ndarray]) -> Tree:
        """Shared parameters of topics (features x topics), over the background where there is one."""
        background = self._background()
        return add_background(topics, background, joint=self._joint) if background else {"profiles": topics}

    # -- the background

    def _background(self) -> dict[str, np.ndarray]:
        """Fitted background as columns (features x 1), empty where there is none."""
        return {name: part[:, None] for name, part in vars(self).get("background_", {}).items()}

    def _move_background(self, views: Any, weight: float) -> None:
        """Bring the background to that of some objects, by so much; where a view of theirs is empty, it stays."""
        counts = self._counts_of(views)
        if counts is None or (not self.background and not self.background_):
            return
        parts = over_rows(counts, _sum_features)
        sums = {name: np.sum([part[name] for part in parts], axis=0) for name in counts.names}
        # of a first batch whose view is empty nothing is known: an even background keeps it defined
        even = {name: np.ones_like(part) for name, part in sums.items()}
        known = self.background_ or _scaled(even, self.background, self._joint)
        # the share as fitted: the parameter may have been set anew between two batches
        share = sum(part.sum() for part in known.values()) / (1 if self._joint else len(known))
        fresh = _scaled(sums, share, self._joint)
        self.background_ = {
            name: (1 - weight) * part + weight * fresh[name] if name in fresh else part for name, part in known.items()
        }

    # -- fitted attributes

    def _attributes(self, state: State, holder: Holder) -> dict[str, Any]:
        shared = tree_map(holder.ops.to_numpy, state.shared)
        attributes = self._shared_attributes(shared)
        if self._vector_views():
            topics = attributes["topic_feature_"] | {name: part.T for name, part in shared["means"].items()}
            attributes["topic_feature_"] = {name: topics[name] for name in self.view_names_}
        if self._takes_vectors:
            noise = shared.get("log_variance", {})
            attributes["noise_variance_"] = {name: float(np.exp(np.float64(part[0]))) for name, part in noise.items()}
            attributes["variance_explained_"] = dict(shared.get("explained", {}))
            attributes["group_means_"] = {name: part.T for name, part in shared.get("members", {}).items()}
        attributes[self._mixture] = holder.collect(state.rows, "mixture")
        if self.seeds is not None:  # pseudo-objects come last
            attributes[self._mixture] = attributes[self._mixture][: -len(self.seeds)]
        return attributes

    def _shared_attributes(self, shared: Tree) -> dict[str, Any]:
        """Fitted attributes that the shared parameters (NumPy arrays) make."""
        topics = get_topics(shared)
        if not self._joint:
            return {"topic_feature_": {name: part.T for name, part in topics.items()}}
        n_views = len(self.view_names_)
        if not topics:  # nothing to have a share of
            return {"topic_feature_": {}, "topic_view_": np.full((self._n_columns(), n_views), 1 / n_views)}
        by_view, known = split_by_view(topics)
        shares = np.zeros((len(known), n_views))
        shares[:, [self.view_names_.index(name) for name in by_view]] = known
        return {"topic_feature_": by_view, "topic_view_": shares}

    def _profiles(self, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        """Fitted profiles (features x columns) over some of the views."""
        background, parts = self._background(), self._topics(names)
        if background:
            parts = mix_with_background(parts, background, joint=self._joint)
        if self._joint:  # a subset of views: each topic's distribution over what is there
            total = sum(self._shares_over_background(name) for name in names)
            parts = {name: part / np.maximum(total, FEATURE_FLOOR) for name, part in parts.items()}
        return {name: np.maximum(part, FEATURE_FLOOR) for name, part in parts.items()}

    def _topics(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Fitted topics (features x topics) over some of the views, each with the share of its view where joint."""
        topics = {name: self.topic_feature_[name].T for name in names}
        if not self._joint:
            return topics
        return {name: part * self.topic_view_[:, self.view_names_.index(name)] for name, part in topics.items()}

    def _shares_over_background(self, view: str) -> np.ndarray:
        """Share of a view in each topic and the background, of a model whose topics are joint."""
        background, shares = self._background(), self.topic_view_[:, self.view_names_.index(view)]
        if not background:
            return shares
        return (1 - sum(part.sum() for part in background.values())) * shares + background[view].sum()

    def _fitted_means(self, names: Iterable[str]) -> Tree:
        """Means and noise of those of some views that are Gaussian."""
        vectors = [name for name in names if name in self._vector_views()]
        return {
            "means": {name: self.topic_feature_[name].T for name in vectors},
            "log_variance": {name: np.log([self.noise_variance_[name]]) for name in vectors},
            "explained": {name: self.variance_explained_[name] for name in vectors},
            "members": {name: self.group_means_[name].T for name in vectors},
        }

    def _restored(self) -> Tree:
        """Shared parameters (NumPy arrays) from the fitted attributes."""
        topics = self._topics(self._count_views(self.view_names_))
        shared = self._as_shared({name: np.maximum(part, FEATURE_FLOOR) for name, part in topics.items()})
        return {**shared, **self._fitted_means(self.view_names_)}

    @property
    def _n_features_out(self) -> int:
        return len(next(iter(self.topic_feature_.values())))

    # -- inspection

    def _inspect(self) -> Inspection:
        """Answer `inspect`: topics of several views, by their profiles."""
        groups = [str(k) for k in range(self._n_features_out)]
        kept = self.__dict__.get(self._mixture)  # a copy that travels to a cluster has none
        training = Training(history=self.history_)
        if isinstance(kept, dict):  # by view
            mean: Any = sum(kept.values()) / len(kept)
            training = Training(mean, dict(kept), mean.argmax(axis=1), history=self.history_)
        elif kept is not None:
            training = Training(kept, codes=kept.argmax(axis=1), history=self.history_)
        return Inspection(
            self,
            "cluster" if is_clusterer(self) else "topic",
            groups,
            list(range(len(groups))),
            self._view_inputs(),
            training,
            structure=Structure(
                likelihoods=dict(vars(self).get("likelihood_", {})),
                variance_explained=dict(vars(self).get("variance_explained_", {})),
                probabilities=True,
                updates=list(vars(self).get("updates_", [])),
            ),
            _features=lambda view: self._as_features(view, self.topic_feature_[view]),
            _memberships=self.transform,
            _profiles=lambda: self._profiles(self._count_views(self.view_names_)),
        )

    def _as_features(self, view: str, weights: np.ndarray) -> Features:
        """Describe groups by distributions over the features of a view, or by the means of vectors."""
        if view in self._vector_views():
            weights = self.group_means_[view]
            return Features(weights, False, DEVIATION, deviations=deviations_of(weights, *self.column_moments_[view]))
        background, shares = None, self._view_shares(view)
        if self._background():
            over = None if shares is None else self._shares_over_background(view)
            background = Features(self._profiles((view,))[view].T, True, view_shares=over)
        return Features(weights, True, "p(feature)", with_background=background, view_shares=shares)

    def _view_shares(self, view: str) -> np.ndarray | None:
        """Share of a view in each group, where a group is one distribution over all views."""
        return self.topic_view_[:, self.view_names_.index(view)] if self._joint else None

    # -- folding in

    def _fitted_steps(self) -> Any:
        """Steps as wide as what was fitted: parameters may have been set anew since."""
        return replace(self._steps(), width=self._n_features_out)

    def _fitted(self, views: Views, engine: Engine) -> Tree:
        """Shared parameters for fold-in."""
        dtype = floating_type(views)
        shared = {"profiles": self._profiles(self._count_views(views.names)), **self._fitted_means(views.names)}
        return tree_map(lambda part: engine.asarray(part, dtype), shared)

    def _fold_in(self, block: Block, steps: MixtureSteps, shared: Tree, engine: Engine) -> np.ndarray:
        return fold_rows(steps, block, None, shared, engine)

    @blockwise
    def _mixtures(self, X: Any) -> np.ndarray:
        """Mixtures of objects by fold-in, from some or all of the fitted views."""
        views = self._new_views(X)
        engine, steps = self._engine(X), self._fitted_steps()
        mixtures = np.full((len(views), steps.width), 1.0 / steps.width, floating_type(views))
        for rows, part in self._alike(views):
            model, part = self._of_features(part)
            shared, blocks = model._fitted(part, engine), self._each_block(part, engine, steps.width)
            with engine.limits():
                mixtures[rows] = np.concatenate([self._fold_in(block, steps, shared, engine) for block in blocks])
        return mixtures

    def _of_features(self: Self, views: Views) -> tuple[Self, Views]:
        """The model and views of the features that the objects have, where few: laying out all would take the time."""
        few = {}
        for name in () if self._background() else self._count_views(views.names):
            matrix = views[name]
            # entries bound the features that occur: where there may be many, cutting the topics down saves nothing
            if sparse.issparse(matrix) and 0 < 4 * matrix.nnz <= matrix.shape[1]:
                few[name] = np.unique(matrix.indices)
        if not few:
            return self, views
        light = copy.copy(self)
        light.topic_feature_ = self.topic_feature_ | {name: self.topic_feature_[name][:, few[name]] for name in few}
        return light, views.map({name: itemgetter((slice(None), features)) for name, features in few.items()})

    def _alike(self, views: Views) -> Iterator[tuple[np.ndarray, Views]]:
        """Objects by the views that they have, and these views of them; those without any are left out.

        Where a topic is one distribution over all views, it is another one over some of them: else topics with much of
        a view would count as unlikely for an object that lacks it. Other models take all objects at once.
        """
        if not self._joint or views.present.all():
            yield np.arange(len(views)), views
            return
        for rows, had in presence_patterns(views.present):
            yield rows, views[rows].select(*(views.names[v] for v in had))

    def _likelihood(self, views: Views, first: int) -> tuple[float, float]:
        """Log-likelihood and mass of some rows."""
        engine, steps = self._engine(), self._fitted_steps()
        total = mass = 0.0
        for _, part in self._alike(self._new_views(views)):
            shared = self._fitted(part, engine)
            for block in self._each_block(part, engine, steps.width):
                rows = {"mixture": engine.asarray(self._fold_in(block, steps, shared, engine))}
                total += float(steps.objective(block, rows, shared, engine))
                mass += self._mass(block, steps, engine)
        return total, mass

    def _mass(self, block: Block, steps: MixtureSteps, engine: Engine) -> float:
        """Tokens of a block; a vector counts as one, times its weight."""
        parts = [steps.weights.get(name, 1.0) * engine.row_sums(part).sum() for name, part in steps.counts(block)]
        parts += [steps.weights.get(name, 1.0) * block.present[name].sum() for name in steps.vectors(block)]
        return float(sum(parts))


# Mixins of the family are no estimators by themselves; type checkers are told what they are mixed into.
if TYPE_CHECKING:
    FamilyMixin = MixtureModel
else:
    FamilyMixin = object


class MixtureClusterMixin(ClusterMixin, FamilyMixin):
    """What clusterers of the family have beside `MixtureModel`: each of the `n_clusters` columns is a cluster."""

    n_clusters: int
    labels_: np.ndarray

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most likely cluster of each object from some or all of the fitted views."""
        return self._mixtures(X).argmax(axis=1)

    def _n_columns(self) -> int:
        return int(self.n_clusters)

    def _fit_views(self, X: Any) -> Any:
        views = super()._fit_views(X)
        check_enough_objects(len(views), self._n_columns())
        return views

    def _keep_labels(self) -> None:
        self.labels_ = vars(self)[self._mixture].argmax(axis=1)


# -- which likelihood a view has


def choose_likelihood(matrix: Any, n_present: int | None = None) -> str:
    """Likelihood that suits the values of a matrix of which `n_present` rows have the view (all); others are zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> choose_likelihood(np.array([[3.0, 0.0], [1.0, 2.0]])), choose_likelihood(np.array([[0.3, 0.7], [0.5, 0.1]]))
    ('multinomial', 'gaussian')
    >>> choose_likelihood(sparse.csr_array([[0.3, 0.0]])), choose_likelihood(np.array([[3, -1]]))
    ('multinomial', 'gaussian')
    >>> choose_likelihood(np.array([[31], [54], [17]]))
    'gaussian'
    """
    # of a single column, every share is 1: a multinomial could say nothing about an object
    alone = matrix.shape[1] == 1 and not sparse.issparse(matrix) and matrix.size > 0 and bool(np.ptp(matrix) > 0)
    return GAUSSIAN if alone or holds_measurements(matrix, n_present) else MULTINOMIAL


def choose_likelihoods(likelihood: Any, views: Any) -> dict[str, str]:
    """Likelihood of each view by a parameter: "auto", the name of one, or a dict of such by view.

    Views that a dict does not name are chosen for, as by "auto".

    Examples
    --------
    >>> import numpy as np
    >>> from coview import Views
    >>> X = Views(words=np.array([[3, 0], [0, 2]]), vector=np.array([[0.3, -0.7], [0.5, 0.1]]))
    >>> choose_likelihoods("auto", X)
    {'words': 'multinomial', 'vector': 'gaussian'}
    """
    given = likelihood if isinstance(likelihood, Mapping) else dict.fromkeys(views.names, likelihood)
    for name in given:
        if name not in views.names:
            raise ParameterError(
                f"names view {name!r}, but the views are {listed(views.names)}.{did_you_mean(name, views.names)}",
                parameter="likelihood",
            )
    chosen = {name: given.get(name, "auto") for name in views.names}
    if "auto" in chosen.values():
        some = sample_rows(views, SAMPLE) if isinstance(views, LazyViews) else views
        have = n_present(some)
        chosen = {
            name: choose_likelihood(some[name], have[name]) if one == "auto" else one for name, one in chosen.items()
        }
    return chosen


# -- the background


def _sum_features(views: Views, first: int) -> dict[str, np.ndarray]:
    return {name: np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() for name, X in views.items()}


def _scaled(sums: Mapping[str, np.ndarray], share: float, joint: bool) -> dict[str, np.ndarray]:
    """Frequencies that add up to a share, of each view or (`joint`) of all; none of views without any."""
    masses = {name: part.sum() for name, part in sums.items()}
    masses = dict.fromkeys(masses, sum(masses.values())) if joint else masses
    return {name: share * part / masses[name] for name, part in sums.items() if masses[name] > 0}


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

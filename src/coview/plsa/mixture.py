"""The mixture model that the whole PLSA family shares: the row step, and the base of its estimators.

    p(f | d, v) = sum_z p(z | d) p(f | z, v)         mixture (objects x columns), profile (features x columns) by view

With R_v = X_v / (mixture profile_v^T) on the non-zeros, the row step is mixture <- rows(mixture * sum_v w_v R_v
profile_v) and the statistics are H_v = R_v^T mixture. The models differ in what their profiles are made of:

    PLSA        one distribution over the features of all views    profile <- columns(profile * H), views together
    LinkPLSA    one distribution per view                          profile <- columns(profile * H), view by view
    MultiView   profile = F B^T, F = p(f|y,v), B = p(y|z,v)        F <- columns(F * H B),  B <- rows(B * H^T F)

Views of vectors and measurements are Gaussian (`likelihood.py`): they have means in place of profiles, and pull at the
mixtures by a quadratic (`gaussian.py`).
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from coview.base import MultiViewEstimator
from coview.classification.view_evidence import LEARNED
from coview.engines.callbacks import LoopMixin, with_callbacks
from coview.engines.checkpoint import Checkpoint
from coview.engines.deadline import NO_DEADLINE, START_SHARE, Deadline
from coview.engines.loop import fold_in, sweep
from coview.engines.memory import MemoryHolder
from coview.engines.passes import blockwise, over_rows
from coview.engines.protocol import Block, Engine, Extra, Holder, floating_type
from coview.engines.select import hold
from coview.engines.state import State, Tree, tree_map
from coview.exceptions import ViewsError
from coview.inspection import Features, Inspection, Training
from coview.inspection.features import DEVIATION, deviations_of, rank_features, top_features
from coview.plsa.factors import (
    EVERY_FEATURE,
    FEATURE_FLOOR,
    ROW_FLOOR,
    column_shares,
    given_keys,
    initial_arrays,
    random_matrix,
    random_topics,
    row_shares,
    update_columns,
    with_masses,
)
from coview.plsa.gaussian import (
    PRODUCTS,
    Quadratic,
    add_moments,
    as_moments,
    column_moments,
    far_from_zero,
    gaussian_objective,
    gaussian_start,
    least_share,
    projected_block,
    quadratic_of,
    quadratic_step,
    update_means,
)
from coview.plsa.likelihood import (
    GAUSSIAN,
    LIKELIHOOD,
    LIKELIHOODS,
    MULTINOMIAL,
    batch_rule,
    choose_likelihoods,
    explained_rule,
    group_means_rule,
    noise_rule,
    topic_rule,
)
from coview.plsa.seeds import Seeds, read_seeds
from coview.plsa.units import warn_of_units
from coview.plsa.vector_weight import vector_weights
from coview.utils import fitted_state as rules
from coview.utils.messages import listed
from coview.validation import base_seed, per_view
from coview.views.lazy import LazyViews
from coview.views.views import Views, presence_patterns

__all__ = ["FitContext", "MixtureModel", "MixtureSteps", "WeightedModel"]

FOLD_IN_SWEEPS = 200  # at most
FOLD_IN_TOL = 1e-5
SAMPLED = 1.05  # of a variance: so far may that of a sample be off
FEW_FEATURES = 4  # times as many features as non-zeros: then only those that occur are laid out for fold-in
STAYS = 0.8  # least share of a weight that momentum leaves
FIRST_SWEEPS = 10  # of the first minibatch: what it teaches is all there is to fold the second one into
EVIDENCE_SHARE = 0.5  # of the time of the start, for weights of vectors
PHASES = ("start", "sweeps", "end")  # of a fit
RESTART = 104_729  # apart enough that restarts share no stream

Self = TypeVar("Self", bound="MixtureModel")


# -- the steps


@dataclass(frozen=True)
class MixtureSteps:
    """Steps of link-PLSA, and the row side of every model: rows = {"mixture"}, shared = {"profiles": {view: array}}.

    A profile (features x columns) is one distribution per view; other models override what profiles are made of. A
    block may carry "start" (row states to begin with) and "labels" (codes; -1 is free): labeled rows are clamped to
    their class. Views named in `gaussian` are vectors: shared also holds "means" {view: features x columns} and
    "log_variance" {view: one number}. With `joint` a profile is one distribution over the features of all views (PLSA).
    """

    width: int
    alternating: bool = True
    fold_in_sweeps: ClassVar[int] = FOLD_IN_SWEEPS
    fold_in_tol: ClassVar[float] = FOLD_IN_TOL
    spread_cost: ClassVar[float] = 0.0  # of Gaussian views
    weights: dict[str, float] = field(default_factory=dict)
    gaussian: tuple[str, ...] = ()
    joint: bool = False

    def start(self, block: Block, shared: Tree, seed: int, restart: int, ops: Engine) -> Tree:
        """Given or random rows; an object without any feature is an even mixture and stays so."""
        if "start" in block.extra:
            rows = ops.xp.clip(ops.asarray(block.extra["start"], type_of(shared)), ROW_FLOOR, None)
        else:
            rows = random_matrix(seed, block.start, block.stop, self.width, np.float64)
            masses = [ops.to_numpy(ops.row_sums(part)) for _, part in self.counts(block)]
            masses += [block.present[name].astype(np.float64) for name in self.vectors(block)]
            rows[np.sum(masses, axis=0) <= 0] = 1.0 / self.width
        return {"mixture": clamped(ops.asarray(rows, type_of(shared)), block, ops)}

    def row_step(
        self, block: Block, rows: Tree, shared: Tree, ops: Engine, stats: Tree | None
    ) -> tuple[Tree, Tree | None]:
        """One half-step of the rows; with `stats`, the pass over the features as well."""
        mixture, profiles = rows["mixture"], shared["profiles"]
        pull, objective = None, 0.0
        for name, X in self.counts(block):
            part, likelihood = ops.ratio_rows(X, mixture, profiles[name])
            weight = self.weights.get(name, 1.0)
            part = part if weight == 1.0 else part * weight
            pull = part if pull is None else pull + part
            objective += weight * likelihood
        vectors = self.vectors(block)
        if not vectors:
            new = clamped(ops.row_shares(mixture, pull, ROW_FLOOR), block, ops)
        else:
            quadratics = {name: self._quadratic(block, name, shared, ops) for name in vectors}
            counts = mixture * (0.0 if pull is None else pull)
            new = clamped(quadratic_step(mixture, counts, list(quadratics.values()), ops, ROW_FLOOR), block, ops)
        if stats is not None:
            used = new if self.alternating else mixture
            sums = stats.setdefault("ratio", {})
            for name, X in self.counts(block):
                sums[name] = ops.ratio_features(X, used, profiles[name], sums.get(name))
            for name in vectors:
                weight = self.weights.get(name, 1.0)
                parts = gaussian_objective(block, name, quadratics[name], mixture, shared, weight, ops)
                objective += float(parts.sum())
                # there is no joint bound of both: always the new mixtures
                add_moments(block, name, new, stats, ops, far_from_zero(shared, name, ops))
            stats["objective"] = stats.get("objective", 0.0) + objective
        return {"mixture": new}, stats

    def counts(self, block: Block) -> Iterator[tuple[str, Any]]:
        """Names and rows of the views of a block that are counts."""
        return ((name, X) for name, X in block.views.items() if name not in self.gaussian)

    def vectors(self, block: Block) -> list[str]:
        """Names of the views of a block that are vectors, or of which it carries their products with the means."""
        return [name for name in self.gaussian if name in block.views or PRODUCTS + name in block.extra]

    def fold_step(self, block: Block, rows: Tree, shared: Tree, ops: Engine, number: int) -> tuple[Tree, np.ndarray]:
        """Row step `number` of new objects, and how far each was from rest: by how much its largest entry moved.

        A step is taken from ahead of where an object stands (Nesterov's momentum), and the momentum of an object begins
        anew where the step leads back (O'Donoghue and Candes, 2015). It takes a fifth of a weight at most: a weight
        that was all but lost would come back so slowly that the object seems to be at rest.
        """
        mixture, ahead = rows["mixture"], rows["mixture"]
        pace = rows.get("pace", mixture[:, :1] * 0)
        if "behind" in rows:
            ahead = ops.xp.maximum(mixture + pace / (pace + 3) * (mixture - rows["behind"]), STAYS * mixture)
            ahead = ahead / ahead.sum(1)[:, None]
        new = self.row_step(block, {"mixture": ahead}, shared, ops, None)[0]["mixture"]
        step, moved = new - ahead, new - mixture
        leads_on = (step * moved).sum(1)[:, None] >= 0
        unrest = np.maximum(*(np.abs(ops.to_numpy(part)).max(axis=1, initial=0.0) for part in (step, moved)))
        return {"mixture": new, "behind": mixture, "pace": (pace + 1) * leads_on}, unrest

    def settled_rows(self, block: Block, start: Any, shared: Tree, ops: Engine) -> Any:
        """Mixtures of new objects after all steps of fold-in, where the engine takes them at once; None elsewhere."""
        if self.vectors(block):
            return None
        parts = [(X, shared["profiles"][name], self.weights.get(name, 1.0)) for name, X in self.counts(block)]
        found = ops.settled_rows(parts, start, self.fold_in_sweeps, self.fold_in_tol, ROW_FLOOR, STAYS)
        return None if found is None else clamped(found, block, ops)

    def folding_block(self, block: Block, shared: Tree, ops: Engine) -> Block:
        """What fold-in goes over again and again: of vectors, their products with the means alone."""
        return projected_block(block, self.gaussian, shared, ops, self.spread_cost)

    def objective(self, block: Block, rows: Tree, shared: Tree, ops: Engine) -> float:
        """Weighted log-likelihood of the block."""
        profiles = shared["profiles"]
        total = float(
            sum(
                self.weights.get(name, 1.0) * ops.log_likelihood(X, rows["mixture"], profiles[name]).sum()
                for name, X in self.counts(block)
            )
        )
        return total + sum(
            float(self.vector_objective(block, name, rows["mixture"], shared, ops).sum())
            for name in self.vectors(block)
        )

    def vector_objective(self, block: Block, name: str, mixture: Any, shared: Tree, ops: Engine) -> np.ndarray:
        """What a Gaussian view adds to the objective of each object."""
        quadratic = self._quadratic(block, name, shared, ops)
        return gaussian_objective(block, name, quadratic, mixture, shared, self.weights.get(name, 1.0), ops)

    def _quadratic(self, block: Block, name: str, shared: Tree, ops: Engine) -> Quadratic:
        """What a Gaussian view says of the rows of a block."""
        return quadratic_of(block, name, shared, self.weights.get(name, 1.0), ops, self.spread_cost)

    def shared_step(self, stats: Tree, shared: Tree, ops: Engine) -> Tree:
        """New shared parameters from the statistics; those may be overwritten."""
        new = self.update(shared, self.pulls(stats, shared), ops)
        return {**new, **update_means(shared, stats["moments"], ops, self.spread_cost)} if self.gaussian else new

    def pulls(self, stats: Tree, shared: Tree) -> Tree:
        """What multiplies each shared parameter before it is made a distribution again; product = expected counts."""
        return {"profiles": stats["ratio"]}

    def as_counts(self, shared: Tree, like: Tree) -> Tree:
        """Shared parameters as expected counts with the masses of others: what `fit` learned, for online learning."""
        return {"profiles": with_masses(shared["profiles"], like["profiles"], joint=self.joint)}

    def update(self, shared: Tree, pulls: Tree, ops: Engine) -> Tree:
        """Shared parameters times their pulls, as distributions."""
        return {"profiles": update_columns(shared["profiles"], pulls["profiles"], ops, joint=self.joint)}

    def normalize_rows(self, rows: Tree) -> Tree:
        """Rows back onto the simplex after an extrapolation."""
        return {"mixture": row_shares(rows["mixture"])}

    def normalize_shared(self, shared: Tree) -> Tree:
        """Shared parameters as distributions again; means and logarithms of variances are any numbers."""
        return {**shared, **self.normalize_profiles(shared)}

    def normalize_profiles(self, shared: Tree) -> Tree:
        """What profiles are made of as distributions again."""
        return {"profiles": column_shares(shared["profiles"], joint=self.joint)}


def clamped(mixture: Any, block: Block, ops: Engine) -> Any:
    """Labeled rows hold their class alone; -1 is free."""
    codes = block.extra.get("labels")
    return mixture if codes is None else ops.clamp(mixture, codes)


def fold_rows(steps: MixtureSteps, block: Block, start: Any, shared: Tree, engine: Engine) -> np.ndarray:
    """Mixtures of new objects, the profiles fixed, from a start or (None) from even ones."""
    if start is None:
        start = np.full((len(block), steps.width), 1.0 / steps.width)
    rows = {"mixture": engine.asarray(start, type_of(shared))}
    settled = steps.settled_rows(block, rows["mixture"], shared, engine)
    if settled is not None:
        return engine.to_numpy(settled)
    block = steps.folding_block(block, shared, engine)

    def step(part: Block, rows: Tree, number: int) -> tuple[Tree, np.ndarray]:
        return steps.fold_step(part, rows, shared, engine, number)

    return fold_in(step, block, rows, engine, max_iter=steps.fold_in_sweeps, tol=steps.fold_in_tol)["mixture"]


def type_of(shared: Tree) -> Any:
    """Floating type of the parameters, and so of the mixtures."""
    return next(chain(shared["profiles"].values(), shared.get("means", {}).values())).dtype


def _few_features(views: Views, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Features that the objects have, of sparse views with many more: laying out all would take most of the time.

    Examples
    --------
    >>> _few_features(Views(words=sparse.csr_array(np.eye(2, 9)), sizes=np.eye(2)), ("words", "sizes"))
    {'words': array([0, 1], dtype=int32)}
    """
    some = {}
    for name in names:
        matrix = views[name]
        if sparse.issparse(matrix) and FEW_FEATURES * matrix.nnz <= matrix.shape[1]:
            some[name] = np.unique(matrix.indices) if matrix.nnz else np.zeros(1, matrix.indices.dtype)
    return some


def _with_features(matrix: Any, features: np.ndarray) -> Any:
    """Sparse matrix of some features, sorted, which are all that it has."""
    places = np.searchsorted(features, matrix.indices).astype(matrix.indices.dtype)
    return sparse.csr_array((matrix.data, places, matrix.indptr), shape=(matrix.shape[0], len(features)))


# -- the estimators


def random_profiles(
    given: Mapping[str, Any], n_topics: int, widths: Mapping[str, int], seed: int
) -> dict[str, np.ndarray]:
    """Profiles that are one distribution per view to start with, as given or random."""
    topics = random_topics(given, dict.fromkeys(widths, n_topics), widths, seed)
    return {name: np.maximum(part, FEATURE_FLOOR) for name, part in topics.items()}


@dataclass(frozen=True)
class FitContext:
    """What a start may need: the seed, codes of labeled objects (-1 is none), when it should be there, who computes.

    And the Gaussian views that were found to know something; and memberships that are known already.
    """

    seed: int
    labels: np.ndarray | None = None
    deadline: Deadline = NO_DEADLINE
    vectors: tuple[str, ...] = ()
    engine: Engine | None = None
    start: np.ndarray | None = None


class MixtureModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LoopMixin, MultiViewEstimator):
    """Base of the PLSA family: objects are mixtures of profiles.

    A model says what its steps are, where it starts, and how its shared parameters become fitted attributes; what is
    said here is link-PLSA's.
    """

    _takes_lazy = True
    _mixture = "memberships_"
    _group_rows: tuple[str, ...] = ("topic_feature_",)
    _joint = False  # whether a profile is one distribution over all views
    _start_share = START_SHARE
    _most_rows: int | None = None  # of a block, where the model itself has a limit
    n_init: int
    init: Any
    random_state: Any
    learning_decay: float
    topic_feature_: dict[str, np.ndarray]
    likelihood: Any = MULTINOMIAL  # where it is no parameter
    seeds: Any = None  # likewise
    seed_strength: float = 0.0
    likelihood_: dict[str, str]
    noise_variance_: dict[str, float]
    view_weights_: dict[str, float]
    variance_explained_: dict[str, np.ndarray]
    group_means_: dict[str, np.ndarray]
    column_moments_: dict[str, np.ndarray]
    batch_counts_: Tree
    fit_seconds_: dict[str, float]
    _fitted_state = {
        "topic_feature_": rules.by_view(topic_rule("topics", "features of {view}")),
        "likelihood_": rules.optional(rules.by_view(rules.one_of(*LIKELIHOODS))),
        "noise_variance_": rules.optional(noise_rule(), needed=lambda state: "likelihood_" in state),
        "variance_explained_": explained_rule("topics"),
        "group_means_": group_means_rule("topics"),
        "column_moments_": rules.optional(rules.by_view(rules.floats(2, "features of {view}"), some=True)),
        "memberships_": rules.shares("objects", "topics"),
        "batch_counts_": batch_rule("topics", profiles=rules.floats("features of {view}", "topics", low=0)),
        "n_batches_": rules.optional(rules.count(), needed=lambda state: "batch_counts_" in state),
        "fit_seconds_": rules.optional(rules.record(**dict.fromkeys(PHASES, rules.number(0.0)))),
    }
    _parameters = {"likelihood": LIKELIHOOD}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self._takes_vectors:
            known = vars(self).get("likelihood_", {})
            tags.input_tags.positive_only = GAUSSIAN not in known.values() if known else self.likelihood == MULTINOMIAL
        return tags

    # -- likelihoods

    def _fit_views(self, X: Any) -> Any:
        views = super()._fit_views(X)
        if self._takes_vectors:
            self.column_moments_ = column_moments(views, self._vector_views())
            warn_of_units(self.column_moments_, self.feature_names_by_view_)
        return views

    def _look_at(self, views: Any) -> None:
        """Choose the likelihood of each view."""
        if self._takes_vectors:
            self.likelihood_ = choose_likelihoods(self.likelihood, views)

    def _real_views(self) -> frozenset[str]:
        return frozenset(self._vector_views())

    def _vector_views(self) -> tuple[str, ...]:
        """Names of the Gaussian views."""
        known = vars(self).get("likelihood_", {})  # models of counts alone have none
        return tuple(name for name, likelihood in known.items() if likelihood == GAUSSIAN)

    def _count_views(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of some views that are counts."""
        vectors = self._vector_views()
        return tuple(name for name in names if name not in vectors)

    def _counts_of(self, views: Any) -> Any:
        """Views of counts alone; None where all are vectors."""
        names = self._count_views(views.names)
        return (views if len(names) == len(views.names) else views.select(*names)) if names else None

    def _unweighted_views(self) -> tuple[str, ...]:
        """Names of the Gaussian views whose weight the model is to find."""
        return ()

    def _weigh_vectors(
        self, views: Any, seed: int, codes: np.ndarray | None, deadline: Deadline = NO_DEADLINE
    ) -> tuple[str, ...]:
        """Find the weights that were not given, by labels where there are any; return which views know something."""
        names = [name for name in self._unweighted_views() if self.view_weights_[name] > 0]
        if not names:
            return ()
        weights = {name: self.view_weights_[name] for name in self._count_views(views.names)}
        counts = {name: weight for name, weight in weights.items() if weight > 0}
        token, worth = vector_weights(views, names, counts, self._steps().width, seed, codes=codes, deadline=deadline)
        for name in names:
            self.view_weights_[name] *= token * worth[name]
        return tuple(name for name in names if worth[name] > 1)

    # -- what a model says of itself

    def _steps(self) -> MixtureSteps:
        raise NotImplementedError

    def _begin(self, views: Any, context: FitContext) -> tuple[Callable[[int], Tree], dict[str, Any]]:
        """Function from seed to shared parameters (NumPy arrays), and arrays that the blocks carry."""
        raise NotImplementedError

    def _profiles(
        self, names: tuple[str, ...], some: Mapping[str, np.ndarray] = EVERY_FEATURE
    ) -> dict[str, np.ndarray]:
        """Fitted profiles (features x columns) over some of the views; where `some` has a view, of these features."""
        return {name: np.maximum(self._topics_of(name, some), FEATURE_FLOOR) for name in names}

    def _topics_of(self, view: str, some: Mapping[str, np.ndarray] = EVERY_FEATURE) -> np.ndarray:
        """Fitted topics of a view (features x topics); where `some` has the view, of these features."""
        topics = self.topic_feature_[view]
        return (topics[:, some[view]] if view in some else topics).T

    def _shared_attributes(self, shared: Tree) -> dict[str, Any]:
        """Fitted attributes that the shared parameters (NumPy arrays) make."""
        return {"topic_feature_": {name: part.T for name, part in shared["profiles"].items()}}

    @property
    def _n_features_out(self) -> int:
        return len(next(iter(self.topic_feature_.values())))

    def _inspect(self) -> Inspection:
        """Answer `inspect`: topics of several views, by their profiles."""
        groups = [str(k) for k in range(self._n_features_out)]
        kept = self.__dict__.get(self._mixture)  # a copy that travels to a cluster has none
        training = Training()
        if isinstance(kept, dict):  # by view
            mean: Any = sum(kept.values()) / len(kept)
            training = Training(mean, dict(kept), mean.argmax(axis=1))
        elif kept is not None:
            training = Training(kept, codes=kept.argmax(axis=1))
        return Inspection(
            self,
            "topic",
            groups,
            list(range(len(groups))),
            self._view_inputs(),
            training,
            history=self.history_,
            likelihoods=dict(vars(self).get("likelihood_", {})),
            variance_explained=dict(vars(self).get("variance_explained_", {})),
            notes=self._notes(len(groups)),
            probabilities=True,
            _features=lambda view: self._as_features(view, self.topic_feature_[view]),
            _memberships=self.transform,
            _profiles=lambda: self._profiles(self._count_views(self.view_names_)),
        )

    def _notes(self, n_groups: int) -> list[str]:
        """Views whose noise is at its floor, of which `noise_variance_` says nothing."""
        notes = []
        for view, (_, deviations) in vars(self).get("column_moments_", {}).items():
            share = least_share(n_groups, len(deviations))
            if self.noise_variance_[view] < SAMPLED * share * (deviations.astype(np.float64) ** 2).mean():
                about = f"noise_variance_[{view!r}] is no estimate but a floor, {share:.0%} of the variance"
                free = f"{min(n_groups - 1, len(deviations))} of {len(deviations)} columns"
                notes.append(f"{about}: {n_groups} groups explain {free} whatever they hold")
        return notes

    def _as_features(self, view: str, weights: np.ndarray) -> Features:
        """Describe groups by distributions over the features of a view, or by the means of vectors."""
        if view not in self._vector_views():
            background, shares = self._with_background(view), self._view_shares(view)
            return Features(weights, True, "p(feature)", with_background=background, view_shares=shares)
        weights = self._group_means(view)
        moments = vars(self).get("column_moments_", {})  # optional in a file: without them there are no deviations
        deviations = deviations_of(weights, *moments[view]) if view in moments else None
        return Features(weights, False, DEVIATION, deviations=deviations)

    def _with_background(self, view: str) -> Features | None:
        """Groups of a view with the background, where there is one."""
        return None

    def _view_shares(self, view: str) -> np.ndarray | None:
        """Share of a view in each group, where a group is one distribution over all views."""
        return None

    def _group_means(self, view: str) -> np.ndarray:
        """Mean vectors of the objects of each group; of a file that holds none, the ends of the mixtures."""
        return vars(self).get("group_means_", self.topic_feature_).get(view, self.topic_feature_[view])

    # -- what users call

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
        return self._token_score(X)

    def perplexity(self, X: Any) -> float:
        """Perplexity of X: exp of minus the mean log-likelihood per token; lower is better.

        Densities have none: X must hold views of counts alone.
        """
        check_is_fitted(self, "topic_feature_")
        vectors = [name for name in self._new_views(X).names if name in self._vector_views()]
        if vectors:
            raise ViewsError(
                f"perplexity needs counts, but X holds Gaussian views {listed(vectors)}: leave them out, or use score."
            )
        return float(np.exp(-self._token_score(X)))

    def top_features(self, view: str | None = None, n: int = 10) -> list[list[tuple[str, float]]]:
        """For each topic the `n` most probable features of a view, with their probabilities.

        Of a Gaussian view they are the columns whose mean over the objects of the topic, weighted by their
        memberships, lies farthest from that of all objects, with this distance in standard deviations, negative where
        it lies below. Vectors whose columns have no names are
        refused: `inspect(model).explain(X)` explains them by objects.

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
            listed = ", ".join(map(repr, self.view_names_))
            raise ViewsError(f"view must name one of the views {listed}, got {view!r}.")
        names = self.feature_names_by_view_.get(view)
        if view in self._vector_views():
            if names is None:
                raise ViewsError(
                    f"View {view!r} holds vectors, and its columns have no names: one of them alone says nothing. Use "
                    "inspect(model).explain(X) for the objects nearest to each mean vector, or name the columns."
                )
            ranked = top_features(self._as_features(view, weights[view]), names, n)
            return [[(name, deviation) for name, deviation, _ in row] for row in ranked]
        labels = [f"f{j}" for j in range(self.n_features_by_view_[view])] if names is None else names
        best = rank_features(Features(weights[view]), n, by="weight", above=-np.inf)
        return [[(str(labels[j]), float(row[j])) for j in order] for row, order in zip(weights[view], best)]

    # -- fitting

    def _fixed_start(self) -> bool:
        """Whether every start would be the same, so that one is enough."""
        return False

    def _hold(self, views: Any, engine: Engine, width: int, extra: Extra) -> Holder:
        """Hand the rows to who will hold them during a fit: this process, its disk or a cluster."""
        return hold(views, engine, width, extra, self._gate(floating_type(views)), self._most_rows)

    def _traveling(self) -> Any:
        """Return a copy to send to the workers of a cluster: what it learned, but nothing of the training rows."""
        light = copy.copy(self)
        light.engine = getattr(self.engine, "worker_engine", "cpu" if self.engine in ("auto", "dask") else self.engine)
        for name in ("_callbacks", "labels_", "labels_by_view_", "transduction_", "history_", "_object_ids"):
            light.__dict__.pop(name, None)
        light.__dict__.pop(self._mixture, None)
        return light

    @with_callbacks
    def _fit(self: Self, X: Any, views: Views, deadline: Deadline, extra: dict[str, Any] | None = None) -> Self:
        engine = self._engine(X)
        seeds = self._read_seeds(views)
        with engine.limits():
            if seeds is None:
                self._fit_on(engine, X, views, deadline, extra or {})
            else:
                self._fit_on(engine, X, self._with_seeds(views, seeds), deadline, self._of_seeds(views, seeds))
                self.group_names_ = seeds.group_names()
        self._fold_in_lacking(views, (extra or {}).get("labels"))
        return self

    def _fold_in_lacking(self, views: Any, labels: np.ndarray | None) -> None:
        """Give objects in memory that lack a view, but those with a label, the mixture that new ones would get."""
        if not self._joint or isinstance(views, LazyViews):
            return
        free = ~views.present.all(axis=1) & (True if labels is None else labels < 0)
        if free.any():
            vars(self)[self._mixture][free] = self._mixtures(views[free])

    # -- guided by seeds

    def _read_seeds(self, views: Any) -> Seeds | None:
        """Seeds of topics as columns of the views; None where there are none."""
        if self.seeds is None:
            return None
        if isinstance(views, LazyViews):
            raise ViewsError("seeds require in-memory views, got lazy views. Read them with X.collect().")
        if "memberships" in given_keys(self.init):
            raise ValueError("seeds and init['memberships'] both say where objects start. Leave one of them out.")
        widths = {name: views.n_features[name] for name in self._count_views(views.names)}
        return read_seeds(self.seeds, self._steps().width, widths, views.feature_names)

    def _with_seeds(self, views: Views, seeds: Seeds) -> Views:
        return seeds.with_pseudo_objects(views, self.seed_strength, self._steps().width)

    def _of_seeds(self, views: Views, seeds: Seeds) -> dict[str, Any]:
        """What blocks carry of objects and pseudo-objects: their topics, and where they start."""
        start = seeds.start(views, self._steps().width, base_seed(self.random_state))
        return {"labels": seeds.labels(len(views)), "start": start}

    def _known_labels(self, extra: Mapping[str, Any]) -> np.ndarray | None:
        """Labels of objects; those of pseudo-objects are none."""
        return extra.get("labels") if self.seeds is None else None

    def _fit_on(self: Self, engine: Engine, X: Any, views: Any, deadline: Deadline, extra: dict[str, Any]) -> Self:
        phases = [time.monotonic()]
        seed = base_seed(self.random_state)
        # a resumed fit must start at the same place: with a checkpoint the start takes the time that it needs
        ready = NO_DEADLINE if self._of_kind(Checkpoint) else deadline.share(self._start_share)
        labels = self._known_labels(extra)
        vectors = self._weigh_vectors(views, seed, labels, ready.share(EVIDENCE_SHARE))
        steps = self._checked_steps()
        make, carried = self._begin_all(views, FitContext(seed, labels, ready, vectors, engine, extra.get("start")))
        extra = {**carried, **extra}
        holder = self._hold(views, engine, steps.width, extra)
        dtype = floating_type(views)

        def begin(restart: int) -> tuple[Tree, int]:
            here = seed + RESTART * restart
            return tree_map(lambda array: holder.ops.asarray(array, dtype), make(here)), here

        def reconstruct(state: State) -> dict[str, Any]:
            return self._attributes(state, holder)

        phases.append(time.monotonic())
        n_init = 1 if self._fixed_start() else self.n_init
        fit = self._run_loop(X, views, steps, holder, begin, extra, reconstruct, deadline, n_init=n_init)
        phases.append(time.monotonic())
        holder.release()
        for name in ("batch_counts_", "n_batches_"):
            self.__dict__.pop(name, None)
        self._keep(self._attributes(fit.state, holder))
        phases.append(time.monotonic())
        self.fit_seconds_ = dict(zip(PHASES, np.diff(phases).tolist()))
        self.history_ = fit.history
        self.n_iter_ = fit.n_iter
        self.stopped_by_ = fit.stopped_by
        return self

    def _begin_all(self, views: Any, context: FitContext) -> tuple[Callable[[int], Tree], dict[str, Any]]:
        """As `_begin`, with the means and the noise of Gaussian views."""
        make, carried = self._begin(views, context)
        vectors = self._vector_views()
        if not vectors:
            return make, carried
        given = initial_arrays(self.init, None, list(views.names)).get("topic_feature", {})

        def make_all(here: int) -> Tree:
            width = self._steps().width
            return {**make(here), **gaussian_start(views, vectors, given, width, here, spread="start" not in carried)}

        return make_all, carried

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

    def _keep(self, attributes: dict[str, Any]) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)

    def _checked_steps(self) -> MixtureSteps:
        return self._steps()

    # -- folding in

    def _fitted_steps(self) -> Any:
        """Steps as wide as what was fitted: parameters may have been set anew since."""
        return replace(self._steps(), width=self._n_features_out)

    def _fitted(self, views: Views, engine: Engine, some: Mapping[str, np.ndarray] = EVERY_FEATURE) -> Tree:
        """Shared parameters for fold-in; where `some` has a view of counts, of these features."""
        dtype = floating_type(views)
        shared = {"profiles": self._profiles(self._count_views(views.names), some), **self._fitted_means(views.names)}
        return tree_map(lambda part: engine.asarray(part, dtype), shared)

    def _fitted_means(self, names: Iterable[str]) -> Tree:
        """Means and noise of those of some views that are Gaussian."""
        vectors = [name for name in names if name in self._vector_views()]
        return {
            "means": {name: self.topic_feature_[name].T for name in vectors},
            "log_variance": {name: np.log([self.noise_variance_[name]]) for name in vectors},
            "explained": {name: self.variance_explained_[name] for name in vectors},
            "members": {name: self._group_means(name).T for name in vectors},
        }

    def _fold_in(self, block: Block, steps: MixtureSteps, shared: Tree, engine: Engine) -> np.ndarray:
        return fold_rows(steps, block, None, shared, engine)

    @blockwise
    def _mixtures(self, X: Any) -> np.ndarray:
        """Mixtures of objects by fold-in, from some or all of the fitted views."""
        check_is_fitted(self, "topic_feature_")
        views = self._new_views(X)
        engine, steps = self._engine(X), self._fitted_steps()
        mixtures = np.full((len(views), steps.width), 1.0 / steps.width, floating_type(views))
        for rows, part in self._alike(views):
            some = _few_features(part, self._count_views(part.names))
            shared = self._fitted(part, engine, some)
            part = part.map({name: partial(_with_features, features=features) for name, features in some.items()})
            blocks = self._each_block(part, engine, steps.width)
            with engine.limits():
                mixtures[rows] = np.concatenate([self._fold_in(block, steps, shared, engine) for block in blocks])
        return engine.asarray(mixtures) if engine.tensors else mixtures

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

    def _token_score(self, X: Any) -> float:
        """Mean log-likelihood per token (unit of mass), mixtures folded in; 0 where X holds nothing."""
        check_is_fitted(self, "topic_feature_")
        views = self._new_views(X)
        on_cluster = isinstance(views, LazyViews) and views.is_dask
        sums = over_rows(views, self._traveling()._likelihood if on_cluster else self._likelihood)
        total, mass = np.sum(sums, axis=0)
        return float(total / mass) if mass else 0.0

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

    # -- learning online

    def _known_views(self, X: Any) -> Any:
        """Views of a minibatch: the first one of a new model says what the views are."""
        return self._new_views(X) if self._has_learned() else self._fit_views(X)

    def _has_learned(self) -> bool:
        return "topic_feature_" in self.__dict__

    def _learn_stream(self, views: Any, extra: dict[str, Any] | None = None) -> None:
        """Learn from one minibatch; of lazy views, every part is one."""
        if not isinstance(views, LazyViews):
            return self._learn_batch(views, extra or {})
        self._read_seeds(views)
        first = 0
        for part in views.parts():
            here = {name: array[first : first + len(part)] for name, array in (extra or {}).items()}
            self._learn_batch(self._numbers(part, False), here)
            first += len(part)
        return None

    def _learn_batch(self, views: Views, extra: dict[str, Any]) -> None:
        """Online EM: fold the batch in, then move the running expected counts towards its own.

        Batch t weighs (10 + t) ** -learning_decay; the first one of a new model is learned on its own for
        some sweeps. After `fit`, what was learned counts like the batches before the first.
        """
        if list(views.names) != self.view_names_:
            missing = ", ".join(repr(name) for name in self.view_names_ if name not in views)
            raise ViewsError(f"partial_fit needs every view of the first batch, but X lacks {missing}.")
        first = not self._has_learned()
        ids = self._ids_of(views)  # pseudo-objects have none
        seeds = self._read_seeds(views)
        if seeds is not None:
            extra = self._of_seeds(views, seeds) if first else {"labels": seeds.labels(len(views))}
            views = self._with_seeds(views, seeds)
        seed = base_seed(self.random_state) if first else 0
        labels = self._known_labels(extra)
        vectors = self._weigh_vectors(views, seed, labels) if first else ()
        steps, engine = self._checked_steps(), self._engine()
        steps = steps if first else self._fitted_steps()
        dtype = floating_type(views)

        def on_engine(tree: Tree) -> Tree:
            return tree_map(lambda array: engine.asarray(array, dtype), tree)

        if first:
            context = FitContext(seed, labels, NO_DEADLINE, vectors, engine, extra.get("start"))
            make, carried = self._begin_all(views, context)
            holder = MemoryHolder(list(self._each_block(views, engine, steps.width, {**carried, **extra})), engine)
            shared = on_engine(make(seed))
            state = State(holder.start(steps, shared, seed, 0), shared)
            for _ in range(FIRST_SWEEPS):
                sweep(steps, holder, state)
            shared = state.shared
        else:
            holder = MemoryHolder(list(self._each_block(views, engine, steps.width, extra)), engine)
            shared = on_engine(self._restored())
        stats: Tree = {}
        mixtures: list[Tree] = []
        for block in holder.blocks:
            rows: Tree = {"mixture": engine.asarray(self._fold_in(block, steps, shared, engine))}
            rows, _ = steps.row_step(block, rows, shared, engine, stats)
            mixtures.append(rows)
        pulls = steps.pulls(stats, shared)
        old = {name: shared[name] for name in pulls}
        counts = tree_map(lambda value, pull: engine.to_numpy(value * pull) / len(views), old, pulls)
        moments = tree_map(lambda part: engine.to_numpy(part) / len(views), stats.get("moments", {}))
        known = self.__dict__.get("batch_counts_")
        if first or known is None:
            self.n_batches_, self.history_ = 0, {"objective": []}
            self.__dict__.pop("fit_seconds_", None)
        if not first:
            if known is None:
                known = steps.as_counts(tree_map(engine.to_numpy, old), counts)
                if moments:
                    known["moments"] = as_moments(tree_map(engine.to_numpy, shared), moments, steps.spread_cost)
            weight = self._batch_weight()
            before = known.get("moments", {})
            known = {name: known[name] for name in counts}
            counts = tree_map(lambda a, b: (1 - weight) * a + weight * b, known, counts)
            moments = tree_map(lambda a, b: (1 - weight) * a + weight * b, before, moments)
        self.batch_counts_ = {**counts, "moments": moments} if moments else counts
        new = steps.update(shared, tree_map(lambda c, o: engine.asarray(c, dtype) / o, counts, old), engine)
        if moments:
            new = {**new, **update_means(shared, moments, engine, steps.spread_cost)}
        self._keep(self._attributes(State(mixtures, new), holder))
        self._object_ids = ids
        if seeds is not None and first:
            self.group_names_ = seeds.group_names()
        self.n_batches_ += 1
        self.n_iter_ = self.n_batches_
        self.history_.setdefault("objective", []).append(float(stats["objective"]))

    def _batch_weight(self) -> float:
        """Weight of the next minibatch; the offset weakens the first ones, as in scikit-learn's LDA."""
        return float((10.0 + vars(self).get("n_batches_", 0)) ** -self.learning_decay)

    def _restored(self) -> Tree:
        """Shared parameters (NumPy arrays) from the fitted attributes."""
        names = self.view_names_
        return {"profiles": self._profiles(self._count_views(names)), **self._fitted_means(names)}


class WeightedModel(MixtureModel):
    """A model in which views count differently: `view_weights`; where nothing is said 1, or what vectors are worth."""

    view_weights: Any
    _fitted_state = {"view_weights_": rules.by_view(rules.weight())}

    def _fit_views(self, X: Any) -> Any:
        views = super()._fit_views(X)
        given = None if self._learns_weights() else self.view_weights
        weights = per_view("view_weights", given, self.view_names_)
        self.view_weights_ = dict(zip(self.view_names_, weights.tolist()))
        return views

    def _unweighted_views(self) -> tuple[str, ...]:
        if self.view_weights is None or self._learns_weights():
            return self._vector_views()
        given = self.view_weights if isinstance(self.view_weights, Mapping) else self.view_names_
        return tuple(name for name in self._vector_views() if name not in given)

    def _weights_of(self, views: Any) -> dict[str, float]:
        return {name: self.view_weights_[name] for name in views.names}

    def _leading_views(self, views: Any) -> tuple[str, ...]:
        if any(self.view_weights_[name] for name in self._count_views(views.names)):
            return ()
        return tuple(name for name in self._vector_views() if self.view_weights_[name])

    def _learns_weights(self) -> bool:
        """Whether weights are to be learned from labels: by a classifier, later in its fit."""
        return isinstance(self.view_weights, str) and self.view_weights == LEARNED

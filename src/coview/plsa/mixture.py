"""The mixture model that the whole PLSA family shares: the row step, and the base of its estimators.

    p(f | d, v) = sum_z p(z | d) p(f | z, v)         mixture (objects x columns), profile (features x columns) by view

With R_v = X_v / (mixture profile_v^T) on the non-zeros, the row step is mixture <- rows(mixture * sum_v w_v R_v
profile_v) and the statistics are H_v = R_v^T mixture. The models differ in what their profiles are made of:

    PLSA        one distribution over the features of all views    profile <- columns(profile * H), views together
    LinkPLSA    one distribution per view                          profile <- columns(profile * H), view by view
    MultiView   profile = F B^T, F = p(f|y,v), B = p(y|z,v)        F <- columns(F * H B),  B <- rows(B * H^T F)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from coview.base import BatchEstimator
from coview.classification.view_evidence import LEARNED
from coview.engines.deadline import NO_DEADLINE, START_SHARE, Deadline
from coview.engines.loop import fold_in, sweep
from coview.engines.memory import MemoryHolder
from coview.engines.passes import blockwise, over_rows
from coview.engines.protocol import Block, Engine, Holder, floating_type
from coview.engines.state import State, Tree, tree_map
from coview.engines.watch import with_callbacks
from coview.exceptions import ViewsError
from coview.inspection import Features, Inspection, Training
from coview.inspection.features import rank_features
from coview.plsa.factors import (
    FEATURE_FLOOR,
    ROW_FLOOR,
    column_shares,
    random_matrix,
    random_topics,
    row_shares,
    update_columns,
    with_masses,
)
from coview.utils import fitted_state as rules
from coview.validation import base_seed, per_view
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["FitContext", "MixtureModel", "MixtureSteps", "WeightedModel"]

FOLD_IN_SWEEPS = 200  # at most
FOLD_IN_TOL = 1e-5
FIRST_SWEEPS = 10  # of the first minibatch: what it teaches is all there is to fold the second one into
RESTART = 104_729  # apart enough that restarts share no stream

Self = TypeVar("Self", bound="MixtureModel")


# -- the steps


@dataclass(frozen=True)
class MixtureSteps:
    """Steps of link-PLSA, and the row side of every model: rows = {"mixture"}, shared = {"profiles": {view: array}}.

    A profile (features x columns) is one distribution per view; other models override what profiles are made of. A
    block may carry "start" (row states to begin with) and "labels" (codes; -1 is free): labeled rows are clamped to
    their class.
    """

    width: int
    alternating: bool = True
    fold_in_sweeps: ClassVar[int] = FOLD_IN_SWEEPS
    fold_in_tol: ClassVar[float] = FOLD_IN_TOL
    weights: dict[str, float] = field(default_factory=dict)

    def start(self, block: Block, shared: Tree, seed: int, restart: int, ops: Engine) -> Tree:
        """Given or random rows; an object without any feature is an even mixture and stays so."""
        if "start" in block.extra:
            rows = ops.to_numpy(block.extra["start"]).clip(min=ROW_FLOOR)
        else:
            rows = random_matrix(seed, block.start, block.stop, self.width, np.float64)
            mass = sum(ops.to_numpy(ops.row_sums(part)) for part in block.views.values())
            rows[np.asarray(mass) <= 0] = 1.0 / self.width
        return {"mixture": clamped(ops.asarray(rows, _type_of(shared)), block, ops)}

    def row_step(
        self, block: Block, rows: Tree, shared: Tree, ops: Engine, stats: Tree | None
    ) -> tuple[Tree, Tree | None]:
        """One half-step of the rows; with `stats`, the pass over the features as well."""
        mixture, profiles = rows["mixture"], shared["profiles"]
        pull, objective = None, 0.0
        for name, X in block.views.items():
            part, likelihood = ops.ratio_rows(X, mixture, profiles[name])
            weight = self.weights.get(name, 1.0)
            part = part if weight == 1.0 else part * weight
            pull = part if pull is None else pull + part
            objective += weight * likelihood
        new = clamped(ops.row_shares(mixture, pull, ROW_FLOOR), block, ops)
        if stats is not None:
            used = new if self.alternating else mixture
            sums = stats.setdefault("ratio", {})
            for name, X in block.views.items():
                sums[name] = ops.ratio_features(X, used, profiles[name], sums.get(name))
            stats["objective"] = stats.get("objective", 0.0) + objective
        return {"mixture": new}, stats

    def fold_step(self, block: Block, rows: Tree, shared: Tree, ops: Engine, number: int) -> tuple[Tree, np.ndarray]:
        """Row step `number` of new objects, and how far each was from rest: by how much its largest entry moved."""
        new, _ = self.row_step(block, rows, shared, ops, None)
        moved = np.abs(ops.to_numpy(new["mixture"]) - ops.to_numpy(rows["mixture"]))
        return new, moved.max(axis=1, initial=0.0)

    def objective(self, block: Block, rows: Tree, shared: Tree, ops: Engine) -> float:
        """Weighted log-likelihood of the block."""
        profiles = shared["profiles"]
        return float(
            sum(
                self.weights.get(name, 1.0) * ops.log_likelihood(X, rows["mixture"], profiles[name]).sum()
                for name, X in block.views.items()
            )
        )

    def shared_step(self, stats: Tree, shared: Tree, ops: Engine) -> Tree:
        """New shared parameters from the statistics; those may be overwritten."""
        return self.update(shared, self.pulls(stats, shared), ops)

    def pulls(self, stats: Tree, shared: Tree) -> Tree:
        """What multiplies each shared parameter before it is made a distribution again; product = expected counts."""
        return {"profiles": stats["ratio"]}

    def as_counts(self, shared: Tree, like: Tree) -> Tree:
        """Shared parameters as expected counts with the masses of others: what `fit` learned, for online learning."""
        return {"profiles": with_masses(shared["profiles"], like["profiles"], joint=False)}

    def update(self, shared: Tree, pulls: Tree, ops: Engine) -> Tree:
        """Shared parameters times their pulls, as distributions."""
        return {"profiles": update_columns(shared["profiles"], pulls["profiles"], ops, joint=False)}

    def normalize_rows(self, rows: Tree) -> Tree:
        """Rows back onto the simplex after an extrapolation."""
        return {"mixture": row_shares(rows["mixture"])}

    def normalize_shared(self, shared: Tree) -> Tree:
        """Shared parameters as distributions again."""
        return {"profiles": column_shares(shared["profiles"], joint=False)}


def clamped(mixture: Any, block: Block, ops: Engine) -> Any:
    """Labeled rows hold their class alone; -1 is free."""
    codes = block.extra.get("labels")
    return mixture if codes is None else ops.clamp(mixture, codes)


def fold_rows(steps: MixtureSteps, block: Block, start: Any, shared: Tree, engine: Engine) -> np.ndarray:
    """Mixtures of new objects, the profiles fixed, from a start or (None) from even ones."""
    if start is None:
        start = np.full((len(block), steps.width), 1.0 / steps.width)
    rows = {"mixture": engine.asarray(start, _type_of(shared))}

    def step(part: Block, rows: Tree, number: int) -> tuple[Tree, np.ndarray]:
        return steps.fold_step(part, rows, shared, engine, number)

    return fold_in(step, block, rows, engine, max_iter=steps.fold_in_sweeps, tol=steps.fold_in_tol)["mixture"]


def _type_of(shared: Tree) -> Any:
    return next(iter(shared["profiles"].values())).dtype


# -- the estimators


def random_profiles(given: Mapping[str, Any], n_topics: int, views: Any, seed: int) -> dict[str, np.ndarray]:
    """Profiles that are one distribution per view to start with, as given or random."""
    topics = random_topics(given, dict.fromkeys(views.names, n_topics), views.n_features, seed)
    return {name: np.maximum(part, FEATURE_FLOOR) for name, part in topics.items()}


@dataclass(frozen=True)
class FitContext:
    """What a start may need: the seed, codes of labeled objects (-1 is none), and when it should be there."""

    seed: int
    labels: np.ndarray | None = None
    deadline: Deadline = NO_DEADLINE


class MixtureModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BatchEstimator):
    """Base of the PLSA family: objects are mixtures of profiles.

    A model says what its steps are, where it starts, and how its shared parameters become fitted attributes; what is
    said here is link-PLSA's.
    """

    _takes_lazy = True
    _mixture = "memberships_"
    _start_share = START_SHARE
    schedule: str = "alternating"  # where it is no parameter
    init: Any
    random_state: Any
    learning_decay: float
    learning_offset: float
    topic_feature_: dict[str, np.ndarray]
    batch_counts_: Tree
    _fitted_state = {
        "topic_feature_": rules.by_view(rules.shares("topics", "features of {view}")),
        "memberships_": rules.shares("objects", "topics"),
        "batch_counts_": rules.optional(
            rules.record(profiles=rules.by_view(rules.floats("features of {view}", "topics", low=0))),
            needed=lambda state: "n_batches_" in state,
        ),
        "n_batches_": rules.optional(rules.count(), needed=lambda state: "batch_counts_" in state),
    }

    # -- what a model says of itself

    def _steps(self) -> MixtureSteps:
        raise NotImplementedError

    def _begin(self, views: Any, context: FitContext) -> tuple[Callable[[int], Tree], dict[str, Any]]:
        """Function from seed to shared parameters (NumPy arrays), and arrays that the blocks carry."""
        raise NotImplementedError

    def _profiles(self, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        """Fitted profiles (features x columns) over some of the views."""
        return {name: np.maximum(self.topic_feature_[name].T, FEATURE_FLOOR) for name in names}

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
            probabilities=True,
            _features=lambda view: Features(self.topic_feature_[view], True, "p(feature)"),
            _memberships=self.transform,
            _profiles=lambda: self._profiles(tuple(self.view_names_)),
        )

    # -- what users call

    def fit_transform(self: Any, X: Any, y: Any = None) -> np.ndarray:
        """Fit to X and fold X in, so that what follows is trained on what it will meet later.

        Where the fit itself left the training objects is in `memberships_`, or `memberships_by_view_`.
        """
        return self.fit(X, y).transform(X)

    def transform(self, X: Any) -> np.ndarray:
        """Mixtures of objects, new or old, from some or all of the fitted views, the topics fixed.

        Rows sum to one; an object without any feature gets an even mixture.
        """
        return self._mixtures(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood per token (unit of mass) of X, its mixtures folded in; 0 where X holds nothing."""
        return self._token_score(X)

    def perplexity(self, X: Any) -> float:
        """Perplexity of X: exp of minus the mean log-likelihood per token; lower is better."""
        return float(np.exp(-self._token_score(X)))

    def top_features(self, view: str | None = None, n: int = 10) -> list[list[tuple[str, float]]]:
        """For each topic the `n` most probable features of a view, with their probabilities.

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
        labels = [f"f{j}" for j in range(self.n_features_by_view_[view])] if names is None else names
        best = rank_features(Features(weights[view]), n, by="weight", above=-np.inf)
        return [[(str(labels[j]), float(row[j])) for j in order] for row, order in zip(weights[view], best)]

    # -- fitting

    @with_callbacks
    def _fit(self: Self, X: Any, views: Views, deadline: Deadline, extra: dict[str, Any] | None = None) -> Self:
        engine = self._engine(X)
        with engine.limits():
            return self._fit_on(engine, X, views, deadline, extra or {})

    def _fit_on(self: Self, engine: Engine, X: Any, views: Any, deadline: Deadline, extra: dict[str, Any]) -> Self:
        steps = self._checked_steps()
        seed = base_seed(self.random_state)
        # a resumed fit must start at the same place: with a checkpoint the start takes the time that it needs
        ready = NO_DEADLINE if self.checkpoint is not None else deadline.share(self._start_share)
        make, carried = self._begin(views, FitContext(seed, extra.get("labels"), ready))
        extra = {**carried, **extra}
        holder = self._hold(views, engine, steps.width, extra)
        dtype = floating_type(views)

        def begin(restart: int) -> tuple[Tree, int]:
            here = seed + RESTART * restart
            return tree_map(lambda array: holder.ops.asarray(array, dtype), make(here)), here

        def reconstruct(state: State) -> dict[str, Any]:
            return self._attributes(state, holder)

        fit = self._run_loop(X, views, steps, holder, begin, extra, reconstruct, deadline)
        holder.release()
        for name in ("batch_counts_", "n_batches_"):
            self.__dict__.pop(name, None)
        self._keep(self._attributes(fit.state, holder))
        self.history_ = fit.history
        self.n_iter_ = fit.n_iter
        self.stopped_by_ = fit.stopped_by
        return self

    def _attributes(self, state: State, holder: Holder) -> dict[str, Any]:
        attributes = self._shared_attributes(tree_map(holder.ops.to_numpy, state.shared))
        attributes[self._mixture] = holder.collect(state.rows, "mixture")
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

    def _fitted(self, views: Views, engine: Engine) -> Tree:
        dtype = floating_type(views)
        profiles = self._profiles(views.names)
        return {"profiles": {name: engine.asarray(part, dtype) for name, part in profiles.items()}}

    def _fold_in(self, block: Block, steps: MixtureSteps, shared: Tree, engine: Engine) -> np.ndarray:
        return fold_rows(steps, block, None, shared, engine)

    @blockwise
    def _mixtures(self, X: Any) -> np.ndarray:
        """Mixtures of objects by fold-in, from some or all of the fitted views."""
        check_is_fitted(self, "topic_feature_")
        views = self._new_views(X)
        engine, steps = self._engine(X), self._fitted_steps()
        shared = self._fitted(views, engine)
        blocks = self._each_block(views, engine, steps.width)
        with engine.limits():
            mixtures = np.concatenate([self._fold_in(block, steps, shared, engine) for block in blocks])
        return engine.asarray(mixtures) if engine.tensors else mixtures

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
        views = self._new_views(views)
        engine, steps = self._engine(), self._fitted_steps()
        shared = self._fitted(views, engine)
        total = mass = 0.0
        for block in self._each_block(views, engine, steps.width):
            rows = {"mixture": engine.asarray(self._fold_in(block, steps, shared, engine))}
            total += float(steps.objective(block, rows, shared, engine))
            mass += float(
                sum(steps.weights.get(name, 1.0) * engine.row_sums(part).sum() for name, part in block.views.items())
            )
        return total, mass

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
        first = 0
        for part in views.parts():
            here = {name: array[first : first + len(part)] for name, array in (extra or {}).items()}
            self._learn_batch(self._numbers(part, False), here)
            first += len(part)
        return None

    def _learn_batch(self, views: Views, extra: dict[str, Any]) -> None:
        """Online EM: fold the batch in, then move the running expected counts towards its own.

        Batch t weighs (learning_offset + t) ** -learning_decay; the first one of a new model is learned on its own for
        some sweeps. After `fit`, what was learned counts like the batches before the first.
        """
        if list(views.names) != self.view_names_:
            missing = ", ".join(repr(name) for name in self.view_names_ if name not in views)
            raise ViewsError(f"partial_fit needs every view of the first batch, but X lacks {missing}.")
        first = not self._has_learned()
        steps, engine = self._checked_steps(), self._engine()
        steps = steps if first else self._fitted_steps()
        dtype = floating_type(views)

        def on_engine(tree: Tree) -> Tree:
            return tree_map(lambda array: engine.asarray(array, dtype), tree)

        if first:
            seed = base_seed(self.random_state)
            make, carried = self._begin(views, FitContext(seed, extra.get("labels")))
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
        known = self.__dict__.get("batch_counts_")
        if first or known is None:
            self.n_batches_, self.history_ = 0, {"objective": []}
        if not first:
            known = steps.as_counts(tree_map(engine.to_numpy, old), counts) if known is None else known
            weight = (self.learning_offset + self.n_batches_) ** -self.learning_decay
            counts = tree_map(lambda a, b: (1 - weight) * a + weight * b, known, counts)
        self.batch_counts_ = counts
        new = steps.update(shared, tree_map(lambda c, o: engine.asarray(c, dtype) / o, counts, old), engine)
        self._keep(self._attributes(State(mixtures, new), holder))
        self.n_batches_ += 1
        self.n_iter_ = self.n_batches_
        self.history_.setdefault("objective", []).append(float(stats["objective"]))

    def _restored(self) -> Tree:
        """Shared parameters (NumPy arrays) from the fitted attributes."""
        return {"profiles": self._profiles(tuple(self.view_names_))}


class WeightedModel(MixtureModel):
    """A model in which views count differently: `view_weights`, 1 where nothing is said."""

    view_weights: Any
    view_weights_: dict[str, float]
    _fitted_state = {"view_weights_": rules.by_view(rules.weight())}

    def _fit_views(self, X: Any) -> Any:
        views = super()._fit_views(X)
        given = None if self._learns_weights() else self.view_weights
        weights = per_view("view_weights", given, self.view_names_)
        self.view_weights_ = dict(zip(self.view_names_, weights.tolist()))
        return views

    def _learns_weights(self) -> bool:
        """Whether weights are to be learned from labels: by a classifier, later in its fit."""
        return isinstance(self.view_weights, str) and self.view_weights == LEARNED

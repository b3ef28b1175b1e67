"""What every model of the family does the same way: fit through the loop, fold in, score, learn online.

A model says what its shared parameters are and how they start; see `steps.py` for the mathematics.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from coview.base import BatchEstimator
from coview.engines.loop import fold_in, sweep
from coview.engines.memory import MemoryHolder
from coview.engines.passes import blockwise, over_rows
from coview.engines.protocol import Block, Engine, Holder, floating_type
from coview.engines.state import State, Tree, tree_map
from coview.engines.watch import with_callbacks
from coview.exceptions import ViewsError
from coview.inspection import Features, Inspection, Training
from coview.plsa.steps import MixtureSteps
from coview.plsa.topics import TopicsMixin
from coview.validation import base_seed, check_option, per_view
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["MixtureModel", "WeightedModel"]

FOLD_IN_SWEEPS = 200
FOLD_IN_TOL = 1e-5
FIRST_SWEEPS = 10  # of the first minibatch: what it teaches is all there is to fold the second one into
RESTART = 104_729  # apart enough that restarts share no stream

Self = TypeVar("Self", bound="MixtureModel")


class MixtureModel(TopicsMixin, BatchEstimator):
    """Base of the PLSA family: objects are mixtures of profiles."""

    _takes_lazy = True
    schedule: str
    random_state: Any
    learning_decay: float
    learning_offset: float
    batch_counts_: Tree

    # -- what a model says of itself

    def transform(self, X: Any) -> np.ndarray:
        """Mixtures of objects, new or old, from some or all of the fitted views; rows sum to one."""
        return self._mixtures(X)

    def _steps(self) -> MixtureSteps:
        raise TypeError(f"{type(self).__name__} does not say what its steps are.")

    def _begin(self, views: Any, seed: int, labels: np.ndarray | None) -> tuple[Any, dict[str, Any]]:
        """Function from seed to shared parameters (NumPy arrays), and arrays that blocks carry; by labels, if any."""
        raise TypeError(f"{type(self).__name__} does not say where it starts.")

    def _profiles(self, names: tuple[str, ...]) -> dict[str, np.ndarray]:
        """Fitted profiles (features x columns) over some of the views."""
        raise TypeError(f"{type(self).__name__} does not say what its profiles are.")

    def _shared_attributes(self, shared: Tree) -> dict[str, Any]:
        """Fitted attributes that the shared parameters (NumPy arrays) make."""
        raise TypeError(f"{type(self).__name__} does not say what it learns.")

    def _inspect(self) -> Inspection:
        """Answer `inspect`: topics of several views, by their profiles."""
        groups = [str(k) for k in range(self._n_features_out)]
        kept = getattr(self, self._mixture, None)  # a copy that travels to a cluster has none
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

    # -- what follows

    @with_callbacks
    def _fit(self: Self, X: Any, views: Views, extra: dict[str, np.ndarray] | None = None) -> Self:
        engine = self._engine(X)
        with engine.limits():
            return self._fit_on(engine, X, views, extra or {})

    def _fit_on(self: Self, engine: Engine, X: Any, views: Any, extra: dict[str, np.ndarray]) -> Self:
        steps = self._checked_steps()
        seed = base_seed(self.random_state)
        make, carried = self._begin(views, seed, extra.get("labels"))
        extra = {**carried, **extra}
        holder = self._hold(views, engine, steps.width, extra)
        dtype = floating_type(views)

        def begin(restart: int) -> tuple[Tree, int]:
            here = seed + RESTART * restart
            return tree_map(lambda array: holder.ops.asarray(array, dtype), make(here)), here

        fit = self._run_loop(X, views, steps, holder, begin, extra, lambda state: self._attributes(state, holder))
        holder.release()
        self.__dict__.pop("batch_counts_", None)
        self.__dict__.pop("n_batches_", None)
        for name, value in self._attributes(fit.state, holder).items():
            setattr(self, name, value)
        self.history_ = fit.history
        self.n_iter_ = fit.n_iter
        self.stopped_by_ = fit.stopped_by
        return self

    def _attributes(self, state: State, holder: Holder) -> dict[str, Any]:
        found = self._shared_attributes(tree_map(holder.ops.to_numpy, state.shared))
        found[self._mixture] = holder.collect(state.rows, "mixture")
        return found

    def _checked_steps(self) -> MixtureSteps:
        self._check_loop()
        check_option("schedule", self.schedule, ("alternating", "joint"))
        return self._steps()

    def _fitted(self, views: Views, engine: Engine) -> Tree:
        dtype = floating_type(views)
        profiles = self._profiles(views.names)
        return {"profiles": {name: engine.asarray(part, dtype) for name, part in profiles.items()}}

    def _fold_in(self, block: Block, steps: MixtureSteps, shared: Tree, engine: Engine) -> np.ndarray:
        dtype = next(iter(shared["profiles"].values())).dtype
        rows = {"mixture": engine.asarray(np.full((len(block), steps.width), 1.0 / steps.width), dtype)}
        return fold_in(steps, block, rows, shared, engine, max_iter=FOLD_IN_SWEEPS, tol=FOLD_IN_TOL)["mixture"]

    @blockwise
    def _mixtures(self, X: Any) -> np.ndarray:
        """Mixtures of objects by fold-in, from some or all of the fitted views."""
        check_is_fitted(self, "topic_feature_")
        views = self._new_views(X)
        engine, steps = self._engine(X), self._steps()
        shared = self._fitted(views, engine)
        blocks = self._each_block(views, engine, steps.width)
        with engine.limits():
            found = np.concatenate([self._fold_in(block, steps, shared, engine) for block in blocks])
        return engine.asarray(found) if getattr(engine, "tensors", False) else found

    def _token_score(self, X: Any) -> float:
        """Mean log-likelihood per token (unit of mass), mixtures folded in; 0 where X holds nothing."""
        check_is_fitted(self, "topic_feature_")
        views = self._new_views(X)
        sums = over_rows(views, self._traveling()._likelihood if _is_dask(views) else self._likelihood)
        total, mass = np.sum(sums, axis=0)
        return float(total / mass) if mass else 0.0

    def _likelihood(self, views: Views, first: int) -> tuple[float, float]:
        """Log-likelihood and mass of some rows."""
        views = self._new_views(views)
        engine, steps = self._engine(), self._steps()
        shared = self._fitted(views, engine)
        total = mass = 0.0
        for block in self._each_block(views, engine, steps.width):
            rows = {"mixture": engine.asarray(self._fold_in(block, steps, shared, engine))}
            total += float(steps.objective(block, rows, shared, engine))
            mass += float(
                sum(steps.weights.get(name, 1.0) * engine.row_sums(part).sum() for name, part in block.views.items())
            )
        return total, mass

    def perplexity(self, X: Any) -> float:
        """Perplexity of X: exp of minus the mean log-likelihood per token; lower is better."""
        return float(np.exp(-self._token_score(X)))

    def _learn_stream(self, views: Any, extra: dict[str, np.ndarray] | None = None) -> None:
        """Learn from one minibatch; of lazy views, every part is one."""
        if not isinstance(views, LazyViews):
            return self._learn_batch(views, extra)
        first = 0
        for part in views.parts():
            here = {name: array[first : first + len(part)] for name, array in (extra or {}).items()}
            self._learn_batch(self._numbers(part, False), here)
            first += len(part)
        return None

    def _learn_batch(self, views: Views, extra: dict[str, np.ndarray] | None = None) -> None:
        """Online EM: fold the batch in, then move the running expected counts towards its own.

        Batch t weighs (learning_offset + t) ** -learning_decay; the first one of a new model is learned on its own for
        some sweeps. After `fit`, what was learned counts like the batches before the first.
        """
        first = not hasattr(self, "topic_feature_")
        if list(views.names) != self.view_names_:
            missing = ", ".join(repr(name) for name in self.view_names_ if name not in views)
            raise ViewsError(f"partial_fit needs every view of the first batch; {missing} missing.")
        steps, engine = self._checked_steps(), self._engine()
        dtype = floating_type(views)
        if first:
            seed = base_seed(self.random_state)
            make, carried = self._begin(views, seed, (extra or {}).get("labels"))
            carried.update(extra or {})
            holder = MemoryHolder(list(self._each_block(views, engine, steps.width, carried)), engine)
            shared = tree_map(lambda array: engine.asarray(array, dtype), make(seed))
            state = State(holder.start(steps, shared, seed, 0), shared)
            for _ in range(FIRST_SWEEPS):
                sweep(steps, holder, state)
            shared = state.shared
        else:
            holder = MemoryHolder(list(self._each_block(views, engine, steps.width, extra)), engine)
            shared = tree_map(lambda array: engine.asarray(array, dtype), self._restored())
        stats: Tree = {}
        mixtures: list[Tree] = []
        for block in holder.blocks:
            rows: Tree = {"mixture": engine.asarray(self._fold_in(block, steps, shared, engine))}
            rows, _ = steps.row_step(block, rows, shared, engine, stats)
            mixtures.append(rows)
        pulls = steps.pulls(stats, shared)
        old = {name: shared[name] for name in pulls}
        counts = tree_map(lambda value, pull: engine.to_numpy(value * pull) / len(views), old, pulls)
        if first or not hasattr(self, "batch_counts_"):
            self.n_batches_, self.history_ = 0, {"objective": []}
        if not first:
            known = getattr(self, "batch_counts_", None)
            known = steps.as_counts(tree_map(engine.to_numpy, old), counts) if known is None else known
            weight = (self.learning_offset + self.n_batches_) ** -self.learning_decay
            counts = tree_map(lambda a, b: (1 - weight) * a + weight * b, known, counts)
        self.batch_counts_ = counts
        new = steps.update(shared, tree_map(lambda c, o: engine.asarray(c, dtype) / o, counts, old), engine)
        for name, value in self._attributes(State(mixtures, new), holder).items():
            setattr(self, name, value)
        self.n_batches_ += 1
        self.n_iter_ = self.n_batches_
        self.history_["objective"].append(float(stats["objective"]))

    def _restored(self) -> Tree:
        """Shared parameters (NumPy arrays) from the fitted attributes."""
        return {"profiles": self._profiles(tuple(self.view_names_))}


class WeightedModel(MixtureModel):
    """A model in which views count differently: `view_weights`, 1 where nothing is said."""

    view_weights: Any
    view_weights_: dict[str, float]

    def _fit_views(self, X: Any) -> Any:
        views = super()._fit_views(X)
        weights = per_view("view_weights", self.view_weights, self.view_names_)
        self.view_weights_ = dict(zip(self.view_names_, weights.tolist()))
        return views


def _is_dask(views: Any) -> bool:
    return isinstance(views, LazyViews) and views.is_dask

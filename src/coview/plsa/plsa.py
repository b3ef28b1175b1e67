"""PLSA: each object a mixture of topics, each topic a distribution over features.

    p(f|d) = sum_y p(f|y) p(y|d),     log-likelihood = sum_df x_df log p(f|d)

With A = p(y|d) (objects x topics), F = p(f|y) (features x topics) and R = X / (A F^T) on the non-zeros of X, one sweep
of EM is A <- rows(A * R F), F <- cols(F * R^T A). The alternating schedule recomputes R between the two and climbs
faster; the joint schedule uses one R for both, as in the literature. Several views are one matrix side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from coview.base import BatchEstimator, base_seed, check_count, check_option
from coview.data.views import Views
from coview.engines.loop import fold_in
from coview.engines.protocol import Block, Engine
from coview.engines.steps import State, Tree
from coview.plsa.factors import (
    FEATURE_FLOOR,
    ROW_FLOOR,
    as_distributions,
    initial_arrays,
    nonnegative_svd,
    random_matrix,
)
from coview.plsa.topics import TopicsMixin

__all__ = ["PLSA", "PLSASteps"]

FOLD_IN_SWEEPS = 200
FOLD_IN_TOL = 1e-5


class PLSA(TopicsMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BatchEstimator):
    """Probabilistic latent semantic analysis of one view; several views are taken side by side.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    max_iter : int, default=200
        Most sweeps over the data.
    tol : float, default=1e-5
        Stop when the log-likelihood changes by less than this, relative to itself; 0 runs exactly `max_iter` sweeps.
    n_init : int, default=1
        Number of starts; the one that ends highest is kept.
    init : {"random", "nndsvd"} or dict, default="random"
        Where to start. A dict holds any of ``doc_topic``, ``topic_feature`` (an array where there is one view, else
        ``{view: array}``) and ``topic_view`` in the shapes of the fitted attributes; the rest is random.
    schedule : {"alternating", "joint"}, default="alternating"
        Update topics with fresh mixtures, or both from the same expectations.
    acceleration : {None, "squarem"}, default=None
        Extrapolate every second sweep; never lowers the likelihood.
    engine : str or engine, default="auto"
        Where to compute: "auto", "cpu", "reference".
    n_jobs : int or None, default=None
        Threads; None takes every core that threadpoolctl allows. Results do not depend on it.
    learning_decay, learning_offset : float, default=0.7 and 10
        `partial_fit` gives minibatch t the weight ``(learning_offset + t) ** -learning_decay``.
    time_budget : float or None, default=None
        Seconds after which the fit stops at the end of a sweep.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the start.
    verbose : int, default=0
        1 shows a progress bar.
    callbacks : list or None, default=None
        Functions of a `Sweep` (return True to stop), or scikit-learn callbacks.
    checkpoint : path or None, default=None
        File to write the state of the fit to every `checkpoint_every` sweeps; if it exists, the fit goes on from it.
    checkpoint_every : int, default=10
        Sweeps between two checkpoints.

    Attributes
    ----------
    topic_feature_ : dict of ndarray (n_components, n_features of the view)
        ``p(feature | topic, view)`` by view; rows sum to one.
    topic_view_ : ndarray (n_components, n_views)
        ``p(view | topic)``: how much of each topic lies in each view.
    doc_topic_ : ndarray (n_objects, n_components)
        ``p(topic | object)`` of the training objects.
    history_ : dict of lists
        "objective" (log-likelihood) and "seconds" after each sweep; entry 0 is the start.
    n_iter_ : int
        Sweeps of the best start.
    view_names_ : list of str
        Names of the views.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import PLSA
    >>> X = np.array([[4, 3, 0, 0], [5, 4, 0, 0], [0, 0, 3, 4], [0, 1, 6, 5]])
    >>> model = PLSA(n_components=2, random_state=0).fit(X)
    >>> topics = model.transform(X).argmax(axis=1)
    >>> bool(topics[0] == topics[1]), bool(topics[2] == topics[3]), bool(topics[0] == topics[2])
    (True, True, False)
    >>> model.topic_feature_["x"].sum(axis=1)
    array([1., 1.])
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
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
        checkpoint_every: int = 10,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.init = init
        self.schedule = schedule
        self.acceleration = acceleration
        self.engine = engine
        self.n_jobs = n_jobs
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.time_budget = time_budget
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> PLSA:
        """Learn topics from X; y is ignored."""
        steps = self._steps()
        views = self._fit_views(X)
        engine = self._engine()
        begin, extra = self._starts(views, engine)
        blocks = self._blocks(views, engine, self.n_components, extra)
        self._forget_batches()
        fit = self._run_loop(X, views, steps, blocks, begin, engine, lambda s: self._attributes(s, engine))
        del blocks
        for name, value in self._attributes(fit.state, engine).items():
            setattr(self, name, value)
        self.history_ = fit.history
        self.n_iter_ = fit.n_iter
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn topics from X and fold X in, so that what follows is trained on what it will meet later.

        The mixtures at the end of the fit itself are in `doc_topic_`.
        """
        return self.fit(X).transform(X)

    def transform(self, X: Any) -> np.ndarray:
        """Topic mixtures of objects, new or old, from some or all of the fitted views (topics stay fixed)."""
        check_is_fitted(self, "topic_feature_")
        views = self._new_views(X)
        engine = self._engine()
        shared = self._shared(views, engine)
        parts = [self._fold_in(block, shared, engine) for block in self._blocks(views, engine, self.n_components)]
        return np.concatenate(parts)

    def inverse_transform(self, X: Any) -> Any:
        """Expected shares of the features given topic mixtures (objects x topics).

        Returns a matrix where the model was fitted on one view, else Views; a whole row sums to one over all views.
        """
        check_is_fitted(self, "topic_feature_")
        mixtures = np.asarray(X)
        if mixtures.ndim != 2 or mixtures.shape[1] != len(self.topic_view_):
            raise ValueError(
                f"X must be (objects, {len(self.topic_view_)}) topic mixtures, got shape {mixtures.shape}."
            )
        parts = {
            name: (mixtures * self.topic_view_[:, v]) @ self.topic_feature_[name]
            for v, name in enumerate(self.view_names_)
        }
        return next(iter(parts.values())) if len(parts) == 1 else Views(parts)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood per token (unit of mass) of X, its mixtures folded in; 0 where X holds nothing."""
        check_is_fitted(self, "topic_feature_")
        views = self._new_views(X)
        engine = self._engine()
        shared = self._shared(views, engine)
        steps, total, mass = self._steps(), 0.0, 0.0
        for block in self._blocks(views, engine, self.n_components):
            rows = {"doc_topic": engine.asarray(self._fold_in(block, shared, engine))}
            total += steps.objective(block, rows, shared, engine)
            mass += float(sum(engine.row_sums(part).sum() for part in block.views.values()))
        return total / mass if mass else 0.0

    def perplexity(self, X: Any) -> float:
        """Perplexity of X: exp of minus `score`; lower is better."""
        return float(np.exp(-self.score(X)))

    def partial_fit(self, X: Any, y: Any = None) -> PLSA:
        """Learn from one minibatch (online EM): fold it in, then move the running statistics towards it."""
        steps = self._steps()
        first = not hasattr(self, "batch_statistics_")
        views = self._fit_views(X) if first else self._new_views(X)
        if list(views.names) != self.view_names_:
            missing = [name for name in self.view_names_ if name not in views]
            raise ValueError(
                f"partial_fit needs every view of the first batch; {', '.join(map(repr, missing))} missing."
            )
        engine = self._engine()
        blocks = self._blocks(views, engine, self.n_components)
        if first:
            shared, _ = self._starts(views, engine)[0](0)
            self.n_batches_, self.history_ = 0, {"objective": []}
        else:
            shared = self._shared(views, engine)
        stats: Tree = {}
        mixtures = []
        for block in blocks:
            rows: Tree = {"doc_topic": engine.asarray(self._fold_in(block, shared, engine))}
            rows, _ = steps.row_step(block, rows, shared, engine, stats)
            mixtures.append(engine.to_numpy(rows["doc_topic"]))
        weight = 1.0 if first else (self.learning_offset + self.n_batches_) ** -self.learning_decay
        fresh = {name: part * shared["feature_topic"][name] / len(views) for name, part in stats["ratio"].items()}
        if first:
            self.batch_statistics_ = fresh
        else:
            old = self.batch_statistics_
            self.batch_statistics_ = {name: (1 - weight) * old[name] + weight * fresh[name] for name in fresh}
        ones = {name: np.ones_like(part) for name, part in self.batch_statistics_.items()}
        moved = {name: part.copy() for name, part in self.batch_statistics_.items()}
        state = State([], {"feature_topic": engine.column_shares(ones, moved, FEATURE_FLOOR)})
        for name, value in self._attributes(state, engine).items():
            setattr(self, name, value)
        self.doc_topic_ = np.concatenate(mixtures)
        self.n_batches_ += 1
        self.n_iter_ = self.n_batches_
        self.history_["objective"].append(float(stats["objective"]))
        return self

    # -- pieces

    @property
    def _n_features_out(self) -> int:
        return len(self.topic_view_)

    def _forget_batches(self) -> None:
        for name in ("batch_statistics_", "n_batches_"):
            self.__dict__.pop(name, None)

    def _steps(self) -> PLSASteps:
        self._check_loop()
        check_count("n_components", self.n_components)
        check_option("schedule", self.schedule, ("alternating", "joint"))
        return PLSASteps(self.n_components, self.schedule == "alternating")

    def _starts(self, views: Views, engine: Engine) -> tuple[Any, dict[str, np.ndarray]]:
        """Function from restart to (shared parameters, seed of the rows), and row states that are given."""
        seed = base_seed(self.random_state)
        dtype = next(views.values()).dtype
        arrays: dict[str, Any] = {}
        columns = None
        extra = {}
        if isinstance(self.init, Mapping):
            arrays = initial_arrays(self.init, ("doc_topic", "topic_feature", "topic_view"), list(views.names))
            if "doc_topic" in arrays:
                shape = (len(views), self.n_components)
                extra["start"] = as_distributions("doc_topic", arrays["doc_topic"], shape)
        elif check_option("init", self.init, ("random", "nndsvd")) == "nndsvd":
            extra["start"], columns = nonnegative_svd(views, self.n_components, seed)

        def begin(restart: int) -> tuple[Tree, int]:
            here = seed + 104_729 * restart
            features = columns or _given_features(arrays, views, self.n_components, here)
            floored = {name: np.maximum(part, FEATURE_FLOOR) for name, part in features.items()}
            return {"feature_topic": {name: engine.asarray(part, dtype) for name, part in floored.items()}}, here

        return begin, extra

    def _shared(self, views: Views, engine: Engine) -> Tree:
        """Fitted topics over the given views, renormalised where some are absent."""
        dtype = next(views.values()).dtype
        columns = [self.view_names_.index(name) for name in views.names]
        weights = self.topic_view_[:, columns]
        weights = weights / weights.sum(axis=1, keepdims=True)
        features = {
            name: engine.asarray(np.maximum(self.topic_feature_[name].T * weights[:, v], FEATURE_FLOOR), dtype=dtype)
            for v, name in enumerate(views.names)
        }
        return {"feature_topic": features}

    def _fold_in(self, block: Block, shared: Tree, engine: Engine) -> np.ndarray:
        dtype = next(iter(shared["feature_topic"].values())).dtype
        start = np.full((len(block), self.n_components), 1.0 / self.n_components)
        rows = {"doc_topic": engine.asarray(start, dtype=dtype)}
        found = fold_in(self._steps(), block, rows, shared, engine, max_iter=FOLD_IN_SWEEPS, tol=FOLD_IN_TOL)
        return found["doc_topic"]

    def _attributes(self, state: State, engine: Engine) -> dict[str, Any]:
        """Fitted attributes of a state."""
        parts = {name: engine.to_numpy(part) for name, part in state.shared["feature_topic"].items()}
        shares = np.column_stack([part.sum(axis=0, dtype=np.float64) for part in parts.values()])
        found: dict[str, Any] = {
            "topic_feature_": {
                name: part.T
                if len(parts) == 1
                else (part / np.maximum(shares[:, v], FEATURE_FLOOR)).astype(part.dtype).T
                for v, (name, part) in enumerate(parts.items())
            },
            "topic_view_": shares / shares.sum(axis=1, keepdims=True),
        }
        if state.rows:
            found["doc_topic_"] = np.concatenate([engine.to_numpy(rows["doc_topic"]) for rows in state.rows])
        return found


def _given_features(arrays: Mapping[str, Any], views: Views, n_components: int, seed: int) -> dict[str, np.ndarray]:
    """Feature factors (features x topics, columns sum to one over all views) from `init`, random where it is silent."""
    shares = views_mass = np.array([matrix.sum(dtype=np.float64) for matrix in views.values()])
    shares = views_mass / views_mass.sum() if views_mass.sum() > 0 else np.full(len(views_mass), 1 / len(views_mass))
    shares = np.tile(shares, (n_components, 1))
    if "topic_view" in arrays:
        shares = as_distributions("topic_view", arrays["topic_view"], shares.shape)
    features = {}
    for v, (name, width) in enumerate(views.n_features.items()):
        given = arrays.get("topic_feature", {}).get(name)
        if given is None:
            # topics as rows of a random matrix: a stream of its own per view
            topics = random_matrix(seed + 7919 * (v + 1), 0, width, n_components, np.float64).T
            topics = topics / topics.sum(axis=1, keepdims=True)
        else:
            topics = as_distributions("topic_feature", given, (n_components, width))
        features[name] = (topics * shares[:, [v]]).T
    return features


@dataclass(frozen=True)
class PLSASteps:
    """The steps of PLSA for the loop: rows = {"doc_topic"}, shared = {"feature_topic": {view: features x topics}}."""

    n_components: int
    alternating: bool

    def start(self, block: Block, shared: Tree, seed: int, ops: Engine) -> Tree:
        """Row state at the start: given or random; an object without any feature is an even mixture and stays so."""
        dtype = next(iter(shared["feature_topic"].values())).dtype
        if "start" in block.extra:
            return {"doc_topic": ops.asarray(block.extra["start"].clip(min=ROW_FLOOR), dtype)}
        rows = random_matrix(seed, block.start, block.stop, self.n_components, np.float64)
        mass = sum(ops.to_numpy(ops.row_sums(part)) for part in block.views.values())
        rows[np.asarray(mass) <= 0] = 1.0 / self.n_components
        return {"doc_topic": ops.asarray(rows, dtype)}

    def row_step(
        self, block: Block, rows: Tree, shared: Tree, ops: Engine, stats: Tree | None
    ) -> tuple[Tree, Tree | None]:
        mixture, features = rows["doc_topic"], shared["feature_topic"]
        pull, objective = None, 0.0
        for name, X in block.views.items():
            part, likelihood = ops.ratio_rows(X, mixture, features[name])
            pull = part if pull is None else pull + part
            objective += likelihood
        new = ops.row_shares(mixture, pull, ROW_FLOOR)
        if stats is not None:
            used = new if self.alternating else mixture
            sums = stats.setdefault("ratio", {})
            for name, X in block.views.items():
                sums[name] = ops.ratio_features(X, used, features[name], sums.get(name))
            stats["objective"] = stats.get("objective", 0.0) + objective
        return {"doc_topic": new}, stats

    def shared_step(self, stats: Tree, shared: Tree, ops: Engine) -> Tree:
        return {"feature_topic": ops.column_shares(shared["feature_topic"], stats["ratio"], FEATURE_FLOOR)}

    def objective(self, block: Block, rows: Tree, shared: Tree, ops: Engine) -> float:
        features = shared["feature_topic"]
        return float(
            sum(ops.log_likelihood(X, rows["doc_topic"], features[name]).sum() for name, X in block.views.items())
        )

    def normalize(self, rows: Tree, shared: Tree) -> tuple[Tree, Tree]:
        mixture = rows["doc_topic"].clip(min=ROW_FLOOR)
        parts = {name: part.clip(min=FEATURE_FLOOR) for name, part in shared["feature_topic"].items()}
        sums = sum(part.sum(axis=0) for part in parts.values())
        features = {name: part / sums for name, part in parts.items()}
        return {"doc_topic": mixture / mixture.sum(axis=1, keepdims=True)}, {"feature_topic": features}

"""The one loop that drives every batch model: on which engine, and what can watch or end it (callbacks, time budgets).

A sweep is the row step over every block, then one shared step. The loop knows nothing of any model, and nothing of
where the rows are: a holder passes over them.

Momentum: with M one sweep, t_(k+1) = M(t_k + b_k (t_k - t_(k-1))), b_k = k / (k + 3) (Nesterov, 1983; of
factorizations: Ang and Gillis, 2019), with a safeguard that keeps the ascent. It begins once a plain sweep gains
little, so that the early climb, which decides on which hill the fit ends, is that of plain sweeps; and it begins anew
where the objective ahead is lower than at the last sweep: that sweep is not counted, and the next one is plain.

A `TimeBudget` becomes a `Deadline` where `fit` begins, so that everything after that counts: the start, fits inside
this one and the loop. A stage that is passed a deadline returns the best that it has by then.
"""

from __future__ import annotations

import math
import numbers
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from coview.engines.checkpoint import Checkpoint, CheckpointFile, fingerprint
from coview.engines.protocol import (
    Block,
    Engine,
    Extra,
    Fit,
    Gate,
    Holder,
    State,
    Steps,
    Tree,
    floating_type,
    make_blocks,
    row_bytes,
    tree_leaves,
    tree_map,
)
from coview.exceptions import EngineError, InterruptedFitWarning
from coview.utils import fitted_state as rules
from coview.utils.parameters import check_value, number
from coview.utils.progress import tell
from coview.utils.warn import warn_user
from coview.views.arrays import is_tensor
from coview.views.lazy import LazyViews
from coview.views.views import Views

Self = TypeVar("Self")
T = TypeVar("T")

# scikit-learn has callbacks from 1.9 on. Before, the mixin and the decorator do nothing, and nothing is a FitCallback
if TYPE_CHECKING:

    class CallbackSupportMixin:
        def set_callbacks(self: Self, *callbacks: Any) -> Self: ...

    class FitCallback: ...

    def with_callbacks(method: Any) -> Any: ...

else:
    try:
        from sklearn.callback import CallbackSupportMixin, FitCallback, with_callbacks
    except ImportError:

        class CallbackSupportMixin:
            """Stands for scikit-learn's mixin of this name where it has none."""

            def set_callbacks(self, *callbacks):
                """Return the estimator as it is."""
                return self

        class FitCallback:
            """Stands for scikit-learn's protocol of this name where it has none."""

        def with_callbacks(method):
            """Return the method as it is."""
            return method


__all__ = [
    "NO_DEADLINE",
    "START_SHARE",
    "Deadline",
    "Iteration",
    "LoopMixin",
    "Momentum",
    "Options",
    "TimeBudget",
    "fold_in",
    "largest_in_time",
    "local_engine",
    "make_holder",
    "models_inside",
    "run",
    "select_engine",
    "sweep",
    "with_callbacks",
]

START_SHARE = 0.4  # of a time budget, for what comes before the first sweep
GROWTH = 4  # from one sample to the next: all that came before take a third of the time of the last
SLOW = 3e-4  # gain of a plain sweep, relative to the objective, below which momentum begins
NEXT = 1.5  # times the last sweep: what a further one takes, with the pass that measures where it ends
_CROWDED = 0.75  # share of rows still moving above which those at rest stay among them
_NAMES = "'auto', 'cpu', 'cuda', 'dask', 'reference' or an engine object"
# parameters that say when a fit ends or who computes it, but not where it goes
_NOT_IN_FINGERPRINT = ("max_iter", "tol", "verbose", "n_jobs", "engine")


def make_holder(views: Any, engine: Any, width: int, extra: Extra, gate: Gate, most: int | None = None) -> Holder:
    """Make the holder of a fit's rows: on a cluster, from this machine's disk for lazy views, or in memory.

    Blocks have at most `most` rows, if that is given.
    """
    if engine.name == "dask":
        return engine.make_holder(views, width, extra, gate, most)
    if isinstance(views, LazyViews):
        from coview.engines.disk import DiskHolder

        return DiskHolder(views, engine, width, extra, gate, most)
    itemsize = next(views.values()).dtype.itemsize
    size = min(engine.block_rows(width, itemsize, len(views), row_bytes(views)), most or len(views))
    return Holder(list(make_blocks(views, engine, size, extra)), engine)


def select_engine(engine: Any = "auto", *, n_jobs: int | None = None, data: Any = None) -> Any:
    """Return an engine by name ("auto", "cpu", "cuda", "dask", "reference"), or the engine object that was passed.

    "auto" follows the data: dask collections are computed on their cluster, CUDA tensors on their GPU, all else here.
    """
    if not isinstance(engine, str):
        if hasattr(engine, "ratio_rows") and hasattr(engine, "prepare"):
            return engine
        raise EngineError(f"engine must be {_NAMES}, got {engine!r}.")
    device = "cuda"
    if engine == "auto":
        engine, device = _get_engine(data)
    # imported here: numba takes a second to load, and torch and dask may be absent
    if engine == "cpu":
        from coview.engines.cpu import CpuEngine

        return CpuEngine(n_jobs)
    if engine == "cuda":
        from coview.engines.cuda import CudaEngine

        return CudaEngine(device)
    if engine == "dask":
        from coview.engines.dask.engine import DaskEngine

        return DaskEngine()
    if engine == "reference":
        return Engine()
    raise EngineError(f"engine must be {_NAMES}, got {engine!r}.")


def _get_engine(data: Any) -> tuple[str, str]:
    """Return the name of the engine that suits the data, and the device of CUDA tensors."""
    if isinstance(data, LazyViews) and data.is_dask:
        return "dask", ""
    parts = list(data.values()) if isinstance(data, dict) else data if isinstance(data, (list, tuple)) else [data]
    for part in parts:
        home = type(part).__module__.split(".")[0]
        if home == "dask":
            return "dask", ""
        if is_tensor(part) and part.is_cuda:
            return "cuda", str(part.device)
    return "cpu", ""


def local_engine(engine: Any) -> Any:
    """Return the engine that computes in this process, or in a worker's."""
    return select_engine(engine.worker_engine, n_jobs=1) if engine.name == "dask" else engine


@dataclass(frozen=True)
class Deadline:
    """A moment of the monotonic clock; the default never comes.

    Examples
    --------
    >>> Deadline.after(60).is_over(), Deadline.after(None).seconds() is None
    (False, True)
    >>> Deadline.after(60).share(0.5).left() <= 30
    True
    """

    moment: float = math.inf

    @classmethod
    def after(cls, time_budget: float | None) -> Deadline:
        """Return the moment when a budget of so many seconds is spent, or never."""
        if time_budget is None:
            return NO_DEADLINE
        return cls(time.monotonic() + float(time_budget))

    def left(self) -> float:
        """Return the seconds that are left, below 0 where the moment has passed."""
        return self.moment - time.monotonic()

    def seconds(self) -> float | None:
        """Return the seconds left for a fit inside this one; never 0, since each sweeps once."""
        return None if math.isinf(self.moment) else max(self.left(), 1e-9)

    def is_over(self) -> bool:
        """Tell whether the moment has passed."""
        return self.left() <= 0

    def share(self, part: float) -> Deadline:
        """Return the moment when this part of the time that is left is spent."""
        return self if math.isinf(self.moment) else Deadline(self.moment - (1 - part) * max(self.left(), 0.0))


NO_DEADLINE = Deadline()


@dataclass(frozen=True)
class TimeBudget:
    """Time that a fit may take, for `set_callbacks`.

    It counts everything that `fit` does: checks of the data, the start (at most 40 % of the budget, with fewer
    candidates or a sample of the objects if need be), restarts and iterations, of which there is always one. Kernels
    that are compiled on first use count as well. With a `Checkpoint` the start takes the time that it needs.

    Parameters
    ----------
    seconds : float
        Number of seconds.

    Examples
    --------
    >>> from coview import PLSA, TimeBudget
    >>> model = PLSA(10).set_callbacks(TimeBudget(60))
    """

    seconds: float

    def __post_init__(self) -> None:
        check_value("seconds of a TimeBudget", self.seconds, number(above=0))


@dataclass(frozen=True)
class Iteration:
    """What a callback is passed after each iteration.

    `objective` is of the state *before* the iteration, which measures it on the way; `change` is relative to the one
    before; `state` is the current state.
    """

    restart: int
    n_restarts: int
    number: int
    max_iter: int
    objective: float
    change: float
    seconds: float
    state: State


@dataclass
class Options:
    """How long to go on, and who watches."""

    max_iter: int = 200
    tol: float = 1e-5
    n_init: int = 1
    momentum: bool = False
    deadline: Deadline = NO_DEADLINE
    callbacks: Iterable[Callable[[Iteration], Any]] = ()
    checkpoint: CheckpointFile | None = None


def run(steps: Steps, holder: Holder, begin: Callable[[int], tuple[Tree, int]], options: Options) -> Fit:
    """Fit from `n_init` starts and keep the best; resume from a checkpoint if there is one.

    `begin(restart)` returns the shared parameters of a start and the seed of its rows.
    """
    best: Fit | None = None
    first, current, took = 0, None, 0.0
    if options.checkpoint is not None and (stored := options.checkpoint.read(holder)) is not None:
        first, current, best = stored
    for restart in range(first, options.n_init):
        if best is not None and current is None and options.deadline.left() < NEXT * took:
            best.stopped_by = "time"  # also where the best converged: starts that were asked for are missing
            break
        if current is None:
            shared, seed = begin(restart)
            current = Fit(State(holder.start(steps, shared, seed, restart), shared))
        fit = _Run(steps, holder, options, restart, best).fit(current)
        # a stored fit is resumed once; every later start begins anew
        current, took = None, fit.history["seconds"][-1] / max(fit.n_iter, 1)
        if best is None or fit.objective > best.objective:
            best = fit
        if fit.stopped_by in ("interrupt", "time", "callback"):
            best.stopped_by = fit.stopped_by
            break
    if best is None:
        raise ValueError(f"n_init must be at least 1, got {options.n_init}.")
    # a fit that ran out of time, or was interrupted, may be resumed
    if options.checkpoint is not None and best.stopped_by not in ("interrupt", "time"):
        options.checkpoint.remove()
    return best


def sweep(steps: Steps, holder: Holder, state: State) -> float:
    """Make one sweep, in place; return the objective of the state before it."""
    state.rows, stats = holder.step(steps, state.rows, state.shared)
    state.shared = steps.shared_step(stats, state.shared, holder.ops)
    return float(stats["objective"])


@dataclass
class _Run:
    """A fit from one start, sweep by sweep."""

    steps: Steps
    holder: Holder
    options: Options
    restart: int
    best: Fit | None

    def fit(self, fit: Fit) -> Fit:
        """Iterate until a criterion is met; the last objective is measured in a pass of its own."""
        # seconds of a resumed fit go on where they ended
        clock = time.monotonic() - (fit.history["seconds"][-1] if fit.history["seconds"] else 0.0)
        momentum = Momentum(fit, self.holder) if self.options.momentum else None
        advance = partial(sweep, self.steps, self.holder)
        try:
            while fit.n_iter < self.options.max_iter:
                began = time.monotonic()
                before = advance(fit.state) if momentum is None else momentum.advance(self.steps, advance)
                fit.history["objective"].append(before)
                fit.history["seconds"].append(time.monotonic() - clock)
                fit.n_iter += 1
                if self._should_stop(fit, time.monotonic() - began, momentum):
                    break
                if self.options.checkpoint is not None:
                    self.options.checkpoint.maybe_write(self.restart, fit, self.best, self.holder)
        except KeyboardInterrupt:
            fit.stopped_by = "interrupt"
            warn_user(
                f"The fit was interrupted after {fit.n_iter} of {self.options.max_iter} iterations; the model keeps "
                "what it has learned so far.",
                InterruptedFitWarning,
                inside=True,  # a model that fits this one goes on with what it has
            )
        fit.behind = None  # a second row state, which would stay in memory as long as the fit
        # sweeps measure the state before them: that of the last one is not known yet
        if len(fit.history["objective"]) == fit.n_iter:
            last = self.holder.objective(self.steps, fit.state.rows, fit.state.shared)
            fit.history["objective"].append(last)
            fit.history["seconds"].append(time.monotonic() - clock)
        return fit

    def _should_stop(self, fit: Fit, took: float, momentum: Momentum | None) -> bool:
        """Call the callbacks and return whether to stop; `took` are the seconds of the last sweep."""
        values, seconds, options = fit.history["objective"], fit.history["seconds"][-1], self.options
        change = np.inf
        if len(values) > 1:
            change = (values[-1] - values[-2]) / max(abs(values[-1]), np.finfo(float).tiny)
        report = Iteration(
            self.restart, options.n_init, fit.n_iter, options.max_iter, values[-1], float(change), seconds, fit.state
        )
        # a list: every callback is called after every sweep, even if an earlier one asked to stop
        if any([bool(callback(report)) for callback in options.callbacks]):  # noqa: C419
            fit.stopped_by = "callback"
            return True
        if options.tol > 0 and abs(change) <= options.tol and (momentum is None or momentum.confirms()):
            fit.converged, fit.stopped_by = True, "tol"
            return True
        # an extrapolated sweep may be refused, and then a plain one follows
        if options.deadline.left() < (NEXT + (momentum is not None)) * took:
            fit.stopped_by = "time"
            return True
        return False


class Momentum:
    """Sweeps from extrapolated states; between two sweeps the fit is at the result of a plain one."""

    def __init__(self, fit: Fit, holder: Holder) -> None:
        self.fit, self.holder = fit, holder

    def advance(self, steps: Steps, sweep: Callable[[State], float]) -> float:
        """Make one sweep, from the extrapolated state where momentum is on and the objective there is no lower."""
        fit = self.fit
        # of the state before the last sweep: that of the current one would take a pass of its own over the data
        bar = fit.objective
        if fit.behind is not None and fit.pace > 0:
            ahead = self._extrapolate(steps, fit.state, fit.behind)
            value = sweep(ahead)  # if this is interrupted, the fit keeps its state
            if np.isfinite(value) and value >= bar:
                fit.behind, fit.state, fit.pace = fit.state, ahead, fit.pace + 1
                return value
        fit.behind, fit.pace = _copy(fit.state), 0
        value = sweep(fit.state)
        if value - bar < SLOW * abs(value):
            fit.pace = 1
        else:
            fit.behind = None
        return value

    def confirms(self) -> bool:
        """Return whether a small gain means convergence."""
        if self.fit.pace <= 1:
            return True
        self.fit.pace = 0  # momentum that swings back gains as little: the next sweep is plain, and decides
        return False

    def _extrapolate(self, steps: Steps, state: State, behind: State) -> State:
        share = self.fit.pace / (self.fit.pace + 3.0)
        rows = self.holder.combine(partial(_extrapolate_rows, steps, share), state.rows, behind.rows)
        return State(rows, steps.normalize_shared(_extrapolate_tree(share, state.shared, behind.shared)))


def _extrapolate_tree(share: float, now: Tree, before: Tree) -> Tree:
    def extrapolate(b: Any, a: Any) -> Any:
        ahead = b - a
        ahead *= share  # in place: an array of all rows is large
        ahead += b
        return ahead

    return tree_map(extrapolate, now, before)


def _extrapolate_rows(steps: Steps, share: float, now: Tree, before: Tree) -> Tree:
    # not a method or a closure: a cluster gets it pickled
    return steps.normalize_rows(_extrapolate_tree(share, now, before))


def _copy(state: State) -> State:
    # leaves are replaced, never written to, by the steps: a shallow copy is a snapshot
    return State(list(state.rows) if isinstance(state.rows, list) else state.rows, state.shared)


class LoopMixin(CallbackSupportMixin):
    """Mixin for the models that the loop fits: `set_callbacks`, and a run of the loop with their parameters.

    All of them have the parameters max_iter, tol, engine, n_jobs, random_state and verbose.
    """

    _callbacks: tuple[Any, ...] = ()  # scikit-learn's are kept by its own mixin
    algorithm: str = "published"  # of models without this parameter
    engine: Any
    n_jobs: int | None
    history_: dict[str, list[float]]
    n_iter_: int
    stopped_by_: str
    _fitted_state: ClassVar[Mapping[str, rules.Rule | None]] = {
        "history_": rules.history(),
        "n_iter_": rules.count(),
        "stopped_by_": rules.optional(rules.text()),
    }

    def set_callbacks(self: Self, *callbacks: Any) -> Self:
        """Set the callbacks of all fits from now on; without any, the fit has none.

        Parameters
        ----------
        *callbacks : TimeBudget, Checkpoint, functions or scikit-learn callbacks
            A function is called with an `Iteration` after each iteration, and stops the fit by returning True.

        Returns
        -------
        self : estimator
        """
        for callback in callbacks:
            known = isinstance(callback, (TimeBudget, Checkpoint, FitCallback)) or callable(callback)
            if isinstance(callback, type) or not known:
                raise TypeError(
                    "set_callbacks takes a TimeBudget, a Checkpoint, functions of an iteration and scikit-learn "
                    f"callbacks, got {callback!r}. Pass several one by one: set_callbacks(first, second)."
                )
        self._callbacks = tuple(  # type: ignore[attr-defined]
            one for one in callbacks if not isinstance(one, FitCallback)
        )
        return super().set_callbacks(*(one for one in callbacks if isinstance(one, FitCallback)))

    def __sklearn_clone__(self) -> Any:
        copy = super().__sklearn_clone__()  # type: ignore[misc]
        # a file holds the state of one fit: those of a search would take it from each other
        copy._callbacks = tuple(one for one in self._callbacks if not isinstance(one, Checkpoint))
        return copy

    def _engine(self, X: Any = None) -> Engine:
        """Return the engine of the parameters; "auto" follows the data."""
        return select_engine(self.engine, n_jobs=self.n_jobs, data=X)

    def _each_block(self, views: Views, engine: Engine, width: int, extra: Extra | None = None) -> Iterator[Block]:
        """Make blocks one after the other, for what passes over the data once."""
        size = engine.block_rows(width, floating_type(views).itemsize, len(views), row_bytes(views))
        return make_blocks(views, engine, size, extra)

    def _deadline(self) -> Deadline:
        """Return when a fit that begins now has to end."""
        return Deadline.after(min((one.seconds for one in self._of_kind(TimeBudget)), default=None))

    def _of_kind(self, kind: type) -> list[Any]:
        return [one for one in self._callbacks if isinstance(one, kind)]

    def _run_loop(
        self: Any,
        X: Any,
        views: Any,
        steps: Steps,
        holder: Holder,
        begin: Callable[[int], tuple[dict[str, Any], int]],
        carried: Extra,
        reconstruct: Callable[[State], dict[str, Any]],
        deadline: Deadline,
        *,
        n_init: int = 1,
        watchers: Iterable[Callable[[Iteration], Any]] = (),
    ) -> Fit:
        """Run the loop with this estimator's parameters, until the deadline.

        `reconstruct` returns the fitted attributes of a state; `watchers` are called after every sweep, as callbacks.
        """
        functions = [one for one in self._callbacks if not isinstance(one, (TimeBudget, Checkpoint))]
        momentum = self.algorithm == "fast"
        with ExitStack() as stack:
            called = [
                *functions,
                *watchers,
                report_iteration,
                *_list_sklearn_callbacks(self, X, reconstruct, n_init, stack),
            ]
            checkpoint = self._checkpoint_file(views, holder, carried)
            options = Options(self.max_iter, float(self.tol), n_init, momentum, deadline, called, checkpoint)
            return run(steps, holder, begin, options)

    def _checkpoint_file(self: Any, views: Any, holder: Holder, extra: Extra) -> CheckpointFile | None:
        for checkpoint in self._of_kind(Checkpoint):
            settings = {
                name: value for name, value in self.get_params(deep=False).items() if name not in _NOT_IN_FINGERPRINT
            }
            if not isinstance(settings.get("random_state"), numbers.Integral):
                raise ValueError(
                    "A Checkpoint requires an integer random_state, because a resumed fit must be reproducible."
                )
            # arrays by their content, since another start or other labels make another fit
            carried = [np.asarray(extra[name]) for name in sorted(extra) if not callable(extra[name])]
            if isinstance(settings.get("init"), Mapping):
                carried += [np.asarray(array) for array in tree_leaves(dict(settings["init"]))]
                settings["init"] = sorted(settings["init"])
            settings["blocks"] = holder.stops  # row states are kept block by block
            settings["class"] = type(self).__name__
            return CheckpointFile(checkpoint, fingerprint(views, settings, carried))
        return None


def models_inside(estimator: Any) -> list[LoopMixin]:
    """Return the models that the loop fits: an estimator itself, steps of a pipeline, those inside others.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from coview import PLSA, UnitRows
    >>> models_inside(make_pipeline(UnitRows(), PLSA(3)))
    [PLSA(n_components=3)]
    """
    return [one for one in (estimator, *estimator.get_params().values()) if isinstance(one, LoopMixin)]


def _list_sklearn_callbacks(
    estimator: Any, X: Any, reconstruct: Callable[[State], dict[str, Any]], n_init: int, stack: ExitStack
) -> list[Callable[[Iteration], bool]]:
    """Return a function that passes every sweep on to scikit-learn's callbacks, if there are any.

    They are those of `set_callbacks`, and those of a search or pipeline around the estimator.
    """
    # private attributes: scikit-learn has no public way to ask. `with_callbacks` around `fit` tears them down
    if not ("_skl_callbacks" in vars(estimator) or "_parent_callback_ctx" in vars(estimator)):
        return []
    context = estimator._init_callback_context(max_subtasks=estimator.max_iter * n_init)
    context.call_on_fit_task_begin(estimator=estimator, X=X)
    stack.callback(lambda: context.call_on_fit_task_end(estimator=estimator, X=X))

    def watch(iteration: Iteration) -> bool:
        task = context.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=estimator, X=X)
        return bool(
            task.call_on_fit_task_end(
                estimator=estimator, X=X, reconstruction_attributes=lambda: reconstruct(iteration.state)
            )
        )

    return [watch]


def report_iteration(iteration: Iteration) -> None:
    """Show the progress of a fit: the restart if there are several, the iteration, the objective and its change."""
    restart = f"restart {iteration.restart + 1}/{iteration.n_restarts}, " if iteration.n_restarts > 1 else ""
    figures = f"objective {iteration.objective:.6g}, change {iteration.change:.1e}"
    tell(f"{restart}iteration {iteration.number}/{iteration.max_iter}, {figures}", iteration.number, iteration.max_iter)


def fold_in(
    step: Callable[[Block, Tree, int], tuple[Tree, np.ndarray]],
    block: Block,
    rows: Tree,
    ops: Engine,
    *,
    max_iter: int,
    tol: float,
) -> Tree:
    """Fit the row state of new objects with the shared parameters fixed; each row stops by itself.

    `step(block, rows, number of steps so far)` returns the next state of some rows, and how far each of them was from
    rest. A row rests once that is at most `tol`, so that the result of an object does not depend on the others.
    """
    result = {name: ops.to_numpy(array).copy() for name, array in rows.items()}
    active, going = np.arange(len(block)), np.ones(len(block), dtype=bool)
    part = block
    for taken in range(max_iter):
        new, unrest = step(part, rows, taken)
        whole = going.all()
        for name, known in result.items():
            fresh = ops.to_numpy(new[name])
            known[active if whole else active[going]] = fresh if whole else fresh[going]
        going &= unrest > tol
        rows = new
        if not going.any():
            break
        if going.sum() > _CROWDED * len(going):
            continue  # a few rows at rest are carried along: that costs less than copying the others
        keep = np.flatnonzero(going)
        active, going = active[keep], going[keep]
        part = part.take(keep, ops)
        rows = {name: ops.asarray(ops.to_numpy(array)[keep]) for name, array in new.items()}
    return result


def largest_in_time(
    make: Callable[[np.ndarray], T], n_rows: int, first: int, seed: int, deadline: Deadline
) -> tuple[T, np.ndarray]:
    """Return the result of `make` for all rows, or for the largest sample that there is time for, and these rows.

    Samples grow from `first` rows by a factor of four, as long as the next one is expected to be ready in time. The
    result of all rows does not depend on the samples: a distant deadline changes nothing.
    """
    order = np.random.default_rng(seed).permutation(n_rows)
    size = n_rows if deadline == NO_DEADLINE else min(first, n_rows)
    power, before = 1.0, (0, 0.0)  # rows and seconds of the last sample
    while True:
        rows = np.sort(order[:size])
        began = time.monotonic()
        result = make(rows)
        took, larger = time.monotonic() - began, min(GROWTH * size, n_rows)
        if before[1] > 0 and took > 0:
            # the time grows with a power of the rows, between linear and quadratic, that the last two samples show
            power = float(np.clip(np.log(took / before[1]) / np.log(size / before[0]), 1.0, 2.0))
        if size == n_rows or deadline.left() < took * (larger / size) ** power:
            return result, rows
        before, size = (size, took), larger

"""Callbacks of a fit: time budgets, checkpoints, functions that are told of every sweep, and scikit-learn's own.

scikit-learn has callbacks from 1.9 on; before, `CallbackSupportMixin` and `with_callbacks` do nothing, and nothing is a
`FitCallback`. No other module imports `sklearn.callback`.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from coview.engines.checkpoint import Checkpoint, CheckpointFile, fingerprint
from coview.engines.deadline import Deadline
from coview.engines.loop import Options, run
from coview.engines.protocol import Block, Engine, Extra, Holder, Steps, floating_type, make_blocks, row_bytes
from coview.engines.select import select_engine
from coview.engines.state import Fit, State, Sweep, tree_leaves
from coview.utils import fitted_state as rules
from coview.utils.parameters import check_value, number
from coview.utils.progress import tell
from coview.views.views import Views

Self = TypeVar("Self")

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


__all__ = ["LoopMixin", "TimeBudget", "models_inside", "with_callbacks"]

# parameters that say when a fit ends or who computes it, but not where it goes
_NOT_OF_THE_COURSE = ("max_iter", "tol", "verbose", "n_jobs", "engine")


@dataclass(frozen=True)
class TimeBudget:
    """Time that a fit may take, for `set_callbacks`.

    It counts everything that `fit` does: checks of the data, the start (at most 40 % of the budget, with fewer
    candidates or a sample of the objects if need be), restarts and sweeps. There is always one sweep. Kernels that are
    compiled on first use count as well. With a `Checkpoint` the start takes the time that it needs.

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


class LoopMixin(CallbackSupportMixin):
    """Mixin of the models that the loop fits: `set_callbacks`, and a run of the loop with their parameters.

    Parameters that all of them take: max_iter, tol, engine, n_jobs, random_state, verbose.
    """

    _callbacks: tuple[Any, ...] = ()  # but those of scikit-learn, which keeps them itself
    algorithm: str = "published"  # where it is no parameter
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
            A function is called with a `Sweep` after each sweep, and stops the fit by returning True.

        Returns
        -------
        self : estimator
        """
        for callback in callbacks:
            known = isinstance(callback, (TimeBudget, Checkpoint, FitCallback)) or callable(callback)
            if isinstance(callback, type) or not known:
                raise TypeError(
                    "set_callbacks takes a TimeBudget, a Checkpoint, functions of a sweep and scikit-learn callbacks, "
                    f"got {callback!r}. Pass several one by one: set_callbacks(first, second)."
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
        """Return the engine that was asked for; "auto" follows the data."""
        return select_engine(self.engine, n_jobs=self.n_jobs, data=X)

    def _each_block(self, views: Views, engine: Engine, width: int, extra: Extra | None = None) -> Iterator[Block]:
        """Blocks one after the other, for what passes over the data once."""
        size = engine.block_rows(width, floating_type(views).itemsize, len(views), row_bytes(views))
        return make_blocks(views, engine, size, extra)

    def _deadline(self) -> Deadline:
        """When a fit that begins now has to end."""
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
        watchers: Iterable[Callable[[Sweep], Any]] = (),
    ) -> Fit:
        """Drive the steps with this estimator's parameters, until the deadline.

        `reconstruct` gives the fitted attributes of a state; `watchers` are told of every sweep, as callbacks are.
        """
        functions = [one for one in self._callbacks if not isinstance(one, (TimeBudget, Checkpoint))]
        momentum = self.algorithm == "fast"
        with ExitStack() as stack:
            told = [*functions, *watchers, tell_sweep, *_sklearn_watchers(self, X, reconstruct, n_init, stack)]
            checkpoint = self._checkpoint_file(views, holder, carried)
            options = Options(self.max_iter, float(self.tol), n_init, momentum, deadline, told, checkpoint)
            return run(steps, holder, begin, options)

    def _checkpoint_file(self: Any, views: Any, holder: Holder, extra: Extra) -> CheckpointFile | None:
        for checkpoint in self._of_kind(Checkpoint):
            settings = {
                name: value for name, value in self.get_params(deep=False).items() if name not in _NOT_OF_THE_COURSE
            }
            if not isinstance(settings.get("random_state"), numbers.Integral):
                raise ValueError(
                    "A Checkpoint requires an integer random_state, because a resumed fit must be reproducible."
                )
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


def _sklearn_watchers(
    estimator: Any, X: Any, reconstruct: Callable[[State], dict[str, Any]], n_init: int, stack: ExitStack
) -> list[Callable[[Sweep], bool]]:
    """Return a function that tells scikit-learn's callbacks of every sweep, where there are any.

    They are those of `set_callbacks`, and those of a search or pipeline around the estimator, which scikit-learn keeps
    in private attributes. Torn down by `with_callbacks` around fit.
    """
    if not ("_skl_callbacks" in vars(estimator) or "_parent_callback_ctx" in vars(estimator)):
        return []
    context = estimator._init_callback_context(max_subtasks=estimator.max_iter * n_init)
    context.call_on_fit_task_begin(estimator=estimator, X=X)
    stack.callback(lambda: context.call_on_fit_task_end(estimator=estimator, X=X))

    def watch(sweep: Sweep) -> bool:
        task = context.subcontext(task_name="sweep")
        task.call_on_fit_task_begin(estimator=estimator, X=X)
        return bool(
            task.call_on_fit_task_end(
                estimator=estimator, X=X, reconstruction_attributes=lambda: reconstruct(sweep.state)
            )
        )

    return [watch]


def tell_sweep(sweep: Sweep) -> None:
    """Say where a fit stands; a restart where there are several, the sweep, the objective and its last change."""
    restart = f"restart {sweep.restart + 1}/{sweep.n_restarts}, " if sweep.n_restarts > 1 else ""
    figures = f"objective {sweep.objective:.6g}, change {sweep.change:.1e}"
    tell(f"{restart}sweep {sweep.number}/{sweep.max_iter}, {figures}", sweep.number, sweep.max_iter)

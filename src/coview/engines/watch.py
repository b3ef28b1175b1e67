"""Watching a fit: functions that are told of every sweep, scikit-learn's callbacks, and a line of progress.

scikit-learn has callbacks from 1.9 on; before, `CallbackSupportMixin` and `with_callbacks` do nothing, and nothing is a
`FitCallback`. No other module imports `sklearn.callback`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from coview.engines.state import State, Sweep
from coview.utils.progress import tell

if TYPE_CHECKING:

    class CallbackSupportMixin: ...

    class FitCallback: ...

    def with_callbacks(method: Any) -> Any: ...

else:
    try:
        from sklearn.callback import CallbackSupportMixin, FitCallback, with_callbacks
    except ImportError:

        class CallbackSupportMixin:
            """Stands for scikit-learn's mixin of this name where it has none."""

        class FitCallback:
            """Stands for scikit-learn's protocol of this name where it has none."""

        def with_callbacks(method):
            """Return the method as it is."""
            return method


__all__ = ["CallbackSupportMixin", "check_watchers", "sklearn_watcher", "tell_sweep", "with_callbacks"]

Watcher = Callable[[Sweep], Any]


def check_watchers(callbacks: Iterable[Any] | None) -> tuple[list[Watcher], list[Any]]:
    """Return the functions of a sweep among callbacks, and scikit-learn's callbacks."""
    watchers = list(callbacks or ())
    for watch in watchers:
        if not isinstance(watch, FitCallback) and not callable(watch):
            raise TypeError(f"callbacks must be callables or scikit-learn callbacks, got {watch!r}.")
    theirs = [watch for watch in watchers if isinstance(watch, FitCallback)]
    return [watch for watch in watchers if not isinstance(watch, FitCallback)], theirs


def sklearn_watcher(
    estimator: Any, X: Any, added: list[Any], reconstruct: Callable[[State], dict[str, Any]], stack: ExitStack
) -> Watcher | None:
    """Return a function that tells scikit-learn's callbacks of every sweep, or None where there are none.

    They are those that were added, those of `set_callbacks`, and those of a search or pipeline around the estimator,
    which scikit-learn keeps in private attributes. Torn down by `with_callbacks` around fit.
    """
    state = vars(estimator)
    if not (added or state.get("_skl_callbacks") or "_parent_callback_ctx" in state):
        return None
    if added:
        kept = list(state.get("_skl_callbacks", []))
        estimator.set_callbacks(*kept, *added)
        stack.callback(lambda: estimator.set_callbacks(*kept))
    context = estimator._init_callback_context(max_subtasks=estimator.max_iter * estimator.n_init)
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

    return watch


def tell_sweep(sweep: Sweep) -> None:
    """Say where a fit stands; a restart where there are several, the sweep, the objective and its last change."""
    restart = f"restart {sweep.restart + 1}/{sweep.n_restarts}, " if sweep.n_restarts > 1 else ""
    figures = f"objective {sweep.objective:.6g}, change {sweep.change:.1e}"
    tell(f"{restart}sweep {sweep.number}/{sweep.max_iter}, {figures}", sweep.number, sweep.max_iter)

"""What stands around every fit: parameters are checked, progress is shown, a failed fit leaves the model as it was.

A model may fit others inside of its own fit: `is_own_work` tells the fit that a user asked for from those, which warn
of nothing and keep nothing that only a user would ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from inspect import isfunction
from typing import Any

from coview.utils.parameters import SHARED, Constraints, check_parameters
from coview.utils.progress import progress
from coview.utils.warn import SILENT, unwarned

__all__ = ["WholeFitMixin", "find_own_method", "is_at_work", "is_own_work", "same_work", "working"]

_BATCHES = ("partial_fit", "predict_then_learn")  # a moment's work each: no line of progress for them
_FITS = ("fit", *_BATCHES, "fit_transform")

_worker: ContextVar[Any] = ContextVar("coview_worker", default=None)  # the estimator whose fit a user called


class WholeFitMixin:
    """Makes the methods that fit check the parameters first, and give back every fitted attribute where they fail.

    What a parameter may be is in `_parameters` of its class, or of one that it inherits from. A first fit that fails
    leaves an estimator that is not fitted, and a later one leaves the model of the fit before.
    While they run their progress is shown, as `coview.utils.progress` has it and the parameter `verbose` asks for.

    Examples
    --------
    >>> class Mean(WholeFitMixin):
    ...     def fit(self, X, y=None):
    ...         self.n_ = len(X)
    ...         self.mean_ = sum(X) / self.n_
    ...         return self
    >>> model = Mean().fit([1, 3])
    >>> try:
    ...     model.fit([])
    ... except ZeroDivisionError:
    ...     model.n_, model.mean_
    (2, 2.0)
    """

    _parameters: Mapping[str, Constraints] = SHARED

    def _check_order(self, X: Any, y: Any) -> None:
        """Refuse labels that are known to be in another order than the rows of X."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in _FITS:
            method = find_own_method(cls, name)
            if isfunction(method):
                setattr(cls, name, _whole(method))


def find_own_method(cls: type, name: str) -> Any:
    """Return a method that a class defines itself or takes from a mixin of coview, which is not wrapped yet; or None.

    Examples
    --------
    >>> find_own_method(WholeFitMixin, "fit") is None
    True
    """
    owner = next((base for base in cls.__mro__ if name in vars(base)), object)
    mixed_in = owner.__module__.startswith("coview.") and not issubclass(owner, WholeFitMixin)
    return vars(owner)[name] if owner is cls or mixed_in else None


def _whole(fit: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(fit)
    def fit_or_restore(self: Any, *args: Any, **options: Any) -> Any:
        before = dict(vars(self))  # shallow: a fit puts new values in place of the old ones, and a model may be large
        self._check_order(options.get("X", args[0] if args else None), options.get("y", args[1] if args[1:] else None))
        if fit.__name__ != "predict_then_learn" or not any(name.endswith("_") for name in reversed(before)):
            check_parameters(self)  # row by row, a stream checks them once; what was fitted comes last
        try:
            if fit.__name__ in _BATCHES:
                return fit(self, *args, **options)
            with working(self), progress(type(self).__name__, before.get("verbose"), owner=self):
                return fit(self, *args, **options)
        except BaseException:
            now = vars(self)
            for name in now.keys() - before.keys():
                del now[name]
            # what scikit-learn's callbacks keep in private attributes during a fit is gone for good
            now.update({name: value for name, value in before.items() if name in now or "callback" not in name})
            raise

    return fit_or_restore


@contextmanager
def working(owner: Any) -> Iterator[None]:
    """Let the work of others inside be silent; a method that calls another one of the same object is one work."""
    if _worker.get() is owner:
        yield
    elif _worker.get() is not None:
        with unwarned():
            yield
    else:
        with same_work(owner):
            yield


@contextmanager
def same_work(part: Any) -> Iterator[None]:
    """Let a part that gets the user's own data speak inside the work of its owner, as if it were called alone.

    Examples
    --------
    >>> import warnings
    >>> from coview.utils.warn import warn_user
    >>> with warnings.catch_warnings(record=True) as caught, working("owner"):
    ...     with working("part"):
    ...         warn_user("Not heard.", UserWarning)
    ...     with same_work("part"), working("part"):
    ...         warn_user("Heard.", UserWarning)
    >>> [str(each.message) for each in caught]
    ['Heard.']
    """
    token = _worker.set(part)
    try:
        yield
    finally:
        _worker.reset(token)


def is_at_work() -> bool:
    """Tell whether this is inside of other work."""
    return SILENT.get() or _worker.get() is not None


def is_own_work(owner: Any) -> bool:
    """Tell whether this is the work that a user asked `owner` for, and no part of another one's.

    Examples
    --------
    >>> with working("owner"):
    ...     is_own_work("owner"), is_own_work("part")
    (True, False)
    """
    return not SILENT.get() and (_worker.get() is None or _worker.get() is owner)

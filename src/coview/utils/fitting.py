"""Fits that check their parameters, succeed whole or change nothing, and show where they stand.

An estimator whose fit fails is what it was before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import isfunction
from typing import Any

from coview.utils.parameters import SHARED, Constraints, check_parameters
from coview.utils.progress import progress
from coview.utils.warn import working

__all__ = ["WholeFitMixin", "own_method"]

_BATCHES = ("partial_fit", "predict_then_learn")  # a moment's work each
_FITS = ("fit", *_BATCHES, "fit_transform")


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
            method = own_method(cls, name)
            if isfunction(method):
                setattr(cls, name, _whole(method))


def own_method(cls: type, name: str) -> Any:
    """Return a method that a class defines itself or takes from a mixin of coview, which is not wrapped yet; or None.

    Examples
    --------
    >>> own_method(WholeFitMixin, "fit") is None
    True
    """
    owner = next((base for base in cls.__mro__ if name in vars(base)), object)
    mixed_in = owner.__module__.startswith("coview.") and not issubclass(owner, WholeFitMixin)
    return vars(owner)[name] if owner is cls or mixed_in else None


def _whole(fit: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(fit)
    def fit_or_restore(self: Any, *args: Any, **options: Any) -> Any:
        before = dict(vars(self))
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

"""What a parameter may be, in scikit-learn's constraints and in its words for the error.

A class lists the constraints of its parameters, those that it does not inherit, and every fit begins with
`check_parameters`:

    _parameters = {"n_clusters": integer(), "init": one_of("random", "nndsvd") | MAPPING, "tol": number()}

What depends on the data, such as the names of the views in a dict, is checked where they are known. This is the only
module that imports `sklearn.utils._param_validation`, which is private there, and the same from 1.6 to 1.9.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    Options,
    RealNotInt,
    StrOptions,
    make_constraint,
    validate_parameter_constraints,
)

from coview.exceptions import ParameterError

__all__ = [
    "ANYTHING",
    "ARRAY",
    "COLUMNS",
    "ESTIMATOR",
    "FUNCTION",
    "MAPPING",
    "NONE",
    "SECONDS",
    "SHARED",
    "TEXT",
    "TEXTS",
    "TRANSFORMER",
    "TRUTH",
    "Constraints",
    "check_parameters",
    "check_value",
    "frequency",
    "instance",
    "integer",
    "number",
    "object_with",
    "one_of",
    "one_or_by_view",
]


class Constraints(list[Any]):
    """Constraints of scikit-learn, one of which a value must satisfy; they are joined by ``|``."""

    def __or__(self, other: Iterable[Any]) -> Constraints:
        return Constraints([*self, *other])


class _DictByView(Options):
    """A dict whose values satisfy some constraints each; scikit-learn takes no classes of constraints but its own."""

    def __init__(self, constraints: Constraints) -> None:
        super().__init__(dict, set())
        self.constraints = [make_constraint(constraint) for constraint in constraints]

    def is_satisfied_by(self, val: Any) -> bool:
        return isinstance(val, Mapping) and all(
            any(constraint.is_satisfied_by(one) for constraint in self.constraints) for one in val.values()
        )

    def __str__(self) -> str:
        return "a dict of such values by view"


def integer(least: int = 1, most: int = 2**31 - 1) -> Constraints:
    """Return the integers from one up to another; by default those of 32 bits, which compiled code can hold."""
    return Constraints([Interval(Integral, least, most, closed="both")])


def number(
    *,
    least: float | None = 0.0,
    above: float | None = None,
    below: float | None = None,
    most: float | None = None,
) -> Constraints:
    """Return the finite numbers of at least `least` or above `above`, and below `below` or up to `most`."""
    # open where there is no lower end, so that minus infinity is left out
    open_left = above is not None or least is None
    sides = {(False, False): "left", (False, True): "both", (True, False): "neither", (True, True): "right"}
    left = least if above is None else above
    right = below if most is None else most
    return Constraints([Interval(Real, left, right, closed=sides[open_left, most is not None])])


def one_of(*options: str | None) -> Constraints:
    """Return a few texts, and None where it is among them."""
    texts = dict.fromkeys(option for option in options if option is not None)  # a set has no order to read them in
    return Constraints([StrOptions(texts.keys()), *([None] if None in options else [])])


def instance(*classes: type[Any]) -> Constraints:
    """Return the objects of some classes."""
    return Constraints(classes)


def frequency() -> Constraints:
    """Return numbers of objects from 1 on, and shares of them."""
    return Constraints([Interval(RealNotInt, 0, 1, closed="both"), *integer()])


def object_with(*methods: str) -> Constraints:
    """Return the objects that have some methods."""
    return Constraints([HasMethods(list(methods))])


def one_or_by_view(constraints: Constraints) -> Constraints:
    """Return one value for all views, or a dict of values by view."""
    return constraints | [_DictByView(constraints)]


ANYTHING: Any = "no_validation"
NONE = Constraints([None])
TRUTH = Constraints(["boolean"])
TEXT = instance(str)
TEXTS = instance(list, tuple)
MAPPING = instance(Mapping)
FUNCTION = Constraints([callable])
ARRAY = Constraints(["array-like"])
ESTIMATOR = object_with("fit")
TRANSFORMER = object_with("fit", "transform")
PATH = TEXT | instance(os.PathLike)
COLUMNS = TEXT | TEXTS | MAPPING | NONE
SECONDS = number(above=0) | NONE

SHARED: dict[str, Constraints] = {  # what these words mean in every estimator that has them, unless it says otherwise
    "algorithm": one_of("fast", "published"),
    "engine": ANYTHING,  # whoever selects one says which there are
    "learning_decay": number(most=1),
    "max_iter": integer(),
    "n_clusters": integer(),
    "n_components": integer(),
    "n_init": integer(most=10_000),  # each is a whole fit
    # -1 means all cores, as in joblib; 0 means nothing
    "n_jobs": Constraints([Interval(Integral, None, -1, closed="right")]) | integer() | NONE,
    "random_state": Constraints(["random_state", np.random.Generator]),
    "time_budget": SECONDS,
    "tol": number(),
    "verbose": Constraints(["verbose", None]),
    "view_weights": one_or_by_view(number()) | NONE,
    "views": TEXT | TEXTS | NONE,
}


@cache
def _constraints_of(cls: Any) -> dict[str, Constraints]:
    """Return the constraints of the parameters of a class, with those that it inherits."""
    known: dict[str, Constraints] = {}
    # from the farthest base on, so that a class overrides what it inherits
    for base in reversed(cls.__mro__):
        known.update(vars(base).get("_parameters", {}))
    return known


def check_parameters(estimator: Any) -> None:
    """Refuse the first parameter of an estimator whose value satisfies no constraint that its class lists."""
    _validate(_constraints_of(estimator.__class__), vars(estimator), type(estimator).__name__)


def check_value(name: str, value: Any, constraints: Constraints) -> Any:
    """Return an argument of a function, or say what it must be.

    Examples
    --------
    >>> check_value("n", 0, integer())
    Traceback (most recent call last):
    ...
    coview.exceptions.ParameterError: n must be an int in the range [1, 2147483647]. Got 0 instead.
    """
    # without an owner: scikit-learn would speak of "the parameter of" a class that there is not
    _validate({name: constraints}, {name: value}, "")
    return value


def _validate(constraints: Mapping[str, Any], values: Mapping[str, Any], owner: str) -> None:
    try:
        validate_parameter_constraints(constraints, values, owner)
    except InvalidParameterError as error:
        # scikit-learn's sentence, with the parameter's name apart: the command line has another one for it
        start, _, rest = str(error).partition(" must be ")
        name = start.removeprefix("The '").partition("' parameter of ")[0]
        raise ParameterError(f"must be {rest}", parameter=name, owner=owner) from None

"""What a parameter may be: kinds of values, each with its words, and the one sentence that refuses all others.

A class lists the kinds of its parameters, those that it does not inherit, and every fit begins with `check_parameters`:

    _parameters = {"n_clusters": integer(), "init": one_of("random", "nndsvd") | MAPPING, "tol": number()}

What depends on the data, such as the names of the views in a dict, is checked where they are known.
"""

from __future__ import annotations

import math
import numbers
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from coview.exceptions import ParameterError
from coview.utils.messages import short

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
    "Kind",
    "by_view",
    "check_parameters",
    "frequency",
    "instance",
    "integer",
    "list_of",
    "number",
    "object_with",
    "one_of",
]

LARGEST = sys.float_info.max
MOST = 2**31 - 1  # of any integer: no loop and no array is longer


@dataclass(frozen=True)
class Kind:
    """Values that a parameter may have, and how a sentence calls them; kinds are joined by ``|``.

    Examples
    --------
    >>> (integer() | NONE).check("n_neighbors", 3)
    3
    >>> (integer() | one_of("auto") | NONE).check("n_neighbors", "few")
    Traceback (most recent call last):
    ...
    coview.exceptions.ParameterError: n_neighbors must be an integer of at least 1, 'auto' or None, got 'few'.
    """

    words: tuple[str, ...]
    accepts: Callable[[Any], bool]

    def __or__(self, other: Kind) -> Kind:
        return Kind((*self.words, *other.words), lambda value: self.accepts(value) or other.accepts(value))

    def check(self, name: str, value: Any) -> Any:
        """Return the value of a parameter, or say what it must be."""
        if self.accepts(value):
            return value
        words = list(self.words)
        if isinstance(value, float) and math.isinf(value):
            words = [re.sub("^a (positive )?number", r"a finite \1number", word) for word in words]
        start = "one of " if len(words) > 1 and all(word[0] in "'N" for word in words) else ""
        allowed = ", ".join(words) if start else " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
        raise ParameterError(f"must be {start}{allowed}, got {short(value)}.", parameter=name)


def integer(least: int = 1, most: float = math.inf) -> Kind:
    """Return the integers from one on, or up to another; True and False are none."""
    span = f"of at least {least}" if most == math.inf else f"from {least} to {most}"
    limit = min(most, MOST)
    return Kind((f"an integer {span}",), lambda value: _is_integer(value) and least <= value <= limit)


def number(*, least: float = 0.0, above: float = -LARGEST, below: float = math.inf, most: float = LARGEST) -> Kind:
    """Return the finite numbers of at least `least` or above `above`, and below `below` or up to `most`."""
    if above > -LARGEST:
        least = above
        span = "positive number" if above == 0 and most == LARGEST and below == math.inf else f"number above {above:g}"
        span += f" and at most {most:g}" if most < LARGEST else ""
    elif least == -LARGEST:
        span = "number"
    else:
        span = f"number from {least:g} to {most:g}" if most < LARGEST else f"number of at least {least:g}"
    span += f" and below {below:g}" if below < math.inf else ""

    def accepts(value: Any) -> bool:
        if isinstance(value, np.floating):  # in single precision the limits would be infinite
            value = float(value)
        return _is_number(value) and least <= value <= most and above < value < below

    return Kind((f"a {span}",), accepts)


def one_of(*options: Any) -> Kind:
    """Return a few values, mostly texts, by equality."""

    def accepts(value: Any) -> bool:
        return any(value is option or (isinstance(value, str) and value == option) for option in options)

    return Kind(tuple(map(repr, options)), accepts)


def instance(words: str, *classes: type[Any]) -> Kind:
    """Return the objects of some classes."""
    return Kind((words,), lambda value: isinstance(value, classes))


def list_of(words: str, kind: Kind) -> Kind:
    """Return the lists and tuples of values of a kind."""
    return Kind(
        (f"a list of {words}",), lambda value: isinstance(value, (list, tuple)) and all(map(kind.accepts, value))
    )


def frequency(of: str, least: int = 1) -> Kind:
    """Return numbers of objects and shares of them."""

    def accepts(value: Any) -> bool:
        return value >= least if _is_integer(value) else _is_number(value) and 0 <= value <= 1

    return Kind((f"a number of {of}", "a share of them from 0.0 to 1.0"), accepts)


def object_with(words: str, *methods: str) -> Kind:
    """Return the objects, not classes, that have some methods."""
    return Kind(
        (words,), lambda value: not isinstance(value, type) and all(hasattr(value, method) for method in methods)
    )


def by_view(kind: Kind) -> Kind:
    """Return one value for all views, or a dict of values by view."""

    def accepts(value: Any) -> bool:
        return kind.accepts(value) or (isinstance(value, Mapping) and all(map(kind.accepts, value.values())))

    return Kind((*kind.words, "a dict of such values by view"), accepts)


def _is_integer(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_seed(value: Any) -> bool:
    if _is_integer(value):
        return 0 <= value < 2**32
    return value is np.random or isinstance(value, (np.random.RandomState, np.random.Generator))


ANYTHING = Kind(("anything",), lambda value: True)
NONE = Kind(("None",), lambda value: value is None)
TRUTH = Kind(("True", "False"), lambda value: isinstance(value, (bool, np.bool_)))
TEXT = Kind(("a non-empty text",), lambda value: isinstance(value, str) and bool(value))
TEXTS = list_of("texts", instance("a text", str))
MAPPING = Kind(("a dict",), lambda value: isinstance(value, Mapping))
FUNCTION = Kind(("a function",), callable)
ARRAY = instance("an array", np.ndarray, list, tuple)
ESTIMATOR = object_with("an estimator", "fit")
TRANSFORMER = object_with("a transformer", "fit", "transform")
PATH = TEXT | instance("a Path", os.PathLike)
SEED = Kind((f"an integer from 0 to {2**32 - 1}", "a RandomState", "a Generator"), _is_seed) | NONE

COLUMNS = Kind(
    ("a column", "a list of columns", "a dict of columns by view", "None"),
    lambda value: value is None or isinstance(value, (str, list, tuple, Mapping)),
)
N_JOBS = Kind(("an integer other than 0",), lambda value: _is_integer(value) and value != 0) | NONE
SECONDS = Kind(("a positive number of seconds",), lambda value: _is_number(value) and value > 0) | NONE

SHARED: dict[str, Kind] = {  # what these words mean in every estimator that has them, unless it says otherwise
    "acceleration": one_of(None, "momentum"),
    "callbacks": instance("a list of functions", list, tuple) | NONE,
    "checkpoint": PATH | object_with("a Checkpoint", "path", "every") | NONE,
    "engine": ANYTHING,  # whoever selects one says which there are
    "learning_decay": number(most=1),
    "learning_offset": number(least=1),
    "max_iter": integer(),
    "n_clusters": integer(),
    "n_components": integer(),
    "n_init": integer(most=10_000),  # each is a whole fit
    "n_jobs": N_JOBS,
    "random_state": SEED,
    "schedule": one_of("alternating", "joint"),
    "time_budget": SECONDS,
    "tol": number(),
    "verbose": integer(0) | TRUTH | NONE,
    "view_weights": by_view(number()) | NONE,
    "views": TEXT | TEXTS | NONE,
}


@cache
def _kinds_of(cls: Any) -> dict[str, Kind]:
    """Kinds of the parameters of a class, its own before those that it inherits."""
    known: dict[str, Kind] = {}
    for base in reversed(cls.__mro__):
        known.update(vars(base).get("_parameters", {}))
    return known


def check_parameters(estimator: Any) -> None:
    """Refuse the first parameter of an estimator whose value is of no kind that its class lists."""
    values = vars(estimator)
    for name, kind in _kinds_of(estimator.__class__).items():
        if name in values and not kind.accepts(values[name]):
            kind.check(name, values[name])

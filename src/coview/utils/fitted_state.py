"""What fitted attributes look like, said once beside each class, and checked where they come from a file.

A class says it in ``_fitted_state``, one rule for each attribute; it has the rules of its bases too. Sizes are words,
and the same word means the same number everywhere in a model:

    _fitted_state = {
        "topic_feature_": by_view(shares("topics", "features of {view}")),
        "memberships_": shares("objects", "topics"),
        "n_iter_": count(),
    }

``{view}`` is the key of the mapping that the rule stands in. The rules hold what compiled code trusts: types, shapes,
indices below the size that they point into, finite numbers. Whether the numbers are any good they do not say.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np
from scipy import sparse as sp

from coview.utils.messages import short

__all__ = [
    "FITTED_VIEWS",
    "Checker",
    "Rule",
    "StateMismatch",
    "anything",
    "booleans",
    "by_view",
    "check_state",
    "choice",
    "count",
    "custom",
    "estimator",
    "find_attribute",
    "fitted_state",
    "flag",
    "floats",
    "history",
    "integers",
    "labels",
    "mapping",
    "optional",
    "or_none",
    "real",
    "record",
    "sequence",
    "shares",
    "strings",
    "text",
    "values",
    "view_names",
    "vocabulary",
    "weight",
]

Visit = Callable[["Checker", Any, str], None]
Needed = Callable[[Mapping[str, Any]], Any] | None


class StateMismatch(ValueError):
    """Fitted attributes that contradict each other or what their class says of them."""


@dataclass(frozen=True)
class Rule:
    """What one attribute, or one part of it, must look like.

    Attributes
    ----------
    visit : callable
        Called with (checker, value, where); raises StateMismatch by `Checker.refuse`.
    required : bool, default=True
        Whether a fitted model always has the attribute.
    needed : callable, optional
        Tells by all attributes and parameters whether this model must have it.
    """

    visit: Visit
    required: bool = True
    needed: Needed = None


@dataclass
class Checker:
    """One model under check: the sizes and keys met so far, and what is looked at when all of them are known."""

    sizes: dict[str, tuple[int, str]] = field(default_factory=dict)
    keys: dict[str, tuple[list[Any], str]] = field(default_factory=dict)
    later: list[Callable[[], None]] = field(default_factory=list)
    view: Any = None  # key of the innermost mapping
    state: Mapping[str, Any] = field(default_factory=dict)  # all attributes and parameters of the model

    def refuse(self, where: str, problem: str) -> None:
        """Raise the error."""
        raise StateMismatch(f"{where} {problem}")

    def size(self, word: str | int | None, number: int, where: str) -> None:
        """Compare a size with the others of the same name; a word that is new is learned."""
        if isinstance(word, int) and word != number:
            self.refuse(where, f"has {number} entries, but must have {word}")
        if isinstance(word, str):
            word = word.format(view=repr(self.view))
            # the first attribute that has a size settles it; which of two is wrong nobody can know
            known, there = self.sizes.setdefault(word, (number, where))
            if known != number:
                self.refuse(where, f"has {number} {word}, but {there} has {known}")

    def known(self, word: str) -> int | None:
        """Return a size that was met."""
        return self.sizes.get(word.format(view=repr(self.view)), (None, ""))[0]

    def check(self, rule: Rule, value: Any, where: str) -> None:
        """Compare a value with a rule."""
        rule.visit(self, value, where)


def fitted_state(cls: type) -> dict[str, Rule]:
    """Return the rules of a class and its bases by attribute; the nearer class has the last word, None takes one out.

    Examples
    --------
    >>> class Mean:
    ...     _fitted_state = {"mean_": floats("features"), "n_": count(1)}
    >>> class Median(Mean):
    ...     _fitted_state = {"n_": None}
    >>> list(fitted_state(Median))
    ['mean_']
    """
    rules: dict[str, Rule | None] = {}
    # from the farthest base on, so that a class overrides what it inherits
    for base in reversed(cls.__mro__):
        rules.update(vars(base).get("_fitted_state", {}))
    return {name: rule for name, rule in rules.items() if rule is not None}


def check_state(rules: Mapping[str, Rule], state: Mapping[str, Any]) -> None:
    """Refuse attributes that are absent, or that do not fit the rules and each other.

    Parameters
    ----------
    rules : mapping
        From the name of an attribute to its rule.
    state : mapping
        All attributes of the model by name; those without a rule are not looked at.

    Raises
    ------
    StateMismatch
        One sentence without a full stop says what is wrong.

    Examples
    --------
    >>> rules = {"centers_": floats("clusters", "features"), "labels_": integers("objects", below="clusters")}
    >>> check_state(rules, {"centers_": np.zeros((2, 5)), "labels_": np.array([0, 1, 2])})
    Traceback (most recent call last):
    coview.utils.fitted_state.StateMismatch: labels_ has values from 0 to 2, but must have some from 0 to 1
    """
    checker = Checker(state=state)
    for name, rule in rules.items():
        if name in state:
            checker.view = None
            checker.check(rule, state[name], name)
        elif rule.required or (rule.needed is not None and rule.needed(state)):
            checker.refuse(name, "is not there")
    # indices point into sizes that may stand in attributes checked after them, so they wait for all
    for look in checker.later:
        look()


# -- single values


def _test(accepts: Callable[[Any], Any], wanted: str) -> Rule:
    """What a function accepts."""

    def visit(checker: Checker, value: Any, where: str) -> None:
        if not accepts(value):
            checker.refuse(where, f"is {short(value)}, but must be {wanted}")

    return Rule(visit)


def count(low: int = 0, *, size: str | None = None, high: float = math.inf) -> Rule:
    """A whole number of at least `low`; with `size`, the size of that name."""
    whole = _test(
        # True is an int to Python, but no number of anything in a file
        lambda value: isinstance(value, (int, np.integer)) and not isinstance(value, bool) and low <= value <= high,
        f"a whole number of at least {low}",
    )

    def visit(checker: Checker, value: Any, where: str) -> None:
        checker.check(whole, value, where)
        checker.size(size, int(value), where)

    return Rule(visit)


def real(low: float = -math.inf, high: float = math.inf, *, nan: bool = False) -> Rule:
    """A real number from `low` to `high`, which is finite, or not a number where `nan`."""

    def accepts(value: Any) -> bool:
        real = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
        return real and (low <= value <= high and math.isfinite(value) if not math.isnan(value) else nan)

    return _test(accepts, "a finite number" if math.isinf(low) else f"a finite number from {low:g} to {high:g}")


def weight() -> Rule:
    """A weight: not negative."""
    return real(0.0)


def flag() -> Rule:
    """True or False."""
    return _test(lambda value: isinstance(value, (bool, np.bool_)), "True or False")


def text() -> Rule:
    """A text."""
    return _test(lambda value: isinstance(value, str), "a text")


def choice(*options: Any) -> Rule:
    """One of some values."""
    return _test(
        # of the same type too: 1 equals True, and 1.0 equals 1
        lambda value: any(type(value) is type(option) and value == option for option in options),
        f"one of {', '.join(map(repr, options))}",
    )


def anything() -> Rule:
    """Anything that is only shown."""
    return Rule(lambda checker, value, where: None)


def custom(visit: Visit) -> Rule:
    """What a function says, which is called with (checker, value, where)."""
    return Rule(visit)


def or_none(rule: Rule, needed: Needed = None) -> Rule:
    """None, or what the rule says; never None where `needed` is true of all attributes and parameters."""

    def visit(checker: Checker, value: Any, where: str) -> None:
        if value is not None or (needed is not None and needed(checker.state)):
            checker.check(rule, value, where)

    return Rule(visit)


def optional(rule: Rule, needed: Needed = None) -> Rule:
    """Nothing at all, or what the rule says; never nothing where `needed` is true of all attributes and parameters."""
    return Rule(rule.visit, required=False, needed=needed)


# -- arrays


def _array(kinds: str, shape: tuple[str | int | None, ...], sparse: bool = False, dtype: Any = None) -> Rule:
    """An array, or a CSR matrix where `sparse`, of some kinds of dtype or just one dtype."""

    def visit(checker: Checker, value: Any, where: str) -> None:
        # the archive has checked the indices of a sparse matrix; its values are checked as those of an array
        array = value.data if sparse and sp.issparse(value) and value.format == "csr" else value
        if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds or dtype not in (None, array.dtype):
            found = array.dtype if isinstance(array, np.ndarray) else type(value).__name__
            checker.refuse(where, f"is {found}, but must be an array of {dtype or f'the kinds {kinds}'}")
        if value.ndim != len(shape):
            checker.refuse(where, f"has {value.ndim} dimension(s), but must have {len(shape)}")
        for word, size in zip(shape, value.shape):
            checker.size(word, size, where)

    return Rule(visit)


def floats(
    *shape: str | int | None,
    low: float = -math.inf,
    high: float = math.inf,
    sparse: bool = False,
    logarithms: bool = False,
    dtype: Any = None,
) -> Rule:
    """Floating numbers of a shape, all finite and from `low` to `high`; or a CSR matrix of such, where `sparse`.

    `logarithms` of shares may be minus infinity.
    """
    array = _array("f", shape, sparse, dtype)

    def visit(checker: Checker, value: Any, where: str) -> None:
        checker.check(array, value, where)
        stored = value.data if sp.issparse(value) else value
        if not stored.size:
            return
        first, last = stored.min(), stored.max()  # both are NaN where one number is
        finite = math.isfinite(last) and (logarithms or math.isfinite(first))
        if not (finite and low <= first and last <= high):
            checker.refuse(where, f"holds {first:g} to {last:g}, but must hold finite numbers from {low:g} to {high:g}")

    return Rule(visit)


def shares(*shape: str | int | None) -> Rule:
    """Distributions along the last dimension."""
    return floats(*shape, low=0.0)


def integers(
    *shape: str | int | None, low: int = 0, below: str | int | None = None, rising: bool = False, dtype: Any = None
) -> Rule:
    """Whole numbers of a shape, from `low` to one less than the number or the size that `below` names."""
    array = _array("iu", shape, False, dtype)

    def visit(checker: Checker, value: Any, where: str) -> None:
        checker.check(array, value, where)
        # in 64 bits: differences of unsigned integers never fall below 0
        if rising and (np.diff(value.astype(np.int64, copy=False)) <= 0).any():
            checker.refuse(where, "has values that do not rise")
        # kept for later, when the checker is at another view
        view = checker.view

        def look() -> None:
            checker.view = view
            size = checker.known(below) if isinstance(below, str) else below
            top = math.inf if size is None else size - 1
            first, last = (int(value.min()), int(value.max())) if value.size else (low, low)
            if value.size and (first < low or last > top):
                checker.refuse(where, f"has values from {first} to {last}, but must have some from {low} to {top}")

        checker.later.append(look)

    return Rule(visit)


def booleans(*shape: str | int | None) -> Rule:
    """True or False, in an array of a shape."""
    return _array("b", shape)


def strings(size: str | int | None = None) -> Rule:
    """Texts in an array."""
    return _array("UO", (size,))


def values(size: str | int | None = None) -> Rule:
    """Labels of objects or their ids: texts, numbers or other scalars in an array."""
    return _array("biufUO", (size,))


def labels(size: str) -> Rule:
    """The classes, at least one."""
    inside = values(size)

    def visit(checker: Checker, value: Any, where: str) -> None:
        checker.check(inside, value, where)
        if not value.size:
            checker.refuse(where, "has no class")

    return Rule(visit)


# -- several values


def record(**rules: Rule) -> Rule:
    """A dict with just these keys."""

    def visit(checker: Checker, value: Any, where: str) -> None:
        checker.check(_DICT, value, where)
        required = {key for key, rule in rules.items() if rule.required}
        if not required <= value.keys() <= rules.keys():
            checker.refuse(where, f"has the keys {short(list(value))}, but must have {short(list(rules))}")
        for key, part in value.items():
            checker.check(rules[key], part, f"{where}[{key!r}]")

    return Rule(visit)


def mapping(rule: Rule, keys: str | None = None, *, some: bool = False, ordered: bool = False) -> Rule:
    """A dict whose values follow one rule, which calls the key ``{view}``.

    `keys` names a set of keys that other mappings have too, all of them or, where `some`, not all; `ordered` wants
    them in the same order. Without it any texts are keys.
    """

    def visit(checker: Checker, value: Any, where: str) -> None:
        checker.check(_DICT, value, where)
        outer = checker.view
        if keys is not None:
            _check_keys(checker, list(value), keys.format(view=repr(outer)), where, some, ordered)
        for key, part in value.items():
            checker.view = key
            checker.check(rule, part, f"{where}[{key!r}]")
        checker.view = outer

    return Rule(visit)


def by_view(rule: Rule, *, some: bool = False, ordered: bool = False) -> Rule:
    """A dict with an entry for every view, or for some of them, that follows a rule."""
    return mapping(rule, "views", some=some, ordered=ordered)


def view_names(keys: str = "views", *, some: bool = False, also: str | None = None) -> Rule:
    """A list of texts, none of them twice: the views, or some of them, which `also` calls."""

    def visit(checker: Checker, value: Any, where: str) -> None:
        checker.check(sequence(text(), low=not some), value, where)
        if len(set(value)) < len(value):
            checker.refuse(where, "has a name twice")
        _check_keys(checker, list(value), keys, where, some, False)
        if not some:
            checker.size(keys, len(value), where)
        if also is not None:
            _check_keys(checker, list(value), also, where, False, False)

    return Rule(visit)


def sequence(rule: Rule, size: str | int | None = None, *, low: int = 0) -> Rule:
    """A list whose items follow one rule."""
    is_list = _test(lambda value: isinstance(value, (list, tuple)) and len(value) >= low, "a list")

    def visit(checker: Checker, value: Any, where: str) -> None:
        checker.check(is_list, value, where)
        checker.size(size, len(value), where)
        for i, part in enumerate(value):
            checker.check(rule, part, f"{where}[{i}]")

    return Rule(visit)


def history() -> Rule:
    """Curves of a fit: a dict of lists of numbers, which learning on makes longer."""
    return mapping(sequence(real(nan=True)))


def vocabulary() -> Rule:
    """Columns of words: a dict from texts to the numbers from 0 on, each once."""
    return _test(
        lambda value: isinstance(value, dict) and sorted(value.values()) == list(range(len(value))),
        "a dict that gives words the columns from 0 on, each once",
    )


_DICT = _test(lambda value: isinstance(value, dict) and all(isinstance(key, str) for key in value), "a dict of texts")


def _check_keys(checker: Checker, keys: list[Any], word: str, where: str, some: bool, ordered: bool) -> None:
    def look() -> None:
        known, there = checker.keys.get(word, (keys, where))
        wanted = [key for key in known if key in keys] if some else known
        if (keys != wanted) if ordered else set(keys) != set(wanted):
            checker.refuse(where, f"has the keys {short(keys)}, but {there} has {short(known)}")

    # a mapping of some views alone cannot say which views there are
    if not some and word not in checker.keys:
        checker.keys[word] = (keys, where)
    checker.later.append(look)


# -- estimators inside


def estimator(*, features: str | None = None, codes: str | None = None, methods: Iterable[str] = ()) -> Rule:
    """An estimator, which was checked by itself when it was read.

    Parameters
    ----------
    features : str, optional
        Size that its number of input features must agree with, where it says one.
    codes : str, optional
        Its classes are whole numbers below this size.
    methods : iterable of str, optional
        Methods that it must have.
    """
    is_one = _test(
        lambda value: all(find_attribute(value, method) is not None for method in ("get_params", *methods)),
        f"an estimator that has {', '.join(methods) or 'parameters'}",
    )

    def visit(checker: Checker, value: Any, where: str) -> None:
        checker.check(is_one, value, where)
        if features is not None and (n_features := find_attribute(value, "n_features_in_")) is not None:
            checker.size(features, n_features, f"{where}.n_features_in_")
        # its classes are used as positions in arrays of this size
        if codes is not None:
            checker.check(integers(None, below=codes), find_attribute(value, "classes_"), f"{where}.classes_")

    return Rule(visit)


def find_attribute(model: Any, name: str) -> Any:
    """Return a method or attribute of an estimator, which may ask others inside it; None where it has none."""
    try:
        return attrgetter(name)(model)
    except Exception:  # also of a property of a model that is not whole
        return None


# -- what every model of views has


def _check_features(checker: Checker, value: Any, where: str) -> None:
    """The number of features in all: that of all views together, where all of them say theirs."""
    checker.check(count(1, size="features in all"), value, where)

    def look() -> None:
        names, _ = checker.keys.get("views", ([], ""))
        known = [size for name in names if (size := checker.known(f"features of {name!r}")) is not None]
        # where some view does not tell its width, there is nothing to compare
        if len(known) == len(names) and sum(known) != value:
            checker.refuse(where, f"is {value}, but the views have {sum(known)} features")

    checker.later.append(look)


FITTED_VIEWS: dict[str, Rule | None] = {
    "view_names_": view_names(),
    "n_features_by_view_": by_view(count(1, size="features of {view}")),
    "feature_names_by_view_": by_view(strings("features of {view}"), some=True),
    "n_features_in_": custom(_check_features),
    "feature_names_in_": optional(strings("features in all")),
}

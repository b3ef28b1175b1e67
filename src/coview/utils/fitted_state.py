"""What fitted attributes look like, said once beside each class, and checked where they come from a file.

A class says it in ``_fitted_state``, one rule for each attribute; it has the rules of its bases too. Sizes are words,
and the same word means the same number everywhere in a model:

    _fitted_state = {
        "topic_feature_": by_view(shares("topics", "features of {view}")),
        "memberships_": shares("objects", "topics"),
        "n_iter_": count(),
    }

``{view}`` is the key of the mapping that the rule stands in. `check_state` goes through all rules, reads each array
once, and says in one sentence what does not fit.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np
from scipy import sparse

from coview.utils.messages import short

__all__ = [
    "FITTED_VIEWS",
    "Checker",
    "Rule",
    "StateMismatch",
    "StateMissing",
    "ask",
    "booleans",
    "by_view",
    "check_state",
    "count",
    "custom",
    "either",
    "estimator",
    "fitted_state",
    "flag",
    "floats",
    "history",
    "integers",
    "labels",
    "mapping",
    "number",
    "one_of",
    "optional",
    "or_none",
    "plain",
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

_BLOCK = 1 << 17  # numbers that are looked at while they are in cache
_LARGEST = {4: 1e16, 8: 1e150}  # by bytes of a number: products and squares of larger ones are infinite
_TOLERANCE = 1e-3  # of shares, which rounding moves
_MOST = 1 << 40  # no count is larger

Visit = Callable[["Checker", Any, str], None]


class StateMismatch(ValueError):
    """Fitted attributes that contradict each other or what their class says of them."""


class StateMissing(StateMismatch):
    """A fitted attribute that is wholly absent, as in a model of an earlier version of its class."""


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
    needed: Callable[[Mapping[str, Any]], Any] | None = None


@dataclass
class Checker:
    """One model under check: the sizes and keys met so far, and what is looked at when all of them are known."""

    sizes: dict[str, tuple[int, str]] = field(default_factory=dict)
    keys: dict[str, tuple[list[Any], str]] = field(default_factory=dict)
    later: list[Callable[[], None]] = field(default_factory=list)
    view: Any = None  # key of the innermost mapping
    state: Mapping[str, Any] = field(default_factory=dict)  # all attributes and parameters of the model

    def refuse(self, where: str, problem: str) -> None:
        """Say what is wrong."""
        raise StateMismatch(f"{where} {problem}")

    def size(self, word: str | int | None, number: int, where: str) -> None:
        """Hold a size against the others of the same name; a word that is new is learned."""
        if word is None:
            return
        if isinstance(word, int):
            if number != word:
                self.refuse(where, f"has {number} entries where {word} are needed")
            return
        word = word.format(view=repr(self.view))
        known, there = self.sizes.setdefault(word, (number, where))
        if known != number:
            self.refuse(where, f"has {number} {word}, but {there} has {known}")

    def known(self, word: str) -> int | None:
        """Return a size that was met."""
        return self.sizes.get(word.format(view=repr(self.view)), (None, ""))[0]

    def check(self, rule: Rule, value: Any, where: str) -> None:
        """Hold a value against a rule."""
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
    return dict(_rules(cls))


@cache
def _rules(cls: type) -> dict[str, Rule]:
    rules: dict[str, Rule | None] = {}
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
        One sentence without a full stop says what is wrong; a `StateMissing` where an attribute is absent.

    Examples
    --------
    >>> rules = {"centers_": floats("clusters", "features"), "labels_": integers("objects", below="clusters")}
    >>> check_state(rules, {"centers_": np.zeros((2, 5)), "labels_": np.array([0, 1, 2])})
    Traceback (most recent call last):
    coview.utils.fitted_state.StateMismatch: labels_ has values from 0 to 2, but must be below 2, the number of clusters
    """
    checker = Checker(state=state)
    for name, rule in rules.items():
        if name in state:
            checker.view = None
            checker.check(rule, state[name], name)
        elif rule.required or (rule.needed is not None and rule.needed(state)):
            raise StateMissing(f"{name} is not there")
    for look in checker.later:
        look()


# -- single values


def count(low: int = 0, *, size: str | None = None, high: int = _MOST) -> Rule:
    """A whole number of at least `low`; with `size`, the size of that name."""

    def visit(checker: Checker, value: Any, where: str) -> None:
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not whole or not low <= value <= high:
            checker.refuse(where, f"is {short(value)}, but must be a whole number of at least {low}")
        checker.size(size, int(value), where)

    return Rule(visit)


def number(low: float = -math.inf, high: float = math.inf, *, nan: bool = False) -> Rule:
    """A real number from `low` to `high`, which is finite, or not a number where `nan`."""

    def visit(checker: Checker, value: Any, where: str) -> None:
        real = isinstance(value, (numbers.Real, np.floating, np.integer)) and not isinstance(value, (bool, np.bool_))
        if real and nan and math.isnan(value):
            return
        if not real or not low <= value <= high or not abs(value) <= _LARGEST[8]:
            span = f"from {low:g} to {high:g}" if math.isfinite(low) or math.isfinite(high) else "that is finite"
            checker.refuse(where, f"is {short(value)}, but must be a number {span}")

    return Rule(visit)


def weight() -> Rule:
    """A weight: 0, or neither so large nor so small that products and quotients with it are infinite."""
    inside = number(0.0, 1e15)

    def visit(checker: Checker, value: Any, where: str) -> None:
        checker.check(inside, value, where)
        if 0 < value < 1e-60:
            checker.refuse(where, f"is {short(value)}, but must be 0 or at least 1e-60")

    return Rule(visit)


def flag() -> Rule:
    """True or False."""

    def visit(checker: Checker, value: Any, where: str) -> None:
        if not isinstance(value, (bool, np.bool_)):
            checker.refuse(where, f"is {short(value)}, but must be True or False")

    return Rule(visit)


def text() -> Rule:
    """A text."""

    def visit(checker: Checker, value: Any, where: str) -> None:
        if not isinstance(value, str):
            checker.refuse(where, f"is {short(value)}, but must be a text")

    return Rule(visit)


def one_of(*options: Any) -> Rule:
    """One of some values."""

    def visit(checker: Checker, value: Any, where: str) -> None:
        if not any(type(value) is type(option) and value == option for option in options):
            checker.refuse(where, f"is {short(value)}, but must be one of {', '.join(map(repr, options))}")

    return Rule(visit)


def or_none(rule: Rule, needed: Callable[[Mapping[str, Any]], Any] | None = None) -> Rule:
    """None, or what the rule says; never None where `needed` is true of all attributes and parameters."""

    def visit(checker: Checker, value: Any, where: str) -> None:
        if value is not None:
            checker.check(rule, value, where)
        elif needed is not None and needed(checker.state):
            checker.refuse(where, "is None, but the rest of the model needs it")

    return Rule(visit)


def optional(rule: Rule, needed: Callable[[Mapping[str, Any]], Any] | None = None) -> Rule:
    """Nothing at all, or what the rule says; never nothing where `needed` is true of all attributes and parameters."""
    return Rule(rule.visit, required=False, needed=needed)


def either(*rules: Rule) -> Rule:
    """What one of the rules says; where none fits, the last says why."""

    def visit(checker: Checker, value: Any, where: str) -> None:
        for rule in rules[:-1]:
            trial = Checker(dict(checker.sizes), dict(checker.keys), [], checker.view, checker.state)
            try:
                trial.check(rule, value, where)
            except StateMismatch:
                continue
            checker.sizes, checker.keys = trial.sizes, trial.keys
            checker.later += trial.later
            return
        checker.check(rules[-1], value, where)

    return Rule(visit)


def custom(visit: Visit) -> Rule:
    """What a function says, which is called with (checker, value, where)."""
    return Rule(visit)


def plain() -> Rule:
    """Anything that is only shown."""
    return Rule(lambda checker, value, where: None)


# -- arrays


def floats(
    *shape: str | int | None,
    low: float = -math.inf,
    high: float = math.inf,
    sparse: bool = False,
    logarithms: bool = False,
    dtype: Any = None,
) -> Rule:
    """Floating numbers of a shape, all finite and from `low` to `high`; or a CSR matrix of such, where `sparse`.

    `logarithms` of shares are at most 0, and minus infinity where a share is 0, but not all of them. `dtype` wants one
    type, else numbers of 4 or 8 bytes are fine.
    """

    def visit(checker: Checker, value: Any, where: str) -> None:
        array = value.data if sparse and _is_sparse(value) else value
        _check_kind(checker, value, array, "f", "floating numbers", where)
        _check_dtype(checker, array, (np.float32, np.float64) if dtype is None else (dtype,), where)
        _check_shape(checker, value, shape, where)
        limit = _LARGEST[array.dtype.itemsize]
        if logarithms:
            _check_range(checker, array, -math.inf, _TOLERANCE, where)
            if array.size and not (array.max(axis=-1) >= -limit).all():
                checker.refuse(where, "holds logarithms of shares that are all zero")
        else:
            _check_range(checker, array, max(low, -limit), min(high, limit), where)

    return Rule(visit)


def shares(*shape: str | int | None) -> Rule:
    """Distributions: numbers from 0 to 1 that sum to 1 along the last dimension, but for rounding."""
    inside = floats(*shape, low=0.0, high=1 + _TOLERANCE)

    def visit(checker: Checker, value: Any, where: str) -> None:
        checker.check(inside, value, where)
        totals = value.sum(axis=-1, dtype=np.float64)
        off = np.abs(totals - 1) > _TOLERANCE
        if off.any():
            checker.refuse(where, f"has rows that sum to {totals[off].flat[0]:.6g}, but all must sum to 1")

    return Rule(visit)


def integers(
    *shape: str | int | None, low: int = 0, below: str | int | None = None, rising: bool = False, dtype: Any = None
) -> Rule:
    """Whole numbers of a shape, from `low` to one less than the number or the size that `below` names."""

    def visit(checker: Checker, value: Any, where: str) -> None:
        _check_kind(checker, value, value, "iu", "whole numbers", where)
        if dtype is not None:
            _check_dtype(checker, value, (dtype,), where)
        _check_shape(checker, value, shape, where)
        if rising and (np.diff(value.astype(np.int64, copy=False)) <= 0).any():
            checker.refuse(where, "has values that do not rise")
        view = checker.view

        def look() -> None:
            checker.view = view
            top = checker.known(below) if isinstance(below, str) else below
            first, last = (int(value.min()), int(value.max())) if value.size else (low, low)
            if first < low or (top is not None and value.size and last >= top):
                named = f", the number of {below.format(view=repr(view))}" if isinstance(below, str) else ""
                bound = f"be below {top}{named}" if first >= low else f"not be below {low}"
                checker.refuse(where, f"has values from {first} to {last}, but must {bound}")

        checker.later.append(look)

    return Rule(visit)


def booleans(*shape: str | int | None) -> Rule:
    """True or False, in an array of a shape."""

    def visit(checker: Checker, value: Any, where: str) -> None:
        _check_kind(checker, value, value, "b", "True or False", where)
        _check_shape(checker, value, shape, where)

    return Rule(visit)


def strings(size: str | int | None = None) -> Rule:
    """Texts in an array."""

    def visit(checker: Checker, value: Any, where: str) -> None:
        _check_kind(checker, value, value, "UO", "texts", where)
        _check_shape(checker, value, (size,), where)
        if value.dtype.kind == "O" and not all(isinstance(item, str) for item in value):
            checker.refuse(where, "holds other things than texts")

    return Rule(visit)


def values(size: str | int | None = None) -> Rule:
    """Labels of objects or their ids: texts, numbers or other scalars in an array."""

    def visit(checker: Checker, value: Any, where: str) -> None:
        _check_kind(checker, value, value, "biufUO", "labels", where)
        _check_shape(checker, value, (size,), where)

    return Rule(visit)


def labels(size: str) -> Rule:
    """The classes: texts, finite numbers or other scalars in an array, none of them twice."""
    inside = values(size)

    def visit(checker: Checker, value: Any, where: str) -> None:
        checker.check(inside, value, where)
        items = value.tolist()
        endless = any(isinstance(item, float) and not math.isfinite(item) for item in items)
        if not items or len(set(items)) < len(items) or endless:
            checker.refuse(where, "has a class twice, one that is NaN or infinite, or no class")

    return Rule(visit)


def _is_sparse(value: Any) -> bool:
    return sparse.issparse(value) and value.format == "csr"


def _check_kind(checker: Checker, value: Any, array: Any, kinds: str, what: str, where: str) -> None:
    if not isinstance(array, np.ndarray):
        checker.refuse(where, f"is of type {type(value).__name__}, but must be an array of {what}")
    if array.dtype.kind not in kinds:
        checker.refuse(where, f"has dtype {array.dtype}, but must hold {what}")


def _check_dtype(checker: Checker, array: np.ndarray, wanted: tuple[Any, ...], where: str) -> None:
    if array.dtype not in wanted:
        names = " or ".join(np.dtype(dtype).name for dtype in wanted)
        checker.refuse(where, f"has dtype {array.dtype}, but must have {names}")


def _check_shape(checker: Checker, value: Any, shape: tuple[str | int | None, ...], where: str) -> None:
    if value.ndim != len(shape):
        checker.refuse(where, f"has {value.ndim} dimension(s), but must have {len(shape)}")
    for word, size in zip(shape, value.shape):
        checker.size(word, size, where)


def _check_range(checker: Checker, array: np.ndarray, low: float, high: float, where: str) -> None:
    """Refuse numbers outside of a range, and what is none, reading the array once in the order of its memory."""
    for block in _blocks(array):
        first, last = block.min(), block.max()
        if not (low <= first and last <= high):
            bad = block[~((block >= low) & (block <= high))].flat[0]
            checker.refuse(where, f"holds {bad:g}, but must hold finite numbers from {low:g} to {high:g}")


def _blocks(array: np.ndarray) -> Iterator[np.ndarray]:
    flat = array.T if array.flags.f_contiguous and not array.flags.c_contiguous else array
    if not flat.size:
        return
    if flat.flags.c_contiguous:
        flat = flat.reshape(-1)
    step = max(1, _BLOCK // max(1, math.prod(flat.shape[1:])))
    for start in range(0, len(flat), step):
        yield flat[start : start + step]


# -- several values


def record(**rules: Rule) -> Rule:
    """A dict with just these keys."""

    def visit(checker: Checker, value: Any, where: str) -> None:
        _check_mapping(checker, value, where)
        unknown = [key for key in value if key not in rules]
        absent = [key for key, rule in rules.items() if key not in value and rule.required]
        if unknown or absent:
            checker.refuse(where, f"has the key {short(unknown[0])}" if unknown else f"lacks the key {absent[0]!r}")
        for key, part in value.items():
            checker.check(rules[key], part, f"{where}[{key!r}]")

    return Rule(visit)


def mapping(rule: Rule, keys: str | None = None, *, some: bool = False, ordered: bool = False) -> Rule:
    """A dict whose values follow one rule, which calls the key ``{view}``.

    `keys` names a set of keys that other mappings have too, all of them or, where `some`, not all; `ordered` wants
    them in the same order. Without it any texts are keys.
    """

    def visit(checker: Checker, value: Any, where: str) -> None:
        _check_mapping(checker, value, where)
        if not all(isinstance(key, str) for key in value):
            checker.refuse(where, "has a key that is no text")
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
        known = isinstance(value, (list, tuple)) and all(isinstance(name, str) and name for name in value)
        if not known or len(set(value)) < len(value) or not (value or some):
            checker.refuse(where, f"is {short(value)}, but must be a list of different texts")
        _check_keys(checker, list(value), keys, where, some, False)
        if not some:
            checker.size(keys, len(value), where)
        if also is not None:
            _check_keys(checker, list(value), also, where, False, False)

    return Rule(visit)


def sequence(rule: Rule, size: str | int | None = None, *, low: int = 0) -> Rule:
    """A list whose items follow one rule."""

    def visit(checker: Checker, value: Any, where: str) -> None:
        if not isinstance(value, (list, tuple)):
            checker.refuse(where, f"is of type {type(value).__name__}, but must be a list")
        if len(value) < low:
            checker.refuse(where, f"has {len(value)} items, but must have {low}")
        checker.size(size, len(value), where)
        for i, part in enumerate(value):
            checker.check(rule, part, f"{where}[{i}]")

    return Rule(visit)


def history() -> Rule:
    """Curves of a fit: a dict of lists of numbers, which learning on makes longer."""
    numbers_of = sequence(number(nan=True))

    def visit(checker: Checker, value: Any, where: str) -> None:
        if not isinstance(value, list):
            checker.refuse(where, f"is of type {type(value).__name__}, but must be a list")
        checker.check(numbers_of, value, where)

    return mapping(custom(visit))


def vocabulary() -> Rule:
    """Columns of words: a dict from texts to the numbers from 0 on, each once."""

    def visit(checker: Checker, value: Any, where: str) -> None:
        _check_mapping(checker, value, where)
        whole = all(isinstance(word, str) for word in value)
        whole = whole and all(isinstance(at, (int, np.integer)) and not isinstance(at, bool) for at in value.values())
        if not value or not whole or sorted(value.values()) != list(range(len(value))):
            checker.refuse(where, "does not give its words the columns from 0 on, each once")
        checker.size("words", len(value), where)

    return Rule(visit)


def _check_mapping(checker: Checker, value: Any, where: str) -> None:
    if not isinstance(value, dict):
        checker.refuse(where, f"is of type {type(value).__name__}, but must be a dict")


def _check_keys(checker: Checker, keys: list[Any], word: str, where: str, some: bool, ordered: bool) -> None:
    def look() -> None:
        known, there = checker.keys.get(word, (keys, where))
        strange = [key for key in keys if key not in known]
        absent = [] if some else [key for key in known if key not in keys]
        if strange or absent:
            problem = f"has {strange[0]!r}, which {there} has not" if strange else f"lacks {absent[0]!r} of {there}"
            checker.refuse(where, problem)
        if ordered and keys != [key for key in known if key in keys]:
            checker.refuse(where, f"has another order than {there}")

    if not some and word not in checker.keys:
        checker.keys[word] = (keys, where)
    checker.later.append(look)


# -- estimators inside


def estimator(
    *, features: str | None = None, classes: str | None = None, codes: str | None = None, methods: Iterable[str] = ()
) -> Rule:
    """A fitted estimator, which was checked by itself when it was read.

    Parameters
    ----------
    features : str, optional
        Size that its number of input features must agree with, where it says one.
    classes : str, optional
        Size that its number of classes must agree with, where it has classes.
    codes : str, optional
        Its classes are whole numbers below this size.
    methods : iterable of str, optional
        Methods that it must have.
    """

    def visit(checker: Checker, value: Any, where: str) -> None:
        own = vars(value) if isinstance(value, _estimator_base()) else None
        if own is None:
            checker.refuse(where, f"is of type {type(value).__name__}, but must be an estimator")
            return
        if not _is_fitted(value):
            checker.refuse(where, f"is a {type(value).__name__} that is not fitted")
        for method in methods:
            if ask(value, method) is None:
                checker.refuse(where, f"is a {type(value).__name__}, which cannot {method}")
        if features is not None and (n_features := ask(value, "n_features_in_")) is not None:
            checker.size(features, n_features, f"{where}.n_features_in_")
        known = ask(value, "classes_")
        if classes is not None and known is not None:
            checker.size(classes, len(known), f"{where}.classes_")
        if codes is not None:
            if known is None:
                checker.refuse(where, "has no classes")
            checker.check(integers(None, low=0, below=codes), known, f"{where}.classes_")

    return Rule(visit)


def _is_fitted(model: Any) -> bool:
    """Whether an estimator has what a fit leaves, or needs no fit."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    lasting = [name for name, rule in fitted_state(type(model)).items() if rule.required and name.endswith("_")]
    if lasting:
        return any(name in vars(model) for name in lasting)
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    except Exception:  # of a model that is not whole: it was looked at by itself
        return True
    return True


def ask(model: Any, name: str) -> Any:
    """Return a method or attribute of an estimator, which may ask others inside it; None where it has none."""
    try:
        return attrgetter(name)(model)
    except Exception:  # also of a property of a model that is not whole
        return None


@cache
def _estimator_base() -> type:
    from sklearn.base import BaseEstimator  # who reads no model need not wait for scikit-learn

    return BaseEstimator


# -- what every model of views has


def _all_features(checker: Checker, value: Any, where: str) -> None:
    checker.check(count(1, size="features in all"), value, where)

    def look() -> None:
        names, _ = checker.keys.get("views", ([], ""))
        sizes = [checker.sizes.get(f"features of {name!r}", (None, ""))[0] for name in names]
        known = [size for size in sizes if size is not None]
        if len(known) == len(names) and sum(known) != value:
            checker.refuse(where, f"is {value}, but the views have {sum(known)} features")

    checker.later.append(look)


FITTED_VIEWS: dict[str, Rule | None] = {
    "view_names_": view_names(),
    "n_features_by_view_": by_view(count(1, size="features of {view}")),
    "feature_names_by_view_": by_view(strings("features of {view}"), some=True),
    "n_features_in_": custom(_all_features),
    "feature_names_in_": optional(strings("features in all")),
}

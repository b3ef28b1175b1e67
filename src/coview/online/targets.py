"""Targets of online learning: classes that may come later, what each costs, and objects that are held out.

The learner is supervised: None and NaN mark an unlabeled object, -1 is a class like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from coview.exceptions import ParameterError
from coview.utils.messages import short
from coview.validation import UNLABELED
from coview.validation import encode_labels as encode_any_labels

__all__ = ["class_costs", "first_classes", "known_classes", "split_rows"]

encode_labels = partial(encode_any_labels, semi_supervised=False)

_FEW = 1024  # whole numbers below are counted, not sorted


def first_classes(y: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return codes and classes as `encode_labels` does; small whole numbers in an array, the rule, take no sorting."""
    plain = type(y) is np.ndarray and y.dtype.kind == "i" and y.shape == (n_rows,) and n_rows > 0
    low, high = (int(y.min()), int(y.max())) if plain else (-1, -1)
    if low < 0 or high >= _FEW:
        return encode_labels(y, n_rows)
    if (low, high) == (0, 1):  # their own codes
        return y.astype(np.int64), np.arange(2, dtype=y.dtype)
    present = np.bincount(y) > 0
    if present.sum() < 2:  # what is wrong with one class is told there
        return encode_labels(y, n_rows)
    return (np.cumsum(present) - 1)[y], np.flatnonzero(present).astype(y.dtype)


def known_classes(
    y: Any, n_rows: int, known: np.ndarray | None, classes: Any, fixed: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return codes of a batch (-1: no label), and the classes known from then on, sorted.

    Parameters
    ----------
    y : array-like (n_rows,)
        Labels; None or NaN for the unlabeled.
    n_rows : int
        Number of objects.
    known : ndarray or None
        Classes of earlier batches.
    classes : array-like or None
        All classes that will come, where the user names them.
    fixed : bool
        Whether they were named before: then another class is an error, else it is taken up.
    """
    listed = classes.tolist() if isinstance(classes, np.ndarray) else classes
    expected = _whole_numbers(classes) if known is None else known
    if expected is not None and (classes is None or listed == expected.tolist()):
        codes = _quick_codes(y, n_rows, expected)
        if codes is not None:
            return codes, expected
    if classes is not None:
        named = encode_labels(classes, batch=True)[1]
        strange = [] if known is None else sorted(set(known.tolist()) - set(named.tolist()), key=str)
        if strange:
            raise ValueError(f"classes={named.tolist()} lacks {strange[0]!r}, which occurred in earlier batches.")
        if fixed and known is not None and len(named) != len(known):
            raise ValueError(f"classes={named.tolist()} differ from those of the first call, {known.tolist()}.")
        return encode_labels(y, n_rows, named)
    if known is None or fixed:
        return encode_labels(y, n_rows, known, batch=True)
    try:
        return encode_labels(y, n_rows, known, batch=True)
    except ValueError:  # a new class; any other mistake is told by the next line
        fresh = encode_labels(y, n_rows, batch=True)[1]
    if (fresh.dtype.kind in "US") != (known.dtype.kind in "US"):
        raise ParameterError(
            f"holds labels such as {short(fresh[0])}, but earlier ones were like {short(known[0])}. Use numbers only, "
            "or strings only.",
            parameter="y",
        )
    return encode_labels(y, n_rows, np.union1d(known, fresh))


def class_costs(class_weight: Any, C: float, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return C of each class.

    Examples
    --------
    >>> import numpy as np
    >>> class_costs({"a": 2.0}, 0.5, np.array(["a", "b"]), np.array([0, 1])).tolist()
    [1.0, 0.5]
    """
    if class_weight is None:
        return np.full(len(classes), C)
    if isinstance(class_weight, str) and class_weight == "balanced":
        labels = classes[codes[codes >= 0]]
        return C * compute_class_weight("balanced", classes=classes, y=labels)
    if not isinstance(class_weight, Mapping):
        raise ParameterError(f"must be a dict, 'balanced' or None, got {class_weight!r}.", parameter="class_weight")
    known = classes.tolist()
    factors = np.ones(len(known))
    for label, factor in class_weight.items():
        if not factor >= 0:
            raise ValueError(f"class_weight of {label!r} must be a number of at least 0, got {factor!r}.")
        if label in known:  # a class that this stream has not shown yet may be named already
            factors[known.index(label)] = factor
    return C * factors


def split_rows(
    codes: np.ndarray, rows: np.ndarray, fraction: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows to learn from and rows to hold out, by class; one of each class always stays to learn from."""
    if not 0 < fraction < 1:
        raise ValueError(f"validation_fraction must be between 0 and 1, got {fraction!r}.")
    out = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes[rows]):
        members = rng.permutation(rows[codes[rows] == code])
        out[members[: min(round(fraction * len(members)), len(members) - 1)]] = True
    if not out.any():
        raise ValueError(
            f"early_stopping with validation_fraction={fraction:g} holds out none of the {len(rows)} labeled objects. "
            "Increase validation_fraction, or pass more labeled objects."
        )
    return rows[~out[rows]], rows[out[rows]]


def _whole_numbers(classes: Any) -> np.ndarray | None:
    """Classes that are two or more whole numbers, ascending, in a list or an array of int64; else None."""
    if isinstance(classes, list) and set(map(type, classes)) == {int} and max(map(abs, classes)) < 2**62:
        classes = np.array(classes, dtype=np.int64)
    if not isinstance(classes, np.ndarray) or classes.dtype != np.int64 or classes.ndim != 1 or len(classes) < 2:
        return None
    return classes.copy() if (classes[1:] > classes[:-1]).all() else None


def _quick_codes(y: Any, n_rows: int, known: np.ndarray) -> np.ndarray | None:
    """Codes of whole numbers in an array, all known, or of known texts in a list, as streams bring; else None."""
    if isinstance(y, list) and known.dtype.kind == "U" and len(y) == n_rows > 0 and set(map(type, y)) == {str}:
        positions = {label: code for code, label in enumerate(known.tolist())}
        codes_of = [positions.get(label, UNLABELED) for label in y]
        return None if UNLABELED in codes_of else np.array(codes_of, dtype=np.int64)
    whole = isinstance(y, np.ndarray) and y.dtype.kind == known.dtype.kind == "i"
    if not whole or n_rows == 0 or y.shape != (n_rows,):
        return None
    if known[0] == 0 and known[-1] == len(known) - 1:  # 0, 1, 2, ... are their own codes
        fits = np.minimum.reduce(y) >= 0 and np.maximum.reduce(y) < len(known)
        return y.astype(np.int64) if fits else None
    codes = np.minimum(np.searchsorted(known, y), len(known) - 1)
    return codes if (known[codes] == y).all() else None

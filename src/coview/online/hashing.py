"""Features by name without a vocabulary: a hash of the name is the column, so that unseen features need no warning.

    column = |h| mod width,  sign = sign of h,  h = MurmurHash3 of the name (32 bits)

A feature whose value is text, ``{"color": "red"}``, counts as the feature ``color=red`` with value 1. The columns are
those of scikit-learn's FeatureHasher.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher
from sklearn.utils import murmurhash3_32

__all__ = ["WIDTH", "hash_feature", "hash_row", "hash_rows", "words"]

WIDTH = 2**18  # columns of a hashed view unless asked otherwise

_WORD = re.compile(r"\w+")


@lru_cache(maxsize=2**18)  # names beyond are forgotten and hashed again
def hash_feature(name: str, width: int = WIDTH) -> tuple[int, float]:
    """Return the column of a feature, and the sign of its values there.

    Examples
    --------
    >>> column, sign = hash_feature("price", 1024)
    >>> 0 <= column < 1024, abs(sign)
    (True, 1.0)
    """
    hashed = murmurhash3_32(name, seed=0)
    return abs(hashed) % width, 1.0 if hashed >= 0 else -1.0


def hash_row(features: Mapping[str, Any] | Iterable[str] | str, width: int = WIDTH) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and values of one row, given by name (or as text, or as a list of words)."""
    sums: dict[int, float] = {}
    for name, value in _named(features).items():
        if isinstance(value, str):
            name, value = f"{name}={value}", 1.0
        column, sign = hash_feature(str(name), width)
        sums[column] = sums.get(column, 0.0) + sign * value
    return np.fromiter(sums.keys(), dtype=np.int32, count=len(sums)), np.array(list(sums.values()), dtype=np.float64)


def hash_rows(rows: Iterable[Any], width: int = WIDTH) -> sparse.csr_array:
    """Return a matrix of rows given by name; None is an empty row."""
    named = [_named(row) if row is not None else {} for row in rows]
    hasher = FeatureHasher(n_features=width, input_type="dict")
    return sparse.csr_array(hasher.transform({str(k): v for k, v in row.items()} for row in named))


def words(text: str) -> Counter[str]:
    """Count the words of a text, in lower case.

    Examples
    --------
    >>> words("To be, or not to be")
    Counter({'to': 2, 'be': 2, 'or': 1, 'not': 1})
    """
    return Counter(_WORD.findall(text.lower()))


def _named(features: Any) -> Mapping[str, Any]:
    if isinstance(features, str):
        return words(features)
    return features if isinstance(features, Mapping) else Counter(map(str, features))

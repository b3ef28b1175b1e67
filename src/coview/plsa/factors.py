"""Factors of the PLSA family: how they start, and how they stay distributions.

Inside, the factor of a view is `feature_topic` (features x topics): the kernels gather its rows. Users see the
transpose, `topic_feature_`. Floors keep float32 clear of subnormal numbers and logarithms finite.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.extmath import randomized_svd

from coview.engines.passes import over_rows
from coview.views.views import Matrix, Views

__all__ = [
    "FEATURE_FLOOR",
    "ROW_FLOOR",
    "as_distributions",
    "initial_arrays",
    "nonnegative_svd",
    "random_matrix",
    "random_topics",
    "stream_of",
    "view_masses",
]

ROW_FLOOR = 1e-12
FEATURE_FLOOR = 1e-15
_STRIPE = 1024


def random_matrix(seed: int, start: int, stop: int, width: int, dtype: Any) -> np.ndarray:
    """Rows start..stop of a random positive matrix whose rows sum to one.

    Each stripe of rows has its own stream, so that a row is the same however the rows are cut into blocks.
    """
    first = start // _STRIPE
    parts = [
        np.random.default_rng([seed, stripe]).random((_STRIPE, width)) for stripe in range(first, -(-stop // _STRIPE))
    ]
    values = np.concatenate(parts)[start - first * _STRIPE : stop - first * _STRIPE] + 1e-3
    return (values / values.sum(axis=1, keepdims=True)).astype(dtype)


def stream_of(view: str) -> int:
    """Seed offset of a view, by its name: the order of the views does not matter."""
    return 1 + zlib.crc32(view.encode()) % 1_000_003


def random_topics(given: Any, n_topics: int, width: int, seed: int, view: str) -> np.ndarray:
    """Topics (topics x features, rows sum to one) as given, or random with a stream of its own per view."""
    if given is not None:
        return as_distributions("topic_feature", given, (n_topics, width))
    topics = random_matrix(seed + 7919 * stream_of(view), 0, width, n_topics, np.float64).T
    return topics / topics.sum(axis=1, keepdims=True)


def view_masses(views: Any) -> np.ndarray:
    """Sum of all values of each view, in memory or lazy."""
    return np.sum(over_rows(views, _masses), axis=0)


def _masses(views: Views, first: int) -> np.ndarray:
    return np.array([matrix.sum(dtype=np.float64) for matrix in views.values()])


def nonnegative_svd(views: Views, n_components: int, seed: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Start from the singular vectors (NNDSVD of Boutsidis and Gallopoulos, 2008), zeros lifted so that EM can move.

    Returns row shares (objects x topics) and column shares by view (features x topics). Components beyond the rank
    are random.
    """
    X: Matrix = views.hstack()
    rank = min(n_components, *X.shape)
    left, values, right = randomized_svd(X, rank, random_state=seed)
    rows = random_matrix(seed, 0, X.shape[0], n_components, np.float64) * 1e-2
    columns = random_matrix(seed + 1, 0, X.shape[1], n_components, np.float64) * 1e-2
    for k in range(rank):
        u, v = left[:, k], right[k]
        signs = [(np.maximum(s * u, 0), np.maximum(s * v, 0)) for s in (1.0, -1.0)]
        sizes = [np.linalg.norm(a) * np.linalg.norm(b) for a, b in signs]
        a, b = signs[int(np.argmax(sizes))]
        scale = np.sqrt(values[k] * max(sizes))
        if scale > 0:
            rows[:, k] = scale * a / np.linalg.norm(a)
            columns[:, k] = scale * b / np.linalg.norm(b)
    # an exact zero is a fixed point of EM
    rows += 1e-2 * max(rows.mean(), ROW_FLOOR)
    columns += 1e-2 * max(columns.mean(), ROW_FLOOR)
    rows = rows / rows.sum(axis=1, keepdims=True)
    columns = columns / columns.sum(axis=0)
    cuts = np.cumsum(list(views.n_features.values()))[:-1]
    return rows, dict(zip(views.names, np.split(columns, cuts)))


def as_distributions(name: str, array: Any, shape: tuple[int, int]) -> np.ndarray:
    """Rows of a given array as distributions, or one sentence that says why it cannot be."""
    values = np.array(array, dtype=np.float64)
    if values.shape != shape:
        raise ValueError(f"init[{name!r}] must have shape {shape}, got {values.shape}.")
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"init[{name!r}] must hold finite values of at least 0.")
    sums = values.sum(axis=1, keepdims=True)
    if (sums <= 0).any():
        raise ValueError(f"init[{name!r}] has a row that sums to 0 (row {int(np.argmin(sums))}).")
    return values / sums


def initial_arrays(init: Mapping[str, Any], allowed: tuple[str, ...], view_names: list[str]) -> dict[str, Any]:
    """Arrays of an `init` mapping by name without trailing underscore; a bare array becomes {the only view: array}."""
    found: dict[str, Any] = {}
    for key, value in init.items():
        name = str(key).rstrip("_")
        if name not in allowed:
            raise ValueError(f"init has the key {key!r}; it can hold {', '.join(map(repr, allowed))}.")
        if name in ("topic_feature", "cluster_topic") and not isinstance(value, Mapping):
            if len(view_names) > 1:
                raise ValueError(f"init[{name!r}] must be {{view: array}} where there are several views.")
            value = {view_names[0]: value}
        found[name] = value
    return found

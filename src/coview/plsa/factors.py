"""Factors of the PLSA family: how they start, and how they stay distributions.

Inside, the factor of a view is `feature_topic` (features x topics): the kernels gather its rows. Users see the
transpose, `topic_feature_`. Floors keep float32 clear of subnormal numbers and logarithms finite.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from coview.engines.passes import over_rows
from coview.engines.protocol import Engine
from coview.engines.state import Tree
from coview.views.views import Views

__all__ = [
    "EVERY_FEATURE",
    "FEATURE_FLOOR",
    "ROW_FLOOR",
    "as_distributions",
    "column_shares",
    "given_keys",
    "initial_arrays",
    "random_matrix",
    "random_topics",
    "row_shares",
    "softened",
    "stream_of",
    "update_columns",
    "view_shares",
    "with_masses",
]

EVERY_FEATURE: Mapping[str, np.ndarray] = MappingProxyType({})  # where no view is cut to some of its features
ROW_FLOOR = 1e-12
FEATURE_FLOOR = 1e-15
SOFT = 1e-3  # share of a start that is spread evenly: an exact one-hot row is a fixed point of EM
_STRIPE = 1024


# -- starts


def random_matrix(seed: int, start: int, stop: int, width: int, dtype: Any) -> np.ndarray:
    """Rows start..stop of a random positive matrix whose rows sum to one.

    Each stripe of rows has its own stream, so that a row is the same however the rows are cut into blocks.
    """
    values = np.empty((stop - start, width), dtype=dtype)
    for stripe in range(start // _STRIPE, -(-stop // _STRIPE)):
        part = np.random.default_rng([seed, stripe]).random((_STRIPE, width))
        first = stripe * _STRIPE
        part = part[max(start - first, 0) : stop - first]
        part += 1e-3
        part /= part.sum(axis=1, keepdims=True)
        begin = max(first - start, 0)
        values[begin : begin + len(part)] = part
    return values


def stream_of(view: str) -> int:
    """Seed offset of a view, by its name: the order of the views does not matter."""
    return 1 + zlib.crc32(view.encode()) % 1_000_003


def random_topics(
    given: Mapping[str, Any], n_topics: Mapping[str, int], widths: Mapping[str, int], seed: int
) -> dict[str, np.ndarray]:
    """Topics by view (features x topics, columns sum to one) as given, or random with a stream of its own per view."""
    topics = {}
    for view, width in widths.items():
        shape = (n_topics[view], width)
        if view in given:
            topics[view] = as_distributions("topic_feature", given[view], shape).T
        else:
            part = random_matrix(seed + 7919 * stream_of(view), 0, width, shape[0], np.float64)
            topics[view] = part / part.sum(axis=0)
    return topics


def view_shares(views: Any, n_topics: int, given: Any = None) -> np.ndarray:
    """Share of each view in each topic (topics x views) as given, or that of its mass, of views in memory or lazy."""
    if given is not None:
        return as_distributions("topic_view", given, (n_topics, len(views.names)))
    mass = np.sum(over_rows(views, _masses), axis=0)
    return np.tile(mass / mass.sum() if mass.sum() > 0 else np.full(len(mass), 1 / len(mass)), (n_topics, 1))


def _masses(views: Views, first: int) -> np.ndarray:
    return np.array([matrix.sum(dtype=np.float64) for matrix in views.values()])


def softened(start: np.ndarray) -> np.ndarray:
    """Memberships mixed with a little of the even ones."""
    return (1 - SOFT) * start + SOFT / start.shape[1]


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


def initial_arrays(init: Any, allowed: tuple[str, ...] | None, view_names: list[str]) -> dict[str, Any]:
    """Arrays of an `init` mapping by name without trailing underscore; a bare array becomes {the only view: array}.

    Other names than those allowed are refused; None allows all.
    """
    arrays: dict[str, Any] = {}
    if not isinstance(init, Mapping):
        return arrays
    for key, value in init.items():
        name = str(key).rstrip("_")
        if allowed is not None and name not in allowed:
            raise ValueError(f"init has the unknown key {key!r}; known keys are {', '.join(map(repr, allowed))}.")
        if name in ("topic_feature", "cluster_topic") and not isinstance(value, Mapping):
            if len(view_names) > 1:
                raise ValueError(f"init[{name!r}] must be {{view: array}} where there are several views.")
            value = {view_names[0]: value}
        arrays[name] = value
    return arrays


def given_keys(init: Any) -> set[str]:
    """Keys of an `init` mapping without trailing underscore; none where it names a strategy."""
    return {str(key).rstrip("_") for key in init} if isinstance(init, Mapping) else set()


# -- distributions


def row_shares(values: Any) -> Any:
    """Rows at least the floor, divided by their sums."""
    values = values.clip(min=ROW_FLOOR)
    return values / values.sum(axis=1, keepdims=True)


def column_shares(parts: Tree, *, joint: bool) -> Tree:
    """Columns at least the floor, divided by their sums: of each view, or (`joint`) over all views."""
    parts = {name: part.clip(min=FEATURE_FLOOR) for name, part in parts.items()}
    sums = _column_sums(parts, joint=joint)
    return {name: part / sums[name] for name, part in parts.items()}


def with_masses(parts: Tree, like: Tree, *, joint: bool) -> Tree:
    """Distributions as counts with the column sums of others."""
    masses = _column_sums(like, joint=joint)
    return {name: part * masses[name] for name, part in parts.items()}


def update_columns(old: Tree, pulls: Tree, ops: Engine, *, joint: bool) -> Tree:
    """Columns of old * pull as distributions: of each view, or (`joint`) over all views."""
    if joint and pulls:
        return ops.column_shares(old, pulls, FEATURE_FLOOR)
    return {
        name: ops.column_shares({name: old[name]}, {name: pull}, FEATURE_FLOOR)[name] for name, pull in pulls.items()
    }


def _column_sums(parts: Tree, *, joint: bool) -> Tree:
    sums = {name: part.sum(axis=0) for name, part in parts.items()}
    return dict.fromkeys(sums, sum(sums.values())) if joint else sums

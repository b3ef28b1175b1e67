"""Where sweeps begin: views of unit length, centroids of the labeled objects, names for classes to come."""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.assignment.steps import unit_columns
from coview.engines.protocol import Block, Engine
from coview.engines.steps import Tree
from coview.views.matrices import unit_rows
from coview.views.views import Views

__all__ = ["by_class", "new_names", "seed_beside", "seed_centroids", "unit_views"]


def seed_centroids(blocks: list[Block], engine: Engine, n_labels: int, dtype: Any) -> Tree:
    """Centroids of the labeled objects alone: {view: features x labels}, zero where a class has no features."""
    sums: dict[str, Any] = {}
    for block in blocks:
        given = engine.to_numpy(block.extra["given"])[:, :n_labels].copy()
        given[engine.to_numpy(block.extra["code"]) < 0] = False
        onto = engine.asarray(given.astype(dtype))
        for name, X in block.views.items():
            sums[name] = engine.accumulate(X, onto, sums.get(name))
    return {"centroids": {name: unit_columns(total, total) for name, total in sums.items()}}


def by_class(shared: Tree, engine: Engine) -> dict[str, np.ndarray]:
    """Centroids as the estimator shows them: {view: labels x features}."""
    return {name: np.ascontiguousarray(engine.to_numpy(part).T) for name, part in shared["centroids"].items()}


def unit_views(views: Views) -> Views:
    """Rows of length 1; empty ones stay empty."""
    return views.map(unit_rows)


def seed_beside(blocks: list[Block], shared: Tree, engine: Engine, n_labels: int) -> Tree:
    """Centroids of the labeled objects of blocks, beside those of `shared` for classes that no label names."""
    whole = shared["centroids"]
    seeded = seed_centroids(blocks, engine, n_labels, next(iter(whole.values())).dtype)
    return {"centroids": {name: _beside(part, whole[name]) for name, part in seeded["centroids"].items()}}


def _beside(seeded: Any, whole: Any) -> Any:
    """Centroids of some classes beside the others of `whole`, which no labeled object has."""
    if seeded.shape[1] == whole.shape[1]:
        return seeded
    wide = whole + 0
    wide[:, : seeded.shape[1]] = seeded
    return wide


def new_names(classes: np.ndarray, n: int) -> np.ndarray:
    """Names for new classes: the next whole numbers, or "new 1", "new 2", ... beside texts."""
    if classes.dtype.kind in "iu":
        top = int(classes.max())
        found = range(top + 1, top + n + 1)  # a small type may end before the last of them, and would begin again
        return np.array(found, dtype=classes.dtype if top + n <= np.iinfo(classes.dtype).max else np.int64)
    if classes.dtype.kind in "fb":
        return np.arange(1, n + 1) + float(classes.max())
    return np.array([f"new {i}" for i in range(1, n + 1)], dtype=np.str_)

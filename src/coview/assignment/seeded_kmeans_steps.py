"""Seeded spherical k-means on several views: where sweeps begin, and a sweep as the loop's functions.

Rows of every view have length 1; labeled objects keep their labels. A sweep, with one centroid per label and view:

    scores   s_vi = <x_v, mu_vi>
    labels   y by the rule (sum, product, max_agree, co_train; see `decision_rules.py`)
    learning mu_vi = sum of the x_v with label i, scaled to length 1; one without objects stays as it was

For sum and max_agree both steps raise the same objective, so that it never falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coview.assignment.decision_rules import DecisionRule
from coview.engines.protocol import Block, Engine
from coview.engines.state import Tree
from coview.views.arrays import unit_rows
from coview.views.views import Views

__all__ = ["AssignmentSteps", "by_class", "new_names", "seed_beside", "seed_centroids", "unit_views"]


@dataclass(frozen=True)
class AssignmentSteps:
    """Rows: labels (n x views x labels), codes, flips, ties, assigned; shared: centroids {view: features x labels}.

    A block carries "given" (labels of labeled objects) and "code" (-1 is free).
    """

    rule: DecisionRule
    n_labels: int

    def start(self, block: Block, shared: Tree, seed: int, restart: int, ops: Engine) -> Tree:
        """Labeled objects have their labels, the others none yet."""
        given, codes = ops.to_numpy(block.extra["given"]), ops.to_numpy(block.extra["code"])
        labels = given[:, None, :] & self.present(block)[:, :, None]
        n = len(block)
        return {
            "labels": labels,
            "codes": codes.copy(),
            "flips": np.zeros(n, dtype=np.int64),
            "ties": np.zeros(n, dtype=bool),
            "assigned": codes >= 0,
        }

    def row_step(
        self, block: Block, rows: Tree, shared: Tree, ops: Engine, stats: Tree | None
    ) -> tuple[Tree, Tree | None]:
        """Score, assign, and add up the objects of each label."""
        scores, present = self.scores(block, shared, ops), self.present(block)
        new = self.assign(block, scores, ops)
        new["flips"] = (new["labels"] != rows["labels"]).sum(axis=(1, 2))
        if stats is not None:
            # what had no labels yet is judged by its first ones
            before, fresh = rows["labels"].copy(), ~rows["assigned"]
            before[fresh] = new["labels"][fresh]
            stats["objective"] = stats.get("objective", 0.0) + self.rule.objective(scores, before, present).sum()
            sums = stats.setdefault("sums", {})
            taught = self.rule.teaching_labels(new["labels"], present)
            for v, (name, X) in enumerate(block.views.items()):
                onto = ops.asarray(taught[:, v].astype(scores.dtype))
                sums[name] = ops.accumulate(X, onto, sums.get(name))
        return new, stats

    def shared_step(self, stats: Tree, shared: Tree, ops: Engine) -> Tree:
        """Centroids of length 1."""
        return {
            "centroids": {name: unit_columns(total, shared["centroids"][name]) for name, total in stats["sums"].items()}
        }

    def objective(self, block: Block, rows: Tree, shared: Tree, ops: Engine) -> float:
        """Objective of the labels of the rows."""
        return float(self.rule.objective(self.scores(block, shared, ops), rows["labels"], self.present(block)).sum())

    def normalize_rows(self, rows: Tree) -> Tree:
        """Labels are never extrapolated."""
        return rows

    def normalize_shared(self, shared: Tree) -> Tree:
        """Centroids are never extrapolated."""
        return shared

    # -- pieces

    def scores(self, block: Block, shared: Tree, ops: Engine) -> np.ndarray:
        """Scores (n, views, labels) of a block: cosines, which the rule weighs."""
        parts = [ops.to_numpy(ops.project(X, shared["centroids"][name])) for name, X in block.views.items()]
        return np.stack(parts, axis=1)

    def present(self, block: Block) -> np.ndarray:
        """Which rows of a block have which view."""
        return np.column_stack(list(block.present.values()))

    def assign(self, block: Block, scores: np.ndarray, ops: Engine) -> Tree:
        """Row state by given scores; labeled objects keep their labels."""
        present = self.present(block)
        labels = self.rule.assign(scores, present)
        codes, ties = self.rule.decide(scores, labels, present)
        known = ops.to_numpy(block.extra["code"]) if "code" in block.extra else np.full(len(block), -1)
        fixed = known >= 0
        if fixed.any():
            given = ops.to_numpy(block.extra["given"])[fixed]
            labels[fixed] = given[:, None, :] & present[fixed][:, :, None]
            codes[fixed], ties[fixed] = known[fixed], False
        return {"labels": labels, "codes": codes, "ties": ties, "assigned": np.ones(len(block), dtype=bool)}


def unit_columns(total: Any, before: Any) -> Any:
    """Columns scaled to length 1; a column of zeros becomes that of `before`. NumPy arrays or tensors."""
    length = (total * total).sum(0) ** 0.5
    empty = length <= 0
    scaled = total / (length + empty)
    if bool(empty.any()):
        scaled[:, empty] = before[:, empty]
    return scaled


# -- where sweeps begin


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

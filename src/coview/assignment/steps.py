"""Seeded spherical k-means on several views as the loop's functions.

Rows of every view have length 1; labeled objects keep their labels. A sweep, with one centroid per label and view:

    scores   s_vi = <x_v, mu_vi>
    labels   y by the rule (sum, product, max_agree, co_train; see `combine.py`)
    learning mu_vi = sum of the x_v with label i, scaled to length 1; one without objects stays as it was

For sum and max_agree both steps raise the same objective, so that it never falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coview.assignment.combine import Rule
from coview.engines.protocol import Block, Engine
from coview.engines.steps import Tree

__all__ = ["AssignmentSteps"]


@dataclass(frozen=True)
class AssignmentSteps:
    """Rows: labels (n x views x labels), codes, flips, ties, assigned; shared: centroids {view: features x labels}.

    A block carries "given" (labels of labeled objects) and "code" (-1 is free).
    """

    rule: Rule
    n_labels: int
    weights: dict[str, float]

    def start(self, block: Block, shared: Tree, seed: int, ops: Engine) -> Tree:
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
            stats["objective"] = stats.get("objective", 0.0) + self.rule.worth(scores, before, present).sum()
            sums = stats.setdefault("sums", {})
            taught = self.rule.teachers(new["labels"], present)
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
        """What the labels of the rows are worth."""
        return float(self.rule.worth(self.scores(block, shared, ops), rows["labels"], self.present(block)).sum())

    def normalize_rows(self, rows: Tree) -> Tree:
        """Labels are never extrapolated."""
        return rows

    def normalize_shared(self, shared: Tree) -> Tree:
        """Centroids are never extrapolated."""
        return shared

    # -- pieces

    def scores(self, block: Block, shared: Tree, ops: Engine) -> np.ndarray:
        """Scores (n, views, labels) of a block."""
        found = []
        for name, X in block.views.items():
            part = ops.to_numpy(ops.project(X, shared["centroids"][name]))
            weight = self.weights.get(name, 1.0)
            found.append(part if weight == 1.0 else part * part.dtype.type(weight))
        return np.stack(found, axis=1)

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

"""The steps of co-regularized PLSA: every view has a topic mixture of its own, and mixtures pull at each other.

    objective = sum_v sum_df x_vdf log (H_v F_v^T)_df - sum_(v<u) w_vu sum_d D(h_vd, h_ud)

H_v = p(y|d,v) (objects x topics), F_v = p(f|y,v) (features x topics). With R_v = X_v / (H_v F_v^T) on the non-zeros,
the expected counts q = H_v * R_v F_v make sum_k q_k log h_k a lower bound of the likelihood that touches it at the
current H_v, so that

    H_v, view by view   the maximum of  sum_k q_k log h_k - sum_u w_vu D(h, h_u)   on the simplex (kernels/simplex.py)
    F_v                 columns(F_v * R_v^T H_v), as in PLSA, with the fresh H_v

never lower the objective. L1 can hold all mixtures of an object at one point, each for the sake of the others, though
all would gain by moving: where no view moved, they move together, to the shares of the summed q, which maximizes the
same lower bound over all h_v = h.

The rows of a block are one table, the columns of its views side by side. A view that an object lacks takes no part in
the objective; its columns are imputed from those of the views that are there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from coview.engines.protocol import Block, Engine
from coview.engines.state import Tree
from coview.engines.threads import Team, thread_count
from coview.plsa.divergence import total_divergence
from coview.plsa.factors import ROW_FLOOR, random_matrix
from coview.plsa.steps import LinkSteps

__all__ = ["CoSteps"]

_ROWS = 4096  # rows per chunk of the solver


@dataclass(frozen=True)
class CoSteps(LinkSteps):
    """Steps of `CoPLSA`: rows = {"mixture": objects x (views * topics)}, shared as in link-PLSA.

    `width` is the number of topics. A block carries "have" (objects x views: which rows hold data) and may carry
    "start" (a table to begin with). Views are taken in the order of their names, so that their order in the data does
    not matter.
    """

    divergence: str = "skl"
    pairs: dict[tuple[str, str], float] = field(default_factory=dict)

    def start(self, block: Block, shared: Tree, seed: int, restart: int, ops: Engine) -> Tree:
        """Given rows, or the same random mixture in every view; even where an object has no view at all."""
        dtype = next(iter(shared["profiles"].values())).dtype
        if "start" in block.extra:
            return self.normalize_rows({"mixture": ops.asarray(ops.to_numpy(block.extra["start"]), dtype)})
        rows = random_matrix(seed, block.start, block.stop, self.width, np.float64)
        rows[~ops.to_numpy(block.extra["have"]).any(axis=1)] = 1.0 / self.width
        return {"mixture": ops.asarray(np.tile(rows, len(block.views)), dtype)}

    def row_step(
        self, block: Block, rows: Tree, shared: Tree, ops: Engine, stats: Tree | None
    ) -> tuple[Tree, Tree | None]:
        """New mixtures, view by view; with `stats`, the pass over the features as well."""
        profiles, have = shared["profiles"], ops.to_numpy(block.extra["have"])
        old = ops.to_numpy(rows["mixture"])
        new = np.array(old)
        names = list(block.views)
        likelihood: Any = 0.0
        summed = np.zeros((len(block), self.width))
        for name in sorted(names):
            mixture = ops.asarray(old[:, self._columns(names, name)])
            pull, value = ops.ratio_rows(block.views[name], mixture, profiles[name])
            likelihood = likelihood + value
            counts = ops.to_numpy(mixture * pull)
            self._solve(counts, new, have, names, name, ops)
            if self.divergence == "l1":
                summed += counts
        if self.divergence == "l1":
            self._move_together(summed, old, new, have)
        if not have.all():
            for name in sorted(names):
                self._solve(np.zeros(summed.shape, old.dtype), new, have, names, name, ops, absent=True)
        if stats is not None:
            sums = stats.setdefault("ratio", {})
            for name, X in block.views.items():
                mixture = ops.asarray(new[:, self._columns(names, name)])
                sums[name] = ops.ratio_features(X, mixture, profiles[name], sums.get(name))
            penalty = self._penalty(old, have, names)
            stats["objective"] = stats.get("objective", 0.0) + likelihood - penalty
        return {"mixture": ops.asarray(new)}, stats

    def objective(self, block: Block, rows: Tree, shared: Tree, ops: Engine) -> float:
        """Log-likelihood of the block less its disagreement."""
        table, names = ops.to_numpy(rows["mixture"]), list(block.views)
        likelihood = self.likelihood(block, table, shared, ops)
        return likelihood - self._penalty(table, ops.to_numpy(block.extra["have"]), names)

    def likelihood(self, block: Block, table: np.ndarray, shared: Tree, ops: Engine) -> float:
        """Log-likelihood of the block."""
        names = list(block.views)
        return float(
            sum(
                ops.log_likelihood(X, ops.asarray(table[:, self._columns(names, name)]), shared["profiles"][name]).sum()
                for name, X in block.views.items()
            )
        )

    def normalize_rows(self, rows: Tree) -> Tree:
        """Every view's mixtures back onto the simplex."""
        table = rows["mixture"].clip(min=ROW_FLOOR)
        views = table.reshape(len(table), -1, self.width)
        return {"mixture": (views / views.sum(axis=2, keepdims=True)).reshape(table.shape)}

    # -- pieces

    def _columns(self, names: list[str], name: str) -> slice:
        first = names.index(name) * self.width
        return slice(first, first + self.width)

    def _solve(
        self,
        counts: np.ndarray,
        table: np.ndarray,
        have: np.ndarray,
        names: list[str],
        name: str,
        ops: Engine,
        *,
        absent: bool = False,
    ) -> None:
        """Rewrite one view's columns of the table: of the objects that have the view, or of those that lack it."""
        from coview.kernels import simplex  # numba, only when it is needed

        solver = {"skl": simplex.skl_rows, "l2": simplex.l2_rows, "l1": simplex.l1_rows}[self.divergence]
        weights = np.array([self.pairs.get((min(name, other), max(name, other)), 0.0) for other in names])
        view = names.index(name)
        chunks = [(i, min(i + _ROWS, len(table))) for i in range(0, len(table), _ROWS)]
        team = getattr(ops, "team", None) or _team()
        team.map(lambda i, j: solver(counts, table, view, weights, have, absent, ROW_FLOOR, i, j), chunks)

    def _move_together(self, summed: np.ndarray, old: np.ndarray, new: np.ndarray, have: np.ndarray) -> None:
        """Where all mixtures of an object are one and none of them moved, give all the shares of the summed counts."""
        shape = (len(old), have.shape[1], self.width)
        before, after = old.reshape(shape), new.reshape(shape)
        first = after[np.arange(len(old)), have.argmax(axis=1)][:, None]
        near = 1e-12 if old.dtype == np.float64 else 1e-6
        still = (np.abs(before - after) <= near) & (np.abs(after - first) <= near)
        total = summed.sum(axis=1)
        rest = (still.all(axis=2) | ~have).all(axis=1) & (have.sum(axis=1) > 1) & (total > 0)
        if rest.any():
            shares = np.maximum(summed[rest] / total[rest, None], ROW_FLOOR)
            shares /= shares.sum(axis=1, keepdims=True)
            after[rest] = np.where(have[rest][:, :, None], shares[:, None], after[rest])

    def _penalty(self, table: np.ndarray, have: np.ndarray, names: list[str]) -> float:
        mixtures = {name: table[:, self._columns(names, name)] for name in names}
        masks = {name: have[:, v] for v, name in enumerate(names)}
        return float(total_divergence(self.divergence, mixtures, masks, self.pairs).sum())


@cache
def _team() -> Team:
    """Threads for engines that have none of their own: the solver always runs on the processor."""
    return Team(thread_count(None))

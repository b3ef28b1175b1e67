"""The steps of pairwise co-regularized PLSA: pairs of objects are to be as similar in one view as in another.

    objective = sum_v t_v L_v - sum_(v<w) coupling_vw sum_ij (S^v_ij - S^w_ij)^2,   S^v_ij = exp(-|P_i - P_j|^2 / sigma)

L_v is the log-likelihood of PLSA, P = p(y|d,v) by rows, and ij runs over sampled pairs, in both orders, that lie inside
a block. With the row statistic n = P * R F and g = t n / P - coupling dR/dP, the published step (eq. 13 and 17) is

    P <- rows(P * g)  =  P + s P * (g - m),     m_i = sum_k P_ik g_ik,  s_i = 1 / m_i

which leaves the simplex where g is negative, and may lower the objective. The safeguarded one takes that s_i where
g >= 0 and m_i > 0, else 0.9 of the largest feasible s_i, and halves all s until the objective does not fall: the
direction P * (g - m) points uphill, so that this ends. A trial is judged first by the lower bound sum_k n_k log P_k of
the likelihood, which costs nothing, and by the likelihood itself where the bound is not enough; by the bound alone
where topics are learned from the same expectations (the joint schedule), since only then both moves together are sure
to climb.

A view that an object lacks takes no part in the objective: its mixture there is even, and stays so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from coview.engines.protocol import Block, Engine
from coview.engines.state import Tree
from coview.engines.threads import Team, thread_count
from coview.plsa.factors import ROW_FLOOR, random_matrix
from coview.plsa.steps import LinkSteps
from coview.views.views import Views

__all__ = ["PairField", "PairSteps", "Partners"]

HALVINGS = 60
SHORT = 0.9  # of the largest feasible step
_CHUNK = 65_536  # pairs below which another thread costs more than it gives
_BUFFERS = 4  # gradients that are summed, one per chunk of rows


@dataclass(frozen=True)
class Partners:
    """Draws the pairs of a block, each once: partners of each row (rows x most pairs of a row, -1 = none).

    A share of all pairs of the block, or the block's part of so many pairs among all `n_rows` rows.

    Examples
    --------
    >>> X = Views(x=np.ones((4, 1)))
    >>> sorted((min(i, j), max(i, j)) for i, row in enumerate(Partners(0, 1.0)(X).tolist()) for j in row if j >= 0)
    [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    >>> int((Partners(0, n_pairs=3, n_rows=8)(X) >= 0).sum())  # half of the rows
    2
    """

    seed: int
    fraction: float = 0.05
    n_pairs: int | None = None
    n_rows: int = 0

    def __call__(self, views: Views) -> np.ndarray:
        from coview.kernels.pairs import draw_partners  # numba, only when it is needed

        n = len(views)
        every = n * (n - 1) // 2
        wanted = self.fraction * every if self.n_pairs is None else self.n_pairs * n / self.n_rows
        total = min(int(np.ceil(wanted - 1e-9)), every)
        # row i owns as many pairs as objects follow it on a half circle; see the kernel
        owned = np.full(n, n // 2)
        if n % 2 == 0:
            owned[n // 2 :] -= 1
        exact = owned * (total / max(every, 1))
        counts = np.floor(exact + 1e-9).astype(np.int64)
        order = np.random.default_rng(self.seed).permutation(n)
        order = order[np.argsort(-(exact - counts)[order], kind="stable")]
        counts[order[: total - int(counts.sum())]] += 1
        out = np.empty((n, int(counts.max(initial=0))), dtype=np.int32)
        draw_partners(self.seed, counts, out)
        return out


class PairField:
    """The regularizer of one block: similarities of its pairs in every view, value and gradient of one view's part.

    Parameters
    ----------
    partners : ndarray of int (n_rows, pairs per row)
        Partners of each row, each pair once, -1 = none.
    have : ndarray of bool (n_rows, n_views)
        Which objects have which view.
    weights : ndarray (n_views, n_views)
        Weight of each pair of views, symmetric, zero on the diagonal.
    sigma : float
        Width of the similarity.
    mixtures : list of ndarray (n_rows, n_topics)
        Mixtures of every view.
    team : Team
        Threads; results do not depend on their number.

    Examples
    --------
    >>> P, Q = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.5, 0.5], [0.5, 0.5]])
    >>> field = PairField(np.array([[1], [-1]]), np.ones((2, 2), bool), np.eye(2)[::-1], 2.0, [P, Q], Team(1))
    >>> round(field.value(), 4), round(float(2 * (np.exp(-1) - 1) ** 2), 4)
    (0.7992, 0.7992)
    """

    def __init__(
        self,
        partners: np.ndarray,
        have: np.ndarray,
        weights: np.ndarray,
        sigma: float,
        mixtures: list[np.ndarray],
        team: Team,
    ) -> None:
        self.partners, self.have, self.weights, self.sigma, self.team = partners, have, weights, sigma, team
        pieces = int(np.clip(partners.size // _CHUNK, 1, _BUFFERS))
        cuts = np.linspace(0, len(partners), pieces + 1).astype(int).tolist()
        self.chunks = list(pairwise(cuts))
        self.similar = np.empty((len(mixtures), *partners.shape))
        for v, mixture in enumerate(mixtures):
            self.similar[v] = self.similarities(v, mixture)

    def similarities(self, v: int, mixture: np.ndarray) -> np.ndarray:
        """Similarities of the pairs if view v had these mixtures; -1 where there is none."""
        from coview.kernels import pairs

        out = np.empty(self.partners.shape)
        have = np.ascontiguousarray(self.have[:, v])
        mixture = np.ascontiguousarray(mixture)
        self.team.map(lambda i, j: pairs.similarities(mixture, have, self.partners, self.sigma, out, i, j), self.chunks)
        return out

    def part(self, v: int, similar: np.ndarray | None = None) -> float:
        """What view v has to do with the value, with its own similarities or with others."""
        from coview.kernels import pairs

        own = self.similar[v] if similar is None else similar
        weights = np.ascontiguousarray(self.weights[v])
        found = self.team.map(lambda i, j: pairs.pair_value(own, self.similar, weights, i, j), self.chunks)
        return float(np.sum(found))

    def value(self) -> float:
        """The weighted regularizer; each pair of views counts once."""
        return 0.5 * sum(self.part(v) for v in range(len(self.similar)))

    def gradient(self, v: int, mixture: np.ndarray) -> np.ndarray:
        """Gradient of the value with respect to the mixtures of view v, which are those of its similarities."""
        from coview.kernels import pairs

        buffers = np.zeros((len(self.chunks), *mixture.shape))
        weights, places = np.ascontiguousarray(self.weights[v]), {i: b for b, (i, _) in enumerate(self.chunks)}
        mixture, own = np.ascontiguousarray(mixture), self.similar[v]

        def work(i: int, j: int) -> None:
            buffer = buffers[places[i]]
            pairs.pair_gradient(mixture, self.partners, own, self.similar, weights, self.sigma, buffer, i, j)

        self.team.map(work, self.chunks)
        return buffers.sum(axis=0)


@dataclass(frozen=True)
class PairSteps(LinkSteps):
    """Steps of `PairwiseCoPLSA`: rows = {"mixture": objects x (views * topics)}, shared = link-PLSA's and "sigma".

    `width` is the number of topics, `weights` are those of the views. A block carries "have" (objects x views: which
    rows hold data) and "partners" (see `Partners`), and may carry "start" (a table to begin with) and "mass" (what each
    object's data weigh): with it, weights of pairs of views are in units of mass per partner. Views are taken in the
    order of their names, so that their order in the data does not matter.
    """

    pairs: dict[tuple[str, str], float] = field(default_factory=dict)
    step: str = "safeguarded"

    def start(self, block: Block, shared: Tree, seed: int, restart: int, ops: Engine) -> Tree:
        """Given rows, or the same random mixture in every view; even where an object lacks the view."""
        dtype = next(iter(shared["profiles"].values())).dtype
        have = ops.to_numpy(block.extra["have"])
        if "start" in block.extra:
            table = np.array(ops.to_numpy(block.extra["start"]), dtype=np.float64)
        else:
            table = np.tile(random_matrix(seed, block.start, block.stop, self.width, np.float64), len(block.views))
        views = table.reshape(len(block), len(block.views), self.width)
        views[~have] = 1.0 / self.width
        return self.normalize_rows({"mixture": ops.asarray(table, dtype)})

    def row_step(
        self, block: Block, rows: Tree, shared: Tree, ops: Engine, stats: Tree | None
    ) -> tuple[Tree, Tree | None]:
        """New mixtures, view by view; with `stats`, the pass over the features as well."""
        profiles, names = shared["profiles"], list(block.views)
        old = ops.to_numpy(rows["mixture"])
        new = np.array(old)
        pairs = self._field(block, old, shared, ops)
        objective: Any = -pairs.value()
        for name in sorted(names):
            v, X = names.index(name), block.views[name]
            mixture = ops.asarray(old[:, self._columns(v)])
            pull, likelihood = ops.ratio_rows(X, mixture, profiles[name])
            weight = self.weights.get(name, 1.0)
            objective = objective + weight * likelihood
            move = _Move(pairs, v, ops.to_numpy(mixture), ops.to_numpy(pull), weight)
            if self.step == "paper":
                new[:, self._columns(v)] = move.published()
                continue

            def exact(trial: np.ndarray, X: Any = X, F: Any = profiles[name], at: float = float(likelihood)) -> float:
                return float(ops.log_likelihood(X, ops.asarray(trial), F).sum()) - at

            new[:, self._columns(v)] = move.safeguarded(exact if self.alternating else None)
        if stats is not None:
            sums, used = stats.setdefault("ratio", {}), new if self.alternating else old
            for v, (name, X) in enumerate(block.views.items()):
                mixture = ops.asarray(used[:, self._columns(v)])
                sums[name] = ops.ratio_features(X, mixture, profiles[name], sums.get(name))
            stats["objective"] = stats.get("objective", 0.0) + objective
        return {"mixture": ops.asarray(new)}, stats

    def objective(self, block: Block, rows: Tree, shared: Tree, ops: Engine) -> float:
        """Weighted log-likelihood of the block less its regularizer."""
        table = ops.to_numpy(rows["mixture"])
        total = -self._field(block, table, shared, ops).value()
        for v, (name, X) in enumerate(block.views.items()):
            mixture = ops.asarray(table[:, self._columns(v)])
            total += self.weights.get(name, 1.0) * float(ops.log_likelihood(X, mixture, shared["profiles"][name]).sum())
        return total

    def update(self, shared: Tree, pulls: Tree, ops: Engine) -> Tree:
        return {**super().update(shared, pulls, ops), "sigma": shared["sigma"]}

    def normalize_rows(self, rows: Tree) -> Tree:
        """Every view's mixtures back onto the simplex."""
        table = rows["mixture"].clip(min=ROW_FLOOR)
        views = table.reshape(len(table), -1, self.width)
        return {"mixture": (views / views.sum(axis=2, keepdims=True)).reshape(table.shape)}

    def normalize_shared(self, shared: Tree) -> Tree:
        return {**super().normalize_shared(shared), "sigma": shared["sigma"]}

    # -- pieces

    def _columns(self, v: int) -> slice:
        return slice(v * self.width, (v + 1) * self.width)

    def _field(self, block: Block, table: np.ndarray, shared: Tree, ops: Engine) -> PairField:
        names = list(block.views)
        weights = np.array([[self.pairs.get((min(a, b), max(a, b)), 0.0) for b in names] for a in names])
        partners = ops.to_numpy(block.extra["partners"])
        if "mass" in block.extra:  # an object has two places in each pair
            weights *= float(ops.to_numpy(block.extra["mass"]).sum()) / max(2 * int((partners >= 0).sum()), 1)
        return PairField(
            partners,
            ops.to_numpy(block.extra["have"]),
            weights,
            float(ops.to_numpy(shared["sigma"])[0]),
            [table[:, self._columns(v)] for v in range(len(names))],
            getattr(ops, "team", None) or _team(),
        )


class _Move:
    """One step of the mixtures of one view; similarities in the field move with them."""

    def __init__(self, pairs: PairField, v: int, mixture: np.ndarray, pull: np.ndarray, weight: float) -> None:
        self.pairs, self.v, self.mixture, self.weight = pairs, v, mixture, weight
        self.have = pairs.have[:, v]
        self.P = mixture.astype(np.float64)
        self.counts = weight * self.P * pull
        self.slope = weight * pull - pairs.gradient(v, mixture)

    def published(self) -> np.ndarray:
        """Eq. 17; negative entries become 0, and a row that has nothing else stays where it is."""
        raised = np.maximum(self.P * self.slope, 0.0)
        total = raised.sum(axis=1, keepdims=True)
        moved = np.where(total > 0, raised / np.where(total > 0, total, 1.0), self.P)
        found = self._as_given(moved)
        self.pairs.similar[self.v] = self.pairs.similarities(self.v, found)
        return found

    def safeguarded(self, exact: Any) -> np.ndarray:
        """Shorten the step until the objective does not fall; `exact` gives the gain of likelihood of a trial."""
        mean = (self.P * self.slope).sum(axis=1)
        lowest = self.slope.min(axis=1)
        room = mean - lowest
        free = (lowest >= 0) & (mean > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            length = np.where(free, 1.0 / mean, np.where(room > 0, SHORT / room, 0.0))
        change = self.P * (self.slope - mean[:, None]) * length[:, None]
        before = self.pairs.part(self.v)
        for _ in range(HALVINGS):
            trial = self._as_given(self.P + change)
            similar = self.pairs.similarities(self.v, trial)
            cost = self.pairs.part(self.v, similar) - before
            bound = float(np.vdot(self.counts, np.log(trial / self.P)))
            if bound >= cost or (exact is not None and self.weight * exact(trial) >= cost):
                self.pairs.similar[self.v] = similar
                return trial
            change *= 0.5
        return self.mixture

    def _as_given(self, moved: np.ndarray) -> np.ndarray:
        """Floored rows that sum to one, of the type of the mixtures; objects that lack the view stay."""
        moved = np.maximum(moved, ROW_FLOOR)
        moved /= moved.sum(axis=1, keepdims=True)
        return np.where(self.have[:, None], moved, self.P).astype(self.mixture.dtype)


@cache
def _team() -> Team:
    """Threads for engines that have none of their own: the regularizer is always made on the processor."""
    return Team(thread_count(None))

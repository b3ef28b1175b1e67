"""The protocols of a fit: engines that compute, blocks of rows, the steps of a model, holders of the rows.

A model sees `Engine` and plain arrays, never NumPy, numba or torch by name: the same row step runs on each engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from coview.engines.pair_field import PairField
from coview.engines.state import Tree
from coview.engines.threads import Team
from coview.views.lazy import LazyViews
from coview.views.sources import memory_size
from coview.views.views import Views

__all__ = [
    "Block",
    "Engine",
    "Extra",
    "Gate",
    "Handle",
    "Holder",
    "RowSteps",
    "Steps",
    "floating_type",
    "make_block",
    "make_blocks",
    "row_bytes",
]

Array = Any  # a NumPy array or a tensor of the engine's device
Handle = Any  # one view's rows in the form that the engine likes best
Extra = Mapping[str, Any]  # what blocks carry: arrays over all rows, or functions of some rows (Views)
Gate = Callable[[Views], Views]


class Engine(Protocol):
    """The face that a model's steps see."""

    name: str
    host_memory_limit: int | None  # most bytes that this process may take; a device's own limit says nothing of them

    @property
    def tensors(self) -> bool:
        """Whether answers to users stay on the engine's device."""

    @property
    def team(self) -> Team | None:
        """Threads for compiled functions, where the engine has its own."""

    @property
    def xp(self) -> Any:
        """Module of the engine's arrays, NumPy or torch, for functions that both have and take by position."""

    def limits(self) -> AbstractContextManager[Any]:
        """Context in which libraries called from the steps use no more threads than the engine."""

    def prepare(self, matrix: Any) -> Handle:
        """Take in the rows of one view (CSR or dense), by reference where possible."""

    def block_rows(self, n_components: int, itemsize: int, n_rows: int, row_bytes: float) -> int:
        """Rows per block that suit this engine's caches and memory; `row_bytes` is what a row of all views takes."""

    def asarray(self, array: Any, dtype: Any = None) -> Array:
        """Bring an array to the engine."""

    def to_numpy(self, array: Array) -> np.ndarray:
        """Bring an array back."""

    def ratio_rows(self, X: Handle, A: Array, B: Array) -> tuple[Array, float]:
        """R @ B with R = X / (A @ B.T) on the non-zeros of X, and the log-likelihood sum X log(A @ B.T)."""

    def ratio_features(self, X: Handle, A: Array, B: Array, into: Array | None) -> Array:
        """R.T @ A, added to `into` where that is given."""

    def row_shares(self, old: Array, pull: Array, floor: float) -> Array:
        """Rows of old * pull divided by their sums, at least `floor`; a row that sums to zero keeps its old value."""

    def settled_rows(
        self,
        parts: list[tuple[Handle, Array, float]],
        start: Array,
        sweeps: int,
        tol: float,
        floor: float,
        stays: float,
    ) -> Array | None:
        """Mixtures of new rows from a start, all steps of fold-in at once (`plsa/mixture.py`, `fold_step`).

        Parts are rows, profiles and weight of each view. None where the engine takes one step of all rows at a time.
        """

    def clamp(self, mixture: Array, codes: Array) -> Array:
        """Rows whose code is not -1 hold their class alone; `mixture` may be overwritten."""

    def column_shares(self, old: dict[str, Array], sums: dict[str, Array], floor: float) -> dict[str, Array]:
        """Columns of old * sums divided by their sums over all parts, likewise; `sums` may be overwritten."""

    def log_likelihood(self, X: Handle, A: Array, B: Array) -> Array:
        """Row sums of X log(A @ B.T), in float64."""

    def project(self, X: Handle, W: Array) -> Array:
        """X @ W."""

    def accumulate(self, X: Handle, W: Array, into: Array | None) -> Array:
        """X.T @ W, added to `into` where that is given."""

    def quadratic_shares(self, old: Array, counts: Array, slope: Array, curvature: Array, floor: float) -> Array:
        """Rows h of the simplex that maximize ``counts log h + slope h - curvature |h - old|^2 / 2``, at least `floor`.

        Curvatures are one per row; a row without counts and curvature keeps its old value.
        """

    def coupled_shares(
        self,
        divergence: str,
        counts: list[Array],
        table: Array,
        couplings: np.ndarray,
        have: Array,
        order: list[int],
        floor: float,
    ) -> tuple[Array, np.ndarray]:
        """Rows of the simplex by view, side by side, that maximize counts_v log h_v - sum_u couplings_vu D(h_v, h_u).

        D is "skl", "l2" or "l1" (see `plsa/co_plsa.py`). Views are taken in that order, each given the others, or all
        at once (L1); one that an object lacks (`have`: objects x views) is imputed from those that it has. Second, what
        was added to the counts of each object where its old rows are, as a share of their mass.
        """

    def pair_field(
        self, partners: Array, have: Array, couplings: np.ndarray, sigma: float, mixtures: list[Array]
    ) -> PairField:
        """Similarities of pairs of rows in every view, with the value and the gradient of what they cost."""

    def vector_products(self, X: Handle, W: Array, exact: bool = False) -> Array:
        """X @ W as an array of W's type, multiplied in the floating type of the rows, or in float64 where `exact`.

        Rows are never copied whole.
        """

    def vector_moments(self, X: Handle, A: Array, exact: bool = False) -> Array:
        """A.T @ X in float64, multiplied some rows at a time in their floating type, or in float64 where `exact`."""

    def square_sums(self, X: Handle) -> Array:
        """Squared length of each row, in float64."""

    def row_sums(self, X: Handle) -> Array:
        """Sum of each row, in float64."""

    def take(self, X: Handle, rows: np.ndarray) -> Handle:
        """Some rows of a view."""

    def comparable_rows(self, X: Handle, turn: Array, offset: Array, cosine: bool) -> tuple[Array, Array]:
        """X turn - offset in single precision, by cosines with rows of length 1; and which rows are not empty then."""

    def right_vectors(self, X: Handle, count: int, seed: int) -> Array:
        """Right singular vectors (count x columns), those of the largest singular values first."""

    def leading_pairs(self, matrices: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Largest eigenvalues of each symmetric matrix, rising, and their vectors (matrices x rows x count)."""

    def kmeans_centers(self, parts: list[Array], n_clusters: int, n_init: int, seed: int) -> np.ndarray:
        """Centers of k-means, the best of some starts; the parts are rows one below the other."""

    def unit_rows(self, X: Handle) -> Handle:
        """Rows of length 1; empty ones stay."""

    def kmeans_labels(self, parts: list[Handle], n_clusters: int, seed: int) -> np.ndarray:
        """Clusters of one start of k-means on rows whose parts stand side by side, with scikit-learn's draws."""

    def beside(self, parts: list[Array]) -> Array:
        """Arrays side by side, along the last axis."""

    def nearest_rows(self, X: Handle, among: Handle | None, n_nearest: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and positions (rows x nearest) of each row's nearest in `among`, rising; None is the other rows."""

    def nearest_anchors(self, P: Array, anchors: Array, n_nearest: int) -> tuple[Array, Array]:
        """Positions and weights (rows x repeats x nearest) of each row's nearest anchors (repeats x anchors x columns).

        The weights are w_j = (d_(s+1) - d_j) / sum, d squared distances, and even where only rounding tells them apart:
        the sum is below ``1e-6 s (|p|^2 + |a|^2)`` of the row p and its anchor number s + 1.
        """

    def anchor_gram(self, positions: Array, weights: Array, into: Array) -> Array:
        """Z' R^-1 Z of each repeat, added to `into` (repeats x anchors x anchors); Z by rows, R its row sums."""

    def anchor_embedding(self, positions: Array, weights: Array, maps: Array) -> Array:
        """Z maps of each repeat, each row of it brought to length 1, side by side."""

    def center_sums(self, rows: Array, centers: Array) -> tuple[Array, np.ndarray, float]:
        """Nearest center of each row, sums of the rows by center with their number last, sum of squared distances."""


@dataclass
class Block:
    """Some rows of every view, with what a model clamps or weighs there."""

    start: int
    stop: int
    views: dict[str, Handle]
    present: dict[str, np.ndarray]
    extra: dict[str, Array] = field(default_factory=dict)  # e.g. clamped labels: first axis = the rows of the block

    def __len__(self) -> int:
        return self.stop - self.start

    def take(self, rows: np.ndarray, engine: Engine) -> Block:
        """Block of some of the rows (sorted positions within this block)."""
        return Block(
            0,
            len(rows),
            {name: engine.take(X, rows) for name, X in self.views.items()},
            {name: mask[rows] for name, mask in self.present.items()},
            {name: array[rows] for name, array in self.extra.items()},
        )


class RowSteps(Protocol):
    """What is done with the rows of a block, where nothing goes on until it converges; see `Steps`."""

    def start(self, block: Block, shared: Tree, seed: int, restart: int, ops: Engine) -> Tree: ...

    def row_step(
        self, block: Block, rows: Tree, shared: Tree, ops: Engine, stats: Tree | None
    ) -> tuple[Tree, Tree | None]: ...


class Steps(RowSteps, Protocol):
    """A batch model as the loop sees it: pure functions over plain dicts of arrays.

        start(block, shared, seed, restart, ops)    -> rows           row state of one block
        row_step(block, rows, shared, ops, stats)   -> rows, stats    of the block alone; adds to stats, if not None
        shared_step(stats, shared, ops)             -> shared         summed statistics to new shared parameters
        objective(block, rows, shared, ops)         -> float          of the rows as given: what must never fall
        normalize_rows(rows), normalize_shared(shared)                back onto the simplexes after an extrapolation

    `row_step` puts the objective of the state that it was *given* into stats["objective"]: it falls out of the pass
    over the data anyway, so that watching a fit costs nothing.
    """

    def shared_step(self, stats: Tree, shared: Tree, ops: Engine) -> Tree: ...

    def objective(self, block: Block, rows: Tree, shared: Tree, ops: Engine) -> float: ...

    def normalize_rows(self, rows: Tree) -> Tree: ...

    def normalize_shared(self, shared: Tree) -> Tree: ...


Rows = Any  # row state of every block, in the holder's own form


class Holder(Protocol):
    """Who holds the rows: the blocks of a fit, their row state, and the passes over them.

    The loop asks a holder, never the blocks themselves. A fit in memory, from disk and on a cluster differ here alone:

        start(steps, shared, seed, restart)  -> rows          row state of every block, in a form of the holder's own
        step(steps, rows, shared)            -> rows, stats   the row step of every block, statistics added up
        objective(steps, rows, shared)       -> float         of all blocks
        combine(function, *rows)             -> rows          function of the row states of one block each
        total(function, *rows)               -> array         the same, added up over the blocks
        pack(rows, path), unpack(tree, path)                  row state for a checkpoint at `path`, and back
        release()                                             forget the data; row states stay
        collect(rows, name)                  -> array         one array of the row state, over all rows

    Functions that are handed in must be picklable: they may run elsewhere.
    """

    ops: Engine  # runs the shared step

    @property
    def stops(self) -> list[int]:
        """Where each block ends: row states of one cut do not fit another."""

    def start(self, steps: RowSteps, shared: Tree, seed: int, restart: int) -> Rows: ...

    def step(self, steps: RowSteps, rows: Rows, shared: Tree) -> tuple[Rows, Tree]: ...

    def objective(self, steps: Steps, rows: Rows, shared: Tree) -> float: ...

    def combine(self, function: Callable[..., Tree], *rows: Rows) -> Rows: ...

    def total(self, function: Callable[..., np.ndarray], *rows: Rows) -> np.ndarray: ...

    def pack(self, rows: Rows, path: Path) -> Any: ...

    def unpack(self, tree: Any, path: Path) -> Rows: ...

    def release(self) -> None: ...

    def collect(self, rows: Rows, name: str) -> Any: ...


def make_block(views: Any, start: int, stop: int, engine: Engine, extra: Extra, gate: Gate | None = None) -> Block:
    """Rows start to stop of views, in memory or lazy, as a block; slices of CSR share the memory of the whole.

    Of `extra`, an array is cut like the rows; a function is asked for what the rows (as Views) carry. Lazy views are
    let in by the gate, which checks and casts what was read.
    """
    part = views[start:stop]
    if gate is not None:
        part = gate(part)
    carried = {
        name: engine.asarray(value(part) if callable(value) else value[start:stop]) for name, value in extra.items()
    }
    return Block(
        start,
        stop,
        {name: engine.prepare(matrix) for name, matrix in part.items()},
        {name: part.present[:, v] for v, name in enumerate(part.names)},
        carried,
    )


def make_blocks(views: Views, engine: Engine, rows_per_block: int, extra: Extra | None = None) -> Iterator[Block]:
    """Cut views into blocks of rows, one after the other."""
    for start in range(0, len(views), rows_per_block):
        yield make_block(views, start, min(start + rows_per_block, len(views)), engine, extra or {})


def floating_type(views: Any) -> np.dtype:
    """Floating type that all views are brought to: float32 where they all are, else float64."""
    kinds = set(views.dtypes.values()) if isinstance(views, LazyViews) else {m.dtype for m in views.values()}
    return np.dtype(np.float32) if kinds == {np.dtype(np.float32)} else np.dtype(np.float64)


def row_bytes(views: Any) -> float:
    """Bytes that a row of all views takes in memory, on average."""
    if isinstance(views, LazyViews):
        return sum(views.nbytes) / len(views)
    return sum(map(memory_size, views.values())) / max(len(views), 1)

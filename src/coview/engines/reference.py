"""The plain NumPy engine: slow, short, and what "right" means for every other engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import brentq, least_squares
from scipy.special import wrightomega
from sklearn.cluster import KMeans

from coview.engines.pair_field import PairField

__all__ = ["Array", "Handle", "ReferenceEngine"]

Array = Any  # a NumPy array or a tensor of the engine's device
Handle = Any  # one view's rows in the form that the engine likes best


class ReferenceEngine:
    """Every operation written as its formula, one row at a time where the formula speaks of non-zeros.

    Other engines are derived from this one, and override what they do faster.
    """

    name = "reference"
    xp: Any = np  # module of the engine's arrays, NumPy or torch, for functions that both have and take by position
    memory_limit: int | None = None  # most bytes that this process may take

    def limits(self) -> AbstractContextManager[Any]:
        """Context in which libraries called from the steps use no more threads than the engine."""
        return nullcontext()

    def prepare(self, matrix: Any) -> Handle:
        """Take in the rows of one view (CSR or dense), by reference where possible."""
        return sparse.csr_array(matrix)

    def block_rows(self, n_components: int, itemsize: int, n_rows: int, row_bytes: float) -> int:
        """Rows per block that suit this engine's caches and memory; `row_bytes` is what a row of all views takes."""
        return 1 << 30

    def asarray(self, array: Any, dtype: Any = None) -> Array:
        """Bring an array to the engine."""
        return np.asarray(array, dtype=dtype)

    def to_numpy(self, array: Array) -> Array:
        """Bring an array back."""
        return array

    def _ratios(self, X: Handle, A: Array, B: Array) -> tuple[sparse.csr_array, Array]:
        model = np.zeros(X.nnz, dtype=A.dtype)
        for i in range(X.shape[0]):
            row = slice(X.indptr[i], X.indptr[i + 1])
            model[row] = B[X.indices[row]] @ A[i]
        # a non-zero that the model gives no mass pulls nothing: 0 / 0 would spread over the whole factor
        weights = np.divide(X.data, model, out=np.zeros_like(model), where=model > 0)
        return sparse.csr_array((weights, X.indices, X.indptr), shape=X.shape), model

    def ratio_rows(self, X: Handle, A: Array, B: Array) -> tuple[Array, float]:
        """R @ B with R = X / (A @ B.T) on the non-zeros of X, and the log-likelihood sum X log(A @ B.T)."""
        weights, _ = self._ratios(X, A, B)
        return weights @ B, float(self.log_likelihood(X, A, B).sum())

    def ratio_features(self, X: Handle, A: Array, B: Array, into: Array | None = None) -> Array:
        """R.T @ A, added to `into` where that is given."""
        weights, _ = self._ratios(X, A, B)
        added = weights.T @ A
        return added if into is None else into + added

    def row_shares(self, old: Array, pull: Array, floor: float) -> Array:
        """Rows of old * pull divided by their sums, at least `floor`; a row that sums to zero keeps its old value."""
        values = old * pull
        sums = values.sum(axis=1, keepdims=True)
        shares = np.divide(values, sums, out=np.zeros_like(values), where=sums > 0)
        return np.where(sums > 0, np.maximum(shares, floor), old)

    def settled_rows(
        self,
        parts: list[tuple[Handle, Array, float]],
        start: Array,
        sweeps: int,
        tol: float,
        floor: float,
        stays: float,
    ) -> Array | None:
        """Mixtures of new rows from a start, all steps of fold-in at once (`plsa/steps.py`, `fold_step`).

        Parts are rows, profiles and weight of each view. None where the engine takes one step of all rows at a time.
        """
        return None

    def clamp(self, mixture: Array, codes: Array) -> Array:
        """Rows whose code is not -1 hold their class alone; `mixture` may be overwritten."""
        fixed = codes >= 0
        mixture[fixed] = 0
        mixture[fixed, codes[fixed]] = 1
        return mixture

    def column_shares(self, old: dict[str, Array], sums: dict[str, Array], floor: float) -> dict[str, Array]:
        """Columns of old * sums divided by their sums over all parts, likewise; `sums` may be overwritten."""
        values = {name: old[name] * part for name, part in sums.items()}
        totals = sum(value.sum(axis=0, dtype=np.float64) for value in values.values())
        return {
            name: np.where(totals > 0, np.maximum(value / np.where(totals > 0, totals, 1.0), floor), old[name]).astype(
                value.dtype
            )
            for name, value in values.items()
        }

    def log_likelihood(self, X: Handle, A: Array, B: Array) -> Array:
        """Row sums of X log(A @ B.T), in float64."""
        _, model = self._ratios(X, A, B)
        terms = X.data * np.log(model, where=model > 0, out=np.zeros(len(model)), dtype=np.float64)
        return np.array([terms[a:b].sum(dtype=np.float64) for a, b in zip(X.indptr[:-1], X.indptr[1:])])

    def project(self, X: Handle, W: Array) -> Array:
        """X @ W."""
        return X @ W

    def accumulate(self, X: Handle, W: Array, into: Array | None = None) -> Array:
        """X.T @ W, added to `into` where that is given."""
        added = X.T @ W
        return added if into is None else into + added

    def quadratic_shares(self, old: Array, counts: Array, slope: Array, curvature: Array, floor: float) -> Array:
        """Rows h of the simplex that maximize ``counts log h + slope h - curvature |h - old|^2 / 2``, at least `floor`.

        Curvatures are one per row; a row without counts and curvature keeps its old value.
        """
        new = old.copy()
        for i, (n, s, c) in enumerate(zip(counts.astype(np.float64), slope.astype(np.float64), curvature)):
            if c > 0:  # else the counts alone decide
                g = old[i] + s / c
                new[i] = self._on_simplex(n / c, g - g.max())
            elif n.sum() > 0:
                new[i] = n / n.sum()
        return np.maximum(new, floor)

    def _on_simplex(self, p: Array, g: Array) -> Array:
        """Maximize p log h - |h - g|^2 / 2: h = (t + sqrt(t^2 + 4 p)) / 2, t = g - eta, and eta where they sum to 1.

        The largest g is 0: no share is above 1, so that eta is at least -1.
        """

        def row(eta: float) -> Array:
            t = g - eta
            root = np.sqrt(t * t + 4 * p)
            return np.where(t > 0, (t + root) / 2, 2 * p / np.where(root - t > 0, root - t, 1.0))

        # entries fall as eta grows: their sum is above 1 at the one end and below it at the other
        high = p.sum() + 1
        h = row(brentq(lambda eta: row(eta).sum() - 1, -1 - 1e-9, high, xtol=1e-15, rtol=1e-15))
        return h / h.sum()

    def omega_shares(self, u: Array, b: Array) -> Array:
        """Rows u / omega(b + s), with the s at which they sum to one; omega + log omega is its argument (float64)."""
        rows = []
        for over, shift in zip(u, b):

            def row(s: float, over: Array = over, shift: Array = shift) -> Array:
                return over / wrightomega(shift + s)

            # Jensen's inequality bounds s from below; from above it is searched for
            low = over.sum() + np.log(over.sum()) - over @ shift / over.sum() - 1e-9
            high = low + 1.0
            while row(high).sum() > 1:
                high += high - low
            h = row(brentq(lambda s, row=row: row(s).sum() - 1, low, high, xtol=1e-15, rtol=1e-15))
            rows.append(h / h.sum())
        return np.array(rows).reshape(u.shape)

    def tied_shares(
        self, counts: Array, mixtures: Array, have: Array, weight: float, damping: float
    ) -> tuple[Array, Array]:
        """Mixtures (views x rows x topics) that maximize counts log h - weight sum ``|h_v - h_w|``, views jointly.

        Rows whose views are not all tied get `damping` times their mass added to the counts where the old mixtures are.
        Second, what was added to each row, infinity where no solution was found and the row is as it was. Views that a
        row lacks (`have`: rows x views) take no part.
        """
        new, added = mixtures.copy(), np.zeros(len(have))
        for i, there in enumerate(have):
            q, old = counts[there, i], mixtures[there, i]
            totals = q.sum(axis=1)
            if not there.any() or not (totals > 0).all():
                added[i] = np.inf if there.any() else 0.0
                continue
            # the answer where no two views are tied, and where all are; else multipliers have to be searched
            h = _find_tied_entries(q, totals, weight)
            if not np.abs(h.sum(axis=1) - 1).max() <= 1e-10:
                q, added[i] = q + damping * totals[:, None] * old, damping

                def excess(eta: Array, q: Array = q) -> Array:
                    return np.nan_to_num(_find_tied_entries(q, eta, weight).sum(axis=1), nan=1e3) - 1

                found = least_squares(excess, q.sum(axis=1), x_scale="jac", xtol=1e-15, ftol=1e-15, gtol=1e-15)
                h = _find_tied_entries(q, found.x, weight)
            new[there, i] = h
        return new, added

    def each_chunk(self, work: Callable[[int, int], Any], n_rows: int, width: int) -> None:
        """Call work(start, stop) for runs of rows of which `width` values each are made at a time."""
        work(0, n_rows)

    def pair_field(
        self, partners: Array, have: Array, couplings: Array, sigma: float, mixtures: list[Array]
    ) -> PairField:
        """Similarities of pairs of rows in every view, with the value and the gradient of what they cost."""
        return PairField(self, partners, have, couplings, sigma, mixtures)

    def pair_similarities(self, mixture: Array, have: Array, partners: Array, sigma: float) -> Array:
        """``exp(-|P_i - P_j|^2 / sigma)`` of all pairs (float64); -1 where there is none or a row lacks the view."""
        near = np.maximum(partners, 0)  # -1 would be the last row
        squares = ((mixture[:, None] - mixture[near]) ** 2).sum(axis=2, dtype=np.float64)
        return np.where((partners < 0) | ~have[:, None] | ~have[near], -1.0, np.exp(-squares / sigma))

    def pair_gaps(self, own: Array, other: Array) -> float:
        """Sum of squared differences of similarities, over the pairs that both have."""
        both = (own >= 0) & (other >= 0)
        return float(((own - other)[both] ** 2).sum())

    def pair_gradient(self, mixture: Array, partners: Array, pulls: Array) -> Array:
        """Sum over pairs of pull (P_i - P_j), for i and, with the other sign, for j (float64).

        The pull is 0 where there is no pair.
        """
        gradient = np.zeros(mixture.shape)
        for i, (near, weights) in enumerate(zip(partners, pulls)):
            parts = weights[:, None] * (mixture[i] - mixture[near])
            gradient[i] += parts.sum(axis=0)
            np.subtract.at(gradient, near, parts)  # a partner may stand twice, as -1 does
        return gradient

    def vector_products(self, X: Handle, W: Array, exact: bool = False) -> Array:
        """X @ W as an array of W's type, multiplied in the floating type of the rows, or in float64 where `exact`.

        Rows are never copied whole.
        """
        X = X.astype(np.float64) if exact else X
        return (X @ W.astype(X.dtype)).astype(W.dtype)

    def vector_moments(self, X: Handle, A: Array, exact: bool = False) -> Array:
        """A.T @ X in float64, multiplied some rows at a time in their floating type, or in float64 where `exact`."""
        X = X.astype(np.float64) if exact else X
        return (X.T @ A.astype(X.dtype)).T.astype(np.float64)

    def square_sums(self, X: Handle) -> Array:
        """Squared length of each row, in float64."""
        X = X.astype(np.float64)
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()

    def row_sums(self, X: Handle) -> Array:
        """Sum of each row, in float64."""
        return np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()

    def take(self, X: Handle, rows: Array) -> Handle:
        """Some rows of a view."""
        return X[rows]

    def unit_rows(self, X: Handle) -> Handle:
        """Rows of length 1; empty ones stay."""
        lengths = np.sqrt(self.square_sums(X))
        return sparse.csr_array(X.multiply(1 / np.where(lengths > 0, lengths, 1.0)[:, None]).astype(X.dtype))

    def kmeans_labels(self, parts: list[Handle], n_clusters: int, seed: int) -> Array:
        """Clusters of one start of k-means on rows whose parts stand side by side, with scikit-learn's draws."""
        rows = sparse.csr_matrix(sparse.hstack(parts))
        return KMeans(n_clusters, n_init=1, random_state=seed).fit(rows).labels_

    def beside(self, parts: list[Array]) -> Array:
        """Arrays side by side, along the last axis."""
        return self.xp.concatenate(parts, -1)

    def leading_vectors(self, weights: Any, lift: np.ndarray, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Largest eigenvalues of the symmetric matrix weights + lift lift', rising, and their eigenvectors."""
        values, vectors = np.linalg.eigh(weights.toarray() + np.multiply.outer(lift, lift))
        return values[-count:], vectors[:, -count:]

    def nearest_rows(self, X: Handle, among: Handle | None, n_nearest: int) -> tuple[Array, Array]:
        """Distances and positions (rows x nearest) of each row's nearest in `among`, rising; None is the other rows."""
        rows = X.toarray().astype(np.float64)
        others = rows if among is None else among.toarray().astype(np.float64)
        distances = np.array([np.sqrt(((others - row) ** 2).sum(axis=1)) for row in rows])
        if among is None:  # a row is not its own neighbor
            np.fill_diagonal(distances, np.inf)
        order = np.argsort(distances, axis=1, kind="stable")[:, :n_nearest]  # stable: of equal ones, the first
        return np.take_along_axis(distances, order, axis=1), order


def _find_tied_entries(q: np.ndarray, eta: np.ndarray, weight: float) -> np.ndarray:
    """Maximize q_v log h_v - eta_v h_v - weight |h_v - h_w| of each topic, by every way in which views can be tied."""
    # all orders of all groups: far too slow for more than a few views, and plainly right
    h, best = np.full(q.shape, np.nan), np.full(q.shape[1], -np.inf)
    for groups in _list_orders(list(range(len(q)))):
        value, gain, below = np.empty(q.shape), np.zeros(q.shape[1]), len(q)
        last, falls = np.full(q.shape[1], np.inf), np.ones(q.shape[1], dtype=bool)
        for group in groups:
            below -= len(group)
            above = len(q) - below - len(group)
            price = eta[group].sum() + weight * len(group) * (below - above)
            mass = q[group].sum(axis=0)
            level = mass / price if price > 0 else np.full(q.shape[1], np.inf)
            value[group], falls, last = level, falls & (level <= last) & (price > 0), level
            gain += mass * np.log(np.maximum(level, 1e-300))
        better = falls & (gain > best)  # what is paid, price x level, is the mass, whatever the groups
        h[:, better], best[better] = value[:, better], gain[better]
    return h


def _list_orders(views: list[int]) -> Iterator[list[list[int]]]:
    """Every way in which views can be tied in groups, from the highest to the lowest."""
    if not views:
        yield []
    for size in range(1, len(views) + 1):
        for top in combinations(views, size):
            for rest in _list_orders([v for v in views if v not in top]):
                yield [list(top), *rest]

"""The plain NumPy engine: slow, short, and what "right" means for every other engine."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import brentq
from sklearn.cluster import KMeans

from coview.engines.coupled import coupled_rows
from coview.engines.pair_field import HostPairField, PairField
from coview.engines.threads import Team

__all__ = ["ReferenceEngine", "comparable"]

FAR = 1e9  # columns of new objects beyond this are cut: squares stay within single precision


def comparable(placed: np.ndarray, cosine: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows in single precision, by cosines of length 1; and which rows are not empty then."""
    known = np.ones(len(placed), dtype=bool)
    if cosine:
        length = np.linalg.norm(placed, axis=1, keepdims=True)
        known = length[:, 0] > 0
        placed = placed / np.where(length > 0, length, 1.0)
    return np.clip(placed, -FAR, FAR).astype(np.float32), known


class ReferenceEngine:
    """Every operation written as its formula, one row at a time where the formula speaks of non-zeros."""

    name = "reference"
    tensors = False
    xp = np
    team = None
    host_memory_limit = None

    def limits(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def prepare(self, matrix: Any) -> sparse.csr_array:
        return sparse.csr_array(matrix)

    def block_rows(self, n_components: int, itemsize: int, n_rows: int, row_bytes: float) -> int:
        return 1 << 30

    def asarray(self, array: Any, dtype: Any = None) -> np.ndarray:
        return np.asarray(array, dtype=dtype)

    def to_numpy(self, array: np.ndarray) -> np.ndarray:
        return array

    def _ratio(self, X: sparse.csr_array, A: np.ndarray, B: np.ndarray) -> tuple[sparse.csr_array, np.ndarray]:
        model = np.zeros(X.nnz, dtype=A.dtype)
        for i in range(X.shape[0]):
            row = slice(X.indptr[i], X.indptr[i + 1])
            model[row] = B[X.indices[row]] @ A[i]
        weights = np.divide(X.data, model, out=np.zeros_like(model), where=model > 0)
        return sparse.csr_array((weights, X.indices, X.indptr), shape=X.shape), model

    def ratio_rows(self, X: sparse.csr_array, A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, float]:
        weights, _ = self._ratio(X, A, B)
        return weights @ B, float(self.log_likelihood(X, A, B).sum())

    def ratio_features(
        self, X: sparse.csr_array, A: np.ndarray, B: np.ndarray, into: np.ndarray | None = None
    ) -> np.ndarray:
        weights, _ = self._ratio(X, A, B)
        added = weights.T @ A
        return added if into is None else into + added

    def row_shares(self, old: np.ndarray, pull: np.ndarray, floor: float) -> np.ndarray:
        values = old * pull
        sums = values.sum(axis=1, keepdims=True)
        shares = np.divide(values, sums, out=np.zeros_like(values), where=sums > 0)
        return np.where(sums > 0, np.maximum(shares, floor), old)

    def settled_rows(self, *_: Any) -> None:
        return None

    def clamp(self, mixture: np.ndarray, codes: np.ndarray) -> np.ndarray:
        fixed = np.flatnonzero(codes >= 0)
        mixture[fixed] = 0
        mixture[fixed, codes[fixed]] = 1
        return mixture

    def column_shares(
        self, old: dict[str, np.ndarray], sums: dict[str, np.ndarray], floor: float
    ) -> dict[str, np.ndarray]:
        values = {name: old[name] * part for name, part in sums.items()}
        totals = sum(value.sum(axis=0, dtype=np.float64) for value in values.values())
        return {
            name: np.where(totals > 0, np.maximum(value / np.where(totals > 0, totals, 1.0), floor), old[name]).astype(
                value.dtype
            )
            for name, value in values.items()
        }

    def log_likelihood(self, X: sparse.csr_array, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        _, model = self._ratio(X, A, B)
        terms = X.data * np.log(model, where=model > 0, out=np.zeros(len(model)), dtype=np.float64)
        return np.array([terms[a:b].sum(dtype=np.float64) for a, b in zip(X.indptr[:-1], X.indptr[1:])])

    def project(self, X: sparse.csr_array, W: np.ndarray) -> np.ndarray:
        return X @ W

    def accumulate(self, X: sparse.csr_array, W: np.ndarray, into: np.ndarray | None = None) -> np.ndarray:
        added = X.T @ W
        return added if into is None else into + added

    def quadratic_shares(
        self, old: np.ndarray, counts: np.ndarray, slope: np.ndarray, curvature: np.ndarray, floor: float
    ) -> np.ndarray:
        new = old.copy()
        for i, (n, s, c) in enumerate(zip(counts.astype(np.float64), slope.astype(np.float64), curvature)):
            if c > 0:
                g = old[i] + s / c
                new[i] = self._on_simplex(n / c, g - g.max())
            elif n.sum() > 0:
                new[i] = n / n.sum()
        return np.maximum(new, floor)

    def _on_simplex(self, p: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Maximize p log h - |h - g|^2 / 2: h = (t + sqrt(t^2 + 4 p)) / 2, t = g - eta, and eta where they sum to 1.

        The largest g is 0: no share is above 1, so that eta is at least -1.
        """

        def row(eta: float) -> np.ndarray:
            t = g - eta
            root = np.sqrt(t * t + 4 * p)
            return np.where(t > 0, (t + root) / 2, 2 * p / np.where(root - t > 0, root - t, 1.0))

        high = p.sum() + 1
        h = row(brentq(lambda eta: row(eta).sum() - 1, -1 - 1e-9, high, xtol=1e-15, rtol=1e-15))
        return h / h.sum()

    def coupled_shares(
        self,
        divergence: str,
        counts: list[np.ndarray],
        table: np.ndarray,
        couplings: np.ndarray,
        have: np.ndarray,
        order: list[int],
        floor: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        return coupled_rows(Team(1), divergence, counts, table, couplings, have, order, floor)

    def pair_field(
        self, partners: np.ndarray, have: np.ndarray, couplings: np.ndarray, sigma: float, mixtures: list[np.ndarray]
    ) -> PairField:
        return HostPairField(partners, have, couplings, sigma, mixtures, Team(1))

    def vector_products(self, X: sparse.csr_array, W: np.ndarray, exact: bool = False) -> np.ndarray:
        X = X.astype(np.float64) if exact else X
        return (X @ W.astype(X.dtype)).astype(W.dtype)

    def vector_moments(self, X: sparse.csr_array, A: np.ndarray, exact: bool = False) -> np.ndarray:
        X = X.astype(np.float64) if exact else X
        return (X.T @ A.astype(X.dtype)).T.astype(np.float64)

    def square_sums(self, X: sparse.csr_array) -> np.ndarray:
        X = X.astype(np.float64)
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()

    def row_sums(self, X: sparse.csr_array) -> np.ndarray:
        return np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()

    def take(self, X: sparse.csr_array, rows: np.ndarray) -> sparse.csr_array:
        return X[rows]

    def comparable_rows(
        self, X: sparse.csr_array, turn: np.ndarray, offset: np.ndarray, cosine: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        return comparable(self.project(X, turn) - offset, cosine)

    def right_vectors(self, X: sparse.csr_array, count: int, seed: int) -> np.ndarray:
        return np.linalg.svd(X.toarray(), full_matrices=False)[2][:count]

    def leading_pairs(self, matrices: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = np.linalg.eigh(matrices)
        return values[:, -count:], vectors[:, :, -count:]

    def kmeans_centers(self, parts: list[np.ndarray], n_clusters: int, n_init: int, seed: int) -> np.ndarray:
        return KMeans(n_clusters, n_init=n_init, random_state=seed).fit(np.concatenate(parts)).cluster_centers_

    def unit_rows(self, X: sparse.csr_array) -> sparse.csr_array:
        lengths = np.sqrt(self.square_sums(X))
        return sparse.csr_array(X.multiply(1 / np.where(lengths > 0, lengths, 1.0)[:, None]).astype(X.dtype))

    def kmeans_labels(self, parts: list[sparse.csr_array], n_clusters: int, seed: int) -> np.ndarray:
        rows = sparse.csr_matrix(sparse.hstack(parts))
        return KMeans(n_clusters, n_init=1, random_state=seed).fit(rows).labels_

    def beside(self, parts: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(parts, axis=-1)

    def nearest_rows(
        self, X: sparse.csr_array, among: sparse.csr_array | None, n_nearest: int
    ) -> tuple[np.ndarray, np.ndarray]:
        rows = X.toarray().astype(np.float64)
        others = rows if among is None else among.toarray().astype(np.float64)
        distances = np.array([np.sqrt(((others - row) ** 2).sum(axis=1)) for row in rows])
        if among is None:
            np.fill_diagonal(distances, np.inf)
        order = np.argsort(distances, axis=1, kind="stable")[:, :n_nearest]
        return np.take_along_axis(distances, order, axis=1), order

    def nearest_anchors(self, P: np.ndarray, anchors: np.ndarray, n_nearest: int) -> tuple[np.ndarray, np.ndarray]:
        positions = np.zeros((len(P), len(anchors), n_nearest), dtype=np.int32)
        weights = np.ones((len(P), len(anchors), n_nearest), dtype=P.dtype) / n_nearest
        for i, row in enumerate(P):
            for r, points in enumerate(anchors):
                distances = ((points - row) ** 2).sum(axis=1)
                order = np.argsort(distances, kind="stable")
                positions[i, r] = order[:n_nearest]
                far = order[min(n_nearest, len(points) - 1)]
                gaps = distances[far] - distances[order[:n_nearest]]
                if gaps.sum() > 1e-6 * n_nearest * (row @ row + points[far] @ points[far]):
                    weights[i, r] = gaps / gaps.sum()
        return positions, weights

    def anchor_gram(self, positions: np.ndarray, weights: np.ndarray, into: np.ndarray) -> np.ndarray:
        for r, gram in enumerate(into):
            Z = self._joined(positions[:, r], weights[:, r], len(gram))
            sums = Z.sum(axis=1, keepdims=True)
            gram += Z.T @ np.divide(Z, sums, out=np.zeros_like(Z), where=sums > 0)
        return into

    def anchor_embedding(self, positions: np.ndarray, weights: np.ndarray, maps: np.ndarray) -> np.ndarray:
        parts = []
        for r, turn in enumerate(maps):
            part = self._joined(positions[:, r], weights[:, r], len(turn)) @ turn
            length = np.linalg.norm(part, axis=1, keepdims=True)
            parts.append(np.divide(part, length, out=np.zeros_like(part), where=length > 0))
        return np.hstack(parts)

    def center_sums(self, rows: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        distances = ((rows[:, None, :] - centers[None]) ** 2).sum(axis=2)
        labels = distances.argmin(axis=1)
        sums = np.array([[*rows[labels == z].sum(axis=0), (labels == z).sum()] for z in range(len(centers))])
        return labels, sums, float(distances.min(axis=1).sum())

    def _joined(self, positions: np.ndarray, weights: np.ndarray, width: int) -> np.ndarray:
        Z = np.zeros((len(positions), width))
        for row, at, by in zip(Z, positions, weights):
            np.add.at(row, at, by)
        return Z

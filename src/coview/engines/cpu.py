"""The CPU engine: numba kernels over CSR for rows and CSC for features, on this machine's cores.

Rows are cut into chunks by the data alone, and what chunks give is added in their order: results do not depend on the
number of threads. What kernels gather rows from begins at a cache line.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans

from coview.engines.lanczos import find_leading_vectors
from coview.engines.protocol import Team, count_threads, find_thread_pools
from coview.engines.reference import ReferenceEngine
from coview.exceptions import EngineError, InterruptedFitWarning
from coview.kernels import folding, pairs, simplex, simplex_l1
from coview.kernels import ratio as kernels
from coview.kernels.memory import LINE
from coview.kernels.neighbors import nearest_rows
from coview.utils.warn import silenced
from coview.views.arrays import for_sklearn, frozen, side_by_side, slice_csr, unit_rows

__all__ = ["CpuEngine", "CpuMatrix", "balance_chunks"]

# rows per block: with fewer, each block goes over all features for few non-zeros; with more, the part of the row factor
# that the feature side gathers from leaves the cache. Not by the size of the data, which is another one on disk
_FEWEST, _MOST = 8192, 16_384
_ROWS = 32_768  # rows per chunk of the dense passes
_CHUNK = 1024  # rows per product: what comes out stays in cache
_TILE = 16 << 20  # bytes of a factor that one pass gathers from: tiles of one, blocks of the other
_COPIES = 256 << 10  # bytes of rows of profiles that are copied side by side for fold-in: a part of the second cache
_LIGHT = 2048  # non-zeros below which fold-in is no work for another thread: they are gone over some dozen times
_LEAST = 16  # non-zeros of a row per tile: with fewer, going over the rows again costs more than the cache gives
_SMALL, _DENSE_SHARE = 300, 20  # matrices, or shares of the vectors, from which on Lanczos is quicker than all vectors
_SOLVED = 4096  # rows per chunk of a solver, and of arrays that are made on the way
_PAIRS = 65_536  # pairs below which another thread costs more than it gives
_SUMS = 4  # gradients of pairs that are summed, one per chunk of rows: each takes the memory of the mixtures


def balance_chunks(indptr: np.ndarray, least: int = 65_536, most: int = 16) -> list[tuple[int, int]]:
    """Cut rows into runs of about equal numbers of non-zeros; depends on the data alone, never on the threads."""
    # a run below `least` non-zeros takes less than a millisecond or two: handing it to another thread costs more
    n_rows, nnz = len(indptr) - 1, int(indptr[-1] - indptr[0])
    pieces = max(1, min(most, nnz // least, n_rows))
    targets = indptr[0] + (nnz * np.arange(1, pieces)) // pieces
    cuts = np.unique(np.concatenate([[0], np.searchsorted(indptr, targets), [n_rows]]))
    return [(a, b) for a, b in pairwise(cuts.tolist())]


def _empty_rows(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return an empty array that begins at a cache line."""
    # NumPy's own begin 16 bytes after a page, mostly: rows of 256 bytes then lie in five lines instead of four
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.empty(size + LINE, dtype=np.uint8)
    start = -room.ctypes.data % LINE
    return room[start : start + size].view(dtype).reshape(shape)


class CpuMatrix:
    """Rows of one view: CSR or dense as given; CSR and CSC are made when a kernel first needs them."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self._cuts: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    @property
    def is_dense(self) -> bool:
        """Whether the rows are dense; no longer once a kernel needed their non-zeros."""
        return not sparse.issparse(self.matrix)

    @property
    def csr(self) -> Any:
        if self.is_dense:
            self.matrix = sparse.csr_array(self.matrix)
        return self.matrix

    @cached_property
    def squares(self) -> np.ndarray:
        """Squared length of each row, in float64."""
        rows = self.matrix
        # by chunks: a copy of all rows in float64 would double the memory
        if sparse.issparse(rows):
            values = np.square(rows.data, dtype=np.float64)
            return np.asarray(sparse.csr_array((values, rows.indices, rows.indptr), rows.shape).sum(axis=1)).ravel()
        out = np.empty(len(rows))
        for i, j in _cut_evenly(len(rows), _CHUNK):
            part = rows[i:j].astype(np.float64, copy=False)
            out[i:j] = np.einsum("ij,ij->i", part, part)
        return out

    def tiles(self, row_bytes: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return where each row begins and ends in each tile of columns; one tile if the feature factor is small."""
        wanted = -(-self.shape[1] * row_bytes // _TILE)
        count = int(min(wanted, self.csr.nnz // (_LEAST * max(self.shape[0], 1))))
        if count < 2 or not self.csr.has_sorted_indices:
            return [_bounds(self.csr.indptr)]
        if count not in self._cuts:
            edges = np.linspace(0, self.shape[1], count + 1).astype(np.int64)
            cuts = np.empty((count + 1, self.shape[0]), dtype=self.csr.indptr.dtype)
            indptr, indices, _ = self.row_parts[0]
            kernels.tile_cuts(indptr, indices, edges, cuts)
            self._cuts[count] = [(_as_input(a), _as_input(b)) for a, b in pairwise(cuts)]
        return self._cuts[count]

    @cached_property
    def row_parts(self) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], list[tuple[int, int]]]:
        return _parts(self.csr), balance_chunks(self.csr.indptr)

    @cached_property
    def feature_parts(self) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], list[tuple[int, int]]]:
        csc = self.csr.tocsc()
        return _parts(csc), balance_chunks(csc.indptr)


def _choose_prefetch_distance(factor: np.ndarray) -> int:
    """Return how many non-zeros ahead a row of the factor is asked for."""
    # enough that a row has come when it is read, few enough that the first cache holds them all
    size = factor.shape[1] * factor.itemsize
    return 16 if size <= 384 else 8 if size <= 1024 else 4


def _bounds(indptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return _as_input(indptr[:-1]), _as_input(indptr[1:])


def _rows_in_order(part: CpuMatrix, thin: bool) -> Any:
    """Return rows, dense or as CSR with sorted indices."""
    if not thin or part.csr.has_canonical_format:
        return part.csr if thin else part.matrix
    rows = part.csr.copy()
    rows.sum_duplicates()
    return rows


def _cut_evenly(n_rows: int, size: int = _ROWS) -> list[tuple[int, int]]:
    return [(i, min(i + size, n_rows)) for i in range(0, n_rows, size)]


def _cut_pairs(partners: np.ndarray) -> list[tuple[int, int]]:
    """Cut rows of pairs evenly, into as many chunks as there may be sums of gradients."""
    pieces = int(np.clip(partners.size // _PAIRS, 1, _SUMS))
    return list(pairwise(np.linspace(0, len(partners), pieces + 1).astype(int).tolist()))


def _parts(matrix: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays of a compressed matrix, as kernels take them."""
    return _as_input(matrix.indptr), _as_input(matrix.indices), _as_input(matrix.data)


def _as_input(array: np.ndarray) -> np.ndarray:
    """Return an array as kernels take it: read-only, contiguous and aligned."""
    # one type for all inputs, so that each kernel is compiled once: memory maps are read-only, and what came over the
    # network may begin at any byte
    flags = array.flags
    return frozen(array if flags.c_contiguous and flags.aligned else np.require(array, requirements=("C", "A")))


def _check_factors(X: CpuMatrix, A: np.ndarray, B: np.ndarray) -> None:
    """Raise where factors do not fit a matrix: kernels read without checking bounds."""
    _check_length(A, X.shape[0], "rows")
    _check_length(B, X.shape[1], "features")
    if A.shape[1] != B.shape[1]:
        raise EngineError(f"The factors have {A.shape[1]} and {B.shape[1]} columns; they must have the same number.")


def _check_length(factor: np.ndarray, length: int, what: str) -> None:
    if len(factor) != length:
        raise EngineError(f"A factor has {len(factor)} {what}, but the matrix has {length}.")


class CpuEngine(ReferenceEngine):
    """Run fits on the CPU with Numba; results do not depend on the number of threads.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Number of threads; None takes all cores that threadpoolctl allows.
    memory_limit : int or None, default=None
        Most bytes that the process may take while it fits lazy rows (a sharded folder). None reads blocks of a fixed
        number of rows.

    Examples
    --------
    >>> CpuEngine(memory_limit=1_500_000_000).memory_limit
    1500000000
    """

    name = "cpu"

    def __init__(self, n_jobs: int | None = None, memory_limit: int | None = None) -> None:
        self.team = Team(count_threads(n_jobs))
        self.memory_limit = memory_limit

    def limits(self) -> AbstractContextManager[Any]:
        # one BLAS thread: with more, its products would be added up in another order
        return find_thread_pools().limit(limits={"blas": 1, "openmp": self.team.size})

    def prepare(self, matrix: Any) -> CpuMatrix:
        return CpuMatrix(matrix)

    def block_rows(self, n_components: int, itemsize: int, n_rows: int, row_bytes: float) -> int:
        size = max(_FEWEST, min(_MOST, _TILE // max(1, n_components * itemsize)))
        # a small last block would go through all features for few non-zeros: its rows go to the others
        return max(size, -(-n_rows // max(1, n_rows // size)))

    def asarray(self, array: Any, dtype: Any = None) -> np.ndarray:
        return np.ascontiguousarray(array, dtype=dtype)

    def to_numpy(self, array: Any) -> np.ndarray:
        return np.asarray(array)

    def align(self, array: np.ndarray) -> np.ndarray:
        """Return an array that begins at a cache line, for gathering its rows; a copy if it does not."""
        array = self.asarray(array)
        if array.ctypes.data % LINE == 0:
            return array
        copy = _empty_rows(array.shape, array.dtype)
        copy[...] = array
        return copy

    def ratio_rows(self, X: CpuMatrix, A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, float]:
        _check_factors(X, A, B)
        (_, indices, counts), chunks = X.row_parts
        A, B, out = _as_input(A), _as_input(B), _empty_rows(A.shape, A.dtype)
        kernel, ahead = kernels.ratio, _choose_prefetch_distance(B)
        total = 0.0
        # one pass per tile of B, each over all chunks: chunks of one tile gather from the same part of B
        for t, tile in enumerate(X.tiles(B.shape[1] * B.itemsize)):

            def work(i: int, j: int, tile: Any = tile, add: bool = t > 0) -> float:
                return kernel(*tile, indices, counts, A, B, out, i, j, add, True, ahead)

            total += float(np.sum(self.team.map(work, chunks)))
        return out, total

    def ratio_features(self, X: CpuMatrix, A: np.ndarray, B: np.ndarray, into: np.ndarray | None = None) -> np.ndarray:
        _check_factors(X, A, B)
        (indptr, indices, counts), chunks = X.feature_parts
        bounds = _bounds(indptr)
        out = _empty_rows(B.shape, B.dtype) if into is None else into
        add = into is not None
        A, B, ahead = _as_input(A), _as_input(B), _choose_prefetch_distance(A)
        self.team.map(lambda i, j: kernels.ratio(*bounds, indices, counts, B, A, out, i, j, add, False, ahead), chunks)
        return out

    def row_shares(self, old: np.ndarray, pull: np.ndarray, floor: float) -> np.ndarray:
        old, pull, out = _as_input(old), _as_input(pull), _empty_rows(old.shape, old.dtype)
        floor = old.dtype.type(floor)
        self.team.map(lambda i, j: kernels.row_shares(old, pull, out, floor, i, j), _cut_evenly(len(old)))
        return out

    def settled_rows(
        self,
        parts: list[tuple[CpuMatrix, np.ndarray, float]],
        start: np.ndarray,
        sweeps: int,
        tol: float,
        floor: float,
        stays: float,
    ) -> np.ndarray:
        out = np.array(start, order="C")
        kind, width = out.dtype.type, out.shape[1]
        settings = (sweeps, kind(tol), kind(floor), kind(stays))
        bounds, views = np.zeros(len(out) + 1, dtype=np.int64), []
        for X, profiles, weight in parts:
            _check_factors(X, out, profiles)
            entries, _ = X.row_parts
            views.append((*entries, kind(weight), _as_input(profiles)))
            bounds[1:] += np.cumsum(np.diff(entries[0]))
        room = _COPIES // max(1, width * out.itemsize)

        def work(first: int, stop: int) -> None:
            size = max(room, int(np.diff(bounds[first : stop + 1]).max()))
            copies, masses = np.empty((size, width), out.dtype), np.empty(size, out.dtype)
            while first < stop:  # as many objects at a time as the copies have room for
                last = min(int(np.searchsorted(bounds, bounds[first] + size, side="right")) - 1, stop)
                begins = bounds[first:last] - bounds[first]
                ends = begins.copy()
                for view in views:
                    folding.gather_rows(*view, copies, masses, ends, first, last)
                folding.settle_rows(begins, ends, copies, masses, out, first, *settings)
                first = last

        if len(out):
            self.team.map(work, balance_chunks(bounds, _LIGHT))
        return out

    def column_shares(
        self, old: dict[str, np.ndarray], sums: dict[str, np.ndarray], floor: float
    ) -> dict[str, np.ndarray]:
        totals = np.zeros(next(iter(old.values())).shape[1])
        for name, part in sums.items():
            totals += self._column_products(_as_input(old[name]), part)
        empty = totals <= 0
        scale = 1.0 / np.where(empty, 1.0, totals)
        for name, part in sums.items():
            factors, least = _as_input(scale.astype(part.dtype)), part.dtype.type(floor)
            self.team.map(partial(kernels.column_scale, part, factors, least), _cut_evenly(len(part)))
            if empty.any():  # a topic without mass keeps its profile: a division by 0 would end it for good
                part[:, empty] = old[name][:, empty]
        return sums

    def _column_products(self, old: np.ndarray, part: np.ndarray) -> np.ndarray:
        """Multiply `part` by `old` in place and return the column sums."""
        # by fixed chunks that are added in order, in float64: the same sums with any number of threads
        chunks = _cut_evenly(len(part))
        partial = np.zeros((len(chunks), part.shape[1]))
        self.team.map(lambda i, j: kernels.column_products(old, part, partial[i // _ROWS], i, j), chunks)
        return partial.sum(axis=0)

    def log_likelihood(self, X: CpuMatrix, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        _check_factors(X, A, B)
        parts, chunks = X.row_parts
        A, B, out = _as_input(A), _as_input(B), np.empty(A.shape[0])
        self.team.map(lambda i, j: kernels.log_likelihood(*parts, A, B, out, i, j), chunks)
        return out

    def project(self, X: CpuMatrix, W: np.ndarray) -> np.ndarray:
        _check_length(W, X.shape[1], "features")
        out = np.empty((X.shape[0], W.shape[1]), dtype=W.dtype)
        if X.is_dense:
            rows = X.matrix.astype(W.dtype, copy=False)
            self.team.map(lambda i, j: np.matmul(rows[i:j], W, out=out[i:j]), _cut_evenly(len(out), _CHUNK))
            return out
        parts, chunks = X.row_parts
        W = _as_input(W)
        self.team.map(lambda i, j: kernels.project(*parts, W, out, i, j), chunks)
        return out

    def accumulate(self, X: CpuMatrix, W: np.ndarray, into: np.ndarray | None = None) -> np.ndarray:
        _check_length(W, X.shape[0], "rows")
        out = np.zeros((X.shape[1], W.shape[1]), dtype=W.dtype) if into is None else into
        if X.is_dense:
            rows = X.matrix.astype(W.dtype, copy=False)

            def add(i: int, j: int) -> None:
                out[i:j] += rows[:, i:j].T @ W

            self.team.map(add, _cut_evenly(len(out), _CHUNK))
            return out
        parts, chunks = X.feature_parts
        W = _as_input(W)
        self.team.map(lambda i, j: kernels.accumulate(*parts, W, out, i, j), chunks)
        return out

    def quadratic_shares(
        self, old: np.ndarray, counts: np.ndarray, slope: np.ndarray, curvature: np.ndarray, floor: float
    ) -> np.ndarray:
        old, counts, slope, out = _as_input(old), _as_input(counts), _as_input(slope), np.empty_like(old)
        curvature = _as_input(curvature.astype(np.float64, copy=False))
        kernel: Any = simplex.quadratic_rows  # whose types no checker understands
        self.team.map(
            lambda i, j: kernel(counts, old, slope, curvature, out, floor, i, j), _cut_evenly(len(old), _CHUNK)
        )
        return out

    def omega_shares(self, u: np.ndarray, b: np.ndarray) -> np.ndarray:
        u, b, out = np.ascontiguousarray(u), np.ascontiguousarray(b), np.empty(u.shape)
        self.each_chunk(lambda i, j: simplex.omega_rows(u, b, out, i, j), *u.shape)
        return out

    def tied_shares(
        self, counts: np.ndarray, mixtures: np.ndarray, have: np.ndarray, weight: float, damping: float
    ) -> tuple[np.ndarray, np.ndarray]:
        new, added = mixtures.copy(), np.zeros(len(have))
        tie = simplex_l1.tie_rows
        self.each_chunk(lambda i, j: tie(counts, new, have, weight, damping, added, i, j), *have.shape)
        return new, added

    def each_chunk(self, work: Callable[[int, int], Any], n_rows: int, width: int) -> None:
        self.team.map(work, _cut_evenly(n_rows, _SOLVED))

    def pair_similarities(
        self, mixture: np.ndarray, have: np.ndarray, partners: np.ndarray, sigma: float
    ) -> np.ndarray:
        mixture, have, out = np.ascontiguousarray(mixture), np.ascontiguousarray(have), np.empty(partners.shape)
        self.team.map(lambda i, j: pairs.similarities(mixture, have, partners, sigma, out, i, j), _cut_pairs(partners))
        return out

    def pair_gaps(self, own: np.ndarray, other: np.ndarray) -> float:
        return float(np.sum(self.team.map(lambda i, j: pairs.gap_squares(own, other, i, j), _cut_pairs(own))))

    def pair_gradient(self, mixture: np.ndarray, partners: np.ndarray, pulls: np.ndarray) -> np.ndarray:
        mixture, chunks = np.ascontiguousarray(mixture), _cut_pairs(partners)
        # a row adds to its partners too, which may be in any chunk: each has a sum of its own
        sums = np.zeros((len(chunks), *mixture.shape))
        places = {start: place for place, (start, _) in enumerate(chunks)}
        self.team.map(lambda i, j: pairs.add_gradient(mixture, partners, pulls, sums[places[i]], i, j), chunks)
        return sums.sum(axis=0)

    def vector_products(self, X: CpuMatrix, W: np.ndarray, exact: bool = False) -> np.ndarray:
        _check_length(W, X.shape[1], "features")
        rows, out = X.matrix, np.empty((X.shape[0], W.shape[1]), dtype=W.dtype)
        dtype = np.float64 if exact else rows.dtype
        turn = np.ascontiguousarray(W, dtype=dtype)

        def work(i: int, j: int) -> None:
            out[i:j] = rows[i:j].astype(dtype, copy=False) @ turn

        self.team.map(work, _cut_evenly(len(out), _CHUNK))
        return out

    def vector_moments(self, X: CpuMatrix, A: np.ndarray, exact: bool = False) -> np.ndarray:
        _check_length(A, X.shape[0], "rows")
        rows = X.matrix
        dtype = np.float64 if exact else rows.dtype

        def work(i: int, j: int) -> np.ndarray:
            weights = A[i:j].astype(dtype, copy=False)
            part = rows[i:j].astype(dtype, copy=False)
            return np.asarray((part.T @ weights).T if sparse.issparse(part) else weights.T @ part)

        total = np.zeros((A.shape[1], X.shape[1]))
        for part in self.team.map(work, _cut_evenly(len(A), _CHUNK)):
            total += part
        return total

    def square_sums(self, X: CpuMatrix) -> np.ndarray:
        return X.squares

    def row_sums(self, X: CpuMatrix) -> np.ndarray:
        return np.asarray(X.csr.sum(axis=1, dtype=np.float64)).ravel()

    def take(self, X: CpuMatrix, rows: np.ndarray) -> CpuMatrix:
        if X.is_dense:
            return CpuMatrix(X.matrix[rows])
        if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
            return CpuMatrix(slice_csr(X.csr, int(rows[0]), int(rows[-1]) + 1))
        return CpuMatrix(X.csr[rows])

    def unit_rows(self, X: CpuMatrix) -> CpuMatrix:
        return CpuMatrix(unit_rows(X.matrix))

    def kmeans_labels(self, parts: list[CpuMatrix], n_clusters: int, seed: int) -> np.ndarray:
        rows = for_sklearn(side_by_side([part.matrix for part in parts]))
        with silenced(but=InterruptedFitWarning):  # of rows that are equal: fewer clusters are a start, too
            return KMeans(n_clusters, n_init=1, random_state=seed).fit(rows).labels_

    def nearest_rows(self, X: CpuMatrix, among: CpuMatrix | None, n_nearest: int) -> tuple[np.ndarray, np.ndarray]:
        thin = not X.is_dense or not (among is None or among.is_dense)
        rows, others = (None if part is None else _rows_in_order(part, thin) for part in (X, among))
        with find_thread_pools().limit(limits=1, user_api="blas"):
            return nearest_rows(rows, others, n_nearest, self.team.map)

    def leading_vectors(self, weights: Any, lift: np.ndarray, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        n = lift.size
        if n <= 400:  # a dense decomposition is as quick
            return super().leading_vectors(weights, lift, count, seed)

        def times(block: np.ndarray) -> np.ndarray:
            return weights @ block + np.multiply.outer(lift, lift @ block)

        # threads of BLAS mostly wait for each other in products of narrow blocks
        with find_thread_pools().limit(limits=1, user_api="blas"):
            return find_leading_vectors(self, times, n, count, max(4, count // 12), seed)

"""The CUDA engine: torch for dense algebra, Triton for the `ratio` half-steps, data moved to the device once.

Where Triton or a GPU is absent the half-steps run as plain torch operations on blocks of non-zeros, so that the same
engine also runs on torch's CPU device. Factors stay on the device between sweeps; objectives are added up there in
float64 and read back once per sweep, for the stopping test.

All rows of a fit in memory lie on the device. Rows that are read when needed come over block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

from coview.engines.cpu import CpuEngine
from coview.engines.lanczos import find_leading_vectors
from coview.engines.reference import ReferenceEngine
from coview.exceptions import EngineError, MissingPackageError

try:
    import torch
except ImportError:
    raise MissingPackageError(
        "engine='cuda' needs PyTorch with CUDA; torch is not installed. Run: pip install \"coview[gpu]\".",
        use={"engine": "cpu"},
    ) from None

from coview.kernels import torch_pairs
from coview.kernels.torch_kmeans import kmeans_labels
from coview.kernels.torch_neighbors import find_nearest_rows
from coview.kernels.torch_simplex import omega_rows, quadratic_rows

__all__ = ["CudaEngine", "CudaMatrix", "DenseCudaMatrix"]

_SLICE = 1 << 22  # values gathered at a time by the plain path: never non-zeros x components
_PRECISIONS = ("single", "mixed")
_SHARE = 0.7  # of the free memory that data may take
_FORMS = 2.5  # rows, the same by feature, and what belongs to them
_STATES = 5  # most copies of the mixtures at the height of a sweep: old, pulls, new, and two that momentum keeps
_SEARCH = Lock()  # of several threads one searches at a time: each takes much memory


class CudaMatrix:
    """Rows of one view on the device: CSR as moved, CSC made there when the feature side first needs it."""

    def __init__(self, indptr: Any, indices: Any, values: Any, shape: tuple[int, int]) -> None:
        self.indptr, self.indices, self.values, self.shape = indptr, indices, values, shape

    @classmethod
    def moved(cls, csr: Any, device: Any) -> CudaMatrix:
        """Bring a scipy CSR matrix to the device."""
        indptr, indices, values = (part.to(device) for part in _copy_to_host(csr))
        return cls(indptr, indices, values, csr.shape)

    @cached_property
    def rows(self) -> Any:
        """Row of each non-zero."""
        counts = self.indptr[1:] - self.indptr[:-1]
        of = torch.arange(self.shape[0], dtype=self.indices.dtype, device=self.indices.device)
        return torch.repeat_interleave(of, counts, output_size=len(self.values))

    def slices(self, width: int) -> Iterator[tuple[Any, Any, Any]]:
        """Rows, columns and values of some non-zeros at a time, for which factors of that width are gathered."""
        step = max(1, _SLICE // width)
        for start in range(0, len(self.values), step):
            part = slice(start, start + step)
            yield self.rows[part], self.indices[part], self.values[part]

    def coordinates(self, dtype: Any) -> Any:
        """Torch's own sparse matrix, for products with dense ones."""
        places = torch.stack([self.rows, self.indices]).long()
        return torch.sparse_coo_tensor(places, self.values.to(dtype), self.shape, is_coalesced=True)

    @cached_property
    def transposed(self) -> CudaMatrix:
        """The same matrix by columns."""
        order = torch.argsort(self.indices, stable=True)  # stable: rows stay in order within a column
        counts = torch.bincount(self.indices, minlength=self.shape[1])
        indptr = torch.zeros(self.shape[1] + 1, dtype=self.indptr.dtype, device=self.indptr.device)
        torch.cumsum(counts, 0, out=indptr[1:])
        return CudaMatrix(indptr, self.rows[order], self.values[order], (self.shape[1], self.shape[0]))

    @cached_property
    def squares(self) -> Any:
        """Squared length of each row, in float64."""
        out = torch.zeros(self.shape[0], dtype=torch.float64, device=self.values.device)
        return out.index_add_(0, self.rows, self.values.double() ** 2)

    @cached_property
    def segments(self) -> Any:
        """Rows cut into runs of bounded length, for the kernels; see `kernels/triton_ratio.py`."""
        from coview.kernels.triton_ratio import segments

        return segments(self.indptr)


class DenseCudaMatrix:
    """Dense rows of one view on the device; their non-zeros are looked for there when a verb first asks for them."""

    def __init__(self, values: Any) -> None:
        self.values = values

    @property
    def shape(self) -> tuple[int, int]:
        return tuple(self.values.shape)

    @classmethod
    def moved(cls, rows: np.ndarray, device: Any) -> DenseCudaMatrix:
        """Bring a NumPy array to the device."""
        return cls(_copy_to_host(rows)[0].to(device))

    @cached_property
    def squares(self) -> Any:
        """Squared length of each row, in float64."""
        return torch.cat([(self.values[part].double() ** 2).sum(dim=1) for part in _runs(*self.shape)])

    @cached_property
    def by_non_zeros(self) -> CudaMatrix:
        """The same rows as CSR."""
        rows, columns = torch.nonzero(self.values, as_tuple=True)
        indptr = torch.zeros(self.shape[0] + 1, dtype=torch.int64, device=rows.device)
        torch.cumsum(torch.bincount(rows, minlength=self.shape[0]), 0, out=indptr[1:])
        return CudaMatrix(indptr, columns.to(torch.int32), self.values[rows, columns], self.shape)


def _copy_to_host(matrix: Any) -> list[Any]:
    """Return the arrays of a CSR matrix, or the one of dense rows, as tensors on the host."""
    # views are read-only, which torch cannot say of a tensor: it warns unless it gets a copy
    whole = (matrix.indptr.astype(np.int64), matrix.indices, matrix.data) if sparse.issparse(matrix) else (matrix,)
    parts = map(np.ascontiguousarray, whole)
    return [torch.from_numpy(part if part.flags.writeable else part.copy()) for part in parts]


def _compute_log_terms(values: Any, model: Any) -> Any:
    """Values times the logarithm of the model, in float64; 0 where the model is."""
    return values.double() * torch.where(model > 0, model, torch.ones_like(model)).double().log()


Rows = CudaMatrix | DenseCudaMatrix


class CudaEngine(ReferenceEngine):
    """Runs a model's steps on a torch device.

    Parameters
    ----------
    device : str, default="cuda"
        A torch device; "cpu" works too, slowly.
    precision : {"single", "mixed"}, default="single"
        "mixed" gathers half-precision copies of the factors; the factors themselves stay in float32.

    Examples
    --------
    >>> CudaEngine(device="cpu").name
    'cuda'
    """

    name = "cuda"
    xp = torch

    def __init__(self, device: str = "cuda", precision: str = "single") -> None:
        if precision not in _PRECISIONS:
            raise EngineError(f"precision must be 'single' or 'mixed', got {precision!r}.")
        if str(device).startswith("cuda") and not torch.cuda.is_available():
            raise EngineError(
                "engine='cuda' needs PyTorch with CUDA and a GPU, but torch found no GPU.",
                use={"engine": "cpu"},
                python="CudaEngine(device='cpu') runs the same code without a GPU.",
                cli="",
            )
        self.device = torch.device(device)
        self.precision = precision

    def __reduce__(self) -> tuple[Any, ...]:
        # copies and pickles are new engines of the same settings: what is on the device stays with this one
        return CudaEngine, (str(self.device), self.precision)

    @cached_property
    def _kernels(self) -> Any:
        """The Triton kernels, or None where they cannot run."""
        if self.device.type != "cuda":  # Triton compiles for a GPU alone
            return None
        try:
            from coview.kernels import triton_pairs, triton_ratio, triton_simplex
        except ImportError:  # a torch without Triton, as on Windows
            return None
        return SimpleNamespace(
            ratio=triton_ratio.ratio,
            products=triton_ratio.products,
            log_likelihood=triton_ratio.log_likelihood,
            pairs=triton_pairs,
            quadratic_rows=triton_simplex.quadratic_rows,
        )

    @contextmanager
    def limits(self) -> Iterator[None]:
        """Turn running out of device memory into one sentence."""
        try:
            yield
        except torch.cuda.OutOfMemoryError as error:
            free, whole = torch.cuda.mem_get_info(self.device)
            raise EngineError(
                f"The GPU is out of memory ({free / 1e9:.1f} of {whole / 1e9:.1f} GB free). Use fewer components, "
                "another engine, or rows that are read when needed (a sharded folder).",
                use={"engine": "cpu"},
            ) from error

    @property
    def free_bytes(self) -> float:
        """Device memory that nothing takes now."""
        # on torch's CPU device, which tests use, nothing is counted
        return torch.cuda.mem_get_info(self.device)[0] if self.device.type == "cuda" else np.inf

    def block_rows(self, n_components: int, itemsize: int, n_rows: int, row_bytes: float) -> int:
        per_row = _FORMS * row_bytes + _STATES * n_components * itemsize
        return max(1, int(min(n_rows, _SHARE * self.free_bytes / per_row)))

    def prepare(self, matrix: Any) -> Rows:
        if sparse.issparse(matrix):
            return CudaMatrix.moved(matrix, self.device)
        return DenseCudaMatrix.moved(np.asarray(matrix), self.device)

    def asarray(self, array: Any, dtype: Any = None) -> Any:
        tensor = array if isinstance(array, torch.Tensor) else self._host_tensor(np.asarray(array))
        if dtype is not None and not isinstance(dtype, torch.dtype):
            dtype = torch.from_numpy(np.empty(0, dtype=dtype)).dtype
        return tensor.to(self.device, dtype).contiguous()

    def _host_tensor(self, array: np.ndarray) -> Any:
        """Return an array as a tensor on the host: on a GPU it is only read, elsewhere it would be shared."""
        lent = self.device.type == "cuda" and array.flags.writeable and array.flags.forc
        return torch.from_numpy(array if lent else np.array(array))

    def to_numpy(self, array: Any) -> np.ndarray:
        if not isinstance(array, torch.Tensor):
            return np.asarray(array)
        if not array.is_cuda:
            return array.detach().cpu().numpy()
        # NumPy asks for large pages, torch does not
        host = np.empty(array.shape, dtype=torch.empty(0, dtype=array.dtype).numpy().dtype)
        torch.from_numpy(host).copy_(array.detach())
        return host

    def ratio_rows(self, X: Rows, A: Any, B: Any) -> tuple[Any, Any]:
        return self._ratio(_by_non_zeros(X), A, B, None, logs=True)

    def ratio_features(self, X: Rows, A: Any, B: Any, into: Any = None) -> Any:
        return self._ratio(_by_non_zeros(X).transposed, B, A, into, logs=False)[0]

    def _ratio(self, X: CudaMatrix, A: Any, B: Any, into: Any, *, logs: bool) -> tuple[Any, Any]:
        """Return R @ B over the rows of X and, with `logs`, the log-likelihood as a float64 scalar on the device."""
        # half precision for what is gathered alone: it is bound by the bandwidth of the memory, sums are not
        gathered = B.half() if self.precision == "mixed" and B.dtype == torch.float32 else B
        if self._kernels is not None and A.dtype == torch.float32:
            return self._kernels.ratio(X, A, gathered, into, logs)
        out = torch.zeros_like(A) if into is None else into
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        for rows, columns, values in X.slices(A.shape[1]):
            factor = gathered[columns].to(A.dtype)
            model = (A[rows] * factor).sum(dim=1)
            weight = torch.where(model > 0, values / model, torch.zeros_like(model))
            out.index_add_(0, rows, weight[:, None] * factor)
            if logs:
                total += _compute_log_terms(values, model).sum()
        return out, total

    def row_shares(self, old: Any, pull: Any, floor: float) -> Any:
        values = old * pull
        sums = values.sum(dim=1, keepdim=True)
        shares = (values / torch.where(sums > 0, sums, torch.ones_like(sums))).clamp_(min=floor)
        return torch.where(sums > 0, shares, old)

    def column_shares(self, old: dict[str, Any], sums: dict[str, Any], floor: float) -> dict[str, Any]:
        values = {name: part.mul_(old[name]) for name, part in sums.items()}
        # over all features: float32 would lose the rare ones beside the sum
        totals = sum(value.sum(dim=0, dtype=torch.float64) for value in values.values())
        safe = torch.where(totals > 0, totals, torch.ones_like(totals))
        return {
            name: torch.where(totals > 0, (value / safe.to(value.dtype)).clamp_(min=floor), old[name])
            for name, value in values.items()
        }

    def log_likelihood(self, X: Rows, A: Any, B: Any) -> Any:
        X = _by_non_zeros(X)
        if self._kernels is not None and A.dtype == torch.float32:
            return self._kernels.log_likelihood(X, A, B)
        out = torch.zeros(X.shape[0], dtype=torch.float64, device=self.device)
        for rows, columns, values in X.slices(A.shape[1]):
            out.index_add_(0, rows, _compute_log_terms(values, (A[rows] * B[columns]).sum(dim=1)))
        return out

    def project(self, X: Rows, W: Any) -> Any:
        if isinstance(X, DenseCudaMatrix):
            out = torch.empty((X.shape[0], W.shape[1]), dtype=W.dtype, device=self.device)
            for part in _runs(*X.shape):
                torch.matmul(X.values[part].to(W.dtype), W, out=out[part])
            return out
        return self._products(X, W, None)

    def accumulate(self, X: Rows, W: Any, into: Any = None) -> Any:
        if isinstance(X, CudaMatrix):
            return self._products(X.transposed, W, into)
        out = torch.zeros((X.shape[1], W.shape[1]), dtype=W.dtype, device=self.device) if into is None else into
        for part in _runs(*X.shape):
            out.addmm_(X.values[part].to(W.dtype).T, W[part])
        return out

    def _products(self, X: CudaMatrix, W: Any, into: Any) -> Any:
        """X @ W, added to `into` where that is given."""
        if self._kernels is not None:
            return self._kernels.products(X, W.contiguous(), into)
        out = torch.zeros((X.shape[0], W.shape[1]), dtype=W.dtype, device=self.device) if into is None else into
        for rows, columns, values in X.slices(W.shape[1]):
            out.index_add_(0, rows, values[:, None] * W[columns])
        return out

    def quadratic_shares(self, old: Any, counts: Any, slope: Any, curvature: Any, floor: float) -> Any:
        if self._kernels is not None:
            return self._kernels.quadratic_rows(counts, old, slope, curvature, floor)
        new = torch.empty_like(old)
        for part in _runs(*old.shape):
            rows = quadratic_rows(counts[part], old[part], slope[part], curvature[part])
            new[part] = rows.to(old.dtype).clamp_(min=floor)
        return new

    def omega_shares(self, u: Any, b: Any) -> Any:
        return omega_rows(u, b)

    def tied_shares(
        self, counts: Any, mixtures: Any, have: Any, weight: float, damping: float
    ) -> tuple[Any, np.ndarray]:
        host = CpuEngine()  # the views of a row are few and its steps many: no work for a device
        counts, mixtures, have = (self.to_numpy(part) for part in (counts, mixtures, have))
        new, added = host.tied_shares(counts, mixtures, have, weight, damping)
        return self.asarray(new), added

    def each_chunk(self, work: Callable[[int, int], Any], n_rows: int, width: int) -> None:
        for part in _runs(n_rows, width):
            work(part.start, min(part.stop, n_rows))

    @property
    def _pairs(self) -> Any:
        return torch_pairs if self._kernels is None else self._kernels.pairs

    def pair_similarities(self, mixture: Any, have: Any, partners: Any, sigma: float) -> Any:
        return self._pairs.similarities(mixture, have, partners, sigma)

    def pair_gaps(self, own: Any, other: Any) -> Any:
        return self._pairs.gap_squares(own, other)  # stays on the device: reading each would wait for it

    def pair_gradient(self, mixture: Any, partners: Any, pulls: Any) -> Any:
        return self._pairs.gradient(mixture, partners, pulls)

    def vector_products(self, X: Rows, W: Any, exact: bool = False) -> Any:
        return self.project(X, W.to(torch.float64 if exact else X.values.dtype)).to(W.dtype)

    def vector_moments(self, X: Rows, A: Any, exact: bool = False) -> Any:
        out = torch.zeros((A.shape[1], X.shape[1]), dtype=torch.float64, device=self.device)
        if isinstance(X, CudaMatrix):  # always exact: the kernel multiplies and adds in the type of A
            return self._products(X.transposed, A.double(), out.T.contiguous()).T
        dtype = torch.float64 if exact else X.values.dtype
        for part in _runs(*X.shape):
            out += A[part].to(dtype).T @ X.values[part].to(dtype)
        return out

    def square_sums(self, X: Rows) -> Any:
        return X.squares

    def row_sums(self, X: Rows) -> Any:
        X = _by_non_zeros(X)
        out = torch.zeros(X.shape[0], dtype=torch.float64, device=self.device)
        return out.index_add_(0, X.rows, X.values.double())

    def take(self, X: Rows, rows: np.ndarray) -> Rows:
        chosen = torch.as_tensor(rows, device=self.device)
        if isinstance(X, DenseCudaMatrix):
            return DenseCudaMatrix(X.values[chosen])
        counts = (X.indptr[1:] - X.indptr[:-1])[chosen]
        indptr = torch.zeros(len(chosen) + 1, dtype=X.indptr.dtype, device=self.device)
        torch.cumsum(counts, 0, out=indptr[1:])
        # by positions of the non-zeros: torch's own CSR matrices cannot be indexed by rows
        of = torch.repeat_interleave(torch.arange(len(chosen), device=self.device), counts)
        at = X.indptr[chosen][of] + torch.arange(len(of), device=self.device) - indptr[of]
        return CudaMatrix(indptr, X.indices[at], X.values[at], (len(chosen), X.shape[1]))

    def unit_rows(self, X: Rows) -> Rows:
        lengths = X.squares.sqrt()
        scale = (1 / torch.where(lengths > 0, lengths, torch.ones_like(lengths))).to(X.values.dtype)
        if isinstance(X, DenseCudaMatrix):
            return DenseCudaMatrix(X.values * scale[:, None])
        unit = CudaMatrix(X.indptr, X.indices, X.values * scale[X.rows], X.shape)
        unit.rows = X.rows  # the places are the same
        return unit

    def kmeans_labels(self, parts: list[Rows], n_clusters: int, seed: int) -> np.ndarray:
        widths = [part.shape[1] for part in parts]

        def products(W: Any) -> Any:
            pieces = zip(parts, W.split(widths))
            return sum(self.project(part, piece.contiguous()) for part, piece in pieces)

        def sums(A: Any) -> Any:
            return torch.cat([self.accumulate(part, A) for part in parts])

        # the parts are never put side by side: products, sums and squares add up over them
        squares: Any = sum(part.squares for part in parts)
        return self.to_numpy(kmeans_labels(products, sums, squares.to(parts[0].values.dtype), n_clusters, seed))

    def nearest_rows(self, X: Rows, among: Rows | None, n_nearest: int) -> tuple[np.ndarray, np.ndarray]:
        with self.limits(), _SEARCH:
            if among is not None and isinstance(X, DenseCudaMatrix) != isinstance(among, DenseCudaMatrix):
                X, among = _by_non_zeros(X), _by_non_zeros(among)
            distances, positions = find_nearest_rows(X, among, n_nearest, self.take)
            return self.to_numpy(distances), self.to_numpy(positions)

    def leading_vectors(self, weights: Any, lift: np.ndarray, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        n = lift.size
        with self.limits():
            indptr, indices, data = map(torch.from_numpy, (weights.indptr, weights.indices, weights.data))
            graph = torch.sparse_csr_tensor(indptr, indices, data, size=weights.shape).to(self.device, torch.float64)
            low = self.asarray(lift, np.float64)

            def times(block: Any) -> Any:
                return graph @ block + torch.outer(low, low @ block)

            values, vectors = find_leading_vectors(self, times, n, count, max(8, count // 4), seed)
            return values, self.to_numpy(vectors)


def _by_non_zeros(X: Rows) -> CudaMatrix:
    return X.by_non_zeros if isinstance(X, DenseCudaMatrix) else X


def _runs(n_rows: int, width: int) -> Iterator[slice]:
    """Cut rows into runs, of which so many values each are made at a time."""
    step = max(1, 4 * _SLICE // max(width, 1))
    return (slice(start, start + step) for start in range(0, n_rows, step))

"""The CUDA engine: torch for dense algebra, Triton for the `ratio` half-steps, data moved to the device once.

Where Triton or a GPU is absent the half-steps run as plain torch operations on blocks of non-zeros, so that the same
engine also runs on torch's CPU device. Factors stay on the device between sweeps; objectives are added up there in
float64 and read back once per sweep, for the stopping test.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy import sparse

from coview.exceptions import EngineError

__all__ = ["CudaEngine", "CudaMatrix"]

_SLICE = 1 << 22  # values gathered at a time by the plain path: never non-zeros x components
_PRECISIONS = ("single", "mixed")


class CudaMatrix:
    """Rows of one view on the device: CSR as moved, CSC made there when the feature side first needs it."""

    def __init__(self, indptr: Any, indices: Any, values: Any, shape: tuple[int, int]) -> None:
        self.indptr, self.indices, self.values, self.shape = indptr, indices, values, shape

    @cached_property
    def rows(self) -> Any:
        """Row of each non-zero."""
        counts = self.indptr[1:] - self.indptr[:-1]
        of = torch.arange(self.shape[0], dtype=self.indices.dtype, device=self.indices.device)
        return torch.repeat_interleave(of, counts, output_size=len(self.values))

    @cached_property
    def transposed(self) -> CudaMatrix:
        """The same matrix by columns."""
        order = torch.argsort(self.indices, stable=True)
        counts = torch.bincount(self.indices, minlength=self.shape[1])
        indptr = torch.zeros(self.shape[1] + 1, dtype=self.indptr.dtype, device=self.indptr.device)
        torch.cumsum(counts, 0, out=indptr[1:])
        return CudaMatrix(indptr, self.rows[order], self.values[order], (self.shape[1], self.shape[0]))

    @cached_property
    def segments(self) -> Any:
        """Rows cut into runs of bounded length, for the kernels; see `kernels/triton_ratio.py`."""
        from coview.kernels.triton_ratio import segments

        return segments(self.indptr)


class CudaEngine:
    """Runs a model's steps on a torch device.

    Parameters
    ----------
    device : str, default="cuda"
        A torch device; "cpu" works too, slowly.
    precision : {"single", "mixed"}, default="single"
        "mixed" gathers half-precision copies of the factors; the factors themselves stay in float32.
    """

    name = "cuda"

    def __init__(self, device: str = "cuda", precision: str = "single") -> None:
        if precision not in _PRECISIONS:
            raise EngineError(f"precision must be 'single' or 'mixed', got {precision!r}.")
        if str(device).startswith("cuda") and not torch.cuda.is_available():
            raise EngineError(
                "engine='cuda' needs PyTorch with CUDA and a GPU; torch sees none here. Use engine='cpu', or "
                "CudaEngine(device='cpu') to try the same code without a GPU."
            )
        self.device = torch.device(device)
        self.precision = precision

    @cached_property
    def _kernels(self) -> Any:
        """The Triton kernels, or None where they cannot run."""
        if self.device.type != "cuda":
            return None
        try:
            from coview.kernels import triton_ratio
        except ImportError:
            return None
        return triton_ratio

    def limits(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def block_rows(self, n_components: int, itemsize: int, n_rows: int, row_bytes: float) -> int:
        return 1 << 30

    def prepare(self, matrix: Any) -> CudaMatrix:
        csr = matrix if sparse.issparse(matrix) else sparse.csr_array(matrix)
        indptr, indices, values = (
            torch.from_numpy(np.array(part)).to(self.device)
            for part in (csr.indptr.astype(np.int64), csr.indices, csr.data)
        )
        return CudaMatrix(indptr, indices, values, csr.shape)

    def asarray(self, array: Any, dtype: Any = None) -> Any:
        if isinstance(array, torch.Tensor):
            found = array
        else:
            found = torch.from_numpy(np.array(array))
        if dtype is not None and not isinstance(dtype, torch.dtype):
            dtype = torch.from_numpy(np.empty(0, dtype=dtype)).dtype
        return found.to(self.device, dtype).contiguous() if dtype is not None else found.to(self.device).contiguous()

    def to_numpy(self, array: Any) -> np.ndarray:
        return array.detach().cpu().numpy() if isinstance(array, torch.Tensor) else np.asarray(array)

    def ratio_rows(self, X: CudaMatrix, A: Any, B: Any) -> tuple[Any, Any]:
        return self._ratio(X, A, B, None, logs=True)

    def ratio_features(self, X: CudaMatrix, A: Any, B: Any, into: Any = None) -> Any:
        return self._ratio(X.transposed, B, A, into, logs=False)[0]

    def _ratio(self, X: CudaMatrix, A: Any, B: Any, into: Any, *, logs: bool) -> tuple[Any, Any]:
        """R @ B over the rows of X and, with `logs`, the log-likelihood as a float64 scalar on the device."""
        gathered = B.half() if self.precision == "mixed" and B.dtype == torch.float32 else B
        if self._kernels is not None and A.dtype == torch.float32:
            return self._kernels.ratio(X, A, gathered, into, logs)
        out = torch.zeros_like(A) if into is None else into
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        step = max(1, _SLICE // A.shape[1])
        for start in range(0, len(X.values), step):
            part = slice(start, start + step)
            row, factor = X.rows[part], gathered[X.indices[part]].to(A.dtype)
            model = (A[row] * factor).sum(dim=1)
            weight = torch.where(model > 0, X.values[part] / model, torch.zeros_like(model))
            out.index_add_(0, row, weight[:, None] * factor)
            if logs:
                safe = torch.where(model > 0, model, torch.ones_like(model)).double()
                total += (X.values[part].double() * safe.log()).sum()
        return out, total

    def row_shares(self, old: Any, pull: Any, floor: float) -> Any:
        values = old * pull
        sums = values.sum(dim=1, keepdim=True)
        shares = (values / torch.where(sums > 0, sums, torch.ones_like(sums))).clamp_(min=floor)
        return torch.where(sums > 0, shares, old)

    def column_shares(self, old: dict[str, Any], sums: dict[str, Any], floor: float) -> dict[str, Any]:
        values = {name: part.mul_(old[name]) for name, part in sums.items()}
        totals = sum(value.sum(dim=0, dtype=torch.float64) for value in values.values())
        safe = torch.where(totals > 0, totals, torch.ones_like(totals))
        return {
            name: torch.where(totals > 0, (value / safe.to(value.dtype)).clamp_(min=floor), old[name])
            for name, value in values.items()
        }

    def log_likelihood(self, X: CudaMatrix, A: Any, B: Any) -> Any:
        out = torch.zeros(X.shape[0], dtype=torch.float64, device=self.device)
        step = max(1, _SLICE // A.shape[1])
        for start in range(0, len(X.values), step):
            part = slice(start, start + step)
            row = X.rows[part]
            model = (A[row] * B[X.indices[part]]).sum(dim=1)
            safe = torch.where(model > 0, model, torch.ones_like(model)).double()
            out.index_add_(0, row, X.values[part].double() * safe.log())
        return out

    def project(self, X: CudaMatrix, W: Any) -> Any:
        out = torch.zeros((X.shape[0], W.shape[1]), dtype=W.dtype, device=self.device)
        return self._accumulate(X, W, out)

    def accumulate(self, X: CudaMatrix, W: Any, into: Any = None) -> Any:
        out = torch.zeros((X.shape[1], W.shape[1]), dtype=W.dtype, device=self.device) if into is None else into
        return self._accumulate(X.transposed, W, out)

    def _accumulate(self, X: CudaMatrix, W: Any, out: Any) -> Any:
        step = max(1, _SLICE // W.shape[1])
        for start in range(0, len(X.values), step):
            part = slice(start, start + step)
            out.index_add_(0, X.rows[part], X.values[part, None] * W[X.indices[part]])
        return out

    def row_sums(self, X: CudaMatrix) -> Any:
        out = torch.zeros(X.shape[0], dtype=torch.float64, device=self.device)
        return out.index_add_(0, X.rows, X.values.double())

    def take(self, X: CudaMatrix, rows: np.ndarray) -> CudaMatrix:
        chosen = torch.as_tensor(rows, device=self.device)
        counts = (X.indptr[1:] - X.indptr[:-1])[chosen]
        indptr = torch.zeros(len(chosen) + 1, dtype=X.indptr.dtype, device=self.device)
        torch.cumsum(counts, 0, out=indptr[1:])
        of = torch.repeat_interleave(torch.arange(len(chosen), device=self.device), counts)
        at = X.indptr[chosen][of] + torch.arange(len(of), device=self.device) - indptr[of]
        return CudaMatrix(indptr, X.indices[at], X.values[at], (len(chosen), X.shape[1]))

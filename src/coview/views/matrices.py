"""Matrices as scikit-learn's clusterers and classifiers want them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

__all__ = ["for_sklearn", "unit_rows"]


def unit_rows(matrix: Any) -> Any:
    """Rows of length one, in floating point; empty rows stay empty."""
    if matrix.dtype.kind != "f":
        matrix = matrix.astype(np.float64)
    return for_sklearn(normalize(matrix))


def for_sklearn(matrix: Any) -> Any:
    """Sparse matrix as scikit-learn's compiled code wants it: 32-bit indices where they suffice, not read-only.

    A dense matrix is handed over as it is.
    """
    if not sparse.issparse(matrix):
        return matrix
    short = max(matrix.nnz, *matrix.shape) <= np.iinfo(np.int32).max
    kind = np.int32 if short else np.int64
    parts = (matrix.data, matrix.indices.astype(kind, copy=False), matrix.indptr.astype(kind, copy=False))
    own = tuple(part if part.flags.writeable else part.copy() for part in parts)
    return type(matrix)(own, shape=matrix.shape)

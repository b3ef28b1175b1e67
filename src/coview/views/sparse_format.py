"""Is a sparse matrix what it says it is? Compiled code follows its indices, so they are checked before it is used.

A CSR matrix of n rows and m columns has values and column indices of one length, and n + 1 bounds that begin at 0,
never fall and end within that length; row i has the values from bounds[i] to bounds[i + 1], whose columns lie between 0
and m - 1. SciPy checks the lengths when a matrix is made, and nothing afterwards: a wrong index reads and writes
foreign memory. Nor are SciPy's flags ("sorted", "canonical") believed: whoever made the matrix may have set them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coview.exceptions import ViewsError

__all__ = ["canonical_csr", "check_sparse"]


def check_sparse(name: str, matrix: Any) -> None:
    """Refuse a sparse matrix, of any format, whose parts do not fit together; `name` is its view.

    Examples
    --------
    >>> from scipy import sparse
    >>> words = sparse.csr_array(np.eye(2))
    >>> words.indices[1] = 7
    >>> check_sparse("words", words)
    Traceback (most recent call last):
    coview.exceptions.ViewsError: View 'words' is not a valid CSR matrix: column index 7 of 2 columns. Make it again.
    """
    if matrix.format in ("csr", "csc", "bsr"):
        _check_compressed(name, matrix)
    elif matrix.format == "coo":
        for axis, size, index in zip(("row", "column"), matrix.shape, matrix.coords):
            _check_index(name, matrix, f"{axis} indices", index)
            if index.shape != matrix.data.shape:
                raise _invalid(name, matrix, f"it has {matrix.data.size} values and {index.size} {axis} indices")
            _check_range(name, matrix, axis, index, size)
    elif matrix.format == "dia":
        _check_index(name, matrix, "offsets", matrix.offsets)
        if matrix.data.ndim != 2 or len(matrix.data) != len(matrix.offsets):
            raise _invalid(name, matrix, f"it has values of shape {matrix.data.shape}, {len(matrix.offsets)} offsets")


def canonical_csr(name: str, source: Any) -> Any:
    """Return a sparse matrix of any format as CSR: checked, columns rising in each row, none twice; copied if need be.

    Parameters
    ----------
    name : str
        The view, which errors name.
    source : scipy sparse matrix or array
        Two-dimensional; it is not changed.
    """
    check_sparse(name, source)
    if source.format != "csr":
        source = _addable(source).tocsr()
        _check_compressed(name, source)  # what LIL and DOK hold is seen here first
    stored = int(source.indptr[-1])
    indices, indptr = source.indices[:stored], source.indptr
    if indices.dtype != indptr.dtype or indices.dtype not in (np.int32, np.int64):
        kind = np.int32 if max(stored, *source.shape) <= np.iinfo(np.int32).max else np.int64
        indices, indptr = indices.astype(kind, copy=False), indptr.astype(kind, copy=False)
    dtype = source.dtype.newbyteorder("=")
    matrix = type(source)(source.shape, dtype=dtype)  # a new one has no flags yet
    matrix.data, matrix.indices, matrix.indptr = source.data[:stored].astype(dtype, copy=False), indices, indptr
    if not matrix.has_canonical_format:  # SciPy would repair it in place, which views forbid
        matrix = _addable(matrix).copy()
        matrix.sum_duplicates()
    return matrix


def _addable(matrix: Any) -> Any:
    """The same values in a type that SciPy can add: it cannot add half-precision numbers."""
    return matrix.astype(np.float32) if matrix.dtype == np.float16 else matrix


def _check_compressed(name: str, matrix: Any) -> None:
    """Check the parts of a CSR, CSC or BSR matrix, whose minor axis is the one that indices count."""
    data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    major, minor = matrix.shape[::-1] if matrix.format == "csc" else matrix.shape
    lines, axis = ("columns", "row") if matrix.format == "csc" else ("rows", "column")
    if matrix.format == "bsr":
        height, width = data.shape[1:] if data.ndim == 3 and all(data.shape[1:]) else (0, 0)
        if not height or major % height or minor % width:
            raise _invalid(name, matrix, f"its blocks are of shape {data.shape[1:]}, it of shape {matrix.shape}")
        major, minor = major // height, minor // width
    elif data.ndim != 1:
        raise _invalid(name, matrix, f"its values have {data.ndim} dimensions")
    _check_index(name, matrix, f"{axis} indices", indices)
    _check_index(name, matrix, "row bounds (indptr)" if lines == "rows" else "column bounds (indptr)", indptr)
    if len(indices) != len(data):
        raise _invalid(name, matrix, f"it has {len(data)} values and {len(indices)} {axis} indices")
    if len(indptr) != major + 1:
        raise _invalid(name, matrix, f"it has {len(indptr)} bounds (indptr) of {major} {lines}, {major + 1} are needed")
    first, last = int(indptr[0]), int(indptr[-1])
    if first != 0 or last > len(data):
        raise _invalid(name, matrix, f"its {lines} (indptr) go from value {first} to {last}, but it has {len(data)}")
    if (indptr[1:] < indptr[:-1]).any():
        at = int(np.argmax(indptr[1:] < indptr[:-1]))
        raise _invalid(name, matrix, f"its bounds (indptr) fall from {indptr[at]} to {indptr[at + 1]}")
    _check_range(name, matrix, axis, indices[:last], minor)


def _check_index(name: str, matrix: Any, what: str, index: Any) -> None:
    if not isinstance(index, np.ndarray) or index.ndim != 1 or index.dtype.kind not in "iu":
        kind = f"{index.dtype} of {index.ndim} dimension(s)" if isinstance(index, np.ndarray) else type(index).__name__
        raise _invalid(name, matrix, f"its {what} are {kind}, one list of integers is needed")


def _check_range(name: str, matrix: Any, axis: str, index: np.ndarray, size: int) -> None:
    if not index.size:
        return
    low, high = int(index.min()), int(index.max())
    if low < 0 or high >= size:
        raise _invalid(name, matrix, f"{axis} index {low if low < 0 else high} of {size} {axis}s")


def _invalid(name: str, matrix: Any, why: str) -> ViewsError:
    return ViewsError(f"View {name!r} is not a valid {matrix.format.upper()} matrix: {why}. Make it again.")

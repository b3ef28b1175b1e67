"""What is done to the matrix of one view: made of a source, rows taken, memory shared. Sparse stays sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import RAW_TABLE, ViewsError
from coview.utils.limits import text_array
from coview.utils.messages import cut, quantity, short
from coview.views.sparse_format import canonical_csr

__all__ = [
    "as_matrix",
    "check_magnitude",
    "check_not_negative",
    "check_width",
    "density",
    "filled_rows",
    "fits_single",
    "for_sklearn",
    "frame_ids",
    "from_tensor",
    "frozen",
    "holds_measurements",
    "is_dask_collection",
    "is_frame",
    "is_tensor",
    "is_whole",
    "largest",
    "looks_counted",
    "mostly_zeros",
    "open_frame",
    "place_columns",
    "read_only",
    "scatter_rows",
    "side_by_side",
    "sparse_in_single",
    "stack",
    "take_rows",
    "unit_rows",
]


LARGEST, SMALLEST = 1e60, 1e-60  # of a view that can be computed with: fourth powers of values are within range
SINGLE_LARGEST, SINGLE_SMALLEST = 1e9, 1e-9  # likewise in single precision
MOSTLY = 0.5  # share of non-zeros up to which real numbers are weighted counts
WHOLE_ROWS = 2000  # looked at together, for a number that is not whole


class _WrongType(ViewsError, TypeError):
    """Values that no number can be made of: what scikit-learn's estimators answer with a TypeError."""


def as_matrix(name: str, source: Any) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
    """Return (matrix, names of columns or None, row ids or None) of one view; refuse what is no numeric matrix."""
    columns = index = None
    if is_tensor(source):
        source = from_tensor(source)
    if sparse.issparse(source):
        matrix = source
    elif is_frame(source):
        matrix, columns, index = _from_frame(name, source)
    else:
        matrix = _from_array(name, source)
    if matrix.ndim != 2:
        if isinstance(matrix, np.ndarray) and matrix.ndim == 1 and matrix.size and isinstance(matrix[0], str):
            raise _texts(name, matrix[0])
        shapes = "one feature is a column, reshape(-1, 1), one object a row, reshape(1, -1)."
        if matrix.ndim > 2:
            shapes = f"one row for each of the {len(matrix):,} objects, reshape({len(matrix)}, -1)."
        raise ViewsError(
            f"View {name!r} must be two-dimensional (objects x features), got {matrix.ndim} dimension(s). Reshape your "
            f"data: {shapes}"
        )
    if matrix.shape[0] == 0 or matrix.shape[1] == 0:
        lacking = "0 feature(s)" if matrix.shape[0] else "0 row(s)"
        raise ViewsError(f"View {name!r} is empty: {lacking} (shape={matrix.shape}) while a minimum of 1 is required.")
    _check_numeric(name, matrix)
    if sparse.issparse(matrix):
        matrix = canonical_csr(name, matrix)
    _check_finite(name, matrix)
    return read_only(matrix), columns, index


def is_tensor(source: Any) -> bool:
    """Tell whether a torch tensor is given, without importing torch."""
    return type(source).__module__.split(".")[0] == "torch" and hasattr(source, "layout")


def from_tensor(tensor: Any) -> Any:
    """Return a torch tensor, of any device and dense or sparse, as a NumPy array or a CSR array."""
    tensor = tensor.detach()
    if str(tensor.dtype).startswith(("torch.bfloat16", "torch.float8")):  # NumPy has none of these
        tensor = tensor.float()
    if str(tensor.layout) == "torch.strided":
        return tensor.cpu().numpy()
    csr = tensor.to_sparse_csr().cpu()
    parts = (csr.values(), csr.col_indices(), csr.crow_indices())
    return sparse.csr_array(tuple(part.numpy() for part in parts), shape=tuple(tensor.shape))


def is_dask_collection(source: Any) -> bool:
    """Tell whether a dask array, DataFrame or the like is given, without importing dask."""
    return type(source).__module__.partition(".")[0] == "dask" and hasattr(type(source), "__dask_graph__")


def is_frame(source: Any) -> bool:
    """Tell whether a pandas or polars (or other narwhals-known) data frame is given, importing neither."""
    if not hasattr(type(source), "columns"):  # of the type: asking a lazy frame itself would make it work
        return False
    import narwhals as nw

    return nw.dependencies.is_into_dataframe(source) or nw.dependencies.is_polars_lazyframe(source)


def open_frame(source: Any) -> Any:
    """Return a data frame as narwhals sees it, with lazy ones collected."""
    import narwhals as nw

    if hasattr(source, "index") and not getattr(source.columns, "is_unique", True):  # pandas alone allows it
        twice = source.columns[source.columns.duplicated()][0]
        raise ViewsError(f"The data frame has the column {twice!r} more than once. Rename or drop one of them.")
    frame: Any = nw.from_native(source)
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def check_width(column: Any) -> None:
    """Refuse a column of a frame whose numbers no array of NumPy holds."""
    if str(column.dtype) in ("Int128", "UInt128"):
        raise ViewsError(
            f"Column {column.name!r} has integers of 128 bits, which NumPy does not know. Make it a column of Float64, "
            "or of text if it holds names."
        )


def frame_ids(frame: Any) -> np.ndarray | None:
    """Row index of a pandas frame where it has one of its own, else None."""
    native = frame.to_native()
    if not hasattr(native, "index") or type(native.index).__name__ == "RangeIndex":
        return None
    return np.asarray(native.index)


def _from_frame(name: str, source: Any) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
    import narwhals as nw

    frame, columns = open_frame(source), None
    if type(frame.to_native().columns).__name__ != "RangeIndex":  # numbers that nobody gave are no names
        columns = text_array([str(column) for column in frame.columns], f"feature names of view {name!r}")
    index = frame_ids(frame)
    kinds = list(getattr(frame.to_native(), "dtypes", []))
    if kinds and all(type(kind).__name__ == "SparseDtype" for kind in kinds):
        return sparse.csr_array(frame.to_native().sparse.to_coo()), columns, index
    for column in frame.iter_columns():
        if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
            if column.dtype.is_nested() or (len(column) and isinstance(column[0], (list, tuple, np.ndarray))):
                raise _vectors(name, f"column {column.name!r}")
            raise ViewsError(
                f"View {name!r} has column {column.name!r} of type {column.dtype}, which is not numeric. Turn text "
                "into counts with TextViews and categories into indicators with TableViews, or drop the column."
            )
        check_width(column)
        if column.dtype == nw.Boolean and column.null_count():
            rows = quantity(column.null_count(), "row")
            raise ViewsError(f"View {name!r} has no value in {rows} of column {column.name!r}.")
    matrix = frame.to_numpy()
    if matrix.dtype == object:  # nullable columns
        matrix = matrix.astype(np.float64)
    return matrix, columns, index


def _from_array(name: str, source: Any) -> np.ndarray:
    if isinstance(source, np.ma.MaskedArray) and np.ma.is_masked(source):
        raise ViewsError(
            f"View {name!r} is a masked array with {np.ma.count_masked(source)} masked values. Fill them with "
            f"filled(value); mark rows that lack the whole view by present={{{name!r}: mask}}."
        )
    try:
        matrix = np.asarray(source)
    except (ValueError, TypeError) as error:
        raise ViewsError(f"View {name!r} is not a numeric matrix ({cut(str(error))}).") from None
    if matrix.dtype == object:
        if matrix.ndim == 0:  # a set, a generator, None
            raise _WrongType(
                f"View {name!r} is of type {type(source).__name__}, not a matrix. Pass an array, a sparse matrix, a "
                "data frame or a list of rows."
            )
        if matrix.ndim == 1 and matrix.size and isinstance(matrix[0], str):
            raise _texts(name, matrix[0])
        if matrix.ndim == 1 and matrix.size and isinstance(matrix[0], (list, tuple, np.ndarray)):
            raise _vectors(name, "data")
        try:
            matrix = matrix.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            kind = _WrongType if isinstance(error, TypeError) else ViewsError
            raise kind(
                f"View {name!r} has dtype object, which is not numeric ({cut(str(error))}).", **RAW_TABLE
            ) from None
    return matrix


def _vectors(name: str, what: str) -> ViewsError:
    return ViewsError(
        f"View {name!r} has a vector in each cell of its {what}, not a number. Stack them to a matrix, "
        f"np.stack(column), or make views of the table: TableViews(columns={{{name!r}: [column]}})."
    )


def _texts(name: str, first: str) -> ViewsError:
    return ViewsError(
        f"View {name!r} contains text ({short(first)}, ...), not a matrix. Count their words first: "
        f"TextViews().fit_transform({{{name!r}: texts}})."
    )


def _check_numeric(name: str, matrix: Any) -> None:
    if matrix.dtype.kind == "c":
        raise ViewsError(f"View {name!r} has complex values (dtype {matrix.dtype}). Complex data not supported.")
    if matrix.dtype.kind not in "biuf":
        raise ViewsError(f"View {name!r} has dtype {matrix.dtype}, which is not numeric.", **RAW_TABLE)


def _check_finite(name: str, matrix: Any) -> None:
    values = matrix.data if sparse.issparse(matrix) else matrix
    if values.dtype.kind != "f":
        return
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return
    bad = ~np.isfinite(values)
    if not bad.any():  # the sum overflowed, the values are fine
        return
    if sparse.issparse(matrix):
        at = int(np.flatnonzero(bad)[0])
        row, column = int(np.searchsorted(matrix.indptr, at, side="right") - 1), int(matrix.indices[at])
        value = values[at]
    else:
        row, column = (int(i) for i in np.argwhere(bad)[0])
        value = values[row, column]
    n_bad = int(bad.sum())
    which = f"{value}" if n_bad == 1 else f"{n_bad} values, the first is {value}"
    raise ViewsError(
        f"View {name!r} has NaN or infinity ({which} at row {row}, column {column}).",
        python=f"Fill or drop them; mark rows that lack the whole view by present={{{name!r}: mask}}, or join with "
        "Views.align.",
        cli="Fill or drop them, or leave all cells of a row empty where the object lacks the view.",
    )


def stack(matrices: list[Any], axis: int = 0) -> Any:
    """One matrix of several, one below the other or, with axis 1, side by side; sparse if any of them is."""
    if len(matrices) == 1:
        return matrices[0]
    if any(sparse.issparse(matrix) for matrix in matrices):
        return (sparse.vstack if axis == 0 else sparse.hstack)(matrices, format="csr")
    return np.concatenate(matrices, axis=axis)


def side_by_side(arrays: list[Any]) -> Any:
    """One matrix of all columns, sparse if any part is."""
    if len(arrays) == 1:
        return arrays[0]
    if not any(sparse.issparse(array) for array in arrays):
        return np.hstack(arrays)
    return for_sklearn(sparse.hstack([sparse.csr_array(array) for array in arrays], format="csr"))


def check_not_negative(name: str, matrix: Any, who: str) -> None:
    """Refuse negative values where counts are needed; `who` is the estimator that needs them."""
    values = matrix.data if sparse.issparse(matrix) else matrix
    if values.dtype.kind in "bu" or not values.size or values.min() >= 0:
        return
    raise ViewsError(
        f"View {name!r} has negative values (minimum {values.min():.3g}). Negative values in data passed to {who} are "
        "not counts.",
        python="Turn the view into counts with Codebook(...), or leave it out.",
        cli="Turn the view into counts with --step Codebook, or leave it out.",
    )


_BITS = {np.dtype(np.float32): np.dtype(np.uint32), np.dtype(np.float64): np.dtype(np.uint64)}
_PEEK = 256  # values that tell mostly whether there are negative ones


def largest(matrix: Any) -> float:
    """Largest absolute value of a matrix.

    Floating numbers that are not negative are ordered as their bits are, which are compared faster, and in one pass:
    a sign would be the highest bit.
    """
    values = matrix.data if sparse.issparse(matrix) else matrix
    if values.dtype in _BITS and values.flags.c_contiguous and values.size and not (values.flat[:_PEEK] < 0).any():
        most = values.view(_BITS[values.dtype]).max().view(values.dtype)
        if not np.signbit(most):
            return float(most)
    return max(float(values.max(initial=0)), -float(values.min(initial=0)))


def check_magnitude(name: str, matrix: Any, *, new: bool = False, most: float | None = None) -> None:
    """Refuse a view whose values are so large that products of them would overflow, or so small that they would vanish.

    Of new objects, tiny values are let in. `most` is the largest absolute value where it is known.

    Examples
    --------
    >>> check_magnitude("words", np.array([[1e308]]))
    Traceback (most recent call last):
    coview.exceptions.ViewsError: View 'words' has values as large as 1e+308, beyond 1e+60. Divide it by a constant.
    """
    most = largest(matrix) if most is None else most
    if most > LARGEST:
        raise ViewsError(
            f"View {name!r} has values as large as {most:.3g}, beyond {LARGEST:g}. Divide it by a constant."
        )
    if 0 < most < SMALLEST and not new:
        raise ViewsError(
            f"View {name!r} has no values above {most:.3g}, below {SMALLEST:g}. Multiply it by a constant."
        )


def fits_single(matrix: Any, most: float | None = None) -> bool:
    """Tell whether products of values stay within the range of single precision; `most` as in `check_magnitude`."""
    most = largest(matrix) if most is None else most
    return most == 0 or SINGLE_SMALLEST <= most <= SINGLE_LARGEST


def sparse_in_single(matrix: Any) -> Any:
    """Return the matrix in single precision (float32) where it is sparse and loses no digit by that, else as it is.

    Examples
    --------
    >>> [sparse_in_single(sparse.csr_array([[value, 0]])).dtype.name for value in (3, 2.5, 0.1, 2**24 + 1)]
    ['float32', 'float32', 'float64', 'int64']
    """
    if not sparse.issparse(matrix) or matrix.dtype == np.float32 or not fits_single(matrix):
        return matrix
    single = matrix.astype(np.float32)
    return single if (single.data == matrix.data).all() else matrix


def holds_measurements(matrix: Any, n_present: int | None = None) -> bool:
    """Tell whether a matrix holds measurements or vectors and no counts: dense, and negative or mostly not whole.

    Parameters
    ----------
    matrix : array or sparse array
        The values of a view.
    n_present : int, optional
        How many rows have the view; the others are zeros. All by default.

    Examples
    --------
    >>> holds_measurements(np.array([[0.3, 0.7], [0.5, 0.1]])), holds_measurements(np.array([[3.0, 0.0], [1.0, 2.0]]))
    (True, False)
    """
    if sparse.issparse(matrix) or not matrix.size or matrix.dtype.kind in "bu":
        return False
    if matrix.min() < 0:
        return True
    if mostly_zeros(matrix, n_present):
        return False
    # some rows tell most measurements from counts: only counts are looked at as a whole
    return not all(is_whole(matrix[first : first + WHOLE_ROWS]) for first in range(0, len(matrix), WHOLE_ROWS))


def is_whole(matrix: Any) -> bool:
    """Tell whether all values of a matrix are whole numbers, as counts are.

    Examples
    --------
    >>> is_whole(np.array([[2.0, 0.0]])), is_whole(sparse.csr_array([[0.5, 0.0]]))
    (True, False)
    """
    values = matrix.data if sparse.issparse(matrix) else matrix
    return bool((values == np.rint(values)).all())


def read_only(matrix: Any) -> Any:
    """Return the same values behind an object that cannot change them; nothing is copied."""
    if sparse.issparse(matrix):
        shared = type(matrix)(matrix.shape, dtype=matrix.dtype)
        shared.data, shared.indices, shared.indptr = (
            frozen(part) for part in (matrix.data, matrix.indices, matrix.indptr)
        )
        return shared
    return frozen(matrix)


def frozen(array: np.ndarray) -> np.ndarray:
    """Return the same array behind a name that cannot change it."""
    view = array.view()
    view.flags.writeable = False
    return view


def take_rows(matrix: Any, rows: Any) -> Any:
    """Rows of a matrix, by slice or integer array; a contiguous slice shares memory."""
    if sparse.issparse(matrix) and isinstance(rows, slice):
        start, stop, step = rows.indices(matrix.shape[0])
        if step == 1:
            return slice_csr(matrix, start, max(start, stop))
    return matrix[rows]


def slice_csr(matrix: Any, start: int, stop: int) -> Any:
    """Rows start to stop of a CSR matrix; values and column indices are shared, not copied."""
    lo, hi = matrix.indptr[start], matrix.indptr[stop]
    part = type(matrix)((stop - start, matrix.shape[1]), dtype=matrix.dtype)
    part.data, part.indices = matrix.data[lo:hi], matrix.indices[lo:hi]
    part.indptr = matrix.indptr[start : stop + 1] - lo
    return part


def scatter_rows(matrix: Any, positions: np.ndarray) -> Any:
    """Matrix whose row i is row positions[i] of the given one, or zeros where positions[i] is -1."""
    have = positions >= 0
    taken = matrix[positions[have]]
    if sparse.issparse(matrix):
        counts = np.zeros(len(positions) + 1, dtype=taken.indptr.dtype)
        counts[1:][have] = np.diff(taken.indptr)
        return type(matrix)((taken.data, taken.indices, np.cumsum(counts)), shape=(len(positions), matrix.shape[1]))
    result = np.zeros((len(positions), matrix.shape[1]), dtype=matrix.dtype)
    result[have] = taken
    return result


def place_columns(matrix: Any, targets: np.ndarray, width: int) -> Any:
    """Matrix of `width` columns whose column targets[j] is column j of the given one; -1 leaves a column out."""
    if not sparse.issparse(matrix):
        result = np.zeros((matrix.shape[0], width), dtype=matrix.dtype)
        result[:, targets[targets >= 0]] = matrix[:, targets >= 0]
        return result
    columns = targets[matrix.indices]
    kept = columns >= 0
    ends = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
    parts = (matrix.data[kept], columns[kept].astype(matrix.indices.dtype), ends.astype(matrix.indptr.dtype))
    result = type(matrix)(parts, shape=(matrix.shape[0], width))
    result.sort_indices()
    return result


def density(matrix: Any, n_rows: int | None = None) -> float:
    """Share of the entries that are not zero, of so many rows (all): those of others, that lack a view, are zeros."""
    size = (matrix.shape[0] if n_rows is None else n_rows) * matrix.shape[1]
    if not size:
        return 0.0
    return (matrix.count_nonzero() if sparse.issparse(matrix) else np.count_nonzero(matrix)) / size


def filled_rows(matrix: Any) -> np.ndarray:
    """Tell which rows have a value that is not zero; zeros that are stored are none.

    Examples
    --------
    >>> filled_rows(np.array([[0, 2], [0, 0]])).tolist()
    [True, False]
    """
    if not sparse.issparse(matrix):
        return np.asarray(matrix.any(axis=1))
    rows = matrix.tocsr()
    stored = np.diff(rows.indptr)
    if not rows.data.all():
        zeros = np.flatnonzero(rows.data == 0)
        stored -= np.bincount(np.searchsorted(rows.indptr, zeros, side="right") - 1, minlength=len(stored))
    return stored > 0


def mostly_zeros(matrix: Any, n_rows: int | None = None) -> bool:
    """Tell whether at least half of a matrix is zeros, in the rows of so many objects (all) that have the view.

    Examples
    --------
    >>> some = np.array([[1.0, 2.0], [0.0, 0.0]])
    >>> mostly_zeros(some), mostly_zeros(some, 1)
    (True, False)
    """
    return bool(density(matrix, n_rows) <= MOSTLY)


def looks_counted(matrix: Any, n_rows: int | None = None) -> bool:
    """Tell whether a matrix looks like counts: nothing negative, and in the rows that have the view mostly zeros.

    Examples
    --------
    >>> looks_counted(np.eye(3)), looks_counted(np.ones((3, 2))), looks_counted(-np.eye(3))
    (True, False, False)
    """
    values = matrix.data if sparse.issparse(matrix) else matrix
    return mostly_zeros(matrix, n_rows) and (not values.size or bool(values.min() >= 0))


# -- as scikit-learn's clusterers and classifiers want them


def unit_rows(matrix: Any) -> Any:
    """Rows of length one, in floating point; empty rows stay empty."""
    from sklearn.preprocessing import normalize  # who only holds views need not wait for scikit-learn

    if matrix.dtype.kind != "f":
        matrix = matrix.astype(np.float64)
    return for_sklearn(normalize(matrix) if matrix.shape[0] else matrix)


def for_sklearn(matrix: Any, fitted: Any = None) -> Any:
    """Sparse matrix as scikit-learn's compiled code wants it: 32-bit indices where they suffice, not read-only.

    A dense matrix is handed over as it is; but the k-means of a fitted estimator takes only the type that it was fitted
    on.
    """
    centers = None if fitted is None else vars(fitted).get("cluster_centers_")
    if isinstance(centers, np.ndarray) and centers.dtype.kind == "f":
        matrix = matrix.astype(centers.dtype, copy=False)
    if not sparse.issparse(matrix):
        return matrix
    short = max(matrix.nnz, *matrix.shape) <= np.iinfo(np.int32).max
    kind = np.int32 if short else np.int64
    parts = (matrix.data, matrix.indices.astype(kind, copy=False), matrix.indptr.astype(kind, copy=False))
    own = tuple(part if part.flags.writeable else part.copy() for part in parts)
    return type(matrix)(own, shape=matrix.shape)

"""What is done to the matrix of one view: made of a source, rows taken, memory shared. Sparse stays sparse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import RAW_TABLE, ViewsError, ViewsTypeError
from coview.utils.limits import text_array
from coview.utils.messages import cut, short

__all__ = [
    "as_matrix",
    "check_magnitude",
    "check_not_negative",
    "check_width",
    "count_bytes",
    "density",
    "describe_kind",
    "filled_rows",
    "fits_single",
    "for_sklearn",
    "from_tensor",
    "frozen",
    "get_stored_values",
    "has_two_levels",
    "holds_measurements",
    "holds_tokens",
    "is_anndata",
    "is_dask_collection",
    "is_frame",
    "is_mudata",
    "is_tensor",
    "is_whole",
    "largest",
    "looks_counted",
    "mostly_zeros",
    "open_frame",
    "place_columns",
    "read_frame_ids",
    "read_only",
    "scatter_rows",
    "side_by_side",
    "sparse_in_single",
    "split_counts",
    "stack",
    "take_rows",
    "unit_rows",
]


LARGEST, SMALLEST = 1e60, 1e-60  # of a view that can be computed with: fourth powers of values are within range
SINGLE_LARGEST, SINGLE_SMALLEST = 1e9, 1e-9  # likewise in single precision


def as_matrix(name: str, source: Any) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
    """Return (matrix, names of columns or None, row ids or None) of one view; refuse what is no numeric matrix."""
    # here: who only holds views need not wait for scikit-learn
    from sklearn.utils import check_array

    columns = index = None
    if is_tensor(source):
        source = from_tensor(source)
    elif is_frame(source):
        source, columns, index = _from_frame(name, source)
    elif isinstance(source, np.ma.MaskedArray) and np.ma.is_masked(source):
        raise ViewsError(f"View {name!r} is a masked array. Fill the masked values with filled(value).")
    # the most frequent mistake gets a sentence of its own; scikit-learn would speak of conversion to float
    elif getattr(source, "ndim", 1) == 1 and isinstance(first := _first(source), str):
        raise ViewsError(
            f"View {name!r} contains text ({short(first)}, ...), not a matrix. Count their words first: "
            f"TextViews().fit_transform({{{name!r}: texts}})."
        )
    try:
        if sparse.issparse(source):
            source = _make_canonical(source)
        # scikit-learn looks for NaN by a sum, which may be infinity minus infinity
        with np.errstate(invalid="ignore"):
            matrix = check_array(source, accept_sparse="csr", dtype="numeric")
        if matrix.dtype.kind not in "biuf":
            raise ValueError(f"dtype {matrix.dtype} is not numeric.")
    except (ValueError, TypeError, OverflowError) as error:
        # scikit-learn raises both, and its checks of estimators want the same kind to come out
        kind = ViewsTypeError if isinstance(error, TypeError) else ViewsError
        words = " ".join(str(error).split())
        raise kind(f"View {name!r} cannot be used: {cut(words, 300)}", **_advise(name, words)) from None
    return read_only(matrix), columns, index


def _first(values: Any) -> Any:
    """Return the first value of a list or an array."""
    return next(iter(values), None) if isinstance(values, Sequence | np.ndarray) or hasattr(values, "iloc") else None


def _advise(name: str, words: str) -> dict[str, Any]:
    """Return advice about data that scikit-learn refuses in these words."""
    if "NaN" in words or "infinity" in words:
        return {
            "python": f"Fill or drop such values; mark rows that lack the whole view by present={{{name!r}: mask}}, or "
            "join with Views.align.",
            "cli": "Fill or drop such values, or leave all cells of a row empty where the object lacks the view.",
        }
    return RAW_TABLE if "convert" in words or "numeric" in words else {}


def _make_canonical(source: Any) -> Any:
    """Return a sparse matrix as CSR whose columns rise in each row, none twice; the source is not changed.

    Compiled code follows its indices: a wrong one reads and writes foreign memory. So they are checked, in a new object
    that has no flags yet, since whoever made the matrix may have changed it or set them.
    """
    if source.dtype == np.float16:  # which SciPy cannot add
        source = source.astype(np.float32)
    if source.format in ("csr", "csc"):
        source = type(source)((source.data, source.indices, source.indptr), shape=source.shape)
        source.check_format(full_check=True)
        if (np.diff(source.indptr) < 0).any():  # SciPy does not look where the last bound is 0
            raise ValueError("index pointer values must form a non-decreasing sequence")
    else:
        source = sparse.coo_array(source)  # which checks its indices
    matrix = source.tocsr()
    if not matrix.has_canonical_format:  # SciPy would repair it in place, which views forbid
        matrix = matrix.copy()
        matrix.sum_duplicates()
    dtype = matrix.dtype.newbyteorder("=")
    return matrix.astype(dtype, copy=False)


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


def is_mudata(X: Any) -> bool:
    """Tell whether a MuData is given, without importing mudata."""
    return isinstance(getattr(X, "mod", None), Mapping) and hasattr(X, "obs_names")


def is_anndata(X: Any) -> bool:
    """Tell whether an AnnData is given, without importing anndata."""
    return any(cls.__name__ == "AnnData" and cls.__module__.partition(".")[0] == "anndata" for cls in type(X).__mro__)


def is_frame(source: Any) -> bool:
    """Tell whether a pandas or polars (or other narwhals-known) data frame is given, importing neither."""
    if not hasattr(type(source), "columns"):  # of the type: asking a lazy frame itself would make it work
        return False
    import narwhals as nw

    return nw.dependencies.is_into_dataframe(source) or nw.dependencies.is_polars_lazyframe(source)


def has_two_levels(frame: Any) -> bool:
    """Tell whether the columns of a pandas frame have two levels: views and features."""
    return getattr(frame.columns, "nlevels", 1) == 2


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


def read_frame_ids(frame: Any) -> np.ndarray | None:
    """Return the row index of a pandas frame, or None where its rows are merely counted."""
    native = frame.to_native()
    if not hasattr(native, "index") or type(native.index).__name__ == "RangeIndex":
        return None
    return np.asarray(native.index)


def _from_frame(name: str, source: Any) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
    import narwhals as nw

    frame, columns = open_frame(source), None
    native = frame.to_native()
    if type(native.columns).__name__ != "RangeIndex":  # default column numbers are no names
        columns = text_array([str(column) for column in frame.columns], f"feature names of view {name!r}")
    index = read_frame_ids(frame)
    kinds = list(getattr(native, "dtypes", []))
    # frames of indicators may have many thousands of columns, almost all zeros
    if kinds and all(type(kind).__name__ == "SparseDtype" for kind in kinds):
        return sparse.csr_array(native.sparse.to_coo()), columns, index
    for column in frame.iter_columns():
        check_width(column)
        if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
            raise ViewsError(
                f"View {name!r} has column {column.name!r} of type {column.dtype}, which is not numeric. Turn text "
                "into counts with TextViews and categories into indicators with TableViews, or drop the column."
            )
    return frame.to_numpy(), columns, index


def stack(matrices: list[Any], axis: int = 0) -> Any:
    """Stack matrices below each other or, with axis 1, side by side; the result is sparse if any of them is."""
    if len(matrices) == 1:
        return matrices[0]
    if any(sparse.issparse(matrix) for matrix in matrices):
        # sparse wins: made dense, a view of words may not fit into memory
        return (sparse.vstack if axis == 0 else sparse.hstack)(matrices, format="csr")
    return np.concatenate(matrices, axis=axis)


def side_by_side(arrays: list[Any]) -> Any:
    """Stack matrices side by side, in the form that scikit-learn takes; sparse if any of them is."""
    return for_sklearn(stack(arrays, axis=1))


def check_not_negative(name: str, matrix: Any, who: str) -> None:
    """Refuse negative values where counts are needed; `who` is the estimator that needs them."""
    values = matrix.data if sparse.issparse(matrix) else matrix
    if values.dtype.kind in "bu" or not values.size or values.min() >= 0:
        return
    raise ViewsError(
        f"Negative values in data passed to {who}, which takes counts: view {name!r} has a minimum of "
        f"{values.min():.3g}.",
        python=f"Count in which part of its column a number is, EachView({{{name!r}: KBinsDiscretizer()}}), or leave "
        "the view out.",
        cli="Leave the view out.",
    )


def largest(matrix: Any) -> float:
    """Return the largest absolute value of a matrix."""
    values = matrix.data if sparse.issparse(matrix) else matrix
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
    # halves the memory that each sweep reads, where counts lose nothing by it
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
    return not is_whole(matrix)


def is_whole(matrix: Any) -> bool:
    """Tell whether all values of a matrix are whole numbers, as counts are.

    Examples
    --------
    >>> is_whole(np.array([[2.0, 0.0]])), is_whole(sparse.csr_array([[0.5, 0.0]]))
    (True, False)
    """
    values = matrix.data if sparse.issparse(matrix) else matrix
    return bool((values == np.rint(values)).all())


def holds_tokens(counts: sparse.csr_array) -> bool:
    """Tell whether counts are numbers of tokens that can be drawn: whole, and within 32 bits."""
    return is_whole(counts) and counts.data.max(initial=0) < 2**31


def split_counts(matrix: Any, rng: np.random.Generator) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Put each token of a matrix of counts into one of two matrices at random; of other values each entry.

    Examples
    --------
    >>> one, other = split_counts(np.array([[6, 0], [1, 4]]), np.random.default_rng(0))
    >>> (one + other).toarray().tolist()
    [[6.0, 0.0], [1.0, 4.0]]
    """
    counts = sparse.csr_array(matrix)
    values = counts.data if counts.dtype.kind == "f" else counts.data.astype(np.float64)
    if holds_tokens(counts):
        part = rng.binomial(values.astype(np.int64), 0.5).astype(values.dtype)
    else:
        part = values * rng.integers(0, 2, counts.nnz).astype(values.dtype)
    # copies of the indices: zeros are eliminated in place, and the other half needs them too
    halves = [
        sparse.csr_array((data, counts.indices.copy(), counts.indptr.copy()), shape=counts.shape)
        for data in (part, values - part)
    ]
    for half in halves:
        half.eliminate_zeros()
    return halves[0], halves[1]


def read_only(matrix: Any) -> Any:
    """Return the same values behind an object that cannot change them; nothing is copied."""
    if sparse.issparse(matrix):
        # not by the constructor of the three parts, which looks through all indices for their type
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
    """Return rows of a matrix, by slice or integer array; a contiguous slice shares memory."""
    if sparse.issparse(matrix) and isinstance(rows, slice):
        start, stop, step = rows.indices(matrix.shape[0])
        if step == 1:
            return slice_csr(matrix, start, max(start, stop))
    return matrix[rows]


def slice_csr(matrix: Any, start: int, stop: int) -> Any:
    """Return rows start to stop of a CSR matrix; values and column indices are shared, not copied."""
    # SciPy copies the values of a slice; a pass over blocks would copy the whole matrix
    lo, hi = matrix.indptr[start], matrix.indptr[stop]
    part = type(matrix)((stop - start, matrix.shape[1]), dtype=matrix.dtype)
    part.data, part.indices = matrix.data[lo:hi], matrix.indices[lo:hi]
    part.indptr = matrix.indptr[start : stop + 1] - lo
    return part


def scatter_rows(matrix: Any, positions: np.ndarray) -> Any:
    """Return a matrix whose row i is row positions[i] of the given one, or zeros where positions[i] is -1."""
    have = positions >= 0
    taken = matrix[positions[have]]
    if sparse.issparse(matrix):
        # rows that are not there have no values, so only the bounds of rows are made anew
        counts = np.zeros(len(positions) + 1, dtype=taken.indptr.dtype)
        counts[1:][have] = np.diff(taken.indptr)
        return type(matrix)((taken.data, taken.indices, np.cumsum(counts)), shape=(len(positions), matrix.shape[1]))
    result = np.zeros((len(positions), matrix.shape[1]), dtype=matrix.dtype)
    result[have] = taken
    return result


def place_columns(matrix: Any, targets: np.ndarray, width: int) -> Any:
    """Return a matrix of `width` columns whose column targets[j] is column j of the given one; -1 drops one."""
    kept = np.flatnonzero(targets >= 0)
    if sparse.issparse(matrix):
        # a product with a matrix of ones moves columns without making anything dense
        ones = np.ones(len(kept), dtype=matrix.dtype)
        result = matrix @ sparse.csr_array((ones, (kept, targets[kept])), shape=(len(targets), width))
        result.sort_indices()
        return result
    result = np.zeros((matrix.shape[0], width), dtype=matrix.dtype)
    result[:, targets[kept]] = matrix[:, kept]
    return result


def density(matrix: Any, n_rows: int | None = None) -> float:
    """Return the share of entries that are not zero, in the `n_rows` rows (all) that have the view."""
    size = (matrix.shape[0] if n_rows is None else n_rows) * matrix.shape[1]
    if not size:
        return 0.0
    return (matrix.count_nonzero() if sparse.issparse(matrix) else np.count_nonzero(matrix)) / size


def describe_kind(matrix: Any) -> str:
    """Say whether a matrix is "sparse" or "dense"."""
    return "sparse" if sparse.issparse(matrix) else "dense"


def get_stored_values(matrix: Any) -> int:
    """Return the number of values that a matrix stores: all cells of a dense one."""
    return int(matrix.nnz if sparse.issparse(matrix) else matrix.size)


def count_bytes(matrix: Any) -> int:
    """Return the bytes that a matrix takes in memory."""
    if sparse.issparse(matrix):
        return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)
    return int(matrix.nbytes)


def filled_rows(matrix: Any) -> np.ndarray:
    """Tell which rows have a value that is not zero; zeros that are stored are none.

    Examples
    --------
    >>> filled_rows(np.array([[0, 2], [0, 0]])).tolist()
    [True, False]
    """
    return matrix.count_nonzero(axis=1) > 0 if sparse.issparse(matrix) else np.asarray(matrix.any(axis=1))


def mostly_zeros(matrix: Any, n_rows: int | None = None) -> bool:
    """Tell whether at least half of a matrix is zeros, in the rows of so many objects (all) that have the view.

    Examples
    --------
    >>> some = np.array([[1.0, 2.0], [0.0, 0.0]])
    >>> mostly_zeros(some), mostly_zeros(some, 1)
    (True, False)
    """
    return bool(density(matrix, n_rows) <= 0.5)


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
    """Scale rows to length one, in floating point; empty rows stay empty."""
    from sklearn.preprocessing import normalize  # who only holds views need not wait for scikit-learn

    if matrix.dtype.kind != "f":
        matrix = matrix.astype(np.float64)
    return for_sklearn(normalize(matrix) if matrix.shape[0] else matrix)


def for_sklearn(matrix: Any, fitted: Any = None) -> Any:
    """Return a matrix as scikit-learn's compiled code needs it: 32-bit indices where they suffice, writable.

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

"""One view of one shard, as a file: written whole, read by rows, described without reading its values.

.npy           a dense matrix, mapped into memory
.safetensors   a CSR matrix, mapped as well: the tensors data, indices and indptr, with shape and class as metadata
.parquet       dense: a column per feature. Sparse: the columns row, column and value, a line per stored value
.zarr          dense: one array. Sparse: a group of the same three arrays, with shape and class as attributes
.npz           a matrix that SciPy or NumPy saved; read whole, never written
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import DataFileError
from coview.io.formats import FileView, check_npy, load_matrix, npz_headers, rows_present
from coview.io.zarr_arrays import check_chunks, import_zarr, open_array, write_array, zarr_attributes
from coview.utils.mapped import MappedTensors

__all__ = ["FORMATS", "SUFFIXES", "Facts", "check_complete", "describe", "file_stem", "read_rows", "write_matrix"]

FORMATS = ("parquet", "zarr")  # besides the mapped files
SUFFIXES = (".npy", ".safetensors", ".parquet", ".zarr", ".npz")
_CLASSES = {"csr_array": sparse.csr_array, "csr_matrix": sparse.csr_matrix}
_TRIPLE = ("row", "column", "value")
_PARTS = ("data", "indices", "indptr")
_CHUNK = 1 << 20  # values in a chunk of a Zarr array


@dataclass(frozen=True)
class Facts:
    """What is known of a matrix without its values."""

    rows: int
    features: int
    dtype: str
    kind: str  # "dense", "csr_array" or "csr_matrix"
    nnz: int
    feature_names: tuple[str, ...] | None = None


def file_stem(position: int, name: str) -> str:
    """Name of a view's file without its ending: any text may name a view, few may name a file."""
    return f"{position:02d}-{re.sub(r'[^A-Za-z0-9_-]+', '_', name)[:40]}"


def write_matrix(folder: Path, stem: str, matrix: Any, format: str | None, names: np.ndarray | None) -> str:
    """Write one matrix and return its file's name."""
    if format == "parquet":
        file = f"{stem}.parquet"
        _write_parquet(folder / file, matrix, names)
    elif format == "zarr":
        file = f"{stem}.zarr"
        _write_zarr(folder / file, matrix)
    elif sparse.issparse(matrix):
        file = f"{stem}.safetensors"
        _write_csr(folder / file, matrix)
    else:
        file = f"{stem}.npy"
        np.save(folder / file, np.ascontiguousarray(matrix), allow_pickle=False)  # rows together in the file
    return file


def read_rows(path: Path, start: int, stop: int, facts: Facts) -> FileView:
    """Read rows start to stop of a file: its matrix, and ids and missing rows where a table has them."""
    if path.suffix.lower() == ".parquet":
        return _triples(path, start, stop, facts) if facts.kind != "dense" else _table(path, start, stop, facts)
    stored = _open(path)
    if tuple(stored.shape) != (facts.rows, facts.features):
        size_text = " x ".join(str(size) for size in stored.shape)
        raise DataFileError(
            f"{path} is {size_text}, but its shard has {facts.rows} rows and its view {facts.features} features. Write "
            "it again."
        )
    if isinstance(stored, _StoredCsr):
        return FileView(_csr_rows(path, stored.arrays, start, stop, facts))
    return FileView(_plain(stored[start:stop]))


def describe(path: Path, kind: str | None) -> Facts:
    """Tell the shape, type and kind of a file's matrix from its headers; `kind` is what its owner says, if anything."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _describe_parquet(path, kind)
    if suffix == ".npz" and (facts := _describe_npz(path)) is not None:
        return facts
    stored = _open(path)
    if not isinstance(stored, _StoredCsr):
        return _dense_facts(path, stored.shape, stored.dtype)
    n, m = stored.shape
    return Facts(n, m, stored.arrays["data"].dtype.str, stored.kind, len(stored.arrays["data"]))


def check_complete(path: Path, facts: Facts) -> None:
    """Refuse a file that lacks a part which its format would fill with zeros, or has rows that nobody would read."""
    suffix = path.suffix.lower()
    if suffix == ".zarr":
        for array in [path] if zarr_attributes(path) is None else [path / name for name in _PARTS]:
            check_chunks(array)
    elif suffix == ".parquet":
        _check_rows(path, facts)


# -- arrays


def _write_csr(path: Path, matrix: Any) -> None:
    from safetensors.numpy import save_file

    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    tensors = {name: np.ascontiguousarray(part, part.dtype.newbyteorder("<")) for name, part in parts.items()}
    n, m = matrix.shape
    save_file(tensors, path, metadata={"shape": f"{n} {m}", "class": type(matrix).__name__})


class _StoredCsr:
    """A CSR matrix in a file: its three arrays by name, of which only what is needed is read, its shape and class."""

    def __init__(self, arrays: Any, shape: Any, about: Any) -> None:
        self.arrays, self.shape = arrays, tuple(int(size) for size in shape)
        self.kind = about.get("class") if about.get("class") in _CLASSES else "csr_array"


def _open(path: Path) -> Any:
    """Return the matrix of a file before it is read: an array, or the parts of a CSR matrix."""
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return _whole_npz(path, path.stat().st_mtime_ns)
    if suffix == ".safetensors":
        tensors = MappedTensors(path)
        arrays = {name: tensors(name) for name in _PARTS}
        return _StoredCsr(arrays, tensors.metadata["shape"].split(), tensors.metadata)
    if suffix == ".zarr":
        about = zarr_attributes(path)
        if about is None:
            return open_array(path)
        return _StoredCsr({name: open_array(path / name) for name in _PARTS}, about["shape"], about)
    check_npy(path)
    return np.load(path, mmap_mode="r", allow_pickle=False)


@functools.lru_cache(maxsize=2)
def _whole_npz(path: Path, modified: int) -> Any:
    """Return the matrix of an .npz file; blocks of one shard come one after the other, so the last ones are kept."""
    matrix = load_matrix(path)
    return _StoredCsr(vars(sparse.csr_array(matrix)), matrix.shape, {}) if sparse.issparse(matrix) else matrix


def _describe_npz(path: Path) -> Facts | None:
    """Tell what the headers inside an .npz file say, or None of a sparse matrix that is not CSR."""
    headers = npz_headers(path)
    if len(headers) == 1:
        return _dense_facts(path, *next(iter(headers.values())))
    if {"data", "indptr", "shape"} <= headers.keys():
        with np.load(path, allow_pickle=False) as arrays:
            n, m = (int(size) for size in arrays["shape"])
        (stored,), dtype = headers["data"]
        return Facts(n, m, dtype.str, "csr_array", stored)
    return None


def _dense_facts(path: Path, shape: tuple[int, ...], dtype: np.dtype) -> Facts:
    if len(shape) != 2:
        raise DataFileError(f"{path} must hold a matrix, but its array has {len(shape)} dimension(s).")
    n, m = shape
    return Facts(n, m, dtype.str, "dense", n * m)


def _plain(array: np.ndarray) -> Any:
    """Return an array that compiled code takes: no subclass, aligned, native; copied only where it must be."""
    plain = np.require(np.asarray(array), requirements="A")
    return plain if plain.dtype.isnative else plain.astype(plain.dtype.newbyteorder("="))


def _csr_rows(path: Path, arrays: Any, start: int, stop: int, facts: Facts) -> Any:
    """Rows of a CSR matrix from its three arrays, of which only the slices needed are touched."""
    data, indices, indptr = arrays["data"], arrays["indices"], arrays["indptr"]
    n_stored = data.shape[0]
    if indptr.shape != (facts.rows + 1,) or indices.shape != data.shape:
        raise DataFileError(f"{path} is damaged: its arrays are not those of {facts.rows} rows. Write it again.")
    if np.dtype(indices.dtype).kind not in "iu" or np.dtype(indptr.dtype).kind not in "iu":
        kinds = f"{indices.dtype} and {indptr.dtype}"
        raise DataFileError(f"{path} is damaged: its indices are {kinds}, integers are needed. Write it again.")
    bounds = np.asarray(indptr[start : stop + 1]).astype(np.int64)
    low, high = int(bounds[0]), int(bounds[-1])
    if low < 0 or high > n_stored or np.diff(bounds).min(initial=0) < 0:
        raise DataFileError(f"{path} is damaged: rows {start} to {stop} are not among its {n_stored} values.")
    part = _CLASSES.get(facts.kind, sparse.csr_array)((stop - start, facts.features), dtype=data.dtype)
    columns = _plain(indices[low:high])
    index = np.int32 if columns.dtype == np.int32 and high - low <= np.iinfo(np.int32).max else np.int64
    part.data, part.indices = _plain(data[low:high]), columns.astype(index, copy=False)
    part.indptr = (bounds - low).astype(index)
    return part


# -- Parquet


def _polars() -> Any:
    try:
        import polars
    except ImportError:
        raise DataFileError('Parquet shards need polars. Run: pip install "coview[table]".') from None
    return polars


def _write_parquet(path: Path, matrix: Any, names: np.ndarray | None) -> None:
    polars = _polars()
    if sparse.issparse(matrix):
        rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int32), np.diff(matrix.indptr))
        columns = dict(zip(_TRIPLE, (rows, matrix.indices, _storable(matrix.data))))
    else:
        titles = [str(name) for name in names] if names is not None else []
        if len(set(titles)) != matrix.shape[1] or any(title.lower() == "id" for title in titles):
            titles = [str(i) for i in range(matrix.shape[1])]  # the manifest has the names; "id" would be read as ids
        columns = {title: _storable(matrix[:, j]) for j, title in enumerate(titles)}
    polars.DataFrame(columns).write_parquet(path)


def _storable(values: np.ndarray) -> np.ndarray:
    """Parquet has no half-precision numbers; they pass through single precision unchanged."""
    return values.astype(np.float32) if values.dtype == np.float16 else np.ascontiguousarray(values)


def _check_rows(path: Path, facts: Facts) -> None:
    polars = _polars()
    lines = polars.scan_parquet(path, glob=False)
    if facts.kind == "dense":
        count = int(lines.select(polars.len()).collect().item())
        if count != facts.rows:
            raise DataFileError(f"{path} has {count} rows, but its shard has {facts.rows}. Write it again.")
        return
    if not all(kind.is_integer() for kind in lines.select("row", "column").collect_schema().dtypes()):
        raise DataFileError(f"{path} must have integers in its columns row and column. Write it again.")
    row = polars.col("row")
    low, high, gaps = lines.select(row.min(), row.max().alias("high"), row.null_count().alias("gaps")).collect().row(0)
    if gaps or (low is not None and not 0 <= low <= high < facts.rows):
        raise DataFileError(
            f"{path} has values in rows {low} to {high}{' and in rows without a number' if gaps else ''}, but its "
            f"shard has {facts.rows} rows. Write it again."
        )


def _triples(path: Path, start: int, stop: int, facts: Facts) -> FileView:
    polars = _polars()
    row = polars.col("row")
    frame = polars.scan_parquet(path, glob=False).filter((row >= start) & (row < stop)).select(_TRIPLE).collect()
    rows, columns, values = (frame[name].to_numpy() for name in _TRIPLE)
    if columns.size and not 0 <= columns.min() <= columns.max() < facts.features:
        raise DataFileError(
            f"{path} has columns {columns.min()} to {columns.max()}, but the view has {facts.features} features."
        )
    shape = (stop - start, facts.features)
    # through coordinates: the lines of a table may come in any order
    return FileView(_CLASSES[facts.kind]((values.astype(facts.dtype), (rows - start, columns)), shape=shape))


def _table(path: Path, start: int, stop: int, facts: Facts) -> FileView:
    """Rows of a table of features; a first column of ids, and rows without any value, are as in other tables."""
    polars = _polars()
    frame = polars.scan_parquet(path, glob=False).slice(start, stop - start).collect()
    ids = None
    if _has_ids(frame.schema):
        ids = frame.to_series(0).to_numpy()
        frame = frame.drop(frame.columns[0])
    if frame.shape != (stop - start, facts.features):
        raise DataFileError(
            f"{path} has {frame.height} rows from row {start} on and {frame.width} features, but {stop - start} and "
            f"{facts.features} are needed. Write it again."
        )
    empty = np.sum([column.is_null().to_numpy() for column in frame], axis=0)
    present = rows_present(path, empty, frame.width, first=start)
    return FileView(frame.fill_null(0).to_numpy().astype(facts.dtype), ids, None, present)


def _has_ids(schema: Any) -> bool:
    first = next(iter(schema))
    return first.lower() == "id" or schema[first] == _polars().String


def _describe_parquet(path: Path, kind: str | None) -> Facts:
    polars = _polars()
    lines = polars.scan_parquet(path, glob=False)
    schema = lines.collect_schema()
    count = int(lines.select(polars.len()).collect().item())
    if kind is not None and kind != "dense":
        if not set(_TRIPLE) <= set(schema):
            raise DataFileError(f"{path} must have the columns row, column and value, as its view is sparse.")
        return Facts(0, 0, _dtype_of(path, [schema["value"]]), "csr_array", count)  # it cannot tell its shape
    columns = list(schema)[1:] if _has_ids(schema) else list(schema)
    if not columns:
        raise DataFileError(f"{path} has no column of features.")
    dtype = _dtype_of(path, [schema[column] for column in columns])
    return Facts(count, len(columns), dtype, "dense", count * len(columns), tuple(columns))


def _dtype_of(path: Path, types: list[Any]) -> str:
    polars = _polars()
    if not all(kind.is_numeric() or kind == polars.Boolean for kind in types):
        raise DataFileError(f"{path} has a column that is not numeric. Drop it, or turn it into numbers.")
    return np.result_type(*(polars.Series([], dtype=kind).to_numpy().dtype for kind in set(types))).str


# -- Zarr


def _write_zarr(path: Path, matrix: Any) -> None:
    if not sparse.issparse(matrix):
        rows = max(1, min(matrix.shape[0], _CHUNK // matrix.shape[1]))
        write_array(path, np.ascontiguousarray(matrix), (rows, matrix.shape[1]))
        return
    about = {"shape": matrix.shape, "class": type(matrix).__name__}
    import_zarr().open_group(str(path), mode="w", attributes=about)
    for name, part in zip(_PARTS, (matrix.data, matrix.indices, matrix.indptr)):
        write_array(path / name, np.ascontiguousarray(part), (max(1, min(len(part), _CHUNK)),))

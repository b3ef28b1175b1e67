"""One view of one shard, as a file: written whole, read by rows, described without reading its values.

.npz       a CSR matrix as scipy saves it, uncompressed; rows are mapped into memory, not read
.npy       a dense matrix; mapped as well
.parquet   dense: a column per feature. Sparse: the columns row, column and value, a line per stored value
.zarr      dense: one array. Sparse: a group of the arrays data, indices and indptr, with the attribute shape
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import DataFileError
from coview.io.formats import Part, load_matrix
from coview.io.npz import csr_parts, map_npy, map_npz, npz_headers, write_npz
from coview.views.arrays import take_rows
from coview.views.sources import stored_values

__all__ = ["FORMATS", "SUFFIXES", "Facts", "check_columns", "describe", "file_stem", "read_rows", "write_matrix"]

FORMATS = ("npz", "parquet", "zarr")
SUFFIXES = (".npz", ".npy", ".parquet", ".zarr")
_CLASSES = {"csr_array": sparse.csr_array, "csr_matrix": sparse.csr_matrix}
_TRIPLE = ("row", "column", "value")
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


def write_matrix(folder: Path, stem: str, matrix: Any, format: str, names: np.ndarray | None) -> str:
    """Write one matrix and return its file's name."""
    if format == "parquet":
        _write_parquet(folder / f"{stem}.parquet", matrix, names)
        return f"{stem}.parquet"
    if format == "zarr":
        _write_zarr(folder / f"{stem}.zarr", matrix)
        return f"{stem}.zarr"
    if not sparse.issparse(matrix):
        np.save(folder / f"{stem}.npy", np.ascontiguousarray(matrix), allow_pickle=False)  # rows together in the file
        return f"{stem}.npy"
    parts = {"indices": matrix.indices, "indptr": matrix.indptr, "format": np.array(b"csr")}
    parts |= {"shape": np.array(matrix.shape), "data": matrix.data}
    parts |= {"_is_array": np.array(isinstance(matrix, sparse.sparray))}  # as scipy's save_npz does
    write_npz(folder / f"{stem}.npz", parts)
    return f"{stem}.npz"


def read_rows(path: Path, start: int, stop: int, facts: Facts) -> Part:
    """Read rows start to stop of a file: its matrix, and ids and missing rows where a table has them."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _triples(path, start, stop, facts) if facts.kind != "dense" else _table(path, start, stop, facts)
    if suffix == ".zarr":
        return Part(_zarr_rows(path, start, stop, facts))
    if suffix == ".npy":
        return Part(_dense_rows(path, map_npy(path), start, stop, facts))
    arrays = map_npz(path)
    if csr_parts(arrays) is not None:
        return Part(_csr_rows(path, arrays, arrays["shape"], start, stop, facts))
    if len(arrays) == 1:
        return Part(_dense_rows(path, next(iter(arrays.values())), start, stop, facts))
    matrix = load_matrix(path)  # another sparse format
    _check_shape(path, matrix.shape, facts)
    return Part(take_rows(_CLASSES.get(facts.kind, sparse.csr_array)(matrix), slice(start, stop)))


def describe(path: Path, kind: str | None) -> Facts:
    """Tell the shape, type and kind of a file's matrix from its headers; `kind` is what its owner says, if anything."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _describe_parquet(path, kind)
    if suffix == ".zarr":
        return _describe_zarr(path)
    if suffix == ".npz":
        return _describe_npz(path)
    matrix = map_npy(path)
    return _dense_facts(path, matrix.shape, matrix.dtype)


def check_columns(path: Path, matrix: Any) -> None:
    """Refuse column indices out of range, which would crash compiled code later."""
    low, high = int(matrix.indices.min(initial=0)), int(matrix.indices.max(initial=0))
    if low < 0 or high >= matrix.shape[1]:
        raise DataFileError(
            f"{path} is damaged: it has column indices {low} to {high}, but {matrix.shape[1]} columns. Write it again."
        )


# -- arrays


def _describe_npz(path: Path) -> Facts:
    headers = npz_headers(path)
    if len(headers) == 1:
        return _dense_facts(path, *next(iter(headers.values())))
    with np.load(path, allow_pickle=False) as archive:
        small: dict[str, Any] = {name: archive[name] for name in ("shape", "format", "_is_array") if name in headers}
    csr = csr_parts({**headers, **small})
    if csr is not None:
        (n, m), cls = csr
        (stored,), dtype = headers["data"]
        return Facts(n, m, dtype.str, cls.__name__, stored)
    matrix = load_matrix(path)
    n, m = matrix.shape
    return Facts(n, m, matrix.dtype.str, "csr_array", stored_values(matrix))


def _dense_facts(path: Path, shape: tuple[int, ...], dtype: np.dtype) -> Facts:
    if len(shape) != 2:
        raise DataFileError(f"{path} must hold a matrix, but its array has {len(shape)} dimension(s).")
    n, m = shape
    return Facts(n, m, dtype.str, "dense", n * m)


def _plain(array: np.ndarray) -> Any:
    """Return an array that compiled code takes: no subclass, aligned, native; copied only where it must be."""
    plain = np.require(np.asarray(array), requirements="A")
    return plain if plain.dtype.isnative else plain.astype(plain.dtype.newbyteorder("="))


def _check_shape(path: Path, shape: Any, facts: Facts) -> None:
    if tuple(int(size) for size in shape) != (facts.rows, facts.features):
        found = " x ".join(str(size) for size in shape)
        raise DataFileError(
            f"{path} is {found}, but its shard has {facts.rows} rows and its view {facts.features} features. Write it "
            "again."
        )


def _dense_rows(path: Path, array: Any, start: int, stop: int, facts: Facts) -> Any:
    _check_shape(path, array.shape, facts)
    return _plain(array[start:stop])


def _csr_rows(path: Path, arrays: Any, shape: Any, start: int, stop: int, facts: Facts) -> Any:
    """Rows of a CSR matrix from its three arrays, of which only the slices needed are touched."""
    _check_shape(path, shape, facts)
    data, indices, indptr = arrays["data"], arrays["indices"], arrays["indptr"]
    n_stored = data.shape[0]
    if indptr.shape != (facts.rows + 1,) or indices.shape != data.shape:
        raise DataFileError(f"{path} is damaged: its arrays are not those of {facts.rows} rows. Write it again.")
    bounds = np.array(indptr[start : stop + 1], dtype=np.dtype(indices.dtype).newbyteorder("="))
    low, high = int(bounds[0]), int(bounds[-1])
    if low < 0 or high > n_stored or np.diff(bounds).min(initial=0) < 0:
        raise DataFileError(f"{path} is damaged: rows {start} to {stop} are not among its {n_stored} values.")
    part = _CLASSES.get(facts.kind, sparse.csr_array)((stop - start, facts.features), dtype=data.dtype)
    part.data, part.indices, part.indptr = _plain(data[low:high]), _plain(indices[low:high]), bounds - bounds[0]
    return part


# -- Parquet


def _polars() -> Any:
    try:
        import polars
    except ImportError:
        raise DataFileError('Parquet shards need polars. Run: pip install "coview[parquet]".') from None
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


def _triples(path: Path, start: int, stop: int, facts: Facts) -> Part:
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
    return Part(_CLASSES[facts.kind]((values.astype(facts.dtype), (rows - start, columns)), shape=shape))


def _table(path: Path, start: int, stop: int, facts: Facts) -> Part:
    """Rows of a table of features; a first column of ids, and rows without any value, are as in other tables."""
    polars = _polars()
    frame = polars.scan_parquet(path, glob=False).slice(start, stop - start).collect()
    ids = None
    if _has_ids(frame.schema):
        ids = frame.to_series(0).to_numpy()
        ids = ids.astype(str) if ids.dtype == object else ids
        frame = frame.drop(frame.columns[0])
    if frame.shape != (stop - start, facts.features):
        raise DataFileError(
            f"{path} has {frame.height} rows from row {start} on and {frame.width} features, but {stop - start} and "
            f"{facts.features} are needed. Write it again."
        )
    empty = np.sum([column.is_null().to_numpy() for column in frame], axis=0)
    partly = np.flatnonzero((empty > 0) & (empty < frame.width))
    if partly.size:
        raise DataFileError(
            f"{path} has no value in {empty[partly[0]]} of {frame.width} columns of row {start + partly[0]}. Fill "
            "them, or leave the whole row empty if the object lacks the view."
        )
    matrix = frame.fill_null(0).to_numpy().astype(facts.dtype)
    return Part(matrix, ids, None, empty == 0 if empty.any() else None)


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


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise DataFileError("Zarr shards need zarr. Run: pip install zarr.") from None
    return zarr


def _write_zarr(path: Path, matrix: Any) -> None:
    zarr = _zarr()
    if not sparse.issparse(matrix):
        rows = max(1, min(matrix.shape[0], _CHUNK // matrix.shape[1]))
        zarr.create_array(str(path), data=np.ascontiguousarray(matrix), chunks=(rows, matrix.shape[1]))
        return
    group = zarr.open_group(str(path), mode="w")
    group.attrs["shape"] = list(matrix.shape)
    group.attrs["class"] = type(matrix).__name__
    for part in ("data", "indices", "indptr"):
        values = np.ascontiguousarray(getattr(matrix, part))
        group.create_array(part, data=values, chunks=(max(1, min(len(values), _CHUNK)),))


def _zarr_rows(path: Path, start: int, stop: int, facts: Facts) -> Any:
    found = _zarr().open(str(path), mode="r")
    if not hasattr(found, "keys"):
        return _dense_rows(path, found, start, stop, facts)
    return _csr_rows(path, found, found.attrs["shape"], start, stop, facts)


def _describe_zarr(path: Path) -> Facts:
    found = _zarr().open(str(path), mode="r")
    if not hasattr(found, "keys"):
        n, m = found.shape
        return Facts(n, m, np.dtype(found.dtype).str, "dense", n * m)
    n, m = found.attrs["shape"]
    data = found["data"]
    return Facts(n, m, np.dtype(data.dtype).str, found.attrs.get("class", "csr_array"), data.shape[0])

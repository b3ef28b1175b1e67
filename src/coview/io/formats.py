"""One file in, its views out: a reader for each format that `read_views` knows, and one sentence when a file is bad."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io, sparse

from coview.exceptions import DataFileError, ViewsError
from coview.io.delimited import partly_empty, read_delimited
from coview.utils.messages import not_text, short
from coview.views.arrays import frame_ids

__all__ = ["EXTENSIONS", "Part", "load_file", "load_matrix", "native_parquet"]


@dataclass(frozen=True)
class Part:
    """One view as its file gives it."""

    matrix: Any
    ids: np.ndarray | None = None
    feature_names: Any = None
    present: np.ndarray | None = None  # False in rows whose cells are all empty


def load_file(path: Path) -> dict[str, Part]:
    """Views of one file by name; a format that holds one view names it by the file's stem."""
    extension = path.suffix.lower()
    if not path.exists():
        raise DataFileError(f"There is no file {path}.")
    if extension not in _READERS:
        raise DataFileError(f"{path} has no known format; the extensions read are {', '.join(EXTENSIONS)}.")
    if path.is_file() and not path.stat().st_size:
        raise DataFileError(f"{path} is empty (0 bytes). Write it again.")
    try:
        found = _READERS[extension](path)
    except (DataFileError, ViewsError, MemoryError):
        raise
    except UnicodeDecodeError as error:
        raise not_text(path, error) from None
    except Exception as error:  # each format's library has errors of its own; all mean the same to the reader
        raise DataFileError(
            f"{path} cannot be read as {extension} ({_one_line(error)}). The file is truncated or of another format."
        ) from error
    return found if isinstance(found, dict) else {path.stem: found}


def load_matrix(path: Path) -> Any:
    """Return the one matrix of an .npy or .npz file."""
    parts = load_file(path)
    if len(parts) != 1:
        raise DataFileError(f"{path} must hold one matrix, but holds {len(parts)}.")
    return next(iter(parts.values())).matrix


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200].rstrip(". ") or type(error).__name__


# -- arrays


def _read_npy(path: Path) -> Part:
    with open(path, "rb") as stream:
        if stream.read(6) != b"\x93NUMPY":  # NumPy itself would advise to try pickle
            raise DataFileError(f"{path} is not an .npy file: it is truncated or of another format. Write it again.")
    return Part(np.load(path, allow_pickle=False))


def _read_npz(path: Path) -> Part | dict[str, Part]:
    if not zipfile.is_zipfile(path):
        raise DataFileError(f"{path} is not an .npz archive: it is truncated or of another format. Write it again.")
    with np.load(path, allow_pickle=False) as archive:
        keys = list(archive.files)
        if {"data", "indices", "indptr"} <= set(keys) and "format" not in keys:
            return Part(_csr_of_parts(archive))
        if "format" not in keys:
            if not keys:
                raise DataFileError(f"{path} holds no array.")
            arrays = {key: Part(archive[key]) for key in keys}
            return arrays if len(arrays) > 1 else next(iter(arrays.values()))
    matrix = sparse.load_npz(path)
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)  # indices out of range would crash compiled code later
    return Part(matrix)


def _csr_of_parts(archive: Any) -> Any:
    data, indices, indptr = archive["data"], archive["indices"], archive["indptr"]
    shape = tuple(archive["shape"]) if "shape" in archive.files else None
    matrix = sparse.csr_array((data, indices, indptr), shape=shape)
    matrix.check_format(full_check=True)
    return matrix


def _read_mtx(path: Path) -> Part:
    matrix = io.mmread(path)
    return Part(sparse.csr_array(matrix) if sparse.issparse(matrix) else matrix)


def _read_svmlight(path: Path) -> Part:
    from sklearn.datasets import load_svmlight_file

    matrix, _ = load_svmlight_file(str(path))
    return Part(matrix)


# -- tables


def _read_csv(path: Path) -> Part:
    return Part(*read_delimited(path, ","))


def _read_tsv(path: Path) -> Part:
    return Part(*read_delimited(path, "\t"))


def _read_parquet(path: Path) -> Part:
    import narwhals as nw

    frame = nw.from_native(native_parquet(path))
    ids = frame_ids(frame)
    first = frame[:, 0]
    if first.name.lower() == "id" or (first.dtype == nw.String and first.n_unique() == len(frame)):
        ids = _typed_ids(path, first.to_list())
        frame = frame.drop(first.name)
    if not frame.columns:
        raise DataFileError(f"{path} has no column of features beside {first.name!r}.")
    empty = np.sum([column.is_null().to_numpy() for column in frame.iter_columns()], axis=0)
    if not empty.any():
        return Part(frame.to_native(), ids)
    columns = len(frame.columns)
    partly = np.flatnonzero((empty > 0) & (empty < columns))
    if partly.size:
        raise partly_empty(path, int(partly[0]), int(empty[partly[0]]), columns)
    have = empty == 0
    matrix = np.zeros(frame.shape)
    matrix[have] = frame.filter(have.tolist()).to_numpy()
    return Part(matrix, ids, list(frame.columns), have)


def native_parquet(path: Path) -> Any:
    try:
        import polars
    except ImportError:
        try:
            import pandas
            import pyarrow  # noqa: F401  (what pandas reads parquet with)
        except ImportError:
            raise DataFileError(
                f'{path} needs polars, or pandas with pyarrow, to be read. Run: pip install "coview[parquet]".'
            ) from None
        return pandas.read_parquet(path)
    return polars.read_parquet(path)


def _read_jsonl(path: Path) -> Part:
    columns: dict[str, int] = {}
    ids: list[Any] = []
    data: list[Any] = []
    indices: list[int] = []
    indptr = [0]
    with open(path, encoding="utf-8-sig") as stream:
        lines = stream.read().rstrip().split("\n")
    for number, line in enumerate(lines, start=1):
        row = _json_row(path, number, line)
        if "id" in row:
            ids.append(row.pop("id"))
        for feature, value in row.items():
            if not isinstance(value, (int, float)):
                raise DataFileError(
                    f"{path} has {short(value)} for {short(feature)} in line {number}; a number is needed."
                )
            if value:
                indices.append(columns.setdefault(feature, len(columns)))
                data.append(value)
        indptr.append(len(data))
    if not columns:
        raise DataFileError(f"{path} has no feature that is not zero.")
    if ids and len(ids) != len(lines):
        raise DataFileError(f"{path} has an id in {len(ids)} of {len(lines)} lines. Give one to all lines, or to none.")
    matrix = sparse.csr_array((np.asarray(data), indices, indptr), shape=(len(lines), len(columns)))
    return Part(matrix, _typed_ids(path, ids) if ids else None, list(columns))


def _json_row(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataFileError(f"{path} has no JSON object in line {number} ({error.msg}).") from None
    if not isinstance(row, dict):
        raise DataFileError(f"{path} has no JSON object in line {number}, but {type(row).__name__}.")
    return row


def _typed_ids(path: Path, values: list[Any]) -> np.ndarray:
    for kind in (str, int):
        if all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
            return np.asarray(values)
    raise DataFileError(f"{path} has ids such as {short(values[0])}; ids must be all text or all integers.")


def _read_h5mu(path: Path) -> dict[str, Part]:
    try:
        import mudata
    except ImportError:
        raise DataFileError(f'{path} needs mudata to be read. Run: pip install "coview[mudata]".') from None
    from coview.views.coerce import as_views

    views = as_views(mudata.read_h5mu(path))
    return {
        name: Part(array, views.ids, views.feature_names.get(name), views.present[:, v])
        for v, (name, array) in enumerate(views.items())
    }


_READERS: dict[str, Callable[[Path], Any]] = {
    ".npz": _read_npz,
    ".npy": _read_npy,
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".parquet": _read_parquet,
    ".mtx": _read_mtx,
    ".svmlight": _read_svmlight,
    ".jsonl": _read_jsonl,
    ".h5mu": _read_h5mu,
}

EXTENSIONS = tuple(_READERS)

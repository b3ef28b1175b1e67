"""One file in, its views out: a reader for each format that `read_views` knows, and one sentence when a file is bad."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io, sparse

from coview.exceptions import DataFileError
from coview.io.tables import DELIMITERS, read_frame
from coview.preprocessing.columns import find_missing, read_vectors
from coview.utils.jsonable import read_json_rows
from coview.utils.messages import file_errors, make_text_error, short
from coview.views.arrays import read_frame_ids
from coview.views.coerce import as_views
from coview.views.views import Views

__all__ = [
    "EXTENSIONS",
    "FileView",
    "join_files",
    "load_file",
    "load_matrix",
]

_INT64 = 2**63


@dataclass(frozen=True)
class FileView:
    """One view as its file gives it."""

    matrix: Any
    ids: np.ndarray | None = None
    feature_names: Any = None
    present: np.ndarray | None = None  # False in rows whose cells are all empty


def load_file(path: Path) -> dict[str, FileView]:
    """Return the views of one file by name; a single view without a name has that of the file."""
    extension = path.suffix.lower()
    if not path.exists():
        raise DataFileError(f"File not found: {path}.")
    if extension not in _READERS:
        raise DataFileError(
            f"{path} has no known format; the extensions read are {', '.join(EXTENSIONS)}, and .json of tables."
        )
    # a pipe or device would be read without end
    if not path.is_file():
        raise DataFileError(f"{path} is not a regular file. Pass the path of a file.")
    if not path.stat().st_size:
        raise DataFileError(f"{path} is empty (0 bytes). Write it again.")
    with file_errors(f"{path} cannot be read as {extension}", "The file is truncated or of another format."):
        try:
            content = _READERS[extension](path)
        except UnicodeDecodeError as error:
            raise make_text_error(path, error) from None
    return content if isinstance(content, dict) else {path.stem: content}


def load_matrix(path: Path) -> Any:
    """Return the one matrix of a file."""
    parts = load_file(path)
    if len(parts) != 1:
        raise DataFileError(f"{path} must hold one matrix, but holds {len(parts)}.")
    return next(iter(parts.values())).matrix


# -- joining files


def join_files(files: Mapping[str, FileView]) -> Views:
    """Return one `Views` of all files, joined by position where ids agree or are absent, else by id."""
    ids = {name: part.ids for name, part in files.items() if part.ids is not None}
    if len({keys.dtype.kind for keys in ids.values()}) > 1:  # one format knows 1, another only "1"
        ids = {name: np.array(list(map(str, keys.tolist())), dtype=object) for name, keys in ids.items()}
    first: Any = next(iter(ids.values()), None)
    names = {name: part.feature_names for name, part in files.items() if part.feature_names is not None}
    # the usual case: one export of all views has the same rows, of which none need be moved
    if all(np.array_equal(keys, first) for keys in ids.values()):
        return Views(
            {name: part.matrix for name, part in files.items()},
            ids=first,
            present={name: part.present for name, part in files.items() if part.present is not None},
            feature_names=names,
        )
    if len(ids) < len(files):
        without = next(name for name in files if name not in ids)
        raise DataFileError(
            f"View {without!r} has no ids, but the ids of the other files differ. Add an id column, or use files "
            "with the same rows."
        )
    # empty rows are left out, since align marks what is absent by the ids that a view lacks
    joined = Views.align({name: _rows_present(ids[name], part) for name, part in files.items()})
    return Views(joined, feature_names=names)


def _rows_present(ids: np.ndarray, part: FileView) -> tuple[np.ndarray, Any]:
    if part.present is None or part.present.all():
        return ids, part.matrix
    return ids[part.present], part.matrix[part.present]


# -- arrays


def _read_npy(path: Path) -> FileView:
    return FileView(np.load(path, allow_pickle=False))


def _read_npz(path: Path) -> FileView | dict[str, FileView]:
    with np.load(path, allow_pickle=False) as archive:
        keys = set(archive.files)
        if "format" not in keys and not {"data", "indices", "indptr"} <= keys:
            arrays = {key: FileView(archive[key]) for key in archive.files}
            return arrays if len(arrays) > 1 else next(iter(arrays.values()))
        # scipy.sparse.save_npz writes it; others write the three parts of a CSR matrix alone
        if "format" in keys:
            matrix = sparse.load_npz(path)
        else:
            parts = (archive["data"], archive["indices"], archive["indptr"])
            matrix = sparse.csr_array(parts, shape=archive["shape"] if "shape" in keys else None)
    if matrix.format in ("csr", "csc", "bsr"):
        matrix.check_format(full_check=True)  # indices out of range would crash compiled code later
    return FileView(matrix)


def _read_mtx(path: Path) -> FileView:
    text = path.read_bytes()
    if b"\0" in text:  # SciPy's reader, which is C++, dies of one, and of a last line that does not end
        raise DataFileError(f"{path} is no text: it has a zero byte. Write it again.")
    matrix = io.mmread(BytesIO(text + b"\n"))
    return FileView(sparse.csr_array(matrix) if sparse.issparse(matrix) else matrix)


def _read_svmlight(path: Path) -> FileView:
    from sklearn.datasets import load_svmlight_file

    return FileView(load_svmlight_file(str(path))[0])


# -- tables


def _read_table(path: Path) -> FileView | dict[str, FileView]:
    """Return the views of a table: its numbers, and each column of vectors; a first column of names holds the ids."""
    import narwhals as nw

    frame = nw.from_native(read_frame(path))
    if not len(frame) or not frame.columns:
        raise DataFileError(f"{path} has no rows. Write one row per object below the names of the columns.")
    _check_names(path, frame.columns)
    ids = read_frame_ids(frame)
    first = frame[:, 0]
    unnamed = not first.name or first.name.startswith("Unnamed: 0")  # as pandas calls it
    if unnamed or first.name.lower() == "id" or (first.dtype == nw.String and first.n_unique() == len(frame)):
        # such a column holds names: as numbers they would be a feature that no two objects share
        ids = _convert_ids(path, first.to_list())
        frame = frame.drop(first.name)
    if not frame.columns:
        raise DataFileError(f"{path} has no column of features beside {first.name!r}.")
    matrices = {name: read_vectors(name, frame[name]) for name in frame.columns}
    vectors = {str(name): _read_vector_view(matrix, ids) for name, matrix in matrices.items() if matrix is not None}
    frame = frame.drop(*[name for name in matrices if str(name) in vectors])
    if not frame.columns:
        return vectors if len(vectors) > 1 else next(iter(vectors.values()))
    return (
        {path.stem: _read_number_view(path, frame, ids), **vectors} if vectors else _read_number_view(path, frame, ids)
    )


def _check_names(path: Path, names: list[str]) -> None:
    """Refuse a first line of numbers, unless it counts the columns, as pandas names them by itself."""
    numbers = [name for name in names if re.fullmatch(r"-?\d*\.?\d+(e-?\d+)?", name)]
    counting = [str(i) for i in range(len(names) + 1)]
    if len(numbers) == len(names) and numbers not in (counting[:-1], counting[1:]):
        raise DataFileError(f"{path} has no header row: its first line is all numbers. Add the columns' names.")


def _read_vector_view(matrix: np.ndarray, ids: np.ndarray | None) -> FileView:
    missing = find_missing(matrix)
    if not missing.any():
        return FileView(matrix, ids)
    return FileView(np.where(missing[:, None], matrix.dtype.type(0), matrix), ids, present=~missing)


def _read_number_view(path: Path, frame: Any, ids: np.ndarray | None) -> FileView:
    empty = np.sum([column.is_null().to_numpy() for column in frame.iter_columns()], axis=0)
    have = find_present_rows(path, empty, len(frame.columns))
    if have is None:
        return FileView(frame.to_native(), ids)
    matrix = np.zeros(frame.shape)
    matrix[have] = frame.filter(have.tolist()).to_numpy()
    return FileView(matrix, ids, list(frame.columns), have)


def find_present_rows(path: Path, empty: np.ndarray, columns: int, first: int = 0) -> np.ndarray | None:
    """Return which rows of a table have values, or None where all do; `empty` counts the empty cells of each."""
    # in a row with some values an empty cell may mean 0 or unknown: only its author knows
    partly = np.flatnonzero((empty > 0) & (empty < columns))
    if partly.size:
        row = partly[0]
        raise DataFileError(
            f"{path} has {empty[row]} of {columns} cells empty in row {first + row} (counting from 0). Fill them, or "
            "leave all of a row's cells empty where the object lacks the view."
        )
    return empty == 0 if empty.any() else None


def _read_jsonl(path: Path) -> FileView:
    # columns are numbered as they come: the file tells none beforehand
    columns: dict[str, int] = {}
    ids: list[Any] = []
    data: list[Any] = []
    indices: list[int] = []
    indptr = [0]
    with open(path, encoding="utf-8-sig") as stream:
        lines = [line for line in stream if line.strip()]
    for number, row in enumerate(read_json_rows(lines, path), start=1):
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
        raise DataFileError(f"{path} has no non-zero feature.")
    if ids and len(ids) != len(lines):
        raise DataFileError(
            f"{path} has an id in {len(ids)} of {len(lines)} lines. Add an id to every line, or to none."
        )
    matrix = sparse.csr_array((np.asarray(data), indices, indptr), shape=(len(lines), len(columns)))
    return FileView(matrix, _convert_ids(path, ids) if ids else None, list(columns))


def _convert_ids(path: Path, values: list[Any]) -> np.ndarray:
    if all(isinstance(value, str) for value in values):
        return np.array(values, dtype=object)
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        # longer numbers are names, such as hashes: as floats several would become one
        fits = all(-_INT64 <= value < _INT64 for value in values)
        return np.asarray(values) if fits else np.array(list(map(str, values)), dtype=object)
    raise DataFileError(f"{path} has ids such as {short(values[0])}; ids must be all strings or all integers.")


def _read_h5mu(path: Path) -> dict[str, FileView]:
    try:
        import mudata
    except ImportError:
        raise DataFileError(f'{path} needs mudata to be read. Run: pip install "coview[mudata]".') from None
    views = as_views(mudata.read_h5mu(path))
    return {
        name: FileView(array, views.ids, views.feature_names.get(name), views.present[:, v])
        for v, (name, array) in enumerate(views.items())
    }


_READERS: dict[str, Callable[[Path], Any]] = {
    ".npz": _read_npz,
    ".npy": _read_npy,
    **dict.fromkeys((*DELIMITERS, ".parquet"), _read_table),
    ".mtx": _read_mtx,
    ".svmlight": _read_svmlight,
    ".jsonl": _read_jsonl,
    ".h5mu": _read_h5mu,
}

EXTENSIONS = tuple(_READERS)

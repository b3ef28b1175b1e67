"""The source of `LazyViews` that reads a sharded folder: rows of its files, which must be what the manifest says."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import DataFileError, ViewsError
from coview.io.formats import Part
from coview.io.manifest import MANIFEST, Manifest, Shard, View, read_manifest
from coview.io.npz import map_npy
from coview.io.shard_files import Facts, check_columns, read_rows
from coview.views.arrays import take_rows
from coview.views.sources import Source
from coview.views.views import Views

__all__ = ["ShardSource"]

_KNOWN_RANGES = 4096  # ranges of rows remembered as sound


class ShardSource(Source):
    """Reads rows of the shards of a folder; pickles as the folder's name."""

    def __init__(self, manifest: Manifest, names: tuple[str, ...] | None = None) -> None:
        position = {view.name: v for v, view in enumerate(manifest.views)}
        self.names = tuple(position) if names is None else names
        self._manifest = manifest
        self._columns = [position[name] for name in self.names]
        self._sound: set[tuple[Any, ...]] = set()
        views = [manifest.views[v] for v in self._columns]
        self.n_features = {view.name: view.features for view in views}
        self.feature_names = {view.name: view.feature_names for view in views if view.feature_names is not None}
        self.dtypes = {view.name: np.dtype(view.dtype) for view in views}
        self.kinds = {view.name: "dense" if view.kind == "dense" else "sparse" for view in views}
        self.lengths = tuple(shard.rows for shard in manifest.shards)
        self.nnz = tuple(sum(shard.nnz[v] for v in self._columns) for shard in manifest.shards)
        self.nbytes = tuple(
            sum(_memory(manifest.views[v], shard, v) for v in self._columns) for shard in manifest.shards
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return open_again, (str(self._manifest.folder), self._manifest.digest, self.names)

    def select(self, names: tuple[str, ...]) -> Source:
        """Return a source that reads the files of these views only."""
        return ShardSource(self._manifest, names)

    def ids(self, part: int) -> np.ndarray | None:
        """Read the identifiers of one shard's rows."""
        shard = self._manifest.shards[part]
        if shard.ids is not None:
            return self._array(part, shard.ids, (shard.rows,))
        tables = any(shard.files[v].endswith(".parquet") for v in self._columns)
        return self.read(part, 0, shard.rows).ids if tables else None

    def read(self, part: int, start: int, stop: int) -> Views:
        """Read rows start to stop of one shard; their values are checked once, as engines read them in every sweep."""
        arrays, ids, mask = self._unchecked(part, start, stop)
        stamps = [self._path(part, column).stat() for column in self._columns]
        key = (part, start, stop, *((stamp.st_mtime_ns, stamp.st_size) for stamp in stamps))
        if key in self._sound:
            return Views._trusted(arrays, ids, mask, self.feature_names)
        views = self._checked(part, arrays, ids, mask)
        if all(array.has_canonical_format for array in arrays.values() if sparse.issparse(array)):
            if len(self._sound) >= _KNOWN_RANGES:
                self._sound.clear()
            self._sound.add(key)
        return views

    def take(self, part: int, rows: np.ndarray) -> Views:
        """Read some rows of one shard; of a mapped file, no others are touched."""
        low = int(rows.min())
        arrays, ids, mask = self._unchecked(part, low, int(rows.max()) + 1)
        rows = rows - low
        arrays = {name: take_rows(array, rows) for name, array in arrays.items()}
        return self._checked(part, arrays, None if ids is None else ids[rows], mask[rows])

    def _unchecked(self, part: int, start: int, stop: int) -> tuple[dict[str, Any], np.ndarray | None, np.ndarray]:
        """Matrices, ids and mask of rows of a shard, with their shapes and types but not their values checked."""
        shard = self._manifest.shards[part]
        ids = None if shard.ids is None else self._array(part, shard.ids, (shard.rows,))[start:stop]
        mask = np.ones((stop - start, len(self.names)), dtype=bool)
        if shard.present is not None:
            shape = (shard.rows, len(self._manifest.views))
            mask &= self._array(part, shard.present, shape)[start:stop, self._columns].astype(bool)
        arrays: dict[str, Any] = {}
        for v, (name, column) in enumerate(zip(self.names, self._columns)):
            found = self._file(part, column, start, stop)
            arrays[name] = found.matrix
            if found.present is not None:
                mask[:, v] &= found.present
            if found.ids is not None:
                if ids is not None and not np.array_equal(ids, found.ids):
                    raise DataFileError(f"{self._path(part, column)} has other ids than shard {part} has elsewhere.")
                ids = found.ids
        return arrays, ids, mask

    def _checked(self, part: int, arrays: dict[str, Any], ids: np.ndarray | None, mask: np.ndarray) -> Views:
        for name, column in zip(self.names, self._columns):
            if self.kinds[name] == "sparse":
                check_columns(self._path(part, column), arrays[name])
        try:
            return Views(arrays, ids=ids, present=mask, feature_names=self.feature_names)
        except ViewsError as error:
            raise DataFileError(f"Shard {part} of {self._manifest.folder} cannot be used: {error}") from None

    def _path(self, part: int, column: int) -> Path:
        return self._manifest.folder / self._manifest.shards[part].files[column]

    def _file(self, part: int, column: int, start: int, stop: int) -> Part:
        """Rows of one file, which must be what the manifest says."""
        path, view, shard = self._path(part, column), self._manifest.views[column], self._manifest.shards[part]
        facts = Facts(shard.rows, view.features, view.dtype, view.kind, shard.nnz[column])
        try:
            found = read_rows(path, start, stop, facts)
        except (DataFileError, MemoryError):
            raise
        except Exception as error:  # each format's library has errors of its own; all mean the same to the reader
            raise _unreadable(path, part, error) from error
        matrix = found.matrix
        kind = type(matrix).__name__ if sparse.issparse(matrix) else "dense"
        if matrix.dtype != np.dtype(view.dtype) or (kind == "dense") != (view.kind == "dense"):
            raise DataFileError(
                f"{path} of shard {part} is {kind} of {matrix.dtype}, but view {view.name!r} is {view.kind} of "
                f"{np.dtype(view.dtype)}. Write it again."
            )
        return found

    def _array(self, part: int, file: str, shape: tuple[int, ...]) -> np.ndarray:
        """Return the ids or the missing rows of a shard."""
        path = self._manifest.folder / file
        try:
            array = np.asarray(map_npy(path))
        except (DataFileError, MemoryError):
            raise
        except Exception as error:
            raise _unreadable(path, part, error) from error
        if array.shape != shape:
            raise DataFileError(f"{path} of shard {part} has shape {array.shape}, but {shape} is needed.")
        return array


def _unreadable(path: Path, part: int, error: Exception) -> DataFileError:
    why = " ".join(str(error).split())[:200].rstrip(". ") or type(error).__name__
    return DataFileError(f"{path} of shard {part} is missing, cut short or damaged ({why}). Write it again.")


def _memory(view: View, shard: Shard, v: int) -> int:
    """Bytes of one view of a shard in memory."""
    if view.kind == "dense":
        return shard.rows * view.features * np.dtype(view.dtype).itemsize
    index = 4 if max(shard.nnz[v], view.features) < 1 << 31 else 8
    return shard.nnz[v] * (np.dtype(view.dtype).itemsize + index) + (shard.rows + 1) * index


def open_again(folder: str, digest: str, names: tuple[str, ...]) -> ShardSource:
    """Return the source that was pickled; a process opens each folder once."""
    try:
        stat = (Path(folder) / MANIFEST).stat()
    except OSError as error:
        raise DataFileError(
            f"{folder} cannot be opened here ({error.strerror}). Put it where every process sees it."
        ) from None
    source = _opened(folder, names, stat.st_mtime_ns, stat.st_size)
    if source._manifest.digest != digest:
        raise DataFileError(f"{folder} was written again since it was opened. Open it again with read_views.")
    return source


@functools.lru_cache(maxsize=32)
def _opened(folder: str, names: tuple[str, ...], modified: int, size: int) -> ShardSource:
    return ShardSource(read_manifest(folder), names)

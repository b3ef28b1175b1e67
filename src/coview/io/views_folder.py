"""Views on disk: `write_views` makes a folder of shards, each of some rows of all views; `read_views` reads it.

A folder of one shard is read into memory; one of several is opened as `LazyViews`, whose rows are read when they are
needed. `read_views` reads the single files of `coview.io.formats` as well; `coview.io.shards` says what is in a folder.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import DataFileError, ViewsError
from coview.io.formats import EXTENSIONS, FileView, join_files, load_file
from coview.io.shards import (
    CSR_PARTS,
    MANIFEST,
    Manifest,
    ShardEntry,
    ViewEntry,
    compute_checksum,
    name_file,
    read_manifest,
    write_manifest,
    write_shard,
)
from coview.utils.atomic import atomic_folder
from coview.utils.messages import file_errors, listed
from coview.views.arrays import take_rows
from coview.views.coerce import as_views
from coview.views.lazy import LazyViews, stack_views
from coview.views.sources import Source, ViewLayout
from coview.views.views import Views, is_list_of_views

__all__ = ["FolderSource", "read_views", "write_views"]


def read_views(source: str | Path | Mapping[str, str | Path], *, lazy: bool | None = None) -> Views | LazyViews:
    """Read views from a folder, one file, or one file per view.

    Parameters
    ----------
    source : path, or mapping of view name to path
        A folder that `write_views` made, any other folder (each file of a known format is a view, named by the file's
        stem), one file, or ``{"words": "words.npz", "links": "links.mtx"}``. The formats are .npz .npy .csv .tsv
        .parquet .mtx .svmlight .jsonl and .h5mu; the labels of .svmlight files are left out. A column of vectors in a
        .parquet file is a view by itself.
    lazy : bool or None, default=None
        Whether a folder that `write_views` made is only opened, its rows to be read when they are needed. None opens a
        folder of several shards and reads one of a single shard. Everything else is always read.

    Returns
    -------
    Views or LazyViews
        Rows are joined by id where files have different ids, so that an object may lack a view.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from coview import Views, write_views
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_views(Views(words=np.eye(2), ids=["a", "b"]), folder / "mine")
    >>> read_views(folder / "mine").ids.tolist()
    ['a', 'b']
    >>> _ = (folder / "ages.csv").write_text("id,age\\nb,31\\nc,7\\n")
    >>> _ = (folder / "links.csv").write_text("id,x,y\\na,0,1\\nb,1,0\\n")
    >>> X = read_views({"links": folder / "links.csv", "ages": folder / "ages.csv"})
    >>> X.ids.tolist(), X.present.tolist()
    (['a', 'b', 'c'], [[True, False], [True, True], [False, True]])
    """
    if isinstance(source, Mapping):
        return join_files({name: _load_view(name, path) for name, path in source.items()})
    if not isinstance(source, (str, Path)):
        raise DataFileError(
            f"read_views needs a folder, a file or {{view: file}}, got {type(source).__name__}. Matrices in memory "
            "become views with Views(...)."
        )
    path = Path(source)
    if not path.is_dir():
        return join_files(load_file(path))
    # a folder of other files is a collection of single views
    if not (path / MANIFEST).exists():
        return join_files(_load_folder(path))
    opened = LazyViews(FolderSource(read_manifest(path)))
    if lazy or (lazy is None and len(opened.lengths) > 1):
        return opened
    views = opened.collect()
    # one shard is still mapped to its files, from which views in memory are independent
    arrays = {name: array.copy() for name, array in views.items()}
    return Views._trusted(arrays, views.ids, views.present, views.feature_names)


def write_views(X: Any, path: str | Path, *, rows_per_shard: int | None = None, overwrite: bool = False) -> None:
    """Write views to a folder, atomically, from which `read_views` restores them exactly.

    Parameters
    ----------
    X : Views, LazyViews, what becomes Views, or an iterable of Views
        What to write. An iterable, such as a generator that makes some rows at a time, is consumed piece by piece, so
        that no more than a shard and a piece are in memory.
    path : path
        The folder to make.
    rows_per_shard : int, optional
        Rows of each shard, except the last. By default views in memory are one shard, and each part of lazy views and
        each piece of an iterable becomes one.
    overwrite : bool, default=False
        Replace a folder of views that is there already; any other folder is never replaced.

    See Also
    --------
    read_views : Read the folder, into memory or lazily.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from coview import Views, read_views, write_views
    >>> folder = tempfile.mkdtemp()
    >>> X = Views(words=np.eye(2, dtype=np.float32), links=np.ones((2, 3)))
    >>> write_views(X, folder + "/mine")
    >>> read_views(folder + "/mine") == X
    True
    >>> stream = (Views(words=np.full((3, 4), float(i)), links=np.ones((3, 2))) for i in range(10))
    >>> write_views(stream, folder + "/shards", rows_per_shard=12)
    >>> read_views(folder + "/shards").lengths
    (12, 12, 6)
    """
    if rows_per_shard is not None and rows_per_shard < 1:
        raise DataFileError(f"rows_per_shard must be at least 1, got {rows_per_shard}.")
    target = Path(path)
    if target.exists():
        _check_replaceable(target, overwrite)
    first: list[ViewEntry] = []
    shards: list[ShardEntry] = []
    with atomic_folder(target) as beside:
        for piece in _split(X, rows_per_shard):
            # the first shard says what all must be like; a stream cannot be asked beforehand
            first = first or _describe(piece)
            with file_errors(f"{target} cannot be written", "Make room for it, or write it elsewhere."):
                shards.append(write_shard(beside, len(shards), piece))
            # compared after writing: what was written of a wrong stream is removed with its folder
            same_ids = (name_file(0, "ids") in shards[0].sha256) == (piece.ids is not None)
            if _describe(piece) != first or not same_ids:
                raise DataFileError(
                    f"Shard {len(shards) - 1} differs from the first. All shards must have the same views, types and "
                    "features, and ids or none."
                )
        if not shards:
            raise DataFileError("The views have no rows to write.")
        write_manifest(beside, first, shards)


# -- reading


def _load_view(name: str, path: Any) -> FileView:
    if not isinstance(path, (str, Path)):
        raise DataFileError(
            f"read_views needs a file name for view {name!r}, got {type(path).__name__}. Matrices in memory become "
            "views with Views(...)."
        )
    parts = load_file(Path(path))
    if len(parts) != 1:
        raise DataFileError(
            f"{path} holds {len(parts)} views ({listed(tuple(parts))}).",
            python="Read it with read_views(path).",
            cli="Give it alone, without --view.",
        )
    return next(iter(parts.values()))


def _load_folder(folder: Path) -> dict[str, FileView]:
    parts: dict[str, FileView] = {}
    for file in sorted(folder.iterdir()):
        if file.suffix.lower() not in EXTENSIONS or file.name.startswith(".") or not file.is_file():
            continue
        for name, part in load_file(file).items():
            if name in parts:
                raise DataFileError(f"{folder} has two files of view {name!r}. Keep one, or name the files to read.")
            parts[name] = part
    if not parts:
        raise DataFileError(f"{folder} has no file of a known format ({', '.join(EXTENSIONS)}).")
    return parts


class FolderSource(Source):
    """Reads rows of the shards of a folder; pickles as the folder's name."""

    def __init__(
        self,
        manifest: Manifest,
        names: tuple[str, ...] | None = None,
        stamps: dict[str, Any] | None = None,
    ) -> None:
        self._manifest = manifest
        # of the files that were compared with their checksums: place, size and time, and where their numbers begin
        self._stamps: dict[str, Any] = {} if stamps is None else stamps
        # files are numbered by the position of their view, whatever views are selected
        self._position = {view.name: v for v, view in enumerate(manifest.views)}
        self.names = tuple(self._position) if names is None else names
        views = {name: manifest.views[self._position[name]] for name in self.names}
        self._feature_names = {
            name: np.array(view.feature_names) for name, view in views.items() if view.feature_names is not None
        }
        self.layout = {
            name: ViewLayout(
                view.features,
                np.dtype(view.dtype),
                "dense" if view.kind == "dense" else "sparse",
                self._feature_names.get(name),
            )
            for name, view in views.items()
        }
        self.lengths = tuple(shard.rows for shard in manifest.shards)
        self.nnz = tuple(sum(shard.nnz[self._position[name]] for name in self.names) for shard in manifest.shards)
        self.nbytes = tuple(
            sum(_count_bytes(manifest.views[v], shard, v) for v in map(self._position.__getitem__, self.names))
            for shard in manifest.shards
        )
        self._checked: set[tuple[int, int, int]] = set()  # ranges of rows whose values were looked at

    def __reduce__(self) -> tuple[Any, ...]:
        # no data and no stamps: another process looks at the files itself
        return open_again, (str(self._manifest.folder), self._manifest.digest, self.names)

    def select(self, names: tuple[str, ...]) -> Source:
        """Return a source that reads the files of these views only."""
        return FolderSource(self._manifest, names, self._stamps)

    def ids(self, part: int) -> np.ndarray | None:
        """Read the identifiers of one shard's rows."""
        return self._open(part, "ids", (self.lengths[part],)) if self._has(part, "ids") else None

    def read(self, part: int, start: int, stop: int) -> Views:
        """Read rows start to stop of one shard; their values are checked once, as engines read them in every sweep."""
        arrays, ids, present = self._read(part, start, stop)
        if (part, start, stop) in self._checked:
            return Views._trusted(arrays, ids, present, self._feature_names)
        views = self._check(part, arrays, ids, present)
        # else `Views` has made a sorted copy, which has to be made each time
        if all(array.has_canonical_format for array in arrays.values() if sparse.issparse(array)):
            self._checked.add((part, start, stop))
        return views

    def take(self, part: int, rows: np.ndarray) -> Views:
        """Read some rows of one shard; no others are touched."""
        low = int(rows.min())
        arrays, ids, present = self._read(part, low, int(rows.max()) + 1)
        # only the range from the first to the last row is mapped
        rows = rows - low
        arrays = {name: take_rows(array, rows) for name, array in arrays.items()}
        return self._check(part, arrays, None if ids is None else ids[rows], present[rows])

    def _read(self, part: int, start: int, stop: int) -> tuple[dict[str, Any], np.ndarray | None, np.ndarray]:
        """Return matrices, ids and mask of rows of a shard, without a check of the values."""
        ids = self.ids(part)
        present = np.ones((stop - start, len(self.names)), dtype=bool)
        if self._has(part, "present"):
            shape = (self.lengths[part], len(self._position))
            columns = [self._position[name] for name in self.names]
            present = self._open(part, "present", shape)[start:stop, columns].astype(bool)
        arrays = {name: self._read_matrix(part, self._position[name], start, stop) for name in self.names}
        return arrays, None if ids is None else ids[start:stop], present

    def _check(self, part: int, arrays: dict[str, Any], ids: np.ndarray | None, present: np.ndarray) -> Views:
        with file_errors(f"Shard {part} of {self._manifest.folder} cannot be used"):
            try:
                return Views(arrays, ids=ids, present=present, feature_names=self._feature_names)
            # the sentence of a file: users of a folder did not write these arrays
            except ViewsError as error:
                raise ValueError(str(error)) from None

    def _read_matrix(self, part: int, v: int, start: int, stop: int) -> Any:
        view, shard = self._manifest.views[v], self._manifest.shards[part]
        if view.kind == "dense":
            return np.asarray(self._open(part, f"{v:02d}", (shard.rows, view.features))[start:stop])
        shapes = ((shard.nnz[v],), (shard.nnz[v],), (shard.rows + 1,))
        data, indices, indptr = (self._open(part, f"{v:02d}.{name}", shape) for name, shape in zip(CSR_PARTS, shapes))
        bounds = np.asarray(indptr[start : stop + 1])
        if bounds[0] < 0 or bounds[-1] > shard.nnz[v] or (np.diff(bounds) < 0).any():  # compiled code trusts them
            raise DataFileError(f"Shard {part} of {self._manifest.folder} is damaged: its rows have no bounds.")
        # set one by one: the constructor of SciPy would read all indices of the map
        held = slice(int(bounds[0]), int(bounds[-1]))
        cls = sparse.csr_matrix if view.kind == "csr_matrix" else sparse.csr_array
        matrix = cls((stop - start, view.features), dtype=data.dtype)
        matrix.data, matrix.indices, matrix.indptr = (
            np.asarray(data[held]),
            np.asarray(indices[held]),
            bounds - bounds[0],
        )
        return matrix

    def _has(self, part: int, name: str) -> bool:
        return name_file(part, name) in self._manifest.shards[part].sha256

    def _open(self, part: int, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Map one array of a shard, which must be what was written, and later what was read before."""
        file = name_file(part, name)
        path = self._manifest.folder / file
        with file_errors(f"{path} of shard {part} is missing, cut short or damaged"):
            about = path.stat()
            # a checksum takes as long as reading, so that later only these are compared
            now = (about.st_ino, about.st_size, about.st_mtime_ns)
            if file not in self._stamps:
                if compute_checksum(path) != self._manifest.shards[part].sha256[file]:
                    raise ValueError(f"it does not match its checksum in {MANIFEST}")
                array = np.load(path, mmap_mode="r", allow_pickle=False)
                if array.shape != shape:
                    raise ValueError(f"its shape is {array.shape}, but {shape} is needed")
                if array.dtype.kind not in "iu" and name.endswith(("indices", "indptr")):
                    raise ValueError(f"its type is {array.dtype}, but integers are needed")
                self._stamps[file] = now, array.dtype, array.offset
            before, dtype, offset = self._stamps[file]
            if now != before:
                raise DataFileError(
                    f"{path} of shard {part} has changed since it was first read. Open the folder again by read_views."
                )
            # mapped again each time: pages of a map that is kept would count as memory
            return np.memmap(path, dtype, "r", offset, shape)


def _count_bytes(view: ViewEntry, shard: ShardEntry, v: int) -> int:
    """Return the bytes of one view of a shard in memory."""
    size = np.dtype(view.dtype).itemsize
    if view.kind == "dense":
        return shard.rows * view.features * size
    # indices of 32 bits; larger shards are estimated too small, which costs memory and no error
    return shard.nnz[v] * (size + 4) + (shard.rows + 1) * 4


def open_again(folder: str, digest: str, names: tuple[str, ...]) -> FolderSource:
    """Return the source that was pickled; a process opens each folder once."""
    try:
        stat = (Path(folder) / MANIFEST).stat()
    except OSError as error:
        raise DataFileError(
            f"{folder} cannot be opened here ({error.strerror}). Put it where every process sees it."
        ) from None
    source = _open_source(folder, names, stat.st_mtime_ns)
    if source._manifest.digest != digest:
        raise DataFileError(f"{folder} was written again since it was opened. Open it again with read_views.")
    return source


@functools.lru_cache(maxsize=32)
def _open_source(folder: str, names: tuple[str, ...], modified: int) -> FolderSource:
    return FolderSource(read_manifest(folder), names)


# -- writing


def _split(views: Any, rows: int | None) -> Iterator[Views]:
    """Yield the views of each shard, one after the other."""
    # what can be views at once; anything else is taken for a stream of them
    if not isinstance(views, LazyViews) and (isinstance(views, (Views, Mapping)) or _is_matrix(views)):
        views = as_views(views)
    if isinstance(views, Views):
        for start in range(0, len(views), rows or len(views) or 1):
            yield views[start : start + (rows or len(views))]
        return
    pending: list[Views] = []
    for piece in views.parts() if isinstance(views, LazyViews) else _as_pieces(views):
        if rows is None:
            yield piece
            continue
        pending.append(piece)
        # pieces may be larger or smaller than shards
        while sum(map(len, pending)) >= rows:
            whole = stack_views(pending)
            yield whole[:rows]
            pending = [whole[rows:]] if len(whole) > rows else []
    if pending:
        yield stack_views(pending)


def _is_matrix(views: Any) -> bool:
    """Whether one matrix, or a list of them, is given, not an iterable of Views."""
    if isinstance(views, (list, tuple)):
        return is_list_of_views(views)
    return len(getattr(views, "shape", ())) == 2


def _as_pieces(stream: Any) -> Iterator[Views]:
    if not isinstance(stream, Iterable) or isinstance(stream, (str, bytes)):
        raise DataFileError(f"write_views needs Views, LazyViews or an iterable of Views, got {type(stream).__name__}.")
    for i, piece in enumerate(stream):
        if not isinstance(piece, (Views, Mapping)):
            raise DataFileError(f"write_views needs an iterable of Views; piece {i} is {type(piece).__name__}.")
        part = as_views(piece)
        if isinstance(part, LazyViews):
            yield from part.parts()
        elif len(part):
            yield part


def _describe(piece: Views) -> list[ViewEntry]:
    """Return what all shards have in common."""
    entries = []
    for name, array in piece.items():
        kind = type(array).__name__ if sparse.issparse(array) else "dense"
        names = piece.feature_names.get(name)
        titles = None if names is None else names.tolist()
        entries.append(ViewEntry(name, kind, array.dtype.str, array.shape[1], titles))
    return entries


def _check_replaceable(target: Path, overwrite: bool) -> None:
    """Refuse to replace anything but a folder of views, and that only when asked to."""
    try:
        manifest = read_manifest(target)
    except DataFileError:
        raise DataFileError(
            f"{target} exists and is not a folder of views, so it is not replaced. Use another name."
        ) from None
    if not overwrite:
        raise DataFileError(f"{target} exists. Pass overwrite=True to replace it, or use another name.")
    own = {MANIFEST, *(file for shard in manifest.shards for file in shard.sha256)}
    # overwrite is for views: notes and results that somebody put beside them are not lost
    foreign = sorted(path.name for path in target.iterdir() if path.name not in own)
    if foreign:
        raise DataFileError(f"{target} holds files that are not of its views ({listed(foreign)}). Move them first.")

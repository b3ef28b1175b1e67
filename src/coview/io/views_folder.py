"""Views on disk: `write_views` makes a folder of one manifest and one file per view and shard; `read_views` reads it.

A shard is some rows of all views. `read_views` reads a folder of one shard into memory and opens one of several as
`LazyViews`, whose rows are read when they are needed; it reads the single files of `coview.io.formats` as well.

`coview.io.manifest` says what stands in the manifest, `coview.io.shard_files` which formats the files have.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import DataFileError, ViewsError
from coview.io.checksums import checksum, stamp
from coview.io.formats import EXTENSIONS, FileView, check_npy, join_files, load_file
from coview.io.manifest import MANIFEST, Manifest, ShardEntry, ViewEntry, named_files, read_manifest, write_manifest
from coview.io.shard_files import FORMATS, Facts, check_complete, file_stem, read_rows, write_matrix
from coview.utils.atomic import atomic_folder
from coview.utils.limits import text_array
from coview.utils.messages import listed, one_sentence
from coview.views.arrays import take_rows
from coview.views.checks import is_list_of_views, same_optional
from coview.views.coerce import as_views
from coview.views.lazy import LazyViews, stack_views
from coview.views.sources import Source, ViewLayout, stored_values
from coview.views.views import Views

__all__ = ["FolderSource", "read_views", "write_views"]

_CHECKED_RANGES = 4096  # ranges of rows remembered as checked


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
        return join_files({name: _one_view(name, path) for name, path in source.items()})
    if not isinstance(source, (str, Path)):
        raise DataFileError(
            f"read_views needs a folder, a file or {{view: file}}, got {type(source).__name__}. Matrices in memory "
            "become views with Views(...)."
        )
    path = Path(source)
    if not path.is_dir():
        return join_files(load_file(path))
    if not (path / MANIFEST).exists():
        return join_files(_known_files(path))
    opened = LazyViews(FolderSource(read_manifest(path)))
    if lazy or (lazy is None and len(opened.lengths) > 1):
        return opened
    return _unmapped(opened.collect())


def write_views(
    X: Any, path: str | Path, *, rows_per_shard: int | None = None, format: str | None = None, overwrite: bool = False
) -> None:
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
    format : {"parquet", "zarr"}, optional
        By default .npy and .safetensors files, which are mapped into memory when read and so are the fastest.
        "parquet" needs polars, "zarr" zarr.
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
    if format is not None and format not in FORMATS:
        raise DataFileError(f"format must be one of {listed(FORMATS)} or None, got {format!r}.")
    if rows_per_shard is not None and rows_per_shard < 1:
        raise DataFileError(f"rows_per_shard must be at least 1, got {rows_per_shard}.")
    target = Path(path)
    if target.exists():
        _check_replaceable(target, overwrite)
    first: list[ViewEntry] = []
    shards: list[ShardEntry] = []
    ids_kind = ""
    with atomic_folder(target) as beside:
        for piece in _pieces(X, rows_per_shard):
            if not first:
                first = [_entry_of(piece, name) for name in piece.names]
                ids_kind = _ids_kind(piece)
            _check_like(piece, first, ids_kind, len(shards))
            with one_sentence(f"{target} cannot be written", "Make room for it, or write it elsewhere."):
                shards.append(_write_shard(beside, len(shards), piece, format))
        if not shards:
            raise DataFileError("The views have no rows to write.")
        write_manifest(beside, first, shards)
        read_manifest(beside)  # which refuses now what it would refuse later


# -- reading


def _one_view(name: str, path: Any) -> FileView:
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
            cli="Give it alone, by --data.",
        )
    return next(iter(parts.values()))


def _known_files(folder: Path) -> dict[str, FileView]:
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


def _unmapped(views: Views) -> Views:
    """Return the same views with no matrix left in its file."""
    arrays = {name: array.copy() if _is_mapped(array) else array for name, array in views.items()}
    return Views._trusted(arrays, views.ids, views.present, views.feature_names)


def _is_mapped(matrix: Any) -> bool:
    base = matrix.data if sparse.issparse(matrix) else matrix
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    return isinstance(base, np.memmap)


class FolderSource(Source):
    """Reads rows of the shards of a folder; pickles as the folder's name."""

    def __init__(
        self, manifest: Manifest, names: tuple[str, ...] | None = None, stamps: dict[str, Any] | None = None
    ) -> None:
        position = {view.name: v for v, view in enumerate(manifest.views)}
        self.names = tuple(position) if names is None else names
        self._manifest = manifest
        self._columns = [position[name] for name in self.names]
        self._checked_ranges: set[tuple[int, int, int]] = set()
        self._stamps: dict[str, Any] = {} if stamps is None else stamps  # of the files that were read
        views = [manifest.views[v] for v in self._columns]
        self.layout = {
            view.name: ViewLayout(
                view.features, np.dtype(view.dtype), "dense" if view.kind == "dense" else "sparse", view.feature_names
            )
            for view in views
        }
        self._feature_names = {view.name: view.feature_names for view in views if view.feature_names is not None}
        self.lengths = tuple(shard.rows for shard in manifest.shards)
        self.nnz = tuple(sum(shard.nnz[v] for v in self._columns) for shard in manifest.shards)
        self.nbytes = tuple(
            sum(_memory(manifest.views[v], shard, v) for v in self._columns) for shard in manifest.shards
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return open_again, (str(self._manifest.folder), self._manifest.digest, self.names)

    def select(self, names: tuple[str, ...]) -> Source:
        """Return a source that reads the files of these views only."""
        return FolderSource(self._manifest, names, self._stamps)

    def ids(self, part: int) -> np.ndarray | None:
        """Read the identifiers of one shard's rows."""
        shard = self._manifest.shards[part]
        if shard.ids is not None:
            return self._small_array(part, shard.ids, (shard.rows,))
        tables = any(shard.files[v].endswith(".parquet") for v in self._columns)
        return self.read(part, 0, shard.rows).ids if tables else None

    def read(self, part: int, start: int, stop: int) -> Views:
        """Read rows start to stop of one shard; their values are checked once, as engines read them in every sweep."""
        arrays, ids, mask = self._unchecked(part, start, stop)
        key = (part, start, stop)
        if key in self._checked_ranges:
            return Views._trusted(arrays, ids, mask, self._feature_names)
        views = self._checked(part, arrays, ids, mask)
        if all(array.has_canonical_format for array in arrays.values() if sparse.issparse(array)):
            if len(self._checked_ranges) >= _CHECKED_RANGES:
                self._checked_ranges.clear()
            self._checked_ranges.add(key)
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
        ids = None if shard.ids is None else self._small_array(part, shard.ids, (shard.rows,))[start:stop]
        mask = np.ones((stop - start, len(self.names)), dtype=bool)
        if shard.present is not None:
            shape = (shard.rows, len(self._manifest.views))
            mask &= self._small_array(part, shard.present, shape)[start:stop, self._columns].astype(bool)
        arrays: dict[str, Any] = {}
        for v, (name, column) in enumerate(zip(self.names, self._columns)):
            rows = self._file(part, column, start, stop)
            arrays[name] = rows.matrix
            if rows.present is not None:
                mask[:, v] &= rows.present
            if rows.ids is not None:
                if ids is not None and not np.array_equal(ids, rows.ids):
                    raise DataFileError(f"{self._path(part, column)} has other ids than shard {part} has elsewhere.")
                ids = rows.ids
        return arrays, ids, mask

    def _checked(self, part: int, arrays: dict[str, Any], ids: np.ndarray | None, mask: np.ndarray) -> Views:
        try:
            return Views(arrays, ids=ids, present=mask, feature_names=self._feature_names)
        except ViewsError as error:
            raise DataFileError(f"Shard {part} of {self._manifest.folder} cannot be used: {error}") from None

    def _path(self, part: int, column: int) -> Path:
        return self._manifest.folder / self._manifest.shards[part].files[column]

    def _file(self, part: int, column: int, start: int, stop: int) -> FileView:
        """Rows of one file, which must be what the manifest says."""
        path, view, shard = self._path(part, column), self._manifest.views[column], self._manifest.shards[part]
        facts = Facts(shard.rows, view.features, view.dtype, view.kind, shard.nnz[column])
        with _unreadable(path, part):
            self._check_unchanged(part, shard.files[column], facts)
            rows = read_rows(path, start, stop, facts)
        matrix = rows.matrix
        kind = type(matrix).__name__ if sparse.issparse(matrix) else "dense"
        if matrix.dtype != np.dtype(view.dtype) or (kind == "dense") != (view.kind == "dense"):
            raise DataFileError(
                f"{path} of shard {part} is {kind} of {matrix.dtype}, but view {view.name!r} is {view.kind} of "
                f"{np.dtype(view.dtype)}. Write it again."
            )
        return rows

    def _small_array(self, part: int, file: str, shape: tuple[int, ...]) -> np.ndarray:
        """Return the ids or the missing rows of a shard."""
        path = self._manifest.folder / file
        with _unreadable(path, part):
            self._check_unchanged(part, file)
            check_npy(path)
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        if array.shape != shape:
            raise DataFileError(f"{path} of shard {part} has shape {array.shape}, but {shape} is needed.")
        return array

    def _check_unchanged(self, part: int, file: str, facts: Facts | None = None) -> None:
        """Refuse a file that is not what was written when it is first read, and not what was read when read again."""
        path = self._manifest.folder / file
        now, before = stamp(path), self._stamps.get(file)
        if before is None:
            written = self._manifest.shards[part].sha256.get(file)
            if written is not None and written != checksum(path):
                raise DataFileError(
                    f"{path} of shard {part} does not match its checksum in {MANIFEST}: it was damaged or replaced. "
                    "Copy it again, or write the views again."
                )
            if facts is not None:
                check_complete(path, facts)
            self._stamps[file] = now
        elif now != before:
            raise DataFileError(
                f"{path} of shard {part} has changed since it was first read. Open the folder again with read_views."
            )


def _unreadable(path: Path, part: int) -> AbstractContextManager[None]:
    return one_sentence(f"{path} of shard {part} is missing, cut short or damaged")


def _memory(view: ViewEntry, shard: ShardEntry, v: int) -> int:
    """Bytes of one view of a shard in memory."""
    if view.kind == "dense":
        return shard.rows * view.features * np.dtype(view.dtype).itemsize
    index = 4 if max(shard.nnz[v], view.features) < 1 << 31 else 8
    return shard.nnz[v] * (np.dtype(view.dtype).itemsize + index) + (shard.rows + 1) * index


def open_again(folder: str, digest: str, names: tuple[str, ...]) -> FolderSource:
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
def _opened(folder: str, names: tuple[str, ...], modified: int, size: int) -> FolderSource:
    return FolderSource(read_manifest(folder), names)


# -- writing


def _pieces(views: Any, rows: int | None) -> Iterator[Views]:
    """Views of the rows of each shard, one after the other."""
    if not isinstance(views, LazyViews) and (isinstance(views, (Views, Mapping)) or _is_matrix(views)):
        views = as_views(views)
    if isinstance(views, Views):
        for start in range(0, len(views), rows or len(views) or 1):
            yield views[start : start + (rows or len(views))]
        return
    stream = views.parts() if isinstance(views, LazyViews) else _checked(views)
    pending: list[Views] = []
    for piece in stream:
        if rows is None:
            yield piece
            continue
        pending.append(piece)
        while sum(map(len, pending)) >= rows:
            whole = stack_views(pending)
            yield whole[:rows]
            pending = [whole[rows:]] if len(whole) > rows else []
    if pending:
        yield stack_views(pending)


def _is_matrix(views: Any) -> bool:
    """Tell one matrix, or a list of them, from an iterable of Views."""
    if isinstance(views, (list, tuple)):
        return is_list_of_views(views)
    return len(getattr(views, "shape", ())) == 2


def _checked(stream: Any) -> Iterator[Views]:
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


def _entry_of(piece: Views, name: str) -> ViewEntry:
    array = piece[name]
    kind = type(array).__name__ if sparse.issparse(array) else "dense"
    return ViewEntry(name, kind, array.dtype.str, array.shape[1], piece.feature_names.get(name))


def _ids_kind(piece: Views) -> str:
    if piece.ids is None:
        return ""
    kind = "U" if all(isinstance(key, str) for key in piece.ids) else piece.ids.dtype.kind
    if kind not in "biufUM":
        raise DataFileError(f"ids of type {piece.ids.dtype} cannot be written. Turn them into text or integers.")
    return kind


def _check_like(piece: Views, common: list[ViewEntry], ids_kind: str, i: int) -> None:
    """Refuse a piece of a stream that is not like the first."""
    names = tuple(view.name for view in common)
    if piece.names != names:
        raise DataFileError(
            f"All shards must have the same views: the first has {listed(names)}, shard {i} {listed(piece.names)}."
        )
    for view in common:
        entry = _entry_of(piece, view.name)
        for what in ("features", "dtype", "kind"):
            was, now = vars(view)[what], vars(entry)[what]
            if was != now:
                raise DataFileError(
                    f"All shards must be alike: view {view.name!r} has {what} {was} in the first, but {now} in shard "
                    f"{i}."
                )
        if not same_optional(entry.feature_names, view.feature_names):
            raise DataFileError(
                f"All shards must have the same features: view {view.name!r} has other names in shard {i}."
            )
    if _ids_kind(piece) != ids_kind:
        raise DataFileError(f"All shards must have ids of the same kind, or none: shard {i} differs from the first.")


def _write_shard(folder: Path, i: int, piece: Views, format: str | None) -> ShardEntry:
    files = tuple(
        write_matrix(folder, f"{i:05d}-{file_stem(v, name)}", array, format, piece.feature_names.get(name))
        for v, (name, array) in enumerate(piece.items())
    )
    ids = present = None
    if piece.ids is not None:
        ids = f"{i:05d}-ids.npy"
        texts = piece.ids.dtype == object
        np.save(folder / ids, text_array(piece.ids, "ids") if texts else piece.ids, allow_pickle=False)
    if not piece.present.all():
        present = f"{i:05d}-present.npy"
        np.save(folder / present, piece.present, allow_pickle=False)
    sha256 = {file: checksum(folder / file) for file in (*files, ids, present) if file is not None}
    return ShardEntry(len(piece), files, tuple(map(stored_values, piece.values())), ids, present, sha256)


def _check_replaceable(target: Path, overwrite: bool) -> None:
    """Refuse to replace anything but a folder of views, and that only when asked to."""
    try:
        own = named_files(target)
    except DataFileError:
        raise DataFileError(
            f"{target} exists and is not a folder of views, so it is not replaced. Use another name."
        ) from None
    if not overwrite:
        raise DataFileError(f"{target} exists. Pass overwrite=True to replace it, or use another name.")
    files = [
        PurePosixPath(path.relative_to(target).as_posix()) for path in sorted(target.rglob("*")) if not path.is_dir()
    ]
    # a .zarr folder of the views is theirs with all that it holds
    foreign = [str(file) for file in files if own.isdisjoint(map(str, (file, *file.parents)))]
    if foreign:
        raise DataFileError(f"{target} holds files that are not of its views ({listed(foreign)}). Move them first.")

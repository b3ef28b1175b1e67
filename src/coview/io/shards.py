"""Sharded folders: views of any number of rows on disk, one file per view and shard, and one manifest.

`write_shards` makes them and `read_views` opens them as `LazyViews`, reading the manifest only. What the manifest
holds, and how to write one by hand for files that come from elsewhere, is told in `coview.io.manifest`; what the
files hold, in `coview.io.shard_files`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import DataFileError
from coview.io.manifest import MANIFEST, Shard, View, read_manifest, write_manifest
from coview.io.shard_files import FORMATS, file_stem, write_matrix
from coview.io.shard_source import ShardSource
from coview.utils.atomic import atomic_folder
from coview.utils.messages import listed
from coview.views.checks import same_optional
from coview.views.lazy import LazyViews, stack_views
from coview.views.sources import memory_size, stored_values
from coview.views.views import Views

__all__ = ["MANIFEST", "open_shards", "write_shards"]

_SHARD_BYTES = 1 << 26  # of a shard whose size nobody chose


def open_shards(folder: str | Path) -> LazyViews:
    """Open a sharded folder; only its manifest is read.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from coview import Views
    >>> folder = tempfile.mkdtemp() + "/shards"
    >>> write_shards(Views(words=np.eye(5), ids=list("abcde")), folder, rows_per_shard=2)
    >>> X = open_shards(folder)
    >>> X
    LazyViews of 5 rows in 3 parts
      words  5 x 5  dense float64
    >>> X[[4, 0]].ids.tolist()
    ['e', 'a']
    """
    return LazyViews(ShardSource(read_manifest(folder)))


def write_shards(
    views: Any,
    folder: str | Path,
    *,
    rows_per_shard: int | None = None,
    format: str = "npz",
    overwrite: bool = False,
) -> None:
    """Write views as a folder of shards, one at a time; it appears whole or not at all.

    Parameters
    ----------
    views : Views, LazyViews, what becomes Views, or an iterable of Views
        What to write. An iterable, such as a generator that makes some rows at a time, is consumed piece by piece, so
        that no more than a shard and a piece are in memory.
    folder : path
        The folder to make.
    rows_per_shard : int, optional
        Rows of each shard, except the last. By default the parts of lazy views and the pieces of an iterable become one
        shard each, and views in memory are cut into shards of about 64 MB.
    format : {"npz", "parquet", "zarr"}, default="npz"
        "npz" files are mapped into memory when read, which makes them the fastest. "parquet" needs polars, "zarr" zarr.
    overwrite : bool, default=False
        Replace a sharded folder that is there already; any other folder is never replaced.

    See Also
    --------
    read_views : opens the folder again, as LazyViews.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from coview import Views, read_views, write_shards
    >>> folder = tempfile.mkdtemp() + "/shards"
    >>> stream = (Views(words=np.full((3, 4), float(i)), links=np.ones((3, 2))) for i in range(10))
    >>> write_shards(stream, folder, rows_per_shard=12)
    >>> X = read_views(folder)
    >>> X.lengths
    (12, 12, 6)
    >>> X[11:13]["words"][:, 0]
    array([3., 4.])
    """
    if format not in FORMATS:
        raise DataFileError(f"format must be one of {listed(FORMATS)}, got {format!r}.")
    if rows_per_shard is not None and rows_per_shard < 1:
        raise DataFileError(f"rows_per_shard must be at least 1, got {rows_per_shard}.")
    target = Path(folder)
    if target.exists():
        _check_replaceable(target, overwrite)
    common: list[View] = []
    shards: list[Shard] = []
    ids_kind = ""
    with atomic_folder(target) as beside:
        for piece in _pieces(views, rows_per_shard):
            if not common:
                common = [_view_of(piece, name) for name in piece.names]
                ids_kind = _ids_kind(piece)
            _check_like(piece, common, ids_kind, len(shards))
            shards.append(_write_shard(beside, len(shards), piece, format))
        if not shards:
            raise DataFileError("The views have no rows to write.")
        write_manifest(beside, common, shards)


# -- writing


def _pieces(views: Any, rows: int | None) -> Iterator[Views]:
    """Views of the rows of each shard, one after the other."""
    from coview.views.coerce import as_views

    if not isinstance(views, (Views, LazyViews)) and (isinstance(views, Mapping) or _is_matrix(views)):
        views = as_views(views)
    if isinstance(views, Views):
        size = sum(map(memory_size, views.values()))
        rows = rows or max(1, len(views) * _SHARD_BYTES // max(size, 1))
        for start in range(0, len(views), rows):
            yield views[start : start + rows]
        return
    stream = views.parts() if isinstance(views, LazyViews) else _checked(views)
    held: list[Views] = []
    for piece in stream:
        if rows is None:
            yield piece
            continue
        held.append(piece)
        while sum(map(len, held)) >= rows:
            whole = stack_views(held)
            yield whole[:rows]
            held = [whole[rows:]] if len(whole) > rows else []
    if held:
        yield stack_views(held)


def _is_matrix(views: Any) -> bool:
    return len(getattr(views, "shape", ())) == 2


def _checked(stream: Any) -> Iterator[Views]:
    from coview.views.coerce import as_views

    if not isinstance(stream, Iterable) or isinstance(stream, (str, bytes)):
        raise DataFileError(
            f"write_shards needs Views, LazyViews or an iterable of Views, got {type(stream).__name__}."
        )
    for i, piece in enumerate(stream):
        if not isinstance(piece, (Views, Mapping)):
            raise DataFileError(f"write_shards needs an iterable of Views; piece {i} is {type(piece).__name__}.")
        found = as_views(piece)
        if isinstance(found, LazyViews):
            yield from found.parts()
        elif len(found):
            yield found


def _view_of(piece: Views, name: str) -> View:
    array = piece[name]
    kind = type(array).__name__ if sparse.issparse(array) else "dense"
    return View(name, kind, array.dtype.str, array.shape[1], piece.feature_names.get(name))


def _ids_kind(piece: Views) -> str:
    if piece.ids is None:
        return ""
    if piece.ids.dtype.kind not in "biufUM":
        raise DataFileError(f"ids of type {piece.ids.dtype} cannot be written. Turn them into text or integers.")
    return piece.ids.dtype.kind


def _check_like(piece: Views, common: list[View], ids_kind: str, i: int) -> None:
    """Refuse a piece of a stream that is not like the first."""
    names = tuple(view.name for view in common)
    if piece.names != names:
        raise DataFileError(
            f"All shards must have the same views: the first has {listed(names)}, shard {i} {listed(piece.names)}."
        )
    for view in common:
        found = _view_of(piece, view.name)
        for what in ("features", "dtype", "kind"):
            if getattr(found, what) != getattr(view, what):
                raise DataFileError(
                    f"All shards must be alike: view {view.name!r} has {what} {getattr(view, what)} in the first, but "
                    f"{getattr(found, what)} in shard {i}."
                )
        if not same_optional(found.feature_names, view.feature_names):
            raise DataFileError(
                f"All shards must have the same features: view {view.name!r} has other names in shard {i}."
            )
    if _ids_kind(piece) != ids_kind:
        raise DataFileError(f"All shards must have ids of the same kind, or none: shard {i} differs from the first.")


def _write_shard(folder: Path, i: int, piece: Views, format: str) -> Shard:
    files = tuple(
        write_matrix(folder, f"{i:05d}-{file_stem(v, name)}", array, format, piece.feature_names.get(name))
        for v, (name, array) in enumerate(piece.items())
    )
    ids = present = None
    if piece.ids is not None:
        ids = f"{i:05d}-ids.npy"
        np.save(folder / ids, piece.ids, allow_pickle=False)
    if not piece.present.all():
        present = f"{i:05d}-present.npy"
        np.save(folder / present, piece.present, allow_pickle=False)
    return Shard(len(piece), files, tuple(map(stored_values, piece.values())), ids, present)


def _check_replaceable(target: Path, overwrite: bool) -> None:
    """Refuse to replace anything but a sharded folder, and that only when asked to."""
    if not (target / MANIFEST).is_file():
        raise DataFileError(f"{target} exists and is not a sharded folder, so it is not replaced. Use another name.")
    if not overwrite:
        raise DataFileError(f"{target} exists. Pass overwrite=True to replace it, or use another name.")
    foreign = read_manifest(target).foreign()
    if foreign:
        raise DataFileError(f"{target} holds files that are not of its shards ({listed(foreign)}). Move them first.")

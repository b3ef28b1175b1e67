"""Views from files and back: `read_views` takes every format of `coview.io.formats`, `write_views` makes a folder.

A folder of views holds ``views.json`` (format version, names, ids, feature names, rows that lack a view) and one
``.npz`` or ``.npy`` file per view. It is written beside its place and moved there, so it is whole or not there at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import DataFileError
from coview.io.formats import EXTENSIONS, Part, load_file, load_matrix
from coview.io.shard_files import file_stem
from coview.io.shards import MANIFEST as SHARDS
from coview.io.shards import open_shards
from coview.utils.atomic import atomic_folder
from coview.utils.messages import listed
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["read_views", "write_views"]

_MANIFEST = "views.json"
_FORMAT = "coview views"
_VERSION = 1


def read_views(source: str | Path | Mapping[str, str | Path]) -> Views | LazyViews:
    """Read views from a folder, one file, or one file per view.

    Parameters
    ----------
    source : path, or mapping of view name to path
        A folder that `Views.write` or `write_shards` made, any other folder (each file of a known format is a view,
        named by the file's stem), one file, or ``{"words": "words.npz", "links": "links.mtx"}``. The formats are .npz
        .npy .csv .tsv .parquet .mtx .svmlight .jsonl and .h5mu; the labels of .svmlight files are left out.

    Returns
    -------
    Views or LazyViews
        Rows are joined by id where files have different ids, so that an object may lack a view. A folder of shards is
        only opened: its rows are read when they are needed.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from coview import Views
    >>> folder = Path(tempfile.mkdtemp())
    >>> Views(words=np.eye(2), ids=["a", "b"]).write(folder / "mine")
    >>> read_views(folder / "mine").ids.tolist()
    ['a', 'b']
    >>> _ = (folder / "ages.csv").write_text("id,age\\nb,31\\nc,7\\n")
    >>> _ = (folder / "links.csv").write_text("id,x,y\\na,0,1\\nb,1,0\\n")
    >>> X = read_views({"links": folder / "links.csv", "ages": folder / "ages.csv"})
    >>> X.ids.tolist(), X.present.tolist()
    (['a', 'b', 'c'], [[True, False], [True, True], [False, True]])
    """
    if isinstance(source, Mapping):
        return _join({name: _one_view(name, path) for name, path in source.items()})
    if not isinstance(source, (str, Path)):
        raise DataFileError(
            f"read_views needs a folder, a file or {{view: file}}, got {type(source).__name__}. Matrices in memory "
            "become views with Views(...)."
        )
    path = Path(source)
    if not path.is_dir():
        return _join(load_file(path))
    if (path / SHARDS).exists():
        return open_shards(path)
    if (path / _MANIFEST).exists():
        return _read_written(path)
    return _join(_read_folder(path))


def write_views(views: Views, path: str | Path, overwrite: bool = False) -> None:
    """Write a folder that `read_views` reads back exactly; it appears whole or not at all.

    Parameters
    ----------
    views : Views
        What to write.
    path : path
        The folder to make.
    overwrite : bool, default=False
        Replace a folder of views that is there already; any other folder is never replaced.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from coview import Views
    >>> X = Views(words=np.eye(2, dtype=np.float32), links=np.ones((2, 3)))
    >>> folder = tempfile.mkdtemp() + "/mine"
    >>> write_views(X, folder)
    >>> read_views(folder) == X
    True
    """
    target = Path(path)
    if not len(views):
        raise DataFileError("The views have no rows to write.")
    if target.exists():
        _check_replaceable(target, overwrite)
    ids = None if views.ids is None else _ids_to_json(views.ids)
    entries = []
    with atomic_folder(target) as folder:
        for v, (name, array) in enumerate(views.items()):
            file = _write_matrix(folder, v, name, array)
            columns = views.feature_names.get(name)
            entry = {
                "name": name,
                "file": file,
                "kind": type(array).__name__ if sparse.issparse(array) else "dense",
                "dtype": array.dtype.str,
                "shape": list(array.shape),
                "absent": np.flatnonzero(~views.present[:, v]).tolist(),
                "feature_names": None if columns is None else columns.tolist(),
            }
            entries.append(entry)
        manifest = {"format": _FORMAT, "version": _VERSION, "ids": ids, "views": entries}
        (folder / _MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


# -- joining files


def _one_view(name: str, path: Any) -> Part:
    if not isinstance(path, (str, Path)):
        raise DataFileError(
            f"read_views needs a file name for view {name!r}, got {type(path).__name__}. Matrices in memory become "
            "views with Views(...)."
        )
    parts = load_file(Path(path))
    if len(parts) != 1:
        raise DataFileError(f"{path} holds {len(parts)} views ({listed(tuple(parts))}); read it with read_views(path).")
    return next(iter(parts.values()))


def _read_folder(folder: Path) -> dict[str, Part]:
    parts: dict[str, Part] = {}
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


def _join(parts: Mapping[str, Part]) -> Views:
    """One `Views` of all parts: by position where ids agree or are absent, else by id."""
    ids = {name: part.ids for name, part in parts.items() if part.ids is not None}
    if len({found.dtype.kind for found in ids.values()}) > 1:  # one format knows 1, another only "1"
        ids = {name: found.astype(str) for name, found in ids.items()}
    first: Any = next(iter(ids.values()), None)
    names = {name: part.feature_names for name, part in parts.items() if part.feature_names is not None}
    if all(np.array_equal(found, first) for found in ids.values()):
        return Views(
            {name: part.matrix for name, part in parts.items()},
            ids=first,
            present={name: part.present for name, part in parts.items() if part.present is not None},
            feature_names=names,
        )
    if len(ids) < len(parts):
        without = next(name for name in parts if name not in ids)
        raise DataFileError(
            f"View {without!r} has no ids, but the ids of the other files differ. Give it an id column, or use files "
            "with the same rows."
        )
    joined = Views.align({name: _rows_present(ids[name], part) for name, part in parts.items()})
    return Views(joined, feature_names=names)


def _rows_present(ids: np.ndarray, part: Part) -> tuple[np.ndarray, Any]:
    if part.present is None or part.present.all():
        return ids, part.matrix
    return ids[part.present], part.matrix[part.present]


# -- folders of our own


def _read_written(folder: Path) -> Views:
    manifest = _manifest(folder)
    if manifest is None:
        raise DataFileError(f"{folder / _MANIFEST} is damaged or not of coview. Write the views again.")
    if manifest["version"] > _VERSION:
        raise DataFileError(
            f"{folder} is of format {manifest['version']}, but this coview reads format {_VERSION}. Update coview."
        )
    arrays: dict[str, Any] = {}
    present: dict[str, np.ndarray] = {}
    names: dict[str, list[str]] = {}
    try:
        for entry in manifest["views"]:
            name = entry["name"]
            arrays[name] = _read_matrix(folder, entry)
            present[name] = np.ones(arrays[name].shape[0], dtype=bool)
            present[name][entry["absent"]] = False
            if entry["feature_names"] is not None:
                names[name] = entry["feature_names"]
        ids = _ids_from_json(manifest["ids"])
    except (KeyError, TypeError, IndexError, OverflowError) as error:
        raise DataFileError(
            f"{folder / _MANIFEST} is damaged ({type(error).__name__}: {error}). Write the views again."
        ) from None
    return Views(arrays, ids=ids, present=present, feature_names=names)


def _manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest of a folder that `write_views` made, or None."""
    try:
        found = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or found.get("format") != _FORMAT or not isinstance(found.get("version"), int):
        return None
    entries = found.get("views")
    whole = isinstance(entries, list) and all(isinstance(entry, dict) and "file" in entry for entry in entries)
    return found if whole or found["version"] > _VERSION else None


def _read_matrix(folder: Path, entry: Mapping[str, Any]) -> Any:
    file = entry["file"]
    if Path(file).name != file or Path(file).suffix not in (".npz", ".npy"):
        raise DataFileError(f"{folder / _MANIFEST} names the file {file!r}, which is not one of this folder.")
    if not (folder / file).exists():
        raise DataFileError(f"{folder} lacks the file {file!r} of view {entry['name']!r}. Write the views again.")
    matrix = load_matrix(folder / file)
    found = [*matrix.shape, matrix.dtype.str, type(matrix).__name__ if sparse.issparse(matrix) else "dense"]
    if found != [*entry["shape"], entry["dtype"], entry["kind"]]:
        raise DataFileError(f"{folder / file} is not the matrix that was written there. Write the views again.")
    return matrix


def _write_matrix(folder: Path, position: int, name: str, array: Any) -> str:
    """Write one matrix and return its file's name: any text may name a view, few may name a file."""
    stem = file_stem(position, name)
    if sparse.issparse(array):
        sparse.save_npz(folder / f"{stem}.npz", array, compressed=False)
        return f"{stem}.npz"
    np.save(folder / f"{stem}.npy", array, allow_pickle=False)
    return f"{stem}.npy"


def _ids_to_json(ids: np.ndarray) -> dict[str, Any]:
    if ids.dtype.kind not in "biufUM":
        raise DataFileError(f"ids of type {ids.dtype} cannot be written. Turn them into text or integers.")
    values = np.datetime_as_string(ids).tolist() if ids.dtype.kind == "M" else ids.tolist()
    return {"dtype": ids.dtype.str, "values": values}


def _ids_from_json(found: Mapping[str, Any] | None) -> np.ndarray | None:
    if found is None:
        return None
    try:
        return np.array(found["values"], dtype=found["dtype"])
    except ValueError as error:
        raise TypeError(str(error)) from None


def _check_replaceable(target: Path, overwrite: bool) -> None:
    """Refuse to replace anything but a folder of views, and that only when asked to."""
    manifest = _manifest(target) if target.is_dir() else None
    if manifest is None or manifest["version"] > _VERSION:
        raise DataFileError(f"{target} exists and is not a folder of views, so it is not replaced. Use another name.")
    if not overwrite:
        raise DataFileError(f"{target} exists. Pass overwrite=True to replace it, or use another name.")
    ours = {_MANIFEST, *(entry["file"] for entry in manifest["views"])}
    foreign = sorted(file.name for file in target.iterdir() if file.name not in ours)
    if foreign:
        raise DataFileError(f"{target} holds files that are not of its views ({listed(foreign)}). Move them first.")

"""The manifest of a folder of views: what the folder says of itself, read, checked and filled in.

It is ``views.json``:

    {"format": "coview views", "version": 1,
     "views":  [{"name": "words", "kind": "csr_array", "dtype": "<f4", "features": 5000, "feature_names": null}, ...],
     "shards": [{"rows": 1000, "files": ["00000-00-words.safetensors", ...], "nnz": [60213, ...], "ids": null,
                 "present": null, "sha256": {"00000-00-words.safetensors": "ba7816bf...", ...}}, ...],
     "sha256": "9f86d081..."}

A manifest for files that something else wrote can be written by hand, and then needs less:

    {"format": "coview views", "version": 1,
     "views":  ["words", "image"],
     "shards": [{"files": ["words/0.npz", "image/0.parquet"]}, {"files": ["words/1.npz", "image/1.parquet"]}]}

What it leaves out is taken from the headers of the files when the folder is opened. Files are named relative to the
folder; `coview.io.shard_files` says which formats there are. A sparse view in Parquet files says so, ``{"name":
"words", "kind": "sparse", "features": 5000}``, and its shards say how many ``rows`` they have. "files" may also be
``{view: file}``. "ids" and "present" name .npy files: one id per row, and one boolean per row and view. "sha256" has
the checksums of a shard's files, and at the end that of the views and shards as they stand in the manifest; whoever
edits the manifest leaves that one out.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from coview.exceptions import DataFileError, ViewsError
from coview.io.shard_files import SUFFIXES, Facts, describe
from coview.io.zarr_arrays import size_on_disk
from coview.utils.limits import exceeds_rows, shown_bytes
from coview.utils.messages import cut, one_sentence, short
from coview.utils.text_files import parse_json
from coview.views.checks import as_feature_names, check_name

__all__ = ["MANIFEST", "Manifest", "ShardEntry", "ViewEntry", "named_files", "read_manifest", "write_manifest"]

MANIFEST = "views.json"
_FORMAT = "coview views"
_VERSION = 1
_KINDS = {"dense": "dense", "sparse": "csr_array", "csr_array": "csr_array", "csr_matrix": "csr_matrix"}


@dataclass(frozen=True)
class ViewEntry:
    """One view: what all its shards have in common."""

    name: str
    kind: str  # "dense", "csr_array" or "csr_matrix"
    dtype: str
    features: int
    feature_names: np.ndarray | None


@dataclass(frozen=True)
class ShardEntry:
    """One shard: its rows, and the files and stored values of each view, in the order of the views."""

    rows: int
    files: tuple[str, ...]
    nnz: tuple[int, ...]
    ids: str | None
    present: str | None
    sha256: dict[str, str]  # by file, of those that have one


@dataclass(frozen=True)
class Manifest:
    """What a folder of views says of itself, checked and complete."""

    folder: Path
    digest: str
    views: tuple[ViewEntry, ...]
    shards: tuple[ShardEntry, ...]


def read_manifest(folder: str | Path) -> Manifest:
    """Read the manifest of a folder of views, refusing a damaged one and one whose files are not there.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> folder = Path(tempfile.mkdtemp())
    >>> np.save(folder / "a.npy", np.ones((3, 2)))
    >>> _ = (folder / "views.json").write_text(
    ...     '{"format": "coview views", "version": 1, "views": ["x"], "shards": [{"files": ["a.npy"]}]}')
    >>> read_manifest(folder).shards[0].rows
    3
    """
    root = Path(folder).resolve()
    digest, drafts, shards = _read_drafts(root)
    for i, shard in enumerate(shards):
        for name in _files_of(shard):
            if not _is_there(root / name):
                raise DataFileError(
                    f"{root} lacks the file {short(name)} of shard {i}. Copy it there, or write the views again."
                )
            if not _is_own(root, root / name):
                raise DataFileError(
                    f"{root} has {short(name)} of shard {i} in another folder, by a link, or as no regular file, which "
                    "is not read. Copy it there."
                )
    return Manifest(root, digest, *_complete(root, drafts, shards))


def named_files(folder: str | Path) -> set[str]:
    """Return the files that a folder of views calls its own: the manifest, and those that it names."""
    _, _, shards = _read_drafts(Path(folder).resolve())
    return {MANIFEST, *(name for shard in shards for name in _files_of(shard))}


def write_manifest(folder: Path, views: list[ViewEntry], shards: list[ShardEntry]) -> None:
    """Write what a folder of views says of itself."""
    titles = [None if view.feature_names is None else view.feature_names.tolist() for view in views]
    entries = [{**vars(view), "feature_names": names} for view, names in zip(views, titles)]
    parts = ",\n  ".join(json.dumps(vars(shard)) for shard in shards)  # a line each: there may be thousands
    head = f'{{"format": "{_FORMAT}", "version": {_VERSION},\n "views": {json.dumps(entries)},\n "shards": [\n  '
    own = _own_checksum(json.loads(f"{head}{parts}]}}"))
    (folder / MANIFEST).write_text(f'{head}{parts}],\n "sha256": "{own}"}}\n', encoding="utf-8")


def _own_checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of what a manifest says, however it is laid out."""
    text = json.dumps([content.get("views"), content.get("shards")], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _read_drafts(root: Path) -> tuple[str, list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the manifest's digest, and its views and shards with None for what they do not say."""
    path = root / MANIFEST
    try:
        text = path.read_bytes()
        content = parse_json(text)
    except OSError as error:
        raise DataFileError(f"{path} cannot be read ({error.strerror}). Name a folder that write_views made.") from None
    except ValueError as error:
        raise _damaged(path, f"it is not JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT or type(content.get("version")) is not int:
        raise _damaged(path, f"it has no format {_FORMAT!r} with a version")
    if content["version"] > _VERSION:
        raise DataFileError(
            f"{root} is of format {content['version']}, but this coview reads {_VERSION}. Update coview."
        )
    if content.get("sha256", own := _own_checksum(content)) != own:
        raise _damaged(path, 'it does not match its checksum; if you edited it, remove its last entry, "sha256"')
    try:
        drafts = [_draft_view(entry) for entry in _items(content, "views")]
        names = [draft["name"] for draft in drafts]
        name, count = Counter(names).most_common(1)[0]
        if count > 1:
            raise ValueError(f"{count} views have the name {short(name)}")
        shards = [_draft_shard(entry, names) for entry in _items(content, "shards")]
    except KeyError as error:
        raise _damaged(path, f"it lacks {short(error.args[0])}") from None
    except (AttributeError, TypeError, ValueError, SyntaxError) as error:
        raise _damaged(path, cut(str(error), 200)) from None
    return hashlib.sha256(text).hexdigest()[:16], drafts, shards


def _items(content: Mapping[str, Any], key: str) -> list[Any]:
    entries = content[key]
    if not isinstance(entries, list) or not entries:
        raise TypeError(f"{key} must be a list with at least one entry")
    return entries


def _draft_view(entry: Any) -> dict[str, Any]:
    """Return a view's entry with None for what it does not say."""
    view = {"name": entry} if isinstance(entry, str) else dict(entry)
    check_name(view["name"])
    kind, dtype, features = view.get("kind"), view.get("dtype"), view.get("features")
    if kind is not None and kind not in _KINDS:
        raise ValueError(f"view {view['name']!r} is of kind {kind!r}")
    if dtype is not None and np.dtype(_text(dtype)).kind not in "biuf":
        raise ValueError(f"view {view['name']!r} is of type {dtype!r}")
    if features is not None:
        _count(features, 1)
    names = view.get("feature_names")
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise TypeError(f"feature_names of view {view['name']!r} must be a list of texts")
    kind = None if kind is None else _KINDS[kind]
    return {"name": view["name"], "kind": kind, "dtype": dtype, "features": features, "feature_names": names}


def _draft_shard(entry: Any, names: list[str]) -> dict[str, Any]:
    """Return a shard's entry with None for what it does not say."""
    files = entry["files"]
    files = [files[name] for name in names] if isinstance(files, dict) else files
    nnz, rows = entry.get("nnz"), entry.get("rows")
    if not isinstance(files, list) or len(files) != len(names):
        raise TypeError("a shard does not have one file per view")
    if nnz is not None and (not isinstance(nnz, list) or len(nnz) != len(names)):
        raise TypeError("a shard does not have one nnz per view")
    return {
        "files": tuple(_inside(file, SUFFIXES) for file in files),
        "rows": None if rows is None else _count(rows, 1),
        "nnz": None if nnz is None else tuple(_count(n, 0) for n in nnz),
        "ids": None if entry.get("ids") is None else _inside(entry["ids"], (".npy",)),
        "present": None if entry.get("present") is None else _inside(entry["present"], (".npy",)),
        "sha256": {_text(file): _text(digest) for file, digest in (entry.get("sha256") or {}).items()},
    }


def _files_of(shard: dict[str, Any]) -> list[str]:
    return [name for name in (*shard["files"], shard["ids"], shard["present"]) if name is not None]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _count(value: Any, least: int) -> int:
    if type(value) is not int or value < least:
        raise ValueError(f"{value!r} is not an integer of at least {least}")
    return value


def _inside(file: Any, suffixes: tuple[str, ...]) -> str:
    """Return a file's name if it stays inside the folder and is of a format that is read."""
    path = PurePosixPath(_text(file))
    if path.is_absolute() or ".." in path.parts or "\\" in file or ":" in file or path.suffix not in suffixes:
        raise ValueError(f"{file!r} is not a file of this folder that ends in {' '.join(suffixes)}")
    return file


# -- what the headers of the files say


def _complete(
    root: Path, drafts: list[dict[str, Any]], shards: list[dict[str, Any]]
) -> tuple[tuple[ViewEntry, ...], tuple[ShardEntry, ...]]:
    """Fill in what the manifest leaves out from the headers of the files."""
    facts: dict[str, Facts] = {}

    def about(i: int, v: int) -> Facts:
        file = shards[i]["files"][v]
        if file not in facts:
            with one_sentence(f"{root / file} of shard {i} cannot be read"):
                facts[file] = describe(root / file, drafts[v]["kind"])
        return facts[file]

    full: list[ShardEntry] = []
    for i, shard in enumerate(shards):
        rows = shard["rows"] or next((n for v in range(len(drafts)) if (n := about(i, v).rows)), 0)
        if not rows:
            raise DataFileError(f"{root / MANIFEST} must say how many rows shard {i} has: its files do not tell.")
        nnz = shard["nnz"] or tuple(about(i, v).nnz for v in range(len(drafts)))
        full.append(ShardEntry(rows, shard["files"], nnz, shard["ids"], shard["present"], shard["sha256"]))
    size = sum(map(size_on_disk, {root / file for shard in full for file in shard.files}))
    if exceeds_rows(n_rows := sum(shard.rows for shard in full), size):
        raise DataFileError(
            f"{MANIFEST} states {n_rows} rows, but its files have {shown_bytes(size)}. Leave out empty rows."
        )
    views: list[ViewEntry] = []
    for v, draft in enumerate(drafts):
        known = {key: value for key, value in draft.items() if value is not None}
        if not {"kind", "dtype", "features"} <= known.keys():
            known = {**vars(about(0, v)), **known}
        name, features, names = known["name"], known["features"], known.get("feature_names")
        if not features:
            raise DataFileError(f"{root / MANIFEST} must say how many features view {name!r} has.")
        if exceeds_rows(features, size):
            raise DataFileError(
                f"{MANIFEST} states {features} features of view {name!r}, but its files have "
                f"{shown_bytes(size)}. Leave out those without values."
            )
        dtype = np.dtype(known["dtype"]).newbyteorder("=").str  # read as native, whatever the files hold
        try:
            columns = None if names is None else as_feature_names(name, names, features)
        except ViewsError as error:
            raise _damaged(root / MANIFEST, str(error)) from None
        views.append(ViewEntry(name, known["kind"], dtype, features, columns))
    return tuple(views), tuple(full)


def _is_own(root: Path, path: Path) -> bool:
    """Whether a file, or a folder with all that is in it, lies in the folder of views."""
    inside = (os.path.join(place, name) for place, *names in os.walk(path) for name in chain(*names))
    kinds = {stat.S_IFMT(os.lstat(file).st_mode) for file in (str(path.resolve()), *inside)}
    return path.resolve().is_relative_to(root) and kinds <= {stat.S_IFREG, stat.S_IFDIR}


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that no file can have
        return False


def _damaged(path: Path, why: str) -> DataFileError:
    return DataFileError(f"{path} is damaged ({why}). Mend it, or write the views again.")

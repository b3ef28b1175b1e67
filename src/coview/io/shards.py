"""A folder of views on disk: the files of its shards, and the manifest that describes them.

All files are .npy arrays, which are mapped into memory when they are read. Of shard 3 and the view at position 0:

    00003-00.npy                            a dense matrix
    00003-00.data.npy, -00.indices.npy, -00.indptr.npy          the arrays of a CSR matrix
    00003-ids.npy, 00003-present.npy        an id for each row, and a boolean for each row and view, where there are any

The manifest, ``views.json``, has a SHA-256 of each file, and one of itself:

    {"format": "coview views 1",
     "views":  [{"name": "words", "kind": "csr_array", "dtype": "<f4", "features": 5000, "feature_names": null}, ...],
     "shards": [{"rows": 1000, "nnz": [60213, ...], "sha256": {"00000-00.data.npy": "ba7816bf...", ...}}, ...],
     "sha256": "9f86d081..."}
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import DataFileError
from coview.utils.limits import text_array
from coview.utils.messages import file_errors
from coview.views.arrays import get_stored_values
from coview.views.views import Views

__all__ = [
    "CSR_PARTS",
    "MANIFEST",
    "Manifest",
    "ShardEntry",
    "ViewEntry",
    "compute_checksum",
    "name_file",
    "read_manifest",
    "write_manifest",
    "write_shard",
]

MANIFEST = "views.json"
CSR_PARTS = ("data", "indices", "indptr")
_FORMAT = "coview views 1"


@dataclass(frozen=True)
class ViewEntry:
    """One view: what all its shards have in common."""

    name: str
    kind: str  # "dense", "csr_array" or "csr_matrix"
    dtype: str
    features: int
    feature_names: list[str] | None


@dataclass(frozen=True)
class ShardEntry:
    """One shard: its rows, the stored values of each view, and the checksums of its files."""

    rows: int
    nnz: list[int]
    sha256: dict[str, str]


@dataclass(frozen=True)
class Manifest:
    """What a folder of views says of itself."""

    folder: Path
    digest: str
    views: list[ViewEntry]
    shards: list[ShardEntry]


def read_manifest(folder: str | Path) -> Manifest:
    """Read the manifest of a folder of views, and refuse a damaged one."""
    path = Path(folder).resolve() / MANIFEST
    with file_errors(f"{path} is absent or damaged", "Write the views again."):
        content = json.loads(path.read_bytes())
        # compared before anything is used: sizes from here decide how much memory is mapped
        digest = content.pop("sha256")
        if content["format"] != _FORMAT or digest != _compute_digest(content):
            raise ValueError(f"it is not of the format {_FORMAT!r}, or does not match its checksum")
        views = [ViewEntry(**entry) for entry in content["views"]]
        shards = [ShardEntry(**entry) for entry in content["shards"]]
        # a file can have a right checksum and wrong content, when somebody wrote both
        if any(view.feature_names is not None and len(view.feature_names) != view.features for view in views):
            raise ValueError("a view has more or fewer names than features")
        return Manifest(path.parent, digest, views, shards)


def write_manifest(folder: Path, views: list[ViewEntry], shards: list[ShardEntry]) -> None:
    """Write what a folder of views says of itself."""
    content: dict[str, Any] = {"format": _FORMAT, "views": [*map(vars, views)], "shards": [*map(vars, shards)]}
    content["sha256"] = _compute_digest(content)
    (folder / MANIFEST).write_text(json.dumps(content), encoding="utf-8")


def _compute_digest(content: Mapping[str, Any]) -> str:
    # sorted, so that the order of keys in the file does not matter
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def name_file(shard: int, part: str) -> str:
    """Return the name of one file of a shard."""
    return f"{shard:05d}-{part}.npy"


def write_shard(folder: Path, shard: int, piece: Views) -> ShardEntry:
    """Write the arrays of some rows."""
    sha256 = {}
    for part, array in _list_arrays(piece):
        file = name_file(shard, part)
        np.save(folder / file, np.ascontiguousarray(array), allow_pickle=False)  # rows together in the file
        sha256[file] = compute_checksum(folder / file)
    return ShardEntry(len(piece), [get_stored_values(matrix) for matrix in piece.values()], sha256)


def _list_arrays(piece: Views) -> Iterator[tuple[str, np.ndarray]]:
    for v, matrix in enumerate(piece.values()):
        if sparse.issparse(matrix):
            yield from ((f"{v:02d}.{part}", vars(matrix)[part]) for part in CSR_PARTS)
        else:
            yield f"{v:02d}", matrix
    if piece.ids is not None:
        # an array of objects would need pickle, which runs code when read
        texts = piece.ids.dtype == object and all(isinstance(key, str) for key in piece.ids)
        ids = text_array(piece.ids, "ids") if texts else piece.ids
        if ids.dtype.kind not in "biufUM":
            raise DataFileError(f"ids of type {ids.dtype} cannot be written. Turn them into text or integers.")
        yield "ids", ids
    # most views are whole, and need no file for it
    if not piece.present.all():
        yield "present", piece.present


def compute_checksum(path: Path) -> str:
    """Return the SHA-256 of a file.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.txt"
    >>> _ = file.write_text("abc")
    >>> compute_checksum(file)[:8]
    'ba7816bf'
    """
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

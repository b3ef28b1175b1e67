"""Zarr arrays of others: looked at before they are opened, since a codec can be a pickle, and a shape cost nothing.

The metadata of an array are read as the JSON that they are. Only numbers are taken, only in chunks of a regular grid,
and only through codecs of a short list; zarr opens what has passed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from coview.exceptions import DataFileError
from coview.utils.limits import exceeds, shown_bytes
from coview.utils.messages import listed, short
from coview.utils.text_files import parse_json

__all__ = ["check_chunks", "import_zarr", "open_array", "size_on_disk", "write_array", "zarr_attributes"]

_TYPE_2 = re.compile(r"[<>|][biuf](1|2|4|8)")
_TYPES_3 = {"bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "float16"} | {
    "float32",
    "float64",
}
_CODECS_2 = {None, "blosc", "bz2", "crc32", "gzip", "lz4", "lzma", "shuffle", "zlib", "zstd"}
_CODECS_3 = {"blosc", "bytes", "crc32c", "gzip", "transpose", "zstd"}


def import_zarr() -> Any:
    """Return zarr, of version 3 or later."""
    try:
        import zarr
        from zarr import create_array as _  # noqa: F401 - of zarr 3
    except ImportError:
        raise DataFileError('Zarr shards need zarr 3 or later. Run: pip install "coview[zarr]".') from None
    return zarr


def zarr_attributes(path: Path) -> dict[str, Any] | None:
    """Return the attributes of a group, or None of an array."""
    if (path / "zarr.json").is_file():
        about = _metadata(path / "zarr.json")
        return about.get("attributes", {}) if about.get("node_type") == "group" else None
    if (path / ".zgroup").is_file() and not (path / ".zarray").is_file():
        return _metadata(path / ".zattrs") if (path / ".zattrs").is_file() else {}
    return None


def open_array(path: Path) -> Any:
    """Open an array whose metadata are harmless; nothing of it is read yet."""
    version = 3 if (path / "zarr.json").is_file() else 2
    file = path / ("zarr.json" if version == 3 else ".zarray")
    if not file.is_file():
        raise DataFileError(f"{path} is no Zarr array: it has neither zarr.json nor .zarray. Write it again.")
    about = _metadata(file)
    codecs = _check_version_3(file, about) if version == 3 else _check_version_2(file, about)
    unknown = [name for name in codecs if name not in (_CODECS_3 if version == 3 else _CODECS_2)]
    if unknown:
        known = sorted(filter(None, _CODECS_3 if version == 3 else _CODECS_2))
        raise DataFileError(
            f"{file} names the codec {short(unknown[0])}; coview reads arrays of {listed(known)}. Write the array with "
            "one of these."
        )
    array = import_zarr().open_array(str(path), mode="r", zarr_format=version)
    if exceeds(array.nbytes, size_on_disk(path)):
        raise DataFileError(f"{path} states {shown_bytes(array.nbytes)}, but has {shown_bytes(size_on_disk(path))}.")
    return array


def check_chunks(path: Path) -> None:
    """Refuse an array that lacks a chunk, which Zarr would read as zeros."""
    array = open_array(path)
    lacking = array.nchunks - array.nchunks_initialized
    if lacking:
        raise DataFileError(
            f"{path} lacks {lacking} of its {array.nchunks} chunks. Copy them there; if they hold nothing but zeros, "
            "write the array again with write_empty_chunks=True."
        )


def write_array(path: Path, values: np.ndarray, chunks: tuple[int, ...]) -> None:
    """Write an array with all of its chunks; those of a few values each are not compressed beyond what is read."""
    options: dict[str, Any] = {"chunks": chunks, "config": {"write_empty_chunks": True}}
    create = import_zarr().create_array
    create(str(path), data=values, **options)
    if exceeds(values.nbytes, size_on_disk(path)):
        create(str(path), data=values, compressors=None, overwrite=True, **options)


def _metadata(file: Path) -> dict[str, Any]:
    try:
        about = parse_json(file.read_bytes())
    except ValueError as error:
        raise DataFileError(f"{file} is not JSON ({error}). Write the array again.") from None
    if not isinstance(about, dict):
        raise DataFileError(f"{file} holds no metadata of a Zarr array. Write the array again.")
    return about


def _check_version_3(file: Path, about: dict[str, Any]) -> list[Any]:
    """Names of the codecs of an array of Zarr 3 whose other metadata are harmless."""
    grid, kind, codecs = about.get("chunk_grid"), about.get("data_type"), about.get("codecs")
    plain = isinstance(kind, str) and kind in _TYPES_3 and not about.get("storage_transformers")
    if not plain or not isinstance(grid, dict) or grid.get("name") != "regular" or not isinstance(codecs, list):
        raise _not_numbers(file, kind)
    return [codec.get("name") if isinstance(codec, dict) else codec for codec in codecs]


def _check_version_2(file: Path, about: dict[str, Any]) -> list[Any]:
    kind, compressor, filters = about.get("dtype"), about.get("compressor"), about.get("filters") or []
    if not isinstance(kind, str) or not _TYPE_2.fullmatch(kind) or not isinstance(filters, list):
        raise _not_numbers(file, kind)
    return [codec.get("id") if isinstance(codec, dict) else codec for codec in (compressor, *filters)]


def _not_numbers(file: Path, kind: Any) -> DataFileError:
    return DataFileError(f"{file} is of no array of numbers in a regular grid (its type is {short(kind)}).")


def size_on_disk(path: Path) -> int:
    """Return the bytes of a file, or of the files in a folder."""
    files = (os.path.join(place, name) for place, _, names in os.walk(path) for name in names)
    return sum(map(os.path.getsize, files if path.is_dir() else [path]))

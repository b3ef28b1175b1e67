"""Archives of arrays (.npz) whose arrays are mapped into memory instead of read: a slice touches only its own pages.

An .npz file is a zip archive of .npy files. Where a member is stored without compression, its array is a run of bytes
of the archive and can be mapped there. `write_npz` puts each array at a multiple of 64 bytes, so that compiled code
takes the mapped array as it is; NumPy and scipy read such files as any other.
"""

from __future__ import annotations

import math
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from coview.exceptions import DataFileError

__all__ = ["csr_parts", "map_npy", "map_npz", "npz_headers", "write_npz"]

_ALIGN = 64  # what NumPy itself aligns the data of .npy files to
_LOCAL = 30  # bytes of a zip member's header before its name
_ZIP64 = 20  # bytes of the extra field that holds 8-byte sizes
_PADDING = 0xD935  # the extra field that others align archives with


def write_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays uncompressed, each at an aligned place of the file.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> file = Path(tempfile.mkdtemp()) / "a.npz"
    >>> write_npz(file, {"x": np.arange(3.0), "flag": np.ones(2, dtype=bool)})
    >>> map_npz(file)["x"]
    memmap([0., 1., 2.])
    """
    with open(path, "wb") as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy")  # with zip's earliest date: equal arrays make equal files
            before = stream.tell() + _LOCAL + len(info.filename.encode()) + _ZIP64
            padding = -(before + 4) % _ALIGN
            info.extra = struct.pack("<HH", _PADDING, padding) + bytes(padding)
            with archive.open(info, "w", force_zip64=True) as member:
                npy.write_array(member, np.asanyarray(array), allow_pickle=False)


def map_npz(path: Path) -> dict[str, np.ndarray]:
    """Arrays of an .npz file by name, mapped where they are stored uncompressed, else read."""
    stat = path.stat()
    members = _members(path, stat.st_mtime_ns, stat.st_size)
    whole = np.memmap(path, np.uint8, "r")
    found = {name: place.of(whole) if isinstance(place, _Place) else place for name, place in members.items()}
    compressed = [name for name, place in members.items() if place is None]
    if compressed:
        with np.load(path, allow_pickle=False) as archive:
            found |= {name: archive[name] for name in compressed}
    return found


def npz_headers(path: Path) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """Shapes and types of the arrays of an .npz file, whose values are not read."""
    found = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with archive.open(name) as member:
                shape, _, dtype = _header(member)
                found[name.removesuffix(".npy")] = shape, dtype
    return found


def map_npy(path: Path) -> np.ndarray:
    """Return the array of an .npy file, mapped."""
    with open(path, "rb") as stream:
        place = _place(path, stream, 0, path.stat().st_size)
    return place if isinstance(place, np.ndarray) else place.of(np.memmap(path, np.uint8, "r"))


def csr_parts(arrays: Mapping[str, Any]) -> tuple[tuple[int, int], type] | None:
    """Shape and class of the CSR matrix that these arrays are the parts of, or None if they are of no such matrix."""
    if not {"data", "indices", "indptr", "shape"} <= arrays.keys():
        return None
    form = arrays.get("format", np.array(b"csr")).item()
    if form not in (b"csr", "csr"):
        return None
    n, m = (int(size) for size in arrays["shape"])
    is_array = bool(arrays.get("_is_array", np.array("format" not in arrays)).item())  # scipy's matrices say nothing
    return (n, m), sparse.csr_array if is_array else sparse.csr_matrix


@dataclass(frozen=True)
class _Place:
    """Where in a file an array is."""

    offset: int
    nbytes: int
    dtype: np.dtype
    shape: tuple[int, ...]
    order: Literal["C", "F"]

    def of(self, whole: np.ndarray) -> np.ndarray:
        """Return the array, given the file's bytes."""
        return whole[self.offset : self.offset + self.nbytes].view(self.dtype).reshape(self.shape, order=self.order)


@lru_cache(maxsize=1024)
def _members(path: Path, modified: int, size: int) -> dict[str, Any]:
    """Places of an archive's arrays; None for compressed ones, and the array itself where it has no dimensions.

    Remembered for a file that has not changed: engines map the same shard for every block of it, in every sweep.
    """
    found: dict[str, Any] = {}
    with open(path, "rb") as stream, zipfile.ZipFile(stream) as archive:
        for info in archive.infolist():
            stored = info.compress_type == zipfile.ZIP_STORED
            place = _place(path, stream, _start_of(path, stream, info), info.file_size) if stored else None
            found[info.filename.removesuffix(".npy")] = place
    return found


def _start_of(path: Path, stream: IO[bytes], info: zipfile.ZipInfo) -> int:
    """Where the bytes of a member begin; only the header before them knows how long it is itself."""
    stream.seek(info.header_offset)
    header = stream.read(_LOCAL)
    if len(header) != _LOCAL or header[:4] != b"PK\x03\x04":
        raise DataFileError(f"{path} is damaged: it has no member where its directory says. Write it again.")
    name, extra = struct.unpack("<HH", header[26:30])
    return info.header_offset + _LOCAL + name + extra


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    return (npy.read_array_header_1_0 if npy.read_magic(stream) == (1, 0) else npy.read_array_header_2_0)(stream)


def _place(path: Path, stream: IO[bytes], start: int, size: int) -> _Place | np.ndarray:
    """Where the values of the .npy array in `size` bytes from `start` on are; without dimensions, the array itself."""
    stream.seek(start)
    shape, fortran, dtype = _header(stream)
    offset = stream.tell()
    nbytes = math.prod(shape) * dtype.itemsize
    if dtype.hasobject:
        raise DataFileError(f"{path} holds Python objects, which are not read. Write numbers or text.")
    if min(shape, default=0) < 0 or offset + nbytes > start + size:
        raise DataFileError(f"{path} is damaged: an array of it is cut short. Write it again.")
    if not shape or not nbytes:
        stream.seek(start)
        return npy.read_array(stream, allow_pickle=False)
    return _Place(offset, nbytes, dtype, shape, "F" if fortran else "C")

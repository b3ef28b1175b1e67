"""Vectors on disk, by the content that they were made of: what was computed once is looked up.

A cache is a folder with one folder for each encoder, by its name. A file there holds some vectors and the keys of what
they were made of, in order of these: an archive (`coview.utils.archive`) of two arrays with checksums, never pickle,
which appears whole or not at all. A new file takes in those that are smaller, so that there are few of them however the
vectors come. What is damaged, or not what it says, is not believed: it is removed, and its vectors are computed again.
Files of a newer coview are left to it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coview.exceptions import DataFileError, ModelFileError
from coview.utils.archive import read_archive, write_archive
from coview.utils.warn import warn_user
from coview.views.arrays import from_tensor, is_tensor

__all__ = ["KEY_BYTES", "VectorCache", "content_key"]

KEY_BYTES = 32
_NUMBERS = (bool, int, float, np.generic)
_SIDE_UP = 0x0112  # the tag of EXIF
_VERSION = 1
_LARGEST = 64 << 20  # bytes of a file that still takes in others
_LOOKS = 5  # into a folder whose files others take in meanwhile; what is still not found is computed again
_DAY = 24 * 3600  # seconds after which what a killed process left is taken away


def content_key(value: Any) -> bytes | None:
    """Return what stands for a text, an image or the content of a file in a cache; None of other things.

    Parameters
    ----------
    value : str, bytes, Path, number, NumPy array of numbers, tensor of torch, image of Pillow, or list of these
        A path stands for what is in its file. Other things may hold more than the array that NumPy makes of them.

    Examples
    --------
    >>> content_key("red fox").hex()[:8], content_key(b"red fox") == content_key("red fox"), content_key(object())
    ('1705c27d', False, None)
    """
    if isinstance(value, str):
        return hashlib.sha256(b"text\0" + value.encode(errors="surrogatepass")).digest()
    if isinstance(value, (bytes, bytearray)):
        return hashlib.sha256(b"bytes\0" + value).digest()
    if isinstance(value, os.PathLike):
        with open(value, "rb") as stream:
            return hashlib.sha256(b"file\0" + hashlib.file_digest(stream, "sha256").digest()).digest()
    pillow = sys.modules.get("PIL.Image")
    if pillow is not None and isinstance(value, pillow.Image):
        return _image_key(value)
    if isinstance(value, (list, tuple)) and not all(isinstance(item, _NUMBERS) for item in value):
        keys = [content_key(item) for item in value]
        return hashlib.sha256(b"list\0" + b"".join(filter(None, keys))).digest() if None not in keys else None
    if isinstance(value, np.ma.MaskedArray):
        keys = [content_key(part) for part in (value.data, np.ma.getmaskarray(value), value.fill_value)]
        return hashlib.sha256(b"masked\0" + b"".join(filter(None, keys))).digest() if None not in keys else None
    try:
        array = _as_array(value)
    except (TypeError, ValueError):  # of a tensor whose numbers NumPy does not have
        return None
    if array is None or array.dtype.kind not in "biuf":
        return None
    about = f"array\0{array.dtype.newbyteorder('<').str}\0{array.shape}\0".encode()
    return hashlib.sha256(about + array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()).digest()


def _as_array(value: Any) -> np.ndarray | None:
    """The array that says all of a value; None where there may be more to it, as the mask of a subclass."""
    if is_tensor(value):
        value = from_tensor(value)
    plain = type(value) in (np.ndarray, np.memmap) or isinstance(value, (list, tuple, *_NUMBERS))
    return np.asarray(value) if plain else None


def _image_key(image: Any) -> bytes:
    """Pixels of an image, and what says how they are seen: mode, palette, transparency, and which side is up."""
    pixels = image.tobytes()  # reads the file, which may set the others
    colors = image.getpalette("RGBA"), image.info.get("transparency")
    about = image.mode, image.size, *colors, image.getexif().get(_SIDE_UP)
    return hashlib.sha256(b"image\0" + repr(about).encode() + b"\0" + pixels).digest()


@dataclass(frozen=True)
class _Shard:
    """One file: vectors in the order of their keys."""

    keys: np.ndarray  # n x 32 bytes
    heads: np.ndarray  # the first eight of them as numbers, ascending
    vectors: np.ndarray


# files of this process that were checked, and lie mapped in memory: (modified, size, inode) and the shard
_opened: dict[Path, tuple[tuple[int, int, int], _Shard]] = {}


class VectorCache:
    """Vectors of one encoder in a folder.

    Parameters
    ----------
    folder : str or Path
        The cache; it is made where it is not there.
    name : str
        The encoder. Vectors of others are neither read nor changed.

    Examples
    --------
    >>> import tempfile
    >>> cache = VectorCache(tempfile.mkdtemp(), "letters")
    >>> keys = [content_key("red"), content_key("sea")]
    >>> cache.add(keys[:1], np.ones((1, 3), dtype=np.float32))
    >>> [(at.tolist(), vectors.tolist()) for at, vectors in cache.find(keys)]
    [([0], [[1.0, 1.0, 1.0]])]
    """

    def __init__(self, folder: str | Path, name: str) -> None:
        self.name = name
        self.folder = Path(folder) / f"vectors-{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:32]}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataFileError(f"The cache {folder} cannot be made ({error.strerror}). Name another folder.") from None

    def find(self, keys: list[bytes]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield positions among the keys, each at most once, and the vectors that are known of them."""
        if not keys:
            return
        wanted = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, KEY_BYTES)
        heads = _heads(wanted)
        open_positions = np.arange(len(keys))
        for _, shard in self._shards():
            at = np.minimum(np.searchsorted(shard.heads, heads[open_positions]), len(shard.heads) - 1)
            there = (shard.keys[at] == wanted[open_positions]).all(axis=1)
            if there.any():
                yield open_positions[there], np.asarray(shard.vectors[at[there]])
                open_positions = open_positions[~there]
            if not open_positions.size:
                return

    def add(self, keys: list[bytes], vectors: np.ndarray) -> None:
        """Write vectors in one file, together with those of smaller files."""
        all_keys = [np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, KEY_BYTES)]
        parts, taken, n_rows = [vectors], [], len(keys)
        for path, shard in sorted(self._shards(), key=lambda each: len(each[1].keys)):
            same = shard.vectors.dtype == vectors.dtype and shard.vectors.shape[1] == vectors.shape[1]
            size = (n_rows + len(shard.keys)) * vectors.shape[1] * vectors.dtype.itemsize
            if same and len(shard.keys) <= n_rows and size <= _LARGEST:
                all_keys.append(shard.keys)
                parts.append(shard.vectors)
                taken.append(path)
                n_rows += len(shard.keys)
        joined, matrix = np.concatenate(all_keys), np.concatenate(parts)
        _, first = np.unique(_heads(joined), return_index=True)  # ascending; two processes may have written one key
        tree = {"name": self.name, "keys": joined[first], "vectors": matrix[first]}
        path = self.folder / f"{secrets.token_hex(8)}.safetensors"
        write_archive(path, tree, kind="vectors", version=_VERSION)
        for old in taken:
            _opened.pop(old, None)
            with contextlib.suppress(OSError):  # another process may be faster, or read it just now
                old.unlink()

    def _shards(self) -> list[tuple[Path, _Shard]]:
        """Files that can be believed; those that are damaged or foreign are removed."""
        for _ in range(_LOOKS):
            shards, gone = self._listed()
            if not gone:  # else another process has taken a file in: its vectors are in one that is newer than the list
                break
        return shards

    def _listed(self) -> tuple[list[tuple[Path, _Shard]], bool]:
        """The files of one look into the folder, and whether one of them was gone before it was read."""
        files = sorted(path for path in self.folder.iterdir() if path.suffix in (".safetensors", ".part"))
        for path in [path for path in list(_opened) if path.parent == self.folder and path not in files]:
            _opened.pop(path, None)
        shards, gone = [], False
        for path in files:
            try:
                about = path.stat(follow_symlinks=False)
            except OSError:
                gone |= path.suffix != ".part"
                continue
            if path.suffix == ".part":
                if time.time() - about.st_mtime > _DAY:
                    path.unlink(missing_ok=True)
                continue
            stamp = (about.st_mtime_ns, about.st_size, about.st_ino)
            known = _opened.get(path)
            if known is None or known[0] != stamp:
                try:
                    shard = self._read(path)
                except FileNotFoundError:
                    gone = True
                    continue
                if shard is None:
                    continue
                _opened[path] = known = (stamp, shard)
            shards.append((path, known[1]))
        return shards, gone

    def _read(self, path: Path) -> _Shard | None:
        """Read and check one file; FileNotFoundError where it is gone by now."""
        problem = "is no regular file"
        try:
            if path.is_file() and not path.is_symlink():
                tree, _ = read_archive(path, kind="vectors", newest=_VERSION)
                shard, problem = _checked(tree, self.name)
                if shard is not None:
                    return shard
        except ModelFileError as error:
            problem = str(error).partition("(")[2].partition(")")[0] or "is no file of vectors"
        if not os.path.lexists(path):
            raise FileNotFoundError(path)
        warn_user(f"{path} is not used, and removed: it {problem}. Its vectors are computed again.", UserWarning)
        with contextlib.suppress(OSError):
            path.unlink()
        return None


def _checked(tree: Any, name: str) -> tuple[_Shard | None, str]:
    """What a file holds, or why it is not believed."""
    if not isinstance(tree, dict) or tree.keys() != {"name", "keys", "vectors"} or tree["name"] != name:
        return None, "holds no vectors of this encoder"
    keys, vectors = tree["keys"], tree["vectors"]
    arrays = isinstance(keys, np.ndarray) and isinstance(vectors, np.ndarray)
    if not arrays or keys.dtype != np.uint8 or keys.ndim != 2 or keys.shape[1] != KEY_BYTES or not len(keys):
        return None, "has keys of another form"
    if vectors.dtype not in (np.float32, np.float64) or vectors.ndim != 2 or len(vectors) != len(keys):
        return None, "has vectors of another form"
    heads = _heads(keys)
    if not vectors.shape[1] or (heads[1:] <= heads[:-1]).any() or not np.isfinite(vectors).all():
        return None, "has vectors out of order, or not finite"
    return _Shard(keys, heads, vectors), ""


def _heads(keys: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(keys[:, :8]).view(">u8").ravel().astype(np.uint64)

"""Whether a file is still what it was: its SHA-256 when it was written, its stamp since it was first read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["checksum", "stamp"]


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file; of a folder, such as a Zarr array, that of its files' names and SHA-256.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.txt"
    >>> _ = file.write_text("abc")
    >>> checksum(file)[:8]
    'ba7816bf'
    """
    if path.is_dir():
        lines = (f"{file.relative_to(path).as_posix()} {checksum(file)}\n" for file in _files(path))
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def stamp(path: Path) -> tuple[Any, ...]:
    """Return what changes when a file, or one in a folder, is written again: place on disk, size and time."""
    stats = ((file.name, file.stat()) for file in (_files(path) if path.is_dir() else [path]))
    return tuple((name, about.st_ino, about.st_size, about.st_mtime_ns) for name, about in stats)


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(file for file in folder.rglob("*") if file.is_file())

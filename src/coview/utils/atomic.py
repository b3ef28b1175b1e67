"""Files appear whole or not at all: written beside their place, then moved into it."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["atomic_folder", "atomic_path", "remove_files"]

_UMASK = os.umask(0o077)  # it can only be read by setting it: done once, here
os.umask(_UMASK)


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a name beside `path` to write to; move it into place if the body succeeds, remove it if not."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        _flush(beside)
        beside.chmod(0o666 & ~_UMASK)  # mkstemp makes private files; a data file is an ordinary one
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """Yield an empty folder beside `path`; move it into place (replacing what is there) if the body succeeds."""
    target = Path(path).resolve()  # of a link, the folder it points to is replaced, not the link
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    try:
        yield beside
        for file in beside.rglob("*"):
            if file.is_file():
                _flush(file)
        beside.chmod(0o777 & ~_UMASK)
        if not target.exists():
            os.replace(beside, target)
        elif not _exchange(beside, target):
            _replace_folder(beside, target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def remove_files(paths: Iterable[str | Path]) -> None:
    """Remove those of the files that are there."""
    for path in paths:
        Path(path).unlink(missing_ok=True)


def _flush(file: Path) -> None:
    with open(file, "rb+") as stream:
        os.fsync(stream.fileno())


def _exchange(a: Path, b: Path) -> bool:
    """Swap two folders in one step where the system can (Linux), so that no moment is without the old or the new."""
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return rename is not None and rename(here, os.fsencode(a), here, os.fsencode(b), swap) == 0


def _replace_folder(beside: Path, target: Path) -> None:
    """Put a folder in the place of another by two renames; the old one comes back if the second fails."""
    old = beside.with_suffix(".old")
    os.replace(target, old)
    try:
        os.replace(beside, target)
    except BaseException:
        os.replace(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)

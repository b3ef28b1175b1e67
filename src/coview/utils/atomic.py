"""Files appear whole or not at all: written beside their place, then moved into it.

What is replaced keeps its mode, and a link stays a link: the file that it points to is replaced.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from coview.exceptions import DataFileError

__all__ = ["atomic_folder", "atomic_path", "remove_files"]


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a name beside `path` to write to; move it into place if the body succeeds, remove it if not."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise DataFileError(f"{path} is not a regular file, so it is not replaced. Use another name.")
    beside = _name_beside(target)
    try:
        beside.touch()
        mode = (target if target.exists() else beside).stat().st_mode
        beside.chmod(mode | stat.S_IRUSR | stat.S_IWUSR)  # a private file is private from the start
        yield beside
        _flush(beside)
        beside.chmod(mode)  # a library may have put a file of its own there
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """Yield an empty folder beside `path`; move it into place (replacing what is there) if the body succeeds."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_dir():
        raise DataFileError(f"{path} is not a folder, so it is not replaced. Use another name.")
    beside, old = _name_beside(target), _name_beside(target)
    try:
        beside.mkdir()
        yield beside
        # data reach the disk before the new name does: after a crash there is the old folder or the whole new one
        for file in filter(Path.is_file, beside.rglob("*")):
            _flush(file)
        if target.exists():
            shutil.copymode(target, beside)
            os.replace(target, old)
        os.replace(beside, target)
    finally:
        if old.exists() and not target.exists():
            os.replace(old, target)
        shutil.rmtree(beside, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def remove_files(paths: Iterable[str | Path]) -> None:
    """Remove those of the files that are there."""
    for path in paths:
        Path(path).unlink(missing_ok=True)


def _name_beside(target: Path) -> Path:
    """Return a free name in the folder of `target`, which is made if need be."""
    target.parent.mkdir(parents=True, exist_ok=True)
    return target.parent / f".{target.name[:50]}.{secrets.token_hex(4)}.part"  # file systems take 255 bytes


def _flush(file: Path) -> None:
    with open(file, "rb+") as stream:
        os.fsync(stream.fileno())

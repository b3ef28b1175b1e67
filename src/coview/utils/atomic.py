"""Files appear whole or not at all: written beside their place, then moved into it.

What is replaced keeps its mode, and a link stays a link. What a writer that was killed left behind is cleared by the
next one: the name of a file under way, ``.model.coview.<host>-<process>-<random>.part``, says whose it is.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import re
import secrets
import shutil
import stat
import sys
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from coview.exceptions import DataFileError

__all__ = ["atomic_folder", "atomic_path", "remove_files"]


def _numbers_of_processes() -> str:
    """What tells whether a process number means the same: the machine, and on Linux the container."""
    try:
        return f"{platform.node()} {os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return platform.node()


_HOST = f"{zlib.crc32(_numbers_of_processes().encode()):08x}"
_DAY = 24 * 3600  # seconds after which what another machine left is taken for forgotten
_under_way: set[Path] = set()  # what this process is writing


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a name beside `path` to write to; move it into place if the body succeeds, remove it if not.

    Of a link, the file that it points to is replaced. What is no regular file (a folder, a device, a pipe) is refused.
    """
    target = Path(os.path.realpath(path))
    old = _mode(target)
    if old is not None and not stat.S_ISREG(old):
        raise _not_replaced(path, old, "a regular file")
    with _beside(target) as beside:
        # the system applies the umask; what replaces a private file is private from the start
        at_first = 0o666 if old is None else stat.S_IMODE(old) | stat.S_IRUSR | stat.S_IWUSR
        os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, at_first))
        mode = stat.S_IMODE(beside.stat().st_mode if old is None else old)
        yield beside
        _flush(beside)
        _keep_owner(beside, target)
        beside.chmod(mode)  # a library may have put a file of its own there
        os.replace(beside, target)


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """Yield an empty folder beside `path`; move it into place (replacing what is there) if the body succeeds."""
    target = Path(os.path.realpath(path))  # of a link, the folder it points to is replaced, not the link
    old = _mode(target)
    if old is not None and not stat.S_ISDIR(old):
        raise _not_replaced(path, old, "a folder")
    with _beside(target) as beside:
        beside.mkdir()
        yield beside
        for file in beside.rglob("*"):
            if file.is_file():
                _flush(file)
                before = _mode(target / file.relative_to(beside))
                if before is not None:
                    file.chmod(stat.S_IMODE(before))
        if old is None:
            os.replace(beside, target)
            return
        _keep_owner(beside, target)
        beside.chmod(stat.S_IMODE(old))
        if not _exchange(beside, target):
            _replace_folder(beside, target)


def remove_files(paths: Iterable[str | Path]) -> None:
    """Remove those of the files that are there."""
    for path in paths:
        Path(path).unlink(missing_ok=True)


def _mode(path: Path) -> int | None:
    """Type and permissions of what is there, None where nothing is."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise DataFileError(f"{path} is a link that leads back to itself. Use another name.") from None


def _not_replaced(path: str | Path, mode: int, wanted: str) -> DataFileError:
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFREG: "a file", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    kind = kinds.get(stat.S_IFMT(mode), "a device")
    return DataFileError(f"{path} is {kind}, not {wanted}, so it is not replaced. Use another name.")


def _keep_owner(beside: Path, target: Path) -> None:
    """Give a file the owner of the one that it replaces, where the system lets us."""
    if os.name == "posix" and target.exists():
        before = target.stat()
        with contextlib.suppress(OSError):
            os.chown(beside, before.st_uid, before.st_gid)


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Yield a free name in the folder of `target`; whatever has it at the end is removed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    _clear(target)
    beside = target.parent / f".{_cut(target.name)}.{_HOST}-{os.getpid()}-{secrets.token_hex(4)}.part"
    _under_way.add(beside)
    try:
        yield beside
    finally:
        _remove(beside)
        _under_way.discard(beside)


def _cut(name: str) -> str:
    """A name of at most 200 bytes: file systems take 255."""
    return name.encode(errors="surrogateescape")[:200].decode(errors="ignore")


def _clear(target: Path) -> None:
    """Remove what writers of `target` left that are no longer alive; on another machine, what is older than a day."""
    pattern = re.compile(rf"\.{re.escape(_cut(target.name))}\.([0-9a-f]{{8}})-(\d+)-[0-9a-f]{{8}}\.part")
    for match in filter(None, map(pattern.fullmatch, os.listdir(target.parent))):
        part = target.parent / match[0]
        if part in _under_way:
            continue
        here, process = match[1] == _HOST and os.name == "posix", int(match[2])
        with contextlib.suppress(OSError):
            if not _is_alive(process) if here else time.time() - part.stat().st_mtime > _DAY:
                _remove(part)


def _is_alive(process: int) -> bool:
    """Tell whether a process of this machine is running; this one writes nothing but what is under way."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is someone else's
        return True
    return True


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _flush(file: Path) -> None:
    with open(file, "rb+") as stream:
        os.fsync(stream.fileno())


def _exchange(a: Path, b: Path) -> bool:
    """Swap two folders in one step where the system can (Linux), so that no moment is without the old or the new."""
    if sys.platform != "linux":
        return False
    here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        return ctypes.CDLL(None).renameat2(here, os.fsencode(a), here, os.fsencode(b), swap) == 0
    except AttributeError:  # an old library of C
        return False


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

"""numba's `njit` with a cache that cannot stop a fit.

Compiled kernels are kept in the folder that NUMBA_CACHE_DIR names, else in the user's cache, by the content of all
kernels and the version of numba: every environment of a user with the same kernels has them. Where that cannot be
written, they are kept where numba keeps them, beside the source; else in a private folder for temporary files; where
that is not possible either, they are compiled again in every process. A file of the cache that is cut short is written
anew.
This reaches into numba; where a numba of another version is made otherwise inside, its own cache is used.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

__all__ = ["cache_note", "njit"]

_KERNELS = Path(__file__).parent
_KEPT = 8  # sets of compiled kernels in the user's cache, the newest: of versions, and of numbas


def njit(**options: Any) -> Callable[[Any], Any]:
    """Return numba's decorator; ``cache=True`` means a cache that may be absent or damaged."""
    cached = options.pop("cache", False)

    def compiled(function: Any) -> Any:
        kernel = numba.njit(**options)(function)
        if cached and kernel is not function:  # as it is where compiling is switched off
            _keep(kernel, function)
        return kernel

    return compiled


def cache_note(kernel: Any) -> str:
    """Say where a kernel that is being compiled is kept, in the words of a notice."""
    path = kernel.stats.cache_path
    if path is None:
        return "in every process, since no folder for them can be written; NUMBA_CACHE_DIR names one"
    if Path(path).parent == _temporary_folder():
        return f"kept in {_temporary_folder()}, since no other folder can be written; NUMBA_CACHE_DIR names one"
    return "once, takes a few seconds"


def _keep(kernel: Any, function: Any) -> None:
    """Give a kernel its cache: ours, numba's own where ours does not fit this numba, or none."""
    try:
        kernel._cache = _lenient_cache()(function)
    except (RuntimeError, OSError):  # no folder can be written
        return
    except (ImportError, AttributeError, StopIteration, TypeError):
        try:
            kernel.enable_caching()
        except (RuntimeError, OSError):
            return


def _temporary_folder() -> Path:
    """Return a folder of this user's alone: what lies in it is executed."""
    user = str(os.getuid()) if os.name == "posix" else "kernels"
    return Path(tempfile.gettempdir()) / f"coview-{user}"


def _shared_folder() -> Path:
    """Return the folder of all environments of this user."""
    from platformdirs import user_cache_path

    return user_cache_path("coview") / "kernels"


@cache
def _content() -> str:
    """Return what tells these kernels from others: a kernel may hold parts of any other file."""
    import llvmlite

    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__}".encode())
    for file in sorted(_KERNELS.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:24]


def _make_private(folder: Path) -> None:
    """Make a folder, or refuse one that others can write."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode):
        raise NotADirectoryError(folder)
    if os.name == "posix" and (about.st_uid != os.getuid() or about.st_mode & 0o077):
        raise PermissionError(f"{folder} is not private")


def _prune(folder: Path, kept: int) -> None:
    """Remove all but the newest folders in a folder."""
    newest = sorted((part for part in folder.iterdir() if part.is_dir()), key=lambda part: -part.stat().st_mtime)
    for old in newest[kept:]:
        shutil.rmtree(old, ignore_errors=True)


@cache
def _lenient_cache() -> Any:
    """Return the class of our caches, built on numba's."""
    from numba.core.caching import CompileResultCacheImpl, FunctionCache

    def stamped(locator: Any) -> Any:
        """Return numba's locator with the stamp of all kernels: the file of one alone says nothing of its parts."""

        def stamp(self: Any) -> tuple[Any, str]:
            return locator.get_source_stamp(self), _content()

        return type(locator.__name__, (locator,), {"get_source_stamp": stamp})

    known = [stamped(locator) for locator in CompileResultCacheImpl._locator_classes]
    in_tree = next(locator for locator in known if locator.__name__.strip("_") == "InTreeCacheLocator")

    class TemporaryLocator(in_tree):  # type: ignore[misc, valid-type]
        """Says that a kernel is kept in the folder for temporary files."""

        def __init__(self, function: Any, file: str) -> None:
            super().__init__(function, file)
            self._cache_path = str(_temporary_folder() / self.get_suitable_cache_subpath(file))

        def ensure_cache_path(self) -> None:
            _make_private(_temporary_folder())
            super().ensure_cache_path()

    class SharedLocator(in_tree):  # type: ignore[misc, valid-type]
        """Says that a kernel of coview is kept for all environments of the user."""

        def __init__(self, function: Any, file: str) -> None:
            super().__init__(function, file)
            self._cache_path = str(_shared_folder() / _content())

        def get_source_stamp(self) -> str:
            return _content()

        def ensure_cache_path(self) -> None:
            folder = _shared_folder()
            if not folder.is_absolute():  # there is no home
                raise FileNotFoundError(folder)
            _make_private(folder)
            if not Path(self._cache_path).exists():
                _prune(folder, _KEPT - 1)
            super().ensure_cache_path()

        @classmethod
        def from_function(cls, function: Any, file: str) -> Any:
            return super().from_function(function, file) if Path(file).parent == _KERNELS else None

    named = [locator for locator in known if locator.__name__.strip("_") == "UserProvidedCacheLocator"]
    others = [locator for locator in known if locator not in named]

    class Implementation(CompileResultCacheImpl):
        _locator_classes = [*named, SharedLocator, *others, TemporaryLocator]

    class LenientCache(FunctionCache):
        """numba's cache of one kernel; what cannot be read is thrown away, what cannot be written is not kept."""

        _impl_class = Implementation

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            try:
                return super().load_overload(sig, target_context)
            except Exception:  # whatever unpickling half a file ends in
                self._throw_away()
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            try:
                super().save_overload(sig, data)
            except Exception:  # a full disk, or an index that another process left cut short
                self._throw_away()

        def _throw_away(self) -> None:
            try:
                self.flush()
            except OSError:
                self.disable()

    return LenientCache

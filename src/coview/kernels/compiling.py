"""numba's `njit` with a cache that cannot stop a fit, and a notice where a kernel has to be compiled.

Compiled kernels are stored in the folder that NUMBA_CACHE_DIR names, else in the user's cache, by the content of all
kernels and the version of numba: every environment of a user with the same kernels shares them. If that folder cannot
be written, every process compiles its kernels anew.

numba's own cache does not suffice. It looks at the file of a kernel alone, though parts of others are compiled into it;
it is made anew in every environment; where no folder can be written, the import fails; and a file that is cut short, or
a full disk, ends the fit.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache

__all__ = ["njit"]

_KERNELS = Path(__file__).parent
_KEPT = 8  # sets of compiled kernels, the newest: of versions of coview and of numba; each takes a few MB

_is_told = False


def njit(**options: Any) -> Callable[[Any], Any]:
    """Return numba's decorator; ``cache=True`` means a cache that may be absent or damaged."""
    cached = options.pop("cache", False)

    def compiled(function: Any) -> Any:
        kernel = numba.njit(**options)(function)
        if cached and kernel is not function:  # numba returns the function itself where compiling is switched off
            kernel._cache = _make_cache(function)
        return kernel

    return compiled


def _make_cache(function: Any) -> Any:
    try:
        return _KernelCache(function)
    except RuntimeError:  # numba's, where there is no folder
        return _NoCache()


def _tell(note: str) -> None:
    """Print, once in a process, that kernels are being compiled: a first fit takes seconds longer than the next."""
    global _is_told
    if not _is_told:
        _is_told = True
        print(f"coview: compiling kernels for this machine ({note}) ...", file=sys.stderr, flush=True)


def _folder() -> Path:
    from platformdirs import user_cache_path

    # read at every call: numba reads the variable again when the environment changes
    named = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    return (Path(named) / "coview" if named else user_cache_path("coview")) / "kernels"


@cache
def _content() -> str:
    """Return a digest of all kernels: one may hold parts of any other file."""
    import llvmlite

    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__}".encode())
    for file in sorted(_KERNELS.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:24]


def _prune(folder: Path, kept: int) -> None:
    """Remove all but the newest folders in a folder."""
    newest = sorted((part for part in folder.iterdir() if part.is_dir()), key=lambda part: -part.stat().st_mtime)
    for old in newest[kept:]:
        shutil.rmtree(old, ignore_errors=True)


class _Locator:
    """Says where a kernel is stored, in the methods that numba calls."""

    def __init__(self) -> None:
        self.path = _folder() / _content()

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Locator | None:
        locator = cls()
        try:
            locator.ensure_cache_path()
        except OSError:
            return None
        return locator

    def ensure_cache_path(self) -> None:
        folder = self.path.parent
        if not folder.is_absolute():  # there is no home
            raise FileNotFoundError(folder)
        # of the user alone: what lies in it is executed
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.path.exists():
            _prune(folder, _KEPT - 1)
        self.path.mkdir(mode=0o700, exist_ok=True)
        (self.path / "writable").touch()

    def get_cache_path(self) -> str:
        return str(self.path)

    def get_source_stamp(self) -> str:
        return _content()

    def get_disambiguator(self) -> None:
        return None


class _Implementation(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # type: ignore[list-item]


class _KernelCache(FunctionCache):
    """numba's cache of one kernel; what cannot be read is thrown away, what cannot be written is not stored."""

    _impl_class = _Implementation

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # unpickling a file that is cut short may raise anything
            self._throw_away()
            found = None
        # two processes that compile different signatures at once may write to the same file
        if found is None or found.signature.args != sig:
            _tell("once, takes a few seconds")
            return None
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:  # a full disk, or an index that is cut short
            self._throw_away()

    def _throw_away(self) -> None:
        try:
            self.flush()
        except OSError:
            self.disable()


class _NoCache(NullCache):
    def load_overload(self, sig: Any, target_context: Any) -> None:
        _tell(f"in every process, since {_folder()} cannot be written; NUMBA_CACHE_DIR names another folder")

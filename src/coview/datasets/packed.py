"""Find a corpus file in the data home, plain or compressed, and read it line by line without unpacking it on disk."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from coview.datasets.fetch import ENVIRONMENT, fetch
from coview.datasets.fetch import data_home as find_data_home
from coview.exceptions import DataFileError

__all__ = ["DAMAGED", "check_option", "locate", "read_lines"]

# what the readers of the standard library raise on a file that is cut short or not what its name says
DAMAGED = (EOFError, OSError, lzma.LZMAError, zlib.error)

_OPENERS: dict[str, Callable[..., Any]] = {"": open, ".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}


def locate(
    name: str,
    data_home: str | Path | None,
    files: Mapping[str, str],
    base_urls: str | Sequence[str],
    source: str,
) -> Path:
    """Return the path of a corpus file: plain, else compressed, else downloaded.

    Parameters
    ----------
    name : str
        The plain file, relative to the data home: ``"cora/cora.content"``.
    data_home : path, optional
        See `coview.datasets.data_home`.
    files : mapping
        Checksums of the files that can be downloaded, ``{name: sha256}``; see `coview.datasets.fetch.fetch`.
    base_urls : str or sequence of str
        Where they can be downloaded from.
    source : str
        Where a person gets the data: it completes the sentence "Get it from ...".

    Returns
    -------
    Path
        The file; its last suffix tells how it is compressed.

    Examples
    --------
    >>> import gzip, tempfile
    >>> from pathlib import Path
    >>> from coview.datasets.packed import locate, read_lines
    >>> home = Path(tempfile.mkdtemp())
    >>> _ = (home / "a.txt.gz").write_bytes(gzip.compress(b"one"))
    >>> locate("a.txt", home, {}, (), "the author").name
    'a.txt.gz'
    """
    home = find_data_home(data_home)
    for suffix in _OPENERS:
        path = home / f"{name}{suffix}"
        if path.is_file():
            return path
    if name in files:
        return fetch(name, files, base_urls, home)
    raise DataFileError(
        f"{name!r} is not in the data home {str(home)!r}. Get it from {source} and put it at {str(home / name)!r} "
        f"(.gz, .xz and .bz2 of it are read too), or set {ENVIRONMENT} to a folder that has it."
    )


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, plain or compressed, without the white space around them; empty lines are left out.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from coview.datasets.packed import read_lines
    >>> path = Path(tempfile.mkdtemp()) / "a.txt"
    >>> _ = path.write_bytes(b"one 1\\r\\n\\ntwo 2")
    >>> list(read_lines(path))
    [b'one 1', b'two 2']
    """
    opener = _OPENERS.get(path.suffix, _OPENERS[""])
    try:
        with opener(path, "rb") as stream:
            for line in stream:
                line = line.strip()
                if line:
                    yield line
    except DAMAGED as error:
        raise DataFileError(
            f"{str(path)!r} cannot be read to its end ({error}). Remove it and get it again."
        ) from error


def check_option(name: str, value: Any, known: Sequence[str]) -> None:
    """Refuse a value that is not among the known ones, and name those.

    Examples
    --------
    >>> check_option("links", "out", ("in", "out"))
    """
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}.")

"""Files of the corpora: where they lie, how they are downloaded and checked, and how they are read."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from coview.datasets.python_packages import find_user_cache
from coview.exceptions import DataFileError

__all__ = [
    "DAMAGED",
    "damaged",
    "data_home",
    "fetch",
    "locate",
    "open_mat",
    "read_lines",
    "read_numbers",
    "read_tar",
]

ENVIRONMENT = "COVIEW_DATA"
# what the readers of the standard library raise on a file that is cut short or not what its name says
DAMAGED = (EOFError, OSError, lzma.LZMAError, zlib.error)

_OPENERS: dict[str, Callable[..., Any]] = {"": open, ".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}


def data_home(data_home: str | Path | None = None) -> Path:
    """Return the folder that holds the corpora: the argument, else ``$COVIEW_DATA``, else the user's cache.

    Parameters
    ----------
    data_home : path, optional
        A folder of your own; ``~`` is expanded. It need not exist.

    Returns
    -------
    Path
        The folder. Nothing is created until something is written there.

    Examples
    --------
    >>> from corpora import data_home
    >>> data_home("corpora").name
    'corpora'
    """
    home = data_home if data_home is not None else os.environ.get(ENVIRONMENT) or None
    return find_user_cache() if home is None else Path(home).expanduser()


_home = data_home  # where a parameter has that name


def fetch(
    name: str,
    files: Mapping[str, str],
    base_urls: str | Sequence[str],
    data_home: str | Path | None = None,
    *,
    timeout: float = 30.0,
) -> Path:
    """Return the local path of a registered file, downloading it if the data home lacks it.

    A file that is there already is used as it is: a data home may hold the same data packed in another way. A
    download must have the registered checksum before it is moved into place.

    `name` is relative to the data home (``"cora/cora.content"``), `files` registers SHA-256 checksums as
    ``{name: sha256}``, and `base_urls` are addresses without the file's own name, tried in this order.
    """
    if name not in files:
        raise DataFileError(f"{name!r} is not a registered file; registered are {', '.join(map(repr, files))}.")
    home = _home(data_home)
    target = home / name
    if target.is_file():
        return target
    failures, made = [], not target.parent.exists()
    for base in [base_urls] if isinstance(base_urls, str) else base_urls:
        url = f"{base.rstrip('/')}/{target.name}"
        reason = _download(url, target, files[name], timeout)
        if reason is None:
            return target
        failures.append(f"{url} ({reason})")
    if made:  # an empty folder would look like a collection that is there
        with suppress(OSError):
            target.parent.rmdir()
    raise DataFileError(
        f"{name!r} is not in the data home {str(home)!r} and could not be downloaded from "
        f"{' or '.join(failures) or 'anywhere (no address is known)'}. Put the file at {str(target)!r}, or set "
        f"{ENVIRONMENT} to a folder that has it."
    )


def _download(url: str, target: Path, sha256: str, timeout: float) -> str | None:
    """Bring one file into place; return None, or why it is not there."""
    import pooch
    from requests.exceptions import HTTPError, RequestException

    pooch.get_logger().setLevel("WARNING")
    downloader = pooch.HTTPDownloader(timeout=timeout)
    try:
        pooch.retrieve(url, f"sha256:{sha256}", target.name, target.parent, downloader=downloader)
    except HTTPError as error:
        return "no answer" if error.response is None else f"HTTP status {error.response.status_code}"
    except RequestException as error:  # its own text repeats the address and names its internals
        return type(error).__name__
    except ValueError:
        return "its SHA-256 is not the registered one"
    except OSError as error:
        return str(error)
    return None


def locate(
    name: str,
    data_home: str | Path | None,
    source: str,
    files: Mapping[str, str] | None = None,
    base_urls: str | Sequence[str] = (),
) -> Path:
    """Return the path of a corpus file: plain, else compressed, else downloaded as by `fetch`.

    Where none of this works, the error tells people to get the file from `source`.
    """
    home = _home(data_home)
    packed = [f"{name}{suffix}" for suffix in _OPENERS]
    for file in packed:
        if (home / file).is_file():
            return home / file
    for file in packed:
        if files is not None and file in files:
            return fetch(file, files, base_urls, home)
    raise DataFileError(
        f"{name!r} is not in the data home {str(home)!r}. Get it from {source} and put it at {str(home / name)!r} "
        f"(.gz, .xz and .bz2 of it are read too), or set {ENVIRONMENT} to a folder that has it."
    )


def damaged(path: Path, problem: str) -> DataFileError:
    """Return the error for a file that is not what it should be; `problem` goes on after its name."""
    return DataFileError(f"{str(path)!r} {problem}. Download it again.")


@contextmanager
def open_mat(path: Path, problem: str) -> Iterator[dict[str, Any]]:
    """Give the variables of a MATLAB file; where what is wanted cannot be taken from them, `problem` says so."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        yield loadmat(path)
    except (LookupError, TypeError, ValueError, NotImplementedError, MatReadError, *DAMAGED) as error:
        raise damaged(path, f"{problem} ({error})") from error


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, plain or compressed, without the white space around them; empty lines are left out."""
    opener = _OPENERS.get(path.suffix, _OPENERS[""])
    try:
        with opener(path, "rb") as stream:
            yield from filter(None, map(bytes.strip, stream))
    except DAMAGED as error:
        raise _cut_short(path, error) from error


def read_tar(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of the wanted files of an archive as they come; nothing is unpacked on disk."""
    try:
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                stream = archive.extractfile(member) if wanted(member.name) else None
                if stream is not None:
                    yield member.name, stream.read()
    except (*DAMAGED, tarfile.TarError) as error:
        raise _cut_short(path, error) from error


def _cut_short(path: Path, error: Exception) -> DataFileError:
    return DataFileError(f"{str(path)!r} is truncated or damaged ({error}). Remove it and download it again.")


def read_numbers(path: Path, separator: str | None = None, *, labeled: bool = False) -> tuple[list[str], np.ndarray]:
    """Return the numbers of a file with a row in each line, and the label before each row where there is one."""
    labels: list[str] = []
    rows: list[list[float]] = []
    for number, line in enumerate(read_lines(path), start=1):
        parts = line.decode("latin-1").split(separator)
        if labeled:
            labels.append(parts.pop(0))
        try:
            if any("_" in part for part in parts):
                raise ValueError("an underscore is no part of a number")
            rows.append([float(part) for part in parts])
        except ValueError as error:
            raise DataFileError(
                f"Line {number} of {str(path)!r} contains values that are not numbers ({error})."
            ) from None
        if len(rows[-1]) != len(rows[0]) or not parts:
            raise DataFileError(f"Line {number} of {str(path)!r} has {len(parts)} numbers, not {len(rows[0])}.")
    if not rows:
        raise damaged(path, "has no rows")
    return labels, np.array(rows)

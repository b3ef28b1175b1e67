"""The data home, and the files of public corpora in it: used where they lie, else downloaded and checked."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from coview.exceptions import DataFileError
from coview.utils.atomic import atomic_path

__all__ = ["data_home", "fetch"]

ENVIRONMENT = "COVIEW_DATA"


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
    >>> from coview.datasets import data_home
    >>> data_home("corpora").name
    'corpora'
    """
    return _resolve(data_home)


def fetch(
    name: str,
    files: Mapping[str, str],
    base_urls: str | Sequence[str],
    data_home: str | Path | None = None,
    *,
    check: bool = False,
    timeout: float = 30.0,
) -> Path:
    """Return the local path of a registered file, downloading it if the data home lacks it.

    A file that is there already is used as it is: a data home may hold the same data packed in another way. A
    download is written beside its place, must have the registered checksum, and only then is moved into place.

    Parameters
    ----------
    name : str
        The file, relative to the data home: ``"cora/cora.content"``.
    files : mapping
        The registered files and the SHA-256 of each, in hexadecimal: ``{name: sha256}``.
    base_urls : str or sequence of str
        Where the file lies on the web, without the file's own name; several mirrors are tried in this order.
    data_home : path, optional
        See `coview.datasets.data_home`.
    check : bool, default=False
        Compare the checksum of a file that is there already, too.
    timeout : float, default=30.0
        Seconds to wait for a server.

    Returns
    -------
    Path
        The file in the data home.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from coview.datasets.fetch import fetch
    >>> home = Path(tempfile.mkdtemp())
    >>> _ = (home / "a.txt").write_text("mine")
    >>> fetch("a.txt", {"a.txt": "0" * 64}, "https://example.org/corpus", home).read_text()
    'mine'
    """
    if name not in files:
        raise DataFileError(f"{name!r} is not a registered file; registered are {', '.join(map(repr, files))}.")
    home = _resolve(data_home)
    target = home / name
    expected = files[name].removeprefix("sha256:").lower()
    if target.is_file():
        if check:
            _check_present(target, expected)
        return target
    failures = []
    for base in [base_urls] if isinstance(base_urls, str) else base_urls:
        url = f"{base.rstrip('/')}/{PurePosixPath(name).name}"
        reason = _download(url, target, expected, timeout)
        if reason is None:
            return target
        failures.append(f"{url} ({reason})")
    raise DataFileError(
        f"{name!r} is not in the data home {str(home)!r} and could not be downloaded from "
        f"{' or '.join(failures) or 'anywhere (no address is known)'}. Put the file at {str(target)!r}, or set "
        f"{ENVIRONMENT} to a folder that has it."
    )


def _resolve(home: str | Path | None) -> Path:
    if home is None:
        home = os.environ.get(ENVIRONMENT) or None
    if home is None:
        return user_cache()
    return Path(home).expanduser()


def user_cache() -> Path:
    """Return the folder for what coview makes itself and can make again; ``$COVIEW_DATA`` may be someone else's."""
    from platformdirs import user_cache_path

    return user_cache_path("coview", appauthor=False)


def _check_present(path: Path, expected: str) -> None:
    found = _sha256(path)
    if found != expected:
        raise DataFileError(
            f"{str(path)!r} has SHA-256 {found}, expected {expected}. Remove it to download it again, or use "
            "check=False to take it as it is."
        )


def _download(url: str, target: Path, expected: str, timeout: float) -> str | None:
    """Bring one file into place; return None, or why it is not there."""
    import pooch

    try:
        with atomic_path(target) as beside:
            pooch.HTTPDownloader(timeout=timeout)(url, str(beside), None)
            found = _sha256(beside)
            if found != expected:
                # an OSError like any other failed transfer: the next mirror is asked, nothing is moved into place
                raise OSError(f"its SHA-256 is {found}, expected {expected}")
    except OSError as error:  # those of the web client derive from it too
        return _reason(error)
    return None


def _reason(error: OSError) -> str:
    """Few words on a failed transfer; the web client's own text repeats the address and names its internals."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"HTTP status {response.status_code}"
    if type(error).__module__.partition(".")[0] == "requests":
        return type(error).__name__
    return str(error)


def _sha256(path: Path) -> str:
    import pooch

    return str(pooch.file_hash(str(path), alg="sha256"))

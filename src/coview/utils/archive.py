"""One file that holds a tree of plain values and arrays: safetensors with a JSON description inside, never pickle.

The tree is written as JSON, in which every array is a reference to a tensor of the file. The header (safetensors
metadata, key ``coview``) names the format, the kind of file, its version and the coview that wrote it, with a SHA-256
over the header and the JSON; the JSON holds the SHA-256, dtype and shape of every array. Reading checks all of them and
builds values of a fixed set of types, so a file can hold wrong numbers at worst, never something that runs.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from coview._version import __version__
from coview.exceptions import ModelFileError
from coview.utils.archive_values import Altered, Decoder, Encoder, Extend, Outline, Packed, Revive
from coview.utils.atomic import atomic_path
from coview.utils.mapped import MappedTensors

__all__ = ["Packed", "read_archive", "write_archive"]

_JSON = "json"  # the tensor that holds the tree; a header of its own would be limited to 100 MB
_START = b'{"__metadata__":{"coview":'  # how our files begin, after the 8 bytes of the header's length


def write_archive(path: str | Path, tree: Any, *, kind: str, version: int, extend: Extend | None = None) -> None:
    """Write a tree of plain values and arrays to one file, which appears whole or not at all.

    Parameters
    ----------
    path : str or Path
        The file to write; an existing one is replaced when the new one is complete.
    tree : object
        None, bool, int, float, complex, str, NumPy scalars, numeric and string arrays, object arrays of such scalars,
        scipy CSR and CSC matrices and arrays, and lists, tuples and dicts of them (keys are scalars, or tuples of
        scalars).
    kind : str
        What the file is, such as "model" or "checkpoint"; `read_archive` refuses another kind.
    version : int
        Version of the tree's layout.
    extend : callable, optional
        Called with (value, where) for every value of another type; returns (tag, tree) to be given to `revive` on
        reading, or None where it does not know the value either.

    Raises
    ------
    TypeError
        The tree holds something that cannot be stored; the sentence says where.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_archive(f"{folder}/a.coview", {"x": np.eye(2), "n": (1, None)}, kind="model", version=1)
    ...     tree, header = read_archive(f"{folder}/a.coview", kind="model", newest=1)
    >>> tree
    {'x': array([[1., 0.],
           [0., 1.]]), 'n': (1, None)}
    >>> header["kind"], header["version"]
    ('model', 1)
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    encoder = Encoder(extend)
    try:
        text = _dumps(encoder.encode(tree, kind))
    except RecursionError as error:
        raise TypeError(
            f"Cannot store this {kind}: its lists and dicts are nested too deeply, or in a circle."
        ) from error
    header: dict[str, Any] = {"format": "coview", "kind": kind, "version": version, "coview": __version__}
    header["sha256"] = _header_hash(header, text)
    tensors = {**encoder.tensors, _JSON: np.frombuffer(text, dtype=np.uint8)}
    with atomic_path(path) as beside:
        try:
            save_file(tensors, beside, metadata={"coview": _dumps(header).decode()})
        except SafetensorError as error:
            raise OSError(f"Cannot write {path}: {error}.") from error


def read_archive(
    path: str | Path,
    *,
    kind: str,
    newest: int,
    revive: Revive | None = None,
    mmap: bool = False,
    outline: bool = False,
) -> tuple[Any, dict[str, Any]]:
    """Read what `write_archive` wrote; anything else is refused with a sentence, and nothing in the file is executed.

    Parameters
    ----------
    path : str or Path
        The file to read.
    kind : str
        The kind of file that is expected.
    newest : int
        The newest version of the tree's layout that the caller understands.
    revive : callable, optional
        Called with (tag, tree, header) for every value that `extend` packed when writing.
    mmap : bool, default=False
        Leave the arrays in the file, mapped into memory: nothing is copied, and processes share the pages.
    outline : bool, default=False
        Read no array: in its place stands a text that says its kind and shape; what `extend` packed stays packed.

    Returns
    -------
    tree : object
        Equal to what was written, in value and type; arrays are new and writable, and a change never reaches the file.
    header : dict
        "format", "kind", "version", "coview" (the version that wrote the file) and "sha256".

    Raises
    ------
    ModelFileError
        The file is absent, truncated, altered, foreign, of another kind, or of a newer version.
    """
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"{path} is {'no file' if path.exists() else 'absent'}; give the name of a {kind} file.")
    try:
        with safe_open(path, framework="numpy") as stream:
            header = _read_header(path, stream.metadata(), kind, newest)
            text = stream.get_tensor(_JSON).tobytes()
            if header["sha256"] != _header_hash(header, text):
                raise _damaged(path, "its description does not match its checksum")
            tensor = MappedTensors(path) if mmap else stream.get_tensor
            decoder = Outline if outline else Decoder
            tree = decoder(tensor, header, revive).decode(_loads(text))
    except ModelFileError:
        raise
    except Altered as error:
        raise _damaged(path, str(error)) from None
    except SafetensorError as error:
        if _is_ours(path):
            raise _damaged(path, str(error)) from error
        raise _foreign(path, kind) from error
    # MemoryError: of a stated size that no memory holds
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
        raise _damaged(path, f"{type(error).__name__} while reading it: {error}") from error
    return tree, header


# -- the header


def _read_header(path: Path, metadata: dict[str, str] | None, kind: str, newest: int) -> dict[str, Any]:
    if not metadata or "coview" not in metadata:
        raise _foreign(path, kind)
    header = json.loads(metadata["coview"])
    found, version = header["kind"], header["version"]
    if header["format"] != "coview" or type(version) is not int or not isinstance(header["sha256"], str):
        raise _damaged(path, "its header is not one of coview's")
    if found != kind:
        raise ModelFileError(f"{path} is a {found} file, but a {kind} file is needed here.")
    if version > newest:
        raise ModelFileError(
            f"{path} was written by coview {header['coview']} in version {version} of the {kind} format, but coview "
            f"{__version__} reads up to version {newest}. Update coview: it needs coview >= {header['coview']}."
        )
    return header


def _header_hash(header: dict[str, Any], text: bytes) -> str:
    rest = {key: value for key, value in header.items() if key != "sha256"}
    digest = hashlib.sha256(_dumps(rest))
    digest.update(text)
    return digest.hexdigest()


def _is_ours(path: Path) -> bool:
    with open(path, "rb") as stream:
        return stream.read(8 + len(_START))[8:] == _START


def _foreign(path: Path, kind: str) -> ModelFileError:
    return ModelFileError(f"{path} is not a {kind} file of coview. Use a file that coview wrote.")


def _damaged(path: Path, why: str) -> ModelFileError:
    return ModelFileError(f"{path} was cut short or altered ({why}). Use another copy of it, or write it again.")


def _dumps(value: Any) -> bytes:
    # surrogates pass as they are: escaped, two lone ones would come back as one character
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass")


def _loads(text: bytes) -> Any:
    return json.loads(text.decode(errors="surrogatepass"))

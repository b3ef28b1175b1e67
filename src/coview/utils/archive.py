"""One file that holds a tree of plain values and arrays: safetensors with a JSON description inside, never pickle.

The tree is written as JSON, in which every array is a reference to a tensor of the file. The header (safetensors
metadata, key ``coview``) names the format, the kind of file, its version and the coview that wrote it, with a SHA-256
over the header and the JSON; the JSON holds the SHA-256, dtype and shape of every array. Reading checks all of them and
builds values of a fixed set of types, never something that runs. Whether the values fit together is for their owner to
check: estimators do by `coview.utils.fitted_state`, so that a file can hold wrong numbers at worst.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from coview._version import __version__
from coview.exceptions import ModelFileError
from coview.utils.atomic import atomic_path
from coview.utils.limits import exceeds, shown_bytes

__all__ = ["read_archive", "write_archive"]

Extend = Callable[[Any, str], "tuple[str, Any] | None"]
Revive = Callable[[str, Any, "dict[str, Any]"], Any]

_SPARSE = {cls.__name__: cls for cls in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix)}
_SCALARS = {
    np.dtype(name).type.__name__: np.dtype(name).type
    for name in ("bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "U")
}
_JSON = "json"  # the tensor that holds the tree; a header of its own would be limited to 100 MB


def write_archive(path: str | Path, tree: Any, *, kind: str, version: int, extend: Extend | None = None) -> None:
    """Write a tree of plain values and arrays to one file, which appears whole or not at all.

    Parameters
    ----------
    path : str or Path
        The file to write; an existing one is replaced when the new one is complete.
    tree : object
        None, bool, int, float, str, NumPy scalars, numeric and string arrays, object arrays of scalars, scipy CSR and
        CSC matrices and arrays, and lists, tuples and dicts of them.
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
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    encoder = Encoder(extend)
    try:
        text = _dumps(encoder.encode(tree, kind))
    except RecursionError as error:
        raise TypeError(f"Cannot store this {kind}: its lists and dicts are nested too deeply or circular.") from error
    header: dict[str, Any] = {"format": "coview", "kind": kind, "version": version, "coview": __version__}
    header["sha256"] = _header_hash(header, text)
    tensors = {**encoder.tensors, _JSON: np.frombuffer(text, dtype=np.uint8)}
    with atomic_path(path) as beside:
        try:
            save_file(tensors, beside, metadata={"coview": _dumps(header).decode()})
        except SafetensorError as error:
            raise OSError(f"Cannot write {path}: {error}.") from error


def read_archive(
    path: str | Path, *, kind: str, newest: int, revive: Revive | None = None
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

    Returns
    -------
    tree : object
        Equal to what was written, in value and type.
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
        problem = f"{path} is a folder, not a file." if path.is_dir() else f"There is no file {path}."
        raise ModelFileError(f"{problem} Pass the path of a {kind} file.")
    try:
        with safe_open(path, framework="numpy") as stream:
            header = json.loads((stream.metadata() or {})["coview"])
            _check_header(path, header, kind, newest)
            text = stream.get_tensor(_JSON).tobytes()
            if header["sha256"] != _header_hash(header, text):
                raise ValueError("its description does not match its checksum")
            decoder = Decoder(stream.get_tensor, header, revive, path.stat().st_size)
            return decoder.decode(json.loads(text.decode(errors="surrogatepass"))), header
    except ModelFileError:
        raise
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,  # of a stated size that no memory holds
        RecursionError,
        SafetensorError,
        TypeError,
        ValueError,
    ) as error:
        raise ModelFileError(
            f"{path} is not a {kind} file of coview, or truncated or altered ({type(error).__name__}: {error}). Use "
            "another copy of it, or write it again."
        ) from error


# -- the header


def _check_header(path: Path, header: dict[str, Any], kind: str, newest: int) -> None:
    if header["kind"] != kind:
        raise ModelFileError(f"{path} is a {header['kind']} file, but a {kind} file is needed here.")
    if header["version"] > newest:
        raise ModelFileError(
            f"{path} was written by coview {header['coview']} in version {header['version']} of the {kind} format, but "
            f"coview {__version__} reads up to version {newest}. Update coview: it needs coview >= {header['coview']}."
        )


def _header_hash(header: dict[str, Any], text: bytes) -> str:
    rest = {key: value for key, value in header.items() if key != "sha256"}
    return hashlib.sha256(_dumps(rest) + text).hexdigest()


def _dumps(value: Any) -> bytes:
    # surrogates pass as they are: escaped, two lone ones would come back as one character
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass")


# -- values to JSON and tensors: what is not JSON's own is {tag: content}, an array a reference to its tensor


class Encoder:
    """Values to JSON; `tensors` holds the arrays on the way.

    Examples
    --------
    >>> Encoder().encode({"n": (1, None)}, "tree")
    {'dict': [['n', {'tuple': [1, None]}]]}
    """

    def __init__(self, extend: Extend | None = None) -> None:
        self.tensors: dict[str, np.ndarray] = {}
        self._extend = extend
        self._known: dict[int, tuple[np.ndarray, dict[str, Any]]] = {}  # by id; holding the array keeps its id taken

    def encode(self, value: Any, where: str) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, float, str):
            return value
        if kind is list:
            return self._encode_all(value, where)
        if kind is tuple:
            return {"tuple": self._encode_all(value, where)}
        if kind is dict:
            pairs = value.items()
            return {"dict": [[self.encode(key, where), self.encode(item, f"{where}[{key!r}]")] for key, item in pairs]}
        if kind in _SCALARS.values():
            return {"scalar": [kind.__name__, value.item()]}
        if kind is np.ndarray or isinstance(value, np.memmap):
            return self._encode_array(value, where)
        if kind in _SPARSE.values():
            parts = {name: self._encode_array(vars(value)[name], where) for name in ("data", "indices", "indptr")}
            return {"sparse": {"class": kind.__name__, "shape": list(value.shape), **parts}}
        packed = self._extend(value, where) if self._extend else None
        if packed is None:
            raise _not_storable(where, f"{kind.__module__}.{kind.__qualname__}")
        return {"object": [packed[0], self.encode(packed[1], where)]}

    def _encode_all(self, values: Any, where: str) -> list[Any]:
        return [self.encode(item, f"{where}[{i}]") for i, item in enumerate(values)]

    def _encode_array(self, array: np.ndarray, where: str) -> dict[str, Any]:
        shape, kind = list(array.shape), array.dtype.kind
        if kind == "U":
            width = array.dtype.itemsize // 4  # characters have four bytes
            return {"strings": {"width": width, "shape": shape, "values": array.reshape(-1).tolist()}}
        if kind == "O":
            return {"objects": {"shape": shape, "values": self._encode_all(array.reshape(-1).tolist(), where)}}
        if kind not in "biuf" or array.dtype.itemsize > 8:
            raise _not_storable(where, f"array of dtype {array.dtype}")
        if id(array) not in self._known:
            self._known[id(array)] = array, self._encode_tensor(array)
        return self._known[id(array)][1]

    def _encode_tensor(self, array: np.ndarray) -> dict[str, Any]:
        order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        # copies only what is strided or big-endian; ascontiguousarray would turn 0 dimensions into one
        stored = np.asarray(array.T if order == "F" else array, dtype=array.dtype.newbyteorder("<"), order="C")
        name = str(len(self.tensors))
        self.tensors[name] = stored
        about = {"dtype": array.dtype.name, "shape": list(stored.shape), "order": order}
        return {"array": {"name": name, **about, "sha256": _hash_of(stored)}}


def _hash_of(array: np.ndarray) -> str:
    return hashlib.sha256(array.reshape(-1).view(np.uint8).data).hexdigest()


def _not_storable(where: str, what: str) -> TypeError:
    return TypeError(
        f"Cannot store {where} ({what}). Only numbers, strings, arrays of them, CSR and CSC matrices, and lists, "
        "tuples and dicts of these are written."
    )


# -- and values again


class Decoder:
    """JSON to values; `tensor` gives the array of a name, `size` limits the room that texts may take.

    Examples
    --------
    >>> Decoder({}.__getitem__, {}).decode({"dict": [["n", {"tuple": [1, None]}]]})
    {'n': (1, None)}
    """

    def __init__(
        self, tensor: Callable[[str], np.ndarray], header: dict[str, Any], revive: Revive | None = None, size: int = 0
    ) -> None:
        self._tensor, self._header, self._revive, self._size = tensor, header, revive, size
        self._texts = 0  # bytes of memory that arrays of text took so far
        self._read: dict[str, np.ndarray] = {}  # an array that was shared is shared again

    def decode(self, node: Any) -> Any:
        if isinstance(node, list):  # mostly of plain values
            return [self.decode(item) if isinstance(item, (list, dict)) else item for item in node]
        if not isinstance(node, dict):
            return node
        ((tag, content),) = node.items()
        return getattr(self, f"_as_{tag}")(content)

    def _as_tuple(self, content: list[Any]) -> tuple[Any, ...]:
        return tuple(self.decode(content))

    def _as_dict(self, content: list[Any]) -> dict[Any, Any]:
        return {self.decode(key): self.decode(item) for key, item in content}

    def _as_scalar(self, content: list[Any]) -> np.generic:
        name, value = content
        return np.array([value], dtype=_SCALARS[name])[0]

    def _as_strings(self, content: dict[str, Any]) -> np.ndarray:
        dtype, values = np.dtype(("U", content["width"])), content["values"]
        self._texts += dtype.itemsize * len(values)
        if exceeds(self._texts, self._size):
            raise ValueError(f"its texts would take {shown_bytes(self._texts)} of memory")
        return np.array(values, dtype=dtype).reshape(content["shape"])

    def _as_objects(self, content: dict[str, Any]) -> np.ndarray:
        return np.fromiter(self.decode(content["values"]), dtype=object).reshape(content["shape"])

    def _as_sparse(self, content: dict[str, Any]) -> Any:
        data, indices, indptr = (self.decode(content[part]) for part in ("data", "indices", "indptr"))
        cls, shape = _SPARSE[content["class"]], tuple(content["shape"])
        if len(indptr) != shape[cls.__name__.startswith("csc")] + 1:  # an empty matrix has an indptr of its own
            raise ValueError(f"a {cls.__name__} of shape {shape} has {len(indptr)} bounds of its parts")
        matrix = cls(shape, dtype=data.dtype)
        matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
        matrix.check_format(full_check=True)  # compiled code trusts the indices: a wrong one would read foreign memory
        if (np.diff(matrix.indptr) < 0).any():  # which SciPy overlooks where no value is stored
            raise ValueError("a sparse matrix has bounds that fall")
        return matrix

    def _as_array(self, content: dict[str, Any]) -> np.ndarray:
        name = content["name"]
        if name not in self._read:
            array = self._tensor(name)
            found = {"dtype": array.dtype.name, "shape": list(array.shape), "sha256": _hash_of(array)}
            if not found.items() <= content.items():
                raise ValueError(f"array {name} does not match its checksum, dtype or shape")
            self._read[name] = array.T if content["order"] == "F" else array
        return self._read[name]

    def _as_object(self, content: list[Any]) -> Any:
        tag, packed = content
        if self._revive is None:
            raise ValueError(f"it holds an unknown object {tag!r}")
        return self._revive(tag, self.decode(packed), self._header)

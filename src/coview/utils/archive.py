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
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from coview._version import __version__
from coview.exceptions import ModelFileError
from coview.utils.atomic import atomic_path
from coview.utils.limits import exceeds, shown_bytes
from coview.utils.mapped import MappedTensors

__all__ = ["NewerFileError", "Packed", "read_archive", "write_archive"]

Extend = Callable[[Any, str], "tuple[str, Any] | None"]
Revive = Callable[[str, Any, "dict[str, Any]"], Any]

_FEW = 100  # texts that an outline shows
_NATIVE_INT = 1 << 63  # larger ones go as text: other readers of JSON would round them, Python limits their digits
_DTYPES = {
    np.dtype(name).name: np.dtype(name)
    for name in ("bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
}
_SPARSE = {cls.__name__: cls for cls in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix)}
_JSON = "json"  # the tensor that holds the tree; a header of its own would be limited to 100 MB
_START = b'{"__metadata__":{"coview":'  # how our files begin, after the 8 bytes of the header's length


class NewerFileError(ModelFileError):
    """A file is whole as far as can be told, but only a newer coview reads it."""


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
    path: str | Path, *, kind: str, newest: int, revive: Revive | None = None, mmap: bool = False, outline: bool = False
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
        The file is absent, truncated, altered, foreign, of another kind, or of a newer version (`NewerFileError`).
    """
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        problem = f"{path} is a folder, not a file." if path.is_dir() else f"There is no file {path}."
        raise ModelFileError(f"{problem} Pass the path of a {kind} file.")
    try:
        with safe_open(path, framework="numpy") as stream:
            header = _read_header(path, stream.metadata(), kind, newest)
            text = stream.get_tensor(_JSON).tobytes()
            if header["sha256"] != _header_hash(header, text):
                raise _damaged(path, "its description does not match its checksum")
            tensor = MappedTensors(path) if mmap else stream.get_tensor
            decoder = Outline if outline else Decoder
            content = json.loads(text.decode(errors="surrogatepass"))
            tree = decoder(tensor, header, revive, size=path.stat().st_size).decode(content)
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
    file_kind, version = header["kind"], header["version"]
    if header["format"] != "coview" or type(version) is not int or not isinstance(header["sha256"], str):
        raise _damaged(path, "its header is not one of coview's")
    if file_kind != kind:
        raise ModelFileError(f"{path} is a {file_kind} file, but a {kind} file is needed here.")
    if version > newest:
        raise NewerFileError(
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
    return ModelFileError(f"{path} is truncated or altered ({why}). Use another copy of it, or write it again.")


def _dumps(value: Any) -> bytes:
    # surrogates pass as they are: escaped, two lone ones would come back as one character
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass")


# -- values to JSON and tensors: what is not JSON's own is {tag: content}, an array a reference to its tensor


class Altered(ValueError):
    """What was read is not what was written; the reader of the file says which file."""


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
        if kind is list:
            return [self.encode(item, f"{where}[{i}]") for i, item in enumerate(value)]
        if kind is tuple:
            return {"tuple": [self.encode(item, f"{where}[{i}]") for i, item in enumerate(value)]}
        if kind is dict:
            return {"dict": [self._pair(key, item, where) for key, item in value.items()]}
        if kind is np.ndarray or isinstance(value, np.memmap):
            return self._array(value, where)
        if kind in _SPARSE.values():
            parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
            arrays = {name: self._array(part, where) for name, part in parts.items()}
            return {"sparse": {"class": kind.__name__, "shape": list(value.shape), **arrays}}
        known, node = _encode_scalar(value)
        if known:
            return node
        packed = self._extend(value, where) if self._extend else None
        if packed is None:
            raise _unsupported(where, f"{kind.__module__}.{kind.__qualname__}")
        return {"object": [packed[0], self.encode(packed[1], where)]}

    def _pair(self, key: Any, item: Any, where: str) -> list[Any]:
        known, node = _encode_key(key)
        if not known:
            raise _unsupported(f"the key {key!r} of {where}", type(key).__name__)
        return [node, self.encode(item, f"{where}[{key!r}]")]

    def _array(self, array: np.ndarray, where: str) -> dict[str, Any]:
        shape, width = list(array.shape), array.dtype.itemsize // 4
        if array.dtype.kind == "U":
            return {"strings": {"width": width, "shape": shape, "values": array.reshape(-1).tolist()}}
        if array.dtype.kind == "O":
            nodes = [_encode_scalar(item) for item in array.reshape(-1)]
            if not all(known for known, _ in nodes):
                raise _unsupported(where, "object array of other things than strings and numbers")
            return {"objects": {"shape": shape, "values": [node for _, node in nodes]}}
        if array.dtype.name not in _DTYPES:
            raise _unsupported(where, f"array of dtype {array.dtype}")
        if id(array) not in self._known:
            self._known[id(array)] = array, self._tensor(array)
        return self._known[id(array)][1]

    def _tensor(self, array: np.ndarray) -> dict[str, Any]:
        order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        # copies only what is strided or big-endian; ascontiguousarray would turn 0 dimensions into one
        stored = np.asarray(array.T if order == "F" else array, dtype=array.dtype.newbyteorder("<"), order="C")
        shape = list(stored.shape)
        if stored.dtype.name == "complex128":  # the one dtype that safetensors lacks
            stored = stored.reshape(-1).view("<f8")
        name = str(len(self.tensors))
        self.tensors[name] = stored
        about = {"dtype": array.dtype.name, "shape": shape, "order": order, "sha256": _hash_of(stored)}
        return {"array": {"name": name, **about}}


def _hash_of(array: np.ndarray) -> str:
    return hashlib.sha256(array.reshape(-1).view(np.uint8).data).hexdigest()


def _encode_scalar(value: Any) -> tuple[bool, Any]:
    """Return (whether it is a scalar, its JSON)."""
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return True, value
    if kind is int:
        return True, value if -_NATIVE_INT <= value < _NATIVE_INT else {"int": hex(value)}
    if kind is float:
        return True, value if math.isfinite(value) else {"float": repr(value)}
    if kind is complex:
        return True, {"complex": [_encode_scalar(value.real)[1], _encode_scalar(value.imag)[1]]}
    if kind is np.str_:
        return True, {"scalar": ["str", str(value)]}
    if isinstance(value, np.generic) and value.dtype.name in _DTYPES:
        return True, {"scalar": [value.dtype.name, _encode_scalar(value.item())[1]]}
    return False, None


def _encode_key(key: Any) -> tuple[bool, Any]:
    """Return (whether it is a scalar or a tuple of such, its JSON)."""
    if type(key) is not tuple:
        return _encode_scalar(key)
    parts = [_encode_key(part) for part in key]
    return all(known for known, _ in parts), {"tuple": [node for _, node in parts]}


def _unsupported(where: str, what: str) -> TypeError:
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
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict):
            return node
        ((tag, content),) = node.items()
        return getattr(self, f"_as_{tag}")(content)

    def _as_tuple(self, content: list[Any]) -> tuple[Any, ...]:
        return tuple(self.decode(item) for item in content)

    def _as_dict(self, content: list[Any]) -> dict[Any, Any]:
        return {self.decode(key): self.decode(item) for key, item in content}

    def _as_int(self, content: str) -> int:
        return int(content, 16)

    def _as_float(self, content: str) -> float:
        return float(content)

    def _as_complex(self, content: list[Any]) -> complex:
        real, imaginary = (self.decode(part) for part in content)
        return complex(real, imaginary)

    def _as_scalar(self, content: list[Any]) -> np.generic:
        name, value = content
        return np.str_(value) if name == "str" else _DTYPES[name].type(self.decode(value))

    def _as_strings(self, content: dict[str, Any]) -> np.ndarray:
        self._texts += 4 * int(content["width"]) * len(content["values"])
        if exceeds(self._texts, self._size):
            raise Altered(f"its texts would take {shown_bytes(self._texts)} of memory")
        array = np.empty(len(content["values"]), dtype=f"<U{int(content['width'])}")
        array[:] = content["values"]
        return array.reshape(content["shape"])

    def _as_objects(self, content: dict[str, Any]) -> np.ndarray:
        array = np.empty(len(content["values"]), dtype=object)
        array[:] = [self.decode(item) for item in content["values"]]
        return array.reshape(content["shape"])

    def _as_sparse(self, content: dict[str, Any]) -> Any:
        data, indices, indptr = (self.decode(content[part]) for part in ("data", "indices", "indptr"))
        cls, shape = _SPARSE[content["class"]], tuple(content["shape"])
        if len(indptr) != shape[cls.__name__.startswith("csc")] + 1:  # an empty matrix has an indptr of its own
            raise Altered(f"a {cls.__name__} of shape {shape} has {len(indptr)} bounds of its parts")
        matrix = cls(shape, dtype=data.dtype)
        matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
        matrix.check_format(full_check=True)  # compiled code trusts the indices: a wrong one would read foreign memory
        if (np.diff(matrix.indptr) < 0).any():  # which SciPy overlooks where no value is stored
            raise Altered("a sparse matrix has bounds that fall")
        return matrix

    def _as_array(self, content: dict[str, Any]) -> np.ndarray:
        name = content["name"]
        if name not in self._read:
            self._read[name] = self._checked(name, content)
        return self._read[name]

    def _checked(self, name: str, content: dict[str, Any]) -> np.ndarray:
        array, dtype = self._tensor(name), _DTYPES[content["dtype"]]
        if _hash_of(array) != content["sha256"]:
            raise Altered(f"array {name} does not match its checksum")
        if dtype.name == "complex128" and array.dtype == np.float64:
            array = array.view(np.complex128).reshape(content["shape"])
        if array.dtype != dtype or list(array.shape) != content["shape"]:
            raise Altered(f"array {name} does not have the dtype and shape that were written")
        return array.T if content["order"] == "F" else array

    def _as_object(self, content: list[Any]) -> Any:
        tag, packed = content
        if self._revive is None:
            raise Altered(f"it holds an unknown object {tag!r}")
        return self._revive(tag, self.decode(packed), self._header)


class Packed(dict[str, Any]):
    """What stands in an outline for a value that `extend` packed: the tree that it became."""


class Outline(Decoder):
    """The tree without its arrays."""

    def _as_array(self, content: dict[str, Any]) -> Any:
        shape = reversed(content["shape"]) if content["order"] == "F" else content["shape"]
        return f"{_shown(shape)} {content['dtype']}"

    def _as_sparse(self, content: dict[str, Any]) -> Any:
        return f"{_shown(content['shape'])} {content['class']}"

    def _as_strings(self, content: dict[str, Any]) -> Any:
        return super()._as_strings(content) if len(content["values"]) <= _FEW else f"{len(content['values'])} texts"

    def _as_objects(self, content: dict[str, Any]) -> Any:
        return super()._as_objects(content) if len(content["values"]) <= _FEW else f"{len(content['values'])} values"

    def _as_object(self, content: list[Any]) -> Any:
        tag, packed = content
        tree = self.decode(packed)
        return Packed(tree if isinstance(tree, dict) else {tag: tree})


def _shown(shape: Any) -> str:
    return " x ".join(map(str, shape)) or "one"

"""Arrays of a safetensors file where they lie: mapped into memory, read when touched, never written back."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from coview.utils.text_files import parse_json

__all__ = ["MappedTensors"]

_DTYPES = {f"{kind}{bits}": f"{kind.lower()}{bits // 8}" for kind in "IUF" for bits in (8, 16, 32, 64)}
_DTYPES |= {"BOOL": "?", "C64": "c8"}


class MappedTensors:
    """The tensors of a file by name; calling it gives a writable array whose changes stay in this process.

    Examples
    --------
    >>> import tempfile
    >>> from safetensors.numpy import save_file
    >>> file = tempfile.mkdtemp() + "/a.safetensors"
    >>> save_file({"x": np.arange(6.0).reshape(2, 3)}, file)
    >>> MappedTensors(file)("x")
    array([[0., 1., 2.],
           [3., 4., 5.]])
    """

    def __init__(self, path: str | Path) -> None:
        self._bytes = np.memmap(path, dtype=np.uint8, mode="c")  # copy on write: the file stays as it is
        length = int(self._bytes[:8].view("<u8")[0])
        if length > len(self._bytes) - 8:
            raise ValueError(f"the header says {length} bytes, but the file has {len(self._bytes)}")
        self._start = 8 + length
        self._entries = parse_json(self._bytes[8 : self._start].tobytes())
        self.metadata: dict[str, str] = self._entries.pop("__metadata__", {})

    def __call__(self, name: str) -> np.ndarray:
        entry = self._entries[name]
        dtype, shape = np.dtype(_DTYPES[entry["dtype"]]), tuple(entry["shape"])
        begin, end = entry["data_offsets"]
        if end - begin != math.prod(shape) * dtype.itemsize or not 0 <= begin <= end <= len(self._bytes) - self._start:
            raise ValueError(f"tensor {name!r} lies outside the file")
        part = self._bytes[self._start + begin : self._start + end]
        return np.asarray(part).view(dtype).reshape(shape)

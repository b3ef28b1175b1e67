"""How much memory an HDF5 file asks for, counted before it is read: a shape costs nothing, and texts may all be one.

A text of any length lies in a heap of the file ("GCOL"), and any number of cells may point at it; so may any number
of links at one array. Texts are read here some at a time, few enough even if all of them are the longest.

https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from coview.exceptions import DataFileError
from coview.utils.limits import exceeds, shown_bytes
from coview.utils.messages import short

__all__ = ["check_hdf5"]


def check_hdf5(path: Path) -> None:
    """Refuse a file of which HDF5 would read parts from elsewhere or twice, and one that asks for too much memory."""
    import h5py

    size, stated, longest = path.stat().st_size, 0, _largest_heap(path)

    def check(count: int) -> None:
        if exceeds(count, size):
            raise DataFileError(f"{path} states {shown_bytes(count)}, but has {shown_bytes(size)}.")

    with h5py.File(path, "r", rdcc_nbytes=1 << 40) as file:  # a chunk is unpacked once, not for each of its parts
        for node in _objects(path, file):
            for name in node.attrs:
                check(longest * _count_texts(node.attrs.get_id(name)))  # in parts they cannot be read
            if isinstance(node, h5py.Dataset) and node.size:
                stated += node.dtype.itemsize * max(node.size, math.prod(node.chunks or ()))
                check(stated)
                rows, texts = node.shape[0] if node.shape else 1, _count_texts(node.id)
                check(longest * texts // rows)
                step = max(1, 100 * size * rows // max(1, longest * texts))
                for start in range(0, rows if texts else 0, step):
                    stated += _length(np.asarray(node[(slice(start, start + step),)[: node.ndim]]).tolist())
                    check(stated)


def _largest_heap(path: Path) -> int:
    """Bytes that no text is longer than, which are at most those of the file, whatever its heaps say."""
    largest, at = 1, -1
    with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        while (at := content.find(b"GCOL\1", at + 1)) >= 0:
            largest = max(largest, int.from_bytes(content[at + 8 : at + 16], "little"))
        return min(largest, len(content))


def _objects(path: Path, file: Any) -> Iterator[Any]:
    """Groups, arrays and types of a file."""
    import h5py

    known, named, found = set(), set(), [file]
    while found:
        node = found.pop()
        other = isinstance(node, h5py.Dataset) and (node.external or node.is_virtual)
        if other or node in known:
            raise _elsewhere(path, node.name)
        known.add(node)
        yield node
        if "categories" in node.attrs:  # an array named by another, as anndata wrote it before 0.8
            texts = node.parent[node.attrs["categories"]]
            if texts in named:
                raise _elsewhere(path, node.name)
            named.add(texts)
        for name in node if isinstance(node, h5py.Group) else ():
            if not isinstance(node.get(name, getlink=True), h5py.HardLink):
                raise _elsewhere(path, f"{node.name}/{name}")
            found.append(node[name])


def _elsewhere(path: Path, name: str) -> DataFileError:
    return DataFileError(
        f"{path} has {short(name.lstrip('/'))} as a link or in another file, which is not read. Write all of it to one."
    )


def _count_texts(array: Any) -> int:
    """How many texts an array or an attribute may hold."""
    if _holds_lists(array.dtype):
        raise ValueError("it has lists of any length")
    return array.get_space().get_select_npoints() * (array.dtype.itemsize // 8) if array.dtype.hasobject else 0


def _holds_lists(dtype: np.dtype) -> bool:
    import h5py

    if dtype.base.names:
        return any(_holds_lists(dtype.base[name]) for name in dtype.base.names)
    return isinstance(h5py.check_vlen_dtype(dtype.base), np.dtype)  # of texts, it is str or bytes


def _length(values: Any) -> int:
    if isinstance(values, (list, tuple)):
        return sum(map(_length, values))
    return len(values) if isinstance(values, bytes) else 0

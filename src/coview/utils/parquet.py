"""How much memory a Parquet file asks for, counted from the headers of its pages before anything is unpacked.

A page of a few bytes may stand for millions of values, and what the end of the file says of them need not be true:
readers believe the pages. Headers are in Thrift's compact protocol, of which little is needed: a structure is read as
{number of the field: value}.

https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coview.exceptions import DataFileError
from coview.utils.limits import exceeds, shown_bytes

__all__ = ["check_parquet", "collect"]

_TEXT = 6  # the physical type of texts, whose place in memory takes 16 bytes


def check_parquet(path: str | Path) -> None:
    """Refuse a file whose columns would take far more memory than its size justifies, or are said to be in another."""
    rows, stated, leaves = 0, 0, []
    with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        room, end = len(content), len(content) - 8
        try:
            about = _Fields(content, end - int.from_bytes(content[end : end + 4], "little")).read()
            leaves = [node for node in about[2] if not node.get(5)]
            for group in about[4]:
                rows += group[3]
                for leaf, chunk in zip(leaves, group[1], strict=True):
                    if 1 in chunk:
                        raise DataFileError(f"{path} has a column in another file. Write all of them to one file.")
                    room -= abs(chunk[3][7])
                    if room < 0:  # the same pages, counted over and over, would take forever
                        raise ValueError("its columns overlap")
                    # a number for each value at each level of lists
                    width = max(16 if leaf[1] == _TEXT else 8 * len(chunk[3][3]), leaf.get(2, 0))
                    stated += sum(max(0, size, width * n) for size, n in _pages(content, chunk[3]))
        except LookupError:
            raise ValueError("its headers are cut short or damaged") from None
    _check_size(path, rows, len(leaves), max(stated, 8 * rows * len(leaves)))


def collect(path: str | Path, lines: Any) -> Any:
    """Read what is wanted of a file that was checked; its texts, each stored once, become as many as there are rows."""
    frame = lines.collect()
    _check_size(path, frame.height, frame.width, frame.estimated_size())
    return frame


def _check_size(path: str | Path, rows: int, columns: int, stated: int) -> None:
    size = Path(path).stat().st_size
    if exceeds(stated, size):
        raise DataFileError(
            f"{path} states {rows} rows x {columns} columns, {shown_bytes(stated)} of memory, in {shown_bytes(size)}. "
            "Write it without compression, or its views in a sparse format."
        )


def _pages(content: mmap.mmap, column: dict[int, Any]) -> Iterator[tuple[int, int]]:
    """Bytes when unpacked, and values, of each page of a column."""
    start = at = min(column.get(11, column[9]), column[9])
    while at < start + column[7]:
        header = _Fields(content, at)
        page = header.read()
        kind = next((page[field] for field in (5, 7, 8) if field in page), {1: 0})  # data, dictionary, data again
        if page[3] < 0:
            raise ValueError("a page has fewer than no bytes")
        yield page[2], kind[1]
        at = header.at + page[3]


class _Fields:
    """Reads what is written in Thrift's compact protocol."""

    def __init__(self, content: mmap.mmap, at: int) -> None:
        self.content, self.at = content, at

    def read(self) -> dict[int, Any]:
        """Return the fields of the structure that begins here."""
        fields: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._integer()
            fields[field] = head & 15 == 1 if head & 15 in (1, 2) else self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._integer()
        if kind in (7, 8):
            size = 8 if kind == 7 else self._count()
            self.at += size
            return self.content[self.at - size : self.at]
        if kind in (9, 10):
            head = self._byte()
            size = self._count() if head >> 4 == 15 else head >> 4
            return [self._value(head & 15) for _ in range(size)]
        if kind == 12:
            return self.read()
        raise ValueError(f"{kind} is no type of a value")

    def _byte(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

    def _count(self) -> int:
        number = shift = 0
        while (byte := self._byte()) > 127 and shift < 63:
            number |= (byte & 127) << shift
            shift += 7
        return number | byte << shift

    def _integer(self) -> int:
        number = self._count()
        return number >> 1 ^ -(number & 1)

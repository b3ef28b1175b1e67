"""Is a stored HNSW graph what it says it is? Compiled code follows its links, so each is checked before it is used.

A graph of usearch, as bytes (numbers are little-endian):

    rows u32, columns u32, rows x columns bytes                  the vectors, by slot
    head, 64 bytes                                               a name, kinds of numbers, counts, number of dimensions
    size u64, links u64, base links u64, top level u64, entry u64
    level i16 of each slot
    for each slot: key u64, level i16, and for each level from 0: count u32, then room for base links (level 0) or links

A slot may link to existing slots of at least that level only, and the live slots must have just the keys and vectors
that they should; those of slots that were removed are finite, for a search passes through them, and ends only where it
can tell near from far.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import numpy as np

__all__ = ["is_sound"]

_FREE = np.uint64(2**64 - 1)  # the key of a slot whose item was removed
_SLOTS = 65_536  # that are looked at together
_LARGEST = 1e16  # number of a vector, as in the index itself
_HEAD, _SIZES, _NODE = 64, 40, 10  # bytes of the head, of the five sizes, and of a slot before its links


def is_sound(blob: np.ndarray, fresh: np.ndarray, keys: np.ndarray, vectors: np.ndarray) -> bool:
    """Tell whether stored bytes are a graph of these items, with no link that leads nowhere.

    Parameters
    ----------
    blob : ndarray of uint8
        The stored graph.
    fresh : ndarray of uint8
        A graph of one item that was made just now: its head shows the version, the kinds and the numbers of links.
    keys : ndarray of int64 (n_items,)
        Keys of the items, increasing.
    vectors : ndarray of float32 (n_items, width)
        Their vectors.

    Returns
    -------
    bool
        False also where the bytes are of a version of usearch that writes them otherwise.
    """
    ours, theirs = _opened(fresh), _opened(blob)
    if ours is None or theirs is None:
        return False
    head, stored = ours["head"], theirs["head"]
    alike = np.array_equal(head[:17], stored[:17]) and np.array_equal(head[33:], stored[33:])  # all but the two counts
    if not alike or (ours["sizes"][1:3] != theirs["sizes"][1:3]).any() or ours["columns"] != theirs["columns"]:
        return False
    return _links_are_sound(theirs) and _items_are_ours(theirs, keys, vectors)


def _opened(blob: np.ndarray) -> dict[str, Any] | None:
    """The parts of the bytes, or None where their lengths do not fit together."""
    if blob.dtype != np.uint8 or blob.ndim != 1 or len(blob) < 8:
        return None
    rows, columns = (int(part) for part in blob[:8].copy().view("<u4"))
    cuts = list(accumulate((8, rows * columns, _HEAD, _SIZES, 2 * rows)))  # Python's integers: no overflow
    if len(blob) < cuts[-1]:
        return None
    stored, head, sizes, marks = (blob[start:end] for start, end in pairwise(cuts))
    levels = marks.copy().view("<i2").astype(np.int64)
    parts: dict[str, Any] = {
        "columns": columns,
        "vectors": stored.reshape(rows, columns),
        "head": head,
        "levels": levels,
        "nodes": blob[cuts[-1] :],
    }
    parts["sizes"] = sizes.copy().view("<u8").astype(np.float64)  # exact below 2^53, and never overflows
    size, links, base, top, entry = parts["sizes"]
    if size != rows or not rows or not 0 < links < 2**16 or not 0 < base < 2**16:
        return None
    if (levels < 0).any() or levels.max() != top or not entry < rows or levels[int(entry)] != top:
        return None
    widths = _NODE + 4 * (1 + int(base)) + levels * 4 * (1 + int(links))
    parts["begins"] = np.cumsum(widths) - widths
    return parts if widths.sum() == len(parts["nodes"]) else None


def _links_are_sound(graph: dict[str, Any]) -> bool:
    nodes, begins, levels = graph["nodes"], graph["begins"], graph["levels"]
    links, base = int(graph["sizes"][1]), int(graph["sizes"][2])
    if (_gathered(nodes, begins + 8, 2, "<i2")[:, 0] != levels).any():
        return False
    for level in range(int(levels.max()) + 1):
        rows = np.flatnonzero(levels >= level)
        room = links if level else base
        # a list of level 1 or above lies behind the longer one of level 0
        at = begins[rows] + _NODE + (level > 0) * 4 * (1 + base) + max(level - 1, 0) * 4 * (1 + links)
        for start in range(0, len(rows), _SLOTS):
            lists = _gathered(nodes, at[start : start + _SLOTS], 4 * (1 + room), "<u4").astype(np.int64)
            used = np.arange(room) < lists[:, :1]
            if (lists[:, 0] > room).any() or (lists[:, 1:][used] >= len(levels)).any():
                return False
            if (levels[lists[:, 1:][used]] < level).any():
                return False
    return True


def _items_are_ours(graph: dict[str, Any], keys: np.ndarray, vectors: np.ndarray) -> bool:
    """Whether the live slots have the keys and vectors of the items, each once, and the others finite vectors."""
    stored = _gathered(graph["nodes"], graph["begins"], 8, "<u8")[:, 0]
    counts = graph["head"][17:33].copy().view("<u8")
    live = stored != _FREE
    if counts[0] != len(keys) or counts[1] != len(stored) - len(keys) or graph["columns"] != 4 * vectors.shape[1]:
        return False
    if not np.array_equal(np.sort(stored[live]), keys.astype(np.uint64)):
        return False
    rows = np.searchsorted(keys, stored.astype(np.int64))
    for start in range(0, len(stored), _SLOTS):
        part = slice(start, start + _SLOTS)
        here = np.ascontiguousarray(graph["vectors"][part]).view("<f4")
        known = live[part]
        if not np.array_equal(here[known], vectors[rows[part][known]]) or not (np.abs(here[~known]) <= _LARGEST).all():
            return False
    return True


def _gathered(blob: np.ndarray, at: np.ndarray, width: int, dtype: str) -> np.ndarray:
    """Numbers of `width` bytes that begin at each of some places, one row for each place."""
    windows = np.lib.stride_tricks.sliding_window_view(blob, width)
    return windows[at].view(dtype)

"""The indexed objects: identifiers, one index of vectors per view, and the shared words where they count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError
from coview.retrieval.index import ExactIndex, make_index, restore_index
from coview.utils.messages import short
from coview.views.checks import as_ids

__all__ = ["ObjectIndex"]


class ObjectIndex:
    """Objects by identifier, each with a vector in every view that it has.

    Inside, an object is a key: a number that is never used again. Each view has an index by key.

    Parameters
    ----------
    widths : mapping
        Length of the vectors of each view.
    kind : {"auto", "exact", "hnsw"}, default="exact"
        Kind of the index of each view.
    recall : float, default=0.95
        Share of the 10 best objects that an HNSW graph is to find.

    Examples
    --------
    >>> import numpy as np
    >>> index = ObjectIndex({"words": 2})
    >>> index.add(["a", "b"], 2, {"words": (np.array([0, 1]), np.eye(2))})
    >>> index.remove(["a"])
    >>> index.ids.tolist(), len(index.indexes["words"])
    (['b'], 1)
    """

    def __init__(self, widths: Mapping[str, int], kind: str = "exact", recall: float = 0.95) -> None:
        self.kind, self.recall = kind, recall
        self.ids = np.empty(0, dtype=np.int64)
        self.keys = np.empty(0, dtype=np.int64)
        self.next_key = 0
        self.indexes: dict[str, ExactIndex] = {name: ExactIndex(width) for name, width in widths.items()}
        self.words: dict[str, Any] = {}
        self._key_of: dict[Any, int] | None = None
        self._postings: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self.keys)

    def add(
        self, ids: Any, n_rows: int, vectors: Mapping[str, tuple[np.ndarray, np.ndarray]], words: Any = None
    ) -> None:
        """Add objects; for each view, (which of the new objects have it, their vectors), and rows of words likewise."""
        ids = self._new_ids(np.arange(self.next_key, self.next_key + n_rows) if ids is None else ids, n_rows)
        keys = np.arange(self.next_key, self.next_key + len(ids))
        for name, (rows, part) in vectors.items():
            self.indexes[name] = self._with_room(name, len(rows))
            self.indexes[name].add(keys[rows], part)
        self._postings = {}
        for name, rows in (words or {}).items():
            self.words[name] = sparse.vstack([self.words[name], rows], format="csr") if name in self.words else rows
        self.ids = np.concatenate([self.ids, ids]) if len(self.ids) else ids
        self.keys = np.concatenate([self.keys, keys])
        self.next_key += len(ids)
        if self._key_of is not None:
            self._key_of.update(zip(ids.tolist(), keys.tolist()))

    def remove(self, ids: Any) -> None:
        """Take objects out; an unknown identifier is refused."""
        keys = np.array([self.key_of(key) for key in np.atleast_1d(np.asarray(ids)).tolist()], dtype=np.int64)
        self._postings = {}
        for name, index in self.indexes.items():
            if name in self.words:
                self.words[name] = self.words[name][np.flatnonzero(~np.isin(index.keys, keys))]
            index.remove(keys)
        kept = ~np.isin(self.keys, keys)
        self.ids, self.keys, self._key_of = self.ids[kept], self.keys[kept], None

    def postings(self, view: str) -> sparse.csr_array:
        """Objects by word (words x objects): what a query multiplies; made once."""
        if view not in self._postings:
            self._postings[view] = sparse.csr_array(self.words[view].T)
        return self._postings[view]

    def key_of(self, name: Any) -> int:
        """Key of an identifier."""
        if self._key_of is None:
            self._key_of = dict(zip(self.ids.tolist(), self.keys.tolist()))
        if name not in self._key_of:
            raise ValueError(f"No object {short(name)} is in the index, which holds {len(self)} objects.")
        return self._key_of[name]

    def row_of(self, name: Any, view: str) -> int:
        """Row of an object in the index of a view."""
        key, index = self.key_of(name), self.indexes[view]
        row = int(index.rows_of(np.array(key)))
        if row == len(index) or index.keys[row] != key:
            raise ValueError(f"Object {short(name)} is in the index, but lacks view {view!r}.")
        return row

    def ids_by_key(self, keys: np.ndarray) -> np.ndarray:
        """Identifiers of keys."""
        return self.ids[np.searchsorted(self.keys, keys)]

    def ids_of(self, view: str) -> np.ndarray:
        """Identifiers of the objects that have a view, in the order of its index."""
        return self.ids_by_key(self.indexes[view].keys)

    def _with_room(self, name: str, n_new: int) -> ExactIndex:
        """The index of a view, made anew as a graph where it becomes large enough for one."""
        index = self.indexes[name]
        wanted = make_index(self.kind, index.vectors.shape[1], len(index) + n_new, self.recall)
        if wanted.kind == index.kind or index.kind == "hnsw":
            return index
        wanted.add(index.keys, index.vectors)
        return wanted

    def _new_ids(self, ids: Any, n_rows: int) -> np.ndarray:
        fresh: Any = as_ids(ids, n_rows)
        if len(self.ids) and (fresh.dtype.kind in "iu") != (self.ids.dtype.kind in "iu"):
            old, new = self.ids.tolist()[0], fresh.tolist()[0]
            raise ViewsError(
                f"Ids must be of one type: the index has {short(old)}, the new ones are like {short(new)}."
            )
        unique, counts = np.unique(fresh, return_counts=True)
        if (counts > 1).any():
            raise ViewsError(f"Ids must be unique, got {short(unique[counts > 1].tolist()[0])} more than once.")
        known = np.isin(fresh, self.ids)
        if known.any():
            first = fresh[known].tolist()[0]
            raise ViewsError(f"Object {short(first)} is already in the index. Remove it first, or use another id.")
        return fresh

    # -- as plain values, for pickles and model files

    def __getstate__(self) -> dict[str, Any]:
        indexes = {name: (index.kind, index.__getstate__()) for name, index in self.indexes.items()}
        return {**vars(self), "indexes": indexes, "_key_of": None, "_postings": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.indexes = {name: restore_index(kind, inner) for name, (kind, inner) in state["indexes"].items()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ObjectIndex:
        """Return an index from its state of plain values.

        Examples
        --------
        >>> len(ObjectIndex.from_state(ObjectIndex({"words": 2}).__getstate__()))
        0
        """
        index = object.__new__(cls)
        index.__setstate__(state)
        return index

"""The indexed objects: identifiers, one index of vectors per view, shared words where they count; ranked by both.

    score(query, object) = (1 - w) < vector of the query, vector of the object >  +  w  BM25 / BM25 of the best object

w is the share of words. Where all views are searched, the products are averaged over the views that the object has, and
the words of all of them count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from coview.exceptions import ViewsError
from coview.retrieval.index import BLOCK_QUERIES, ExactIndex, best_of_blocks, make_index, restore_index
from coview.utils import fitted_state as rules
from coview.utils.messages import did_you_mean, short
from coview.views.checks import as_ids, texts_as_str

__all__ = ["ObjectIndex"]

MOST_SCORES = 20_000_000  # of queries and objects that are held at a time
CANDIDATES = 100  # objects beyond k that are looked at by each of a graph and shared words
_MOST_WEIGHT = 1e6  # of a word by BM25, which is a logarithm
_SUGGESTED = 3  # ids that resemble an unknown one


class _Registered(NamedTuple):
    """The objects at one time: replaced as a whole, so that another thread reads what fits."""

    ids: np.ndarray
    keys: np.ndarray  # increasing
    groups: np.ndarray  # position of each object's group; -1 for none


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

    _fitted_state: ClassVar[Mapping[str, rules.Rule | None]] = {
        "kind": rules.one_of("auto", "exact", "hnsw"),
        "recall": rules.number(0.0, 1.0),
        "ids": rules.values("objects"),
        "keys": rules.integers("objects", rising=True, dtype=np.int64),
        "groups": rules.integers("objects", low=-1),
        "next_key": rules.count(),
        "indexes": rules.mapping(rules.plain(), "views"),  # each is checked where it is made again
        "words": rules.mapping(
            rules.floats("items of {view}", None, low=0.0, high=_MOST_WEIGHT, sparse=True), "views", some=True
        ),
    }

    def __init__(self, widths: Mapping[str, int], kind: str = "exact", recall: float = 0.95) -> None:
        self.kind, self.recall = kind, recall
        self._objects = _Registered(*(np.empty(0, dtype=np.int64) for _ in range(3)))
        self.next_key = 0
        self.indexes: dict[str, ExactIndex] = {name: ExactIndex(width) for name, width in widths.items()}
        self.words: dict[str, Any] = {}
        self._key_of: dict[Any, int] | None = None
        self._postings: dict[str, Any] = {}

    @property
    def ids(self) -> np.ndarray:
        return self._objects.ids

    @property
    def keys(self) -> np.ndarray:
        return self._objects.keys

    @property
    def groups(self) -> np.ndarray:
        return self._objects.groups

    def __len__(self) -> int:
        return len(self.keys)

    def add(
        self,
        ids: Any,
        n_rows: int,
        vectors: Mapping[str, tuple[np.ndarray, np.ndarray]],
        words: Any = None,
        groups: np.ndarray | None = None,
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
        before = self._objects
        self._objects = _Registered(
            np.concatenate([before.ids, ids]) if len(before.ids) else ids.copy(),  # the caller's may change
            np.concatenate([before.keys, keys]),
            np.concatenate([before.groups, np.full(len(ids), -1) if groups is None else groups]),
        )
        self.next_key += len(ids)
        if self._key_of is not None:
            self._key_of.update(zip(ids.tolist(), keys.tolist()))

    def remove(self, ids: Any) -> None:
        """Take objects out; an unknown identifier is refused."""
        names = np.atleast_1d(np.asarray(ids)).tolist()
        keys = np.array([self.key_of(name) for name in names], dtype=np.int64)
        self._postings = {}
        for name, index in self.indexes.items():
            if name in self.words:
                self.words[name] = self.words[name][np.flatnonzero(~np.isin(index.keys, keys))]
            index.remove(keys)
        kept = ~np.isin(self.keys, keys)
        self._objects = _Registered(*(part[kept] for part in self._objects))
        for name in set(names):
            del self._by_id()[name]

    def prepare(self) -> None:
        """Make ready for many searches of few queries each, as of a service."""
        for index in self.indexes.values():
            index.prepare()

    # -- ranking

    def search(
        self, vectors: np.ndarray, words: Any, share: float, view: str | None, k: int, without: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return keys and scores (n_queries, k) of the best objects, best first.

        Parameters
        ----------
        vectors : ndarray of float32 (n_queries, width)
            Vectors of the queries.
        words : sparse array (n_queries, n_words) or None
            Weights of their words; None where words do not count.
        share : float
            Share of the score that is BM25.
        view : str or None
            View to search in; None for all of them.
        k : int
            Number of objects.
        without : int, optional
            Key of an object to leave out, where all views are searched.
        """
        if view is not None and (words is None or not share or not len(self.indexes[view])):
            return self.indexes[view].search(vectors, k)
        n_objects = len(self if view is None else self.indexes[view])
        block = min(BLOCK_QUERIES, max(1, MOST_SCORES // max(n_objects, 1)))
        parts = []
        for start in range(0, max(len(vectors), 1), block):
            rows = slice(start, start + block)
            here = None if words is None else words[rows]
            if view is None:
                parts.append(self._best_anywhere(vectors[rows], here, share, k, without))
            elif self.indexes[view].kind == "exact":
                parts.append(self._best_of_all(vectors[rows], here, share, view, k))
            else:
                parts.append(self._best_candidates(vectors[rows], here, share, view, k))
        keys, scores = zip(*parts)
        return np.concatenate(keys), np.concatenate(scores)

    def scores(
        self, vectors: np.ndarray, words: Any, share: float, view: str | None, ids: Sequence[Any] | None = None
    ) -> np.ndarray:
        """Return the scores of all objects that have a view (n_queries, n_objects); of all objects for view None.

        Of some objects only where their identifiers are given, in that order.
        """
        if view is None:
            return self._scores_anywhere(vectors, words, share, ids)
        rows: Any = slice(None) if ids is None else [self.row_of(name, view) for name in ids]
        scores = vectors @ self.indexes[view].vectors[rows].T
        if words is None or not share:
            return scores
        return (1 - share) * scores + share * self._lexical(words, view)[:, rows].toarray()

    def _lexical(self, words: sparse.csr_array, view: str) -> sparse.csr_array:
        """BM25 of queries and the objects of a view (sparse), as a share of the best object's."""
        scores = sparse.csr_array(words @ self.postings(view))
        if scores.shape[1]:
            best = np.repeat(scores.max(axis=1).toarray().ravel(), np.diff(scores.indptr))
            scores.data /= np.maximum(best, 1e-30)
        return scores

    def _best_of_all(
        self, vectors: np.ndarray, words: sparse.csr_array, share: float, view: str, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Best objects of a view, by looking at each of them."""
        index, lexical = self.indexes[view], self._lexical(words, view)
        rows, scores = best_of_blocks(
            lambda part, start, stop: (
                (1 - share) * (vectors[part] @ index.vectors[start:stop].T)
                + share * lexical[part, start:stop].toarray()
            ),
            len(vectors),
            len(index),
            k,
        )
        return index.keys[rows], scores

    def _best_candidates(
        self, vectors: np.ndarray, words: sparse.csr_array, share: float, view: str, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Best of the objects that the graph of a view finds, and of those with the best words."""
        index, lexical = self.indexes[view], self._lexical(words, view)
        near, _ = index.search(vectors, k + CANDIDATES)
        keys = np.empty((len(vectors), min(k, len(index))), dtype=np.int64)
        best = np.empty(keys.shape, dtype=np.float32)
        for i in range(len(vectors)):
            row = lexical[[i]]
            strong = row.indices[np.argsort(-row.data, kind="stable")[: k + CANDIDATES]]
            rows = np.union1d(index.rows_of(near[i]), strong)
            scores = (1 - share) * (index.vectors[rows] @ vectors[i]) + share * row[:, rows].toarray()[0]
            top = np.lexsort((rows, -scores))[:k]
            keys[i], best[i] = index.keys[rows[top]], scores[top]
        return keys, best

    def _best_anywhere(
        self, vectors: np.ndarray, words: Any, share: float, k: int, without: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Best objects by all of their views."""
        scores = self._scores_anywhere(vectors, words, share)
        if without is not None:
            scores[:, np.searchsorted(self.keys, without)] = -np.inf
        rows, best = best_of_blocks(
            lambda part, start, stop: scores[part, start:stop],
            len(scores),
            len(self),
            min(k, len(self) - (without is not None)),
        )
        return self.keys[rows], best

    def _scores_anywhere(
        self, vectors: np.ndarray, words: Any, share: float, ids: Sequence[Any] | None = None
    ) -> np.ndarray:
        """Scores of all or some objects: the mean over the views of an object, and the words of all of them."""
        keys = self.keys if ids is None else np.array([self.key_of(name) for name in ids], dtype=np.int64)
        scores = np.zeros((len(vectors), len(keys)), dtype=np.float32)
        n_views = np.zeros(len(keys), dtype=np.float32)
        for index in self.indexes.values():
            rows: Any = slice(None)
            if ids is None:
                columns = np.searchsorted(keys, index.keys)
            else:
                places = [(column, index.row_of(key)) for column, key in enumerate(keys.tolist())]
                columns = np.array([column for column, row in places if row is not None], dtype=np.intp)
                rows = [row for _, row in places if row is not None]
            scores[:, columns] += vectors @ index.vectors[rows].T
            n_views[columns] += 1
        scores /= np.maximum(n_views, 1)
        if words is None:
            return scores
        if ids is None:
            return (1 - share) * scores + share * self._lexical_anywhere(words)
        own = np.searchsorted(self.keys, keys)
        for i in range(len(scores)):  # one at a time, since the best of all objects is looked for
            scores[i] = (1 - share) * scores[i] + share * self._lexical_anywhere(words[[i]])[0, own]
        return scores

    def _lexical_anywhere(self, words: sparse.csr_array) -> np.ndarray:
        """BM25 of queries and all objects, by the words of all views, as a share of the best object's."""
        lexical = np.zeros((words.shape[0], len(self)), dtype=np.float32)
        for name in self.words:
            columns = np.searchsorted(self.keys, self.indexes[name].keys)
            lexical[:, columns] += (words @ self.postings(name)).toarray()
        return lexical / np.maximum(lexical.max(axis=1, keepdims=True, initial=0), 1e-30)

    def shared_words(self, words: sparse.csr_array, key: int, view: str | None) -> list[tuple[int, float]]:
        """Return what each (hashed) word of one query adds to its BM25 score with an object, by bucket and view.

        Parameters
        ----------
        words : sparse array (1, n_words)
            Weights of the words of the query.
        key : int
            Key of the object.
        view : str or None
            View that was searched; None for all of them.
        """
        totals = np.zeros(len(self))
        parts: list[tuple[int, float]] = []
        for name in self.words if view is None else [view]:
            totals[np.searchsorted(self.keys, self.indexes[name].keys)] += (words @ self.postings(name)).toarray()[0]
            row = self.indexes[name].row_of(key)
            if row is not None:
                shared = sparse.csr_array(words.multiply(self.words[name][[row]]))
                parts += zip(shared.indices.tolist(), shared.data.astype(np.float64).tolist())
        best = max(float(totals.max(initial=0.0)), 1e-300)
        return [(bucket, value / best) for bucket, value in parts]

    def known_words(self, words: sparse.csr_array, view: str | None) -> np.ndarray:
        """Tell of each query, by the weights of its words, whether an object has one of them in a view (None: any)."""
        known = np.zeros(words.shape[0], dtype=bool)
        for name in self.words if view is None else {view} & self.words.keys():
            known |= words @ (np.diff(self.postings(name).indptr) > 0).astype(np.float32) > 0
        return known

    def knows_word(self, buckets: np.ndarray, view: str | None) -> bool:
        """Tell whether an object has one of some (hashed) words in a view, or in any for None."""
        starts = [self.postings(name).indptr for name in self.words if view is None or name == view]
        return any(bool((start[buckets + 1] > start[buckets]).any()) for start in starts)

    def postings(self, view: str) -> sparse.csr_array:
        """Objects by word (words x objects): what a query multiplies; made once."""
        if view not in self._postings:
            self._postings[view] = sparse.csr_array(self.words[view].T)
        return self._postings[view]

    def key_of(self, name: Any) -> int:
        """Key of an identifier."""
        key_of = self._by_id()
        if name not in key_of:
            raise ValueError(
                f"No object {short(name)} is in the index, which holds {len(self):,} objects."
                f"{did_you_mean(name, self.ids.tolist(), _SUGGESTED)}"
            )
        return key_of[name]

    def _by_id(self) -> dict[Any, int]:
        """Key of each identifier, kept while objects come and go."""
        if self._key_of is None:
            self._key_of = dict(zip(self.ids.tolist(), self.keys.tolist()))
        return self._key_of

    def rows_of(self, name: Any) -> dict[str, int]:
        """Row of an object in the index of each view that it has."""
        key = self.key_of(name)
        rows = {view: index.row_of(key) for view, index in self.indexes.items()}
        return {view: row for view, row in rows.items() if row is not None}

    def row_of(self, name: Any, view: str) -> int:
        """Row of an object in the index of a view."""
        row = self.indexes[view].row_of(self.key_of(name))
        if row is None:
            raise ValueError(f"Object {short(name)} is in the index, but lacks view {view!r}.")
        return row

    def ids_by_key(self, keys: np.ndarray) -> np.ndarray:
        """Identifiers of keys."""
        objects = self._objects
        return objects.ids[np.searchsorted(objects.keys, keys)]

    def still_there(self, keys: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return ids, groups and scores of what a search found, less the objects that were removed since.

        Where queries lose different numbers of them, all keep as many as the one that keeps fewest.

        Parameters
        ----------
        keys, scores : ndarray (n_queries, k)
            What `search` returned.
        """
        objects = self._objects  # once: another thread may replace them
        rows = np.searchsorted(objects.keys, keys)
        there = np.append(objects.keys, -1)[rows] == keys
        if not there.all():
            first = np.argsort(~there, axis=1, kind="stable")[:, : there.sum(axis=1).min()]
            rows, scores = np.take_along_axis(rows, first, axis=1), np.take_along_axis(scores, first, axis=1)
        return objects.ids[rows], objects.groups[rows], scores

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
        key, times = Counter(fresh.tolist()).most_common(1)[0] if len(fresh) else (None, 0)
        if times > 1:
            raise ViewsError(f"Ids must be unique, got {short(key)} more than once.")
        known = self._by_id()
        first = next((key for key in fresh.tolist() if key in known), None)
        if first is not None:
            raise ViewsError(f"Object {short(first)} is already in the index. Remove it first, or use another id.")
        return fresh

    # -- as plain values, for pickles and model files

    def __getstate__(self) -> dict[str, Any]:
        indexes = {name: (index.kind, index.__getstate__()) for name, index in self.indexes.items()}
        rest = {name: value for name, value in vars(self).items() if name != "_objects"}
        return {**rest, **self._objects._asdict(), "indexes": indexes, "_key_of": None, "_postings": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: value for name, value in state.items() if name not in _Registered._fields})
        self._objects = _Registered(texts_as_str(state["ids"]), state["keys"], state["groups"])
        self.indexes = {name: restore_index(kind, inner) for name, (kind, inner) in state["indexes"].items()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ObjectIndex:
        """Return an index from its state of plain values.

        Examples
        --------
        >>> len(ObjectIndex.from_state(ObjectIndex({"words": 2}).__getstate__()))
        0
        """
        rules.check_state(rules.fitted_state(cls), state)
        index = object.__new__(cls)
        index.__setstate__({**state, "_key_of": None, "_postings": {}})
        if len(index.keys) and index.keys[-1] >= index.next_key:
            raise rules.StateMismatch(f"next_key is {index.next_key}, but the last key is {index.keys[-1]}")
        for name, part in index.indexes.items():
            if not np.isin(part.keys, index.keys, assume_unique=True).all():
                raise rules.StateMismatch(f"the index of {name!r} has objects that are not in the index")
            words = index.words.get(name)
            if words is not None and (not sparse.issparse(words) or words.shape[0] != len(part)):
                raise rules.StateMismatch(f"the index of {name!r} has words of other objects")
        return index

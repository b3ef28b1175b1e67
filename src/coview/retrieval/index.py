"""The indexed objects: identifiers, the vectors of each view, and shared words where they count.

    score(query, object) = (1 - w) < vector of the query, vector of the object >  +  w  BM25 / BM25 of the best object

w is the share of words. Where all views are searched, the products are averaged over the views that the object has, and
the words of all of them count. Search is exact, by matrix products, or through an HNSW graph of usearch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from coview.exceptions import MissingPackageError, ViewsError
from coview.retrieval.lexical import BUCKETS
from coview.utils import fitted_state as rules
from coview.utils.messages import did_you_mean, short
from coview.views.checks import as_ids, convert_texts

__all__ = ["ObjectIndex", "find_best"]

MOST_SCORES = 20_000_000  # of queries and objects that are held at a time: 80 MB
PIECE = 256  # scores of which only the largest is looked at first


@dataclass(eq=False)
class _ViewIndex:
    """The objects that have one view: their positions among all objects, vectors and weights of words."""

    rows: np.ndarray
    vectors: np.ndarray
    words: sparse.csr_array | None = None
    graph: Any = None

    @cached_property
    def postings(self) -> sparse.csr_array:
        """Objects by word (words x objects): what a query multiplies."""
        # made when a query first asks: adding objects one by one would transpose all words each time
        words = sparse.csr_array((len(self.rows), BUCKETS)) if self.words is None else self.words
        return sparse.csr_array(words.T)


class ObjectIndex:
    """Objects by identifier, each with a vector in every view that it has.

    Parameters
    ----------
    widths : mapping
        Length of the vectors of each view.
    kind : {"exact", "hnsw"}, default="exact"
        Look at every object, or through a graph once `prepare` has built it. Threads build it in no fixed order: two
        graphs of the same objects may find different ones. Where words count in the score, every object is looked at.

    Attributes
    ----------
    ids : ndarray
        Identifiers of the objects.
    groups : ndarray of int
        Position of each object's group; -1 for none.
    views : dict
        The objects that have a view, by view: their positions (``rows``), ``vectors`` and ``words``.

    Examples
    --------
    >>> import numpy as np
    >>> index = ObjectIndex({"words": 2})
    >>> index.add(["a", "b"], 2, {"words": (np.array([0, 1]), np.eye(2))})
    >>> index.remove(["a"])
    >>> index.ids.tolist(), index.views["words"].vectors.tolist()
    (['b'], [[0.0, 1.0]])
    """

    _fitted_state: ClassVar[Mapping[str, rules.Rule]] = {
        "kind": rules.choice("exact", "hnsw"),
        "ids": rules.values("objects"),
        "groups": rules.integers("objects", low=-1),
        "views": rules.mapping(
            rules.record(
                rows=rules.integers("objects with {view}", below="objects", rising=True),
                vectors=rules.floats("objects with {view}", None, dtype=np.float32),
                words=rules.or_none(rules.floats("objects with {view}", BUCKETS, low=0.0, sparse=True)),
            ),
            "views",
        ),
    }

    def __init__(self, widths: Mapping[str, int], kind: str = "exact") -> None:
        self.kind = kind
        self.ids = self.groups = np.empty(0, dtype=np.int64)
        self.views = {
            name: _ViewIndex(np.empty(0, dtype=np.int64), np.empty((0, width), dtype=np.float32))
            for name, width in widths.items()
        }

    def __len__(self) -> int:
        return len(self.ids)

    # -- objects in and out

    def add(
        self,
        ids: Any,
        n_rows: int,
        vectors: Mapping[str, tuple[np.ndarray, np.ndarray]],
        words: Mapping[str, sparse.csr_array] | None = None,
        groups: np.ndarray | None = None,
    ) -> None:
        """Add objects; for each view, (which of the new objects have it, their vectors), and rows of words likewise."""
        # before anything changes: a refused id leaves the index as it was
        ids = self._check_new_ids(ids, n_rows)
        for name, (rows, part) in vectors.items():
            before, part = self.views[name], np.asarray(part, dtype=np.float32)
            # a new record, since the cached postings of the old one do not hold the new words
            after = _ViewIndex(
                np.concatenate([before.rows, rows + len(self)]), np.concatenate([before.vectors, part]), before.words
            )
            if words is not None and name in words:
                new = words[name]
                after.words = new if before.words is None else sparse.vstack([before.words, new], format="csr")
            if before.graph is not None:
                after.graph = before.graph
                after.graph.add(np.arange(len(before.rows), len(after.rows)), part)
            self.views[name] = after
        self.ids = np.concatenate([self.ids, ids]) if len(self) else ids.copy()  # the caller's may change
        self.groups = np.concatenate([self.groups, np.full(n_rows, -1) if groups is None else groups])
        self.__dict__.pop("_positions", None)

    def remove(self, ids: Any) -> None:
        """Remove objects; an unknown identifier is refused. A graph is gone until `prepare` builds it again."""
        gone = [self.position(name) for name in np.atleast_1d(np.asarray(ids)).tolist()]
        kept = ~np.isin(np.arange(len(self)), gone)
        # positions are without gaps, so that they can be looked up in arrays
        moved = np.cumsum(kept) - 1
        for name, part in self.views.items():
            stay = np.flatnonzero(kept[part.rows])
            words = None if part.words is None else part.words[stay]
            self.views[name] = _ViewIndex(moved[part.rows[stay]], part.vectors[stay], words)
        self.ids, self.groups = self.ids[kept], self.groups[kept]
        self.__dict__.pop("_positions", None)

    def prepare(self) -> None:
        """Build the graphs of an index of kind "hnsw", where there are none: after a removal, or from a file."""
        for part in self.views.values() if self.kind == "hnsw" else ():
            if part.graph is None:
                part.graph = _make_graph(part.vectors.shape[1])
                part.graph.add(np.arange(len(part.rows)), part.vectors)

    def _check_new_ids(self, ids: Any, n_rows: int) -> np.ndarray:
        if ids is None:
            # after the largest, not the number of objects: some may have been removed
            numbers = self.ids if self.ids.dtype.kind in "iu" else np.empty(0, dtype=np.int64)
            ids = np.arange(n_rows) + int(numbers.max(initial=-1)) + 1
        fresh: Any = as_ids(ids, n_rows)
        if len(self) and (fresh.dtype.kind in "iu") != (self.ids.dtype.kind in "iu"):
            old, new = self.ids.tolist()[0], fresh.tolist()[0]
            raise ViewsError(
                f"Ids must be of one type: the index has {short(old)}, the new ones are like {short(new)}."
            )
        # new ids must differ from each other, too
        known = set(self._positions)
        for name in fresh.tolist():
            if name in known:
                raise ViewsError(f"Object {short(name)} is already in the index. Remove it first, or use another id.")
            known.add(name)
        return fresh

    @cached_property
    def _positions(self) -> dict[Any, int]:
        return {name: i for i, name in enumerate(self.ids.tolist())}

    def position(self, name: Any) -> int:
        """Return the position of an object by its identifier."""
        if name not in self._positions:
            raise ValueError(
                f"No object {short(name)} is in the index, which holds {len(self):,} objects."
                f"{did_you_mean(name, self.ids.tolist(), 3)}"
            )
        return self._positions[name]

    def rows_of(self, name: Any, view: str | None = None) -> dict[str, int]:
        """Return the row of an object in each view that it has, or in one that it must have."""
        position = self.position(name)
        rows = {key: int(np.searchsorted(part.rows, position)) for key, part in self._searched(view).items()}
        rows = {key: row for key, row in rows.items() if position in self.views[key].rows[row : row + 1]}
        if view is not None and not rows:
            raise ValueError(f"Object {short(name)} is in the index, but lacks view {view!r}.")
        return rows

    def _searched(self, view: str | None) -> dict[str, _ViewIndex]:
        return self.views if view is None else {view: self.views[view]}

    # -- ranking

    def search(
        self, vectors: np.ndarray, words: Any, share: float, view: str | None, k: int, without: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and scores (n_queries, k) of the best objects, best first.

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
            Position of an object to leave out, where all views are searched.
        """
        rows = np.arange(len(self)) if view is None else self.views[view].rows
        k = min(k, len(rows) - (without is not None))
        # a graph knows the vectors of one view; BM25 and the mean over views are no products of such vectors
        near = self._search_graph(vectors, self.views[view], k) if view is not None and words is None else None
        if near is not None:
            return near
        block = max(1, MOST_SCORES // max(len(rows), 1))
        found = []
        for start in range(0, max(len(vectors), 1), block):
            part = slice(start, start + block)
            scores = self.scores(vectors[part], None if words is None else words[part], share, view)
            if without is not None:
                # an object resembles itself most
                scores[:, without] = -np.inf
            found.append(find_best(scores, k))
        columns, scores = (np.concatenate(parts) for parts in zip(*found))
        return rows[columns], scores

    @staticmethod
    def _search_graph(vectors: np.ndarray, part: _ViewIndex, k: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the best objects that the graph finds, by their exact scores; None where it finds fewer than k."""
        matches = None if part.graph is None or not k else part.graph.search(vectors, k)
        if matches is None or matches.keys.size < len(vectors) * k or np.min(getattr(matches, "counts", k)) < k:
            return None
        found = matches.keys.astype(np.int64).reshape(len(vectors), k)
        # the graph holds rounded vectors: what it found is scored exactly
        scores = np.einsum("qkd,qd->qk", part.vectors[found], vectors)
        # ties in the order of an exact search
        order = np.lexsort((found, -scores), axis=1)
        return part.rows[np.take_along_axis(found, order, axis=1)], np.take_along_axis(scores, order, axis=1)

    def scores(self, vectors: np.ndarray, words: Any, share: float, view: str | None) -> np.ndarray:
        """Return the scores (n_queries, n_objects) of all objects, or of those that have a view."""
        if view is not None:
            total = vectors @ self.views[view].vectors.T
        else:
            total = np.zeros((len(vectors), len(self)), dtype=np.float32)
            n_views = np.zeros(len(self), dtype=np.float32)
            for part in self.views.values():
                total[:, part.rows] += vectors @ part.vectors.T
                n_views[part.rows] += 1
            # the mean, or objects with more views would score higher
            total /= np.maximum(n_views, 1)
        if words is None:
            return total
        lexical = self._lexical(words, view)
        # BM25 has no upper bound; relative to the best object it is on the scale of a cosine
        lexical /= np.maximum(lexical.max(axis=1, keepdims=True, initial=0), 1e-30)
        return (1 - share) * total + share * lexical

    def _lexical(self, words: sparse.csr_array, view: str | None) -> np.ndarray:
        """Compute BM25 of queries and objects, by the words of all views that are searched."""
        if view is not None:
            return (words @ self.views[view].postings).toarray()
        lexical = np.zeros((words.shape[0], len(self)), dtype=np.float32)
        for part in self.views.values():
            lexical[:, part.rows] += (words @ part.postings).toarray()
        return lexical

    def explain_words(self, words: sparse.csr_array, name: Any, view: str | None) -> list[tuple[int, float]]:
        """Return what each (hashed) word of one query adds to its BM25 score with an object, by bucket and view."""
        best = max(float(self._lexical(words, view).max(initial=0)), 1e-30)
        parts: list[tuple[int, float]] = []
        for key, row in self.rows_of(name, view).items():
            shared = sparse.csr_array(words * self.views[key].postings[:, [row]].T)
            parts += zip(shared.indices.tolist(), (shared.data / best).tolist())
        return parts

    def known_words(self, view: str | None) -> np.ndarray:
        """Tell of each (hashed) word whether an object has it in a view, or in any for None."""
        parts: Iterable[_ViewIndex] = self._searched(view).values()
        return np.any([np.diff(part.postings.indptr) > 0 for part in parts], axis=0)

    # -- as plain values, for pickles and model files; graphs are built again

    def __getstate__(self) -> dict[str, Any]:
        views = {
            name: {"rows": part.rows, "vectors": part.vectors, "words": part.words} for name, part in self.views.items()
        }
        return {"kind": self.kind, "ids": self.ids, "groups": self.groups, "views": views}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.ids = convert_texts(state["ids"])
        self.views = {name: _ViewIndex(**part) for name, part in state["views"].items()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ObjectIndex:
        """Return an index from its state of plain values, which is checked: it may be from a file.

        Examples
        --------
        >>> len(ObjectIndex.from_state(ObjectIndex({"words": 2}).__getstate__()))
        0
        """
        rules.check_state(cls._fitted_state, state)
        index = object.__new__(cls)
        index.__setstate__({name: state[name] for name in cls._fitted_state})
        return index


def find_best(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns and values of the k largest of each row, largest first; of equal ones, the first columns.

    Examples
    --------
    >>> find_best(np.array([[1.0, 3.0, 2.0, 3.0]]), 3)
    (array([[1, 3, 2]]), array([[3., 3., 2.]]))
    """
    columns = np.zeros((len(scores), k), dtype=np.int64)
    if columns.size:
        n = scores.shape[1]
        # the k-th largest of the maxima of pieces is at most the k-th largest of all, and leaves few to be sorted
        starts = np.arange(0, n, min(PIECE, n // k))
        bars = np.partition(np.maximum.reduceat(scores, starts, axis=1), -k, axis=1)[:, -k]
        for i, (row, bar) in enumerate(zip(scores, bars)):
            near = np.flatnonzero(row >= bar)
            columns[i] = near[np.argsort(-row[near], kind="stable")[:k]]
    return columns, np.take_along_axis(scores, columns, axis=1)


def _make_graph(width: int) -> Any:
    """Return an empty graph of vectors of a length."""
    try:
        from usearch.index import Index
    except ImportError as error:
        raise MissingPackageError(
            'index="hnsw" needs usearch, which is not installed. Run: pip install "coview[ann]".',
            use={"index": "exact"},
        ) from error
    # by 128 candidates, .98 of the 10 best of 100,000 topic mixtures are found; f16 loses nothing, i8 loses .06
    return Index(ndim=width, metric="ip", dtype="f16", expansion_add=64, expansion_search=128)

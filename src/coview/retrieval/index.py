"""Nearest vectors by inner product: exactly, block by block, or through an HNSW graph whose recall is measured.

    score(query, item) = <query, item>          vectors of length 1 make it a correlation

Exact search multiplies the queries with one block of items after the other, in float32, and keeps the k best so far:
only scores above the k-th best are looked at again. Of equal scores the item that came first wins, so a result never
depends on chance or on the blocks. Where much is searched, 8-bit codes tell first which items cannot be among the best
(`codes`): the hits are the same, in a quarter of the time.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple

import numpy as np

from coview.exceptions import EngineError
from coview.retrieval.codes import Codes
from coview.retrieval.graph_file import is_sound
from coview.utils import fitted_state as rules

__all__ = ["ExactIndex", "GraphIndex", "best_of_blocks", "make_index", "restore_index"]

BLOCK_ROWS = 16_384  # items per block
BLOCK_QUERIES = 256  # queries at a time: bounds the scores that are held
CODED_SCORES = 10**8  # so many in one call are a second's work, and worth making codes for
LEAST_FOR_EACH = 50  # items for each hit: where a large part of them is asked for, codes leave out little
AUTO_ROWS = 200_000  # above so many items, "auto" takes the graph where usearch is installed
CONNECTIVITY, EFFORT_ADD, EFFORT_SEARCH, MOST_EFFORT = 16, 64, 64, 2_048
SAMPLE = 256  # queries that recall is measured on


class _Items(NamedTuple):
    """What is in an index at one time: replaced as a whole, so that a search in another thread sees what fits."""

    keys: np.ndarray
    vectors: np.ndarray
    codes: Codes | None = None


class ExactIndex:
    """All items in one matrix; search looks at every one of them.

    Threads may search while another one adds or removes items: each search sees the items before, or those after.

    Parameters
    ----------
    width : int
        Length of the vectors.

    Attributes
    ----------
    keys : ndarray of int64 (n_items,)
        Keys of the items, increasing.
    vectors : ndarray of float32 (n_items, width)
        The items.
    """

    kind = "exact"
    _fitted_state: ClassVar[Mapping[str, rules.Rule | None]] = {
        "keys": rules.integers("items", rising=True, dtype=np.int64),
        "vectors": rules.floats("items", None, dtype=np.float32),
    }

    def __init__(self, width: int) -> None:
        self._items = _Items(np.empty(0, dtype=np.int64), np.empty((0, width), dtype=np.float32))
        self._lock = threading.Lock()  # held by who replaces the items

    @property
    def keys(self) -> np.ndarray:
        return self._items.keys

    @property
    def vectors(self) -> np.ndarray:
        return self._items.vectors

    def __len__(self) -> int:
        return len(self.keys)

    def add(self, keys: Any, vectors: np.ndarray) -> None:
        """Add items; their keys are larger than all keys so far, and increase."""
        keys = np.asarray(keys, dtype=np.int64)
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        if not len(keys):
            return
        with self._lock:
            before = self._items
            last = before.keys[-1:] if len(before.keys) else keys[:1] - 1
            if (np.diff(np.concatenate([last, keys])) <= 0).any():
                raise ValueError("Keys of new items must be increasing and larger than all keys in the index.")
            if len(before.vectors):
                vectors = np.concatenate([before.vectors, vectors])
            codes = None if before.codes is None else before.codes.extended(vectors)
            self._items = _Items(np.concatenate([before.keys, keys]), vectors, codes)

    def remove(self, keys: Any) -> None:
        """Take items out; keys that are not there are passed over."""
        with self._lock:
            before = self._items
            kept = ~np.isin(before.keys, keys)
            if not kept.all():
                vectors = before.vectors[kept]
                codes = None if before.codes is None else before.codes.kept(kept, vectors)
                self._items = _Items(before.keys[kept], vectors, codes)

    def prepare(self) -> None:
        """Make ready for many searches of few queries each, as of a service: 8-bit codes, a quarter of the vectors."""
        items = self._items
        if self.kind == "exact" and Codes.suit(items.vectors):
            self._codes_of(items)
            self.search(items.vectors[:1], 1)  # compiles, or loads what is compiled

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the keys and the scores of the k best items of each query, best first."""
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        items = self._items  # once: another thread may replace them
        k = min(k, len(items.keys))
        if self._uses_codes(queries, items, k):
            rows, scores = _best_coded(queries, items.vectors, self._codes_of(items), k)
        else:
            rows, scores = _best(queries, items.vectors, k)
        return items.keys[rows], scores

    def _uses_codes(self, queries: np.ndarray, items: _Items, k: int) -> bool:
        if self.kind != "exact":  # a graph searches all items only where it cannot reach them, and to measure itself
            return False
        n_items = len(items.keys)
        wanted = items.codes is not None or len(queries) * n_items >= CODED_SCORES
        pays = 0 < k * LEAST_FOR_EACH <= n_items and Codes.suit(items.vectors)
        return wanted and pays and bool(np.isfinite(queries).all())

    def _codes_of(self, items: _Items) -> Codes:
        """Codes of the items, which are made by one thread and kept while the items are those of the index."""
        if items.codes is not None:
            return items.codes
        with self._lock:
            now = self._items
            if now.vectors is items.vectors and now.codes is not None:
                return now.codes
            codes = Codes(items.vectors)
            if now.vectors is items.vectors:
                self._items = now._replace(codes=codes)
        return codes

    def rows_of(self, keys: np.ndarray) -> np.ndarray:
        """Rows of some items, by key."""
        return np.searchsorted(self.keys, keys)

    def row_of(self, key: int) -> int | None:
        """Row of an item by its key, or None where it is not there."""
        row = int(np.searchsorted(self.keys, key))
        return row if row < len(self) and self.keys[row] == key else None

    def __getstate__(self) -> dict[str, Any]:
        items = self._items
        rest = {name: value for name, value in vars(self).items() if name not in ("_items", "_lock")}
        return {"keys": items.keys, "vectors": items.vectors, **rest}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: value for name, value in state.items() if name not in ("keys", "vectors")})
        self._items = _Items(state["keys"], state["vectors"])
        self._lock = threading.Lock()


class GraphIndex(ExactIndex):
    """Items in an HNSW graph (usearch); search looks at few of them, and misses some.

    When the graph is built, and whenever it has grown by half, recall is measured: points halfway between two items are
    searched for in the graph and exactly, and the effort of the search is doubled until the recall reaches `recall`.

    Parameters
    ----------
    width : int
        Length of the vectors.
    recall : float, default=0.95
        Share of the 10 best items that search is to find, on average.

    Attributes
    ----------
    recall_ : float
        The share it found, when last measured.
    effort : int
        Number of candidates that a search holds (usearch's expansion).
    """

    kind = "hnsw"
    _fitted_state = {
        "recall": rules.number(0.0, 1.0),
        "recall_": rules.number(nan=True),
        "effort": rules.count(1, high=1 << 20),
        "_measured_at": rules.count(),
        "graph": rules.or_none(rules.integers(None, dtype=np.uint8)),
    }

    def __init__(self, width: int, recall: float = 0.95) -> None:
        super().__init__(width)
        self.recall = recall
        self.recall_ = math.nan
        self.effort = EFFORT_SEARCH
        self._graph: Any = None
        self._measured_at = 0

    def add(self, keys: Any, vectors: np.ndarray) -> None:
        """Add items, and measure the recall again where they are many."""
        before = len(self)
        super().add(keys, vectors)
        if len(self) == before:
            return
        _grow(self._opened(), self.keys[before:], self.vectors[before:])
        if len(self) > 1.5 * self._measured_at:
            self.measure()

    def remove(self, keys: Any) -> None:
        """Take items out of the graph and of the matrix."""
        gone = self.keys[np.isin(self.keys, keys)]
        super().remove(keys)
        if not len(self):
            self._graph, self._measured_at = None, 0
        elif len(gone):
            self._opened().remove(gone)

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the keys and the exact scores of the k best items found for each query, best first."""
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        k = min(k, len(self))
        if not k or not len(queries):
            return super().search(queries, k)
        graph = self._opened()
        graph.expansion_search = max(self.effort, k)
        hits = graph.search(queries, k)
        counts = getattr(hits, "counts", len(hits))  # one query alone comes back without counts
        short = np.broadcast_to(np.asarray(counts) < k, len(queries))  # removals may leave parts out of reach
        keys = np.full((len(queries), k), self.keys[0])
        if not short.all():
            keys[~short] = np.atleast_2d(hits.keys)[~short, :k]
        scores = np.einsum("qkd,qd->qk", self.vectors[self.rows_of(keys)], queries)
        order = np.lexsort((keys, -scores), axis=1)
        keys, scores = np.take_along_axis(keys, order, axis=1), np.take_along_axis(scores, order, axis=1)
        if short.any():
            keys[short], scores[short] = super().search(queries[short], k)
        return keys, scores

    def measure(self, k: int = 10) -> float:
        """Measure the recall of the k best, raising the effort until it is high enough."""
        rng = np.random.default_rng(0)
        # items themselves would be easy: each is its own nearest, and the graph is built around it
        first, second = rng.integers(len(self), size=(2, SAMPLE))
        queries = (self.vectors[first] + self.vectors[second]) / 2
        _, exact = super().search(queries, k)
        while True:
            _, scores = self.search(queries, k)
            # by score, not by key: items of equal score serve equally well
            self.recall_ = float(np.mean(scores >= exact[:, -1:] - 1e-6))
            if self.recall_ >= self.recall or self.effort >= min(MOST_EFFORT, len(self)):
                break
            self.effort *= 2
        self._measured_at = len(self)
        return self.recall_

    def _opened(self) -> Any:
        if self._graph is None:
            self._graph = self._empty()
        return self._graph

    def _empty(self) -> Any:
        return _usearch().Index(
            ndim=self.vectors.shape[1],
            metric="ip",
            dtype="f32",
            connectivity=CONNECTIVITY,
            expansion_add=EFFORT_ADD,
            expansion_search=self.effort,
        )

    # -- as plain values, for pickles and model files

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        graph = state.pop("_graph")
        state["graph"] = None if graph is None else _as_bytes(graph)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        graph = state["graph"]
        super().__setstate__({name: value for name, value in state.items() if name != "graph"})
        self._graph = None
        if graph is None or not len(self):
            return
        # compiled code follows the links of a graph wherever they lead: what is not sound is built anew
        fresh = self._empty()
        fresh.add(self.keys[:1], self.vectors[:1])
        if is_sound(graph, _as_bytes(fresh), self.keys, self.vectors):
            self._graph = _usearch().Index.restore(graph.tobytes())
        else:
            _grow(self._opened(), self.keys, self.vectors)


_ALONE = 10_000  # items that one thread adds first


def _grow(graph: Any, keys: np.ndarray, vectors: np.ndarray) -> None:
    """Add items: by one thread while the graph is small, where threads miss each other's items and cut some off."""
    first = max(0, min(len(keys), _ALONE - len(graph)))
    if first:
        graph.add(keys[:first], vectors[:first], threads=1)
    if first < len(keys):
        graph.add(keys[first:], vectors[first:])


def make_index(kind: str, width: int, n_items: int, recall: float = 0.95) -> ExactIndex:
    """Return an empty index: "exact", "hnsw", or "auto" by the number of items that are to come."""
    if kind == "hnsw" or (kind == "auto" and n_items > AUTO_ROWS and find_spec("usearch") is not None):
        _usearch()
        return GraphIndex(width, recall)
    return ExactIndex(width)


def restore_index(kind: str, state: dict[str, Any]) -> ExactIndex:
    """Return an index from its kind and its state of plain values, which is checked: it may be from a file."""
    cls = GraphIndex if kind == "hnsw" else ExactIndex
    rules.check_state(rules.fitted_state(cls), state)
    index = object.__new__(cls)
    index.__setstate__({name: state[name] for name in rules.fitted_state(cls)})
    return index


def _best(queries: np.ndarray, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and scores of the k best, by the scores of all items."""
    return best_of_blocks(lambda q, start, stop: queries[q] @ vectors[start:stop].T, len(queries), len(vectors), k)


def _best_coded(queries: np.ndarray, vectors: np.ndarray, codes: Codes, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and scores of the k best, by the scores of those items that codes do not rule out."""
    rows = np.empty((len(queries), k), dtype=np.int64)
    scores = np.empty((len(queries), k), dtype=np.float32)
    for start in range(0, len(queries), BLOCK_QUERIES):
        part = slice(start, start + BLOCK_QUERIES)
        rows[part], scores[part], told = codes.search(queries[part], vectors, k)
        rest = start + np.flatnonzero(~told)
        if len(rest):
            rows[rest], scores[rest] = _best(queries[rest], vectors, k)
    return rows, scores


def best_of_blocks(scores_of: Any, n_queries: int, n_items: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and scores of the k best items of each query, by a function that scores (queries, first, last + 1 item)."""
    k = min(k, n_items)
    rows = np.zeros((n_queries, k), dtype=np.int64)
    best = np.full((n_queries, k), -np.inf, dtype=np.float32)
    if not k:
        return rows, best
    for first in range(0, n_queries, BLOCK_QUERIES):
        part = slice(first, min(first + BLOCK_QUERIES, n_queries))
        for start in range(0, n_items, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, n_items)
            _keep_best(scores_of(part, start, stop), start, rows[part], best[part])
    return rows, best


def _keep_best(scores: np.ndarray, start: int, rows: np.ndarray, best: np.ndarray) -> None:
    """Merge a block of scores into the best so far, in place."""
    k = best.shape[1]
    bar = best[:, -1:]
    better = scores > bar  # an equal score of a later item does not displace an earlier one
    crowded = np.flatnonzero(np.count_nonzero(better, axis=1) > 4 * k)
    if len(crowded):  # the first blocks: the k-th best of the block itself is a closer bar
        at = scores.shape[1] - k
        closer = np.partition(scores[crowded], at, axis=1)[:, [at]]
        better[crowded] &= scores[crowded] >= closer
    query, column = np.nonzero(better)
    if not len(query):
        return
    touched, counts = np.unique(query, return_counts=True)
    whose = np.concatenate([np.repeat(touched, k), query])
    row = np.concatenate([rows[touched].ravel(), column + start])
    score = np.concatenate([best[touched].ravel(), scores[query, column]])
    # held ones come first within equal scores: their rows are lower, and padding has the lowest score of all
    order = np.lexsort((row, -score, whose))
    sizes = counts + k
    firsts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    taken = order[firsts[:, None] + np.arange(k)]
    rows[touched], best[touched] = row[taken], score[taken]


def _as_bytes(graph: Any) -> np.ndarray:
    return np.frombuffer(bytes(graph.save()), dtype=np.uint8)


def _usearch() -> Any:
    try:
        from usearch import index
    except ImportError as error:
        raise EngineError(
            'index="hnsw" needs usearch, which is not installed. Run: pip install "coview[ann]".',
            use={"index": "exact"},
        ) from error
    return index

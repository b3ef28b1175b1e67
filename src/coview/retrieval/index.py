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
    vectors: np.ndarray  # read-only, and nobody else's
    finite: bool = True  # all of the vectors: others have no codes
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
        The items; read-only.
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
        keys, vectors = np.asarray(keys, dtype=np.int64), np.asarray(vectors)
        width = self.vectors.shape[1]
        if vectors.shape != (len(keys), width):
            raise ValueError(
                f"Items need one vector of length {width} for each key, but {len(keys)} keys came with an array of "
                f"shape {vectors.shape}."
            )
        if not len(keys):
            return
        with self._lock:
            before = self._items
            last = before.keys[-1:] if len(before.keys) else keys[:1] - 1
            if (np.diff(np.concatenate([last, keys])) <= 0).any():
                raise ValueError("Keys of new items must be increasing and larger than all keys in the index.")
            # a copy, since the caller's may change
            vectors = np.ascontiguousarray(np.concatenate([before.vectors, vectors], dtype=np.float32))
            finite = before.finite and _is_finite(vectors[len(before.keys) :])
            codes = before.codes.extended(vectors) if before.codes is not None and finite else None
            items = _Items(np.concatenate([before.keys, keys]), _read_only(vectors), finite, codes)
            self._replace(items, added=len(keys))

    def remove(self, keys: Any) -> None:
        """Take items out; keys that are not there are passed over."""
        with self._lock:
            before = self._items
            kept = ~np.isin(before.keys, keys)
            if not kept.all():
                vectors = before.vectors[kept]
                codes = None if before.codes is None else before.codes.kept(kept, vectors)
                items = _Items(before.keys[kept], _read_only(vectors), before.finite or _is_finite(vectors), codes)
                self._replace(items, gone=before.keys[~kept])

    def _replace(self, items: _Items, *, added: int = 0, gone: np.ndarray | None = None) -> None:
        """Put items in place of those before; `added` are last, `gone` are keys. The lock is held."""
        self._items = items

    def prepare(self) -> None:
        """Make ready for many searches of few queries each, as of a service: 8-bit codes, a quarter of the vectors."""
        items = self._items
        if self.kind == "exact" and items.finite and Codes.suit(items.vectors):
            self._codes_of(items)
            self.search(items.vectors[:1], 1)  # compiles, or loads what is compiled

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the keys and the scores of the k best items of each query, best first."""
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        items = self._items  # once: another thread may replace them
        k = min(k, len(items.keys))
        codes = self._codes_of(items) if self._uses_codes(queries, items, k) else None
        if codes is None:
            rows, scores = _best(queries, items.vectors, k)
        else:
            rows, scores = _best_coded(queries, items.vectors, codes, k)
        return items.keys[rows], scores

    def _uses_codes(self, queries: np.ndarray, items: _Items, k: int) -> bool:
        n_items = len(items.keys)
        wanted = items.codes is not None or len(queries) * n_items >= CODED_SCORES
        pays = 0 < k * LEAST_FOR_EACH <= n_items and Codes.suit(items.vectors)
        return wanted and pays and items.finite and bool(np.isfinite(queries).all())

    def _codes_of(self, items: _Items) -> Codes | None:
        """Codes of the items, which one thread makes for all; None where the index has other items by now."""
        if items.codes is not None:
            return items.codes
        with self._lock:
            now = self._items
            if now.vectors is not items.vectors:  # nobody could use them again, and who changes items would wait
                return None
            if now.codes is None:
                self._items = now = now._replace(codes=Codes(items.vectors))
            return now.codes

    def rows_of(self, keys: np.ndarray) -> np.ndarray:
        """Rows of some items, by key."""
        return np.searchsorted(self.keys, keys)

    def row_of(self, key: int) -> int | None:
        """Row of an item by its key, or None where it is not there."""
        keys = self.keys  # once: another thread may replace them
        row = int(np.searchsorted(keys, key))
        return row if row < len(keys) and keys[row] == key else None

    def __getstate__(self) -> dict[str, Any]:
        items = self._items
        rest = {name: value for name, value in vars(self).items() if name not in ("_items", "_lock")}
        return {"keys": items.keys, "vectors": items.vectors, **rest}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: value for name, value in state.items() if name not in ("keys", "vectors")})
        vectors = _read_only(state["vectors"].view())
        self._items = _Items(state["keys"], vectors, _is_finite(vectors))
        self._lock = threading.Lock()


class GraphIndex(ExactIndex):
    """Items in an HNSW graph (usearch); search looks at few of them, and misses some.

    When the graph is built, and whenever it has grown by half, recall is measured: points halfway between two items are
    searched for in the graph and exactly, and the effort of the search is doubled until the recall reaches `recall`.
    Threads wait for each other at the graph: while it is searched, it does not change.

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

    def _replace(self, items: _Items, *, added: int = 0, gone: np.ndarray | None = None) -> None:
        """Change the graph with the items, and measure the recall again where many came."""
        if not len(items.keys):
            self._graph, self._measured_at = None, 0
        elif added:
            _grow(self._opened(), items.keys[-added:], items.vectors[-added:])
        elif gone is not None:
            self._opened().remove(gone)
        super()._replace(items)
        if added and len(items.keys) > 1.5 * self._measured_at:
            self._measure()

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the keys and the exact scores of the k best items found for each query, best first."""
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        with self._lock:
            items, found = self._items, self._find(queries, k)
        return _scored(queries, items, *found)

    def measure(self, k: int = 10) -> float:
        """Measure the recall of the k best, raising the effort until it is high enough."""
        with self._lock:
            return self._measure(k)

    def _find(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Keys that the graph finds (n_queries, k), and for which queries these are too few. The lock is held."""
        k = min(k, len(self))
        keys, short = np.zeros((len(queries), k), dtype=np.int64), np.ones(len(queries), dtype=bool)
        if not keys.size:
            return keys, short
        graph = self._opened()
        graph.expansion_search = max(self.effort, k)
        hits = graph.search(queries, k)
        counts = getattr(hits, "counts", len(hits))  # one query alone comes back without counts
        short[:] = np.asarray(counts) < k  # removals may leave parts out of reach
        if not short.all():
            keys[~short] = np.atleast_2d(hits.keys)[~short, :k]
        return keys, short

    def _measure(self, k: int = 10) -> float:
        items, rng = self._items, np.random.default_rng(0)
        # items themselves would be easy: each is its own nearest, and the graph is built around it
        first, second = rng.integers(len(items.keys), size=(2, SAMPLE))
        queries = (items.vectors[first] + items.vectors[second]) / 2
        _, exact = _best(queries, items.vectors, k)
        while True:
            _, scores = _scored(queries, items, *self._find(queries, k))
            # by score, not by key: items of equal score serve equally well
            self.recall_ = float(np.mean(scores >= exact[:, -1:] - 1e-6))
            if self.recall_ >= self.recall or self.effort >= min(MOST_EFFORT, len(items.keys)):
                break
            self.effort *= 2
        self._measured_at = len(items.keys)
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
        with self._lock:  # items and graph that fit
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


def _scored(queries: np.ndarray, items: _Items, keys: np.ndarray, short: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys and exact scores of what a graph found, best first; where that is too little, of the best of all items."""
    scores = np.empty(keys.shape, dtype=np.float32)
    if short.any():
        rows, scores[short] = _best(queries[short], items.vectors, keys.shape[1])
        keys[short] = items.keys[rows]
    if not short.all():
        near = keys[~short]
        found = np.einsum("qkd,qd->qk", items.vectors[np.searchsorted(items.keys, near)], queries[~short])
        order = np.lexsort((near, -found), axis=1)
        keys[~short], scores[~short] = (np.take_along_axis(part, order, axis=1) for part in (near, found))
    return keys, scores


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
        closer = -np.partition(-scores[crowded], k - 1, axis=1)[:, [k - 1]]  # what is no number is last
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


def _is_finite(vectors: np.ndarray) -> bool:
    return bool(np.isfinite([vectors.min(initial=0), vectors.max(initial=0)]).all())


def _read_only(vectors: np.ndarray) -> np.ndarray:
    vectors.flags.writeable = False
    return vectors


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

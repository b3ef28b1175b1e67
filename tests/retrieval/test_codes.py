"""8-bit codes: the best of what they leave are the best of all, whatever the vectors are."""

from __future__ import annotations

import pickle
import threading
import time
import tracemalloc
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coview.retrieval import codes as module
from coview.retrieval import index as index_module
from coview.retrieval.codes import Codes
from coview.retrieval.index import ExactIndex, GraphIndex, restore_index


def naive(queries: np.ndarray, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """All scores in float64, as float32, and a stable sort."""
    scores = np.einsum("qd,nd->qn", queries.astype(np.float64), vectors.astype(np.float64)).astype(np.float32)
    rows = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return rows, np.take_along_axis(scores, rows, axis=1)


def rows_of_kind(kind: str, n: int, width: int, rng: np.random.Generator) -> np.ndarray:
    rows = rng.normal(size=(n, width))
    if kind == "near":  # scores that differ by less than the codes tell
        rows = np.repeat(rows[:1], n, axis=0) + 1e-3 * rows
    elif kind == "twice":
        rows = rows[rng.integers(0, max(1, n // 8), n)]
    elif kind == "peaked":
        rows[np.arange(n), rng.integers(0, width, n)] *= 50
    elif kind == "long and short":
        rows *= 10.0 ** rng.integers(-4, 5, size=(n, 1))
    elif kind == "sparse":
        rows[rng.random(rows.shape) < 0.8] = 0
    return rows.astype(np.float32)


KINDS = ["plain", "near", "twice", "peaked", "long and short", "sparse"]


@given(
    kinds=st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)),
    n=st.integers(1, 700),
    width=st.integers(1, 40),
    n_queries=st.integers(1, 6),
    k=st.integers(1, 20),
    seed=st.integers(0, 10**6),
)
@settings(deadline=None, max_examples=80)
def test_the_best_by_codes_are_those_of_a_full_sort(kinds, n, width, n_queries, k, seed):
    rng = np.random.default_rng(seed)
    vectors, queries = rows_of_kind(kinds[0], n, width, rng), rows_of_kind(kinds[1], n_queries, width, rng)
    k = min(k, n)
    rows, scores, told = Codes(vectors).search(queries, vectors, k)
    expected_rows, expected = naive(queries, vectors, k)
    assert told.all()  # there is room for all of so few
    np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-12 * np.abs(vectors).max())
    assert np.array_equal(rows[scores == expected], expected_rows[scores == expected])


def test_few_of_many_items_are_candidates():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(5000, 32)).astype(np.float32)
    counted = []

    class Counting(Codes):
        def search(self, queries, vectors, k):
            from coview.kernels import codes as kernels

            inner = kernels.candidates
            patched = pytest.MonkeyPatch()
            patched.setattr(kernels, "candidates", _Spy(inner, counted))
            try:
                return super().search(queries, vectors, k)
            finally:
                patched.undo()

    Counting(vectors).search(vectors[:4], vectors, 10)
    assert max(counted) < 200


class _Spy:
    """A kernel whose last argument, the numbers of candidates, is noted."""

    def __init__(self, kernel, counted):
        self.kernel, self.counted = kernel, counted
        self.py_func, self.stats, self.signatures, self.__name__ = (
            kernel.py_func,
            kernel.stats,
            kernel.signatures,
            kernel.__name__,
        )

    def __call__(self, *arguments):
        self.kernel(*arguments)
        self.counted += arguments[-1].tolist()


@pytest.fixture
def always(monkeypatch):
    """Indexes that use codes for few items too."""
    monkeypatch.setattr(module, "_LEAST", 1)
    monkeypatch.setattr(index_module, "CODED_SCORES", 1)


def test_items_that_are_all_alike_are_searched_without_codes(always):
    index = ExactIndex(8)
    index.add(np.arange(6000), np.ones((6000, 8)))
    _, _, told = Codes(index.vectors).search(index.vectors[:2], index.vectors, 3)
    assert not told.any()
    keys, scores = index.search(np.array([[1.0] * 8, [0.0] * 8]), 3)
    assert keys.tolist() == [[0, 1, 2]] * 2 and scores.tolist() == [[8.0] * 3, [0.0] * 3]


def test_codes_follow_items_that_come_and_go(always):
    rng = np.random.default_rng(1)
    vectors, queries = rng.normal(size=(900, 20)).astype(np.float32), rng.normal(size=(5, 20)).astype(np.float32)
    index = ExactIndex(20)
    index.add(np.arange(500), vectors[:500])
    index.search(queries, 7)
    index.remove(np.arange(0, 500, 3))
    index.add(np.arange(500, 900), vectors[500:])
    index.remove([1, 600])
    kept = np.setdiff1d(np.arange(900), [1, 600, *range(0, 500, 3)])
    assert np.array_equal(index.search(queries, 7)[0], kept[naive(queries, vectors[kept], 7)[0]])


def test_an_index_that_was_prepared_finds_the_same(monkeypatch):
    monkeypatch.setattr(module, "_LEAST", 1)
    rng = np.random.default_rng(2)
    index = ExactIndex(12)
    index.add(np.arange(0, 4000, 2), rng.normal(size=(2000, 12)))
    queries = rng.normal(size=(3, 12)).astype(np.float32)
    before = index.search(queries, 5)
    index.prepare()
    after = index.search(queries, 5)
    assert index._items.codes is not None
    assert np.array_equal(before[0], after[0])
    np.testing.assert_allclose(before[1], after[1], rtol=1e-5)


def test_codes_are_not_part_of_what_is_saved(always):
    index = ExactIndex(4)
    index.add(np.arange(300), np.random.default_rng(3).normal(size=(300, 4)))
    index.prepare()
    assert index.__getstate__().keys() == {"keys", "vectors"}
    again = restore_index("exact", index.__getstate__())
    assert np.array_equal(again.search(index.vectors[:3], 2)[0], index.search(index.vectors[:3], 2)[0])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_query_that_is_no_number_is_searched_without_codes(always, value):
    index = ExactIndex(4)
    index.add(np.arange(300), np.random.default_rng(3).normal(size=(300, 4)))
    queries = np.array([[value, 0, 0, 0]], dtype=np.float32)
    assert not index._uses_codes(queries, index._items, 2)


def in_threads(work, n: int) -> list:
    """What `work` returns, or the exception that it raises, in each of n threads that start together."""
    barrier, results = threading.Barrier(n), []

    def go():
        barrier.wait(timeout=30)
        try:
            results.append(work())
        except Exception as error:
            results.append(error)

    threads = [threading.Thread(target=go) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return results


def noted(monkeypatch) -> list[int]:
    """Numbers of items that an index makes codes of."""
    made: list[int] = []

    class Noted(Codes):
        def __init__(self, vectors):
            made.append(len(vectors))
            time.sleep(0.05)  # all threads are here together
            super().__init__(vectors)

    monkeypatch.setattr(index_module, "Codes", Noted)
    return made


def test_threads_that_search_together_make_codes_once(always, monkeypatch):
    made = noted(monkeypatch)
    rng = np.random.default_rng(4)
    vectors, queries = rng.normal(size=(900, 20)).astype(np.float32), rng.normal(size=(2, 20)).astype(np.float32)
    index = ExactIndex(20)
    index.add(np.arange(500), vectors[:500])
    index.add(np.arange(500, 900), vectors[500:])
    expected = naive(queries, vectors, 7)[0].tolist()
    found = in_threads(lambda: index.search(queries, 7)[0].tolist(), 4)
    assert found == [expected] * 4 and made == [900]


def test_a_search_makes_no_codes_of_items_that_were_replaced(always, monkeypatch):
    made = noted(monkeypatch)
    rng = np.random.default_rng(4)
    vectors, queries = rng.normal(size=(900, 20)).astype(np.float32), rng.normal(size=(2, 20)).astype(np.float32)
    index = ExactIndex(20)
    index.add(np.arange(500), vectors[:500])
    uses = index._uses_codes

    def before_a_change(*arguments):  # as of another thread
        index.add(np.arange(500, 900), vectors[500:])
        return uses(*arguments)

    monkeypatch.setattr(index, "_uses_codes", before_a_change)
    assert np.array_equal(index.search(queries, 7)[0], naive(queries, vectors[:500], 7)[0])
    assert made == []
    monkeypatch.setattr(index, "_uses_codes", uses)
    assert np.array_equal(index.search(queries, 7)[0], naive(queries, vectors, 7)[0])
    assert made == [900]


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("when", ["before", "after"])
def test_items_that_are_no_numbers_are_searched_without_codes(always, value, when):
    rng = np.random.default_rng(10)
    vectors, queries = rng.normal(size=(900, 20)).astype(np.float32), rng.normal(size=(3, 20)).astype(np.float32)
    index, odd = ExactIndex(20), np.full((1, 20), value, dtype=np.float32)
    if when == "before":
        index.add([0], odd)
    index.add(np.arange(1, 901), vectors)
    index.prepare()
    if when == "after":
        index.add([901], odd)
    assert not index._uses_codes(queries, index._items, 7)
    again = pickle.loads(pickle.dumps(index))
    assert not again._uses_codes(queries, again._items, 7)
    index.remove([0, 901])
    assert index._uses_codes(queries, index._items, 7)
    assert np.array_equal(index.search(queries, 7)[0], 1 + naive(queries, vectors, 7)[0])


def test_a_search_sees_the_items_that_it_began_with(always, monkeypatch):
    rng = np.random.default_rng(5)
    vectors, queries = rng.normal(size=(900, 20)).astype(np.float32), rng.normal(size=(2, 20)).astype(np.float32)
    index = ExactIndex(20)
    index.add(np.arange(900), vectors)
    index.prepare()
    search = Codes.search

    def after_a_change(*arguments):  # as of another thread
        index.remove(np.arange(300))
        index.add(np.arange(900, 1000), vectors[:100])
        return search(*arguments)

    monkeypatch.setattr(Codes, "search", after_a_change)
    assert np.array_equal(index.search(queries, 5)[0], naive(queries, vectors, 5)[0])
    monkeypatch.undo()
    keys, rows = np.arange(300, 1000), np.concatenate([np.arange(300, 900), np.arange(100)])
    assert np.array_equal(index.search(queries, 5)[0], keys[naive(queries, vectors[rows], 5)[0]])


def test_codes_leave_out_rows_that_the_vectors_do_not_have():
    rng = np.random.default_rng(6)
    vectors, queries = rng.normal(size=(700, 12)).astype(np.float32), rng.normal(size=(3, 12)).astype(np.float32)
    assert np.array_equal(Codes(vectors).search(queries, vectors[:300], 4)[0], naive(queries, vectors[:300], 4)[0])


def test_codes_do_not_change_when_others_are_made_of_them():
    rng = np.random.default_rng(7)
    vectors, queries = rng.normal(size=(700, 12)).astype(np.float32), rng.normal(size=(3, 12)).astype(np.float32)
    codes, mask = Codes(vectors[:301]), np.arange(301) % 3 > 0
    cases = [
        (codes.extended(vectors), vectors),
        (codes.kept(mask, vectors[:301][mask]), vectors[:301][mask]),
        (codes, vectors[:301]),
    ]
    for case, rows in cases:
        assert len(case) == len(rows)
        assert np.array_equal(case.search(queries, rows, 4)[0], naive(queries, rows, 4)[0])


def test_making_codes_takes_less_than_the_vectors():
    vectors = np.random.default_rng(8).normal(size=(150_000, 16)).astype(np.float32)
    tracemalloc.start()
    try:
        Codes(vectors)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < vectors.nbytes


@pytest.mark.skipif(find_spec("usearch") is None, reason="usearch is not installed: the HNSW graph is not checked")
def test_a_graph_makes_no_codes(always, monkeypatch):
    made = noted(monkeypatch)
    for index in (GraphIndex(8), ExactIndex(8)):
        index.add(np.arange(1500), np.random.default_rng(9).normal(size=(1500, 8)))  # measures the recall
        assert not made
        index.search(index.vectors[:4], 3)
    assert made == [1500]  # by the exact one

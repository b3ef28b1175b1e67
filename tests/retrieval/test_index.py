"""The indexes: exact search against a full sort, ties, blocks, adding and removing; the graph's recall and state."""

from __future__ import annotations

import pickle
import threading
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coview.exceptions import EngineError, ViewsError
from coview.retrieval import index as module
from coview.retrieval.index import ExactIndex, GraphIndex, best_of_blocks, make_index, restore_index
from coview.retrieval.object_index import ObjectIndex

needs_usearch = pytest.mark.skipif(
    find_spec("usearch") is None, reason="usearch is not installed: the HNSW graph is not checked"
)


def unit_rows(n: int, width: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(n, width)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def filled(index: ExactIndex, n: int = 500, width: int = 8) -> ExactIndex:
    index.add(np.arange(n), unit_rows(n, width))
    return index


@given(
    scores=st.integers(1, 6).flatmap(
        lambda q: st.lists(st.lists(st.integers(-3, 3), min_size=23, max_size=23).map(tuple), min_size=q, max_size=q)
    ),
    k=st.integers(1, 30),
    block=st.integers(1, 30),
)
@settings(deadline=None, max_examples=40)
def test_the_best_of_blocks_are_those_of_a_stable_sort(scores, k, block):
    values = np.array(scores, dtype=np.float32)
    patched = pytest.MonkeyPatch()
    patched.setattr(module, "BLOCK_ROWS", block)
    patched.setattr(module, "BLOCK_QUERIES", 2)
    rows, best = best_of_blocks(lambda q, start, stop: values[q, start:stop], len(values), 23, k)
    patched.undo()
    expected = np.argsort(-values, axis=1, kind="stable")[:, :k]
    assert np.array_equal(rows, expected)
    assert np.array_equal(best, np.take_along_axis(values, expected, axis=1))


def test_exact_search_is_a_full_sort(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ROWS", 64)
    index, queries = filled(ExactIndex(8)), unit_rows(20, 8, seed=1)
    keys, scores = index.search(queries, 7)
    full = queries @ index.vectors.T
    assert np.array_equal(keys, np.argsort(-full, axis=1, kind="stable")[:, :7])
    np.testing.assert_allclose(scores, np.sort(full, axis=1)[:, ::-1][:, :7], rtol=1e-6)


def test_fewer_items_than_asked_for_come_back_as_they_are():
    index = filled(ExactIndex(8), n=3)
    assert index.search(unit_rows(2, 8), 10)[0].shape == (2, 3)
    assert ExactIndex(8).search(unit_rows(2, 8), 10)[0].shape == (2, 0)


def test_removed_items_are_not_found_and_new_ones_are():
    index = filled(ExactIndex(8))
    best = index.search(index.vectors[[4]], 1)[0][0, 0]
    index.remove([best])
    assert index.search(unit_rows(500, 8)[[4]], 1)[0][0, 0] != best
    index.add([900], unit_rows(500, 8)[[4]])
    assert index.search(unit_rows(500, 8)[[4]], 1)[0][0, 0] == 900


def test_keys_must_increase():
    index = filled(ExactIndex(8), n=3)
    with pytest.raises(ValueError, match="must be increasing"):
        index.add([2], unit_rows(1, 8))


@pytest.mark.parametrize("kind", ["exact", pytest.param("hnsw", marks=needs_usearch)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_items_stay_when_the_array_they_came_in_changes(kind, order):
    index, given = make_index(kind, 8, 0), np.array(unit_rows(50, 8), order=order)
    index.add(np.arange(50), given)
    given[:] = 0
    assert np.array_equal(index.vectors, unit_rows(50, 8)) and index.vectors.flags.c_contiguous


@pytest.mark.parametrize("kind", ["exact", pytest.param("hnsw", marks=needs_usearch)])
def test_vectors_of_an_index_are_read_only(kind):
    index = filled(make_index(kind, 8, 0), n=20)
    states = [index, pickle.loads(pickle.dumps(index)), restore_index(kind, index.__getstate__())]
    index.remove([3])
    for each in states:
        with pytest.raises(ValueError, match="read-only"):
            each.vectors[0] = 0


@pytest.mark.parametrize(("n_keys", "shape"), [(2, (3, 8)), (0, (3, 8)), (3, (2, 8)), (3, (3, 7)), (8, (8,))])
def test_items_that_do_not_fit_their_keys_are_refused(n_keys, shape):
    index = ExactIndex(8)
    with pytest.raises(ValueError, match="one vector of length 8 for each key"):
        index.add(np.arange(n_keys), np.ones(shape))
    assert len(index) == 0 and index.vectors.shape == (0, 8)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_an_item_that_is_no_number_takes_no_place_among_the_best(value):
    vectors = unit_rows(400, 8)
    vectors[[5, 300]] = value
    index, query = ExactIndex(8), np.abs(unit_rows(1, 8, seed=1))
    index.add(np.arange(400), vectors)
    scores = np.where(np.isfinite(vectors).all(axis=1), unit_rows(400, 8) @ query[0], -np.inf)
    assert index.search(query, 7)[0].tolist() == [np.argsort(-scores, kind="stable")[:7].tolist()]


class Meanwhile:
    """A graph; while it is searched, or changed, another thread does something, or waits to."""

    def __init__(self, graph, method, action):
        self.graph, self.method = graph, method
        self.thread = threading.Thread(target=action, daemon=True)

    def _do(self, name, *arguments):
        if name == self.method and self.thread.ident is None:
            first = name == "search"  # the other thread comes before what is asked of the graph, or after it
            result = None if first else getattr(self.graph, name)(*arguments)
            self.thread.start()
            self.thread.join(timeout=0.3)
            return getattr(self.graph, name)(*arguments) if first else result
        return getattr(self.graph, name)(*arguments)

    def search(self, *arguments):
        return self._do("search", *arguments)

    def remove(self, *arguments):
        return self._do("remove", *arguments)

    def __len__(self):
        return len(self.graph)


@needs_usearch
def test_a_search_of_a_graph_sees_the_items_before_a_removal_or_those_after():
    graph, queries, found = filled(GraphIndex(8)), unit_rows(5, 8, seed=3), []
    expected = graph.search(queries, 6)
    gone = np.union1d(expected[0][:, :2], np.arange(400, 500))
    graph._graph = spy = Meanwhile(graph._graph, "search", lambda: graph.remove(gone))
    during = graph.search(queries, 6)
    spy.thread.join(timeout=30)
    assert np.array_equal(during[0], expected[0]) and np.array_equal(during[1], expected[1])
    assert not np.isin(graph.search(queries, 6)[0], gone).any()

    graph = filled(GraphIndex(8))
    graph._graph = spy = Meanwhile(graph._graph, "remove", lambda: found.append((graph.search(queries, 6), len(graph))))
    graph.remove(gone)
    spy.thread.join(timeout=30)
    ((keys, _), n_items) = found[0]
    assert not np.isin(keys, gone).any() and n_items == 500 - len(gone)


@needs_usearch
def test_threads_may_search_a_graph_while_items_come_and_go():
    graph, queries, errors, stop = filled(GraphIndex(8), n=300), unit_rows(6, 8, seed=3), [], threading.Event()
    vectors = dict(enumerate(np.concatenate([unit_rows(300, 8), unit_rows(300, 8, seed=5)])))

    def search():
        try:
            while not stop.is_set():
                keys, scores = graph.search(queries, 5)
                own = np.array([[vectors[key] for key in row] for row in keys.tolist()])
                np.testing.assert_allclose(scores, np.einsum("qkd,qd->qk", own, queries), atol=1e-6)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for key in range(100):
        graph.remove([key, 299 - key])
        graph.add([300 + key], vectors[300 + key][None])
    stop.set()
    for thread in threads:
        thread.join(timeout=30)
    assert not errors


def test_identifiers_stay_when_the_array_they_came_in_changes():
    index, ids = ObjectIndex({"words": 2}), np.array([7, 8])
    index.add(ids, 2, {"words": (np.arange(2), np.ones((2, 2)))})
    ids[:] = 0
    assert index.ids.tolist() == [7, 8]


def test_hits_that_were_removed_since_are_left_out():
    index = ObjectIndex({"words": 2})
    index.add(list("abcde"), 5, {"words": (np.arange(5), np.ones((5, 2)))}, groups=np.arange(5) * 10)
    keys, scores = np.array([[4, 1, 2, 0], [3, 2, 0, 1]]), np.array([[0.9, 0.8, 0.7, 0.6], [0.5, 0.4, 0.3, 0.2]])
    index.remove(["e", "b"])
    ids, groups, left = index.still_there(keys, scores)
    assert ids.tolist() == [["c", "a"], ["d", "c"]]  # the first query lost two
    assert groups.tolist() == [[20, 0], [30, 20]] and left.tolist() == [[0.7, 0.6], [0.5, 0.4]]
    index.remove(["a", "c", "d"])
    assert [part.shape for part in index.still_there(keys, scores)] == [(2, 0)] * 3


def test_a_small_index_is_exact_by_default():
    assert make_index("auto", 8, 1000).kind == "exact"


@needs_usearch
def test_a_large_index_is_a_graph_by_default(monkeypatch):
    monkeypatch.setattr(module, "AUTO_ROWS", 100)
    assert make_index("auto", 8, 101).kind == "hnsw"


def test_a_graph_without_usearch_is_refused_with_a_sentence(monkeypatch):
    import builtins

    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("usearch"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(EngineError, match=r"coview\[ann\]"):
        make_index("hnsw", 8, 10)


@needs_usearch
def test_the_graph_measures_its_recall_and_keeps_its_promise():
    graph = filled(GraphIndex(16, recall=0.99), n=3000, width=16)
    exact = filled(ExactIndex(16), n=3000, width=16)
    assert graph.recall_ >= 0.99
    queries = unit_rows(50, 16, seed=2)
    found, expected = graph.search(queries, 10)[0], exact.search(queries, 10)[0]
    shared = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found.tolist(), expected.tolist())])
    assert shared > 0.95


@needs_usearch
def test_the_graph_gives_exact_scores_of_what_it_finds():
    graph, queries = filled(GraphIndex(8)), unit_rows(4, 8, seed=3)
    keys, scores = graph.search(queries, 5)
    np.testing.assert_allclose(scores, np.einsum("qkd,qd->qk", graph.vectors[keys], queries), rtol=1e-5)
    assert (np.diff(scores, axis=1) <= 0).all()


@needs_usearch
def test_the_graph_forgets_removed_items_and_finds_new_ones():
    graph = filled(GraphIndex(8))
    graph.remove(np.arange(10, 490))
    graph.add([700], unit_rows(500, 8)[[100]])
    keys, _ = graph.search(unit_rows(500, 8)[[100]], 21)
    assert keys[0, 0] == 700 and set(keys[0].tolist()) == {*range(10), *range(490, 500), 700}
    graph.remove(graph.keys)
    assert graph.search(unit_rows(1, 8), 3)[0].shape == (1, 0)


@pytest.mark.parametrize("kind", ["exact", pytest.param("hnsw", marks=needs_usearch)])
def test_an_index_survives_as_plain_values_and_as_a_pickle(kind):
    index, queries = filled(make_index(kind, 8, 0)), unit_rows(5, 8, seed=4)
    keys, scores = index.search(queries, 6)
    for back in (restore_index(kind, index.__getstate__()), pickle.loads(pickle.dumps(index))):
        assert type(back) is type(index)
        found_keys, found_scores = back.search(queries, 6)
        assert np.array_equal(found_keys, keys) and np.array_equal(found_scores, scores)
        back.add([999], queries[:1])
        assert back.search(queries[:1], 1)[0][0, 0] == 999


def test_identifiers_are_looked_up_in_what_is_kept():
    """Of each batch only the new identifiers are looked at, not all that came before."""
    index = ObjectIndex({"words": 2})
    for start in range(0, 12, 3):
        kept = index._key_of
        index.add([f"d{i}" for i in range(start, start + 3)], 3, {"words": (np.arange(3), np.ones((3, 2)))})
        assert index._key_of is not None and (kept is None or index._key_of is kept)
    index.remove(["d4", "d4", "d0"])
    assert index._key_of is kept and kept == dict(zip(index.ids.tolist(), index.keys.tolist()))
    with pytest.raises(ViewsError, match="'d5' is already in the index"):
        index.add(["d0", "d5"], 2, {})
    with pytest.raises(ViewsError, match="Ids must be unique, got 'd0' more than once"):
        index.add(["d0", "d9x", "d0"], 3, {})
    index.add(["d0"], 1, {"words": (np.arange(1), np.ones((1, 2)))})
    assert index.key_of("d0") == 12 == kept["d0"]

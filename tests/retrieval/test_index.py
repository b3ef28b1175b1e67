"""The indexes: exact search against a full sort, ties, blocks, adding and removing; the graph's recall and state."""

from __future__ import annotations

import pickle
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

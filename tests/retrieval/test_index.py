"""The index: exact search against a full sort, ties, adding and removing; the graph's recall and state."""

from __future__ import annotations

import builtins
import pickle
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coview.exceptions import EngineError, ViewsError
from coview.retrieval import index as module
from coview.retrieval.index import ObjectIndex, find_best

GRAPH = pytest.param("hnsw", marks=pytest.mark.skipif(find_spec("usearch") is None, reason="usearch is not installed"))


def unit_rows(n: int, width: int = 8, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(n, width)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def filled(kind: str = "exact", n: int = 500, width: int = 8) -> ObjectIndex:
    index = ObjectIndex({"v": width}, kind)
    index.add(None, n, {"v": (np.arange(n), unit_rows(n, width))})
    index.prepare()
    return index


def search(index: ObjectIndex, queries: np.ndarray, k: int):
    return index.search(queries, None, 0.0, "v", k)


@given(
    scores=st.lists(st.lists(st.integers(-3, 3), min_size=23, max_size=23), min_size=1, max_size=6),
    k=st.integers(1, 23),
    piece=st.integers(1, 30),
)
@settings(deadline=None, max_examples=40)
def test_the_best_are_those_of_a_stable_sort(scores, k, piece):
    values = np.array(scores, dtype=np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PIECE", piece)
        columns, best = find_best(values, k)
    expected = np.argsort(-values, axis=1, kind="stable")[:, :k]
    assert np.array_equal(columns, expected)
    assert np.array_equal(best, np.take_along_axis(values, expected, axis=1))


def test_exact_search_is_a_full_sort(monkeypatch):
    monkeypatch.setattr(module, "MOST_SCORES", 3 * 500)  # three queries at a time
    index, queries = filled(), unit_rows(20, seed=1)
    found, scores = search(index, queries, 7)
    full = queries @ index.views["v"].vectors.T
    assert np.array_equal(found, np.argsort(-full, axis=1, kind="stable")[:, :7])
    np.testing.assert_allclose(scores, np.sort(full, axis=1)[:, ::-1][:, :7], rtol=1e-6)


@pytest.mark.parametrize("kind", ["exact", GRAPH])
def test_fewer_objects_than_asked_for_come_back_as_they_are(kind):
    assert search(filled(kind, n=3), unit_rows(2), 10)[0].shape == (2, 3)
    assert search(ObjectIndex({"v": 8}, kind), unit_rows(2), 10)[0].shape == (2, 0)


@pytest.mark.parametrize("kind", ["exact", GRAPH])
def test_removed_objects_are_not_found_and_new_ones_are(kind):
    index, query = filled(kind), unit_rows(500)[[4]]
    index.remove([4])
    index.prepare()
    assert index.ids[search(index, query, 1)[0][0, 0]] != 4
    index.add([900], 1, {"v": (np.arange(1), query)})
    assert index.ids[search(index, query, 1)[0][0, 0]] == 900


@pytest.mark.parametrize("kind", [GRAPH])
def test_the_graph_finds_nearly_all_of_the_best_by_their_exact_scores(kind):
    graph, exact, queries = filled(kind, 3000, 16), filled("exact", 3000, 16), unit_rows(50, 16, seed=2)
    (found, scores), (expected, _) = search(graph, queries, 10), search(exact, queries, 10)
    assert graph.views["v"].graph is not None
    assert np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found.tolist(), expected.tolist())]) > 0.95
    own = np.einsum("qkd,qd->qk", graph.views["v"].vectors[found], queries)
    np.testing.assert_allclose(scores, own, rtol=1e-5)
    assert (np.diff(scores, axis=1) <= 0).all()


@pytest.mark.parametrize("kind", ["exact", GRAPH])
def test_an_index_survives_as_plain_values_and_as_a_pickle(kind):
    index, queries = filled(kind), unit_rows(5, seed=4)
    found, scores = search(index, queries, 6)
    for back in (ObjectIndex.from_state(index.__getstate__()), pickle.loads(pickle.dumps(index))):
        assert back.kind == kind and back.views["v"].graph is None
        for _ in range(2):  # looked through whole, then by a graph, which threads never build twice alike
            again, again_scores = search(back, queries, 6)
            assert np.mean([len(set(a) & set(b)) / 6 for a, b in zip(again.tolist(), found.tolist())]) > 0.9
            np.testing.assert_allclose(again_scores[:, :3], scores[:, :3], atol=0.05)
            back.prepare()
        back.add([999], 1, {"v": (np.arange(1), queries[:1])})
        assert back.ids[search(back, queries[:1], 1)[0][0, 0]] == 999


def test_a_graph_without_usearch_is_refused_with_a_sentence(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("usearch"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(EngineError, match=r"coview\[ann\]"):
        filled("hnsw")


def test_identifiers_are_unique_and_those_of_removed_objects_are_free():
    index = ObjectIndex({"v": 8})
    index.add([f"d{i}" for i in range(6)], 6, {"v": (np.arange(6), unit_rows(6))})
    index.remove(["d4", "d4", "d0"])
    for ids, sentence in ((["d0", "d5"], "'d5' is already in the index"), (["d0", "d0"], "'d0' is already")):
        with pytest.raises(ViewsError, match=sentence):
            index.add(ids, 2, {})
    index.add(["d0"], 1, {"v": (np.arange(1), unit_rows(1))})
    assert index.ids.tolist() == ["d1", "d2", "d3", "d5", "d0"] and index.rows_of("d0") == {"v": 4}

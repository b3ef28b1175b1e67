"""The index: exact search against a full sort, ties, adding and removing; the graph's recall and state."""

import builtins
import pickle
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from coview import CrossModalRetriever, LinkPLSA, TextViews, TfidfViews, Views, load, save
from coview.classification.naive_bayes import compute_class_probabilities
from coview.datasets import make_topic_views
from coview.exceptions import EngineError, ViewsError
from coview.retrieval import index as module
from coview.retrieval.hits import Hits, Match
from coview.retrieval.index import ObjectIndex, find_best
from coview.retrieval.semantic import SemanticCorrelationMatching, fit_classifier

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
            assert abs(again_scores - scores)[:, :3].mean() < 0.01
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


# -- What a search gives back reads well


def test_hits_are_lists_of_pairs_by_query_without_those_that_share_nothing():
    hits = Hits(np.array([[3, 1], [2, 0]]), np.array([[0.5, 0.25], [1.0, 0.0]]))
    assert len(hits) == 2 and list(hits) == [[(3, 0.5), (1, 0.25)], [(2, 1.0)]]


def test_many_queries_are_shown_in_part():
    text = repr(Hits(np.zeros((9, 1), dtype=int), np.ones((9, 1))))
    assert text.startswith("Hits of 9 queries, 1 each") and text.endswith("... and 6 more queries")


def test_small_contributions_are_shown_as_one():
    parts = {f"topic {k}": 0.1 for k in range(12)}
    assert repr(Match(1.2, parts)).endswith("+0.700  7 others together")


# -- A retriever is saved whole: the model, the classes, and the index; graphs are built again

NO_GRAPH = "usearch is not installed: retrievers with a graph are not checked"
GRAPH_OF_SAVED_RETRIEVER = pytest.param("hnsw", marks=pytest.mark.skipif(find_spec("usearch") is None, reason=NO_GRAPH))


@pytest.mark.parametrize("space", ["topic", "semantic"])
@pytest.mark.parametrize("index", ["exact", GRAPH_OF_SAVED_RETRIEVER])
def test_a_loaded_retriever_finds_the_same_and_goes_on(index, space, tmp_path):
    data = make_topic_views(120, {"words": 60, "image": 40}, n_clusters=3, random_state=0)
    model = CrossModalRetriever(LinkPLSA(3, random_state=0), space, index=index).fit(data.views[:90], data.target[:90])
    model.remove([5, 6])
    save(model, tmp_path / "r.coview")
    back = load(tmp_path / "r.coview")
    query = data.views[90:].select("words")
    for left, right in zip(model.search(query, k=5), back.search(query, k=5)):
        assert left == right
    back.index_.prepare()
    assert (back.index_.views["image"].graph is None) == (index == "exact")
    back.add(data.views[90:])
    model.add(data.views[90:])
    # a graph holds rounded vectors, and may prefer one of two that are nearly as good
    tolerance = 1e-6 if index == "exact" else 1e-3
    np.testing.assert_allclose(back.search(query, k=5).scores, model.search(query, k=5).scores, atol=tolerance)
    assert back.explain(query[:1], 7).contributions == model.explain(query[:1], 7).contributions


def test_a_retriever_of_raw_texts_is_saved_with_its_vectorizers_and_words(tmp_path):
    table = {"title": ["red fox", "blue sea", "red den"] * 5, "body": ["fox red", "sea wave", "den fox"] * 5}
    model = make_pipeline(TextViews(), TfidfViews(), LinkPLSA(2, random_state=0))
    retriever = CrossModalRetriever(model, lexical=0.4).fit(table)
    save(retriever, tmp_path / "r.coview")
    back = load(tmp_path / "r.coview")
    ours, theirs = retriever.search("red fox", "title", k=15), back.search("red fox", "title", k=15)
    assert np.array_equal(ours.ids, theirs.ids) and np.array_equal(ours.scores, theirs.scores)
    back.add({"title": ["a fox"], "body": ["fox den"]})
    assert len(back.indexed_ids()) == 16


# -- Semantic correlation matching: classes from any view, through the common space


@pytest.fixture(scope="module")
def data():
    return make_topic_views(200, {"words": 60, "links": 40}, n_clusters=3, quality=0.7, random_state=0)


def fitted(data, **settings):
    return SemanticCorrelationMatching(6, random_state=0, **settings).fit(data.views[:150], data.target[:150])


@pytest.mark.parametrize("view", ["words", "links"])
def test_each_view_has_a_logistic_regression_in_the_common_space(data, view):
    model = fitted(data)
    places = model.project(data.views[:150].select(view))
    oracle = LogisticRegression(C=1.0, max_iter=1000).fit(places, data.target[:150])
    new = data.views[150:].select(view)
    np.testing.assert_allclose(model.transform(new), oracle.predict_proba(model.project(new)), atol=1e-4)


def test_probabilities_of_several_views_are_the_mean_over_those_an_object_has(data):
    model, new = fitted(data), data.views[150:]
    each = [model.predict_proba(new.select(name)) for name in new.names]
    np.testing.assert_allclose(model.predict_proba(new), np.mean(each, axis=0))
    present = np.ones((50, 2), dtype=bool)
    present[0, 0] = False
    words = new["words"].toarray()
    words[0] = 0
    partial = Views(words=words, links=new["links"], present=present)
    np.testing.assert_allclose(model.predict_proba(partial)[0], each[1][0])


def test_unlabeled_objects_teach_the_space_but_not_the_classes(data):
    y = data.target[:150].astype(object)
    y[30:] = None
    model = SemanticCorrelationMatching(6, random_state=0).fit(data.views[:150], y)
    whole = fitted(data)
    np.testing.assert_allclose(model.project(data.views), whole.project(data.views))
    assert model.score(data.views[150:], data.target[150:]) > 0.8


def test_a_class_that_a_view_never_showed_has_no_probability_there():
    head = fit_classifier("words", np.array([[0.0], [1.0], [2.0]]), np.array([0, 2, 2]), 1.0)
    found = compute_class_probabilities(head, np.array([[0.5]]), 4)
    assert found.shape == (1, 4) and found[0, 1] == found[0, 3] == 0 and found.sum() == pytest.approx(1)


def test_a_view_without_labels_and_a_single_class_are_refused(data):
    with pytest.raises(ValueError, match="at least 2 classes"):
        SemanticCorrelationMatching().fit(data.views, np.zeros(200))
    with pytest.raises(ValueError, match=r"C.* must be a float in the range"):
        fitted(data, C=0)
    present = np.ones((200, 2), dtype=bool)
    present[:20, 0] = False
    words = data.views["words"].toarray()
    words[:20] = 0
    y = np.where(np.arange(200) < 20, data.target, -1)
    with pytest.raises(ValueError, match="No labeled object has view 'words'"):
        SemanticCorrelationMatching().fit(Views(words=words, links=data.views["links"], present=present), y)

"""A retriever is saved whole: the model, the classes, and the index; graphs are built again."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from coview import CrossModalRetriever, LinkPLSA, TextViews, TfidfViews, load, save
from coview.datasets import make_topic_views

NO_GRAPH = "usearch is not installed: retrievers with a graph are not checked"
GRAPH = pytest.param("hnsw", marks=pytest.mark.skipif(find_spec("usearch") is None, reason=NO_GRAPH))


@pytest.mark.parametrize("space", ["topic", "semantic"])
@pytest.mark.parametrize("index", ["exact", GRAPH])
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

"""Scores of linear models, taken apart by the words of the query."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from coview import CrossModalRetriever, LinkPLSA, MultiViewCCA, TextViews, TfidfViews
from coview.datasets import make_topic_views
from coview.retrieval.contributions import AVERAGE

TABLE = {
    "title": ["red fox", "blue sea", "red den", "blue salt", "red paw", "blue tide"],
    "body": ["the fox runs", "the sea waves", "a den is red", "salt of the sea", "paw and fox", "tide and sea"],
}


@pytest.fixture(scope="module")
def data():
    return make_topic_views(120, {"words": 40, "image": 30, "links": 20}, n_clusters=3, random_state=0)


@pytest.mark.parametrize("center", ["mean", "row"])
@pytest.mark.parametrize("views", [("words",), ("words", "links")], ids=["one view", "two views"])
def test_features_sum_to_the_score(data, center, views):
    models = [make_pipeline(TfidfViews(), MultiViewCCA(5, random_state=0)), MultiViewCCA(3, random_state=0)]
    retriever = CrossModalRetriever(models, center=center, model_weights=[2, 1]).fit(data.views[:100])
    query = data.views[[110]].select(*views)
    for found, score in retriever.search(query, target="image", k=3)[0]:
        match = retriever.explain(query, found, target="image", by="feature")
        assert match.score == pytest.approx(score, abs=1e-5)
        assert len(match.contributions) > 5


def test_a_feature_adds_what_the_score_loses_along_the_object(data):
    """Without centering and length, leaving a feature out takes off exactly its part."""
    model = MultiViewCCA(4, random_state=0)
    retriever = CrossModalRetriever(model).fit(data.views)
    query = data.views[[3]].select("words")
    parts = retriever.explain(query, 7, target="image", by="feature").contributions
    found = retriever.index_.indexes["image"].vectors[retriever.index_.row_of(7, "image")].astype(float)
    fitted, mean = retriever.model_, retriever.means_["words"][0]
    whole = fitted.project(query)[0] - mean
    row = query["words"].toarray()
    j = int(row.argmax())
    row[0, j] = 0
    rest = fitted.project(type(query)(words=row))[0] - mean
    assert parts[f"f{j}"] == pytest.approx((whole - rest) @ found / np.linalg.norm(whole), abs=1e-6)


def test_words_of_the_query_are_named_and_shared_words_join_them():
    model = make_pipeline(TextViews(), MultiViewCCA(2, random_state=0))
    retriever = CrossModalRetriever(model, lexical=0.5).fit(TABLE)
    match = retriever.explain("red fox", 0, source="title", target="body", by="auto")
    assert set(match.contributions) == {"red", "fox", AVERAGE}
    assert match.score == pytest.approx(retriever.search("red fox", "title", "body", k=1).scores[0, 0], abs=1e-5)


def test_topics_are_named_where_places_are_no_sums(data):
    retriever = CrossModalRetriever(LinkPLSA(3, random_state=0, max_iter=10)).fit(data.views)
    query = data.views[[3]].select("words")
    by_topic = retriever.explain(query, 7, target="image").contributions
    assert retriever.explain(query, 7, target="image", by="auto").contributions == by_topic
    with pytest.raises(ValueError, match="MultiViewCCA"):
        retriever.explain(query, 7, target="image", by="feature")


def test_one_view_is_refused(data):
    for X in (data.views.select("words"), data.views["words"]):
        with pytest.raises(ValueError, match="needs at least 2 views, got 1"):
            CrossModalRetriever(MultiViewCCA(3)).fit(X)
    with pytest.raises(ValueError, match=r"got 1 \('title'\)"):
        CrossModalRetriever(make_pipeline(TextViews({"title": "title"}), MultiViewCCA(2))).fit(TABLE)

"""Every kind of fitted model answers: info, predictions or places, and pages that apply."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from coview import (
    CrossModalRetriever,
    LinkPLSA,
    MultiViewCCA,
    MultiViewNaiveBayes,
    MultiViewPassiveAggressiveClassifier,
    MultiViewPLSA,
    TextViews,
    TfidfViews,
    Views,
    load,
    save,
)
from coview.catalog import ESTIMATORS, estimators
from coview.datasets import make_topic_views
from coview.exceptions import ViewsError
from coview.inspection import Structure
from coview.online.hashing import hash_rows
from coview.web.explorer import Explorer
from coview.web.service import Service

SMALL = {"n_components": 3, "n_clusters": 3, "max_iter": 10, "tol": 0, "random_state": 0, "n_init": 1}
NEEDS = {"BestView": MultinomialNB(), "ConcatenatedViews": MultinomialNB()}


def fitted(name):
    data = make_topic_views(40, {"words": 12, "links": 8}, n_clusters=3, random_state=0)
    cls = estimators()[name]
    model = cls(NEEDS[name]) if name in NEEDS else cls()
    model.set_params(**{key: value for key, value in SMALL.items() if key in model.get_params()})
    return model.fit(data.views, data.target), data.views


def pages(service, views):
    """Everything that the explorer could show of a service."""
    info = service.info()
    rows = {"words": views["words"][:3].toarray().tolist(), "links": [None, [1] * 8, {"f2": 3}]}
    asked = service.read(rows)
    answer = service.predict(asked, by_view=True) if "predict" in info["can"] else service.transform(asked)
    assert len(next(iter(answer.values()))) == 3
    browser = Explorer(service)
    yield from (info, answer, browser.about(), browser.section(0, "groups"), browser.objects())
    if "objects" in info["can"]:
        yield browser.object(5)
        yield browser.map.answer
    if "disagreement" in info["can"]:
        yield browser.disagreement()


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_every_model_gives_info_and_predictions(name, tmp_path):
    model, views = fitted(name)
    save(model, tmp_path / "m.coview")
    loaded = load(tmp_path / "m.coview")
    for data in (views, None):
        service = Service(loaded, data)
        assert service.info()["model"] == service.model.name
        assert {view["name"] for view in service.info()["views"]} == {"words", "links"}
        assert {"predict", "transform"} & set(service.info()["can"])
        for page in pages(service, views):  # all of it is JSON
            assert json.loads(json.dumps(page, allow_nan=False)) is not None


def test_predictions_are_those_of_the_model(small):
    X, y = small
    model = MultiViewNaiveBayes().fit(X, y)
    service = Service(model)
    asked = service.read({view: X[view][:5].toarray().tolist() for view in X.names})
    found = service.predict(asked, by_view=True)
    assert found["labels"] == model.predict(X[:5]).tolist()
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X[:5]))
    assert found["by_view"]["image"]["labels"] == model.predict(X[:5].select("image")).tolist()


@pytest.mark.parametrize("name", ["CCAClustering", "SphericalKMeans", "ConsensusClustering", "MultiViewPLSA"])
def test_the_explorer_shows_the_clusters_of_the_model(name):
    model, X = fitted(name)
    labels = model.predict(X)
    explorer = Explorer(Service(model, X))
    for cluster in range(3):
        rows = {one["id"] for one in explorer.members(0, str(cluster), 0, 100)["members"]}
        assert rows == set(np.flatnonzero(labels == cluster).tolist())


def test_objects_are_shown_in_the_groups_that_the_model_predicts():
    class Turned(MultiViewPLSA):
        """Memberships do not choose as `predict` does."""

        def predict(self, X):
            return (super().predict(X) + 1) % 3

        def _inspect(self):
            return replace(super()._inspect(), structure=Structure(), _predict=self.predict)

    model, X = Turned(3, 4, random_state=0, max_iter=5), fitted("MultiViewPLSA")[1]
    service = Service(model.fit(X), X)
    assert Explorer(service).summary(0).objects.reading.codes.tolist() == model.predict(X).tolist()
    found = service.predict(X)
    assert found["labels"] == model.predict(X).tolist() and "probabilities" not in found


def test_questions_answered_together_are_as_alone(small):
    X, _ = small
    service = Service(MultiViewPLSA(3, 4, random_state=0).fit(X))
    asked = [X[[3]], X[5:9], X[[11]]]
    together = service.answer(("predict", X.names, True, 2), asked)
    for views, found in zip(asked, together):
        alone = service.predict(views, by_view=True)
        assert found["labels"] == alone["labels"]
        np.testing.assert_allclose(found["probabilities"], alone["probabilities"])


def test_a_pipeline_takes_raw_text():
    table = {
        "title": ["red fox", "blue sea", "red fox runs", "sea"],
        "body": ["a fox", "the sea is blue", "fox", "salt"],
    }
    model = make_pipeline(TextViews(), TfidfViews(), MultiViewNaiveBayes()).fit(table, ["land", "sea", "land", "sea"])
    service = Service(model)
    asked = service.read({"title": ["a red fox", "salt sea"], "body": [None, "blue"]})
    assert service.predict(asked)["labels"] == ["land", "sea"]


def test_hits_are_those_of_the_retriever(retriever, small):
    service = Service(retriever)
    views, target = service.read_query({"wordaa": 2, "wordba": 1}, "words", None)
    found = service.search(views, target, 4)["hits"][0]
    expected = retriever.search("wordaa wordaa wordba", "words", "image", 4)[0]
    assert [hit["id"] for hit in found] == [key for key, _ in expected]


def test_a_query_may_have_values_of_both_signs():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(50, 2))
    X = Views(a=shared @ rng.normal(size=(2, 5)), b=shared @ rng.normal(size=(2, 4)))
    model = CrossModalRetriever(MultiViewCCA(2)).fit(X)
    service = Service(model)
    views, target = service.read_query({"f0": 1, "f3": -1}, "a", "b")
    found = service.search(views, target, 3)["hits"][0]
    expected = model.search(Views(a=np.array([[1.0, 0, 0, -1.0, 0]])), target="b", k=3)[0]
    assert [hit["id"] for hit in found] == [key for key, _ in expected]
    with pytest.raises(ViewsError, match="Nothing in the query"):
        service.read_query({"f0": 0, "f9": 1}, "a", "b")


def test_names_are_hashed_for_a_model_of_a_stream_only(small):
    rows = [{"x": {"price": 3.0, "sale": 1.0}}, {"x": {"mail": 2.0}}] * 10
    X = Views(x=hash_rows([row["x"] for row in rows], 4096))
    service = Service(MultiViewPassiveAggressiveClassifier().fit(X, ["spam", "ham"] * 10))
    assert service.predict(service.read(rows[:2]))["labels"] == ["spam", "ham"]
    plain = Service(MultiViewPassiveAggressiveClassifier().fit(Views(image=small[0]["image"]), small[1]))
    assert plain.read({"image": {"f3": 2}})["image"].toarray()[0, 3] == 2


def test_what_a_model_cannot_do_is_refused(small):
    service = Service(LinkPLSA(3, random_state=0, max_iter=5).fit(small[0]))
    with pytest.raises(ViewsError, match="LinkPLSA cannot search"):
        service.read_query("x", None, None)


def test_an_object_without_a_known_word_is_marked():
    texts = {"body": ["red fox", "blue sea", "red den", "blue salt"], "title": ["fox", "sea", "den", "salt"]}
    model = make_pipeline(TextViews(), MultiViewNaiveBayes()).fit(texts, ["land", "water", "land", "water"])
    service = Service(model)
    asked = service.read({"body": ["a fox", "zebra", "zebra"], "title": ["zebra", "zebra", None]}, "ignore")
    found = service.predict(asked, by_view=True)
    assert found["known"] == [True, False, False]
    assert found["by_view"]["title"]["known"] == [False, False, None]
    assert found["by_view"]["title"]["labels"] == [None] * 3
    assert found["by_view"]["body"]["labels"] == ["land", None, None]


def test_shared_words_count_in_a_search_by_view_and_in_all_views():
    subjects = ("zoom photo camera", "send mail inbox", "play game chess")
    names = sorted({word for words in subjects for word in words.split()}, reverse=True)
    rng = np.random.default_rng(0)
    rates = np.array([[2.0 if name in words.split() else 0.05 for name in names] for words in subjects])
    parts = {view: rng.poisson(rates[np.arange(60) % 3]).astype(float) for view in ("words", "title")}
    X = Views(parts, feature_names=dict.fromkeys(parts, names))
    retriever = CrossModalRetriever(LinkPLSA(3, random_state=0, max_iter=20), lexical=0.5).fit(X)
    service = Service(retriever, X)
    query = "zoom mail camera photo"
    views, target = service.read_query(query, "words", "title")
    answer = service.search(views, target, 5)["hits"][0]
    assert [hit["id"] for hit in answer] == [key for key, _ in retriever.search(query, "words", "title", 5)[0]]
    best = service.search_texts([query], None, None, 1)["hits"][0][0]["id"]
    (reasons,) = service.why(query, None, None, [best])
    # the model has topics: what a word is worth is what the score loses without it
    assert {part["name"] for part in reasons} <= set(query.split())
    row = retriever.indexed_ids().tolist().index(best)
    whole, without = retriever.similarities([query, query.replace("zoom ", "")])[:, row]
    worth = {part["name"]: part["adds"] for part in reasons}
    assert worth["zoom"] == pytest.approx(whole - without, abs=1e-5)
    # without its only known word there is no query; the others are worth nothing
    for source, target in ((None, None), ("words", "title")):
        (reasons,) = service.why("zebra zoom quokka", source, target, [best])
        (score,) = retriever.similarities("zebra zoom quokka", source, target, ids=[best])[0]
        assert reasons == [{"name": "zoom", "adds": pytest.approx(score, abs=1e-5)}]


def test_a_text_in_a_named_view_finds_what_python_finds():
    table = {
        "title": ["red fox", "blue sea", "red den", "sea wave"] * 6 + ["red quokka"],
        "body": ["fox forest", "wave beach", "den fox", "beach sea"] * 6 + ["fox quokka"],
    }
    retriever = CrossModalRetriever(TextViews(min_df=2), lexical=0.5).fit(table)
    service = Service(retriever)
    # no view knows the word, but objects have it
    for text in ("quokka", "sea quokka zebra"):
        key = ("search_texts", *service.query_views("title", None), 3)
        (answer,) = service.answer(key, [[text]])
        expected = retriever.search(text, "title", "body", 3)
        assert [hit["id"] for hit in answer["hits"][0]] == expected.ids[0].tolist()
        assert answer["ignored"] == expected.ignored
        (why,) = service.why(text, "title", "body", [24])
        assert {part["name"] for part in why} == set(text.split()) - {"zebra"}
    assert answer["ignored"] == [["zebra"]]


def test_only_views_of_the_retriever_can_be_searched(small):
    X, y = small
    more = Views({**dict(X.items()), "links": X["image"]}, feature_names={"words": X.feature_names["words"]}, ids=X.ids)
    searcher = CrossModalRetriever(LinkPLSA(3, random_state=0, max_iter=5)).fit(X)
    info = Service(MultiViewNaiveBayes().fit(more, y), more, also=[searcher]).info()
    assert [view["name"] for view in info["views"]] == ["words", "image", "links"]
    assert info["searched"] == [
        {"name": "words", "takes": ["numbers", "names", "text"]},
        {"name": "image", "takes": ["numbers", "names"]},
    ]
    assert Service(MultiViewNaiveBayes().fit(X, y)).info()["searched"] == []

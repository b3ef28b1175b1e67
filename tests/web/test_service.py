"""Every kind of fitted model answers: info, predictions or places, and pages that apply."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from coview import CrossModalRetriever, MultiViewCCA, MultiViewNaiveBayes, MultiViewPLSA, TextViews, Views, load, save
from coview.catalog import ESTIMATORS, estimators
from coview.datasets import make_topic_views
from coview.exceptions import ViewsError
from coview.inspection import Structure
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

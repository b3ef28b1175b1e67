"""The explorer's answers: groups by view, objects from all their views, disagreement, label sets."""

from __future__ import annotations

import numpy as np
import pytest

from coview import (
    CoPLSA,
    LinkPLSA,
    MultiViewNaiveBayes,
    MultiViewPLSA,
    Ontology,
    SeededKMeansClassifier,
    Views,
)
from coview.exceptions import ViewsError
from coview.web.explorer import Explorer
from coview.web.service import Service

FAST = {"random_state": 0, "max_iter": 20}


@pytest.fixture(scope="module")
def animals():
    """Four objects of an ontology; the views differ on the last."""
    X = Views(
        words=np.array([[4.0, 0, 0], [0, 4, 0], [0, 0, 4], [4, 0, 0]]),
        image=np.array([[4.0, 0, 0], [0, 4, 0], [0, 0, 4], [0, 0, 4]]),
        feature_names={"words": ["bark", "meow", "leaf"]},
        ids=["rex", "tom", "oak", "odd"],
    )
    tree = Ontology.from_tree({"animal": ["dog", "cat"], "plant": ["tree"]})
    model = SeededKMeansClassifier(ontology=tree).fit(X, ["dog", "cat", "tree", None])
    return Explorer(Service(model, X))


def test_groups_list_the_strongest_features_of_each_view(small):
    X, _ = small
    model = LinkPLSA(3, **FAST).fit(X)
    (part,) = Explorer(Service(model, X)).groups.all()
    assert part["kind"] == "topic" and sum(group["size"] for group in part["groups"]) == len(X)
    for k, group in enumerate(part["groups"]):
        best = dict(group["views"]["words"])
        name, share = max(best.items(), key=lambda pair: pair[1])
        column = X.feature_names["words"].tolist().index(name)
        assert share == pytest.approx(model.topic_feature_["words"][k, column], rel=1e-3)


def test_topics_of_clusters_belong_to_one_view(small):
    parts = {part["kind"]: part for part in Explorer(Service(MultiViewPLSA(3, 4, **FAST).fit(small[0]))).groups.all()}
    assert len(parts["cluster"]["groups"]) == 3 and set(parts["cluster"]["groups"][0]["views"]) == {"words", "image"}
    assert len(parts["topic"]["groups"]) == 8 and all(len(group["views"]) == 1 for group in parts["topic"]["groups"])


def test_members_are_those_that_the_model_puts_there(small):
    X, y = small
    model = MultiViewNaiveBayes().fit(X, y)
    browser = Explorer(Service(model, X))
    found = browser.groups.members("class", 1, 0, 100)
    assert {member["row"] for member in found["members"]} == set(np.flatnonzero(model.predict(X) == 1).tolist())
    shares = [member["share"] for member in found["members"]]
    assert shares == sorted(shares, reverse=True)
    with pytest.raises(ViewsError, match="There is no class 7"):
        browser.groups.members("class", 7, 0, 10)


def test_an_object_is_seen_from_all_its_views(small):
    X, y = small
    browser = Explorer(Service(MultiViewNaiveBayes().fit(X, y), X))
    found = browser.object(4)
    row = np.asarray(X["words"][[4]].toarray()).ravel()
    values = dict(browser.object(4)["views"][0]["features"])
    assert found["id"] == "object 4" and sum(values.values()) == row.sum()
    assert set(found["opinions"]["by_view"]) == {"words", "image"}
    with pytest.raises(ViewsError, match="There is no object 60"):
        browser.object(60)


def test_objects_are_found_by_a_part_of_their_name(small):
    browser = Explorer(Service(LinkPLSA(3, **FAST).fit(small[0]), small[0]))
    assert [one["id"] for one in browser.objects("OBJECT 5")["objects"]] == [
        "object 5",
        *(f"object 5{i}" for i in range(10)),
    ]
    assert browser.objects("nothing like it") == {"total": 0, "start": 0, "objects": []}
    assert browser.objects("", 50)["objects"][0]["row"] == 50


def test_what_the_file_carries_is_enough(small):
    browser = Explorer(Service(CoPLSA(3, **FAST).fit(small[0])))
    assert browser.objects()["total"] == 60 and browser.object(3)["views"] == []
    assert len(browser.object(3)["opinions"]["by_view"]) == 2
    assert browser.disagreement()["compared"] == 60


def test_disagreement_names_who_says_what(animals):
    found = animals.disagreement()
    assert [one["id"] for one in found["objects"]] == ["odd"]
    said = found["objects"][0]["by_view"]
    assert said["words"][0][0] == "dog" and said["image"][0][0] == "tree"
    assert found["pairs"] == [["dog", "tree", 1]] and found["agreement"] == [["words", "image", 0.75]]
    assert animals.disagreement(pair=("cat", "tree"))["total"] == 0


def test_label_sets_are_closed_and_judged(animals):
    found = animals.try_labels(["dog", "cat"])
    assert found["closed"] == ["animal", "dog", "cat"] and found["added"] == ["animal"]
    assert found["broken"] == ["Nothing is both dog and cat."]
    judged = animals.try_labels(["dog"], 0)["object"]
    assert judged["views"]["words"]["chosen"] == ["animal", "dog"] and judged["tried"] == judged["best"]
    assert animals.try_labels(["cat"], 0)["object"]["tried"] < judged["best"]
    with pytest.raises(ViewsError, match="no label 'fish'"):
        animals.try_labels(["fish"])
    assert sum(animals.ontology()["counts"][1:3]) == animals.ontology()["counts"][0]


def test_why_names_the_words_that_matter(retriever, small):
    browser = Explorer(Service(retriever, small[0]))
    hit = retriever.search("wordaa wordba", "words", "image", 1)[0][0][0]
    found = browser.why("wordaa wordba", "words", "image", hit)
    assert {part["name"] for part in found["features"]} == {"wordaa", "wordba"}
    whole = retriever.explain("wordaa wordba", hit, "words", "image").score
    without = retriever.explain("wordba", hit, "words", "image").score
    worth = next(part["adds"] for part in found["features"] if part["name"] == "wordaa")
    assert worth == pytest.approx(whole - without, abs=1e-4)
    assert found["theirs"]

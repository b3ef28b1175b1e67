"""The explorer's answers: groups by view, objects from all their views, disagreement, label sets."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering

from coview import (
    AutoClustering,
    ConcatenatedViews,
    CoPLSA,
    LinkPLSA,
    MultiViewNaiveBayes,
    MultiViewPLSA,
    Ontology,
    SeededKMeansClassifier,
    SpectralClusteringViews,
    Views,
    inspect,
)
from coview.exceptions import ViewsError
from coview.utils.messages import cut
from coview.web.explorer import Explorer
from coview.web.groups import Groups
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


def test_topics_of_one_view_have_no_objects(small):
    groups = Explorer(Service(MultiViewPLSA(3, 4, **FAST).fit(small[0]), small[0])).groups
    with pytest.raises(ViewsError, match="Objects of MultiViewPLSA belong to a cluster, not to a topic"):
        groups.members("topic", 0, 0, 20)


def test_a_clusterer_without_predict_says_whose_clusters_it_shows(small):
    dense = small[0].map(lambda matrix: matrix.toarray())
    model = ConcatenatedViews(AgglomerativeClustering(3)).fit(dense)
    with pytest.warns(UserWarning, match="taken to be the same"):
        (clusters,) = Groups(Service(model, dense)).all()
    assert [group["size"] for group in clusters["groups"]] == np.bincount(model.labels_).tolist()
    (others,) = Groups(Service(model, dense[:-1])).all()
    assert {group["size"] for group in others["groups"]} == {None}


def test_columns_in_another_order_keep_their_names(small):
    X, _ = small
    model = LinkPLSA(3, **FAST).fit(X)
    order = np.random.default_rng(0).permutation(30)
    other = Views(
        {"words": X["words"][:, order], "image": X["image"]},
        ids=X.ids,
        feature_names={"words": X.feature_names["words"][order]},
    )
    with pytest.warns(UserWarning, match="its columns in another order"):
        service = Service(model, other)
    assert Groups(service).all() == Groups(Service(model, X)).all()


def test_members_are_those_that_the_model_puts_there(small):
    X, y = small
    model = MultiViewNaiveBayes().fit(X, y)
    browser = Explorer(Service(model, X))
    found = browser.groups.members("class", 1, 0, 100)
    assert {member["id"] for member in found["members"]} == set(X.ids[model.predict(X) == 1].tolist())
    shares = [member["share"] for member in found["members"]]
    assert shares == sorted(shares, reverse=True)
    with pytest.raises(ViewsError, match="There is no class 7"):
        browser.groups.members("class", 7, 0, 10)


def test_an_object_is_seen_from_all_its_views(small):
    X, y = small
    browser = Explorer(Service(MultiViewNaiveBayes().fit(X, y), X))
    found = browser.object("object 4")
    row = np.asarray(X["words"][[4]].toarray()).ravel()
    values = dict(found["views"][0]["features"])
    assert found["id"] == "object 4" and found["row"] == 4 and sum(values.values()) == row.sum()
    assert (found["before"], found["after"]) == ("object 3", "object 5")
    (opinion,) = found["opinions"]
    assert set(opinion["by_view"]) == {"words", "image"}
    with pytest.raises(ViewsError, match=r"There is no object 'object60'\. Did you mean 'object"):
        browser.object("object60")


def test_an_object_shows_what_every_model_says_of_it(small):
    X, y = small
    models = [MultiViewNaiveBayes().fit(X, y), MultiViewPLSA(3, 4, **FAST).fit(X), MultiViewNaiveBayes().fit(X, y % 2)]
    browser = Explorer(Service(models[0], X, also=models[1:]))
    opinions = browser.object("object 7")["opinions"]
    assert [(one["model"], one["kind"], one["pages"]) for one in opinions] == [
        ("MultiViewNaiveBayes", "class", True),
        ("MultiViewPLSA", "cluster", True),
        ("MultiViewNaiveBayes", "class", False),  # its groups have no pages: there are classes already
    ]
    for model, opinion in zip(models, opinions):
        proba = inspect(model).memberships(X[[7]])[0]
        assert opinion["together"][0][1] == proba.argmax()
        assert opinion["together"][0][2] == pytest.approx(proba.max(), abs=1e-4)
        alone = inspect(model).memberships(X[[7]].select("image"))[0]
        assert opinion["by_view"]["image"][0][1] == alone.argmax()


def test_an_object_shows_all_columns_of_its_table(small):
    X, y = small
    table = {"name": X.ids.tolist(), "year": np.arange(60), "note": [None, *("x" * 9_000 for _ in range(59))]}
    browser = Explorer(Service(MultiViewNaiveBayes().fit(X, y), X, table=table))
    assert browser.object("object 0")["columns"] == [["name", "object 0"], ["year", 0], ["note", None]]
    _, year, note = browser.object("object 5")["columns"]
    assert year == ["year", 5] and 5_000 < len(note[1]) < 9_000
    assert Explorer(Service(MultiViewNaiveBayes().fit(X, y), X)).object("object 0")["columns"] == []


def test_lists_tell_objects_by_a_short_column(small):
    X, y = small
    titles = [f"what object {i} is about" for i in range(60)]
    table = {
        "name": X.ids.tolist(),
        "kind": ["one kind of them"] * 60,
        "title": titles,
        "body": [f"{i} " * 90 for i in range(60)],
    }
    browser = Explorer(Service(MultiViewNaiveBayes().fit(X, y), X, table=table))
    assert [one["about"] for one in browser.objects()["objects"]] == titles[:50]
    assert browser.known(["object 3", "nobody"]) == [
        {
            "id": "object 3",
            "known": True,
            "about": titles[3],
            "label": str(inspect(browser.service.model.model).predict(X)[3]),
        },
        {"id": "nobody", "known": False, "about": None, "label": None},
    ]
    bare = Explorer(Service(MultiViewNaiveBayes().fit(X, y), X))
    assert bare.objects()["objects"][0]["about"] is None


def test_long_texts_tell_objects_where_there_are_no_short_ones_but_dates(small):
    X, y = small
    texts = [f"{i} foxes " * 90 for i in range(60)]
    table = {"date": [f"2019-01-{i:02}" for i in range(60)], "body": texts, "longer": [text * 2 for text in texts]}
    first = Explorer(Service(MultiViewNaiveBayes().fit(X, y), X, table=table)).objects()["objects"][0]
    assert first["about"] == cut(texts[0], 180)


def test_models_of_other_vocabularies_are_refused(small):
    X, y = small
    first = MultiViewNaiveBayes().fit(X, y)
    renamed = Views(dict(X.items()), feature_names={"words": X.feature_names["words"][::-1]}, ids=X.ids)
    narrow = Views(words=X["words"][:, :29], image=X["image"])
    foreign = Views(sound=X["words"], smell=X["image"])
    for other, sentence in (
        (renamed, "do not have the same vocabulary: in view 'words' feature 0 is 'wordaa' in one"),
        (narrow, "in view 'words' one has 30 features and the other 29"),
        (foreign, "have no view in common"),
    ):
        with pytest.raises(ViewsError, match=sentence):
            Service(first, X, also=[MultiViewNaiveBayes().fit(other, y)])
    assert Service(first, X, also=[MultiViewNaiveBayes().fit(X.select("words"), y)]).models  # fewer views are fine


def test_objects_are_found_by_a_part_of_their_name(small):
    browser = Explorer(Service(LinkPLSA(3, **FAST).fit(small[0]), small[0]))
    assert [one["id"] for one in browser.objects("OBJECT 5")["objects"]] == [
        "object 5",
        *(f"object 5{i}" for i in range(10)),
    ]
    assert browser.objects("nothing like it") == {"total": 0, "start": 0, "objects": [], "similar": []}
    assert browser.objects("objcet 17")["similar"][0] == "object 17"
    assert browser.objects("", 50)["objects"][0]["id"] == "object 50"


def test_what_the_file_carries_is_enough(small):
    browser = Explorer(Service(CoPLSA(3, **FAST).fit(small[0])))
    assert browser.objects()["total"] == 60 and browser.object("object 3")["views"] == []
    assert len(browser.object("object 3")["opinions"][0]["by_view"]) == 2
    assert browser.disagreement()["compared"] == 60


def test_disagreement_names_who_says_what(animals):
    found = animals.disagreement()
    assert [one["id"] for one in found["objects"]] == ["odd"]
    said = found["objects"][0]["by_view"]
    assert said["words"][0][0] == "dog" and said["image"][0][0] == "tree"
    (mixed,) = found["pairs"]
    assert (mixed["views"], mixed["groups"], mixed["objects"]) == (["words", "image"], ["dog", "tree"], 1)
    assert found["agreement"] == [["words", "image", 0.75, 4]]
    pair = ("words", "image", *mixed["keys"])
    assert [one["id"] for one in animals.disagreement(pair=pair)["objects"]] == ["odd"]
    assert animals.disagreement(pair=("words", "image", *mixed["keys"][::-1]))["total"] == 0
    with pytest.raises(ViewsError, match="views that are compared"):
        animals.disagreement(pair=("words", "sound", 0, 1))


def test_a_view_without_a_feature_of_an_object_does_not_disagree(small):
    X, y = small
    empty = np.arange(len(X)) % 4 == 0
    words = sparse.csr_array(np.where(empty[:, None], 0, sparse.csr_array(X["words"]).toarray()))
    bare = Views({"words": words, "image": X["image"]}, ids=X.ids)
    explorer = Explorer(Service(MultiViewNaiveBayes().fit(X, y), bare))
    found = explorer.disagreement()
    silent = set(X.ids[empty].tolist())
    assert not silent & {one["id"] for one in found["objects"]}
    assert explorer.object(X.ids[0])["opinions"][0]["by_view"]["words"] == []
    alone = [explorer.service.model.predict(bare.select(view)) for view in ("words", "image")]
    same = round(float(np.mean((alone[0] == alone[1])[~empty])), 4)
    assert found["agreement"] == [["words", "image", same, int((~empty).sum())]]  # those that have both


def test_what_is_mixed_up_is_never_an_agreement():
    # the first two views agree on all; the third and they do not
    kinds = np.arange(30) % 3
    one = 4.0 * np.eye(3)[kinds]
    other = 4.0 * np.eye(3)[np.where(kinds == 2, 0, kinds)]
    model = MultiViewNaiveBayes().fit(Views(a=one, b=one, c=one), np.array(["x", "y", "z"])[kinds])
    X = Views(a=one, b=one, c=other)
    found = Explorer(Service(model, X)).disagreement()
    assert {tuple(pair["views"]) for pair in found["pairs"]} == {("a", "c"), ("b", "c")}
    assert all(pair["groups"] == ["z", "x"] and pair["objects"] == 10 for pair in found["pairs"])
    answer = Explorer(Service(model, X)).disagreement(pair=("b", "c", 2, 0))
    assert answer["total"] == 10 and {one["id"] for one in answer["objects"]} == set(range(2, 30, 3))


def test_why_names_the_words_that_matter(retriever, small):
    browser = Explorer(Service(retriever, small[0]))
    hit = retriever.search("wordaa wordba", "words", "image", 1)[0][0][0]
    found = browser.why("wordaa wordba", "words", "image", hit)
    assert {part["name"] for part in found["features"]} == {"wordaa", "wordba"}
    whole = retriever.explain("wordaa wordba", hit, "words", "image").score
    without = retriever.explain("wordba", hit, "words", "image").score
    worth = next(part["adds"] for part in found["features"] if part["name"] == "wordaa")
    assert worth == pytest.approx(whole - without, abs=1e-4)


def test_shares_of_methods_are_not_sent_as_probabilities(small):
    X, _ = small
    browser = Explorer(Service(AutoClustering(3, random_state=0).fit(X), X))
    assert "probabilities" not in browser.service.predict(X[:2])
    assert not browser.groups.members("cluster", 0, 0, 5)["probabilities"]
    assert not browser.object(X.ids[0])["opinions"][0]["probabilities"]
    assert not browser.disagreement()["probabilities"]
    topics = Explorer(Service(LinkPLSA(3, **FAST).fit(X), X))
    assert topics.groups.members("topic", 0, 0, 5)["probabilities"] and topics.disagreement()["probabilities"]


def test_a_view_without_features_of_a_group_is_left_out():
    words, links = np.eye(2)[np.arange(12) % 2] * 4, np.zeros((12, 2))
    links[0, 0] = 1  # of one group alone
    X = Views(words=words, links=links, feature_names={"words": ["photo", "mail"], "links": ["a", "b"]})
    (part,) = Groups(Service(SpectralClusteringViews(2, random_state=0).fit(X), X)).all()
    assert sorted(list(group["views"]) for group in part["groups"]) == [["words"], ["words", "links"]]


def test_vectors_are_shown_by_objects_and_not_by_columns(small):
    words = small[0]["words"]
    rng = np.random.default_rng(0)
    arrays = {
        "words": words,
        "vector": rng.normal(size=(len(small[0]), 4)),
        "size": rng.normal(size=(len(small[0]), 2)),
    }
    X = Views(arrays, ids=small[0].ids, feature_names={"size": ["age", "price"]})
    model = LinkPLSA(3, **FAST).fit(X)
    browser = Explorer(Service(model, X))
    (part,) = browser.groups.all()
    nearest = [group.nearest["vector"] for group in inspect(model).explain(X, n_objects=6)]
    assert part["deviations"] == ["size"]
    deviations = inspect(model).described_features("size").deviations
    for k, group in enumerate(part["groups"]):
        assert set(group["views"]) <= {"words", "size"}
        assert [one["id"] for one in group["nearest"]["vector"]] == nearest[k]
        assert dict(group["views"]["size"]) == pytest.approx(dict(zip(["age", "price"], deviations[k])), rel=1e-3)
    shown = {view["name"]: view for view in browser.object(X.ids[0])["views"]}
    assert shown["vector"] | {"text": None} == {
        "name": "vector", "present": True, "text": None, "features": [], "total": 4, "vector": True,
    }  # fmt: skip
    assert {name for name, _ in shown["size"]["features"]} == {"age", "price"}
    taken = {view["name"]: view["likelihood"] for view in browser.service.info()["views"]}
    assert taken == {"words": "multinomial", "vector": "gaussian", "size": "gaussian"}

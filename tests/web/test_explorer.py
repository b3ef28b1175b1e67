"""The explorer's answers: the sections of `describe`, the pages that a model has, objects from all their views."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from coview import (
    AutoClustering,
    ConcatenatedViews,
    CrossModalRetriever,
    LinkPLSA,
    MultiViewCCA,
    MultiViewNaiveBayes,
    MultiViewPLSA,
    Views,
    describe,
    inspect,
)
from coview.exceptions import ViewsError
from coview.web.explorer import Explorer
from coview.web.service import Service

FAST = {"random_state": 0, "max_iter": 20}


@pytest.fixture(scope="module")
def topics(small):
    return LinkPLSA(3, **FAST).fit(small[0])


@pytest.fixture(scope="module")
def explorer(small, topics):
    table = {
        "date": [f"20{10 + i % 10}-03-01" for i in range(60)],
        "venue": [None if i == 5 else f"venue {i % 3}" for i in range(60)],
        "title": [f"The {i}th story" for i in range(60)],
    }
    return Explorer(Service(topics, small[0], table=table))


def test_sections_are_those_of_describe(explorer, small, topics):
    expected = describe(topics, small[0])
    for name in ("groups", "group_names", "map", "quality", "views", "data", "model"):
        assert explorer.section(0, name) == expected[name], name
    typical = [part["group"] for part in expected["examples"]["typical"]]
    assert [part["group"] for part in explorer.section(0, "examples")["typical"]] == typical
    assert explorer.section(0, "scores") is None
    with pytest.raises(ViewsError, match="There is no section 'nothing'"):
        explorer.section(0, "nothing")
    with pytest.raises(ViewsError, match="There is no model 7"):
        explorer.section(7, "groups")


def test_prevalence_is_that_of_inspect(explorer, small, topics):
    values = explorer.service.cells("venue")
    expected = inspect(topics).prevalence(small[0], by=values)
    found = explorer.prevalence(0, "venue")
    assert found["values"] == expected.bins.labels and found["without"] == 1 and found["kind"] == "category"
    np.testing.assert_allclose(found["share"], expected.shares.T)
    assert (np.array(found["low"]) < found["share"]).all() and (np.array(found["high"]) > found["share"]).all()
    assert explorer.columns == ["date", "venue"]  # nearly all titles differ
    with pytest.raises(ViewsError, match="Prevalence is shown by the columns 'date', 'venue', not by 'title'"):
        explorer.prevalence(0, "title")


def test_columns_are_those_that_were_asked_for(explorer, small, topics):
    table = {"date": explorer.service.cells("date"), "venue": explorer.service.cells("venue")}
    assert Explorer(Service(topics, small[0], table=table, by=["venue"])).columns == ["venue"]
    with pytest.raises(ViewsError, match=r"no column 'venu' for by.*Did you mean 'venue'"):
        Service(topics, small[0], table=table, by=["venu"])
    with pytest.raises(ViewsError, match="by names columns of a raw table, 'venue', but the objects come from none"):
        Service(topics, small[0], by=["venue"])


def test_pages_that_mean_nothing_are_not_there(small):
    X, y = small
    start, end = ["overview", "groups", "objects"], ["try", "model"]
    one = X.select("words")
    cca = MultiViewCCA(2).fit(X)
    for model, data, pages in (
        (LinkPLSA(3, **FAST).fit(X), X, [*start, "views", *end]),
        (MultiViewNaiveBayes().fit(X, y), X, [*start, "views", "label", *end]),
        (LinkPLSA(3, **FAST).fit(one), one, [*start, *end]),
        (LinkPLSA(3, **FAST).fit(X), None, [*start, *end]),  # nobody knows what the views say
        (CrossModalRetriever(cca).fit(X), X, [*start, *end]),  # components are groups without disputes
        (ConcatenatedViews(Ridge()).fit(X.map(lambda part: part.toarray()), y), None, ["overview", *end]),
    ):
        assert Explorer(Service(model, data)).pages == pages, type(model)


def test_members_are_those_that_the_model_puts_there_the_typical_ones_first(small):
    X, y = small
    model = MultiViewNaiveBayes().fit(X, y)
    explorer = Explorer(Service(model, X))
    found = explorer.members(0, "1", 0, 100)
    ids = [member["id"] for member in found["members"]]
    assert set(ids) == set(X.ids[model.predict(X) == 1].tolist()) and len(ids) == found["total"]
    # votes and sure classifiers give many objects the same share: these tell nothing of which is typical
    typical = next(part for part in explorer.section(0, "examples")["typical"] if part["group"] == "1")["objects"]
    assert ids[: len(typical)] == [one["id"] for one in typical]
    shares = [member["share"] for member in found["members"][len(typical) :]]
    assert shares == sorted(shares, reverse=True)
    assert explorer.members(0, "1", 2, 3)["members"] == found["members"][2:5]
    with pytest.raises(ViewsError, match="There is no class '7'"):
        explorer.members(0, "7", 0, 10)


def measurements():
    """Patients of two groups; the first differ in age, and nobody in height."""
    rng = np.random.default_rng(0)
    body = rng.normal(size=(80, 2)) * [1, 0.1] + [40, 170]
    body[::2, 0] += 30
    return Views(
        {"body": body, "test": body[:, :1] + rng.normal(size=(80, 1))},
        feature_names={"body": ["age", "height"], "test": ["pressure"]},
        ids=[f"patient {i}" for i in range(80)],
    )


def test_measurements_have_directions_in_names_cards_and_captions():
    X = measurements()
    explorer = Explorer(Service(AutoClustering(2, random_state=0).fit(X), X))
    assert {name.split(", ")[0] for name in explorer.section(0, "group_names").values()} <= {
        "high age", "low age", "high pressure", "low pressure"
    }  # fmt: skip
    for item in explorer.section(0, "groups")["items"]:
        directions = [text.split()[0] for text in item["about"]]
        assert set(directions) <= {"high", "low"}
    far = (X["body"] - X["body"].mean(axis=0)) / X["body"].std(axis=0)
    for line, row in zip(explorer.lines(list(range(80))), far):
        about = line["about"] or ""  # nothing where an object is about average: the list has its id
        assert ("high age" in about) == (row[0] >= 1) and ("low height" in about) == (row[1] <= -1)


def test_texts_are_not_taken_by_views_of_measurements():
    X = measurements()
    info = Service(AutoClustering(2, random_state=0).fit(X), X).info()
    assert [view["takes"] for view in info["views"]] == [["numbers", "names"]] * 2


def test_an_object_shows_what_every_model_says_of_it(small):
    X, y = small
    models = [MultiViewNaiveBayes().fit(X, y), MultiViewPLSA(3, 4, **FAST).fit(X)]
    browser = Explorer(Service(models[0], X, also=models[1:]))
    opinions = browser.object("object 7")["opinions"]
    assert [(one["at"], one["model"], one["kind"]) for one in opinions] == [
        (0, "MultiViewNaiveBayes", "class"),
        (1, "MultiViewPLSA", "cluster"),
    ]
    for model, opinion in zip(models, opinions):
        proba = inspect(model).memberships(X[[7]])[0]
        assert opinion["together"][0][1] == proba.argmax()
        assert opinion["together"][0][2] == pytest.approx(proba.max(), abs=1e-4)
        alone = inspect(model).memberships(X[[7]].select("image"))[0]
        assert opinion["by_view"]["image"][0][1] == alone.argmax()


def test_models_of_other_vocabularies_are_refused(small):
    X, y = small
    first = MultiViewNaiveBayes().fit(X, y)
    renamed = Views(dict(X.items()), feature_names={"words": X.feature_names["words"][::-1]}, ids=X.ids)
    narrow = Views(words=X["words"][:, :29], image=X["image"])
    foreign = Views(sound=X["words"], smell=X["image"])
    for other, sentence in (
        (renamed, "do not have the same features in view 'words'"),
        (narrow, "do not have the same features in view 'words'"),
        (foreign, "have no view in common"),
    ):
        with pytest.raises(ViewsError, match=sentence):
            Service(first, X, also=[MultiViewNaiveBayes().fit(other, y)])
    assert Service(first, X, also=[MultiViewNaiveBayes().fit(X.select("words"), y)]).models  # fewer views are fine


def test_words_find_the_objects_that_have_all_of_them(explorer, small):
    X, _ = small
    matrix = sparse.csr_array(X["words"]).toarray()
    names = X.feature_names["words"].tolist()
    both = np.flatnonzero((matrix[:, names.index("wordaa")] > 0) & (matrix[:, names.index("wordba")] > 0))
    found = explorer.objects("WORDAA wordba")
    assert {one["id"] for one in found["objects"]} == set(X.ids[both].tolist()) and found["unknown"] == []
    assert explorer.objects("wordaa zebra")["unknown"] == ["zebra"]  # said, and no near ones in its place
    assert [one["id"] for one in explorer.objects("7th story")["objects"]][:1] == ["object 7"]
    bare = sparse.csr_array(X["words"] * (np.arange(30) > 0)[None])  # zeros that are kept are no words
    emptied = Views({"words": bare, "image": X["image"]}, feature_names=X.feature_names, ids=X.ids)
    assert Explorer(Service(explorer.service.given[0], emptied)).objects("wordaa")["unknown"] == ["wordaa"]


def test_an_object_has_all_columns_but_that_of_its_name(small, topics):
    X = Views(dict(small[0].items()), feature_names=small[0].feature_names)
    explorer = Explorer(Service(topics, X, table={"key": list(range(60)), "rating": [i % 5 for i in range(60)]}))
    assert explorer.object(4)["columns"] == [["rating", 4]]


def test_shares_of_methods_are_not_sent_as_probabilities(small, topics):
    X, _ = small
    browser = Explorer(Service(AutoClustering(3, random_state=0).fit(X), X))
    assert "probabilities" not in browser.service.predict(X[:2])
    assert not browser.members(0, "0", 0, 5)["probabilities"]
    assert not browser.object(X.ids[0])["opinions"][0]["probabilities"]
    assert Explorer(Service(topics, X)).members(0, "0", 0, 5)["probabilities"]


def test_an_exact_word_of_the_table_is_found_though_no_view_has_it(small):
    X, y = small
    notes = [f"nothing of note, {i}" for i in range(60)]
    notes[17] = "A Xylophone-player; see (50%)"
    table = {
        "name": X.ids.tolist(),
        "note": notes,
        "tags": [["red", "rare tag"] if i == 3 else ["red"] for i in range(60)],
    }
    browser = Explorer(Service(MultiViewNaiveBayes().fit(X, y), X, table=table))
    for query, row in (("xylophone", 17), ("(50%)", 17), ("rare", 3)):
        assert [one["id"] for one in browser.objects(query)["objects"]] == [X.ids[row]], query
    assert browser.objects("note")["total"] == 59 and browser.objects("lophone")["total"] == 0

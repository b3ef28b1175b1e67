"""Labels given in the explorer: what to label next, and what a refit with them changes."""

from __future__ import annotations

import numpy as np
import pytest

from coview import (
    AutoClassifier,
    LinkPLSA,
    MultiViewNaiveBayes,
    inspect,
    suggest_labels,
)
from coview.exceptions import ViewsError
from coview.inspection.choice import describe_accuracy
from coview.web.api import make_app
from coview.web.explorer import Explorer
from coview.web.run import running
from coview.web.service import Service


@pytest.fixture(scope="module")
def labeled(small):
    """Views, all classes as texts, and labels of the first nine objects."""
    X, target = small
    names = np.array([f"class {code}" for code in target], dtype=object)
    return X, names, np.where(np.arange(len(X)) < 9, names, None)


@pytest.fixture(scope="module")
def explorer(labeled):
    X, _, y = labeled
    return Explorer(Service(MultiViewNaiveBayes().fit(X, y), X, labels=y))


def test_what_to_label_next_is_what_suggest_labels_names(explorer, labeled):
    X, _, y = labeled
    found = explorer.labeling.suggestions({}, 4)
    expected = suggest_labels(explorer.service.model.preparation.model, X, 4, y=y)
    assert [one["id"] for one in found["objects"]] == X.ids[expected.indices].tolist()
    assert found["classes"] == ["class 0", "class 1", "class 2"] and found["refits"]
    assert (found["n_labeled"], found["n_unlabeled"]) == (9, 51)


def test_what_was_labeled_is_not_named_again(explorer, labeled):
    first = explorer.labeling.suggestions({}, 5)["objects"]
    given = {one["id"]: "class 1" for one in first}
    again = explorer.labeling.suggestions(given, 60)
    assert not set(given) & {one["id"] for one in again["objects"]} and again["n_labeled"] == 14


def test_a_refit_changes_what_a_fit_with_these_labels_changes(explorer, labeled):
    X, names, y = labeled
    swapped = {"class 0": "class 1", "class 1": "class 0", "class 2": "class 2"}  # wrong, so that something changes
    more = y.copy()
    more[20:50] = [swapped[name] for name in names[20:50]]
    found = explorer.labeling.refit(dict(zip(X.ids[20:50].tolist(), more[20:50])))
    before, after = (MultiViewNaiveBayes().fit(X, labels).predict(X) for labels in (y, more))
    assert found["changed"] == int((before != after).sum()) > 0 and found["objects"] == len(X)
    assert {(one["id"], one["before"], one["after"]) for one in found["changes"]} <= set(zip(X.ids, before, after))
    assert (found["given"], found["right"]) == (30, int(sum(before[20:50] == more[20:50])))
    assert found["accuracy"] == [None, None] and found["next"]["n_labeled"] == 39
    assert (
        explorer.service.model.preparation.model.predict(X) == before
    ).all()  # the model that was loaded is as it was


def test_held_out_accuracy_is_told_where_the_model_knows_it(labeled):
    X, names, y = labeled
    auto = AutoClassifier(random_state=0).fit(X, y)
    found = Explorer(Service(auto, X, labels=y)).labeling.refit({X.ids[30]: str(names[30])})
    more = y.copy()
    more[30] = names[30]
    again = AutoClassifier(random_state=0).fit(X, more)
    assert found["accuracy"] == [describe_accuracy(inspect(each).selection.held_out) for each in (auto, again)]
    assert f"{auto.accuracy_:.2f} (" in found["accuracy"][0]
    assert found["largest_class"] == again.class_prior_.max()


def test_what_cannot_be_done_is_refused_in_a_sentence(explorer, small):
    with pytest.raises(ViewsError, match=r"There is no class 'class 7'; the classes are"):
        explorer.labeling.refit({"object 3": "class 7"})
    with pytest.raises(ViewsError, match="There is no object 'object 77'"):
        explorer.labeling.suggestions({"object 77": "class 0"})
    topics = Explorer(Service(LinkPLSA(3, random_state=0, max_iter=5).fit(small[0]), small[0]))
    assert "label" not in topics.pages
    with pytest.raises(ViewsError, match="Labels are suggested by a classifier"):
        topics.labeling.suggestions({})


def test_a_new_class_is_learned_by_a_refit(explorer, labeled):
    X, names, y = labeled
    renamed = np.flatnonzero((names == "class 2") & (np.arange(len(X)) >= 9))
    given = dict.fromkeys(X.ids[renamed].tolist(), "class 7")
    first = explorer.labeling.suggestions(given, 5, new_classes=["class 7"])
    assert not set(given) & {one["id"] for one in first["objects"]} and first["takes_new_classes"]
    found = explorer.labeling.refit(given, new_classes=["class 7"])
    more = y.copy()
    more[renamed] = "class 7"
    expected = MultiViewNaiveBayes().fit(X, more).predict(X)
    assert {one["id"]: one["after"] for one in found["changes"]}.items() <= dict(zip(X.ids, expected)).items()
    assert found["right"] == 0 and "class 7" in {one["after"] for one in found["changes"]}


def test_labels_are_given_over_http(labeled):
    import httpx

    X, names, y = labeled
    service = Service(MultiViewNaiveBayes().fit(X, y), X, labels=y)
    with running(make_app(service, page=True)) as url, httpx.Client(base_url=url) as client:
        assert "label" in client.get("/api/about").json()["pages"]
        first = client.post("/api/suggestions", json={"n": 3}).json()["objects"]
        row = X.ids.tolist().index(first[0]["id"])
        answer = client.post("/api/refit", json={"labels": {first[0]["id"]: names[row]}}).json()
        assert answer["given"] == 1 and first[0]["id"] not in {one["id"] for one in answer["next"]["objects"]}
        more = {"labels": {first[0]["id"]: "new"}, "new_classes": ["new"], "skipped": [first[1]["id"]]}
        answer = client.post("/api/refit", json=more).json()
        assert answer["given"] == 1 and first[1]["id"] not in {one["id"] for one in answer["next"]["objects"]}
        assert client.get("/api/known_labels").json() == [[X.ids[i], names[i]] for i in range(9)]
        wrong = client.post("/api/refit", json={"labels": {"nobody": "class 0"}})
        assert wrong.status_code == 422 and "There is no object 'nobody'" in wrong.json()["error"]

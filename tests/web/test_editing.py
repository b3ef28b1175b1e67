"""Edits in the explorer: previews change nothing, edits show everywhere at once, and only one file is ever written."""

import httpx
import numpy as np
import pytest
from scipy import sparse

from coview import (
    AutoClassifier,
    LinkPLSA,
    MultiViewNaiveBayes,
    audit_labels,
    edit,
    inspect,
    load,
    save,
    suggest_labels,
)
from coview.exceptions import ParameterError, ViewsError
from coview.inspection.choice import describe_accuracy
from coview.web.api import make_app
from coview.web.editing import Editing
from coview.web.explorer import Explorer
from coview.web.run import running
from coview.web.service import Service

MERGE = {"edit": "merge", "groups": [0, 3], "name": "<b>animals</b>"}


@pytest.fixture(scope="module")
def model(small):
    return LinkPLSA(5, random_state=0, max_iter=20).fit(small[0])


@pytest.fixture
def editing(small, model):
    return Editing(Service(model, small[0]))


def sizes(editing):
    return {group["name"]: group["size"] for group in editing.explorer.section(0, "groups")["items"]}


def numbers(state):
    return list(state["numbers"].values())


@pytest.mark.parametrize(
    "record",
    [
        MERGE,
        {"edit": "drop", "group": 2},
        {"edit": "noise", "group": 1},
        {"edit": "rename", "group": 4, "name": "new"},
        {"edit": "reduce", "n": 2},
        {"edit": "split", "group": 3, "n": 2},
    ],
    ids=lambda record: record["edit"],
)
def test_a_preview_names_what_moves_and_changes_nothing(editing, small, model, record):
    X, _ = small
    before = sizes(editing), editing.state()
    shown = editing.preview(record)
    expected = edit(model).preview(record, X)
    assert (sizes(editing), editing.state()) == before
    assert shown["moved"] == len(expected["row"]) and shown["objects"] == len(X) and shown["edit"] == expected.edit
    assert [flow["objects"] for flow in shown["flows"]] == expected.counts["n_objects"]
    editing.apply(record)
    after = edit(model).apply(record, X)
    reading = editing.explorer.summary(0).objects.reading
    assert np.array([*after.numbers_, -1])[reading.codes].tolist() == after.predict(X).tolist()
    np.testing.assert_allclose(reading.memberships, after.transform(X), atol=1e-9)
    assert len(shown["groups"]) == len(after.numbers_)


def test_an_edit_shows_on_every_page_and_undo_takes_it_back(editing, small, model):
    X, _ = small
    first = editing.explorer.section(0, "groups"), editing.explorer.section(0, "map")
    editing.apply(MERGE)
    edited = edit(model).apply(MERGE)
    names = editing.explorer.section(0, "group_names")
    assert names["0"] == "<b>animals</b>" and list(names) == ["0", "1", "2", "4"]
    assert editing.explorer.object("object 7")["opinions"][0]["together"][0][0] in names.values()
    assert len(editing.explorer.section(0, "map")["names"]) == 4
    assert editing.service.predict(X)["labels"] == edited.predict(X).tolist()
    editing.apply({"edit": "noise", "group": 2})
    assert editing.state()["log"] == ["merge 0 and 3 into 0, '<b>animals</b>'", "mark 2 as noise"]
    assert numbers(editing.undo()) == [0, 1, 2, 4] and editing.undo()["log"] == []
    assert (editing.explorer.section(0, "groups"), editing.explorer.section(0, "map")) == first
    with pytest.raises(ViewsError, match="There is nothing to undo"):
        editing.undo()


def test_refused_edits_change_nothing(editing):
    for record, sentence in (
        ({"edit": "drop", "group": 17}, "There is no group 17"),
        ({"edit": "merge", "groups": [1]}, "two"),
        ({"edit": "reduce", "n": 9}, "at most the number of groups, 5"),
        ({"edit": "rename", "group": 0}, "name"),
    ):
        for ask in (editing.preview, editing.apply):
            with pytest.raises(ParameterError, match=sentence):
                ask(record)
    assert editing.state()["log"] == [] and numbers(editing.state()) == [0, 1, 2, 3, 4]


def test_edits_are_saved_in_the_file_that_was_named(small, model, tmp_path):
    X, _ = small
    save(model, tmp_path / "model.coview")
    original = (tmp_path / "model.coview").read_bytes()
    editing = Editing(Service(load(tmp_path / "model.coview"), X), tmp_path / "edited.coview")
    assert editing.state()["saves_to"] == "edited.coview" and not editing.state()["unsaved"]
    with pytest.raises(ViewsError, match="no edits to save"):
        editing.save()
    assert editing.apply(MERGE)["unsaved"] and not editing.save()["unsaved"]
    again = load(tmp_path / "edited.coview")
    assert again.log() == editing.state()["log"]
    assert again.predict(X).tolist() == edit(model).apply(MERGE).predict(X).tolist()
    assert (tmp_path / "model.coview").read_bytes() == original and len(list(tmp_path.iterdir())) == 2
    more = Editing(Service(again, X))  # goes on where the file left off
    assert more.apply({"edit": "drop", "group": 1})["log"] == [*editing.state()["log"], "drop 1"]
    assert more.undo()["log"] == editing.state()["log"] and more.undo()["log"] == []
    with pytest.raises(ViewsError, match="--save-edits"):
        more.save()


def test_the_edited_model_can_be_downloaded(small, model, tmp_path):
    X, _ = small
    editing = Editing(Service(model, X, title='my "new" model.coview'))
    with pytest.raises(ViewsError, match="no edits to download"):
        editing.write(tmp_path / "sent.coview")
    editing.apply(MERGE)
    assert editing.write(tmp_path / "sent.coview") == 'my "new" model-edited.coview'
    found = load(tmp_path / "sent.coview")
    assert found.edits_ == edit(model).apply(MERGE).edits_
    np.testing.assert_array_equal(found.predict(X), edit(model).apply(MERGE).predict(X))
    assert editing.state()["unsaved"]  # in the file of --save-edits, of which there is none
    named = Editing(Service(model, X), tmp_path / "edited.coview")
    named.apply(MERGE)
    assert named.write(tmp_path / "sent.coview") == "edited.coview" and not (tmp_path / "edited.coview").exists()
    editing.undo()
    with pytest.raises(ViewsError, match="no edits to download"):
        editing.write(tmp_path / "sent.coview")


# -- over HTTP


@pytest.fixture
def client(small, model, tmp_path):
    app = make_app(Service(model, small[0]), page=True, save_edits=tmp_path / "edited.coview")
    with running(app) as url, httpx.Client(base_url=url) as found:
        yield found


def test_a_page_of_another_site_cannot_edit(client, tmp_path):
    for headers, status in (
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1"}, 403),  # another port
    ):
        for path in ("preview", "apply", "undo", "save", "download"):
            sent = {"Content-Type": "application/json", **headers}
            answer = client.post(f"/api/edits/{path}", content=b'{"edit": "drop", "group": 1}', headers=sent)
            assert answer.status_code == status and answer.json()["error"].endswith(".")
    assert client.get("/api/edits").json()["log"] == []
    own = {"Origin": str(client.base_url).rstrip("/")}
    assert numbers(client.post("/api/edits/apply", json=MERGE, headers=own).json()) == [0, 1, 2, 4]


def test_an_answer_is_that_of_one_model(small, model):
    X, _ = small
    edits = []

    class Edited(Service):
        """While it answers the first rows, somebody makes an edit."""

        def answer(self, key, questions):
            if not edits:
                edits.append(httpx.post(f"{url}/api/edits/apply", json=MERGE).json()["log"])
            return super().answer(key, questions)

    with running(make_app(Edited(model, X), page=True)) as url:
        view = X.names[0]
        words = X[view].toarray() if sparse.issparse(X[view]) else X[view]
        asked = {"rows": {view: np.asarray(words)[:30].tolist()}, "top": 5}
        sent = httpx.post(f"{url}/predict", json=asked).json()
        after = httpx.post(f"{url}/predict", json=asked).json()
    assert len(edits) == 1 and len(edits[0]) == 1
    assert len(sent["classes"]) == 5 and {len(row) for row in sent["probabilities"]} == {5}
    assert len(after["classes"]) == 4 and {len(row) for row in after["probabilities"]} == {4}


def test_edits_reach_predictions_and_wrong_ones_are_told(client, small):
    rows = {"rows": {"words": small[0]["words"][[0]].toarray().tolist()}}
    client.post("/api/edits/apply", json={"edit": "reduce", "n": 1})
    answer = client.post("/predict", json=rows).json()
    assert len(answer["classes"]) == 1 and len(answer["probabilities"][0]) == 1
    for record in (
        *({"edit": "explode"}, {"edit": "drop", "group": 99}, {"edit": "merge", "groups": list(range(1001))}),
        *({"edit": "rename", "group": 0, "name": "x" * 201}, {"edit": "split", "group": 0, "n": 10**9}, {}),
    ):
        assert client.post("/api/edits/apply", json=record).status_code == 422


# -- Labels given in the explorer: what to label next, and what a refit with them changes


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
        assert {"label", "check"} <= set(client.get("/api/about").json()["pages"])
        first = client.post("/api/suggestions", json={"n": 3}).json()["objects"]
        row = X.ids.tolist().index(first[0]["id"])
        answer = client.post("/api/refit", json={"labels": {first[0]["id"]: names[row]}}).json()
        assert answer["given"] == 1 and first[0]["id"] not in {one["id"] for one in answer["next"]["objects"]}
        more = {"labels": {first[0]["id"]: "new"}, "new_classes": ["new"], "skipped": [first[1]["id"]]}
        answer = client.post("/api/refit", json=more).json()
        assert answer["given"] == 1 and first[1]["id"] not in {one["id"] for one in answer["next"]["objects"]}
        assert client.get("/api/known_labels").json() == [[X.ids[i], names[i]] for i in range(9)]
        found = client.get("/api/audit", timeout=120).json()
        audit = audit_labels(service.model.preparation.model, X, y, random_state=0)
        rows = audit.rows[: max(audit.n_doubted, 5)]  # those more likely wrong than right, and some where few are
        assert (found["labels"], found["doubted"]) == (9, audit.n_doubted)
        assert [one["id"] for one in found["objects"]] == [X.ids[row["row"]] for row in rows]
        others = Explorer(Service(service.model.preparation.model, X, labels=names, title=service.title))
        # what was decided of some labels is not said of others
        assert others.about()["fingerprint"] != client.get("/api/about").json()["fingerprint"]
        wrong = client.post("/api/refit", json={"labels": {"nobody": "class 0"}})
        assert wrong.status_code == 422 and "There is no object 'nobody'" in wrong.json()["error"]

"""Edits in the explorer: previews change nothing, edits show everywhere at once, and only one file is ever written."""

from __future__ import annotations

import httpx
import numpy as np
import pytest
from scipy import sparse

from coview import (
    LinkPLSA,
    MultiViewNaiveBayes,
    edit,
    load,
    save,
)
from coview.exceptions import ParameterError, ViewsError
from coview.web.api import make_app
from coview.web.editing import Editing
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


def test_only_topics_and_clusters_are_edited(small, model):
    X, y = small
    classes = Editing(Service(MultiViewNaiveBayes().fit(X, y), X))
    assert classes.state() == {"editable": False}
    with pytest.raises(ViewsError, match="Only topics and clusters can be edited"):
        classes.apply(MERGE)
    both = Editing(Service(MultiViewNaiveBayes().fit(X, y), X, also=[model]))
    assert both.state()["at"] == 1 and numbers(both.apply(MERGE)) == [0, 1, 2, 4]
    assert [part["kind"] for part in both.explorer.about()["shown"]] == ["class", "topic"]


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


def test_a_download_is_a_model_file_with_a_name(client, small, tmp_path):
    refused = client.post("/api/edits/download", json={})
    assert refused.status_code == 422 and "no edits to download" in refused.json()["error"]
    client.post("/api/edits/apply", json=MERGE)
    answer = client.post("/api/edits/download", json={})
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == 'attachment; filename="edited.coview"'
    assert not list(tmp_path.iterdir())  # nothing is kept here
    (tmp_path / "mine.coview").write_bytes(answer.content)
    assert load(tmp_path / "mine.coview").numbers_ == [0, 1, 2, 4]


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
        {"edit": "explode"},
        {"edit": "drop", "group": 99},
        {"edit": "merge", "groups": list(range(1001))},
        {"edit": "rename", "group": 0, "name": "x" * 201},
        {"edit": "split", "group": 0, "n": 10**9},
        {},
    ):
        assert client.post("/api/edits/apply", json=record).status_code == 422

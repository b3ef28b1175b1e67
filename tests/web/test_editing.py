"""Edits in the explorer: previews change nothing, edits show everywhere at once, and only one file is ever written."""

from __future__ import annotations

import tempfile
import time
import tracemalloc

import httpx
import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline

from coview import (
    PLSA,
    ConcatenatedViews,
    LinkPLSA,
    MultiViewNaiveBayes,
    SpectralClusteringViews,
    TextViews,
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


def test_an_edit_after_its_preview_works_out_nothing_again(editing, monkeypatch):
    editing.preview(MERGE)
    monkeypatch.setattr(Service, "with_model", None)
    assert numbers(editing.apply(MERGE)) == [0, 1, 2, 4]


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


def test_what_the_file_holds_is_said_after_every_step(small, model, tmp_path):
    path = tmp_path / "x.coview"
    editing = Editing(Service(model, small[0]), path)
    nothing, same = "Nothing is saved in x.coview yet.", "x.coview holds the model as it is here."
    other = "x.coview does not hold the edits as they are here: save again."
    assert editing.state()["file"] == nothing and editing.apply({"edit": "merge", "groups": [1, 3]})["file"] == nothing
    assert editing.save()["file"] == same
    assert editing.apply({"edit": "drop", "group": 0})["file"] == other
    assert editing.undo()["file"] == same and editing.undo()["file"] == other
    assert load(path).log() == ["merge 1 and 3 into 1"]
    assert editing.save()["file"] == same
    assert isinstance(load(path), LinkPLSA)
    unnamed = Editing(Service(model, small[0]))
    assert unnamed.state()["file"] == "Nothing is edited. The model file stays as it is."
    assert "download the edited model to keep them" in unnamed.apply({"edit": "drop", "group": 0})["file"]


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


def test_a_place_that_is_none_is_refused_at_the_start(small, model, tmp_path):
    X, y = small
    for place in (tmp_path, tmp_path / "nowhere" / "edited.coview"):
        with pytest.raises(ValueError, match="that is no place for a file"):
            Editing(Service(model, X), place)
    with pytest.raises(ValueError, match="no model here has topics or clusters to edit"):
        Editing(Service(MultiViewNaiveBayes().fit(X, y), X), tmp_path / "edited.coview")


def test_only_topics_and_clusters_are_edited(small, model):
    X, y = small
    classes = Editing(Service(MultiViewNaiveBayes().fit(X, y), X))
    assert classes.state() == {"editable": False}
    with pytest.raises(ViewsError, match="Only topics and clusters can be edited"):
        classes.apply(MERGE)
    both = Editing(Service(MultiViewNaiveBayes().fit(X, y), X, also=[model]))
    assert both.state()["at"] == 1 and numbers(both.apply(MERGE)) == [0, 1, 2, 4]
    assert [part["kind"] for part in both.explorer.about()["shown"]] == ["class", "topic"]


def test_one_edit_is_made_at_a_time(editing):
    with editing._alone(), pytest.raises(ViewsError, match="Another edit is being made"):
        editing.apply(MERGE)
    assert numbers(editing.apply(MERGE)) == [0, 1, 2, 4]


def test_pipelines_from_raw_tables_and_clusterers_without_predict_are_edited(small):
    X, _ = small
    words = ["red fox runs fast", "blue sea waves roll", "green tree leaf grows"]
    table = {"body": [f"{words[i % 3]} {words[(i * i) % 3]}" for i in range(45)]}
    pipeline = make_pipeline(TextViews(columns=["body"], min_df=1), PLSA(3, random_state=0, max_iter=30)).fit(table)
    views = pipeline[0].transform(table)
    raw = Editing(Service(pipeline, views, table=table))
    raw.apply({"edit": "split", "group": 0, "n": 2})
    assert raw.explorer.section(0, "groups")["count"] == 4
    for clusterer in (
        SpectralClusteringViews(4, random_state=0),
        ConcatenatedViews(KMeans(4, random_state=0, n_init=1)),
    ):
        clusters = Editing(Service(clusterer.fit(X), X))
        before = np.array([0, 1, 2, 3])[clusters.explorer.summary(0).objects.reading.codes]
        clusters.apply({"edit": "merge", "groups": [1, 2]})
        after = np.array([0, 1, 3])[clusters.explorer.summary(0).objects.reading.codes]
        assert after.tolist() == np.where(before == 2, 1, before).tolist()


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


def test_no_request_names_a_file(client, tmp_path):
    client.post("/api/edits/apply", json=MERGE)
    sent = {"path": str(tmp_path / "other.coview"), "save_to": str(tmp_path / "other.coview")}
    assert client.post("/api/edits/save", json=sent).json()["unsaved"] is False
    assert [file.name for file in tmp_path.iterdir()] == ["edited.coview"]


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


def _is_soon_empty(folder):
    for _ in range(100):
        if not list(folder.iterdir()):
            return True
        time.sleep(0.05)
    return False


def test_a_download_takes_its_time_but_no_memory_and_leaves_no_file(small, model, tmp_path, monkeypatch):
    kept = tmp_path / "temporary"
    kept.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(kept))

    def save_slowly(model, path):
        time.sleep(0.8)
        with open(path, "wb") as stream:
            stream.truncate(2**26)

    monkeypatch.setattr("coview.web.editing.save", save_slowly)
    edited = edit(model).apply(MERGE)
    app = make_app(Service(edited, small[0]), page=True, seconds=0.4)
    tracemalloc.start()
    with running(app) as url, httpx.Client(base_url=url, timeout=30) as client:
        with client.stream("POST", "/api/edits/download", json={}) as answer:
            assert answer.status_code == 200 and int(answer.headers["content-length"]) == 2**26
            assert len(list(kept.iterdir())) == 1
            assert sum(len(part) for part in answer.iter_raw()) == 2**26
        assert tracemalloc.get_traced_memory()[1] < 2**25
        assert _is_soon_empty(kept)
        with client.stream("POST", "/api/edits/download", json={}) as answer:
            next(answer.iter_raw())  # and goes away
        assert _is_soon_empty(kept)
    tracemalloc.stop()


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

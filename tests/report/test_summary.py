"""What a report says, before it has a form."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, normalized_mutual_info_score
from sklearn.pipeline import make_pipeline

from coview import (
    PLSA,
    AutoClustering,
    LinkPLSA,
    MultiViewNaiveBayes,
    TableViews,
    Views,
    make_report,
)
from coview.datasets import make_topic_views
from coview.report import summary


def summary_of(*args, **options):
    return make_report(*args, **options).summary


def test_it_is_json(report):
    assert json.loads(json.dumps(report.summary, allow_nan=False)) == report.summary


def test_every_model_says_what_it_is_and_how_to_repeat_it(model):
    found = summary_of(model)
    assert found["model"]["name"] == type(model).__name__
    assert {row["name"] for row in found["model"]["parameters"]} <= set(model.get_params(deep=False))


def test_views_are_described_as_they_are(make):
    words = np.array([[1.0, 0, 0], [0, 2, 0], [3, 3, 0], [0, 0, 0]])
    X = Views(
        words=words, links=np.eye(4), present={"links": [True, True, True, True], "words": [True, True, True, False]}
    )
    model = PLSA(2, max_iter=3, random_state=0).fit(X)
    rows = {row["name"]: row for row in summary_of(model, X)["data"]["views"]}
    assert rows["words"]["density"] == 4 / 12
    assert rows["words"]["missing"] == 0.25 and rows["links"]["missing"] == 0
    assert rows["words"]["per_object"] == 1


def test_measures_are_those_of_scikit_learn(make, data):
    X, y = data
    classes = summary_of(make("MultiViewNaiveBayes"), X, y)["scores"]
    said = make("MultiViewNaiveBayes").predict(X)
    assert classes["measures"][0]["value"] == pytest.approx(accuracy_score(y, said))
    assert classes["confusion"]["counts"] == confusion_matrix(y, said).tolist()
    clusters = summary_of(make("MultiViewPLSA"), X, y)["scores"]
    assert clusters["measures"][0]["value"] == pytest.approx(
        normalized_mutual_info_score(y, make("MultiViewPLSA").predict(X))
    )


def test_held_out_labels_are_hidden_from_the_copy(data, monkeypatch):
    X, y = data
    seen = []
    fit = MultiViewNaiveBayes.fit
    monkeypatch.setattr(
        MultiViewNaiveBayes, "fit", lambda self, X, y, **more: seen.append(y) or fit(self, X, y, **more)
    )
    model = MultiViewNaiveBayes().fit(X, y)
    held = summary_of(model, X, y)["scores"]["held_out"]
    assert held["n_hidden"] == 15 and held["refitted"]
    assert sum(label is None for label in seen[-1]) == 15


def test_labels_that_the_fit_did_not_use_score_the_model_itself(data):
    X, y = data
    known = np.where(np.arange(len(y)) < 9, y, None)
    model = MultiViewNaiveBayes().fit(X, known)
    held = summary_of(model, X, y, y_fit=known)["scores"]["held_out"]
    assert held["n_hidden"] == 51 and not held["refitted"]
    assert held["measures"][0]["value"] == pytest.approx(np.mean(model.predict(X)[9:] == y[9:]))


def test_labels_need_their_objects(make):
    with pytest.raises(ValueError, match="pass X"):
        summary_of(make("MultiViewNaiveBayes"), y=["a", "b"])


def test_many_objects_are_sampled_and_the_report_says_so(make, data, monkeypatch):
    X, y = data
    monkeypatch.setattr(summary, "MOST_OBJECTS", 40)
    monkeypatch.setattr(summary, "VIEW_OBJECTS", 20)
    found = summary_of(make("MultiViewPLSA"), X, y, held_out=False)
    assert found["data"]["n_objects"] == 60 and found["data"]["sampled"] == 40
    assert len(found["map"]["x"]) == 20 and found["views"]["sampled"] == 20
    assert found["scores"]["n_objects"] == 40


def test_examples_are_members_of_their_groups(make, data):
    X, _ = data
    model = make("MultiViewPLSA")
    said = model.predict(X)
    for group in summary_of(model, X)["examples"]["typical"]:
        assert all(said[thing["id"]] == int(group["group"]) for thing in group["objects"])


def test_disputed_objects_have_views_that_differ(make, data):
    X, _ = data
    model = make("MultiViewPLSA")
    alone = {view: model.predict(X.select(view)) for view in X.names}
    things = summary_of(model, X)["examples"]["disputed"]
    assert len(things) == min(10, int((alone["words"] != alone["links"]).sum()))
    for thing in things:
        assert thing["by_view"] == {view: str(labels[thing["id"]]) for view, labels in alone.items()}
        assert len(set(thing["by_view"].values())) > 1


def test_a_clusterer_that_cannot_place_new_objects_is_described_by_its_own(data):
    from sklearn.cluster import AgglomerativeClustering

    from coview import ConcatenatedViews

    X, y = data
    dense = X.map(lambda matrix: matrix.toarray())
    model = ConcatenatedViews(AgglomerativeClustering(3)).fit(dense)
    with pytest.warns(UserWarning, match="taken to be the same 60 objects in the same order"):
        found = summary_of(model, dense, y)
    assert found["data"]["as_fitted"]
    sizes = sorted(item["size"] for item in found["groups"]["items"])
    assert sizes == sorted(np.bincount(model.labels_).tolist())
    assert "views" not in found


def test_objects_that_left_their_group_since_the_fit_are_counted_and_others_are_not():
    data = make_topic_views(n_objects=80, n_clusters=4, random_state=0)
    X = Views(dict(data.views.items()), ids=[f"p{i}" for i in range(80)])
    model = LinkPLSA(4, max_iter=1, random_state=0).fit(X)
    moved = int((model.transform(X).argmax(axis=1) != model.memberships_.argmax(axis=1)).sum())
    page = make_report(model, X, held_out=False, map_method="pca")
    assert page.summary["groups"]["moved"] == moved > 1
    assert f"as predict does: {moved} are in another topic than at the end of the fit." in page.html
    others = (X[::-1], X[:70], data.views)  # in another order, fewer, without ids
    for views in others:
        assert make_report(model, views, held_out=False, map_method="pca").summary["groups"]["moved"] is None
    unnamed = make_topic_views(n_objects=80, n_clusters=2, random_state=1).views
    model = LinkPLSA(2, max_iter=3, random_state=0).fit(unnamed[:40])
    new = make_report(model, unnamed[40:], held_out=False, map_method="pca")  # as many, but others
    assert new.summary["groups"]["moved"] is None


def test_beside_a_name_stands_what_else_tells_a_group_from_the_others():
    words = [["fox den red wood hare", "sea wave blue salt ship"][i % 2] for i in range(40)]
    table = {
        "body": words,
        "rating": [["PG-13", "R"][i % 2] for i in range(40)],
        "price": [[10.5, 90.5][i % 2] + 0.01 * i for i in range(40)],
        "size": [float(i % 4 // 2) + 0.5 for i in range(40)],  # the same in both
    }
    front = TableViews({"body": "body"}, {"price": ["price", "size"]}, tokens={"rating": "rating"})
    found = summary_of(make_pipeline(front, AutoClustering(2, random_state=0)).fit(table), table)
    said = [[*found["group_names"][item["name"]].split(", "), *item["about"]] for item in found["groups"]["items"]]
    assert {"rating: PG-13" in each for each in said} == {"rating: R" in each for each in said} == {True, False}
    for each in said:
        assert ("low price" if "rating: PG-13" in each else "high price") in each
        assert not any("size" in text for text in each)


def test_of_a_large_table_only_a_sample_of_the_texts_is_read(monkeypatch):
    monkeypatch.setattr(summary, "MOST_TEXTS", 30)
    table = {"key": [f"p{i}" for i in range(80)], "body": ["red fox den", "blue sea wave"] * 40}
    model = make_pipeline(TableViews({"body": "body"}, id="key"), PLSA(2, random_state=0)).fit(table)
    seen = []
    transform = TableViews.transform
    monkeypatch.setattr(TableViews, "transform", lambda self, X: seen.append(X.n_rows) or transform(self, X))
    found = summary_of(model, table, ["a", "b"] * 40)
    assert seen == [30] and found["data"]["n_objects"] == 80 and found["data"]["sampled"] == 30
    for group in found["examples"]["typical"]:
        assert all(thing["text"] == table["body"][int(thing["id"][1:])] for thing in group["objects"])
        assert all(thing["label"] == "ab"[int(thing["id"][1:]) % 2] for thing in group["objects"])

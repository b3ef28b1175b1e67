"""What a report says, before it has a form."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix, normalized_mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from coview import (
    PLSA,
    AutoClassifier,
    AutoClustering,
    EditedModel,
    LinkPLSA,
    MultiViewNaiveBayes,
    SphericalKMeans,
    TableViews,
    Views,
    edit,
    inspect,
    make_report,
)
from coview.exceptions import ParameterError
from coview.inspection.by_view import read_by_view
from coview.report import objects
from coview.report.model import describe_model
from coview.report.scores import score_views


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


def test_examples_are_members_of_their_groups(make, data):
    X, _ = data
    model = make("MultiViewPLSA")
    said = model.predict(X)
    for group in summary_of(model, X)["examples"]["typical"]:
        assert all(said[thing["id"]] == int(group["group"]) for thing in group["objects"])


def test_disputed_objects_have_views_that_differ(make, data):
    X, _ = data
    model = make("MultiViewPLSA")
    assert summary_of(model, X)["examples"]["disputed"] == []
    X = Views(words=X["words"], links=X["links"][np.r_[1:7, 0, 7:60]])  # the links of seven objects are mistaken
    alone = {view: model.predict(X.select(view)) for view in X.names}
    sure = np.all([model.transform(X.select(view)).max(axis=1) >= 0.5 for view in X.names], axis=0)
    things = summary_of(model, X)["examples"]["disputed"]
    assert len(things) == min(30, int((sure & (alone["words"] != alone["links"])).sum())) > 0
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
    monkeypatch.setattr(objects, "MOST_TEXTS", 30)
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


# -- What a model is and how it was made


def test_versions_are_those_here(make):
    import numpy
    import sklearn

    found = describe_model(inspect(make("PLSA")))["versions"]
    assert found["numpy"] == numpy.__version__ and found["scikit-learn"] == sklearn.__version__
    json.dumps(found)


def test_the_candidates_of_a_classifier_are_named(data):
    X, y = data
    model = AutoClassifier(random_state=0, cv=2).fit(X, y)
    assert describe_model(inspect(model))["candidates"] == model.candidates_
    page = make_report(model).html
    assert 'aria-label="Candidates"' in page
    assert all(name.replace("_", " ") in page for name in model.candidates_)
    assert describe_model(inspect(SphericalKMeans(3, random_state=0).fit(X)))["candidates"] == {}


# -- What each view contributes, and what is held out


@pytest.fixture
def three():
    """Two views that know the classes and one of noise."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    good = [np.eye(3)[y] * 6 + rng.poisson(1, size=(60, 3)) for _ in range(2)]
    return Views(a=good[0], b=good[1], noise=rng.poisson(2, size=(60, 3)).astype(float)), y


def test_alone_and_left_out_are_what_the_model_says_then(three):
    X, y = three
    model = MultiViewNaiveBayes().fit(X, y)
    model_ = inspect(model)
    found = score_views(model_, read_by_view(model_, X), y, np.array([0, 1, 2]))
    assert found["measure"] == "accuracy" and found["whole"] == pytest.approx(model.score(X, y))
    for row in found["rows"]:
        assert row["alone"] == pytest.approx(model.score(X.select(row["name"]), y))
        assert row["without"] == pytest.approx(model.score(X.drop(row["name"]), y))
        assert row["kept"] == pytest.approx(np.mean(model.predict(X.drop(row["name"])) == model.predict(X)))
    assert min(found["rows"], key=lambda row: row["alone"])["name"] == "noise"


def test_a_view_is_judged_by_the_objects_that_have_it(three):
    X, y = three
    have = np.arange(60) < 30
    part = Views(a=X["a"], b=np.where(have[:, None], X["b"], 0), present={"b": have})
    model = MultiViewNaiveBayes().fit(part, y)
    model_ = inspect(model)
    rows = {r["name"]: r for r in score_views(model_, read_by_view(model_, part), y, np.arange(3))["rows"]}
    assert rows["b"]["present"] == 0.5
    assert rows["b"]["alone"] == pytest.approx(model.score(part[:30].select("b"), y[:30]))
    assert rows["b"]["n_objects"] == 30 and rows["a"]["n_objects"] == 60
    assert rows["b"]["whole"] == pytest.approx(model.score(part[:30], y[:30]))  # beside it: of the same objects


def test_the_best_view_is_compared_on_the_objects_that_have_it(three):
    """All views know more of the objects that have the best view than of the rest: the rest is not compared."""
    X, y = three
    have = np.arange(60) < 45
    part = Views(options=np.where(have[:, None], np.eye(3)[y] * 9, 0), words=X["noise"], present={"options": have})
    report = make_report(MultiViewNaiveBayes().fit(part, y), part, y, held_out=False)
    views = report.summary["views"]
    rows = {row["name"]: row for row in views["rows"]}
    assert views["best"] == "options" and rows["options"]["alone"] == 1.0 > views["whole"]
    text = f"and {rows['options']['whole']:.3f} predicted from all views"
    assert text in report.html and "both for the 45 of 60 that have options." in report.html
    agreed = views["agreement"]
    assert agreed["counts"][agreed["names"].index("options")][agreed["names"].index("words")] == 45


def test_views_of_an_auto_classifier_are_judged_by_labels_that_its_fit_hid(three):
    X, y = three
    model = AutoClassifier(random_state=0).fit(X, y)
    report = make_report(model, X, y)
    views = report.summary["views"]
    assert {row["name"]: row["alone"] for row in views["rows"]} == model.accuracy_by_view_
    assert views["whole"] == model.accuracy_ and views["best"] in ("a", "b")
    assert {row["whole"] for row in views["rows"]} == {model.accuracy_}
    assert "On 60 labels, each hidden once in the fit, accuracy is" in report.html
    assert "predicted without" not in report.html.split('id="views"')[1].split("</section>")[0]


def test_views_of_a_clusterer_are_judged_on_objects_that_its_copy_has_not_seen(three):
    X, y = three
    model = SphericalKMeans(3, random_state=0).fit(X)
    views = make_report(model, X, y).summary["views"]
    hidden, shown = (np.sort(rows) for rows in np.split(np.random.default_rng(0).permutation(60), [15]))
    copy = SphericalKMeans(3, random_state=0).fit(X[shown])
    assert views["held_out"] == {"n_hidden": 15, "n_shown": 45, "refitted": True} and views["n_objects"] == 15
    assert views["whole"] == pytest.approx(normalized_mutual_info_score(y[hidden], copy.predict(X[hidden])))
    for row in views["rows"]:
        alone = copy.predict(X[hidden].select(row["name"]))
        assert row["alone"] == pytest.approx(normalized_mutual_info_score(y[hidden], alone))


def test_the_matrix_of_a_classifier_counts_hidden_labels(three):
    X, y = three
    scores = make_report(MultiViewNaiveBayes().fit(X, y), X, y).summary["scores"]
    assert np.sum(scores["held_out"]["confusion"]["counts"]) == 15 and np.sum(scores["confusion"]["counts"]) == 60
    assert scores["held_out"]["largest_class"] == np.bincount(y).max() / 60
    hits = np.trace(scores["held_out"]["confusion"]["counts"]) / 15
    assert hits == pytest.approx(scores["held_out"]["measures"][0]["value"])


def test_objects_are_not_hidden_where_they_cannot_be(three):
    X, _ = three
    few = make_report(LinkPLSA(3, max_iter=2, random_state=0).fit(X[:4]), X[:4]).summary["views"]
    assert "too few objects" in few["held_out"]["note"]
    slow = AutoClustering(3, random_state=0).fit(X)
    assert make_report(slow, X, held_out=False).summary["views"]["held_out"] is None


def test_a_pipeline_s_copy_is_fitted_on_what_its_steps_give(three):
    X, y = three
    matrix = 50 + 100 * X["a"]
    chain = make_pipeline(StandardScaler(), LogisticRegression()).fit(matrix, y)
    held_out = make_report(chain, matrix, y).summary["scores"]["held_out"]
    hidden = np.random.default_rng(0).permutation(60)[:15]
    shown = np.setdiff1d(np.arange(60), hidden)
    scaled = chain[0].transform(matrix)
    copy = LogisticRegression().fit(scaled[shown], y[shown])
    assert held_out["measures"][0]["value"] == pytest.approx(copy.score(scaled[hidden], y[hidden]))


def test_edits_that_the_copy_could_not_make_again_are_told(three, monkeypatch):
    X, y = three
    model = edit(LinkPLSA(3, max_iter=5, random_state=0).fit(X)).merge([0, 2]).rename(1, "one")
    take = EditedModel._take

    def refuse_merges(self, record, *rest):
        if "groups" in record:
            raise ParameterError("Its groups are not there.")
        take(self, record, *rest)

    monkeypatch.setattr(EditedModel, "_take", refuse_merges)
    page = make_report(model, X, y)
    assert page.summary["views"]["held_out"] == {
        "n_hidden": 15,
        "n_shown": 45,
        "refitted": True,
        "n_edits": 2,
        "n_lost_edits": 1,
    }
    assert "1 of the 2 edits could not be made again in it, since it has not found the group." in page.html

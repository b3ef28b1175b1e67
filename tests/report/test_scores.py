"""What each view contributes, and what is held out."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import normalized_mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from coview import (
    AutoClassifier,
    AutoClustering,
    EditedModel,
    LinkPLSA,
    MultiViewNaiveBayes,
    SphericalKMeans,
    Views,
    edit,
    inspect,
    make_report,
)
from coview.exceptions import ParameterError
from coview.inspection.by_view import read_by_view
from coview.report.scores import score_views


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

"""What each view contributed."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from coview import BestView, LinkPLSA, MultiViewNaiveBayes, MultiViewPLSAClassifier, Views, inspect, make_report
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


def test_without_labels_it_is_the_agreement_with_all_views(three):
    X, _ = three
    model_ = inspect(LinkPLSA(3, random_state=0).fit(X))
    found = score_views(model_, read_by_view(model_, X))
    whole = model_.read(X).codes
    for row in found["rows"]:
        assert row["alone"] == pytest.approx(np.mean(model_.read(X.select(row["name"])).codes == whole))


def test_a_view_is_judged_by_the_objects_that_have_it(three):
    X, y = three
    have = np.arange(60) < 30
    part = Views(a=X["a"], b=np.where(have[:, None], X["b"], 0), present={"b": have})
    model = MultiViewNaiveBayes().fit(part, y)
    model_ = inspect(model)
    rows = {r["name"]: r for r in score_views(model_, read_by_view(model_, part), y, np.arange(3))["rows"]}
    assert rows["b"]["present"] == 0.5
    assert rows["b"]["alone"] == pytest.approx(model.score(part[:30].select("b"), y[:30]))


def test_what_a_model_refuses_is_told(three):
    X, _ = three
    model_ = inspect(BestView(KMeans(3, n_init=1, random_state=0)).fit(X))
    found = score_views(model_, read_by_view(model_, X))
    alone = {row["name"]: row["alone"] for row in found["rows"]}
    assert [name for name, value in alone.items() if value is not None] == [model_.estimator.best_view_]
    assert all("view" in row["refused"] for row in found["rows"] if row["alone"] is None or row["without"] is None)


def test_the_copy_that_is_scored_on_hidden_labels_is_not_watched(three):
    X, y = three
    sweeps = []
    model = MultiViewPLSAClassifier(2, max_iter=3, tol=0, random_state=0, callbacks=[sweeps.append]).fit(X, y)
    assert len(sweeps) == 3
    assert make_report(model, X, y, held_out=True).summary["scores"]["held_out"]["refitted"]
    assert len(sweeps) == 3

"""The same objects read from fewer views."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from coview import CoPLSA, MultiViewNaiveBayes, MultiViewPLSA, SphericalKMeans, Views, inspect
from coview.exceptions import ViewsError
from coview.inspection.by_view import agreement_matrix, read_by_view
from coview.inspection.objects import disputed_objects
from coview.report.scores import score_views


@pytest.fixture
def three():
    """Two views that know the classes and one of noise; half of the objects lack the second."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    a, b = (np.eye(3)[y] * 6 + rng.poisson(1, size=(60, 3)) for _ in range(2))
    have = np.arange(60) < 30
    noise = rng.poisson(2, size=(60, 3)).astype(float)
    return Views(a=a, b=np.where(have[:, None], b, 0), noise=noise, present={"b": have}), y


def test_readings_are_what_the_model_says_of_these_views(three):
    X, y = three
    model = MultiViewNaiveBayes().fit(X, y)
    readings = read_by_view(inspect(model), X)
    assert_array_equal(readings.whole.codes, model.predict(X))
    for v, view in enumerate(X.names):
        have = X.present[:, v]
        assert_array_equal(readings.alone[view].codes, np.where(have, model.predict(X.select(view)), -1))
        assert_array_equal(readings.without[view].memberships, model.predict_proba(X.drop(view)))


def test_agreement_counts_objects_that_have_both_views(three):
    X, y = three
    model = MultiViewNaiveBayes().fit(X, y)
    found = agreement_matrix(read_by_view(inspect(model), X))
    a, b = model.predict(X.select("a"))[:30], model.predict(X[:30].select("b"))
    assert found["names"] == ["a", "b", "noise", "all views"]
    assert found["values"][0][1] == found["values"][1][0] == pytest.approx(np.mean(a == b))


def test_what_a_model_refuses_is_kept(three):
    X, y = three
    needed = X.names[0]

    class Picky(MultiViewNaiveBayes):
        def predict_proba(self, X):
            if needed not in X.names:
                raise ViewsError(f"{needed!r} is needed.")
            return super().predict_proba(X)

    readings = read_by_view(inspect(Picky().fit(X, y)), X)
    assert list(readings.alone) == [needed]
    assert readings.refused == dict.fromkeys(X.names, f"{needed!r} is needed.")


@pytest.fixture
def bare():
    """Objects of which every fifth has no feature in the second view, though it is said to have the view."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    words, links = (np.repeat(np.eye(3), 3, axis=1)[y] * 6 + rng.poisson(0.3, size=(90, 9)) for _ in range(2))
    links[2::5] = 0
    counts = Views(words=sparse.csr_array(words), links=sparse.csr_array(links))
    return counts, y, np.arange(90) % 5 == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: MultiViewPLSA(3, 4, max_iter=20, random_state=0),
        lambda: SphericalKMeans(3, random_state=0),
        lambda: CoPLSA(3, max_iter=20, random_state=0),
    ],
)
def test_a_view_without_a_feature_of_an_object_has_no_opinion_of_it(bare, make):
    X, _, empty = bare
    model = inspect(make().fit(X))
    readings = read_by_view(model, X)
    assert (readings.alone["links"].codes[empty] == -1).all() and (readings.alone["links"].codes[~empty] >= 0).all()
    assert not readings.alone["links"].memberships[empty].any()
    assert (readings.without["words"].codes[empty] == -1).all()  # nothing is left of them
    assert (readings.whole.codes >= 0).all() and (readings.alone["words"].codes >= 0).all()
    by_view = model.memberships_by_view(X)
    assert not by_view["links"][empty].any() and by_view["links"][~empty].any(axis=1).all()
    disputed = disputed_objects(readings, n=90)
    assert not empty[[one["row"] for one in disputed]].any()


def test_views_are_judged_by_the_objects_that_have_a_feature_in_them(bare):
    X, y, empty = bare
    model = MultiViewNaiveBayes().fit(X, y)
    readings = read_by_view(inspect(model), X)
    rows = {row["name"]: row for row in score_views(inspect(model), readings, y, np.arange(3))["rows"]}
    right = model.predict(X.select("links")) == y
    assert rows["links"]["alone"] == pytest.approx(right[~empty].mean())
    assert rows["words"]["without"] == pytest.approx((right & ~empty).mean())  # nothing is left of the others
    table = agreement_matrix(readings)
    same = (model.predict(X.select("links")) == model.predict(X.select("words")))[~empty]
    assert table["values"][0][1] == pytest.approx(same.mean())

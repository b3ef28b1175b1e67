"""The same objects read from fewer views."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans

from coview import BestView, MultiViewNaiveBayes, Views, inspect
from coview.inspection.by_view import agreement_matrix, read_by_view


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
    for view in X.names:
        assert_array_equal(readings.alone[view].codes, model.predict(X.select(view)))
        assert_array_equal(readings.without[view].memberships, model.predict_proba(X.drop(view)))


def test_agreement_counts_objects_that_have_both_views(three):
    X, y = three
    model = MultiViewNaiveBayes().fit(X, y)
    found = agreement_matrix(read_by_view(inspect(model), X))
    a, b = model.predict(X.select("a"))[:30], model.predict(X[:30].select("b"))
    assert found["names"] == ["a", "b", "noise", "all views"]
    assert found["values"][0][1] == found["values"][1][0] == pytest.approx(np.mean(a == b))


def test_what_a_model_refuses_is_kept(three):
    X = three[0][:30]
    model = BestView(KMeans(3, n_init=1, random_state=0)).fit(X)
    readings = read_by_view(inspect(model), X)
    assert list(readings.alone) == [model.best_view_]
    assert all("view" in sentence for sentence in readings.refused.values())

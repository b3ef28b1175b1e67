"""Reports of regressors: true numbers in the place of labels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error, r2_score

from coview import ConcatenatedViews, Views, inspect, make_report
from coview.report.scores import check_values


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = Views(a=rng.normal(size=(90, 3)), b=rng.normal(size=(90, 2)), c=rng.normal(size=(90, 2)))
    return X, 5 + X["a"] @ [1.0, -2.0, 3.0] + 0.5 * X["b"][:, 0] + rng.normal(0, 0.3, 90)


def test_measures_are_those_of_the_predictions(data):
    X, y = data
    model = ConcatenatedViews(LinearRegression()).fit(X, y)
    found = make_report(model, X, y).summary["scores"]
    told = {measure["name"]: measure["value"] for measure in found["measures"]}
    assert told["R2"] == pytest.approx(r2_score(y, model.predict(X)))
    assert told["mean absolute error"] == pytest.approx(mean_absolute_error(y, model.predict(X)))
    assert found["pairs"]["true"] == pytest.approx(y) and found["pairs"]["predicted"] == pytest.approx(model.predict(X))
    assert found["held_out"]["n_hidden"] == 22 and found["held_out"]["measures"][0]["value"] < told["R2"]


def test_views_are_judged_on_numbers_that_the_copy_has_not_seen(data):
    X, y = data
    model = ConcatenatedViews(LinearRegression()).fit(X, y)
    views = make_report(model, X, y).summary["views"]
    hidden, shown = np.split(np.random.default_rng(0).permutation(90), [22])
    copy = ConcatenatedViews(LinearRegression()).fit(X[np.sort(shown)], y[np.sort(shown)])
    assert views["held_out"] == {"n_hidden": 22, "n_shown": 68, "refitted": True}
    assert views["whole"] == pytest.approx(r2_score(y[hidden], copy.predict(X[hidden])))
    for row in views["rows"]:
        assert row["alone"] == pytest.approx(r2_score(y[hidden], copy.predict(X[hidden].select(row["name"]))))


def test_what_is_no_number_is_refused(data):
    X, y = data
    model = ConcatenatedViews(LinearRegression()).fit(X, y)
    with pytest.raises(ValueError, match="must hold numbers"):
        make_report(model, X, ["high"] * 90)
    with pytest.raises(ValueError, match="one number per object"):
        make_report(model, X, np.ones((90, 2)))
    assert check_values(inspect(model), [None] * 90) is None

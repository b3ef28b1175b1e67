"""Metadata through wrappers: weights reach the estimators inside, with and without scikit-learn's routing."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from coview import ConcatenatedViews, EachView, Views

RNG = np.random.default_rng(0)
Y = np.arange(40) % 2
X = Views(
    words=RNG.poisson(2 + 2 * np.eye(6)[Y], (40, 6)).astype(float),
    links=RNG.poisson(1 + np.eye(4)[Y], (40, 4)).astype(float),
)
WEIGHTS = RNG.uniform(0.1, 5, 40)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_pipelines_hand_them_on(routing):
    asked = ConcatenatedViews(LogisticRegression()).set_fit_request(sample_weight=True)
    scaler = EachView(StandardScaler().set_fit_request(sample_weight=True))
    model = make_pipeline(scaler, asked).fit(X, Y, sample_weight=WEIGHTS)
    assert_allclose(
        model[0].transformers_["links"].mean_, StandardScaler().fit(X["links"], sample_weight=WEIGHTS).mean_
    )


def test_weights_of_transformers_are_of_the_rows_that_have_the_view():
    have = np.arange(40) < 25
    Z = Views(words=X["words"], links=X["links"] * have[:, None], present={"links": have})
    model = EachView({"links": StandardScaler()}).fit(Z, sample_weight=WEIGHTS)
    expected = StandardScaler().fit(X["links"][:25], sample_weight=WEIGHTS[:25])
    assert_allclose(model.transformers_["links"].mean_, expected.mean_)


def test_pipelines_take_weights_by_the_name_of_the_step():
    model = make_pipeline(EachView(StandardScaler()), ConcatenatedViews(LogisticRegression()))
    model.fit(X, Y, concatenatedviews__sample_weight=WEIGHTS)
    scaled = EachView(StandardScaler()).fit_transform(X).hstack()
    assert_allclose(
        model.predict_proba(X), LogisticRegression().fit(scaled, Y, sample_weight=WEIGHTS).predict_proba(scaled)
    )

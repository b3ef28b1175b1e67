"""Metadata through wrappers: weights reach the estimators inside, with and without scikit-learn's routing."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from coview import BestView, ConcatenatedViews, EachView, MultiViewNaiveBayes, Views

RNG = np.random.default_rng(0)
Y = np.arange(40) % 2
X = Views(
    words=RNG.poisson(2 + 2 * np.eye(6)[Y], (40, 6)).astype(float),
    links=RNG.poisson(1 + np.eye(4)[Y], (40, 4)).astype(float),
)
WEIGHTS = RNG.uniform(0.1, 5, 40)
WRAPPERS = [ConcatenatedViews, BestView]


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def matrix(wrapper, model):
    return X.hstack() if wrapper is ConcatenatedViews else X[model.best_view_]


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_weights_reach_the_estimator_inside(wrapper):
    model = wrapper(LogisticRegression()).fit(X, Y, sample_weight=WEIGHTS)
    expected = LogisticRegression().fit(matrix(wrapper, model), Y, sample_weight=WEIGHTS)
    assert_allclose(model.predict_proba(X), expected.predict_proba(matrix(wrapper, model)))
    right = model.predict(X) == Y
    assert model.score(X, Y, sample_weight=WEIGHTS) == pytest.approx(np.average(right, weights=WEIGHTS))
    assert np.abs(model.predict_proba(X) - wrapper(LogisticRegression()).fit(X, Y).predict_proba(X)).max() > 1e-3


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_weights_follow_the_rows_that_are_learned_from(wrapper):
    y = np.where(np.arange(40) < 30, Y, -1).astype(object)
    y[30:] = None
    model = wrapper(LogisticRegression()).fit(X, y, sample_weight=WEIGHTS)
    rows = matrix(wrapper, model)
    expected = LogisticRegression().fit(rows[:30], Y[:30], sample_weight=WEIGHTS[:30])
    assert_allclose(model.predict_proba(X), expected.predict_proba(rows))
    assert 0 <= model.score(X, y, sample_weight=WEIGHTS) <= 1


def test_regressors_and_clusterers_take_them_too():
    values = X["words"][:, 0] + RNG.normal(size=40)
    for wrapper in WRAPPERS:
        model = wrapper(LinearRegression()).fit(X, values, sample_weight=WEIGHTS)
        expected = LinearRegression().fit(matrix(wrapper, model), values, sample_weight=WEIGHTS)
        assert_allclose(model.predict(X), expected.predict(matrix(wrapper, model)))
    kmeans = KMeans(2, n_init=1, random_state=0)
    model = ConcatenatedViews(kmeans).fit(X, sample_weight=WEIGHTS)
    assert_allclose(model.estimator_.cluster_centers_, kmeans.fit(X.hstack(), sample_weight=WEIGHTS).cluster_centers_)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_routing_is_by_request(wrapper, routing):
    asked = LogisticRegression().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    model = wrapper(asked).fit(X, Y, sample_weight=WEIGHTS)
    expected = LogisticRegression().fit(matrix(wrapper, model), Y, sample_weight=WEIGHTS)
    assert_allclose(model.predict_proba(X), expected.predict_proba(matrix(wrapper, model)))
    model.score(X, Y, sample_weight=WEIGHTS)
    with pytest.raises(ValueError, match="sample_weight"):  # not requested, nor declined
        wrapper(LogisticRegression()).fit(X, Y, sample_weight=WEIGHTS)


def test_searches_and_pipelines_hand_them_on(routing):
    asked = LogisticRegression().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    scaler = EachView(StandardScaler().set_fit_request(sample_weight=True))
    model = make_pipeline(scaler, ConcatenatedViews(asked)).fit(X, Y, sample_weight=WEIGHTS)
    assert_allclose(
        model[0].transformers_["links"].mean_, StandardScaler().fit(X["links"], sample_weight=WEIGHTS).mean_
    )
    search = GridSearchCV(ConcatenatedViews(asked), {"estimator__C": [0.1, 1]}, cv=3)
    assert search.fit(X, Y, sample_weight=WEIGHTS).best_score_ > 0
    # a scorer of its own: up to 1.6 scikit-learn's default one does not look into pipelines
    scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
    scores = cross_validate(model, X, Y, cv=3, scoring=scorer, params={"sample_weight": WEIGHTS})["test_score"]
    assert np.isfinite(scores).all()


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


def test_what_cannot_be_passed_on_is_refused():
    with pytest.raises(ValueError, match="takes sample_weight, got groups"):
        ConcatenatedViews(LogisticRegression()).fit(X, Y, groups=Y)
    with pytest.raises(ValueError, match="sample_weight must hold one value per object: 3 for 40 objects"):
        BestView(LogisticRegression()).fit(X, Y, sample_weight=[1, 2, 3])


def test_own_weights_are_routed_to_models_that_take_them(routing):
    search = GridSearchCV(
        MultiViewNaiveBayes().set_fit_request(sample_weight=True).set_score_request(sample_weight=True),
        {"alpha": [0.1, 1]},
        cv=3,
    )
    assert search.fit(X, Y, sample_weight=WEIGHTS).best_score_ > 0

"""Views pass through scikit-learn's own splitters, searches and pipelines unmodified."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline

from coview import Views, as_views


class NearestMean(ClassifierMixin, BaseEstimator):
    """Nearest class mean over all views; `weight` scales the first view."""

    def __init__(self, weight=1.0):
        self.weight = weight

    def _glue(self, X):
        X = as_views(X)
        return np.asarray(X.map({X.names[0]: lambda a: a * self.weight}).hstack().todense())

    def fit(self, X, y):
        glued, self.classes_ = self._glue(X), np.unique(y)
        self.means_ = np.array([glued[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict(self, X):
        return self.classes_[((self._glue(X)[:, None] - self.means_) ** 2).sum(axis=2).argmin(axis=1)]


class Doubled(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.names_ = X.names
        return self

    def transform(self, X):
        return X.map(lambda array: array * 2)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    words = sparse.csr_array(rng.poisson(np.eye(3)[y] * 6 + 0.2).astype(np.float32))
    image = rng.normal(size=(60, 2)) + y[:, None]
    image[5] = 0
    present = np.ones((60, 2), dtype=bool)
    present[5, 1] = False
    return Views({"words": words, "image": image}, ids=np.arange(60), present=present), y


def test_train_test_split_keeps_rows_together(data):
    X, y = data
    train, test, y_train, y_test = train_test_split(X, y, random_state=0)
    assert isinstance(train, Views)
    assert train == X[train.ids]
    assert sorted([*train.ids, *test.ids]) == list(range(60))
    np.testing.assert_array_equal(y[train.ids], y_train)
    np.testing.assert_array_equal(y[test.ids], y_test)


def test_cross_val_predict_matches_a_loop_by_hand(data):
    X, y = data
    folds = KFold(3, shuffle=True, random_state=0)
    expected = np.empty_like(y)
    for train, test in folds.split(X):
        expected[test] = NearestMean().fit(X[train], y[train]).predict(X[test])
    np.testing.assert_array_equal(cross_val_predict(NearestMean(), X, y, cv=folds), expected)


def test_a_pipeline_passes_views_from_step_to_step(data):
    X, y = data
    pipeline = make_pipeline(Doubled(), NearestMean()).fit(X, y)
    assert pipeline[0].names_ == ("words", "image")
    np.testing.assert_array_equal(pipeline.predict(X), NearestMean().fit(X, y).predict(X))
    search = GridSearchCV(Pipeline([("two", Doubled()), ("end", NearestMean())]), {"end__weight": [0.5, 1.0]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.8

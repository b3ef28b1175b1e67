"""Columns in units of very different size: told of at fit, and only there."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import TruncatedSVD
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from coview import PLSA, CoPLSA, LinkPLSA, MultiViewPLSA, MultiViewPLSAClassifier, ScaledViews, Views
from coview.datasets import make_topic_views

RNG = np.random.default_rng(0)
TARGET = np.arange(90) % 2
NAMES = ["age", "weight", "height", "income"]
BODY = TARGET[:, None] * [40.0, 50.0, 90.0] + RNG.normal(30, 4, (90, 3))
PEOPLE = np.column_stack([BODY, RNG.normal(60_000, 20_000, 90)])
X = Views(person=PEOPLE, feature_names={"person": NAMES})
X2 = Views(person=PEOPLE, count=RNG.poisson(1.0, (90, 5)), feature_names=X.feature_names)


def told(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return [str(each.message) for each in caught if "units of very different size" in str(each.message)]


@pytest.mark.parametrize(
    "model",
    [
        PLSA(2, max_iter=2, random_state=0),
        LinkPLSA(2, max_iter=2, random_state=0),
        MultiViewPLSA(2, 2, max_iter=2, random_state=0),
        MultiViewPLSAClassifier(2, max_iter=2, random_state=0),
        CoPLSA(2, max_iter=2, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_one_sentence_names_the_view_the_columns_and_the_cure(model):
    (sentence,) = told(lambda: model.fit(X2, TARGET))
    deviations = PEOPLE.std(axis=0)
    assert f"of 'income' is {deviations[3]:.3g}, that of 'age' {deviations[0]:.3g}" in sentence
    assert sentence.startswith("View 'person'")
    assert "ScaledViews('standard', views=['person'])" in sentence


def test_the_cure_is_one():
    model = make_pipeline(ScaledViews("standard", views=["person"]), MultiViewPLSA(2, 2, random_state=0))
    assert told(lambda: model.fit(X)) == []
    found = model.predict(X)
    assert max(np.mean(found == TARGET), np.mean(found != TARGET)) == 1  # the clusters of the three, not of the income


def test_columns_without_names_are_called_by_their_numbers():
    (sentence,) = told(lambda: LinkPLSA(2, max_iter=2, random_state=0).fit(load_wine().data))
    assert "column 12 is" in sentence and "column 7" in sentence  # proline, nonflavanoid phenols


def test_vectors_may_have_coordinates_of_different_width():
    words = make_topic_views(n_objects=150, n_clusters=5, random_state=0).views["view0"]
    vectors = [TruncatedSVD(n, random_state=0).fit_transform(words) for n in (2, 20, 80)]
    for each in (*vectors, load_digits().data + 0.5, StandardScaler().fit_transform(load_wine().data)):
        assert told(partial(LinkPLSA(2, max_iter=1, random_state=0).fit, each)) == []


def test_columns_that_do_not_vary_have_no_unit():
    constant = np.column_stack([RNG.normal(size=40), np.full(40, 0.1), np.full(40, 3.0)])
    assert told(lambda: LinkPLSA(2, max_iter=1, random_state=0).fit(constant)) == []


def test_folds_and_models_inside_others_are_silent():
    model = MultiViewPLSAClassifier(2, max_iter=2, random_state=0)
    assert told(lambda: cross_val_score(model, PEOPLE, TARGET, cv=2)) == []

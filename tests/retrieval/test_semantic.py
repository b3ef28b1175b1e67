"""Semantic correlation matching: classes from any view, through the common space."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from coview import Views
from coview.classification.naive_bayes import compute_class_probabilities
from coview.datasets import make_topic_views
from coview.retrieval.semantic import SemanticCorrelationMatching, fit_classifier


@pytest.fixture(scope="module")
def data():
    return make_topic_views(200, {"words": 60, "links": 40}, n_clusters=3, quality=0.7, random_state=0)


def fitted(data, **settings):
    return SemanticCorrelationMatching(6, random_state=0, **settings).fit(data.views[:150], data.target[:150])


@pytest.mark.parametrize("view", ["words", "links"])
def test_each_view_has_a_logistic_regression_in_the_common_space(data, view):
    model = fitted(data)
    places = model.project(data.views[:150].select(view))
    oracle = LogisticRegression(C=1.0, max_iter=1000).fit(places, data.target[:150])
    new = data.views[150:].select(view)
    np.testing.assert_allclose(model.transform(new), oracle.predict_proba(model.project(new)), atol=1e-4)


def test_probabilities_of_several_views_are_the_mean_over_those_an_object_has(data):
    model, new = fitted(data), data.views[150:]
    each = [model.predict_proba(new.select(name)) for name in new.names]
    np.testing.assert_allclose(model.predict_proba(new), np.mean(each, axis=0))
    present = np.ones((50, 2), dtype=bool)
    present[0, 0] = False
    words = new["words"].toarray()
    words[0] = 0
    partial = Views(words=words, links=new["links"], present=present)
    np.testing.assert_allclose(model.predict_proba(partial)[0], each[1][0])


def test_unlabeled_objects_teach_the_space_but_not_the_classes(data):
    y = data.target[:150].astype(object)
    y[30:] = None
    model = SemanticCorrelationMatching(6, random_state=0).fit(data.views[:150], y)
    whole = fitted(data)
    np.testing.assert_allclose(model.project(data.views), whole.project(data.views))
    assert model.score(data.views[150:], data.target[150:]) > 0.8


def test_a_class_that_a_view_never_showed_has_no_probability_there():
    head = fit_classifier("words", np.array([[0.0], [1.0], [2.0]]), np.array([0, 2, 2]), 1.0)
    found = compute_class_probabilities(head, np.array([[0.5]]), 4)
    assert found.shape == (1, 4) and found[0, 1] == found[0, 3] == 0 and found.sum() == pytest.approx(1)


def test_a_view_without_labels_and_a_single_class_are_refused(data):
    with pytest.raises(ValueError, match="at least 2 classes"):
        SemanticCorrelationMatching().fit(data.views, np.zeros(200))
    with pytest.raises(ValueError, match=r"C.* must be a float in the range"):
        fitted(data, C=0)
    present = np.ones((200, 2), dtype=bool)
    present[:20, 0] = False
    words = data.views["words"].toarray()
    words[:20] = 0
    y = np.where(np.arange(200) < 20, data.target, -1)
    with pytest.raises(ValueError, match="No labeled object has view 'words'"):
        SemanticCorrelationMatching().fit(Views(words=words, links=data.views["links"], present=present), y)

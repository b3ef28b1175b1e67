from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.utils import get_tags

from coview import ConcatenatedViews, Views
from coview.classification.best_view import BestView


def corpus(n: int = 90) -> tuple[Views, np.ndarray]:
    """A view of noise, a fair one and a good one."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    fair, good = rng.gamma(0.5, size=(3, 10)), rng.gamma(0.3, size=(3, 20))
    return Views(
        noise=rng.poisson(2.0, size=(n, 8)) * 1.0, good=rng.poisson(6 * good[y]) * 1.0, fair=rng.poisson(fair[y]) * 1.0
    ), y


def test_the_scores_are_those_of_cross_validation():
    X, y = corpus()
    model = BestView(MultinomialNB(), cv=4).fit(X, y)
    for name, part in X.items():
        expected = cross_val_score(MultinomialNB(), part, y, cv=4).mean()
        assert_allclose(model.view_scores_[name], expected)
    assert model.best_view_ == "good"
    assert model.best_estimator_ is model.estimators_["good"]
    assert_allclose(model.predict_proba(X), MultinomialNB().fit(X["good"], y).predict_proba(X["good"]))


def test_without_the_best_view_the_next_best_predicts():
    X, y = corpus()
    model = BestView().fit(X, y)
    assert_array_equal(model.predict(X.drop("good")), MultinomialNB().fit(X["fair"], y).predict(X["fair"]))


def test_each_object_is_predicted_from_the_best_view_that_it_has():
    X, y = corpus()
    model = BestView().fit(X, y)
    present = np.ones((len(X), 3), dtype=bool)
    present[:5, X.names.index("good")] = False
    arrays = {name: part.copy() for name, part in X.items()}
    arrays["good"][:5] = 0
    found = model.predict_proba(Views(arrays, present=present))
    assert_allclose(found[:5], model.predict_proba(X.select("fair"))[:5])
    assert_allclose(found[5:], model.predict_proba(X)[5:])


def test_a_semi_supervised_estimator_is_chosen_by_its_labeled_objects():
    X, y = corpus()
    target = np.where(np.arange(90) < 30, y, -1)
    model = BestView(SelfTrainingClassifier(MultinomialNB()), cv=2).fit(X, target)
    assert model.best_view_ == "good"
    part = X["good"]
    folds = [np.arange(15), np.arange(15, 30)]
    expected = []
    for held in folds:  # a fold without its labels; the unlabeled objects stay
        train = np.setdiff1d(np.arange(90), held)
        fitted = SelfTrainingClassifier(MultinomialNB()).fit(part[train], target[train])
        expected.append(fitted.score(part[held], y[held]))
    assert_allclose(model.view_scores_["good"], np.mean(expected))
    assert len(model.best_estimator_.transduction_) == 90
    assert model.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("per_class", [1, 2])
def test_very_few_labels_are_enough(per_class):
    X, y = corpus()
    target = np.where(np.arange(90) < 3 * per_class, y, np.nan)
    assert BestView().fit(X, target).best_view_ in X.names


def test_clusterers_are_chosen_by_silhouette():
    X, _ = corpus()
    model = BestView(KMeans(3, n_init=3, random_state=0)).fit(X)
    for name, part in X.items():
        assert_allclose(model.view_scores_[name], silhouette_score(part, model.estimators_[name].labels_))
    assert model.view_scores_[model.best_view_] == max(model.view_scores_.values())
    with pytest.raises(ValueError, match=f"chose view '{model.best_view_}'"):
        model.predict(X.drop(model.best_view_))
    assert_array_equal(model.labels_, model.best_estimator_.labels_)
    assert_array_equal(model.fit_predict(X), model.labels_)


@pytest.mark.parametrize(
    ("names", "inner"),
    [
        (np.array([5, 6, 7]), LabelSpreading("knn")),
        (np.array(["ant", "bee", "cat"]), SelfTrainingClassifier(MultinomialNB(), threshold=0.9999)),
    ],
    ids=["spreads", "trains"],
)
def test_objects_that_lack_the_best_view_are_predicted_from_another(names, inner):
    X, y = corpus()
    present = np.ones((len(y), 3), dtype=bool)
    present[::7, X.names.index("good")] = False
    X = Views({name: part * present[:, [v]] for v, (name, part) in enumerate(X.items())}, present=present)
    labels = np.array([None if i % 4 else names[code] for i, code in enumerate(y)], dtype=object)
    model = BestView(inner).fit(X, labels)
    assert model.best_view_ == "good" and len(model.best_estimator_.transduction_) == present[:, 1].sum() < len(y)
    found = model.predict(X)
    assert found.dtype == model.classes_.dtype and set(found) <= set(names)
    assert np.mean(found[1::7] == names[y][1::7]) > 0.9


class WithSharedTags(MultinomialNB):
    """An estimator that returns the same tags each time."""

    shared = get_tags(MultinomialNB())

    def __sklearn_tags__(self):
        return self.shared


@pytest.mark.parametrize("wrapper", [BestView, ConcatenatedViews])
def test_wrapping_an_estimator_does_not_change_its_tags(wrapper):
    tags = WithSharedTags.shared
    tags.target_tags.multi_output = True
    before = deepcopy(tags)
    wrapped = get_tags(wrapper(WithSharedTags()))
    assert not wrapped.target_tags.multi_output and wrapped.estimator_type == "classifier"
    wrapped.input_tags.sparse, wrapped.classifier_tags.poor_score = None, True
    assert tags == before


def test_a_class_that_a_view_never_saw_has_probability_zero_there():
    X, y = corpus()
    present = np.ones((len(X), 3), dtype=bool)
    present[y == 2, 1] = False
    arrays = {name: part.copy() for name, part in X.items()}
    arrays["good"][y == 2] = 0
    model = BestView().fit(Views(arrays, present=present), y)
    assert_allclose(model.predict_proba(X.select("good"))[:, 2], 0)
    assert_allclose(model.predict_proba(X.select("good")).sum(axis=1), 1)

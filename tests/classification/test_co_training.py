from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from coview import Views
from coview.classification.co_training import CoTrainingClassifier
from coview.classification.naive_bayes import MultiViewNaiveBayes


def corpus(n: int = 200, seed: int = 0, length: float = 1.0) -> tuple[Views, np.ndarray, np.ndarray]:
    """Views, labels, and labels of which only six are known."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    words, links = rng.gamma(0.3, size=(3, 40)), rng.gamma(0.3, size=(3, 30))
    X = Views(
        words=sparse.csr_array(rng.poisson(length * words[y]).astype(float)), links=rng.poisson(length * links[y]) * 1.0
    )
    return X, y, np.where(np.arange(n) < 6, y, -1)


def self_training(X: np.ndarray, target: np.ndarray, rounds: int) -> np.ndarray:
    """One view, no pool: in each round the surest object that is thought to be of each class gets that label."""
    target = target.copy()
    for _ in range(rounds):
        known = target >= 0
        proba = MultinomialNB().fit(X[known], target[known]).predict_proba(X)
        for k in range(proba.shape[1]):
            candidates = [i for i in np.flatnonzero(~known) if proba[i].argmax() == k]
            if candidates:
                target[max(candidates, key=lambda i: proba[i, k])] = k
    return target


def test_one_view_is_self_training():
    X, _, target = corpus(60)
    words = X["words"].toarray() + np.random.default_rng(1).uniform(0, 0.1, size=X["words"].shape)  # no ties
    model = CoTrainingClassifier(pool_size=None, max_iter=5, random_state=0).fit(words, target)
    found = np.where(model.labeled_iter_ < 0, -1, model.transduction_)
    assert_array_equal(found, self_training(words, target, 5))


def test_views_teach_each_other():
    scores = []
    for seed in range(3):
        X, y, target = corpus(seed=seed, length=0.35)
        new = target < 0
        few = MultiViewNaiveBayes().fit(X[~new], target[~new])
        taught = CoTrainingClassifier(max_iter=100, random_state=0).fit(X, target)
        scores.append([(model.predict(X)[new] == y[new]).mean() for model in (few, taught)])
    few, taught = np.mean(scores, axis=0)
    assert taught > few + 0.02


def test_given_labels_never_change_and_rounds_are_recorded():
    X, _, target = corpus()
    model = CoTrainingClassifier(max_iter=4, random_state=0).fit(X, target)
    known = target >= 0
    assert_array_equal(model.transduction_[known], target[known])
    assert_array_equal(model.labeled_iter_ == 0, known)
    assert model.labeled_iter_.max() == 4 and model.n_iter_ == 5
    left = model.labeled_iter_ < 0
    assert left.any()
    assert_array_equal(model.transduction_[left], model.predict(X[left]))
    per_round = np.bincount(model.labeled_iter_[model.labeled_iter_ > 0])[1:]
    assert (per_round <= 2 * 3).all() and (per_round >= 1).all()


def test_numbers_per_class():
    X, _, target = corpus()
    model = CoTrainingClassifier(max_iter=1, n_per_class={0: 4, 1: 0, 2: 1}, random_state=0).fit(X, target)
    found = model.transduction_[model.labeled_iter_ == 1]
    assert not (found == 1).any() and (found == 2).sum() <= 2 and 4 <= (found == 0).sum() <= 8
    more = target.copy()
    more[6:18][corpus()[1][6:18] == 0] = 0  # class 0 has three times the labels of the others
    model = CoTrainingClassifier(max_iter=1, n_per_class="proportional", random_state=0).fit(X, more)
    assert 3 <= (model.transduction_[model.labeled_iter_ == 1] == 0).sum() <= 6


def test_any_classifier_any_number_of_views_and_string_classes():
    X, y, _ = corpus()
    three = Views(words=X["words"], links=X["links"], centered=X["links"] - 1)
    names = np.array(["ant", "bee", "cat"], dtype=object)[y]
    names[30:] = None
    model = CoTrainingClassifier(LogisticRegression(), max_iter=3, random_state=0).fit(three, names)
    assert set(model.predict(three)) <= {"ant", "bee", "cat"}
    assert (model.labeled_iter_ < 0).any()
    assert set(model.transduction_.tolist()) <= {"ant", "bee", "cat"}


def test_a_missing_view_is_left_out():
    X, _, target = corpus()
    present = np.ones((len(X), 2), dtype=bool)
    present[50:, 1] = False
    links = X["links"].copy()
    links[50:] = 0
    partial = Views(words=X["words"], links=links, present=present)
    model = CoTrainingClassifier(max_iter=5, random_state=0).fit(partial, target)
    assert_allclose(model.predict_proba(partial)[50:], model.predict_proba_by_view(X.select("words"))["words"][50:])


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"estimator": LinearSVC()}, "implementing 'fit' and 'predict_proba'"),
        ({"n_per_class": "equal"}, "a str among {'proportional'} or .* Got 'equal'"),
    ],
)
def test_bad_parameters_are_refused(settings, sentence):
    X, y, _ = corpus()
    with pytest.raises(ValueError, match=sentence):
        CoTrainingClassifier(**settings).fit(X, y)

"""Probabilities from some of the views: as sure as these views are right, and those from all views as they were."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import softmax

from coview import AutoClassifier, MultiViewNaiveBayes, Views, inspect, load, save
from coview.auto.cross_validation import class_scores
from coview.auto.pooling import matching_temperature, sharpened
from coview.auto.subsets import SubsetEvidence, temperature_of_new, temperatures_of_objects
from coview.metrics import expected_calibration_error
from coview.views.arrays import sparse_in_single

NOTHING = {"alone": {}, "without": {}}


def table(n: int = 500, seed: int = 0) -> tuple[Views, np.ndarray]:
    """Texts that tell the class, a category and numbers that hint at it."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 4
    words = rng.poisson(0.08 + 0.9 * (np.arange(60)[None] % 4 == y[:, None]))
    category = np.eye(8)[np.where(rng.random(n) < 0.4, y, rng.integers(8, size=n))]
    numbers = rng.normal(size=(n, 3)) + 0.6 * np.eye(4)[y][:, :3]
    return Views(text=sparse.csr_array(words * 1.0), category=sparse.csr_array(category), numbers=numbers), y


@pytest.fixture(scope="module")
def fitted() -> tuple[AutoClassifier, Views, np.ndarray]:
    X, y = table()
    seen = np.where(np.arange(250) < 40, y[:250], -1)
    return AutoClassifier(random_state=0, cv=2).fit(X[:250], seen), X[250:], y[250:]


def as_of_all_views(model: AutoClassifier) -> AutoClassifier:
    other = copy.copy(model)
    other.subset_temperatures_ = NOTHING
    return other


def error(model: AutoClassifier, X: Views, y: np.ndarray) -> float:
    return expected_calibration_error(y, model.predict_proba(X), classes=model.classes_)


@pytest.mark.parametrize("names", [["category"], ["category", "numbers"]])
def test_weak_views_are_as_sure_as_they_are_right(fitted, names):
    model, X, y = fitted
    some = X.select(*names)
    sure = model.predict_proba(some).max(axis=1).mean()
    assert abs(sure - np.mean(model.predict(some) == y)) < 0.1
    assert error(model, some, y) < error(as_of_all_views(model), some, y) / 2


def test_the_class_from_some_views_stays(fitted):
    model, X, _ = fitted
    for name in X.names:
        some = X.select(name)
        assert_array_equal(model.predict(some), as_of_all_views(model).predict(some))


def pooled(model: AutoClassifier, X: Views) -> np.ndarray:
    """Mean of what the kept candidates say of objects with all views."""
    weights = dict(zip(model.candidates_["name"], model.candidates_["weight"]))
    mean: np.ndarray | float = 0.0
    for name, kept in model.estimators_.items():
        scores = class_scores(kept, X.select(*model.seen_views_[name]), model.classes_)
        mean = mean + weights[name] * softmax(scores / model.temperatures_[name], axis=1)
    return mean / sum(weights.values())


def test_with_all_views_nothing_but_the_temperature_of_new_objects_is_used(fitted):
    model, X, _ = fitted
    assert_allclose(model.predict_proba(X), sharpened(pooled(model, X), model.new_temperature_), rtol=1e-9)
    assert_allclose(model.predict_proba(X), as_of_all_views(model).predict_proba(X), rtol=1e-9, atol=1e-12)


def test_how_often_a_view_is_right_is_told(fitted):
    model, X, y = fitted
    unused = inspect(model).unused_views
    assert [name for name in X.names if name not in unused] == list(model.accuracy_by_view_)
    assert all(len(set(model.predict(X.select(name)).tolist())) == 1 for name in unused)
    for name, told in model.accuracy_by_view_.items():
        assert abs(np.mean(model.predict(X.select(name)) == y) - told) < 0.12


def test_labels_held_out_tell_where_all_objects_are_labeled():
    X, y = table(400, seed=1)
    model = AutoClassifier(random_state=0, cv=2).fit(X[:200], y[:200])
    weak = X[200:].select("category")
    assert abs(model.predict_proba(weak).max(axis=1).mean() - np.mean(model.predict(weak) == y[200:])) < 0.1
    assert error(model, weak, y[200:]) < error(as_of_all_views(model), weak, y[200:]) / 2


def test_with_one_label_of_each_class_a_weak_view_is_less_sure_than_all():
    X, y = table(300, seed=2)
    model = AutoClassifier(random_state=0).fit(X, np.where(np.arange(300) < 4, y, -1))
    weak, whole = (model.predict_proba(some).max(axis=1).mean() for some in (X.select("category"), X))
    assert model.n_held_out_ == 0 and weak < whole


def test_a_graph_is_not_asked_for_its_own_neighbors():
    rng = np.random.default_rng(0)
    y = np.arange(240) % 3
    X = Views(told=np.eye(3)[y] * 6 + rng.normal(size=(240, 3)), noise=rng.normal(size=(240, 4)))
    model = AutoClassifier(["graph"], random_state=0, cv=2).fit(X, np.where(np.arange(240) < 30, y, -1))
    assert np.mean(model.predict(X.select("noise")) == y) > 0.9  # each training object is found again
    assert model.accuracy_by_view_["noise"] < 0.5 < 0.9 < model.accuracy_by_view_["told"]


def test_an_object_that_lacks_a_view_is_as_one_that_is_asked_without_it():
    X, y = table(240, seed=3)
    X = X.select("text", "category")
    bayes = [("bayes", MultiViewNaiveBayes())]
    model = AutoClassifier(bayes, random_state=0, cv=2).fit(X, np.where(np.arange(240) < 40, y, -1))
    there = np.arange(240) > 0
    gap = Views(
        {"text": X["text"].multiply(there[:, None]).tocsr(), "category": X["category"]}, present={"text": there}
    )
    found = model.predict_proba(gap)
    assert_allclose(found[:1], model.predict_proba(X[:1].select("category")))
    assert_allclose(found[1:], model.predict_proba(X)[1:], rtol=1e-5, atol=1e-8)


def test_a_file_keeps_what_is_known_of_some_views(fitted, tmp_path):
    model, X, _ = fitted
    save(model, tmp_path / "model.coview")
    again = load(tmp_path / "model.coview")
    assert model.new_temperature_ != model.pool_temperature_
    for some in (X, X.select("category")):
        assert_array_equal(again.predict_proba(some), model.predict_proba(some))


def test_temperatures_of_unknown_views_are_refused(fitted, tmp_path):
    model = copy.copy(fitted[0])
    model.subset_temperatures_ = {"alone": {"another": 1.0}, "without": {}}
    with pytest.raises(ValueError, match="another"):
        save(model, tmp_path / "model.coview")


def test_inspect_and_report_say_how_often_a_view_is_right(fitted):
    model, X, _ = fitted
    assert inspect(model).accuracy_by_view == model.accuracy_by_view_
    assert "from one view alone it is right by text for about" in model.report(X).html


# -- new objects with all views


def short_texts(n: int, seed: int) -> tuple[Views, np.ndarray]:
    """Titles and texts of a few words each."""
    rng, y = np.random.default_rng(seed), np.arange(n) % 4
    topics, common = rng.dirichlet(np.full(180, 0.1), size=4), rng.dirichlet(np.full(180, 0.3))
    words = [[rng.multinomial(rng.integers(3, 8), 0.35 * topics[c] + 0.65 * common) for c in y] for _ in range(2)]
    title, text = (sparse.csr_array(np.array(each) * 1.0) for each in words)
    return Views(title=title, text=text), y


@pytest.fixture(scope="module")
def topics() -> tuple[AutoClassifier, Views, np.ndarray]:
    X, y = short_texts(600, seed=0)
    return (
        AutoClassifier(["topics"], random_state=0, cv=2).fit(X[:300], np.where(np.arange(300) < 32, y[:300], -1)),
        X,
        y,
    )


def as_in_the_fit(model: AutoClassifier) -> AutoClassifier:
    other = copy.copy(model)
    other.new_temperature_ = model.pool_temperature_
    return other


def test_topics_are_surer_of_new_objects_than_their_words_alone_make_them(topics):
    model, X, y = topics
    new, right = X[300:], y[300:]
    sure, was = (each.predict_proba(new).max(axis=1).mean() for each in (model, as_in_the_fit(model)))
    assert was + 0.05 < sure < np.mean(model.predict(new) == right) + 0.05
    assert error(model, new, right) < error(as_in_the_fit(model), new, right) - 0.05
    assert_array_equal(model.predict(new), as_in_the_fit(model).predict(new))


def test_memberships_have_the_temperature_of_the_fit(topics):
    model, X, _ = topics
    fitted_to = X[:300].map(sparse_in_single)
    assert_allclose(
        model.memberships_[32:], sharpened(pooled(model, fitted_to), model.pool_temperature_)[32:], rtol=1e-6
    )


def test_new_objects_are_as_others_to_who_learns_from_labels_alone():
    X, y = table(300, seed=4)
    bayes = [("bayes", MultiViewNaiveBayes()), ("smooth", MultiViewNaiveBayes(alpha=5.0))]
    model = AutoClassifier(bayes, random_state=0, cv=2).fit(
        X.select("text", "category"), np.where(np.arange(300) < 40, y, -1)
    )
    assert model.pool_temperature_ != 1
    assert_allclose(model.new_temperature_, model.pool_temperature_, rtol=0.01)


def test_candidates_that_need_links_count_as_in_the_fit_for_how_sure_new_objects_are():
    rng, y = np.random.default_rng(0), np.arange(200) % 2
    joined = (y[:, None] == y) & (rng.random((200, 200)) < 0.04)
    links = sparse.csr_array((joined | joined.T).astype(float))
    words = sparse.csr_array(rng.poisson(np.where(np.arange(40) % 2 == y[:, None], 0.6, 0.3)) * 1.0)
    ids = np.array([f"page {i}" for i in range(200)])
    X = Views(words=words, links=links, ids=ids, feature_names={"links": ids})
    both = ["topics", "near centers"]
    model = AutoClassifier(both, random_state=0, cv=2).fit(X, np.where(np.arange(200) < 20, y, -1))
    weights = dict(zip(model.candidates_["name"], model.candidates_["weight"]))
    assert min(weights["topics"], weights["near centers"]) > 0.1
    assert model.new_temperature_ != model.pool_temperature_
    alone = AutoClassifier(["near centers"], random_state=0, cv=2).fit(X, np.where(np.arange(200) < 20, y, -1))
    assert alone.new_temperature_ == pytest.approx(alone.pool_temperature_, rel=0.1)


@dataclass(frozen=True)
class Said:
    """One who says the same of every object, or nothing."""

    weight: float
    knows: bool = True

    def answer(self, names, classes):
        return (np.full(100, self.weight), np.tile([0.6, 0.4], (100, 1))) if self.knows else None


@pytest.mark.parametrize(("asked", "sure"), [(0.95, 0.9), (0.5, 0.6)])
def test_where_half_of_the_weight_does_not_answer_the_temperature_stays(asked, sure):
    targets, there = np.tile([0.9, 0.1], (100, 1)), np.ones((100, 1), dtype=bool)
    evidence = SubsetEvidence(
        [Said(asked), Said(1 - asked, knows=False)], 1.0, targets, there, ["a"], np.ones(targets.shape[1])
    )
    found = temperature_of_new([evidence], ["a"], np.arange(2), 1.0)
    assert_allclose(sharpened(np.array([[0.6, 0.4]]), found)[0, 0], sure, atol=0.02)


# -- temperatures


def test_the_likeliest_class_is_as_probable_as_wanted_even_where_all_were_certain():
    certain = np.full((400, 3), 1e-12)
    certain[:, 0] = 1.0
    found = sharpened(certain, matching_temperature(certain, np.full(400, 0.5), 0.7))
    assert_allclose(found[:, 0].mean(), 0.5, atol=0.02)


def test_few_objects_hardly_move_a_temperature():
    rough = np.array([[0.8, 0.2]])
    one, many = (matching_temperature(np.repeat(rough, n, axis=0), np.full(n, 0.51), 1.0) for n in (1, 4000))
    assert 1 < one < 2 < 10 < many


def test_temperatures_of_some_views_lie_between_those_of_one_and_of_all_but_one():
    several = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]], dtype=bool)
    for others, halfway in (((2.0, 2.0, 2.0), 1.0), ((8.0, 1.0, 1.0), 2 * 0.25 ** (1 / 9)), ((2e9, 1.0, 1.0), 2.0)):
        known = {"alone": dict(zip("abcd", (2.0, *others))), "without": dict.fromkeys("abcd", 0.5)}
        found = temperatures_of_objects(known, 0.4, list("abcd"), several).ravel()
        assert_allclose(found, [2.0, halfway, 0.5, 0.4, 0.4])


def test_a_new_object_with_nothing_in_a_sparse_view_is_taken_to_lack_it():
    """A text of unknown words is given, but says nothing."""
    rng, y = np.random.default_rng(0), np.arange(200) % 2
    words = sparse.csr_array(np.eye(40)[y * 20 + rng.integers(0, 20, 200)] + np.eye(40)[rng.integers(0, 40, 200)])
    X = Views(words=words, person=rng.normal(size=(200, 3)) + 0.3 * y[:, None])
    model = AutoClassifier(random_state=0).fit(X, np.where(np.arange(200) < 40, y, -1))
    person = rng.normal(size=(50, 3))
    blank = Views(words=sparse.csr_array((50, 40)), person=person)
    lacking = Views({"words": sparse.csr_array((50, 40)), "person": person}, present=np.tile([False, True], (50, 1)))
    assert model.subset_temperatures_["without"]["words"] > 1.2 * model.new_temperature_
    sure, known = (model.predict_proba(each).max(axis=1).mean() for each in (blank, lacking))
    assert_allclose(sure, known, atol=0.05)

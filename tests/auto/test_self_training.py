"""Self-training of `AutoClassifier`: who learns from what the others say, where, and how sure the whole is then."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from coview import AutoClassifier, Views, load, save
from coview.auto.self_training import FOLLOWS_NOT, _leave_out, worth_self_training
from coview.datasets import make_topic_views

NAME = "self-training"


def linked(n=300, seed=0):
    """Words that say little, and links among objects of one class."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, n)
    words = rng.poisson(0.15 + 0.35 * np.eye(3)[classes].repeat(10, axis=1))
    links = np.zeros((n, n), dtype=int)
    for i in range(n):
        links[i, rng.choice(np.flatnonzero(classes == classes[i]), 3)] = 1
    np.fill_diagonal(links, 0)
    names = [f"page{i}" for i in range(n)]
    views = Views(
        {"words": sparse.csr_array(words), "links": sparse.csr_array(links)}, ids=names, feature_names={"links": names}
    )
    return views, classes


def row_of(model, name=NAME):
    table = model.candidates_
    i = table["name"].index(name)
    return {key: table[key][i] for key in ("method", "weight", "accuracy", "dropped")}


@pytest.fixture(scope="module")
def fitted():
    views, classes = linked()
    y = np.where(np.arange(len(classes)) < 15, classes, -1)
    return AutoClassifier(random_state=0).fit(views, y), views, classes, y


def test_over_links_it_has_half_of_the_weight_and_looks_at_the_objects_themselves(fitted):
    model, _, _, _ = fitted
    row = row_of(model)
    assert row["weight"] == pytest.approx(0.5)
    assert row["method"] == "LogisticRegression" and np.isnan(row["accuracy"]) and row["dropped"] is None
    assert model.seen_views_[NAME] == ["words"]
    assert sum(model.candidates_["weight"]) == pytest.approx(1)


def test_it_tells_what_the_others_tell(fitted):
    model, views, classes, y = fitted
    own = model.estimators_[NAME].predict(views.select("words"))
    assert np.mean(own == model.transduction_) > 0.85
    hidden = y < 0
    assert np.mean(model.transduction_[hidden] == classes[hidden]) > 0.8
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1)


def test_saved_repeated_and_asked_from_words_alone(fitted, tmp_path):
    model, views, classes, y = fitted
    save(model, tmp_path / "m.coview")
    again = load(tmp_path / "m.coview")
    for some in (views, views.select("words"), views.select("links"), views[:7]):
        np.testing.assert_array_equal(again.predict_proba(some), model.predict_proba(some))
    other = AutoClassifier(random_state=0).fit(views, y)
    np.testing.assert_array_equal(other.memberships_, model.memberships_)
    assert np.mean(model.predict(views.select("words")) == classes) > 0.6


@pytest.mark.parametrize("n_classes", [2, 4])
def test_factors_of_the_classes_count_once(n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, n_classes, 200)
    regression = LogisticRegression().fit(X + y[:, None], y)
    before = regression.predict_proba(X)
    factors = np.linspace(1, 0.3, n_classes)
    _leave_out(factors, regression)
    after = regression.predict_proba(X) * factors
    np.testing.assert_allclose(after / after.sum(axis=1, keepdims=True), before)
    np.testing.assert_allclose(softmax(np.log(before) - np.log(factors), axis=1), regression.predict_proba(X))


def test_where_it_is_used():
    n = 5000
    few, half = (np.where(np.arange(n) < k, np.arange(n) % 3, -1) for k in (60, 2600))
    assert worth_self_training(few, linked=False) and worth_self_training(few[:400], linked=True)
    assert not worth_self_training(few[:400], linked=False)
    assert not worth_self_training(half, linked=True)
    assert not worth_self_training(np.where(few < 0, 0, few), linked=True)


def test_few_objects_without_links_and_own_candidates_go_without():
    made = make_topic_views(n_objects=200, n_clusters=3, random_state=0)
    y = np.where(np.arange(200) < 15, made.target, -1)
    assert NAME not in AutoClassifier(random_state=0).fit(made.views, y).candidates_["name"]
    views, classes = linked()
    known = np.where(np.arange(len(classes)) < 15, classes, -1)
    model = AutoClassifier(["latent", "near latent"], random_state=0).fit(views, known)
    assert NAME not in model.candidates_["name"]


def test_many_objects_without_links():
    made = make_topic_views(n_objects=4500, n_clusters=3, length=10, random_state=0)
    y = np.where(np.arange(4500) < 12, made.target, -1)
    model = AutoClassifier(random_state=0).fit(made.views, y)
    assert row_of(model)["weight"] == pytest.approx(0.5)
    alone = AutoClassifier(["topics", "centers", "latent", "margins"], random_state=0).fit(made.views, y)
    hidden = y < 0
    ours, theirs = (np.mean(m.transduction_[hidden] == made.target[hidden]) for m in (model, alone))
    assert ours > theirs - 0.01


def test_classes_that_no_linear_function_tells_are_left_to_the_others():
    """Four blobs, two of each class across from each other, and links, by which the others tell them."""
    rng = np.random.default_rng(0)
    n = 300
    corner = np.arange(n) % 4
    classes = corner % 2
    plane = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]])[corner] + rng.normal(0, 0.1, (n, 2))
    links = np.zeros((n, n), dtype=int)
    for i in range(n):
        links[i, rng.choice(np.flatnonzero(classes == classes[i]), 5)] = 1
    names = [f"p{i}" for i in range(n)]
    X = Views({"plane": plane, "links": sparse.csr_array(links)}, ids=names, feature_names={"links": names})
    y = np.where(np.arange(n) < 20, classes, -1)
    model = AutoClassifier(links="links", random_state=0).fit(X, y)
    row = row_of(model)
    assert row["weight"] == 0 and row["dropped"] == FOLLOWS_NOT and NAME not in model.estimators_
    assert np.mean(model.transduction_[20:] == classes[20:]) > 0.9


def test_objects_without_some_views_and_without_any():
    views, classes = linked()
    present = np.ones((len(classes), 2), dtype=bool)
    present[200:240, 0] = present[240:270, 1] = present[270] = False
    words, links = (part.toarray() for part in views.values())
    words[~present[:, 0]], links[~present[:, 1]] = 0, 0
    holed = Views(
        {"words": words, "links": links}, ids=views.ids, feature_names=dict(views.feature_names), present=present
    )
    y = np.where(np.arange(len(classes)) < 20, classes, -1)
    model = AutoClassifier(random_state=0).fit(holed, y)
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1)
    np.testing.assert_allclose(model.memberships_[270], model.class_prior_)


def test_no_time_for_it():
    views, classes = linked()
    y = np.where(np.arange(len(classes)) < 15, classes, -1)
    model = AutoClassifier(time_budget=0.05, random_state=0).fit(views, y)
    assert row_of(model)["weight"] == 0 and "time budget" in row_of(model)["dropped"]

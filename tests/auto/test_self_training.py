"""Self-training of `AutoClassifier`: who learns from what the others say, where, and how sure the whole is then."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax
from sklearn import config_context
from sklearn.linear_model import LogisticRegression

from coview import AutoClassifier, Views, load, save
from coview.auto import classifier, self_training
from coview.auto.pipelines import PipelineCandidate
from coview.auto.self_training import CANNOT_FOLLOW, _divide_odds, worth_self_training
from coview.datasets import make_topic_views
from coview.inspection.choice import describe_choice

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
    _divide_odds(factors, regression)
    after = regression.predict_proba(X) * factors
    np.testing.assert_allclose(after / after.sum(axis=1, keepdims=True), before)
    np.testing.assert_allclose(softmax(np.log(before) - np.log(factors), axis=1), regression.predict_proba(X))


def follow(views, y, **changes):
    """What `self_train` finds for a fitted model's memberships, and what it was given."""
    given = {}
    original = classifier.self_train

    def spy(*arguments):
        given["arguments"] = arguments
        given["found"] = original(*arguments)
        return given["found"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classifier, "self_train", spy)
        given["model"] = AutoClassifier(random_state=0, **changes).fit(views, y)
    return given


def unbalanced(n=300):
    views, classes = linked(n)
    return views, classes, np.where((np.arange(n) < 40) & ((classes == 0) | (np.arange(n) < 12)), classes, -1)


def test_memberships_change_only_where_the_class_does():
    views, _, y = unbalanced()
    given = follow(views, y)
    before, after = given["arguments"][3], given["model"].memberships_
    free = y < 0
    same = free & (before.argmax(axis=1) == after.argmax(axis=1))
    assert 0 < np.sum(free & ~same) < 60
    np.testing.assert_array_equal(after[same], before[same])


def test_its_probabilities_are_those_of_the_regression_divided_by_the_factors():
    views, _, y = unbalanced()
    given = follow(views, y)
    model, found = given["model"], given["found"]
    assert model.class_factors_.min() < 0.9
    own = model.estimators_[NAME].predict_proba(views.select("words"))
    np.testing.assert_allclose(own, found.probabilities, atol=1e-4)


def test_the_whole_is_as_sure_as_before():
    views, _, y = unbalanced()
    given = follow(views, y)
    model, before, compared = given["model"], given["arguments"][3], given["found"].compared
    assert (y[compared] < 0).all()
    sure = model.predict_proba(views)[compared].max(axis=1).mean()
    assert sure == pytest.approx(before[compared].max(axis=1).mean(), abs=0.03)


def test_objects_it_is_less_sure_of_count_less():
    """Of two objects of one class, the regression follows the one of which the others are sure."""
    rng = np.random.default_rng(0)
    views, _, y = unbalanced()
    given = follow(views, y)
    arguments = list(given["arguments"])
    flat = arguments[3].copy()
    half = rng.permutation(np.flatnonzero(y < 0))[:130]
    wrong = (flat[half].argmax(axis=1) + 1) % 3
    flat[half] = (1 - 0.34) / 2
    flat[half, wrong] = 0.34  # hardly likelier than another class
    sure = flat.copy()
    sure[half] = 0.0
    sure[half, wrong] = 1.0
    follows = []
    for memberships in (flat, sure):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self_training, "FOLLOWS", 0.0)
            arguments[3] = memberships
            follows.append(np.mean(self_training.self_train(*arguments).probabilities[half].argmax(axis=1) == wrong))
    assert follows[0] < follows[1] - 0.05


def test_training_rows_are_new_to_who_is_asked_and_keep_every_class():
    codes = np.full(9000, -1)
    codes[:5000] = np.arange(5000) % 2
    codes[4999] = 2  # the only one
    asked = np.arange(6000, 6100)
    rows = self_training._training_rows(codes, np.ones(9000, dtype=bool), asked, seed=0)
    assert not np.isin(rows, asked).any()
    assert 4999 in rows and 3000 <= np.sum(codes[rows] >= 0) <= 3003 and np.sum(codes[rows] < 0) == 2000
    few = np.where(np.arange(300) < 20, np.arange(300) % 2, -1)
    assert len(self_training._training_rows(few, np.ones(300, dtype=bool), asked[:0], seed=0)) == 300


def test_metadata_routing_of_scikit_learn_does_not_matter(fitted):
    model, views, _, y = fitted
    with config_context(enable_metadata_routing=True):
        routed = AutoClassifier(random_state=0).fit(views, y)
    np.testing.assert_array_equal(routed.memberships_, model.memberships_)


def test_links_that_are_named_and_join_nothing():
    views, classes = linked()
    rng = np.random.default_rng(1)
    loose = sparse.csr_array(rng.random((300, 300)) < 0.01, dtype=int)
    X = Views({"words": views["words"], "links": loose}, ids=views.ids, feature_names=dict(views.feature_names))
    model = AutoClassifier(links="links", random_state=0).fit(X, np.where(np.arange(300) < 15, classes, -1))
    assert not model.links_["join"] and NAME not in model.candidates_["name"]


def test_words_about_it(fitted):
    model, *_ = fitted
    text = describe_choice(model.candidates_)
    assert "self-training (LogisticRegression) learned from what these say, and has weight 0.50." in text
    assert "accuracy" in text.casefold() and "best evidence are combined: self" not in text


def test_where_it_is_used():
    n = 5000
    few, half = (np.where(np.arange(n) < k, np.arange(n) % 3, -1) for k in (60, 2600))
    assert worth_self_training(few, linked=False, linear=True) and worth_self_training(few[:400], True, False)
    assert not worth_self_training(few, linked=False, linear=False)
    assert not worth_self_training(few[:400], linked=False, linear=True)
    assert not worth_self_training(half, linked=True, linear=True)
    assert not worth_self_training(np.where(few < 0, 0, few), linked=True, linear=True)


def test_few_objects_without_links_and_own_candidates_go_without():
    made = make_topic_views(n_objects=200, n_clusters=3, random_state=0)
    y = np.where(np.arange(200) < 15, made.target, -1)
    assert NAME not in AutoClassifier(random_state=0).fit(made.views, y).candidates_["name"]
    views, classes = linked()
    known = np.where(np.arange(len(classes)) < 15, classes, -1)
    model = AutoClassifier(["latent", "near latent"], random_state=0).fit(views, known)
    assert NAME not in model.candidates_["name"]


@pytest.mark.parametrize("linear", [True, False])
def test_many_objects_without_links(monkeypatch, linear):
    """Topics lead here; where a linear classifier does, self-training takes part."""
    made = make_topic_views(n_objects=4500, n_clusters=3, length=10, random_state=0)
    y = np.where(np.arange(4500) < 12, made.target, -1)
    if linear:
        monkeypatch.setattr(PipelineCandidate, "is_linear", True)
    model = AutoClassifier(random_state=0).fit(made.views, y)
    assert (NAME in model.candidates_["name"]) == linear
    if linear:
        assert row_of(model)["weight"] == pytest.approx(0.5)
        assert model.seen_views_[NAME] == list(made.views.names)


def test_classes_that_no_linear_function_tells_are_left_to_the_others():
    """Four blobs with links inside each, two of each class across from each other: links tell the classes."""
    rng = np.random.default_rng(0)
    n = 300
    corner = np.arange(n) % 4
    classes = corner % 2
    plane = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]])[corner] + rng.normal(0, 0.1, (n, 2))
    links = np.zeros((n, n), dtype=int)
    for i in range(n):
        links[i, rng.choice(np.flatnonzero(corner == corner[i]), 5)] = 1
    names = [f"p{i}" for i in range(n)]
    X = Views({"plane": plane, "links": sparse.csr_array(links)}, ids=names, feature_names={"links": names})
    y = np.where(np.arange(n) < 20, classes, -1)
    model = AutoClassifier(random_state=0).fit(X, y)
    assert model.links_["join"]
    row = row_of(model)
    assert row["weight"] == 0 and row["dropped"] == CANNOT_FOLLOW and NAME not in model.estimators_
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
    assert NAME in model.estimators_
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1)
    np.testing.assert_allclose(model.memberships_[270], model.class_prior_)


def test_no_time_for_it():
    views, classes = linked()
    y = np.where(np.arange(len(classes)) < 15, classes, -1)
    model = AutoClassifier(time_budget=0.05, random_state=0).fit(views, y)
    assert row_of(model)["weight"] == 0 and "time budget" in row_of(model)["dropped"]


def test_asked_for_by_name():
    views, classes = linked()
    y = np.where(np.arange(len(classes)) < 15, classes, -1)
    model = AutoClassifier(["latent", NAME], random_state=0).fit(views, y)
    assert row_of(model)["weight"] == 0 and "candidates=None" in row_of(model)["dropped"]
    with pytest.raises(ValueError, match="No candidate that was named suits the data: self-training, since it learns"):
        AutoClassifier([NAME], random_state=0).fit(views, y)
    with pytest.raises(ValueError, match=r"Choose from: (?!.*near latent.*near latent).*self-training") as caught:
        AutoClassifier(["nobody"], random_state=0).fit(views, y)
    assert str(caught.value).count("near centers") == 1

"""Counts or measurements: told by the objects that have the view, and in one way everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from coview import (
    AutoClassifier,
    AutoClustering,
    TfidfViews,
    UnitRows,
    Views,
    inspect,
    load,
    make_report,
    save,
)
from coview.auto.experts import propose_experts
from coview.auto.preparation import counted_views, measured_views
from coview.cli.summary import describe_model
from coview.plsa.mixture import choose_likelihoods

FILLED, EMPTY = np.array([[0.3, 0.7], [0.2, 0.4]]), np.array([[2.0, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize(("matrix", "counts"), [(FILLED, False), (EMPTY, True), (-EMPTY, False)])
def test_objects_that_lack_a_view_say_nothing_of_what_it_holds(matrix, counts):
    """Their rows are zeros, which are no counts of zero."""
    padded = np.vstack([matrix, np.zeros((6, 2))])
    present = np.arange(8)[:, None] < [2, 8]
    for views in (Views(x=matrix, y=np.eye(2)), Views({"x": padded, "y": np.eye(8)}, present=present)):
        assert ("x" in counted_views(views)) == counts
        assert ("x" in measured_views(views)) == (not counts)
        assert (choose_likelihoods("auto", views)["x"] == "multinomial") == counts


def _texts(rng):
    """Counts of 200 texts of two classes: few words are in most of them, most words in few."""
    shares = 1 / np.arange(1, 301)
    words = rng.choice(300, p=shares / shares.sum(), size=(200, 40))
    own = rng.random((200, 40)) < 0.3
    words[own] = (words[own] // 2) * 2 + np.repeat(np.arange(200) % 2, 40).reshape(200, 40)[own]
    return sparse.csr_array(np.array([np.bincount(row % 300, minlength=300) for row in words], dtype=float))


@pytest.mark.parametrize(
    ("change", "given"),
    [
        (lambda counts: counts, False),
        (lambda counts: counts > 0, False),
        (lambda counts: UnitRows("l1").fit_transform(Views(x=counts))["x"], True),
        (lambda counts: TfidfViews(norm="l1", sublinear_tf=True).fit_transform(Views(x=counts))["x"].toarray(), True),
    ],
)
def test_weights_that_a_view_comes_with_are_not_put_on_again(change, given, fit_auto):
    X = Views(x=change(_texts(np.random.default_rng(0))), y=np.eye(200))
    for expert in propose_experts(X, None, 0):
        weighed = {
            view: step.use_idf for step in expert.estimator if isinstance(step, TfidfViews) for view in step.views
        }
        if "x" in weighed:
            assert weighed["x"] == (not given), expert.name
    y = np.where(np.arange(200) < 60, np.arange(200) % 2, -1)
    model = fit_auto(["latent", "centers"], X, y)
    assert model.scaling_["x"] == ("unit length" if given else "tf-idf")
    said = {True: "already weighted, as by tf-idf; each row scaled", False: "counts, categories or shares, weighted by"}
    assert said[given] in str(inspect(model))


def test_what_each_view_was_taken_for_is_told_everywhere(tmp_path):
    rng, y = np.random.default_rng(0), np.arange(60) % 3
    words = sparse.csr_array((np.eye(30)[y * 10 + rng.integers(0, 10, 60)] * 3).astype(int))
    vectors = rng.normal(size=(60, 20)) + 3 * np.eye(20)[y]
    person = np.stack([40.0 + 10 * y, 1000.0 * y], axis=1) + rng.normal(size=(60, 2))
    X = Views(words=words, vector=vectors, person=person, amounts=abs(vectors))
    taken = {"words": "tf-idf", "vector": "centered", "person": "standard", "amounts": "pareto"}
    for model in (AutoClustering(3, random_state=0).fit(X), AutoClassifier(random_state=0).fit(X, y)):
        assert model.scaling_ == taken
        assert repr(inspect(model)).count("  view 'person': 2 features, numbers, each column divided by its") == 1
        shown = make_report(model, X)
        assert {view["name"]: view["scaling"] for view in shown.summary["data"]["views"]} == taken
        save(model, tmp_path / "m.coview")
        told = describe_model(inspect(load(tmp_path / "m.coview")))
        assert "  view 'vector': 20 features, vectors, all columns divided by one number" in told
        assert "  view 'words': 30 features, counts, categories or shares, weighted by tf-idf" in told


def test_candidates_that_see_counts_as_they_are_say_nothing_of_scaling(fit_auto):
    X, y = Views(words=np.tile(np.eye(4, dtype=int), (6, 1))), np.arange(24) % 4
    assert fit_auto(["topics"], X, y).scaling_ == {}
    assert fit_auto(["topics", "latent"], X, y).scaling_ == {"words": "tf-idf"}


def test_a_turned_embedding_leads_to_the_same_answers():
    """Axes of an embedding mean nothing: few wide columns that tell classes apart, many narrow ones of noise."""
    rng = np.random.default_rng(0)
    y = np.arange(240) % 4
    centers = np.zeros((4, 40))
    centers[:, :4] = 3 * np.eye(4)
    vectors = centers[y] + rng.normal(size=(240, 40)) * np.linspace(1.0, 0.6, 40)
    turned = vectors @ np.linalg.qr(rng.normal(size=(40, 40)))[0]
    labels = np.where(np.arange(240) < 16, y, -1)
    accuracy = [
        np.mean(AutoClassifier(random_state=0, cv=2).fit(Views(text=rows), labels).transduction_ == y)
        for rows in (vectors, turned)
    ]
    assert abs(accuracy[0] - accuracy[1]) < 0.02
    assert min(accuracy) > 0.9


@pytest.mark.parametrize("width", [1, 2])
def test_the_middle_class_of_one_or_two_columns_is_found(width):
    """About their mean, objects in the middle have any direction; only the length of their rows tells."""
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    X = Views(size=(y[:, None] - 1.0) * 3 + 0.5 * rng.normal(size=(150, width)))
    model = AutoClassifier(random_state=0, cv=2).fit(X, np.where(np.arange(150) < 15, y, -1))
    assert np.mean(model.transduction_ == y) > 0.95
    assert np.mean(model.predict(X) == y) > 0.95

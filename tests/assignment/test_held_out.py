"""Weights of views by held-out objects: a poor view counts less, noise changes nothing, the model uses its choice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from coview import Ontology, SeededKMeansClassifier, Views, load, save
from coview.assignment.decision_rules import DecisionRule
from coview.assignment.held_out import fit_view_weights


def scores_of(n, noise, seed, classes=4):
    """Scores of as many views as there are noises, and the labels."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n)
    parts = [0.3 * np.eye(classes)[truth] + level * rng.random((n, classes)) for level in noise]
    return np.stack(parts, axis=1), truth


def data_with_a_loud_view(n=240, seed=0):
    """A view of many words that tell the class, and one of a single feature each: large cosines that tell nothing."""
    rng = np.random.default_rng(seed)
    target = np.arange(n) % 3
    topics = rng.dirichlet(np.full(80, 0.2), 3)
    words = np.array([rng.multinomial(25, 0.3 * topics[k] + 0.7 / 80) for k in target], dtype=float)
    loud = np.eye(20)[rng.integers(0, 20, n)]
    y = np.where(np.arange(n) < 90, target, -1)
    return Views(words=words, loud=loud), y, target


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["sum", "product", "max_agree", "co_train"]))
def test_weights_never_lose_held_out_objects(seed, combine):
    scores, truth = scores_of(80, (0.4, 0.9, 0.6), seed)
    present, rule = np.ones((80, 3), dtype=bool), DecisionRule(combine)
    weights = fit_view_weights(rule, scores, present, truth)

    def right(w):
        weighed = scores ** w[:, None] if combine == "product" else scores * w[:, None]
        return np.mean(rule.decide(weighed, rule.assign(weighed, present), present) == truth)

    assert right(weights) >= right(np.ones(3))
    assert_allclose(weights.mean(), 1.0)
    assert weights.max() <= 16 * weights.min() * (1 + 1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_the_order_of_two_views_does_not_matter(seed):
    scores, truth = scores_of(100, (0.3, 1.0), seed)
    present = np.ones((100, 2), dtype=bool)
    there = fit_view_weights(DecisionRule("sum"), scores, present, truth)
    back = fit_view_weights(DecisionRule("sum"), scores[:, ::-1], present, truth)
    assert_allclose(there, back[::-1])


@pytest.mark.parametrize("combine", ["sum", "product"])
def test_a_noisy_view_counts_less_than_a_clean_one(combine):
    scores, truth = scores_of(300, (0.2, 1.5), seed=3)
    weights = fit_view_weights(DecisionRule(combine), scores, np.ones((300, 2), dtype=bool), truth)
    assert weights[0] > weights[1]


def test_a_loud_view_that_tells_nothing_counts_less():
    X, y, target = data_with_a_loud_view()
    hidden = y < 0
    plain = SeededKMeansClassifier(max_iter=3).fit(X, y)
    model = SeededKMeansClassifier(view_weights="held_out", max_iter=3, random_state=0).fit(X, y)
    assert model.view_weights_["words"] > 1.5 > 0.5 > model.view_weights_["loud"]
    right = [np.mean((found.transduction_ == target)[hidden]) for found in (plain, model)]
    assert right[1] > right[0] + 0.05


def test_chosen_weights_given_by_hand_are_the_same_model(tmp_path):
    X, y, _ = data_with_a_loud_view()
    model = SeededKMeansClassifier(view_weights="held_out", random_state=0).fit(X, y)
    by_hand = SeededKMeansClassifier(view_weights=model.view_weights_).fit(X, y)
    assert_array_equal(model.transduction_, by_hand.transduction_)
    assert_allclose(model.decision_function(X), by_hand.decision_function(X))
    save(model, tmp_path / "model.coview")
    again = load(tmp_path / "model.coview")
    assert_allclose(again.decision_function(X), model.decision_function(X))


def test_weights_are_chosen_under_an_ontology_too():
    X, y, _ = data_with_a_loud_view()
    tree = Ontology.from_tree({"left": ["a", "b"], "right": ["c"]})
    names = np.array(["a", "b", "c", None], dtype=object)[y]
    model = SeededKMeansClassifier("max_agree", tree, view_weights="held_out", random_state=0).fit(X, names)
    assert model.view_weights_["words"] > model.view_weights_["loud"]


def test_labels_that_cannot_be_held_out_leave_the_weights_equal():
    X, _, target = data_with_a_loud_view()
    y = np.full(len(target), -1)
    y[:3] = target[:3]
    with pytest.warns(UserWarning, match="view_weights='held_out' needs a class with at least two labeled objects"):
        model = SeededKMeansClassifier(view_weights="held_out").fit(X, y)
    assert model.view_weights_ == {"words": 1.0, "loud": 1.0}


def test_held_out_objects_of_an_upper_label_agree_with_what_is_below_it():
    """Labels of an upper level alone tell nothing about leaves, but they must not stand in the way of the weights."""
    X, y, _ = data_with_a_loud_view()
    tree = Ontology.from_tree({"left": ["a", "b"], "right": ["c", "d"]})
    names = np.array(["a", "b", "c", None], dtype=object)[y]
    names[:90:2] = np.where(y[:90:2] == 2, "right", "left")
    model = SeededKMeansClassifier(ontology=tree, view_weights="held_out", early_stopping=True, random_state=0)
    model.fit(X, names)
    assert max(model.history_["held_out"]) > 0.6  # half of the objects have an upper label alone

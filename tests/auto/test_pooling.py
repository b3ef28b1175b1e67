"""Temperatures and weights: against a search over all of them, and what a prior does."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import softmax

from coview.auto.pooling import combine, fit_temperature, fit_weights, log_loss, own_temperature


def drawn(n: int, temperature: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scores, and classes that follow them at a temperature."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, 3)) * 4
    shares = softmax(scores / temperature, axis=1)
    return scores, np.array([rng.choice(3, p=row) for row in shares])


def test_the_temperature_of_many_objects_is_the_one_they_were_drawn_with():
    for temperature in (0.5, 1.0, 6.0):
        scores, codes = drawn(4000, temperature)
        assert_allclose(fit_temperature(scores, codes), temperature, rtol=0.15)


def test_a_temperature_does_not_depend_on_the_unit_of_the_scores():
    scores, codes = drawn(50, 1.0)
    assert_allclose(fit_temperature(100 * scores, codes), 100 * fit_temperature(scores, codes), rtol=1e-3)


def test_one_right_answer_does_not_make_a_classifier_sure():
    scores = np.array([[3.0, 0.0, 0.0]])
    assert softmax(scores / fit_temperature(scores, np.array([0])), axis=1).max() < 0.999


def test_weights_have_the_highest_posterior():
    rng = np.random.default_rng(1)
    shares = softmax(rng.normal(size=(2, 30, 3)) * 2, axis=2)
    codes, prior, strength = rng.integers(3, size=30), np.array([0.3, 0.7]), 5.0
    found = fit_weights(shares, codes, prior, strength)

    def posterior(first: np.ndarray) -> float:
        mixed = first * shares[0] + (1 - first) * shares[1]
        return -len(codes) * log_loss(mixed, codes) + strength * (prior @ np.log([first, 1 - first]))

    grid = np.linspace(0.001, 0.999, 999)
    assert_allclose(found[0], grid[np.argmax([posterior(first) for first in grid])], atol=0.01)


def test_without_labels_the_prior_is_the_weight():
    assert_allclose(fit_weights(np.zeros((2, 0, 3)), np.zeros(0, int), np.array([1.0, 3.0]), 5.0), [0.25, 0.75])


def test_scores_that_say_nothing_have_a_usual_temperature():
    flat = np.full((5, 3), -1.1)
    assert 0.01 < fit_temperature(flat, np.zeros(5, int)) < 100 and 0.01 < own_temperature(flat) < 100


def test_before_any_label_all_scores_are_as_sure():
    scores, _ = drawn(200, 1.0)
    shares = [softmax(part / own_temperature(part), axis=1) for part in (scores, 1000 * scores)]
    assert_allclose(shares[0], shares[1])


def test_a_combination_is_a_weighted_mean():
    shares = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    assert_allclose(combine(shares, np.array([3.0, 1.0])), [[0.75, 0.25]])

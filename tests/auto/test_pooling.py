"""Temperatures and weights: against a search over all of them, and what a prior does."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import softmax

from coview.auto.pooling import (
    agreeing_temperature,
    class_factors,
    combine,
    fit_pool_temperature,
    fit_temperature,
    fit_weights,
    log_loss,
    own_temperature,
    pool,
    sharpened,
)


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


def test_a_mean_of_probabilities_is_as_sure_as_it_is_right_once_labels_are_many():
    rng = np.random.default_rng(3)
    codes = rng.integers(4, size=3000)
    parts = [softmax(2 * np.eye(4)[codes] + rng.normal(size=(3000, 4)), axis=1) for _ in range(5)]
    mean = combine(np.array(parts), np.full(5, 0.2))
    right = np.mean(mean.argmax(axis=1) == codes)
    assert mean.max(axis=1).mean() < right - 0.2  # less sure than it is right
    sure = sharpened(mean, fit_pool_temperature(mean, codes))
    assert_allclose(sure.max(axis=1).mean(), right, atol=0.02)
    assert (sure.argmax(axis=1) == mean.argmax(axis=1)).all()


def test_the_temperature_of_a_combination_is_the_usual_one_where_labels_are_none_and_does_not_run_away():
    mean = np.full((3, 4), 0.1) + 0.6 * np.eye(4)[:3]
    usual = fit_pool_temperature(mean[:0], np.zeros(0, int))
    assert_allclose(np.log(usual), -0.4, atol=0.01)
    assert 0.5 * usual < fit_pool_temperature(mean, np.arange(3)) < usual


def test_classifiers_that_never_disagree_do_not_make_their_mean_certain():
    mean = np.full((50, 3), 0.2) + 0.4 * np.eye(3)[np.zeros(50, int)]
    same = np.zeros(50, int)
    assert_allclose(sharpened(mean, agreeing_temperature(mean, [same, same])).max(axis=1), 0.95, atol=0.01)
    assert agreeing_temperature(mean, [same]) == 1.0
    assert agreeing_temperature(mean, [same, np.full(50, -1)]) == 1.0


def test_who_has_no_view_keeps_the_prior_whatever_the_temperature():
    prior = np.array([0.7, 0.3])
    answers = [(np.array([1.0, 0.0]), np.array([[0.6, 0.4], [0.6, 0.4]]))]
    assert_allclose(pool(answers, prior, 2, np.ones(2), 0.5), [[0.36 / 0.52, 0.16 / 0.52], prior])


def test_the_frequent_class_is_guessed_where_opinions_differ_and_only_there():
    factors = class_factors(np.array([100, 10]))
    told = [(np.ones(3), np.array([[0.5, 0.5], [0.05, 0.95], [0.95, 0.05]]))]
    found = pool(told, np.full(2, 0.5), 3, factors)
    assert_allclose(found.sum(axis=1), 1)
    assert found.argmax(axis=1).tolist() == [0, 1, 0] and found[0, 0] > 0.6
    # a temperature changes how sure the answer is, not what it is
    for temperature in (0.3, 4.0):
        assert (pool(told, np.full(2, 0.5), 3, factors, temperature).argmax(axis=1) == [0, 1, 0]).all()


def test_as_many_labels_of_every_class_favor_none_and_few_labels_favor_little():
    assert_allclose(class_factors(np.array([3, 3, 3])), 1)
    few, many = (class_factors(np.array([2, 1]) * times) for times in (1, 50))
    assert 0.94 < few[1] < 1 and many[1] < 0.85

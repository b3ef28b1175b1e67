"""Temperatures and weights: against a search over all of them, what a prior does, and a score that no label is in."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import softmax

from coview import load, save
from coview.auto.pooling import (
    STRENGTH,
    Pool,
    fit_exponents,
    fit_pool_temperature,
    fit_temperature,
    fit_weights,
    log_loss,
    pool,
    sharpened,
)
from coview.auto.table import CandidateTable
from coview.datasets import make_topic_views


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
    codes, prior = rng.integers(3, size=30), np.array([0.3, 0.7])
    found = fit_weights(shares, codes, prior)

    def posterior(first: float) -> float:
        mixed = first * shares[0] + (1 - first) * shares[1]
        return -len(codes) * log_loss(mixed, codes) + STRENGTH * (prior @ np.log([first, 1 - first]))

    grid = np.linspace(0.001, 0.999, 999)
    assert_allclose(found[0], grid[np.argmax([posterior(first) for first in grid])], atol=0.01)


def test_without_labels_the_prior_is_the_weight():
    assert_allclose(fit_weights(np.zeros((2, 0, 3)), np.zeros(0, int), np.array([1.0, 3.0])), [0.25, 0.75])


def test_one_of_hardly_any_weight_is_left_out():
    right, wrong = np.full((200, 2), [0.9, 0.1]), np.full((200, 2), [0.1, 0.9])
    codes = np.zeros(200, dtype=int)
    assert fit_weights(np.array([right, wrong]), codes, np.ones(2)).tolist() == pytest.approx([1, 0], abs=0.04)
    assert fit_weights(np.array([right, wrong]), codes, np.array([1, 0.1]))[1] == 0


def test_one_classifier_alone_is_calibrated_by_its_own_temperature():
    scores, codes = drawn(60, 2.0)
    settled = Pool.fit(scores[None], codes, np.ones(1))
    assert settled.temperature == 1.0
    assert_allclose(settled.combine(scores[None]), softmax(scores / settled.temperatures[0], axis=1))
    flat = np.full((5, 3), -1.1)  # scores that say nothing have a usual one
    assert 0.01 < fit_temperature(flat, np.zeros(5, int)) < 100


def test_before_any_label_all_scores_are_as_sure():
    scores, _ = drawn(200, 1.0)
    shares = [softmax(part / fit_temperature(part, np.zeros(0, int)), axis=1) for part in (scores, 1000 * scores)]
    assert_allclose(shares[0], shares[1])


def test_a_mean_of_probabilities_is_as_sure_as_it_is_right_once_labels_are_many():
    rng = np.random.default_rng(3)
    codes = rng.integers(4, size=3000)
    mean = np.mean([softmax(2 * np.eye(4)[codes] + rng.normal(size=(3000, 4)), axis=1) for _ in range(5)], axis=0)
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


def test_who_has_no_view_keeps_the_prior_whatever_the_temperature():
    prior = np.array([0.7, 0.3])
    had = np.array([1.0, 0.0])
    answers = [(had, had, np.array([[0.6, 0.4], [0.6, 0.4]]))]
    for trust, last in ((0.0, 1.0), (1.0, 0.5)):
        assert_allclose(pool(answers, prior, 0.5, 1.0, trust, last), [[0.36 / 0.52, 0.16 / 0.52], prior])


def test_the_answer_is_between_the_mean_and_the_product():
    rng = np.random.default_rng(0)
    one, two = softmax(rng.normal(size=(2, 7, 3)), axis=2)
    had = np.arange(7) % 2 * 0.5 + 0.5  # half of the objects lack one of two views of the second
    answers = [(np.full(7, 0.7), np.full(7, 1.1), one), (0.3 * had, 0.4 * had, two)]
    mean = (0.7 * one + (0.3 * had)[:, None] * two) / (0.7 + 0.3 * had)[:, None]
    product = one ** (1.5 * 1.1 / (1.1 + 0.4 * had))[:, None] * two ** (1.5 * 0.4 * had / (1.1 + 0.4 * had))[:, None]
    product /= product.sum(axis=1, keepdims=True)
    expected = 0.75 * sharpened(mean, 0.6) + 0.25 * product
    assert_allclose(pool(answers, np.full(3, 1 / 3), 0.6, 1.5, 0.25), expected)


def test_who_answers_alone_is_about_as_sure_in_the_product():
    """One of hardly any exponent answers where no other can, and does not say that all classes are as likely."""
    shares, tiny = np.array([[0.9, 0.1]]), np.array([1e-6])
    assert_allclose(pool([(tiny, tiny, shares)], np.array([0.5, 0.5]), 1.0, 1.0, 1.0), shares, rtol=1e-6)


def test_the_product_counts_as_labels_teach_its_exponents():
    """Many who each know a little: their product finds more than their mean does, once labels are many."""
    rng = np.random.default_rng(5)
    codes = rng.integers(4, size=2400)
    scores = np.array([np.eye(4)[codes] * (1 + i) + rng.normal(size=(2400, 4)) * (1 + i) for i in range(3)])
    assert Pool.fit(scores[:, :0], codes[:0], np.ones(3)).trust == 0
    few, many = (Pool.fit(scores[:, :n], codes[:n], np.ones(3)) for n in (12, 1200))
    assert few.trust < 0.5 < many.trust < 1
    later = slice(1200, None)
    answer, mean = many.combine(scores[:, later]), replace(many, trust=0.0).combine(scores[:, later])
    assert log_loss(answer, codes[later]) < log_loss(mean, codes[later])


def test_exponents_are_those_of_a_search_without_derivatives():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 60)
    logarithms = np.log(softmax(rng.normal(size=(2, 60, 3)) + 1.5 * np.eye(3)[codes], axis=2))
    prior = np.array([1.0, 0.5])

    def loss(exponents):
        P = softmax(np.tensordot(exponents, logarithms, axes=1), axis=1)
        return -np.log(P[np.arange(60), codes]).sum() + 5.0 * ((exponents - prior) ** 2).sum()

    found = fit_exponents(logarithms, codes, prior)
    assert_allclose(found, minimize(loss, prior, method="Nelder-Mead", tol=1e-9).x, atol=1e-4)


def test_who_knows_nothing_does_not_drag_the_others_down():
    """A coin beside one who knows: with labels enough its weight goes to 0, and more labels never bring it back."""
    rng = np.random.default_rng(0)
    weights = []
    for n in (0, 20, 80, 320):
        codes = np.arange(n) % 2
        knows = 3 * np.eye(2)[codes] + rng.normal(size=(n, 2))
        weights.append(Pool.fit(np.array([knows, rng.normal(size=(n, 2))]), codes, np.ones(2)).weights[1])
    assert weights[0] == 0.5 and sorted(weights)[::-1] == weights and weights[-1] < 0.05


N, N_COINS, N_FOLDS = 60, 15, 4


def test_classifiers_that_toss_coins_are_right_half_of_the_time():
    """The combination that scores a held-out label is settled without it."""
    nested, seen, folds = [], [], np.arange(N) % N_FOLDS
    for seed in range(16):
        rng = np.random.default_rng(seed)
        codes, coins = rng.permutation(np.arange(N) % 2), 3 * rng.normal(size=(N_COINS, N, 2))
        found = Pool.nested(coins, codes, np.ones(N_COINS), folds)
        nested.append(np.mean(found.argmax(axis=1) == codes))
        whole = Pool.fit(coins, codes, np.ones(N_COINS)).combine(coins)
        seen.append(np.mean(whole.argmax(axis=1) == codes))
    assert abs(np.mean(nested) - 0.5) < 3 * 0.5 / np.sqrt(16 * N)  # three standard errors of so many tosses
    assert np.mean(seen) > np.mean(nested) + 0.02  # by the labels that it was settled by


@pytest.mark.parametrize("place", [0, 59])
def test_what_is_said_of_an_object_does_not_depend_on_its_label(place):
    rng, codes = np.random.default_rng(0), np.arange(N) // 2 % 2
    coins, other = rng.normal(size=(N_COINS, N, 2)), codes.copy()
    other[place] = 1 - codes[place]
    folds = np.arange(N) % N_FOLDS
    first, second = (Pool.nested(coins, each, np.ones(N_COINS), folds) for each in (codes, other))
    assert_allclose(first[place], second[place])
    assert not np.allclose(first, second)


def test_of_one_fold_alone_weights_are_learned_from_its_other_objects():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 300)
    knows = 2 * np.eye(3)[codes] + rng.normal(size=(300, 3))
    scores = np.stack([knows, *rng.normal(size=(8, 300, 3)) * 3])
    found = Pool.nested(scores, codes, np.ones(9), np.zeros(300, dtype=int))
    right = np.mean(knows.argmax(axis=1) == codes)
    assert (
        abs(np.mean(found.argmax(axis=1) == codes) - right)
        < 0.03
        < np.mean(scores.mean(axis=0).argmax(axis=1) != codes)
    )


def test_what_scores_of_a_fold_are_worth_does_not_depend_on_their_unit():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 40)
    scores = rng.normal(size=(1, 40, 3)) + np.eye(3)[codes]
    only = np.zeros(40, dtype=int)  # one fold was judged: of the others there is nothing to learn from
    found = [Pool.nested(unit * scores, codes, np.ones(1), only) for unit in (0.1, 1.0, 200.0)]
    assert_allclose(found[0], found[1], rtol=1e-6)
    assert_allclose(found[2], found[1], rtol=1e-6)


def test_nearly_equal_probabilities_of_many_classes_have_a_finite_temperature():
    shares = np.full((30, 12), 1 / 12) + np.random.default_rng(0).uniform(-1e-9, 1e-9, (30, 12))
    assert 0.05 < fit_pool_temperature(shares, np.arange(30) % 12) < 20


# -- The table of candidates: a dict that prints as a table

TABLE = CandidateTable(
    name=["a", "long <name>"], weight=[0.25, 0.0], accuracy=[float("nan"), 0.987], log_loss=[float("nan")] * 2,
    dropped=[None, "x" * 100],
)  # fmt: skip


def test_a_row_for_each_candidate_and_no_column_in_which_nothing_is_known():
    lines = repr(TABLE).split("\n")
    assert [line.split() for line in lines[:3]] == [
        ["2", "candidates"],
        ["name", "weight", "accuracy", "dropped"],
        ["a", "0.25"],
    ]
    assert lines[3].startswith("  long <name>  0.00    0.99      xxx") and len(lines[3]) < 100


def test_html_is_escaped_and_whole():
    page = TABLE._repr_html_()
    assert "long &lt;name&gt;" in page and "x" * 100 in page and "log_loss" not in page


def test_a_loaded_table_equals_the_one_that_was_saved(tmp_path, fit_auto):
    data = make_topic_views(n_objects=40, n_clusters=2, random_state=0)
    model = fit_auto(["latent", "centers"], data.views, data.target, cv=2)
    n_rows = len(model.candidates_["name"])
    model.candidates_["log_loss"] = [math.nan] * n_rows
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m").candidates_
    assert loaded == model.candidates_ and (loaded != model.candidates_) is False
    assert loaded != {**model.candidates_, "weight": [0.5] * n_rows} and loaded != {"name": loaded["name"]}

"""The combination that scores a held-out label is settled without it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from coview import MultiViewNaiveBayes, Views
from coview.auto.cross_validation import FoldScores, drop_hopeless
from coview.auto.judging import drop_light, nested_probabilities, weigh
from coview.auto.pipelines import PipelineCandidate
from coview.auto.pooling import combine

N, N_COINS, N_FOLDS = 60, 15, 4
VIEWS = Views(x=np.ones((N, 1)))


def toss_coins(seed: int, codes: np.ndarray) -> list[FoldScores]:
    """Candidates that toss coins, judged fold by fold; those that look bad are given up on the way."""
    rng = np.random.default_rng(seed)
    tossed, folds = rng.normal(size=(N_COINS, N, 2)) * 3.0, np.arange(N) % N_FOLDS
    coins = [
        FoldScores(PipelineCandidate(f"coin {i}", MultiViewNaiveBayes()), np.full((N, 2), np.nan))
        for i in range(N_COINS)
    ]
    for fold in range(N_FOLDS):
        for each, scores in zip(coins, tossed):
            if each.dropped is None:
                each.scores[folds == fold] = scores[folds == fold]
                each.calibrate(codes)
        drop_hopeless(coins, codes)
        drop_light(coins, codes, VIEWS)
    return coins


def test_candidates_that_toss_coins_are_right_half_of_the_time():
    nested, seen = [], []
    for seed in range(16):
        codes = np.random.default_rng([seed, 1]).permutation(np.arange(N) % 2)
        coins = toss_coins(seed, codes)
        found = nested_probabilities(coins, codes, np.arange(N), N_FOLDS, VIEWS)
        nested.append(np.mean(found.argmax(axis=1) == codes))
        alive = [each for each in coins if each.dropped is None]
        found = combine(np.array([each.probabilities(np.arange(N)) for each in alive]), weigh(alive, codes))
        seen.append(np.mean(found.argmax(axis=1) == codes))
    assert abs(np.mean(nested) - 0.5) < 3 * 0.5 / np.sqrt(16 * N)  # three standard errors of so many tosses
    assert np.mean(seen) > np.mean(nested) + 0.02  # by the labels that it was settled by


@pytest.mark.parametrize("place", [0, 1, 59])
def test_what_is_said_of_an_object_does_not_depend_on_its_label(place):
    codes = np.arange(N) // 2 % 2
    coins = toss_coins(0, codes)
    for each in coins:  # all are asked for all
        each.scores = np.where(np.isnan(each.scores), 0.0, each.scores)
    other = codes.copy()
    other[place] = 1 - codes[place]
    first, second = (nested_probabilities(coins, each, np.arange(N), N_FOLDS, VIEWS) for each in (codes, other))
    assert_allclose(first[place], second[place])
    assert not np.allclose(first, second)


def test_who_was_given_up_for_an_object_s_own_label_has_its_say_of_it():
    codes = np.arange(N) % 2
    right, wrong = 2.0 * np.eye(2)[codes], 2.0 * np.eye(2)[1 - codes]
    late = wrong.copy()
    late[: N // 2] = right[: N // 2]
    candidates = [
        FoldScores(PipelineCandidate(name, MultiViewNaiveBayes()), scores, dropped=dropped)
        for name, scores, dropped in (("kept", late, None), ("given up", right, "clearly worse than kept"))
    ]
    found = nested_probabilities(candidates, codes, np.arange(N), N_FOLDS, VIEWS)
    assert np.mean(found.argmax(axis=1) == codes) == 1  # the labels of others speak for the one that was given up

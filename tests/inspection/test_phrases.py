"""Phrases of texts, and the words and phrases that tell groups apart."""

from __future__ import annotations

import re
from math import log, sqrt

import numpy as np
import pytest

from coview.inspection.names import choose_words, log_odds
from coview.inspection.phrases import _RUN, count_phrases


def test_log_odds_are_those_of_the_formula_one_feature_at_a_time():
    rng = np.random.default_rng(0)
    sizes = np.array([20, 35, 50])
    counts = rng.binomial(sizes[:, None], rng.uniform(0.1, 0.9, (3, 6)))
    z = log_odds(counts, sizes)
    for g in range(3):
        for j in range(6):
            y, n, a, total = counts[g, j], sizes[g], counts[:, j].sum(), sizes.sum()
            rest, others = a - y, total - n
            inside = log((y + a) / (n + total - y - a))
            outside = log((rest + a) / (others + total - rest - a))
            assert z[g, j] == pytest.approx((inside - outside) / sqrt(1 / (y + a) + 1 / (rest + a)))


def test_phrases_have_no_function_word_at_their_ends_and_cross_no_punctuation():
    texts = ["The state of the art is here. Red foxes"] * 3
    _, names = count_phrases(texts)
    assert names == ["red foxes"]  # "state of the art" is longer than three words
    _, names = count_phrases(["a point of view, north pole"] * 3)
    assert names == ["north pole", "point of view"]


def test_runs_of_words_are_those_that_have_two():
    pieces = ["a", "fox", "3d", "x-", "'s", " ", "  ", ".", "_u", "é"]
    two = re.compile(r"[^\W\d_][\w'’-]*(?: +[^\W\d_][\w'’-]*)+")
    rng = np.random.default_rng(0)
    for _ in range(300):
        text = "".join(rng.choice(pieces, 12))
        assert [run for run in _RUN.findall(text) if " " in run] == two.findall(text)


def test_a_phrase_takes_the_place_of_its_words_and_of_no_others():
    words = {"space": 3.0, "shuttle": 3.0, "launch": 3.0}
    phrases = {"space shuttle": 3.0, "shuttle launch": 3.0, "ice hockey": 9.0}
    assert choose_words(words, 3, phrases) == ["shuttle launch", "space"]
    assert choose_words(words, 3, {"space shuttle": 1.0}) == ["launch", "shuttle", "space"]  # worth too little

"""Average ranks and tests of methods against scipy."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from harness.ranking import rank_tests
from scipy import stats
from scipy.stats import rankdata


def as_rows(table):
    return [{str(k): value for k, value in enumerate(row)} for row in table]


def test_tests_are_scipys_with_holms_correction():
    rng = np.random.default_rng(0)
    table = rng.random((15, 4)) + np.array([0.5, 0.0, 0.1, 0.4])
    found = rank_tests(as_rows(table))
    expected = stats.friedmanchisquare(*table.T)
    assert (found["statistic"], found["p_value"]) == (expected.statistic, expected.pvalue)
    ranks = rankdata(-table, axis=1).mean(axis=0)
    best = int(ranks.argmin())
    assert found["best"] == str(best)
    np.testing.assert_allclose(list(found["rank"].values()), ranks)
    raw = {pair: stats.wilcoxon(table[:, pair[0]], table[:, pair[1]]).pvalue for pair in combinations(range(4), 2)}
    least, expected = 0.0, {}
    for place, pair in enumerate(sorted(raw, key=raw.get)):  # step down: 6, 5, ... 1 hypotheses left
        least = max(least, (6 - place) * raw[pair])
        expected[frozenset(pair)] = min(1.0, least)
    assert len(found["against_best"]) == 3
    for k, p in found["against_best"].items():
        assert p == pytest.approx(expected[frozenset({best, int(k)})])


def test_methods_without_a_difference_are_rarely_told_apart():
    """The best is chosen on the same data: corrected for its pairs alone, 1 table in 11 finds something."""
    rng = np.random.default_rng(0)
    wrong = sum(min(rank_tests(as_rows(rng.random((10, 6))))["against_best"].values()) < 0.05 for _ in range(30))
    assert wrong <= 2

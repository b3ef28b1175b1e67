"""Average ranks against scipy and by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import rankdata

from coview.metrics import average_rank, rank_tests

tables = st.tuples(st.integers(0, 10_000), st.integers(1, 8), st.integers(1, 6))


def table_of(case):
    seed, n_datasets, n_methods = case
    return np.random.default_rng(seed).integers(0, 5, size=(n_datasets, n_methods)).astype(float)


@settings(deadline=None, max_examples=40)
@given(tables, st.booleans())
def test_equals_scipy_row_by_row(case, higher_is_better):
    table = table_of(case)
    sign = -1 if higher_is_better else 1
    expected = np.mean([rankdata(sign * row, method="average") for row in table], axis=0)
    np.testing.assert_allclose(average_rank(table, higher_is_better=higher_is_better), expected)


@settings(deadline=None, max_examples=40)
@given(tables)
def test_ranks_sum_to_a_constant_and_directions_mirror(case):
    table = table_of(case)
    n_methods = table.shape[1]
    ranks = average_rank(table)
    assert ranks.sum() == pytest.approx(n_methods * (n_methods + 1) / 2)
    np.testing.assert_allclose(average_rank(table, higher_is_better=False), n_methods + 1 - ranks)


def test_ties_share_their_mean_rank():
    assert average_rank([[3.0, 5.0, 3.0]]).tolist() == [2.5, 1.0, 2.5]


def test_every_form_of_table_is_the_same():
    columns = {"A": [0.9, 0.1], "B": [0.5, 0.5], "C": [0.9, 0.3]}
    rows = {"cora": {"A": 0.9, "B": 0.5, "C": 0.9}, "ads": {"C": 0.3, "B": 0.5, "A": 0.1}}
    expected = {"A": 2.25, "B": 2.0, "C": 1.75}
    for form in (columns, rows, pd.DataFrame(columns), pl.DataFrame(columns)):
        assert average_rank(form) == expected
    assert average_rank(pd.DataFrame(columns).to_numpy()).tolist() == list(expected.values())


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ([[1.0, np.nan]], "first for method 1 in row 0"),
        ({"A": [1.0], "B": [np.nan]}, "first for method 'B' in row 0"),
        ({"A": [1.0], "B": [1.0, 2.0]}, "'A' has 1, 'B' has 2"),
        ({"cora": {"A": 1.0}, "ads": {"B": 1.0}}, "'ads' has \\['B'\\]"),
        ({"dataset": ["cora"], "A": [1.0]}, "Column 'dataset' must hold"),
        ([1.0, 2.0], "n_datasets, n_methods"),
        ({}, "n_datasets, n_methods"),
    ],
)
def test_bad_tables_are_refused(table, sentence):
    with pytest.raises(ValueError, match=sentence):
        average_rank(table)


def test_tests_are_scipys_with_holms_correction():
    rng = np.random.default_rng(0)
    table = rng.random((15, 4)) + np.array([0.5, 0.0, 0.1, 0.4])
    found = rank_tests(table)
    expected = stats.friedmanchisquare(*table.T)
    assert (found["statistic"], found["p_value"]) == (expected.statistic, expected.pvalue)
    best = int(average_rank(table).argmin())
    assert found["best"] == best
    raw = {pair: stats.wilcoxon(table[:, pair[0]], table[:, pair[1]]).pvalue for pair in combinations(range(4), 2)}
    least, expected = 0.0, {}
    for place, pair in enumerate(sorted(raw, key=raw.get)):  # step down: 6, 5, ... 1 hypotheses left
        least = max(least, (6 - place) * raw[pair])
        expected[frozenset(pair)] = min(1.0, least)
    assert len(found["against_best"]) == 3
    for k, p in found["against_best"].items():
        assert p == pytest.approx(expected[frozenset({best, k})])


def test_methods_without_a_difference_are_rarely_told_apart():
    """The best is chosen on the same data: corrected for its pairs alone, 1 table in 11 finds something."""
    rng = np.random.default_rng(0)
    wrong = sum(min(rank_tests(rng.random((10, 6)))["against_best"].values()) < 0.05 for _ in range(80))
    assert wrong <= 4


def test_methods_without_any_difference_have_p_values_of_one():
    found = rank_tests({"A": [1.0, 2.0, 3.0], "B": [1.0, 2.0, 3.0], "C": [1.0, 2.0, 3.0]})
    assert found["p_value"] == 1 and set(found["against_best"].values()) == {1.0}


def test_lower_can_be_better():
    errors = {"A": [0.1, 0.2, 0.1], "B": [0.5, 0.6, 0.4], "C": [0.3, 0.3, 0.2]}
    assert (rank_tests(errors, higher_is_better=False)["best"], rank_tests(errors)["best"]) == ("A", "B")


def test_two_methods_are_too_few_for_the_tests():
    with pytest.raises(ValueError, match="needs at least 3 methods and 2 data sets, got 2 and 2"):
        rank_tests([[1.0, 2.0], [2.0, 1.0]])

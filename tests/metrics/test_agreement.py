"""Agreement and imbalance of views: the paper's examples, and laws for more views."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coview.exceptions import ViewsError
from coview.metrics import view_agreement, view_imbalance


def test_the_papers_examples():
    words, links = np.zeros(1000, dtype=int), np.repeat([0, 1], 500)
    assert view_agreement(words, links) == 0.5
    assert view_imbalance(55.0, 42.7) == pytest.approx(12.3)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 20), st.integers(2, 4))
def test_pairs_are_averaged(seed, n_objects, n_views):
    table = np.random.default_rng(seed).integers(3, size=(n_objects, n_views))
    expected = np.mean([np.mean(table[:, v] == table[:, w]) for v, w in combinations(range(n_views), 2)])
    assert view_agreement(*table.T) == pytest.approx(expected)
    assert view_agreement(*table.T.astype(str)) == pytest.approx(expected)


def test_label_sets_agree_only_when_equal():
    one = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 0]], dtype=bool)
    other = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=bool)
    assert view_agreement(one, other) == pytest.approx(2 / 3)


def test_imbalance_of_three_views_is_the_mean_over_pairs():
    assert view_imbalance(60, 50, 45) == pytest.approx((10 + 15 + 5) / 3)
    assert view_imbalance(3.0, 3.0, 3.0) == 0.0


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: view_agreement([0, 1]), ViewsError, "at least 2 views, got 1"),
        (lambda: view_agreement([0, 1], [0]), ViewsError, "same objects, got 2, 1"),
        (lambda: view_agreement([0, 1], [0, None]), ValueError, "1 unlabeled"),
        (lambda: view_imbalance(1.0), ViewsError, "at least 2 views, got 1"),
    ],
)
def test_bad_input_is_refused(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()

"""A random order that memory can follow: a permutation, mixed well, cut anew each time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coview.kernels.mixing import mix_rows
from coview.online.passive_aggressive import _shuffle_rows


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 300), st.integers(1, 20), st.integers(1, 90), st.integers(0, 2**63))
def test_every_row_comes_once(n, run, window, seed):
    rows = 3 * np.arange(n)
    assert sorted(mix_rows(rows, run, window, np.uint64(seed)).tolist()) == rows.tolist()


@pytest.mark.parametrize("n", [20, 40_000], ids=["permuted", "mixed"])
def test_same_seed_same_order_and_another_seed_another(n):
    orders = [_shuffle_rows(np.arange(n), np.arange(n), np.random.default_rng(seed)).tolist() for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]


def test_sorted_classes_are_mixed():
    rows = np.arange(40_960)
    order = _shuffle_rows(rows, rows, np.random.default_rng(0))
    shares = (order >= len(rows) // 2).reshape(-1, 512).mean(axis=1)  # of the second class, window by window
    assert abs(np.corrcoef(order[:-1], order[1:])[0, 1]) < 0.05
    assert shares.min() > 0.2 and shares.max() < 0.8


def test_runs_are_cut_elsewhere_each_time():
    rows = np.arange(64)
    firsts = {min(mix_rows(rows, 16, 16, np.uint64(seed))[:16].tolist()) % 16 for seed in range(40)}
    assert len(firsts) > 3


def test_every_place_is_as_likely():
    rows = np.arange(6)
    first = np.bincount([mix_rows(rows, 2, 6, np.uint64(seed))[0] for seed in range(3000)], minlength=6)
    assert ((first - 500) ** 2 / 500).sum() < 20.5  # chi-square, 5 degrees of freedom, 1 in 1,000


def test_a_later_pass_starts_from_the_rows_not_from_the_order_before():
    rows = np.arange(20_480)
    first = _shuffle_rows(rows, rows, np.random.default_rng(0))
    second = _shuffle_rows(rows, first, np.random.default_rng(1))
    assert len(np.unique(second[:512] // 16)) < 80  # runs of neighbors stay near: memory can follow

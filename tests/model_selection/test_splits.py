"""Splits: every labeled object is asked for, classes and groups stay where they must, the same seed gives the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold

from coview.model_selection.splits import draw_few_label_splits, make_splits

codes_of = st.lists(st.integers(2, 12), min_size=2, max_size=4).map(
    lambda counts: np.repeat(np.arange(len(counts)), counts)
)


def test_folds_part_the_objects_and_never_tear_groups():
    codes = np.arange(30) % 3
    found = make_splits(codes, 5, None, 0)
    assert sorted(np.concatenate([test for _, test in found])) == list(range(30))
    for train, test in found:
        assert not set(train) & set(test) and len(train) + len(test) == 30
    groups = np.arange(30) // 4
    for train, test in make_splits(codes, 4, groups, 0):
        assert not set(groups[train]) & set(groups[test])


@settings(deadline=None, max_examples=20)
@given(codes_of, st.integers(0, 9))
def test_hidden_labels_leave_every_class_one(codes, seed):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.concatenate([codes, np.full(5, -1)]))
    for kept, asked in draw_few_label_splits(codes, None, 3, None, None, seed):
        assert set(kept) | set(asked) == set(np.flatnonzero(codes >= 0)) and not set(kept) & set(asked)
        assert set(codes[kept]) == set(codes[codes >= 0]) and len(asked)


def test_a_class_with_one_label_keeps_it():
    codes = np.array([0, 1, 1, 1, 1])
    for kept, asked in draw_few_label_splits(codes, None, 5, None, None, 0):
        assert 0 in kept and set(codes[asked]) == {1}
    with pytest.raises(ValueError, match="none can be hidden"):
        draw_few_label_splits(np.array([0, 1, -1]), None, 2, None, None, 0)


@settings(deadline=None, max_examples=20)
@given(codes_of, st.sampled_from([0.01, 0.1, 0.5]))
def test_a_share_of_each_class_is_kept(codes, share):
    kept, asked = draw_few_label_splits(codes, None, 1, None, share, 0)[0]
    for k in np.unique(codes):
        assert np.sum(codes[kept] == k) == int(np.ceil(share * np.sum(codes == k)))
    assert len(kept) + len(asked) == len(codes)


@pytest.mark.parametrize("cv", [4, StratifiedKFold(4)])
def test_folds_of_few_labels_hide_each_label_once(cv):
    codes = np.where(np.arange(40) % 5, np.arange(40) % 2, -1)
    found = draw_few_label_splits(codes, cv, 9, None, None, 0)
    assert sorted(np.concatenate([asked for _, asked in found])) == np.flatnonzero(codes >= 0).tolist()
    assert len(found) == 4

"""Folds of few labels, and folds as users give them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import GroupKFold, StratifiedKFold

from coview.utils.sampling import deal_folds, list_splits

CODES = np.array([0, 1] * 6)


@pytest.mark.parametrize("cv", [3, StratifiedKFold(3)])
def test_numbers_and_splitters_give_what_scikit_learn_gives(cv):
    expected = StratifiedKFold(3).split(CODES, CODES)
    for (train, test), (own_train, own_test) in zip(expected, list_splits(cv, CODES, classifier=True), strict=True):
        assert_array_equal(own_train, train)
        assert_array_equal(own_test, test)


def test_groups_stay_whole():
    groups = np.arange(12) // 3
    for train, test in list_splits(GroupKFold(2), CODES, groups=groups):
        assert not set(groups[train]) & set(groups[test])


def test_classes_are_spread_over_the_folds():
    codes = np.array([0] * 7 + [1] * 4 + [2] + [-1] * 3)
    folds = deal_folds(codes, 3, seed=1)
    assert_array_equal(folds[11:], -1)  # the only one of its class, and the unlabeled
    for code in (0, 1):
        sizes = np.bincount(folds[codes == code], minlength=3)
        assert sizes.max() - sizes.min() <= 1

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import GroupKFold, StratifiedKFold

from coview import Views, compare
from coview.exceptions import ParameterError
from coview.utils.folds import checked_splits

CODES = np.array([0, 1] * 6)
X = Views(words=np.eye(2)[CODES], links=np.ones((12, 3)))

BAD = [[1], [(0, 1)], [([0], [99])], [([0.5], [1])], [([], [1])], ["ab"], [None], [([0], [1], [2])], [([0], [-1])]]


@pytest.mark.parametrize("cv", [3, StratifiedKFold(3)])
def test_numbers_and_splitters_give_what_scikit_learn_gives(cv):
    expected = StratifiedKFold(3).split(CODES, CODES)
    for (train, test), (own_train, own_test) in zip(expected, checked_splits(cv, CODES, classifier=True), strict=True):
        assert_array_equal(own_train, train)
        assert_array_equal(own_test, test)


def test_groups_stay_whole():
    groups = np.arange(12) // 3
    for train, test in checked_splits(GroupKFold(2), CODES, groups=groups):
        assert not set(groups[train]) & set(groups[test])


def test_a_mask_is_its_rows():
    mask = CODES == 1
    ((train, test),) = checked_splits([(~mask, mask)], CODES)
    assert_array_equal(train, np.flatnonzero(~mask))
    assert_array_equal(test, np.flatnonzero(mask))


@pytest.mark.parametrize("cv", BAD, ids=str)
def test_what_gives_no_rows_is_refused_in_one_sentence(cv):
    for ask in (
        lambda: checked_splits(cv, CODES),
        lambda: compare(X, CODES, methods=["naive_bayes"], cv=cv),
    ):
        with pytest.raises(ParameterError, match=r"cv.* must .*got"):
            ask()

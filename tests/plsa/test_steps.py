"""Starts: distributions, the same however rows are cut."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from coview.plsa.steps import draw_rows


def test_random_rows_do_not_depend_on_the_blocks():
    whole = draw_rows(7, 0, 3000, 5)
    cut = np.vstack([draw_rows(7, a, b, 5) for a, b in ((0, 10), (10, 1500), (1500, 3000))])
    assert_array_equal(whole, cut)
    assert_allclose(whole.sum(axis=1), 1)
    assert not np.array_equal(whole, draw_rows(8, 0, 3000, 5))

"""Parameters that are one number, or one per view."""

from __future__ import annotations

import numpy as np
import pytest

from coview.validation.parameters import check_sample_weight, per_view


def test_one_number_serves_every_view_and_a_dict_fills_up_with_the_default():
    np.testing.assert_array_equal(per_view("view_weights", 2, ["a", "b"]), [2, 2])
    np.testing.assert_array_equal(per_view("view_weights", {"b": 3}, ["a", "b"]), [1, 3])
    np.testing.assert_array_equal(per_view("view_weights", None, ["a", "b"]), [1, 1])


@pytest.mark.parametrize("bad", [-1, float("inf"), float("nan"), "x", True, {"c": 1}, 0])
def test_anything_else_is_refused(bad):
    with pytest.raises(ValueError, match="view_weights"):
        per_view("view_weights", bad, ["a", "b"])


def test_sample_weights_are_one_finite_number_per_object():
    np.testing.assert_array_equal(check_sample_weight(2.0, 3), [2, 2, 2])
    for bad in ([1, 2], [1, -1, 1], [0, 0, 0], [[1, 1, 1]], [1, np.nan, 1]):
        with pytest.raises(ValueError, match=r"(?i)sample"):
            check_sample_weight(bad, 3)

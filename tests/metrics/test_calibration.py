"""Expected calibration error: by hand, and of probabilities that are true."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from coview.metrics import expected_calibration_error


def test_bins_by_hand():
    shares = np.array([[0.6, 0.4], [0.6, 0.4], [0.1, 0.9], [0.1, 0.9]])
    # bin of .6: one of two right, gap .1; bin of .9: both right, gap .1
    assert_allclose(expected_calibration_error([0, 1, 1, 1], shares, n_bins=2), 0.1)


def test_true_probabilities_have_almost_none_and_overconfident_ones_have_much():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(3), 5000)
    y = np.array([rng.choice(3, p=row) for row in shares])
    sharp = shares**4 / (shares**4).sum(axis=1, keepdims=True)
    assert expected_calibration_error(y, shares) < 0.03
    assert expected_calibration_error(y, sharp) > 0.15


def test_names_of_the_classes():
    shares = np.array([[0.8, 0.2], [0.2, 0.8]])
    assert_allclose(expected_calibration_error(["b", "a"], shares, classes=["b", "a"]), 0.2)
    assert_allclose(expected_calibration_error(["b", "a"], shares), 0.8)


@pytest.mark.parametrize(
    ("y", "shares", "match"),
    [([0], [[0.5, 0.5], [1, 0]], "one row for each"), (["a", "a"], [[0.9, 0.1]] * 2, "each of the 1 classes")],
)
def test_bad_input(y, shares, match):
    with pytest.raises(ValueError, match=match):
        expected_calibration_error(y, shares)

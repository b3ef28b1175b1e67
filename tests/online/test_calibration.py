"""The slope of the softmax, learned batch by batch."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from coview.online.calibration import class_probabilities, new_calibration, update_calibration


def sample(slope, n, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, n_classes)) * 2
    odds = np.exp(slope * scores)
    shares = odds / odds.sum(axis=1, keepdims=True)
    codes = (shares.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return scores, codes


@pytest.mark.parametrize("slope", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_one_batch_is_the_regularized_optimum(slope, n_classes):
    scores, codes = sample(slope, 400, n_classes)
    given = scores[:, 1] - scores[:, 0] if n_classes == 2 else scores
    found = update_calibration({"slope": 0.5, "precision": 3.0}, given, codes)

    def objective(a):
        logits = a * scores
        nll = np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1)) + logits.max(1)
        precision = 1 + 3 * 0.5 ** (400 / 10_000)
        return (nll - logits[np.arange(len(codes)), codes]).sum() + precision * np.log(a / 0.5) ** 2 / 2

    best = minimize_scalar(objective, bounds=(1e-3, 20), method="bounded", options={"xatol": 1e-8}).x
    assert found["slope"] == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("unit", [1e-4, 1e3])
def test_the_unit_of_the_scores_does_not_matter(unit):
    scores, codes = sample(1.0, 30, 3)
    plain, scaled = (
        class_probabilities(update_calibration(new_calibration(), u * scores, codes), u * scores) for u in (1.0, unit)
    )
    np.testing.assert_allclose(scaled, plain, rtol=1e-4)


def test_batches_approach_the_true_slope():
    known = new_calibration()
    for seed in range(20):
        known = update_calibration(known, *sample(2.5, 300, 3, seed))
    assert known["slope"] == pytest.approx(2.5, rel=0.1)


def test_rows_without_label_teach_nothing():
    scores, codes = sample(2.0, 50, 3)
    known = new_calibration()
    assert update_calibration(known, scores, np.full(50, -1)) == known
    assert update_calibration(known, np.vstack([scores, scores]), np.r_[codes, np.full(50, -1)]) == update_calibration(
        known, scores, codes
    )


def test_scores_that_are_wrong_never_turn_the_order_around():
    scores, codes = sample(2.0, 200, 2)
    known = new_calibration()
    for _ in range(10):
        known = update_calibration(known, scores[:, 0] - scores[:, 1], codes)
    assert 0 < known["slope"] < 0.1
    shares = class_probabilities(known, np.array([3.0], dtype=np.float32))
    assert shares.dtype == np.float32 and shares[0, 1] > 0.5

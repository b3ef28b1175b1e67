"""scikit-learn's own checks over every catalogued estimator; each expected failure is named with its reason."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from coview.catalog import estimators

# small settings where the defaults are meant for real data
SETTINGS: dict[str, dict[str, object]] = {"PLSA": {"n_components": 2, "max_iter": 30}}

EXPECTED_FAILURES: dict[str, dict[str, str]] = {}


def instances() -> list[object]:
    return [cls(**SETTINGS.get(name, {})) for name, cls in estimators().items()]


@parametrize_with_checks(instances(), expected_failed_checks=lambda e: EXPECTED_FAILURES.get(type(e).__name__, {}))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sklearn_contract(estimator, check):
    check(estimator)

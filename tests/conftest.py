"""Fitted models of every kind, once for all tests of inspection, figures and reports."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from coview import Report, Views, make_report
from coview.catalog import ESTIMATORS, estimators

SMALL = {"n_components": 3, "n_clusters": 3, "max_iter": 10, "n_init": 1, "random_state": 0}


@cache
def corpus(n: int = 60) -> tuple[Views, np.ndarray]:
    """Three groups of objects in two views that both know the groups; some objects lack the second view."""
    rng = np.random.default_rng(3)
    y = np.arange(n) % 3
    words, links = rng.gamma(0.3, size=(3, 24)), rng.gamma(0.3, size=(3, 15))
    return (
        Views(
            words=sparse.csr_array(rng.poisson(8 * words[y] + 0.1).astype(float)),
            links=sparse.csr_array(rng.poisson(6 * links[y] + 0.1).astype(float)),
            feature_names={"words": [f"word{j}" for j in range(24)]},
        ),
        np.array(["ant", "bee", "cat"])[y],
    )


@cache
def fitted(name: str) -> Any:
    """A small fitted model of the catalog, by name."""
    cls = estimators()[name]
    allowed = cls().get_params()
    X, y = corpus()
    return cls(**{key: value for key, value in SMALL.items() if key in allowed}).fit(X, y)


@cache
def reported(name: str, given: str) -> Report:
    """Its report without data, with objects, or with labels too."""
    X, y = corpus()
    return make_report(fitted(name), *{"nothing": (), "objects": (X,), "labels": (X, y)}[given])


@pytest.fixture(params=sorted(ESTIMATORS))
def model(request: pytest.FixtureRequest) -> Any:
    """Every kind of model, one after the other."""
    return fitted(request.param)


@pytest.fixture
def data() -> tuple[Views, np.ndarray]:
    """Objects and their labels."""
    return corpus()


@pytest.fixture(params=["nothing", "objects", "labels"])
def report(request: pytest.FixtureRequest, model: Any) -> Report:
    """The report of every kind of model, without data, with objects, and with labels too."""
    return reported(type(model).__name__, request.param)


@pytest.fixture
def make() -> Any:
    """A fitted model by name."""
    return fitted

"""The Auto models are continuous in their data: what changes little, changes answers and weights little."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from coview import AutoClassifier, AutoClustering, Views
from coview.datasets import make_topic_views

N = 120
LABELED = np.arange(N) % 10 == 0
STRENGTHS = (0.5, 0.7, 0.9)  # of a view: from where it is noise to where it tells the clusters
MADE = make_topic_views(N, 2, 4, quality=0.4, length=40, random_state=0)
NOISE = np.random.default_rng(0).normal(size=(N, 4))


def made(strength: float, rounding: float = 0.0) -> Views:
    """Words of two views and numbers that tell the clusters as far as said."""
    numbers = strength * np.eye(4)[MADE.target] + NOISE
    return Views(**MADE.views, numbers=numbers * (1 + rounding * NOISE))


def moved(one: np.ndarray, two: np.ndarray) -> float:
    """Share of the memberships that is in other groups, whatever the numbers of these."""
    same = linear_sum_assignment(one.T @ two, maximize=True)[1]
    return float(np.abs(one - two[:, same]).sum(axis=1).mean() / 2)


EXPERTS = ["margins", "latent", "centers", "topics", "graph", "latent: numbers"]


@pytest.fixture
def fit(fit_auto):
    """Fit an Auto model to views by the name of what it finds."""

    def fitted(kind: str, X: Views) -> AutoClustering | AutoClassifier:
        if kind == "clusters":
            return AutoClustering(4, random_state=0).fit(X)
        return fit_auto(EXPERTS, X, np.where(LABELED, MADE.target, -1)[: len(X)])

    return fitted


# .047 and .016 at most on eight made sets of 300, some of them so hard that every tenth object changes its cluster
@pytest.mark.parametrize(("kind", "most"), [("clusters", 0.1), ("classes", 0.05)])
def test_one_object_more_or_other_last_digits_change_little(kind, most, fit):
    X = made(1.0)
    whole = fit(kind, X).memberships_
    assert moved(whole[: N - 1], fit(kind, made(1.0, rounding=1e-6)[: N - 1]).memberships_) < most


# whether a view of numbers is noise is a choice of AutoClustering: up to .2 move where it is made, .05 elsewhere
@pytest.mark.parametrize(("kind", "most"), [("clusters", 0.3), ("classes", 0.05)])
def test_a_view_that_tells_more_and_more_takes_over_by_degrees(kind, most, fit):
    models = [fit(kind, made(strength)) for strength in STRENGTHS]
    assert max(moved(a.memberships_, b.memberships_) for a, b in pairwise(models)) < most
    if kind == "classes":
        weights = [dict(zip(model.candidates_["name"], model.candidates_["weight"])) for model in models]
        assert max(abs(a[name] - b[name]) for a, b in pairwise(weights) for name in a) < most


def test_more_labels_do_not_harm(fit_auto):
    rng = np.random.default_rng(0)
    places = np.array([[0, 0], [3, 0], [0, 3], [3, 3]])[MADE.target] + rng.normal(size=(N, 2))
    X = Views(words=MADE.views["view0"], places=places)
    draws = [rng.permutation(N) for _ in range(2)]
    found = []
    for n_labels in (8, 60):  # the same hidden objects, and the labels of before among those of after
        right = []
        for order in draws:
            y = np.full(N, -1)
            y[order[:n_labels]] = MADE.target[order[:n_labels]]
            hidden = order[60:]
            model = fit_auto(["margins", "latent", "centers", "latent: places"], X, y)
            right.append(np.mean(model.transduction_[hidden] == MADE.target[hidden]))
        found.append(np.mean(right))
    assert found[0] + 0.03 < found[1], found

"""Evidence for groups without labels: what the views tell of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import check_grad
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors

from coview import Views
from coview.auto.evidence import (
    _Prediction,
    _score_weights,
    centroid_scores,
    neighbor_scores,
    predictability,
    view_evidence,
)
from coview.metrics import normalized_mutual_info


def groups(n: int = 150, seed: int = 0, far: float = 5.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return far * np.eye(3)[y] + rng.normal(size=(n, 3)), y


def told(X: Views, *labels: np.ndarray) -> np.ndarray:
    return predictability(view_evidence(X, 10), labels)


def test_real_clusters_are_told_and_chance_is_not():
    X, y = groups()
    chance = np.random.default_rng(1).integers(0, 3, len(y))
    real, none = told(Views(a=X), y, chance)
    assert real > 0.95 and none < 0.1


def test_a_row_is_never_told_by_itself():
    """Rows at random with as many features as objects: any labels are learned by heart, none are predicted."""
    rows = np.random.default_rng(0).normal(size=(60, 300))
    labels = np.arange(60) % 2
    guess = centroid_scores(rows, labels, 2, np.arange(60)).argmax(axis=1)
    assert np.mean(guess == labels) < 0.7
    assert (view_evidence(Views(a=rows), 5)[0].neighbors != np.arange(60)[:, None]).all()


def test_a_view_of_noise_takes_nothing_away():
    X, y = groups()
    noise = np.random.default_rng(2).normal(size=(len(y), 3))
    assert told(Views(a=X, b=noise), y)[0] > 0.95


def test_rings_are_told_by_neighbors():
    rng = np.random.default_rng(0)
    y, angle = np.arange(200) % 2, rng.uniform(0, 2 * np.pi, 200)
    rows = (1 + 2 * y)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    guess = centroid_scores(rows, y, 2, np.arange(200)).argmax(axis=1)
    assert normalized_mutual_info(y, guess) < 0.2
    assert told(Views(a=rows), y)[0] > 0.95


def test_a_cut_through_noise_is_told_less_beside_what_two_views_bear_out():
    """By itself it is told without fault, by its own view; not so with the trust that suits the others."""
    X, y = groups(far=3.0)
    noise = np.random.default_rng(2).normal(size=(len(y), 1))
    views = Views(a=X, b=groups(seed=5, far=3.0)[0], noise=noise)
    cut = np.digitize(noise[:, 0], [-0.4, 0.4])
    blurred = np.where(np.arange(len(y)) < 10, 0, y)
    alone, beside = told(views, cut)[0], told(views, cut, y, blurred)
    assert beside[0] < min(alone, beside[1]) - 0.03


def test_the_gradient_is_that_of_the_loss():
    X, y = groups(90, far=1.0)
    case = _Prediction.of(view_evidence(Views(a=X, b=X[:, :1]), 5), y)
    at = np.array([0.3, 0.8, 0.1, 1.2])  # in single precision: steps must not be too small
    assert check_grad(lambda t: case.loss(t)[0], lambda t: case.loss(t)[1], at, epsilon=1e-2) < 1e-2


def test_score_weights_is_the_likeliest_slope():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 200)
    score = 0.7 * (2 * y - 1) + rng.normal(size=400)
    case = _Prediction(np.stack([np.zeros(400), score], axis=1)[None], y, np.log([0.5, 0.5]), np.log(2))
    slope = LogisticRegression(C=np.inf, fit_intercept=False).fit(score[:, None], y).coef_[0, 0]
    assert_allclose(_score_weights([case]), [slope], rtol=0.01)


@pytest.mark.parametrize("n_objects", [80, 30])
def test_neighbors_are_the_nearest_other_objects(n_objects):
    rows = np.random.default_rng(0).normal(size=(80, 4))
    seen = view_evidence(Views(a=rows), 6, n_objects)[0]
    expected = NearestNeighbors(n_neighbors=6).fit(seen.rows).kneighbors(return_distance=False)
    assert len(seen.chosen) == n_objects
    assert_array_equal(np.sort(seen.neighbors), np.sort(expected[seen.chosen]))


def test_equal_rows_are_neighbors_and_not_themselves():
    seen = view_evidence(Views(a=np.ones((12, 2))), 3)[0]
    assert seen.neighbors.shape == (12, 3)
    assert (seen.neighbors != np.arange(12)[:, None]).all()


def test_votes_are_shares_of_the_neighbors():
    labels = np.array([0, 0, 1, 1, 2, -1])
    votes = np.exp(neighbor_scores(np.array([[1, 2, 3, 5], [-1, -1, -1, -1]]), labels, 3))
    sizes = np.array([2, 2, 1]) / 5
    assert_allclose(votes[0], (np.array([1, 2, 0]) / 3 + 0.1 * sizes) / 1.1)
    assert_allclose(votes[1], sizes)  # no neighbor: the sizes of the clusters


def test_sparse_and_dense_rows_are_told_alike():
    rng = np.random.default_rng(0)
    counts, labels = rng.poisson(1.0, size=(80, 12)) * 1.0, rng.integers(0, 3, 80)
    one, two = (centroid_scores(part, labels, 3, np.arange(80)) for part in (counts, sparse.csr_array(counts)))
    assert_allclose(one, two)


def test_objects_without_cluster_or_view_are_not_asked():
    X, y = groups()
    labels = np.where(np.arange(len(y)) < 30, -1, y)
    assert told(Views(a=X), labels)[0] > 0.95
    assert told(Views(a=X), np.full(len(y), -1))[0] == 0
    half = np.ones((len(y), 2), dtype=bool)
    half[::2, 0] = half[1::2, 1] = False
    rows = {name: np.where(half[:, [v]], X, 0) for v, name in enumerate("ab")}
    assert told(Views(rows, present=half), y)[0] > 0.95


@pytest.mark.parametrize(("least", "count"), [(0.0, 10), (1.0, 25)])
def test_of_measurements_few_neighbors_are_asked(least, count):
    rows = np.abs(np.random.default_rng(0).normal(size=(60, 9)))
    X = Views(a=np.where(rows > least, rows, 0.0))  # mostly zeros: counts
    assert view_evidence(X, 25)[0].neighbors.shape == (60, count)


def test_one_cluster_is_no_evidence():
    X, y = groups()
    one, real = told(Views(a=X), np.zeros(len(y), dtype=int), y)
    assert one == 0
    assert real > 0.95

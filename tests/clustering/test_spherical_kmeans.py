"""Spherical k-means against plain sweeps, and its starts, batches, views and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.preprocessing import normalize

from coview import SphericalKMeans, Views
from coview.clustering.spherical_kmeans import sweep_sphere
from coview.metrics import clustering_accuracy


def texts(n: int = 240, seed: int = 0, n_clusters: int = 4) -> tuple[sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_clusters
    topics = rng.gamma(0.1, size=(n_clusters, 80))
    topics /= topics.sum(axis=1, keepdims=True)
    counts = np.vstack([rng.multinomial(40, 0.7 * topics[c] + 0.3 / 80) for c in y])
    return sparse.csr_array(counts.astype(float)), y


def plain(rows: np.ndarray, centers: np.ndarray, sweeps: int) -> tuple[np.ndarray, np.ndarray]:
    """The textbook's sweeps, with everything computed every time; no cluster may run empty."""
    for _ in range(sweeps):
        labels = (rows @ centers.T).argmax(axis=1)
        centers = normalize(np.vstack([rows[labels == k].sum(axis=0) for k in range(len(centers))]))
    return (rows @ centers.T).argmax(axis=1), centers


@pytest.mark.parametrize(("dtype", "dense"), [(np.float64, False), (np.float32, True)])
def test_bounds_change_nothing(dense, dtype):
    X, _ = texts()
    rows = normalize(X).toarray()
    labels, centers = plain(rows, rows[:4], 12)
    given = (X.toarray() if dense else X).astype(dtype)
    model = SphericalKMeans(4, init=rows[:4], max_iter=12, tol=0).fit(given)
    assert_array_equal(model.labels_, labels)
    assert_allclose(model.cluster_centers_["x"], centers, atol=1e-5 if dtype == np.float32 else 1e-12)
    assert model.cluster_centers_["x"].dtype == dtype


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.integers(2, 6))
def test_any_start_ends_where_plain_sweeps_end(seed, n_clusters):
    rng = np.random.default_rng(seed)
    rows = normalize(rng.random((50, 7)) ** 3)
    start = rows[rng.choice(50, n_clusters, replace=False)]
    found = sweep_sphere(rows, start, 5, 0.0)
    wide = sweep_sphere(sparse.csr_array(rows), start, 5, 0.0)
    assert_array_equal(found.labels, wide.labels)
    labels, centers = plain(rows, start, 5)
    assert_array_equal(found.labels, labels)
    assert_allclose(found.centers, centers, atol=1e-12)


def test_the_objective_is_the_sum_of_cosines_and_never_falls():
    X, _ = texts()
    model = SphericalKMeans(4, random_state=0).fit(X)
    history = np.array(model.history_["objective"])
    assert (np.diff(history) >= -1e-9 * np.abs(history[:-1])).all()
    assert_allclose(model.score(X), history[-1], rtol=1e-9)
    assert_allclose(model.transform(X), normalize(X) @ model.cluster_centers_["x"].T, atol=1e-12)


def test_starts_are_spread():
    """Of three tight groups, one of them small, k-means++ takes one object each nearly always."""
    rows = np.repeat(np.eye(3), [60, 60, 3], axis=0)
    for seed in range(20):
        assert len(set(SphericalKMeans(3, n_init=1, random_state=seed).fit(rows).labels_[[0, 60, 120]])) == 3


def test_no_cluster_stays_empty():
    X = np.vstack([np.eye(4), np.eye(4)])
    model = SphericalKMeans(3, init=np.array([[1.0, 0, 0, 0]] * 3)).fit(X)
    assert len(np.unique(model.labels_)) == 3


def test_views_count_alike_and_one_is_enough_to_place():
    X, y = texts()
    both = Views(words=X, more=1000 * texts(seed=5)[0])
    model = SphericalKMeans(4, random_state=0).fit(both)
    assert_allclose(sum((part**2).sum(axis=1) for part in model.cluster_centers_.values()), np.ones(4), atol=1e-12)
    for name in both.names:
        assert clustering_accuracy(y, model.predict(both.select(name))) > 0.95


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_clusters": 999}, r"n_clusters=999 is more than the number of objects \(n_samples=240\)"),
        ({"init": np.eye(3)}, "init of view 'x' must be finite numbers of shape"),
        ({"init": ["words"]}, "init of view 'x' must be finite numbers"),
        ({"init": {"links": np.eye(3)}}, "init of view 'x' must be finite numbers"),
    ],
)
def test_bad_parameters_are_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        SphericalKMeans(**change).fit(texts()[0])

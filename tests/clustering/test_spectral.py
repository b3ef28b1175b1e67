"""Co-regularized spectral clustering: its forms, new objects, missing views, and what the pull does."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from coview import SpectralClusteringViews, Views
from coview.clustering.affinity import unit_length
from coview.clustering.spectral import kmeans_of_parts, nearest_center
from coview.datasets import make_topic_views
from coview.metrics import clustering_accuracy

METHODS = ("co-regularized", "co-regularized-centroid", "sum", "concatenated", "stacked")


def rings(n: int = 300, seed: int = 0) -> tuple[Views, np.ndarray]:
    """Two rings, one around the other, in one view; three groups in the other: k-means is lost, graphs are not."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    angle = rng.uniform(0, 2 * np.pi, n)
    ring = (1 + 3 * y)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.normal(size=(n, 2))
    blobs = 3.0 * y[:, None] + rng.normal(size=(n, 3))
    return Views(ring=ring, blobs=blobs), y


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_groups_and_places_new_objects(method):
    X, y = rings(600)
    model = SpectralClusteringViews(2, method=method, random_state=0).fit(X[:400])
    assert clustering_accuracy(y[:400], model.labels_) > 0.95
    assert clustering_accuracy(y[400:], model.predict(X[400:])) > 0.95
    assert_array_equal(model.predict(X[:400]), model.labels_)
    for name in X.names:
        assert clustering_accuracy(y[400:], model.predict(X[400:].select(name))) > 0.85


@pytest.mark.parametrize("method", ["co-regularized", "co-regularized-centroid"])
def test_the_objective_never_falls(method):
    X, _ = rings()
    model = SpectralClusteringViews(2, method=method, coupling=0.5, tol=0, max_iter=8, random_state=0).fit(X)
    history = np.array(model.history_["objective"])
    assert len(history) == 9
    assert (np.diff(history) >= -1e-9 * np.abs(history[:-1])).all()
    assert history[-1] > history[0]


def test_the_pull_makes_the_views_agree():
    rng = np.random.default_rng(0)
    X = Views(a=rng.normal(size=(200, 3)), b=rng.normal(size=(200, 3)))
    spans = []
    for coupling in (0.0, 5.0):
        model = SpectralClusteringViews(3, method="co-regularized", coupling=coupling, tol=1e-6, random_state=0).fit(X)
        a, b = (np.linalg.qr(part)[0] for part in np.split(model.embedding_, 2, axis=1))
        spans.append(np.linalg.norm(a.T @ b))
    assert spans[1] > spans[0] + 0.2


@pytest.mark.parametrize("method", METHODS)
def test_objects_that_lack_a_view_are_placed_by_the_others(method):
    X, y = rings()
    present = np.ones((len(X), 2), dtype=bool)
    present[:60, 0] = False
    partial = Views(ring=np.where(present[:, :1], X["ring"], 0), blobs=X["blobs"], present=present)
    model = SpectralClusteringViews(2, method=method, random_state=0).fit(partial)
    assert clustering_accuracy(y, model.labels_) > 0.85


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_clusters": 999}, r"n_clusters=999 is more than the number of objects \(n_samples=300\)"),
        ({"view_weights": {"images": 1}}, "'images'"),
    ],
)
def test_bad_parameters_are_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        SpectralClusteringViews(**change).fit(rings()[0])


def test_stacked_has_a_part_for_every_graph_and_each_counts_as_it_should():
    X, _ = rings()
    model = SpectralClusteringViews(2, method="stacked", view_weights={"blobs": 3}, random_state=0).fit(X)
    parts = np.split(model.embedding_, 4, axis=1)
    squares = np.array([(part**2).sum(axis=1) for part in parts])
    assert_allclose(squares, np.array([[1], [3], [2], [2]]) / 8 * np.ones(len(X)))
    for part, method in ((parts[2], "concatenated"), (parts[3], "sum")):
        alone = SpectralClusteringViews(2, method=method, view_weights={"blobs": 3}, random_state=0).fit(X)
        shape = unit_length(unit_length(part) / np.maximum(alone.eigenvalues_["all"], 1e-12))
        assert_allclose(shape, alone.embedding_, atol=1e-6)


def test_stacked_withstands_views_of_noise():
    rng = np.random.default_rng(1)
    y = np.arange(300) % 3
    good = 3.0 * np.eye(3)[y] + rng.normal(size=(300, 3))
    X = Views(good=good, noise=rng.normal(size=(300, 4)), more=rng.normal(size=(300, 4)))
    found = {
        method: clustering_accuracy(y, SpectralClusteringViews(3, method=method, random_state=0).fit(X).labels_)
        for method in ("stacked", "sum", "co-regularized-centroid")
    }
    assert found["stacked"] > max(0.85, found["sum"] + 0.1, found["co-regularized-centroid"] + 0.1)


def lacking(share: float, n: int = 300) -> tuple[Views, Views, np.ndarray]:
    """Texts in two views of which a share of the objects lacks one; as they are, and whole."""
    corpus = make_topic_views(n, n_views=2, n_clusters=3, overlap=0.4, length=30, random_state=3)
    rng = np.random.default_rng(1)
    present = np.ones((n, 2), dtype=bool)
    who = np.flatnonzero(rng.random(n) < share)
    present[who, rng.integers(0, 2, len(who))] = False
    rows = {
        name: sparse.csr_array(part.multiply(present[:, [v]])) for v, (name, part) in enumerate(corpus.views.items())
    }
    return Views(rows, present=present), corpus.views, np.asarray(corpus.target)


@pytest.mark.parametrize("method", ["co-regularized", "co-regularized-centroid", "stacked"])
def test_clusters_are_not_made_of_what_is_lacking(method):
    X, whole, y = lacking(0.8)
    model = SpectralClusteringViews(3, method=method, random_state=0).fit(X)
    assert clustering_accuracy(y, model.labels_) > 0.9
    assert_array_equal(model.predict(X), model.labels_)
    assert clustering_accuracy(y, model.predict(whole.select("view0"))) > 0.9


# -- k-means of rows that are made of parts


def parts(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return np.hstack([4 * np.eye(3)[y] + 0.5 * rng.normal(size=(n, 3)) for _ in range(2)]), y


def test_centers_are_the_means_of_those_that_have_a_part():
    rows, y = parts()
    rows[::2, :3] = 0
    rows[1:40:2, 3:] = 0
    centers, labels = kmeans_of_parts(rows, 2, 3, n_init=2, seed=0)
    assert clustering_accuracy(y, labels) == 1
    for z in range(3):
        for part in (slice(0, 3), slice(3, 6)):
            own = rows[labels == z, part]
            assert_allclose(centers[z, part], own[own.any(axis=1)].mean(axis=0))


def test_a_row_is_placed_by_the_parts_that_it_has():
    centers = np.array([[1.0, 0.0, 9.0, 9.0], [0.0, 1.0, 0.1, 0.1]])
    rows = np.array([[1.0, 0.2, 0.0, 0.0], [0.0, 0.0, 8.0, 8.0]])
    assert_array_equal(nearest_center(rows, centers, 2), [0, 0])
    assert nearest_center(rows, centers)[0] == 1  # as one part, the zeros count

"""Co-regularized spectral clustering: its forms, new objects, missing views, and what the pull does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from coview import SpectralClusteringViews, Views
from coview.clustering.affinity import (
    Graph,
    Scaling,
    edges_to,
    leading_vectors,
    neighbor_graph,
    neighbors_by_default,
    unit_length,
)
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


# -- Graphs of neighbors and their eigenvectors, against dense oracles


def dense_affinity(rows: np.ndarray, k: int) -> np.ndarray:
    distances = euclidean_distances(rows)
    np.fill_diagonal(distances, np.inf)
    order = np.argsort(distances, axis=1)[:, :k]
    reach = np.take_along_axis(distances, order, axis=1)[:, -1]
    one_way = np.zeros_like(distances)
    for i, near in enumerate(order):
        one_way[i, near] = np.exp(-(distances[i, near] ** 2) / (reach[i] * reach[near]))
    return (one_way + one_way.T) / 2


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_the_graph_is_that_of_all_distances(seed, k):
    rows = np.random.default_rng(seed).normal(size=(30, 4))
    found = neighbor_graph(rows, np.ones(30, dtype=bool), k)
    assert_allclose(found.toarray(), dense_affinity(rows, k), atol=1e-6)


def test_sparse_rows_have_the_same_graph():
    counts = np.random.default_rng(0).gamma(0.3, size=(50, 20))  # no ties
    counts[counts < 0.2] = 0
    counts[9] = 0
    scaling, everyone = Scaling.learned(counts, "cosine"), np.ones(50, dtype=bool)
    dense, wide = (
        neighbor_graph(rows, scaling.known(rows, everyone), 5)
        for rows in (scaling.rows(counts), scaling.rows(sparse.csr_array(counts)))
    )
    assert not dense.toarray()[9].any()
    assert_allclose(wide.toarray(), dense.toarray(), atol=1e-6)


def test_an_outlier_beside_a_pile_is_in_the_graph_but_hardly():
    rows = np.array([[0.0], [0.0], [0.0], [0.0], [100.0]])
    graph = neighbor_graph(rows, np.ones(5, dtype=bool), 2).toarray()
    assert graph[:4, :4].max() == 1
    assert 0 < graph[4].max() <= 1e-6
    assert Graph.of(sparse.csr_array(graph)).lift[4] > 0  # it has a say


def test_absent_and_empty_rows_have_no_edges():
    counts = np.random.default_rng(0).poisson(1.0, size=(20, 6)) * 1.0
    counts[3] = 0
    present = np.ones(20, dtype=bool)
    present[7] = False
    scaling = Scaling.learned(counts, "cosine")
    rows = scaling.rows(sparse.csr_array(counts))
    graph = neighbor_graph(rows, scaling.known(rows, present), 4).toarray()
    assert not graph[[3, 7]].any()
    assert graph[0].any()


@pytest.mark.parametrize("lift", [0.0, 0.5])
@pytest.mark.parametrize("n", [60, 700])
def test_leading_vectors_are_those_of_the_dense_matrix(n, lift):
    rows = np.random.default_rng(0).normal(size=(n, 3)) + 4 * np.eye(3)[np.arange(n) % 3]
    affinity = neighbor_graph(rows, np.ones(n, dtype=bool), 8)
    graph = Graph.of(affinity, lift)
    degree = affinity.toarray().sum(axis=1)
    t = lift * degree.mean()
    whole = (affinity.toarray() + t / n) / np.sqrt(np.outer(degree + t, degree + t))
    expected = np.linalg.eigvalsh(whole)[::-1][:4]
    values, vectors = leading_vectors(graph, 4, seed=0)
    assert_allclose(values, expected, atol=1e-4)
    assert_allclose(np.linalg.norm(whole @ vectors - vectors * values, axis=0), 0, atol=0.02)
    assert_allclose(graph @ vectors, whole @ vectors, atol=1e-10)


@pytest.mark.parametrize(
    ("matrix", "metric"),
    [
        (np.eye(4), "cosine"),
        (sparse.csr_array(-np.eye(4)), "cosine"),
        (np.arange(12.0).reshape(4, 3), "standard"),
        (-np.eye(4), "standard"),
    ],
)
def test_the_scaling_follows_the_values(matrix, metric):
    assert Scaling.learned(matrix).metric == metric


def test_rows_with_nothing_in_common_have_no_edge():
    """Of cosines all such rows are equally far, and which of them are the nearest is chance."""
    rows = Scaling.learned(np.eye(8)).rows(np.kron(np.eye(2), np.array([[3.0, 1, 1], [1, 2, 1], [1, 1, 4]])))
    everyone = np.ones(6, dtype=bool)
    apart = np.kron(np.eye(2), np.ones((3, 3))) == 0
    assert neighbor_graph(rows, everyone, 5).toarray()[apart].min() > 0.01
    assert neighbor_graph(rows, everyone, 5, cosine=True).toarray()[apart].max() == 0
    assert edges_to(rows[:1], everyone[:1], rows, [5], cosine=True).toarray()[0, 3:].max() < 1e-5


@pytest.mark.parametrize("n", [12, 100, 1000, 100_000])
def test_texts_have_more_neighbors_but_not_everyone(n):
    few, many = neighbors_by_default(False, n, 5), neighbors_by_default(True, n, 5)
    assert few == 10
    assert many == {12: 10, 100: 25, 1000: 90, 100_000: 90}[n]

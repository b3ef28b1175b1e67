"""Graphs of neighbors and their eigenvectors, against dense oracles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from coview.clustering.affinity import (
    Graph,
    Scaling,
    edges_to,
    leading_vectors,
    neighbor_graph,
    neighbors_by_default,
)


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

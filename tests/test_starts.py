from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import kl_div, softmax
from sklearn.naive_bayes import MultinomialNB

from coview import Views, clustering_accuracy
from coview.starts import (
    class_feature_counts,
    consensus,
    consensus_memberships,
    fold_in_consensus,
    for_sklearn,
    naive_bayes_posterior,
    soft_indicators,
)


def corpus(n: int = 90, k: int = 3, seed: int = 0) -> tuple[Views, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    words, links = rng.gamma(0.3, size=(k, 30)), rng.gamma(0.3, size=(k, 20))
    return Views(
        words=sparse.csr_array(rng.poisson(8 * words[y]).astype(float)),
        links=sparse.csr_array(rng.poisson(6 * links[y]).astype(float)),
    ), y


def few_labels(y: np.ndarray, n: int = 12) -> np.ndarray:
    return np.where(np.arange(len(y)) < n, y, -1)


def divergence(parts, pattern, mappings) -> float:
    """Generalised Kullback-Leibler divergence, entry by entry."""
    total = 0.0
    for part, mapping in zip(parts, mappings):
        model = pattern @ mapping
        for i, j in np.ndindex(*part.shape):
            if part[i].any():
                total += part[i, j] * np.log(part[i, j] / model[i, j]) - part[i, j] + model[i, j]
    return total


def test_the_posterior_is_the_mean_of_scikit_learns():
    X, y = corpus()
    codes = few_labels(y)
    known = codes >= 0
    expected = np.mean(
        [MultinomialNB().fit(part[known], codes[known]).predict_proba(part) for part in X.values()], axis=0
    )
    assert_allclose(naive_bayes_posterior(X, codes, 3), expected, rtol=1e-9, atol=1e-12)


def test_missing_views_are_left_out_of_the_mean_and_no_view_is_uniform():
    X, y = corpus()
    codes = few_labels(y)
    present = np.ones((len(X), 2), dtype=bool)
    present[20, 0] = present[21] = False
    arrays = {name: part.toarray() for name, part in X.items()}
    for v, part in enumerate(arrays.values()):
        part[~present[:, v]] = 0
    found = naive_bayes_posterior(Views(arrays, present=present), codes, 3)
    links = naive_bayes_posterior(X.select("links"), codes, 3)
    assert_allclose(found[20], links[20])
    assert_allclose(found[21], 1 / 3)
    assert_allclose(found.sum(axis=1), 1)


def test_single_precision_keeps_the_digits_of_long_objects():
    rng = np.random.default_rng(0)
    counts = rng.poisson(2000.0, size=(6, 50)).astype(float)
    codes = np.array([0, 1, 0, 1, -1, -1])
    wide = naive_bayes_posterior(Views(x=counts), codes, 2)
    narrow = naive_bayes_posterior(Views(x=counts.astype(np.float32)), codes, 2)
    assert narrow.dtype == np.float32
    assert_allclose(narrow, wide, atol=1e-3)


def test_class_counts_are_sums_of_rows_with_weights():
    X, y = corpus()
    codes = few_labels(y)
    weights = np.random.default_rng(1).uniform(size=len(y))
    dense = X["words"].toarray()
    expected = [(dense[codes == k] * weights[codes == k, None]).sum(axis=0) for k in range(3)]
    for form in (X["words"], dense):
        assert_allclose(class_feature_counts(form, codes, 3, weights), expected)


def test_consensus_finds_the_groups_that_both_views_know():
    X, y = corpus(240)
    found = consensus_memberships(X, 3, seed=0)
    assert_allclose(found.sum(axis=1), 1)
    assert clustering_accuracy(y, found.argmax(axis=1)) > 0.95
    assert_array_equal(found, consensus_memberships(X, 3, seed=0))


def test_consensus_of_equal_clusterings_is_that_clustering():
    labels = np.array([0, 1, 2, 1, 0, 2, 2])
    renamed = np.array([2, 0, 1])[labels]
    found = consensus([labels, renamed, labels], 3, seed=3).memberships.argmax(axis=1)
    assert clustering_accuracy(labels, found) == 1


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(1, 3))
def test_the_divergence_never_rises(seed, k, n_views):
    rng = np.random.default_rng(seed)
    labels = [rng.integers(-1, k, size=30) for _ in range(n_views)]
    history = consensus(labels, k, seed=seed, max_iter=40, tol=0, n_init=2).objective
    assert len(history) == 41
    assert (np.diff(history) >= 0).all()


def test_the_objective_is_minus_the_divergence_entry_by_entry():
    rng = np.random.default_rng(5)
    labels = [rng.integers(0, 3, size=20), rng.integers(-1, 2, size=20)]
    found = consensus(labels, 2, seed=0, max_iter=500, tol=0, n_init=3)
    parts = [soft_indicators(column, width) for column, width in zip(labels, (3, 2))]
    assert_allclose(found.objective[-1], -divergence(parts, found.memberships, found.mappings), rtol=1e-6)


def test_no_start_of_a_general_solver_ends_below_the_consensus():
    rng = np.random.default_rng(2)
    labels = [rng.integers(0, 2, size=8), rng.integers(0, 3, size=8)]
    parts = [soft_indicators(column, int(column.max()) + 1) for column in labels]
    ours = -consensus(labels, 2, seed=0, max_iter=600, tol=0, n_init=5).objective[-1]

    def loss(flat):
        cuts = np.cumsum([16, 4])
        shapes = ((8, 2), (2, 2), (2, 3))
        pattern, *mappings = (softmax(p.reshape(s), axis=1) for p, s in zip(np.split(flat, cuts), shapes))
        return sum(kl_div(part, pattern @ mapping).sum() for part, mapping in zip(parts, mappings))

    theirs = min(minimize(loss, rng.normal(size=26), method="L-BFGS-B").fun for _ in range(2))
    assert ours <= theirs * (1 + 1e-3)


def test_fold_in_minimises_the_divergence_of_one_object():
    rng = np.random.default_rng(0)
    mappings = [rng.dirichlet(np.ones(3), size=2), rng.dirichlet(np.ones(2), size=2)]
    labels = [np.array([2]), np.array([0])]
    parts = [soft_indicators(column, width) for column, width in zip(labels, (3, 2))]
    found = fold_in_consensus(labels, mappings, max_iter=20_000)
    shares = np.linspace(0, 1, 2001)
    best = min(divergence(parts, np.array([[s, 1 - s]]), mappings) for s in shares)
    assert divergence(parts, found, mappings) <= best + 1e-9


def test_fold_in_of_an_object_does_not_depend_on_the_others():
    rng = np.random.default_rng(1)
    mappings = [rng.dirichlet(np.ones(3), size=3) for _ in range(2)]
    labels = [rng.integers(-1, 3, size=12) for _ in range(2)]
    whole = fold_in_consensus(labels, mappings)
    for i in range(12):
        assert_allclose(fold_in_consensus([column[[i]] for column in labels], mappings)[0], whole[i], atol=1e-12)


def test_an_object_without_any_view_belongs_to_all_alike():
    mappings = [np.eye(2), np.eye(2)]
    assert_allclose(fold_in_consensus([np.array([-1]), np.array([-1])], mappings), 0.5)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_sparse_matrices_for_scikit_learn_are_short_and_writable(kind):
    part = Views(x=sparse.random_array((5, 4), density=0.5, rng=0, format="csr"))["x"]
    given = sparse.csr_array((part.data, part.indices.astype(kind), part.indptr.astype(kind)), shape=part.shape)
    for array in (given.data, given.indices, given.indptr):
        array.flags.writeable = False
    found = for_sklearn(given)
    assert found.indices.dtype == found.indptr.dtype == np.int32
    assert all(array.flags.writeable for array in (found.data, found.indices, found.indptr))
    assert_array_equal(found.toarray(), part.toarray())

"""Consensus clustering: the formula against general solvers, the starts of other models, and the estimator."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import kl_div, softmax
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.preprocessing import normalize

from coview import CCAClustering, MultiViewCCA, Views
from coview.clustering.consensus import (
    ConsensusClustering,
    _find_equal_rows,
    cluster_side_by_side,
    consensus,
    fold_in_consensus,
    make_memberships,
    soften_indicators,
)
from coview.metrics import clustering_accuracy


def corpus(n: int = 150, seed: int = 0) -> tuple[Views, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    words, links = rng.gamma(0.3, size=(3, 24)), rng.gamma(0.3, size=(3, 15))
    return Views(
        words=sparse.csr_array(rng.poisson(8 * words[y]).astype(float)), links=rng.poisson(6 * links[y]) * 1.0
    ), y


def test_it_finds_the_groups_and_places_new_objects():
    X, y = corpus()
    model = ConsensusClustering(3, random_state=0).fit(X[:100])
    assert clustering_accuracy(y[:100], model.labels_) > 0.95
    assert_array_equal(model.predict(X[:100]), model.labels_)
    assert_allclose(model.transform(X[:100]), model.memberships_, atol=1e-7)
    assert clustering_accuracy(y[100:], model.predict(X[100:])) > 0.95


@pytest.mark.parametrize(
    "later",
    [{"estimator": AgglomerativeClustering(3)}, {"view_weights": {"words": 0.01}}],
    ids=lambda later: next(iter(later)),
)
def test_parameters_that_change_after_the_fit_do_not_change_what_was_fitted(later):
    X, _ = corpus()
    model = ConsensusClustering(3, random_state=0).fit(X)
    torn = Views(words=X["words"], links=X["links"][::-1])  # views that disagree: their weights decide
    before = model.transform(torn)
    assert_array_equal(model.set_params(**later).predict(X), model.labels_)
    assert_array_equal(model.transform(torn), before)


def test_noise_is_no_opinion():
    points = np.repeat([[0.0, 0.0], [9.0, 9.0]], 10, axis=0)
    outlier = points.copy()
    outlier[0] = [50, -50]
    model = ConsensusClustering(2, estimator=DBSCAN(eps=1), random_state=0).fit(Views(a=outlier, b=points))
    assert model.labels_by_view_["a"][0] == -1
    assert model.labels_[0] == model.labels_[1]


def test_objects_that_lack_a_view_are_placed_by_the_others():
    X, y = corpus()
    present = np.ones((len(X), 2), dtype=bool)
    present[:30, 0] = False
    words = X["words"].toarray()
    words[:30] = 0
    model = ConsensusClustering(3, random_state=0).fit(Views(words=words, links=X["links"], present=present))
    assert (model.labels_by_view_["words"][:30] == -1).all()
    assert clustering_accuracy(y, model.labels_) > 0.9


# -- the formula


def topics(n: int = 90, k: int = 3, seed: int = 0) -> tuple[Views, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    words, links = rng.gamma(0.3, size=(k, 30)), rng.gamma(0.3, size=(k, 20))
    return Views(
        words=sparse.csr_array(rng.poisson(8 * words[y]).astype(float)),
        links=sparse.csr_array(rng.poisson(6 * links[y]).astype(float)),
    ), y


def divergence(parts, pattern, mappings) -> float:
    """Generalized Kullback-Leibler divergence, entry by entry."""
    total = 0.0
    for part, mapping in zip(parts, mappings):
        model = pattern @ mapping
        for i, j in np.ndindex(*part.shape):
            if part[i].any():
                total += part[i, j] * np.log(part[i, j] / model[i, j]) - part[i, j] + model[i, j]
    return total


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
    parts = [soften_indicators(column, width) for column, width in zip(labels, (3, 2))]
    assert_allclose(found.objective[-1], -divergence(parts, found.memberships, found.mappings), rtol=1e-6)


def test_no_start_of_a_general_solver_ends_below_the_consensus():
    rng = np.random.default_rng(2)
    labels = [rng.integers(0, 2, size=8), rng.integers(0, 3, size=8)]
    parts = [soften_indicators(column, int(column.max()) + 1) for column in labels]
    ours = -consensus(labels, 2, seed=0, max_iter=600, tol=0, n_init=5).objective[-1]

    def loss(flat):
        cuts = np.cumsum([16, 4])
        shapes = ((8, 2), (2, 2), (2, 3))
        pattern, *mappings = (softmax(p.reshape(s), axis=1) for p, s in zip(np.split(flat, cuts), shapes))
        return sum(kl_div(part, pattern @ mapping).sum() for part, mapping in zip(parts, mappings))

    theirs = min(minimize(loss, rng.normal(size=26), method="L-BFGS-B").fun for _ in range(2))
    assert ours <= theirs * (1 + 1e-3)


def test_fold_in_minimizes_the_divergence_of_one_object():
    rng = np.random.default_rng(0)
    mappings = [rng.dirichlet(np.ones(3), size=2), rng.dirichlet(np.ones(2), size=2)]
    labels = [np.array([2]), np.array([0])]
    parts = [soften_indicators(column, width) for column, width in zip(labels, (3, 2))]
    found = fold_in_consensus(labels, mappings, max_iter=20_000)
    shares = np.linspace(0, 1, 2001)
    best = min(divergence(parts, np.array([[s, 1 - s]]), mappings) for s in shares)
    assert divergence(parts, found, mappings) <= best + 1e-9


def many_clusters(k: int = 24, n: int = 900, seed: int = 0) -> tuple[list[np.ndarray], np.ndarray]:
    """Two clusterings that each know 4 in 5 objects."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return [np.where(rng.random(n) < 0.8, y, rng.integers(0, k, n)) for _ in range(2)], y


@pytest.mark.parametrize("max_iter", [5, 20, 53])
def test_the_start_that_goes_on_makes_max_iter_updates_in_all(max_iter):
    labels, _ = many_clusters()
    history = consensus(labels, 24, seed=0, tol=0, max_iter=max_iter, n_init=3).objective
    assert len(history) == max_iter + 1
    assert (np.diff(history) >= 0).all()


@pytest.mark.parametrize("width", [3, 2000])
def test_equal_rows_of_labels_are_those_of_a_sort(width):
    rng = np.random.default_rng(width)
    labels = [rng.integers(-1, width, 300) for _ in range(3)]
    groups, member, sizes = _find_equal_rows(labels)
    expected = np.unique(np.column_stack(labels), axis=0, return_inverse=True, return_counts=True)
    assert_array_equal(groups, expected[0])
    assert_array_equal(member, expected[1].ravel())
    assert_array_equal(sizes, expected[2])


def test_k_means_side_by_side_is_scikit_learns_on_unit_rows():
    X, _ = topics(60)
    rows = np.hstack([normalize(part.toarray()) for part in X.values()])
    (found,) = cluster_side_by_side(X, 3, [4])
    assert_array_equal(found.argmax(axis=1), KMeans(3, n_init=1, random_state=4).fit(rows).labels_)
    assert_allclose(found.sum(axis=1), 1)


def test_several_consensuses_differ_by_their_seeds():
    X, _ = topics(240)
    first, second, again = make_memberships(X, 4, [0, 1, 0])
    assert_array_equal(first, again)
    assert (first != second).any()


# -- k-means where views correlate: what only one view sees does not matter; views may be missing


def hidden(n: int = 300, seed: int = 0, n_views: int = 2) -> tuple[Views, np.ndarray]:
    """Clusters that every view shows a little, and a stronger pattern of each view's own."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    centers = 2.0 * np.eye(3)
    return Views(
        {
            f"v{v}": np.hstack([centers[y] + 0.5 * rng.normal(size=(n, 3)), 6 * np.eye(4)[rng.integers(0, 4, n)]])
            for v in range(n_views)
        }
    ), y


@pytest.mark.parametrize("n_views", [2, 3])
def test_what_only_one_view_sees_is_left_out(n_views):
    X, y = hidden(n_views=n_views)
    model = CCAClustering(3, normalize=None, random_state=0).fit(X)
    assert clustering_accuracy(y, model.labels_) > 0.9
    assert clustering_accuracy(y, KMeans(3, n_init=5, random_state=0).fit(X.hstack()).labels_) < 0.7


def test_it_is_k_means_in_the_space_of_cca():
    X, _ = hidden()
    model = CCAClustering(3, normalize=None, n_components=2, regularization=0.02, random_state=0).fit(X)
    space = MultiViewCCA(2, regularization=0.02, random_state=0).fit(X).transform(X)
    assert_allclose(model.transform(X), space)
    assert clustering_accuracy(model.labels_, KMeans(3, n_init=10, random_state=1).fit(space).labels_) > 0.99


def test_new_objects_are_placed_by_any_view():
    X, y = hidden(600)
    model = CCAClustering(3, normalize=None, random_state=0).fit(X[:400])
    assert_array_equal(model.predict(X[:400]), model.labels_)
    assert clustering_accuracy(y[400:], model.predict(X[400:])) > 0.9
    for name in X.names:
        assert clustering_accuracy(y[400:], model.predict(X[400:].select(name))) > 0.7


def test_objects_that_lack_a_view_are_placed_by_the_others_in_cca():
    X, y = hidden()
    present = np.ones((len(X), 2), dtype=bool)
    present[:60, 0] = False
    first = np.where(present[:, :1], X["v0"], 0)
    partial = Views(v0=first, v1=X["v1"], present=present)
    model = CCAClustering(3, normalize=None, random_state=0).fit(partial)
    assert clustering_accuracy(y, model.labels_) > 0.85

"""Views smoothed over links: against the dense formula, and new objects against the graph that they join."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.pipeline import make_pipeline

from coview import MultiViewNaiveBayes
from coview.exceptions import ViewsError
from coview.preprocessing.neighbors import NeighborViews
from coview.views.views import Views


def make(n=12, seed=0, dtype=np.float64, ids=False, as_sparse=True) -> Views:
    rng = np.random.default_rng(seed)
    links = np.triu(rng.random((n, n)) < 0.25, 1).astype(dtype)
    links = links + links.T
    words = rng.poisson(1.0, size=(n, 6)).astype(dtype)
    form = sparse.csr_array if as_sparse else np.asarray
    names = np.array([f"p{i}" for i in range(n)])
    extra = {"ids": names, "feature_names": {"links": names}} if ids else {}
    return Views(words=form(words), links=form(links), **extra)


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def formula(words, links, hops, restart=0.0, tol=0.0, self_weight=1.0):
    """(1 - restart) S H + restart X, without what is next to nothing, again and again, with everything dense."""
    both = links + self_weight * np.eye(len(links))
    degree = both.sum(axis=1)
    step = both / np.sqrt(np.outer(degree, degree))
    found = words
    for _ in range(hops):
        found = (1 - restart) * step @ found + restart * words
        found = np.where(found < tol * found.max(axis=1, keepdims=True), 0, found)
    return found


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 3), st.booleans(), st.sampled_from([0, 0.1, 0.7]))
def test_smoothing_is_the_dense_formula(seed, hops, as_sparse, restart):
    X = make(seed=seed, as_sparse=as_sparse)
    model = NeighborViews(hops=hops, restart=restart)
    found = model.fit_transform(X)
    assert found.names == ("words", "links", "words_near")
    expected = formula(dense(X["words"]), dense(X["links"]), hops, restart)
    assert_allclose(dense(found["words_near"]), expected, atol=1e-12)
    assert_allclose(dense(model.transform(X[[4, 2]])["words_near"]), expected[[4, 2]], atol=1e-12)
    assert NeighborViews(hops=hops, keep=False).fit_transform(X).names == ("words_near",)
    again = model.fit_transform(make(seed=seed, dtype=np.float32))["words_near"]
    assert sparse.issparse(again) and again.dtype == np.float32


def test_an_object_may_weigh_more_beside_its_links():
    X = make(seed=3)
    links = dense(X["links"])
    for given_weight, weight in ((2.5, 2.5), ("mean", links.sum() / len(links))):
        found = NeighborViews(hops=3, self_weight=given_weight).fit_transform(X)
        expected = formula(dense(X["words"]), links, 3, self_weight=weight)
        assert_allclose(dense(found["words_near"]), expected, atol=1e-12)


def test_after_many_hops_with_restart_one_layer_is_as_good_as_all():
    X = make(seed=5)
    every, last = (NeighborViews(hops=60, restart=0.3, layers=layers).fit(X) for layers in ("all", "last"))
    assert (every.n_layers_, last.n_layers_) == (60, 1)
    new = Views(words=np.ones((2, 6)), links=np.eye(2, 12, 3))
    assert_allclose(every.transform(new)["words_near"], last.transform(new)["words_near"], atol=1e-8)
    own = last.fit_transform(X)["words_near"]
    assert_allclose(dense(last.transform(X)["words_near"]), dense(own), atol=1e-8)


@pytest.mark.parametrize("restart", [0.0, 0.2])
def test_new_objects_join_the_fitted_ones(restart):
    """Links of a new object count from its side only: the fitted objects stay as they were."""
    X = make(10)
    model = NeighborViews(hops=2, restart=restart).fit(X)
    words, links = np.array([[0.0, 5, 0, 0, 0, 1]]), np.zeros((1, 10))
    links[0, [3, 7]] = 1
    found = dense(model.transform(Views(words=words, links=links))["words_near"])[0]
    A, H = dense(X["links"]), dense(X["words"])
    scale = (1 + A.sum(axis=1)) ** -0.5
    own, mine = 3**-0.5, words[0]
    for _ in range(2):
        new = own * (own * mine + scale[3] * H[3] + scale[7] * H[7])
        H = scale[:, None] * (scale[:, None] * H + A @ (scale[:, None] * H))
        H = (1 - restart) * H + restart * dense(X["words"])
        mine = (1 - restart) * new + restart * words[0]
    assert_allclose(found, mine, atol=1e-12)


def test_new_objects_with_ids_may_link_to_each_other():
    X = make(8, ids=True)
    fit, rest = X[:5], X[5:]
    model = NeighborViews(hops=1).fit(fit)
    found = dense(model.transform(rest)["words_near"])
    A, H = dense(X["links"]), dense(X["words"])
    inner = (1 + A[:5, :5].sum(axis=1)) ** -0.5  # in the fit, links to the others were unknown
    scale = np.concatenate([inner, (1 + A[5:].sum(axis=1)) ** -0.5])
    expected = scale[5:, None] * ((np.eye(8) + A)[5:] @ (scale[:, None] * H))
    assert_allclose(found, expected, atol=1e-12)


def test_names_that_match_no_object_are_refused():
    X = make(8, ids=True)
    strange = Views(dict(X.items()), ids=np.arange(8), feature_names={"links": X.ids})
    with pytest.raises(ViewsError, match="No column of view 'links' is named like an object: the columns are 'p0'"):
        NeighborViews().fit(strange)
    model = NeighborViews().fit(X)
    renamed = Views(dict(X.items()), ids=X.ids, feature_names={"links": [f"q{i}" for i in range(8)]})
    with pytest.raises(ViewsError, match=r"the columns are 'q0', 'q1', 'q2' \.\.\., the ids 'p0'"):
        model.transform(renamed)


def test_an_object_without_the_view_gets_it_from_its_neighbors():
    words, links = np.eye(4), np.zeros((4, 4))
    words[[0, 3]] = 0
    links[0, 1] = links[1, 0] = 1
    X = Views(words=words, links=links, present={"words": [False, True, True, False], "links": [True] * 4})
    found = NeighborViews(hops=1).fit_transform(X)
    assert found.present[:, 2].tolist() == [True, True, True, False]
    assert found["words_near"][0].any() and not found["words_near"][3].any()


@pytest.mark.parametrize(
    ("model", "X", "sentence"),
    [
        (NeighborViews("cites"), make(), "no view of links 'cites'; the views are 'words', 'links'"),
        (NeighborViews(hops=0), make(), "'hops' parameter of NeighborViews"),
        (NeighborViews(views="image"), make(), "cannot smooth 'image'"),
        (NeighborViews(), make().select("links"), "nothing to smooth"),
        (NeighborViews(), make()[:5], "has 12 columns for 5 objects"),
        (NeighborViews(), make().map({"links": lambda m: -m}), "negative links"),
    ],
)
def test_wrong_input_is_refused_with_a_sentence(model, X, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.fit(X)


def test_fitted_objects_without_ids_are_known_by_links_of_one_direction():
    X, y = make(), np.arange(12) % 3
    one_way = Views(words=X["words"], links=sparse.csr_array(sparse.triu(X["links"])))
    model = NeighborViews(hops=3, directed=False, labels=True)
    fitted, again = model.fit_transform(one_way, y), model.transform(one_way)
    for name in fitted.names:
        assert_allclose(dense(again[name]), dense(fitted[name]), atol=1e-12)
    assert_allclose(dense(fitted["words_near"]), formula(dense(X["words"]), dense(X["links"]), 3), atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.0503, 0.3071, 0.9013]), st.sampled_from([0, 0.2]))
def test_small_values_of_sparse_views_are_dropped_after_each_hop(seed, tol, restart):
    X = make(seed=seed)
    model = NeighborViews(hops=3, restart=restart, tol=tol)
    found = model.fit_transform(X)["words_near"]
    expected = formula(dense(X["words"]), dense(X["links"]), 3, restart=restart, tol=tol)
    assert found.nnz == np.count_nonzero(expected)
    assert_allclose(dense(found), expected, atol=1e-12)
    assert_allclose(dense(model.transform(X)["words_near"]), expected, atol=1e-12)


# -- Labels spread over links: against dense matrix powers; an object's own label is never seen in its row


def make_of_neighbors_labels(n=14, seed=0, ids=True, symmetric=True, dtype=np.float64) -> tuple[Views, np.ndarray]:
    """Objects with words and links, a third of them labeled."""
    rng = np.random.default_rng(seed)
    links = (rng.random((n, n)) < 0.15) * rng.integers(1, 3, size=(n, n))
    links = np.triu(links, 1) + np.triu(links, 1).T if symmetric else links
    words = rng.poisson(1.0, size=(n, 4))
    names = np.array([f"p{i}" for i in range(n)])
    extra = {"ids": names, "feature_names": {"links": names}} if ids else {}
    y = np.where(rng.random(n) < 0.35, rng.integers(0, 3, n), -1)
    y[:3] = [0, 1, 2]
    views = {"words": sparse.csr_array(words.astype(dtype)), "links": sparse.csr_array(links.astype(dtype))}
    return Views(views, **extra), y


def near(X: Views) -> np.ndarray:
    return X["labels_near"].toarray()


def formula_of_neighbors_labels(links, y, hops, restart, prior):
    """Powers of the dense step and a weak link to everybody, own column set to 0, times the labels."""
    both = links + np.eye(len(links))
    degree = both.sum(axis=1)
    step = both / np.sqrt(np.outer(degree, degree))
    whole = (1 - restart) ** hops * np.linalg.matrix_power(step, hops)
    for k in range(hops):
        whole += restart * (1 - restart) ** k * np.linalg.matrix_power(step, k)
    whole += prior / len(links)
    np.fill_diagonal(whole, 0)
    return whole @ (y[:, None] == np.arange(3))


kinds = given(
    st.integers(0, 1000), st.integers(1, 5), st.sampled_from([0, 0.1, 0.6]), st.sampled_from([0, 0.3]), st.booleans()
)


@settings(max_examples=25, deadline=None)
@kinds
def test_labels_near_are_the_dense_powers_without_the_diagonal(seed, hops, restart, prior, symmetric):
    X, y = make_of_neighbors_labels(seed=seed, symmetric=symmetric)
    model = NeighborViews(hops=hops, restart=restart, labels=True, label_prior=prior)
    found = model.fit_transform(X, y)
    assert found.names == ("words", "links", "words_near", "labels_near")
    expected = formula_of_neighbors_labels(X["links"].toarray(), y, hops, restart, prior)
    assert_allclose(near(found), expected, atol=1e-12)
    assert_array_equal(found.present[:, -1], expected.sum(axis=1) > 0)


@settings(max_examples=20, deadline=None)
@kinds
def test_an_own_label_is_never_visible(seed, hops, restart, prior, symmetric):
    X, y = make_of_neighbors_labels(seed=seed, symmetric=symmetric)
    model = NeighborViews(hops=hops, restart=restart, labels=True, label_prior=prior)
    given = model.fit_transform(X, y)
    row = 3 + int(np.argmax(y[3:] >= 0)) if (y[3:] >= 0).any() else 0
    for other in [k for k in (-1, 0, 1, 2) if k != y[row]]:
        changed = y.copy()
        changed[row] = other
        if set(changed[changed >= 0]) != {0, 1, 2}:
            continue  # the columns would be others
        found = model.fit_transform(X, changed)
        assert_allclose(near(found)[row], near(given)[row], atol=1e-12)
        assert found.present[row, -1] == given.present[row, -1]
        assert_allclose(near(model.transform(X[[row]]))[0], near(given)[row], atol=1e-12)


@pytest.mark.parametrize("ids", [True, False])
def test_fitted_objects_are_transformed_as_in_the_fit(ids):
    X, y = make_of_neighbors_labels(ids=ids)
    model = NeighborViews(hops=4, restart=0.2, labels=True)
    first = model.fit_transform(X, y)
    second = NeighborViews(hops=4, restart=0.2, labels=True).fit(X, y).transform(X)
    assert_allclose(near(second), near(first), atol=1e-12)
    assert_array_equal(second.present, first.present)
    assert_array_equal(second.feature_names["labels_near"], ["0", "1", "2"])


@pytest.mark.parametrize("prior", [0.0, 0.2])
def test_an_unlabeled_object_is_what_a_new_one_with_its_links_is(prior):
    X, y = make_of_neighbors_labels(ids=False)
    model = NeighborViews(hops=4, restart=0.1, labels=True, label_prior=prior)
    expected = near(model.fit_transform(X, y))
    rows = np.flatnonzero(y < 0)
    assert_allclose(near(model.transform(X[rows])), expected[rows], atol=1e-12)


def test_a_pipeline_hands_the_labels_over():
    """Two chains of papers without words: only labels of neighbors can tell their classes."""
    links = np.zeros((8, 8))
    for i in (0, 1, 2, 4, 5, 6):
        links[i, i + 1] = links[i + 1, i] = 1
    X = Views(words=np.ones((8, 1)), links=links)
    y = np.array([0, 0, None, None, 1, 1, None, None])
    near_labels = NeighborViews(hops=3, labels=True, keep=False, views=[])
    model = make_pipeline(near_labels, MultiViewNaiveBayes(0.1)).fit(X, y)
    assert model.predict(X).tolist() == [0] * 4 + [1] * 4


def test_signs_as_classes_are_refused():
    X, _ = make_of_neighbors_labels()
    with pytest.raises(ValueError, match="holds only -1 and 1"):
        NeighborViews("links", labels=True).fit(X, np.where(np.arange(14) % 2, 1, -1))

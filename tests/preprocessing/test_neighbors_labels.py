"""Labels spread over links: against dense matrix powers; an object's own label is never seen in its row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.pipeline import make_pipeline

from coview import MultiViewNaiveBayes, compare
from coview.preprocessing.neighbors import NeighborViews
from coview.views.views import Views


def make(n=14, seed=0, ids=True, symmetric=True, dtype=np.float64) -> tuple[Views, np.ndarray]:
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


def formula(links, y, hops, restart, prior):
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
    X, y = make(seed=seed, symmetric=symmetric)
    model = NeighborViews(hops=hops, restart=restart, labels=True, label_prior=prior)
    found = model.fit_transform(X, y)
    assert found.names == ("words", "links", "words_near", "labels_near")
    expected = formula(X["links"].toarray(), y, hops, restart, prior)
    assert_allclose(near(found), expected, atol=1e-12)
    assert_array_equal(found.present[:, -1], expected.sum(axis=1) > 0)


@settings(max_examples=20, deadline=None)
@kinds
def test_an_own_label_is_never_visible(seed, hops, restart, prior, symmetric):
    X, y = make(seed=seed, symmetric=symmetric)
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
    X, y = make(ids=ids)
    model = NeighborViews(hops=4, restart=0.2, labels=True)
    first = model.fit_transform(X, y)
    second = NeighborViews(hops=4, restart=0.2, labels=True).fit(X, y).transform(X)
    assert_allclose(near(second), near(first), atol=1e-12)
    assert_array_equal(second.present, first.present)
    assert_array_equal(second.feature_names["labels_near"], ["0", "1", "2"])


@pytest.mark.parametrize("prior", [0.0, 0.2])
def test_an_unlabeled_object_is_what_a_new_one_with_its_links_is(prior):
    X, y = make(ids=False)
    model = NeighborViews(hops=4, restart=0.1, labels=True, label_prior=prior)
    expected = near(model.fit_transform(X, y))
    rows = np.flatnonzero(y < 0)
    assert_allclose(near(model.transform(X[rows])), expected[rows], atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "y", "sentence"),
    [
        ({}, [-1] * 14, "y has no label: all 14 objects are unlabeled"),
        ({}, [0, 1], "one label per object: 2 labels for 14 objects"),
        ({}, [{"a"}] * 14, "Unknown label type .set.. Use numbers only, or strings only"),
        ({"label_prior": -1}, [1, 0] * 7, "label_prior.* must be a float in the range.* Got -1"),
        ({"labels": "yes"}, [1, 0] * 7, "'labels' parameter .* must be an instance of 'bool' .* Got 'yes'"),
    ],
)
def test_wrong_labels_are_refused_with_a_sentence(settings, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        NeighborViews(**{"labels": True, **settings}).fit(make()[0], y)


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


def test_signs_as_classes_are_refused_before_a_comparison():
    X, _ = make()
    signs = np.where(np.arange(14) % 2, 1, -1)
    options = {"methods": ["MultiViewNaiveBayes", "NeighborViews + MultiViewNaiveBayes"], "cv": 2, "n_jobs": 1}
    with pytest.raises(ValueError, match="holds only -1 and 1"):
        compare(X, signs, links={"links": "links", "labels": True}, time_budget=None, **options)

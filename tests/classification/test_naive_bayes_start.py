from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.naive_bayes import MultinomialNB

from coview import LazyViews, Views
from coview.classification.naive_bayes_start import (
    NaiveBayesStart,
    class_feature_counts,
    label_start,
    naive_bayes_posterior,
)
from coview.datasets import make_topic_views


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


def test_a_round_of_co_em_is_naive_bayes_on_objects_that_are_shared_out():
    """Oracle: scikit-learn's; each unlabeled object is there once per class, weighted as the views say."""
    X, y = corpus()
    codes = few_labels(y, 6)
    start = NaiveBayesStart.learned(X, codes, 3)
    shares = start(X)
    shares[codes >= 0] = np.eye(3)[codes[codes >= 0]]
    expected = np.mean(
        [
            MultinomialNB()
            .fit(np.tile(part.toarray(), (3, 1)), np.repeat([0, 1, 2], len(y)), sample_weight=shares.T.ravel())
            .predict_proba(part.toarray())
            for part in X.values()
        ],
        axis=0,
    )
    assert_allclose(start.refined(X, codes)(X), expected, rtol=1e-9, atol=1e-12)


def test_the_start_from_labels_is_two_rounds_of_co_em():
    X, y = corpus()
    codes = few_labels(y, 6)
    start = NaiveBayesStart.learned(X, codes, 3, scaled=True)
    assert_array_equal(label_start(X, codes, 3)(X), start.refined(X, codes).refined(X, codes)(X))


def test_rounds_of_co_em_find_the_classes_that_few_labels_leave_open():
    made = make_topic_views(n_objects=300, n_clusters=3, quality=0.3, random_state=0)
    X, y, codes = made.views, made.target, np.full(300, -1)
    for label in range(3):
        codes[np.flatnonzero(y == label)[0]] = label
    starts = (NaiveBayesStart.learned(X, codes, 3, scaled=True), label_start(X, codes, 3))
    before, after = (np.mean(start(X).argmax(axis=1) == y) for start in starts)
    assert after > before + 0.2


def test_where_all_objects_have_labels_nothing_is_left_to_share_out():
    X, y = corpus()
    assert_allclose(label_start(X, y, 3)(X), naive_bayes_posterior(X, y, 3), rtol=1e-12)


def test_lazy_rows_start_where_rows_in_memory_do(monkeypatch):
    monkeypatch.setattr("coview.engines.passes._ROWS", 37)
    X, y = corpus()
    codes = few_labels(y)
    lazy = label_start(LazyViews.from_views(X, 37), codes, 3)
    assert_allclose(lazy(X), label_start(X, codes, 3)(X), rtol=1e-9)


@pytest.mark.parametrize("unit", [0.5, 0.01])
def test_the_unit_of_small_numbers_does_not_matter(unit):
    X, y = corpus()
    codes = few_labels(y)
    scaled = [X.map(lambda part, factor=factor: part * factor) for factor in (0.001, 0.001 * unit)]
    one, other = (label_start(part, codes, 3)(part) for part in scaled)
    assert_allclose(one, other, rtol=1e-8)


def test_an_object_without_any_view_is_uniform_after_the_rounds_too():
    X, y = corpus()
    codes = few_labels(y)
    present = np.ones((len(X), 2), dtype=bool)
    present[20, 0] = present[21] = False
    arrays = {name: part.toarray() for name, part in X.items()}
    for v, part in enumerate(arrays.values()):
        part[~present[:, v]] = 0
    holed = Views(arrays, present=present)
    found = label_start(holed, codes, 3)(holed)
    assert_allclose(found[21], 1 / 3)
    assert_allclose(found.sum(axis=1), 1)

"""k-means where views correlate: what only one view sees does not matter; views may be missing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans

from coview import CCAClustering, MultiViewCCA, Views
from coview.metrics import clustering_accuracy


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


def test_objects_that_lack_a_view_are_placed_by_the_others():
    X, y = hidden()
    present = np.ones((len(X), 2), dtype=bool)
    present[:60, 0] = False
    first = np.where(present[:, :1], X["v0"], 0)
    partial = Views(v0=first, v1=X["v1"], present=present)
    model = CCAClustering(3, normalize=None, random_state=0).fit(partial)
    assert clustering_accuracy(y, model.labels_) > 0.85


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_clusters": 999}, r"n_clusters=999 is more than the number of objects \(n_samples=300\)"),
        ({"regularization": {"v9": 1}}, "'v9'"),
    ],
)
def test_bad_parameters_are_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        CCAClustering(**change).fit(hidden()[0])


def test_a_view_that_nobody_has_is_refused():
    X, _ = hidden()
    present = np.column_stack([np.zeros(len(X), dtype=bool), np.ones(len(X), dtype=bool)])
    with pytest.raises(ValueError, match="No object has view 'v0'"):
        CCAClustering(3).fit(Views(v0=np.zeros((len(X), 2)), v1=X["v1"], present=present))

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.linear_model import LinearRegression

from coview import Views
from coview.clustering.consensus import ConsensusClustering
from coview.clustering.consensus_pattern import consensus_memberships
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


def test_it_is_the_start_that_other_models_use():
    X, _ = corpus()
    model = ConsensusClustering(3, random_state=np.random.RandomState(4)).fit(X)
    seed = np.random.RandomState(4).randint(2**31 - 1)
    assert_allclose(model.memberships_, consensus_memberships(X, 3, seed))


def test_two_views_are_better_than_either():
    """Each view confuses another pair of groups, so only both together tell the three apart."""
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    a = np.array([[9, 0], [9, 0], [0, 9]])[y] + rng.poisson(1, size=(150, 2))
    b = np.array([[9, 0], [0, 9], [0, 9]])[y] + rng.poisson(1, size=(150, 2))
    found = ConsensusClustering(3, estimator=KMeans(2, n_init=3), random_state=0).fit(Views(a=a, b=b)).labels_
    assert clustering_accuracy(y, found) > 0.95


def test_the_mappings_are_distributions_over_each_views_clusters():
    X, _ = corpus()
    model = ConsensusClustering(3, estimator=KMeans(5, n_init=1), random_state=0).fit(X)
    for mapping in model.cluster_mapping_.values():
        assert mapping.shape == (3, 5)
        assert_allclose(mapping.sum(axis=1), 1)


def test_a_clusterer_that_cannot_predict_has_labels_only():
    X, y = corpus()
    model = ConsensusClustering(3, estimator=AgglomerativeClustering(3), random_state=0)
    dense = X.map({"words": lambda part: part.toarray()})
    assert clustering_accuracy(y, model.fit_predict(dense)) > 0.9
    assert not hasattr(model, "predict")


@pytest.mark.parametrize(
    "later",
    [
        {"estimators": "auto"},
        {"estimator": AgglomerativeClustering(3)},
        {"softness": 0.9},
        {"view_weights": {"words": 0.01}},
    ],
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


def test_a_view_that_nobody_has_is_refused():
    X, _ = corpus()
    present = np.ones((len(X), 2), dtype=bool)
    present[:, 0] = False
    with pytest.raises(ValueError, match="No object has view 'words'"):
        ConsensusClustering(3).fit(Views(words=np.zeros((len(X), 4)), links=X["links"], present=present))


def test_tol_zero_makes_exactly_max_iter_updates():
    X, _ = corpus()
    model = ConsensusClustering(3, tol=0, max_iter=17, random_state=0).fit(X)
    assert model.n_iter_ == 17
    assert len(model.history_["objective"]) == 18


def test_negative_values_are_welcome():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = Views(a=rng.normal(size=(60, 3)) + 4 * (2 * y - 1)[:, None], b=rng.normal(size=(60, 2)) + 4 * y[:, None])
    assert clustering_accuracy(y, ConsensusClustering(2, random_state=0).fit(X).labels_) > 0.9


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number of at least 1, got 0"),
        ({"n_clusters": 999}, "n_samples=150"),
        ({"n_init": 0}, "n_init"),
        ({"softness": 0}, "softness must lie between 0 and 1, got 0"),
        ({"tol": -1}, "tol"),
        ({"view_weights": {"images": 1}}, "'images'"),
    ],
)
def test_bad_parameters_are_refused(settings, sentence):
    X, _ = corpus()
    with pytest.raises(ValueError, match=sentence):
        ConsensusClustering(**settings).fit(X)


def test_what_is_no_clusterer_is_refused():
    X, _ = corpus()
    with pytest.raises(TypeError, match="must be a clusterer"):
        ConsensusClustering(2, estimator=LinearRegression()).fit(X)

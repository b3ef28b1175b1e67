import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import TfidfTransformer

from coview import PLSA, LazyViews, LinkPLSA, MultiViewPLSA, SpectralClusteringViews, Views
from coview.classification.naive_bayes import NaiveBayesStart
from coview.clustering.consensus import cluster_side_by_side, make_memberships
from coview.datasets import make_topic_views
from coview.metrics import clustering_accuracy, normalized_mutual_info
from coview.plsa import starts
from coview.plsa.mixture import RESTART
from coview.plsa.starts import (
    FactorizedStart,
    FitContext,
    choose_likeliest,
    cluster_graphs,
    factorize_views,
    find_likeliest_start,
)

MADE = make_topic_views(n_objects=120, n_clusters=3, random_state=0)


def test_the_likelihood_knows_the_right_start_among_wrong_ones():
    rng = np.random.default_rng(0)
    right = np.eye(3)[MADE.target]
    wrong = [np.eye(3)[rng.permutation(MADE.target)] for _ in range(3)]
    assert choose_likeliest(MADE.views, [*wrong, right]) is right
    assert choose_likeliest(MADE.views, [right, *wrong]) is right


def test_views_that_weigh_nothing_have_no_say():
    rng = np.random.default_rng(0)
    y, other = MADE.target, rng.permutation(MADE.target)
    X = Views(a=MADE.views["view0"], b=MADE.views["view0"][np.argsort(np.argsort(other, kind="stable"))])
    by_a, by_b = np.eye(3)[y], np.eye(3)[y[np.argsort(np.argsort(other, kind="stable"))]]
    assert choose_likeliest(X, [by_a, by_b], {"a": 1.0, "b": 0.0}) is by_a
    assert choose_likeliest(X, [by_a, by_b], {"a": 0.0, "b": 1.0}) is by_b


def test_vectors_that_weigh_nothing_are_not_looked_at(monkeypatch):
    looked = []
    choose = starts.choose_likeliest
    monkeypatch.setattr(
        starts, "choose_likeliest", lambda X, *rest: (looked.append(list(X.names)), choose(X, *rest))[1]
    )
    X = Views(**dict(MADE.views.items()), vector=np.random.default_rng(0).normal(size=(120, 2)))
    found = [
        find_likeliest_start(X, 3, FitContext(0), {"vector": weight}, 1, dense={"vector": "gaussian"})
        for weight in (0.0, 1.0)
    ]
    assert looked == [["view0", "view1"], ["view0", "view1", "vector"]]
    assert_allclose(found[0], find_likeliest_start(MADE.views, 3, FitContext(0), {}, 1), atol=1e-9)


def test_it_is_one_of_several_and_the_same_for_a_seed():
    found = find_likeliest_start(MADE.views, 3, FitContext(5), {}, None)
    agreed = make_memberships(MADE.views, 3, range(5, 11))
    beside = cluster_side_by_side(MADE.views, 3, range(11, 13))
    cut = cluster_graphs(MADE.views, 3, 5, {"view0": 1.0, "view1": 1.0})
    assert any((found == start).all() for start in (*agreed, *beside, cut))
    assert_array_equal(found, find_likeliest_start(MADE.views, 3, FitContext(5), {}, None))


def test_graphs_find_clusters_of_short_rows_where_every_k_means_fails():
    """Many clusters, short rows, half of each from a common background: the defaults once ended at .2."""
    made = make_topic_views(800, {"a": 1500, "b": 1000}, n_clusters=10, length=[40, 20], quality=0.5, random_state=0)
    by_means = find_likeliest_start(made.views, 10, FitContext(0), {}, 1, graphs=False)
    assert normalized_mutual_info(made.target, by_means.argmax(axis=1)) < 0.4
    lazy = MultiViewPLSA(10, 12, max_iter=10, n_jobs=1, random_state=0).fit(LazyViews.from_views(made.views, 300))
    assert normalized_mutual_info(made.target, lazy.labels_) > 0.8


def test_graphs_are_cut_on_a_sample_and_carried_to_all(monkeypatch):
    sizes = []
    fit = SpectralClusteringViews.fit
    monkeypatch.setattr(SpectralClusteringViews, "fit", lambda self, X: (sizes.append(len(X)), fit(self, X))[1])
    monkeypatch.setattr(starts, "LEAST_NODES", 60)
    monkeypatch.setattr(starts, "NODES_PER_CLUSTER", 10)
    carried = starts.cluster_graphs(MADE.views, 3, 0, {})
    assert sizes == [60] and carried.shape == (120, 3)
    assert clustering_accuracy(MADE.target, carried.argmax(axis=1)) > 0.9
    monkeypatch.setattr(starts, "MOST_NODES", 29)  # fewer than ten for each cluster
    find_likeliest_start(MADE.views, 3, FitContext(0), {}, 1)
    assert sizes == [60]


def test_many_lazy_rows_start_by_naive_bayes_on_a_sample(monkeypatch):
    monkeypatch.setattr(starts, "SAMPLE", 100)
    start = find_likeliest_start(LazyViews.from_views(MADE.views, 50), 3, FitContext(0), {}, None)
    assert isinstance(start, NaiveBayesStart)
    assert clustering_accuracy(MADE.target, start(MADE.views).argmax(axis=1)) > 0.9


def test_each_restart_has_a_consensus_of_its_own_and_the_best_is_kept(monkeypatch):
    """Oracle: the same restarts as fits of their own."""
    views, seed = LazyViews.from_views(MADE.views, 50), 5 * RESTART + 7

    def fit(first, n_init):
        monkeypatch.setattr("coview.plsa.mixture.base_seed", lambda _: first)
        return MultiViewPLSA(4, 5, max_iter=6, tol=0, n_init=n_init, n_jobs=1).fit(views)

    alone = [fit(seed + RESTART * restart, 1) for restart in range(3)]
    best = max(alone, key=lambda model: model.history_["objective"][-1])
    together = fit(seed, 3)
    assert_allclose(together.history_["objective"], best.history_["objective"], rtol=1e-10)
    assert_array_equal(together.labels_, best.labels_)


# -- The start of topics by a nonnegative factorization of tf-idf

DATA = make_topic_views(200, {"words": 120, "links": 60}, n_clusters=4, length=[40, 20], random_state=0)


def test_the_factorization_is_that_of_scikit_learns_tf_idf():
    views = DATA.views.select("words")
    Z = TfidfTransformer().fit_transform(sparse.csr_matrix(views["words"]))
    start = FactorizedStart.learned(views, 4, 0, {"words": 1.0})
    ours = clustering_accuracy(DATA.target, start(views).argmax(axis=1))
    theirs = clustering_accuracy(DATA.target, NMF(4, init="nndsvd", random_state=0).fit_transform(Z).argmax(axis=1))
    assert ours > theirs - 0.03


@pytest.mark.parametrize("model", [PLSA, LinkPLSA])
def test_topics_begin_at_the_counts_of_their_objects(model):
    arrays = factorize_views(DATA.views, 4, 0, {})
    for name, matrix in DATA.views.items():
        counts = arrays["memberships"].T @ matrix
        assert np.allclose(arrays["topic_feature"][name], np.maximum(counts, 1e-15))
    assert np.allclose(arrays["topic_view"].sum(axis=0), [matrix.sum() for matrix in DATA.views.values()])
    given = dict(arrays) if model is PLSA else {key: arrays[key] for key in ("memberships", "topic_feature")}
    fits = [model(4, init=init, max_iter=5, random_state=0).fit(DATA.views) for init in ("nmf", given)]
    assert np.allclose(fits[0].memberships_, fits[1].memberships_)


def test_objects_that_lack_all_counts_begin_even_and_weightless_views_say_nothing():
    words = DATA.views["words"].toarray()
    links = DATA.views["links"].toarray()
    words[3] = links[3] = 0
    views = Views(words=words, links=links, present={"links": np.arange(200) != 3})
    assert np.allclose(factorize_views(views, 4, 0, {})["memberships"][3], 0.25)
    alone = factorize_views(views.select("words"), 4, 0, {})["memberships"]
    assert np.allclose(factorize_views(views, 4, 0, {"links": 0.0})["memberships"], alone)


def test_lazy_rows_begin_as_those_in_memory_also_where_a_part_is_learned_from(monkeypatch):
    monkeypatch.setattr(starts, "FACTORIZED", 60)
    monkeypatch.setattr(starts, "PER_TOPIC", 10)
    lazy = LazyViews.from_views(DATA.views, 70)
    here, there = (factorize_views(views, 4, 0, {}) for views in (DATA.views, lazy))
    assert np.allclose(here["memberships"], there["memberships"](DATA.views))
    assert np.allclose(here["topic_feature"]["words"], there["topic_feature"]["words"])
    assert clustering_accuracy(DATA.target, here["memberships"].argmax(axis=1)) > 0.9


@pytest.mark.parametrize("shape", [(3, 4), (40, 2)])
def test_more_topics_than_objects_or_features_can_be_asked_for(shape):
    X = np.random.default_rng(0).poisson(2.0, size=shape) + 1
    model = PLSA(5, init="nmf", random_state=0).fit(X)
    assert np.isfinite(model.memberships_).all() and np.allclose(model.memberships_.sum(axis=1), 1)


def test_a_view_of_fewer_different_rows_than_topics_starts_without_a_word():
    rng = np.random.default_rng(0)
    X = Views(words=rng.poisson(1.0, (60, 30)), kind=np.eye(2)[np.arange(60) % 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MultiViewPLSA(4, 4, max_iter=5, random_state=0).fit(X)
    assert np.isfinite(model.memberships_).all()

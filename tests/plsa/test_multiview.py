"""Dual, multi-view and link PLSA against the five-index EM of the paper, their laws, and few labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from coview import (
    Checkpoint,
    ConsensusClustering,
    DualPLSA,
    LazyViews,
    LinkPLSA,
    MultiViewNaiveBayes,
    MultiViewPLSA,
    MultiViewPLSAClassifier,
    Views,
)
from coview.datasets import make_topic_views
from coview.exceptions import InterruptedFitWarning, ModelFileError
from coview.metrics import clustering_accuracy
from coview.plsa.starts import soften
from coview.validation import base_seed


def counts(n, m, seed):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, m), density=0.4, format="csr", rng=rng)
    X.data = np.ceil(4 * X.data)
    return X


def problem(n_views, n=14, k=3, seed=0):
    """Views of different widths, topics of different numbers, and a start for everything."""
    rng = np.random.default_rng(seed)
    widths = [8, 11, 6, 9][:n_views]
    topics = [4, 5, 3, 6][:n_views]
    names = [f"v{i}" for i in range(n_views)]
    views = Views({name: counts(n, m, seed + i) for i, (name, m) in enumerate(zip(names, widths))})
    init = {
        "memberships": rng.dirichlet(np.ones(k), n),
        "topic_feature": {name: rng.dirichlet(np.ones(m), y) for name, m, y in zip(names, widths, topics)},
        "cluster_topic": {name: rng.dirichlet(np.ones(y), k) for name, y in zip(names, topics)},
    }
    return views, init, dict(zip(names, topics))


def five_index_em(views, init, sweeps, codes=None, weights=None):
    """The paper's EM with p(y, z | f, d, v) in full: eqs. 9 and 15 to 17."""
    Z = init["memberships"].copy()
    F = {v: a.copy() for v, a in init["topic_feature"].items()}
    B = {v: a.copy() for v, a in init["cluster_topic"].items()}
    fixed = np.zeros(len(Z), dtype=bool) if codes is None else codes >= 0
    Z[fixed] = 0
    if codes is not None:
        Z[fixed, codes[fixed]] = 1
    for _ in range(sweeps):
        pull = np.zeros_like(Z)
        newF, newB = {}, {}
        for v, X in views.items():
            X = X.toarray()
            joint = np.einsum("yf,zy,dz->dfyz", F[v], B[v], Z)
            p = joint / joint.sum(axis=(2, 3), keepdims=True)
            weighted = X[:, :, None, None] * p
            newF[v] = weighted.sum(axis=(0, 3)).T
            newB[v] = weighted.sum(axis=(0, 1)).T
            pull += (1.0 if weights is None else weights[v]) * weighted.sum(axis=(1, 2))
        F = {v: a / a.sum(axis=1, keepdims=True) for v, a in newF.items()}
        B = {v: a / a.sum(axis=1, keepdims=True) for v, a in newB.items()}
        moved = pull / pull.sum(axis=1, keepdims=True)
        Z = np.where(fixed[:, None], Z, moved)
    return Z, F, B


def assert_is_em(model, Z, F, B):
    assert_allclose(model.memberships_, Z, atol=1e-9)
    for v in F:
        assert_allclose(model.topic_feature_[v], F[v], atol=1e-9)
        assert_allclose(model.cluster_topic_[v], B[v], atol=1e-9)


@pytest.mark.parametrize(("n_views", "weights"), [(1, None), (2, {"v0": 0.3, "v1": 2.0}), (3, None)])
def test_clustering_equals_the_five_index_em(n_views, weights):
    views, init, topics = problem(n_views)
    settings = {"algorithm": "published", "max_iter": 20, "tol": 0, "view_weights": weights or 1.0}
    model = MultiViewPLSA(3, topics, init=init, **settings).fit(views)
    assert_is_em(model, *five_index_em(views, init, 20, weights=weights))


@pytest.mark.parametrize("n_views", [1, 3])
def test_classification_equals_the_five_index_em_with_clamped_objects(n_views):
    views, init, topics = problem(n_views, seed=5)
    codes = np.array([0, 1, 2, -1, -1, 0] + [-1] * 8)
    model = MultiViewPLSAClassifier(topics, init=init, algorithm="published", max_iter=20, tol=0).fit(views, codes)
    assert_is_em(model, *five_index_em(views, init, 20, codes))


def test_the_published_start_of_the_classifier_is_the_mean_posterior_of_naive_bayes():
    made = make_topic_views(n_objects=60, length=20, random_state=4)
    y = np.where(np.arange(60) % 7 == 0, made.target, -1)
    posterior = MultiViewNaiveBayes().fit(made.views[y >= 0], y[y >= 0]).predict_proba(made.views)
    settings = {"algorithm": "published", "max_iter": 5, "tol": 0, "random_state": 0}
    given = MultiViewPLSAClassifier(4, init={"memberships": soften(posterior)}, **settings).fit(made.views, y)
    named = MultiViewPLSAClassifier(4, init="naive_bayes", **settings).fit(made.views, y)
    assert_allclose(named.memberships_, given.memberships_, atol=1e-12)
    assert not np.allclose(MultiViewPLSAClassifier(4, **settings).fit(made.views, y).memberships_, given.memberships_)


def test_the_published_start_of_the_clusterer_is_one_consensus_clustering():
    views = make_topic_views(n_objects=60, n_clusters=3, quality=0.4, length=20, random_state=4).views
    agreed = ConsensusClustering(3, random_state=base_seed(0)).fit(views).memberships_
    settings = {"algorithm": "published", "max_iter": 5, "tol": 0, "random_state": 0}
    given = MultiViewPLSA(3, 4, init={"memberships": soften(agreed)}, **settings).fit(views)
    named = MultiViewPLSA(3, 4, init="consensus", **settings).fit(views)
    assert_allclose(named.memberships_, given.memberships_, atol=1e-12)
    lazy = MultiViewPLSA(3, 4, init="consensus", **settings).fit(LazyViews.from_views(views, 25))
    assert lazy.memberships_.shape == (60, 3)


def test_dual_plsa_equals_multi_view_plsa_on_the_glued_view():
    views, _, _ = problem(2)
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(np.ones(19), 4)
    clusters = rng.dirichlet(np.ones(4), 3)
    doc = rng.dirichlet(np.ones(3), 14)
    settings = {"max_iter": 25, "tol": 0}
    init = {"memberships": doc, "topic_feature": topics, "cluster_topic": clusters}
    glued = MultiViewPLSA(3, 4, init=init, **settings).fit(views.hstack())
    init = {
        "memberships": doc,
        "topic_feature": {"v0": topics[:, :8], "v1": topics[:, 8:]},
        "topic_view": np.column_stack([topics[:, :8].sum(axis=1), topics[:, 8:].sum(axis=1)]),
        "cluster_topic": {"v0": clusters, "v1": clusters},
    }
    dual = DualPLSA(3, 4, init=init, **settings).fit(views)
    assert_allclose(dual.memberships_, glued.memberships_, atol=1e-9)
    assert_allclose(dual.transform(views), glued.transform(views.hstack()), atol=1e-6)
    assert_allclose(dual.cluster_topic_["v0"], dual.cluster_topic_["v1"])
    assert_allclose(dual.topic_view_.sum(axis=1), 1)


def test_link_plsa_sums_the_row_statistics_over_views():
    views, _, _ = problem(2)
    rng = np.random.default_rng(2)
    doc = rng.dirichlet(np.ones(3), 14)
    topics = {"v0": rng.dirichlet(np.ones(8), 3), "v1": rng.dirichlet(np.ones(11), 3)}
    init = {"memberships": doc, "topic_feature": topics}
    model = LinkPLSA(3, init=init, algorithm="published", max_iter=10, tol=0).fit(views)
    for _ in range(10):
        pull, new = np.zeros_like(doc), {}
        for v, X in views.items():
            R = X.toarray() / (doc @ topics[v])
            pull += R @ topics[v].T
            new[v] = topics[v] * (doc.T @ R)
            new[v] = new[v] / new[v].sum(axis=1, keepdims=True)
        doc = doc * pull
        doc, topics = doc / doc.sum(axis=1, keepdims=True), new
    assert_allclose(model.memberships_, doc, atol=1e-9)
    assert_allclose(model.topic_feature_["v1"], topics["v1"], atol=1e-9)


def test_a_view_that_all_rows_lack_but_one_says_nothing_about_the_others():
    made = make_topic_views(n_objects=120, n_clusters=3, missing={"view0": 0.0, "view1": 0.5}, random_state=0)
    model = MultiViewPLSA(3, 6, random_state=0).fit(made.views)
    assert clustering_accuracy(made.target, model.labels_) > 0.9
    link = LinkPLSA(3, n_init=3, random_state=0).fit(made.views)
    assert clustering_accuracy(made.target, link.memberships_.argmax(axis=1)) > 0.9


def test_all_labeled_and_one_label_per_class_work():
    made = make_topic_views(n_objects=150, n_clusters=3, random_state=1)
    train, test = made.views[:100], made.views[100:]
    full = MultiViewPLSAClassifier(6, random_state=0).fit(train, made.target[:100])
    assert_array_equal(full.transduction_, made.target[:100])
    assert full.score(test, made.target[100:]) > 0.95
    y = np.full(100, -1)
    for label in range(3):
        y[np.flatnonzero(made.target[:100] == label)[0]] = label
    one = MultiViewPLSAClassifier(6, random_state=0).fit(train, y)
    assert one.score(test, made.target[100:]) > 0.9
    assert_allclose(one.predict_proba(test.select("view0")).sum(axis=1), 1, atol=1e-6)


def test_top_features_of_clusters_and_topics():
    made = make_topic_views(n_objects=90, n_clusters=3, random_state=0)
    model = MultiViewPLSA(3, 5, random_state=0).fit(made.views)
    assert len(model.top_features("view0", 4)) == 5
    clusters = model.top_features("view0", 4, of="cluster")
    assert len(clusters) == 3 and len(clusters[0]) == 4
    profile = model.cluster_topic_["view0"] @ model.topic_feature_["view0"]
    assert clusters[1][0][1] == pytest.approx(profile[1].max())
    with pytest.raises(ValueError, match="of must be"):
        model.top_features("view0", of="object")


def test_a_checkpoint_of_other_labels_is_refused_and_the_same_fit_goes_on(tmp_path, stop_at):
    made = make_topic_views(n_objects=60, n_clusters=3, random_state=0)
    y = np.where(np.arange(60) < 9, made.target, -1)
    path = tmp_path / "fit.checkpoint"

    model = MultiViewPLSAClassifier(5, max_iter=20, tol=0, random_state=0)
    with pytest.warns(InterruptedFitWarning):
        model.set_callbacks(Checkpoint(path, every=3), stop_at(6)).fit(made.views, y)
    model.set_callbacks(Checkpoint(path, every=3))
    other = np.where(np.arange(60) < 12, made.target, -1)
    with pytest.raises(ModelFileError, match="other data or parameters"):
        model.fit(made.views, other)
    resumed = model.fit(made.views, y)
    unbroken = MultiViewPLSAClassifier(5, max_iter=20, tol=0, random_state=0).fit(made.views, y)
    assert_array_equal(resumed.memberships_, unbroken.memberships_)


def test_a_view_that_no_object_has_is_left_out():
    made = make_topic_views(n_objects=40, n_clusters=2, random_state=0)
    present = np.column_stack([np.ones(40, bool), np.zeros(40, bool)])
    empty = sparse.csr_array(made.views["view1"].shape)
    model = MultiViewPLSA(2, 4, random_state=0).fit(Views(view0=made.views["view0"], view1=empty, present=present))
    assert clustering_accuracy(made.target, model.labels_) > 0.9


def test_score_counts_labeled_objects_only():
    from sklearn.model_selection import cross_val_score

    made = make_topic_views(n_objects=90, n_clusters=3, random_state=0)
    y = np.where(np.arange(90) % 3 == 0, made.target, -1)
    y[1:90:9] = made.target[1:90:9]
    model = MultiViewPLSAClassifier(4, random_state=0).fit(made.views, y)
    known = y >= 0
    assert model.score(made.views, y) == np.mean(model.predict(made.views)[known] == y[known])
    assert cross_val_score(model, made.views, y, cv=3).mean() > 0.9
    with pytest.raises(ValueError, match="no label to score"):
        model.score(made.views, np.full(90, -1))
    assert model.top_features("view0", 2, of="class") == model.top_features("view0", 2, of="cluster")

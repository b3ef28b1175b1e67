"""Features that make a group."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from coview import CCAClustering, ConsensusClustering, make_report
from coview.report.features import GroupFeatures, group_features, means_of_groups, top_features
from coview.report.reader import Reader

WEIGHTS = arrays(np.float64, (3, 7), elements=st.floats(0.001, 1.0))


@settings(max_examples=30, deadline=None)
@given(WEIGHTS)
def test_ranking_is_by_the_divergence_from_the_mean(weights):
    shares = weights / weights.sum(axis=1, keepdims=True)
    found = top_features(GroupFeatures({"v": shares}, True, ""), {}, n=7)["v"]
    adds = shares * np.log(shares / shares.mean(axis=0))
    for row, lines in zip(adds, found):
        values = [row[int(name[1:])] for name, _, _ in lines]
        assert all(a >= b - 1e-12 for a, b in pairwise(values))
        assert len(lines) == (row > 0).sum()


@settings(max_examples=30, deadline=None)
@given(WEIGHTS)
def test_ranking_by_weight_is_that_of_numpy(weights):
    found = top_features(GroupFeatures({"v": weights}, True, ""), {}, n=3, rank="weight")["v"]
    for row, lines in zip(weights, found):
        assert [f"f{j}" for j in np.argsort(-row, kind="stable")[:3]] == [name for name, _, _ in lines]


def test_means_of_groups_are_those_of_numpy(data):
    X, y = data
    codes = np.unique(y, return_inverse=True)[1]
    found = means_of_groups(X, codes, 3).weights
    for view, matrix in X.items():
        dense = matrix.toarray()
        scaled = dense / np.maximum(dense.sum(axis=1, keepdims=True), 1e-300)
        assert_allclose(found[view], [scaled[codes == g].mean(axis=0) for g in range(3)])


def test_clusters_have_the_features_of_their_topics(make):
    model = make("MultiViewPLSA")
    found = group_features(model, 3)
    assert found.probabilities
    for view in ("words", "links"):
        assert_allclose(found.weights[view], model.cluster_topic_[view] @ model.topic_feature_[view])
        assert_allclose(found.weights[view].sum(axis=1), 1)


def test_members_of_a_consensus_are_no_views(data):
    members = [("space", CCAClustering(3, random_state=0)), ("other", CCAClustering(3, random_state=1))]
    model = ConsensusClustering(3, estimators=members, random_state=0).fit(data[0])
    assert all(hasattr(part, "cluster_centers_") for part in model.estimators_.values())
    assert group_features(model, 3) is None
    for group in make_report(model, data[0]).summary["groups"]["items"]:
        assert list(group["features"]) == ["words", "links"]


def test_clusterers_of_each_view_still_say_its_features(make):
    found = group_features(make("ConsensusClustering"), 3)
    assert {view: part.shape for view, part in found.weights.items()} == {"words": (3, 24), "links": (3, 15)}


def test_weights_have_a_row_for_each_group_and_a_column_for_each_feature(model):
    reader = Reader(model)
    found = group_features(model, len(reader.names)) if reader.names else None
    for view, weights in ({} if found is None else found.weights).items():
        assert weights.shape == (len(reader.names), model.n_features_by_view_[view])

"""Features that make a group."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from coview import (
    AutoClustering,
    LabelSpreadingClassifier,
    SpectralClusteringViews,
    Views,
    inspect,
    load,
    save,
)
from coview.inspection import Features
from coview.inspection.features import (
    described_features,
    features_by_view,
    rank_features,
    summarize_groups,
    top_features,
)
from coview.inspection.reading import read_groups, read_training

WEIGHTS = arrays(np.float64, (3, 7), elements=st.floats(0.001, 1.0))


@settings(max_examples=30, deadline=None)
@given(WEIGHTS)
def test_ranking_is_by_the_divergence_from_the_mean(weights):
    shares = weights / weights.sum(axis=1, keepdims=True)
    found = top_features(Features(shares, True), [f"f{j}" for j in range(7)], n=7)
    adds = shares * np.log(shares / shares.mean(axis=0))
    for row, lines in zip(adds, found):
        values = [row[int(name[1:])] for name, _, _ in lines]
        assert all(a >= b - 1e-12 for a, b in pairwise(values))
        assert len(lines) == (row > 0).sum()


@settings(max_examples=30, deadline=None)
@given(WEIGHTS)
def test_signed_rankings_have_both_ends(weights):
    for row, best in zip(weights, rank_features(Features(weights), 4, by="signed")):
        assert_allclose(row[best[:2]], np.sort(row)[::-1][:2])
        assert_allclose(row[best[2:]], np.sort(row)[1::-1])


def test_means_of_groups_are_those_of_numpy(data):
    X, y = data
    codes = np.unique(y, return_inverse=True)[1]
    means, _, _ = summarize_groups(X, codes, 3)
    for view, matrix in X.items():
        dense = matrix.toarray()
        scaled = dense / np.maximum(dense.sum(axis=1, keepdims=True), 1e-300)
        assert_allclose(means[view], [scaled[codes == g].mean(axis=0) for g in range(3)])


def test_clusters_have_the_features_of_their_topics(make):
    model = make("MultiViewPLSA")
    for view, found in features_by_view(inspect(model)).items():
        assert found.probabilities
        assert_allclose(found.weights, model.cluster_topic_[view] @ model.topic_feature_[view])
        assert_allclose(found.weights.sum(axis=1), 1)


def test_clusterers_of_each_view_still_say_its_features(make):
    found = features_by_view(inspect(make("ConsensusClustering")))
    assert {view: part.weights.shape for view, part in found.items()} == {"words": (3, 24), "links": (3, 15)}


def test_where_a_model_says_nothing_its_objects_do(make, data):
    X, _ = data
    silent = replace(inspect(make("SpectralClusteringViews")), _features=lambda view: None)
    assert features_by_view(silent) == {}
    described = features_by_view(silent, X, read_groups(silent, X).codes)
    assert {view: part.weights.shape for view, part in described.items()} == {"words": (3, 24), "links": (3, 15)}


@pytest.mark.parametrize(
    "model", [AutoClustering(3, random_state=0), SpectralClusteringViews(3, random_state=0), LabelSpreadingClassifier()]
)
def test_measurements_are_told_by_deviations_so_that_the_widest_column_does_not_win(model, tmp_path):
    pandas = pytest.importorskip("pandas")
    rng, target = np.random.default_rng(0), np.arange(90) % 3
    age = np.array([20.0, 50.0, 80.0])[target] + rng.normal(size=90)
    size = np.array([1.0, 3.0, 2.0])[target] + 0.05 * rng.normal(size=90)
    table = pandas.DataFrame({"age": age, "salary": 5_000 + 300 * rng.normal(size=90), "size": size})
    model.fit(Views(person=table), target)
    save(model, tmp_path / "model.coview")
    for each in (model, load(tmp_path / "model.coview")):
        found = inspect(each)
        codes = read_training(found).codes
        expected = [((table[codes == code] - table.mean()) / table.std(ddof=0)).mean().to_numpy() for code in range(3)]
        assert_allclose(described_features(found, "person").deviations, expected, rtol=1e-6, atol=1e-9)
        if found.kind == "cluster":
            young = found.group_names[int(codes[0])]
            assert "low age" in young and "low size" in young and "salary" not in " ".join(found.group_names)

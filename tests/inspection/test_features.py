"""Features that make a group."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import jensenshannon, squareform
from sklearn.cluster import AgglomerativeClustering

from coview import (
    AutoClustering,
    LabelSpreadingClassifier,
    LinkPLSA,
    SpectralClusteringViews,
    Views,
    inspect,
    load,
    save,
)
from coview.datasets import make_topic_views
from coview.exceptions import ViewsError
from coview.inspection import Features
from coview.inspection.features import (
    described_features,
    features_by_view,
    rank_features,
    summarize_groups,
    top_features,
)
from coview.inspection.hierarchy import GroupHierarchy, _divergences, group_distances
from coview.inspection.reading import read_groups, read_training
from coview.plot import HierarchyDisplay

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


# -- The tree over groups: distances by scipy, like beside like, cuts that nest, every kind of model

DATA = make_topic_views(n_objects=150, n_clusters=5, random_state=0)
MODEL = LinkPLSA(5, random_state=0).fit(DATA.views)


def test_distances_are_scipys_and_a_mean_over_views():
    found = group_distances(inspect(MODEL))
    for a in range(5):
        for b in range(5):
            each = [jensenshannon(part[a], part[b], base=2) for part in MODEL.topic_feature_.values()]
            assert found[a, b] == pytest.approx(np.mean(each), abs=1e-7)


def nested(seed=0):
    """Two pairs of clusters that share most of their words, and one cluster on its own."""
    rng = np.random.default_rng(seed)
    shared = np.repeat(np.eye(3), 8, axis=1)[[0, 0, 1, 1, 2]]
    own = np.repeat(np.eye(5), 4, axis=1)
    means = np.hstack([4 * shared, 4 * own]) + 0.05
    target = np.arange(300) % 5
    return Views(words=rng.poisson(means[target]).astype(float)), target


def test_groups_that_share_features_are_joined_first():
    X, target = nested()
    model = LinkPLSA(5, random_state=0, init={"memberships": np.eye(5)[target] + 0.01}).fit(X)
    tree = inspect(model).hierarchy()
    assert tree.cut(3).tolist() == [0, 0, 1, 1, 2]
    assert sorted(tree.linkage[:2, :2].astype(int).tolist()) == [[0, 1], [2, 3]]


def test_cuts_nest():
    tree = inspect(MODEL).hierarchy()
    for n in range(1, 6):
        codes = tree.cut(n)
        assert len(set(codes.tolist())) == n
        if n > 1:  # each part of the finer cut lies in one of the coarser cut
            assert len(set(zip(codes.tolist(), tree.cut(n - 1).tolist()))) == n
    assert tree.cut(5).tolist() == [0, 1, 2, 3, 4]


def test_models_without_features_take_the_means_of_their_objects():
    X, target = nested()
    model = AgglomerativeClustering(5, linkage="ward").fit(X["words"])
    model.labels_ = target
    with pytest.raises(ViewsError, match="Pass X"):
        inspect(model).hierarchy()
    assert inspect(model).hierarchy(X["words"]).cut(3).tolist() == [0, 0, 1, 1, 2]


def test_measurements_are_compared_in_deviations_whatever_their_units_and_signs():
    pandas = pytest.importorskip("pandas")
    centers = np.array([[-1.0, -1000], [-1.1, -1000], [6, 6000]])
    target = np.arange(90) % 3
    values = centers[target] + np.array([0.01, 10]) * np.random.default_rng(0).normal(size=(90, 2))
    X = Views(size=pandas.DataFrame(values, columns=["age", "price"]))
    model = LinkPLSA(3, random_state=0, init={"memberships": np.eye(3)[target] + 0.01}).fit(X)
    for tree in (inspect(model).hierarchy(), inspect(model).hierarchy(X)):
        assert tree.cut(2).tolist() == [0, 0, 1]


def test_equal_groups_are_nearest_and_empty_ones_are_farthest():
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(300), 40)
    twins = squareform(_divergences(np.vstack([rows, rows * (1 + 1e-15)])))
    assert max(twins[i, i + 40] for i in range(40)) < 1e-6
    apart = squareform(_divergences(np.array([[1.0, 1], [0, 0], [-1, -1], [1, 2]])))
    assert apart[0, 1] == apart[2, 3] == 1.0
    assert apart[1, 2] == 0.0


def test_the_display_draws_a_line_for_each_join():
    display = HierarchyDisplay.from_estimator(MODEL, n_parts=2)
    assert len(display.ax_.lines) == 4
    heights = sorted(max(line.get_xdata()) for line in display.ax_.lines)
    assert_allclose(heights, sorted(display.hierarchy.linkage[:, 2]))


def test_a_walk_goes_from_the_root_to_each_group_or_to_the_parts_of_a_cut():
    tree = inspect(MODEL).hierarchy()
    nodes = {node.id: (node, depth) for node, depth in tree.walk()}
    assert sorted(nodes) == list(range(9)) and next(tree.walk())[0].id == 8 and nodes[8][1] == 0
    for join, pair in enumerate(tree.linkage[:, :2].astype(int).tolist(), 5):
        below = [nodes[child] for child in pair]
        assert {depth for _, depth in below} == {nodes[join][1] + 1}
        assert sorted(nodes[join][0].pre_order()) == sorted(below[0][0].pre_order() + below[1][0].pre_order())
    for n in range(1, 6):
        shown = {node.id for node, _ in tree.walk(n)}
        ends = [node for node, _ in tree.walk(n) if node.is_leaf() or not {node.left.id, node.right.id} <= shown]
        codes = tree.cut(n)
        parts = {tuple(np.flatnonzero(codes == part).tolist()) for part in range(n)}
        assert {tuple(sorted(node.pre_order())) for node in ends} == parts


def overlapping(texts):
    """Pairs of texts of a figure that cover each other."""
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    return [(a, b) for i, a in enumerate(boxes) for b in boxes[:i] if a.overlaps(b)]


@pytest.mark.parametrize(("n", "given"), [(20, False), (90, True)])
def test_names_do_not_cover_each_other(n, given):
    from matplotlib import pyplot

    rng = np.random.default_rng(0)
    joined = linkage(rng.dirichlet(np.ones(30), n), "average")
    keys = [str(k) for k in range(n)]
    tree = GroupHierarchy(joined, keys, [f"word{k}, another{k}, third" for k in range(n)])
    ax = pyplot.subplots(figsize=(7, 4))[1] if given else None
    display = HierarchyDisplay(tree, n_parts=2).plot(ax)
    display.figure_.draw_without_rendering()
    names = display.ax_.get_yticklabels()
    assert not overlapping(names)
    assert len(names) == n or (given and n == 90 and len(names) > 20)  # all, where the figure is made for them
    width = display.ax_.get_window_extent().width
    assert width > 0.3 * display.figure_.bbox.width  # the tree has room beside the names
    pyplot.close(display.figure_)

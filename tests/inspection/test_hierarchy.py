"""The tree over groups: distances by scipy, like beside like, cuts that nest, every kind of model."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import jensenshannon, squareform
from sklearn.cluster import AgglomerativeClustering
from sklearn.pipeline import make_pipeline

from coview import LinkPLSA, TableViews, TextViews, Views, inspect
from coview.datasets import make_topic_views
from coview.exceptions import ParameterError, ViewsError
from coview.inspection.hierarchy import GroupHierarchy, _divergences, group_distances
from coview.plot import HierarchyDisplay

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


def test_bad_input_gets_a_sentence():
    tree = inspect(MODEL).hierarchy()
    with pytest.raises(ViewsError, match="at most the number of groups, 5, got 6"):
        tree.cut(6)
    with pytest.raises(ParameterError, match="n_parts must be"):
        tree.cut(0)


def test_series_in_another_order_are_refused():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"body": ["red fox", "red dog", "tax law", "tax rate"] * 5, "kind": ["a", "a", "b", "b"] * 5})
    model = make_pipeline(TextViews({"words": "body"}, min_df=1), LinkPLSA(2, random_state=0)).fit(table)
    for values in (
        table.kind,
        table.kind.to_numpy()[::-1],
        table.kind.sample(frac=1, random_state=0).reset_index(drop=True),
    ):
        inspect(model).prevalence(table, by=values)
    shuffled = table.kind.sample(frac=1, random_state=0)
    for ask in (
        lambda: inspect(model).prevalence(table, by=shuffled),
        lambda: TextViews({"words": "body"}).fit(table, shuffled),
        lambda: TableViews(text={"words": "body"}).fit(table, shuffled),
        lambda: TableViews(columns={"kind": ["kind"]}).fit(table, shuffled),
    ):
        with pytest.raises(ViewsError, match="are in another order than"):
            ask()


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

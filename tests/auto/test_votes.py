"""Votes of many clusterings, against the formulas written plainly, and graphs of several scales."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans

from coview.auto import votes
from coview.auto.votes import GraphVoter
from coview.clustering.affinity import neighbor_graph, neighbor_graphs
from coview.clustering.vote_counting import count_votes
from coview.datasets import make_blobs_views, make_topic_views
from coview.metrics import normalized_mutual_info


def renamed(y: np.ndarray, wrong: float, seed: int) -> np.ndarray:
    """Clusters under other names, a share of them drawn at random."""
    rng = np.random.default_rng(seed)
    k = y.max() + 1
    return np.where(rng.random(len(y)) < wrong, rng.integers(0, k, len(y)), rng.permutation(k)[y])


@pytest.fixture(scope="module")
def cast():
    y = np.arange(120) % 4
    labels = np.column_stack([renamed(y, wrong, seed) for seed, wrong in enumerate((0.1, 0.2, 0.3, 0.2, 0.9))])
    labels[:7, 1] = labels[5, :] = -1
    return y, labels


def test_votes_are_those_of_the_formula(cast):
    y, labels = cast
    found = count_votes(labels, 4, 0)
    columns, of = [], []
    for r, codes in enumerate(labels.T):
        for c in range(4):
            columns.append(codes == c)
            of.append((r, c))
    indicators = np.array(columns, dtype=float).T
    left = np.linalg.svd(indicators / np.sqrt(indicators.sum(axis=0)))[0][:, :4]
    known = (labels >= 0).any(axis=1)
    rows = left[known] / np.linalg.norm(left[known], axis=1, keepdims=True)
    final = KMeans(4, n_init=10, random_state=0).fit(rows).labels_
    naive = np.zeros((len(y), 4))
    for i in np.flatnonzero(known):
        parts = [
            np.bincount(final[labels[known, r] == labels[i, r]], minlength=4) for r in range(5) if labels[i, r] >= 0
        ]
        naive[i] = np.mean([part / part.sum() for part in parts], axis=0)
    assert normalized_mutual_info(found.argmax(axis=1), naive.argmax(axis=1)) == pytest.approx(1)
    order = [naive[found.argmax(axis=1) == z].sum(axis=0).argmax() for z in range(4)]  # names are free
    assert_allclose(found[known], naive[known][:, order], atol=1e-12)
    assert_allclose(found[~known], 0.25)
    assert_allclose(found.sum(axis=1), 1)


def test_votes_are_right_where_most_of_the_clusterings_are_not(cast):
    y, labels = cast
    found = count_votes(labels, 4, 0).argmax(axis=1)
    known = (labels >= 0).any(axis=1)
    best = max(normalized_mutual_info(y[known], codes[known]) for codes in labels.T)
    assert normalized_mutual_info(y[known], found[known]) > best


def test_many_clusters_that_all_clusterings_agree_on_are_all_found():
    """All have the same singular value."""
    y = np.arange(1200) % 100
    labels = np.column_stack([renamed(y, 0.0, seed) for seed in range(20)])
    assert normalized_mutual_info(y, count_votes(labels, 100, 0).argmax(axis=1)) > 0.99


def test_graphs_of_all_scales_are_of_one_search():
    rows = np.random.default_rng(0).normal(size=(80, 5))
    known = np.arange(80) != 3
    several = neighbor_graphs(rows, known, [2, 5, 10])
    for count, graph in zip((2, 5, 10), several):
        alone = neighbor_graph(rows, known, count)
        assert_allclose(graph.toarray(), alone.toarray(), atol=1e-12)
        assert graph[[3]].nnz == 0


def test_columns_fewer_than_given_tell_the_same_clusters():
    made = make_blobs_views(n_objects=90, n_clusters=3, random_state=0)
    rows = np.hstack([part - part.mean(axis=0) for part in made.views.values()])
    rows = np.hstack([rows, rows])
    for lacking in (0, 5):  # a few that lack a part go to the nearest centers
        rows[:lacking, : rows.shape[1] // 2] = 0.0
        short = votes._shorten(rows, 2, 3)
        assert short[1].shape == (90 - lacking, 6)
        for seed in (0, 1):
            codes = votes._cluster_rows(rows, short, 2, 3, seed)
            assert_array_equal(np.bincount(codes, minlength=3), [30, 30, 30])


def fit_voter(X, n_clusters: int = 4) -> tuple[GraphVoter, np.ndarray]:
    voter = GraphVoter(n_clusters)
    return voter, count_votes(voter.cluster(voter.embed(X, 0), n_clusters, 0), n_clusters, 0)


def test_fitted_objects_are_placed_where_they_are_and_others_by_their_neighbors():
    made = make_topic_views(n_objects=240, n_clusters=4, overlap=0.4, random_state=0)
    voter, found = fit_voter(made.views[:200])
    assert normalized_mutual_info(made.target[:200], found.argmax(axis=1)) > 0.9
    assert_allclose(voter.place(made.views[:200], found), found, atol=1e-6)
    others = voter.place(made.views[200:], found)
    assert_allclose(others.sum(axis=1), 1)
    assert normalized_mutual_info(made.target[200:], others.argmax(axis=1)) > 0.8


def test_a_new_object_has_the_mean_of_its_neighbors_at_all_scales():
    rng = np.random.default_rng(0)
    rows, new = rng.normal(size=(60, 3)), rng.normal(size=(1, 3))
    voter, memberships = GraphVoter(2, metric="centered"), rng.dirichlet(np.ones(2), 60)
    voter.n_neighbors = 8
    voter.embed({"a": rows}, 0)
    scaled = voter.scalings_["a"]
    gaps = np.linalg.norm((rows - new) / scaled["deviation"], axis=1)
    near, expected = np.argsort(gaps), []
    for count in (2, 4, 8, 16):
        weights = np.exp(-((gaps[near[:count]] / gaps[near[count - 1]]) ** 2))
        expected.append(weights @ memberships[near[:count]] / weights.sum())
    assert_allclose(voter.place({"a": new}, memberships)[0], np.mean(expected, axis=0))


def test_objects_without_any_feature_belong_to_all_clusters_alike():
    made = make_topic_views(n_objects=120, n_clusters=3, random_state=0)
    keep = sparse.diags_array((np.arange(120) > 3).astype(float))
    X = made.views.map(lambda part: sparse.csr_array(keep @ part))
    voter, found = fit_voter(X, 3)
    assert_allclose(found[:4], 1 / 3, rtol=1e-6)
    assert_allclose(voter.place(X, found)[:4], 0)
    assert normalized_mutual_info(made.target[4:], found[4:].argmax(axis=1)) > 0.9


def test_objects_in_the_wrong_cluster_are_less_sure():
    made = make_topic_views(n_objects=300, n_clusters=3, overlap=0.8, length=20, random_state=0)
    _, found = fit_voter(made.views, 3)
    sizes = np.zeros((3, 3))
    np.add.at(sizes, (found.argmax(axis=1), made.target), 1)
    right = sizes.argmax(axis=1)[found.argmax(axis=1)] == made.target
    sure = found.max(axis=1)
    assert 0.5 < right.mean() < 1 and sure[right].mean() > sure[~right].mean() + 0.05

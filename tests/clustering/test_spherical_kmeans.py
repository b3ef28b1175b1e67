"""Spherical k-means against plain sweeps, and its starts, batches, views and refusals."""

import warnings
from html import unescape

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal, assert_equal
from scipy import sparse
from sklearn.preprocessing import normalize

from coview import AutoClustering, SphericalKMeans, Views, inspect, load, make_report, save
from coview.clustering.relations import relate_views
from coview.clustering.spherical_kmeans import sweep_sphere
from coview.datasets import make_topic_views
from coview.inspection.choice import describe_selection
from coview.metrics import clustering_accuracy, normalized_mutual_info


def texts(n: int = 240, seed: int = 0, n_clusters: int = 4) -> tuple[sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_clusters
    topics = rng.gamma(0.1, size=(n_clusters, 80))
    topics /= topics.sum(axis=1, keepdims=True)
    counts = np.vstack([rng.multinomial(40, 0.7 * topics[c] + 0.3 / 80) for c in y])
    return sparse.csr_array(counts.astype(float)), y


def plain(rows: np.ndarray, centers: np.ndarray, sweeps: int) -> tuple[np.ndarray, np.ndarray]:
    """The textbook's sweeps, with everything computed every time; no cluster may run empty."""
    for _ in range(sweeps):
        labels = (rows @ centers.T).argmax(axis=1)
        centers = normalize(np.vstack([rows[labels == k].sum(axis=0) for k in range(len(centers))]))
    return (rows @ centers.T).argmax(axis=1), centers


@pytest.mark.parametrize(("dtype", "dense"), [(np.float64, False), (np.float32, True)])
def test_bounds_change_nothing(dense, dtype):
    X, _ = texts()
    rows = normalize(X).toarray()
    labels, centers = plain(rows, rows[:4], 12)
    given = (X.toarray() if dense else X).astype(dtype)
    model = SphericalKMeans(4, init=rows[:4], max_iter=12, tol=0).fit(given)
    assert_array_equal(model.labels_, labels)
    assert_allclose(model.cluster_centers_["x"], centers, atol=1e-5 if dtype == np.float32 else 1e-12)
    assert model.cluster_centers_["x"].dtype == dtype


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.integers(2, 6))
def test_any_start_ends_where_plain_sweeps_end(seed, n_clusters):
    rng = np.random.default_rng(seed)
    rows = normalize(rng.random((50, 7)) ** 3)
    start = rows[rng.choice(50, n_clusters, replace=False)]
    found = sweep_sphere(rows, start, 5, 0.0)
    wide = sweep_sphere(sparse.csr_array(rows), start, 5, 0.0)
    assert_array_equal(found.labels, wide.labels)
    labels, centers = plain(rows, start, 5)
    assert_array_equal(found.labels, labels)
    assert_allclose(found.centers, centers, atol=1e-12)


def test_the_objective_is_the_sum_of_cosines_and_never_falls():
    X, _ = texts()
    model = SphericalKMeans(4, random_state=0).fit(X)
    history = np.array(model.history_["objective"])
    assert (np.diff(history) >= -1e-9 * np.abs(history[:-1])).all()
    assert_allclose(model.score(X), history[-1], rtol=1e-9)
    assert_allclose(model.transform(X), normalize(X) @ model.cluster_centers_["x"].T, atol=1e-12)


def test_starts_are_spread():
    """Of three tight groups, one of them small, k-means++ takes one object each nearly always."""
    rows = np.repeat(np.eye(3), [60, 60, 3], axis=0)
    for seed in range(20):
        assert len(set(SphericalKMeans(3, n_init=1, random_state=seed).fit(rows).labels_[[0, 60, 120]])) == 3


def test_no_cluster_stays_empty():
    X = np.vstack([np.eye(4), np.eye(4)])
    model = SphericalKMeans(3, init=np.array([[1.0, 0, 0, 0]] * 3)).fit(X)
    assert len(np.unique(model.labels_)) == 3


def test_views_count_alike_and_one_is_enough_to_place():
    X, y = texts()
    both = Views(words=X, more=1000 * texts(seed=5)[0])
    model = SphericalKMeans(4, random_state=0).fit(both)
    assert_allclose(sum((part**2).sum(axis=1) for part in model.cluster_centers_.values()), np.ones(4), atol=1e-12)
    for name in both.names:
        assert clustering_accuracy(y, model.predict(both.select(name))) > 0.95


# -- Whether views belong together: shuffled rows are told, and nothing else is


def made(n: int = 200, seed: int = 0) -> tuple[dict[str, object], np.random.Generator]:
    """Counts of two kinds and measurements, all of the same four groups."""
    rng = np.random.default_rng(seed)
    texts = make_topic_views(n_objects=n, n_clusters=4, random_state=seed)
    sizes = 2 * np.eye(4)[texts.target] @ rng.normal(size=(4, 5)) + rng.normal(size=(n, 5))
    return {"words": texts.views["view0"], "tags": texts.views["view1"], "sizes": sizes}, rng


@pytest.mark.parametrize("shuffled", ["words", "sizes"])
def test_the_view_whose_rows_are_in_another_order_is_told_from_the_others(shuffled):
    arrays, rng = made()
    assert set(relate_views(Views(arrays))["verdict"]) == {"shares"}
    arrays[shuffled] = arrays[shuffled][rng.permutation(200)]
    table = relate_views(Views(arrays))
    assert [name for name, verdict in zip(table["view"], table["verdict"]) if verdict == "alone"] == [shuffled]
    assert table["verdict"].count("shares") == 2


def test_noise_is_called_so_and_makes_no_other_view_suspect():
    arrays, rng = made()
    noise = rng.normal(size=(200, 6))
    assert relate_views(Views(a=arrays["sizes"], b=noise))["verdict"] == ["unknown", "noise"]
    assert relate_views(Views(arrays, noise=noise))["verdict"] == ["shares"] * 3 + ["noise"]
    assert relate_views(Views(a=noise))["verdict"] == ["noise"]  # its columns share nothing either


def test_objects_that_lack_the_same_views_do_not_make_these_alike():
    """They are all zeros in both, and would be each other's neighbors."""
    arrays, rng = made()
    present = np.ones((200, 3), dtype=bool)
    present[:80, [0, 2]] = False
    words = sparse.csr_array(sparse.diags_array(present[:, 0].astype(float)) @ arrays["words"])
    sizes = np.where(present[:, [2]], arrays["sizes"][rng.permutation(200)], 0.0)
    table = relate_views(Views(words=words, tags=arrays["tags"], sizes=sizes, present=present))
    assert dict(zip(table["view"], table["verdict"])) == {"words": "shares", "tags": "shares", "sizes": "alone"}


def test_what_cannot_be_told_is_not_said():
    arrays, rng = made()
    column = arrays["sizes"][rng.permutation(200), :1]
    assert relate_views(Views(a=arrays["words"], b=column))["verdict"] == ["unknown", "noise"]  # shares nothing
    assert relate_views(Views(a=arrays["words"]))["verdict"] == ["unknown"]
    assert relate_views(Views(arrays)[:20])["verdict"] == ["unknown"] * 3
    assert relate_views(Views(a=arrays["words"], b=np.ones((200, 3))))["verdict"] == ["unknown", "unknown"]


def test_a_fit_warns_of_rows_in_another_order_and_of_nothing_else(tmp_path):
    arrays, rng = made(120)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AutoClustering(4, random_state=0).fit(Views(arrays))
    assert "rows" not in " ".join(describe_selection(inspect(model).selection))
    arrays["tags"] = arrays["tags"][rng.permutation(120)]
    with pytest.warns(UserWarning, match="View 'tags' has structure, but shares nothing with the other") as told:
        model = AutoClustering(4, random_state=0).fit(Views(arrays))
    assert [one.filename for one in told] == [__file__]
    assert str(told[0].message) in unescape(make_report(model).html)
    save(model, tmp_path / "model.coview")
    assert_equal(load(tmp_path / "model.coview").view_relations_, model.view_relations_)


def test_a_view_of_noise_does_not_make_the_clusters():
    """Words that say nothing beside vectors that do: topics and angles of words would be as good as any."""
    rng = np.random.default_rng(0)
    target = rng.integers(4, size=300)
    words = rng.multinomial(50, rng.dirichlet(np.ones(300)), size=300)
    vectors = 0.7 * rng.normal(size=(4, 40))[target] + rng.normal(size=(300, 40))
    X = Views(words=sparse.csr_array(words), vectors=vectors)
    model = AutoClustering(4, random_state=0).fit(X)
    assert model.view_relations_["verdict"][0] == "noise"
    assert model._unused_views() == ["words"]
    assert normalized_mutual_info(target, model.labels_) > 0.9
    shares = model.transform(X.select("words"))
    np.testing.assert_allclose(shares, 0.25)


def test_a_category_that_has_nothing_to_do_with_the_words_does_not_make_the_clusters():
    """Each object has one: no half of its columns says anything of the other, and by itself it is a clustering."""
    data = make_topic_views(n_objects=300, n_clusters=3, n_views=1, random_state=0)
    brand = np.eye(6)[np.random.default_rng(0).integers(6, size=300)]
    model = AutoClustering(3, random_state=0).fit(Views(words=data.views["view0"], brand=brand))
    assert model.view_relations_["verdict"] == ["unknown", "noise"]
    alone = AutoClustering(3, random_state=0).fit(Views(words=data.views["view0"]))
    assert normalized_mutual_info(alone.labels_, model.labels_) > 0.95

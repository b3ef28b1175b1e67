"""Many small anchor graphs: the formula against plain algebra, rows wherever they lie, and what objects may lack."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from coview import AnchorGraphClustering, LazyViews, Views, read_views, write_views
from coview.clustering.anchor_graphs import anchors_by_default
from coview.datasets import make_blobs_views, make_topic_views
from coview.engines.cpu import CpuEngine
from coview.engines.reference import ReferenceEngine
from coview.metrics import clustering_accuracy, normalized_mutual_info


def topics(n: int = 600, seed: int = 0):
    return make_topic_views(n, {"words": 300, "links": 200}, n_clusters=4, length=[40, 25], random_state=seed)


def naive_graph(model: AnchorGraphClustering, views: Views, repeat: int) -> np.ndarray:
    """Explicit B (objects x anchors of all views) by loops over the fitted anchors."""
    parts = []
    for v, (name, matrix) in enumerate(views.items()):
        dense = matrix.toarray() if sparse.issparse(matrix) else matrix
        rows = dense @ model.projections_[name] - model.offsets_[name]
        if model.metrics_[name] == "cosine":
            rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
        anchors = model.anchors_[name][repeat].astype(float)
        s = model.n_nearest_[name]
        joined = np.zeros((len(rows), len(anchors)))
        for i, row in enumerate(rows):
            distances = ((anchors - row) ** 2).sum(axis=1)
            order = np.argsort(distances)
            gaps = distances[order[s]] - distances[order[:s]]
            joined[i, order[:s]] = views.present[i, v] * model.view_weights_[name] * gaps / gaps.sum()
        parts.append(joined)
    return np.hstack(parts)


@pytest.mark.parametrize("lacking", [False, True])
def test_the_vectors_are_those_of_the_explicit_matrix(lacking):
    views = topics(300).views
    if lacking:
        present = np.ones((300, 2), dtype=bool)
        present[:90, 1] = False
        rows = np.where(present[:, 1:], views["links"].toarray(), 0)
        views = Views(words=views["words"], links=rows, present=present)
    model = AnchorGraphClustering(4, n_anchors=40, n_repeats=2, view_weights={"links": 0.5}, random_state=0).fit(views)
    for r in range(2):
        B = naive_graph(model, views, r)
        Z = B / np.sqrt(B.sum(axis=1, keepdims=True)) / np.sqrt(np.maximum(B.sum(axis=0), 1e-300))
        U, values, _ = np.linalg.svd(Z, full_matrices=False)
        assert_allclose(model.singular_values_[r], values[:4], atol=1e-4)
        placed = (B @ model.maps_[r]) / np.sqrt(B.sum(axis=1, keepdims=True))
        assert_allclose(placed @ placed.T, U[:, :4] @ U[:, :4].T, atol=2e-3)


def test_the_engine_joins_rows_as_plain_loops_do():
    rng = np.random.default_rng(0)
    rows, anchors = rng.normal(size=(70, 5)), rng.normal(size=(3, 20, 5))
    fast, plain = CpuEngine(), ReferenceEngine()
    positions, weights = fast.nearest_anchors(rows, anchors, 4)
    at, by = plain.nearest_anchors(rows, anchors, 4)
    assert_array_equal(positions, at)
    assert_allclose(weights, by, atol=1e-9)
    grams = [ops.anchor_gram(positions, weights, np.zeros((3, 20, 20))) for ops in (fast, plain)]
    assert_allclose(*grams, atol=1e-12)
    maps = rng.normal(size=(3, 20, 2))
    embedded = [ops.anchor_embedding(positions, weights, maps) for ops in (fast, plain)]
    assert_allclose(*embedded, atol=1e-12)
    (labels, sums, inertia), (z, totals, whole) = (ops.center_sums(rows, anchors[0]) for ops in (fast, plain))
    assert_array_equal(labels, z)
    assert_allclose(sums, totals, atol=1e-12)
    assert_allclose(inertia, whole)


def test_equal_distances_have_equal_weights():
    _, weights = CpuEngine().nearest_anchors(np.zeros((1, 2)), np.array([[[1.0, 0], [0, 1], [-1, 0], [0, -1]]]), 3)
    assert_allclose(weights, np.full((1, 1, 3), 1 / 3))


@pytest.mark.parametrize("ops", [CpuEngine(), ReferenceEngine()], ids=lambda ops: ops.name)
def test_only_the_anchors_compared_say_which_distances_are_equal(ops):
    anchors = np.array([[[0.0], [0.001], [0.002], [1000.0]]])
    _, weights = ops.nearest_anchors(np.zeros((1, 1)), anchors, 2)
    assert_allclose(weights[0, 0], [4 / 7, 3 / 7], atol=1e-12)
    _, weights = ops.nearest_anchors(np.full((1, 1), 1e5), anchors + 1e5, 2)  # less than squares of 1e10 can tell
    assert_allclose(weights[0, 0], [1 / 2, 1 / 2], atol=1e-12)


@pytest.mark.parametrize("n_dimensions", [100, 3])
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
def test_centered_clusters_do_not_hang_on_where_zero_is(n_dimensions, stored):
    corpus = make_blobs_views(300, n_clusters=3, random_state=0)
    moved = Views({name: stored(matrix + 1e5) for name, matrix in corpus.views.items()})
    model = AnchorGraphClustering(3, metric="centered", n_dimensions=n_dimensions, random_state=0).fit(moved)
    assert normalized_mutual_info(corpus.target, model.labels_) > 0.95
    assert_array_equal(model.predict(moved), model.labels_)


def test_equal_rows_by_distances_are_one_place():
    model = AnchorGraphClustering(1, metric="centered", random_state=0).fit(np.full((9, 3), 7.1))
    assert np.isfinite(model.maps_).all()
    assert np.abs(next(iter(model.anchors_.values()))).max() < 1


def test_made_topics_and_measurements_are_found_again_and_new_objects_placed():
    for corpus in (topics(800), make_blobs_views(800, n_clusters=4, random_state=0)):
        model = AnchorGraphClustering(4, random_state=0).fit(corpus.views[:600])
        assert normalized_mutual_info(corpus.target[:600], model.labels_) > 0.9
        assert normalized_mutual_info(corpus.target[600:], model.predict(corpus.views[600:])) > 0.85
        assert_array_equal(model.predict(corpus.views[:600]), model.labels_)
        for name in corpus.views.names:
            assert clustering_accuracy(corpus.target[600:], model.predict(corpus.views[600:].select(name))) > 0.6


def test_rows_in_parts_give_the_model_of_rows_in_memory():
    views = topics(500).views
    whole = AnchorGraphClustering(4, n_repeats=3, random_state=0).fit(views)
    parts = AnchorGraphClustering(4, n_repeats=3, random_state=0).fit(LazyViews.from_views(views, 70))
    assert_array_equal(whole.labels_, parts.labels_)
    assert_allclose(whole.maps_, parts.maps_, rtol=1e-7, atol=1e-9)
    assert_array_equal(whole.predict(views), parts.predict(LazyViews.from_views(views, 70)))


def test_the_number_of_threads_changes_nothing():
    views = topics(2500).views
    one, two = (AnchorGraphClustering(4, n_repeats=2, n_jobs=jobs, random_state=0).fit(views) for jobs in (1, 2))
    assert_array_equal(one.labels_, two.labels_)
    assert_allclose(one.maps_, two.maps_, rtol=1e-7, atol=1e-9)


def test_the_order_of_objects_and_views_changes_no_cluster():
    corpus = topics(500)
    order = np.random.default_rng(1).permutation(500)
    model = AnchorGraphClustering(4, random_state=0).fit(corpus.views)
    other = AnchorGraphClustering(4, random_state=0).fit(corpus.views[order].select("links", "words"))
    assert normalized_mutual_info(model.labels_[order], other.labels_) > 0.95


def test_objects_that_lack_a_view_are_placed_by_the_other():
    corpus = topics(800)
    present = np.ones((800, 2), dtype=bool)
    present[:200, 0], present[200:400, 1] = False, False
    rows = {name: matrix.toarray() * present[:, [v]] for v, (name, matrix) in enumerate(corpus.views.items())}
    model = AnchorGraphClustering(4, random_state=0).fit(Views(rows, present=present))
    assert clustering_accuracy(corpus.target[400:], model.labels_[400:]) > 0.9
    assert clustering_accuracy(corpus.target[:400], model.labels_[:400]) > 0.8


def test_objects_that_lack_every_view_move_no_center():
    corpus = topics(400)
    empty = {
        name: sparse.vstack([matrix, sparse.csr_array((200, matrix.shape[1]))]).tocsr()
        for name, matrix in corpus.views.items()
    }
    model = AnchorGraphClustering(4, n_repeats=2, n_anchors=40, random_state=0).fit(Views(empty))
    gaps = []
    for z in range(4):
        mine = np.flatnonzero(model.labels_[:400] == z)
        B = [naive_graph(model, Views(empty)[mine], r) for r in range(2)]
        placed = [b @ turn for b, turn in zip(B, model.maps_)]
        mean = np.hstack([part / np.linalg.norm(part, axis=1, keepdims=True) for part in placed]).mean(axis=0)
        gaps.append(np.abs(mean - model.cluster_centers_[z]).max())
    assert max(gaps) < 1e-3
    assert normalized_mutual_info(corpus.target, model.labels_[:400]) > 0.9


def test_fewer_objects_that_say_anything_than_clusters():
    rows = np.zeros((8, 4))
    rows[:2, :2] = np.eye(2)
    model = AnchorGraphClustering(3, n_repeats=2, metric="cosine", random_state=0).fit(rows)
    assert model.labels_[0] != model.labels_[1]


@pytest.mark.parametrize("n_views", [1, 3, 10])
@pytest.mark.parametrize("n_clusters", [5, 200, 3000])
def test_all_views_share_a_number_of_anchors(n_views, n_clusters):
    in_all = n_views * anchors_by_default(True, 100_000, n_clusters, n_views)
    assert n_clusters < in_all <= max(2_000, n_clusters + n_views)


def test_a_view_of_no_weight_has_no_say():
    corpus = topics(400)
    noise = np.random.default_rng(0).normal(size=(400, 3))
    views = Views(words=corpus.views["words"], noise=noise)
    other = Views(words=corpus.views["words"], noise=noise[::-1])
    models = [AnchorGraphClustering(4, view_weights={"noise": 0}, random_state=0).fit(X) for X in (views, other)]
    assert_array_equal(models[0].labels_, models[1].labels_)


def test_wide_measurements_are_brought_to_few_columns():
    corpus = make_blobs_views(400, {"a": 150, "b": 20}, n_clusters=3, random_state=0)
    model = AnchorGraphClustering(3, n_dimensions=30, random_state=0).fit(corpus.views)
    assert {name: part.shape[2] for name, part in model.anchors_.items()} == {"a": 30, "b": 20}
    assert normalized_mutual_info(corpus.target, model.labels_) > 0.95


def test_as_many_clusters_as_objects_and_one_cluster_of_equal_rows():
    rows = np.arange(12.0).reshape(6, 2)
    assert len(set(AnchorGraphClustering(6, random_state=0).fit_predict(rows).tolist())) >= 4
    assert_array_equal(AnchorGraphClustering(1, random_state=0).fit_predict(np.ones((9, 3))), np.zeros(9))


def test_shards_on_disk_give_the_model_of_rows_in_memory(tmp_path):
    views = topics(400).views
    write_views(views, tmp_path / "shards", rows_per_shard=90)
    whole = AnchorGraphClustering(4, n_repeats=2, random_state=0).fit(views)
    parts = AnchorGraphClustering(4, n_repeats=2, random_state=0).fit(read_views(tmp_path / "shards"))
    assert_array_equal(whole.labels_, parts.labels_)


def test_a_view_that_nobody_has_says_nothing():
    corpus = make_blobs_views(60, n_clusters=3, random_state=0)
    whole = {**dict(corpus.views.items()), "none": sparse.csr_array((60, 10))}
    present = np.ones((60, len(whole)), dtype=bool)
    present[:, -1] = False
    model = AnchorGraphClustering(3, metric={"none": "cosine"}, random_state=0).fit(Views(whole, present=present))
    assert clustering_accuracy(corpus.target, model.labels_) == 1


def test_a_cluster_gives_the_model_of_one_process():
    da = pytest.importorskip("dask.array")
    distributed = pytest.importorskip("distributed")
    corpus = make_blobs_views(400, n_clusters=4, random_state=0)
    whole = AnchorGraphClustering(4, n_repeats=2, random_state=0).fit(corpus.views)
    parts = {name: da.from_array(np.asarray(matrix), chunks=(90, -1)) for name, matrix in corpus.views.items()}
    with (
        distributed.LocalCluster(2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        spread = AnchorGraphClustering(4, n_repeats=2, random_state=0).fit(parts)
        assert_array_equal(whole.labels_, spread.labels_)
        assert_array_equal(whole.labels_, np.asarray(spread.predict(parts)))
    assert_allclose(whole.singular_values_, spread.singular_values_, atol=1e-6)


def test_torch_gives_the_model_of_the_cpu():
    pytest.importorskip("torch", reason="torch is not installed: the CUDA engine's plain path is not checked")
    from coview.engines.cuda import CudaEngine

    words = topics(400).views["words"]
    dense = make_blobs_views(400, 1, n_clusters=4, random_state=0).views["view0"]
    views = Views(words=words, dense=dense)
    settings = {"n_repeats": 2, "random_state": 0}
    ours = AnchorGraphClustering(4, engine=CudaEngine(device="cpu"), **settings).fit(views)
    right = AnchorGraphClustering(4, **settings).fit(views)
    assert_allclose(ours.singular_values_, right.singular_values_, atol=1e-4)
    assert normalized_mutual_info(ours.labels_, right.labels_) > 0.98
    assert_array_equal(ours.predict(views), ours.labels_)


def test_torch_joins_rows_as_the_cpu_does():
    pytest.importorskip("torch", reason="torch is not installed: the CUDA engine's plain path is not checked")
    from coview.engines.cuda import CudaEngine

    rng = np.random.default_rng(0)
    rows, anchors, maps = rng.normal(size=(70, 5)), rng.normal(size=(3, 20, 5)), rng.normal(size=(3, 20, 2))
    found = []
    for ops in (CudaEngine(device="cpu"), CpuEngine()):
        at, by = ops.nearest_anchors(ops.asarray(rows), ops.asarray(anchors), 4)
        gram = ops.anchor_gram(at, by, ops.asarray(np.zeros((3, 20, 20))))
        labels, sums, inertia = ops.center_sums(ops.asarray(rows), ops.asarray(anchors[0]))
        parts = (at, by, gram, ops.anchor_embedding(at, by, ops.asarray(maps)), labels)
        found.append([*map(ops.to_numpy, parts), sums, inertia])
    for ours, right in zip(*found):
        assert_allclose(ours, right, atol=1e-9)


@pytest.mark.parametrize(
    ("attribute", "change"),
    [
        ("cluster_centers_", lambda centers: centers[:, :-1]),
        ("maps_", lambda maps: maps[:, :-1]),
        ("n_nearest_", lambda nearest: dict.fromkeys(nearest, 10**6)),
    ],
)
def test_a_state_whose_sizes_contradict_each_other_is_refused(tmp_path, attribute, change):
    from coview import save
    from coview.exceptions import ModelFileError

    X = make_topic_views(60, n_clusters=2, random_state=0).views
    model = AnchorGraphClustering(2, n_repeats=2, random_state=0).fit(X)
    setattr(model, attribute, change(getattr(model, attribute)))
    with pytest.raises(ModelFileError, match=f"load would refuse.*{attribute}"):
        save(model, tmp_path / "model.coview")

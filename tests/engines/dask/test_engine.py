"""The Dask engine: the single-machine fit, on a cluster, also when workers die."""

from __future__ import annotations

import os
import pickle
import signal
import socket
from contextlib import contextmanager

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

distributed = pytest.importorskip("distributed", reason="distributed is not installed: the Dask engine is not checked")

import dask.array as da  # noqa: E402

from coview import (  # noqa: E402
    PLSA,
    Checkpoint,
    DualPLSA,
    LazyViews,
    LinkPLSA,
    MultiViewPLSA,
    MultiViewPLSAClassifier,
    Views,
    load,
    read_views,
    save,
    write_views,
)
from coview.datasets import make_topic_views  # noqa: E402
from coview.engines.cpu import CpuEngine  # noqa: E402
from coview.engines.dask import engine as engine_module  # noqa: E402
from coview.engines.dask import work  # noqa: E402
from coview.engines.dask.engine import DaskEngine  # noqa: E402
from coview.exceptions import EngineError, ViewsError  # noqa: E402
from coview.kernels.ratio import ratio  # noqa: E402

DATA = make_topic_views(n_objects=600, n_clusters=3, random_state=0)
X = DATA.views
Y = np.where(np.arange(600) < 30, DATA.target, -1)
SETTINGS = {"max_iter": 6, "tol": 0, "random_state": 0}


@pytest.fixture(scope="module")
def threads():
    """A cluster of two workers in this process: quick to start."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@contextmanager
def two_processes():
    """A cluster of two worker processes, which can be killed."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def processes():
    with two_processes() as client:
        yield client


MODELS = [
    PLSA(4, algorithm="published", **SETTINGS),
    PLSA(4, **{**SETTINGS, "max_iter": 30}),
    LinkPLSA(4, **SETTINGS),
    LinkPLSA(4, background=0.6, **SETTINGS),
    DualPLSA(3, 5, init="random", **SETTINGS),
    MultiViewPLSA(3, 5, init="random", **SETTINGS),
    MultiViewPLSAClassifier(5, **SETTINGS),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m).__name__}-{m.algorithm}")
def test_a_fit_on_a_cluster_is_the_fit_on_one_machine(model, threads):
    here = clone(model).fit(X, Y)
    there = clone(model).set_params(engine=DaskEngine(threads)).fit(LazyViews.from_views(X, 170), Y)
    assert_allclose(there.history_["objective"], here.history_["objective"], rtol=1e-10)
    found = getattr(there, model._mixture)
    assert isinstance(found, da.Array)  # stays on the cluster until asked for
    assert_allclose(np.asarray(found), getattr(here, model._mixture), rtol=1e-6, atol=1e-9)
    for view, topics in here.topic_feature_.items():
        assert_allclose(there.topic_feature_[view], topics, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("rows", [600, 199, 50])
def test_float32_fits_do_not_depend_on_the_parts(rows, threads):
    single = X.map(lambda matrix: matrix.astype(np.float32))
    here = PLSA(4, **SETTINGS).fit(single)
    there = PLSA(4, engine=DaskEngine(threads), **SETTINGS).fit(LazyViews.from_views(single, rows))
    assert_allclose(there.history_["objective"], here.history_["objective"], rtol=1e-6)


def test_dask_arrays_call_for_the_cluster_and_get_lazy_answers(threads):
    arrays = {name: da.from_array(matrix.toarray(), chunks=(200, -1)) for name, matrix in X.items()}
    model = MultiViewPLSAClassifier(5, **SETTINGS).fit(arrays, Y)
    assert isinstance(model.memberships_, da.Array)
    assert isinstance(model.transduction_, da.Array)
    expected = MultiViewPLSAClassifier(5, **SETTINGS).fit(X, Y)
    assert_array_equal(np.asarray(model.transduction_), expected.transduction_)
    for name in ("predict", "predict_proba", "transform"):
        found = getattr(model, name)(arrays)
        assert isinstance(found, da.Array)
        assert found.chunks[0] == (200, 200, 200)
        assert_allclose(found.compute(), getattr(expected, name)(X), rtol=1e-6, atol=1e-9)
    assert PLSA(3, **SETTINGS).fit(arrays).score(arrays) == pytest.approx(PLSA(3, **SETTINGS).fit(X).score(X))


def test_views_in_memory_go_to_the_cluster_when_asked(threads):
    model = PLSA(4, engine="dask", **SETTINGS).fit(X)
    assert_allclose(np.asarray(model.memberships_), PLSA(4, **SETTINGS).fit(X).memberships_, rtol=1e-6, atol=1e-9)


def test_a_sharded_folder_is_read_by_the_workers(threads, tmp_path):
    write_views(X, tmp_path / "shards", rows_per_shard=250)
    model = LinkPLSA(4, engine=DaskEngine(threads), **SETTINGS).fit(read_views(tmp_path / "shards"))
    assert_allclose(model.history_["objective"], LinkPLSA(4, **SETTINGS).fit(X).history_["objective"], rtol=1e-10)


def test_a_model_fitted_on_a_cluster_is_saved_whole(threads, tmp_path):
    model = MultiViewPLSA(3, 5, init="random", engine=DaskEngine(threads), **SETTINGS).fit(X)
    save(model, tmp_path / "m.coview")
    again = load(tmp_path / "m.coview")
    assert_array_equal(again.memberships_, np.asarray(model.memberships_))
    assert_array_equal(again.labels_, np.asarray(model.labels_))


def test_a_lost_scheduler_is_survived_by_the_checkpoint(threads, tmp_path):
    path = tmp_path / "fit.checkpoint"
    straight = PLSA(4, **SETTINGS).fit(X)

    def fail(sweep):
        if sweep.number == 4:
            raise ConnectionError("the scheduler is gone")

    model = PLSA(4, engine=DaskEngine(threads), **SETTINGS)
    lazy = LazyViews.from_views(X, 170)
    with pytest.raises(ConnectionError):
        model.set_callbacks(Checkpoint(path, every=2), fail).fit(lazy)
    resumed = model.set_callbacks(Checkpoint(path, every=2)).fit(lazy)
    assert resumed.n_iter_ == 6
    assert_allclose(resumed.history_["objective"], straight.history_["objective"], rtol=1e-10)


@pytest.mark.parametrize(
    ("algorithm", "sweeps"),
    [("published", 8), ("fast", 30)],
)
def test_a_killed_worker_changes_nothing(algorithm, sweeps):
    settings = {"max_iter": sweeps, "tol": 0, "random_state": 0, "algorithm": algorithm}
    lazy, killed = LazyViews.from_views(X, 100), []
    expected = PLSA(4, **settings).fit(X)

    def kill(sweep):
        if sweep.number == sweeps - 3 and not killed:
            killed.append(min(client.run(os.getpid).values()))
            os.kill(killed[0], signal.SIGKILL)

    def fitted(*callbacks):
        model = PLSA(4, engine=DaskEngine(client), **settings).set_callbacks(*callbacks).fit(lazy)
        return model.history_["objective"], np.asarray(model.memberships_)

    with two_processes() as client:
        objective, memberships = fitted(kill)
    assert killed
    assert_allclose(objective, expected.history_["objective"], rtol=1e-9)
    assert_allclose(memberships, expected.memberships_, rtol=1e-6, atol=1e-9)
    with two_processes() as client:  # not the same cluster: sums follow the number of workers
        again = fitted()
    assert_allclose(objective, again[0], rtol=1e-10)
    assert_allclose(memberships, again[1], rtol=1e-7, atol=1e-9)


def test_words_and_vectors_are_fitted_as_on_one_machine(threads):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(3, 10))[DATA.target] + rng.normal(size=(600, 10))
    both = Views(words=X["view0"], vector=vectors)
    lazy = LazyViews.from_views(both, 130)
    ours, right = (LinkPLSA(3, engine=e, **SETTINGS) for e in (DaskEngine(threads), "cpu"))
    ours.fit(lazy), right.fit(both)
    assert ours.likelihood_ == {"words": "multinomial", "vector": "gaussian"}
    assert_allclose(ours.history_["objective"], right.history_["objective"], rtol=1e-9)
    assert_allclose(ours.topic_feature_["vector"], right.topic_feature_["vector"], atol=1e-6)
    assert_allclose(np.asarray(ours.transform(lazy)), right.transform(both), atol=1e-6)


def test_bad_rows_on_a_worker_are_told_of_by_name(threads):
    bad = X["view0"].toarray()
    bad[500, 1] = -2
    lazy = LazyViews.from_views(Views(view0=bad), 200)
    with pytest.raises(ViewsError, match="View 'view0' has negative values"):
        PLSA(3, likelihood="multinomial", engine=DaskEngine(threads), **SETTINGS).fit(lazy)


def test_settings_are_checked():
    with pytest.raises(EngineError, match="worker_engine"):
        DaskEngine(worker_engine="abacus")


def test_row_states_are_cut_as_the_blocks_are(threads):
    """A state of one cut meets blocks of another: cut anew, never cut off."""
    (part,) = work.prepare([X], [0], [{}], lambda views: views, "reference", 4, 8, 100.0)
    halves = [{"mixture": np.full((300, 4), b, dtype=float)} for b in range(2)]
    (whole,) = work._fitted(part, halves, work._engine("reference"))
    assert whole["mixture"].shape == (600, 4)
    assert_array_equal(whole["mixture"][[0, 299, 300, 599], 0], [0, 0, 1, 1])


def test_blocks_have_no_more_rows_than_the_model_allows():
    """Pairs of a block grow with the square of its rows."""
    (part,) = work.prepare([X], [0], [{}], lambda views: views, "reference", 4, 8, 100.0, 250)
    assert [len(block) for block in part.blocks] == [250, 250, 100]


def test_a_thread_of_the_cluster_has_one_group_of_small_parts(threads):
    """However many parts there are: one task a sweep, one copy of the statistics."""
    holder = DaskEngine(threads).make_holder(LazyViews.from_views(X, 50), 4, {}, lambda views: views)
    assert [list(group) for group in holder.groups] == [list(range(6)), list(range(6, 12))]
    assert len(set(holder.homes)) == 2
    assert holder.stops == list(range(50, 601, 50))  # a checkpoint is by part: it fits any number of workers


@pytest.fixture
def silent():
    """An address that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"


def test_sums_come_past_the_scheduler_from_workers_that_answer(processes, monkeypatch):
    asked, gather = [], processes.gather
    monkeypatch.setattr(processes, "gather", lambda *a, **more: asked.append(more["direct"]) or gather(*a, **more))
    near = PLSA(4, engine=DaskEngine(processes), **SETTINGS).fit(X)
    assert True in asked
    asked.clear()
    monkeypatch.setattr(processes, "direct_to_workers", False)  # as its owner may have said
    far = PLSA(4, engine=DaskEngine(processes), **SETTINGS).fit(X)
    assert asked and True not in asked
    assert_allclose(near.history_["objective"], far.history_["objective"], rtol=1e-10)


def test_workers_that_do_not_all_answer_are_asked_through_the_scheduler(processes, silent, monkeypatch):
    monkeypatch.setattr(engine_module, "_KNOCK", 0.5)
    info = processes.scheduler_info(n_workers=-1)
    assert engine_module._is_near(processes)
    for address in (silent, "tcp://127.0.0.1:1", "ucx://127.0.0.1:1"):
        others = {**info["workers"], address: {"host": "10.0.0.1"}}
        monkeypatch.setattr(processes, "scheduler_info", lambda others=others, **_: {**info, "workers": others})
        assert not engine_module._is_near(processes)


@pytest.mark.parametrize("count", [1, 4, 5, 17])
def test_sums_of_any_number_of_groups_are_whole(threads, count):
    holder = DaskEngine(threads).make_holder(X, 4, {}, lambda views: views)
    parts = np.random.default_rng(0).normal(size=(count, 3)).astype(np.float32)
    found = holder._sum([threads.submit(work.same, {"x": part}, pure=False) for part in parts])
    assert_allclose(found["x"], np.add.reduce(parts), rtol=1e-5, atol=1e-6)


def test_a_checkpoint_goes_on_with_another_number_of_groups(threads, tmp_path, monkeypatch):
    path, lazy = tmp_path / "fit.checkpoint", LazyViews.from_views(X, 100)

    def fail(sweep):
        if sweep.number == 4:
            raise ConnectionError("the scheduler is gone")

    model = PLSA(4, engine=DaskEngine(threads), **SETTINGS)
    with pytest.raises(ConnectionError):
        model.set_callbacks(Checkpoint(path, every=2), fail).fit(lazy)
    monkeypatch.setattr(engine_module, "_count_threads", lambda client: 3 * sorted(client.scheduler_info()["workers"]))
    resumed = model.set_callbacks(Checkpoint(path, every=2)).fit(lazy)
    assert len(resumed.history_["objective"]) == 7
    assert_allclose(resumed.history_["objective"], PLSA(4, **SETTINGS).fit(X).history_["objective"], rtol=1e-10)


def _askew(array):
    """The same values at an odd address, as out of a message of the network."""
    room = np.zeros(array.nbytes + 1, dtype=np.uint8)
    askew = room[1 - room.ctypes.data % 2 :][: array.nbytes].view(array.dtype).reshape(array.shape)
    askew[...] = array
    assert not askew.flags.aligned
    return askew


def test_a_worker_gathers_from_rows_that_begin_at_a_cache_line():
    """Else rows of 256 bytes lie in five lines instead of four, and a sweep takes a tenth longer."""
    fine = np.arange(640.0).reshape(10, 64)
    engine = CpuEngine(1)
    copy = engine.align(_askew(fine))
    assert_array_equal(copy, fine)
    assert copy.ctypes.data % 64 == 0
    assert engine.align(copy) is copy  # no copy where there is no need
    seen = work._receive({"profiles": {"a": _askew(fine)}}, engine)
    assert seen["profiles"]["a"].ctypes.data % 64 == 0


def test_kernels_meet_aligned_arrays_alone():
    """Others would be compiled for anew, and run slower."""
    askew = sparse.csr_array(X["view0"])
    askew.data, askew.indices = _askew(askew.data), _askew(askew.indices)
    A, B = np.full((600, 2), 0.5), np.full((askew.shape[1], 2), 0.5)
    known = len(ratio.signatures)
    plain, bent = CpuEngine(1), CpuEngine(1)
    expected = plain.ratio_rows(plain.prepare(sparse.csr_array(X["view0"])), A, B)[0]
    found = bent.ratio_rows(bent.prepare(askew), _askew(A), _askew(B))[0]
    assert_array_equal(found, expected)
    assert len(ratio.signatures) <= known + 1


def test_sums_leave_what_dask_may_need_again():
    trees = [{"a": _askew(np.full(3, float(i))), "objective": float(i)} for i in range(4)]
    assert work.add(trees[1])["a"].flags.aligned  # also of a single one: a shared step writes to it
    whole = work.add(*trees)
    assert_array_equal(whole["a"], np.full(3, 6.0))
    assert whole["objective"] == 6
    for i, tree in enumerate(trees):
        assert_array_equal(tree["a"], np.full(3, float(i)))


def test_an_engine_with_a_client_can_be_cloned(threads):
    model = PLSA(4, engine=DaskEngine(threads), **SETTINGS)
    assert clone(model).engine is model.engine


def test_a_pickled_engine_leaves_the_cluster_behind(threads):
    engine = DaskEngine(threads, worker_engine="reference")
    back = pickle.loads(pickle.dumps(engine))
    assert back.client is None
    assert back.worker_engine == "reference"

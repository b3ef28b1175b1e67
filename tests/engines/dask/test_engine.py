"""The Dask engine: the single-machine fit, on a cluster, also when workers die."""

import os
import pickle
import signal
import socket

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
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
    PairwiseCoPLSA,
    Views,
)
from coview.datasets import make_topic_views  # noqa: E402
from coview.engines.dask import engine as engine_module  # noqa: E402
from coview.engines.dask import work  # noqa: E402
from coview.engines.dask.engine import DaskEngine  # noqa: E402
from coview.exceptions import ViewsError  # noqa: E402

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


@pytest.fixture(scope="module")
def processes():
    """A cluster of two worker processes, which can be killed."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


MODELS = [
    PLSA(4, algorithm="published", **SETTINGS),
    LinkPLSA(3, background=0.6, **{**SETTINGS, "max_iter": 30}),
    DualPLSA(3, 5, seeds={0: {"view0": [1, 2]}, 1: {"view1": [3]}}, **SETTINGS),
    MultiViewPLSA(3, 5, init="random", **SETTINGS),
    MultiViewPLSAClassifier(5, **SETTINGS),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m).__name__}-{m.algorithm}")
def test_a_fit_on_a_cluster_is_the_fit_on_one_machine(model, threads):
    here = clone(model).fit(X, Y)
    engine = DaskEngine(threads)
    there = clone(model).set_params(engine=engine)
    if model.get_params().get("seeds") is None:
        there.fit(LazyViews.from_views(X, 170), Y)
    else:  # which are read from views in memory
        there.fit(X, Y)
    assert clone(there).engine is engine
    assert_allclose(there.history_["objective"], here.history_["objective"], rtol=1e-10)
    found = getattr(there, model._mixture)
    assert isinstance(found, da.Array)  # stays on the cluster until asked for
    assert_allclose(np.asarray(found), getattr(here, model._mixture), rtol=1e-6, atol=1e-9)
    for view, topics in here.topic_feature_.items():
        assert_allclose(there.topic_feature_[view], topics, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("rows", [600, 50])
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


def test_words_and_vectors_are_fitted_as_on_one_machine(threads):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(3, 10))[DATA.target] + rng.normal(size=(600, 10))
    both = Views(words=X["view0"], vector=vectors)
    lazy = LazyViews.from_views(both, 130)
    ours, right = (LinkPLSA(3, engine=e, **SETTINGS) for e in (DaskEngine(threads), "cpu"))
    ours.fit(lazy), right.fit(both)
    assert_allclose(ours.history_["objective"], right.history_["objective"], rtol=1e-9)
    assert_allclose(ours.topic_feature_["vector"], right.topic_feature_["vector"], atol=1e-6)
    assert_allclose(np.asarray(ours.transform(lazy)), right.transform(both), atol=1e-6)


def test_pairs_are_drawn_on_a_cluster_as_here(threads):
    few = X[:100]  # one block: pairs lie inside of blocks
    here, there = (PairwiseCoPLSA(3, engine=e, **SETTINGS) for e in ("cpu", DaskEngine(threads)))
    here.fit(few), there.fit(LazyViews.from_views(few, 100))
    assert_allclose(there.history_["objective"], here.history_["objective"], rtol=1e-10)
    assert_array_equal(np.asarray(there.predict(few)), here.predict(few))


def test_bad_rows_on_a_worker_are_told_of_by_name(threads):
    bad = X["view0"].toarray()
    bad[500, 1] = -2
    lazy = LazyViews.from_views(Views(view0=bad), 200)
    with pytest.raises(ViewsError, match="View 'view0' has negative values"):
        PLSA(3, likelihood="multinomial", engine=DaskEngine(threads), **SETTINGS).fit(lazy)


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


def test_a_killed_worker_changes_nothing(processes):
    sweeps, killed = 12, []
    settings = {"max_iter": sweeps, "tol": 0, "random_state": 0}
    expected = PLSA(4, **settings).fit(X)

    def kill(sweep):
        if sweep.number == sweeps - 3 and not killed:
            killed.append(min(processes.run(os.getpid).values()))
            os.kill(killed[0], signal.SIGKILL)

    model = PLSA(4, engine=DaskEngine(processes), **settings).set_callbacks(kill)
    model.fit(LazyViews.from_views(X, 100))
    memberships = np.asarray(model.memberships_)
    assert killed
    assert_allclose(model.history_["objective"], expected.history_["objective"], rtol=1e-9)
    assert_allclose(memberships, expected.memberships_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("count", [1, 5])
def test_sums_of_any_number_of_groups_are_whole(threads, count):
    holder = DaskEngine(threads).make_holder(X, 4, {}, lambda views: views)
    parts = np.random.default_rng(0).normal(size=(count, 3)).astype(np.float32)
    found = holder._sum([threads.submit(work.same, {"x": part}, pure=False) for part in parts])
    assert_allclose(found["x"], np.add.reduce(parts), rtol=1e-5, atol=1e-6)


def test_a_checkpoint_goes_on_with_another_number_of_groups(threads, tmp_path, monkeypatch, stop_at):
    path, lazy = tmp_path / "fit.checkpoint", LazyViews.from_views(X, 100)

    model = PLSA(4, engine=DaskEngine(threads), **SETTINGS)
    with pytest.raises(ConnectionError):
        model.set_callbacks(Checkpoint(path, every=2), stop_at(4, ConnectionError("the scheduler is gone"))).fit(lazy)
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


def test_sums_leave_what_dask_may_need_again():
    trees = [{"a": _askew(np.full(3, float(i))), "objective": float(i)} for i in range(4)]
    assert work.add(trees[1])["a"].flags.aligned  # also of a single one: a shared step writes to it
    whole = work.add(*trees)
    assert_array_equal(whole["a"], np.full(3, 6.0))
    assert whole["objective"] == 6
    for i, tree in enumerate(trees):
        assert_array_equal(tree["a"], np.full(3, float(i)))


def test_a_pickled_engine_leaves_the_cluster_behind(threads):
    engine = DaskEngine(threads, worker_engine="reference")
    back = pickle.loads(pickle.dumps(engine))
    assert back.client is None
    assert back.worker_engine == "reference"

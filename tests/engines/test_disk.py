"""Fits of lazy rows: the same as in memory, within a limit."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from coview import (
    PLSA,
    Checkpoint,
    CoPLSA,
    DualPLSA,
    LazyViews,
    LinkPLSA,
    MultiViewPLSA,
    MultiViewPLSAClassifier,
    PairwiseCoPLSA,
    Views,
    read_views,
    write_views,
)
from coview.datasets import make_topic_views
from coview.engines.cpu import CpuEngine
from coview.engines.disk import DiskHolder, TreeStore, measure_memory
from coview.exceptions import EngineError, ViewsError

DATA = make_topic_views(n_objects=700, n_clusters=3, random_state=0)
Y = np.where(np.arange(700) < 30, DATA.target, -1)
MODELS = [
    PLSA(4, max_iter=8, tol=0, algorithm="published", random_state=0),
    LinkPLSA(4, background=0.6, max_iter=30, tol=0, random_state=0),
    DualPLSA(3, 5, init="random", max_iter=8, tol=0, random_state=0),
    MultiViewPLSA(3, 5, init="random", max_iter=8, tol=0, random_state=0),
    MultiViewPLSAClassifier(5, max_iter=8, tol=0, random_state=0),
    CoPLSA(3, max_iter=8, tol=0, random_state=0),
    PairwiseCoPLSA(3, init="random", max_iter=5, tol=0, random_state=0),
]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(CpuEngine, "block_rows", lambda self, *_: 150)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m).__name__}-{m.algorithm}")
def test_a_fit_from_disk_is_the_fit_in_memory(model, small_blocks, tmp_path):
    write_views(DATA.views, tmp_path / "shards", rows_per_shard=260)
    lazy = read_views(tmp_path / "shards")
    assert isinstance(lazy, LazyViews)
    inside, outside = clone(model).fit(DATA.views, Y), clone(model).fit(lazy, Y)
    assert_allclose(outside.history_["objective"], inside.history_["objective"], rtol=1e-10)
    found, expected = (getattr(each, model._mixture) for each in (outside, inside))
    if isinstance(expected, dict):
        found, expected = (np.hstack(list(part.values())) for part in (found, expected))
    assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    assert_allclose(outside.transform(lazy), inside.transform(DATA.views), rtol=1e-6, atol=1e-9)
    for view, topics in inside.topic_feature_.items():
        assert_allclose(outside.topic_feature_[view], topics, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("scale", [1e12, 1e-12])
def test_rows_in_single_precision_that_are_beyond_its_range_are_computed_in_double_or_refused(scale):
    X = DATA.views.map(lambda part: (part * scale).astype(np.float32))
    model = PLSA(4, max_iter=8, random_state=0)
    assert model.fit(X).topic_feature_["view0"].dtype == np.float64
    with pytest.raises(ViewsError, match=r"too large or too small for single precision .* Store it in double"):
        model.fit(LazyViews.from_views(X, 260))


def test_whole_numbers_on_disk_are_cut_into_the_same_blocks_as_in_memory(tmp_path):
    """Their bytes are fewer than those of the numbers that a fit holds."""
    rng = np.random.default_rng(0)
    X = Views(x=rng.integers(0, 3, (20_000, 6), dtype=np.uint8))
    write_views(X, tmp_path / "x", rows_per_shard=7_500)
    model = PLSA(2, max_iter=3, tol=0, random_state=0, likelihood="multinomial")
    memory, disk = clone(model).fit(X), clone(model).fit(read_views(tmp_path / "x"))
    assert_allclose(disk.history_["objective"], memory.history_["objective"], rtol=1e-10)
    assert_allclose(memory.topic_feature_["x"], disk.topic_feature_["x"], rtol=1e-10, atol=1e-12)


def test_answers_about_lazy_rows_are_those_about_rows_in_memory():
    lazy = LazyViews.from_views(DATA.views, 130)
    model = MultiViewPLSAClassifier(5, max_iter=5, random_state=0).fit(DATA.views, Y)
    assert_allclose(model.predict_proba(lazy), model.predict_proba(DATA.views), rtol=1e-10, atol=1e-12)
    assert_array_equal(model.predict(lazy), model.predict(DATA.views))
    topics = PLSA(4, max_iter=5, random_state=0).fit(DATA.views)
    assert topics.score(lazy) == pytest.approx(topics.score(DATA.views), rel=1e-12)


def test_consensus_of_a_sample_starts_a_clustering_of_lazy_rows():
    from coview.metrics import clustering_accuracy

    model = MultiViewPLSA(3, 6, random_state=0).fit(LazyViews.from_views(DATA.views, 130))
    assert clustering_accuracy(DATA.target, np.asarray(model.labels_)) > 0.95


def test_every_part_of_lazy_rows_is_a_minibatch():
    lazy = LazyViews.from_views(DATA.views, 350)
    whole = PLSA(4, random_state=0).partial_fit(lazy)
    one_by_one = PLSA(4, random_state=0).partial_fit(DATA.views[:350]).partial_fit(DATA.views[350:])
    assert whole.n_batches_ == 2
    for view, topics in one_by_one.topic_feature_.items():
        assert_allclose(whole.topic_feature_[view], topics)


def test_a_fit_from_disk_resumes_from_its_checkpoint(tmp_path, small_blocks, stop_at):
    lazy = LazyViews.from_views(DATA.views, 130)
    settings = {"tol": 0, "random_state": 0}
    straight = PLSA(4, max_iter=8, **settings).fit(lazy)
    path = tmp_path / "fit.checkpoint"

    with pytest.raises(RuntimeError, match="lost"):
        PLSA(4, max_iter=8, **settings).set_callbacks(Checkpoint(path, every=2), stop_at(5, RuntimeError("lost"))).fit(
            lazy
        )
    assert path.exists()
    resumed = PLSA(4, max_iter=8, **settings).set_callbacks(Checkpoint(path, every=2)).fit(lazy)
    assert_array_equal(resumed.memberships_, straight.memberships_)


def test_a_limit_makes_blocks_smaller():
    lazy = LazyViews.from_views(DATA.views, 700)
    row = sum(lazy.nbytes) / 700
    room = int(measure_memory() + 4 * 4 * 8 * lazy.shape[1] + 100 * (4 * row + 6 * 4 * 8) / 0.8)
    engine = CpuEngine(memory_limit=room)
    holder = DiskHolder(lazy, engine, 4, {}, lambda views: views)
    sizes = np.diff([0, *holder.stops])
    assert sizes.max() <= 110
    assert sizes.sum() == 700
    model = PLSA(4, max_iter=3, tol=0, random_state=0, engine=engine).fit(lazy)
    assert_allclose(model.memberships_, PLSA(4, max_iter=3, tol=0, random_state=0).fit(lazy).memberships_)


def test_a_limit_that_cannot_be_kept_is_refused_with_figures():
    lazy = LazyViews.from_views(DATA.views, 130)
    with pytest.raises(EngineError, match=r"memory_limit=10 MB is too small: .* Allow at least"):
        PLSA(4, engine=CpuEngine(memory_limit=10_000_000)).fit(lazy)


def test_stored_trees_go_when_nobody_holds_them():
    store = TreeStore()
    stored = store.put({"a": np.ones(3), "b": [np.zeros(2)]})
    assert len(list(store.folder.iterdir())) == 2
    assert_array_equal(stored.get()["b"][0], np.zeros(2))
    del stored
    assert not list(store.folder.iterdir())
    folder = store.folder
    del store
    assert not folder.exists()


def test_the_limit_holds_while_fitting_more_than_it(tmp_path):
    """A data set of three times the limit's room is fitted within 1.2 times the limit."""
    code = f"""
import numpy as np
from scipy import sparse
from coview import PLSA, Views, read_views, write_views
from coview.engines.cpu import CpuEngine
from coview.engines.disk import measure_memory
from pathlib import Path

def stream():
    rng = np.random.default_rng(0)
    for _ in range(12):
        columns = rng.integers(0, 3000, (10_000, 60))
        indptr = np.arange(0, 600_001, 60)
        X = sparse.csr_array((np.ones(600_000, np.float32), np.sort(columns, axis=1).ravel(), indptr), (10_000, 3000))
        X.sum_duplicates()
        yield Views(x=X)

write_views(stream(), {str(tmp_path / "shards")!r}, rows_per_shard=10_000)
X = read_views({str(tmp_path / "shards")!r})
PLSA(8, max_iter=1, random_state=0).fit(X[:500])
taken = measure_memory()
room = sum(X.nbytes) // 3
Path("/proc/self/clear_refs").write_text("5")
PLSA(8, max_iter=2, tol=0, random_state=0, engine=CpuEngine(memory_limit=taken + room)).fit(X)
peak = next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
print(peak * 1024, taken + room, sum(X.nbytes))
"""
    if not sys.platform.startswith("linux"):
        pytest.skip("there is no /proc here to read the peak of memory from: it is not checked")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    peak, limit, size = map(int, run.stdout.split())
    assert size >= 50_000_000
    assert peak <= 1.2 * limit

"""Time budgets: every estimator that has one ends in time, start and restarts included, by a clock that work moves.

No test looks at the time of day. The pieces that a fit is made of (sweeps, k-means, updates of a consensus, graphs)
cost seconds of a fake clock in proportion to their rows; nothing else moves it.
"""

import threading
import time

import numpy as np
import pytest
from sklearn.cluster import KMeans

from coview import AutoClustering, MultiViewPLSA, SeededKMeansClassifier, TimeBudget
from coview.auto.votes import GraphVoter
from coview.catalog import estimators
from coview.clustering import consensus as consensus_module
from coview.clustering.cca import CCAClustering
from coview.clustering.spectral import SpectralClusteringViews
from coview.clustering.spherical_kmeans import SphericalKMeans
from coview.datasets import make_topic_views
from coview.engines.loop import NO_DEADLINE, Deadline, LoopMixin, largest_in_time
from coview.engines.protocol import Holder
from coview.metrics import normalized_mutual_info
from coview.views.lazy import LazyViews
from coview.views.sources import MemorySource

BUDGET = 20.0
DATA = make_topic_views(2500, {"a": 40, "b": 30}, 3, length=12, random_state=0)
LABELS = np.where(np.arange(len(DATA.target)) % 20 == 0, DATA.target, -1)
WITH_BUDGET = [
    name for name, cls in estimators().items() if issubclass(cls, LoopMixin) or "time_budget" in cls().get_params()
]
SWEEPS_TO_THE_END = [name for name in WITH_BUDGET if name != "SeededKMeansClassifier"]  # that is soon at rest


class Clock:
    """Seconds that work has taken."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        self.patch = monkeypatch
        mine, real = threading.get_ident(), time.monotonic  # other threads, such as an event loop's, go on
        monkeypatch.setattr(time, "monotonic", lambda: self.now if threading.get_ident() == mine else real())

    def charge(self, owner, name, seconds):
        """Let a method or function take `seconds(its arguments)`."""
        work = getattr(owner, name)

        def charged(*args, **options):
            self.now += seconds(*args)
            return work(*args, **options)

        self.patch.setattr(owner, name, charged)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock(monkeypatch)

    def rows(holder, *rest):
        return holder.stops[-1] / 1000

    clock.charge(Holder, "step", lambda *args: rows(*args))
    clock.charge(Holder, "objective", lambda *args: 0.5 * rows(*args))
    clock.charge(KMeans, "fit", lambda model, X, *rest: X.shape[0] / 1000)
    clock.charge(consensus_module, "_move_pattern", lambda *args: 0.05)
    for model in (SpectralClusteringViews, SphericalKMeans, CCAClustering):
        clock.charge(model, "fit", lambda model, X, *rest: 2 * len(X) / 1000)
    clock.charge(GraphVoter, "place", lambda model, X, memberships: len(X) / 1000)
    return clock


def fitted(name):
    model = estimators()[name]()
    names = {"n_clusters": 3, "n_components": 3, "max_iter": 10_000, "tol": 0}
    known = {key: value for key, value in names.items() if key in model.get_params()}
    model.set_params(**known, random_state=0)
    if isinstance(model, LoopMixin):
        model.set_callbacks(TimeBudget(BUDGET))
    else:
        model.set_params(time_budget=BUDGET)
    return model.fit(DATA.views, LABELS) if "Classifier" in name else model.fit(DATA.views)


@pytest.mark.parametrize("name", SWEEPS_TO_THE_END)
def test_a_fit_with_its_start_ends_in_time(name, clock):
    began = clock.now
    model = fitted(name)
    assert clock.now - began <= 1.2 * BUDGET
    assert clock.now - began > 0.4 * BUDGET  # and uses its time
    assert vars(model).get("stopped_by_", "time") == "time"
    labels = vars(model).get("labels_", vars(model).get("transduction_"))
    assert labels is None or (len(labels) == len(DATA.target) and labels.min() >= 0)


def test_a_clustering_of_lazy_rows_ends_in_time(clock, monkeypatch):
    """Rows are read from parts, and most are placed by what was fitted to some: reading and placing take time too."""
    for name in ("MOST_OBJECTS", "SAMPLE"):
        monkeypatch.setattr(f"coview.auto.clustering.{name}", 1000)
    clock.charge(MemorySource, "read", lambda source, part, start, stop: (stop - start) / 5000)
    lazy, began = LazyViews.from_views(DATA.views, 250), clock.now
    model = AutoClustering(3, random_state=0).fit(lazy)
    free, began, budget = clock.now - began, clock.now, 0.5 * BUDGET
    hurried = AutoClustering(3, time_budget=budget, random_state=0).fit(lazy)
    assert clock.now - began <= 1.2 * budget < 2.4 * budget < free
    assert len(hurried.labels_) == len(model.labels_) == len(DATA.target)
    assert normalized_mutual_info(DATA.target, np.asarray(hurried.labels_)) > 0.5


def test_a_number_of_clusters_is_found_in_time(clock):
    began = clock.now
    hurried = AutoClustering(None, time_budget=2.2 * BUDGET, random_state=0).fit(DATA.views)
    assert clock.now - began <= 1.2 * 2.2 * BUDGET
    table = hurried.n_clusters_evidence_
    assert hurried.n_clusters_ == table["n_clusters"][int(np.argmax(table["information"]))]


def test_restarts_and_their_starts_share_the_budget(clock):
    began = clock.now
    model = MultiViewPLSA(3, init="consensus", n_init=4, max_iter=10, tol=0, random_state=0)
    model.set_callbacks(TimeBudget(BUDGET)).fit(DATA.views)
    assert clock.now - began <= 1.2 * BUDGET
    began = clock.now
    model.set_callbacks().fit(DATA.views)
    assert clock.now - began > 3 * BUDGET  # what they take else


def test_held_out_folds_share_the_budget_of_the_sweeps(clock):
    model = SeededKMeansClassifier(view_weights="held_out", early_stopping=True, tol=0, random_state=0)
    began = clock.now
    model.fit(DATA.views, LABELS)
    assert clock.now - began > 1.5 * BUDGET
    began = clock.now
    model.set_callbacks(TimeBudget(BUDGET)).fit(DATA.views, LABELS)
    assert clock.now - began <= 1.2 * BUDGET


def test_fewer_starts_than_restarts_serve_again(clock):
    """The starts are out of time after the first, the restarts are not."""
    clock.charge(MultiViewPLSA, "_first_memberships", lambda *args: 100.0)
    seen = set()
    model = MultiViewPLSA(3, n_init=3, max_iter=2, tol=0, random_state=0)
    model.set_callbacks(TimeBudget(250), lambda sweep: seen.add((sweep.restart, sweep.number))).fit(DATA.views)
    assert seen == {(restart, number) for restart in range(3) for number in (1, 2)}


def test_a_budget_that_is_not_reached_changes_nothing(clock):
    """Samples that tell how long all objects will take leave no trace."""
    options = {"max_iter": 3, "tol": 0, "random_state": 0}
    free = MultiViewPLSA(3, **options).fit(DATA.views)
    far = MultiViewPLSA(3, **options).set_callbacks(TimeBudget(1e6)).fit(DATA.views)
    assert far.history_["objective"] == free.history_["objective"]
    assert far.stopped_by_ == free.stopped_by_


def test_a_sweep_that_would_not_be_ready_is_not_begun(clock):
    """A sweep takes 2.5 s and the pass at the end 1.25 s: 7 sweeps and the pass are 18.75 s, one more is 21.25 s."""
    began = clock.now
    model = MultiViewPLSA(3, init="random", algorithm="published", max_iter=100, tol=0, random_state=0)
    model.set_callbacks(TimeBudget(20)).fit(DATA.views)
    assert (model.n_iter_, model.stopped_by_, clock.now - began) == (7, "time", 18.75)


def test_a_restart_without_time_for_a_sweep_is_not_begun(clock):
    """A restart of 3 sweeps and a pass takes 8.75 s: after two 2.5 s are left, a sweep with its pass takes 3.75 s."""
    began, seen = clock.now, set()
    options = {"init": "random", "n_init": 4, "max_iter": 3, "tol": 0, "random_state": 0}
    model = MultiViewPLSA(3, **options).set_callbacks(TimeBudget(20), lambda sweep: seen.add(sweep.restart))
    model.fit(DATA.views)
    assert (seen, model.n_iter_, model.stopped_by_, clock.now - began) == ({0, 1}, 3, "time", 17.5)


def test_a_clustering_without_time_for_all_objects_sees_a_sample(clock, capsys):
    began = clock.now
    model = AutoClustering(3, time_budget=BUDGET, random_state=0, verbose=1).fit(DATA.views)
    assert clock.now - began <= 1.2 * BUDGET
    assert "votes of 300 objects" in capsys.readouterr().err
    assert len(model.labels_) == len(DATA.target) and np.mean(model.labels_ == model.labels_[0]) < 1


def test_samples_grow_while_there_is_time(clock):
    sizes = []

    def make(rows):
        sizes.append(len(rows))
        clock.now += len(rows) / 100
        return len(rows)

    assert largest_in_time(make, 10_000, 100, 0, NO_DEADLINE)[0] == 10_000 and sizes == [10_000]
    sizes.clear()
    made, rows = largest_in_time(make, 10_000, 100, 0, Deadline.after(30))
    assert (made, len(rows), sizes) == (1600, 1600, [100, 400, 1600])
    sizes.clear()
    assert largest_in_time(make, 10_000, 100, 0, Deadline.after(1000))[0] == 10_000
    assert sizes == [100, 400, 1600, 6400, 10_000]


def test_work_that_grows_faster_than_its_rows_is_not_begun_too_late(clock):
    """600 rows take 36 s; 24 s would be in time after 400 rows in 16 s, if twice as many rows took twice as long."""
    sizes = []

    def make(rows):
        sizes.append(len(rows))
        clock.now += (len(rows) / 100) ** 2

    began = clock.now
    largest_in_time(make, 600, 100, 0, Deadline.after(45))
    assert sizes == [100, 400] and clock.now - began <= 45


def test_a_share_is_a_part_of_what_is_left(clock):
    deadline = Deadline.after(10)
    clock.now += 4
    assert deadline.left() == 6 and deadline.share(0.5).left() == 3 and not deadline.is_over()
    clock.now += 7
    assert deadline.is_over() and deadline.share(0.5).left() == -1 and deadline.seconds() == 1e-9
    assert NO_DEADLINE.share(0.5) == NO_DEADLINE and NO_DEADLINE.seconds() is None

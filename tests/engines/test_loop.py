"""The loop: when it stops, what it remembers, and that a killed fit ends where an unbroken one does."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone

from coview import PLSA, Checkpoint, TimeBudget, Views
from coview.datasets import make_topic_views
from coview.engines import loop
from coview.engines.cpu import CpuEngine
from coview.engines.loop import SLOW
from coview.exceptions import InterruptedFitWarning, ModelFileError


def counts(n=120, m=40, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, m), density=0.2, format="csr", rng=rng)
    X.data = np.ceil(4 * X.data)
    return X


def test_zero_tolerance_runs_exactly_max_iter_sweeps():
    model = PLSA(3, max_iter=17, tol=0, random_state=0).fit(counts())
    assert model.n_iter_ == 17
    assert len(model.history_["objective"]) == len(model.history_["seconds"]) == 18


def test_history_holds_the_objective_of_each_state_from_the_start_on():
    X = counts()
    values = PLSA(3, max_iter=5, tol=0, random_state=0).fit(X).history_["objective"]
    for sweeps in (1, 3, 5):
        model = PLSA(3, max_iter=sweeps, tol=0, random_state=0).fit(X)
        mixture = model.memberships_ @ model.topic_feature_["x"]
        coo = X.tocoo()
        assert values[sweeps] == pytest.approx((coo.data * np.log(mixture[coo.row, coo.col])).sum(), rel=1e-10)


def test_tolerance_stops_at_the_first_small_change():
    model = PLSA(3, max_iter=1000, tol=1e-3, random_state=0).fit(counts())
    values = np.array(model.history_["objective"])
    changes = np.diff(values) / np.abs(values[1:])
    assert model.n_iter_ < 1000
    # the change is known one sweep later, when the state has been improved once more
    assert changes[model.n_iter_ - 2] <= 1e-3
    assert (changes[: model.n_iter_ - 2] > 1e-3).all()


def test_restarts_keep_the_best():
    X = counts()
    best = PLSA(5, max_iter=30, tol=0, n_init=4, random_state=0).fit(X)
    one = PLSA(5, max_iter=30, tol=0, n_init=1, random_state=0).fit(X)
    assert best.history_["objective"][-1] >= one.history_["objective"][-1]
    seen = []
    model = PLSA(5, max_iter=3, tol=0, n_init=4, random_state=0)
    model.set_callbacks(lambda s: seen.append(s.restart)).fit(X)
    assert seen == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3


def test_a_time_budget_ends_the_fit_after_a_sweep():
    model = PLSA(3, max_iter=10**6, tol=0, random_state=0).set_callbacks(TimeBudget(0.2))
    assert 1 <= model.fit(counts()).n_iter_ < 10**6


def test_a_callback_sees_each_sweep_and_can_stop():
    seen = []

    def watch(sweep):
        seen.append((sweep.number, sweep.objective))
        return sweep.number == 4

    model = PLSA(3, max_iter=50, tol=0, random_state=0).set_callbacks(watch).fit(counts())
    assert model.n_iter_ == 4
    assert [number for number, _ in seen] == [1, 2, 3, 4]
    assert [value for _, value in seen] == model.history_["objective"][:4]


def test_a_callback_that_cannot_be_called_is_refused():
    for wrong in ("loud", TimeBudget, [TimeBudget(1)]):
        with pytest.raises(TypeError, match="set_callbacks takes a TimeBudget, a Checkpoint, functions"):
            PLSA(2).set_callbacks(wrong)
    with pytest.raises(ValueError, match="every of a Checkpoint"):
        Checkpoint("x", every=0)


def test_clones_have_the_callbacks_and_none_removes_them():
    seen = []
    model = clone(PLSA(3, max_iter=4, tol=0, random_state=0).set_callbacks(seen.append, TimeBudget(1e-9)))
    assert model.fit(counts()).stopped_by_ == "time" and len(seen) == 1
    assert model.set_callbacks().fit(counts()).stopped_by_ == "max_iter" and len(seen) == 1


def test_scikit_learn_callbacks_hear_of_every_sweep_and_get_a_fitted_model():
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")

    class Watch:
        def __init__(self):
            self.begun, self.ended, self.scores, self.open = 0, 0, [], 0

        def setup(self, estimator, context):
            self.open += 1

        def teardown(self, estimator, context):
            self.open -= 1

        def on_fit_task_begin(self, estimator, context):
            self.begun += context.task_name == "iteration"

        def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
            if context.task_name == "iteration":
                self.ended += 1
                self.scores.append(fitted_estimator.score(X))

    watch, seen = Watch(), []
    PLSA(3, max_iter=6, tol=0, random_state=0).set_callbacks(watch, seen.append).fit(counts())
    assert (watch.begun, watch.ended, watch.open, len(seen)) == (6, 6, 0, 6)
    assert watch.scores == sorted(watch.scores)


def test_progress_shows_sweeps_and_objective_where_asked(capsys):
    PLSA(3, max_iter=5, tol=0, random_state=0, verbose=1).fit(counts())
    shown = capsys.readouterr().err
    assert "PLSA, iteration 5/5, objective" in shown
    PLSA(3, max_iter=5, tol=0, random_state=0).fit(counts())
    assert capsys.readouterr().err == ""


def test_control_c_returns_the_model_so_far_with_a_warning(stop_at):
    X = counts()
    with pytest.warns(InterruptedFitWarning, match="after 7 of 50 iterations") as told:
        model = PLSA(3, max_iter=50, tol=0, n_init=3, random_state=0).set_callbacks(stop_at(7)).fit(X)
    assert [one.filename for one in told] == [__file__]  # the user's line, not one of the loop
    assert model.n_iter_ == 7
    assert_array_equal(model.memberships_, PLSA(3, max_iter=7, tol=0, random_state=0).fit(X).memberships_)


SCRIPT = """
import os, signal, sys
sys.path.insert(0, {here!r})
from test_loop import checkpointed
path, settings = sys.argv[1], eval(sys.argv[2])
def killer(sweep):
    if (sweep.restart, sweep.number) == (settings.get("n_init", 1) - 1, 22):
        os.kill(os.getpid(), signal.SIGKILL)
checkpointed(path, killer, **settings)
"""


def checkpointed(path, *callbacks, **settings):
    model = PLSA(4, max_iter=40, tol=0, random_state=0, **settings)
    return model.set_callbacks(Checkpoint(path, every=4), *callbacks).fit(counts())


def test_a_killed_fit_resumes_bit_for_bit(tmp_path):
    settings = {"n_init": 2}
    script = SCRIPT.format(here=str(Path(__file__).parent))
    path = tmp_path / "killed.checkpoint"
    killed = subprocess.run([sys.executable, "-c", script, str(path), repr(settings)], check=False)
    assert killed.returncode == -signal.SIGKILL and path.exists()
    resumed, unbroken = checkpointed(path, **settings), checkpointed(tmp_path / "unbroken.checkpoint", **settings)
    assert_array_equal(resumed.memberships_, unbroken.memberships_)
    assert_array_equal(resumed.topic_feature_["x"], unbroken.topic_feature_["x"])
    assert_array_equal(resumed.history_["objective"], unbroken.history_["objective"])
    # a finished fit leaves no checkpoint behind
    assert not list(tmp_path.glob("*.checkpoint")) and not list(tmp_path.glob(".*.part"))


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_fit(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.warns(UserWarning, match=r"The checkpoint .* cannot be written .* The fit goes on without it") as told:
        model = checkpointed(tmp_path / "file" / "fit.checkpoint")
    assert {one.filename for one in told} == {__file__}
    np.testing.assert_array_equal(model.memberships_, checkpointed(tmp_path / "fit.checkpoint").memberships_)


def test_a_checkpoint_of_another_fit_is_refused(tmp_path, stop_at):
    path = tmp_path / "fit.checkpoint"

    def model(k, *callbacks):
        kept = PLSA(k, max_iter=20, tol=0, random_state=0)
        return kept.set_callbacks(Checkpoint(path, every=2), *callbacks)

    with pytest.warns(InterruptedFitWarning):
        model(3, stop_at(5)).fit(counts())
    assert path.exists()
    with pytest.raises(ModelFileError, match="other data or parameters"):
        model(4).fit(counts())
    with pytest.raises(ModelFileError, match="other data or parameters"):
        model(3).fit(counts(seed=1))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ModelFileError):
        model(3).fit(counts())


def test_a_checkpoint_needs_a_seed(tmp_path):
    with pytest.raises(ValueError, match="requires an integer random_state"):
        PLSA(3).set_callbacks(Checkpoint(tmp_path / "c")).fit(counts())


def test_blocks_do_not_change_the_start_nor_the_result_beyond_rounding(monkeypatch):
    from coview.engines.cpu import CpuEngine

    X = Views(words=counts(500), links=counts(500, 30, seed=2))
    whole = PLSA(4, max_iter=20, tol=0, random_state=0).fit(X)
    monkeypatch.setattr(CpuEngine, "block_rows", lambda self, *_: 37)
    cut = PLSA(4, max_iter=20, tol=0, random_state=0).fit(X)
    assert cut.history_["objective"][0] == pytest.approx(whole.history_["objective"][0], rel=1e-14)
    np.testing.assert_allclose(cut.memberships_, whole.memberships_, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(
    ("n_rows", "columns", "itemsize", "expected"),
    [
        (0, 64, 4, 16_384),
        (0, 0, 4, 16_384),
        (18_846, 64, 4, 18_846),  # a small rest is shared out
        (100_000, 64, 4, 16_667),
        (65_536, 256, 4, 16_384),  # 16 MB of the row factor
        (65_536, 256, 8, 8192),
        (65_536, 4096, 4, 8192),
    ],
)
def test_blocks_of_the_cpu_fit_its_caches_and_leave_no_small_rest(n_rows, columns, itemsize, expected):
    engine = CpuEngine(1)
    size = engine.block_rows(columns, itemsize, n_rows, 1000.0)
    assert size == expected == engine.block_rows(columns, itemsize, n_rows, 1e6)  # as from disk, in other types
    assert n_rows <= size or -n_rows % size < size / 2


# -- Momentum: never lower, and sooner there than plain sweeps


@pytest.fixture(scope="module")
def views():
    return make_topic_views(n_objects=150, n_clusters=4, random_state=0).views


@pytest.fixture
def plainly(monkeypatch):
    """Return the fit of a model without momentum."""

    def fit(model, X):
        with monkeypatch.context() as patch:
            patch.setattr(loop, "Momentum", lambda fit, holder: None)
            return model.fit(X)

    return fit


@pytest.mark.parametrize("seed", range(2))
def test_the_objective_never_falls(views, seed):
    model = PLSA(8, max_iter=150, tol=0, random_state=seed).fit(views)
    values = np.array(model.history_["objective"])
    assert (np.diff(values) >= -1e-10 * np.abs(values[1:])).all()
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1, atol=1e-9)
    assert (model.memberships_ > 0).all()


def test_reaches_a_plain_fit_in_fewer_sweeps(views, plainly):
    # from a common point on the slope, so that both climb the same hill
    early = plainly(PLSA(8, max_iter=30, tol=0, random_state=0), views)
    init = {name: getattr(early, name + "_") for name in ("memberships", "topic_feature", "topic_view")}
    plain = plainly(PLSA(8, max_iter=150, tol=0, init=init), views).history_["objective"]
    fast = PLSA(8, max_iter=150, tol=0, init=init).fit(views).history_["objective"]
    reached = np.flatnonzero(np.array(fast) >= plain[-1])
    assert len(reached)
    assert reached[0] < 120


def test_an_interrupt_anywhere_leaves_a_history_that_never_falls(views, monkeypatch):
    from coview.exceptions import InterruptedFitWarning
    from coview.plsa.steps import MixtureSteps

    plain = MixtureSteps.update
    for stop in range(3, 30, 3):
        calls = iter(range(1000))

        def update(self, *words, calls=calls, stop=stop):
            if next(calls) == stop:
                raise KeyboardInterrupt
            return plain(self, *words)

        monkeypatch.setattr(MixtureSteps, "update", update)
        with pytest.warns(InterruptedFitWarning):
            model = PLSA(8, max_iter=100, tol=0, random_state=stop).fit(views)
        values = np.array(model.history_["objective"])
        assert (np.diff(values) >= -1e-10 * np.abs(values[1:])).all()


def test_a_fit_with_momentum_ends_where_a_plain_sweep_gains_little(views):
    tol = 1e-4
    model = PLSA(8, max_iter=1000, tol=tol, random_state=0).fit(views)
    assert model.stopped_by_ == "tol"
    init = {name: getattr(model, name + "_") for name in ("memberships", "topic_feature", "topic_view")}
    before, after = PLSA(8, max_iter=1, tol=0, init=init).fit(views).history_["objective"]
    assert after - before <= 2 * tol * abs(after)  # gains of plain sweeps shrink


def test_the_early_climb_is_that_of_plain_sweeps(views, plainly):
    model = PLSA(8, max_iter=80, tol=0, random_state=0)
    plain, fast = (np.array(fit(model, views).history_["objective"]) for fit in (plainly, PLSA.fit))
    slow = np.flatnonzero(np.diff(plain) < SLOW * np.abs(plain[1:]))[0]
    np.testing.assert_allclose(fast[: slow + 2], plain[: slow + 2], rtol=1e-10)
    assert fast[-1] > plain[-1]

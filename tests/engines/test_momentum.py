"""Momentum: never lower, and sooner there than plain sweeps."""

from __future__ import annotations

import numpy as np
import pytest

from coview import PLSA
from coview.datasets import make_topic_views
from coview.engines import loop
from coview.engines.loop import SLOW


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

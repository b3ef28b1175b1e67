"""Progress: shown where somebody looks on, in plain text where nothing can be drawn, and of nothing that is quick."""

from __future__ import annotations

import io
import sys
import threading
import time
import warnings
from types import SimpleNamespace

import pytest

from coview import AutoClustering, MultiViewPLSA, compare
from coview.datasets import make_topic_views
from coview.utils import progress as module
from coview.utils.progress import is_shown, progress, show_progress, tell

DATA = make_topic_views(60, n_clusters=3, random_state=0)


@pytest.fixture
def impatient(monkeypatch):
    """Show progress at once, and often."""
    for name in ("PATIENCE", "INTERVAL", "REDRAWN"):
        monkeypatch.setattr(module, name, 0.001)


@pytest.fixture
def notebook(monkeypatch):
    shell = type("ZMQInteractiveShell", (), {"__module__": "ipykernel.zmqshell"})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


def watched(work, seconds=10.0):
    """Errors printed while `work` goes on; it is told when to end by a look at them."""
    stream = io.StringIO()
    kept, sys.stderr = sys.stderr, stream
    try:
        work(lambda text: _until(lambda: text in stream.getvalue(), seconds))
    finally:
        sys.stderr = kept
    return stream.getvalue()


def _until(there, seconds):
    end = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < end, "it was never shown"
        time.sleep(0.001)


def test_long_work_is_shown_while_it_goes_on_and_work_inside_joins_the_line(impatient):
    def work(shown):
        with show_progress(True), progress():
            tell("fitting")
            shown("fitting (0 s)\n")
            with progress("AutoClustering"):
                tell("scale 2/4", 1, 4)
                with progress("MultiViewPLSA"):
                    tell("iteration 3/9", 3, 9)
                    shown("fitting: AutoClustering, scale 2/4: MultiViewPLSA, iteration 3/9 (0 s)\n")
            tell("writing")

    assert watched(work).endswith("writing (0 s)\n")


@pytest.mark.parametrize("wanted", [True, False, None])
def test_scripts_and_quiet_commands_are_silent(impatient, capsys, wanted):
    with show_progress(wanted):
        assert is_shown(None) == bool(wanted)
        with progress("k-means"):
            time.sleep(0.05)
    assert ("k-means" in capsys.readouterr().err) == bool(wanted)


def test_a_notebook_is_shown_plain_text_without_widgets_or_warnings(impatient, notebook, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MultiViewPLSA(3, max_iter=3, tol=0, random_state=0, verbose=1).fit(DATA.views)
        methods = ["MultiViewNaiveBayes"]
        compare(DATA.views, DATA.target, methods=methods, cv=2, n_jobs=1, time_budget=None, random_state=0)
    shown = capsys.readouterr().err
    assert "\rMultiViewPLSA, iteration 3/3, objective" in shown and shown.endswith("\n")
    assert "MultiViewNaiveBayes: done accuracy" in shown and "\x1b" not in shown


def test_starts_and_scales_are_told():
    told = []
    thread_count = threading.active_count()

    def remember(text, done=None, total=None):
        told.append((text, done, total))

    with pytest.MonkeyPatch.context() as patch:
        for name in ("utils.progress", "engines.loop"):
            patch.setattr(f"coview.{name}.tell", remember)
        AutoClustering(3, random_state=0).fit(DATA.views)
        MultiViewPLSA(3, max_iter=2, tol=0, random_state=0).fit(DATA.views)
    texts = [text for text, *_ in told]
    assert "scale 1/4" in texts and "scale 4/4" in texts
    assert ("choosing a start 1/9", 0, 9) in told and any(text.startswith("iteration 2/2") for text in texts)
    assert threading.active_count() == thread_count  # nobody looks on: no thread looks after a line

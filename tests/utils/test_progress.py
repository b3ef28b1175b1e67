"""Progress: shown where somebody looks on, in plain text where nothing can be drawn, and of nothing that is quick."""

import io
import sys
import threading
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.preprocessing import FunctionTransformer

from coview import AutoClustering, EachView, MultiViewPLSA, Views, compare
from coview.datasets import make_topic_views
from coview.utils import progress as module
from coview.utils.progress import is_shown, progress, show_progress, tell
from coview.utils.remembered import remembered, remembering
from coview.utils.sampling import deal_folds, list_splits
from coview.utils.tables import ColumnTable

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
    assert "graph 1/8" in texts and "graph 8/8" in texts
    assert ("choosing a start 1/9", 0, 9) in told and any(text.startswith("iteration 2/2") for text in texts)
    assert threading.active_count() == thread_count  # nobody looks on: no thread looks after a line


# -- What is made of the same data is made once inside the context, and always anew outside of it

RNG = np.random.default_rng(0)
WORDS = sparse.csr_array(RNG.poisson(0.5, (40, 12)).astype(float))
IMAGE = RNG.normal(size=(40, 7))


def test_nothing_is_remembered_after_the_context_and_one_within_another_shares_its_own():
    made: list[int] = []
    with remembering():
        remembered((1,), lambda: made.append(1))
        with remembering():
            remembered((1,), lambda: made.append(2))
        remembered((2,), lambda: made.append(3))
    remembered((1,), lambda: made.append(4))
    with remembering():
        remembered((1,), lambda: made.append(5))
    assert made == [1, 3, 4, 5]


def test_a_transformer_of_the_same_view_is_fitted_once():
    """Other views beside it do not matter; other values, seeds and widths do."""

    def fitted(width: int = 3, seed: int = 0, **views: object) -> TruncatedSVD:
        names = {"words": TruncatedSVD(width, random_state=seed)}
        return EachView(names).fit(Views(**views)).transformers_["words"]

    alone = fitted(words=WORDS)
    with remembering():
        beside = fitted(words=WORDS, image=IMAGE)
        assert fitted(words=WORDS.copy()) is beside
        others = [fitted(words=WORDS * 2), fitted(words=WORDS, seed=1), fitted(words=WORDS, width=4)]
        assert all(other is not beside for other in others)
    assert fitted(words=WORDS) is not beside
    assert_array_equal(beside.components_, alone.components_)


def test_what_cannot_be_compared_is_made_anew():
    double = EachView(FunctionTransformer(lambda x: 2 * x))
    with remembering():
        for _ in range(2):
            assert_array_equal(double.fit_transform(Views(image=IMAGE))["image"], 2 * IMAGE)


# -- Folds of few labels, and folds as users give them

CODES = np.array([0, 1] * 6)


@pytest.mark.parametrize("cv", [3, StratifiedKFold(3)])
def test_numbers_and_splitters_give_what_scikit_learn_gives(cv):
    expected = StratifiedKFold(3).split(CODES, CODES)
    for (train, test), (own_train, own_test) in zip(expected, list_splits(cv, CODES, classifier=True), strict=True):
        assert_array_equal(own_train, train)
        assert_array_equal(own_test, test)


def test_groups_stay_whole():
    groups = np.arange(12) // 3
    for train, test in list_splits(GroupKFold(2), CODES, groups=groups):
        assert not set(groups[train]) & set(groups[test])


def test_classes_are_spread_over_the_folds():
    codes = np.array([0] * 7 + [1] * 4 + [2] + [-1] * 3)
    folds = deal_folds(codes, 3, seed=1)
    assert_array_equal(folds[11:], -1)  # the only one of its class, and the unlabeled
    for code in (0, 1):
        sizes = np.bincount(folds[codes == code], minlength=3)
        assert sizes.max() - sizes.min() <= 1


# -- Tables for people: as text, as HTML, and as a dict of columns


def test_columns_may_be_arrays_of_numbers_and_of_what_is_not_known():
    table = ColumnTable(share=np.array([0.5, np.nan]), at=[np.array([1, 2])])
    assert table == ColumnTable(share=np.array([0.5, np.nan]), at=[np.array([1, 2])])
    assert table != ColumnTable(share=np.array([0.5, 0.5]), at=[np.array([1, 2])])

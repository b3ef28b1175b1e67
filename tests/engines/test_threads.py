"""Chunks cover the rows once, are balanced, and thread counts obey who asks."""

import mmap
import os
import pickle
import signal
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from coview.engines.cpu import CpuEngine, LargePages, balance_chunks
from coview.engines.protocol import Team, count_threads, few_threads, find_thread_pools


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=60), st.integers(1, 40), st.integers(1, 20))
def test_chunks_cover_every_row_once(lengths, least, most):
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    chunks = balance_chunks(indptr, least, most)
    assert [row for start, stop in chunks for row in range(start, stop)] == list(range(len(lengths)))
    assert len(chunks) <= max(1, most)


def test_chunks_are_balanced_by_non_zeros():
    lengths = np.r_[np.full(10, 1000), np.full(1000, 10)]
    chunks = balance_chunks(np.concatenate([[0], np.cumsum(lengths)]), 1000, 4)
    loads = [lengths[a:b].sum() for a, b in chunks]
    assert len(chunks) == 4
    assert max(loads) <= 1.3 * min(loads)


def test_threadpoolctl_limits_are_respected():
    import sklearn.cluster  # noqa: F401  (loads an OpenMP runtime to limit)

    with threadpool_limits(1, user_api="openmp"):
        assert count_threads(None) == 1
        assert count_threads(8) == 1
    assert count_threads(1) == 1


def test_small_problems_get_one_thread_and_large_ones_what_there_was():
    import sklearn.cluster  # noqa: F401  (loads an OpenMP runtime to limit)

    def threads():
        return {pool["filepath"]: pool["num_threads"] for pool in find_thread_pools().info()}

    before = threads()
    with few_threads(300, 3):
        assert set(threads().values()) == {1}
    with few_threads(300_000, 30):
        assert threads() == before
    assert threads() == before


def test_results_come_in_the_order_of_the_chunks_and_a_team_pickles():
    chunks = [(i, i + 1) for i in range(20)]
    team = Team(2)
    assert team.map(lambda a, b: a * 10 + b, chunks) == [a * 10 + b for a, b in chunks]
    assert pickle.loads(pickle.dumps(team)).size == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork: teams in child processes are not checked")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_makes_threads_of_its_own():
    team = Team(2)
    chunks = [(i, i + 1) for i in range(8)]
    assert team.map(lambda a, b: a, chunks) == list(range(8))
    child = os.fork()
    if child == 0:
        os._exit(0 if team.map(lambda a, b: a, chunks) == list(range(8)) else 1)
    for _ in range(100):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert done and os.waitstatus_to_exitcode(status) == 0


def test_pools_are_looked_for_again_after_an_import(monkeypatch):
    first = find_thread_pools()
    assert find_thread_pools() is first
    monkeypatch.setitem(sys.modules, "a_module_of_this_test", sys)
    assert find_thread_pools() is not first


# -- Memory of large factors

SHAPE = (1 << 15, 40)  # of 5 MB in float32
large = pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="the system has no large pages")


@large
def test_memory_goes_to_the_next_array_of_its_size_once_no_part_of_it_is_in_use():
    pages = LargePages()
    first = pages.empty(SHAPE, np.float32)
    place = first.ctypes.data
    part = first[5:7]
    part[:] = 3.0
    del first
    second = pages.empty(SHAPE, np.float32)
    assert second.ctypes.data != place
    second[:] = 4.0
    assert (part == 3.0).all()
    del part
    assert pages.empty((SHAPE[0] // 2, SHAPE[1]), np.float64).ctypes.data == place  # as many bytes
    assert pages.empty((SHAPE[0] + 1, SHAPE[1]), np.float32).shape[0] == SHAPE[0] + 1


@large
def test_an_engine_with_a_limit_keeps_no_memory_between_arrays():
    engine = CpuEngine(1, memory_limit=4_000_000_000)
    engine.row_shares(np.full(SHAPE, 0.025, np.float32), np.ones(SHAPE, np.float32), 1e-12)
    again = pickle.loads(pickle.dumps(engine))
    again.row_shares(np.full(SHAPE, 0.025, np.float32), np.ones(SHAPE, np.float32), 1e-12)
    assert not engine._pages._free and not again._pages._free


@large
def test_arrays_outlive_the_engine_that_made_them():
    engine = CpuEngine(1)
    old, pull = np.full(SHAPE, 0.025, np.float32), np.ones(SHAPE, np.float32)
    new = engine.row_shares(old, pull, 1e-12)
    assert new.ctypes.data % (2 << 20) == 0
    copy = pickle.loads(pickle.dumps(engine))
    del engine
    np.testing.assert_allclose(new, old, rtol=1e-6)
    np.testing.assert_array_equal(copy.row_shares(old, pull, 1e-12), new)


def test_without_large_pages_arrays_are_ordinary_ones(monkeypatch):
    monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)
    array = LargePages().empty(SHAPE, np.float32)
    assert array.shape == SHAPE
    assert array.ctypes.data % 64 == 0

"""Chunks cover the rows once, are balanced, and thread counts obey who asks."""

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

from coview.engines.cpu import CpuEngine, balance_chunks
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


def test_factors_begin_at_a_cache_line():
    engine, old = CpuEngine(1), np.full((1 << 15, 40), 0.025, np.float32)
    assert engine.row_shares(old, np.ones_like(old), 1e-12).ctypes.data % 64 == 0
    assert engine.align(old[1:]).ctypes.data % 64 == 0

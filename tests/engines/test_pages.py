"""Memory of large factors."""

import mmap
import pickle

import numpy as np
import pytest

from coview.engines.cpu import CpuEngine, LargePages

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

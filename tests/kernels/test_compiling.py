"""Kernels compile wherever they are: with a cache, with a damaged one, with a temporary one, with none."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from coview.kernels import compiling


def triple(x):
    return 3 * x


@pytest.fixture
def only_temporary(tmp_path, monkeypatch):
    implementation = compiling._lenient_cache()._impl_class
    monkeypatch.setattr(implementation, "_locator_classes", implementation._locator_classes[-1:])
    monkeypatch.setattr(compiling.tempfile, "tempdir", str(tmp_path))
    return compiling._temporary_folder()


def kernel():
    return compiling.njit(cache=True)(triple)


def test_a_temporary_folder_of_the_user_serves_where_no_other_can_be_written(only_temporary):
    first, second = kernel(), kernel()
    assert (first(2), second(2)) == (6, 6)
    assert first.stats.cache_misses and second.stats.cache_hits
    assert only_temporary.stat().st_mode & 0o077 == 0
    assert str(only_temporary) in compiling.cache_note(first)


@pytest.mark.skipif(os.name != "posix", reason="there are no modes here")
def test_a_folder_that_others_can_write_is_not_trusted(only_temporary):
    only_temporary.mkdir()
    only_temporary.chmod(0o777)
    one = kernel()
    assert one(2) == 6
    assert one.stats.cache_path is None and os.listdir(only_temporary) == []
    assert "in every process" in compiling.cache_note(one)


def test_nothing_is_kept_where_nothing_can_be_written(only_temporary):
    only_temporary.write_text("a file in its place")
    assert kernel()(2) == 6


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("keep", [0, 10, -1])
def test_a_cache_that_is_cut_short_is_written_anew(only_temporary, suffix, keep):
    kernel()(2)
    (file,) = only_temporary.rglob(f"*{suffix}")
    file.write_bytes(file.read_bytes()[:keep])
    again = kernel()
    assert again(2) == 6 and not again.stats.cache_hits
    later = kernel()
    assert later(2) == 6 and later.stats.cache_hits


def test_a_full_disk_does_not_stop_a_kernel(only_temporary, monkeypatch):
    def fail(*_):
        raise OSError("No space left on device")

    one = kernel()
    monkeypatch.setattr(one._cache._cache_file, "_save_index", fail)
    assert one(2) == 6


def test_an_engine_works_where_no_folder_can_be_written():
    script = (
        "from numba.core import caching\n"
        "nothing = classmethod(lambda cls, function, file: None)\n"
        "for locator in caching.CompileResultCacheImpl._locator_classes:\n"
        "    locator.from_function = nothing\n"
        "import numpy as np\n"
        "from scipy import sparse\n"
        "from coview.engines.cpu import CpuEngine\n"
        "ops = CpuEngine(n_jobs=1)\n"
        "ops.log_likelihood(ops.prepare(sparse.csr_array(np.eye(4))), np.ones((4, 2)), np.ones((4, 2)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert "compiling kernels" in line and "in every process" in line


def test_a_numba_that_is_made_otherwise_inside_keeps_its_own_cache(tmp_path, monkeypatch):
    def changed():
        raise ImportError("no CompileResultCacheImpl in numba")

    monkeypatch.setattr(compiling, "_lenient_cache", changed)
    monkeypatch.setattr(compiling.numba.config, "CACHE_DIR", str(tmp_path))
    one = kernel()
    assert one(2) == 6 and str(one.stats.cache_path).startswith(str(tmp_path))

"""Kernels compile wherever they are: with a cache, with a damaged one, with a temporary one, with none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import coview
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


@pytest.mark.skipif(os.name != "posix", reason="the user's cache is found by HOME")
def test_environments_of_a_user_share_kernels_that_are_the_same(tmp_path):
    script = (
        "import numpy as np\n"
        "from coview.kernels.shares import column_scale as kernel\n"
        "kernel(np.ones((3, 2)), np.ones(2), 0.0, 0, 3)\n"
        "print(sum(kernel.stats.cache_hits.values()), kernel.stats.cache_path)\n"
    )
    home = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "home" / ".cache")}
    env = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | home

    def run(environment: str, edit: str = "") -> tuple[int, str]:
        package = tmp_path / environment / "coview"
        shutil.copytree(Path(coview.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "static"))
        with open(package / "kernels" / "memory.py", "a") as file:
            file.write(edit)
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={**env, "PYTHONPATH": str(package.parent)},
        )
        hits, folder = done.stdout.split()
        return int(hits), folder

    first, second, other = run("first"), run("second"), run("other", "# another version\n")
    assert (first[0], second[0], other[0]) == (0, 1, 0)
    assert first[1] == second[1] != other[1]
    assert Path(first[1]).is_relative_to(tmp_path / "home")


def test_only_the_newest_sets_of_kernels_are_kept(tmp_path):
    for age, name in enumerate("abcd"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kernel.nbc").write_bytes(b"")
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    compiling._prune(tmp_path, 2)
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_functions_that_are_no_kernels_of_coview_are_not_shared(tmp_path, monkeypatch):
    monkeypatch.setattr(compiling, "_shared_folder", lambda: tmp_path / "shared")
    monkeypatch.setattr(compiling.numba.config, "CACHE_DIR", "")
    kernel()
    assert not (tmp_path / "shared").exists()


def test_kernels_in_a_named_folder_are_compiled_again_when_any_of_them_changes(only_temporary, monkeypatch):
    """A kernel may hold parts of other files, and numba asks for its own file alone."""
    assert kernel()(2) == 6
    known = kernel()
    assert known(2) == 6 and known.stats.cache_hits
    monkeypatch.setattr(compiling, "_content", lambda: "other kernels")
    changed = kernel()
    assert changed(2) == 6 and changed.stats.cache_misses and not changed.stats.cache_hits


def test_the_folder_that_numba_is_told_of_has_the_same_stamp(tmp_path, monkeypatch):
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    (locator,) = [
        each
        for each in compiling._lenient_cache()._impl_class._locator_classes
        if each.__name__.strip("_") == "UserProvidedCacheLocator"
    ]
    assert compiling._content() in locator.from_function(triple, __file__).get_source_stamp()

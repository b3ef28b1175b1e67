"""Kernels compile wherever they are: with a cache, with a damaged one, with none."""

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
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(compiling.numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


def kernel():
    return compiling.njit(cache=True)(triple)


def test_kernels_are_kept_in_the_folder_that_is_named(folder):
    first, second = kernel(), kernel()
    assert (first(2), second(2)) == (6, 6)
    assert first.stats.cache_misses and second.stats.cache_hits
    assert Path(first.stats.cache_path).is_relative_to(folder)


def test_nothing_is_kept_where_nothing_can_be_written(folder):
    (folder / "coview").write_text("a file in its place")
    one = kernel()
    assert one(2) == 6 and one.stats.cache_path is None


@pytest.mark.parametrize(("suffix", "keep"), [(".nbi", 0), (".nbi", 10), (".nbc", 0), (".nbc", -1)])
def test_a_cache_that_is_cut_short_is_written_anew(folder, suffix, keep):
    kernel()(2)
    (file,) = folder.rglob(f"*{suffix}")
    file.write_bytes(file.read_bytes()[:keep])
    again = kernel()
    assert again(2) == 6 and not again.stats.cache_hits
    later = kernel()
    assert later(2) == 6 and later.stats.cache_hits


def test_a_file_that_another_process_wrote_for_other_types_is_not_used(folder):
    """Two processes that compile at once may give two signatures the same file: the last one to write keeps it."""
    kernel()(2)
    (whole,) = folder.rglob("*.nbc")
    kernel()(2.5)
    (other,) = (file for file in folder.rglob("*.nbc") if file != whole)
    whole.write_bytes(other.read_bytes())
    found = kernel()
    assert found(2) == 6 and not found.stats.cache_hits
    later = kernel()
    assert later(2) == 6 and later.stats.cache_hits


def test_compiling_is_told_once_and_only_where_it_happens(folder, monkeypatch, capfd):
    monkeypatch.setattr(compiling, "_is_told", False)
    one = kernel()
    one(2), one(2.5)
    (line,) = capfd.readouterr().err.splitlines()
    assert line == "coview: compiling kernels for this machine (once, takes a few seconds) ..."
    monkeypatch.setattr(compiling, "_is_told", False)
    kernel()(2)
    assert capfd.readouterr().err == ""


RUN_A_KERNEL = """
import numpy as np
from coview.kernels.ratio import column_scale as kernel
kernel(np.ones((3, 2)), np.ones(2), 0.0, 0, 3)
print(sum(kernel.stats.cache_hits.values()), kernel.stats.cache_path)
"""


def test_a_kernel_works_where_no_folder_can_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "file")}
    done = subprocess.run([sys.executable, "-c", RUN_A_KERNEL], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert "compiling kernels" in line and "in every process" in line


@pytest.mark.skipif(os.name != "posix", reason="the user's cache is found by HOME")
def test_environments_of_a_user_share_kernels_that_are_the_same(tmp_path):

    home = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "home" / ".cache")}
    env = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | home

    def run(environment: str, edit: str = "") -> tuple[int, str]:
        package = tmp_path / environment / "coview"
        shutil.copytree(Path(coview.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "static"))
        with open(package / "kernels" / "memory.py", "a") as file:
            file.write(edit)
        done = subprocess.run(
            [sys.executable, "-c", RUN_A_KERNEL],
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
    assert Path(first[1]).parent.stat().st_mode & 0o077 == 0  # what lies there is executed


def test_only_the_newest_sets_of_kernels_are_kept(tmp_path):
    for age, name in enumerate("abcd"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kernel.nbc").write_bytes(b"")
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    compiling._prune(tmp_path, 2)
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_kernels_are_compiled_again_when_any_of_them_changes(folder, monkeypatch):
    """A kernel may hold parts of other files, and numba looks at its own file alone."""
    assert kernel()(2) == 6
    monkeypatch.setattr(compiling, "_content", lambda: "other kernels")
    changed = kernel()
    assert changed(2) == 6 and changed.stats.cache_misses and not changed.stats.cache_hits

"""Files and folders appear whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from coview.utils import atomic
from coview.utils.atomic import atomic_folder, atomic_path


def fail_halfway(make, target):
    with make(target) as beside:
        file = beside / "part" if beside.is_dir() else beside
        file.write_text("half")
        raise RuntimeError("stop")


def test_a_file_is_moved_into_place(tmp_path):
    target = tmp_path / "deep" / "file.txt"
    with atomic_path(target) as beside:
        beside.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    assert os.listdir(target.parent) == ["file.txt"]


def test_a_failed_file_leaves_the_old_one_and_no_rest(tmp_path):
    target = tmp_path / "file.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError, match="stop"):
        fail_halfway(atomic_path, target)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["file.txt"]


def test_files_have_ordinary_permissions(tmp_path):
    with atomic_path(tmp_path / "ours") as beside:
        beside.write_text("x")
    (tmp_path / "theirs").write_text("x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "theirs").stat().st_mode


@pytest.mark.parametrize("swap", [True, False], ids=["in one step", "by two renames"])
def test_a_folder_replaces_the_old_one_whole(tmp_path, monkeypatch, swap):
    if not swap:
        monkeypatch.setattr(atomic, "_exchange", lambda a, b: False)
    target = tmp_path / "folder"
    for text in ("old", "new"):
        with atomic_folder(target) as beside:
            (beside / text).write_text(text)
    assert os.listdir(target) == ["new"]
    assert os.listdir(tmp_path) == ["folder"]


def test_a_failed_folder_leaves_the_old_one_and_no_rest(tmp_path):
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").write_text("old")
    with pytest.raises(RuntimeError, match="stop"):
        fail_halfway(atomic_folder, target)
    assert os.listdir(target) == ["old"]
    assert os.listdir(tmp_path) == ["folder"]


def test_the_old_folder_comes_back_if_the_new_one_cannot_be_moved(tmp_path, monkeypatch):
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").write_text("old")
    real, calls = os.replace, []

    def replace(a, b):
        calls.append(b)
        if len(calls) == 2:
            raise OSError("no room")
        real(a, b)

    monkeypatch.setattr(atomic, "_exchange", lambda a, b: False)
    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="no room"), atomic_folder(target) as beside:
        (beside / "new").write_text("new")
    assert os.listdir(target) == ["old"]
    assert os.listdir(tmp_path) == ["folder"]


def test_a_link_to_a_folder_stays_a_link(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    with atomic_folder(link) as beside:
        (beside / "new").write_text("new")
    assert link.is_symlink()
    assert os.listdir(real) == ["new"]


@pytest.mark.skipif(
    not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here: a writer that is killed is not checked"
)
def test_a_killed_process_leaves_the_old_folder(tmp_path):
    target = tmp_path / "folder"
    target.mkdir()
    (target / "old").write_text("old")
    script = (
        "import os, signal, sys\n"
        "from coview.utils.atomic import atomic_folder\n"
        "with atomic_folder(sys.argv[1]) as beside:\n"
        "    (beside / 'new').write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(target)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert os.listdir(target) == ["old"]

"""Files and folders appear whole or not at all."""

from __future__ import annotations

import os
import stat

import pytest

from coview.exceptions import DataFileError
from coview.utils.atomic import atomic_folder, atomic_path


def fail_halfway(make, target):
    with make(target) as beside:
        (beside / "part" if beside.is_dir() else beside).write_text("half")
        raise RuntimeError("stop")


def test_a_folder_replaces_the_old_one_whole(tmp_path):
    target = tmp_path / "folder"
    for text in ("old", "new"):
        with atomic_folder(target) as beside:
            (beside / text).write_text(text)
    assert os.listdir(target) == ["new"]
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

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="no room"), atomic_folder(target) as beside:
        (beside / "new").write_text("new")
    assert os.listdir(target) == ["old"]
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.parametrize("make", [atomic_path, atomic_folder])
def test_what_fails_leaves_the_old_one_and_no_rest(tmp_path, make):
    target = tmp_path / "target"
    with make(target) as beside:
        (beside / "old" if beside.is_dir() else beside).write_text("old")
    with pytest.raises(RuntimeError, match="stop"):
        fail_halfway(make, target)
    assert os.listdir(target) == ["old"] if target.is_dir() else target.read_text() == "old"
    assert os.listdir(tmp_path) == ["target"]


# -- what is replaced


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(os.name != "posix", reason="there are no modes here")
@pytest.mark.parametrize("before", [0o600, 0o444])
def test_a_file_that_is_replaced_keeps_its_mode_and_is_never_more_public(tmp_path, before):
    target = tmp_path / "file.txt"
    target.write_text("old")
    target.chmod(before)
    with atomic_path(target) as beside:
        assert mode(beside) & ~(before | 0o600) == 0
        beside.unlink()  # some libraries put a file of their own there
        beside.write_text("new")
    assert (mode(target), target.read_text()) == (before, "new")


@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing"])
def test_a_link_to_a_file_stays_a_link(tmp_path, there):
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "file", tmp_path / "link"
    if there:
        real.write_text("old")
    link.symlink_to(real)
    with atomic_path(link) as beside:
        beside.write_text("new")
    assert link.is_symlink() and real.read_text() == "new"
    assert sorted(os.listdir(tmp_path)) == ["link", "real"] and os.listdir(tmp_path / "real") == ["file"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_what_is_no_regular_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    for name in ("pipe", "folder", os.devnull):
        with pytest.raises(DataFileError, match=f"{name} is not a regular file"), atomic_path(tmp_path / name):
            pytest.fail("it was to be replaced")
    with pytest.raises(DataFileError, match="is not a folder"), atomic_folder(tmp_path / "file"):
        pytest.fail("it was to be replaced")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode) and stat.S_ISCHR(os.stat(os.devnull).st_mode)

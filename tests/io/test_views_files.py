"""Views to a folder and back; files of every kind joined; what is bad is refused with one sentence."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from coview import Views
from coview.exceptions import CoviewError, DataFileError, ViewsError
from coview.io import views_files as files
from coview.io.views_files import read_views, write_views

WORDS = np.array([[1, 0, 2], [0, 3, 0]])


def small(**options) -> Views:
    return Views(words=sparse.csr_array(WORDS), image=np.eye(2), **options)


# -- there and back


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, bool])
def test_class_and_dtype_come_back(tmp_path, make, dtype):
    X = Views(words=make(WORDS.astype(dtype)))
    X.write(tmp_path / "v")
    again = read_views(tmp_path / "v")
    assert again == X
    assert again["words"].dtype == dtype
    assert type(again["words"]) is type(X["words"])


@pytest.mark.parametrize(
    "ids",
    [
        None,
        ["a", "ü\n"],
        [7, -3],
        np.array([1, 2], dtype=np.int32),
        np.array(["2020-01-01", "2021-02-03"], dtype="M8[ns]"),
    ],
    ids=["none", "text", "integers", "int32", "dates"],
)
def test_ids_come_back(tmp_path, ids):
    X = small(ids=ids)
    X.write(tmp_path / "v")
    again = read_views(tmp_path / "v")
    assert again == X
    assert ids is None or again.ids.dtype == X.ids.dtype


def test_order_feature_names_and_missing_rows_come_back(tmp_path):
    image = np.array([[0.0, 0.0], [1.0, 2.0]])
    X = Views(
        {"z": image, "a": sparse.csr_array(WORDS)},
        present={"z": np.array([False, True])},
        feature_names={"a": ["fox", "ß", 'say "no"']},
    )
    X.write(tmp_path / "v")
    again = read_views(str(tmp_path / "v") + "/")
    assert again == X
    assert again.names == ("z", "a")


@settings(max_examples=25, deadline=None)
@given(
    names=st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=60), min_size=1, max_size=3, unique=True)
)
def test_any_text_can_name_a_view(tmp_path_factory, names):
    folder = tmp_path_factory.mktemp("names") / "v"
    X = Views({name: np.eye(2) * i for i, name in enumerate(names)})
    X.write(folder)
    assert read_views(folder) == X
    assert {os.path.dirname(file) for file in os.listdir(folder)} == {""}


def test_reserved_and_dangerous_names_stay_inside_the_folder(tmp_path):
    X = Views({"../../escape": np.eye(2), "/etc/x": np.eye(2), "a": np.eye(2), "A": np.eye(2) * 2, "nul\0": np.eye(2)})
    X.write(tmp_path / "v")
    assert read_views(tmp_path / "v") == X
    assert os.listdir(tmp_path) == ["v"]


def test_written_views_can_be_row_slices(tmp_path):
    X = small(ids=["a", "b"])[1:]
    X.write(tmp_path / "v")
    assert read_views(tmp_path / "v") == X


# -- writing over


def test_an_existing_folder_is_kept_unless_asked(tmp_path):
    small().write(tmp_path / "v")
    with pytest.raises(DataFileError, match=r"v exists. Pass overwrite=True"):
        small(ids=[1, 2]).write(tmp_path / "v")
    assert read_views(tmp_path / "v").ids is None
    small(ids=[1, 2]).write(tmp_path / "v", overwrite=True)
    assert read_views(tmp_path / "v").ids.tolist() == [1, 2]


def test_overwriting_leaves_no_file_of_the_old_views(tmp_path):
    small().write(tmp_path / "v")
    Views(only=np.eye(2)).write(tmp_path / "v", overwrite=True)
    assert sorted(os.listdir(tmp_path / "v")) == ["00-only.npy", "views.json"]


@pytest.mark.parametrize("content", [None, "photo.jpg", "views.json"], ids=["empty", "file", "another views.json"])
def test_a_foreign_folder_is_never_replaced(tmp_path, content):
    target = tmp_path / "v"
    target.mkdir()
    if content:
        (target / content).write_text("{}")
    with pytest.raises(DataFileError, match="is not a folder of views, so it is not replaced"):
        write_views(small(), target, overwrite=True)
    assert os.listdir(target) == ([content] if content else [])


def test_a_file_is_never_replaced(tmp_path):
    (tmp_path / "v").write_text("mine")
    with pytest.raises(DataFileError, match="is not a folder of views"):
        write_views(small(), tmp_path / "v", overwrite=True)
    assert (tmp_path / "v").read_text() == "mine"


def test_files_that_a_user_put_into_the_folder_are_not_lost(tmp_path):
    small().write(tmp_path / "v")
    (tmp_path / "v" / "notes.txt").write_text("mine")
    with pytest.raises(DataFileError, match=r"holds files that are not of its views \('notes.txt'\)"):
        small().write(tmp_path / "v", overwrite=True)


def test_a_write_that_fails_leaves_the_old_folder(tmp_path, monkeypatch):
    small().write(tmp_path / "v")
    monkeypatch.setattr(files.np, "save", lambda *a, **k: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        small(ids=[1, 2]).write(tmp_path / "v", overwrite=True)
    assert read_views(tmp_path / "v") == small()
    assert os.listdir(tmp_path) == ["v"]


@pytest.mark.skipif(
    not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here: a writer that is killed is not checked"
)
def test_a_write_that_is_killed_leaves_the_old_folder(tmp_path):
    small().write(tmp_path / "v")
    script = (
        "import os, signal, sys, numpy as np\n"
        "from coview import Views\n"
        "from coview.io import views_files as files\n"
        "real = np.save\n"
        "def save(path, array, **options):\n"
        "    real(path, array, **options)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "np.save = save\n"
        "Views(a=np.ones((3, 3)), b=np.ones((3, 3))).write(sys.argv[1], overwrite=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "v")], check=False)
    assert done.returncode == -signal.SIGKILL
    assert read_views(tmp_path / "v") == small()


def test_ids_that_no_file_can_hold_are_refused(tmp_path):
    X = small(ids=np.array([("a", 1), None], dtype=object))
    with pytest.raises(DataFileError, match=r"ids of type object cannot be written. Turn them into text or integers."):
        X.write(tmp_path / "v")
    assert os.listdir(tmp_path) == []


def test_views_without_rows_are_not_written(tmp_path):
    with pytest.raises(DataFileError, match="no rows to write"):
        small()[[]].write(tmp_path / "v")


# -- damaged folders


def change_manifest(folder, change):
    path = folder / "views.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda m: m.update(version=2), "is of format 2, but this coview reads format 1. Update coview."),
        (lambda m: m.update(format="other"), "is damaged or not of coview"),
        (lambda m: m.update(views=3), "is damaged or not of coview"),
        (lambda m: m.pop("ids"), "is damaged (KeyError: 'ids')"),
        (lambda m: m.update(ids={"dtype": "<i8", "values": ["x", "y"]}), "is damaged"),
        (lambda m: m.update(ids={"dtype": "nonsense", "values": [1, 2]}), "is damaged"),
        (lambda m: m["views"][0].pop("shape"), "is damaged (KeyError: 'shape')"),
        (lambda m: m["views"][0].update(absent=[99]), "is damaged (IndexError"),
        (lambda m: m["views"][0].update(file="../v/00-words.npz"), "which is not one of this folder"),
        (lambda m: m["views"][0].update(file="gone.npz"), "lacks the file 'gone.npz' of view 'words'"),
        (lambda m: m["views"][0].update(shape=[2, 4]), "is not the matrix that was written there"),
        (lambda m: m["views"][0].update(file="01-image.npy"), "is not the matrix that was written there"),
        (lambda m: m["views"][0].update(feature_names=["one"]), "View 'words' has 3 features, but 1 feature names"),
        (lambda m: m["views"][1].update(absent=[0]), "View 'image' has 1 non-zero values in rows"),
    ],
)
def test_a_changed_manifest_is_refused(tmp_path, change, sentence):
    small(ids=[1, 2]).write(tmp_path / "v")
    change_manifest(tmp_path / "v", change)
    with pytest.raises(CoviewError, match=re.escape(sentence)):
        read_views(tmp_path / "v")


@pytest.mark.parametrize("text", ["", "{", "[]", "not json"])
def test_a_broken_manifest_is_refused(tmp_path, text):
    small().write(tmp_path / "v")
    (tmp_path / "v" / "views.json").write_text(text)
    with pytest.raises(DataFileError, match="is damaged or not of coview"):
        read_views(tmp_path / "v")


@pytest.mark.parametrize("name", ["00-words.npz", "01-image.npy"])
@pytest.mark.parametrize("keep", [0, 10, 100, -1])
def test_a_truncated_matrix_is_refused(tmp_path, name, keep):
    small().write(tmp_path / "v")
    file = tmp_path / "v" / name
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(DataFileError, match=name):
        read_views(tmp_path / "v")


# -- folders and files of others


def test_a_folder_without_manifest_takes_every_known_file(tmp_path):
    np.save(tmp_path / "image.npy", np.eye(2))
    sparse.save_npz(tmp_path / "words.npz", sparse.csr_array(WORDS))
    (tmp_path / "README.md").write_text("notes")
    (tmp_path / ".hidden.npy").write_text("x")
    (tmp_path / "more.npy").mkdir()
    assert read_views(tmp_path) == Views(image=np.eye(2), words=sparse.csr_array(WORDS))


def test_one_file_per_view(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(2))
    np.save(tmp_path / "b.npy", WORDS)
    expected = Views(words=WORDS, image=np.eye(2))
    assert read_views({"words": str(tmp_path / "b.npy"), "image": tmp_path / "a.npy"}) == expected


def test_one_file_is_the_view_of_its_stem(tmp_path):
    np.save(tmp_path / "image.npy", np.eye(2))
    assert read_views(tmp_path / "image.npy").names == ("image",)


def test_same_ids_are_kept_in_order(tmp_path):
    (tmp_path / "a.csv").write_text("id,x\nq,1\np,2\n")
    (tmp_path / "b.jsonl").write_text('{"id": "q", "f": 1}\n{"id": "p", "g": 2}\n')
    X = read_views(tmp_path)
    assert X.ids.tolist() == ["q", "p"]
    assert X.present.all()
    assert X["b"].toarray().tolist() == [[1, 0], [0, 2]]


def test_different_ids_are_joined(tmp_path):
    (tmp_path / "a.csv").write_text("id,x,y\nq,1,1\np,2,2\n")
    (tmp_path / "b.jsonl").write_text('{"id": "p", "f": 1}\n{"id": "r", "g": 2}\n')
    X = read_views(tmp_path)
    assert X.ids.tolist() == ["q", "p", "r"]
    assert X.present.tolist() == [[True, False], [True, True], [False, True]]
    assert X["a"].tolist() == [[1, 1], [2, 2], [0, 0]]
    assert X.feature_names["a"].tolist() == ["x", "y"]
    assert X.feature_names["b"].tolist() == ["f", "g"]


def test_numbers_and_text_of_the_same_id_meet(tmp_path):
    (tmp_path / "a.csv").write_text("id,x\n1,10\n2,20\n")
    (tmp_path / "b.jsonl").write_text('{"id": "2", "f": 1}\n{"id": "1", "f": 2}\n')
    X = read_views(tmp_path)
    assert X.ids.tolist() == ["1", "2"]
    assert X["b"].toarray().tolist() == [[2], [1]]


def test_ids_of_one_file_serve_files_without(tmp_path):
    (tmp_path / "a.csv").write_text("id,x\nq,1\np,2\n")
    np.save(tmp_path / "b.npy", np.eye(2))
    assert read_views(tmp_path).ids.tolist() == ["q", "p"]


def test_rows_that_lack_a_view_in_their_file_lack_it_after_joining(tmp_path):
    (tmp_path / "a.csv").write_text("id,x,y\nq,1,1\np,,\n")
    (tmp_path / "b.csv").write_text("id,z\np,5\nr,6\n")
    X = read_views(tmp_path)
    assert dict(zip(X.ids.tolist(), X.present.tolist())) == {"q": [True, False], "p": [False, True], "r": [False, True]}


def test_a_file_without_ids_cannot_join_files_with_different_ones(tmp_path):
    (tmp_path / "a.csv").write_text("id,x\nq,1\n")
    (tmp_path / "b.csv").write_text("id,x\np,1\n")
    np.save(tmp_path / "c.npy", np.eye(1))
    with pytest.raises(DataFileError, match="View 'c' has no ids, but the ids of the other files differ"):
        read_views(tmp_path)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (lambda p: p / "absent.npz", "There is no file"),
        (lambda p: p / "absent", "There is no file"),
        (lambda p: {"a": p / "absent.csv"}, "There is no file"),
        (lambda p: p / "words.xls", "has no known format; the extensions read are .npz, .npy, .csv, .tsv, .parquet,"),
        (lambda p: p, "has no file of a known format (.npz, .npy,"),
        (lambda p: np.eye(2), "read_views needs a folder, a file or {view: file}, got ndarray."),
        (lambda p: {"a": np.eye(2)}, "read_views needs a file name for view 'a', got ndarray."),
    ],
    ids=["file", "folder", "mapping", "extension", "empty folder", "matrix", "mapping of matrix"],
)
def test_what_cannot_be_found_is_refused(tmp_path, source, sentence):
    (tmp_path / "words.xls").write_text("x")
    with pytest.raises(DataFileError, match=re.escape(sentence)):
        read_views(source(tmp_path))


def test_two_files_of_one_view_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(2))
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    with pytest.raises(DataFileError, match="has two files of view 'a'"):
        read_views(tmp_path)


def test_files_of_different_length_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(2))
    np.save(tmp_path / "b.npy", np.eye(3))
    with pytest.raises(ViewsError, match="Views must have the same rows: 'a' has 2, 'b' has 3"):
        read_views(tmp_path)


def test_an_archive_of_many_views_is_no_single_view(tmp_path):
    np.savez(tmp_path / "both.npz", words=WORDS, image=np.eye(2))
    assert read_views(tmp_path / "both.npz").names == ("words", "image")
    with pytest.raises(DataFileError, match=r"both.npz holds 2 views \('words', 'image'\)"):
        read_views({"words": tmp_path / "both.npz"})

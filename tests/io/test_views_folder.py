"""Folders of views: there and back, one shard or many, refused with one sentence when damaged."""

import json
import os
import pickle
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from coview import Views, as_views, read_views, write_views
from coview.exceptions import DataFileError
from coview.io.shards import _compute_digest, compute_checksum
from coview.views.lazy import LazyViews

N = 23
WORDS = np.array([[1, 0, 2], [0, 3, 0]])


def open_shards(folder) -> LazyViews:
    return read_views(folder, lazy=True)


def small(**options) -> Views:
    return Views(words=sparse.csr_array(WORDS), image=np.eye(2), **options)


def views(**options) -> Views:
    rng = np.random.default_rng(0)
    words = sparse.random_array((N, 7), density=0.4, format="csr", rng=rng, dtype=np.float32)
    return Views(words=words, links=rng.random((N, 3)), **options)


@pytest.fixture
def folder(tmp_path):
    """Three shards of 10, 10 and 3 rows."""
    write_views(views(ids=np.arange(N)), tmp_path / "s", rows_per_shard=10)
    return tmp_path / "s"


def edit(folder, change) -> None:
    """Change the manifest, with a checksum that fits."""
    path = folder / "views.json"
    content = json.loads(path.read_text())
    content.pop("sha256")
    change(content)
    path.write_text(json.dumps({**content, "sha256": _compute_digest(content)}))


def exchange(folder, name, array) -> None:
    """Write another array in the place of one, with a checksum that fits."""
    np.save(folder / name, array)
    number = compute_checksum(folder / name)
    edit(folder, lambda content: content["shards"][int(name[:5])]["sha256"].update({name: number}))


def owner(array: np.ndarray) -> object:
    """What an array's memory belongs to in the end."""
    while isinstance(array, np.ndarray) and not isinstance(array, np.memmap) and array.base is not None:
        array = array.base
    return array


# -- streams


def test_a_stream_is_written_piece_by_piece(tmp_path):
    X, most = views(ids=np.arange(N)), 0

    def stream():
        nonlocal most
        for start in range(0, N, 4):
            parts = list(tmp_path.glob(".s.*.part/*.data.npy"))
            most = max(most, len(parts))
            yield X[start : start + 4]

    write_views(stream(), tmp_path / "s")
    assert as_views(open_shards(tmp_path / "s")).lengths == (4, 4, 4, 4, 4, 3)
    assert open_shards(tmp_path / "s").collect() == X
    assert most == 5  # all but the last were on disk before the last was made


@pytest.mark.parametrize("per_shard", [1, 7, 8, 50])
def test_a_stream_is_cut_anew(tmp_path, per_shard):
    X = views()
    write_views((X[i : i + 4] for i in range(0, N, 4)), tmp_path / "s", rows_per_shard=per_shard)
    again = open_shards(tmp_path / "s")
    assert set(again.lengths[:-1]) <= {per_shard} and again.lengths[-1] <= per_shard
    assert again.collect() == X


# -- lazily


def test_opening_reads_the_manifest_only(folder, monkeypatch):
    monkeypatch.setattr(np, "load", lambda *_, **__: pytest.fail("ids were read"))
    X = open_shards(folder)
    assert (len(X), X.shape, X.names) == (N, (N, 10), ("words", "links"))
    assert X.nnz[0] > 0 and X.kinds == {"words": "sparse", "links": "dense"} and "23 rows" in repr(X)


def test_a_slice_of_a_shard_is_a_map_of_its_file(tmp_path):
    X = views()
    write_views(X, tmp_path / "s")
    part = open_shards(tmp_path / "s")[5:9]
    for array in (part["words"].data, part["words"].indices, part["links"]):
        assert isinstance(owner(array), np.memmap)
        assert type(array) is np.ndarray and array.flags.aligned and not array.flags.writeable
    assert part["words"].data.size == X["words"][5:9].nnz


def test_selected_views_leave_the_files_of_others_unread(folder, monkeypatch):
    load, seen = np.load, []
    monkeypatch.setattr(np, "load", lambda path, **rest: seen.append(path.name) or load(path, **rest))
    open_shards(folder).select("links")[:3]
    assert seen == ["00000-ids.npy", "00000-01.npy"]


def test_a_shard_that_is_exchanged_after_it_was_read_is_told(folder):
    X = open_shards(folder)
    X.part(0)
    np.save(folder / "00000-01.npy", np.load(folder / "00000-01.npy") + 1)
    for use in (X, X.select("links")):
        with pytest.raises(DataFileError, match=r"00000-01.npy of shard 0 has changed since it was first read"):
            use.part(0)
    assert len(X.part(1)) == 10


def test_a_flipped_bit_is_found_in_every_file(tmp_path):
    write_views(views(ids=np.arange(N)), tmp_path / "s", rows_per_shard=20)
    for file in sorted(path for path in (tmp_path / "s").rglob("*") if path.is_file()):
        content = file.read_bytes()
        file.write_bytes(content[:-20] + bytes([content[-20] ^ 1]) + content[-19:])
        with pytest.raises(DataFileError, match=r"checksum|is damaged"):
            open_shards(tmp_path / "s").collect()
        file.write_bytes(content)
    assert open_shards(tmp_path / "s").collect() == views(ids=np.arange(N))


@pytest.mark.parametrize("stored", ["dense", "sparse"])
def test_what_the_system_does_not_let_grow_is_told_and_leaves_nothing(tmp_path, stored):
    resource = pytest.importorskip("resource", reason="there are no limits of size on Windows")
    matrix = np.random.default_rng(0).random((100, 100))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(DataFileError, match=r"s cannot be written \(.*\). Make room for it, or write it elsewhere"):
            write_views(Views(x=sparse.csr_array(matrix) if stored == "sparse" else matrix), tmp_path / "s")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert os.listdir(tmp_path) == []


def test_pickles_are_small_and_come_back(folder):
    X = open_shards(folder)
    text = pickle.dumps(X.select("links").rename(links="l"))
    assert len(text) < 1000
    again = pickle.loads(text)
    assert again.names == ("l",) and again.collect() == views(ids=np.arange(N)).select("links").rename(links="l")


def test_a_pickle_of_a_folder_that_was_replaced_or_removed_is_refused(folder):
    text = pickle.dumps(open_shards(folder))
    write_views(views(), folder, rows_per_shard=4, overwrite=True)
    with pytest.raises(DataFileError, match="written again"):
        pickle.loads(text)
    shutil.rmtree(folder)
    with pytest.raises(DataFileError, match="cannot be opened here"):
        pickle.loads(text)


# -- damage


@pytest.mark.parametrize("cut", [np.s_[:, :2], np.s_[:4], np.s_[0]])
def test_a_shard_of_another_shape_is_told_when_it_is_read(folder, cut):
    exchange(folder, "00001-01.npy", np.load(folder / "00001-01.npy")[cut])
    with pytest.raises(DataFileError, match=r"00001-01.npy of shard 1 .* \(10, 3\) is needed"):
        open_shards(folder).part(1)
    assert len(open_shards(folder).part(0)) == 10


def test_indices_out_of_range_never_reach_compiled_code(folder):
    words = views()["words"][:10]
    indices, indptr = words.indices.copy(), words.indptr.copy()
    indices[3] = 99
    indptr[3:5] = indptr[5], 0
    for name, array, text in [("indices", indices, "indices must be < 7"), ("indptr", indptr, "no bounds")]:
        before = np.load(folder / f"00000-00.{name}.npy")
        exchange(folder, f"00000-00.{name}.npy", array)
        for use in (lambda X: X.part(0), lambda X: X[[3, 1]]):
            with pytest.raises(DataFileError, match=f"Shard 0 of .*{text}"):
                use(open_shards(folder))
        exchange(folder, f"00000-00.{name}.npy", before)
    assert len(open_shards(folder).part(0)) == 10


def test_one_shard_is_read_into_memory_and_several_stay_on_disk(tmp_path):
    X = views(ids=np.arange(N))
    write_views(X, tmp_path / "one")
    write_views(X, tmp_path / "two", rows_per_shard=20)
    whole = read_views(tmp_path / "one")
    assert isinstance(whole, Views) and whole == X
    assert not isinstance(owner(whole["links"]), np.memmap) and not isinstance(owner(whole["words"].data), np.memmap)
    assert read_views(tmp_path / "two").lengths == (20, 3)
    assert read_views(tmp_path / "one", lazy=True).lengths == (N,)
    assert read_views(tmp_path / "two", lazy=False) == X


# -- one shard


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, bool])
@pytest.mark.parametrize("rows_per_shard", [None, 1])
def test_class_and_dtype_come_back(tmp_path, make, dtype, rows_per_shard):
    X = Views(words=make(WORDS.astype(dtype)))
    write_views(X, tmp_path / "v", rows_per_shard=rows_per_shard)
    again = read_views(tmp_path / "v", lazy=False)
    assert again == X
    assert again["words"].dtype == dtype and type(again["words"]) is type(X["words"])


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
    for rows in (None, 1):
        write_views(X, tmp_path / "v", rows_per_shard=rows, overwrite=True)
        again = read_views(tmp_path / "v", lazy=rows is not None)
        assert again[:] == X and again[1:] == X[1:]
        assert ids is None or again.ids.dtype == X.ids.dtype


def test_order_feature_names_and_missing_rows_come_back(tmp_path):
    image = np.array([[0.0, 0.0], [1.0, 2.0]])
    X = Views(
        {"z": image, "a": sparse.csr_array(WORDS)},
        present={"z": np.array([False, True])},
        feature_names={"a": ["fox", "ß", 'say "no"']},
    )
    write_views(X, tmp_path / "v")
    write_views(X, tmp_path / "s", rows_per_shard=1)
    again = read_views(str(tmp_path / "v") + "/")
    assert again == X == read_views(tmp_path / "s").collect()
    assert again.names == ("z", "a")
    assert open_shards(tmp_path / "s").select("z").collect() == X.select("z")


@settings(max_examples=25, deadline=None)
@given(
    names=st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=60), min_size=1, max_size=3, unique=True)
)
def test_any_text_can_name_a_view(tmp_path_factory, names):
    folder = tmp_path_factory.mktemp("names") / "v"
    X = Views({name: np.eye(2) * i for i, name in enumerate(names)})
    write_views(X, folder)
    assert read_views(folder) == X
    assert {os.path.dirname(file) for file in os.listdir(folder)} == {""}


def test_an_existing_folder_is_kept_unless_asked(tmp_path):
    write_views(small(), tmp_path / "v")
    with pytest.raises(DataFileError, match=r"v exists. Pass overwrite=True"):
        write_views(small(ids=[1, 2]), tmp_path / "v")
    assert read_views(tmp_path / "v").ids is None
    write_views(Views(only=np.eye(2)), tmp_path / "v", overwrite=True)
    assert sorted(os.listdir(tmp_path / "v")) == ["00000-00.npy", "views.json"]


@pytest.mark.parametrize("content", [None, "photo.jpg", "views.json"], ids=["empty", "file", "another views.json"])
def test_a_foreign_folder_is_never_replaced(tmp_path, content):
    target = tmp_path / "v"
    target.mkdir()
    if content:
        (target / content).write_text("{}")
    with pytest.raises(DataFileError, match="is not a folder of views, so it is not replaced"):
        write_views(small(), target, overwrite=True)
    assert os.listdir(target) == ([content] if content else [])
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DataFileError, match="is not a folder of views"):
        write_views(small(), tmp_path / "file", overwrite=True)


def test_files_that_a_user_put_into_the_folder_are_not_lost(tmp_path):
    write_views(small(), tmp_path / "v")
    (tmp_path / "v" / "notes.txt").write_text("mine")
    with pytest.raises(DataFileError, match=r"holds files that are not of its views \('notes.txt'\)"):
        write_views(small(), tmp_path / "v", overwrite=True)


def test_a_write_that_fails_leaves_the_old_folder(tmp_path, monkeypatch):
    write_views(small(), tmp_path / "v")
    monkeypatch.setattr(np, "save", lambda *a, **k: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(DataFileError, match=r"cannot be written.*disk full"):
        write_views(small(ids=[1, 2]), tmp_path / "v", overwrite=True)
    assert read_views(tmp_path / "v") == small()
    assert os.listdir(tmp_path) == ["v"]


@pytest.mark.parametrize(
    "change",
    [
        *(lambda m: m["shards"][0].update(rows=3), lambda m: m["shards"][0]["sha256"].pop("00000-01.npy")),
        *(lambda m: m["shards"][0].update(files=["/etc/passwd"]), lambda m: m["views"][0].update(feature_names=["a"])),
        *(lambda m: m.update(format="coview views 2"), lambda m: m.pop("views")),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(tmp_path, change):
    write_views(small(), tmp_path / "v")
    edit(tmp_path / "v", change)
    with pytest.raises(DataFileError, match=r"damaged"):
        read_views(tmp_path / "v")


def test_values_in_rows_marked_absent_are_refused(tmp_path):
    write_views(small(), tmp_path / "v")
    exchange(tmp_path / "v", "00000-present.npy", np.array([[True, False], [True, True]]))
    with pytest.raises(DataFileError, match="View 'image' has 1 non-zero values in rows"):
        read_views(tmp_path / "v")


# -- folders and files of others


def test_a_folder_without_manifest_takes_every_known_file(tmp_path):
    np.save(tmp_path / "image.npy", np.eye(2))
    sparse.save_npz(tmp_path / "words.npz", sparse.csr_array(WORDS))
    (tmp_path / "README.md").write_text("notes")
    (tmp_path / ".hidden.npy").write_text("x")
    (tmp_path / "more.npy").mkdir()
    assert read_views(tmp_path) == Views(image=np.eye(2), words=sparse.csr_array(WORDS))


def test_different_ids_are_joined(tmp_path):
    (tmp_path / "a.csv").write_text("id,x,y\nq,1,1\np,2,2\n")
    (tmp_path / "b.jsonl").write_text('{"id": "p", "f": 1}\n{"id": "r", "g": 2}\n')
    X = read_views(tmp_path)
    assert X.ids.tolist() == ["q", "p", "r"]
    assert X.present.tolist() == [[True, False], [True, True], [False, True]]
    assert X["a"].tolist() == [[1, 1], [2, 2], [0, 0]]
    assert X.feature_names["a"].tolist() == ["x", "y"]
    assert X.feature_names["b"].tolist() == ["f", "g"]


def test_rows_that_lack_a_view_in_their_file_lack_it_after_joining(tmp_path):
    (tmp_path / "a.csv").write_text("id,x,y\nq,1,1\np,,\n")
    (tmp_path / "b.csv").write_text("id,z\np,5\nr,6\n")
    X = read_views(tmp_path)
    assert dict(zip(X.ids.tolist(), X.present.tolist())) == {"q": [True, False], "p": [False, True], "r": [False, True]}


def test_two_files_of_one_view_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(2))
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    with pytest.raises(DataFileError, match="has two files of view 'a'"):
        read_views(tmp_path)


def test_an_archive_of_many_views_is_no_single_view(tmp_path):
    np.savez(tmp_path / "both.npz", words=WORDS, image=np.eye(2))
    assert read_views(tmp_path / "both.npz").names == ("words", "image")
    with pytest.raises(DataFileError, match=r"both.npz holds 2 views \('words', 'image'\)"):
        read_views({"words": tmp_path / "both.npz"})


def test_what_is_written_is_read_though_most_rows_are_empty(tmp_path):
    rows = np.linspace(0, 8_999_999, 2000).astype(int)
    X = Views(x=sparse.csr_array((np.ones(2000, np.float32), (rows, rows % 3)), shape=(9_000_000, 3)))
    write_views(X, tmp_path / "v")
    assert (read_views(tmp_path / "v")["x"] != X["x"]).nnz == 0

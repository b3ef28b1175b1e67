"""Manifests: filled in from the headers of the files where they say little, refused with one sentence when damaged."""

from __future__ import annotations

import json
import os

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from coview import Views, read_views, write_views
from coview.exceptions import DataFileError
from coview.io.manifest import named_files, read_manifest
from coview.views.lazy import LazyViews

N = 23


def open_shards(folder) -> LazyViews:
    return read_views(folder, lazy=True)


def views() -> Views:
    rng = np.random.default_rng(0)
    words = sparse.random_array((N, 7), density=0.4, format="csr", rng=rng, dtype=np.float32)
    return Views(words=words, links=rng.random((N, 3)))


@pytest.fixture
def folder(tmp_path):
    write_views(views(), tmp_path / "s", rows_per_shard=10)
    return tmp_path / "s"


def edit(folder, change) -> None:
    """Change the manifest, which then has no checksums."""
    path = folder / "views.json"
    content = json.loads(path.read_text())
    content.pop("sha256", None)
    for shard in content["shards"]:
        shard.pop("sha256", None)
    change(content)
    path.write_text(json.dumps(content))


def test_a_manifest_names_every_file_of_its_folder(folder):
    assert named_files(folder) == {path.name for path in folder.iterdir()}


def test_a_manifest_that_was_altered_is_told(folder):
    path = folder / "views.json"
    path.write_text(path.read_text().replace('"links"', '"lenks"'))
    with pytest.raises(DataFileError, match=r'does not match its checksum; if you edited it, remove .* "sha256"'):
        open_shards(folder)
    path.write_text(json.dumps(json.loads(path.read_text().replace('"lenks"', '"links"')), indent=4))
    assert open_shards(folder).collect() == views()  # laid out in another way, it says the same


# -- by hand


def write_by_hand(folder, manifest) -> None:
    (folder / "views.json").write_text(json.dumps({"format": "coview views", "version": 1, **manifest}))


def test_a_minimal_manifest_takes_the_rest_from_the_files(tmp_path):
    X = views()
    for i, rows in enumerate([slice(0, 10), slice(10, N)]):
        sparse.save_npz(tmp_path / f"w{i}.npz", X["words"][rows])  # compressed, as scipy does it
        frame = pl.DataFrame(X["links"][rows], schema=["a", "b", "c"])
        frame.insert_column(0, pl.Series("id", [f"r{j}" for j in range(frame.height)])).write_parquet(
            tmp_path / f"l{i}.parquet"
        )
    names = [{"files": [f"w{i}.npz", f"l{i}.parquet"]} for i in range(2)]
    write_by_hand(tmp_path, {"views": ["words", "links"], "shards": names})
    again = open_shards(tmp_path)
    assert again.lengths == (10, 13) and again.n_features == X.n_features and sum(again.nnz) == X["words"].nnz + 3 * N
    assert again.feature_names["links"].tolist() == ["a", "b", "c"]
    whole = again.collect()
    assert Views(dict(whole.items())) == X
    assert again.ids.tolist() == whole.ids.tolist() and whole.ids[10] == "r0"


def test_files_by_view_in_folders_and_ids_beside_them(tmp_path):
    for name in ("words", "links"):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "0.npy", views()[name].toarray() if name == "words" else views()[name])
    np.save(tmp_path / "ids.npy", np.arange(N))
    shard = {"files": {"links": "links/0.npy", "words": "words/0.npy"}, "ids": "ids.npy"}
    write_by_hand(tmp_path, {"views": ["words", {"name": "links", "dtype": "<f8"}], "shards": [shard]})
    X = open_shards(tmp_path)
    assert X.ids.tolist() == list(range(N)) and X.dtypes == {"words": np.float32, "links": np.float64}


def test_lines_of_a_sparse_table_may_come_in_any_order_and_twice(tmp_path):
    pl.DataFrame({"column": [4, 0, 0], "row": [2, 0, 0], "value": [1.0, 2.0, 3.0]}).write_parquet(
        tmp_path / "a.parquet"
    )
    view = {"name": "w", "kind": "sparse", "features": 5}
    write_by_hand(tmp_path, {"views": [view], "shards": [{"files": ["a.parquet"], "rows": 4}]})
    X = open_shards(tmp_path)
    np.testing.assert_array_equal(X.collect()["w"].toarray(), [[5, 0, 0, 0, 0], [0] * 5, [0, 0, 0, 0, 1], [0] * 5])


def test_rows_of_a_table_without_any_value_lack_the_view(tmp_path):
    pl.DataFrame({"a": [1, None, 3], "b": [4, None, 6]}).write_parquet(tmp_path / "a.parquet")
    write_by_hand(tmp_path, {"views": ["x"], "shards": [{"files": ["a.parquet"]}]})
    found = open_shards(tmp_path).collect()
    assert found.present[:, 0].tolist() == [True, False, True] and found["x"].dtype == np.int64


@pytest.mark.parametrize("make", [sparse.csc_array, sparse.coo_array])
def test_other_sparse_formats_are_read_too(tmp_path, make):
    sparse.save_npz(tmp_path / "a.npz", make(np.eye(4)))
    write_by_hand(tmp_path, {"views": ["x"], "shards": [{"files": ["a.npz"]}]})
    np.testing.assert_array_equal(open_shards(tmp_path)[1:3]["x"].toarray(), np.eye(4)[1:3])


def test_big_endian_files_become_native(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(4, dtype=">f4").reshape(2, 2))
    write_by_hand(tmp_path, {"views": ["x"], "shards": [{"files": ["a.npy"]}]})
    found = open_shards(tmp_path)[:]["x"]
    assert found.dtype.isnative and found.tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("frame", "view", "shard", "text"),
    [
        ({"a": [1, None], "b": [2, 3]}, "x", {}, "1 of 2 cells empty in row 1"),
        ({"a": [1, 2], "b": ["p", "q"]}, "x", {}, "not numeric"),
        ({"id": [1, 2]}, "x", {}, "no column of features"),
        ({"a": [1, 2]}, {"name": "x", "kind": "sparse", "features": 3}, {}, "row, column and value"),
        (
            {"row": [0], "column": [1], "value": [1]},
            {"name": "x", "kind": "sparse", "features": 3},
            {},
            "how many rows",
        ),
        ({"row": [0], "column": [1], "value": [1]}, {"name": "x", "kind": "sparse"}, {"rows": 2}, "how many features"),
        ({"row": [0], "column": [9], "value": [1]}, {"name": "x", "kind": "sparse", "features": 3}, {"rows": 2}, "9"),
    ],
)
def test_tables_that_do_not_fit_are_refused(tmp_path, frame, view, shard, text):
    pl.DataFrame(frame).write_parquet(tmp_path / "a.parquet")
    write_by_hand(tmp_path, {"views": [view], "shards": [{"files": ["a.parquet"], **shard}]})
    with pytest.raises(DataFileError, match=text):
        open_shards(tmp_path).collect()


def test_tables_whose_ids_disagree_are_refused(tmp_path):
    pl.DataFrame({"id": [1, 2], "a": [1, 2]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"id": [1, 3], "a": [1, 2]}).write_parquet(tmp_path / "b.parquet")
    write_by_hand(tmp_path, {"views": ["x", "y"], "shards": [{"files": ["a.parquet", "b.parquet"]}]})
    with pytest.raises(DataFileError, match=r"b.parquet has other ids"):
        open_shards(tmp_path).collect()


def test_zarr_arrays_of_others_need_no_more_than_their_names(tmp_path):
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed; Zarr shards are not tested")
    zarr.create_array(str(tmp_path / "a.zarr"), data=np.arange(6, dtype=">f4").reshape(3, 2), chunks=(2, 1))
    write_by_hand(tmp_path, {"views": ["x"], "shards": [{"files": ["a.zarr"]}]})
    X = open_shards(tmp_path)
    assert X.lengths == (3,) and X.dtypes["x"] == np.float32 and X[1:]["x"].tolist() == [[2, 3], [4, 5]]


# -- damage


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.update(format="other"),
        lambda m: m.update(version="1"),
        lambda m: m.pop("views"),
        lambda m: m.update(views=[]),
        lambda m: m.update(shards={}),
        lambda m: m["views"][0].update(name=""),
        lambda m: m["views"][0].update(name="links"),
        lambda m: m["views"][0].update(kind="object"),
        lambda m: m["views"][0].update(dtype="O"),
        lambda m: m["views"][0].update(dtype="no type"),
        lambda m: m["views"][0].update(dtype=7),
        lambda m: m["views"][0].update(features=-1),
        lambda m: m["views"][0].update(features=True),
        lambda m: m["views"][0].update(feature_names=["a"]),
        lambda m: m["views"][0].update(feature_names=[1] * 7),
        lambda m: m["views"].append(None),
        lambda m: m["shards"].append(7),
        lambda m: m["shards"][0].pop("files"),
        lambda m: m["shards"][0].update(rows=0),
        lambda m: m["shards"][0].update(rows="10"),
        lambda m: m["shards"][0].update(nnz=[1]),
        lambda m: m["shards"][0].update(nnz=[-1, 0]),
        lambda m: m["shards"][0]["files"].pop(),
        lambda m: m["shards"][0].update(files=["../x.npz", "00000-01-links.npy"]),
        lambda m: m["shards"][0].update(files=["/etc/x.npz", "00000-01-links.npy"]),
        lambda m: m["shards"][0].update(files=["views.json", "00000-01-links.npy"]),
        lambda m: m["shards"][0].update(files=[None, "00000-01-links.npy"]),
        lambda m: m["shards"][0].update(ids="00000-00-words.safetensors"),
        lambda m: m["shards"][0].update(sha256=["a"]),
        lambda m: m["shards"][0].update(sha256={"a": 1}),
    ],
)
def test_a_damaged_manifest_is_refused(folder, change):
    edit(folder, change)
    with pytest.raises(DataFileError, match=r"views.json is damaged"):
        open_shards(folder)


@pytest.mark.parametrize("kind", ["file", "chunk", "pipe"])
def test_nothing_is_read_from_outside_of_the_folder(folder, kind):
    file = next(folder.glob("*.npy"))
    if kind == "chunk":
        pytest.importorskip("zarr", minversion="3", reason="zarr is not installed; Zarr shards are not tested")
        write_views(views(), folder, format="zarr", overwrite=True)
        file = next(path for path in folder.rglob("c/*") if path.is_file())
    moved = file.rename(folder.parent / "elsewhere")
    if kind == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to(moved)
    with pytest.raises(DataFileError, match="in another folder, by a link, or as no regular file, which is not read"):
        open_shards(folder)


@pytest.mark.parametrize("text", ["", "[1, 2", "7", "null", "[" * 100_000])
def test_a_manifest_that_is_no_json_object_is_refused(folder, text):
    (folder / "views.json").write_text(text)
    with pytest.raises(DataFileError, match=r"views.json is damaged"):
        open_shards(folder)


def test_a_newer_format_asks_for_a_newer_coview(folder):
    edit(folder, lambda m: m.update(version=2))
    with pytest.raises(DataFileError, match=r"format 2, but this coview reads 1. Update coview"):
        open_shards(folder)


@pytest.mark.parametrize("size", [1_000_000, 1_000_000_000])
def test_rows_that_the_manifest_invents_are_told(folder, size):
    edit(folder, lambda m: m["shards"][0].update(rows=size))
    with pytest.raises(DataFileError, match=f"{size}|{size + 13}"):
        open_shards(folder).part(0)


def test_features_that_would_fill_the_memory_are_told(folder):
    edit(folder, lambda m: m["views"][0].update(features=2_000_000_000))
    with pytest.raises(DataFileError, match="states 2000000000 features of view 'words', but its files have"):
        open_shards(folder)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('"views": ["x", "x"], "shards": [{"files": ["a.npy", "a.npy"]}]', "2 views have the name 'x'"),
    ],
)
def test_repeated_names_are_told(tmp_path, text, sentence):
    np.save(tmp_path / "a.npy", np.eye(2))
    (tmp_path / "views.json").write_text(f'{{"format": "coview views", "version": 1, {text}}}')
    with pytest.raises(DataFileError, match=sentence):
        read_views(tmp_path)


def test_a_name_that_no_file_can_have_is_told(folder):
    edit(folder, lambda m: m["shards"][0]["files"].__setitem__(0, "x" * 5000 + ".npy"))
    with pytest.raises(DataFileError, match="lacks the file"):
        open_shards(folder)


@pytest.mark.parametrize(
    ("frame", "view", "sentence"),
    [
        ({"a": [1, 2, 3]}, "x", "a.parquet has 3 rows, but its shard has 2"),
        ({"row": [0, 2], "column": [0, 0], "value": [1, 1]}, "sparse", "rows 0 to 2, but its shard has 2 rows"),
        ({"row": [-1, 1], "column": [0, 0], "value": [1, 1]}, "sparse", "rows -1 to 1, but its shard has 2 rows"),
        ({"row": [0, None], "column": [0, 0], "value": [1, 1]}, "sparse", "rows without a number"),
        ({"row": [0.5, 1], "column": [0, 0], "value": [1, 1]}, "sparse", "must have integers"),
    ],
)
def test_rows_of_a_table_beyond_those_that_are_declared_are_told(tmp_path, frame, view, sentence):
    pl.DataFrame(frame).write_parquet(tmp_path / "a.parquet")
    entry = {"name": "x", "kind": "sparse", "features": 1} if view == "sparse" else view
    write_by_hand(tmp_path, {"views": [entry], "shards": [{"rows": 2, "files": ["a.parquet"]}]})
    X = open_shards(tmp_path)
    for _ in range(2):
        with pytest.raises(DataFileError, match=sentence):
            X[:1]


def test_a_folder_without_a_manifest_is_refused(tmp_path):
    with pytest.raises(DataFileError, match="cannot be read"):
        read_manifest(tmp_path)

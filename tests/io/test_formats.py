"""Each file format: what it holds comes in, and a bad file is refused with a sentence that names it."""

from __future__ import annotations

import builtins
import pickle
import re
import tracemalloc
import warnings
import zipfile

import anndata
import h5py
import mudata
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import io, sparse
from sklearn.datasets import dump_svmlight_file

from coview import TableViews
from coview.exceptions import CoviewError, DataFileError, ViewsError
from coview.io import tables
from coview.io.formats import EXTENSIONS
from coview.io.views_folder import read_views

WORDS = np.array([[1, 0, 2], [0, 3, 0]])


def read(path):
    return read_views({"v": path})


# -- arrays


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array])
@pytest.mark.parametrize("compressed", [True, False])
def test_npz_of_scipy(tmp_path, make, compressed):
    sparse.save_npz(tmp_path / "v.npz", make(WORDS), compressed=compressed)
    np.testing.assert_array_equal(read(tmp_path / "v.npz")["v"].toarray(), WORDS)


def test_npz_of_one_array(tmp_path):
    np.savez_compressed(tmp_path / "v.npz", WORDS)
    np.testing.assert_array_equal(read(tmp_path / "v.npz")["v"], WORDS)


@pytest.mark.parametrize("with_shape", [True, False])
def test_npz_of_csr_parts(tmp_path, with_shape):
    csr = sparse.csr_array(WORDS)
    parts = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr}
    np.savez(tmp_path / "v.npz", **parts, **({"shape": csr.shape} if with_shape else {}))
    np.testing.assert_array_equal(read(tmp_path / "v.npz")["v"].toarray(), WORDS)


@pytest.mark.parametrize("form", [{}, {"format": b"csr"}], ids=["parts", "scipy"])
def test_npz_with_indices_out_of_range_is_refused(tmp_path, form):
    np.savez(tmp_path / "v.npz", data=np.ones(1), indices=np.array([9]), indptr=np.array([0, 1]), shape=(1, 3), **form)
    with pytest.raises(DataFileError, match=r"v\.npz cannot be read"):
        read(tmp_path / "v.npz")


def test_npy_keeps_float32(tmp_path):
    np.save(tmp_path / "v.npy", WORDS.astype(np.float32))
    assert read(tmp_path / "v.npy")["v"].dtype == np.float32


class Bomb:
    """Unpickling it would raise."""

    def __reduce__(self):
        return (exec, ("raise SystemExit('a pickle was executed')",))


@pytest.mark.parametrize("name", ["v.npy", "v.npz"])
def test_pickles_are_never_executed(tmp_path, name):
    array = np.array([[Bomb()]], dtype=object)
    (np.save if name.endswith("npy") else np.savez)(tmp_path / name, array, allow_pickle=True)
    with pytest.raises(DataFileError, match=name):
        read(tmp_path / name)
    (tmp_path / name).write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(DataFileError, match=name):
        read(tmp_path / name)


@pytest.mark.parametrize("kind", ["sparse", "pattern", "dense"])
def test_mtx(tmp_path, kind):
    if kind == "pattern":
        (tmp_path / "v.mtx").write_text(
            "%%MatrixMarket matrix coordinate pattern general\n2 3 3\n1 1\n1 3\n2 2\n",
        )
        expected = (WORDS > 0).astype(int)
    else:
        io.mmwrite(tmp_path / "v.mtx", sparse.coo_array(WORDS) if kind == "sparse" else WORDS)
        expected = WORDS
    found = read(tmp_path / "v.mtx")["v"]
    assert sparse.issparse(found) == (kind != "dense")
    np.testing.assert_array_equal(found.toarray() if kind != "dense" else found, expected)


def test_svmlight_leaves_labels_out(tmp_path):
    dump_svmlight_file(WORDS, [1, 0], str(tmp_path / "v.svmlight"))
    np.testing.assert_array_equal(read(tmp_path / "v.svmlight")["v"].toarray(), WORDS)


# -- tables


@pytest.mark.parametrize(("extension", "tab"), [("csv", ","), ("tsv", "\t"), ("CSV", ",")])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "with a byte order mark"])
def test_delimited_with_ids(tmp_path, extension, tab, mark):
    path = tmp_path / f"v.{extension}"
    path.write_text(mark + "\n".join(tab.join(row) for row in (["id", "x", "y"], ["a", "1", "2"], ["b", "3", "4"])))
    X = read(path)
    assert (X.ids.tolist(), X["v"].tolist(), X["v"].dtype) == (["a", "b"], [[1, 2], [3, 4]], np.int64)
    assert X.feature_names["v"].tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("text", "ids", "values"),
    [
        ("x,y\n1,2\n3,4\n", None, [[1, 2], [3, 4]]),
        ("x,y\n1,2.5\n3,4e1\n", None, [[1, 2.5], [3, 40]]),
        ("x\n1\n1\n", None, [[1], [1]]),
        ("name,y\nann,2\nbob,4\n", ["ann", "bob"], [[2], [4]]),
        ("ID,y\n7,2\n9,4\n", [7, 9], [[2], [4]]),
        ("id,y\n007,2\n9,4\n", ["007", "9"], [[2], [4]]),
        (",0,1\n5,1,2\n6,3,4\n", [5, 6], [[1, 2], [3, 4]]),
        ("0,1\n5,6\n", None, [[5, 6]]),
        ('"x","y, z"\r\n 1 ,2\r\n\r\n', None, [[1, 2]]),
    ],
)
def test_csv_by_example(tmp_path, text, ids, values):
    (tmp_path / "v.csv").write_bytes(text.encode())
    X = read(tmp_path / "v.csv")
    assert X["v"].tolist() == values
    assert (None if X.ids is None else X.ids.tolist()) == ids


def test_csv_matches_pandas_over_many_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "_CHUNK", 3)
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(10, 4)), columns=list("wxyz"))
    frame.to_csv(tmp_path / "v.csv", index=False)
    np.testing.assert_array_equal(read(tmp_path / "v.csv")["v"], frame.to_numpy())


def test_rows_without_any_cell_lack_the_view(tmp_path):
    (tmp_path / "v.csv").write_text("id,x,y\na,1,2\nb,,\n")
    (tmp_path / "w.csv").write_text("x,y\n1,2\n,\n")
    for name in ("v.csv", "w.csv"):
        X = read(tmp_path / name)
        assert X.present[:, 0].tolist() == [True, False]
        assert X["v"].tolist() == [[1, 2], [0, 0]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "v.csv is empty (0 bytes)"),
        ("\n\n", "v.csv has no header row: its first line is empty."),
        ("x,y\n", "v.csv has a header row but no rows below it."),
        ("1.5,2.5\n1,2\n", "v.csv has no header row: its first line is all numbers."),
        ("<!DOCTYPE html>\n<html></html>\n", "v.csv is HTML or XML by content ('<!DOCTYPE html>')"),
        ("x,y\n1,2\n3\n", "v.csv has 1 cells in line 3, but 2 in its header."),
        ("x,y\n1,2\n3,4,5\n", "v.csv has 3 cells in line 3, but 2 in its header."),
        ("x,y\n1,2\n\n3,4\n", "v.csv has an empty line (3) between its rows."),
        ('x,y\n1,"2\n', "v.csv is broken in line 2"),
        ("x,y\n1,two\n", "v.csv has 'two' in column 'y' of line 2, which is not a number."),
        ("x,y\n1,2\n3,\n", "v.csv has 1 of 2 cells empty in line 3."),
        (
            "name,y\nann,2\nann,4\n",
            "v.csv has 'ann' in column 'name' of line 2, which is not a number, nor an id",
        ),
        ("id\na\nb\n", "v.csv has no column of features beside 'id'."),
        ('id,x,y\n"a\nb",1,2\nc,3,foo\n', "v.csv has 'foo' in column 'y' of line 4, which is not a number."),
        ('id,x,y\n"a\nb",1,2\nc,3,\n', "v.csv has 1 of 2 cells empty in line 4."),
        ('name,x\n"1\n",1\nann,2\nann,3\n', "v.csv has 'ann' in column 'name' of line 4, which is not a number"),
        ("x,y\n1,1_000\n", "v.csv has '1_000' in column 'y' of line 2, which is not a number."),
        ("x,y\n1_000,1\n1_000,2\n", "v.csv has '1_000' in column 'x' of line 2, which is not a number"),
        ("x,y\n1,nan\n", "View 'v' has NaN or infinity"),
        ("x,y\n1,inf\n", "View 'v' has NaN or infinity"),
    ],
)
def test_bad_csv_is_refused(tmp_path, text, sentence):
    (tmp_path / "v.csv").write_text(text)
    with pytest.raises(CoviewError, match=re.escape(sentence)):
        read(tmp_path / "v.csv")


def test_bytes_that_are_no_text_are_refused(tmp_path):
    for name in ("v.csv", "v.tsv", "v.jsonl"):
        (tmp_path / name).write_bytes(b"x,y\n\xff\xfe\x00,1\n")
        with pytest.raises(DataFileError, match=name):
            read(tmp_path / name)


@pytest.mark.parametrize(
    ("columns", "ids", "present"),
    [
        ({"x": [1, 2], "y": [0.5, 1.5]}, None, [True, True]),
        ({"id": [7, 9], "x": [1, 2]}, [7, 9], [True, True]),
        ({"name": ["a", "b"], "x": [1, 2]}, ["a", "b"], [True, True]),
        ({"id": ["a", "b"], "x": [1, None], "y": [2, None]}, ["a", "b"], [True, False]),
    ],
)
def test_parquet(tmp_path, columns, ids, present):
    pl.DataFrame(columns).write_parquet(tmp_path / "v.parquet")
    X = read(tmp_path / "v.parquet")
    values = {name: column for name, column in columns.items() if name not in ("id", "name")}
    assert X.feature_names["v"].tolist() == list(values)
    np.testing.assert_array_equal(X["v"], np.nan_to_num(np.array(list(values.values()), dtype=float).T))
    assert X.present[:, 0].tolist() == present
    assert (None if X.ids is None else X.ids.tolist()) == ids


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"id": [1, 2]}, "v.parquet has no column of features beside 'id'."),
        ({"x": [1, 2], "y": [None, 1]}, "v.parquet has 1 of 2 cells empty in row 0 (counting from 0)."),
        ({"x": [1, 2], "y": ["a", "a"]}, "View 'v' has column 'y' of type String"),
        ({"id": ["a", None], "x": [1, 2]}, "v.parquet has ids such as 'a'; ids must be all strings or all integers."),
    ],
)
def test_bad_parquet_is_refused(tmp_path, columns, sentence):
    pl.DataFrame(columns).write_parquet(tmp_path / "v.parquet")
    with pytest.raises(CoviewError, match=re.escape(sentence)):
        read(tmp_path / "v.parquet")


@pytest.mark.parametrize(
    ("name", "absent", "sentence"),
    [
        ("v.parquet", ("polars", "pyarrow"), 'pip install "coview[parquet]"'),
        ("v.h5mu", ("mudata",), 'pip install "coview[mudata]"'),
    ],
)
def test_a_format_whose_library_is_absent_says_what_to_install(tmp_path, monkeypatch, name, absent, sentence):
    real = builtins.__import__

    def without(module, *args, **kwargs):
        if module.split(".")[0] in absent:
            raise ImportError(module)
        return real(module, *args, **kwargs)

    (tmp_path / name).write_bytes(b"anything")
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DataFileError, match=re.escape(sentence)):
        read(tmp_path / name)


def test_jsonl_is_sparse_with_features_in_order_of_appearance(tmp_path):
    lines = ['{"id": "p", "sea": 2, "fox": 1}', "{}", '{"fox": 0, "air": 3}']
    (tmp_path / "v.jsonl").write_text("\n".join(line for line in lines[:1]) + "\n")
    assert read(tmp_path / "v.jsonl").ids.tolist() == ["p"]
    (tmp_path / "v.jsonl").write_text("\n".join(['{"sea": 2, "fox": 1}', *lines[1:]]))
    X = read(tmp_path / "v.jsonl")
    assert sparse.issparse(X["v"])
    assert X.feature_names["v"].tolist() == ["sea", "fox", "air"]
    assert X["v"].toarray().tolist() == [[2, 1, 0], [0, 0, 0], [0, 0, 3]]
    assert X["v"].dtype == np.int64
    assert X["v"].nnz == 3
    assert X.present.all()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"a": 1}\n{"a": ', "v.jsonl has no JSON object in line 2"),
        ('{"a": 1}\n\n{"a": 2}\n', "v.jsonl has no JSON object in line 2"),
        ("[1, 2]\n", "v.jsonl has no JSON object in line 1, but list."),
        ('{"a": "x"}\n', "v.jsonl has 'x' for 'a' in line 1; a number is needed."),
        ('{"a": null}\n', "v.jsonl has None for 'a' in line 1; a number is needed."),
        ('{"id": 1, "a": 1}\n{"a": 1}\n', "v.jsonl has an id in 1 of 2 lines."),
        ('{"id": 1, "a": 1}\n{"id": "b", "a": 1}\n', "ids must be all strings or all integers"),
        ('{"id": 1}\n', "v.jsonl has no non-zero feature."),
        ('{"a": NaN}\n', "View 'v' has NaN or infinity"),
        ("<html>\n", "v.jsonl has no JSON object in line 1"),
        ('{"a": 1, "a": 2}\n', "v.jsonl has no JSON object in line 1 (the key 'a' occurs twice in one object)"),
        ('{"a": ' + "[" * 100_000 + "}", "v.jsonl has no JSON object in line 1 (its lists and objects are nested too"),
        ('{"a": ' + "1" * 5000 + "}", "v.jsonl has no JSON object in line 1 (it has a number of thousands of digits)"),
    ],
)
def test_bad_jsonl_is_refused(tmp_path, text, sentence):
    (tmp_path / "v.jsonl").write_text(text)
    with pytest.raises(CoviewError, match=re.escape(sentence)):
        read(tmp_path / "v.jsonl")


def test_a_matrix_market_file_with_a_zero_byte_is_refused(tmp_path):
    head = b"%%MatrixMarket matrix coordinate real general\n3 3 2\n"
    (tmp_path / "v.mtx").write_bytes(head + b"1 1 1\n2 2 1\0\n")
    with pytest.raises(DataFileError, match=r"v.mtx is no text: it has a zero byte"):
        read(tmp_path / "v.mtx")


@pytest.mark.parametrize("end", [b"1.5", b"1.5E", b"1.5e-", b"x", b""])
def test_a_matrix_market_file_may_end_anywhere(tmp_path, end):
    head = b"%%MatrixMarket matrix coordinate real general\n3 3 2\n"
    (tmp_path / "v.mtx").write_bytes(head + b"1 1 1\n2 2 " + end)
    if end.startswith(b"1.5"):
        assert read(tmp_path / "v.mtx")["v"].sum() == 2.5
    else:
        with pytest.raises(DataFileError, match=r"v.mtx cannot be read"):
            read(tmp_path / "v.mtx")


# -- small files that state much


def states_much(path, sentence):
    with pytest.raises(DataFileError, match=re.escape(sentence)):
        read(path)


@pytest.mark.parametrize(
    ("head", "sentence"),
    [
        ("coordinate real general\n600000000 3 1\n1 1 1\n", "states a matrix of 600000000 x 3 in 66 bytes"),
        ("coordinate real general\n3 600000000 1\n1 1 1\n", "states a matrix of 3 x 600000000 in 66 bytes"),
        ("coordinate real general\n3 3 600000000\n1 1 1\n", "states 600000000 values, but has 66 bytes"),
        ("array real general\n30000 20000\n1\n", "states 600000000 values, but has"),
    ],
)
def test_a_matrix_market_file_that_states_much_is_refused(tmp_path, head, sentence):
    (tmp_path / "v.mtx").write_text(f"%%MatrixMarket matrix {head}")
    states_much(tmp_path / "v.mtx", sentence)


def test_an_svmlight_file_of_billions_of_columns_is_refused(tmp_path):
    (tmp_path / "v.svmlight").write_text("1 1:1 2000000000:1\n")
    states_much(
        tmp_path / "v.svmlight", "states a matrix of 1 x 2000000000 in 19 bytes. Leave out empty rows and columns"
    )


@pytest.mark.parametrize("form", ["csr parts", "coo"])
def test_an_npz_file_of_billions_of_rows_or_columns_is_refused(tmp_path, form):
    if form == "coo":
        sparse.save_npz(tmp_path / "v.npz", sparse.coo_array(([1.0], ([5], [0])), shape=(600_000_000, 1)))
    else:
        np.savez(tmp_path / "v.npz", data=np.ones(1), indices=np.array([599_999_999]), indptr=np.array([0, 1]))
    states_much(tmp_path / "v.npz", "600000000")


def restate(content: bytes, old: str, new: str) -> bytes:
    """Change the header of an array, which keeps its length."""
    assert content.count(old.encode()) == 1
    return content.replace(old.encode() + b" " * (len(new) - len(old)), new.encode())


@pytest.mark.parametrize("new", ["(600000000, 2)", "(1, 2)", "(-3, -2)"])
def test_an_npy_file_that_states_more_or_less_than_it_has_is_refused(tmp_path, new):
    np.save(tmp_path / "v.npy", np.ones((3, 2)))
    content = (tmp_path / "v.npy").read_bytes()
    (tmp_path / "v.npy").write_bytes(restate(content, "(3, 2), }", f"{new}, }}"))
    if new == "(-3, -2)":
        with pytest.raises(DataFileError, match=r"v.npy"):
            read(tmp_path / "v.npy")
    else:
        states_much(tmp_path / "v.npy", "v.npy states an array of")


def test_an_npz_file_that_states_more_than_it_has_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "v.npz", "w") as archive, archive.open("x.npy", "w") as stream:
        np.lib.format.write_array_header_1_0(
            stream, {"descr": "<f8", "fortran_order": False, "shape": (600_000_000, 1)}
        )
        stream.write(bytes(80))
    states_much(tmp_path / "v.npz", "'x' in")


def test_an_archive_with_an_array_twice_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((2, 2)))
    with zipfile.ZipFile(tmp_path / "v.npz", "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            archive.write(tmp_path / "x.npy", "x.npy")
    states_much(tmp_path / "v.npz", "has the array 'x' more than once")


@pytest.mark.parametrize("shape", [(3000, 3000), (1, 9_000_000)])
def test_zeros_are_read_from_an_archive_that_is_as_long_as_they_are(tmp_path, shape):
    np.savez_compressed(tmp_path / "v.npz", np.zeros(shape))
    states_much(tmp_path / "v.npz", "states arrays of 72 MB in 70")
    np.savez(tmp_path / "v.npz", np.zeros(shape))
    assert read(tmp_path / "v.npz").shape == shape


def test_a_sparse_matrix_is_read_as_the_refusal_of_its_packed_file_advises(tmp_path):
    matrix = sparse.csr_array((np.ones(2), np.zeros(2, int), np.linspace(0, 2, 9_000_001).astype(int)))
    sparse.save_npz(tmp_path / "v.npz", matrix)
    states_much(tmp_path / "v.npz", "save_npz(path, matrix, compressed=False)")
    sparse.save_npz(tmp_path / "v.npz", matrix, compressed=False)
    assert read(tmp_path / "v.npz").shape == (9_000_000, 1)


@pytest.mark.parametrize("kind", ["numbers", "a list", "texts"])
def test_a_parquet_file_that_states_much_is_refused(tmp_path, kind):
    columns = {
        "numbers": {f"c{i}": pl.zeros(1_000_000, eager=True) for i in range(9)},
        "a list": {"c": pl.Series([pl.zeros(9_000_000, eager=True)])},
        "texts": {"c": pl.Series(["x" * 10_000]).new_from_index(0, 9000)},
    }
    pl.DataFrame(columns[kind]).write_parquet(tmp_path / "v.parquet")
    if kind == "a list":  # is as long as its page says, whatever the end of the file says
        before, stated, after = (tmp_path / "v.parquet").read_bytes().rpartition(b"\x80\xd1\xca\x08")
        (tmp_path / "v.parquet").write_bytes(before + b"\x82\x80\x80\x00" * bool(stated) + after)
        assert stated and pl.read_parquet(tmp_path / "v.parquet")["c"].list.len().to_list() == [9_000_000]
    for reader in (read, tables.read_table):
        with pytest.raises(DataFileError, match=r"rows x \d columns, \d+(\.\d)? MB of memory, in"):
            reader(tmp_path / "v.parquet")


def test_a_parquet_file_whose_columns_overlap_is_refused(tmp_path):
    pl.DataFrame({"a": np.random.default_rng(0).random(2000)}).write_parquet(
        tmp_path / "v.parquet", compression="uncompressed"
    )
    content = (tmp_path / "v.parquet").read_bytes()
    packed = max(n for n in range(16_000, 16_200) if content.count(varint(n)) > 1)  # of the column, which has a page
    (tmp_path / "v.parquet").write_bytes(content.replace(varint(packed), varint(40_000)))
    states_much(tmp_path / "v.parquet", "its columns overlap")


def varint(number):
    """A number of three bytes as Parquet's headers have it."""
    return bytes([2 * number % 128 + 128, 2 * number // 128 % 128 + 128, 2 * number // 128**2])


def test_numbers_that_repeat_are_read_from_parquet(tmp_path):
    pl.DataFrame({"a": np.zeros(1_000_000)}).write_parquet(tmp_path / "v.parquet")
    assert read(tmp_path / "v.parquet").shape == (1_000_000, 1)


@pytest.mark.filterwarnings("ignore")
def test_an_hdf5_file_that_states_much_is_refused(h5mu):
    with h5py.File(h5mu, "r+") as file:
        file.create_dataset("mod/rna/layers/x", shape=(10**6, 10**6), chunks=(1000, 1000), dtype="f8")
    states_much(h5mu, "states 8000 GB, but has")


@pytest.mark.parametrize("extension", [".csv", ".jsonl", ".parquet"])
def test_one_long_id_among_many_costs_no_more_than_itself(tmp_path, extension):
    ids, path = [f"r{i}" for i in range(10_000)], tmp_path / f"v{extension}"
    ids[3] = "x" * 150_000
    if extension == ".csv":
        path.write_text("id,a\n" + "".join(f"{key},1\n" for key in ids))
    elif extension == ".jsonl":
        path.write_text("".join(f'{{"id": "{key}", "a": 1}}\n' for key in ids))
    else:
        pl.DataFrame({"id": ids, "a": 1}).write_parquet(path)
    tracemalloc.start()
    try:
        X = read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert X.ids.tolist() == ids and peak < 100_000_000  # 6 GB if all were as long


def test_whole_numbers_beyond_64_bits_are_ids_as_text(tmp_path):
    (tmp_path / "v.csv").write_text(f"id,a\n{10**30},1\n2,1\n")
    (tmp_path / "w.jsonl").write_text(f'{{"id": {10**30}, "a": 1}}\n{{"id": 2, "a": 1}}\n')
    for name in ("v.csv", "w.jsonl"):
        assert read(tmp_path / name).ids.tolist() == [str(10**30), "2"]


@pytest.mark.parametrize("kind", [pl.Int128, pl.List(pl.Int128)], ids=str)
def test_integers_that_numpy_does_not_know_are_told(tmp_path, kind):
    values = [1, 2**100] if kind == pl.Int128 else [[1], [2**100]]
    pl.DataFrame({"a": pl.Series(values, dtype=kind)}).write_parquet(tmp_path / "v.parquet")
    with pytest.raises(CoviewError, match="128"):
        read(tmp_path / "v.parquet")
    with pytest.raises(CoviewError, match="128"):
        TableViews(columns={"x": ["a"]}).fit(tables.read_table(tmp_path / "v.parquet"))


def test_a_name_is_no_pattern(tmp_path):
    for name in ("v[1].parquet", "v1.parquet"):
        pl.DataFrame({"a": [len(name)]}).write_parquet(tmp_path / name)
    assert read(tmp_path / "v[1].parquet")["v"].tolist() == [[12]]
    assert tables.read_table(tmp_path / "v[1].parquet")["a"].to_list() == [12]


def test_what_is_no_regular_file_is_not_read(tmp_path):
    (tmp_path / "v.parquet").mkdir()
    states_much(tmp_path / "v.parquet", "v.parquet is not a regular file")


# -- modalities


@pytest.fixture
def h5mu(tmp_path):
    def annotated(matrix, ids, names):
        return anndata.AnnData(matrix, obs=pd.DataFrame(index=list(ids)), var=pd.DataFrame(index=list(names)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = mudata.MuData(
            {
                "rna": annotated(sparse.csr_matrix(np.eye(3)), "pqr", "uvw"),
                "protein": annotated(np.ones((2, 2)), "rs", "xy"),
            }
        )
        data.write(tmp_path / "cells.h5mu")
    return tmp_path / "cells.h5mu"


@pytest.mark.parametrize("how", ["external", "virtual", "external link", "soft link", "second link"])
@pytest.mark.filterwarnings("ignore")
def test_nothing_of_an_hdf5_file_is_read_from_another(h5mu, how):
    np.full((2, 2), 7.0).tofile(h5mu.with_name("secret"))
    with h5py.File(h5mu.with_name("other.h5"), "w") as file:
        file["X"] = np.full((2, 2), 7.0)
    with h5py.File(h5mu, "r+") as file:
        place = file["mod/protein"]
        kept = dict(place["X"].attrs)
        del place["X"]
        if how == "external":
            place.create_dataset("X", (2, 2), "f8", external=[(str(h5mu.with_name("secret")), 0, 32)])
        elif how == "virtual":
            layout = h5py.VirtualLayout((2, 2), "f8")
            layout[:] = h5py.VirtualSource(h5mu.with_name("other.h5"), "X", (2, 2))
            place.create_virtual_dataset("X", layout)
        else:
            links = {"external link": h5py.ExternalLink("other.h5", "X"), "soft link": h5py.SoftLink("/obs")}
            place["X"] = links.get(how, file["mod/rna/X"])
        if "link" not in how:
            place["X"].attrs.update(kept)
    states_much(h5mu, "/X' as a link or in another file, which is not read")


def point_at_the_first(path, count):
    """Let all of the texts "y", as often as they are there, be the one of a megabyte before them."""
    content = path.read_bytes()
    long, short = (rb"%s.{12}" % re.escape(size.to_bytes(4, "little")) for size in (1_000_000, 1))
    records = re.search(rb"(?s)(%s)((?:%s){%d})" % (long, short, count), content)
    path.write_bytes(content.replace(records[2], records[1] * count, 1))


@pytest.mark.parametrize("kind", ["column", "matrix", "record", "attribute"])
@pytest.mark.filterwarnings("ignore")
def test_texts_of_an_hdf5_file_that_are_all_one_are_counted_each(h5mu, kind):
    texts = np.array(["x" * 1_000_000] + ["y"] * 399, dtype=object)
    with h5py.File(h5mu, "r+") as file:
        place, text = file["mod/rna/uns"], h5py.string_dtype()
        if kind == "attribute":
            place.attrs.create("t", texts, dtype=text)
        elif kind == "record":
            place.create_dataset("t", data=texts.astype([("a", text)]))
        else:
            place.create_dataset("t", data=texts if kind == "column" else texts.reshape(20, 20), dtype=text)
    point_at_the_first(h5mu, 399)
    tracemalloc.start()
    try:
        states_much(h5mu, "MB, but has 1.")
        assert tracemalloc.get_traced_memory()[1] < 200 * h5mu.stat().st_size
    finally:
        tracemalloc.stop()


@pytest.mark.filterwarnings("ignore")
def test_long_and_many_texts_of_an_hdf5_file_are_read(h5mu):
    with h5py.File(h5mu, "r+") as file:
        file["mod/rna/uns/t"] = ["x" * 1_000_000, *map(str, range(30_000))]
        file["mod/rna/uns"].attrs["names"] = ["a"] * 100
    assert len(read_views(h5mu)) == 4


@pytest.mark.filterwarnings("ignore")
def test_categories_of_one_column_are_not_those_of_another(h5mu):
    with h5py.File(h5mu, "r+") as file:
        frame = file["mod/rna/obs"]
        frame["__categories/a"] = ["x", "y"]
        for name in "ab":
            frame[name] = np.zeros(3, dtype="i1")
            frame[name].attrs["categories"] = frame["__categories/a"].ref
    states_much(h5mu, "as a link or in another file")


@pytest.mark.filterwarnings("ignore")
def test_a_chunk_of_an_hdf5_file_counts_as_a_whole(h5mu):
    with h5py.File(h5mu, "r+") as file:
        file.create_dataset("mod/rna/layers/x", (3, 3), chunks=(10**7, 3), maxshape=(None, 3), compression="gzip")
    states_much(h5mu, "states 120 MB, but has")


@pytest.mark.filterwarnings("ignore")
def test_h5mu_holds_its_modalities(h5mu):
    X = read_views(h5mu)
    assert set(X.names) == {"rna", "protein"}
    assert sorted(X.ids) == list("pqrs")
    assert X.feature_names["protein"].tolist() == ["x", "y"]
    np.testing.assert_array_equal(X.present[:, X.names.index("protein")], np.isin(X.ids, ["r", "s"]))
    assert X["rna"].sum() == 3


# -- any format


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize(
    "content", [b"", b"\x00\x01\x02 rubbish", b"<html><body>404</body></html>\n", b"PK\x03\x04 half"]
)
def test_rubbish_is_refused_in_one_sentence_that_names_the_file(tmp_path, extension, content):
    path = tmp_path / f"bad{extension}"
    path.write_bytes(content)
    with pytest.raises(DataFileError) as caught:
        read_views(path)
    assert path.name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("extension", [".npz", ".npy", ".parquet", ".mtx", ".h5mu"])
def test_truncated_files_are_refused(tmp_path, extension, h5mu):
    path, big = tmp_path / f"v{extension}", sparse.random(50, 20, 0.5, format="csr", random_state=0)
    if extension == ".npz":
        sparse.save_npz(path, big)
    elif extension == ".npy":
        np.save(path, big.toarray())
    elif extension == ".parquet":
        pl.DataFrame(big.toarray()).write_parquet(path)
    elif extension == ".mtx":
        io.mmwrite(path, big)
    else:
        path = h5mu
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises((DataFileError, ViewsError), match=path.name):
        read_views(path)

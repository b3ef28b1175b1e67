"""Each file format: what it holds comes in, and a bad file is refused with a sentence that names it."""

import pickle
import re
import tracemalloc
import warnings

import anndata
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


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_npz_of_scipy_and_of_one_array(tmp_path, make):
    sparse.save_npz(tmp_path / "v.npz", make(WORDS), compressed=make is sparse.csr_matrix)
    np.savez_compressed(tmp_path / "w.npz", WORDS)
    np.testing.assert_array_equal(read(tmp_path / "v.npz")["v"].toarray(), WORDS)
    np.testing.assert_array_equal(read(tmp_path / "w.npz")["v"], WORDS)


@pytest.mark.parametrize("form", [{}, {"format": b"csr"}], ids=["parts", "scipy"])
def test_npz_with_indices_out_of_range_is_refused(tmp_path, form):
    np.savez(tmp_path / "v.npz", data=np.ones(1), indices=np.array([9]), indptr=np.array([0, 1]), shape=(1, 3), **form)
    with pytest.raises(DataFileError, match=r"v\.npz cannot be read"):
        read(tmp_path / "v.npz")


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
        (tmp_path / "v.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n2 3 3\n1 1\n1 3\n2 2\n")
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


@pytest.mark.parametrize(
    ("text", "ids", "values"),
    [
        *(("x,y\n1,2\n3,4\n", None, [[1, 2], [3, 4]]), ("x,y\n1,2.5\n3,4e1\n", None, [[1, 2.5], [3, 40]])),
        *(("name,y\nann,2\nbob,4\n", ["ann", "bob"], [[2], [4]]), ("ID,y\n7,2\n9,4\n", [7, 9], [[2], [4]])),
        *(("id,y\np7,2\n9,4\n", ["p7", "9"], [[2], [4]]), (",0,1\n5,1,2\n6,3,4\n", [5, 6], [[1, 2], [3, 4]])),
        *(("0,1\n5,6\n", None, [[5, 6]]), ('"x","y, z"\r\n1,2\r\n', None, [[1, 2]])),
    ],
)
def test_csv_by_example(tmp_path, text, ids, values):
    (tmp_path / "v.csv").write_bytes(text.encode())
    X = read(tmp_path / "v.csv")
    assert X["v"].tolist() == values
    assert (None if X.ids is None else X.ids.tolist()) == ids


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
        ("x,y\n", "v.csv has no rows."),
        ("1.5,2.5\n1,2\n", "v.csv has no header row: its first line is all numbers."),
        ("x,y\n1,2\n3\n", "v.csv has 1 of 2 cells empty in row 1 (counting from 0)."),
        ("x,y\n1,two\n", "View 'v' has column 'y' of type String, which is not numeric"),
        ("x,y\n1,2\n3,\n", "v.csv has 1 of 2 cells empty in row 1 (counting from 0)."),
        ("x,y\n1,inf\n", "View 'v' cannot be used: Input contains"),
    ],
)
def test_bad_csv_is_refused(tmp_path, text, sentence):
    (tmp_path / "v.csv").write_text(text)
    with pytest.raises(CoviewError, match=re.escape(sentence)):
        read(tmp_path / "v.csv")


@pytest.mark.parametrize(
    ("columns", "ids", "present"),
    [
        ({"x": [1, 2], "y": [0.5, 1.5]}, None, [True, True]),
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


def test_jsonl_is_sparse_with_features_in_order_of_appearance(tmp_path):
    lines = ['{"id": "p", "sea": 2, "fox": 1}', "{}", '{"fox": 0, "air": 3}']
    (tmp_path / "v.jsonl").write_text(lines[0] + "\n")
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
        ("[1, 2]\n", "v.jsonl has no JSON object in line 1, but list."),
        ('{"a": "x"}\n', "v.jsonl has 'x' for 'a' in line 1; a number is needed."),
        ('{"id": 1, "a": 1}\n{"a": 1}\n', "v.jsonl has an id in 1 of 2 lines."),
        ('{"id": 1, "a": 1}\n{"id": "b", "a": 1}\n', "ids must be all strings or all integers"),
        ('{"id": 1}\n', "v.jsonl has no non-zero feature."),
        ('{"a": NaN}\n', "View 'v' cannot be used: Input contains"),
        ('{"a": ' + "[" * 100_000 + "}", "v.jsonl has no JSON object in line 1 (its lists and objects are nested too"),
        ('{"a": ' + "1" * 5000 + "}", "v.jsonl has no JSON object in line 1"),
    ],
)
def test_bad_jsonl_is_refused(tmp_path, text, sentence):
    (tmp_path / "v.jsonl").write_text(text)
    with pytest.raises(CoviewError, match=re.escape(sentence)):
        read(tmp_path / "v.jsonl")


@pytest.mark.parametrize("end", [b"1.5", b"1.5e-", b"x", b""])
def test_a_matrix_market_file_may_end_anywhere(tmp_path, end):
    head = b"%%MatrixMarket matrix coordinate real general\n3 3 2\n"
    (tmp_path / "v.mtx").write_bytes(head + b"1 1 1\n2 2 " + end)
    if end.startswith(b"1.5"):
        assert read(tmp_path / "v.mtx")["v"].sum() == 2.5
    else:
        with pytest.raises(DataFileError, match=r"v.mtx cannot be read"):
            read(tmp_path / "v.mtx")


# -- small files that state much


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


def test_integers_that_numpy_does_not_know_are_told(tmp_path):
    pl.DataFrame({"a": pl.Series([1, 2**100], dtype=pl.Int128)}).write_parquet(tmp_path / "v.parquet")
    with pytest.raises(CoviewError, match="128"):
        read(tmp_path / "v.parquet")
    assert TableViews("b", id="a").fit_transform({"a": [1, 2**100], "b": ["red", "sea"]}).ids.tolist() == [
        "1",
        str(2**100),
    ]


def test_a_name_is_no_pattern(tmp_path):
    for name in ("v[1].parquet", "v1.parquet"):
        pl.DataFrame({"a": [len(name)]}).write_parquet(tmp_path / name)
    assert read(tmp_path / "v[1].parquet")["v"].tolist() == [[12]]
    assert tables.read_table(tmp_path / "v[1].parquet")["a"].to_list() == [12]


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
def test_rubbish_is_refused_in_one_sentence_that_names_the_file(tmp_path, extension):
    path = tmp_path / f"bad{extension}"
    for content in (b"", b"\x00\x01\x02 rubbish", b"<html><body>404</body></html>\n", b"PK\x03\x04 half"):
        path.write_bytes(content)
        with pytest.raises(DataFileError) as caught:
            read_views(path)
        assert path.name in str(caught.value) and "\n" not in str(caught.value)


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


def test_whole_numbers_beyond_64_bits_are_ids_as_text(tmp_path):
    (tmp_path / "v.csv").write_text(f"id,a\n{10**30},1\n2,1\n")
    (tmp_path / "w.jsonl").write_text(f'{{"id": {10**30}, "a": 1}}\n{{"id": 2, "a": 1}}\n')
    for name in ("v.csv", "w.jsonl"):
        assert read(tmp_path / name).ids.tolist() == [str(10**30), "2"]

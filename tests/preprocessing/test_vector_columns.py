"""Columns of vectors become dense views, from Python's lists, frames and files, without a Python object per row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from coview import TableViews, read_table, read_views
from coview.exceptions import ViewsError

VECTORS = [[0.5, -1.0, 2.0], None, [1.5, 0.0, -3.0], [0.25, 4.0, 8.0]]
MATRIX = np.array([[0.5, -1.0, 2.0], [0, 0, 0], [1.5, 0.0, -3.0], [0.25, 4.0, 8.0]])


SOURCES = {
    "lists": lambda: {"v": VECTORS},
    "arrays": lambda: {"v": [None if v is None else np.array(v, dtype=np.float32) for v in VECTORS]},
    "rows of NaN": lambda: {"v": np.array([[np.nan] * 3 if v is None else v for v in VECTORS], dtype=np.float32)},
    "mappings": lambda: [{"v": v} for v in VECTORS],
    "pandas arrays": lambda: pd.DataFrame({"v": [None if v is None else np.array(v, "f4") for v in VECTORS]}),
    "polars lists": lambda: pl.DataFrame({"v": VECTORS}, schema={"v": pl.List(pl.Float32)}),
    "polars arrays": lambda: pl.DataFrame({"v": VECTORS}, schema={"v": pl.Array(pl.Float32, 3)}),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_a_column_of_vectors_is_a_dense_view(kind):
    X = TableViews(columns="v").fit_transform(SOURCES[kind]())
    assert X.names == ("v",) and X.present.ravel().tolist() == [True, False, True, True]
    np.testing.assert_array_equal(X["v"], MATRIX)
    assert X["v"].dtype == (np.float64 if kind in ("lists", "mappings") else np.float32)
    assert "v" not in X.feature_names


def test_the_buffer_of_arrow_is_not_copied():
    frame = pl.DataFrame({"v": [[1.0, 2.0], [3.0, 4.0]]}, schema={"v": pl.List(pl.Float32)})
    X = TableViews(columns={"image": "v"}).fit_transform(frame)
    assert np.shares_memory(X["image"], frame["v"].explode().to_numpy())
    matrix = np.ones((2, 3), dtype=np.float32)
    assert np.shares_memory(TableViews(columns="v").fit_transform({"v": matrix})["v"], matrix)


def test_vectors_stand_beside_other_columns_of_their_view():
    table = {"year": [1999, 2007], "v": [[1.0, 2.0], [3.0, 4.0]]}
    X = TableViews(columns={"all": ["v", "year"]}).fit_transform(table)
    assert X["all"].tolist() == [[1, 2, 1999], [3, 4, 2007]]
    assert X.feature_names["all"].tolist() == ["v_0", "v_1", "year"]


def test_new_vectors_must_have_the_length_of_the_fit():
    front = TableViews(columns="v").fit({"v": [[1.0, 2.0], [3.0, 4.0]]})
    with pytest.raises(ViewsError, match="Column 'v' holds 3 numbers per row, but had 2 in fit"):
        front.transform({"v": [[1.0, 2.0, 3.0]]})
    with pytest.raises(ViewsError, match=r"Column 'v' held numbers in fit, but row 0 .* holds 'a'"):
        front.transform({"v": ["a"]})
    assert not front.transform({"v": [None, None]}).present.any()


# -- files


@pytest.mark.parametrize("dtype", [pl.List(pl.Float32), pl.Array(pl.Float32, 3)], ids=["list", "array"])
def test_parquet(tmp_path, dtype):
    pl.DataFrame({"id": list("abcd"), "v": VECTORS}, schema_overrides={"v": dtype}).write_parquet(
        tmp_path / "v.parquet"
    )
    X = read_views({"image": tmp_path / "v.parquet"})
    assert X.ids.tolist() == list("abcd") and X["image"].dtype == np.float32
    np.testing.assert_array_equal(X["image"], MATRIX)
    assert X.present.ravel().tolist() == [True, False, True, True]
    Y = TableViews(columns={"image": "v"}, id="id").fit_transform(read_table(tmp_path / "v.parquet"))
    assert Y == X


def test_each_column_of_vectors_of_a_file_is_a_view_beside_the_numbers(tmp_path):
    frame = pl.DataFrame({"id": ["a", "b"], "n": [1, 2], "image": [[1.0], [2.0]], "text": [[1.0, 2.0], [3.0, 4.0]]})
    frame.write_parquet(tmp_path / "all.parquet")
    X = read_views(tmp_path / "all.parquet")
    assert X.n_features == {"all": 1, "image": 1, "text": 2} and X.feature_names["all"].tolist() == ["n"]


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame], ids=["dict", "pandas", "polars"])
@pytest.mark.parametrize("values", [[[1.0, 2.0], [3.0, None]], [[1.0, 2.0], [np.nan, 1.0]]])
def test_vectors_of_different_lengths_and_missing_numbers_are_refused(make, values):
    with pytest.raises(ViewsError, match=r"Column 'v' must hold vectors of one length, .* name the column in tokens="):
        TableViews(columns="v").fit(make({"v": [[1.0, 2.0], None, [3.0]]}))
    with pytest.raises(ViewsError, match=r"one length, all of numbers|View 'v' cannot be used: Input contains NaN"):
        TableViews(columns="v").fit_transform(make({"v": values}))

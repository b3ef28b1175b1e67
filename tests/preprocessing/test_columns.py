"""Columns to views: numbers pass through, categories become indicators, gaps are a missing view or a sentence."""

from __future__ import annotations

import re
from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from coview import TableViews
from coview.exceptions import ParameterError, ViewsError
from coview.io.tables import read_table

COLUMNS = {
    "age": [31.0, 7.0, 52.0],
    "size": [1.5, 2.5, 3.5],
    "job": ["cook", None, "smith"],
    "member": [True, False, True],
}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "mapping": dict}


@pytest.fixture(params=FRAMES)
def make(request):
    return FRAMES[request.param]


def dense(array):
    return array.toarray() if sparse.issparse(array) else array


def test_indicators_match_pandas(make):
    columns = {"a": ["x", "y", "x", "z"], "b": ["u", "u", "v", "u"]}
    X = TableViews(columns={"both": ["a", "b"]}).fit_transform(make(columns))
    expected = pd.get_dummies(pd.DataFrame(columns))
    np.testing.assert_array_equal(dense(X["both"]), expected.to_numpy())
    assert X.feature_names["both"].tolist() == list(expected.columns)


def test_groups_mix_kinds_in_the_order_given(make):
    X = TableViews(columns={"person": ["job", "age"], "rest": "member"}).fit_transform(make(COLUMNS))
    assert X.names == ("person", "rest")
    assert X.feature_names["person"].tolist() == ["job_cook", "job_smith", "age"]
    assert dense(X["person"]).tolist() == [[1, 0, 31], [0, 0, 7], [0, 1, 52]]
    assert X.present.all()  # the second person has an age


def test_rows_without_any_value_lack_the_view(make):
    columns = {"a": [1.0, None, 3.0], "b": [4.0, None, 6.0], "c": [1.0, 1.0, 1.0]}
    X = TableViews(columns={"v": ["a", "b"], "w": ["c"]}).fit_transform(make(columns))
    assert X.present.tolist() == [[True, True], [False, True], [True, True]]
    assert X["v"].tolist() == [[1, 4], [0, 0], [3, 6]]


@pytest.mark.parametrize(
    "column",
    [
        ["2020-01-01", None, "2021-07-02"],
        ["2020-01-01 00:00", None, "2021-07-02T00:00:00"],
        np.array(["2020-01-01", "NaT", "2021-07-02"], dtype="datetime64[s]"),
        pd.Series(pd.to_datetime(["2020-01-01", None, "2021-07-02"])),
        pl.Series([date(2020, 1, 1), None, date(2021, 7, 2)]),
        [datetime(2020, 1, 1), None, datetime(2021, 7, 2)],
    ],
    ids=["texts", "texts with times", "numpy", "pandas", "polars", "objects"],
)
def test_dates_become_years(column):
    frame = pl.DataFrame({"d": column}) if isinstance(column, pl.Series) else pd.DataFrame({"d": column})
    X = TableViews(columns="d").fit_transform(frame)
    assert X.present[:, 0].tolist() == [True, False, True]
    assert X["d"][[0, 2], 0] == pytest.approx([2020.0, 2021 + 182 / 365])


def test_unknown_categories_have_no_indicator(make):
    model = TableViews(columns={"v": ["job"]}).fit(make(COLUMNS))
    X = model.transform(make({"job": ["smith", "miner", None]}))
    assert dense(X["v"]).tolist() == [[0, 1], [0, 0], [0, 0]]
    assert X.present[:, 0].tolist() == [True, True, False]


def test_a_column_of_a_group_that_is_absent_counts_as_missing(make):
    model = TableViews(columns={"person": ["age", "job"], "rest": ["member"]}).fit(make(COLUMNS))
    with pytest.warns(UserWarning, match="The table has no column 'job' of view 'person'; it counts as missing in"):
        X = model.transform(make({"age": [1.0]}))
    assert X.names == ("person",) and dense(X["person"])[0, 0] == 1 and not dense(X["person"])[0, 1:].any()
    with pytest.warns(UserWarning, match="no column 'age'"):
        X = model.transform(make({"job": ["smith", None]}))
    assert dense(X["person"])[0, 0] == model.medians_["age"]
    assert X.present[:, 0].tolist() == [True, False]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["a", np.nan, "b"]),
        pd.Series(["a", None, "b"], dtype="category"),
        pl.Series(["a", None, "b"]),
        pl.Series(["a", None, "b"], dtype=pl.Enum(["a", "b"])),
    ],
    ids=["object", "category", "polars", "polars enum"],
)
def test_every_kind_of_category_column(column):
    frame = pd.DataFrame({"c": column}) if isinstance(column, pd.Series) else pl.DataFrame({"c": column})
    X = TableViews(columns="c").fit_transform(frame)
    assert dense(X["c"]).tolist() == [[1, 0], [0, 0], [0, 1]]
    assert X.present[:, 0].tolist() == [True, False, True]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([True, None, False], dtype="boolean"),
        pd.Series([True, None, False], dtype=object),
        [True, None, False],
        np.array([True, None, False], dtype=object),
    ],
    ids=["nullable", "object", "list", "array"],
)
def test_every_kind_of_boolean_column_with_gaps(column):
    X = TableViews(columns="c").fit_transform({"c": column})
    assert X.feature_names["c"].tolist() == ["c_False", "c_True"]
    assert dense(X["c"]).tolist() == [[0, 1], [0, 0], [1, 0]]


def test_the_cell_that_is_no_number_is_named_where_it_made_texts_of_all(tmp_path):
    model = TableViews(columns={"v": ["n"]}).fit({"n": [1, 2]})
    (tmp_path / "new.csv").write_text("m,n\na,\nb,120\nc,tall\nd,130\n")
    with pytest.raises(ViewsError, match=r"Column 'n' held numbers in fit, but row 2 .* holds 'tall'"):
        model.transform(read_table(tmp_path / "new.csv"))


@pytest.mark.parametrize(
    "column",
    [
        pl.Series(["1.5", None, "2.5"]).cast(pl.Decimal(10, 2)),
        pd.Series([1.5, None, 2.5], dtype="Float64"),
        np.array([1.5, np.nan, 2.5], dtype=np.float32),
        [1.5, None, 2.5],
    ],
    ids=["decimal", "nullable", "array", "list"],
)
def test_every_kind_of_numeric_column_with_gaps(column):
    frame = pl.DataFrame({"c": column}) if isinstance(column, pl.Series) else {"c": column}
    frame = pd.DataFrame(frame) if isinstance(column, pd.Series) else frame
    X = TableViews(columns="c").fit_transform(frame)
    assert X["c"].tolist() == [[1.5], [0.0], [2.5]]
    assert X.present[:, 0].tolist() == [True, False, True]


@pytest.mark.parametrize("make_new", [dict, pl.DataFrame])
@pytest.mark.parametrize(("column", "filled"), [("age", 31.0), ("born", 2001.0)])
def test_a_number_that_no_new_row_has_is_filled(make_new, column, filled):
    values = {"age": [31, 7, 52], "born": ["2000-01-01", "2002-01-01", "2001-01-01"]}[column]
    model = TableViews(columns={"person": [column, "job"]}).fit({column: values, "job": ["cook", "smith", "cook"]})
    X = model.transform(make_new({column: [None], "job": ["smith"]}))
    assert dense(X["person"]).tolist() == [[filled, 0, 1]]


def test_a_missing_number_is_the_median_of_the_fit(make):
    columns = {"a": [1.0, None, 3.0, 8.0], "b": [4.0, 5.0, 6.0, 7.0]}
    model = TableViews(columns={"v": ["a", "b"]}).fit(make(columns))
    assert model.transform(make(columns))["v"][1].tolist() == [3.0, 5.0]
    assert model.transform(make({"a": [None, 9.0], "b": [1.0, 1.0]}))["v"].tolist() == [[3.0, 1.0], [9.0, 1.0]]


@pytest.mark.parametrize(
    ("model", "X", "sentence"),
    [
        (TableViews(columns={"v": ["agee"]}), COLUMNS, "no column 'agee' for view 'v'; its columns are 'age', "),
        (TableViews(columns={"v": []}), COLUMNS, "columns must name the columns of each view"),
        (TableViews(columns={"v": 1}), COLUMNS, "column 1 "),
        (TableViews(columns="c"), {"c": [None, None]}, "Column 'c' of view 'c' has no value in any row."),
        (TableViews(columns="c"), np.eye(2), "A data frame, a mapping of columns or a list of mappings, one"),
        (TableViews(columns="c"), {"c": [1, 2], "d": [1]}, "Columns must have the same rows: 'c' has 2, 'd' has 1."),
        (TableViews(columns="c"), {"c": "text"}, "Column 'c' must be a list of values, got 'text'."),
        (TableViews(columns="a"), {"a": [np.inf, 1.0]}, "View 'a' cannot be used: Input contains infinity"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(model, X, sentence):
    with pytest.raises((ViewsError, ParameterError), match=re.escape(sentence)):
        model.fit_transform(X)

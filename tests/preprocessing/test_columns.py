"""Columns to views: numbers pass through, categories become indicators, gaps are a missing view or a sentence."""

from __future__ import annotations

import re
import warnings
from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from coview.exceptions import ParameterError, ViewsError
from coview.io.tables import read_table
from coview.preprocessing.columns import ColumnViews
from coview.preprocessing.weighting import UnitRows

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


def test_numbers_and_categories_are_split_by_default(make):
    X = ColumnViews().fit_transform(make(COLUMNS))
    assert X.names == ("numeric", "categorical")
    assert X["numeric"].tolist() == [[31.0, 1.5], [7.0, 2.5], [52.0, 3.5]]
    assert sparse.issparse(X["categorical"])
    assert X.feature_names["categorical"].tolist() == ["job_cook", "job_smith", "member_False", "member_True"]
    assert dense(X["categorical"]).tolist() == [[1, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 1]]


def test_indicators_match_pandas(make):
    columns = {"a": ["x", "y", "x", "z"], "b": ["u", "u", "v", "u"]}
    X = ColumnViews({"both": ["a", "b"]}).fit_transform(make(columns))
    expected = pd.get_dummies(pd.DataFrame(columns))
    np.testing.assert_array_equal(dense(X["both"]), expected.to_numpy())
    assert X.feature_names["both"].tolist() == list(expected.columns)


def test_groups_mix_kinds_in_the_order_given(make):
    X = ColumnViews({"person": ["job", "age"], "rest": "member"}).fit_transform(make(COLUMNS))
    assert X.names == ("person", "rest")
    assert X.feature_names["person"].tolist() == ["job_cook", "job_smith", "age"]
    assert dense(X["person"]).tolist() == [[1, 0, 31], [0, 0, 7], [0, 1, 52]]
    assert X.present.all()  # the second person has an age


def test_numeric_codes_can_be_categories(make):
    columns = {"code": [20, 10, None], "n": [1, 2, 3]}
    X = ColumnViews(categorical=["code"]).fit_transform(make(columns))
    assert X.feature_names["categorical"].tolist() == ["code_10", "code_20"]
    assert dense(X["categorical"]).tolist() == [[0, 1], [1, 0], [0, 0]]
    assert X.present[:, X.names.index("categorical")].tolist() == [True, True, False]


def test_rows_without_any_value_lack_the_view(make):
    columns = {"a": [1.0, None, 3.0], "b": [4.0, None, 6.0], "c": [1.0, 1.0, 1.0]}
    X = ColumnViews({"v": ["a", "b"], "w": ["c"]}).fit_transform(make(columns))
    assert X.present.tolist() == [[True, True], [False, True], [True, True]]
    assert X["v"].tolist() == [[1, 4], [0, 0], [3, 6]]


def test_a_row_with_some_numbers_is_refused_if_asked_for(make):
    columns = {"a": [1.0, None, 3.0], "b": [4.0, 5.0, 6.0]}
    with pytest.raises(
        ViewsError, match=r"Column 'a' has no value in 1 row \(the first is row 1, counting from 0\) .* view 'v'"
    ):
        ColumnViews({"v": ["a", "b"]}, impute=None).fit_transform(make(columns))


@pytest.mark.parametrize(("impute", "value"), [("median", 3.0), ("mean", 4.0), (-1, -1.0)])
def test_a_missing_number_is_imputed_by_what_was_fitted(make, impute, value):
    columns = {"a": [1.0, None, 3.0, 8.0], "b": [4.0, 5.0, 6.0, 7.0]}
    model = ColumnViews({"v": ["a", "b"]}, impute=impute).fit(make(columns))
    assert model.transform(make(columns))["v"][1].tolist() == [value, 5.0]
    assert model.transform(make({"a": [None, 9.0], "b": [1.0, 1.0]}))["v"].tolist() == [[value, 1.0], [9.0, 1.0]]


def test_impute_is_checked():
    with pytest.raises(
        ValueError, match=r"'impute' parameter .* must be a str among .* a float in the range .* Got 'mode'"
    ):
        ColumnViews(impute="mode").fit({"a": [1.0, 2.0]})
    with pytest.raises(ParameterError, match=r"'impute' parameter .* must be a str among .* Got \[\]"):
        ColumnViews(impute=[]).fit({"a": [1.0, 2.0]})


@pytest.mark.parametrize(
    "column",
    [
        ["2020-01-01", None, "2021-07-02"],
        ["2020-01-01 00:00", None, "2021-07-02T00:00:00"],
        pd.Series(pd.to_datetime(["2020-01-01", None, "2021-07-02"])),
        pl.Series([date(2020, 1, 1), None, date(2021, 7, 2)]),
        [datetime(2020, 1, 1), None, datetime(2021, 7, 2)],
    ],
    ids=["texts", "texts with times", "pandas", "polars", "objects"],
)
def test_dates_become_years(column):
    frame = pl.DataFrame({"d": column}) if isinstance(column, pl.Series) else pd.DataFrame({"d": column})
    X = ColumnViews().fit_transform(frame)
    assert X.names == ("numeric",)
    assert X.present[:, 0].tolist() == [True, False, True]
    assert X["numeric"][[0, 2], 0] == pytest.approx([2020.0, 2021 + 182 / 365])


def test_texts_that_only_look_like_dates_stay_categories():
    X = ColumnViews().fit_transform({"d": ["2020-02-31", "2020-01-01"]})
    assert X.names == ("categorical",)


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_dates_of_numpy_are_dates(unit):
    days = np.array(["2020-01-01", "NaT", "2021-07-02T12:00"], dtype=f"datetime64[{unit}]")
    X = ColumnViews({"when": "day"}).fit_transform({"day": days})
    noon = 0.5 if unit != "D" else 0.0
    assert X["when"][[0, 2], 0] == pytest.approx([2020.0, 2021 + (182 + noon) / 365])
    assert X.present[:, 0].tolist() == [True, False, True]
    as_list = ColumnViews({"when": "day"}).fit_transform({"day": list(days)})
    assert np.array_equal(as_list["when"], X["when"])


def test_one_column_is_a_view_of_its_name():
    X = ColumnViews("age").fit_transform({"age": [1, 2], "size": [3, 4]})
    assert X.names == ("age",) and X["age"].tolist() == [[1], [2]]


def test_unknown_categories_have_no_indicator(make):
    model = ColumnViews({"v": ["job"]}).fit(make(COLUMNS))
    X = model.transform(make({"job": ["smith", "miner", None]}))
    assert dense(X["v"]).tolist() == [[0, 1], [0, 0], [0, 0]]
    assert X.present[:, 0].tolist() == [True, True, False]


def test_transform_takes_the_views_whose_columns_are_there(make):
    model = ColumnViews({"person": ["age", "job"], "rest": ["member"]}).fit(make(COLUMNS))
    assert model.transform(make({"member": [True]})).names == ("rest",)
    with pytest.raises(ViewsError, match="The table has none of the columns 'age', 'job', 'member'; it has 'other'"):
        model.transform(make({"other": [1.0]}))


def test_a_column_of_a_group_that_is_absent_counts_as_missing(make):
    model = ColumnViews({"person": ["age", "job"], "rest": ["member"]}).fit(make(COLUMNS))
    with pytest.warns(UserWarning, match="The table has no column 'job' of view 'person'; it counts as missing in"):
        X = model.transform(make({"age": [1.0]}))
    assert X.names == ("person",) and dense(X["person"])[0, 0] == 1 and not dense(X["person"])[0, 1:].any()
    with pytest.warns(UserWarning, match="no column 'age'"):
        X = model.transform(make({"job": ["smith", None]}))
    assert dense(X["person"])[0, 0] == model.fill_values_["person"]["age"]
    assert X.present[:, 0].tolist() == [True, False]


def test_transform_with_nothing_but_gaps(make):
    model = ColumnViews({"v": ["job"]}).fit(make(COLUMNS))
    X = model.transform(pd.DataFrame({"job": [None, None]}))
    assert not X.present.any()
    assert X["v"].shape == (2, 2)


@pytest.mark.parametrize(("columns", "kind"), [(["a"], "dense"), (["a", "c"], "sparse")])
def test_float32_stays_float32(columns, kind):
    frame = pd.DataFrame({"a": np.array([1, 2], dtype=np.float32), "c": ["x", "y"]})
    array = ColumnViews({"v": columns}).fit_transform(frame)["v"]
    assert array.dtype == np.float32
    assert sparse.issparse(array) == (kind == "sparse")


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["a", np.nan, "b"]),
        pd.Series(["a", None, "b"], dtype="string"),
        pd.Series(["a", None, "b"], dtype="category"),
        pl.Series(["a", None, "b"]),
        pl.Series(["a", None, "b"], dtype=pl.Categorical),
        pl.Series(["a", None, "b"], dtype=pl.Enum(["a", "b"])),
    ],
    ids=["object", "string", "category", "polars", "polars categorical", "polars enum"],
)
def test_every_kind_of_category_column(column):
    frame = pd.DataFrame({"c": column}) if isinstance(column, pd.Series) else pl.DataFrame({"c": column})
    X = ColumnViews().fit_transform(frame)
    assert dense(X["categorical"]).tolist() == [[1, 0], [0, 0], [0, 1]]
    assert X.present[:, 0].tolist() == [True, False, True]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([True, None, False], dtype="boolean"),
        pd.Series([True, None, False], dtype=object),
        pl.Series([True, None, False]),
        [True, None, False],
        np.array([True, None, False], dtype=object),
    ],
    ids=["nullable", "object", "polars", "list", "array"],
)
def test_every_kind_of_boolean_column_with_gaps(column):
    X = ColumnViews().fit_transform({"c": column})
    assert X.feature_names["categorical"].tolist() == ["c_False", "c_True"]
    assert dense(X["categorical"]).tolist() == [[0, 1], [0, 0], [1, 0]]


def test_a_pandas_index_becomes_ids():
    assert ColumnViews().fit_transform(pd.DataFrame({"a": [1, 2]}, index=["p", "q"])).ids.tolist() == ["p", "q"]


def test_it_works_in_a_pipeline_and_clones(make):
    pipeline = clone(make_pipeline(ColumnViews({"v": ["age", "size"]}), UnitRows()))
    X = pipeline.fit_transform(make(COLUMNS))
    np.testing.assert_allclose((X["v"] ** 2).sum(axis=1), 1)
    assert pipeline.get_params()["columnviews__groups"] == {"v": ["age", "size"]}


def test_it_must_be_fitted_first():
    with pytest.raises(NotFittedError):
        ColumnViews().transform(COLUMNS)


@pytest.mark.parametrize(
    ("model", "X", "sentence"),
    [
        (ColumnViews({"v": ["agee"]}), COLUMNS, "The table has no column 'agee' for view 'v'; its columns are 'age', "),
        (ColumnViews({"v": ["agee"]}), COLUMNS, "Did you mean 'age'?"),
        (ColumnViews(categorical=["z"]), COLUMNS, "The table has no column 'z'"),
        (
            ColumnViews(categorical="all"),
            COLUMNS,
            "must be a str among {'auto'}, an instance of 'list'",
        ),
        (ColumnViews({}), COLUMNS, "groups must name the columns of at least one view, {view: columns}, got {}."),
        (
            ColumnViews(["age"]),
            COLUMNS,
            "groups must name the columns of at least one view",
        ),
        (ColumnViews({"v": []}), COLUMNS, "View 'v' has no columns."),
        (ColumnViews({"v": 2.5}), COLUMNS, "groups must name columns for view 'v', got 2.5"),
        (ColumnViews({"v": 1}), COLUMNS, "column 1 "),
        (ColumnViews(), {"c": [None, None]}, "Column 'c' of view 'categorical' has no value in any row."),
        (ColumnViews(), {"c": ["a", 3]}, "Column 'c' holds int and str, but ColumnViews takes numbers"),
        (ColumnViews(), pd.DataFrame({"d": pd.to_timedelta(["2 days", "3 days"])}), "Column 'd' holds Duration"),
        (ColumnViews(), np.eye(2), "ColumnViews needs a data frame, a mapping of columns or a list of mappings, one"),
        (ColumnViews(), pd.DataFrame(), "ColumnViews got an empty table: 0 rows x 0 columns."),
        (ColumnViews(), {"a": [np.inf, 1.0]}, "View 'numeric' cannot be used: Input contains infinity"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(model, X, sentence):
    with pytest.raises((ViewsError, ParameterError), match=re.escape(sentence)):
        model.fit_transform(X)


def test_a_column_that_changes_its_kind_is_refused():
    model = ColumnViews().fit({"n": [1, 2], "c": ["x", "y"]})
    with pytest.raises(ViewsError, match=r"Column 'n' held numbers in fit, but row 0 .counting from 0. holds '1'"):
        model.transform({"n": ["1", "2"], "c": ["x", "y"]})
    with pytest.raises(ViewsError, match="Column 'c' holds int now, but had other categories in fit"):
        model.transform({"n": [1, 2], "c": [3, 4]})


def test_numbers_beside_categories_are_told_of_with_the_remedy():
    table = {"age": [31, 7], "pay": [10.5, 0.0], "share": [0.5, 0.25], "job": ["cook", "child"]}
    with pytest.warns(UserWarning, match=r"View 'v' has numbers \('age', 'pay'\) beside categories") as caught:
        ColumnViews({"v": ["age", "job", "share", "pay"]}).fit(table)
    remedy = "--columns v_numbers=age,pay --columns v_categories=job,share"
    assert len(caught) == 1 and remedy in str(caught[0].message)


@pytest.mark.parametrize("groups", [None, {"v": ["age", "share"], "w": ["share", "job"]}])
def test_views_of_one_kind_are_not_told_of(groups, recwarn):
    ColumnViews(groups).fit({"age": [31, 7], "share": [0.5, 0.25], "job": ["cook", "child"]})
    assert not recwarn.list


HEIGHTS = np.random.default_rng(0).normal(1.7, 0.1, 50)


@pytest.mark.parametrize("factor", [1000.0, 100.0, 0.001])
def test_numbers_in_other_units_are_told_of_by_view_and_column(factor):
    weights = HEIGHTS**2 * 22
    model = ColumnViews({"size": ["height", "weight"]}).fit({"height": HEIGHTS, "weight": weights})
    with pytest.warns(UserWarning, match="View 'size' has numbers of another magnitude than in fit: 'height'") as heard:
        model.transform({"height": HEIGHTS[:9] * factor, "weight": weights[:9]})
    assert len(heard) == 1 and "'weight'" not in str(heard[0].message)


def test_rows_of_the_same_table_are_never_told_of(recwarn):
    rng = np.random.default_rng(0)
    for _ in range(100):
        heavy, wild, plain, few = (
            rng.lognormal(8, 3, 60),
            rng.standard_cauchy(60),
            rng.normal(size=60),
            rng.poisson(1, 60),
        )
        table = {"heavy": heavy, "wild": wild, "plain": plain, "few": few}
        model = ColumnViews({"v": list(table)}).fit({name: values[:40] for name, values in table.items()})
        for n in (1, 5, 20):
            model.transform({name: values[40 : 40 + n] for name, values in table.items()})
    assert not recwarn.list


def test_the_cell_that_is_no_number_is_named_where_it_made_texts_of_all(tmp_path):
    model = ColumnViews({"v": ["n"]}).fit({"n": [1, 2]})
    (tmp_path / "new.csv").write_text("m,n\na,\nb,120\nc,tall\nd,130\n")
    with pytest.raises(ViewsError, match=r"Column 'n' held numbers in fit, but row 2 .* holds 'tall'"):
        model.transform(read_table(tmp_path / "new.csv"))


def test_a_cell_that_is_no_date_is_named_by_its_row():
    model = ColumnViews({"v": ["day", "n"]}).fit({"day": ["2020-01-01", None], "n": [1, 2]})
    with pytest.raises(ViewsError, match=r"Column 'day' held dates in fit, but row 1 .* holds 'not a date'"):
        model.transform({"day": ["2021-02-03", "not a date"], "n": [5, 6]})


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
    X = ColumnViews().fit_transform(frame)
    assert X["numeric"].tolist() == [[1.5], [0.0], [2.5]]
    assert X.present[:, 0].tolist() == [True, False, True]


def test_a_column_of_text_is_warned_about():
    texts = [f"text number {i}" for i in range(30)]
    with pytest.warns(UserWarning, match="TextViews"):
        ColumnViews({"words": ["body"]}).fit({"body": texts})


@pytest.mark.parametrize("make_new", [dict, pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(("column", "filled"), [("age", 31.0), ("born", 2001.0)])
def test_a_number_that_no_new_row_has_is_filled(make_new, column, filled):
    values = {"age": [31, 7, 52], "born": ["2000-01-01", "2002-01-01", "2001-01-01"]}[column]
    model = ColumnViews({"person": [column, "job"]}).fit({column: values, "job": ["cook", "smith", "cook"]})
    X = model.transform(make_new({column: [None], "job": ["smith"]}))
    assert dense(X["person"]).tolist() == [[filled, 0, 1]]


@pytest.mark.parametrize("impute", ["mode", float("nan"), [0]])
def test_what_imputes_nothing_is_refused_whatever_the_columns(impute):
    with pytest.raises(ValueError, match="'impute' parameter of ColumnViews must be"):
        ColumnViews(impute=impute).fit({"job": ["cook", "smith"]})


def test_time_zones_do_not_count():
    X = ColumnViews().fit_transform({"when": ["2020-07-02T10:00Z", "2020-07-02 10:00+02:00", "2020-07-02T10:00:00"]})
    assert len(set(X["numeric"].ravel())) == 1


def test_dates_with_dots_are_dates():
    days = ["2024-12-31", "2024-01-05", None]
    dotted = ["31.12.2024", "5.1.2024", None]
    iso, other = (ColumnViews({"when": ["day"]}).fit({"day": each}) for each in (days, dotted))
    assert other.dates_ == ["day"]
    np.testing.assert_array_equal(other.transform({"day": dotted})["when"], iso.transform({"day": days})["when"])
    np.testing.assert_array_equal(other.transform({"day": days})["when"], iso.transform({"day": days})["when"])


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (["$1,234.50", "$9.00", "$1.20"], "numbers"),
        (["12,5", "3,25", None], "numbers"),
        (["12.50 EUR", "8 EUR", "3 EUR"], "numbers"),
        (["01/02/2024", "02/02/2024", "31/12/2024"], "dates"),
        (["01.02.2024", "02.02.2024", "12.31.2024"], "dates"),
        (["Jan 3, 2024", "Feb 9, 2024", "Mar 1, 2024"], "dates"),
    ],
)
def test_numbers_and_dates_that_are_texts_are_told_of(values, what):
    with pytest.warns(UserWarning, match=rf"Column 'price' holds texts that look like {what}, such as"):
        ColumnViews({"money": ["price"]}).fit({"price": values})


@pytest.mark.parametrize(
    "values", [["007", "008", "007"], ["a1", "b2", "a1"], ["1.10.2", "1.9.0", "1.9.0"], ["3-4", "1-2", "1-2"]]
)
def test_codes_and_versions_are_categories(values):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ColumnViews({"code": ["code"]}).fit({"code": values})

"""Columns to views: numbers pass through, categories become indicators, gaps are a missing view or a sentence."""

from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from coview import TableViews, load, read_table, read_views, save
from coview.exceptions import ViewsError
from coview.preprocessing.guess import guess_columns

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
    ("column", "names"),
    [
        (pd.Series(["a", np.nan, "b"]), ["c_a", "c_b"]),
        (pd.Series(["a", None, "b"], dtype="category"), ["c_a", "c_b"]),
        (pl.Series(["a", None, "b"]), ["c_a", "c_b"]),
        (pl.Series(["a", None, "b"], dtype=pl.Enum(["a", "b"])), ["c_a", "c_b"]),
        (pd.Series([False, None, True], dtype="boolean"), ["c_False", "c_True"]),
        (pd.Series([False, None, True], dtype=object), ["c_False", "c_True"]),
        ([False, None, True], ["c_False", "c_True"]),
        (np.array([False, None, True], dtype=object), ["c_False", "c_True"]),
    ],
)
def test_every_kind_of_category_and_boolean_column_with_gaps(column, names):
    frames = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}
    X = TableViews(columns="c").fit_transform(frames.get(type(column), dict)({"c": column}))
    assert X.feature_names["c"].tolist() == names
    assert dense(X["c"]).tolist() == [[1, 0], [0, 0], [0, 1]]
    assert X.present[:, 0].tolist() == [True, False, True]


def test_the_cell_that_is_no_number_is_named_where_it_made_texts_of_all(tmp_path):
    model = TableViews(columns={"v": ["n"]}).fit({"n": [1, 2]})
    (tmp_path / "new.csv").write_text("m,n\na,\nb,120\nc,tall\nd,130\n")
    with pytest.raises(ViewsError, match=r"Column 'n' held numbers in fit, but row 2 .* holds 'tall'"):
        model.transform(read_table(tmp_path / "new.csv"))


@pytest.mark.parametrize("saved", [False, True])
def test_new_rows_are_read_by_the_decimal_sign_of_the_fit(saved, tmp_path):
    model = TableViews(columns="price").fit({"price": ["1,5", "1,234", "2,25", "0,75"]})
    if saved:
        save(model, tmp_path / "m.coview")
        model = load(tmp_path / "m.coview")

    def read(cells):
        return model.transform({"price": cells})["price"].ravel().tolist()

    assert read(["1,234"]) == [1.234] and read(["1,234", "2,718"]) == [1.234, 2.718]
    assert read(["7"]) == [7] and read(["€ 1.234", None, 2.5]) == [1234, 0, 2.5]
    assert read(np.array([7.5])) == [7.5] and read(["2026-01-01"]) == [2026]
    with pytest.warns(UserWarning, match="If the point stands between thousands, leave it out"):
        assert read(np.array([1.234, 2.5])) == [1.234, 2.5]
    for cell in ("1.5", "1e3", True):
        with pytest.raises(
            ViewsError, match=f"Column 'price' held .* row 1 .* holds '?{cell}'?. Write a number as 8,31"
        ):
            read(["1,5", cell])


def test_texts_for_a_column_that_was_numbers_or_vectors_in_the_fit():
    model = TableViews(columns={"n": "n", "v": "v"}).fit({"n": [1.5, 2.5], "v": [[1.0, 2.0], [0.0, 1.0]]})
    assert model.transform({"n": ["1,234", "1e3", ".5", "7"]})["n"].ravel().tolist() == [1234, 1000, 0.5, 7]
    with pytest.raises(ViewsError, match=r"Column 'n' held .* holds '1,5'. Write a number as 8.31"):
        model.transform({"n": ["1,5"]})
    with pytest.raises(ViewsError, match="Column 'v' holds 1 numbers per row, but had 2 in fit"):
        model.transform({"v": ["7"]})


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


# -- What the columns of a table are taken for, by what is in them

BODY = ["a red fox in the snow", "the blue sea at night", "an old fox den", "a salty sea and a boat"] * 5


def guessed(cells, name="column"):
    """Kind of a column beside a column of texts."""
    found = guess_columns({"body": BODY, name: cells})
    for kind in ("text", "tokens", "columns"):
        views = {view: part for view, part in getattr(found, kind).items() if view != "body"}
        if views:
            return kind
    return "label" if name in found.labels else "id" if found.id == name else found.unused.get(name, "nothing")


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([f"{word} story of {i} dogs" for i, word in enumerate("abcdefghijklmnopqrst")], "text"),
        (["new;red", "sea;new", "red;old", "sea;red"] * 5, "tokens"),
        ([["new", "red"], ["sea"], [], ["old"]] * 5, "tokens"),
        ([[1, 2], [2, 3], [3], [1]] * 5, "tokens"),
        ([[0.1, 0.2], [0.3, 0.4]] * 10, "columns"),
        ([[0, 0.5], [1, 0]] * 10, "columns"),
        ([f"city {i // 2}" for i in range(20)], "columns"),
        ([1.5, None, 2.5, 3.0] * 5, "columns"),
        (["Jun 12 1998", None, "May 1 1999", "Jun 2 1998"] * 5, "it holds dates: see report --by"),
        ([None] * 20, "it has hardly any values"),
        (["same"] * 20, "it has one value"),
        ([{"a": 1}, {"b": 2}] * 10, "it holds records, or lists and other values"),
        ([["x"], 3, ["y"], "z"] * 5, "it holds records, or lists and other values"),
        ([[0.1], [0.2, 0.3]] * 10, "its lists of numbers have several lengths"),
        ([[[1, 2], [3]], [[1]]] * 10, "its lists hold neither texts nor numbers"),
    ],
)
def test_a_column_is_what_is_in_it(cells, kind):
    assert guessed(cells) == kind


def test_names_decide_on_labels_ids_and_years():
    assert guessed(["land", "sea"] * 10, "kind") == "label"
    assert guessed([f"k{i}" for i in range(20)], "key") == "id"
    assert guessed([1990 + i % 7 for i in range(20)], "year") == "it holds dates: see report --by"


def test_few_categories_of_any_name_are_labels_beside_texts_unless_labels_are_known():
    body = [f"{text}, {i} times" for i, text in enumerate(BODY)]
    table = {"body": body, "rubric": ["land", "sea"] * 10, "size": [0.5, 1.5] * 10}
    assert guess_columns(table).labels == ["rubric"]
    assert guess_columns(table, leave_out=["size"]).columns == {"rubric": ["rubric"]}
    sparse = {"size": table["size"], "grade": [*"bmbm", *[None] * 16]}  # a category that most rows lack
    assert guess_columns(sparse).labels == ["grade"] and not guess_columns(sparse, leave_out=["size"]).labels
    assert guess_columns({name: table[name] for name in ("rubric", "size")}).columns.keys() == {"rubric", "size"}


def test_many_rows_are_guessed_by_a_sample(monkeypatch):
    looked_at = []
    monkeypatch.setattr("coview.preprocessing.guess.are_lists", lambda cells: looked_at.append(len(cells)))
    assert guess_columns({"body": [f"an old fox, {i} times" for i in range(20_000)]}).text and max(looked_at) == 5000


def test_a_cell_outside_of_the_sample_that_is_no_number_is_told(monkeypatch):
    monkeypatch.setattr("coview.preprocessing.guess._SAMPLE", 10)
    cells = [str(i) for i in range(40)]
    cells[1] = "many"  # of 40 rows, 0, 4, 8, 13 and so on are looked at
    found = guess_columns({"body": BODY * 2, "amount": cells})
    assert found.unused == {"amount": "it holds 'many' among numbers or dates: leave such cells empty"}


def test_links_are_lists_of_ids():
    table = {
        "key": [f"p{i}" for i in range(20)],
        "body": BODY,
        "cites": [f"p{(i + 1) % 20} p{(i + 3) % 20}" for i in range(20)],
    }
    assert guess_columns(table).tokens == {"cites": "cites"}


def test_prose_with_commas_is_text_though_its_clauses_come_again():
    work = ["cares for patients, documents signs", "bakes bread, cleans the kitchen", "plans routes, loads pallets"]
    ads = [f"We are hiring. You will see who {work[i % 3]}. Our hours are flexible, pay is good." for i in range(60)]
    clauses = [f"your task is that it {work[i % 3]}, our hours are flexible and the pay is good" for i in range(60)]
    skills = [", ".join([*["sql", "data science", "bread"][i % 3 :], "first aid"]) for i in range(60)]
    guessed = guess_columns({"ad": ads, "about": clauses, "skills": skills})
    assert set(guessed.text) == {"ad", "about"} and set(guessed.tokens) == {"skills"}


# -- Columns of vectors become dense views, from Python's lists, frames and files, without a Python object per row

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
